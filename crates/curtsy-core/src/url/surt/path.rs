//! The path of a SURT: dots resolved, single slashes, lower case, no session of an ASP.NET site.

use super::escape::{escape, unescape};

/// Returns a path in the form in which it is filed. `""` is the root or none.
pub(super) fn fold(path: &str, of_host: bool) -> String {
    let bytes = unescape(path);
    let bytes = if of_host { resolve_dots(&bytes) } else { bytes };
    let mut path = escape(&bytes).to_ascii_lowercase();
    for token_end in [asp_tokens_end, asp_cookieless_end] {
        if let Some((start, end)) = asp_session(&path, token_end) {
            path.replace_range(start..end, "");
        }
    }
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    path
}

/// Resolves dot segments. `..` removes the segment before it, and stays where there is none. An
/// empty segment counts until the end.
fn resolve_dots(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&b| b == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => _ = kept.pop(),
            segment => kept.push(segment),
        }
    }
    let mut out = Vec::with_capacity(path.len());
    for segment in kept.into_iter().filter(|s| !s.is_empty()) {
        out.push(b'/');
        out.extend_from_slice(segment);
    }
    out
}

/// Returns the place of the last session segment before an `.aspx` page, its slash included.
fn asp_session(path: &str, token_end: fn(&[u8]) -> Option<usize>) -> Option<(usize, usize)> {
    let bytes = path.as_bytes();
    let mut slashes = memchr::memrchr_iter(b'/', bytes);
    slashes.find_map(|slash| {
        let start = slash + 1;
        let end = start + token_end(&bytes[start..])?;
        aspx_follows(&bytes[end..]).then_some((start, end))
    })
}

/// Returns whether a page name and `.aspx` come before any question mark (one that was escaped).
fn aspx_follows(rest: &[u8]) -> bool {
    let name = &rest[..memchr::memchr(b'?', rest).unwrap_or(rest.len())];
    name.len() > 1 && memchr::memmem::find(&name[1..], b".aspx").is_some()
}

/// `(a(…24…)s(…24…))/`
fn asp_tokens_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes.strip_prefix(b"(")?;
    let mut tokens = 0;
    while let [letter, after @ ..] = rest
        && letter.is_ascii_lowercase()
    {
        rest = after_id_in_brackets(after)?;
        tokens += 1;
    }
    let rest = rest.strip_prefix(b")/")?;
    (tokens > 0).then_some(bytes.len() - rest.len())
}

/// `(…24…)/`
fn asp_cookieless_end(bytes: &[u8]) -> Option<usize> {
    let rest = after_id_in_brackets(bytes)?.strip_prefix(b"/")?;
    Some(bytes.len() - rest.len())
}

fn after_id_in_brackets(bytes: &[u8]) -> Option<&[u8]> {
    let (id, rest) = bytes.strip_prefix(b"(")?.split_at_checked(ID_LENGTH)?;
    id.iter().all(u8::is_ascii_alphanumeric).then_some(rest)?.strip_prefix(b")")
}

/// The length of a session id in an ASP.NET path.
const ID_LENGTH: usize = 24;
