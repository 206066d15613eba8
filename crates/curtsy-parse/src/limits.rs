//! The limits of documents, from the constants that their readers use.

use curtsy_core::limits::Limit;

use crate::{challenge, html, sitemap};

/// Returns the limits of this crate: pages, sitemaps and bot walls.
pub fn limits() -> Vec<Limit> {
    let page = html::PageLimits::default();
    let list = sitemap::SitemapLimits::default();
    vec![
        Limit::bytes("page.bytes", page.body_bytes_max),
        Limit::count("page.links", page.links_max),
        Limit::bytes("page.links_bytes", page.links_bytes_max),
        Limit::bytes("page.title_bytes", page.title_bytes_max),
        Limit::count("page.robots", html::ROBOTS_MAX),
        Limit::count("page.attributes", html::ATTRIBUTES_MAX),
        Limit::count("page.nodes", html::NODES_MAX),
        Limit::count("page.steps", html::STEPS_MAX),
        Limit::bytes("sitemap.bytes", list.bytes_max),
        Limit::count("sitemap.entries", list.entries_max),
        Limit::count("sitemap.warnings", list.warnings_max),
        Limit::count("sitemap.alternates", list.alternates_max),
        Limit::count("sitemap.layers", sitemap::LAYERS_MAX),
        Limit::count("sitemap.depth", sitemap::DEPTH_MAX),
        Limit::bytes("wall.bytes", challenge::BODY_BYTES_MAX),
    ]
}
