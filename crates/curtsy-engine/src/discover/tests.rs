//! What is found, from a page or a sitemap to the offers.

use curtsy_core::host::{Friction, RequestKind};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use proptest::prelude::*;

use super::{Discovery, DiscoverySpec, Scope};
use crate::{Document, Fetched, Head, Reader, RobotsFile, UrlRecord, Want};

const NOW: Time = Time::from_secs(1_790_000_000);

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn html() -> Head {
    Head { status: 200, content_type: Some("text/html".into()), ..Head::default() }
}

fn fetched(body: &str) -> Fetched {
    Fetched { body: body.to_owned().into() }
}

fn discovery(change: impl FnOnce(&mut DiscoverySpec)) -> Discovery {
    let mut spec = DiscoverySpec { seeds: vec![url("http://a.org/")], ..DiscoverySpec::default() };
    change(&mut spec);
    Discovery::new(spec).unwrap()
}

/// Offers as they would be spoken of: the URL, `sitemap` before one, and its depth.
fn said(document: &Document) -> String {
    let said = document.offers.iter().map(|offer| {
        let kind = match offer.want {
            Want::Sitemap => "sitemap ",
            Want::LaterSitemap { .. } => "later ",
            _ => "",
        };
        let text = offer.url.as_str().trim_start_matches("http://a.org");
        format!("{kind}{text}@{}", offer.depth)
    });
    said.collect::<Vec<_>>().join(" ")
}

/// What a page at `http://a.org/p` leads to, two links from its seed.
fn check(change: impl FnOnce(&mut DiscoverySpec), body: &str, expected: &str) {
    let record = UrlRecord::page(url("http://a.org/p"), 2);
    let document = discovery(change).read(&record, &html(), &fetched(body), NOW);
    assert_eq!(said(&document), expected, "{body}");
}

#[test]
fn links_are_offered_in_their_order_and_one_link_further() {
    check(|_| {}, "<a href=/b>b</a><a href=/a>a</a><a href=/b#x>b</a>", "/b@3 /a@3");
    check(|_| {}, "<a href=mailto:x>x</a><a href=/p>self</a><a href=http://b.org/>b</a>", "");
    check(|_| {}, "<a href=https://www.a.org:8443/x>x</a>", "https://www.a.org:8443/x@3");
    check(|_| {}, "<iframe src=/f></iframe><a href=/a>a</a><a href=/f>f</a>", "/a@3 /f@3");
    check(
        |_| {},
        "<meta http-equiv=refresh content='5; url=/next'><a href=/a>a</a>",
        "/next@3 /a@3",
    );
    check(|spec| spec.follow_links = false, "<a href=/a>a</a>", "");
    check(|spec| spec.scope = Scope::Everywhere, "<a href=http://b.org/>b</a>", "http://b.org/@3");
    check(
        |spec| spec.scope = Scope::Subdomains,
        "<a href=http://b.a.org/>b</a>",
        "http://b.a.org/@3",
    );
}

#[test]
fn what_the_user_does_not_want_is_passed_by() {
    let page = "<a href=/blog/1>1</a><a href=/blog/draft>2</a><a href=/x>3</a>";
    check(|spec| spec.include = vec!["/blog/*".into()], page, "/blog/1@3 /blog/draft@3");
    check(|spec| spec.exclude = vec!["*draft*".into()], page, "/blog/1@3 /x@3");
    check(
        |spec| {
            spec.include = vec!["/blog/*".into()];
            spec.exclude = vec!["/dr.ft$/".into()];
        },
        page,
        "/blog/1@3",
    );
}

#[test]
fn nofollow_is_respected_if_it_is_to_be() {
    let keep = |_: &mut DiscoverySpec| {};
    let ignore = |spec: &mut DiscoverySpec| spec.respect_nofollow = false;
    let link = "<a href=/a rel='ugc nofollow'>a</a><a href=/b>b</a>";
    check(keep, link, "/b@3");
    check(ignore, link, "/a@3 /b@3");
    let page = "<meta name=robots content=nofollow><a href=/a>a</a><iframe src=/f></iframe>";
    check(keep, page, "");
    check(ignore, page, "/a@3 /f@3");
    check(keep, "<meta name=robots content=none><a href=/a>a</a>", "");
    check(keep, "<meta name=Curtsy content=nofollow><a href=/a>a</a>", "");
    check(keep, "<meta name=otherbot content=nofollow><a href=/a>a</a>", "/a@3");
    let head = Head { x_robots_tag: vec!["curtsy: nofollow".into()], ..html() };
    let record = UrlRecord::page(url("http://a.org/p"), 2);
    let document = discovery(keep).read(&record, &head, &fetched("<a href=/a>a</a>"), NOW);
    assert!(document.offers.is_empty() && document.rules.nofollow);
}

#[test]
fn the_address_that_a_page_gives_as_its_own() {
    let page = "<link rel=canonical href=/c><a href=/a>a</a><a href=/c>c</a>";
    check(|_| {}, page, "/c@3 /a@3");
    check(|spec| spec.follow_canonical = false, page, "/a@3 /c@3");
    check(|spec| spec.follow_links = false, page, "");
    check(|_| {}, "<link rel=canonical href=/p>", "");
    check(|_| {}, "<link rel=canonical href=http://b.org/p>", "");
    check(
        |_| {},
        "<meta name=robots content=nofollow><link rel=canonical href=/c><a href=/a>",
        "/c@3",
    );
    let head = Head { link: vec!["</c>; rel=canonical".into()], ..html() };
    let record = UrlRecord::page(url("http://a.org/p"), 2);
    let document = discovery(|_| {}).read(&record, &head, &fetched("<p>x"), NOW);
    assert_eq!(said(&document), "/c@3");
    assert_eq!(document.html.unwrap().canonical, Some(url("http://a.org/c")));
}

#[test]
fn what_only_traces_visitors_is_not_offered() {
    let page = "<a href='/a?utm_source=x'>a</a><a href=/a>a</a><a href='/p?gclid=1'>p</a>\
                <a href='/b?fbclid=1&amp;q=2'>b</a>";
    check(|_| {}, page, "/a@3 /b?q=2@3");
    let kept = "/a?utm_source=x@3 /a@3 /p?gclid=1@3 /b?fbclid=1&q=2@3";
    check(|spec| spec.strip_tracking = false, page, kept);
}

#[test]
fn other_bodies() {
    let check = |content_type: &str, body: &str, expected: &str| {
        let head = Head { content_type: Some(content_type.into()), ..html() };
        let record = UrlRecord::page(url("http://a.org/p"), 2);
        let document = discovery(|_| {}).read(&record, &head, &fetched(body), NOW);
        assert_eq!(said(&document), expected, "{content_type} {body}");
    };
    let feed = "<rss version='2.0'><channel><item><link>http://a.org/1</link></item>\
                <item><link>http://b.org/2</link></item></channel></rss>";
    check("application/rss+xml", feed, "/1@3");
    check("text/xml", feed, "/1@3");
    check("application/pdf", "<a href=/a>a</a>", "");
    check("text/plain", "http://a.org/1", "");
    check("application/xhtml+xml", "<a href=/a>a</a>", "/a@3");
    check("", "<html><a href=/a>a</a>", "/a@3");
}

#[test]
fn a_seed_that_moved_is_followed_where_it_went_and_other_pages_are_not() {
    let check = |record: UrlRecord, scope: Scope, expected: &str| {
        let found = discovery(|spec| spec.scope = scope);
        let page = fetched("<a href=x>x</a><a href=http://a.org/y>y</a>");
        assert_eq!(said(&found.read(&record, &html(), &page, NOW)), expected);
        found
    };
    let moved = |to: &str, depth| UrlRecord {
        url: url(to),
        hop: 1,
        ..UrlRecord::page(url("http://a.org/"), depth)
    };
    let both = "https://b.org/x@1 /y@1";
    let found = check(moved("https://b.org/", 0), Scope::Host, both);
    assert!(found.wants(&url("http://b.org/z")));
    check(moved("https://b.org/in/", 0), Scope::Prefix, "https://b.org/in/x@1 /y@1");
    check(moved("https://b.org/", 1), Scope::Host, "");
    // A seed that only the source knows of.
    check(UrlRecord::page(url("http://c.org/"), 0), Scope::Host, "http://c.org/x@1 /y@1");

    let resumed = discovery(|_| {});
    assert!(!resumed.wants(&url("http://b.org/z")));
    resumed.admit_root(&url("https://b.org/"));
    assert!(resumed.wants(&url("http://b.org/z")));
}

/// The sitemaps that go before a page.
fn entrances(found: &Discovery, record: &UrlRecord, robots: Option<&str>) -> String {
    let file = robots.map(|text| RobotsFile {
        text: text.as_bytes().to_vec(),
        etag: None,
        last_modified: None,
    });
    let offers = found.entrances(record, file.as_ref());
    said(&Document { offers, ..Document::default() })
}

#[test]
fn sitemaps_go_before_the_first_page() {
    let check = |page: &str, depth, robots, expected: &str| {
        let record = UrlRecord::page(url(page), depth);
        assert_eq!(entrances(&discovery(|_| {}), &record, robots), expected, "{robots:?}");
    };
    check("http://a.org/x", 0, None, "sitemap /sitemap.xml@0");
    check("http://a.org:81/x", 0, None, "sitemap :81/sitemap.xml@0");
    check("http://a.org/x", 1, None, "");
    let two = Some(
        "Sitemap: http://a.org/one.xml\nSitemap: http://b.org/two.xml\nsitemap: http://a.org/one.xml",
    );
    check("http://a.org/x", 0, two, "sitemap /one.xml@0 sitemap http://b.org/two.xml@0");
    check("http://a.org/x", 0, Some("Sitemap: /three.xml"), "sitemap /three.xml@0");
    check("http://a.org/x", 0, Some("Sitemap: ftp://x/"), "sitemap /sitemap.xml@0");
    check("http://a.org/x", 0, Some("User-agent: *\nDisallow: /"), "sitemap /sitemap.xml@0");
    let many: String = (0..99).map(|n| format!("Sitemap: http://a.org/{n}.xml\n")).collect();
    let record = UrlRecord::page(url("http://a.org/"), 0);
    let named = entrances(&discovery(|_| {}), &record, Some(&many));
    assert_eq!(named.matches("sitemap ").count(), 50);
    assert_eq!(entrances(&discovery(|spec| spec.follow_sitemaps = false), &record, two), "");

    // Where a seed was redirected to, the crawl begins too.
    let found = discovery(|_| {});
    let link = UrlRecord::page(url("http://www.a.org/x"), 1);
    assert_eq!(entrances(&found, &link, None), "");
    found.admit_root(&url("http://www.a.org/"));
    assert_eq!(entrances(&found, &link, None), "sitemap http://www.a.org/sitemap.xml@0");
    let sitemap = &found.entrances(&link, None)[0];
    assert_ne!(sitemap.id, sitemap.url.key(), "a sitemap is not the page of the same URL");
    assert_eq!(entrances(&found, sitemap, None), "");
}

#[test]
fn what_a_sitemap_leads_to() {
    let check = |from: &str, nesting, body: &str, expected: &str| {
        let found = discovery(|spec| spec.exclude = vec!["*secret*".into()]);
        let record = UrlRecord { want: Want::Sitemap, ..UrlRecord::page(url(from), nesting) };
        let document = found.read(&record, &html(), &fetched(body), NOW);
        assert_eq!(said(&document), expected, "{body}");
    };
    let own = "http://a.org/s.xml";
    let pages = "<urlset><url><loc>http://a.org/1?utm_source=map</loc></url><url><loc>http://a.org/1</loc></url>\
                 <url><loc>http://b.org/2</loc></url><url><loc>http://a.org/secret</loc></url></urlset>";
    check(own, 0, pages, "/1@1");
    check(own, 5, pages, "/1@1");
    check("http://b.org/s.xml", 0, pages, "/1@1");
    let index = "<sitemapindex><sitemap><loc>http://a.org/t.xml</loc></sitemap><sitemap><loc>http://a.org/s.xml</loc></sitemap>\
                 <sitemap><loc>http://b.org/u.xml</loc></sitemap></sitemapindex>";
    check(own, 0, index, "sitemap /t.xml@1");
    check(own, 4, index, "sitemap /t.xml@5");
    check(own, 5, index, "");
    check(
        "http://b.org/s.xml",
        0,
        index,
        "sitemap /t.xml@1 sitemap /s.xml@1 sitemap http://b.org/u.xml@1",
    );
    check(own, 0, "http://a.org/1\nhttp://a.org/2\n", "/1@1 /2@1");
    // No sitemap at all: the next place where one is usually found.
    check(own, 0, "<!doctype html><p>not found", "");
    check(
        "http://a.org/sitemap.xml",
        0,
        "<!doctype html><p>not found",
        "sitemap /sitemap_index.xml@0",
    );
    check("http://a.org/sitemap.xml", 1, "<!doctype html><p>not found", "");
    check("http://a.org/sitemap.xml", 0, "<urlset></urlset>", "");
}

#[test]
fn the_next_place_for_a_sitemap_is_asked_once() {
    let found = discovery(|_| {});
    let first = found.entrances(&UrlRecord::page(url("http://a.org:81/x"), 0), None);
    let moved = UrlRecord { url: url("http://b.org/gone"), hop: 1, ..first[0].clone() };
    let second = found.instead(&moved);
    assert_eq!(second[0].url, url("http://a.org:81/sitemap_index.xml"));
    assert!(found.instead(&second[0]).is_empty());
    assert!(found.instead(&UrlRecord::page(url("http://a.org/sitemap.xml"), 0)).is_empty());
}

#[test]
fn the_sitemaps_of_an_index_have_an_end() {
    let found = discovery(|spec| spec.sitemaps_max = 3);
    let index = |from: u32| {
        let named = (from..from + 3).map(|n| format!("<sitemap><loc>/{n}.xml</loc></sitemap>"));
        let body = format!("<sitemapindex>{}</sitemapindex>", named.collect::<String>());
        let record = UrlRecord { want: Want::Sitemap, ..UrlRecord::page(url("http://a.org/s"), 0) };
        said(&found.read(&record, &html(), &fetched(&body), NOW))
    };
    assert_eq!(index(1), "sitemap /1.xml@1 sitemap /2.xml@1 sitemap /3.xml@1");
    assert_eq!(index(3), "sitemap /3.xml@1");
}

#[test]
fn the_newest_sitemaps_of_an_index_come_first() {
    let found = discovery(|_| {});
    let child = |name: &str, date: &str| {
        format!("<sitemap><loc>/{name}.xml</loc><lastmod>{date}</lastmod></sitemap>")
    };
    let body = [
        child("undated", "soon"),
        child("old", "1970-01-01T00:00:00Z"),
        child("of-tomorrow-year", "2999-01-01"),
        child("new", "1970-01-01T00:00:01Z"),
        child("as-new", "1970-01-01T00:00:01Z"),
    ];
    let body = format!("<sitemapindex>{}</sitemapindex>", body.concat());
    let record = UrlRecord::sitemap(url("http://a.org/s.xml"));
    assert_eq!(
        said(&found.read(&record, &html(), &fetched(&body), NOW)),
        "sitemap /new.xml@1 sitemap /as-new.xml@1 sitemap /old.xml@1 sitemap /undated.xml@1 \
         sitemap /of-tomorrow-year.xml@1"
    );
}

#[test]
fn the_sitemaps_of_a_long_index_are_read_among_the_pages() {
    let found = discovery(|_| {});
    let index = |names: std::ops::Range<u32>| {
        let named = names.map(|n| format!("<sitemap><loc>/{n}.xml</loc></sitemap>"));
        format!("<sitemapindex>{}</sitemapindex>", named.collect::<String>())
    };
    let read =
        |record: &UrlRecord, body: &str| found.read(record, &html(), &fetched(body), NOW).offers;
    let places = |offers: &[UrlRecord]| {
        offers.iter().map(|offer| (offer.rank(), offer.depth)).collect::<Vec<_>>()
    };
    let top = UrlRecord::sitemap(url("http://a.org/s.xml"));
    let offers = read(&top, &index(0..170));
    let expected: Vec<(u8, u16)> =
        [vec![(1, 1); 50], vec![(2, 2); 50], vec![(2, 3); 50], vec![(2, 4); 20]].concat();
    assert_eq!(places(&offers), expected);
    assert_eq!(places(&read(&top, &index(0..170))), expected, "read again");
    // The host has had its first ones, whatever index names more.
    let second = UrlRecord::sitemap(url("http://a.org/t.xml"));
    assert_eq!(places(&read(&second, &index(900..903))), [(2, 2); 3]);
    // A later sitemap that is an index itself: its own come no sooner, and have an end.
    let mut nested = offers[160].clone();
    for nesting in 2..=5 {
        assert!(nested.want.is_sitemap());
        let offers = read(&nested, &index(1_000 * nesting..1_000 * nesting + 51));
        assert_eq!(places(&offers), [vec![(2, 4); 50], vec![(2, 5); 1]].concat());
        nested = offers[0].clone();
    }
    assert!(read(&nested, &index(0..3)).is_empty(), "too deep");
    // Its pages are those of any sitemap.
    let pages = read(&nested, "<urlset><url><loc>/p</loc></url></urlset>");
    assert_eq!(places(&pages), [(2, 1)]);
    assert_eq!(pages[0].want, Want::Page);
}

#[test]
fn a_trap_has_its_reason_once() {
    let found = discovery(|spec| spec.traps.sessions_max = 2);
    let read = |body: &str| {
        let record = UrlRecord::page(url("http://a.org/p"), 2);
        let document = found.read(&record, &html(), &fetched(body), NOW);
        let traps = document.traps.iter();
        let traps = traps.map(|(url, why)| format!("{} {}", url.path_and_query(), why.words()));
        (said(&document), traps.collect::<Vec<_>>().join(", "))
    };
    let visits = "<a href=/a?phpsessid=1>1</a><a href=/a?phpsessid=2>2</a>\
                  <a href=/a?phpsessid=3>3</a>";
    let two = "/a?phpsessid=1@3 /a?phpsessid=2@3".to_owned();
    let why = "/a?phpsessid=3 more than 2 URLs differ by a session only";
    assert_eq!(read(visits), (two.clone(), why.into()));
    assert_eq!(read(visits), (two, String::new()));
    let deep = "/a".repeat(33);
    let why = format!("{deep} longer than 32");
    assert_eq!(read(&format!("<a href={deep}>x</a>")), (String::new(), why));
}

#[test]
fn friction_is_seen_for_what_was_asked() {
    let check = |kind: RequestKind, head: Head, body: &str, expected: Option<Friction>| {
        let found = discovery(|_| {}).friction(kind, &head, &fetched(body));
        assert_eq!(found, expected, "{kind:?} {head:?} {body:?}");
    };
    let challenge =
        Head { status: 403, others: vec![("cf-mitigated".into(), "challenge".into())], ..html() };
    check(RequestKind::Page, challenge.clone(), "<p>wait", Some(Friction::Challenge));
    check(RequestKind::Robots, challenge, "", Some(Friction::Challenge));
    check(RequestKind::Page, html(), "<p>an ordinary page", None);
    check(RequestKind::Page, html(), "", Some(Friction::Unusual));
    check(RequestKind::Page, html(), " \r\n", Some(Friction::Unusual));
    check(RequestKind::Page, Head { content_type: None, ..html() }, "", Some(Friction::Unusual));
    check(RequestKind::Page, Head { content_type: Some("text/plain".into()), ..html() }, "", None);
    check(RequestKind::Probe, html(), "", None);
    check(RequestKind::Robots, html(), "", None);
    check(RequestKind::Sitemap, html(), "", None);
    check(RequestKind::Page, Head { status: 204, ..html() }, "", None);
    check(RequestKind::Page, Head { status: 304, ..html() }, "", None);
    check(RequestKind::Page, Head { status: 999, ..html() }, "no", Some(Friction::Unusual));
}

#[test]
fn after_a_restart_the_decisions_are_the_same() {
    let narrow = |spec: &mut DiscoverySpec| spec.traps.sessions_max = 2;
    let page = |found: &Discovery, body: &str| {
        let record = UrlRecord::page(url("http://b.org/p"), 30);
        let document = found.read(&record, &html(), &fetched(body), NOW);
        (said(&document), document)
    };
    let moved =
        UrlRecord { url: url("http://b.org/"), hop: 1, ..UrlRecord::page(url("http://a.org/"), 0) };
    let first = "<a href=/a?phpsessid=1>1</a><a href=/a?phpsessid=2>2</a>\
                 <a href=/a?phpsessid=3>3</a>";
    let then = "<a href=/a?phpsessid=3>3</a><a href=/a?phpsessid=2>2</a><a href=/new>n</a>";

    let lived = discovery(narrow);
    lived.read(&moved, &html(), &fetched(""), NOW);
    let (_, document) = page(&lived, first);
    assert_eq!((document.offers.len(), document.traps.len()), (2, 1));

    let resumed = discovery(narrow);
    resumed.admit_root(&url("http://b.org/"));
    document.offers.iter().rev().for_each(|offer| resumed.note_known(&offer.url));
    let expected = "http://b.org/a?phpsessid=2@31 http://b.org/new@31";
    for found in [lived, resumed] {
        assert_eq!(page(&found, then).0, expected);
    }
}

#[test]
fn workers_share_it() {
    fn check<T: Send + Sync + Reader>(_: &T) {}
    let found = discovery(|_| {});
    check(&found);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let found = &found;
            scope.spawn(move || {
                for n in 0..200 {
                    // Seeds that move, pages and sitemaps at once.
                    let to = url(&format!("http://h{}.org/", (worker + n) % 7));
                    let moved =
                        UrlRecord { url: to, hop: 1, ..UrlRecord::page(url("http://a.org/"), 0) };
                    found.read(&moved, &html(), &fetched("<a href='/x?a=1'>x</a>"), NOW);
                    let map = UrlRecord {
                        want: Want::Sitemap,
                        ..UrlRecord::page(url("http://a.org/s"), 0)
                    };
                    found.read(&map, &html(), &fetched("http://a.org/1?b=2\n"), NOW);
                }
            });
        }
    });
    assert!((0..7).all(|n| found.wants(&url(&format!("http://h{n}.org/y")))));
}

proptest! {
    #[test]
    fn no_answer_is_too_strange(
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "(<a href='[a-z0-9/?&=;.%:#-]{0,30}'>|<(urlset|sitemapindex|rss|url|loc|sitemap|link|iframe src=/x)>|http://a.org/[a-z]{0,3}|\\PC){0,20}"
                .prop_map(String::into_bytes),
        ],
        content_type in prop::sample::select(vec!["", "text/html", "text/xml", "application/rss+xml", "image/png", ";"]),
        status in any::<u16>(),
        depth in 0_u16..9,
        is_sitemap in any::<bool>(),
    ) {
        let found = discovery(|spec| spec.scope = Scope::Everywhere);
        let head = Head { status, content_type: Some(content_type.into()), ..Head::default() };
        let page = Fetched { body: body.into() };
        let want = if is_sitemap { Want::Sitemap } else { Want::Page };
        let record = UrlRecord { want, ..UrlRecord::page(url("http://a.org/p"), depth) };
        let first = found.read(&record, &head, &page, NOW);
        found.friction(RequestKind::Page, &head, &page);
        // What was offered is offered again; what was told is not told again.
        let again = found.read(&record, &head, &page, NOW);
        prop_assert_eq!(said(&first), said(&again));
        prop_assert!(again.traps.is_empty());
        let mut ids: Vec<_> = first.offers.iter().map(|offer| offer.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), first.offers.len());
    }
}
