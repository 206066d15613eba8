//! Header values that decide, by our own examples.

use std::time::Duration;

use curtsy_core::headers::{
    Basis, CacheControl, CacheHeaders, CacheKind, Coding, ContentType, Delta, ETag, ImagePreview,
    RobotsRules, any_date, codings, freshness, http_date, retry_after,
};
use curtsy_core::time::Time;

/// Mon, 06 May 2024 12:53:20 GMT
const NOW: Time = Time::from_secs(1_715_000_000);
const NOW_SECS: i64 = 1_715_000_000;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// --- dates

#[test]
fn the_three_forms_of_a_date_are_read() {
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(http_date(text, NOW_SECS), Some(784_111_777), "{text}");
    }
}

#[test]
fn near_misses_of_a_date_are_read() {
    for text in [
        "Sun, 6 Nov 1994 8:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 Z",
        "  Sun,  06  Nov 1994\t08:49:37  ",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 06 08:49:37 1994",
        "Sun, 06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 1994 03:19:37 -0530",
        "Sun, 06 Nov 94 08:49:37 GMT",
    ] {
        assert_eq!(http_date(text, NOW_SECS), Some(784_111_777), "{text}");
    }
}

#[test]
fn what_is_no_date_is_none() {
    for text in [
        "",
        "0",
        "-1",
        "never",
        "784111777",
        "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 06 Nov 1994 08:49:37 GMT GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, ０6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(http_date(text, NOW_SECS), None, "{text}");
    }
}

#[test]
fn dates_lie_anywhere() {
    let at = |text: &str| http_date(text, NOW_SECS);
    assert_eq!(at("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    assert_eq!(at("Wed, 31 Dec 1969 23:59:59 GMT"), Some(-1));
    assert_eq!(at("Sat, 31 Dec 2016 23:59:60 GMT"), Some(1_483_228_800), "a leap second");
    assert_eq!(at("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
    assert_eq!(at("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
    assert_eq!(at("Sat, 01 Jan 0000 00:00:00 GMT"), Some(-62_167_219_200));
}

/// RFC 9110 §5.6.7: more than 50 years ahead is the past.
#[test]
fn two_digits_of_a_year_mean_the_nearest_one() {
    let year = |digits: &str, now: &str| {
        let now = http_date(now, 0).unwrap();
        let text = format!("Monday, 06-May-{digits} 12:53:20 GMT");
        (1900..2300)
            .find(|y| http_date(&format!("06 May {y} 12:53:20 GMT"), now) == http_date(&text, now))
    };
    let now = "Mon, 06 May 2024 12:53:20 GMT";
    assert_eq!(year("24", now), Some(2024));
    assert_eq!(year("74", now), Some(2074), "50 years ahead to the second");
    assert_eq!(year("74", "Mon, 06 May 2024 12:53:19 GMT"), Some(1974), "and a second more");
    assert_eq!(year("75", now), Some(1975));
    assert_eq!(year("99", now), Some(1999));
    assert_eq!(year("01", "Wed, 06 May 2099 12:53:20 GMT"), Some(2101));
}

#[test]
fn people_write_dates_in_other_ways() {
    let at = |text: &str| any_date(text, NOW_SECS);
    assert_eq!(at("25 Jun 2010 15:00:00 PST"), http_date("25 Jun 2010 23:00:00 GMT", NOW_SECS));
    assert_eq!(at("25-Aug-2007 15:00:00 EST"), http_date("25 Aug 2007 20:00:00 GMT", NOW_SECS));
    assert_eq!(at("25 June 2010"), http_date("25 Jun 2010 00:00:00 GMT", NOW_SECS));
    assert_eq!(at("2010-06-25"), at("25 June 2010"));
    for text in [
        "2010-06-25T15:00:00Z",
        "2010-06-25t15:00:00.123z",
        "2010-06-25 15:00",
        "2010-06-25 17:00+02:00",
        "2010-06-25T10:30:00-0430",
    ] {
        assert_eq!(at(text), http_date("25 Jun 2010 15:00:00 GMT", NOW_SECS), "{text}");
    }
    for text in ["rubbish", "2010-13-01", "2010-06-31", "2010-06-25T25:00", "2010-06-25x", "2010"] {
        assert_eq!(at(text), None, "{text}");
    }
}

// --- Retry-After

#[test]
fn retry_after_takes_both_forms() {
    let wait = |text: &str| retry_after([text], None, NOW);
    assert_eq!(wait("120"), Some(secs(120)));
    assert_eq!(wait("\t0 "), Some(secs(0)));
    assert_eq!(wait("007"), Some(secs(7)));
    assert_eq!(wait("Mon, 06 May 2024 12:54:20 GMT"), Some(secs(60)));
    assert_eq!(wait("Mon May  6 12:54:20 2024"), Some(secs(60)));
    assert_eq!(wait("Mon, 06 May 2024 12:00:00 GMT"), Some(secs(0)), "past: no wait");
    assert_eq!(wait("99999999999999999999"), Some(secs(u64::MAX)), "never wraps round");
    for junk in
        ["", " ", "-1", "+1", "1.5", "1e3", "0x10", "12 0", "１２", "\"120\"", "120s", "soon"]
    {
        assert_eq!(wait(junk), None, "{junk:?}");
    }
}

#[test]
fn retry_after_is_measured_by_the_servers_clock() {
    let text = "Mon, 06 May 2024 12:54:20 GMT";
    assert_eq!(retry_after([text], Some(NOW_SECS - 3600), NOW), Some(secs(3660)));
    assert_eq!(retry_after([text], Some(NOW_SECS + 3600), NOW), Some(secs(0)));
    assert_eq!(retry_after(["120"], Some(NOW_SECS + 3600), NOW), Some(secs(120)));
}

#[test]
fn of_several_retry_after_lines_the_longest_counts() {
    assert_eq!(retry_after(["60", "junk", "120", "30"], None, NOW), Some(secs(120)));
    assert_eq!(retry_after(["junk", ""], None, NOW), None);
    assert_eq!(retry_after([], None, NOW), None);
}

// --- Cache-Control

fn fresh(cache_control: &[&str]) -> (u64, Basis) {
    let headers = CacheHeaders { cache_control: cache_control.to_vec(), ..Default::default() };
    let found = freshness(&headers, CacheKind::Private, NOW);
    (found.fresh_for.as_secs(), found.basis)
}

#[test]
fn cache_control_is_a_list_over_all_lines() {
    let control = CacheControl::parse([
        "Max-Age=\"60\",, no-cache=\"set-cookie, X-A\" ,",
        "PRIVATE, community=\"U\\\"CI\", max-age=5, no-store=x",
    ]);
    assert_eq!(control.delta("max-age"), Delta::Seconds(60), "the first counts");
    assert_eq!(control.fields("no-cache"), ["set-cookie", "x-a"]);
    assert_eq!(control.value("community"), Some("U\"CI"));
    assert!(control.has("private") && control.has("no-store"));
    assert_eq!(control.delta("s-maxage"), Delta::Absent);
    assert_eq!(CacheControl::parse(["max-age=abc"]).delta("max-age"), Delta::Unreadable);
    assert_eq!(CacheControl::parse(["max-age=-1"]).delta("max-age"), Delta::Unreadable);
    assert_eq!(CacheControl::parse(["max-age"]).delta("max-age"), Delta::Unreadable);
    assert_eq!(CacheControl::parse(["max-age = 5"]).delta("max-age"), Delta::Absent);
    let large = CacheControl::parse(["max-age=99999999999999999999"]);
    assert_eq!(large.delta("max-age"), Delta::Seconds(u64::MAX));
    let open = CacheControl::parse(["no-cache=\"a, max-age=5"]);
    assert_eq!(open.delta("max-age"), Delta::Absent, "inside a quote that never ends");
}

#[test]
fn max_age_is_the_servers_word() {
    assert_eq!(fresh(&["max-age=60"]), (60, Basis::Said));
    assert_eq!(fresh(&["max-age=junk"]), (0, Basis::Said), "unreadable is stale");
    assert_eq!(fresh(&["max-age=60", "no-cache"]), (0, Basis::Said));
    assert_eq!(fresh(&["max-age=60", "no-cache=set-cookie"]), (60, Basis::Said), "that field only");
    assert_eq!(fresh(&["max-age=60, no-store"]), (0, Basis::Said));
    assert_eq!(fresh(&["private, s-maxage=5, max-age=60"]), (60, Basis::Said), "we are private");
    assert_eq!(fresh(&["public"]), (0, Basis::Nothing));
    assert_eq!(fresh(&[]), (0, Basis::Nothing));
}

#[test]
fn a_shared_cache_is_told_otherwise() {
    let judge = |line: &'static str| {
        let headers = CacheHeaders { cache_control: vec![line], ..Default::default() };
        freshness(&headers, CacheKind::Shared, NOW)
    };
    assert_eq!(judge("s-maxage=5, max-age=60").fresh_for, secs(5));
    assert!(judge("s-maxage=5").must_revalidate, "RFC 9111 §5.2.2.10");
    assert!(!judge("private, max-age=60").store);
    assert_eq!(judge("private, max-age=60").fresh_for, secs(0));
    assert!(judge("private=set-cookie, max-age=60").store);
}

#[test]
fn age_expires_and_last_modified_count_by_the_servers_clock() {
    // The server's clock is an hour late.
    let date = Some("Mon, 06 May 2024 11:53:20 GMT");
    let judge = |headers: CacheHeaders<'static>| {
        let found = freshness(&headers, CacheKind::Private, NOW);
        (found.fresh_for.as_secs(), found.basis)
    };
    let expires = |text| CacheHeaders { date, expires: Some(text), ..Default::default() };
    assert_eq!(judge(expires("Mon, 06 May 2024 12:53:20 GMT")), (3600, Basis::Said));
    assert_eq!(judge(expires("Mon, 06 May 2024 10:53:20 GMT")), (0, Basis::Said));
    assert_eq!(judge(expires("0")), (0, Basis::Said));
    let aged = |age| CacheHeaders {
        date,
        age: Some(age),
        cache_control: vec!["max-age=60"],
        ..Default::default()
    };
    assert_eq!(judge(aged("20")), (40, Basis::Said));
    assert_eq!(judge(aged("90")), (0, Basis::Said));
    assert_eq!(judge(aged("x")), (60, Basis::Said));
    let changed = |text| CacheHeaders { date, last_modified: Some(text), ..Default::default() };
    assert_eq!(judge(changed("Fri, 26 Apr 2024 11:53:20 GMT")), (86_400, Basis::Guessed));
    assert_eq!(judge(changed("Fri, 26 Apr 2030 11:53:20 GMT")), (0, Basis::Nothing));
    let pragma = CacheHeaders { pragma: Some("no-cache"), ..Default::default() };
    assert_eq!(judge(pragma), (0, Basis::Said));
    let pragma = CacheHeaders { pragma: Some("no-cache"), ..aged("0") };
    assert_eq!(judge(pragma), (60, Basis::Said), "Cache-Control is there");
    let vary = CacheHeaders { vary: vec!["accept, *"], ..aged("0") };
    assert_eq!(judge(vary), (0, Basis::Said));
}

/// RFC 5861 §3.
#[test]
fn a_stale_page_may_serve_while_it_is_asked_for() {
    let judge = |line: &'static str, age: &'static str| {
        let cache_control = vec![line];
        let headers = CacheHeaders { cache_control, age: Some(age), ..Default::default() };
        let found = freshness(&headers, CacheKind::Private, NOW);
        (found.fresh_for.as_secs(), found.stale_while_revalidate.as_secs())
    };
    assert_eq!(judge("max-age=60, stale-while-revalidate=30", "0"), (60, 30));
    assert_eq!(judge("max-age=60, stale-while-revalidate=30", "70"), (0, 20));
    assert_eq!(judge("max-age=60, stale-while-revalidate=30", "99"), (0, 0));
    assert_eq!(judge("max-age=60, stale-while-revalidate=30, must-revalidate", "0"), (60, 0));
    assert_eq!(judge("no-cache, stale-while-revalidate=30", "0"), (0, 0));
    assert_eq!(judge("max-age=60, stale-while-revalidate=x", "0"), (60, 0));
}

// --- robots rules

fn rules(lines: &[&str]) -> RobotsRules {
    let mut rules = RobotsRules::default();
    for line in lines {
        rules.add_header(line, "Curtsy", NOW);
    }
    rules
}

/// Returns the names of the rules that are on.
fn on(lines: &[&str]) -> String {
    let r = rules(lines);
    let all = [
        (r.noindex, "noindex"),
        (r.nofollow, "nofollow"),
        (r.noarchive, "noarchive"),
        (r.nosnippet, "nosnippet"),
        (r.noimageindex, "noimageindex"),
        (r.notranslate, "notranslate"),
        (r.indexifembedded, "indexifembedded"),
    ];
    all.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

#[test]
fn rules_add_up_and_the_stricter_wins() {
    assert_eq!(on(&["NoIndex, nofollow"]), "noindex nofollow");
    assert_eq!(on(&["none"]), "noindex nofollow");
    assert_eq!(on(&["noindex", "nofollow"]), "noindex nofollow");
    assert_eq!(on(&["all, index, follow"]), "");
    assert_eq!(on(&["noindex, index", "all"]), "noindex");
    assert_eq!(
        on(&["nocache,nosnippet,,noimageindex, notranslate"]),
        "noarchive nosnippet noimageindex notranslate"
    );
    assert_eq!(on(&["noindex nofollow; noarchive"]), "noindex nofollow noarchive", "no commas");
    assert_eq!(on(&[""]), "");
}

#[test]
fn a_name_governs_what_follows_it() {
    assert_eq!(on(&["curtsy: noindex, nofollow"]), "noindex nofollow");
    assert_eq!(on(&["CURTSY:noindex"]), "noindex");
    assert_eq!(on(&["otherbot: noindex, nofollow"]), "");
    assert_eq!(on(&["curtsy-news: noindex"]), "", "a longer name is another crawler");
    assert_eq!(on(&["noarchive, otherbot: noindex, curtsy: nofollow"]), "nofollow noarchive");
    assert_eq!(on(&["otherbot: noindex", "nofollow"]), "nofollow", "a new line is for everyone");
    assert_eq!(on(&["*: noindex"]), "noindex");
    assert_eq!(on(&["otherbot: noindex, *: nofollow"]), "nofollow");
    assert_eq!(on(&["noindex curtsy: nofollow"]), "noindex nofollow");
}

#[test]
fn dates_keep_their_commas_and_colons() {
    let until = |line: &str| (rules(&[line]).unavailable_after, on(&[line]));
    let at = |text: &str| http_date(text, NOW_SECS);
    assert_eq!(
        until("unavailable_after: Wed, 01 Jan 2999 00:00:00 GMT, nofollow"),
        (at("01 Jan 2999 00:00:00 GMT"), "nofollow".into())
    );
    assert_eq!(
        until("noindex, unavailable_after: 25-Aug-2007 15:00:00 EST"),
        (at("25 Aug 2007 20:00:00 GMT"), "noindex".into())
    );
    assert_eq!(
        until("curtsy: unavailable_after: 2010-06-25T15:00:00Z, noarchive"),
        (at("25 Jun 2010 15:00:00 GMT"), "noarchive".into())
    );
    assert_eq!(until("otherbot: unavailable_after: 2010-06-25"), (None, String::new()));
    assert_eq!(until("unavailable_after: rubbish, noindex"), (None, "noindex".into()));
    assert_eq!(
        until("unavailable_after: 2999-01-01, unavailable_after: 2998-01-01").0,
        at("01 Jan 2998 00:00:00 GMT")
    );
    assert!(rules(&["unavailable_after: 2010-01-01"]).expired(NOW));
    assert!(!rules(&["unavailable_after: 2999-01-01"]).expired(NOW));
    assert!(!rules(&["noindex"]).expired(NOW));
}

#[test]
fn limits_and_unknown_rules_are_kept() {
    let r = rules(&[
        "max-snippet:-1, max-image-preview:Large, max-video-preview: 30",
        "max-snippet: 20",
    ]);
    assert_eq!((r.max_snippet, r.max_video_preview), (Some(20), Some(30)));
    assert_eq!(r.max_image_preview, Some(ImagePreview::Large));
    assert_eq!(rules(&["max-snippet:20, max-snippet:-1"]).max_snippet, Some(20));
    assert_eq!(rules(&["max-snippet:x, max-snippet:-2"]).max_snippet, None);
    let r = rules(&["noai, NoImageAI, max-foo: 3, noai, noindex"]);
    assert_eq!(r.other, ["noai", "noimageai", "max-foo: 3"]);
    assert!(r.noindex, "an unknown limit is not a crawler's name");
    assert!(rules(&[&"x,".repeat(100_000)]).other.len() <= 32);
}

#[test]
fn a_meta_element_is_for_everyone_or_for_its_name() {
    let of = |name: &str| {
        let mut rules = RobotsRules::default();
        rules.add_meta(name, "noindex", "curtsy", NOW);
        rules.noindex
    };
    assert!(of("robots") && of("ROBOTS") && of("Curtsy"));
    assert!(!of("googlebot") && !of("description") && !of(""));
}

// --- Content-Type, Content-Encoding, ETag

#[test]
fn a_content_type_is_read_as_a_browser_reads_it() {
    let read = |text: &str| {
        ContentType::parse(text).map(|t| {
            let params: Vec<_> = t.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
            format!("{} {}", t.essence, params.join(" ")).trim().to_owned()
        })
    };
    let is = |text: &str, want: &str| assert_eq!(read(text).as_deref(), Some(want), "{text}");
    is("Text/HTML", "text/html");
    is(" text/html ; charset=UTF-8", "text/html charset=UTF-8");
    is("text/html;charset=\"a;\\\"b\" x;v=1", "text/html charset=a;\"b v=1");
    is("text/html; charset; a=; b=\"\"; c =1", "text/html b=");
    is("text/html; a=1; A=2; =3; é=4", "text/html a=1");
    is("text/html; a=\"unfinished", "text/html a=unfinished");
    for text in ["", "text", "/html", "text/", "te xt/html", "text/ht ml", "text/html,a"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn codings_are_known_or_not() {
    assert_eq!(codings(["GZIP, br", "x-gzip"]), Some(vec![Coding::Gzip, Coding::Br, Coding::Gzip]));
    assert_eq!(codings(["identity,,"]), Some(vec![]));
    assert_eq!(codings(["gzip, utf-8"]), None);
    assert_eq!(codings(["gzip,".repeat(9).as_str()]), None, "a bomb");
}

#[test]
fn tags_are_compared_weakly_and_strongly() {
    let pair = |a, b| {
        let (a, b) = (ETag::parse(a).unwrap(), ETag::parse(b).unwrap());
        (a.weak_match(&b), a.strong_match(&b))
    };
    assert_eq!(pair("\"a\"", "\"a\""), (true, true));
    assert_eq!(pair("W/\"a\"", "\"a\""), (true, false));
    assert_eq!(pair("W/\"a\"", "W/\"a\""), (true, false));
    assert_eq!(pair("\"a\"", "\"A\""), (false, false));
    assert_eq!(pair("\"\"", "\"\""), (true, true));
    for text in ["", "a", "\"", "w/\"a\"", "\"a\"b\"", "\"a b\""] {
        assert_eq!(ETag::parse(text), None, "{text}");
    }
}
