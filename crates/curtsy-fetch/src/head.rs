//! Converts the head of a response, and decides whether its body is wanted.

use curtsy_core::headers::{Coding, codings};
use curtsy_core::host::{Problem, RequestKind};
use curtsy_core::limits::Hit;
use curtsy_core::policy::BodyPolicy;
use curtsy_engine::Head;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Converts a head. Names are in lower case; invalid UTF-8 is replaced.
pub(crate) fn read(status: u16, headers: &HeaderMap) -> Head {
    let one = |name: HeaderName| headers.get(name).map(text);
    let all = |name: HeaderName| headers.get_all(name).iter().map(text).collect();
    let mut head = Head {
        status,
        location: one(header::LOCATION).map(|to| without_login(&to)),
        retry_after: all(header::RETRY_AFTER),
        date: one(header::DATE),
        cache_control: all(header::CACHE_CONTROL),
        expires: one(header::EXPIRES),
        age: one(header::AGE),
        etag: one(header::ETAG),
        last_modified: one(header::LAST_MODIFIED),
        content_type: one(header::CONTENT_TYPE),
        content_language: one(header::CONTENT_LANGUAGE),
        x_robots_tag: all(X_ROBOTS_TAG),
        link: headers.get_all(header::LINK).iter().map(|link| plain_links(&text(link))).collect(),
        others: Vec::new(),
        own: false,
        inside: false,
    };
    let mut room = OTHERS_BYTES_MAX;
    for (name, value) in headers {
        if NAMED.contains(name) || is_credential(name.as_str()) {
            continue;
        }
        let bytes = name.as_str().len() + value.len();
        if head.others.len() == OTHERS_MAX || bytes > room {
            break;
        }
        room -= bytes;
        head.others.push((name.as_str().to_owned(), text(value)));
    }
    head
}

/// Returns the content coding. Several codings are refused undecoded: only a decompression bomb has
/// them.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Problem> {
    let lines = || {
        let lines = headers.get_all(header::CONTENT_ENCODING).into_iter();
        lines.map(|line| line.to_str().unwrap_or("?"))
    };
    let names = lines().flat_map(|line| line.split(',')).map(str::trim);
    if names.filter(|name| !matches!(*name, "" | "identity")).nth(1).is_some() {
        return Err(Problem::OverLimit(Hit::Coding));
    }
    match codings(lines()).ok_or(Problem::Coding)?.as_slice() {
        [] => Ok(None),
        [Coding::Compress] => Err(Problem::Coding),
        [one] => Ok(Some(*one)),
        _ => Err(Problem::OverLimit(Hit::Coding)),
    }
}

/// Returns the declared length.
pub(crate) fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Whether all readers of these headers agree about the end of the body (RFC 9112 §6.3). Two
/// lengths do not qualify: one reader's next response is another's body. The only valid transfer
/// coding is a single `chunked`.
pub(crate) fn is_framed_well(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(_), Some(_)) => false,
        (Some(one), None) => {
            // `identity` is not a coding (RFC 2616 §3.6), but some old servers send it.
            let known = [&b"chunked"[..], b"identity"];
            let value = one.as_bytes().trim_ascii();
            known.iter().any(|known| value.eq_ignore_ascii_case(known))
                && !headers.contains_key(header::CONTENT_LENGTH)
        }
    }
}

/// Whether the policy wants the body. Robots.txt and sitemaps are read with any content type.
pub(crate) fn is_wanted(head: &Head, kind: RequestKind, body: &BodyPolicy) -> bool {
    let is_page = kind == RequestKind::Page && (200..300).contains(&head.status);
    !is_page || body.wants(head.content_type.as_deref())
}

/// Returns for how many seconds the server keeps an idle connection.
pub(crate) fn keep_alive(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get("keep-alive")?.to_str().ok()?;
    let timeout = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    timeout.trim().parse().ok()
}

fn text(value: &HeaderValue) -> String {
    match value.to_str() {
        Ok(plain) => plain.to_owned(),
        Err(_) => String::from_utf8_lossy(value.as_bytes()).into_owned(),
    }
}

/// Removes user and password from an address: they are never sent, and must not be stored. URL
/// parsers find the host even without slashes or after backslashes, so everything before an `@`
/// there is removed.
fn without_login(text: &str) -> String {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.\t".contains(c);
    let scheme = text.find(':').filter(|at| text[..*at].trim_start().chars().all(is_scheme));
    let slashes = |c: char| matches!(c, '/' | '\\' | '\t');
    let rest = scheme.map_or(text, |at| &text[at + 1..]);
    if scheme.is_none()
        && !(rest.trim_start().starts_with(slashes) && rest.trim_start()[1..].starts_with(slashes))
    {
        return text.to_owned();
    }
    let start = text.len() - rest.trim_start().trim_start_matches(slashes).len();
    let end = text[start..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| start + at);
    match text[start..end].rfind('@') {
        Some(at) => [&text[..start], &text[start + at + 1..]].concat(),
        None => text.to_owned(),
    }
}

/// Removes them from each address of a `Link` header.
fn plain_links(link: &str) -> String {
    let mut parts = link.split_inclusive('<');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + &without_login(part))
}

/// Whether a header may contain a cookie, a token or a session. Such headers are not stored.
/// Requests for a login (`WWW-Authenticate`) are.
fn is_credential(name: &str) -> bool {
    let mut words = name.split(['-', '_', '.']);
    words.any(|word| CREDENTIALS.split(' ').any(|known| word.trim_end_matches('s') == known))
        || CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
}

const CREDENTIALS: &str = "cookie cookie2 authorization authentication auth authinfo token secret session \
    sessionid sid csrf csrftoken xsrf password passwd credential jwt bearer apikey otp \
    signature";
/// Pairs of words that mean a credential.
const CREDENTIAL_ENDS: [&str; 4] = ["api-key", "access-key", "private-key", "session-id"];

/// Headers that have a field of their own.
const NAMED: [HeaderName; 12] = [
    header::LOCATION,
    header::RETRY_AFTER,
    header::DATE,
    header::CACHE_CONTROL,
    header::EXPIRES,
    header::AGE,
    header::ETAG,
    header::LAST_MODIFIED,
    header::CONTENT_TYPE,
    header::CONTENT_LANGUAGE,
    X_ROBOTS_TAG,
    header::LINK,
];
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
/// The largest number of other headers that are stored, and of their bytes.
pub(crate) const OTHERS_MAX: usize = 64;
pub(crate) const OTHERS_BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_head_are_kept_without_a_login() {
        for (sent, kept) in [
            ("http://me:pw@h/x@y?a=@b", "http://h/x@y?a=@b"),
            ("//me:pw@h", "//h"),
            ("\\\\me@h/x", "\\\\h/x"),
            ("http:me:p@w@h/x", "http:h/x"),
            ("https:/\\me@h?x", "https:/\\h?x"),
            ("/x@y", "/x@y"),
            ("x@y", "x@y"),
            ("?a=b:c@d", "?a=b:c@d"),
            ("http://h/", "http://h/"),
            ("", ""),
        ] {
            assert_eq!(without_login(sent), kept);
        }
        let link = "<http://me:pw@h/2>; rel=next, </x@y>; rel=prev, <//me@h/a>; title=\"<a@b>\"";
        let kept = "<http://h/2>; rel=next, </x@y>; rel=prev, <//h/a>; title=\"<a@b>\"";
        assert_eq!(plain_links(link), kept);
    }

    #[test]
    fn what_lets_somebody_in_is_not_kept() {
        let names = "set-cookie set-cookie2 cookie authorization proxy-authorization \
            authentication-info proxy-authentication-info x-auth-token x-csrf-token \
            x-xsrf-tokens x-api-key apikey x-amz-security-token x-session-id x-sid \
            x-goog-iap-jwt-assertion";
        for name in names.split(' ') {
            assert!(is_credential(name), "{name}");
        }
        let names = "server www-authenticate proxy-authenticate x-author x-request-id vary via \
            x-cache-key cf-ray content-security-policy inside";
        for name in names.split(' ') {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn what_has_no_field_of_its_own_is_kept_within_bounds() {
        let mut headers = HeaderMap::new();
        headers.insert("server", HeaderValue::from_static("cloudflare"));
        headers.insert("set-cookie", HeaderValue::from_static("id=1"));
        headers.append("x-robots-tag", HeaderValue::from_static("noindex"));
        headers.append("x-robots-tag", HeaderValue::from_bytes(b"curtsy: \xff").unwrap());
        let head = read(200, &headers);
        assert_eq!(head.x_robots_tag, ["noindex", "curtsy: \u{fffd}"]);
        assert_eq!(head.others, [("server".to_owned(), "cloudflare".to_owned())]);
        for n in 0..500 {
            let name = HeaderName::from_bytes(format!("x-{n}").as_bytes()).unwrap();
            headers.insert(name, HeaderValue::from_static("a value of some length"));
        }
        assert_eq!(read(200, &headers).others.len(), OTHERS_MAX);
    }
}
