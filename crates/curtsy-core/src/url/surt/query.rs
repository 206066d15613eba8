//! The query of a SURT: no session IDs, parameters in order.

use super::escape::{escape, unescape};

/// Returns a query in the form in which it is filed; `""` is none.
pub(super) fn fold(query: &str, lower_case: bool) -> String {
    let mut query = escape(&unescape(query));
    if lower_case {
        query.make_ascii_lowercase();
    }
    for session in SESSIONS {
        // The last one is removed, once, and the text around it closes up.
        if let Some((start, end)) = session(query.as_bytes()) {
            let end = if query[end..].starts_with('&') { end + 1 } else { end };
            query.replace_range(start..end, "");
        }
    }
    let mut parameters: Vec<&str> = query.split('&').collect();
    // By name, then a name without `=` before one with it, then by value.
    parameters.sort_by_key(|&p| match p.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (p, None),
    });
    parameters.join("&")
}

/// Finds the place of a session ID.
type Find = fn(&[u8]) -> Option<(usize, usize)>;

/// One after the other, so that the rest of one may match the next.
const SESSIONS: [Find; 5] = [
    |q| last_named(q, b"jsessionid=", 32, u8::is_ascii_alphanumeric),
    |q| last_named(q, b"phpsessid=", 32, u8::is_ascii_alphanumeric),
    |q| last_named(q, b"sid=", 32, u8::is_ascii_alphanumeric),
    last_asp,
    last_cold_fusion,
];

/// Finds the last `name` with an ID of exactly `length` characters of its kind. The name may be the
/// end of a longer one.
fn last_named(
    query: &[u8],
    name: &[u8],
    length: usize,
    kind: fn(&u8) -> bool,
) -> Option<(usize, usize)> {
    let total = name.len() + length;
    (0..=query.len().checked_sub(total)?).rev().find_map(|start| {
        let here = &query[start..start + total];
        let found = here[..name.len()].eq_ignore_ascii_case(name)
            && here[name.len()..].iter().all(kind)
            && ends(query, start + total);
        found.then_some((start, start + total))
    })
}

/// Finds `ASPSESSIONIDabcdefgh=` and 24 letters.
fn last_asp(query: &[u8]) -> Option<(usize, usize)> {
    const NAME: &[u8] = b"aspsessionid";
    let total = NAME.len() + 8 + 1 + 24;
    (0..=query.len().checked_sub(total)?).rev().find_map(|start| {
        let (name, rest) = query[start..start + total].split_at(NAME.len());
        let found = name.eq_ignore_ascii_case(NAME)
            && rest[..8].iter().all(u8::is_ascii_alphabetic)
            && rest[8] == b'='
            && rest[9..].iter().all(u8::is_ascii_alphabetic)
            && ends(query, start + total);
        found.then_some((start, start + total))
    })
}

/// Finds `cfid=…&cftoken=…`, neither empty.
fn last_cold_fusion(query: &[u8]) -> Option<(usize, usize)> {
    const ID: &[u8] = b"cfid=";
    const TOKEN: &[u8] = b"&cftoken=";
    // Reads from right to left and keeps the ends of the current parameter and the next one.
    let (mut end, mut next_end) = (query.len(), query.len());
    for start in (0..query.len()).rev() {
        if query[start] == b'&' {
            (end, next_end) = (start, end);
            continue;
        }
        let id = &query[start..end];
        let token = &query[end..next_end];
        if id.len() > ID.len()
            && id[..ID.len()].eq_ignore_ascii_case(ID)
            && token.len() > TOKEN.len()
            && token[..TOKEN.len()].eq_ignore_ascii_case(TOKEN)
        {
            return Some((start, next_end));
        }
    }
    None
}

/// Returns whether a parameter ends here.
fn ends(query: &[u8], at: usize) -> bool {
    query.get(at).is_none_or(|&b| b == b'&')
}
