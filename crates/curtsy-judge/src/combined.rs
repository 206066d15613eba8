//! The combined log format of nginx and Apache: who, when to the second, what, status, user agent.
//!
//! It says neither how long an answer took nor what its headers were, and its time stamp is the start of the request in one
//! server and the end in the other. So only what is surely broken is charged, and half of the rules can't be judged at all;
//! [`LogDetail`] tells the judge so. The virtual host may stand first (`%v`, as in Apache's `vhost_combined`).

use std::time::Duration;

use crate::exchange::{Exchange, Scheme};
use crate::header::log_date;
use crate::host_name::split_port;
use crate::judge::LogDetail;
use crate::log::Names;

/// The host of a line that names none.
pub(crate) const NO_HOST: &str = "localhost";

pub(crate) fn exchange_of(text: &str, names: &mut Names) -> Result<(Exchange, LogDetail), String> {
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
    let agent = quoted(&mut rest).filter(|agent| agent != "-");
    let mut parts = request.split(' ');
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else {
        return Err(format!("`{request}` is not a request line"));
    };
    let scheme = if port == Some(443) { Scheme::Https } else { Scheme::Http };
    let start = seconds * 1_000_000;
    let exchange = Exchange {
        peer: peer.parse().ok(),
        scheme,
        port: port.unwrap_or(scheme.default_port()),
        method: names.one(method),
        user_agent: agent.map(|agent| names.one(&agent)),
        status: (status != 499).then_some(status),
        complete: status != 499,
        ..Exchange::get(start, "", target, status)
    };
    Ok((Exchange { host: names.one(host), ..exchange }, DETAIL))
}

/// The next text in double quotes, its escapes undone; `rest` moves behind it.
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
const DETAIL: LogDetail =
    LogDetail { resolution: Duration::from_secs(1), ends: false, headers: false };
