//! The columns of the table of pages, and how a row is written into a chunk.

use curtsy_core::time::Time;
use curtsy_crawl::LeftPage;
use curtsy_engine::Row;
use curtsy_sink::{Facts, Rules};

use crate::duck::{Chunk, Type};

/// The columns, in their order.
pub(crate) const COLUMNS: [(&str, Type); 20] = [
    ("url", Type::Varchar),
    ("surt_key", Type::Varchar),
    ("http_status", Type::Integer),
    ("body", Type::Varchar),
    ("content_type", Type::Varchar),
    ("crawl_time", Type::Timestamp),
    ("error", Type::Varchar),
    ("etag", Type::Varchar),
    ("last_modified", Type::Varchar),
    ("content_hash", Type::Varchar),
    ("final_url", Type::Varchar),
    ("redirect_count", Type::Integer),
    ("fetched_at", Type::Timestamp),
    ("title", Type::Varchar),
    ("links", Type::Texts),
    ("robots_rule", Type::Varchar),
    ("delay_by", Type::Varchar),
    ("decision", Type::Varchar),
    ("reason", Type::Varchar),
    ("source", Type::Varchar),
];

/// A line of the table.
pub(crate) enum PageLine<'a> {
    /// A row of the crawl.
    Row(&'a Row),
    /// A text that is not a URL.
    Malformed(&'a str),
    /// A page that must wait longer than the crawl's patience.
    Left(&'a LeftPage),
}

/// Writes a page into a line of a chunk. `columns` has the chunk's columns, as indexes in
/// [`COLUMNS`].
pub(crate) fn write(
    out: &mut Chunk<'_>,
    line: usize,
    columns: &[usize],
    page: &PageLine<'_>,
    rules: &mut Rules,
) {
    match page {
        PageLine::Row(row) => {
            let facts = Facts::of(row);
            for (at, column) in columns.iter().enumerate() {
                write_fact(out, at, line, *column, &facts, rules);
            }
        }
        PageLine::Left(LeftPage { url, gate, why }) => {
            let error = format!("waits_for_{}", gate.name());
            let texts = [url.as_str(), &error, "waits", why];
            write_unrequested(out, line, columns, texts, Some(url.surt()));
        }
        PageLine::Malformed(text) => {
            let texts = [text, "malformed_url", "refused", "not a URL that can be fetched"];
            write_unrequested(out, line, columns, texts, None);
        }
    }
}

/// Writes a page that was not requested.
fn write_unrequested(
    out: &mut Chunk<'_>,
    line: usize,
    columns: &[usize],
    [url, error, decision, reason]: [&str; 4],
    surt: Option<String>,
) {
    for (at, column) in columns.iter().enumerate() {
        match COLUMNS[*column].0 {
            "url" | "final_url" => out.text(at, line, url),
            "surt_key" => out.or_null(at, line, surt.as_deref(), Chunk::text),
            "error" => out.text(at, line, error),
            "decision" => out.text(at, line, decision),
            "reason" => out.text(at, line, reason),
            "redirect_count" => out.integer(at, line, 0),
            _ => out.null(at, line),
        }
    }
}

fn write_fact(
    out: &mut Chunk<'_>,
    at: usize,
    line: usize,
    column: usize,
    facts: &Facts<'_>,
    rules: &mut Rules,
) {
    let row = facts.row;
    let text = |out: &mut Chunk<'_>, text: Option<&str>| out.or_null(at, line, text, Chunk::text);
    let moment = |out: &mut Chunk<'_>, moment: Option<Time>| {
        let micros = moment.map(|moment| i64::try_from(moment.micros()).unwrap_or(i64::MAX));
        out.or_null(at, line, micros, Chunk::timestamp);
    };
    match COLUMNS[column].0 {
        "url" => out.text(at, line, row.url.as_str()),
        "surt_key" => out.text(at, line, &row.url.surt()),
        "http_status" => {
            out.or_null(at, line, facts.http_status.map(i32::from), Chunk::integer);
        }
        "body" => match (facts.text(), facts.body()) {
            (Some(body), _) => out.text(at, line, &body),
            (None, Some(body)) => out.text(at, line, &escaped(body)),
            (None, None) => out.null(at, line),
        },
        "content_type" => text(out, facts.content_type()),
        "crawl_time" => moment(out, facts.crawl_time),
        "error" => text(out, facts.error),
        "etag" => text(out, facts.etag),
        "last_modified" => text(out, facts.last_modified),
        "content_hash" => text(out, facts.content_hash().as_deref()),
        "final_url" => out.text(at, line, row.final_url.as_str()),
        "redirect_count" => out.integer(at, line, row.redirects.into()),
        "fetched_at" => moment(out, facts.fetched_at),
        "title" => text(out, facts.title()),
        "links" => match facts.links() {
            Some(links) => out.texts(at, line, links.map(|link| link.as_str())),
            None => out.null(at, line),
        },
        "robots_rule" => {
            let rule = facts.robots.and_then(|(file, line)| {
                let rule = rules.rule(file, line?).map(|rule| rule.to_string());
                rule.or(Some(format!("line {}", line?)))
            });
            text(out, rule.as_deref());
        }
        "delay_by" => text(out, facts.delay_by),
        "reason" => text(out, facts.reason(rules.body_max).as_deref()),
        "source" => text(out, row.page.as_ref().map(|page| page.source.name())),
        _ => out.text(at, line, facts.decision),
    }
}

/// Escapes bytes that are not text as DuckDB does: `\x89PNG`. A cast to BLOB returns the bytes.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        match byte {
            b' '..=b'~' if !matches!(byte, b'\\' | b'\'' | b'"') => out.push(char::from(*byte)),
            // Writing to a string does not fail.
            _ => drop(write!(out, "\\x{byte:02X}")),
        }
    }
    out
}
