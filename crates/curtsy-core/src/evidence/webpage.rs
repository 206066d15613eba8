//! The event of a fetched page, as the consumers of `webpage_log` read it.
//!
//! The content itself is stored under `cache_key`; the event identifies its bytes. An event that is
//! repeated (a worker died before the first one was recorded) has the same `event_id`.

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::timestamp;
use crate::time::Time;

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebpageEvent<'a> {
    /// `webpage_fetched`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The requested URL.
    pub url: &'a str,
    /// The key of the content in the cache.
    pub cache_key: String,
    /// The status of the response.
    pub status_code: u16,
    /// The content type that the response declared.
    pub content_type: Option<&'a str>,
    /// Bytes of the content.
    pub content_length: usize,
    /// SHA-256 of the content.
    pub content_hash: String,
    /// When it was fetched.
    pub fetched_at: String,
    /// The ID, which is the same for every repetition.
    pub event_id: String,
    /// The ID of the run, as in its evidence.
    pub trace_id: &'a str,
}

/// The content of an event.
#[derive(Clone, Copy, Debug)]
pub struct Webpage<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// The number of the URL's queue entry; zero for a link.
    pub wish: u64,
    /// The status of the response.
    pub status: u16,
    /// The content type that the response declared.
    pub content_type: Option<&'a str>,
    /// The content, decoded.
    pub body: &'a [u8],
    /// When it was fetched.
    pub at: Time,
}

impl<'a> WebpageEvent<'a> {
    /// Returns the event of a page in this run.
    pub fn new(page: Webpage<'a>, trace_id: &'a str) -> WebpageEvent<'a> {
        WebpageEvent {
            kind: "webpage_fetched",
            url: page.url,
            cache_key: cache_key(page.url),
            status_code: page.status,
            content_type: page.content_type,
            content_length: page.body.len(),
            content_hash: HEXLOWER.encode(&Sha256::digest(page.body)),
            fetched_at: timestamp(page.at),
            event_id: event_id(page.url, page.wish),
            trace_id,
        }
    }
}

/// Returns the cache key of a URL: `webpage:` and the SHA-256 of the requested URL.
pub fn cache_key(url: &str) -> String {
    format!("webpage:{}", HEXLOWER.encode(&event_key(url)))
}

/// Returns the partition key of a URL's events: the SHA-256 of the requested URL.
pub fn event_key(url: &str) -> [u8; 32] {
    Sha256::digest(url.as_bytes()).into()
}

/// Returns the ID of the event for one queue entry of a URL.
pub fn event_id(url: &str, wish: u64) -> String {
    let mut hash = Sha256::new();
    hash.update(wish.to_be_bytes());
    hash.update(url.as_bytes());
    HEXLOWER.encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_what_its_consumers_expect() {
        let page = Webpage {
            url: "https://example.org/",
            wish: 7,
            status: 200,
            content_type: Some("text/html"),
            body: b"abc",
            at: Time::from_secs(1_709_210_096),
        };
        let event = WebpageEvent::new(page, "f00");
        // `printf %s https://example.org/ | sha256sum`, `printf abc | sha256sum`
        let expected = serde_json::json!({
            "type": "webpage_fetched",
            "url": "https://example.org/",
            "cache_key": "webpage:8198d1bac40a1033653a78e48800cefc9e6b974ff075c66e5548b5c1e145a2b0",
            "status_code": 200,
            "content_type": "text/html",
            "content_length": 3,
            "content_hash": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "fetched_at": "2024-02-29T12:34:56.000Z",
            "event_id": event_id("https://example.org/", 7),
            "trace_id": "f00",
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    }

    #[test]
    fn another_wish_for_the_same_url_is_another_event() {
        let ids = [("a", 1), ("a", 2), ("b", 1)].map(|(url, wish)| event_id(url, wish));
        assert_eq!(ids[0], event_id("a", 1));
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
