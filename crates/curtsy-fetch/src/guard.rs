//! Decides which addresses may be dialled: public ones, and those that the user allowed.
//!
//! The table has the IANA special-purpose registries (RFC 6890 and its updates) as far as they are
//! not globally reachable, plus multicast and reserved networks. IPv6 addresses that embed an IPv4
//! address are refused, with one exception: an address in `::ffff:0:0/96` is its IPv4 address to
//! every socket, and is judged as that. Outside `2000::/3` nothing is assigned.
//!
//! The guard judges the address that is dialled, after the lookup, and the peer that the socket
//! reports.
//!
//! A host of this machine that the user named (`curtsy crawl http://localhost:8000/`) is open at
//! that port, under that name, and only at a loopback address. The same socket under another name
//! stays closed, because the user did not name that host.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use curtsy_core::url::{CrawlUrl, HostKey};
use ipnet::IpNet;

/// Judges addresses.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
    named: Vec<NamedHost>,
    only: bool,
}

/// A host of this machine with a port, as the user named it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedHost {
    /// A loopback address, `localhost` or a name below `localhost`.
    pub host: HostKey,
    /// The port.
    pub port: u16,
}

/// Why an address may not be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForbiddenAddress {
    /// What the address is for.
    pub what: &'static str,
    /// The network that the user could allow; none for a public address, or if that would make no
    /// sense.
    pub net: Option<IpNet>,
}

/// A refusal of the guard for people: the address, its purpose, and what would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRefusal {
    /// The host, with its port if that is not the default.
    pub host: String,
    /// The address that was not dialled.
    pub address: IpAddr,
    /// What the address is for.
    pub what: &'static str,
    /// The flag that would allow it, if there is one.
    pub allow: Option<String>,
}

impl GuardRefusal {
    /// Returns the refusal of a URL's host because of one of its addresses.
    pub fn new(url: &CrawlUrl, address: IpAddr, forbidden: ForbiddenAddress) -> GuardRefusal {
        let allow = match forbidden.net {
            // This machine has an address of each family, and either may be dialled.
            Some(_) if url.host().is_localhost() => {
                Some("--allow-net 127.0.0.0/8 --allow-net ::1/128".to_owned())
            }
            Some(net) => Some(format!("--allow-net {net}")),
            None if forbidden == NO_CONTACT => Some("--contact me@example.org".to_owned()),
            None => None,
        };
        let address = address.to_canonical();
        GuardRefusal { host: GuardRefusal::host(url), address, what: forbidden.what, allow }
    }

    /// Returns the name under which the refusal of a URL's host is kept.
    pub fn host(url: &CrawlUrl) -> String {
        match url.port() == url.scheme().default_port() {
            true => url.host().to_string(),
            false => format!("{}:{}", url.host(), url.port()),
        }
    }

    /// Returns the refusal of a URL whose host is an address, for readers of a row.
    pub fn of_literal(url: &CrawlUrl) -> Option<GuardRefusal> {
        let address = url.ip()?;
        let forbidden = Guard::default().judge(address).err()?;
        Some(GuardRefusal::new(url, address, forbidden))
    }
}

/// `10.0.0.1 is not dialled (private use): --allow-net 10.0.0.0/8 allows it`.
impl fmt::Display for GuardRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GuardRefusal { host, address, what, allow } = self;
        match host.starts_with(HostKey::from(*address).as_str()) {
            true => write!(f, "{host} is not dialled ({what})")?,
            false => write!(f, "{host} is at {address}, which is not dialled ({what})")?,
        }
        match allow {
            Some(flag) => write!(f, ": `{flag}` allows it"),
            None if *what == THIS_NETWORK => f.write_str(": write `localhost` for this machine"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ForbiddenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Guard {
    /// Returns a guard that also permits these networks.
    pub fn new(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, ..Guard::default() }
    }

    /// Returns a guard that permits only these networks: for a crawl without a contact.
    pub fn only(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, only: true, ..Guard::default() }
    }

    /// Adds hosts of this machine that the user named.
    pub fn naming(self, named: Vec<NamedHost>) -> Guard {
        Guard { named, ..self }
    }

    /// Judges an address by itself, whoever is looked for there.
    ///
    /// ```
    /// use curtsy_fetch::Guard;
    /// let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()]);
    /// assert!(guard.judge("127.0.0.1".parse().unwrap()).is_ok());
    /// assert!(guard.judge("10.0.0.1".parse().unwrap()).is_err());
    /// assert!(guard.judge("8.8.8.8".parse().unwrap()).is_ok());
    /// ```
    pub fn judge(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        let address = address.to_canonical();
        if self.allows(address) {
            return Ok(());
        }
        match special(address) {
            Some((what, net)) => Err(ForbiddenAddress {
                what,
                net: Some(net).filter(|_| !POINTLESS.contains(&what)),
            }),
            None if self.only => Err(NO_CONTACT),
            None => Ok(()),
        }
    }

    /// Judges an address before a host is dialled there.
    pub fn judge_for(&self, host: &HostKey, address: SocketAddr) -> Result<(), ForbiddenAddress> {
        if self.opens(host, address) { Ok(()) } else { self.judge(address.ip()) }
    }

    /// Whether the user allowed this address of this host: its network, or the host itself.
    pub fn allows_for(&self, host: &HostKey, address: SocketAddr) -> bool {
        self.allows(address.ip()) || self.opens(host, address)
    }

    /// Whether the user named this host with this port, and it is at an address of this machine.
    fn opens(&self, host: &HostKey, address: SocketAddr) -> bool {
        let named = |own: &NamedHost| own.port == address.port() && own.host == *host;
        address.ip().to_canonical().is_loopback() && self.named.iter().any(named)
    }

    /// Whether the user allowed this address by its network.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allowed.iter().any(|net| net.contains(&address))
    }
}

/// Whether a name can never be that of a public server: `localhost` (RFC 6761), `local` (RFC 6762),
/// `home.arpa` (RFC 8375), `internal` (ICANN, 2024), and every name below them.
pub(crate) fn is_never_public(name: &str) -> bool {
    let below = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    NEVER_PUBLIC.iter().any(|end| name == *end || below(end))
}

const NEVER_PUBLIC: [&str; 4] = ["localhost", "local", "home.arpa", "internal"];

/// Returns what an address is for and its network, if the address is not public.
fn special(address: IpAddr) -> Option<(&'static str, IpNet)> {
    let row = NETWORKS.iter().find(|(net, _)| net.contains(&address));
    if let Some((net, what)) = row {
        return Some((what, *net));
    }
    match address {
        IpAddr::V6(v6) if v6.segments()[0] & 0xe000 != 0x2000 => {
            Some(("not assigned for global use", address.into()))
        }
        _ => None,
    }
}

/// A public address, in a crawl without a contact.
const NO_CONTACT: ForbiddenAddress =
    ForbiddenAddress { what: "a public address, and the crawl has no contact", net: None };

const THIS_NETWORK: &str = "this network";

/// Networks that contain no sites: no flag is suggested for them. Link-local addresses include the
/// metadata services of clouds.
const POINTLESS: [&str; 8] = [
    THIS_NETWORK,
    "unspecified",
    "link local",
    "multicast",
    "reserved",
    "discard only",
    "IPv4-compatible",
    "not assigned for global use",
];

/// Networks that are not public. The first that fits counts.
static NETWORKS: LazyLock<Vec<(IpNet, &str)>> = LazyLock::new(|| {
    let lines = include_str!("networks.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let (net, what) = line.split_once(' ').expect("a network and its purpose");
        (net.parse().expect("a network"), what)
    };
    lines.map(read).collect()
});

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// Each network: its first address, its last, one between, and of IPv4 those beside it.
    #[test]
    fn every_network_of_the_table_ends_where_it_says() {
        let judge = |address: IpAddr| Guard::default().judge(address).map_err(|f| f.what);
        for (net, what) in NETWORKS.iter() {
            match net {
                IpNet::V4(net) => {
                    let (first, last) = (u32::from(net.network()), u32::from(net.broadcast()));
                    for inside in [first, last, first + (last - first) / 2] {
                        let address = Ipv4Addr::from(inside);
                        assert_eq!(judge(address.into()), Err(*what), "{address}");
                    }
                    for beside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten()
                    {
                        let address = Ipv4Addr::from(beside);
                        assert_ne!(judge(address.into()), Err(*what), "{address} is beside {what}");
                    }
                }
                IpNet::V6(net) => {
                    let (first, last) = (u128::from(net.network()), u128::from(net.broadcast()));
                    for inside in [first, last, first + (last - first) / 2] {
                        let address = Ipv6Addr::from(inside);
                        // A mapped address is judged as IPv4; `::` and `::1` have rows of their
                        // own.
                        assert!(judge(address.into()).is_err(), "{address}: {what}");
                    }
                }
            }
        }
    }

    #[test]
    fn public_addresses_are_dialled() {
        let guard = Guard::default();
        let public = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 \
            172.32.0.0 192.0.1.0 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 \
            2001:200:: 2001:4860:4860::8888 2003:: 2a00::1 3ffd:ffff:: ::ffff:8.8.8.8";
        for public in public.split(' ') {
            assert_eq!(guard.judge(public.parse().unwrap()), Ok(()), "{public}");
        }
    }

    #[test]
    fn an_ipv4_address_in_ipv6_dress_is_not_a_way_around() {
        let guard = Guard::default();
        let hidden = "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::8.8.8.8 \
            ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::a00:1 \
            2002:7f00:1:: 2002:808:808:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 fe80::1 fd00::1 \
            ff02::1 4000::1 ::2";
        for hidden in hidden.split(' ') {
            assert!(guard.judge(hidden.parse().unwrap()).is_err(), "{hidden}");
        }
    }

    #[test]
    fn an_allowed_network_opens_itself_and_nothing_else() {
        let only = Guard::only(vec!["10.1.0.0/16".parse().unwrap()]);
        assert!(only.judge("10.1.2.3".parse().unwrap()).is_ok());
        assert!(only.judge("10.2.0.1".parse().unwrap()).is_err());
        assert!(only.judge("8.8.8.8".parse().unwrap()).is_err());
        let guard = Guard::new(vec!["10.1.0.0/16".parse().unwrap(), "fd12::/16".parse().unwrap()]);
        for allowed in ["10.1.2.3", "::ffff:10.1.2.3", "fd12:1::1"] {
            assert!(guard.judge(allowed.parse().unwrap()).is_ok(), "{allowed}");
        }
        for forbidden in ["10.2.0.0", "127.0.0.1", "fd13::1", "::1"] {
            assert!(guard.judge(forbidden.parse().unwrap()).is_err(), "{forbidden}");
        }
    }

    /// The host, the port and the address all count.
    #[test]
    fn a_named_host_opens_its_own_port_under_its_own_name() {
        let own = |host: &str, port| NamedHost { host: HostKey::parse(host).unwrap(), port };
        let named = vec![own("localhost", 8000), own("127.0.0.2", 81)];
        let guard = Guard::default().naming(named);
        let check = |host: &str, address: &str, open: bool| {
            let host = HostKey::parse(host).unwrap();
            let judged = guard.judge_for(&host, address.parse().unwrap());
            assert_eq!(judged.is_ok(), open, "{host} at {address}: {judged:?}");
        };
        check("localhost", "127.0.0.1:8000", true);
        check("localhost", "[::1]:8000", true);
        check("127.0.0.2", "127.0.0.2:81", true);
        check("localhost", "127.0.0.1:8001", false);
        check("a.localhost", "127.0.0.1:8000", false);
        check("127.0.0.1", "127.0.0.1:8000", false);
        check("evil.example", "127.0.0.1:8000", false);
        check("127.0.0.2", "127.0.0.2:8000", false);
        // A hosts file that maps `localhost` elsewhere opens nothing.
        check("localhost", "10.0.0.1:8000", false);
        check("localhost", "8.8.8.8:8000", true);
        // The address alone is not open.
        assert!(guard.judge("127.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn a_refusal_names_the_flag_that_allows_it() {
        let check = |host: &str, expected: &str| {
            let url = CrawlUrl::parse(&format!("http://{host}/")).unwrap();
            let refused = GuardRefusal::of_literal(&url).unwrap();
            assert_eq!(refused.to_string(), expected);
        };
        check(
            "10.1.2.3",
            "10.1.2.3 is not dialled (private use): `--allow-net 10.0.0.0/8` allows it",
        );
        check(
            "192.168.0.1",
            "192.168.0.1 is not dialled (private use): `--allow-net 192.168.0.0/16` allows it",
        );
        check(
            "[fd00::1]:81",
            "[fd00::1]:81 is not dialled (unique local): `--allow-net fc00::/7` allows it",
        );
        check("169.254.169.254", "169.254.169.254 is not dialled (link local)");
        check(
            "0.0.0.0",
            "0.0.0.0 is not dialled (this network): write `localhost` for this machine",
        );
        assert_eq!(GuardRefusal::of_literal(&CrawlUrl::parse("http://8.8.8.8/").unwrap()), None);
    }
}
