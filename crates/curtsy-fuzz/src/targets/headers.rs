//! Header values: a value that is written again is read as the same value, and the longest wait
//! counts.

use std::time::{Duration, SystemTime};

use curtsy_core::headers::{
    Basis, CacheControl, CacheHeaders, CacheKind, ContentType, ETag, RobotsRules, any_date,
    codings, freshness, http_date, retry_after,
};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::charset::Charset;
use curtsy_parse::content_type::BodyKind;
use curtsy_parse::link_header::canonical;

use crate::{FuzzTarget, latin};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "headers",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/headers.dict"),
};

/// Each line is a value of every header.
fn run(data: &[u8]) {
    let text = latin(data);
    let lines: Vec<&str> = text.split('\n').collect();
    waits(&lines);
    caching(&lines);
    robots(&lines);
    for line in &lines {
        date(line);
        content_type(line);
        if let Some(tag) = ETag::parse(line) {
            let written = format!("{}\"{}\"", if tag.weak { "W/" } else { "" }, tag.opaque);
            assert_eq!(ETag::parse(&written), Some(tag));
        }
    }
    assert!(codings(lines.iter().copied()).is_none_or(|codings| codings.len() <= 8));
    let page = CrawlUrl::parse("https://site.example/a?b").expect("a plain address");
    if let Some(found) = canonical(&page, lines.iter().copied()) {
        assert_eq!(CrawlUrl::parse(found.as_str()).as_ref(), Ok(&found));
        // Any of its letters may be quoted.
        assert!(text.replace('\\', "").to_ascii_lowercase().contains("canonical"));
    }
}

fn waits(lines: &[&str]) {
    for date in [None, Some(NOW), Some(i64::MIN), Some(i64::MAX)] {
        let now = Time::from_secs(NOW as u64);
        let each = lines.iter().take(16).filter_map(|line| retry_after([*line], date, now)).max();
        assert_eq!(retry_after(lines.iter().copied(), date, now), each, "the longest wait counts");
    }
}

fn date(line: &str) {
    let Some(moment) = http_date(line, NOW) else {
        let _ = any_date(line, NOW);
        return;
    };
    assert_eq!(any_date(line, NOW), Some(moment), "{line:?}");
    // From 1970 to 9999.
    if let Ok(seconds @ 0..253_402_300_800) = u64::try_from(moment) {
        let written =
            httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(http_date(&written, NOW), Some(moment), "{line:?} is {written}");
    }
    if line.len() == 29
        && let Ok(theirs) = httpdate::parse_http_date(line)
    {
        let theirs =
            theirs.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs() as i64);
        assert!(theirs.is_err() || theirs.ok() == Some(moment), "{line:?} is {moment} to us");
    }
}

fn caching(lines: &[&str]) {
    let control = CacheControl::parse(lines.iter().copied());
    assert!(control.directives.len() <= 64);
    let written: Vec<String> = control.directives.iter().map(directive).collect();
    assert_eq!(CacheControl::parse([written.join(", ").as_str()]), control, "{written:?}");
    let line = |at: usize| lines.get(at).copied();
    let headers = CacheHeaders {
        cache_control: lines.to_vec(),
        expires: line(0),
        date: line(1),
        age: line(2),
        last_modified: line(3),
        pragma: line(4),
        vary: lines.to_vec(),
    };
    for kind in [CacheKind::Private, CacheKind::Shared] {
        let good = freshness(&headers, kind, Time::from_secs(NOW as u64));
        assert!(good.basis != Basis::Nothing || good.fresh_for.is_zero());
        let bare = CacheHeaders { cache_control: Vec::new(), ..headers.clone() };
        let _ = freshness(&bare, kind, Time::from_secs(NOW as u64));
    }
}

fn directive((name, value): &(String, Option<String>)) -> String {
    match value {
        None => name.clone(),
        Some(value) => format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn content_type(line: &str) {
    let _ = BodyKind::of(Some(line), line.as_bytes());
    let charset = Charset::of(line.as_bytes(), Some(line), Some("site.example"));
    let _ = charset.decode(line.as_bytes());
    let Some(read) = ContentType::parse(line) else { return };
    assert_eq!(
        ContentType::parse(&read.essence).map(|again| again.essence),
        Some(read.essence.clone())
    );
    assert!(!read.essence.bytes().any(|b| b.is_ascii_uppercase()));
    let mut names: Vec<&str> = read.params.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "each name once");
}

fn robots(lines: &[&str]) {
    let now = Time::from_secs(NOW as u64);
    let mut rules = RobotsRules::default();
    let add = |rules: &mut RobotsRules| {
        for line in lines {
            rules.add_header(line, "curtsy", now);
            rules.add_meta("robots", line, "curtsy", now);
        }
    };
    add(&mut rules);
    let once = rules.clone();
    add(&mut rules);
    assert_eq!(rules, once, "said twice is said once");
}

/// Mon, 06 May 2024 12:53:20 GMT.
const NOW: i64 = 1_715_000_000;

const SEEDS: &[&[u8]] = &[
    b"120\nMon, 06 May 2024 12:54:20 GMT\nSunday, 06-Nov-94 08:49:37 GMT\nSun Nov  6 08:49:37 1994",
    b"max-age=60, no-cache=\"set-cookie, x\", private, s-maxage=1\nMon, 06 May 2024 12:54:20 GMT\nMon, 06 May 2024 11:54:20 GMT\n20",
    b"Text/HTML; charset=\"utf-8\"; a=b\napplication/xhtml+xml\ngzip, br",
    b"noarchive, otherbot: noindex, Curtsy: nofollow, unavailable_after: 25 Jun 2010 15:00:00 PST, max-snippet:-1",
    b"</style.css>; rel=preload, </a>; rel=\"Canonical\"; anchor=\"#x\"\n<https://site.example/b>; rel=canonical",
    b"W/\"abc\"\n\"abc\"\nabc",
    b"unavailable_after: 2024-05-06T12:53:20+02:00, max-image-preview: large, none",
    b"no-store, stale-while-revalidate=30, must-revalidate\n0\n-1\n99999999999999999999",
];
