//! The page reader: limits are kept, a limit removes only the end, and every link is a URL in its
//! normal form.

use curtsy_core::url::CrawlUrl;
use curtsy_parse::html::{HtmlPage, PageLimits};

use crate::{FuzzTarget, choice};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "html",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/html.dict"),
};

fn run(data: &[u8]) {
    let (choice, body) = choice(data);
    let content_type = TYPES[choice % TYPES.len()];
    let url = CrawlUrl::parse("https://site.example/dir/page").expect("a plain address");
    let all = HtmlPage::read(&url, content_type, body, &PageLimits::default());
    for link in &all.links {
        assert_eq!(CrawlUrl::parse(link.url.as_str()).as_ref(), Ok(&link.url), "one spelling");
        assert_ne!(link.url, url, "a page is not among its own links");
    }
    let mut once: Vec<&str> = all.links.iter().map(|link| link.url.as_str()).collect();
    once.sort_unstable();
    assert!(once.windows(2).all(|pair| pair[0] != pair[1]), "each once");

    let limits = PageLimits { links_max: 3, title_bytes_max: 7, ..PageLimits::default() };
    let few = HtmlPage::read(&url, content_type, body, &limits);
    assert!(few.links.len() <= 3 && few.frames.len() <= 3);
    let firsts = few.links.iter().zip(&all.links);
    assert!(firsts.into_iter().all(|(few, all)| few.url == all.url), "the first links stay");
    match (&few.title, &all.title) {
        (Some(few), Some(all)) => assert!(few.len() <= 7 && all.starts_with(few.as_str())),
        (few, all) => assert_eq!(few, all),
    }
    assert_eq!(
        (&few.base, &few.canonical, &few.refresh),
        (&all.base, &all.canonical, &all.refresh)
    );

    let limits = PageLimits { body_bytes_max: 64, ..PageLimits::default() };
    let cut = HtmlPage::read(&url, content_type, body, &limits);
    assert_eq!(cut.cut.body_bytes, body.len().saturating_sub(64));
}

const TYPES: &[Option<&str>] = &[
    None,
    Some("text/html"),
    Some("text/html; charset=utf-8"),
    Some("text/html; charset=shift_jis"),
    Some("text/html; charset=utf-16"),
    Some("text/html; charset=iso-2022-jp"),
    Some("text/html; charset=windows-1252"),
    Some("application/xhtml+xml"),
];

const SEEDS: &[&[u8]] = &[
    b"\x01<!doctype html><title>Hi &amp; ho</title><base href=/b/><a href=x rel=nofollow>x</a><a href='?q=1#f'>y</a>",
    b"\x02<meta name=robots content=noindex><meta http-equiv=refresh content='0;url=/n'><link rel=canonical href=/c>",
    b"\x02<table><a href=1><tr><td><a href=2></table><p><a href=3><p>x</a>",
    b"\x00<frameset><frame src=a><frame src=b></frameset><noframes><a href=n></noframes>",
    b"\x01<svg><a href=s><desc><p><a href=t></svg><math><mi><a href=m></math>",
    b"\x01<script><!--<script></script>--></script><style></style><textarea><a href=no></textarea><a href=yes>",
    b"\x00\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00",
    b"\x03<meta charset=gbk><a href='?\x83\x65'>\x83\x65</a>",
    b"\x01<template><a href=t><template></template></template><select><option><a href=o></select>",
    b"\x01<b><i><p></b></i><a href=1><b><a href=2></b><nobr><nobr><font size=1></font>",
];
