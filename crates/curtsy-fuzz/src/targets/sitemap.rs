//! The reader of sitemaps and feeds: limits are kept, and a limit removes only the end.

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::sitemap::{Sitemap, SitemapLimits, unpacked};

use crate::{FuzzTarget, choice};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "sitemap",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/sitemap.dict"),
};

fn run(data: &[u8]) {
    let (choice, body) = choice(data);
    let content_type = TYPES[choice % TYPES.len()];
    let url = CrawlUrl::parse("https://site.example/sitemap.xml").expect("a plain address");
    let now = Time::from_secs(1_715_000_000);
    let limits = SitemapLimits { bytes_max: 1 << 20, entries_max: 100, ..SitemapLimits::default() };
    let all = Sitemap::read(&url, content_type, body, &limits, now);
    assert!(all.entries.len() <= 100 && all.sitemaps.len() <= 100);
    for entry in &all.entries {
        assert_eq!(CrawlUrl::parse(entry.url.as_str()).as_ref(), Ok(&entry.url), "one spelling");
        assert!(entry.priority.is_none_or(|priority| (0.0..=1.0).contains(&priority)));
        assert!(entry.alternates.len() <= limits.alternates_max);
    }
    let mut once: Vec<&str> = all.entries.iter().map(|entry| entry.url.as_str()).collect();
    once.sort_unstable();
    assert!(once.windows(2).all(|pair| pair[0] != pair[1]), "each once");

    let limits = SitemapLimits { entries_max: 2, warnings_max: 1, alternates_max: 1, ..limits };
    let few = Sitemap::read(&url, content_type, body, &limits, now);
    assert_eq!(few.kind, all.kind);
    assert!(few.entries.len() <= 2 && few.sitemaps.len() <= 2 && few.warnings.len() <= 1);
    assert!(few.entries.iter().all(|entry| entry.alternates.len() <= 1));
    let firsts = few.entries.iter().zip(&all.entries);
    assert!(firsts.into_iter().all(|(few, all)| few.url == all.url), "the first entries stay");

    if let Some(plain) = unpacked(body, 1 << 16) {
        assert!(plain.len() <= 1 << 16);
    }
}

const TYPES: &[Option<&str>] = &[
    None,
    Some("text/xml"),
    Some("text/xml; charset=utf-16"),
    Some("text/plain"),
    Some("application/rss+xml; charset=latin1"),
];

const SEEDS: &[&[u8]] = &[
    b"\x00<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>https://site.example/a?b=1&amp;c</loc><lastmod>2024-05-06T07:08:09+02:00</lastmod><changefreq>daily</changefreq><priority>0.8</priority><xhtml:link rel='alternate' hreflang='de' href='/de'/></url></urlset>",
    b"\x01<sitemapindex><sitemap><loc>https://site.example/s.xml.gz</loc><lastmod>2024-05</lastmod></sitemap></sitemapindex>",
    b"\x03https://site.example/a\nhttps://site.example/b\r\n# c\n\n/d\n",
    b"\x04<rss version='2.0'><channel><link>https://site.example/</link><item><link>https://site.example/1</link><guid isPermaLink='true'>https://site.example/2</guid><pubDate>Mon, 06 May 24 12:53:20 EST</pubDate></item></channel></rss>",
    b"\x00<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='alternate' href='/a'/><updated>2024-05-06T12:00:00Z</updated></entry></feed>",
    b"\x00<!DOCTYPE x [<!ENTITY a 'b'>]><urlset><url><loc>&a;</loc></url></urlset>",
    b"\x00<urlset><url><loc><![CDATA[https://site.example/<c>]]></loc><!-- - --></url><i:loc>x</i:loc></urlset>",
    b"\x00\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd1\x00",
];
