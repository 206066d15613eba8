//! How long is a page good, and may it be kept? Cache-Control and freshness (RFC 9111), stale-while-revalidate (RFC 5861).
//!
//! A crawler keeps pages for itself, so it is a private cache: `s-maxage` and `private` are not for it. The other kind is here for
//! who serves what it crawled to others.

use std::time::Duration;

use super::content_type::{is_token, unquote};
use super::{OWS, http_date};
use crate::time::Time;

/// For whom pages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// For ourselves.
    Private,
    /// For others too.
    Shared,
}

/// The headers of an answer that bear on freshness, as they came.
#[derive(Clone, Debug, Default)]
pub struct CacheHeaders<'a> {
    /// Every Cache-Control line.
    pub cache_control: Vec<&'a str>,
    /// Expires.
    pub expires: Option<&'a str>,
    /// Date: by the server's clock.
    pub date: Option<&'a str>,
    /// Age: how long a cache on the way had it.
    pub age: Option<&'a str>,
    /// Last-Modified.
    pub last_modified: Option<&'a str>,
    /// Pragma: counts only without Cache-Control.
    pub pragma: Option<&'a str>,
    /// Every Vary line.
    pub vary: Vec<&'a str>,
}

/// How long a page is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// How long from now it may be used without asking.
    pub fresh_for: Duration,
    /// What `fresh_for` rests on: where the server said nothing, the policy's own span counts.
    pub basis: Basis,
    /// How much longer it may be used while it is asked for again.
    pub stale_while_revalidate: Duration,
    /// Whether it may be kept at all.
    pub store: bool,
    /// Whether a stale one may never be used without asking.
    pub must_revalidate: bool,
}

/// What a freshness rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The server's word.
    Said,
    /// A tenth of the time since it last changed (RFC 9111 §4.2.2).
    Guessed,
    /// Nothing: `fresh_for` is zero.
    Nothing,
}

/// Judges an answer received just now.
///
/// Dates are measured against the server's `Date`, so its clock may be wrong; what is unreadable counts as stale (RFC 9111 §4.2.1).
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
            // An answer that was old when it came has used up part of this as well.
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

/// The whole time that an answer is good, in seconds (RFC 9111 §4.2.1).
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

/// The directives of all Cache-Control lines together; of two with one name the first counts.
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
    /// It is there, but its value is no number: stale.
    Unreadable,
    /// What it says; what does not fit is the largest number.
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
            // No white space stands before `=`: such a directive is another one, or none.
            let name = if value.is_none() { name.trim_end_matches(OWS) } else { name };
            let name = name.to_ascii_lowercase();
            if is_token(&name) && !self.has(&name) {
                self.directives.push((name, value));
            }
        }
    }

    /// Whether a directive is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.directives.iter().any(|(n, _)| n == name)
    }

    /// The value of a directive, if it has one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.directives.iter().find(|(n, _)| n == name)?.1.as_deref()
    }

    /// The number of seconds that a directive gives.
    pub fn delta(&self, name: &str) -> Delta {
        match (self.has(name), self.value(name).and_then(delta_seconds)) {
            (false, _) => Delta::Absent,
            (true, Some(seconds)) => Delta::Seconds(seconds),
            (true, None) => Delta::Unreadable,
        }
    }

    /// The field names that `no-cache` or `private` is limited to; empty if it is about the whole answer.
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

/// Digits only; what does not fit is the largest number (RFC 9111 §1.2.2).
fn delta_seconds(text: &str) -> Option<u64> {
    let text = text.trim_matches(OWS);
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().unwrap_or(u64::MAX))
}

/// Whether a list of words has this one.
fn lists(line: Option<&str>, word: &str) -> bool {
    line.is_some_and(|line| line.split(',').any(|w| w.trim_matches(OWS).eq_ignore_ascii_case(word)))
}

/// Directives beyond these are not looked at.
pub(crate) const DIRECTIVES_MAX: usize = 64;
