//! Bodies: codings, lengths, truncation, slow bodies and bombs.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::client::{Client, check, run};
use crate::site::{Site, ok};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn each_coding_is_unpacked() {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(b"page").unwrap();
    let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
    bare.write_all(b"page").unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        &b"page"[..],
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let two = [gzip(b"pa"), gzip(b"ge")].concat();
    // One stored block, then the last and empty one (RFC 7932 §9.2).
    let br = b"\x30\x00\x10page\x03";
    for (coding, body) in [
        ("identity", b"page".to_vec()),
        ("gzip", gzip(b"page")),
        ("X-GZip", gzip(b"page")),
        ("gzip", two),
        ("deflate", zlib.finish().unwrap()),
        ("deflate", bare.finish().unwrap()),
        ("br", br.to_vec()),
        ("zstd", zstd),
    ] {
        let site = Site::saying(ok(&format!("Content-Encoding: {coding}\r\n"), body));
        let got = run(async { Client::new().get(&site.url("/")).await });
        assert_eq!(got.said, "200 page", "{coding}");
    }
}

#[test]
fn stacked_and_unknown_codings_are_refused() {
    let body = gzip(&gzip(b"page"));
    check(&Site::saying(ok("Content-Encoding: gzip, gzip\r\n", &body)), "200, over coding");
    let lines = "Content-Encoding: gzip\r\n".repeat(50);
    check(&Site::saying(ok(&lines, &body)), "200, over coding");
    check(&Site::saying(ok("Content-Encoding: rot13\r\n", &body)), "200, Coding");
    check(&Site::saying(ok("Content-Encoding: gzip\r\n", "no gzip")), "200, Coding");
    check(&Site::saying(ok("Content-Encoding: br\r\n", "\x11\x11\x11")), "200, Coding");
}

#[test]
fn a_body_that_ends_early_is_no_page() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    check(&Site::saying_once(cut), "200, Truncated");
    let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf";
    check(&Site::saying_once(cut), "200, Truncated");
    let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    check(&Site::saying_once(cut), "200, Truncated");
    let packed = gzip(&[b'x'; 1000]);
    let cut = &packed[..packed.len() - 1];
    check(&Site::saying(ok("Content-Encoding: gzip\r\n", cut)), "200, Truncated");
}

#[test]
fn a_body_that_is_reset_is_no_page() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        std::thread::sleep(Duration::from_millis(50));
        let socket = socket2::SockRef::from(&talk.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    });
    check(&site, "200, Reset");
}

#[test]
fn a_body_may_end_with_its_connection() {
    check(&Site::saying_once("HTTP/1.0 200 OK\r\n\r\nold page"), "200 old page");
    check(&Site::saying_once("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npage"), "200 page");
}

#[test]
fn chunks_are_read_strictly() {
    let say = |body: &str| {
        Site::saying_once(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"))
    };
    check(&say("4\r\npage\r\n0\r\n\r\n"), "200 page");
    check(&say("4;x=y\r\npage\r\n0\r\nX-Sum: 1\r\n\r\n"), "200 page");
    for bad in ["xyz\r\npage\r\n", "-4\r\npage\r\n", "4\r\npageX", "fffffffffffffffff\r\np"] {
        let got = run(async { Client::new().get(&say(bad).url("/")).await });
        assert_eq!(got.said, "200, Malformed", "{bad:?}");
    }
}

#[test]
fn trailers_and_chunk_extensions_have_an_end() {
    let trailers = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n");
        while talk.say("X-Trailer: and on and on\r\n") {}
    });
    let got = run(async { Client::new().get(&trailers.url("/")).await });
    assert!(["200, over around", "200, Malformed"].contains(&got.said.as_str()), "{}", got.said);
    let extensions = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;");
        while talk.say("x=y;") {}
    });
    let got = run(async { Client::new().get(&extensions.url("/")).await });
    assert!(["200, over around", "200, Malformed"].contains(&got.said.as_str()), "{}", got.said);
}

#[test]
fn what_comes_around_a_body_has_its_limit() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while talk.say("1\r\ny\r\n".repeat(1_000)) {}
    });
    check(&site, "200, over around");
}

#[test]
fn packing_that_brings_nothing_has_its_limit() {
    let empty = gzip(b"");
    let site = Site::new(move |talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
        while talk.say(empty.repeat(1_000)) {}
    });
    check(&site, "200, over coding");
}

#[test]
fn a_body_has_its_limit_before_and_after_decoding() {
    let limit = |s: &mut curtsy_fetch::FetchSettings| s.body.decoded_max = 10_000;
    let fetch = |site: Site| run(async { Client::with(limit).get(&site.url("/")).await.said });
    assert_eq!(fetch(Site::saying(ok("", [b'x'; 10_000]))), "200 10000 bytes");
    assert_eq!(fetch(Site::saying(ok("", [b'x'; 10_001]))), "200, over body");
    let chunked = |bytes: usize| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        Site::saying_once(format!("{head}{bytes:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(bytes)))
    };
    assert_eq!(fetch(chunked(10_000)), "200 10000 bytes");
    assert_eq!(fetch(chunked(10_001)), "200, over body");
    let packed =
        |bytes: usize| Site::saying(ok("Content-Encoding: gzip\r\n", gzip(&vec![b'x'; bytes])));
    assert_eq!(fetch(packed(10_000)), "200 10000 bytes");
    assert_eq!(fetch(packed(10_001)), "200, over body");
    assert_eq!(fetch(packed(50 << 20)), "200, over body");
}

#[test]
fn a_body_without_end_is_stopped() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\n\r\n");
        while talk.say([b'x'; 65_536]) {}
    });
    check(&site, "200, over body");
}

#[test]
fn a_body_that_drips_is_too_slow() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while talk.say("x") {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    check(&site, "200, TooSlow");
    let stalls = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf");
        talk.linger();
    });
    check(&stalls, "200, TooSlow");
}

#[test]
fn a_body_that_is_fast_enough_still_ends_with_the_whole_time() {
    let site = Site::new(|talk| {
        talk.hear();
        talk.say("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
        while talk.say([b'x'; 200]) {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let client = Client::with(|s| s.timeouts.whole = Duration::from_millis(900));
    let got = run(async { client.get(&site.url("/")).await });
    assert_eq!(got.said, "200, WholeTimeout");
}

#[test]
fn bodies_wait_for_memory_and_all_of_them_come() {
    let site = Site::saying(ok("", vec![b'x'; 300_000]));
    let client = Client::with(|s| {
        s.body.decoded_max = 400_000;
        s.body_memory = 500_000;
        s.timeouts.whole = Duration::from_secs(20);
        s.idle_per_authority = 8;
    });
    run(async {
        let urls: Vec<String> = (0..8).map(|n| site.url(&format!("/{n}"))).collect();
        let all = urls.iter().map(|url| client.get(url));
        for got in futures_util::future::join_all(all).await {
            assert_eq!(got.said, "200 300000 bytes");
        }
    });
}
