//! Sites without end. What a polite crawler takes of them is bounded by its traps and its budget.

use std::time::Duration;

use super::super::case::Expectation::Page;
use super::super::case::{ZooCase, ZooRequest};
use super::super::http::{good, html};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    let maze = |name, does, links: fn(&str) -> Vec<String>| {
        ZooCase::new(name, does, Page(200))
            .requests(BUDGET)
            .answers(move |asked| room(asked, links(asked.path)))
    };
    vec![
        maze("babble", "A maze of babble: twenty new links on every page", |path| {
            (0..20).map(|n| format!("/{}/{}", word(path, n), word(path, n + 100))).collect()
        }),
        ZooCase::new(
            "babble-slow",
            "The same, and every page takes a fifth of a second",
            Page(200),
        )
        .requests(BUDGET)
        .answers(|asked| {
            let links = (0..20).map(|n| format!("/{}", word(asked.path, n))).collect();
            Some(room(asked, links)?.after(Duration::from_millis(200)))
        }),
        maze("calendar", "A calendar with a page for every month there is", |path| {
            let month = path
                .strip_prefix("/calendar?month=")
                .and_then(|month| month.parse::<i64>().ok())
                .unwrap_or(24_000);
            (1..4)
                .flat_map(|n| [month + n, month - n])
                .map(|month| format!("/calendar?month={month}"))
                .collect()
        }),
        maze("calendar-dates", "A calendar with a page for every day there is", |path| {
            let day = path.rsplit('/').next().and_then(|day| day.parse::<u32>().ok()).unwrap_or(0);
            (1..6)
                .map(|n| day + n)
                .map(|day| format!("/events/{:04}/{:02}/{day:02}", 2000 + day / 300, day % 12 + 1))
                .collect()
        }),
        maze("sessions", "A new session in every link", |path| {
            (0..5).map(|n| format!("/shop?PHPSESSID={}", word(path, n).repeat(4))).collect()
        }),
        maze("sessions-path", "A new session in the path of every link", |path| {
            (0..5).map(|n| format!("/shop;jsessionid={}", word(path, n).repeat(4))).collect()
        }),
        maze(
            "repeating",
            "Links that put the same folder behind the path, again and again",
            |path| {
                let path = path.trim_end_matches('/');
                vec![format!("{path}/a"), format!("{path}/a/b"), format!("{path}/b/a")]
            },
        ),
        maze("growing-query", "Links that add a parameter to the query", |path| {
            let sign = if path.contains('?') { '&' } else { '?' };
            (0..4).map(|n| format!("{path}{sign}f{n}=1")).collect()
        }),
        maze("filters", "Filters in every order there is", |path| {
            (0..10)
                .map(|n| format!("/list?color={}&size={}&sort={}", n % 3, path.len() % 7, n))
                .collect()
        }),
        maze("counter", "One link, to the next number", |path| {
            let n = path.strip_prefix("/n/").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            vec![format!("/n/{}", n + 1)]
        }),
        maze("long-urls", "Links that grow beyond what any server reads", |path| {
            vec![format!("{path}{}", "long".repeat(120))]
        }),
        maze("everything-is-there", "Status 200 for every URL", |_| {
            vec!["/missing".to_owned(), "/gone".to_owned(), "/never/was".to_owned()]
        }),
    ]
}

/// A page with these links; robots.txt and sitemaps are as they should be.
fn room(asked: &ZooRequest<'_>, links: Vec<String>) -> Option<ZooScript> {
    if asked.path == "/robots.txt" || asked.path.starts_with("/sitemap") {
        return Some(good(asked));
    }
    let links: String =
        links.iter().map(|to| format!("<a href='{to}'>{}</a> ", word(to, 1))).collect();
    let babble: String = (0..60).map(|n| word(asked.path, n) + " ").collect();
    let title = word(asked.path, 7);
    Some(html(format!("<!doctype html><title>{title}</title><p>{babble}</p><p>{links}</p>")))
}

/// A word that is the same for the same path and number.
fn word(path: &str, n: u32) -> String {
    let mut state = path.bytes().fold(u64::from(n) + 0x9e37_79b9, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut sign = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (b'a' + (state >> 33) as u8 % 26) as char
    };
    (0..6).map(|_| sign()).collect()
}

/// A crawler that was told to take fifty pages of a host asks for no more than these, with
/// robots.txt and sitemaps.
const BUDGET: u32 = 55;
