//! One key for every spelling of a host.
//!
//! Pace and backoff belong to this key, so an alias would be a second pace on the same server. The
//! WHATWG host parser folds case, percent signs, fullwidth and other compatibility characters,
//! Unicode and punycode names, and the odd spellings of IPv4 (`0x7f.1`, `2130706433`,
//! `0177.0.0.1`). Two folds are ours:
//!
//! - the trailing dot of a name: `example.org.` is `example.org`;
//! - an IPv4 address within IPv6 (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) is that IPv4 address: the
//!   same server answers.
//!
//! Not folded, because only the network knows: NAT64 and 6to4 embeddings, `www.`, two names for one
//! address. The guard, not this key, decides which addresses must not be dialled.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ::url::Host;
use xxhash_rust::xxh3::xxh3_64;

use super::UrlError;

/// A host in its normal form, without scheme and port. An IPv6 address has its brackets.
///
/// ```
/// use curtsy_core::url::HostKey;
/// let key = HostKey::parse("bücher.example").unwrap();
/// assert_eq!(key.as_str(), "xn--bcher-kva.example");
/// assert_eq!(HostKey::parse("XN--Bcher-KVA.EXAMPLE.").unwrap(), key);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey(Arc<str>);

impl HostKey {
    /// The longest name in the DNS, without the trailing dot (RFC 1035 §2.3.4).
    pub const NAME_BYTES_MAX: usize = 253;
    /// The longest label of a name.
    pub const LABEL_BYTES_MAX: usize = 63;
    /// The longest text that is parsed: a name may be written with percent signs or in Unicode.
    const TEXT_BYTES_MAX: usize = 4096;

    /// Parses a host as it is written in a URL. The brackets of an IPv6 address are optional.
    pub fn parse(text: &str) -> Result<HostKey, UrlError> {
        if text.len() > Self::TEXT_BYTES_MAX {
            return Err(UrlError::TooLong { bytes: text.len(), bytes_max: Self::TEXT_BYTES_MAX });
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Self::from_host(Host::Ipv6::<&str>(address));
        }
        Self::from_host(Host::parse(text).map_err(UrlError::Syntax)?)
    }

    /// Applies our own folds.
    pub(super) fn from_host<S: AsRef<str>>(host: Host<S>) -> Result<HostKey, UrlError> {
        match host {
            Host::Domain(name) => Self::from_name(name.as_ref()),
            Host::Ipv4(v4) => Ok(Self::from(IpAddr::V4(v4))),
            Host::Ipv6(v6) => Ok(Self::from(IpAddr::V6(v6))),
        }
    }

    fn from_name(name: &str) -> Result<HostKey, UrlError> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.len() > Self::NAME_BYTES_MAX {
            return Err(UrlError::Host("is longer than 253 bytes"));
        }
        for label in name.split('.') {
            if label.is_empty() {
                return Err(UrlError::Host("has an empty part"));
            }
            if label.len() > Self::LABEL_BYTES_MAX {
                return Err(UrlError::Host("has a part longer than 63 bytes"));
            }
        }
        Ok(HostKey(name.into()))
    }

    /// Returns the normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.0.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
            // The WHATWG parser allows no name that ends in a number, so what parses as an address
            // is one.
            None => self.0.parse().ok().map(IpAddr::V4),
        }
    }

    /// Returns whether the host is this machine by its name alone: a loopback address, `localhost`,
    /// or a name below `localhost` (RFC 6761 §6.3). A name that the DNS resolves to a loopback
    /// address is not.
    ///
    /// ```
    /// use curtsy_core::url::HostKey;
    /// let names = |text: &str| HostKey::parse(text).unwrap().names_this_machine();
    /// assert!(names("127.0.0.1") && names("::1") && names("localhost.") && names("a.localhost"));
    /// assert!(!names("0.0.0.0") && !names("localhost.example") && !names("notlocalhost"));
    /// ```
    pub fn names_this_machine(&self) -> bool {
        match self.ip() {
            Some(address) => address.is_loopback(),
            None => self.is_localhost(),
        }
    }

    /// Returns whether the host is `localhost` or a name below it.
    pub fn is_localhost(&self) -> bool {
        self.0.strip_suffix("localhost").is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Returns the host's seed for random numbers, the same in every process.
    pub fn seed(&self) -> u64 {
        xxh3_64(self.0.as_bytes())
    }
}

impl From<IpAddr> for HostKey {
    fn from(address: IpAddr) -> HostKey {
        match address.to_canonical() {
            IpAddr::V4(v4) => HostKey(v4.to_string().into()),
            // `url` writes IPv6 by RFC 5952 as WHATWG demands. `std` differs in addresses that end
            // in an IPv4 one.
            IpAddr::V6(v6) => HostKey(Host::<&str>::Ipv6(v6).to_string().into()),
        }
    }
}
