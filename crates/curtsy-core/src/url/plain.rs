//! Which references need no parser?
//!
//! Most links of a page are plain: a path on the same host, in letters that stand for themselves, without dots that climb. What such a
//! reference means is the base's beginning and the reference, put together. Whatever could mean something else (another host, a dot
//! segment, a letter that would be escaped, white space) is left to the parser of the standard, which knows.

/// A reference that was looked through: where its parts are joined to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain<'r> {
    /// The base itself.
    Same,
    /// This, behind the base's authority.
    Path(&'r str),
    /// This, behind the last slash of the base's path.
    Beside(&'r str),
    /// This, behind the base's path.
    Query(&'r str),
}

/// Looks through a reference; `origin` is what the base has before its path.
pub(super) fn read<'r>(origin: &str, reference: &'r str) -> Option<Plain<'r>> {
    // A fragment is dropped whatever is in it.
    let whole = &reference[..find(reference, b'#').unwrap_or(reference.len())];
    let rest = match whole.strip_prefix(origin) {
        // The standard gives an authority without a path a slash.
        Some(rest) if rest.starts_with('/') => rest,
        _ => whole,
    };
    let at_root = rest.starts_with('/');
    if at_root && rest.len() == whole.len() && rest[1..].starts_with('/') {
        // Two slashes name a host.
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
        // Nothing at all would be the base too, but for white space that was nothing: rare, and the parser knows.
        (true, true) if whole.len() < reference.len() => Plain::Same,
        (true, true) => return None,
        (true, false) => Plain::Query(rest),
        (false, _) if at_root => Plain::Path(rest),
        // What is before a colon may be a scheme.
        (false, _) if find(path, b':').is_some() => return None,
        (false, _) => Plain::Beside(rest),
    })
}

/// Where a byte of ASCII is. References are short: a plain loop is done before a clever search has begun.
pub(super) fn find(text: &str, wanted: u8) -> Option<usize> {
    text.bytes().position(|byte| byte == wanted)
}

/// Whether a segment may be `.` or `..`, however it is spelt.
fn climbs(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.first() == Some(&b'.') || bytes.windows(2).any(|pair| pair == b"/." || pair == b"%2")
}

const IN_PATH: u8 = 1;
const IN_QUERY: u8 = 2;

/// Bytes that neither part changes.
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
