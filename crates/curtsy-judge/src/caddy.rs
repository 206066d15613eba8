//! Reads the JSON lines of Caddy's access log: one object a line, with the request and its headers.
//!
//! `ts` is the time at which the line was written, when the response had ended. `duration` is the
//! time that the response took. Both are in seconds. The headers of the request and of the response
//! are there, unless the site's configuration removes them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::exchange::{Exchange, LogScheme};
use crate::format::ANSWER_MAX;
use crate::header::iso_date;
use crate::host_name::split_port;
use crate::judge::LogDetail;
use crate::log::SharedTexts;

/// Returns whether this is a line of Caddy's access log.
pub(crate) fn is_line(line: &Map<String, Value>) -> bool {
    line.get("request").is_some_and(Value::is_object) && line.contains_key("ts")
}

pub(crate) fn exchange_of(
    line: &Map<String, Value>,
    names: &mut SharedTexts,
) -> Result<(Exchange, LogDetail), String> {
    let request = line.get("request").and_then(Value::as_object).ok_or("`request` is missing")?;
    let text = |key: &str| request.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let needed = |key: &str| text(key).ok_or_else(|| format!("`request.{key}` is missing"));
    let end = match line.get("ts") {
        Some(Value::Number(seconds)) => seconds.as_f64().and_then(micros),
        Some(Value::String(time)) => iso_date(time),
        _ => None,
    };
    let end = end.ok_or("`ts` is not a time in seconds, nor one like `1994-11-06T08:49:37Z`")?;
    let took = line.get("duration").and_then(Value::as_f64).and_then(micros);
    let asked = request.get("headers");
    let answered = line.get("resp_headers");
    let own = |headers: Option<&Value>, name: &str| header(headers, name).map(Arc::<str>::from);
    let (host, port) = split_port(needed("host")?);
    let https = request.get("tls").is_some_and(|tls| !tls.is_null());
    let scheme = if https { LogScheme::Https } else { LogScheme::Http };
    let status = line.get("status").and_then(Value::as_u64).ok_or("`status` is missing")?;
    let status = u16::try_from(status).map_err(|_| format!("`status` is `{status}`"))?;
    let peer = text("remote_ip").or(text("client_ip"));
    let exchange = Exchange {
        end,
        early: if took.is_some() { 0 } else { ANSWER_MAX },
        peer: peer.and_then(|peer| peer.parse().ok()),
        scheme,
        host: names.one(host),
        port: port.unwrap_or(scheme.default_port()),
        method: names.one(needed("method")?),
        user_agent: header(asked, "User-Agent").map(|agent| names.one(agent)),
        from: own(asked, "From"),
        if_none_match: own(asked, "If-None-Match"),
        if_modified_since: own(asked, "If-Modified-Since"),
        cookie: header(asked, "Cookie").is_some(),
        authorization: header(asked, "Authorization").is_some(),
        status: (status != 0).then_some(status),
        complete: status != 0,
        location: own(answered, "Location"),
        retry_after: own(answered, "Retry-After"),
        date: own(answered, "Date"),
        cache_control: header(answered, "Cache-Control").map(|text| names.one(text)),
        etag: own(answered, "Etag"),
        last_modified: own(answered, "Last-Modified"),
        ..Exchange::get(end.saturating_sub(took.unwrap_or(0)), "", needed("uri")?, status)
    };
    let detail =
        LogDetail { resolution: WRITTEN, ends: took.is_some(), headers: answered.is_some() };
    Ok((exchange, detail))
}

/// Returns the first value of a header. Names are compared without case.
fn header<'a>(headers: Option<&'a Value>, name: &str) -> Option<&'a str> {
    let headers = headers?.as_object()?;
    let exact = headers.get(name);
    let found = exact
        .or_else(|| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|h| h.1))?;
    found.get(0)?.as_str().filter(|text| !text.is_empty())
}

fn micros(seconds: f64) -> Option<u64> {
    (0.0..1e12).contains(&seconds).then_some((seconds * 1e6) as u64)
}

/// The line is written a little after the duration was measured.
const WRITTEN: Duration = Duration::from_millis(2);
