//! Which addresses may be dialled? Public ones only, and what the user allowed by name.
//!
//! The table is the IANA special-purpose registries (IPv4 and IPv6, RFC 6890 and its updates): everything there that isn't globally reachable,
//! plus multicast and what is reserved. IPv6 addresses that carry an IPv4 one are refused as a class, whatever they carry, with one
//! exception: `::ffff:0:0/96` *is* its IPv4 address to every socket, so it is judged as that. Outside `2000::/3` nothing is assigned, so
//! nothing there is dialled.
//!
//! Judged is the address that is dialled, after the name was looked up, and once more the peer that the socket reports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Judges addresses.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
    only: bool,
}

/// Why an address may not be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// What the address is for.
    pub what: &'static str,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Guard {
    /// A guard that lets these networks through besides the public ones.
    pub fn new(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, only: false }
    }

    /// A guard that lets nothing through but these networks: for a crawl that has no contact to show to strangers.
    pub fn only(allowed: Vec<IpNet>) -> Guard {
        Guard { allowed, only: true }
    }

    /// Judges one address.
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
            Some(what) => Err(Forbidden { what }),
            None if self.only => Err(Forbidden { what: "not in the networks that were allowed" }),
            None => Ok(()),
        }
    }

    /// Whether the user allowed this address by name.
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

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let row = V4.iter().find(|(net, prefix, _)| {
        let mask = u32::MAX.checked_shl(32 - u32::from(*prefix)).unwrap_or(0);
        bits & mask == u32::from(Ipv4Addr::from(*net)) & mask
    });
    row.map(|(_, _, what)| *what)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let row = V6.iter().find(|(net, prefix, _)| {
        let mask = u128::MAX.checked_shl(128 - u32::from(*prefix)).unwrap_or(0);
        bits & mask == u128::from(Ipv6Addr::from(*net)) & mask
    });
    match row {
        Some((_, _, what)) => Some(what),
        None if address.segments()[0] & 0xe000 == 0x2000 => None,
        None => Some("not assigned for global use"),
    }
}

/// Network, prefix length, purpose: <https://www.iana.org/assignments/iana-ipv4-special-registry>.
const V4: &[([u8; 4], u8, &str)] = &[
    ([0, 0, 0, 0], 8, "this network"),
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
                assert_eq!(guard.judge(address.into()), Err(Forbidden { what }), "{address}");
            }
            for outside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten() {
                let address = Ipv4Addr::from(outside);
                let verdict = guard.judge(address.into());
                assert_ne!(verdict, Err(Forbidden { what }), "{address} is beside {what}");
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
}
