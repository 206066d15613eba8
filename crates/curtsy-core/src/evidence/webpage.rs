//! The event that tells of a fetched page, as the page fetcher's consumers read it from `webpage_log`.
//!
//! The content itself is elsewhere, under `cache_key`; the event says which bytes those are. What is told again (a worker died after it
//! had told, before that was written down) has the same `event_id`.

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
    /// The URL as it was asked for.
    pub url: &'a str,
    /// Where its content is.
    pub cache_key: String,
    /// The status of the answer.
    pub status_code: u16,
    /// What the answer said that it is.
    pub content_type: Option<&'a str>,
    /// Bytes of the content.
    pub content_length: usize,
    /// SHA-256 of the content.
    pub content_hash: String,
    /// When it was fetched.
    pub fetched_at: String,
    /// The same whenever the same fetch is told of.
    pub event_id: String,
    /// The run that tells of it, as its evidence names it.
    pub trace_id: &'a str,
}

/// What an event is made of.
#[derive(Clone, Copy, Debug)]
pub struct Webpage<'a> {
    /// The URL as it was asked for.
    pub url: &'a str,
    /// Which wish for this URL it is; zero for a link that was found.
    pub wish: u64,
    /// The status of the answer.
    pub status: u16,
    /// What the answer said that it is.
    pub content_type: Option<&'a str>,
    /// The content, decoded.
    pub body: &'a [u8],
    /// When it was fetched.
    pub at: Time,
}

impl<'a> WebpageEvent<'a> {
    /// The event of a page, as this run tells it.
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

/// Where the content of a URL is: `webpage:` and the SHA-256 of the URL as it was asked for.
pub fn cache_key(url: &str) -> String {
    format!("webpage:{}", HEXLOWER.encode(&event_key(url)))
}

/// The key by which events are dealt out: the SHA-256 of the URL as it was asked for.
pub fn event_key(url: &str) -> [u8; 32] {
    Sha256::digest(url.as_bytes()).into()
}

/// The name of the event that answers one wish for a URL.
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
