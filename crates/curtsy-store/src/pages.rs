//! The page cache in the table `url_fetch_cache`: the engine's `Cache` for a worker's
//! [`StoreHandle`].
//!
//! A page is written in the transaction of the commit that records its exchange, however often that
//! commit is repeated. Meanwhile the page counts as kept. Only a page without such a commit is a
//! write of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::headers::ContentType;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Boxed, Cache, CachedPage, Fetched, Head, UrlRecord};
use curtsy_parse::charset::Charset;
use curtsy_parse::content_type::BodyKind;
use curtsy_parse::sitemap::unpacked;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::headers::{self, without_nul};
use crate::{MachineClock, StoreHandle, SystemClock};

/// Bytes of one page's text, at most. A larger one is not kept.
pub(crate) const CONTENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Pages that are read ahead, at most.
pub(crate) const AHEAD_MAX: usize = 4096;

/// One worker's view of a service's pages. Empty without [`Options::shows`](crate::Options::shows).
pub struct PageCache<H = SystemClock> {
    handle: StoreHandle<H>,
    /// Pages that were read ahead. Each is used once; later calls read it again.
    ahead: RefCell<HashMap<UrlKey, Option<CachedPage>>>,
}

impl<H: MachineClock> PageCache<H> {
    pub(crate) fn new(handle: StoreHandle<H>) -> PageCache<H> {
        PageCache { handle, ahead: RefCell::default() }
    }
}

impl<H: MachineClock> Cache for PageCache<H> {
    fn look_ahead(&self, keys: &[UrlKey]) -> Boxed<'_, ()> {
        let found = self.handle.core().pages(keys);
        let mut ahead = self.ahead.borrow_mut();
        if ahead.len() + keys.len() > AHEAD_MAX {
            // Reading again costs a query.
            ahead.clear();
        }
        ahead.extend(keys.iter().copied().zip(found));
        Box::pin(std::future::ready(()))
    }

    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        let ahead = self.ahead.borrow_mut().remove(&key);
        let found = match self.handle.waiting_page(key) {
            Some(waiting) => {
                Some(waiting.page.clone()).filter(|_| waiting.news != PageChange::TooLarge)
            }
            None => ahead.unwrap_or_else(|| self.handle.core().pages(&[key]).pop().flatten()),
        };
        Box::pin(std::future::ready(found))
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        let waiting = self.handle.waiting_page(key);
        let found = match waiting.as_deref().map(|page| &page.news) {
            Some(PageChange::Answer(answer)) => answer.read(),
            Some(PageChange::TooLarge) => None,
            Some(PageChange::Confirmed) | None => self.handle.core().page(key),
        };
        let found = found.map(|(head, page)| (Arc::new(head), page));
        Box::pin(std::future::ready(found))
    }

    fn remembers_missing(&self) -> bool {
        self.handle.core().keeps_pages()
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        self.ahead.borrow_mut().remove(&asked.url.key());
        if !self.handle.core().keeps_pages() {
            return Box::pin(std::future::ready(()));
        }
        let (id, page) = (asked.id, Arc::new(PageWrite::new(asked, page, answer)));
        Box::pin(async move {
            if !self.handle.goes_with_commit(id, &page) {
                self.handle.keep_page(page).await;
            }
        })
    }
}

/// A write to a page's row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageWrite {
    pub(crate) key: UrlKey,
    pub(crate) url: String,
    pub(crate) hostname: String,
    pub(crate) page: CachedPage,
    pub(crate) news: PageChange,
}

/// What changes in the row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PageChange {
    /// The answer.
    Answer(StoredAnswer),
    /// The kept answer was confirmed.
    Confirmed,
    /// The answer is too large to keep, and the kept one is outdated.
    TooLarge,
}

/// An answer as its row keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredAnswer {
    pub(crate) status: u16,
    /// A JSON object.
    pub(crate) headers: String,
    /// The body as text; `None` if it is not text.
    pub(crate) content: Option<String>,
    /// The SHA-256 of the body as received.
    pub(crate) content_hash: String,
}

impl PageWrite {
    fn new(
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> PageWrite {
        let hostname = asked.url.host().as_str();
        let news = match answer {
            None => PageChange::Confirmed,
            // Of a missing page nothing else matters: it is never revalidated.
            Some((head, fetched)) if head.status >= 400 => PageChange::Answer(StoredAnswer {
                status: head.status,
                headers: headers::to_json(&Head {
                    etag: None,
                    last_modified: None,
                    ..Head::clone(head)
                }),
                content: Some(String::new()),
                content_hash: sha256(&fetched.body),
            }),
            Some((head, fetched)) => match content(head, &fetched.body, hostname) {
                Some(text) if text.len() > CONTENT_BYTES_MAX => PageChange::TooLarge,
                None if is_packed(head, &fetched.body) => PageChange::TooLarge,
                content => PageChange::Answer(StoredAnswer {
                    status: head.status,
                    headers: headers::to_json(head),
                    content,
                    content_hash: sha256(&fetched.body),
                }),
            },
        };
        let (key, url) = (asked.url.key(), asked.url.as_str().to_owned());
        PageWrite { key, url, hostname: hostname.to_owned(), page, news }
    }

    /// Returns the SHA-256 of the URL, which names the row.
    pub(crate) fn url_hash(&self) -> String {
        sha256(self.url.as_bytes())
    }

    /// Returns the key as text.
    pub(crate) fn url_key(&self) -> String {
        self.key.to_string()
    }

    /// Returns the validators of a confirmed page as JSON.
    pub(crate) fn validators(&self) -> String {
        headers::validators(self.page.etag.as_deref(), self.page.last_modified.as_deref())
    }
}

impl StoredAnswer {
    /// Returns the page as the cache returns it.
    fn read(&self) -> Option<(Head, Fetched)> {
        read(self.status, &self.headers, self.content.clone())
    }
}

/// Returns a page as the cache returns it, in UTF-8 with a matching content type; `None` if there
/// is no text.
pub(crate) fn read(status: u16, headers: &str, content: Option<String>) -> Option<(Head, Fetched)> {
    let body = content?.into();
    let mut head = headers::from_json(headers, status)?;
    head.content_type = Some(in_utf8(head.content_type.as_deref()));
    Some((head, Fetched { body }))
}

/// Returns a body as text; `None` if it is not text.
fn content(head: &Head, body: &[u8], host: &str) -> Option<String> {
    let content_type = head.content_type.as_deref();
    match BodyKind::of(content_type, body) {
        BodyKind::Binary => None,
        // Of a compressed sitemap the content counts.
        BodyKind::Gzip => {
            let body = unpacked(body, CONTENT_BYTES_MAX)?;
            Some(without_nul(&Charset::of(&body, None, Some(host)).decode(&body)))
        }
        _ => Some(without_nul(&Charset::of(body, content_type, Some(host)).decode(body))),
    }
}

fn is_packed(head: &Head, body: &[u8]) -> bool {
    matches!(BodyKind::of(head.content_type.as_deref(), body), BodyKind::Gzip)
}

/// Returns the content type with the encoding of the table, whatever the site or the page says of
/// it.
fn in_utf8(content_type: Option<&str>) -> String {
    let essence = content_type.and_then(ContentType::parse).map(|found| found.essence.into_owned());
    format!("{}; charset=utf-8", essence.as_deref().unwrap_or("text/html"))
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::time::Time;
    use curtsy_core::url::CrawlUrl;

    fn write(content_type: &str, body: &[u8]) -> PageWrite {
        let asked = UrlRecord::page(CrawlUrl::parse("https://example.org/a").unwrap(), 0);
        let page = CachedPage { fresh_until: Time::START, etag: None, last_modified: None };
        let content_type = Some(content_type.to_owned());
        let head = Arc::new(Head { status: 200, content_type, ..Head::default() });
        PageWrite::new(&asked, page, Some((&head, &Fetched { body: body.to_vec().into() })))
    }

    /// Checks the type and the text with which a page is read.
    fn check(content_type: &str, body: &[u8], expected: Option<(&str, &str)>) {
        let PageChange::Answer(answer) = write(content_type, body).news else {
            panic!("it is kept")
        };
        let read = answer.read();
        let found = read.as_ref().map(|(head, fetched)| {
            let text = std::str::from_utf8(&fetched.body).expect("UTF-8");
            (head.content_type.as_deref().expect("a type"), text)
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_page_comes_back_in_utf_8_and_says_so() {
        let html = "text/html; charset=utf-8";
        check(
            "text/html",
            b"<meta charset=latin1>caf\xe9",
            Some((html, "<meta charset=latin1>café")),
        );
        check("text/html; charset=ISO-8859-1", b"caf\xe9", Some((html, "café")));
        check("text/html", b"a\0b", Some((html, "ab")));
        check("text/html", b"", Some((html, "")));
        check("application/json", b"{}", Some(("application/json; charset=utf-8", "{}")));
        check("image/png", b"\x89PNG\r\n\x1a\n", None);
        check("application/octet-stream", b"\x89PNG\r\n\x1a\n", None);
    }

    #[test]
    fn a_sitemap_that_is_packed_comes_back_unpacked() {
        // printf '<urlset/>' | gzip -n | xxd -p
        let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xd1\xb7\x03\x00\xdb\xce\x72\xfc\x09\x00\x00\x00";
        check("application/gzip", packed, Some(("application/gzip; charset=utf-8", "<urlset/>")));
        // A body that can't be unpacked is not kept: it would count as fresh, and nobody could read
        // it.
        assert_eq!(write("application/gzip", &packed[..20]).news, PageChange::TooLarge);
    }

    #[test]
    fn a_page_that_is_too_large_is_not_kept() {
        let kept =
            |bytes| matches!(write("text/plain", &vec![b'a'; bytes]).news, PageChange::Answer(_));
        assert!(kept(CONTENT_BYTES_MAX));
        assert!(!kept(CONTENT_BYTES_MAX + 1));
        // Each of these is one byte when received and three in UTF-8.
        let page = write("text/html; charset=windows-1252", &vec![0x80; CONTENT_BYTES_MAX / 2]);
        assert_eq!(page.news, PageChange::TooLarge);
    }

    #[test]
    fn hashes_are_those_of_the_url_and_of_the_bytes() {
        let page = write("text/html", b"");
        // printf https://example.org/a | sha256sum
        assert_eq!(
            page.url_hash(),
            "b5b10dd0429e69ac7cfaf0a20b6901c1265c50b55d1751bcb684ed96ef7b300a"
        );
        let PageChange::Answer(answer) = page.news else { panic!("it is kept") };
        assert_eq!(
            answer.content_hash,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
