//! Facts about the meaning of header values, by kind, and of the parts of a document that replace a
//! header.

use std::path::Path;

use curtsy_core::headers::{
    CacheControl, CacheHeaders, CacheKind, Coding, ContentType, Delta, ETag, RobotsRules, codings,
    freshness, http_date, retry_after,
};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::charset::{Charset, by_label};
use curtsy_parse::html::{HtmlPage, PageLimits};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{FactsReport, Judged, base64, judge_rows};

#[derive(Deserialize)]
struct HeaderFact {
    kind: String,
    expect: Value,
    value: Option<String>,
    /// Several lines.
    values: Option<Vec<String>>,
    /// The second of two values that are compared.
    other: Option<String>,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    shared: bool,
    now: Option<u64>,
    /// The document, where a row has one.
    body_b64: Option<String>,
}

impl HeaderFact {
    fn lines(&self) -> Vec<&str> {
        match &self.values {
            Some(values) => values.iter().map(String::as_str).collect(),
            None => self.value.as_deref().into_iter().collect(),
        }
    }

    fn now(&self) -> Time {
        Time::from_secs(self.now.unwrap_or(NOW))
    }
}

/// Judges every row.
pub fn headers(path: &Path) -> anyhow::Result<FactsReport> {
    judge_rows(path, |row: &HeaderFact| {
        let got = match row.kind.as_str() {
            "retry-after" => answer_retry_after(row),
            "http-date" => answer_http_date(row),
            "cache-control" => answer_cache_control(row),
            "freshness" => answer_freshness(row),
            "content-type" => answer_content_type(row),
            "content-encoding" => answer_content_encoding(row),
            "etag" => answer_etag(row),
            "robots-rules" if row.expect.get("strict_none").is_some() => {
                return Ok(Judged::skipped(LENIENT));
            }
            "robots-rules" => answer_robots_rules(row),
            "robots-meta" => answer_robots_meta(row),
            "charset-label" if is_lacking(row) => return Ok(Judged::skipped(LACKING)),
            "charset-label" => answer_charset_label(row),
            "document-encoding" => answer_document_encoding(row)?,
            other => return Ok(Judged::Skipped(format!("unknown kind `{other}`"))),
        };
        // Where readers differ, ours is the lenient reading: it obeys more.
        let expected = row.expect.get("lenient").unwrap_or(&row.expect);
        // Compared as values: the order of keys in a text means nothing.
        let got = if got == *expected { expected } else { &got };
        Ok(Judged::compared(expected.to_string(), got.to_string()))
    })
}

fn answer_retry_after(row: &HeaderFact) -> Value {
    match retry_after(row.lines(), None, row.now()).map(|wait| wait.as_secs()) {
        None => json!("invalid"),
        Some(u64::MAX) => json!({ "delay_seconds": "overflow" }),
        Some(seconds) => json!({ "delay_seconds": seconds }),
    }
}

fn answer_http_date(row: &HeaderFact) -> Value {
    let text = row.value.as_deref().unwrap_or_default();
    match http_date(text, row.now().secs() as i64) {
        None => json!("invalid"),
        Some(seconds) => json!({ "unix": seconds }),
    }
}

fn answer_cache_control(row: &HeaderFact) -> Value {
    let control = CacheControl::parse(row.lines());
    let mut got = Map::new();
    for (name, value) in &control.directives {
        let answer = match name.as_str() {
            "max-age" | "s-maxage" | "stale-while-revalidate" | "stale-if-error" => {
                match control.delta(name) {
                    Delta::Seconds(seconds) => at_least(row.expect.get(name), seconds),
                    Delta::Absent | Delta::Unreadable => continue,
                }
            }
            "no-cache" | "private" => match control.fields(name) {
                fields if fields.is_empty() => json!(true),
                fields => json!(fields),
            },
            "no-store" | "no-transform" | "must-revalidate" | "proxy-revalidate" | "public"
            | "immutable" | "must-understand" => json!(true),
            _ => value.as_ref().map_or(json!(true), |value| json!(value)),
        };
        got.insert(name.clone(), answer);
    }
    Value::Object(got)
}

/// The asked words if the number is at least the one in them.
fn at_least(asked: Option<&Value>, seconds: u64) -> Value {
    asked
        .filter(|asked| {
            let least = asked.as_str().and_then(|text| text.strip_prefix("at least "));
            least.and_then(|n| n.parse::<u64>().ok()).is_some_and(|least| seconds >= least)
        })
        .map_or(json!(seconds), Value::clone)
}

fn answer_freshness(row: &HeaderFact) -> Value {
    let one = |name: &str| {
        let found = row.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str())
    };
    let headers = CacheHeaders {
        cache_control: one("cache-control").into_iter().collect(),
        expires: one("expires"),
        date: one("date"),
        age: one("age"),
        last_modified: one("last-modified"),
        pragma: one("pragma"),
        vary: one("vary").into_iter().collect(),
    };
    let kind = if row.shared { CacheKind::Shared } else { CacheKind::Private };
    json!({ "freshness_seconds": freshness(&headers, kind, row.now()).fresh_for.as_secs() })
}

fn answer_content_type(row: &HeaderFact) -> Value {
    match ContentType::parse(row.value.as_deref().unwrap_or_default()) {
        None => json!("unparsable"),
        Some(found) => {
            let params: Map<String, Value> =
                found.params.into_iter().map(|(name, value)| (name.into(), json!(value))).collect();
            json!({ "essence": found.essence, "params": params })
        }
    }
}

fn answer_content_encoding(row: &HeaderFact) -> Value {
    match codings(row.lines()) {
        None => json!({ "codings": "unknown" }),
        Some(list) => {
            json!({ "codings": list.into_iter().map(Coding::name).collect::<Vec<_>>() })
        }
    }
}

fn answer_etag(row: &HeaderFact) -> Value {
    let tag = |text: &Option<String>| text.clone().unwrap_or_default();
    let (one, other) = (tag(&row.value), tag(&row.other));
    let pair = ETag::parse(&one).zip(ETag::parse(&other));
    json!({
        "weak_match": pair.is_some_and(|(a, b)| a.weak_match(&b)),
        "strong_match": pair.is_some_and(|(a, b)| a.strong_match(&b)),
    })
}

/// Encodings of the standard that the library behind these rows does not have.
fn is_lacking(row: &HeaderFact) -> bool {
    let encoding = row.value.as_deref().and_then(by_label).map(|encoding| encoding.name());
    row.expect["encoding"].is_null()
        && matches!(encoding, Some("ISO-8859-8-I" | "x-mac-cyrillic" | "x-user-defined"))
}

fn answer_charset_label(row: &HeaderFact) -> Value {
    let encoding = by_label(row.value.as_deref().unwrap_or_default());
    json!({ "encoding": encoding.map(|encoding| encoding.name()) })
}

fn answer_document_encoding(row: &HeaderFact) -> anyhow::Result<Value> {
    let body = base64(row.body_b64.as_deref().unwrap_or_default())?;
    let charset = Charset::of(&body, row.value.as_deref(), None);
    Ok(json!({ "encoding": charset.encoding.name() }))
}

fn answer_robots_meta(row: &HeaderFact) -> Value {
    let url = CrawlUrl::parse("https://site.example/").expect("a plain address");
    let limits = PageLimits { agent: Some(row.agent.clone()), ..PageLimits::default() };
    let html = row.lines().join("");
    let page = HtmlPage::read(&url, Some("text/html; charset=utf-8"), html.as_bytes(), &limits);
    answer_rules(row, &page.rules([], &row.agent, row.now()))
}

fn answer_robots_rules(row: &HeaderFact) -> Value {
    let mut rules = RobotsRules::default();
    for line in row.lines() {
        rules.add_header(line, &row.agent, row.now());
    }
    answer_rules(row, &rules)
}

fn answer_rules(row: &HeaderFact, rules: &RobotsRules) -> Value {
    let mut got = Map::new();
    for (name, on) in [
        ("noindex", rules.noindex),
        ("nofollow", rules.nofollow),
        ("noarchive", rules.noarchive),
        ("nosnippet", rules.nosnippet),
        ("noimageindex", rules.noimageindex),
        ("notranslate", rules.notranslate),
        ("indexifembedded", rules.indexifembedded),
    ] {
        if on {
            got.insert(name.to_owned(), json!(true));
        }
    }
    if let Some(after) = rules.unavailable_after {
        // Both sides as seconds: the row writes the moment as text.
        let asked = row.expect.get("unavailable_after");
        let seconds = asked
            .and_then(Value::as_str)
            .and_then(|text| curtsy_core::headers::any_date(text, NOW as i64));
        let same = asked.filter(|_| seconds == Some(after));
        got.insert("unavailable_after".to_owned(), same.cloned().unwrap_or(json!(after)));
        got.insert("expired".to_owned(), json!(rules.expired(row.now())));
    }
    let limits =
        [("max_snippet", rules.max_snippet), ("max_video_preview", rules.max_video_preview)];
    for (name, limit) in limits {
        if let Some(limit) = limit {
            got.insert(name.to_owned(), json!(limit));
        }
    }
    if let Some(size) = rules.max_image_preview {
        got.insert("max_image_preview".to_owned(), json!(size.name()));
    }
    if row.expect.get("unknown").is_some() {
        got.insert("unknown".to_owned(), json!(rules.other));
    }
    Value::Object(got)
}

/// The clock of rows that have none: Mon, 06 May 2024 12:53:20 GMT.
const NOW: u64 = 1_715_000_000;
const LACKING: &str = "the oracle lacks this encoding; the Encoding standard has it, and so do we";
const LENIENT: &str = "asks for the strict reading; curtsy obeys rules parted by white space too";
