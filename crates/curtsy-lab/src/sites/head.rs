//! The head of an answer: status line, headers, and whether the client knows the answer already.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::answer::Framing;
use super::stage::SiteRequest;
use curtsy_sim::web::{SECOND, Told};

/// What stands in the head of an answer.
#[derive(Default)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) location: Option<Arc<str>>,
    pub(super) retry_after: Option<Arc<str>>,
    pub(super) etag: Option<Arc<str>>,
    pub(super) last_modified: Option<Arc<str>>,
    pub(super) cache_control: Option<Arc<str>>,
    pub(super) headers: Vec<String>,
    pub(super) coding: Option<&'static str>,
}

pub(super) fn write_head(
    head: &ResponseHead,
    asked: &SiteRequest<'_>,
    body: Option<(Framing, usize)>,
    close: bool,
    out: &mut Vec<u8>,
) {
    let status = head.status;
    // Writing into memory doesn't fail.
    let _ = write!(out, "HTTP/1.1 {status} {}\r\nDate: {}\r\n", reason(status), asked.date);
    match body {
        Some((Framing::Length, bytes)) => {
            let _ =
                write!(out, "Content-Type: {}\r\nContent-Length: {bytes}\r\n", head.content_type);
        }
        Some((Framing::Chunked, _)) => {
            let _ = write!(
                out,
                "Content-Type: {}\r\nTransfer-Encoding: chunked\r\n",
                head.content_type
            );
        }
        Some((Framing::Close, _)) => {
            let _ = write!(out, "Content-Type: {}\r\n", head.content_type);
        }
        None => {}
    }
    for (name, value) in [
        ("Location", &head.location),
        ("Retry-After", &head.retry_after),
        ("ETag", &head.etag),
        ("Last-Modified", &head.last_modified),
        ("Cache-Control", &head.cache_control),
    ] {
        if let Some(value) = value {
            let _ = write!(out, "{name}: {value}\r\n");
        }
    }
    if let Some(coding) = head.coding {
        let _ = write!(out, "Content-Encoding: {coding}\r\n");
    }
    for line in &head.headers {
        let _ = write!(out, "{line}\r\n");
    }
    out.extend_from_slice(if close { b"Connection: close\r\n\r\n" } else { b"\r\n" });
}

/// Whether the client holds this very answer (RFC 9110 §13.1.2 and §13.1.3).
pub(super) fn is_known(asked: &SiteRequest<'_>, head: &ResponseHead) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    match (asked.if_none_match, &head.etag) {
        (Some(known), Some(etag)) => known.split(',').any(|tag| opaque(tag) == opaque(etag)),
        (Some(_), None) => false,
        (None, _) => {
            let date = |text: &str| httpdate::parse_http_date(text).ok();
            let known = asked.if_modified_since.and_then(date);
            let changed = head.last_modified.as_deref().and_then(date);
            matches!((known, changed), (Some(known), Some(changed)) if changed <= known)
        }
    }
}

pub(super) fn retry_after(told: Told, now: u64) -> Option<Arc<str>> {
    match told {
        Told::Nothing => None,
        Told::Seconds(seconds) => Some(seconds.to_string().into()),
        Told::Date(seconds) => {
            // A date has no fractions: rounded up, so that it is at least so far ahead.
            let at = now.saturating_add(seconds.saturating_mul(SECOND)).div_ceil(SECOND);
            Some(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at.min(DATE_MAX))).into())
        }
        Told::Junk => Some("soon".into()),
    }
}

/// The usual words for a status.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        425 => "Too Early",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

/// The end of the year 9999, where HTTP-dates end.
const DATE_MAX: u64 = 253_402_300_799;
