//! Finds session IDs in URLs: a server that keeps visitors apart by their URLs gives every visitor,
//! and so every page of a crawl, another name of the same page.

use memchr::memchr2;

/// Returns path and query without session IDs, or `None` if there are none.
pub(super) fn without(path: &str, query: &str) -> Option<String> {
    if query.is_empty() && memchr2(b';', b'(', path.as_bytes()).is_none() {
        return None;
    }
    let mut found = false;
    let mut bare = String::with_capacity(path.len() + query.len());
    for (index, segment) in path.split('/').enumerate() {
        if is_aspnet(segment) {
            found = true;
            continue;
        }
        if index > 0 {
            bare.push('/');
        }
        for (index, part) in segment.split(';').enumerate() {
            if index > 0 && is_session(part) {
                found = true;
                continue;
            }
            if index > 0 {
                bare.push(';');
            }
            bare.push_str(part);
        }
    }
    for parameter in query.split('&') {
        match is_session(parameter) {
            true => found = true,
            false => {
                bare.push('&');
                bare.push_str(parameter);
            }
        }
    }
    found.then_some(bare)
}

/// Returns whether a segment is a session of ASP.NET: `(S(lit3py55t21z5v55vlm25s55))`.
fn is_aspnet(segment: &str) -> bool {
    segment.starts_with('(') && segment.contains("S(") && segment.ends_with("))")
}

/// Returns whether a parameter is a session ID.
fn is_session(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let aspsession = "aspsessionid";
    let begins = name.get(..aspsession.len()).is_some_and(|s| s.eq_ignore_ascii_case(aspsession));
    !value.is_empty() && (begins || NAMES.iter().any(&is))
        || is_token(value) && SHORT_NAMES.iter().any(is)
}

/// Returns whether the value looks like a generated ID.
fn is_token(value: &str) -> bool {
    value.len() >= TOKEN_BYTES_MIN
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b','))
        && value.bytes().any(|b| b.is_ascii_digit())
}

/// Names of sessions, for any value.
const NAMES: [&str; 12] = [
    "cfid",
    "cftoken",
    "jsessionid",
    "oscsid",
    "phpsessid",
    "psession",
    "sessid",
    "sess_id",
    "sessionid",
    "session_id",
    "xtcsid",
    "zenid",
];
/// Names of sessions, if the value looks like one.
const SHORT_NAMES: [&str; 5] = ["s", "sid", "sess", "session", "ssid"];
/// A shorter value is probably a number or a word.
const TOKEN_BYTES_MIN: usize = 16;

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn sessions_are_found_by_name_and_value() {
        let check = |path: &str, query: &str, expected: Option<&str>| {
            assert_eq!(without(path, query).as_deref(), expected, "{path}?{query}");
        };
        check("/a", "", None);
        check("/a", "sid=12&b=1", None);
        check("/a", "session=introduction-to-rust", None);
        check("/a;v=2", "", None);
        check("/(S)/a", "", None);
        check("/a", "b=1&sid=0123456789abcdef", Some("/a&b=1"));
        check("/a", "ASPSESSIONIDQQ=X", Some("/a"));
        check("/a;jsessionid=0A1B2C", "b=1", Some("/a&b=1"));
        check("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "", Some("/a.aspx&"));
        check("/a", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}=1", None);
    }
}
