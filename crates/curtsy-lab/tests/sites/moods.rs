//! What each mood sends.

use std::io::Read;
use std::time::Duration;

use curtsy_lab::sites::{
    Answer, Body, Coding, Ending, Framing, Host, Sitemap, SitemapKind, TrapKind,
};
use curtsy_parse::challenge::{Vendor, WallKind, wall};

use super::client::{Client, Reply, serve};

/// What one host with these answers says to a path, on a connection of its own.
fn said(answers: impl IntoIterator<Item = Answer>, path: &str) -> Reply {
    let host = answers.into_iter().fold(Host::named("a.test"), Host::says);
    let sites = serve([host]);
    Client::of(&sites, 0).get(path)
}

/// The statuses that a host gives to the same path, time after time.
#[track_caller]
fn check(answers: impl IntoIterator<Item = Answer>, path: &str, expected: &[(u16, &str)]) {
    let host = answers.into_iter().fold(Host::named("a.test").pages(3, 2, 500), Host::says);
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    for (turn, (status, header)) in expected.iter().enumerate() {
        let reply = client.get(path);
        assert_eq!(reply.status, *status, "turn {turn}");
        assert!(reply.head.contains(header), "turn {turn}: {}", reply.head);
        assert!(reply.whole);
    }
}

#[test]
fn statuses_come_as_often_as_the_script_says() {
    check(
        [Answer::to("/p/1").first(2).status(429).retry_after_seconds(3)],
        "/p/1",
        &[(429, "\r\nRetry-After: 3\r\n"), (429, "\r\nRetry-After: 3\r\n"), (200, "text/html")],
    );
    check([Answer::to("/p/1").status(429)], "/p/1", &[(429, "Too Many Requests\r\n"), (429, "")]);
    check([Answer::to("/p/1").first(1).status(503)], "/p/1", &[(503, "Unavailable"), (200, "")]);
    for status in [401, 402, 403, 404, 410, 451, 500, 502, 520] {
        check([Answer::to("/p/1").status(status)], "/p/1", &[(status, "Content-Length: ")]);
    }
    check([Answer::to("/none").status(204)], "/none", &[(204, ""), (204, "")]);
    check([], "/p/9", &[(404, "")]);
    check([], "/p/01", &[(404, "")]);
}

#[test]
fn what_is_behind_a_gate_comes_when_it_is_opened() {
    let host = Host::named("a.test").pages(3, 2, 500).says(Answer::to("/p/1").behind("gate"));
    let sites = serve([host]);
    std::thread::scope(|threads| {
        let held = threads.spawn(|| Client::of(&sites, 0).get("/p/1").status);
        while sites.at_gate("gate") == 0 {
            std::thread::yield_now();
        }
        assert_eq!(Client::of(&sites, 0).get("/p/2").status, 200, "others are not held");
        assert!(!held.is_finished());
        sites.open("another");
        assert_eq!(sites.at_gate("gate"), 1);
        sites.open("gate");
        assert_eq!(held.join().expect("an answer"), 200);
    });
    assert_eq!(sites.at_gate("gate"), 0);
    assert_eq!(Client::of(&sites, 0).get("/p/1").status, 200, "it stays open");
}

#[test]
fn a_retry_after_may_be_a_date() {
    let reply = said([Answer::to("/x").status(503).retry_after_date(5)], "/x");
    let told = httpdate::parse_http_date(reply.header("Retry-After").unwrap()).unwrap();
    let date = httpdate::parse_http_date(reply.header("Date").unwrap()).unwrap();
    let ahead = told.duration_since(date).unwrap();
    assert!(ahead == Duration::from_secs(5) || ahead == Duration::from_secs(6), "{ahead:?}");
}

#[test]
fn redirects_lead_where_the_script_says() {
    let hosts = [
        Host::named("a.test")
            .says(Answer::moved("/a", 301, "/b"))
            .says(Answer::moved("/b", 302, "http://b.test:{port}/c?d"))
            .says(Answer::moved("/self", 308, "{base}/a")),
        Host::named("b.test"),
    ];
    let sites = serve(hosts);
    let mut client = Client::of(&sites, 0);
    assert_eq!(client.get("/a").header("Location"), Some("/b"));
    let reply = client.get("/b");
    let expected = format!("http://b.test:{}/c?d", sites.port());
    assert_eq!((reply.status, reply.header("Location")), (302, Some(expected.as_str())));
    assert_eq!(client.get("/self").header("Location"), Some("http://a.test/a"));
}

#[test]
fn a_wall_is_known_as_one() {
    let reply = said([Answer::wall("/")], "/");
    let headers = reply.head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers: Vec<(&str, &str)> = headers.collect();
    let found = wall(reply.status, headers.iter().copied(), &reply.body).unwrap();
    assert_eq!((found.vendor, found.kind), (Vendor::Cloudflare, WallKind::Challenge));
    // By its body alone too.
    assert_eq!(wall(403, [], &reply.body).unwrap().vendor, Vendor::Cloudflare);
}

#[test]
fn bodies_break_off_where_the_script_says() {
    let page = |ending| Answer { ending, ..Answer::to("/p/1") };
    for (ending, by_reset) in [(Ending::Truncated, false), (Ending::TruncatedByReset, true)] {
        let sites = serve([Host::named("a.test").pages(2, 1, 9_000).says(page(ending))]);
        let mut client = Client::of(&sites, 0);
        client.request("/p/1", "");
        match client.reply() {
            Some(reply) => assert!(reply.status == 200 && !reply.whole && reply.body.len() < 9_000),
            // A reset may overtake what was sent before it.
            None => assert!(by_reset),
        }
        let log = sites.log();
        assert_eq!((log[0].status, log[0].complete), (Some(200), false));
    }
    for (ending, by_reset) in [(Ending::Empty, false), (Ending::Reset, true)] {
        let sites = serve([Host::named("a.test").pages(2, 1, 9_000).says(page(ending))]);
        let mut client = Client::of(&sites, 0);
        client.request("/p/1", "");
        assert_eq!(client.ends_by_reset(), by_reset);
        let log = sites.log();
        assert_eq!((log[0].status, log[0].complete), (None, false));
        assert_eq!(log[0].date, None);
    }
    let chunked = Answer { framing: Framing::Chunked, ..page(Ending::Truncated) };
    let reply = said([chunked.body(Body::Bytes(20_000))], "/p/1");
    assert!(!reply.whole && !reply.body.is_empty());
}

#[test]
fn a_host_that_hangs_says_nothing_until_the_client_has_enough() {
    let sites = serve([Host::named("a.test").says(Answer::to("/").ending(Ending::Hang))]);
    let mut client = Client::of(&sites, 0);
    client.request("/", "");
    // An answer on another line: the first request has been read by then or is about to be.
    Client::of(&sites, 0).get("/robots.txt");
    assert_eq!(sites.log().len(), 1);
    drop(client);
    let log = super::journal::log_of(&sites, 2);
    let hung = log.iter().find(|exchange| &*exchange.target == "/").unwrap();
    assert_eq!((hung.status, hung.complete), (None, false));
}

#[test]
fn slow_answers_take_their_time() {
    let ms = Duration::from_millis;
    let late = Answer { first_byte: ms(30), ..Answer::to("/late") };
    let drip = Answer { piece_bytes: Some(100), piece_wait: ms(5), ..Answer::to("/drip") };
    let drip = drip.body(Body::Bytes(1_000));
    let mut host = Host::named("a.test").says(late).says(drip);
    host.think = curtsy_lab::sites::Range::ms(10, 20);
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    assert!(client.get("/late").whole);
    assert_eq!(client.get("/drip").body.len(), 1_000);
    let took: Vec<u64> = sites.log().iter().map(|it| it.end - it.start).collect();
    // The server's own timers never ring early.
    assert!(took[0] >= 40_000 && took[1] >= 60_000, "{took:?}");
}

#[test]
fn codings_and_framings_carry_the_same_page() {
    let plain = said([], "/").body;
    let unpacked = |reply: &Reply| -> Vec<u8> {
        let mut out = Vec::new();
        let body = &reply.body[..];
        let read = match reply.header("Content-Encoding") {
            Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut out),
            Some("deflate") if body[0] == 0x78 => {
                flate2::read::ZlibDecoder::new(body).read_to_end(&mut out)
            }
            Some("deflate") => flate2::read::DeflateDecoder::new(body).read_to_end(&mut out),
            Some("br") => brotli_decompressor::Decompressor::new(body, 4096).read_to_end(&mut out),
            Some("zstd") => {
                ruzstd::decoding::StreamingDecoder::new(body).unwrap().read_to_end(&mut out)
            }
            other => panic!("{other:?}"),
        };
        read.unwrap();
        out
    };
    for coding in [Coding::Gzip, Coding::Deflate, Coding::RawDeflate, Coding::Br, Coding::Zstd] {
        let script = Answer::to("/").coding(coding);
        let sites = serve([Host::named("a.test").says_unlinked(script)]);
        assert_eq!(unpacked(&Client::of(&sites, 0).get("/")), plain, "{coding:?}");
    }
    for framing in [Framing::Length, Framing::Chunked, Framing::Close] {
        let script = Answer { framing, ..Answer::to("/") };
        let sites = serve([Host::named("a.test").says_unlinked(script)]);
        let reply = Client::of(&sites, 0).get("/");
        assert!(reply.whole);
        assert_eq!(reply.body, plain, "{framing:?}");
        assert_eq!(reply.header("Connection").is_some(), framing == Framing::Close);
    }
}

#[test]
fn bodies_are_what_the_script_says() {
    let text = |text: &str| text.to_owned();
    let reply = said([Answer::to("/x").body(Body::Html(text("<p>é")))], "/x");
    assert_eq!(
        (reply.text(), reply.header("Content-Type")),
        (text("<p>é"), Some("text/html; charset=utf-8"))
    );
    let charset = Some(text("windows-1252"));
    let reply = said([Answer { charset, ..Answer::to("/x").body(Body::Html(text("<p>é"))) }], "/x");
    assert_eq!(reply.header("Content-Type"), Some("text/html; charset=windows-1252"));
    assert_eq!(reply.body, b"<p>\xe9");
    let reply = said([Answer::to("/x").body(Body::Hex(text("ff 00")))], "/x");
    assert_eq!(reply.body, [0xff, 0]);
    let reply = said([Answer::to("/x").body(Body::Bytes(5_000_000))], "/x");
    assert_eq!(reply.body.len(), 5_000_000);
    let content_type = Some(text("application/pdf"));
    let reply =
        said([Answer { content_type, ..Answer::to("/x").body(Body::Text(text("%PDF"))) }], "/x");
    assert_eq!(reply.header("content-type"), Some("application/pdf"));
    let head = "<meta name=\"robots\" content=\"noindex\">";
    let noindex = Answer::page("/x", "A & B", head, &["/a?b&c"]).header("X-Robots-Tag: none");
    let reply = said([noindex], "/x");
    assert_eq!(reply.header("X-Robots-Tag"), Some("none"));
    for part in ["<title>A &amp; B</title>", head, "href=\"/a?b&amp;c\""] {
        assert!(reply.text().contains(part), "{}", reply.text());
    }
}

#[test]
fn validators_save_the_body() {
    let mut host = Host::named("a.test").pages(2, 1, 500).says(Answer {
        last_modified: Some("Thu, 01 Jan 2026 00:00:00 GMT".to_owned()),
        cache_control: Some("no-cache".to_owned()),
        ..Answer::page("/dated", "Dated", "", &[])
    });
    host.pages.etag = true;
    host.pages.max_age = Some(60);
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    let first = client.get("/p/1");
    assert_eq!(first.header("Cache-Control"), Some("max-age=60"));
    let etag = first.header("ETag").unwrap().to_owned();
    let mut status = |path: &str, header: &str| client.get_with(path, header).status;
    assert_eq!(status("/p/1", &format!("If-None-Match: \"x\", W/{etag}\r\n")), 304);
    assert_eq!(status("/p/1", "If-None-Match: \"x\"\r\n"), 200);
    let since = |day: u32| format!("If-Modified-Since: Thu, {day:02} Jan 2026 00:00:00 GMT\r\n");
    assert_eq!(status("/dated", &since(1)), 304);
    assert_eq!(status("/dated", &since(8)), 304);
    assert_eq!(status("/dated", "If-Modified-Since: Wed, 31 Dec 2025 00:00:00 GMT\r\n"), 200);
    let log = sites.log();
    assert_eq!(log[1].status, Some(304));
    assert!(log[1].if_none_match.as_deref().is_some_and(|tag| tag.contains(&etag)));
    assert_eq!(log[3].last_modified.as_deref(), Some("Thu, 01 Jan 2026 00:00:00 GMT"));
}

#[test]
fn every_generated_page_can_be_reached_and_is_the_same_each_time() {
    let sites = serve([Host::named("a.test").pages(60, 3, 2_000)]);
    let mut client = Client::of(&sites, 0);
    let mut queue = vec!["/".to_owned()];
    let mut at = 0;
    while at < queue.len() {
        let reply = client.get(&queue[at]);
        assert_eq!((reply.status, reply.body.len()), (200, 2_000), "{}", queue[at]);
        let text = reply.text();
        assert!(text.ends_with("</html>\n") && text.is_ascii());
        let links: Vec<&str> =
            text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(links.len(), 3);
        for link in links {
            if !queue.iter().any(|known| known == link) {
                queue.push(link.to_owned());
            }
        }
        at += 1;
    }
    assert_eq!(queue.len(), 60);
    let again = serve([Host::named("a.test").pages(60, 3, 2_000)]);
    assert_eq!(Client::of(&again, 0).get("/p/7").body, client.get("/p/7").body);
}

#[test]
fn traps_have_no_end() {
    let host = Host::named("a.test")
        .trap("/calendar/", TrapKind::Calendar)
        .trap("/s/", TrapKind::Session)
        .trap("/deep/", TrapKind::Repeat);
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    assert!(client.get("/calendar/2026/12").text().contains("href=\"/calendar/2027/1\""));
    assert!(client.get("/calendar/").text().contains("href=\"/calendar/2025/12\""));
    let first = client.get("/s/").text();
    assert!(first.contains("sid=") && first != client.get("/s/").text());
    assert!(client.get("/deep/more/more/").text().contains("href=\"more/\""));
    assert!(client.get("/").text().contains("href=\"/calendar/\""));
}

#[test]
fn sitemaps_of_every_kind_name_the_host_as_the_client_does() {
    let sitemap = |path: &str, kind, gz| Sitemap {
        path: path.to_owned(),
        kind,
        locs: vec!["/a&b".to_owned(), "http://else.test/".to_owned()],
        pages: Some((0, 2)),
        gz,
    };
    let host = Host::named("a.test")
        .robots("User-agent: *\nSitemap: {base}/index.xml\n")
        .sitemap(sitemap("/index.xml", SitemapKind::Index, false))
        .sitemap(sitemap("/urls.xml.gz", SitemapKind::Urls, true))
        .sitemap(sitemap("/list.txt", SitemapKind::Text, false))
        .sitemap(sitemap("/rss", SitemapKind::Rss, false))
        .sitemap(sitemap("/atom", SitemapKind::Atom, false));
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    let mut get = |path: &str| client.get(path);
    assert_eq!(get("/robots.txt").text(), "User-agent: *\nSitemap: http://a.test/index.xml\n");
    assert_eq!(
        get("/list.txt").text(),
        "http://a.test/a&b\nhttp://else.test/\nhttp://a.test/\nhttp://a.test/p/1\n"
    );
    assert!(get("/index.xml").text().contains("<sitemap><loc>http://a.test/a&amp;b</loc>"));
    assert!(get("/rss").text().contains("<link>http://a.test/p/1</link>"));
    assert!(get("/atom").text().contains("<link href=\"http://else.test/\"/>"));
    let mut text = String::new();
    let packed = get("/urls.xml.gz").body;
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    assert!(text.contains("<url><loc>http://a.test/p/1</loc>"));
}

#[test]
fn robots_txt_may_be_anything() {
    let robots = || Answer::to("/robots.txt");
    let text = |text: &str| Body::Text(text.to_owned());
    for (script, status, body) in [
        (robots().status(503), 503, "503 Service Unavailable\n"),
        (robots().status(404), 404, "404 Not Found\n"),
        (
            Answer::moved("/robots.txt", 301, "http://b.test/robots.txt"),
            301,
            "301 Moved Permanently\n",
        ),
        (robots().body(text("Disallow: /")), 200, "Disallow: /"),
        // Not yet: the host has only just been asked for the first time.
        (robots().after_ms(3_600_000).body(text("later")), 200, "now"),
    ] {
        let sites = serve([Host::named("a.test").robots("now").says(script)]);
        let reply = Client::of(&sites, 0).get("/robots.txt");
        assert_eq!((reply.status, reply.text().as_str()), (status, body));
    }
    let half =
        serve([Host::named("a.test").robots("now").says(robots().ending(Ending::Truncated))]);
    assert!(!Client::of(&half, 0).get("/robots.txt").whole);
    let log = half.log();
    assert_eq!((log[0].robots_body.as_deref(), log[0].complete), (Some(&b"now"[..]), false));
}

#[test]
fn an_outage_covers_everything_while_it_lasts() {
    let outage = Answer::to_all().between_ms(0, 3_600_000).status(503);
    let over = Answer::to_all().between_ms(3_600_000, 3_700_000).status(500);
    let sites = serve([Host::named("a.test").pages(3, 2, 100).says(outage).says(over)]);
    let mut client = Client::of(&sites, 0);
    for path in ["/", "/p/1", "/robots.txt", "/none"] {
        assert_eq!(client.get(path).status, 503);
    }
}
