//! Reads the W3C extended log format of IIS, and the standard log of CloudFront, which follows it.
//!
//! `#Fields` lists the columns, and may come again with other columns. Times are UTC, in whole
//! seconds. IIS writes `+` for a space and `time-taken` in milliseconds. Its documentation calls
//! the stamp the time of the request, while the logs of busy servers look as if it were the end. So
//! a request may have begun up to `time-taken` before its stamp. CloudFront separates columns with
//! tabs, escapes like a URL, stamps the end of the response, and writes seconds.

use crate::combined::NO_HOST;
use crate::exchange::{Exchange, LogScheme};
use crate::format::{ANSWER_MAX, LogFormat, SECONDS};
use crate::header::day_and_time;
use crate::host_name::split_port;
use crate::judge::LogDetail;
use crate::log::SharedTexts;

/// The columns of a log, as its directives name them.
#[derive(Default)]
pub(crate) struct Columns {
    names: Vec<Box<str>>,
    /// The date of the last `#Date`, for logs whose lines have only the time of day.
    date: Option<Box<str>>,
    cloudfront: bool,
}

impl Columns {
    /// Reads a line that begins with `#`. Other directives are ignored.
    pub(crate) fn directive(&mut self, text: &str) {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        match name.to_ascii_lowercase().as_str() {
            "#fields" => {
                self.names = value.split_whitespace().map(Box::from).collect();
                self.cloudfront = self.names.iter().any(|name| name.starts_with("x-edge-"));
            }
            "#date" => self.date = value.split_whitespace().next().map(Box::from),
            _ => {}
        }
    }

    /// Returns the format that the columns belong to, or `None` before the first `#Fields`.
    pub(crate) fn format(&self) -> Option<LogFormat> {
        match (self.names.is_empty(), self.cloudfront) {
            (true, _) => None,
            (false, true) => Some(LogFormat::CloudFront),
            (false, false) => Some(LogFormat::W3c),
        }
    }
}

pub(crate) fn exchange_of(
    text: &str,
    columns: &Columns,
    names: &mut SharedTexts,
) -> Result<(Exchange, LogDetail), String> {
    if columns.names.is_empty() {
        return Err("no `#Fields` line says what its columns are".to_owned());
    }
    // A single space or tab separates, so an empty column is possible.
    let values: Vec<&str> = match text.contains('\t') {
        true => text.split('\t').collect(),
        false => text.split(' ').collect(),
    };
    if values.len() != columns.names.len() {
        let (have, want) = (values.len(), columns.names.len());
        return Err(format!("{have} columns, `#Fields` names {want}"));
    }
    let get = |name: &str| {
        let place = columns.names.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(values[place]).filter(|value| !value.is_empty() && *value != "-")
    };
    let needed = |name: &str| get(name).ok_or_else(|| format!("`{name}` is missing"));
    let day = match get("date") {
        Some(day) => day,
        None => columns.date.as_deref().ok_or("`date` is missing, and so is a `#Date` line")?,
    };
    let time = needed("time")?;
    let stamp = day_and_time(day, time)
        .ok_or_else(|| format!("`{day} {time}` is not a time like `1994-11-06 08:49:37`"))?;
    let took = get("time-taken").map(|text| micros_taken(text, columns.cloudfront)).transpose()?;
    let (start, early) = match (took, columns.cloudfront) {
        (Some(took), true) => (stamp.saturating_sub(took), 0),
        (Some(took), false) => (stamp, took),
        (None, _) => (stamp, ANSWER_MAX),
    };
    let named = [get("x-host-header"), get("cs-host"), get("cs(Host)")];
    let (host, named_port) = split_port(named.into_iter().flatten().next().unwrap_or(NO_HOST));
    let port = get("s-port").and_then(|port| port.parse().ok()).or(named_port);
    let https = get("cs-protocol").map_or(port == Some(443), |protocol| protocol == "https");
    let scheme = if https { LogScheme::Https } else { LogScheme::Http };
    let mut target = needed("cs-uri-stem")?.to_owned();
    if let Some(query) = get("cs-uri-query") {
        target = format!("{target}?{query}");
    }
    let agent = get("cs(User-Agent)").map(|agent| match columns.cloudfront {
        true => without_escapes(agent),
        // A space before a `+` is two of them.
        false => agent.replace("++", " \u{1}").replace('+', " ").replace('\u{1}', "+"),
    });
    let status = needed("sc-status")?;
    let status: u16 = status.parse().map_err(|_| format!("`sc-status` is `{status}`"))?;
    let exchange = Exchange {
        end: stamp,
        early,
        peer: get("c-ip").and_then(|peer| peer.parse().ok()),
        local: get("s-ip").and_then(|local| local.parse().ok()),
        scheme,
        host: names.one(host),
        port: port.unwrap_or(scheme.default_port()),
        method: names.one(needed("cs-method")?),
        user_agent: agent.map(|agent| names.one(&agent)),
        cookie: get("cs(Cookie)").is_some(),
        authorization: get("cs-username").is_some(),
        // CloudFront writes 000 when the client has closed the connection before the response.
        status: (status != 0).then_some(status),
        complete: status != 0,
        ..Exchange::get(start, "", &target, status)
    };
    Ok((exchange, SECONDS))
}

/// Reads `time-taken`: seconds in CloudFront and wherever there are decimals, otherwise
/// milliseconds.
fn micros_taken(text: &str, cloudfront: bool) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let number = number.ok_or_else(|| format!("`time-taken` is `{text}`, not a number"))?;
    let unit = if cloudfront || text.contains('.') { 1e6 } else { 1e3 };
    Ok((number * unit) as u64)
}

/// Decodes the escapes of a URL, twice, because CloudFront once escaped its own `%` too.
fn without_escapes(text: &str) -> String {
    let once = unescape(text);
    if once.contains("%20") { unescape(&once) } else { once }
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &after[2..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
