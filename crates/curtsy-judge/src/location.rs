//! Resolves redirects, and compares targets.
//!
//! A `Location` is resolved against the URL that sent it, and a target is normalised (no dot
//! segments, no fragment, bytes outside ASCII as escapes), so that the request for it can be
//! recognised. A `Location` that cannot be resolved leads nowhere.

use std::borrow::Cow;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::exchange::LogScheme;
use crate::host_name::{canonical_host, split_port};

/// A URL in the judge's normal form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JudgedUrl {
    pub(crate) scheme: LogScheme,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) target: String,
}

impl JudgedUrl {
    pub(crate) fn key(&self) -> u128 {
        url_key(self.scheme, &self.host, self.port, &self.target)
    }
}

/// Returns the ID of a URL: 128 bits, so that no two URLs of a log share one.
pub(crate) fn url_key(scheme: LogScheme, canonical_host: &str, port: u16, target: &str) -> u128 {
    let target = one_spelling(target);
    let length = canonical_host.len() + target.len() + 4;
    // The usual URL fits the stack. Hashing at once is several times faster than in pieces.
    let mut short = [0u8; 256];
    if length <= short.len() {
        let mut at = 0;
        for piece in [canonical_host.as_bytes(), &tail(scheme, port), target.as_bytes()] {
            short[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        return xxh3_128(&short[..at]);
    }
    let mut hash = Xxh3::new();
    hash.update(canonical_host.as_bytes());
    hash.update(&tail(scheme, port));
    hash.update(target.as_bytes());
    hash.digest128()
}

/// Returns scheme and port, between two bytes that no host has.
fn tail(scheme: LogScheme, port: u16) -> [u8; 4] {
    let [high, low] = port.to_be_bytes();
    [0, scheme as u8, high, low]
}

/// Resolves a `Location` against the URL of the response.
pub(crate) fn resolve(
    location: &str,
    scheme: LogScheme,
    canonical: &str,
    port: u16,
    target: &str,
) -> Option<JudgedUrl> {
    let location = location.trim();
    let location = location.split('#').next().unwrap_or("");
    let here = |target: String| JudgedUrl {
        scheme,
        host: canonical.to_owned(),
        port,
        target: one_spelling(&target).into_owned(),
    };
    if let Some(rest) = location.strip_prefix("//") {
        return absolute(scheme, rest);
    }
    if let Some((name, rest)) = location.split_once(':')
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        let scheme = match name.to_ascii_lowercase().as_str() {
            "http" => LogScheme::Http,
            "https" => LogScheme::Https,
            _ => return None,
        };
        return absolute(scheme, rest.trim_start_matches('/'));
    }
    if location.starts_with('/') {
        return Some(here(location.to_owned()));
    }
    let path = target.split('?').next().unwrap_or("/");
    if location.is_empty() {
        return Some(here(target.to_owned()));
    }
    if location.starts_with('?') {
        return Some(here(format!("{path}{location}")));
    }
    let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
    Some(here(format!("{folder}{location}")))
}

fn absolute(scheme: LogScheme, rest: &str) -> Option<JudgedUrl> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = split_port(authority);
    if host.is_empty() {
        return None;
    }
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Some(JudgedUrl {
        scheme,
        host: canonical_host(host),
        port: port.unwrap_or(scheme.default_port()),
        target: one_spelling(&target).into_owned(),
    })
}

/// Returns the normal form of a target: no fragment, no dot segments, only printable ASCII.
fn one_spelling(target: &str) -> Cow<'_, str> {
    let plain = |b: &u8| matches!(b, 0x21..=0x7e if !b"#\"<>".contains(b));
    if target.as_bytes().iter().all(plain) && !target.contains("/.") {
        return Cow::Borrowed(target);
    }
    let target = target.split('#').next().unwrap_or("");
    let (path, query) = match target.find('?') {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    let mut folders: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let dots = segment.replace("%2e", ".").replace("%2E", ".");
        let last = segments.peek().is_none();
        match dots.as_str() {
            "." | ".." => {
                if dots == ".." {
                    folders.pop();
                }
                if last {
                    folders.push("");
                }
            }
            _ => folders.push(segment),
        }
    }
    let mut out = String::with_capacity(target.len() + 8);
    for b in format!("/{}{query}", folders.join("/")).bytes() {
        if plain(&b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(location: &str, expected: &str) {
        let found = resolve(location, LogScheme::Http, "a.test", 80, "/dir/page?q=1");
        let found =
            found.map(|a| format!("{}://{}:{}{}", a.scheme.as_str(), a.host, a.port, a.target));
        assert_eq!(found.as_deref().unwrap_or("nowhere"), expected, "{location}");
    }

    #[test]
    fn a_location_is_resolved_against_its_url() {
        check("https://B.test/x#top", "https://b.test:443/x");
        check("http://b.test:8080", "http://b.test:8080/");
        check("http://b.test?x", "http://b.test:80/?x");
        check("//b.test/x", "http://b.test:80/x");
        check("/x/../y", "http://a.test:80/y");
        check("z", "http://a.test:80/dir/z");
        check("../z", "http://a.test:80/z");
        check("?p=2", "http://a.test:80/dir/page?p=2");
        check("", "http://a.test:80/dir/page?q=1");
        check("/ü b", "http://a.test:80/%C3%BC%20b");
        check("mailto:me@a.test", "nowhere");
        check("http://", "nowhere");
    }

    #[test]
    fn spellings_of_one_target_have_one_key() {
        let key = |target| url_key(LogScheme::Http, "a.test", 80, target);
        assert_eq!(key("/a/./b"), key("/a/b"));
        assert_ne!(key("/a"), key("/a/"));
        assert_ne!(key("/a"), url_key(LogScheme::Https, "a.test", 80, "/a"));
        let long = format!("/{}", "x".repeat(400));
        assert_ne!(key(&long), key(&format!("{long}y")));
    }
}
