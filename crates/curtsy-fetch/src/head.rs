//! The head of an answer, from the wire's form to the engine's; and whether what follows it is wanted.

use curtsy_core::headers::{Coding, ContentType, codings};
use curtsy_core::host::{Kind, Problem};
use curtsy_core::policy::Body;
use curtsy_engine::Head;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Reads the head. Names are in lower case; bytes that are no UTF-8 are replaced.
pub(crate) fn read(status: u16, headers: &HeaderMap) -> Head {
    let one = |name: HeaderName| headers.get(name).map(text);
    let all = |name: HeaderName| headers.get_all(name).iter().map(text).collect();
    let mut head = Head {
        status,
        location: one(header::LOCATION),
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
        link: all(header::LINK),
        others: Vec::new(),
    };
    let mut room = OTHERS_BYTES_MAX;
    for (name, value) in headers {
        if NAMED.contains(name) {
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

/// How the body is packed. More than one layer is refused undecoded: nobody packs a page twice but to make it burst.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Problem> {
    let lines = headers.get_all(header::CONTENT_ENCODING);
    let mut known = lines.iter().map(|line| line.to_str().unwrap_or("?"));
    let Some(first) = known.next() else {
        return Ok(None);
    };
    let found = codings(std::iter::once(first).chain(known)).ok_or(Problem::Coding)?;
    match found.as_slice() {
        [] => Ok(None),
        [Coding::Compress] => Err(Problem::Coding),
        [one] => Ok(Some(*one)),
        _ => Err(Problem::OverLimit),
    }
}

/// The length that the head declares.
pub(crate) fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Whether two lengths are declared at once: what the one calls the next answer, the other calls body (RFC 9112 §6.3).
pub(crate) fn is_ambiguous(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING) && headers.contains_key(header::CONTENT_LENGTH)
}

/// Whether the policy wants what the head announces. Robots.txt and sitemaps are read whatever they are called.
pub(crate) fn is_wanted(head: &Head, kind: Kind, body: &Body) -> bool {
    if kind != Kind::Page || !(200..300).contains(&head.status) {
        return true;
    }
    if body.accept.is_empty() && body.reject.is_empty() {
        return true;
    }
    let essence = head.content_type.as_deref().and_then(ContentType::parse).map(|t| t.essence);
    let fits = |patterns: &[String]| {
        let name = essence.as_deref().unwrap_or(UNNAMED);
        patterns.iter().any(|pattern| is_like(name, pattern))
    };
    (body.accept.is_empty() || fits(&body.accept)) && !fits(&body.reject)
}

/// `text/html` is like `text/html`, `text/*` and `*/*`.
fn is_like(essence: &str, pattern: &str) -> bool {
    let pattern = pattern.trim();
    match pattern.strip_suffix('*') {
        Some("" | "*/") => true,
        Some(start) => essence.get(..start.len()).is_some_and(|s| s.eq_ignore_ascii_case(start)),
        None => essence.eq_ignore_ascii_case(pattern),
    }
}

/// How long the server says that it keeps an idle connection, in seconds.
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

/// Headers that have a field of their own.
const NAMED: [HeaderName; 13] = [
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
    // Of no use to anybody, and not ours to keep.
    header::SET_COOKIE,
];
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
/// What a body without a type counts as (RFC 9110 §8.3).
const UNNAMED: &str = "application/octet-stream";
/// Other headers that are kept, and their bytes.
const OTHERS_MAX: usize = 64;
const OTHERS_BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_by_name_and_wildcard() {
        let check = |content_type: Option<&str>, accept: &[&str], reject: &[&str]| {
            let list = |l: &[&str]| l.iter().map(|s| (*s).to_owned()).collect();
            let body = Body {
                decoded_max: 1,
                accept: list(accept),
                reject: list(reject),
                redirects_max: 5,
            };
            let content_type = content_type.map(str::to_owned);
            is_wanted(&Head { status: 200, content_type, ..Head::default() }, Kind::Page, &body)
        };
        assert!(check(Some("image/png"), &[], &[]));
        assert!(check(Some("Text/HTML; charset=utf-8"), &["text/html"], &[]));
        assert!(check(Some("text/plain"), &["text/*"], &[]));
        assert!(check(Some("text/plain"), &["*/*"], &["image/*"]));
        assert!(!check(Some("text/plain"), &["text/*"], &["text/plain"]));
        assert!(!check(Some("application/pdf"), &["text/*", "application/xhtml+xml"], &[]));
        assert!(!check(None, &["text/*"], &[]));
        assert!(!check(None, &[], &["application/octet-stream"]));
        assert!(check(None, &[], &["image/*"]));
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
