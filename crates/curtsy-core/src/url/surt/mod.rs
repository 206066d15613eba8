//! The key of a URL in web archives: the Sort-friendly URI Reordering Transform.
//!
//! `http://www.example.org:80/b/../A?z&y` is filed as `org,example)/a?y&z`: the labels of the host
//! in reverse order, so that the pages of a domain sort together, and everything folded that most
//! sites treat alike (`www.`, case, session IDs, the order of parameters).
//!
//! **It is a key, never an identity.** Two different pages can share a SURT (`/A` and `/a`), so
//! nothing is skipped because its SURT is known. Rows have it so that they can be joined with
//! archive indexes (CDX). For the same reason the rules are those of the existing indexes, odd ones
//! included, and they start from the text, not from the WHATWG parse. The behaviour follows the
//! answers of the Python package `surt` 0.3.1.
//!
//! First white space is removed and the text is split. Then host, path and query are unescaped
//! until nothing is left to unescape, folded, and escaped again once.

mod escape;
mod host;
mod path;
mod plain;
mod query;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(super) use plain::plain;

/// The folds to apply. The names are those of archive tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SurtOptions {
    /// `http://(org,example)/` instead of `org,example)/`.
    pub with_scheme: bool,
    /// `org,example,)/` instead of `org,example)/`.
    pub trailing_comma: bool,
    /// Whether the groups of IPv4 addresses are reversed like the labels of names.
    pub reverse_ipaddr: bool,
    /// Whether a first `www.` or `www7.` is removed.
    pub host_massage: bool,
    /// Whether the query becomes lower case, as the path always does.
    pub query_lowercase: bool,
}

impl Default for SurtOptions {
    fn default() -> SurtOptions {
        SurtOptions {
            with_scheme: false,
            trailing_comma: false,
            reverse_ipaddr: true,
            host_massage: true,
            query_lowercase: true,
        }
    }
}

/// The reason why a text has no SURT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SurtError {
    /// Nothing but white space.
    #[error("no SURT for white space")]
    Blank,
    /// A port that is not a number from 0 to 65535.
    #[error("no SURT: the port is not a number from 0 to 65535")]
    Port,
    /// Longer than the limit.
    #[error("no SURT: longer than {TEXT_BYTES_MAX} bytes")]
    TooLong,
}

/// Returns the key under which archives file `url`.
///
/// ```
/// use curtsy_core::url::{SurtOptions, surt};
/// let key = |url: &str| surt(url, &SurtOptions::default()).unwrap();
/// assert_eq!(key("http://www.example.org:80/b/../A?z&y"), "org,example)/a?y&z");
/// assert_eq!(key("http://192.0.2.1:8080/"), "1,2,0,192:8080)/");
/// assert_eq!(key("mailto:owner@example.org"), "mailto:owner@example.org");
/// ```
pub fn surt(url: &str, options: &SurtOptions) -> Result<String, SurtError> {
    if url.len() > TEXT_BYTES_MAX {
        return Err(SurtError::TooLong);
    }
    if url.is_empty() {
        return Ok("-".to_owned());
    }
    // The first record of an ARC file has such a name. It is filed unchanged.
    if url.starts_with("filedesc") {
        return Ok(url.to_owned());
    }
    let text = without_white_space(url)?;
    let text = with_scheme(&text);
    let parts = Parts::split(&text)?;

    let host = host::fold(&parts.host, parts.scheme != "dns" && options.host_massage);
    let path = path::fold(&parts.path, !host.is_empty());
    let query = parts.query.map(|q| query::fold(q, options.query_lowercase)).unwrap_or_default();

    let mut key = String::with_capacity(text.len() + 4);
    if host.is_empty() {
        key += parts.scheme;
        key.push(':');
    } else {
        if options.with_scheme {
            key += parts.scheme;
            key += if parts.scheme == "dns" { ":(" } else { "://(" };
        }
        key += &host::turn_round(&host, options.reverse_ipaddr);
        if let Some(port) = parts.port {
            key += &format!(":{port}");
        }
        key += if options.trailing_comma { ",)" } else { ")" };
    }
    if path.is_empty() && !(host.is_empty() && query.is_empty()) {
        key.push('/');
    }
    key += &path;
    if !query.is_empty() {
        key.push('?');
        key += &query;
    }
    Ok(key)
}

/// The parts of a text by RFC 3986 appendix B, before anything is unescaped.
struct Parts<'a> {
    /// As it is written: `HTTP` is not `http` here.
    scheme: &'a str,
    host: Cow<'a, str>,
    /// `None` if absent, 0 or the scheme's own.
    port: Option<u16>,
    path: Cow<'a, str>,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// Splits a text that has a scheme.
    fn split(text: &'a str) -> Result<Parts<'a>, SurtError> {
        let (scheme, rest) = text.split_once(':').unwrap_or(("http", text));
        let (authority, rest) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let (host, port) = host_and_port(authority)?;
        let (host, path) = match scheme {
            "http" | "https" if host.is_empty() => host_from_path(path),
            _ => (host.into(), path.into()),
        };
        let own = match scheme.to_ascii_lowercase().as_str() {
            "http" => 80,
            "https" => 443,
            _ => 0,
        };
        let port = port.filter(|&p| p != 0 && p != own);
        Ok(Parts { scheme, host, port, path, query })
    }
}

/// Returns the host of an authority without user and brackets, and its port.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), SurtError> {
    let place =
        authority.rsplit_once('@').map_or(authority, |(_, place)| place).trim_end_matches(':');
    let (host, port) = match place.split_once('[') {
        Some((_, bracketed)) => {
            let (host, rest) = bracketed.split_once(']').unwrap_or((bracketed, ""));
            (host, rest.split_once(':').map_or("", |(_, port)| port))
        }
        None => place.split_once(':').unwrap_or((place, "")),
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    // `u16::from_str` would accept a plus sign.
    if !port.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SurtError::Port);
    }
    port.parse().map(|port| (host, Some(port))).map_err(|_| SurtError::Port)
}

/// Returns host and path of `http:/example.org/a` and `http:///example.org/a`, which have the host
/// in the path.
fn host_from_path(path: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    let inner = path.trim_start_matches('/');
    if inner.is_empty() {
        return ("".into(), path[..path.len().min(1)].into());
    }
    let (host, path) = inner.split_at(inner.find('/').unwrap_or(inner.len()));
    (host.into(), if path.is_empty() { "/".into() } else { path.into() })
}

/// Removes line ends and tabs anywhere, and other white space at both ends.
fn without_white_space(url: &str) -> Result<String, SurtError> {
    let text: String = url.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let text = text.trim_matches([' ', '\x0b', '\x0c']);
    if text.is_empty() { Err(SurtError::Blank) } else { Ok(text.to_owned()) }
}

/// Adds `http://` to a text without a scheme, and removes a doubled one.
fn with_scheme(text: &str) -> Cow<'_, str> {
    if !has_scheme(text) {
        return format!("http://{text}").into();
    }
    let mut text = text;
    while let Some(inner) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) {
        if !inner.starts_with("http://") && !inner.starts_with("https://") {
            break;
        }
        text = inner;
    }
    text.into()
}

/// Returns whether the text has a scheme (RFC 3986 §3.1).
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// The longest text that is transformed.
const TEXT_BYTES_MAX: usize = 65_536;
