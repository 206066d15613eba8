//! Spellings of addresses that may not be dialled, made by rules: every special network in every dress that some reader somewhere takes
//! for an address, and schemes that are no business of a crawler.
//!
//! Each spelling has a path of its own, so that each is a URL of its own however it is read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::namespace::{OWN_V4, OWN_V6};

/// A spelling, and the rule that made it.
#[derive(Clone, Debug)]
pub(crate) struct Spelling {
    pub(crate) url: String,
    pub(crate) rule: &'static str,
}

/// A public site, for tricks that name it and mean another.
pub(crate) const PUBLIC: &str = "open.pub.test";

/// One or more of each network that is not public.
pub(crate) fn addresses_v4() -> Vec<Ipv4Addr> {
    let named = "127.0.0.1 127.0.0.53 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.17.0.1 172.31.255.255 192.168.0.1 192.168.255.255 \
        169.254.169.254 169.254.170.2 169.254.0.1 100.64.0.1 100.127.255.254 100.100.100.200 0.0.0.0 0.1.2.3 0.255.255.255 192.0.0.1 192.0.0.192 \
        192.0.2.1 198.51.100.1 203.0.113.255 198.18.0.1 198.19.255.255 192.88.99.1 192.31.196.1 192.52.193.1 192.175.48.1 224.0.0.1 \
        239.255.255.255 240.0.0.1 254.1.1.1 255.255.255.255";
    named.split_whitespace().map(|a| a.parse().unwrap()).chain(OWN_V4).collect()
}

pub(crate) fn addresses_v6() -> Vec<Ipv6Addr> {
    let named = "::1 :: ::2 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 feff::1 ff02::1 ff05::1:3 ff0e::1 \
        2001:db8::1 3fff::1 100::1 2001::1 2001:2::1 2001:10::1 2001:20::1 2001:1::1 2002:a00:1:: 2620:4f:8000::1 5f00::1 3ffe::1 4000::1 8000::1 \
        e000::1 64:ff9b::a00:1 64:ff9b:1::1 ::ffff:0:a00:1";
    named.split_whitespace().map(|a| a.parse().unwrap()).chain([OWN_V6]).collect()
}

/// Every address, as a name server can give it.
pub(crate) fn addresses() -> Vec<IpAddr> {
    let v4 = addresses_v4();
    let dressed = v4.iter().flat_map(|v4| {
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ]
    });
    let dressed: Vec<IpAddr> = dressed.map(IpAddr::from).collect();
    let v6 = addresses_v6().into_iter().map(IpAddr::from);
    v4.into_iter().map(IpAddr::from).chain(v6).chain(dressed).collect()
}

/// All of them.
pub(crate) fn spellings() -> Vec<Spelling> {
    let mut all = Vec::new();
    for address in addresses_v4() {
        for (rule, host) in hosts_v4(address) {
            let (number, port) = (all.len(), port(all.len()));
            all.push(Spelling { url: format!("http://{host}{port}/s{number}"), rule });
        }
        for (rule, url) in around(&address.to_string()) {
            all.push(Spelling { url: url.replace("PATH", &format!("s{}", all.len())), rule });
        }
    }
    for address in addresses_v6() {
        for (rule, host) in hosts_v6(address) {
            let (number, port) = (all.len(), port(all.len()));
            all.push(Spelling { url: format!("http://[{host}]{port}/s{number}"), rule });
        }
    }
    for (rule, host) in NAMES {
        let number = all.len();
        all.push(Spelling { url: format!("http://{host}{}/s{number}", port(number)), rule });
    }
    for (rule, url) in OTHERS {
        all.push(Spelling { url: url.replace("PATH", &format!("s{}", all.len())), rule });
    }
    all
}

/// Ports take turns: where somebody listens, where nobody does.
fn port(number: usize) -> &'static str {
    ["", ":80", ":8080", ":9200", "", ":65535", ":00080"][number % 7]
}

/// An IPv4 address as a host, in every dress.
pub(crate) fn hosts_v4(address: Ipv4Addr) -> Vec<(&'static str, String)> {
    let [a, b, c, d] = address.octets();
    let whole = u32::from(address);
    let (tail3, tail2) = (whole & 0xff_ffff, whole & 0xffff);
    let (high, low) = (whole >> 16, whole & 0xffff);
    let dotted = address.to_string();
    let every = |shift: u32| -> String {
        let shifted = |c: char| c.to_digit(10).and_then(|d| char::from_u32(shift + d)).unwrap_or(c);
        dotted.chars().map(shifted).collect()
    };
    let percent: String = dotted.bytes().map(|byte| format!("%{byte:02X}")).collect();
    vec![
        ("dotted", dotted.clone()),
        ("trailing dot", format!("{dotted}.")),
        ("decimal", whole.to_string()),
        ("decimal, leading zeros of octal", format!("0{whole:o}")),
        ("hexadecimal", format!("0x{whole:x}")),
        ("hexadecimal, upper case", format!("0X{whole:08X}")),
        ("dotted octal", format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}")),
        ("dotted octal, many zeros", format!("00000{a:o}.0000{b:o}.000{c:o}.00{d:o}")),
        ("dotted hexadecimal", format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}")),
        ("dotted, mixed", format!("{a}.0x{b:x}.0{c:o}.{d}")),
        ("three parts", format!("{a}.{b}.{tail2}")),
        ("two parts", format!("{a}.{tail3}")),
        ("two parts, mixed", format!("0x{a:x}.0{tail3:o}")),
        ("three parts with a dot", format!("0{a:o}.{b}.0x{tail2:x}.")),
        ("percent signs", percent),
        ("percent signs, part", format!("{a}%2E{b}%2e{c}.{d}")),
        ("full-width digits", every(0xff10)),
        ("mathematical digits", every(0x1d7ce)),
        ("ideographic full stops", dotted.replace('.', "\u{3002}")),
        ("half-width full stops", dotted.replace('.', "\u{ff61}")),
        ("soft hyphens", dotted.replace('.', "\u{ad}.")),
        ("mapped", format!("[::ffff:{dotted}]")),
        ("mapped, hexadecimal", format!("[::FFFF:{high:X}:{low:x}]")),
        ("mapped, all groups", format!("[0000:0000:0000:0000:0000:ffff:{high:04x}:{low:04x}]")),
        ("compatible", format!("[::{dotted}]")),
        ("translated", format!("[::ffff:0:{dotted}]")),
        ("NAT64", format!("[64:ff9b::{dotted}]")),
        ("local NAT64", format!("[64:ff9b:1::{high:x}:{low:x}]")),
        ("6to4", format!("[2002:{high:x}:{low:x}::1]")),
        (
            "Teredo",
            format!("[2001:0:{high:x}:{low:x}:0:ffff:{:x}:{:x}]", !high & 0xffff, !low & 0xffff),
        ),
        ("ISATAP", format!("[fe80::5efe:{dotted}]")),
    ]
}

/// The same address, with something around it.
pub(crate) fn around(dotted: &str) -> Vec<(&'static str, String)> {
    vec![
        ("user part of a public name", format!("http://{PUBLIC}@{dotted}/PATH")),
        ("user and password", format!("http://{PUBLIC}:80@{dotted}:8080/PATH")),
        ("two at signs", format!("http://x@{PUBLIC}@{dotted}/PATH")),
        ("an at sign in percent", format!("http://{PUBLIC}%40@{dotted}/PATH")),
        ("backslashes", format!("http:\\\\{dotted}\\PATH")),
        ("a backslash after the host", format!("http://{dotted}\\@{PUBLIC}/PATH")),
        ("one slash", format!("http:/{dotted}/PATH")),
        ("no slash", format!("http:{dotted}/PATH")),
        ("four slashes", format!("http:////{dotted}/PATH")),
        ("upper case", format!("HTTP://{dotted}/PATH")),
        ("https", format!("hTTpS://{dotted}/PATH")),
        ("a tab in the scheme", format!("ht\ttp://{dotted}/PATH")),
        ("a tab in the host", format!("http://{}/PATH", dotted.replacen('.', ".\t", 1))),
        ("a fragment before a public name", format!("http://{dotted}#@{PUBLIC}/PATH")),
        ("a query before a public name", format!("http://{dotted}?@{PUBLIC}/PATH")),
        ("no scheme", format!("//{dotted}/PATH")),
        ("no scheme, backslashes", format!("\\\\{dotted}/PATH")),
    ]
}

/// An IPv6 address between brackets, in every dress.
fn hosts_v6(address: Ipv6Addr) -> Vec<(&'static str, String)> {
    let groups = address.segments();
    let all: Vec<String> = groups.iter().map(|group| format!("{group:04X}")).collect();
    let [.., a, b, c, d] = address.octets();
    let first: Vec<String> = groups[..6].iter().map(|group| format!("{group:x}")).collect();
    vec![
        ("IPv6", address.to_string()),
        ("IPv6, upper case", address.to_string().to_uppercase()),
        ("IPv6, all groups", all.join(":")),
        ("IPv6, dotted tail", format!("{}:{a}.{b}.{c}.{d}", first.join(":"))),
        ("zone id", format!("{address}%25lo")),
        ("zone id, not escaped", format!("{address}%lo")),
        ("zone id, by number", format!("{address}%251")),
    ]
}

/// Names that lead inward: by the machine's own file, or because the name server says so (everything below `in.test`).
const NAMES: &[(&str, &str)] = &[
    ("localhost", "localhost"),
    ("localhost", "LOCALHOST"),
    ("localhost", "localhost."),
    ("localhost", "LocalHost%2E"),
    ("localhost", "ip6-localhost"),
    ("localhost", "ip6-loopback"),
    ("localhost", "any.localhost"),
    ("localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"),
    ("localhost", "localhost.localdomain"),
    ("a name that leads inward", "a.in.test"),
    ("a name that leads inward", "A.IN.TEST."),
    ("a name that leads inward", "127.0.0.1.in.test"),
    ("a name that leads inward", "metadata.google.internal"),
    ("a name that leads inward", "xn--mnchen-3ya.in.test"),
    ("a name that leads inward", "%69%6e%6e%65%72.in.test"),
    ("an alias that leads inward", "alias.in.test"),
    ("a name with one address inside", "mixed.in.test"),
    ("a name of this machine", "own.in.test"),
];

/// What is no address at all, or no business of ours.
const OTHERS: &[(&str, &str)] = &[
    ("scheme", "file:///etc/passwd?PATH"),
    ("scheme", "file://localhost/etc/passwd?PATH"),
    ("scheme", "FILE:/etc/passwd?PATH"),
    ("scheme", "file:\\\\10.0.0.1\\share\\PATH"),
    ("scheme", "ftp://127.0.0.1/PATH"),
    ("scheme", "ftps://10.0.0.1/PATH"),
    ("scheme", "gopher://127.0.0.1:6379/_FLUSHALL%0d%0aPATH"),
    ("scheme", "dict://127.0.0.1:11211/stats:PATH"),
    ("scheme", "ldap://127.0.0.1/PATH"),
    ("scheme", "ws://127.0.0.1/PATH"),
    ("scheme", "wss://127.0.0.1/PATH"),
    ("scheme", "sftp://127.0.0.1/PATH"),
    ("scheme", "tftp://127.0.0.1/PATH"),
    ("scheme", "data:text/html,<a%20href=http://127.0.0.1/PATH>x</a>"),
    ("scheme", "javascript:fetch('http://127.0.0.1/PATH')"),
    ("scheme", "JaVaScRiPt://127.0.0.1/%0aPATH"),
    ("scheme", "view-source:http://127.0.0.1/PATH"),
    ("scheme", "jar:http://127.0.0.1/PATH!/x"),
    ("scheme", "blob:http://127.0.0.1/PATH"),
    ("scheme", "feed:http://127.0.0.1/PATH"),
    ("scheme", "about:PATH"),
    ("scheme", "mailto:root@127.0.0.1?PATH"),
    ("scheme", "unix:/var/run/docker.sock?PATH"),
    ("no address", "http://127.0.0.1:99999/PATH"),
    ("no address", "http://127.0.0.256/PATH"),
    ("no address", "http://127.0.0.0x100/PATH"),
    ("no address", "http://4294967296/PATH"),
    ("no address", "http://0x100000000/PATH"),
    ("no address", "http://[::1/PATH"),
    ("no address", "http://[::ffff:127.0.0.1.]/PATH"),
    ("no address", "http://[127.0.0.1]/PATH"),
    ("no address", "http://127.0.0.1%00.pub.test/PATH"),
    ("no address", "http://127.0.0.1%0d%0aHost:pub.test/PATH"),
    ("no address", "http://127.0.0.1%20.pub.test/PATH"),
    ("no address", "http://127.0.0.1%2f@pub.test:x/PATH"),
    ("no address", "http://0/PATH"),
    ("no address", "http://127.1.1/PATH"),
    ("no address", "http://1.1.1.1 &@127.0.0.1# @pub.test/PATH"),
    ("no address", "http://127.0.0.1:80\\@open.pub.test:80/PATH"),
];

/// Whether a name server of the test leads a name inward.
pub(crate) fn leads_inward(name: &str) -> bool {
    name.ends_with(".in.test")
        || name.ends_with(".localhost")
        || name.ends_with(".internal")
        || name.ends_with("localdomain")
}
