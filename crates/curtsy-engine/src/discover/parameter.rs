//! Classifies parameters of queries: a session ID, a part of a date, the number of a page in a
//! list, or others.

use std::borrow::Cow;

use memchr::memchr2;

use super::date::{is_date, is_number};

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterKind {
    /// A session ID.
    Session,
    /// A date, or a part of one.
    Date,
    /// The number of a page in a list.
    Page,
    /// The number of a page that is further along than lists are long.
    FarPage,
    /// Anything else.
    Other,
}

/// Returns the parameters of a query.
pub(super) fn of(query: &str) -> impl Iterator<Item = &str> {
    let mut rest = query;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = rest.bytes().position(|b| b == b'&').unwrap_or(rest.len());
            let found = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            if !found.is_empty() {
                return Some(found);
            }
        }
    })
}

/// Returns name and value of a parameter.
pub(super) fn split(parameter: &str) -> (&str, &str) {
    let at = parameter.bytes().position(|b| b == b'=');
    at.map_or((parameter, ""), |at| (&parameter[..at], &parameter[at + 1..]))
}

/// Returns the kind of a parameter.
pub(super) fn kind(parameter: &str) -> ParameterKind {
    let (name, value) = split(parameter);
    let number = || is_number(value).then(|| value.parse().unwrap_or(u64::MAX));
    let page = |max: u64| match number() {
        Some(number) if number <= max => ParameterKind::Page,
        Some(_) => ParameterKind::FarPage,
        None => ParameterKind::Other,
    };
    let named = match known(name) {
        Some(ParameterName::Session) if !value.is_empty() => ParameterKind::Session,
        Some(ParameterName::ShortSession) if is_token(value) => ParameterKind::Session,
        Some(ParameterName::Date) if is_timely(value) => ParameterKind::Date,
        Some(ParameterName::Page) => page(PAGE_MAX),
        Some(ParameterName::Offset) => page(OFFSET_MAX),
        _ => ParameterKind::Other,
    };
    // A plain number is a date only with the name of one.
    match named {
        ParameterKind::Other if is_date(value) && !is_number(value) => ParameterKind::Date,
        named => named,
    }
}

/// Returns a path without `;jsessionid=…` and `/(S(…))/`.
pub(super) fn path_without_session(path: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(path);
    if memchr2(b';', b'(', path.as_bytes()).is_none() {
        return out;
    }
    if path.contains(';') {
        let mut kept = String::with_capacity(path.len());
        for (index, segment) in path.split('/').enumerate() {
            if index > 0 {
                kept.push('/');
            }
            for (index, part) in segment.split(';').enumerate() {
                if index == 0 {
                    kept.push_str(part);
                } else if kind(part) != ParameterKind::Session {
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
    if path.contains('(') {
        let is_session =
            |part: &&str| part.starts_with('(') && part.contains("S(") && part.ends_with("))");
        let kept: Vec<&str> = out.split('/').filter(|part| !is_session(part)).collect();
        let kept = kept.join("/");
        if kept.len() != out.len() {
            out = Cow::Owned(kept);
        }
    }
    out
}

/// Returns whether the value looks like a generated ID.
fn is_token(value: &str) -> bool {
    value.len() >= TOKEN_BYTES_MIN
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b','))
        && value.bytes().any(|b| b.is_ascii_digit())
}

/// Returns whether the value has only digits and the separators of dates and times.
fn is_timely(value: &str) -> bool {
    let in_dates = |b: u8| b.is_ascii_digit() || b"-_./:+%TFZW".contains(&b);
    value.as_bytes().first().is_some_and(u8::is_ascii_digit) && value.bytes().all(in_dates)
}

/// The meaning of a parameter's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParameterName {
    /// A session, for any value.
    Session,
    /// A session, if the value looks like one.
    ShortSession,
    /// A date, if the value looks like one.
    Date,
    /// The number of a page.
    Page,
    /// The start of a page in a list.
    Offset,
}

fn known(name: &str) -> Option<ParameterName> {
    let names: &[(&str, ParameterName)] = match name.as_bytes().first()?.to_ascii_lowercase() {
        b'a' => {
            let start = name.as_bytes().get(..12)?;
            return start.eq_ignore_ascii_case(b"aspsessionid").then_some(ParameterName::Session);
        }
        b'c' => &[
            ("cal", ParameterName::Date),
            ("caldate", ParameterName::Date),
            ("cfid", ParameterName::Session),
            ("cftoken", ParameterName::Session),
            ("currentpage", ParameterName::Page),
        ],
        b'd' => &[("date", ParameterName::Date), ("day", ParameterName::Date)],
        b'j' => &[("jsessionid", ParameterName::Session)],
        b'l' => &[("limitstart", ParameterName::Offset)],
        b'm' => &[("mon", ParameterName::Date), ("month", ParameterName::Date)],
        b'o' => &[("offset", ParameterName::Offset), ("oscsid", ParameterName::Session)],
        b'p' => &[
            ("page", ParameterName::Page),
            ("paged", ParameterName::Page),
            ("pagenum", ParameterName::Page),
            ("page_num", ParameterName::Page),
            ("pageno", ParameterName::Page),
            ("page_no", ParameterName::Page),
            ("pg", ParameterName::Page),
            ("phpsessid", ParameterName::Session),
            ("psession", ParameterName::Session),
        ],
        b's' => &[
            ("s", ParameterName::ShortSession),
            ("sid", ParameterName::ShortSession),
            ("sess", ParameterName::ShortSession),
            ("session", ParameterName::ShortSession),
            ("ssid", ParameterName::ShortSession),
            ("sessid", ParameterName::Session),
            ("sess_id", ParameterName::Session),
            ("sessionid", ParameterName::Session),
            ("session_id", ParameterName::Session),
            ("skip", ParameterName::Offset),
            ("start", ParameterName::Offset),
            ("startindex", ParameterName::Offset),
        ],
        b't' => &[("time", ParameterName::Date), ("timestamp", ParameterName::Date)],
        b'w' => &[("week", ParameterName::Date)],
        b'x' => &[("xtcsid", ParameterName::Session)],
        b'y' => &[("year", ParameterName::Date), ("yr", ParameterName::Date)],
        b'z' => &[("zenid", ParameterName::Session)],
        _ => return None,
    };
    names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, name)| *name)
}

/// A shorter value is probably a number or a word.
const TOKEN_BYTES_MIN: usize = 16;
/// The largest page number of a list.
const PAGE_MAX: u64 = 1_000;
/// The largest offset of a list.
const OFFSET_MAX: u64 = 100_000;
