//! Credentials for the user's own hosts: headers, a login by HTTP Basic, a cookie.
//!
//! A crawl has no cookies and no credentials. The one exception is a host that the policy names as
//! the user's own, such as a staging site behind a password. A policy never holds a secret. It
//! names the variable or file with the secret, so the policy can be shown, hashed and stored.
//! `curtsy-fetch` reads the secret and sends it to one origin only.

use super::HostOverride;
use super::value::quoted;
use crate::url::{Authority, CrawlUrl, HostKey, Scheme};

/// The place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// An environment variable.
    Env(String),
    /// A file, by its absolute path.
    File(String),
}

/// A user and the place of the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// The user.
    pub user: String,
    /// The password.
    pub password: Secret,
}

/// The credentials for one of the user's own hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHost {
    /// The only origin to which they are sent.
    pub at: Authority,
    /// Headers by name.
    pub headers: Vec<(String, Secret)>,
    /// A login by HTTP Basic (RFC 7617).
    pub basic_auth: Option<BasicAuth>,
    /// The `Cookie` header.
    pub cookie: Option<Secret>,
}

impl HostOverride {
    /// Returns whether the section has credentials.
    pub(super) fn has_credentials(&self) -> bool {
        self.headers.is_some() || self.basic_auth.is_some() || self.cookie.is_some()
    }

    /// Returns the credentials of the section, or `None` if it has none.
    pub(super) fn own(&self, host: &str) -> Option<OwnHost> {
        Some(OwnHost {
            at: self.has_credentials().then(|| self.at(host))??,
            headers: self.headers.clone().unwrap_or_default(),
            basic_auth: self.basic_auth.clone(),
            cookie: self.cookie.clone(),
        })
    }

    /// Returns the origin to which the credentials are sent.
    fn at(&self, host: &str) -> Option<Authority> {
        let origin = self.origin.clone().unwrap_or_else(|| format!("https://{host}"));
        read_origin(&origin).filter(|at| at.host.as_str() == host)
    }

    /// Returns what is wrong with the section as a whole: key, problem and hint.
    pub(super) fn odds(&self, host: &str) -> Option<(&'static str, String, Option<String>)> {
        let headers = || self.headers.iter().flatten();
        let named = |name: &str| headers().any(|(n, _)| n.eq_ignore_ascii_case(name));
        if !self.has_credentials() {
            let key = self.origin.as_ref().map(|_| "origin");
            let key = key.or(self.plain_http.map(|_| "plain_http"))?;
            let problem = "has no effect without `header`, `basic_auth` or `cookie`".to_owned();
            return Some((key, problem, None));
        }
        let Some(at) = self.at(host) else {
            let hint =
                format!("write `origin = \"https://{host}\"`, with the port if it is not 443");
            return Some(("origin", "is not an origin of this host".to_owned(), Some(hint)));
        };
        if at.scheme == Scheme::Http && !is_loopback(&at.host) && self.plain_http != Some(true) {
            let hint =
                "use `https`, or write `plain_http = true` if the network between is your own";
            let problem = "sends credentials without encryption".to_owned();
            return Some(("origin", problem, Some(hint.to_owned())));
        }
        let twice =
            |key, header| (key, format!("is there twice, also as the header `{header}`"), None);
        if self.basic_auth.is_some() && named("authorization") {
            return Some(twice("basic_auth", "Authorization"));
        }
        if self.cookie.is_some() && named("cookie") {
            return Some(twice("cookie", "Cookie"));
        }
        None
    }
}

/// Returns whether a name or an address is this machine's.
fn is_loopback(host: &HostKey) -> bool {
    let name = host.as_str();
    host.ip().is_some_and(|ip| ip.to_canonical().is_loopback())
        || name == "localhost"
        || name.ends_with(".localhost")
}

/// Parses an origin without a path, such as `https://example.org:8443`.
pub(super) fn read_origin(text: &str) -> Option<Authority> {
    let url = CrawlUrl::parse(text).ok()?;
    let bare = url.path_and_query() == "/" && !text.contains(['@', '#', '?', '\\']);
    bare.then(|| url.authority())
}

impl Secret {
    /// Returns the place of a variable, if its name is valid.
    pub(super) fn env(name: &str) -> Option<Secret> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fits = name.bytes().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        (fits && (1..=NAME_BYTES_MAX).contains(&name.len())).then(|| Secret::Env(name.to_owned()))
    }

    /// Returns the place of a file. Its path is absolute, since a policy is read in any folder.
    pub(super) fn file(path: &str) -> Option<Secret> {
        let fits = path.starts_with('/') && path.len() <= PATH_BYTES_MAX;
        (fits && !path.contains(char::is_control)).then(|| Secret::File(path.to_owned()))
    }

    pub(super) fn write_toml(&self) -> String {
        match self {
            Secret::Env(name) => format!("{{ env = {} }}", quoted(name)),
            Secret::File(path) => format!("{{ file = {} }}", quoted(path)),
        }
    }
}

/// Returns whether a header may be added: it has a name by RFC 9110 §5.1, and does not concern
/// framing, the next hop, the crawler's identity or the decisions of the crawl.
pub(super) fn is_header(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let lower = name.to_ascii_lowercase();
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(token)
        && !OURS.split(' ').any(|ours| ours == lower)
        && !["proxy-", "if-", "accept"].iter().any(|start| lower.starts_with(start))
}

/// Returns whether HTTP Basic allows the user name (RFC 7617 §2): no colon, no control character.
pub(super) fn is_user(user: &str) -> bool {
    let fits = !user.contains(':') && !user.contains(char::is_control);
    fits && (1..=NAME_BYTES_MAX).contains(&user.len())
}

/// Limit of the headers for one host.
pub const HEADERS_MAX: usize = 16;
const NAME_BYTES_MAX: usize = 128;
const PATH_BYTES_MAX: usize = 4096;
/// Headers that a policy must not add.
const OURS: &str = "connection content-encoding content-length content-type expect from host \
    http2-settings keep-alive range referer te trailer transfer-encoding upgrade user-agent via";
