//! Settings of fetching besides the policy: names, networks, a proxy, certificates.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use curtsy_core::policy::{BodyPolicy, OwnHost, Policy, Timeouts};
use curtsy_core::url::HostKey;
use data_encoding::BASE64;
use ipnet::IpNet;
use url::Url;

use crate::ask::{ACCEPT, ACCEPT_ENCODING};
use crate::guard::NamedHost;
use crate::proxies::Proxies;

/// The settings of an [`Outlet`](crate::Outlet).
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// The timeout of each phase.
    pub timeouts: Timeouts,
    /// Limits and types of bodies.
    pub body: BodyPolicy,
    /// The lowest speed of a body, and of a head.
    pub floor: SpeedFloor,
    /// The largest number of connections of the process.
    pub connections_max: u32,
    /// Idle connections that are kept for one authority: as many as it has slots.
    pub idle_per_authority: usize,
    /// The largest number of bytes of bodies in memory.
    pub body_memory: u64,
    /// The `From` header: the contact, if it is a mail address.
    pub from: Option<String>,
    /// Networks that may be dialled besides the public ones.
    pub allow_net: Vec<IpNet>,
    /// Hosts of this machine that the user named: each may be dialled at its port.
    pub named: Vec<NamedHost>,
    /// Whether `slots.per_address` applies to addresses of those networks too.
    pub count_allowed: bool,
    /// Whether public addresses may be dialled at all.
    pub public: bool,
    /// Names with given addresses; the first that fits counts.
    pub pins: Vec<NamePin>,
    /// Which requests use which proxy.
    pub proxies: Proxies,
    /// Further certificate authorities, in PEM: the content of `--ca-file`.
    pub ca_pem: Vec<u8>,
    /// The user's own hosts, and the sources of their credentials.
    pub own: Vec<OwnHost>,
    /// Whether compressed responses are requested.
    pub compress: bool,
    /// Whether HTTP/2 is offered in TLS.
    pub http2: bool,
}

impl FetchSettings {
    /// Returns the value of a header that every request has. The name is in lower case.
    pub fn says<'s>(&'s self, name: &str, user_agent: &'s str) -> Option<&'s str> {
        match name {
            "user-agent" => Some(user_agent),
            "accept" => Some(ACCEPT),
            "accept-encoding" => self.compress.then_some(ACCEPT_ENCODING),
            "from" => self.from.as_deref(),
            _ => None,
        }
    }

    /// Returns the settings of a policy alone: no proxy, no pins, public addresses only.
    pub fn of(policy: &Policy) -> FetchSettings {
        FetchSettings {
            timeouts: policy.timeout.clone(),
            body: policy.body.clone(),
            floor: SpeedFloor::within(policy.timeout.whole),
            connections_max: policy.slots.total_connections,
            idle_per_authority: usize::from(policy.slots.per_host),
            body_memory: policy.slots.body_memory,
            from: policy.identity.contact.as_deref().and_then(mail_address),
            allow_net: Vec::new(),
            named: Vec::new(),
            count_allowed: false,
            public: true,
            pins: Vec::new(),
            proxies: Proxies::default(),
            ca_pem: Vec::new(),
            own: policy.own_hosts(),
            compress: true,
            http2: true,
        }
    }
}

impl FetchSettings {
    /// Returns a number for all settings that decide whether a host can be reached.
    pub fn fingerprint(&self) -> u64 {
        let FetchSettings { allow_net, named, public, pins, proxies, ca_pem, .. } = self;
        let mut hasher = DefaultHasher::new();
        (
            format!("{allow_net:?} {named:?} {public} {pins:?} {proxies:?}"),
            proxies.logins(),
            ca_pem,
        )
            .hash(&mut hasher);
        hasher.finish()
    }
}

/// The lowest speed: so many bytes in every window. A head must be complete one window after its
/// first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeedFloor {
    /// Bytes of the body, as they come.
    pub bytes: u64,
    /// The window.
    pub window: Duration,
}

impl SpeedFloor {
    /// Returns the same speed over at most half of an exchange's time, so that the limit has an
    /// effect.
    pub fn within(whole: Duration) -> SpeedFloor {
        let floor = SpeedFloor::default();
        let window = floor.window.min(whole / 2);
        let part = window.as_secs_f64() / floor.window.as_secs_f64();
        SpeedFloor { bytes: (floor.bytes as f64 * part) as u64, window }
    }
}

/// 1 KiB a second, over 15 seconds.
impl Default for SpeedFloor {
    fn default() -> SpeedFloor {
        SpeedFloor { bytes: 15 * 1024, window: Duration::from_secs(15) }
    }
}

/// A wrong setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A pin that cannot be read.
    #[error(
        "`{0}` pins no name\nhint: write `example.test=127.0.0.1`, or `*.test=127.0.0.1` for every name below"
    )]
    Pin(String),
    /// A proxy that cannot be read. The text may contain a password and is not shown.
    #[error(
        "the proxy {0}\nhint: write `http://proxy.example:3128` or `http://user:password@proxy.example:3128`"
    )]
    Proxy(&'static str),
    /// A kind of proxy that is not supported, and an alternative.
    #[error("{0}, only HTTP proxies are\nhint: write `http://proxy.example:3128`; {1}")]
    ProxyKind(&'static str, &'static str),
    /// Certificates that cannot be read.
    #[error(
        "the certificates of `--ca-file` can't be used: {0}\nhint: give a file of certificates in PEM form"
    )]
    CaFile(String),
    /// Credentials that cannot be used. The text never shows them.
    #[error("`{key}` {problem}\nhint: {hint}")]
    Own {
        /// The setting.
        key: String,
        /// What is wrong with it.
        problem: String,
        /// The next step.
        hint: &'static str,
    },
}

/// A name with its address: `example.test=127.0.0.1`, or `*.test=127.0.0.1` for every name below.
///
/// ```
/// use curtsy_fetch::NamePin;
/// let pin: NamePin = "*.test=127.0.0.1".parse().unwrap();
/// assert!(pin.fits("a.b.test") && !pin.fits("test") && !pin.fits("latest"));
/// assert!("example.org".parse::<NamePin>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePin {
    name: String,
    below: bool,
    /// The addresses of the name, in order.
    pub addresses: Vec<IpAddr>,
}

impl NamePin {
    /// Whether the pin is for a normalised name.
    pub fn fits(&self, name: &str) -> bool {
        match self.below {
            // `*` alone is for every name.
            true if self.name.is_empty() => true,
            true => name.strip_suffix(&self.name).is_some_and(|rest| rest.ends_with('.')),
            false => name == self.name,
        }
    }
}

impl FromStr for NamePin {
    type Err = SettingsError;
    fn from_str(text: &str) -> Result<NamePin, SettingsError> {
        let wrong = || SettingsError::Pin(text.to_owned());
        let (pattern, addresses) = text.split_once('=').ok_or_else(wrong)?;
        let (name, below) = match pattern.trim().strip_prefix('*') {
            Some("") => (String::new(), true),
            Some(rest) => (rest.strip_prefix('.').ok_or_else(wrong)?.to_owned(), true),
            None => (pattern.trim().to_owned(), false),
        };
        let name = match name.as_str() {
            "" if below => name,
            _ => HostKey::parse(&name).map_err(|_| wrong())?.as_str().to_owned(),
        };
        let read = |a: &str| a.trim().trim_matches(['[', ']']).parse().map_err(|_| wrong());
        let addresses = addresses.split(',').map(read).collect::<Result<Vec<IpAddr>, _>>()?;
        Ok(NamePin { name, below, addresses })
    }
}

/// An HTTP proxy, with user and password if it needs them.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpProxy {
    /// Its host.
    pub host: HostKey,
    /// Its port.
    pub port: u16,
    /// `Basic …`, ready to be sent.
    pub(crate) authorization: Option<String>,
}

impl HttpProxy {
    /// Adds a user and a password.
    pub fn with_login(self, user: &str, password: &str) -> HttpProxy {
        HttpProxy { authorization: Some(basic(user, password)), ..self }
    }
}

/// The password is never shown.
impl std::fmt::Debug for HttpProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let login = if self.authorization.is_some() { ", with a login" } else { "" };
        write!(f, "Proxy({}:{}{login})", self.host, self.port)
    }
}

impl FromStr for HttpProxy {
    type Err = SettingsError;
    fn from_str(text: &str) -> Result<HttpProxy, SettingsError> {
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).map_err(|_| SettingsError::Proxy("is no URL"))?;
        if url.scheme() != "http" {
            return Err(match url.scheme() {
                scheme if scheme.starts_with("socks") => SettingsError::ProxyKind(
                    "SOCKS proxies are not supported",
                    "many proxies that speak SOCKS speak HTTP too, often on another port",
                ),
                "https" => SettingsError::ProxyKind(
                    "a proxy that is itself reached by TLS is not supported",
                    "pages with `https` go through an `http` proxy encrypted from end to end",
                ),
                _ => SettingsError::ProxyKind("no such kind of proxy is supported", "write `http`"),
            });
        }
        let host = url.host_str().ok_or(SettingsError::Proxy("has no host"))?;
        let host = HostKey::parse(host).map_err(|_| SettingsError::Proxy("has no usable host"))?;
        let proxy = HttpProxy { host, port: url.port().unwrap_or(80), authorization: None };
        if url.username().is_empty() && url.password().is_none() {
            return Ok(proxy);
        }
        let user = percent_decoded(url.username());
        let password = percent_decoded(url.password().unwrap_or_default());
        Ok(proxy.with_login(&user, &password))
    }
}

fn mail_address(contact: &str) -> Option<String> {
    let contact = contact.strip_prefix("mailto:").unwrap_or(contact);
    let mail = contact.contains('@') && !contact.contains("://");
    mail.then(|| contact.to_owned())
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let pair =
            after.get(..2).and_then(|p| u8::from_str_radix(str::from_utf8(p).ok()?, 16).ok());
        match pair {
            Some(value) if byte == b'%' => {
                out.push(value);
                rest = &after[2..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the credentials of RFC 7617.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_by_the_vectors_of_rfc_4648() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(BASE64.encode(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_proxy_takes_its_login_from_the_url_and_never_shows_it() {
        let proxy: HttpProxy = "http://me:p%40ss@proxy.test:3128".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.test", 3128));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(format!("{proxy:?}"), "Proxy(proxy.test:3128, with a login)");
        assert_eq!("proxy.test:8080".parse::<HttpProxy>().unwrap().authorization, None);
        for wrong in ["socks5://x:1", "https://x", "http://", "http://a b/"] {
            let error = wrong.parse::<HttpProxy>().unwrap_err();
            assert!(
                matches!(error, SettingsError::Proxy(_) | SettingsError::ProxyKind(..)),
                "{wrong}"
            );
        }
    }

    #[test]
    fn pins_are_exact_or_below() {
        let exact: NamePin = "Shop.Test.=127.0.0.1,[::1]".parse().unwrap();
        assert!(exact.fits("shop.test") && !exact.fits("a.shop.test"));
        assert_eq!(exact.addresses.len(), 2);
        assert!("*=10.0.0.1".parse::<NamePin>().unwrap().fits("any.example"));
        for wrong in ["a.test", "a.test=", "a.test=b.test", "=127.0.0.1", "*test=127.0.0.1"] {
            assert!(wrong.parse::<NamePin>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_floor_on_speed_fits_into_the_time_of_an_exchange() {
        assert_eq!(SpeedFloor::within(Duration::from_secs(30)), SpeedFloor::default());
        assert_eq!(SpeedFloor::within(Duration::from_secs(300)), SpeedFloor::default());
        let short = SpeedFloor { bytes: 2048, window: Duration::from_secs(2) };
        assert_eq!(SpeedFloor::within(Duration::from_secs(4)), short);
    }

    #[test]
    fn only_a_mail_address_becomes_from() {
        assert_eq!(mail_address("mailto:me@example.org").as_deref(), Some("me@example.org"));
        assert_eq!(mail_address("me@example.org").as_deref(), Some("me@example.org"));
        assert_eq!(mail_address("https://example.org/@me"), None);
    }
}
