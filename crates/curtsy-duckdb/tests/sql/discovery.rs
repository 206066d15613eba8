//! URL discovery: sitemaps, links, given URLs.

use curtsy_lab::sites::{Answer, Body, Host, Scene, Sitemap, SitemapKind};
use serde_json::json;

use crate::harness::{Duck, QUICK, Town, list};

fn town(host: Host) -> Town {
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK)
}

fn sitemap(path: &str, kind: SitemapKind, locs: &[&str]) -> Sitemap {
    let locs = locs.iter().map(|loc| (*loc).to_owned()).collect();
    Sitemap { path: path.to_owned(), kind, locs, ..Sitemap::default() }
}

/// The paths of fetched pages, in their order.
fn fetched(duck: &Duck) -> Vec<String> {
    duck.texts("SELECT regexp_extract(url, '[0-9](/.*)$', 1) AS path FROM pages WHERE decision = 'fetched' ORDER BY path")
}

/// "Parse robots.txt for `Sitemap:` directives", "Handle sitemap indexes recursively", "Auto-detect
/// and decompress gzipped sitemaps", "Cache discovered URLs with metadata (lastmod, changefreq)".
#[test]
fn sitemaps_of_robots_txt_are_read_through_their_indexes() {
    let packed = Sitemap { gz: true, ..sitemap("/deep.xml", SitemapKind::Urls, &["/p/1", "/p/2"]) };
    let host = Host::named("h.test")
        .pages(9, 1, 500)
        .robots("User-agent: *\nDisallow: /p/4\nSitemap: {base}/all.xml\n")
        .sitemap(sitemap("/all.xml", SitemapKind::Index, &["/inner.xml", "/flat.xml", "/all.xml"]))
        .sitemap(sitemap("/inner.xml", SitemapKind::Index, &["/deep.xml"]))
        .sitemap(packed)
        .sitemap(sitemap(
            "/flat.xml",
            SitemapKind::Urls,
            &["/p/3", "/p/4", "https://elsewhere.test/"],
        ));
    let mut town = town(host);
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/")]), "");
    assert_eq!(fetched(&duck), ["/", "/p/1", "/p/2", "/p/3"]);
    // A URL that robots.txt forbids has a row too.
    let refused = "SELECT robots_rule FROM pages WHERE url LIKE '%/p/4'";
    assert_eq!(duck.texts(refused), ["Disallow: /p/4"]);
    let listed = "SELECT regexp_extract(url, '/p/.$'), regexp_extract(sitemap, '/[a-z]+.xml$'), lastmod::VARCHAR, changefreq, seen_at IS NOT NULL FROM curtsy_sitemap_urls WHERE url LIKE '%/p/%' ORDER BY 1";
    let row = |path: &str, from: &str| json!([path, from, "2026-01-01 00:00:00", "weekly", true]);
    let all = [
        ("/p/1", "/deep.xml"),
        ("/p/2", "/deep.xml"),
        ("/p/3", "/flat.xml"),
        ("/p/4", "/flat.xml"),
    ];
    assert_eq!(json!(duck.rows(listed)), json!(all.map(|(path, from)| row(path, from))));
    let asked = town.asked(0);
    assert_eq!(
        asked.iter().filter(|path| *path == "/all.xml").count(),
        1,
        "an index that names itself"
    );
    assert!(!asked.iter().any(|path| path == "/sitemap.xml"), "robots.txt has told: {asked:?}");
    town.assert_clean();
}

/// "Fallback to common sitemap paths (`/sitemap.xml`, `/sitemap_index.xml`)".
#[test]
fn without_a_word_in_robots_txt_the_usual_places_are_tried() {
    for (at, kind, locs) in [
        ("/sitemap.xml", SitemapKind::Urls, &["/p/1", "/p/2"][..]),
        ("/sitemap_index.xml", SitemapKind::Index, &["/part.xml"][..]),
    ] {
        let host = Host::named("h.test")
            .pages(5, 1, 500)
            .sitemap(sitemap(at, kind, locs))
            .sitemap(sitemap("/part.xml", SitemapKind::Urls, &["/p/1", "/p/2"]));
        let mut town = town(host);
        let duck = town.duck();
        duck.crawl(&list([town.url(0, "/")]), "");
        assert_eq!(fetched(&duck), ["/", "/p/1", "/p/2"], "{at}");
        assert!(town.asked(0).contains(&at.to_owned()));
        town.assert_clean();
    }
}

/// "BFS crawl from start URL when enabled (`follow_links = true`)", "Respect `max_crawl_depth` and
/// `max_crawl_pages`".
#[test]
fn links_are_followed_breadth_first_when_that_is_wanted() {
    let page = |path: &str, links: &[&str]| Answer::page(path, path, "", links);
    // Two steps to /a1 and /b1, three to /c: the seed has no sitemap.
    let host = Host::named("h.test")
        .says_unlinked(page("/", &["/a", "/b"]))
        .says_unlinked(page("/a", &["/a1", "https://elsewhere.test/"]))
        .says_unlinked(page("/b", &["/b1", "/a"]))
        .says_unlinked(page("/a1", &["/c"]))
        .says_unlinked(page("/b1", &[]))
        .says_unlinked(page("/c", &["/"]));
    let mut town = town(host);
    let duck = town.duck();
    let home = list([town.url(0, "/")]);
    let crawl = |options: &str| {
        duck.run("DROP TABLE IF EXISTS pages");
        duck.crawl(
            &home,
            &format!("threads 1, max_parallel_per_domain 1, sitemaps false, {options}"),
        );
        fetched(&duck)
    };
    assert_eq!(crawl("follow_links false"), ["/"]);
    assert_eq!(crawl("follow_links true"), ["/", "/a", "/a1", "/b", "/b1", "/c"]);
    let order: Vec<_> = town.asked(0).into_iter().skip(2).collect();
    let at = |path: &str| order.iter().position(|asked| asked == path).unwrap();
    assert!(at("/a").max(at("/b")) < at("/a1").min(at("/b1")), "{order:?}");
    assert!(at("/a1").max(at("/b1")) < at("/c"), "{order:?}");
    assert_eq!(crawl("follow_links true, max_crawl_depth 1"), ["/", "/a", "/b"]);
    assert_eq!(crawl("follow_links true, max_crawl_depth 0"), ["/"]);
    assert_eq!(crawl("follow_links true, max_crawl_pages 4").len(), 4);
    // A page beyond the limit has no row.
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 4);
    assert_eq!(crawl("follow_links true, include '/a*'"), ["/", "/a", "/a1"]);
    assert_eq!(crawl("follow_links true, exclude '/a1'"), ["/", "/a", "/b", "/b1"]);
    town.close();
}

/// "Honor `rel="nofollow"` when `respect_nofollow = true`".
#[test]
fn nofollow_is_honoured_unless_the_user_says_otherwise() {
    let links = r#"<a href="/yes">yes</a> <a rel="nofollow" href="/no">no</a>"#;
    let html = |text: &str| Body::Html(format!("<title>x</title>{text}"));
    let meta = r#"<meta name="robots" content="nofollow"><a href="/hidden">x</a>"#;
    let host = Host::named("h.test")
        .says_unlinked(Answer::to("/").body(html(links)))
        .says_unlinked(Answer::to("/yes").body(html(meta)))
        .says_unlinked(Answer::to("/no").body(html("")))
        .says_unlinked(Answer::to("/hidden").body(html("")));
    let mut town = town(host);
    let duck = town.duck();
    let home = list([town.url(0, "/")]);
    duck.crawl(&home, "follow_links true, sitemaps false");
    assert_eq!(fetched(&duck), ["/", "/yes"]);
    duck.run("DROP TABLE pages");
    duck.crawl(&home, "follow_links true, sitemaps false, respect_nofollow false");
    assert_eq!(fetched(&duck), ["/", "/hidden", "/no", "/yes"]);
    town.close();
}

/// "Follow canonical URLs when `follow_canonical = true`".
#[test]
fn the_address_that_a_page_calls_its_own_is_followed() {
    let head = r#"<link rel="canonical" href="/own">"#;
    let host = Host::named("h.test")
        .says_unlinked(Answer::page("/copy", "Copy", head, &[]))
        .says_unlinked(Answer::page("/own", "Own", "", &[]));
    let mut town = town(host);
    let duck = town.duck();
    let copy = list([town.url(0, "/copy")]);
    duck.crawl(&copy, "follow_links true, follow_canonical false, sitemaps false");
    assert_eq!(fetched(&duck), ["/copy"]);
    duck.run("DROP TABLE pages");
    duck.crawl(&copy, "follow_links true, sitemaps false");
    assert_eq!(fetched(&duck), ["/copy", "/own"]);
    town.close();
}

/// "When given full URL: Still check robots.txt for that domain. If no sitemap found, crawl the URL
/// directly. Don't cache "not_found" status for direct URLs".
#[test]
fn a_page_that_is_given_is_fetched_without_a_sitemap() {
    let host = Host::named("h.test")
        .pages(5, 1, 500)
        .says_unlinked(Answer::to("/sitemap.xml").first(1).status(404))
        .sitemap(sitemap("/sitemap.xml", SitemapKind::Urls, &["/p/3"]));
    let mut town = town(host);
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/p/1")]), "");
    assert_eq!(town.asked(0), ["/robots.txt", "/p/1"]);
    // A missing page has a row.
    duck.crawl(&list([town.url(0, "/p/99")]), "");
    assert_eq!(duck.number("SELECT http_status FROM pages WHERE url LIKE '%/p/99'"), 404);
    // Also with sitemaps of every host, none of which exists yet.
    duck.crawl(&list([town.url(0, "/p/2")]), "sitemaps true");
    assert_eq!(fetched(&duck), ["/p/1", "/p/2"]);
    // The missing sitemap is not remembered: it exists now, and is found.
    duck.crawl(&list([town.url(0, "/")]), "");
    assert_eq!(fetched(&duck), ["/", "/p/1", "/p/2", "/p/3"]);
    town.close();
}
