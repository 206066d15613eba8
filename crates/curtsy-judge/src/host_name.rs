//! Recognises which spellings name one host.
//!
//! The judge does not use the crawler's own reading, so a crawler that keeps two paces for two
//! spellings of one host is caught here. This reading knows case, trailing dots, ports, brackets,
//! the old ways to write an IPv4 address, and names outside ASCII (lower-cased, then Punycode, RFC
//! 3492).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns the canonical spelling of a host. A host that cannot be read stands for itself, in lower
/// case.
pub(crate) fn canonical_host(raw: &str) -> String {
    let host = raw.trim();
    // Userinfo is a violation of its own. The host behind it is still the host.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if let Some(rest) = host.strip_prefix('[') {
        let inside = rest.split(']').next().unwrap_or(rest);
        return address6(inside).unwrap_or_else(|| inside.to_ascii_lowercase());
    }
    if let Some(address) = address6(host) {
        return address;
    }
    let host = split_port(host).0;
    let mut name = String::with_capacity(host.len());
    for c in host.chars() {
        match c {
            '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => name.push('.'),
            // Fullwidth forms stand for the ASCII characters 0xfee0 below them.
            '\u{ff01}'..='\u{ff5e}' => {
                let ascii = char::from_u32(c as u32 - 0xfee0).unwrap_or(c);
                name.push(ascii.to_ascii_lowercase());
            }
            c if c.is_ascii() => name.push(c.to_ascii_lowercase()),
            c => name.extend(c.to_lowercase()),
        }
    }
    if name.ends_with('.') {
        name.pop();
    }
    if !name.is_ascii() {
        name = name.split('.').map(punycode_label).collect::<Vec<_>>().join(".");
    }
    address4(&name).unwrap_or(name)
}

/// Splits `host:port`. The text after the colon counts as a port only if it is one.
pub(crate) fn split_port(host: &str) -> (&str, Option<u16>) {
    let colon = match host.rfind(']') {
        Some(bracket) => host[bracket..].find(':').map(|at| bracket + at),
        None => host.find(':'),
    };
    match colon {
        Some(at) if host[at + 1..].is_empty() => (&host[..at], None),
        Some(at) => match host[at + 1..].parse() {
            Ok(port) => (&host[..at], Some(port)),
            Err(_) => (host, None),
        },
        None => (host, None),
    }
}

fn address6(text: &str) -> Option<String> {
    if !text.contains(':') {
        return None;
    }
    text.parse::<Ipv6Addr>().ok().map(|address| address.to_string())
}

/// Reads the old ways to write an IPv4 address: one to four numbers, decimal, octal or hexadecimal,
/// the last one filling the rest.
fn address4(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() > 4 || !parts.last()?.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let numbers = parts.iter().map(|part| number(part)).collect::<Option<Vec<u64>>>()?;
    let (last, leading) = numbers.split_last()?;
    if leading.iter().any(|&n| n > 255) || *last >= 1u64 << (8 * (4 - leading.len())) {
        return None;
    }
    let high = leading.iter().enumerate().fold(0u64, |sum, (i, n)| sum | n << (24 - 8 * i));
    Some(Ipv4Addr::from((high | last) as u32).to_string())
}

fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.is_empty() {
        return (radix == 16).then_some(0);
    }
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok().filter(|&n| n <= u64::from(u32::MAX))
}

/// Returns a label outside ASCII in its `xn--` form (RFC 3492 §6.3).
fn punycode_label(label: &str) -> String {
    if label.is_ascii() {
        return label.to_owned();
    }
    let points: Vec<u32> = label.chars().map(u32::from).collect();
    // A DNS label has at most 63 bytes. Anything far longer stays as it is, which also bounds the
    // work.
    if points.len() > 256 {
        return label.to_owned();
    }
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = out.len() as u32;
    let mut handled = basic;
    if basic > 0 {
        out.push('-');
    }
    let (mut n, mut delta, mut bias) = (128u32, 0u32, 72u32);
    while (handled as usize) < points.len() {
        let next = points.iter().copied().filter(|&p| p >= n).min().unwrap_or(n);
        delta = delta.saturating_add((next - n).saturating_mul(handled + 1));
        n = next;
        for &point in &points {
            if point < n {
                delta = delta.saturating_add(1);
            }
            if point == n {
                let (mut q, mut k) = (delta, 36);
                loop {
                    let t = if k <= bias { 1 } else { (k - bias).min(26) };
                    if q < t {
                        break;
                    }
                    out.push(digit(t + (q - t) % (36 - t)));
                    q = (q - t) / (36 - t);
                    k += 36;
                }
                out.push(digit(q));
                bias = adapted(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.saturating_add(1);
        n += 1;
    }
    format!("xn--{out}")
}

fn digit(value: u32) -> char {
    char::from(if value < 26 { b'a' + value as u8 } else { b'0' + (value - 26) as u8 })
}

fn adapted(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > 455 {
        delta /= 35;
        k += 36;
    }
    k + 36 * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spellings: &[&str], one: &str) {
        for spelling in spellings {
            assert_eq!(canonical_host(spelling), one, "{spelling}");
        }
    }

    #[test]
    fn case_dot_and_port_do_not_make_another_host() {
        let spellings = ["example.org", "EXAMPLE.org", "example.org.", "Example.Org:8080"];
        check(&spellings, "example.org");
        check(&["user@example.org", "example\u{3002}org", "ｅxample.org"], "example.org");
    }

    #[test]
    fn odd_addresses_are_one_host() {
        let loopback = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1."];
        check(&loopback, "127.0.0.1");
        check(&["[::1]", "::1", "[0:0:0:0:0:0:0:1]:8080", "[0::1]"], "::1");
        check(&["1.2.3.4.5"], "1.2.3.4.5");
        check(&["1.2.3.999"], "1.2.3.999");
    }

    #[test]
    fn names_outside_ascii_are_their_punycode() {
        check(
            &["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"],
            "xn--bcher-kva.example",
        );
        check(&["例え.jp"], "xn--r8jz45g.jp");
        check(&["他们为什么不说中文.cn"], "xn--ihqwcrb4cv8a8dqg056pqjye.cn");
    }
}
