//! Reads the combined log format of nginx and Apache: peer, time to the second, request, status,
//! user agent.
//!
//! A line does not have the headers of the response. Its time stamp is the start of the request in
//! Apache and the end in nginx. A line with nginx's `$request_time` after the user agent shows the
//! start: the stamp less that time. In any other line the request may have begun up to
//! [`ANSWER_MAX`] before the stamp. The virtual host may come first (`%v:%p`, as in Apache's
//! `vhost_combined`).

use crate::exchange::{Exchange, LogScheme};
use crate::format::{ANSWER_MAX, SECONDS};
use crate::header::log_date;
use crate::host_name::split_port;
use crate::judge::LogDetail;
use crate::log::SharedTexts;

/// The host of a line without one.
pub(crate) const NO_HOST: &str = "localhost";

pub(crate) fn exchange_of(
    text: &str,
    names: &mut SharedTexts,
) -> Result<(Exchange, LogDetail), String> {
    let (before, rest) = text.split_once('[').ok_or(WANTED)?;
    let (stamp, rest) = rest.split_once(']').ok_or("the time stamp has no `]`")?;
    let seconds = log_date(stamp)
        .and_then(|seconds| u64::try_from(seconds).ok())
        .ok_or_else(|| format!("`{stamp}` is not a time like `06/Nov/1994:08:49:37 +0000`"))?;
    let words: Vec<&str> = before.split_whitespace().collect();
    let (host, peer) = match words[..] {
        [peer, _, _] => (NO_HOST, peer),
        [host, peer, _, _] => (host, peer),
        _ => return Err(WANTED.to_owned()),
    };
    let (host, port) = split_port(host);
    let mut rest = rest;
    let request = quoted(&mut rest).ok_or("the request line is missing")?;
    let mut numbers = rest.split_whitespace();
    let status = numbers.next().and_then(|status| status.parse::<u16>().ok());
    let status = status.ok_or("the status is missing")?;
    let _referer = quoted(&mut rest);
    let agent = quoted(&mut rest);
    // Without a user agent, `rest` is still the status and what follows it.
    let took = agent.as_ref().and_then(|_| request_time(rest));
    let agent = agent.filter(|agent| agent != "-");
    let mut parts = request.split(' ');
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else {
        return Err(format!("`{request}` is not a request line"));
    };
    let scheme = if port == Some(443) { LogScheme::Https } else { LogScheme::Http };
    let stamp = seconds * 1_000_000;
    let start = stamp.saturating_sub(took.unwrap_or(0));
    let exchange = Exchange {
        end: stamp,
        early: if took.is_some() { 0 } else { ANSWER_MAX },
        peer: peer.parse().ok(),
        scheme,
        port: port.unwrap_or(scheme.default_port()),
        method: names.one(method),
        user_agent: agent.map(|agent| names.one(&agent)),
        status: (status != 499).then_some(status),
        complete: status != 499,
        ..Exchange::get(start, "", target, status)
    };
    Ok((Exchange { host: names.one(host), ..exchange }, SECONDS))
}

/// Returns nginx's `$request_time` from the words after the user agent: seconds with three
/// decimals, in microseconds.
fn request_time(rest: &str) -> Option<u64> {
    rest.split_ascii_whitespace().find_map(|word| {
        let word = word.rsplit('=').next().unwrap_or(word).trim_matches('"');
        let (seconds, millis) = word.split_once('.')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if millis.len() != 3 || seconds.len() > 6 || !digits(seconds) || !digits(millis) {
            return None;
        }
        let seconds: u64 = seconds.parse().ok()?;
        let millis: u64 = millis.parse().ok()?;
        Some(seconds * 1_000_000 + millis * 1000)
    })
}

/// Returns the next text in double quotes, unescaped, and moves `rest` behind it.
fn quoted(rest: &mut &str) -> Option<String> {
    let from = rest.find('"')? + 1;
    let mut out = String::new();
    let mut chars = rest[from..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                *rest = &rest[from + at + 1..];
                return Some(out);
            }
            '\\' => match chars.next()?.1 {
                // `\x22`, as both servers write what could end the text.
                'x' => {
                    let hex: String = chars.by_ref().take(2).map(|(_, c)| c).collect();
                    out.push(u8::from_str_radix(&hex, 16).map_or('\u{fffd}', char::from));
                }
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

const WANTED: &str = "neither a JSON object nor `[host] peer - - [time] \"request\" status …`";
