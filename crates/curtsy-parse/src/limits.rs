//! The limits of documents, from the constants that their readers go by.

use curtsy_core::limits::{Bound, Limit};

use crate::{challenge, html, sitemap};

/// The limits of this crate: pages, sitemaps and bot walls.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    let page = html::Limits::default();
    let list = sitemap::Limits::default();
    vec![
        limit(
            "page.bytes",
            "bytes of a page that are read",
            bytes(page.body_bytes_max),
            "the rest is counted in `cut`",
        ),
        limit(
            "page.links",
            "different URLs that are read from the links of a page, and as many from its frames",
            count(page.links_max),
            "the rest is counted in `links_cut`; the report and `why` say so",
        ),
        limit(
            "page.links_bytes",
            "the text of these URLs",
            bytes(page.links_bytes_max),
            "the rest is counted in `links_cut`; the report and `why` say so",
        ),
        limit("page.title_bytes", "a title", bytes(page.title_bytes_max), "truncated"),
        limit(
            "page.robots",
            "`meta` elements with robots rules",
            count(html::ROBOTS_MAX),
            "the rest is counted in `cut`",
        ),
        limit(
            "page.attributes",
            "attributes of one tag",
            count(html::ATTRIBUTES_MAX),
            "other attributes are ignored, except those that curtsy reads",
        ),
        limit(
            "page.nodes",
            "nodes of a page that are stored, and one more for each 8 bytes",
            count(html::NODES_MAX),
            "the end of the page is not read, and `cut` says so",
        ),
        limit(
            "page.steps",
            "steps of searches in the tree, and 64 more for each byte",
            count(html::STEPS_MAX),
            "the end of the page is not read, and `cut` says so",
        ),
        limit(
            "sitemap.bytes",
            "a decompressed sitemap",
            bytes(list.bytes_max),
            "the rest is not read, and `cut` says so",
        ),
        limit(
            "sitemap.entries",
            "entries of a sitemap, and sitemaps of an index",
            count(list.entries_max),
            "the rest is counted in `cut`",
        ),
        limit(
            "sitemap.warnings",
            "warnings about one sitemap",
            count(list.warnings_max),
            "the rest is counted in `cut`",
        ),
        limit(
            "sitemap.alternates",
            "languages of one entry",
            count(list.alternates_max),
            "the rest is ignored",
        ),
        limit(
            "sitemap.layers",
            "layers of compression around a sitemap",
            count(sitemap::LAYERS_MAX),
            "not read",
        ),
        limit(
            "sitemap.depth",
            "nested elements of a sitemap",
            count(sitemap::DEPTH_MAX),
            "deeper elements are ignored",
        ),
        limit(
            "wall.bytes",
            "bytes of a body that are searched for a bot wall",
            bytes(challenge::BODY_BYTES_MAX),
            "the rest is not searched",
        ),
    ]
}
