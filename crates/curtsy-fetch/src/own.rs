//! The credentials for the user's own hosts.
//!
//! They are read once, before anything is sent, and are kept in [`Manner`](crate::ask::Manner)
//! only. A value is sent to exactly one origin: a redirect elsewhere carries none, nor does a
//! request that a proxy could read. No error, log or debug text contains a value.

use std::fs::File;
use std::io::Read;

use curtsy_core::policy::{BasicAuth, OwnHost, Secret};
use curtsy_core::url::{Authority, Scheme};
use http::header::{self, HeaderName, HeaderValue};

use crate::proxies::Proxies;
use crate::settings::{SettingsError, basic};

/// The headers for one origin.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) at: Authority,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Reads the credentials of the policy's hosts.
pub(crate) fn read(
    hosts: &[OwnHost],
    proxies: &Proxies,
) -> Result<Vec<Credentials>, SettingsError> {
    let is_proxied = |at: &Authority| proxies.of_origin(at.scheme, &at.host, at.port).is_some();
    hosts.iter().map(|host| read_one(host, is_proxied(&host.at))).collect()
}

fn read_one(host: &OwnHost, proxied: bool) -> Result<Credentials, SettingsError> {
    let name = host.at.host.as_str();
    let key = |field: &str| format!("host.\"{name}\".{field}");
    if proxied && host.at.scheme == Scheme::Http {
        return Err(SettingsError::Own {
            key: key("origin"),
            problem: "is `http`, and the proxy would read what is sent there".to_owned(),
            hint: "use `https`, or crawl this host without a proxy",
        });
    }
    let mut headers = Vec::new();
    for (header, secret) in &host.headers {
        let key = key(&format!("header.{header}"));
        let value = sent(&key, &text(&key, secret)?)?;
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| SettingsError::Own {
            key,
            problem: "is no name of a header".to_owned(),
            hint: HINT,
        })?;
        headers.push((name, value));
    }
    if let Some(BasicAuth { user, password }) = &host.basic_auth {
        let key = key("basic_auth.password");
        let password = text(&key, password)?;
        headers.push((header::AUTHORIZATION, sent(&key, &basic(user, &password))?));
    }
    if let Some(cookie) = &host.cookie {
        let key = key("cookie");
        headers.push((header::COOKIE, sent(&key, &text(&key, cookie)?)?));
    }
    Ok(Credentials { at: host.at.clone(), headers })
}

/// Reads a secret, without the line end of a text file.
fn text(key: &str, secret: &Secret) -> Result<String, SettingsError> {
    let wrong = |problem: String| SettingsError::Own { key: key.to_owned(), problem, hint: HINT };
    let found = match secret {
        Secret::Env(name) => std::env::var(name).map_err(|why| match why {
            std::env::VarError::NotPresent => {
                wrong(format!("needs the variable `{name}`, which is not set"))
            }
            std::env::VarError::NotUnicode(_) => {
                wrong(format!("needs the variable `{name}`, which is no text"))
            }
        })?,
        Secret::File(path) => {
            let mut found = String::new();
            let file = File::open(path).map(|file| file.take(VALUE_BYTES_MAX as u64 + 1));
            let read = file.and_then(|mut file| file.read_to_string(&mut found));
            read.map_err(|why| {
                wrong(format!("needs the file `{path}`, which can\'t be read: {}", why.kind()))
            })?;
            found
        }
    };
    let found = found.trim_end_matches(['\r', '\n']);
    match found.len() {
        0 => Err(wrong("is empty".to_owned())),
        VALUE_BYTES_OVER.. => Err(wrong(format!("has more than {VALUE_BYTES_MAX} bytes"))),
        _ => Ok(found.to_owned()),
    }
}

/// Converts a value to a header that debug output hides.
fn sent(key: &str, value: &str) -> Result<HeaderValue, SettingsError> {
    let plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let value = HeaderValue::from_str(value).ok().filter(|_| plain);
    let mut value = value.ok_or_else(|| SettingsError::Own {
        key: key.to_owned(),
        problem: "has a character that no header may have".to_owned(),
        hint: HINT,
    })?;
    value.set_sensitive(true);
    Ok(value)
}

const HINT: &str = "set it before the crawl begins; nothing was sent";
/// The largest length of a secret.
pub(crate) const VALUE_BYTES_MAX: usize = 8192;
const VALUE_BYTES_OVER: usize = VALUE_BYTES_MAX + 1;
