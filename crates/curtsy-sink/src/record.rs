//! The values of a row in the order of the columns, as every sink writes them.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use curtsy_core::evidence::{Sureness, timestamp_micros};
use curtsy_core::headers::http_date;
use curtsy_core::host::Outcome;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{Ending, Head, Page, PageSource, Row};

use crate::columns::COLUMNS;
use crate::facts::Facts;
use crate::words;

/// The largest difference between a server's clock and ours at which its `Date` is used.
pub(crate) const DATE_SKEW_MAX: Duration = Duration::from_secs(300);

/// The value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellValue<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

macro_rules! integers {
    ($($int:ty)*) => {
        $(impl From<$int> for CellValue<'_> {
            fn from(number: $int) -> Self {
                CellValue::Int(i64::from(number))
            }
        })*
    };
}
integers!(bool u8 u16 u32 i64);

/// A length that does not fit is NULL.
impl From<usize> for CellValue<'_> {
    fn from(length: usize) -> Self {
        i64::try_from(length).map_or(CellValue::Null, CellValue::Int)
    }
}

impl<'a> From<&'a str> for CellValue<'a> {
    fn from(text: &'a str) -> Self {
        CellValue::Text(text.into())
    }
}

impl From<String> for CellValue<'_> {
    fn from(text: String) -> Self {
        CellValue::Text(text.into())
    }
}

impl<'a, T: Into<CellValue<'a>>> From<Option<T>> for CellValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(CellValue::Null, T::into)
    }
}

/// Sets columns of a record: `set!(record, depth = 3)`. A column that does not exist does not
/// compile.
macro_rules! set {
    ($record:ident, $($column:ident = $value:expr),* $(,)?) => {
        $($record.values[const { $crate::columns::place(stringify!($column)) }] =
            $crate::record::CellValue::from($value);)*
    };
}
pub(crate) use set;

/// How a row changes an existing row of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// A response: replaces the content.
    Answer,
    /// A 304: confirms the content.
    Confirmed,
    /// The content was fresh and not requested.
    Cached,
    /// A request without a usable response.
    Failed,
    /// No request.
    Nothing,
}

/// A row, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct RowRecord<'a> {
    pub(crate) row: &'a Row,
    pub(crate) facts: Facts<'a>,
    pub(crate) decided_at: String,
    pub(crate) values: Vec<CellValue<'a>>,
}

impl<'a> RowRecord<'a> {
    /// Returns the values of a row, without the run and the texts of robots rules. `body_max` is
    /// the policy's limit on bodies.
    pub(crate) fn new(facts: Facts<'a>, body_max: Option<u64>) -> RowRecord<'a> {
        let row = facts.row;
        let page = row.page.as_deref();
        let mut record = RowRecord {
            row,
            facts,
            decided_at: timestamp_micros(row.at),
            values: vec![CellValue::Null; COLUMNS.len()],
        };
        record.decision(body_max);
        if let Some(page) = page {
            record.content(page);
        }
        record
    }

    /// Returns the key of the final URL if it is not the row's own.
    pub(crate) fn moved_to(&self) -> Option<UrlKey> {
        (self.row.final_url != self.row.url).then(|| self.row.final_url.key())
    }

    fn decision(&mut self, body_max: Option<u64>) {
        let row = self.row;
        let Facts { http_status, error, decision, delay_by, delay_ms, robots, .. } = self.facts;
        let line = robots.and_then(|(_, line)| line);
        let outcome = outcome(&row.ending);
        set!(
            self,
            url = row.url.as_str(),
            surt_key = row.url.surt(),
            host = row.url.host().as_str(),
            http_status = http_status,
            error = error,
            final_url = row.final_url.as_str(),
            redirect_count = row.redirects,
            robots_rule = line.map(|line| format!("line {line}")),
            robots_line = line,
            delay_by = delay_by,
            delay_ms = delay_ms,
            decision = decision,
            reason = self.facts.reason(body_max),
            robots_confidence = self.facts.robots_confidence.map(Sureness::name),
            crawl_delay_ms = row.crawl_delay.map(words::millis),
            decided_at = self.decided_at.clone(),
            kind = words::ask_kind(row.kind),
            depth = row.depth,
            tries = row.tries,
            friction = outcome.and_then(words::friction),
            retry_after_ms = outcome.and_then(words::wait_ms),
        );
        if let Ending::Refused(gate) = row.ending {
            set!(self, gate = gate.name());
        }
    }

    fn content(&mut self, page: &'a Page) {
        let head = &page.head;
        // The crawl's own file does not store that a page is missing: the next crawl requests it
        // again.
        let kept = page.kept.as_ref().filter(|_| head.status < 400);
        let Facts { crawl_time, fetched_at, etag, last_modified, .. } = self.facts;
        let latency = page.latency.map(|took| (took.as_secs_f64() * 1e6).round() / 1000.0);
        set!(
            self,
            content_type = head.content_type.as_deref(),
            crawl_time = crawl_time.map(timestamp_micros),
            fetched_at = fetched_at.map(timestamp_micros),
            source = page.source.name(),
            etag = etag,
            last_modified = last_modified,
            fresh_until = kept.map(|kept| timestamp_micros(kept.fresh_until)),
            peer = page.peer.map(|peer| peer.to_string()),
            latency_ms = latency.map(CellValue::Real),
            headers = headers(head),
            access = words::access(page),
            noindex = page.document.rules.noindex,
            nofollow = page.document.rules.nofollow,
        );
        if let Some(body) = &page.body {
            let hash = self.facts.content_hash();
            let bytes = CellValue::Bytes(body.as_ref().into());
            set!(self, body = bytes, body_bytes = body.len(), content_hash = hash);
        }
        if let Some(sitemap) = &page.document.sitemap {
            set!(self, sitemap_count = sitemap.entries.len() + sitemap.sitemaps.len());
        }
        let Some(html) = &page.document.html else { return };
        set!(
            self,
            charset = html.charset.encoding.name(),
            title = html.title.as_deref(),
            canonical = html.canonical.as_ref().map(CrawlUrl::as_str),
            refresh = html.refresh.as_ref().map(CrawlUrl::as_str),
            links_count = html.links.len(),
            links = array(html.links.iter().map(|link| &link.url)),
        );
        if html.cut.links > 0 {
            set!(self, links_cut = html.cut.links);
        }
        if html.links.iter().any(|link| link.nofollow) {
            let marked = html.links.iter().filter(|link| link.nofollow).map(|link| &link.url);
            set!(self, links_nofollow = array(marked));
        }
        if !html.frames.is_empty() {
            set!(self, frames = array(html.frames.iter()));
        }
    }
}

fn outcome(ending: &Ending) -> Option<&Outcome> {
    match ending {
        Ending::Fetched(outcome) | Ending::Dead(outcome) | Ending::LoginWall(outcome) => {
            Some(outcome)
        }
        _ => None,
    }
}

pub(crate) fn news(ending: &Ending, page: Option<&Page>) -> RowChange {
    let brought = page.is_some_and(|page| page.source == PageSource::Shared);
    match ending {
        // A page that another crawl fetched is new here.
        Ending::Cached | Ending::Fetched(Outcome::Answered { status: 304, .. }) if brought => {
            RowChange::Answer
        }
        Ending::Cached => RowChange::Cached,
        Ending::Fetched(Outcome::Answered { status: 304, .. }) => RowChange::Confirmed,
        Ending::Fetched(Outcome::Answered { .. }) | Ending::Dead(Outcome::Answered { .. })
            if page.is_some() =>
        {
            RowChange::Answer
        }
        Ending::LostRedirect | Ending::LoginWall(_) if page.is_some() => RowChange::Answer,
        Ending::Fetched(_) | Ending::Dead(_) | Ending::LoginWall(_) => RowChange::Failed,
        Ending::Refused(_) | Ending::Unheard | Ending::LostRedirect => RowChange::Nothing,
    }
}

/// Returns the status of the content; after a 304, the status with which the content came.
pub(crate) fn status(ending: &Ending, page: Option<&Page>) -> Option<u16> {
    page.map(|page| page.head.status).or(outcome(ending).and_then(Outcome::status))
}

/// Returns when a page was fetched, by the local clock: now, or the server's date if another crawl
/// fetched it.
pub(crate) fn fetched_at(page: &Page, at: Time) -> Time {
    let now = i64::try_from(at.secs()).unwrap_or(i64::MAX);
    let date = || u64::try_from(http_date(page.head.date.as_deref()?, now)?).ok();
    match page.source {
        PageSource::Network | PageSource::Crawl => at,
        PageSource::Shared | PageSource::Stale => date().map_or(at, Time::from_secs).min(at),
    }
}

/// Returns the server's `Date` if it is close to the local clock, else the local clock.
pub(crate) fn crawl_time(head: &Head, at: Time) -> Time {
    let now = i64::try_from(at.secs()).unwrap_or(i64::MAX);
    let date = head.date.as_deref().and_then(|date| http_date(date, now));
    let date = date.and_then(|date| u64::try_from(date).ok()).map(Time::from_secs);
    date.filter(|date| *date - at <= DATE_SKEW_MAX && at - *date <= DATE_SKEW_MAX).unwrap_or(at)
}

/// Returns URLs as a JSON array. A normalised URL rarely has a character that JSON escapes, so one
/// search covers all URLs.
fn array<'u>(urls: impl Iterator<Item = &'u CrawlUrl> + Clone) -> String {
    let bytes = 2 + urls.clone().map(|url| url.as_str().len() + 3).sum::<usize>();
    let written = |put: fn(&mut String, &str)| {
        let mut out = String::with_capacity(bytes);
        out.push('[');
        for url in urls.clone() {
            if out.len() > 1 {
                out.push(',');
            }
            put(&mut out, url.as_str());
        }
        out.push(']');
        out
    };
    let plain = written(put_plain);
    let quotes = plain.bytes().filter(|byte| *byte == b'"').count();
    match quotes == 2 * urls.clone().count() && !plain.bytes().fold(false, has_escape) {
        true => plain,
        false => written(quote),
    }
}

fn put_plain(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// Whether JSON escapes this byte or one before, the quotation mark apart. No byte is skipped, so
/// the compiler can check many bytes in one step.
fn has_escape(before: bool, byte: u8) -> bool {
    // The last three begin characters among which are controls and direction marks.
    let may = (byte == 0xc2) | (byte == 0xd8) | (byte == 0xe2);
    before | (byte < 0x20) | (byte == b'\\') | (byte == 0x7f) | may
}

/// Whether a character has an effect on a terminal: controls, other line ends, and direction marks.
fn is_active(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Appends a text as a JSON string.
pub(crate) fn quote(out: &mut String, text: &str) {
    let special =
        text.bytes().fold(false, |before, byte| has_escape(before, byte) | (byte == b'"'));
    if !special {
        return put_plain(out, text);
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_active(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Returns the head of a response as a JSON object.
fn headers(head: &Head) -> String {
    let mut out = String::with_capacity(512);
    out.push('{');
    let single: [(&str, &Option<String>); 8] = [
        ("content-type", &head.content_type),
        ("date", &head.date),
        ("etag", &head.etag),
        ("last-modified", &head.last_modified),
        ("expires", &head.expires),
        ("age", &head.age),
        ("content-language", &head.content_language),
        ("location", &head.location),
    ];
    for (name, value) in single {
        if let Some(value) = value {
            member(&mut out, name);
            quote(&mut out, value);
        }
    }
    let many: [(&str, &Vec<String>); 4] = [
        ("cache-control", &head.cache_control),
        ("retry-after", &head.retry_after),
        ("x-robots-tag", &head.x_robots_tag),
        ("link", &head.link),
    ];
    for (name, values) in many {
        if !values.is_empty() {
            member(&mut out, name);
            list(&mut out, values.iter().map(String::as_str));
        }
    }
    for (at, (name, value)) in head.others.iter().enumerate() {
        if head.others[..at].iter().any(|(earlier, _)| earlier == name) {
            continue;
        }
        member(&mut out, name);
        let again = head.others[at + 1..].iter().filter(|(other, _)| other == name);
        let values = std::iter::once(value).chain(again.map(|(_, value)| value));
        list(&mut out, values.map(String::as_str));
    }
    out.push('}');
    out
}

fn member(out: &mut String, name: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    quote(out, name);
    out.push(':');
}

/// Appends one value as a string, several as an array.
fn list<'v>(out: &mut String, mut values: impl Iterator<Item = &'v str>) {
    let first = values.next().unwrap_or_default();
    let Some(second) = values.next() else { return quote(out, first) };
    out.push('[');
    quote(out, first);
    for value in std::iter::once(second).chain(values) {
        out.push(',');
        quote(out, value);
    }
    out.push(']');
}

/// Reads such an object back.
pub(crate) fn read_headers(json: &str, status: u16) -> Option<Head> {
    let serde_json::Value::Object(members) = serde_json::from_str(json).ok()? else { return None };
    let mut head = Head { status, ..Head::default() };
    for (name, value) in members {
        let values: Vec<String> = match value {
            serde_json::Value::String(one) => vec![one],
            serde_json::Value::Array(many) => {
                many.into_iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
            }
            _ => continue,
        };
        let single = match name.as_str() {
            "content-type" => &mut head.content_type,
            "date" => &mut head.date,
            "etag" => &mut head.etag,
            "last-modified" => &mut head.last_modified,
            "expires" => &mut head.expires,
            "age" => &mut head.age,
            "content-language" => &mut head.content_language,
            "location" => &mut head.location,
            other => {
                match other {
                    "cache-control" => head.cache_control = values,
                    "retry-after" => head.retry_after = values,
                    "x-robots-tag" => head.x_robots_tag = values,
                    "link" => head.link = values,
                    _ => head.others.extend(values.into_iter().map(|v| (name.clone(), v))),
                }
                continue;
            }
        };
        *single = values.into_iter().next();
    }
    Some(head)
}
