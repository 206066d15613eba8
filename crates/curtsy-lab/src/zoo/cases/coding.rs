//! Bodies that are packed to burst, packed twice, or spoilt.

use super::super::bomb::{Bomb, deflate, gzip, zlib};
use super::super::case::Expectation::{Error, Page};
use super::super::case::ZooCase;
use super::super::http::{answer, chunk, head, page};
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    let case = |name, does, error| ZooCase::new(name, does, Error(error));
    let streaming = |name, does, bomb| case(name, does, "over_limit").home(move |_| stream(bomb));
    let at_once = |name, does, bomb| case(name, does, "over_limit").home(move |_| one_chunk(bomb));
    vec![
        streaming("gzip-bomb", "gzip that becomes 10 GB, as it comes", Bomb::Gzip),
        streaming(
            "gzip-members-bomb",
            "gzip members without end, each of 1 MiB",
            Bomb::GzipMembers,
        ),
        streaming("zlib-bomb", "deflate in its envelope that becomes 10 GB", Bomb::Zlib),
        streaming("deflate-bomb", "bare deflate that becomes 10 GB", Bomb::Deflate),
        streaming("br-bomb", "Brotli that becomes 10 GB", Bomb::Br),
        streaming("zstd-bomb", "Zstandard that becomes 10 GB", Bomb::Zstd),
        at_once("gzip-bomb-chunk", "gzip that becomes 512 MiB, in one chunk", Bomb::Gzip),
        at_once(
            "gzip-members-bomb-chunk",
            "512 gzip members of 1 MiB in one chunk",
            Bomb::GzipMembers,
        ),
        at_once("zlib-bomb-chunk", "deflate in its envelope, 512 MiB in one chunk", Bomb::Zlib),
        at_once("deflate-bomb-chunk", "bare deflate, 512 MiB in one chunk", Bomb::Deflate),
        at_once("br-bomb-chunk", "450 bytes of Brotli that become 512 MiB, in one chunk", Bomb::Br),
        at_once(
            "zstd-bomb-chunk",
            "16 KiB of Zstandard that become 512 MiB, in one chunk",
            Bomb::Zstd,
        ),
        case("gzip-empty-members", "Empty gzip members without end", "over_limit").home(|_| {
            ZooScript::say(head("Content-Encoding: gzip\r\n")).endless(gzip(b"").repeat(1_000))
        }),
        case("zstd-empty-frames", "Empty Zstandard frames without end", "over_limit").home(|_| {
            // A frame with a window of 1 KiB and one last, raw block of nothing.
            let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x01, 0x00, 0x00];
            ZooScript::say(head("Content-Encoding: zstd\r\n")).endless(frame.repeat(1_000))
        }),
        case("br-empty-blocks", "Empty Brotli metablocks without end", "over_limit").home(|_| {
            ZooScript::say([head("Content-Encoding: br\r\n").into_bytes(), Bomb::Br.beginning()].concat())
                .endless([0b0000_0110; 10_000])
        }),
        case("deflate-empty-blocks", "Empty deflate blocks without end", "over_limit").home(|_| {
            let block = [0x00, 0x00, 0x00, 0xff, 0xff];
            ZooScript::say(head("Content-Encoding: deflate\r\n")).endless(block.repeat(1_000))
        }),
        case("codings-stacked", "`Content-Encoding: gzip, gzip, br`", "over_limit")
            .home(|_| packed("gzip, gzip, br", &gzip(&gzip(page("Deep").as_bytes())))),
        case("codings-in-50-lines", "Fifty headers `Content-Encoding: gzip`", "over_limit").home(
            |_| {
                let headers = "Content-Encoding: gzip\r\n".repeat(50);
                answer("200 OK", &format!("Content-Type: text/html\r\n{headers}"), gzip(b"deep"))
            },
        ),
        case("coding-unknown", "`Content-Encoding: rot13`", "coding")
            .home(|_| packed("rot13", b"uryyb jbeyq")),
        case("coding-spoilt-gzip", "Says gzip and sends text", "coding")
            .home(|_| packed("gzip", page("Not packed").as_bytes())),
        case("coding-spoilt-br", "Says Brotli and sends noise", "coding")
            .home(|_| packed("br", &[0x11; 64])),
        case("coding-spoilt-zstd", "Says Zstandard and sends noise", "coding")
            .home(|_| packed("zstd", &[0x11; 64])),
        case("coding-spoilt-deflate", "Says deflate and sends noise", "coding")
            .home(|_| packed("deflate", &[0xff; 64])),
        case("gzip-wrong-sum", "gzip with a checksum that doesn't fit", "coding").home(|_| {
            let mut body = gzip(page("Changed").as_bytes());
            let at = body.len() - 6;
            body[at] ^= 0xff;
            packed("gzip", &body)
        }),
        case("gzip-cut", "gzip that ends in its middle, in an answer that is whole", "truncated")
            .home(|_| packed("gzip", half(&gzip(&text())))),
        case("zlib-cut", "deflate in its envelope that ends in its middle", "truncated")
            .home(|_| packed("deflate", half(&zlib(&text())))),
        case("deflate-cut", "bare deflate that ends in its middle", "truncated")
            .home(|_| packed("deflate", half(&deflate(&text())))),
        case("br-cut", "Brotli that ends in its middle", "truncated")
            .home(|_| packed("br", &Bomb::Br.beginning()[..10])),
        case("zstd-cut", "Zstandard that ends in its middle", "truncated")
            .home(|_| packed("zstd", &Bomb::Zstd.of(1 << 20))),
        ZooCase::new("gzip-surplus",
            "gzip with noise behind its end",
            Page(200),
        )
        .home(|_| packed("gzip", &[gzip(page("And more").as_bytes()), vec![0xaa; 500]].concat()))
        .because("what was packed is whole, and its checksum fits; gzip itself and browsers pass over the rest"),
        case("zstd-size-short", "Zstandard that declares a smaller size than it has", "coding")
            .home(|_| packed("zstd", &zstd_of_size(-9))),
        case("zstd-size-long", "Zstandard that declares a larger size than it has", "coding")
            .home(|_| packed("zstd", &zstd_of_size(9))),
        case("zstd-window", "Zstandard that wants a window of 2 GiB", "over_limit").home(|_| {
            packed(
                "zstd",
                &[&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3][..], &Bomb::Zstd.unit()].concat(),
            )
        }),
    ]
}

/// A stored frame of Zstandard whose header declares so many bytes more than follow.
fn zstd_of_size(more: i32) -> Vec<u8> {
    let page = page("Sized");
    let size = page.len() as i32 + more;
    let block = (page.len() as u32) << 3 | 1;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend_from_slice(&size.to_le_bytes());
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(page.as_bytes());
    frame
}

/// Head, beginning, and units until it is 10 GB.
fn stream(bomb: Bomb) -> ZooScript {
    let head = head(&format!("Content-Encoding: {}\r\n", bomb.coding()));
    let units = (10u64 << 30) / bomb.grows();
    let many = bomb.unit().repeat(16);
    ZooScript::say([head.into_bytes(), bomb.beginning()].concat())
        .then(ScriptStep::Times(many.into(), units.div_ceil(16)))
        .broken()
        .close()
}

/// A chunked body with all of it in one chunk.
fn one_chunk(bomb: Bomb) -> ZooScript {
    let coding = bomb.coding();
    let head = head(&format!("Content-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n"));
    ZooScript::say([head.into_bytes(), chunk(&bomb.of(512 << 20)), b"0\r\n\r\n".to_vec()].concat())
}

fn packed(coding: &str, body: &[u8]) -> ZooScript {
    let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
    answer("200 OK", &headers, body)
}

fn half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}

/// A text that packs to more than a few bytes.
fn text() -> Vec<u8> {
    (0..2_000u32)
        .flat_map(|n| format!("<p>{}</p>\n", n.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}
