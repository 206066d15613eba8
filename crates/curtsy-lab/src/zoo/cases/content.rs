//! Pages that are not what they seem.

use std::sync::OnceLock;

use super::super::bomb::gzip;
use super::super::case::Expectation::Page;
use super::super::case::ZooCase;
use super::super::http::{answer, html, page};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    [bytes(), shapes(), disguises()].concat()
}

fn case(name: &'static str, does: &'static str) -> ZooCase {
    ZooCase::new(name, does, Page(200))
}

/// Odd bytes.
fn bytes() -> Vec<ZooCase> {
    let says = |name, does, body: &'static [u8]| case(name, does).home(move |_| html(body));
    let typed = |name, does, kind: &'static str, body: fn() -> Vec<u8>| {
        case(name, does)
            .home(move |_| answer("200 OK", &format!("Content-Type: {kind}\r\n"), body()))
    };
    vec![
        says("title-nul", "NULs in title and text", b"<title>a\0b\0</title><p>\0\0\0 some text\0</p>"),
        says("title-broken-utf8", "A title that is no UTF-8", b"<title>\xff\xfe\xc0\xaf \xed\xa0\x80</title><p>text \xf8\x88"),
        says("title-controls", "Escapes and directions of a terminal in a title", b"<title>\x1b[2J\x07\xe2\x80\xae evil \x1b]0;x\x07</title><p>text"),
        says("links-nul", "Links with NULs, line ends and broken bytes", b"<title>Links</title><a href='/a\0b'>x</a><a href='/c\nd'>y</a><a href='/\xff\xfe'>z</a><a href='http://[::1'>w</a><a href='http://a b/'>v</a><a href='%%%'>u</a>").requests(12),
        typed("utf-16", "A page in UTF-16", "text/html; charset=utf-16", || wide("<title>wide</title><p>text", true)),
        typed("utf-16-by-mark", "A page in UTF-16 that only its byte-order mark shows", "text/html", || wide("<title>wide</title><p>text", true)),
        typed("utf-16-lone-surrogates", "UTF-16 with halves of surrogate pairs", "text/html; charset=utf-16le", || {
            [wide("<title>a", false), vec![0x00, 0xd8, 0x41, 0x00, 0x00, 0xdc], wide("</title><p>t", false)].concat()
        }),
        typed("utf-16-odd", "UTF-16 with a byte too few", "text/html; charset=utf-16le", || {
            let mut text = wide("<title>odd</title><p>text", false);
            text.pop();
            text
        }),
        typed("utf-7", "A page in UTF-7, which nobody may read", "text/html; charset=utf-7", || {
            b"<title>+ADw-script+AD4-</title><p>text".to_vec()
        }),
        typed("charset-unknown", "A charset that nobody knows", "text/html; charset=klingon", || page("Known").into_bytes()),
        typed("charset-contradiction", "Three charsets for one page", "text/html; charset=shift_jis", || {
            b"\xef\xbb\xbf<meta charset=koi8-r><title>gr\xc3\xbcn</title><p>text".to_vec()
        }),
    ]
}

/// Large and deep.
fn shapes() -> Vec<ZooCase> {
    vec![
        made("nested-divs", "A million elements, each inside the one before", || {
            "<div>".repeat(1_000_000)
        }),
        made("nested-tables", "Two hundred thousand tables inside tables", || {
            "<table><tr><td>".repeat(200_000)
        }),
        made("nested-formatting", "A hundred thousand <b><i> that are never closed", || {
            "<b><i><p>".repeat(100_000)
        }),
        made(
            "nested-misclosed",
            "Elements that are closed in the wrong order, a hundred thousand times",
            || "<a href=/><b><table><i></a></b>".repeat(100_000),
        ),
        made("nested-svg", "SVG inside SVG, three hundred thousand times", || {
            "<svg><foreignObject>".repeat(300_000)
        }),
        made("attribute-huge", "An attribute of 9 MB", || {
            format!("<title>Long</title><p title='{}'>x", "y".repeat(9 << 20))
        }),
        made("attributes-many", "A million attributes of one element", || {
            let mut text = "<title>Many</title><p ".to_owned();
            (0..900_000).for_each(|n| text.push_str(&format!("a{n}=1 ")));
            text + ">text"
        }),
        made("links-million", "As many links as 9 MB hold", || {
            let mut text = "<title>Links</title>".to_owned();
            (0..400_000).for_each(|n| text.push_str(&format!("<a href=//x.test/{n}>")));
            text
        }),
        made("link-megabyte", "A link of a megabyte", || {
            format!("<title>Long</title><a href='/{}'>x</a>", "y".repeat(1 << 20))
        }),
        made("entities", "A million entities", || {
            format!("<title>And</title><p>{}", "&amp;&#x41;&notit;".repeat(300_000))
        }),
        made("comment-open", "A comment of 9 MB that is never closed", || {
            format!("<title>Quiet</title><!-- {}", "- -->x<!--".repeat(900_000))
        }),
        made("script-open", "A script of 9 MB that is never closed", || {
            format!("<title>Busy</title><script>{}", "<!--<script>".repeat(700_000))
        }),
        made("title-open", "A title of 9 MB that is never closed", || {
            format!("<title>{}", "word ".repeat(1_800_000))
        }),
        made("tag-open", "A tag that is never closed", || {
            format!("<title>Open</title><p {}", "x".repeat(9 << 20))
        }),
        made("angle-brackets", "Nine million angle brackets", || {
            format!("<title>Less</title>{}", "<".repeat(9 << 20))
        }),
        made("doctype-entities", "HTML that declares entities of entities", || {
            let lol: String = (1..10)
                .map(|n| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10)))
                .collect();
            format!("<!DOCTYPE html [{lol}]><title>&l9;</title><p>&l9;")
        }),
    ]
}

/// A large page, which is made when it is first asked for.
fn made(name: &'static str, does: &'static str, body: fn() -> String) -> ZooCase {
    let kept = OnceLock::<ZooScript>::new();
    case(name, does).home(move |_| kept.get_or_init(|| html(body())).clone())
}

/// Something else.
fn disguises() -> Vec<ZooCase> {
    let says = |name, does, body: fn() -> Vec<u8>| case(name, does).home(move |_| html(body()));
    vec![
        says("video-as-html", "An MP4 that says it is HTML", || {
            [&b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41"[..], &[0x5a; 40_000]].concat()
        }),
        says("zip-as-html", "A ZIP that says it is HTML", || [&b"PK\x03\x04\x14\0\0\0\x08\0"[..], &[0xa5; 40_000]].concat()),
        says("gzip-as-html", "A gzip file that says it is HTML, and no coding", || gzip(&[b'y'; 100_000])),
        case("html-as-image", "HTML that says it is an image")
            .home(|_| answer("200 OK", "Content-Type: image/png\r\n", page("Picture"))),
        case("type-missing", "A page without a type").home(|_| answer("200 OK", "", page("Untyped"))),
        case("type-broken", "A type that is none")
            .home(|_| answer("200 OK", "Content-Type: ;;;=//\"\r\n", page("Mistyped"))),
        case("empty", "An empty page with status 200").home(|_| html(""))
            .because("an answer, and friction: `unusual`"),
        case("base-elsewhere", "A base that is javascript:, and one on another host")
            .home(|_| html("<base href='javascript:x'><base href='//other.test/'><title>Base</title><a href='x'>x</a><p>some text"))
            .requests(5)
            .because("the first base counts, and falls back to the page's own address"),
        case("refresh-elsewhere", "Refreshes to javascript:, file: and another host").home(|_| {
            let head = "Content-Type: text/html\r\nRefresh: 0; url=file:///etc/passwd\r\n";
            answer("200 OK", head, "<meta http-equiv=refresh content='0;url=javascript:x'><meta http-equiv=refresh content='0;url=//other.test/'><title>Go</title><p>some text")
        }),
        case("links-schemes", "Links of every scheme but http").home(|_| {
            let schemes = ["file:///etc/passwd", "ftp://x.test/", "javascript:x", "data:text/html,x", "gopher://x.test/", "mailto:a@b.test", "ws://x.test/", "JaVaScRiPt:x", "blob:x", "view-source:http://x.test/"];
            let links: String = schemes.iter().map(|to| format!("<a href='{to}'>x</a>")).collect();
            html(format!("<title>Schemes</title>{links}<p>some text"))
        }),
        case("robots-none", "`X-Robots-Tag: none`, repeated, for others and for all").home(|_| {
            let head = "Content-Type: text/html\r\nX-Robots-Tag: otherbot: all\r\nX-Robots-Tag: none\r\nX-Robots-Tag: all\r\n";
            answer("200 OK", head, "<title>None</title><a href='/never'>x</a><p>some text")
        }),
    ]
}

/// UTF-16, little end first.
fn wide(text: &str, mark: bool) -> Vec<u8> {
    let mark = mark.then_some(0xfeff).into_iter();
    mark.chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}
