//! Answers in HTTP/1.1, from which the cases are made; and what the log tells of one.

use std::sync::Arc;

use super::case::ZooRequest;
use super::script::ZooScript;

/// A whole answer.
pub(super) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> ZooScript {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    ZooScript::say([head.as_bytes(), body].concat())
}

/// A head that leaves its framing to the caller.
pub(super) fn head(headers: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n")
}

/// A page.
pub(super) fn html(body: impl AsRef<[u8]>) -> ZooScript {
    answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

/// A small page that is a page.
pub(super) fn page(title: &str) -> String {
    format!(
        "<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1><p>{}</p></body></html>",
        "Some words that make this a page like any other. ".repeat(8)
    )
}

/// Another address.
pub(super) fn redirect(status: &str, to: &str) -> ZooScript {
    answer(status, &format!("Location: {to}\r\n"), "")
}

/// A page's answer as bytes, for a place where no answer belongs.
pub(super) fn html_bytes(title: &str) -> Vec<u8> {
    answer("200 OK", "Content-Type: text/html\r\n", page(title)).first().to_vec()
}

/// One chunk of a chunked body.
pub(super) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// What a host says that behaves.
pub(super) fn good(asked: &ZooRequest<'_>) -> ZooScript {
    match asked.path {
        "/robots.txt" => robots(GOOD_ROBOTS),
        "/" => html(page("A page")),
        _ => answer("404 Not Found", "Content-Type: text/html\r\n", page("Not here")),
    }
}

/// A robots.txt.
pub(super) fn robots(text: impl AsRef<[u8]>) -> ZooScript {
    answer("200 OK", "Content-Type: text/plain\r\n", text)
}

/// What an answer's first bytes tell the log.
#[derive(Default)]
pub(super) struct HeadFacts {
    pub(super) status: Option<u16>,
    pub(super) location: Option<Arc<str>>,
    pub(super) retry_after: Option<Arc<str>>,
    pub(super) date: Option<Arc<str>>,
    pub(super) cache_control: Option<Arc<str>>,
    pub(super) body_at: usize,
}

/// Reads the head that the first bytes hold; interim answers are skipped.
pub(super) fn told(mut bytes: &[u8]) -> HeadFacts {
    let mut told = HeadFacts::default();
    loop {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return told;
        };
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
        let Some(status) = status.and_then(|rest| rest.get(..3)?.parse().ok()) else {
            return told;
        };
        told.body_at += end + 4;
        bytes = &bytes[end + 4..];
        if (100..200).contains(&status) && !bytes.is_empty() {
            continue;
        }
        told.status = Some(status);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let place = match name.to_ascii_lowercase().as_str() {
                "location" => &mut told.location,
                "retry-after" => &mut told.retry_after,
                "date" => &mut told.date,
                "cache-control" => &mut told.cache_control,
                _ => continue,
            };
            // A megabyte of it says no more to the judge.
            let value: String = value.trim().chars().take(VALUE_CHARS_MAX).collect();
            place.get_or_insert(value.into());
        }
        return told;
    }
}

/// The robots.txt of a host that behaves.
pub(super) const GOOD_ROBOTS: &str = "User-agent: *\nAllow: /\n";
const VALUE_CHARS_MAX: usize = 2_000;
