//! The content of sitemaps and feeds, rule by rule. The notation is the kind, the paths of entries,
//! `>` and the paths of sitemaps, `!` and warnings.

use std::io::Write;

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::sitemap::{ChangeFrequency, Sitemap, SitemapLimits};
use flate2::Compression;
use flate2::write::GzEncoder;

fn read(body: &[u8]) -> Sitemap {
    let url = CrawlUrl::parse("https://site.example/maps/map.xml").unwrap();
    Sitemap::read(&url, None, body, &SitemapLimits::default(), Time::from_secs(1_715_000_000))
}

fn check(body: &str, expected: &str) {
    check_bytes(body.as_bytes(), expected);
}

fn check_bytes(body: &[u8], expected: &str) {
    let found = read(body);
    let mut words = vec![format!("{:?}", found.kind)];
    words.extend(found.entries.iter().map(|entry| entry.url.to_string()));
    words.extend(found.sitemaps.iter().map(|child| format!(">{}", child.url)));
    words.extend(found.warnings.iter().map(|w| format!("!{}:{:?}", w.record, w.what)));
    let got = words.join(" ").replace("https://site.example", "");
    assert_eq!(got, expected, "{:?}", String::from_utf8_lossy(body));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const A: &str = "<url><loc>https://site.example/a</loc></url>";

#[test]
fn lists_of_pages() {
    check(
        &format!("<urlset>{A}<url><loc> https://site.example/b\n</loc></url>{A}</urlset>"),
        "UrlSet /a /b",
    );
    check(&format!("\n <?xml version='1.0'?><urlset xmlns='x'>{A}</urlset>\0\0"), "UrlSet /a");
    check("<urlset/>", "UrlSet");
    check(
        "<s:urlset xmlns:s='x' xmlns:i='y'><s:url><i:loc>/no</i:loc><s:loc>https://site.example/a</s:loc></s:url></s:urlset>",
        "UrlSet /a",
    );
    check(
        "<urlset><url><image><loc>/no</loc></image><loc>https://site.example/a</loc><loc>/no</loc></url></urlset>",
        "UrlSet /a",
    );
    check(
        "<urlset><url><loc>https://site.example/?a=1&b=2&amp;c&#61;3&eacute;&copy=4</loc></url></urlset>",
        "UrlSet /?a=1&b=2&c=3%C3%A9&copy=4",
    );
    check(
        "<urlset><url><loc><![CDATA[https://site.example/?a&b]]></loc></url></urlset>",
        "UrlSet /?a&b",
    );
    check(
        "<urlset><url><loc>/r</loc></url><url><loc>r</loc></url></urlset>",
        "UrlSet /r /maps/r !1:Relative !2:Relative",
    );
    check(
        "<urlset><url/><url><loc/></url><url><loc>mailto:x</loc></url></urlset>",
        "UrlSet !1:NoAddress !2:NoAddress !3:BadAddress",
    );
    check("<urlset><sitemap><loc>/no</loc></sitemap></urlset>", "UrlSet !1:Misplaced");
}

#[test]
fn broken_files_give_what_they_have() {
    check(
        "<urlset><url><loc>https://site.example/a</url></loc><url><loc>https://site.example/b</loc></url>",
        "UrlSet /a /b !0:Broken",
    );
    check("<urlset><url><loc>https://site.example/a</loc><", "UrlSet /a !0:Broken");
    check(
        "<sitemapindex><sitemap><loc>https://site.example/a.xml</loc>",
        "Index >/a.xml !0:Broken",
    );
    check_bytes(
        b"<urlset><url><loc>https://site.example/\xff</loc></url></urlset>",
        "UrlSet !1:BadAddress",
    );
}

#[test]
fn an_address_that_the_end_of_a_document_cuts_is_not_taken() {
    // Each document is cut at every byte: what is found is the beginning of what the whole has.
    let xml = format!(
        "<?xml version='1.0'?><urlset>{A}<url><lastmod>2024-05-06</lastmod>\
         <loc>https://site.example/bb&amp;b</loc></url>\
         <url><loc><![CDATA[https://site.example/ccc]]></loc></url></urlset>\n"
    );
    let index = "<sitemapindex><sitemap><loc>https://site.example/1.xml</loc></sitemap>\
                 <sitemap><loc>https://site.example/22.xml</loc></sitemap></sitemapindex>";
    let rss = "<rss><channel><item><guid>https://site.example/g</guid>\
               <link>https://site.example/aaa</link></item>\
               <item><guid>https://site.example/hhh</guid></item></channel></rss>";
    let atom = "<feed><entry><link href='https://site.example/a?x>y'/></entry>\
                <entry><link rel=alternate href=\"https://site.example/bbb\"/></entry></feed>";
    for body in [xml.as_str(), index, rss, atom] {
        let whole = read(body.as_bytes());
        let urls = |found: &Sitemap| -> Vec<String> {
            let pages = found.entries.iter().map(|entry| entry.url.to_string());
            pages.chain(found.sitemaps.iter().map(|child| child.url.to_string())).collect()
        };
        let mut known = urls(&whole);
        // If the link of an item is cut, its `guid` is whole.
        known.push("https://site.example/g".to_owned());
        assert!(known.len() > 2, "{body}");
        for end in 0..body.len() {
            let found = read(&body.as_bytes()[..end]);
            for url in urls(&found) {
                assert!(known.contains(&url), "{url} of {}", &body[..end]);
            }
        }
    }
    check("<urlset><url><loc>https://site.example/a", "UrlSet !0:Broken !1:NoAddress");
    check(
        "<urlset><url><loc>https://site.example/a</lo",
        "UrlSet !0:Broken !0:Broken !1:NoAddress",
    );
    check(
        "<rss><item><guid>https://site.example/g</guid><link>https://site.exam",
        "Rss /g !0:Broken",
    );
    let dated = read(b"<urlset><url><loc>https://site.example/a</loc><lastmod>2024");
    assert_eq!((dated.entries.len(), dated.entries[0].modified_ms), (1, None));
}

#[test]
fn a_text_list_whose_file_breaks_off_ends_with_its_last_whole_line() {
    let list = "https://site.example/a\nhttps://site.example/bbb";
    check(list, "Text /a /bbb");
    // Stored, not compressed: so the cut is where it is meant to be.
    let mut stored = GzEncoder::new(Vec::new(), Compression::none());
    stored.write_all(list.as_bytes()).unwrap();
    let stored = stored.finish().unwrap();
    check_bytes(&stored, "Text /a /bbb");
    check_bytes(&stored[..stored.len() - 10], "Text /a !0:Packing");
    check_bytes(&stored[..30], "None !0:Packing");
    let url = CrawlUrl::parse("https://site.example/list.txt").unwrap();
    let limits = SitemapLimits { bytes_max: list.len() - 1, ..SitemapLimits::default() };
    let found = Sitemap::read(&url, None, list.as_bytes(), &limits, Time::from_secs(0));
    assert_eq!((found.entries.len(), found.cut.bytes), (1, true));
}

#[test]
fn blanks_of_unicode_around_an_address_are_no_part_of_it() {
    for blank in [
        "\u{a0}", "\u{85}", "\u{1680}", "\u{2003}", "\u{2009}", "\u{2028}", "\u{202f}", "\u{205f}",
        "\u{3000}", "\u{b}", "\u{c}", "\u{200b}", "\u{2060}", "\u{feff}", "&nbsp;", "&#160;",
        "&#x3000;",
    ] {
        let url = format!("{blank} \n{blank}https://site.example/a{blank}\t{blank}");
        check(&format!("<urlset><url><loc>{url}</loc></url></urlset>"), "UrlSet /a");
        check(&format!("{blank}<urlset>{A}</urlset>").replace(['&', ';'], ""), {
            if blank.starts_with('&') { "None !1:BadAddress" } else { "UrlSet /a" }
        });
        check(&format!("<sitemapindex><sitemap><loc>{url}</loc></sitemap></sitemapindex>"), {
            "Index >/a"
        });
        check(&format!("<rss><item><link>{url}</link></item></rss>"), "Rss /a");
        if !blank.starts_with('&') {
            let cdata = format!("<urlset><url><loc><![CDATA[{url}]]></loc></url></urlset>");
            check(&cdata, "UrlSet /a");
            check(&format!("https://site.example/a{blank}\n{blank}\n{blank}/b\n"), {
                "Text /a !2:BadAddress"
            });
        }
    }
    // Within an address a blank is a part of it.
    check(
        "<urlset><url><loc>https://site.example/a\u{a0}b</loc></url></urlset>",
        "UrlSet /a%C2%A0b",
    );
}

#[test]
fn a_text_that_is_no_date_spoils_nothing_else() {
    let check = |xml: &str, expected: &[(&str, Option<i64>)]| {
        let found = read(xml.as_bytes());
        let pages =
            found.entries.iter().map(|entry| (entry.url.path_and_query(), entry.modified_ms));
        let maps =
            found.sitemaps.iter().map(|child| (child.url.path_and_query(), child.modified_ms));
        assert_eq!(pages.chain(maps).collect::<Vec<_>>(), expected, "{xml}");
    };
    const DAY: Option<i64> = Some(1_714_953_600_000);
    check(
        "<urlset><url><lastmod>soon</lastmod><loc>/a</loc><priority>.3</priority></url>\
         <url><loc>/b</loc><lastmod>2024-05-06</lastmod></url></urlset>",
        &[("/a", None), ("/b", DAY)],
    );
    check(
        "<sitemapindex><sitemap><loc>/1</loc><lastmod>0000-00-00</lastmod></sitemap>\
         <sitemap><loc>/2</loc><lastmod> 2024-05-06\u{a0}</lastmod></sitemap>\
         <sitemap><loc>/3</loc></sitemap></sitemapindex>",
        &[("/1", None), ("/2", DAY), ("/3", None)],
    );
    check(
        "<rss xmlns:dc='d'><item><link>/a</link><dc:date>now</dc:date>\
         <pubDate>Mon, 06 May 2024 00:00:00 GMT</pubDate></item></rss>",
        &[("/a", DAY)],
    );
    check(
        "<feed><entry><link href='/a'/><updated>-</updated><published>2024-05-06</published>\
         </entry></feed>",
        &[("/a", DAY)],
    );
}

#[test]
fn what_is_no_sitemap() {
    for body in [
        "",
        " \n",
        "<html><url><loc>https://site.example/a</loc></url></html>",
        "Warning: x\n<urlset>",
        "{}",
        "\u{1}\u{2}",
    ] {
        let found = read(body.as_bytes());
        assert_eq!(format!("{:?} {:?}", found.kind, found.entries), "None []", "{body:?}");
    }
    check(&format!("<!DOCTYPE urlset [<!ENTITY h 'x'>]><urlset>{A}</urlset>"), "UrlSet !0:Doctype");
    check(&format!("<!doctype html><html>{A}</html>"), "None !0:Doctype");
}

#[test]
fn indexes_text_lists_and_feeds() {
    check(
        "<sitemapindex><sitemap><loc>https://site.example/1.xml</loc><lastmod>2024</lastmod></sitemap><url><loc>/no</loc></url></sitemapindex>",
        "Index >/1.xml !2:Misplaced",
    );
    check(
        "https://site.example/a\r\n\r\nhttps://site.example/b\rnot one\nftp://x/\n",
        "Text /a /b !3:BadAddress !4:BadAddress",
    );
    check(
        "<rss><channel><link>/no</link><item><link>https://site.example/a</link></item><item><guid>https://site.example/g</guid></item><item><guid isPermaLink='false'>x</guid></item></channel></rss>",
        "Rss /a /g !3:NoAddress",
    );
    check(
        "<rdf:RDF xmlns:rdf='r' xmlns='s'><channel><link>/no</link></channel><item><link>https://site.example/a</link></item></rdf:RDF>",
        "Rss /a",
    );
    check(
        "<feed><link href='/no'/><entry><link rel='self' href='/no'/><link href='https://site.example/a?b&amp;c'/><updated>2024-05-06</updated></entry></feed>",
        "Atom /a?b&c",
    );
}

#[test]
fn packing_is_known_by_its_bytes() {
    let plain = format!("<urlset>{A}</urlset>").into_bytes();
    check_bytes(&gzip(&plain), "UrlSet /a");
    check_bytes(&gzip(&gzip(&plain)), "UrlSet /a");
    check_bytes(&[gzip(&plain[..20]), gzip(&plain[20..])].concat(), "UrlSet /a");
    check_bytes(&[gzip(&plain), b"junk".to_vec()].concat(), "UrlSet /a !0:Packing");
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let limits = SitemapLimits { bytes_max: 1_000, ..SitemapLimits::default() };
    let bomb = gzip(&[&b" ".repeat(100_000)[..], &plain].concat());
    let found = Sitemap::read(&url, None, &bomb, &limits, Time::from_secs(0));
    assert!(found.cut.bytes && found.entries.is_empty());
}

#[test]
fn encodings() {
    check_bytes(b"<?xml version='1.0' encoding='windows-1252'?><urlset><url><loc>https://site.example/\x96</loc></url></urlset>", "UrlSet /%E2%80%93");
    check_bytes("<?xml version='1.0' encoding='US-ASCII'?><urlset><url><loc>https://site.example/é</loc></url></urlset>".as_bytes(), "UrlSet /%C3%A9");
    let utf16: Vec<u8> =
        format!("\u{feff}<urlset>{A}</urlset>").encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_bytes(&utf16, "UrlSet /a");
}

#[test]
fn hints_of_an_entry() {
    let found = read(b"<urlset xmlns:x='h'><url><loc>/a</loc><lastmod>2024-05-06T07:08:09.125+02:00</lastmod><changefreq> Weekly </changefreq><priority>.7</priority><x:link rel='alternate' hreflang='de' href='/de'/></url><url><loc>/b</loc><lastmod>soon</lastmod><priority>2</priority><changefreq>often</changefreq></url></urlset>");
    let (a, b) = (&found.entries[0], &found.entries[1]);
    assert_eq!(a.modified_ms, Some(1_714_972_089_125));
    assert_eq!((a.change, a.priority), (Some(ChangeFrequency::Weekly), Some(0.7)));
    assert_eq!(a.alternates[0].0, "de");
    assert_eq!((b.modified_ms, b.change, b.priority), (None, None, None));
    let limits = SitemapLimits { entries_max: 1, ..SitemapLimits::default() };
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let found = Sitemap::read(
        &url,
        None,
        b"<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url></urlset>",
        &limits,
        Time::from_secs(0),
    );
    assert_eq!((found.entries.len(), found.cut.entries), (1, 1));
}
