//! Every way in by which an address can come to a crawl, with the whole corpus each: seeds, redirects, robots.txt that is elsewhere,
//! sitemaps that robots.txt names, what sitemaps name, links, answers to a probe, and what the name server says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::LazyLock;

use curtsy_core::url::CrawlUrl;
use rusqlite::Connection;

use crate::corpus::{Spelling, addresses, leads_inward, spellings};
use crate::namespace::{OWN_V4, World, inside};
use crate::resolver::Said;
use crate::sites::{Answer, Request};

static CORPUS: LazyLock<Vec<Spelling>> = LazyLock::new(spellings);

/// What a name server says: `*.pub.test` is public, `*.in.test` is not.
pub(crate) fn names(name: &str, _: usize) -> Said {
    let inward = Ipv4Addr::new(10, 0, 0, 1).into();
    match name {
        "alias.in.test" => Said::Alias("deep.in.test".into(), vec![inward]),
        "mixed.in.test" => Said::At(vec![site_address(name), inward, Ipv6Addr::LOCALHOST.into()]),
        "own.in.test" => Said::At(vec![OWN_V4[1].into()]),
        _ if leads_inward(name) => Said::At(vec![inward]),
        _ if name.ends_with(".pub.test") => Said::At(vec![site_address(name)]),
        _ => Said::Nobody,
    }
}

/// The public address of a site, made of its name.
pub(crate) fn site_address(name: &str) -> IpAddr {
    let sum = name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let [_, a, b, c] = sum.to_be_bytes();
    match c % 2 {
        0 => Ipv4Addr::new(20, a, b, c | 1).into(),
        _ => Ipv6Addr::new(0x2a02, 0, 0, 0, 0, a.into(), b.into(), c.into()).into(),
    }
}

/// A policy that loses no time: each host that the corpus can mean is named, as the user's own.
pub(crate) fn policy(world: &World, preset: &str, more_hosts: &[&str]) {
    let mut text = format!(
        "preset = '{preset}'\npatience = '20s'\n[pace]\ndelay = '200ms'\nadaptive = false\n[slots]\nper_address = 256\n"
    );
    let meant = CORPUS.iter().filter_map(|spelling| CrawlUrl::parse(&spelling.url).ok());
    let meant = meant.map(|url| url.host().to_string());
    let more = more_hosts.iter().map(|host| (*host).to_owned());
    let hosts: BTreeSet<String> = meant.chain(more).collect();
    for host in hosts {
        let _ = write!(text, "[host.\"{host}\"]\ndelay = '0s'\n");
    }
    world.write("policy.toml", &text);
}

/// How rows ended, by what they say: decision, status, error.
pub(crate) fn endings(db: &Connection, which: &str) -> BTreeMap<String, usize> {
    let sql = format!(
        "SELECT decision || ' ' || coalesce(http_status, '-') || ' ' || coalesce(error, gate, '-') AS ended, count(*) FROM pages WHERE {which} GROUP BY ended"
    );
    let mut rows = db.prepare(&sql).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)? as usize))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The corpus is what it is said to be, and the wire shows whatever the system is able to dial.
#[test]
fn the_trap_sees_what_falls_into_it() {
    inside(
        "entrances::the_trap_sees_what_falls_into_it",
        names,
        |_| Answer::status(404),
        |world| {
            let (mut shown, mut never) = (0, Vec::new());
            for address in addresses() {
                // One port where somebody listens, one where nobody does.
                let seen = [80, 9].map(|port| world.wire.shows(SocketAddr::new(address, port)));
                match seen {
                    [true, true] => shown += 1,
                    [false, false] => never.push(address),
                    _ => panic!("{address}: only one port of two was seen"),
                }
            }
            // The system does not dial multicast, broadcast, and link-local addresses without an interface.
            let undialled = |address: &IpAddr| match address.to_canonical() {
                IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast() || v4.octets()[0] == 0,
                IpAddr::V6(v6) => v6.is_multicast() || v6.is_unicast_link_local(),
            };
            assert!(never.iter().all(undialled), "{never:?}");
            assert!(shown > 150, "{shown}");
            let rules: BTreeSet<_> = CORPUS.iter().map(|s| s.rule).collect();
            assert!(CORPUS.len() >= 500 && rules.len() >= 50);
            eprintln!(
                "corpus: {} spellings by {} rules, {} addresses of which {shown} can be dialled",
                CORPUS.len(),
                rules.len(),
                shown + never.len()
            );
        },
    );
}

#[test]
fn seeds() {
    inside(
        "entrances::seeds",
        names,
        |_| Answer::status(404),
        |world| {
            policy(world, "careful", &[]);
            let read = |spelling: &&Spelling| curtsy_crawl::seed(&spelling.url).is_ok();
            let (read, unread): (Vec<_>, Vec<_>) = CORPUS.iter().partition(read);
            let lines: Vec<_> = read.iter().map(|spelling| spelling.url.as_str()).collect();
            world.write("seeds.txt", &lines.join("\n"));
            world.crawl(&["--from", "seeds.txt", "--policy", "policy.toml"]).ends(4);
            let ended = endings(&world.db("crawl.db"), "kind = 'page'");
            for spelling in &unread {
                let ran = world.crawl(&[&spelling.url, "--into", "none.db"]).ends(2);
                assert!(ran.said.contains("is no URL that can be crawled"), "{}", ran.said);
            }
            assert!(!world.path("none.db").exists());
            let dials = world.assert_walls_held();
            eprintln!(
                "seeds: {} spellings, {} refused as they were read, {dials} dials, rows {ended:?}",
                CORPUS.len(),
                unread.len()
            );
            assert_eq!(dials, 0);
            assert_eq!(ended.keys().collect::<Vec<_>>(), ["dead - guard"]);

            // Were it not for the guard, they would all be dialled.
            let open = ["--allow-net", "0.0.0.0/0", "--allow-net", "::/0", "--patience", "0s"];
            let args = ["--from", "seeds.txt", "--policy", "policy.toml", "--into", "open.db"];
            world.crawl(&[&args[..], &open].concat());
            let dialled: BTreeSet<IpAddr> = world.wire.dialled().iter().map(|to| to.ip()).collect();
            eprintln!("seeds, every network allowed: {} addresses dialled", dialled.len());
            assert!(dialled.len() > 150, "{dialled:?}");
        },
    );
}

#[test]
fn redirects() {
    const CODES: [u16; 7] = [300, 301, 302, 303, 305, 307, 308];
    let site = |request: &Request| {
        let mut parts = request.target.split('/').skip(1);
        let mut next = || parts.next()?.parse::<usize>().ok();
        match (next(), next()) {
            (Some(code), Some(n)) => Answer::moved(code as u16, &CORPUS[n].url),
            _ => Answer::status(404),
        }
    };
    inside("entrances::redirects", names, site, |world| {
        policy(world, "careful", &["redirect.pub.test"]);
        let seeds: Vec<String> = (0..CORPUS.len())
            .flat_map(|n| CODES.map(|code| format!("http://redirect.pub.test/{code}/{n}")))
            .collect();
        world.write("seeds.txt", &seeds.join("\n"));
        // Every redirect is followed by a request of its own: what one led to is not remembered for the next.
        let args =
            ["--from", "seeds.txt", "--policy", "policy.toml", "--no-sitemaps", "--no-cache"];
        let ran = world.crawl(&args);
        let dials = world.assert_walls_held();
        let db = world.db("crawl.db");
        let ended = endings(&db, "kind = 'page'");
        eprintln!("redirects: {} × 7 codes, {dials} dials, rows {ended:?}", CORPUS.len());
        assert_eq!(ran.code, Some(0), "{}", ran.said);
        // 300 and 305 are not followed. What leads to the same host is asked for there; what leads elsewhere, nowhere.
        let here = CORPUS.iter().filter(|s| leads(&s.url) == Leads::Here).count();
        assert_eq!(world.sites.heard().len(), seeds.len() + 1 + 5 * here, "and one robots.txt");
        let away = CORPUS.iter().filter(|s| leads(&s.url) == Leads::Away).count();
        assert_eq!(ended["dead - guard"], 5 * away);
    });
}

#[test]
fn robots_that_are_elsewhere() {
    // A host for each spelling: its robots.txt lies there.
    let site = |request: &Request| match number(&request.host, ".robots.pub.test") {
        Some(n) if request.target == "/robots.txt" => Answer::moved(302, &CORPUS[n].url),
        // The way works: this one is elsewhere, on a public address.
        None if request.host == "good.pub.test" && request.target == "/robots.txt" => {
            Answer::moved(302, "http://rules.pub.test/rules")
        }
        None if request.target == "/rules" => Answer::text("User-agent: *\nDisallow: /no\n"),
        _ => Answer::page("a page"),
    };
    inside("entrances::robots_that_are_elsewhere", names, site, |world| {
        policy(world, "careful", &["good.pub.test"]);
        let mut seeds: Vec<String> =
            (0..CORPUS.len()).map(|n| format!("http://h{n}.robots.pub.test/")).collect();
        seeds.extend(["http://good.pub.test/".into(), "http://good.pub.test/no".into()]);
        world.write("seeds.txt", &seeds.join("\n"));
        let args = ["--from", "seeds.txt", "--policy", "policy.toml", "--no-sitemaps"];
        world.crawl(&args);
        let dials = world.assert_walls_held();
        let ended = endings(&world.db("crawl.db"), "kind = 'page'");
        let asked = world.sites.heard();
        let robots = asked.iter().filter(|request| request.target == "/robots.txt").count();
        eprintln!(
            "robots.txt elsewhere: {} spellings, {dials} dials, rows {ended:?}",
            CORPUS.len()
        );
        assert_eq!(robots, CORPUS.len() + 1, "each was asked for");
        // What leads nowhere is no robots.txt (RFC 9309 §2.3.1.2); what may not be asked for can't be had, and denies.
        let pages = asked.iter().filter(|request| request.host.ends_with(".robots.pub.test"));
        let pages = pages.filter(|request| request.target == "/").count();
        let stays = CORPUS.iter().filter(|s| leads(&s.url) != Leads::Away).count();
        assert_eq!(pages, stays, "a page is asked for only where robots.txt led nowhere else");
        assert_eq!(ended["fetched 200 -"], stays + 1);
        assert_eq!(ended["refused - robots"], 1);
    });
}

#[test]
fn sitemaps_that_robots_name() {
    const EACH: usize = 40;
    let site = |request: &Request| match number(&request.host, ".lines.pub.test") {
        Some(n) if request.target == "/robots.txt" => {
            let some = CORPUS.iter().skip(n * EACH).take(EACH);
            let mut text = "User-agent: *\n".to_owned();
            some.for_each(|s| text += &format!("Sitemap: {}\n", s.url));
            text += "Sitemap: http://maps.pub.test/map.xml\n";
            Answer::text(text)
        }
        None if request.target == "/map.xml" => Answer::text("http://x.lines.pub.test/"),
        _ => Answer::page("a page"),
    };
    inside("entrances::sitemaps_that_robots_name", names, site, |world| {
        policy(world, "careful", &[]);
        let hosts = CORPUS.len().div_ceil(EACH);
        let seeds: Vec<_> = (0..hosts).map(|n| format!("http://h{n}.lines.pub.test/")).collect();
        world.write("seeds.txt", &seeds.join("\n"));
        world.crawl(&["--from", "seeds.txt", "--policy", "policy.toml"]).ends(0);
        let dials = world.assert_walls_held();
        let db = world.db("crawl.db");
        let ended = endings(&db, "kind = 'sitemap'");
        eprintln!("Sitemap: lines: {} spellings, {dials} dials, rows {ended:?}", CORPUS.len());
        assert_eq!(endings(&db, "kind = 'page'")["fetched 200 -"], hosts);
        let map = |request: &Request| request.target == "/map.xml";
        assert!(world.sites.heard().iter().any(map), "a public one is asked for");
        assert!(ended["dead - guard"] > 500);
    });
}

#[test]
fn what_sitemaps_and_pages_name() {
    let site = |request: &Request| {
        let all = |around: &dyn Fn(&str) -> String| -> String {
            let escaped = |s: &Spelling| s.url.replace('&', "&amp;").replace('<', "&lt;");
            CORPUS.iter().map(|s| around(&escaped(s))).collect()
        };
        match request.target.as_str() {
            "/robots.txt" => Answer::text("Sitemap: /index.xml\n"),
            "/index.xml" => Answer::text(format!(
                "<sitemapindex>{}<sitemap><loc>http://named.pub.test/urls.xml</loc></sitemap></sitemapindex>",
                all(&|url| format!("<sitemap><loc>{url}</loc></sitemap>"))
            )),
            "/urls.xml" => Answer::text(format!(
                "<urlset>{}<url><loc>http://named.pub.test/good</loc></url></urlset>",
                all(&|url| format!("<url><loc>{url}</loc></url>"))
            )),
            "/" => Answer::page(format!(
                "<title>x</title>{}<a href=/last>x</a>",
                all(&|url| {
                    let url = url.replace("/s", "/t").replace('"', "&quot;");
                    format!("<a href=\"{url}\">x</a><iframe src=\"{url}\"></iframe>")
                })
            )),
            _ => Answer::page("a page"),
        }
    };
    inside("entrances::what_sitemaps_and_pages_name", names, site, |world| {
        policy(world, "careful", &["named.pub.test"]);
        // As far as a scope can go.
        let args = ["http://named.pub.test/", "--policy", "policy.toml", "--scope", "everywhere"];
        let ran = world.crawl(&args);
        let dials = world.assert_walls_held();
        let db = world.db("crawl.db");
        let (pages, maps) = (endings(&db, "kind = 'page'"), endings(&db, "kind = 'sitemap'"));
        eprintln!(
            "loc and links: {} spellings each, {dials} dials, pages {pages:?}, sitemaps {maps:?}",
            CORPUS.len()
        );
        assert_eq!(ran.code, Some(0), "{}", ran.said);
        for read in ["/good", "/last", "/urls.xml"] {
            assert!(world.sites.heard().iter().any(|request| request.target == read), "{read}");
        }
        assert!(pages["dead - guard"] > 1000 && maps["dead - guard"] > 500);
    });
}

/// Where a spelling leads from a public page.
#[derive(PartialEq)]
enum Leads {
    /// It is no URL that can be crawled.
    Nowhere,
    /// To the same host, as `http:x/y` does.
    Here,
    Away,
}

fn leads(spelling: &str) -> Leads {
    let page = CrawlUrl::parse("http://h.pub.test/robots.txt").unwrap();
    match page.join(spelling) {
        Err(_) => Leads::Nowhere,
        Ok(url) if url.host() == page.host() => Leads::Here,
        Ok(_) => Leads::Away,
    }
}

/// The number in `h17.robots.pub.test`.
fn number(host: &str, below: &str) -> Option<usize> {
    host.strip_suffix(below)?.strip_prefix('h')?.parse().ok()
}
