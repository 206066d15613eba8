//! Normalises patterns and paths before they are compared (RFC 9309 §2.2.2).
//!
//! Octets outside ASCII become their escapes, escapes of unreserved octets are decoded, and the
//! digits of other escapes become upper case. `%2A` and `%24` are a literal star and dollar, in
//! patterns and in paths. The result is ASCII. So the wildcards can be octets that no text has, and
//! the lowest ones, by which patterns sort in the order that the index needs.

use std::borrow::Cow;

/// Matches any octets, in a spelled pattern.
pub(super) const STAR: u8 = 0;
/// Matches the end of the path, in a spelled pattern.
pub(super) const END: u8 = 1;
/// Added to literal octets of the two values above. Escapes keep all others below 0x80.
const LITERAL: u8 = 0x80;

/// The properties of a spelled pattern.
pub(super) struct Spelled {
    /// The specificity: the number of octets as written, with each octet outside ASCII counted as
    /// its escape.
    pub(super) octets: u32,
    /// The length of the text before the first star or the end.
    pub(super) head: u32,
}

/// Appends the normal form of a rule's pattern: no two stars in a row, no star at the end, and
/// `END` only at the end.
pub(super) fn spell_pattern(value: &[u8], out: &mut Vec<u8>) -> Spelled {
    let start = out.len();
    let (body, anchored) = match value {
        [body @ .., b'$'] => (body, true),
        body => (body, false),
    };
    let mut octets = value.len();
    let mut head = None;
    let mut at = 0;
    while at < body.len() {
        let plain = plain_len(&body[at..]);
        out.extend_from_slice(&body[at..at + plain]);
        at += plain;
        match body.get(at) {
            None => break,
            Some(b'*') => {
                if out[start..].last() != Some(&STAR) {
                    head = head.or(Some(out.len() - start));
                    out.push(STAR);
                }
                at += 1;
            }
            Some(byte) => {
                octets += if byte.is_ascii() { 0 } else { 2 };
                at += spell_octet(&body[at..], out);
            }
        }
    }
    let head = head.unwrap_or(out.len() - start) as u32;
    // A star at the end has no effect, nor has a dollar after it.
    if out[start..].last() == Some(&STAR) {
        out.pop();
    } else if anchored {
        out.push(END);
    }
    Spelled { octets: octets as u32, head }
}

/// Returns the normal form of a path and query. Most paths are in it already.
pub(super) fn spell_path(path: &[u8]) -> Cow<'_, [u8]> {
    let mut at = plain_len(path);
    if at == path.len() {
        return Cow::Borrowed(path);
    }
    let mut out = Vec::with_capacity(path.len() + 32);
    out.extend_from_slice(&path[..at]);
    while at < path.len() {
        at += spell_octet(&path[at..], &mut out);
        let plain = plain_len(&path[at..]);
        out.extend_from_slice(&path[at..at + plain]);
        at += plain;
    }
    Cow::Owned(out)
}

/// Returns how many octets need no change. It reads eight at a time, since most patterns consist of
/// such octets.
fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let mut len = 0;
    for chunk in bytes.chunks_exact(8) {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let octets = u64::from_le_bytes(eight);
        // An octet minus one or two borrows from its high bit if it was zero or less than two. The
        // first such octet is right.
        let percent = (octets ^ (ONES * u64::from(b'%'))).wrapping_sub(ONES);
        let star = (octets ^ (ONES * u64::from(b'*'))).wrapping_sub(ONES);
        let low = octets.wrapping_sub(ONES * 2);
        let odd = (percent | star | low | octets) & HIGH;
        if odd != 0 {
            return len + odd.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    let rest = &bytes[len..];
    len + rest.iter().position(|&b| !is_plain(b)).unwrap_or(rest.len())
}

/// Returns whether an octet stands for itself in any place.
fn is_plain(byte: u8) -> bool {
    byte != b'%' && byte != b'*' && byte > END && byte < 0x80
}

/// Appends the normal form of one octet or escape, and returns how many octets were read.
fn spell_octet(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    match *bytes {
        [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            let octet = hex(high) << 4 | hex(low);
            match octet {
                b'a'..=b'z'
                | b'A'..=b'Z'
                | b'0'..=b'9'
                | b'-'
                | b'.'
                | b'_'
                | b'~'
                | b'*'
                | b'$' => out.push(octet),
                _ => escape(octet, out),
            }
            3
        }
        [byte, ..] => {
            match byte {
                STAR | END => out.push(LITERAL + byte),
                0x80.. => escape(byte, out),
                _ => out.push(byte),
            }
            1
        }
        [] => 0,
    }
}

fn escape(octet: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(octet >> 4)], DIGITS[usize::from(octet & 15)]]);
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
