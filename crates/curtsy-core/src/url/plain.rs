//! Joins plain references to their base without the URL parser.
//!
//! Most links of a page are plain: a path on the same host, in characters that stand for
//! themselves, without dot segments. The result of such a reference is the beginning of the base
//! and the reference. All other references (another host, a dot segment, a character that would be
//! escaped, white space) are left to the standard's parser.

/// A plain reference: which part of the base it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain<'r> {
    /// The base itself.
    Same,
    /// Follows the base's authority.
    Path(&'r str),
    /// Follows the last slash of the base's path.
    Beside(&'r str),
    /// Follows the base's path.
    Query(&'r str),
}

/// Reads a reference. `origin` is the part of the base before its path.
pub(super) fn read<'r>(origin: &str, reference: &'r str) -> Option<Plain<'r>> {
    // A fragment is dropped, whatever it contains.
    let whole = &reference[..find(reference, b'#').unwrap_or(reference.len())];
    let rest = match whole.strip_prefix(origin) {
        // The standard gives an authority without a path a slash.
        Some(rest) if rest.starts_with('/') => rest,
        _ => whole,
    };
    let at_root = rest.starts_with('/');
    if at_root && rest.len() == whole.len() && rest[1..].starts_with('/') {
        // Two slashes begin a host.
        return None;
    }
    let (path, query) = match find(rest, b'?') {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, ""),
    };
    let stands = |text: &str, kind: u8| text.bytes().all(|b| LETTERS[usize::from(b)] & kind != 0);
    if !stands(path, IN_PATH) || !stands(query, IN_QUERY) || climbs(path) {
        return None;
    }
    Some(match (path.is_empty(), query.is_empty()) {
        // An empty reference means the base, but white space alone looks empty here: the parser
        // decides.
        (true, true) if whole.len() < reference.len() => Plain::Same,
        (true, true) => return None,
        (true, false) => Plain::Query(rest),
        (false, _) if at_root => Plain::Path(rest),
        // The text before a colon may be a scheme.
        (false, _) if find(path, b':').is_some() => return None,
        (false, _) => Plain::Beside(rest),
    })
}

/// Returns the place of an ASCII byte. References are short, so a plain loop is faster than
/// `memchr`.
pub(super) fn find(text: &str, wanted: u8) -> Option<usize> {
    text.bytes().position(|byte| byte == wanted)
}

/// Returns whether a segment may be `.` or `..`, in any spelling.
fn climbs(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.first() == Some(&b'.') || bytes.windows(2).any(|pair| pair == b"/." || pair == b"%2")
}

const IN_PATH: u8 = 1;
const IN_QUERY: u8 = 2;

/// Bytes that stand for themselves in a path or a query.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let both = b"-._~!$&()*+,;=:@/%";
    let mut at = 0;
    while at < both.len() {
        letters[both[at] as usize] = IN_PATH | IN_QUERY;
        at += 1;
    }
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() {
            letters[byte] = IN_PATH | IN_QUERY;
        }
        byte += 1;
    }
    letters[b'?' as usize] = IN_QUERY;
    letters
};
