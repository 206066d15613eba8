//! A row's values, in the order of the columns: what every sink writes, each in its own way.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use curtsy_core::evidence::{Sureness, timestamp_micros};
use curtsy_core::headers::http_date;
use curtsy_core::host::Outcome;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{Ending, Head, Page, PageSource, Row};

use crate::columns::{COLUMNS, place};
use crate::facts::Facts;
use crate::words;

/// A server's clock that is further from ours than this is not believed.
pub(crate) const DATE_SKEW_MAX: Duration = Duration::from_secs(300);

/// The value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    fn text(text: Option<impl Into<Cow<'a, str>>>) -> Value<'a> {
        text.map_or(Value::Null, |text| Value::Text(text.into()))
    }

    fn int(number: Option<i64>) -> Value<'a> {
        number.map_or(Value::Null, Value::Int)
    }
}

/// What a row brings to one that may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// An answer: what was held is replaced.
    Answer,
    /// The word of the site that what is held still counts.
    Confirmed,
    /// What is held was used.
    Cached,
    /// It was asked for, and nothing came.
    Failed,
    /// It was not asked for.
    Nothing,
}

/// A row, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) row: &'a Row,
    pub(crate) facts: Facts<'a>,
    pub(crate) decided_at: String,
    pub(crate) values: Vec<Value<'a>>,
}

impl<'a> Record<'a> {
    /// The values of a row; who knows the run and the text of robots rules puts them in.
    /// `body_max` is the policy's limit on bodies.
    pub(crate) fn new(facts: Facts<'a>, body_max: Option<u64>) -> Record<'a> {
        let row = facts.row;
        let page = row.page.as_deref();
        let mut record = Record {
            row,
            facts,
            decided_at: timestamp_micros(row.at),
            values: vec![Value::Null; COLUMNS.len()],
        };
        record.decision(body_max);
        if let Some(page) = page {
            record.content(page);
        }
        record
    }

    /// The key of the URL at which it was found, where that is another.
    pub(crate) fn moved_to(&self) -> Option<UrlKey> {
        (self.row.final_url != self.row.url).then(|| self.row.final_url.key())
    }

    pub(crate) fn set(&mut self, column: usize, value: Value<'a>) {
        self.values[column] = value;
    }

    fn decision(&mut self, body_max: Option<u64>) {
        let row = self.row;
        let Facts { http_status, error, decision, delay_by, delay_ms, robots, .. } = self.facts;
        let gate = match row.ending {
            Ending::Refused(gate) => Some(gate.name()),
            _ => None,
        };
        let line = robots.and_then(|(_, line)| line);
        self.set(const { place("url") }, Value::Text(row.url.as_str().into()));
        self.set(const { place("surt_key") }, Value::Text(row.url.surt().into()));
        self.set(const { place("host") }, Value::Text(row.url.host().as_str().into()));
        self.set(const { place("http_status") }, Value::int(http_status.map(i64::from)));
        self.set(const { place("error") }, Value::text(error));
        self.set(const { place("final_url") }, Value::Text(row.final_url.as_str().into()));
        self.set(const { place("redirect_count") }, Value::Int(row.redirects.into()));
        self.set(
            const { place("robots_rule") },
            Value::text(line.map(|line| format!("line {line}"))),
        );
        self.set(const { place("robots_line") }, Value::int(line.map(i64::from)));
        self.set(const { place("delay_by") }, Value::text(delay_by));
        self.set(const { place("delay_ms") }, Value::int(delay_ms));
        self.set(const { place("decision") }, Value::Text(decision.into()));
        self.set(const { place("reason") }, Value::text(self.facts.reason(body_max)));
        self.set(const { place("gate") }, Value::text(gate));
        let confidence = self.facts.robots_confidence.map(Sureness::name);
        self.set(const { place("robots_confidence") }, Value::text(confidence));
        let crawl_delay = row.crawl_delay.map(words::millis);
        self.set(const { place("crawl_delay_ms") }, Value::int(crawl_delay));
        self.set(const { place("decided_at") }, Value::Text(self.decided_at.clone().into()));
        self.set(const { place("kind") }, Value::Text(words::ask_kind(row.kind).into()));
        self.set(const { place("depth") }, Value::Int(row.depth.into()));
        self.set(const { place("tries") }, Value::Int(row.tries.into()));
        let outcome = outcome(&row.ending);
        self.set(const { place("friction") }, Value::text(outcome.and_then(words::friction)));
        self.set(const { place("retry_after_ms") }, Value::int(outcome.and_then(words::wait_ms)));
    }

    fn content(&mut self, page: &'a Page) {
        let head = &page.head;
        // That a page is not there is not held by a crawl's own file: whoever crawls again asks again.
        let kept = page.kept.as_ref().filter(|_| head.status < 400);
        let Facts { crawl_time, fetched_at, etag, last_modified, .. } = self.facts;
        self.set(const { place("content_type") }, Value::text(head.content_type.as_deref()));
        self.set(const { place("crawl_time") }, Value::text(crawl_time.map(timestamp_micros)));
        self.set(const { place("fetched_at") }, Value::text(fetched_at.map(timestamp_micros)));
        self.set(const { place("source") }, Value::Text(page.source.name().into()));
        self.set(const { place("etag") }, Value::text(etag));
        self.set(const { place("last_modified") }, Value::text(last_modified));
        let fresh_until = kept.map(|kept| timestamp_micros(kept.fresh_until));
        self.set(const { place("fresh_until") }, Value::text(fresh_until));
        self.set(const { place("peer") }, Value::text(page.peer.map(|peer| peer.to_string())));
        let latency = page.latency.map(|took| (took.as_secs_f64() * 1e6).round() / 1000.0);
        self.set(const { place("latency_ms") }, latency.map_or(Value::Null, Value::Real));
        self.set(const { place("headers") }, Value::Text(headers(head).into()));
        self.set(const { place("access") }, Value::text(words::access(page)));
        let rules = &page.document.rules;
        self.set(const { place("noindex") }, Value::Int(rules.noindex.into()));
        self.set(const { place("nofollow") }, Value::Int(rules.nofollow.into()));
        if let Some(body) = &page.body {
            self.set(const { place("body") }, Value::Bytes(body.as_ref().into()));
            self.set(const { place("body_bytes") }, Value::int(i64::try_from(body.len()).ok()));
            self.set(const { place("content_hash") }, Value::text(self.facts.content_hash()));
        }
        if let Some(sitemap) = &page.document.sitemap {
            let count = i64::try_from(sitemap.entries.len() + sitemap.sitemaps.len()).ok();
            self.set(const { place("sitemap_count") }, Value::int(count));
        }
        let Some(html) = &page.document.html else {
            return;
        };
        self.set(const { place("charset") }, Value::Text(html.charset.encoding.name().into()));
        self.set(const { place("title") }, Value::text(html.title.as_deref()));
        self.set(
            const { place("canonical") },
            Value::text(html.canonical.as_ref().map(CrawlUrl::as_str)),
        );
        self.set(
            const { place("refresh") },
            Value::text(html.refresh.as_ref().map(CrawlUrl::as_str)),
        );
        self.set(const { place("links_count") }, Value::int(i64::try_from(html.links.len()).ok()));
        if html.cut.links > 0 {
            let cut = i64::try_from(html.cut.links).ok();
            self.set(const { place("links_cut") }, Value::int(cut));
        }
        self.set(
            const { place("links") },
            Value::Text(array(html.links.iter().map(|l| &l.url)).into()),
        );
        if html.links.iter().any(|link| link.nofollow) {
            let marked = html.links.iter().filter(|link| link.nofollow).map(|link| &link.url);
            self.set(const { place("links_nofollow") }, Value::Text(array(marked).into()));
        }
        if !html.frames.is_empty() {
            self.set(const { place("frames") }, Value::Text(array(html.frames.iter()).into()));
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

pub(crate) fn news(ending: &Ending, page: Option<&Page>) -> News {
    let brought = page.is_some_and(|page| page.source == PageSource::Shared);
    match ending {
        // What another crawl fetched is new here.
        Ending::Cached | Ending::Fetched(Outcome::Answered { status: 304, .. }) if brought => {
            News::Answer
        }
        Ending::Cached => News::Cached,
        Ending::Fetched(Outcome::Answered { status: 304, .. }) => News::Confirmed,
        Ending::Fetched(Outcome::Answered { .. }) | Ending::Dead(Outcome::Answered { .. })
            if page.is_some() =>
        {
            News::Answer
        }
        Ending::LostRedirect | Ending::LoginWall(_) if page.is_some() => News::Answer,
        Ending::Fetched(_) | Ending::Dead(_) | Ending::LoginWall(_) => News::Failed,
        Ending::Refused(_) | Ending::Unheard | Ending::LostRedirect => News::Nothing,
    }
}

/// The status of what the row holds: of a page that was confirmed, the one with which it came.
pub(crate) fn status(ending: &Ending, page: Option<&Page>) -> Option<u16> {
    page.map(|page| page.head.status).or(outcome(ending).and_then(Outcome::status))
}

/// When a page was fetched, by our clock: just now, or, if another crawl did it, when the server dated it.
pub(crate) fn fetched_at(page: &Page, at: Time) -> Time {
    let now = i64::try_from(at.secs()).unwrap_or(i64::MAX);
    let date = || u64::try_from(http_date(page.head.date.as_deref()?, now)?).ok();
    match page.source {
        PageSource::Network | PageSource::Crawl => at,
        PageSource::Shared | PageSource::Stale => date().map_or(at, Time::from_secs).min(at),
    }
}

/// The server's Date if it is close to ours, else ours.
pub(crate) fn crawl_time(head: &Head, at: Time) -> Time {
    let now = i64::try_from(at.secs()).unwrap_or(i64::MAX);
    let date = head.date.as_deref().and_then(|date| http_date(date, now));
    let date = date.and_then(|date| u64::try_from(date).ok()).map(Time::from_secs);
    date.filter(|date| *date - at <= DATE_SKEW_MAX && at - *date <= DATE_SKEW_MAX).unwrap_or(at)
}

/// URLs as a JSON array. A URL in its one spelling has hardly anything that JSON would have to escape, so that is looked for in all of
/// them at once.
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

/// Whether a byte, or one before it, is one that JSON escapes, the quotation mark apart. Every byte is looked at, so that many can be
/// looked at in one step.
fn has_escape(before: bool, byte: u8) -> bool {
    // The last three begin characters among which are controls and those that turn the direction.
    let may = (byte == 0xc2) | (byte == 0xd8) | (byte == 0xe2);
    before | (byte < 0x20) | (byte == b'\\') | (byte == 0x7f) | may
}

/// Characters that do something where a line is shown: controls, line ends of other kinds, and those that turn the direction.
fn is_active(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// A text as JSON has it.
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

/// The head of an answer as a JSON object.
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

/// One value by itself, several as an array.
fn list<'v>(out: &mut String, mut values: impl Iterator<Item = &'v str>) {
    let first = values.next().unwrap_or_default();
    let Some(second) = values.next() else {
        return quote(out, first);
    };
    out.push('[');
    quote(out, first);
    for value in std::iter::once(second).chain(values) {
        out.push(',');
        quote(out, value);
    }
    out.push(']');
}

/// The head that such an object came from; its status is that of a page that is kept.
pub(crate) fn read_headers(json: &str, status: u16) -> Option<Head> {
    let serde_json::Value::Object(members) = serde_json::from_str(json).ok()? else {
        return None;
    };
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
