//! Valid and invalid heads, how they are read, and what a request contains.

use std::time::Duration;

use curtsy_engine::Request;

use crate::client::{Client, approach, check, request, robots, run};
use crate::site::{Site, answer, ok};

#[test]
fn an_answer_comes_as_it_was_sent() {
    let site = Site::saying(answer(
        "404 Not Found",
        "Content-Type: text/html\r\nETag: \"a\"\r\nRetry-After: 5\r\nX-Robots-Tag: noindex\r\n\
         x-robots-tag: curtsy: nofollow\r\nLink: <a>; rel=next\r\nServer: small\r\nSet-Cookie: a=b\r\n",
        "gone",
    ));
    let got = run(async { Client::new().get(&site.url("/a?b")).await });
    assert_eq!(got.said, "404 gone");
    let head = got.head;
    assert_eq!(head.content_type.as_deref(), Some("text/html"));
    assert_eq!(head.etag.as_deref(), Some("\"a\""));
    assert_eq!(head.retry_after, ["5"]);
    assert_eq!(head.x_robots_tag, ["noindex", "curtsy: nofollow"]);
    assert_eq!(head.link, ["<a>; rel=next"]);
    let others: Vec<&str> = head.others.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(others, ["content-length", "server"], "and no cookie");
}

#[test]
fn a_request_says_who_asks_and_nothing_else() {
    let site = Site::saying(ok("", ""));
    let asked = Request {
        if_none_match: Some("\"a\"".to_owned()),
        if_modified_since: Some("Mon, 01 Jan 2024 00:00:00 GMT".to_owned()),
        ..request()
    };
    run(async {
        let url = format!("http://user:secret@{}/a?b#c", site.address);
        Client::new().ask(approach(&url), &asked).await
    });
    let expected = format!(
        "GET /a?b HTTP/1.1\r\nhost: {}\r\nuser-agent: curtsy/0.1 (+me@example.org)\r\n\
         if-none-match: \"a\"\r\nif-modified-since: Mon, 01 Jan 2024 00:00:00 GMT\r\n\
         accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         accept-encoding: gzip, deflate, br, zstd\r\nfrom: me@example.org\r\n\r\n",
        site.address
    );
    assert_eq!(site.heard(), [expected]);
}

#[test]
fn head_204_and_304_have_no_body_whatever_their_length_says() {
    let site = Site::new(|talk| {
        while let Some(head) = talk.hear() {
            let status = if head.starts_with("GET /204") { "204 No" } else { "304 Same" };
            let status = if head.starts_with("HEAD") { "200 OK" } else { status };
            talk.say(format!("HTTP/1.1 {status}\r\nContent-Length: 50\r\n\r\n"));
        }
    });
    run(async {
        let client = Client::new();
        let head = Request { method: "HEAD", ..request() };
        assert_eq!(client.ask(approach(&site.url("/")), &head).await.said, "200 ");
        assert_eq!(client.get(&site.url("/204")).await.said, "204 ");
        assert_eq!(client.get(&site.url("/304")).await.said, "304 ");
    });
    assert_eq!(site.accepted(), 1, "the line is used again");
}

#[test]
fn redirects_are_answers() {
    let site = Site::saying(answer("302 Found", "Location: http://127.0.0.2:9/x\r\n", "go there"));
    let got = run(async { Client::new().get(&site.url("/")).await });
    assert_eq!(got.said, "302 ");
    assert_eq!(got.head.location.as_deref(), Some("http://127.0.0.2:9/x"));
    assert_eq!(site.heard().len(), 1);
}

#[test]
fn a_head_has_bounds() {
    let many = |n: usize| (0..n).map(|n| format!("X-{n}: y\r\n")).collect::<String>();
    check(&Site::saying(ok(&many(100), "a")), "200 a");
    check(&Site::saying(ok(&many(200), "a")), "sent, over head");
    let long = |bytes: usize| format!("X-Long: {}\r\n", "y".repeat(bytes));
    check(&Site::saying(ok(&long(40_000), "a")), "200 a");
    check(&Site::saying(ok(&long(70_000), "a")), "sent, over head");
    check(&Site::saying(ok(&long(1_000_000), "a")), "sent, over head");
}

#[test]
fn a_head_without_end_is_stopped() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nX-Long: ");
        while talk.say([b'y'; 4096]) {}
    });
    check(&site, "sent, over head");
}

#[test]
fn a_few_interim_answers_are_skipped_and_many_refused() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let few = [hints.repeat(8).into_bytes(), ok("", "page")].concat();
    check(&Site::saying(few), "200 page");
    let many = [hints.repeat(9).into_bytes(), ok("", "page")].concat();
    check(&Site::saying(many), "sent, over interim");
    let endless = Site::new(move |talk| {
        talk.hear();
        while talk.say(hints) {}
    });
    check(&endless, "sent, over interim");
}

#[test]
fn what_is_no_http_is_malformed() {
    for garbage in [
        "hello\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "<html>an answer of HTTP/0.9</html>\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        let site = Site::saying_once(garbage);
        let got = run(async { Client::new().get(&site.url("/")).await });
        assert_eq!(got.said, "sent, Malformed", "{garbage:?}");
    }
}

#[test]
fn a_server_that_hangs_up_or_says_nothing() {
    check(&Site::new(|talk| drop(talk.hear())), "sent, Reset");
    check(&Site::saying_once("HTTP/1.1 200 OK\r\nX-A: b"), "sent, Reset");
    let silent = Site::new(|talk| {
        talk.hear();
        talk.linger();
    });
    check(&silent, "sent, FirstByteTimeout");
}

#[test]
fn a_head_that_drips_is_too_slow() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nX-Slow: ");
        while talk.say("y") {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    check(&site, "sent, TooSlow");
}

#[test]
fn a_robots_txt_without_end_counts_by_its_beginning() {
    let line = "Disallow: /private/and/some/more/of/it\n".repeat(1_000);
    let site = Site::new(move |talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\n\r\n");
        while talk.say(&line) {}
    });
    let client = Client::with(|s| s.body.decoded_max = 1 << 20);
    let got = run(async { client.ask(robots(&site.url("/")), &request()).await });
    assert_eq!(got.said, "200 513024 bytes", "all that counts and a little more");
    let page = run(async { client.get(&site.url("/")).await });
    assert_eq!(page.said, "200, over body");
}

#[test]
fn unwanted_types_are_refused_on_the_head() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say(
            "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9999999999\r\n\r\n",
        );
        while talk.say([0; 1024]) {}
    });
    let only_text = |s: &mut curtsy_fetch::FetchSettings| s.body.accept = vec!["text/*".to_owned()];
    let got = run(async { Client::with(only_text).get(&site.url("/")).await });
    assert_eq!(got.said, "200, ContentType");

    let small = Site::saying(ok("Content-Type: image/png\r\n", "small"));
    run(async {
        let client = Client::with(only_text);
        assert_eq!(client.get(&small.url("/")).await.said, "200, ContentType");
        assert_eq!(client.get(&small.url("/")).await.said, "200, ContentType");
        let robots = client.ask(robots(&small.url("/")), &request()).await;
        assert_eq!(robots.said, "200 small", "robots.txt is read whatever it is called");
    });
    assert_eq!(small.accepted(), 1, "what is short is read, and the line stays");
}
