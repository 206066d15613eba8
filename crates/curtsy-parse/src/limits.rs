//! The limits of documents, from the constants that their readers use.

use curtsy_core::limit_table;
use curtsy_core::limits::{Bound, Limit};

use crate::{challenge, html, sitemap};

/// Returns the limits of this crate: pages, sitemaps and bot walls.
pub fn limits() -> Vec<Limit> {
    let page = html::PageLimits::default();
    let list = sitemap::SitemapLimits::default();
    limit_table! {
        "page.bytes", Bound::bytes(page.body_bytes_max),
            "bytes of a page that are read" => "the rest is counted in `cut`";
        "page.links", Bound::count(page.links_max),
            "different URLs that are read from the links of a page, and as many from its frames" =>
            "the rest is counted in `links_cut`; the report and `why` say so";
        "page.links_bytes", Bound::bytes(page.links_bytes_max),
            "the text of these URLs" =>
            "the rest is counted in `links_cut`; the report and `why` say so";
        "page.title_bytes", Bound::bytes(page.title_bytes_max),
            "a title" => "truncated";
        "page.robots", Bound::count(html::ROBOTS_MAX),
            "`meta` elements with robots rules" => "the rest is counted in `cut`";
        "page.attributes", Bound::count(html::ATTRIBUTES_MAX),
            "attributes of one tag" =>
            "other attributes are ignored, except those that curtsy reads";
        "page.nodes", Bound::count(html::NODES_MAX),
            "nodes of a page that are stored, and one more for each 8 bytes" =>
            "the end of the page is not read, and `cut` says so";
        "page.steps", Bound::count(html::STEPS_MAX),
            "steps of searches in the tree, and 64 more for each byte" =>
            "the end of the page is not read, and `cut` says so";
        "sitemap.bytes", Bound::bytes(list.bytes_max),
            "a decompressed sitemap" => "the rest is not read, and `cut` says so";
        "sitemap.entries", Bound::count(list.entries_max),
            "entries of a sitemap, and sitemaps of an index" => "the rest is counted in `cut`";
        "sitemap.warnings", Bound::count(list.warnings_max),
            "warnings about one sitemap" => "the rest is counted in `cut`";
        "sitemap.alternates", Bound::count(list.alternates_max),
            "languages of one entry" => "the rest is ignored";
        "sitemap.layers", Bound::count(sitemap::LAYERS_MAX),
            "layers of compression around a sitemap" => "not read";
        "sitemap.depth", Bound::count(sitemap::DEPTH_MAX),
            "nested elements of a sitemap" => "deeper elements are ignored";
        "wall.bytes", Bound::bytes(challenge::BODY_BYTES_MAX),
            "bytes of a body that are searched for a bot wall" => "the rest is not searched";
    }
}
