//! The host of a SURT: Unicode names in punycode, dotted addresses, no `www.`, labels in reverse
//! order.
//!
//! Archive indexes were made with IDNA 2003, so `faß.de` is filed under `fass.de`. The mapping is
//! UTS 46, with the four characters in which the standards deviate mapped the old way (UTS 46 §4,
//! "transitional").

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use super::escape::{escape, unescape};

/// Returns a host in the form in which it is filed.
pub(super) fn fold(host: &str, massage: bool) -> String {
    let mut bytes = unescape(host);
    if let Some(name) = to_ascii(&bytes) {
        bytes = name.into_bytes();
    }
    let name = with_single_dots(&escape(&bytes));
    let name = dotted_address(&name).unwrap_or(name).to_ascii_lowercase();
    match massage.then(|| without_www(&name)).flatten() {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// Returns `org,b,a` for `a.b.org`.
pub(super) fn turn_round(host: &str, reverse_ipaddr: bool) -> String {
    if !reverse_ipaddr && looks_like_address(host) {
        return host.to_owned();
    }
    host.rsplit('.').collect::<Vec<_>>().join(",")
}

/// Returns the ASCII form of a name, or `None` to keep the bytes.
///
/// Bytes that are not UTF-8 are dropped, unless the rest is no name.
fn to_ascii(bytes: &[u8]) -> Option<String> {
    let name: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
    let dots =
        if name.is_ascii() { &['.'][..] } else { &['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'] };
    let mut labels: Vec<&str> = name.split(dots).collect();
    // One trailing dot is the root, not an empty label.
    let rooted = labels.pop_if(|last| last.is_empty()).is_some();
    let labels = labels.into_iter().map(label_to_ascii).collect::<Option<Vec<_>>>()?;
    Some(labels.join(".") + if rooted { "." } else { "" })
}

fn label_to_ascii(label: &str) -> Option<String> {
    let ascii = if label.is_ascii() {
        label.to_owned()
    } else {
        let mut old = String::with_capacity(label.len());
        for c in label.chars() {
            match c {
                'ß' | 'ẞ' => old.push_str("ss"),
                'ς' => old.push('σ'),
                '\u{200c}' | '\u{200d}' => {}
                c => old.push(c),
            }
        }
        Uts46::new()
            .to_ascii(old.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore)
            .ok()?
            .into_owned()
    };
    (1..64).contains(&ascii.len()).then_some(ascii)
}

/// Removes dots at the ends and turns two dots into one; three become two, as in the indexes.
fn with_single_dots(name: &str) -> String {
    name.trim_matches('.').replace("..", ".")
}

/// Removes `www.` or `www12.` once, if something follows.
pub(super) fn without_www(name: &str) -> Option<&str> {
    name.strip_prefix("www")?.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.')
}

/// Reads an IPv4 address in the spellings of the C library without hexadecimal ones: `127.1`,
/// `010.1.2.3`, `2130706433`.
fn dotted_address(name: &str) -> Option<String> {
    let groups: Vec<&str> = name.split('.').collect();
    if groups.len() > 4 || groups.iter().any(|g| !is_number(g)) {
        return None;
    }
    let address = match groups[..] {
        // A single number is decimal whatever it begins with, and wraps round.
        [number] => number
            .bytes()
            .fold(0u32, |sum, digit| sum.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))),
        [ref first @ .., last] => {
            let mut address = 0;
            for group in first {
                address = address << 8 | u32::from(u8::try_from(octal_or_decimal(group)?).ok()?);
            }
            // The last group takes all the bytes that are left.
            let bits = 8 * (4 - first.len());
            let last = octal_or_decimal(last)?;
            if u64::from(last) >> bits != 0 {
                return None;
            }
            (u64::from(address) << bits) as u32 | last
        }
        [] => return None,
    };
    Some(std::net::Ipv4Addr::from(address).to_string())
}

fn octal_or_decimal(group: &str) -> Option<u32> {
    let radix = if group.len() > 1 && group.starts_with('0') { 8 } else { 10 };
    u32::from_str_radix(group, radix).ok()
}

fn looks_like_address(host: &str) -> bool {
    host.split('.').count() == 4
        && host.split('.').all(|group| group.len() <= 3 && is_number(group))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
