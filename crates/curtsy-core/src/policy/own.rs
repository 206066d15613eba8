//! What is sent to one's own host: headers, a login by HTTP Basic, a cookie.
//!
//! A crawl has no cookies and no credentials. The one exception is a host that the policy names as one's own, such as a staging site
//! behind a password. A policy never holds a secret: it says in which variable or file the secret is found, so the policy can be shown,
//! hashed and stored. Who sends requests reads the secret itself (`curtsy-fetch`), and sends it to one origin only.

use super::HostOverride;
use super::value::quoted;
use crate::url::{Authority, CrawlUrl, HostKey, Scheme};

/// Where a secret is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In this variable of the environment.
    Env(String),
    /// In this file, by its whole path.
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

/// An own host: what is sent where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHost {
    /// The one origin to which it is sent.
    pub at: Authority,
    /// Headers by name.
    pub headers: Vec<(String, Secret)>,
    /// A login by HTTP Basic (RFC 7617).
    pub basic_auth: Option<BasicAuth>,
    /// The `Cookie` header.
    pub cookie: Option<Secret>,
}

impl HostOverride {
    /// Whether the section has anything to send.
    pub(super) fn has_credentials(&self) -> bool {
        !self.headers.is_empty() || self.basic_auth.is_some() || self.cookie.is_some()
    }

    /// What is sent to the host of this section; `None` if nothing is.
    pub(super) fn own(&self, host: &str) -> Option<OwnHost> {
        Some(OwnHost {
            at: self.has_credentials().then(|| self.at(host))??,
            headers: self.headers.clone(),
            basic_auth: self.basic_auth.clone(),
            cookie: self.cookie.clone(),
        })
    }

    /// The origin that the section is about.
    fn at(&self, host: &str) -> Option<Authority> {
        let origin = self.origin.clone().unwrap_or_else(|| format!("https://{host}"));
        read_origin(&origin).filter(|at| at.host.as_str() == host)
    }

    /// What is wrong with the section as a whole: key, problem and next step.
    pub(super) fn odds(&self, host: &str) -> Option<(&'static str, String, Option<String>)> {
        let named = |name: &str| self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
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

/// Whether a name or an address is this machine's.
fn is_loopback(host: &HostKey) -> bool {
    let name = host.as_str();
    host.ip().is_some_and(|ip| ip.to_canonical().is_loopback())
        || name == "localhost"
        || name.ends_with(".localhost")
}

/// `https://example.org:8443`, and nothing behind it.
pub(super) fn read_origin(text: &str) -> Option<Authority> {
    let url = CrawlUrl::parse(text).ok()?;
    let bare = url.path_and_query() == "/" && !text.contains(['@', '#', '?', '\\']);
    bare.then(|| url.authority())
}

impl Secret {
    /// A variable whose name is one.
    pub(super) fn env(name: &str) -> Option<Secret> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fits = name.bytes().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        (fits && (1..=NAME_BYTES_MAX).contains(&name.len())).then(|| Secret::Env(name.to_owned()))
    }

    /// A file by its whole path: a policy is not read in one folder only.
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

/// Whether a header may be added: a name by RFC 9110 §5.1, and none that frames a message, is meant for the next hop, says who we are,
/// or is decided by the crawl itself.
pub(super) fn is_header(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let lower = name.to_ascii_lowercase();
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(token)
        && !OURS.contains(&lower.as_str())
        && !["proxy-", "if-", "accept"].iter().any(|start| lower.starts_with(start))
}

/// A user of HTTP Basic (RFC 7617 §2): no colon, no control character.
pub(super) fn is_user(user: &str) -> bool {
    let fits = !user.contains(':') && !user.contains(char::is_control);
    fits && (1..=NAME_BYTES_MAX).contains(&user.len())
}

/// Headers of one host.
pub const HEADERS_MAX: usize = 16;
const NAME_BYTES_MAX: usize = 128;
const PATH_BYTES_MAX: usize = 4096;
/// Headers that nobody may add.
const OURS: [&str; 17] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "from",
    "host",
    "http2-settings",
    "keep-alive",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];
