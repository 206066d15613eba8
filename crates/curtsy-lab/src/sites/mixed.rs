//! Many hosts, each with a mood of its own and waits that are short enough to live through: seconds, not hours.
//!
//! The hosts stand at 127.0.2.1 and on and lead to each other by these addresses, so that no name has to be resolved.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::answer::{Answer, Body, Coding, Ending, Framing, PageParts};
use super::scene::{Host, Listen, Range, Scene, Sitemap, SitemapKind, TrapKind, Window};

impl Scene {
    /// So many hosts, `m1.test` and on, with mixed moods; from the 37th on the moods come again.
    pub fn mixed(hosts: u32) -> Scene {
        let each = (0..hosts.min(20_000)).map(|n| {
            let host = Host::named(&format!("m{}.test", n + 1)).pages(12, 4, 3_000).at(address(n));
            in_mood(n % MOODS, n, host)
        });
        Scene { seed: 1, hosts: each.collect(), ..Scene::default() }
    }

    /// So many hosts that speak TLS; every second one keeps a handshake waiting for up to a second.
    pub fn slow_handshakes(hosts: u32, pages: u32, bytes: u32) -> Scene {
        let mut scene = Scene::plain(hosts, pages, 8, bytes);
        for (n, host) in scene.hosts.iter_mut().enumerate() {
            host.listen = Listen::Https;
            host.handshake = if n % 2 == 1 { Range::ms(0, 1_000) } else { Range::default() };
        }
        scene
    }
}

/// How many moods there are.
const MOODS: u32 = 36;

fn in_mood(mood: u32, n: u32, host: Host) -> Host {
    let open = "User-agent: *\nDisallow:\n";
    match mood {
        0..=2 => host.robots(open),
        3..=9 => robots_mood(mood, n, host),
        10..=18 => refusing_mood(mood, host.robots(open)),
        19..=24 => odd_mood(mood, n, host.robots(open)),
        25..=30 => telling_mood(mood, host.robots(open)),
        _ => trying_mood(mood, host.robots(open)),
    }
}

/// What robots.txt is or does.
fn robots_mood(mood: u32, n: u32, host: Host) -> Host {
    let robots = || Answer::to("/robots.txt");
    let text = |text: &str| Body::Text(text.to_owned());
    match mood {
        3 => host.robots("User-agent: *\nCrawl-delay: 0.5\n"),
        4 => host
            .robots("User-agent: *\nDisallow: /p/1\nAllow: /p/10$\nDisallow: /*?\n")
            .links_to("/p/2?sort=up"),
        // None at all: a 404.
        5 => host,
        6 => host.says(robots().status(403)),
        7 => {
            let other = address(n / MOODS * MOODS + 4);
            host.says(Answer::moved(
                "/robots.txt",
                301,
                &format!("http://{other}:{{port}}/robots.txt"),
            ))
        }
        8 => host.robots("User-agent: *\nDisallow: /p/3\n").says(robots().first(1).status(503)),
        _ => host
            .says(robots().after_ms(4_000).body(text("User-agent: *\nDisallow: /p/\n")))
            .says(robots().body(text("User-agent: *\nDisallow: /p/5\n"))),
    }
}

/// How it refuses.
fn refusing_mood(mood: u32, host: Host) -> Host {
    let once = |path: &str, status| Answer::to(path).first(1).status(status);
    match mood {
        10 => host
            .says(once("/p/2", 429).retry_after_seconds(1))
            .says(once("/p/5", 429).retry_after_seconds(2)),
        11 => host.says(once("/p/3", 429).retry_after_date(2)),
        12 => host.says(once("/p/4", 429)),
        13 => host.says(once("/p/1", 503).retry_after_seconds(2)),
        14 => host.says(once("/p/1", 503)).says(once("/p/6", 502)),
        15 => host.says(once("/p/1", 500)).says(once("/p/6", 408)),
        16 => host
            .says(Answer::to("/gone").status(410))
            .says(Answer::to("/login").status(401).header("WWW-Authenticate: Basic realm=\"town\""))
            .says(Answer::to("/paid").status(402))
            .says(Answer::to("/withheld").status(451))
            .links_to("/missing"),
        17 => host.says(Answer::to("/p/11").status(403)),
        _ => host.says(Answer::wall("/p/11")),
    }
}

/// How its answers go astray.
fn odd_mood(mood: u32, n: u32, host: Host) -> Host {
    let once = |path: &str, ending| Answer::to(path).first(1).ending(ending);
    match mood {
        19 => {
            let next = address(n / MOODS * MOODS);
            let hops = (1..8).map(|hop| {
                Answer::moved(&format!("/far/{hop}"), 302, &format!("/far/{}", hop + 1))
            });
            let host = host
                .says(Answer::moved("/a", 301, "/b"))
                .says_unlinked(Answer::moved("/b", 308, "/p/2"))
                .says(Answer::moved("/round", 302, "/again"))
                .says_unlinked(Answer::moved("/again", 302, "/round"))
                .says(Answer::moved("/away", 302, &format!("http://{next}:{{port}}/p/1")));
            hops.fold(host.links_to("/far/1"), Host::says_unlinked)
        }
        20 => host
            .says(once("/p/2", Ending::Truncated))
            .says(once("/p/4", Ending::Reset))
            .says(once("/p/6", Ending::Empty)),
        21 => {
            let slow = Answer { first_byte: Duration::from_millis(800), ..Answer::to("/p/2") };
            let (piece_bytes, piece_wait) = (Some(300), Duration::from_millis(100));
            let dripping = Answer { piece_bytes, piece_wait, ..Answer::to("/p/3") };
            host.says(slow).says(dripping)
        }
        22 => host
            .says(Answer::to("/p/1").coding(Coding::Gzip))
            .says(Answer::to("/p/2").coding(Coding::Deflate))
            .says(Answer::to("/p/3").coding(Coding::RawDeflate))
            .says(Answer::to("/p/4").coding(Coding::Br))
            .says(Answer::to("/p/5").coding(Coding::Zstd))
            .says(Answer { framing: Framing::Chunked, ..Answer::to("/p/6") })
            .says(Answer { framing: Framing::Close, ..Answer::to("/p/7") }),
        23 => {
            let page =
                Body::Html("<title>Café Ångström</title><a href=\"/p/1\">één</a>".to_owned());
            let written = |path: &str, charset: &str| Answer {
                charset: Some(charset.to_owned()),
                ..Answer::to(path).body(page.clone())
            };
            host.says(written("/latin", "windows-1252")).says(written("/wide", "utf-16le"))
        }
        _ => host
            .says(Answer::to("/film").body(Body::Bytes(12 << 20)))
            .says(Answer {
                content_type: Some("image/png".to_owned()),
                ..Answer::to("/picture.png").body(Body::Hex("89504e470d0a1a0a".to_owned()))
            })
            .says(Answer::to("/nothing").status(204)),
    }
}

/// What its pages say of themselves.
fn telling_mood(mood: u32, mut host: Host) -> Host {
    let page = |path: &str, head: &str, links: &[&str]| Answer::page(path, path, head, links);
    match mood {
        25 => host
            .says(page("/noindex", "<meta name=\"robots\" content=\"noindex\">", &["/p/1"]))
            .says(page("/nofollow", "<meta name=\"robots\" content=\"nofollow\">", &["/unseen"]))
            .says(page("/none", "", &["/unseen"]).header("X-Robots-Tag: none")),
        26 => host
            .says(page("/print", "<link rel=\"canonical\" href=\"/p/1\">", &[]))
            .says(page("/based", "<base href=\"/below/\">", &["here"]))
            .says_unlinked(page("/below/here", "", &[]))
            .says(page("/refresh", "<meta http-equiv=\"refresh\" content=\"0; url=/p/2\">", &[])),
        27 => {
            host.pages.etag = true;
            host.pages.max_age = Some(60);
            host.says(Answer {
                last_modified: Some("Thu, 01 Jan 2026 00:00:00 GMT".to_owned()),
                cache_control: Some("no-cache".to_owned()),
                ..page("/dated", "", &[])
            })
        }
        28 => host.trap("/calendar/", TrapKind::Calendar),
        29 => host.trap("/session/", TrapKind::Session),
        _ => host.trap("/deep/", TrapKind::Repeat),
    }
}

/// How it tries a crawler's patience.
fn trying_mood(mood: u32, mut host: Host) -> Host {
    match mood {
        31 => {
            let sitemap = |path: &str, kind, locs: &[&str], gz| Sitemap {
                path: path.to_owned(),
                kind,
                locs: locs.iter().map(|loc| (*loc).to_owned()).collect(),
                pages: None,
                gz,
            };
            let parts = ["/maps/1.xml.gz", "/maps/2.txt", "/maps/3.rss", "/maps/4.atom"];
            host.pages.count = 1;
            host = host.robots("User-agent: *\nSitemap: {base}/maps/index.xml\n");
            host.sitemaps = vec![
                sitemap("/maps/index.xml", SitemapKind::Index, &parts, false),
                sitemap("/maps/1.xml.gz", SitemapKind::Urls, &["/listed/1", "/listed/2"], true),
                sitemap("/maps/2.txt", SitemapKind::Text, &["/listed/3"], false),
                sitemap("/maps/3.rss", SitemapKind::Rss, &["/listed/4"], false),
                sitemap("/maps/4.atom", SitemapKind::Atom, &["/listed/5"], false),
            ];
            let listed = Body::Page(PageParts { bytes: 1_000, ..PageParts::default() });
            host.says_unlinked(Answer::to("/listed/*").body(listed))
        }
        32 => {
            host.refuse = vec![Window::ms(1_000, 2_000)];
            host
        }
        33 => {
            host.think = Range::ms(20, 300);
            host
        }
        34 => {
            host.close_after = Some(1);
            host
        }
        _ => {
            host.says(Answer::to_all().between_ms(1_000, 2_000).status(503).retry_after_seconds(1))
        }
    }
}

/// The `n`-th host's address.
fn address(n: u32) -> Ipv4Addr {
    let n = n + 1;
    Ipv4Addr::new(127, 0, 2 + (n / 250) as u8, (n % 250) as u8)
}
