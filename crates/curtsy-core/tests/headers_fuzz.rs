//! Properties of every header value, whatever a server sends.

mod mutate;

use std::time::{Duration, UNIX_EPOCH};

use curtsy_core::headers::{
    CacheControl, CacheHeaders, CacheKind, ContentType, RobotsRules, any_date, freshness,
    http_date, retry_after,
};
use curtsy_core::time::Time;
use proptest::prelude::*;

proptest! {
    #![proptest_config(mutate::config())]

    #[test]
    fn the_longest_retry_after_counts(
        a in mutate::near(DATES),
        b in mutate::near(DATES),
        date in proptest::option::of(any::<i64>()),
        now in any::<u64>(),
    ) {
        let wait = |lines: &[&str]| retry_after(lines.iter().copied(), date, Time::from_micros(now));
        prop_assert_eq!(wait(&[&a, &b]), wait(&[&a]).max(wait(&[&b])));
        if let Some(wait) = wait(&[&a]) {
            // Adding it to a moment is the first thing that is done with it.
            prop_assert!(Time::from_micros(now) + wait >= Time::from_micros(now));
        }
    }

    #[test]
    fn whoever_reads_more_dates_reads_the_same_dates(text in mutate::near(DATES), now in any::<i64>()) {
        if let Some(moment) = http_date(&text, now) {
            prop_assert_eq!(any_date(&text, now), Some(moment));
        }
    }

    /// The crate `httpdate` is the oracle.
    #[test]
    fn a_date_that_is_written_by_the_book_is_read(seconds in 0..253_402_300_800u64, now in any::<i64>()) {
        let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        prop_assert_eq!(http_date(&text, now), Some(seconds as i64));
    }

    #[test]
    fn cache_control_says_the_same_when_it_is_written_again(text in mutate::near(CACHE_CONTROL)) {
        let control = CacheControl::parse([text.as_str()]);
        let written: Vec<String> = control.directives.iter().map(written).collect();
        prop_assert_eq!(CacheControl::parse(written.iter().map(String::as_str)), control.clone());
        prop_assert_eq!(CacheControl::parse([written.join(",").as_str()]), control);
    }

    #[test]
    fn what_may_not_be_kept_is_not_fresh(
        control in mutate::near(CACHE_CONTROL),
        expires in mutate::near(DATES),
        date in mutate::near(DATES),
        age in mutate::near(DATES),
        now in any::<u64>(),
    ) {
        let headers = CacheHeaders {
            cache_control: vec![&control],
            expires: Some(&expires),
            date: Some(&date),
            age: Some(&age),
            last_modified: Some(&expires),
            ..Default::default()
        };
        for kind in [CacheKind::Private, CacheKind::Shared] {
            let found = freshness(&headers, kind, Time::from_micros(now));
            let spans = (found.fresh_for, found.stale_while_revalidate);
            prop_assert!(found.store || spans == (Duration::ZERO, Duration::ZERO));
            prop_assert!(!found.must_revalidate || spans.1 == Duration::ZERO);
        }
    }

    #[test]
    fn robots_rules_only_ever_grow_stricter(a in mutate::near(ROBOTS_RULES), b in mutate::near(ROBOTS_RULES)) {
        let mut rules = RobotsRules::default();
        rules.add_header(&a, "curtsy", NOW);
        let once = rules.clone();
        rules.add_header(&a, "curtsy", NOW);
        prop_assert_eq!(&rules, &once, "said twice is said once");
        rules.add_header(&b, "curtsy", NOW);
        prop_assert!(rules.noindex >= once.noindex && rules.nofollow >= once.nofollow);
        prop_assert!(rules.noarchive >= once.noarchive && rules.nosnippet >= once.nosnippet);
        prop_assert!(rules.expired(NOW) >= once.expired(NOW));
        prop_assert!(rules.other.len() <= 32);
    }

    #[test]
    fn a_line_for_another_crawler_is_nothing_to_us(line in mutate::near(ROBOTS_RULES)) {
        // A second name would end the first one's rules.
        let line = format!("otherbot: {}", line.replace(':', ""));
        let mut rules = RobotsRules::default();
        rules.add_header(&line, "curtsy", NOW);
        prop_assert_eq!(rules, RobotsRules::default());
    }

    #[test]
    fn a_content_type_is_stable_once_it_is_read(text in mutate::near(CONTENT_TYPES)) {
        let Some(found) = ContentType::parse(&text) else { return Ok(()) };
        let mut again = found.essence.clone().into_owned();
        for (name, value) in &found.params {
            again += &format!(";{name}={}", quoted(value));
        }
        prop_assert_eq!(ContentType::parse(&again), Some(found));
    }
}

fn written((name, value): &(String, Option<String>)) -> String {
    match value {
        None => name.clone(),
        Some(value) => format!("{name}={}", quoted(value)),
    }
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

const NOW: Time = Time::from_secs(1_715_000_000);
const DATES: &str = include_str!("corpus/dates.jsonl");
const CACHE_CONTROL: &str = include_str!("corpus/cache_control.jsonl");
const ROBOTS_RULES: &str = include_str!("corpus/robots_rules.jsonl");
const CONTENT_TYPES: &str = include_str!("corpus/content_types.jsonl");
