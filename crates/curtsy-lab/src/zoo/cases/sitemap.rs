//! Sitemaps that burst, nest, lie, or never end.

use std::sync::OnceLock;

use super::super::bomb::{Bomb, gzip};
use super::super::case::Expectation::{Page, Sitemap};
use super::super::case::{Deadline, ZooCase, ZooRequest};
use super::super::http::{answer, html, page, robots};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    [documents(), indexes(), places()].concat()
}

/// A host whose sitemap is this, and whose home page is a page.
fn case(name: &'static str, does: &'static str) -> ZooCase {
    ZooCase::new(name, does, Page(200))
}

fn xml(text: impl AsRef<[u8]>) -> ZooScript {
    answer("200 OK", "Content-Type: application/xml\r\n", text)
}

fn urlset(locs: impl IntoIterator<Item = String>) -> String {
    document("urlset", "url", locs)
}

fn index(locs: impl IntoIterator<Item = String>) -> String {
    document("sitemapindex", "sitemap", locs)
}

fn document(root: &str, entry: &str, locs: impl IntoIterator<Item = String>) -> String {
    let entry = |loc| format!("<{entry}><loc>{loc}</loc></{entry}>\n");
    let locs: String = locs.into_iter().map(entry).collect();
    format!(
        "<?xml version='1.0'?><{root} xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locs}</{root}>"
    )
}

/// One document.
fn documents() -> Vec<ZooCase> {
    let says = |name, does, sitemap: fn(&ZooRequest<'_>) -> ZooScript| {
        case(name, does).at("/sitemap.xml", sitemap)
    };
    let made = |name, does, sitemap: fn(&str) -> Vec<u8>| {
        let kept = OnceLock::<ZooScript>::new();
        case(name, does)
            .at("/sitemap.xml", move |asked| kept.get_or_init(|| xml(sitemap(asked.base))).clone())
    };
    let fails = |case: ZooCase, error| ZooCase { expect: Sitemap(error), ..case };
    vec![
        says("sitemap-laughs", "A billion laughs: entities of entities", |_| {
            let lol: String = (1..10)
                .map(|n| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10)))
                .collect();
            xml(format!(
                "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY l0 'lol'>{lol}]><urlset><url><loc>&l9;</loc></url></urlset>"
            ))
        }),
        says(
            "sitemap-external",
            "An external entity of its own host and one of the file system",
            |asked| {
                xml(format!(
                    "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY x SYSTEM '{}/stolen'><!ENTITY y SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>{}/&x;&y;</loc></url></urlset>",
                    asked.base, asked.base
                ))
            },
        ),
        fails(
            says("sitemap-bomb", "A sitemap whose coding is a gzip bomb", |_| {
                answer(
                    "200 OK",
                    "Content-Type: application/xml\r\nContent-Encoding: gzip\r\n",
                    Bomb::Gzip.of(1 << 30),
                )
            }),
            "over_limit",
        ),
        made("sitemap-gz-bomb", "A .gz file that becomes 1 GB", |_| Bomb::Gzip.of(1 << 30)),
        made("sitemap-gz-in-gz", "A .gz file in a .gz file that becomes 1 GB", |_| {
            gzip(&Bomb::Gzip.of(1 << 30))
        }),
        made("sitemap-gz-cut", "A .gz file that ends in its middle", |base| {
            let whole = gzip(
                urlset((0..20_000).map(|n| format!("{base}/cut/{}", n * 7_919 % 20_000)))
                    .as_bytes(),
            );
            whole[..400].to_vec()
        })
        .requests(150)
        .because("the transfer was whole; of a broken file what can be read counts"),
        made("sitemap-million", "A million addresses, of other hosts", |_| {
            let locs: String =
                (0..20_000).map(|n| format!("<url><loc>http://x.test/{n}</loc></url>")).collect();
            // Members one behind the other are one file: so the million costs us a fiftieth.
            let locs = gzip(locs.as_bytes()).repeat(50);
            [gzip(b"<urlset>"), locs, gzip(b"</urlset>")].concat()
        })
        .because("50,000 count; none of them is of this host"),
        says("sitemap-endless", "A sitemap without end", |_| {
            ZooScript::say("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n<urlset>")
                .endless("<url><loc>http://x.test/</loc></url>".repeat(100))
        }),
        made("sitemap-deep", "A million elements, each inside the one before", |_| {
            "<urlset>".repeat(1_000_000).into_bytes()
        }),
        made("sitemap-long-loc", "An address of a megabyte", |base| {
            urlset([format!("{base}/{}", "y".repeat(1 << 20))]).into_bytes()
        }),
        made("sitemap-odd-bytes", "NULs and bytes that are no UTF-8", |base| {
            [urlset([format!("{base}/a")]).as_bytes(), b"<url><loc>\0\xff\xfe</loc></url>"].concat()
        })
        .requests(5),
        says("sitemap-html", "A page instead of a sitemap", |_| html(page("No sitemap"))),
        fails(
            says("sitemap-cut", "Half of the length that was declared", |asked| {
                let text = urlset([format!("{}/never", asked.base)]);
                ZooScript::say(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
                    text.len() * 2
                ))
                .broken()
                .close()
            }),
            "truncated",
        )
        .because("half a sitemap is never used: `/never` is not requested"),
        fails(
            says("sitemap-silence", "Never answers", |_| ZooScript::new().silence()),
            "first_byte_timeout",
        )
        .by(Deadline::FirstByte),
    ]
}

/// Indexes.
fn indexes() -> Vec<ZooCase> {
    vec![
        case("sitemap-self", "An index that names itself")
            .at("/sitemap.xml", |asked| xml(index([format!("{}/sitemap.xml", asked.base)]))),
        case("sitemap-nested", "An index of an index, and so on without end").requests(20).answers(
            |asked| {
                let hop = asked.hop("/sitemap.xml", "/s/")?;
                Some(xml(index([format!("{}/s/{}", asked.base, hop + 1)])))
            },
        ),
        case("sitemap-tree", "Indexes that name ten more each, without end")
            .requests(SITEMAPS)
            .answers(|asked| {
                let path = match asked.path {
                    "/sitemap.xml" => "/t",
                    path => path.strip_prefix("/t").map(|_| path)?,
                };
                Some(xml(index((0..10).map(|n| format!("{}{path}/{n}", asked.base)))))
            }),
        case("sitemap-10k-children", "An index of ten thousand sitemaps")
            .requests(SITEMAPS)
            .at("/sitemap.xml", |asked| {
                xml(index((0..10_000).map(|n| format!("{}/c/{n}", asked.base))))
            }),
    ]
}

/// A host's sitemaps are 5,000 at most, and robots.txt, two places for one and a home page are
/// beside them.
const SITEMAPS: u32 = 5_004;

/// Where they and what they name are.
fn places() -> Vec<ZooCase> {
    vec![
        case("sitemap-foreign", "Names pages of other hosts, files and scripts").at("/sitemap.xml", |_| {
            let locs = ["http://x.test/", "file:///etc/passwd", "javascript:x", "//127.99.0.1/", "ftp://x.test/"];
            xml(urlset(locs.map(str::to_owned)))
        }),
        case("sitemap-inside", "robots.txt names sitemaps that the crawler may not dial").robots(|_| {
            robots("User-agent: *\nAllow: /\nSitemap: http://127.99.0.1:9/s.xml\nSitemap: file:///etc/passwd\nSitemap: gopher://127.99.0.1/\n")
        }),
        case("sitemap-many", "robots.txt names ten thousand sitemaps").requests(60).robots(|asked| {
            let lines: String = (0..10_000).map(|n| format!("Sitemap: {}/m/{n}\n", asked.base)).collect();
            robots(format!("User-agent: *\nAllow: /\n{lines}"))
        })
        .because("fifty count"),
    ]
}
