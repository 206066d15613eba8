//! The bytes of a sitemap, an index, a text list or a feed.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::page::escaped;
use super::scene::{Sitemap, SitemapKind};

/// Writes it; `base` is the authority that relative locations are of: `http://shop.test:8080`.
pub(super) fn write(sitemap: &Sitemap, base: &str, out: &mut Vec<u8>) {
    let (from, to) = sitemap.pages.unwrap_or((0, 0));
    let pages = (from..to).map(|n| if n == 0 { "/".to_owned() } else { format!("/p/{n}") });
    let locs = sitemap.locs.iter().cloned().chain(pages);
    let whole = |loc: String| if loc.starts_with('/') { format!("{base}{loc}") } else { loc };
    let text = document(sitemap.kind, base, locs.map(whole));
    if !sitemap.gz {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    // Writing into memory doesn't fail.
    let _ = packed.write_all(text.as_bytes());
    let _ = packed.finish();
}

/// The type that the file is sent with.
pub(super) fn content_type(sitemap: &Sitemap) -> &'static str {
    match sitemap.kind {
        _ if sitemap.gz => "application/gzip",
        SitemapKind::Urls | SitemapKind::Index => "application/xml",
        SitemapKind::Text => "text/plain; charset=utf-8",
        SitemapKind::Rss => "application/rss+xml",
        SitemapKind::Atom => "application/atom+xml",
    }
}

fn document(kind: SitemapKind, base: &str, locs: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let base = escaped(base);
    let (begin, end) = match kind {
        SitemapKind::Text => (String::new(), ""),
        SitemapKind::Urls => (format!("{XML}<urlset xmlns=\"{NAMESPACE}\">\n"), "</urlset>\n"),
        SitemapKind::Index => {
            (format!("{XML}<sitemapindex xmlns=\"{NAMESPACE}\">\n"), "</sitemapindex>\n")
        }
        SitemapKind::Rss => {
            let about = format!(
                "<title>News</title><link>{base}/</link><description>What is new</description>"
            );
            (format!("{XML}<rss version=\"2.0\"><channel>{about}\n"), "</channel></rss>\n")
        }
        SitemapKind::Atom => {
            let about = format!(
                "<title>News</title><id>{base}/</id><updated>{CHANGED}T00:00:00Z</updated>"
            );
            (format!("{XML}<feed xmlns=\"http://www.w3.org/2005/Atom\">{about}\n"), "</feed>\n")
        }
    };
    text.push_str(&begin);
    for loc in locs {
        let safe = escaped(&loc);
        let entry = match kind {
            SitemapKind::Text => format!("{loc}\n"),
            SitemapKind::Urls => format!(
                "<url><loc>{safe}</loc><lastmod>{CHANGED}</lastmod><changefreq>weekly</changefreq></url>\n"
            ),
            SitemapKind::Index => {
                format!("<sitemap><loc>{safe}</loc><lastmod>{CHANGED}</lastmod></sitemap>\n")
            }
            SitemapKind::Rss => format!(
                "<item><title>{safe}</title><link>{safe}</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>\n"
            ),
            SitemapKind::Atom => format!(
                "<entry><title>{safe}</title><id>{safe}</id><updated>{CHANGED}T00:00:00Z</updated><link href=\"{safe}\"/></entry>\n"
            ),
        };
        text.push_str(&entry);
    }
    text.push_str(end);
    text
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
const CHANGED: &str = "2026-01-01";
