//! Test documents: an ordinary page, and the largest sitemap that the protocol allows.

use std::fmt::Write;

/// The address of the page.
pub const PAGE_URL: &str = "https://shop.example/garden/chairs/";

/// A page of about 10 KB with 25 links: head, menu, some prose, a table, a footer, a script and a
/// style.
pub fn page() -> String {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Garden chairs &amp; benches \u{2013} Shop</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"description\" content=\"Chairs of oak and ash for the garden.\">\n\
         <meta name=\"robots\" content=\"index, follow\">\n<link rel=\"canonical\" href=\"https://shop.example/garden/chairs/\">\n\
         <link rel=\"stylesheet\" href=\"/assets/site.css?v=31\">\n<style>\n",
    );
    for n in 0..12 {
        let _ = writeln!(html, ".card-{n} > .title {{ margin: 0 {n}px; color: #3{n:02}; }}");
    }
    html.push_str("</style>\n<script>window.dataLayer = window.dataLayer || []; if (1 < 2) { dataLayer.push({ page: '<a href=\"/no\">' }); }</script>\n</head>\n<body class=\"list\">\n<header id=\"top\" class=\"site-header\">\n<nav aria-label=\"Main\">\n<ul class=\"menu\">\n");
    for (n, name) in ["garden", "house", "kitchen", "workshop", "sale", "help"].iter().enumerate() {
        let _ = writeln!(
            html,
            "<li class=\"menu-item menu-item-{n}\"><a class=\"menu-link\" href=\"/{name}/\"><span>{name}</span></a></li>"
        );
    }
    html.push_str("</ul>\n</nav>\n</header>\n<main>\n<h1>Garden chairs</h1>\n<!-- cards -->\n<div class=\"cards\">\n");
    for n in 0..12 {
        let _ = writeln!(
            html,
            "<article class=\"card card-{n}\" data-id=\"{}\">\n<a href=\"/garden/chairs/oak-folding-chair-{}.html?color=green&amp;page={n}\" title=\"Oak folding chair {n}\">\
             <img src=\"/img/{n}.jpg\" alt=\"A chair\" width=\"320\" height=\"240\" loading=\"lazy\"></a>\n<h2 class=\"title\">Oak folding chair No. {n}</h2>\n\
             <p>A folding chair of <em>untreated</em> oak, made to stay outside all summer. It carries <strong>140 kg</strong>, folds flat &amp; \
             hangs on the wall of the shed through the winter. Oil it once a year; more isn't needed.</p>\n<p class=\"price\">{},90&nbsp;\u{20ac}</p>\n</article>",
            2841 + n,
            2841 + n,
            49 + n
        );
    }
    html.push_str("</div>\n<table class=\"sizes\"><thead><tr><th>Size</th><th>Height</th><th>Width</th></tr></thead><tbody>\n");
    for n in 0..6 {
        let _ = writeln!(html, "<tr><td>{n}</td><td>{} cm</td><td>{} cm</td></tr>", 80 + n, 40 + n);
    }
    html.push_str("</tbody></table>\n");
    while html.len() < 9_300 {
        html.push_str("<p>Oak stays outside; ash and beech would rather come in. A chair that has turned grey is none the worse for it: sand it, or leave it as it is.</p>\n");
    }
    html.push_str("</main>\n<footer>\n");
    for (n, name) in
        ["imprint", "privacy", "terms", "contact", "jobs", "press", "blog"].iter().enumerate()
    {
        let rel = if n % 3 == 0 { " rel=\"nofollow\"" } else { "" };
        let _ = writeln!(html, "<a href=\"/{name}\"{rel}>{name}</a>");
    }
    html.push_str("</footer>\n<script src=\"/assets/site.js\" defer></script>\n</body>\n</html>\n");
    html
}

/// Returns a sitemap of this many pages, each with all fields.
pub fn sitemap(entries: usize) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for n in 0..entries {
        let _ = write!(
            xml,
            "<url>\n<loc>https://shop.example/garden/chairs/oak-folding-chair-{n}.html?color=green&amp;page=3</loc>\n\
             <lastmod>2026-{:02}-{:02}T07:08:09+00:00</lastmod>\n<changefreq>weekly</changefreq>\n<priority>0.8</priority>\n</url>\n",
            1 + n % 12,
            1 + n % 28
        );
    }
    xml.push_str("</urlset>\n");
    xml
}
