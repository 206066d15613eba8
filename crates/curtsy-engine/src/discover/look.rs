//! What does an address look like? Long, repetitive, or one of a kind of which there may be endlessly many.
//!
//! Three kinds have a *shape*: the address without its session, its date, its query. How many different URLs of one shape are taken is
//! for `traps` to count. The parts of a query belong to one kind each, so that the counts multiply no further than they must: a
//! session's name, a date, the number of a page in a list (bounded by its own value), and the rest.
//!
//! Not a trap: an id in the path (`/product/12345`), a date before a title (`/2024/05/01/title`), a list with a thousand pages.

use std::borrow::Cow;

use curtsy_core::host::{Reason, Trap};
use curtsy_core::url::CrawlUrl;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::TrapLimits;

/// What an address looks like.
pub(super) enum Look {
    /// Like any other.
    Plain,
    /// Like no address that was meant.
    Trap(Reason),
    /// Like one of many.
    Shapes(Shapes),
}

/// The shapes of an address, each by its hash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shapes {
    /// Without the session.
    pub(super) session: Option<u64>,
    /// Without the date.
    pub(super) calendar: Option<u64>,
    /// Without the query.
    pub(super) query: Option<QueryShape>,
}

/// A query beside its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueryShape {
    /// The path.
    pub(super) path: u64,
    /// Whether one parameter is all there is, and it is no page number.
    pub(super) single: bool,
    /// Name and value of each parameter that may look something up.
    pub(super) pairs: Vec<u64>,
}

/// Looks at an address.
pub(super) fn at(url: &CrawlUrl, limits: &TrapLimits) -> Look {
    if let Some(reason) = too_long(url, limits) {
        return Look::Trap(reason);
    }
    let (path, query) = parts(url);
    if repeats(path, limits.repeats_max) {
        return Look::Trap(reason(Trap::Repetition, limits.repeats_max));
    }
    let shapes = shapes(url, path, query);
    match shapes == Shapes::default() {
        true => Look::Plain,
        false => Look::Shapes(shapes),
    }
}

/// Longer or deeper than addresses are.
pub(super) fn too_long(url: &CrawlUrl, limits: &TrapLimits) -> Option<Reason> {
    if url.as_str().len() > limits.url_bytes_max as usize {
        return Some(reason(Trap::Length, limits.url_bytes_max));
    }
    let segments = segments(parts(url).0).count();
    (segments > limits.segments_max as usize).then(|| reason(Trap::Length, limits.segments_max))
}

fn reason(trap: Trap, limit: u32) -> Reason {
    Reason::Trap { trap, limit }
}

/// The shapes of an address that is neither too long nor repetitive.
pub(super) fn shapes_of(url: &CrawlUrl) -> Shapes {
    let (path, query) = parts(url);
    shapes(url, path, query)
}

fn parts(url: &CrawlUrl) -> (&str, &str) {
    let target = url.path_and_query();
    target.split_once('?').unwrap_or((target, ""))
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}

/// Whether one part of the path comes too often. A sequence that repeats has parts that repeat, so parts are enough. A number or a
/// single sign may: `/0/0/0/1`, `/01/01/`.
fn repeats(path: &str, max: u32) -> bool {
    let all = segments(path);
    let mut rest = all.clone();
    while let Some(part) = rest.next() {
        let is_number = part.len() <= 1 || part.bytes().all(|b| b.is_ascii_digit());
        let max = if is_number && !part.is_empty() { max.saturating_mul(2) } else { max };
        let again = rest.clone().filter(|other| *other == part).count();
        if again as u64 >= u64::from(max) {
            return true;
        }
    }
    false
}

fn shapes(url: &CrawlUrl, path: &str, query: &str) -> Shapes {
    let mut shapes = Shapes::default();
    let bare_path = path_without_session(path);
    let mut has_session = matches!(bare_path, Cow::Owned(_));
    let date = date_of_path(&bare_path);
    if query.is_empty() && !has_session && date.is_none() {
        return shapes;
    }
    let site = xxh3_64(url.host().as_str().as_bytes());
    let mut rest = Vec::new();
    let mut dates = false;
    let mut pages_only = true;
    // What is left of the query without session and dates; page numbers stay.
    let mut undated = site;
    let mut bare = site;
    for parameter in query.split('&').filter(|it| !it.is_empty()).take(PARAMETERS_MAX) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let pair = || xxh3_64_with_seed(parameter.as_bytes(), PAIR_SEED);
        let kind = kind_of(name, value);
        has_session |= kind == Kind::Session;
        dates |= kind == Kind::Date;
        if kind != Kind::Session {
            bare = mix(bare, pair());
        }
        if !matches!(kind, Kind::Session | Kind::Date) {
            undated = mix(undated, pair());
        }
        match kind {
            Kind::Session | Kind::Date | Kind::Page => {}
            Kind::FarPage => rest.push(None),
            Kind::Other => {
                pages_only = false;
                rest.push(Some(pair()));
            }
        }
    }
    if has_session {
        shapes.session = Some(mix(hash(&bare_path, SESSION_SEED), bare));
    }
    if let Some((from, to)) = date {
        let around = mix(hash(&bare_path[..from], DATE_SEED), hash(&bare_path[to..], DATE_SEED));
        shapes.calendar = Some(mix(around, undated));
    } else if dates {
        shapes.calendar = Some(mix(hash(&bare_path, DATE_SEED), undated));
    }
    if !rest.is_empty() {
        shapes.query = Some(QueryShape {
            path: mix(site, hash(&bare_path, QUERY_SEED)),
            single: rest.len() == 1 && !pages_only,
            pairs: rest.into_iter().flatten().collect(),
        });
    }
    shapes
}

fn hash(text: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), seed)
}

fn mix(a: u64, b: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.to_le_bytes());
    bytes[8..].copy_from_slice(&b.to_le_bytes());
    xxh3_64(&bytes)
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Date,
    /// A page of a list.
    Page,
    /// A page of a list further along than lists are long.
    FarPage,
    Other,
}

fn kind_of(name: &str, value: &str) -> Kind {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let is_session = || {
        SESSIONS.iter().any(is) && !value.is_empty()
            || name.len() > 12 && name.as_bytes()[..12].eq_ignore_ascii_case(b"aspsessionid")
            || SHORT_SESSIONS.iter().any(is) && is_token(value)
    };
    let number = || value.parse::<u64>().ok();
    if is_session() {
        Kind::Session
    } else if is_date(value) || DATES.iter().any(is) && number().is_some() {
        Kind::Date
    } else if PAGES.iter().any(is)
        && let Some(number) = number()
    {
        if number <= PAGE_MAX { Kind::Page } else { Kind::FarPage }
    } else if OFFSETS.iter().any(is)
        && let Some(number) = number()
    {
        if number <= OFFSET_MAX { Kind::Page } else { Kind::FarPage }
    } else {
        Kind::Other
    }
}

/// A name that a machine gave.
fn is_token(value: &str) -> bool {
    value.len() >= TOKEN_BYTES_MIN
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b','))
        && value.bytes().any(|b| b.is_ascii_digit())
}

/// A path with `;jsessionid=…` or `/(S(…))/` taken out.
fn path_without_session(path: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(path);
    if path.contains(';') {
        let mut kept = String::with_capacity(path.len());
        for (index, segment) in path.split('/').enumerate() {
            if index > 0 {
                kept.push('/');
            }
            for (index, part) in segment.split(';').enumerate() {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                if index == 0 {
                    kept.push_str(part);
                } else if kind_of(name, value) != Kind::Session {
                    kept.push(';');
                    kept.push_str(part);
                }
            }
        }
        if kept.len() != path.len() {
            out = Cow::Owned(kept);
        }
    }
    // ASP.NET: a segment of its own, `(S(lit3py55t21z5v55vlm25s55))`.
    if out.contains("/(") {
        let is_session =
            |part: &str| part.starts_with('(') && part.contains("S(") && part.ends_with("))");
        let kept: Vec<&str> = out.split('/').filter(|part| !is_session(part)).collect();
        let kept = kept.join("/");
        if kept.len() != out.len() {
            out = Cow::Owned(kept);
        }
    }
    out
}

/// Where a path has its date, if nothing follows it that could be a title.
fn date_of_path(path: &str) -> Option<(usize, usize)> {
    // Most paths have no year.
    let is_year = |w: &[u8]| matches!(w, [b'/', b'1', b'9'] | [b'/', b'2', b'0' | b'1']);
    if !path.as_bytes().windows(3).any(is_year) {
        return None;
    }
    let mut found: Option<(usize, usize)> = None;
    let mut at = 0;
    // The year and the month that lead up to here.
    let mut led: Option<(usize, u8)> = None;
    for part in path.split('/') {
        let (from, to) = (at, at + part.len());
        at = to + 1;
        if is_date(part) {
            found = Some((from, to));
            led = None;
        } else if let Some((start, parts @ 1..=2)) = led
            && is_between(part, 1, if parts == 1 { 12 } else { 31 })
        {
            found = Some((start, to));
            led = Some((start, parts + 1));
        } else if is_between(part, 1900, 2199) && part.len() == 4 {
            led = Some((from, 1));
        } else {
            led = None;
            // A page of the list, the calendar's own words; a title is none of them.
            let is_view = part.is_empty() || VIEWS.contains(&part) || is_between(part, 0, 9_999);
            if !is_view {
                found = None;
            }
        }
    }
    found
}

/// `2024-05`, `2024-05-01`, `2024_05_01`, `20240501`, `2024-W07`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !matches!(bytes.len(), 6..=10) || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return false;
    }
    if !text.is_ascii() || !is_between(&text[..4], 1900, 2199) {
        return false;
    }
    let rest = &text[4..];
    match bytes[4] {
        separator @ (b'-' | b'_' | b'.') => {
            let rest = &rest[1..];
            match rest.split_once(char::from(separator)) {
                Some((month, day)) => is_between(month, 1, 12) && is_between(day, 1, 31),
                None => {
                    let week = rest.strip_prefix(['W', 'w']);
                    week.map_or(is_between(rest, 1, 12), |week| is_between(week, 1, 53))
                }
            }
        }
        _ => bytes.len() == 8 && is_between(&rest[..2], 1, 12) && is_between(&rest[2..], 1, 31),
    }
}

fn is_between(text: &str, least: u16, most: u16) -> bool {
    matches!(text.len(), 1..=4)
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse::<u16>().is_ok_and(|number| (least..=most).contains(&number))
}

/// Parameters that name a session whatever their value looks like.
const SESSIONS: [&str; 12] = [
    "jsessionid",
    "phpsessid",
    "sessionid",
    "session_id",
    "sessid",
    "sess_id",
    "cfid",
    "cftoken",
    "zenid",
    "oscsid",
    "xtcsid",
    "psession",
];
/// Parameters that name a session if their value looks like one.
const SHORT_SESSIONS: [&str; 5] = ["sid", "s", "sess", "session", "ssid"];
const TOKEN_BYTES_MIN: usize = 16;
/// Parameters that are part of a date if they are numbers.
const DATES: [&str; 11] =
    ["date", "day", "month", "year", "week", "yr", "mon", "time", "cal", "caldate", "timestamp"];
/// The number of a page in a list.
const PAGES: [&str; 8] =
    ["page", "paged", "pagenum", "page_num", "pageno", "page_no", "pg", "currentpage"];
/// Lists have no more pages.
const PAGE_MAX: u64 = 1_000;
/// Where a page of a list begins.
const OFFSETS: [&str; 5] = ["offset", "start", "skip", "limitstart", "startindex"];
/// Lists are no longer.
const OFFSET_MAX: u64 = 100_000;
/// Words that calendars put behind their dates.
const VIEWS: [&str; 14] = [
    "month", "week", "day", "year", "list", "agenda", "today", "next", "prev", "previous", "map",
    "photo", "grid", "page",
];
/// Parameters that are looked at.
const PARAMETERS_MAX: usize = 32;

const PAIR_SEED: u64 = 1;
const SESSION_SEED: u64 = 2;
const DATE_SEED: u64 = 3;
const QUERY_SEED: u64 = 4;
