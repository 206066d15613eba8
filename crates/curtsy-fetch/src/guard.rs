//! Which addresses may be dialled? Public ones only, and what the user allowed by name.
//!
//! The table is the IANA special-purpose registries (IPv4 and IPv6, RFC 6890 and its updates): everything there that isn't globally reachable,
//! plus multicast and what is reserved. IPv6 addresses that carry an IPv4 one are refused as a class, whatever they carry, with one
//! exception: `::ffff:0:0/96` *is* its IPv4 address to every socket, so it is judged as that. Outside `2000::/3` nothing is assigned, so
//! nothing there is dialled.
//!
//! Judged is the address that is dialled, after the name was looked up, and once more the peer that the socket reports.
//!
//! A host of this machine that the user named (`curtsy crawl http://localhost:8000/`) is open at that port under that very name, and only
//! where its address is a loopback address. The same socket under another name stays shut: whoever answers for the other name was not
//! named by the user.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use curtsy_core::url::{CrawlUrl, HostKey};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

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
pub struct Forbidden {
    /// What the address is for.
    pub what: &'static str,
    /// The network that would have to be allowed; none where a public address is refused, or where allowing makes no sense.
    pub net: Option<IpNet>,
}

/// A host that the guard refused, for people: the address, what it is for, and what would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRefusal {
    /// The host as the URL has it, with its port where that is not the usual one.
    pub host: String,
    /// The address that was not dialled.
    pub address: IpAddr,
    /// What the address is for.
    pub what: &'static str,
    /// The flag that would allow it, if one does.
    pub allow: Option<String>,
}

impl GuardRefusal {
    /// The refusal of a URL's host because of one of its addresses.
    pub fn new(url: &CrawlUrl, address: IpAddr, forbidden: Forbidden) -> GuardRefusal {
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

    /// The name under which the refusal of a URL's host is kept.
    pub fn host(url: &CrawlUrl) -> String {
        match url.port() == url.scheme().default_port() {
            true => url.host().to_string(),
            false => format!("{}:{}", url.host(), url.port()),
        }
    }

    /// The refusal of a URL whose host is itself an address, by the address alone: for whoever reads a row later.
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

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Guard {
    /// A guard that lets these networks through besides the public ones.
    pub fn new(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, ..Guard::default() }
    }

    /// A guard that lets nothing through but these networks: for a crawl that has no contact to show to strangers.
    pub fn only(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, only: true, ..Guard::default() }
    }

    /// The same guard, with hosts of this machine that the user named.
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
    pub fn judge(&self, address: IpAddr) -> Result<(), Forbidden> {
        let address = address.to_canonical();
        if self.allows(address) {
            return Ok(());
        }
        let what = match address {
            IpAddr::V4(v4) => special_v4(v4),
            IpAddr::V6(v6) => special_v6(v6),
        };
        match what {
            Some((what, net)) => {
                Err(Forbidden { what, net: Some(net).filter(|_| !POINTLESS.contains(&what)) })
            }
            None if self.only => Err(NO_CONTACT),
            None => Ok(()),
        }
    }

    /// Judges the address at which a host is about to be dialled.
    pub fn judge_for(&self, host: &HostKey, address: SocketAddr) -> Result<(), Forbidden> {
        match self.opens(host, address) {
            true => Ok(()),
            false => self.judge(address.ip()),
        }
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

/// Whether a name can't be that of a public server, whoever answers for it: `localhost` (RFC 6761), `local` (RFC 6762), `home.arpa`
/// (RFC 8375) and `internal` (ICANN, 2024), and all below.
pub(crate) fn is_never_public(name: &str) -> bool {
    let below = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    NEVER_PUBLIC.iter().any(|end| name == *end || below(end))
}

const NEVER_PUBLIC: [&str; 4] = ["localhost", "local", "home.arpa", "internal"];

fn special_v4(address: Ipv4Addr) -> Option<(&'static str, IpNet)> {
    let bits = u32::from(address);
    let row = V4.iter().find(|(net, prefix, _)| {
        let mask = u32::MAX.checked_shl(32 - u32::from(*prefix)).unwrap_or(0);
        bits & mask == u32::from(Ipv4Addr::from(*net)) & mask
    });
    let (net, prefix, what) = row?;
    Some((what, Ipv4Net::new_assert(Ipv4Addr::from(*net), *prefix).into()))
}

fn special_v6(address: Ipv6Addr) -> Option<(&'static str, IpNet)> {
    let bits = u128::from(address);
    let row = V6.iter().find(|(net, prefix, _)| {
        let mask = u128::MAX.checked_shl(128 - u32::from(*prefix)).unwrap_or(0);
        bits & mask == u128::from(Ipv6Addr::from(*net)) & mask
    });
    match row {
        Some((net, prefix, what)) => {
            Some((what, Ipv6Net::new_assert(Ipv6Addr::from(*net), *prefix).into()))
        }
        None if address.segments()[0] & 0xe000 == 0x2000 => None,
        None => Some(("not assigned for global use", Ipv6Net::from(address).into())),
    }
}

/// A public address, in a crawl that has no contact to show to strangers.
const NO_CONTACT: Forbidden =
    Forbidden { what: "a public address, and the crawl has no contact", net: None };

const THIS_NETWORK: &str = "this network";

/// Networks that nobody has a site in: no flag is suggested for them. Link-local addresses are those of cloud metadata.
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

/// Network, prefix length, purpose: <https://www.iana.org/assignments/iana-ipv4-special-registry>.
const V4: &[([u8; 4], u8, &str)] = &[
    ([0, 0, 0, 0], 8, THIS_NETWORK),
    ([10, 0, 0, 0], 8, "private use"),
    ([100, 64, 0, 0], 10, "shared by a carrier's customers"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link local"),
    ([172, 16, 0, 0], 12, "private use"),
    ([192, 0, 0, 0], 24, "protocol assignments"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 31, 196, 0], 24, "AS112 sink"),
    ([192, 52, 193, 0], 24, "automatic multicast tunnelling"),
    ([192, 88, 99, 0], 24, "6to4 relay"),
    ([192, 168, 0, 0], 16, "private use"),
    ([192, 175, 48, 0], 24, "AS112 sink"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The same for IPv6, as far as it lies inside `2000::/3` or its name says more: <https://www.iana.org/assignments/iana-ipv6-special-registry>.
const V6: &[([u16; 8], u8, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified"),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback"),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, "IPv4-compatible"),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "IPv4-translated"),
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "NAT64"),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "local NAT64"),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discard only"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "Teredo"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol assignments"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4"),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112 sink"),
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "6bone, returned"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment routing"),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique local"),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link local"),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "site local"),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: the address below the network, its first, its last, the one above; forbidden only inside.
    #[test]
    fn every_row_of_the_ipv4_table_ends_where_it_says() {
        let guard = Guard::default();
        for (net, prefix, what) in V4 {
            let first = u32::from(Ipv4Addr::from(*net));
            let last = first | u32::MAX.checked_shr(u32::from(*prefix)).unwrap_or(0);
            for inside in [first, last, first + (last - first) / 2] {
                let address = Ipv4Addr::from(inside);
                let refused = guard.judge(address.into()).map_err(|forbidden| forbidden.what);
                assert_eq!(refused, Err(*what), "{address}");
            }
            for outside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten() {
                let address = Ipv4Addr::from(outside);
                let verdict = guard.judge(address.into()).map_err(|forbidden| forbidden.what);
                assert_ne!(verdict, Err(*what), "{address} is beside {what}");
            }
        }
    }

    #[test]
    fn every_row_of_the_ipv6_table_is_refused_from_first_to_last() {
        let guard = Guard::default();
        for (net, prefix, what) in V6 {
            let first = u128::from(Ipv6Addr::from(*net));
            let last = first | u128::MAX.checked_shr(u32::from(*prefix)).unwrap_or(0);
            for inside in [first, last, first + (last - first) / 2] {
                let address = Ipv6Addr::from(inside);
                // What is mapped is judged as IPv4; `::` and `::1` have rows of their own.
                assert!(guard.judge(address.into()).is_err(), "{address}: {what}");
            }
        }
    }

    #[test]
    fn public_addresses_are_dialled() {
        let guard = Guard::default();
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::",
            "2001:4860:4860::8888",
            "2003::",
            "2a00::1",
            "3ffd:ffff::",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(guard.judge(public.parse().unwrap()), Ok(()), "{public}");
        }
    }

    #[test]
    fn an_ipv4_address_in_ipv6_dress_is_not_a_way_around() {
        let guard = Guard::default();
        for hidden in [
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:808:808::",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "4000::1",
            "::2",
        ] {
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
        // A hosts file that leads `localhost` elsewhere opens nothing.
        check("localhost", "10.0.0.1:8000", false);
        check("localhost", "8.8.8.8:8000", true);
        // Whoever looks at the address alone sees a closed one.
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
