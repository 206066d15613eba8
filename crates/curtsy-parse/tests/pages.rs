//! The facts of pages, rule by rule. Links are written as `url`, or as `url!` with nofollow, in
//! order.

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::charset::CharsetBy;
use curtsy_parse::html::{HtmlPage, Markup, PageLimits};

fn page(html: &[u8], content_type: &str) -> HtmlPage {
    let url = CrawlUrl::parse("https://site.example/dir/page").unwrap();
    HtmlPage::read(&url, Some(content_type), html, &PageLimits::default())
}

/// Returns the references of a page's links, from the tree.
fn check(html: &str, expected: &str) {
    let markup = Markup::read(html);
    let hrefs: Vec<&str> = markup.links.iter().map(|link| &*link.href).collect();
    assert_eq!(hrefs.join(" "), expected, "{html}");
}

/// Returns the links for the crawl.
fn check_links(html: &str, expected: &str) {
    let page = page(html.as_bytes(), "text/html; charset=utf-8");
    let sign = |nofollow| if nofollow { "!" } else { "" };
    let links: Vec<String> =
        page.links.iter().map(|link| format!("{}{}", link.url, sign(link.nofollow))).collect();
    assert_eq!(links.join(" ").replace("https://site.example", ""), expected, "{html}");
}

#[test]
fn tags_are_found_where_they_are_and_nowhere_else() {
    check("<a href=1><A HREF='2'><a\nhref = \"3\" /><area href=4>", "1 2 3 4");
    check("<!-- <a href=no> --><a href=1><!--><a href=2><!--->x<a href=3>", "1 2 3");
    check("<script>'<a href=no>'</script><style><a href=no></style><a href=1>", "1");
    check("<script><!--<script></script><a href=no>--></script><a href=1>", "1");
    check("<textarea><a href=no></textarea><title><a href=no></title><a href=1>", "1");
    check(
        "<iframe><a href=no></iframe><noembed><a href=no></noembed><xmp><a href=no></xmp><a href=1>",
        "1",
    );
    check("<noscript><a href=1></noscript>", "1");
    check("<template><a href=no></template><a href=1>", "1");
    check("<p title='<a href=no>'><p title=\"><a href=no>\"><a href=1>", "1");
    check("<a data-href=no><a hreflang=no><a href=1 href=no>", "1");
    check("<?php <a href=1> ?></ <a href=no>><a href=2><plaintext><a href=no>", "2");
    check("<a href=1", "");
    check("<svg><a href=1></a><title><a href=2></a></title><![CDATA[<a href=no>]]></svg>", "1 2");
}

#[test]
fn the_tree_repeats_and_moves_links() {
    check("<p><a href=1>x<p>y", "1 1");
    // A NUL is nothing in a body, and a character after `plaintext`.
    check("<p><a href=1><p>\0<plaintext>", "1");
    check("<p><a href=1><p>\0<plaintext>\0", "1 1");
    // Behind everything white space opens links again, also between other characters.
    check("<a href=1><frameset></frameset></html>x", "");
    check("<a href=1><frameset></frameset></html>x y", "1");
    check("<a href=1><div><a href=2></a></div>", "1 1 2");
    check("<table><tr><td><a href=1></a></td></tr><a href=2></a></table>", "2 1");
    check("<a href=1></a><frameset><frame src=f></frameset>", "");
    check("<select><a href=1></a></select>", "1");
    check("<b><p></b><a href=1></a></p>", "1");
    check("<!doctype html><p><table><a href=1>", "1");
}

#[test]
fn entities_and_odd_characters() {
    check("<a href='?a=1&amp;b=2&copy=3&lt;&#x41;&#128;'>", "?a=1&b=2&copy=3<A\u{20ac}");
    check("<a href='a\r\nb\0c'>", "a\nb\u{fffd}c");
    check("<a href=&#13;>", "\r");
    let markup = Markup::read("<title> a\n\t b &amp; c\u{a0} </title><title>no</title>");
    assert_eq!(markup.title.as_deref(), Some("a b & c\u{a0}"));
    assert_eq!(Markup::read("<title></title>").title.as_deref(), Some(""));
    assert_eq!(Markup::read("<svg><title>no</title></svg>").title, None);
}

#[test]
fn links_become_urls_once_each() {
    check_links("<a href=x><a href=./x><a href='x#top'><a href=/dir/x>", "/dir/x");
    check_links("<a href=x rel=nofollow><a href=y rel='ugc NoFollow'><a href=x>", "/dir/x /dir/y!");
    check_links("<a href=''><a href='#top'><a href='?'><a href=page>", "/dir/page?");
    check_links("<a href=mailto:a@b><a href=javascript:x><a href='http://'><a href=x>", "/dir/x");
    check_links("<base href=/other/><a href=x>", "/other/x");
    check_links("<a href=x><base><base href=//h.example/><base href=/no/>", "https://h.example/x");
    check_links("<base href='data:x'><a href=x>", "/dir/x");
    check_links("<base href='http://'><a href=x>", "/dir/x");
    check_links("<base href='ftp://h.example/'><a href=x><a href=https://site.example/y>", "/y");
}

#[test]
fn queries_are_in_the_encoding_of_the_document() {
    let link = |html: &[u8], kind: &str| page(html, kind).links[0].url.to_string();
    let latin = "text/html; charset=iso-8859-1";
    assert_eq!(
        link(b"<a href='/\xe9?\xe9=%e9#\xe9'>", latin),
        "https://site.example/%C3%A9?%E9=%e9"
    );
    assert_eq!(
        link(b"<a href='?&#x20ac;&#x3b1;'>", latin),
        "https://site.example/dir/page?%80%26%23945%3B"
    );
    assert_eq!(
        link("<a href='?é'>".as_bytes(), "text/html; charset=utf-8"),
        "https://site.example/dir/page?%C3%A9"
    );
    assert_eq!(
        link(b"<a href='?\x83\x5c'>", "text/html; charset=shift_jis"),
        "https://site.example/dir/page?%83\\"
    );
}

#[test]
fn the_encoding_is_decided_in_order() {
    let check = |html: &[u8], kind: &str, name: &str, by: CharsetBy| {
        let charset = page(html, kind).charset;
        assert_eq!((charset.encoding.name(), charset.by), (name, by), "{html:?}");
    };
    check(b"\xef\xbb\xbf<meta charset=gbk>", "text/html; charset=gbk", "UTF-8", CharsetBy::Mark);
    check(b"\xff\xfe<\0p\0>\0", "text/html", "UTF-16LE", CharsetBy::Mark);
    check(b"<meta charset=gbk>", "text/html; charset=latin1", "windows-1252", CharsetBy::Header);
    check(b"<meta charset=gbk>", "text/html; charset=none", "GBK", CharsetBy::Meta);
    check(
        b"<!-- <meta charset=gbk> --><meta charset=utf-16>",
        "text/html",
        "UTF-8",
        CharsetBy::Meta,
    );
    check(
        b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>",
        "text/html",
        "KOI8-R",
        CharsetBy::Meta,
    );
    check(
        b"<meta content='text/html; charset=koi8-r'>",
        "text/html",
        "windows-1252",
        CharsetBy::Guess,
    );
    check("<p>Überall schöne Grüße".as_bytes(), "text/html", "UTF-8", CharsetBy::Guess);
    let late = [&b" ".repeat(1_024)[..], b"<meta charset=gbk>"].concat();
    check(&late, "text/html", "windows-1252", CharsetBy::Guess);
}

#[test]
fn canonical_refresh_and_robots() {
    let read = |html: &str| page(html.as_bytes(), "text/html; charset=utf-8");
    let canonical = |html: &str| read(html).canonical.map(|url| url.to_string());
    assert_eq!(
        canonical("<link rel='x Canonical' href=/c>").as_deref(),
        Some("https://site.example/c")
    );
    assert_eq!(
        canonical(
            "<link rel=canonical href=''><link rel=canonical href=ftp:x><link rel=canonical href=c>"
        )
        .as_deref(),
        Some("https://site.example/dir/c")
    );
    assert_eq!(canonical("<link rel=canonicalx href=/c>"), None);

    let refresh = |html: &str| read(html).refresh.map(|url| url.to_string());
    let meta = |content: &str| format!("<meta http-equiv=Refresh content=\"{content}\">");
    assert_eq!(refresh(&meta("0;url=/r")).as_deref(), Some("https://site.example/r"));
    assert_eq!(
        refresh(&(meta("x") + &meta("1; r"))).as_deref(),
        Some("https://site.example/dir/r")
    );
    assert_eq!(
        refresh(&(meta("0;url=http://") + &meta("1; r"))).as_deref(),
        Some("https://site.example/dir/r")
    );
    assert_eq!(refresh(&(meta("5") + &meta("1; r"))), None, "the first reloads");
    assert_eq!(refresh(&(meta("0;mailto:x") + &meta("1; r"))), None, "the first leads nowhere");

    let robots = read(
        "<meta name=ROBOTS content='noindex, x'><meta name=otherbot content=nofollow><meta name=robots>",
    );
    assert_eq!(robots.robots, [("ROBOTS".to_owned(), "noindex, x".to_owned())]);
    let rules = robots.rules(["curtsy: nofollow"], "curtsy", Time::from_secs(0));
    assert!(rules.noindex && rules.nofollow);
}

/// A page with more than ten thousand references: an index, as in the documentation of Python and
/// PostgreSQL.
#[test]
fn repeats_take_no_room_among_the_links() {
    let url = CrawlUrl::parse("https://site.example/index.html").unwrap();
    let reference = |n: usize| format!("<a href='p{}.html#entry-{n}'>{n}</a>", n % 600);
    let mut html: String = (0..30_000).map(reference).collect();
    html.push_str("<a href=#self>here</a><a href=late.html>last</a>");
    let page = HtmlPage::read(&url, None, html.as_bytes(), &PageLimits::default());
    assert_eq!((page.links.len(), page.cut.links), (601, 0));
    assert_eq!(page.links[600].url.as_str(), "https://site.example/late.html");
    let places = page.links.iter().enumerate().take(600);
    assert!(places.into_iter().all(|(n, link)| link.url.path_and_query() == format!("/p{n}.html")));

    // The same with room for less than there is: what was first stays, and each URL that is missing
    // is counted once.
    let limits = PageLimits { links_max: 500, ..PageLimits::default() };
    let few = HtmlPage::read(&url, None, html.as_bytes(), &limits);
    assert_eq!((few.links.len(), few.cut.links), (500, 101));
    assert!(few.links.iter().zip(&page.links).all(|(few, all)| few.url == all.url));

    let frames: String =
        (0..20_000).map(|n| format!("<iframe src=f{}#{n}></iframe>", n % 3)).collect();
    let page = HtmlPage::read(&url, None, frames.as_bytes(), &PageLimits::default());
    assert_eq!((page.frames.len(), page.cut.links), (3, 0));
}

#[test]
fn a_link_says_nofollow_only_if_its_repeats_far_below_do_too() {
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let mut html: String =
        (0..9_000).map(|n| format!("<a rel=nofollow href=/{n}>{n}</a>")).collect();
    html.push_str("<a href=/3#x>3</a><a href=/8000#x>8000</a>");
    let page = HtmlPage::read(&url, None, html.as_bytes(), &PageLimits::default());
    let open = page.links.iter().filter(|link| !link.nofollow).map(|link| link.url.as_str());
    assert_eq!(open.collect::<Vec<_>>(), ["https://site.example/3", "https://site.example/8000"]);
}

/// A page of 16 MiB can have over a million links, and each can take up two kilobytes.
#[test]
fn links_have_a_bound_in_number_and_one_in_bytes() {
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let html: String = (0..120_000).map(|n| format!("<a href={n}>")).collect();
    let page = HtmlPage::read(&url, None, html.as_bytes(), &PageLimits::default());
    assert_eq!((page.links.len(), page.cut.links), (100_000, 20_000));

    let base = format!("<base href='/{}/'>", "x".repeat(1_500));
    let html: String = (0..40_000).map(|n| format!("<a href={n}>")).collect();
    let page = HtmlPage::read(&url, None, (base + &html).as_bytes(), &PageLimits::default());
    let bytes: usize = page.links.iter().map(|link| link.url.as_str().len()).sum();
    assert!(bytes <= 32 * 1024 * 1024, "{bytes}");
    assert_eq!(page.links.len() + page.cut.links, 40_000);
    assert!(page.cut.links > 10_000);
}

#[test]
fn what_is_cut_is_counted() {
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let limits = PageLimits { links_max: 2, title_bytes_max: 3, ..PageLimits::default() };
    let html = "<title>über</title><a href=1><a href=2><a href=3><iframe src=f></iframe>";
    let page = HtmlPage::read(&url, None, html.as_bytes(), &limits);
    assert_eq!((page.links.len(), page.cut.links, page.frames.len()), (2, 1, 1));
    assert_eq!((page.title.as_deref(), page.cut.title), (Some("üb"), true));
    let deep = format!("<p>{}<a href=late>", "<x><hr>".repeat(300_000));
    let page = HtmlPage::read(&url, None, deep.as_bytes(), &PageLimits::default());
    assert!(page.cut.nesting && page.links.is_empty());
}
