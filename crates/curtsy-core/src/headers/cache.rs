//! Reads Cache-Control and the freshness of a page (RFC 9111), and stale-while-revalidate (RFC
//! 5861).
//!
//! A crawler keeps pages for itself, so it is a private cache: `s-maxage` and `private` do not
//! apply to it. The shared kind is for callers that serve crawled pages to others.

use std::time::Duration;

use super::content_type::{is_token, unquote};
use super::{OWS, http_date};
use crate::time::Time;

/// The kind of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// A cache for the crawler itself.
    Private,
    /// A cache that serves others too.
    Shared,
}

/// The headers of a response that affect freshness, as received.
#[derive(Clone, Debug, Default)]
pub struct CacheHeaders<'a> {
    /// Every Cache-Control line.
    pub cache_control: Vec<&'a str>,
    /// Expires.
    pub expires: Option<&'a str>,
    /// Date, by the server's clock.
    pub date: Option<&'a str>,
    /// Age: how long an intermediate cache had the response.
    pub age: Option<&'a str>,
    /// Last-Modified.
    pub last_modified: Option<&'a str>,
    /// Pragma: counts only without Cache-Control.
    pub pragma: Option<&'a str>,
    /// Every Vary line.
    pub vary: Vec<&'a str>,
}

/// The freshness of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// How long from now the page may be used without a request.
    pub fresh_for: Duration,
    /// The basis of `fresh_for`. If the server said nothing, the policy's own span counts.
    pub basis: Basis,
    /// How much longer the page may be used while it is fetched again.
    pub stale_while_revalidate: Duration,
    /// Whether the page may be stored.
    pub store: bool,
    /// Whether a stale page must not be used without a request.
    pub must_revalidate: bool,
}

/// The basis of a freshness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The server said it.
    Said,
    /// A tenth of the time since it last changed (RFC 9111 §4.2.2).
    Guessed,
    /// Nothing: `fresh_for` is zero.
    Nothing,
}

/// Returns the freshness of a response that was received just now.
///
/// Dates are compared with the server's `Date`, so its clock may be wrong. An unreadable value
/// counts as stale (RFC 9111 §4.2.1).
///
/// ```
/// use curtsy_core::{headers::{CacheHeaders, CacheKind, freshness}, time::Time};
/// use std::time::Duration;
/// let headers = CacheHeaders { cache_control: vec!["max-age=60"], age: Some("20"), ..Default::default() };
/// let good = freshness(&headers, CacheKind::Private, Time::from_secs(1_715_000_000));
/// assert_eq!(good.fresh_for, Duration::from_secs(40));
/// ```
pub fn freshness(headers: &CacheHeaders<'_>, kind: CacheKind, now: Time) -> Freshness {
    let now = i64::try_from(now.secs()).unwrap_or(i64::MAX);
    let control = CacheControl::parse(headers.cache_control.iter().copied());
    let shared = kind == CacheKind::Shared;
    let forbidden = control.has("no-store") || (shared && control.has_whole("private"));
    // With field names, `no-cache` is about those fields only (RFC 9111 §5.2.2.4).
    let no_cache = control.has_whole("no-cache")
        || (headers.cache_control.is_empty() && lists(headers.pragma, "no-cache"));
    let must_revalidate = no_cache
        || control.has("must-revalidate")
        || (shared && (control.has("proxy-revalidate") || control.has("s-maxage")));
    let unusable = forbidden || no_cache || headers.vary.iter().any(|line| lists(Some(line), "*"));

    let (lifetime, basis) = match lifetime(headers, &control, shared, now) {
        _ if unusable => (0, Basis::Said),
        found => found,
    };
    let age = headers.age.and_then(delta_seconds).unwrap_or(0);
    let stale = match control.delta("stale-while-revalidate") {
        Delta::Seconds(seconds) if !must_revalidate && !unusable => {
            // A response that was old when it came has used up part of this too.
            seconds.saturating_sub(age.saturating_sub(lifetime))
        }
        _ => 0,
    };
    Freshness {
        fresh_for: Duration::from_secs(lifetime.saturating_sub(age)),
        basis,
        stale_while_revalidate: Duration::from_secs(stale),
        store: !forbidden,
        must_revalidate,
    }
}

/// Returns the lifetime of a response, in seconds (RFC 9111 §4.2.1).
fn lifetime(
    headers: &CacheHeaders<'_>,
    control: &CacheControl,
    shared: bool,
    now: i64,
) -> (u64, Basis) {
    let span = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).unwrap_or(0);
    for name in ["s-maxage", "max-age"].into_iter().skip(usize::from(!shared)) {
        match control.delta(name) {
            Delta::Seconds(seconds) => return (seconds, Basis::Said),
            Delta::Unreadable => return (0, Basis::Said),
            Delta::Absent => {}
        }
    }
    let date = headers.date.and_then(|text| http_date(text, now)).unwrap_or(now);
    if let Some(expires) = headers.expires {
        let until = http_date(expires.trim_matches(OWS), now);
        return (until.map_or(0, |until| span(date, until)), Basis::Said);
    }
    match headers.last_modified.and_then(|text| http_date(text, now)) {
        Some(changed) if changed <= date => (span(changed, date) / 10, Basis::Guessed),
        _ => (0, Basis::Nothing),
    }
}

/// The directives of all Cache-Control lines. Of two with the same name the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// Name in lower case, and the value without its quotes.
    pub directives: Vec<(String, Option<String>)>,
}

/// A directive's number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta {
    /// No such directive.
    Absent,
    /// The value is no number: stale.
    Unreadable,
    /// The number of seconds. A number that does not fit becomes the largest one.
    Seconds(u64),
}

impl CacheControl {
    /// Reads all lines as one list (RFC 9110 §5.3).
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> CacheControl {
        let mut control = CacheControl::default();
        for line in lines {
            control.read(line);
        }
        control
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while !rest.is_empty() && self.directives.len() < DIRECTIVES_MAX {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (name, tail) = rest.split_at(rest.find([',', '=']).unwrap_or(rest.len()));
            let (value, tail) = match tail.strip_prefix('=') {
                None => (None, tail),
                Some(tail) => match tail.strip_prefix('"') {
                    Some(inner) => {
                        let (value, tail) = unquote(inner);
                        (Some(value), &tail[tail.find(',').unwrap_or(tail.len())..])
                    }
                    None => {
                        let (value, tail) = tail.split_at(tail.find(',').unwrap_or(tail.len()));
                        (Some(value.trim_end_matches(OWS).to_owned()), tail)
                    }
                },
            };
            rest = tail;
            // White space before `=` makes the name invalid.
            let name = if value.is_none() { name.trim_end_matches(OWS) } else { name };
            let name = name.to_ascii_lowercase();
            if is_token(&name) && !self.has(&name) {
                self.directives.push((name, value));
            }
        }
    }

    /// Returns whether a directive is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.directives.iter().any(|(n, _)| n == name)
    }

    /// Returns the value of a directive, if it has one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.directives.iter().find(|(n, _)| n == name)?.1.as_deref()
    }

    /// Returns the number of seconds of a directive.
    pub fn delta(&self, name: &str) -> Delta {
        match (self.has(name), self.value(name).and_then(delta_seconds)) {
            (false, _) => Delta::Absent,
            (true, Some(seconds)) => Delta::Seconds(seconds),
            (true, None) => Delta::Unreadable,
        }
    }

    /// Returns the field names that `no-cache` or `private` is limited to; empty if it applies to
    /// the whole response.
    pub fn fields(&self, name: &str) -> Vec<String> {
        self.value(name)
            .into_iter()
            .flat_map(|value| value.split(','))
            .map(|field| field.trim_matches(OWS).to_ascii_lowercase())
            .filter(|field| is_token(field))
            .collect()
    }

    fn has_whole(&self, name: &str) -> bool {
        self.has(name) && self.fields(name).is_empty()
    }
}

/// Reads a number of digits. A number that does not fit becomes the largest one (RFC 9111 §1.2.2).
fn delta_seconds(text: &str) -> Option<u64> {
    let text = text.trim_matches(OWS);
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().unwrap_or(u64::MAX))
}

/// Returns whether a list has this word.
fn lists(line: Option<&str>, word: &str) -> bool {
    line.is_some_and(|line| line.split(',').any(|w| w.trim_matches(OWS).eq_ignore_ascii_case(word)))
}

/// Limit of the directives that are read.
pub(crate) const DIRECTIVES_MAX: usize = 64;
