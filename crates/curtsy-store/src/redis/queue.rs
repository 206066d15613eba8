//! The queue of a fleet: producers `RPUSH` plain URLs, and workers claim them.
//!
//! One script moves an entry from the queue to the worker's list of claims and numbers it. The
//! entry stays there until its URL is in the frontier. If a worker is no longer active, other
//! workers take over its list. Entries that are not URLs go to `page_fetcher_rejected`, with the
//! reason.
//!
//! An entry with a mark ([`SitemapEntry`]) is a sitemap: the URLs that it lists are fetched.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::url::{CrawlUrl, UrlKey, parse_whatwg};
use curtsy_engine::{Boxed, Source, UrlRecord, Want, Wish};

use super::letters::{Letter, Letters};
use super::link::{Wire, WireError, by_hash};
use super::record::priority_of;
use super::reply::Reply;
use super::script::{CLAIM, LEAVE};

/// A worker that was not active for this long is gone. An active worker claims every second.
pub(crate) const GONE: Duration = Duration::from_secs(30);
/// Characters of an entry that a message shows.
pub(crate) const SHOWN_MAX: usize = 200;

/// The queue as one worker's source of URLs.
pub struct FleetQueue<W> {
    wire: Rc<W>,
    worker: String,
    queues: [String; 3],
    rejected: Letters<W>,
    /// The number of claims that were returned last, and the number of the first. At the next call
    /// they are in the frontier.
    given: RefCell<(usize, Vec<u8>)>,
    /// Entries that were claimed and not returned yet.
    waiting: RefCell<Vec<Vec<u8>>>,
    /// Entries that were not URLs.
    refused: Cell<u64>,
}

/// An entry of the queue that is a sitemap: `sitemap:https://example.org/sitemap.xml`, or with a
/// limit `sitemap:100:https://example.org/sitemap.xml`.
///
/// ```
/// use curtsy_store::redis::SitemapEntry;
/// let entry = SitemapEntry::read("sitemap:100:https://example.org/sitemap.xml").unwrap();
/// assert_eq!((entry.limit.unwrap().get(), entry.url), (100, "https://example.org/sitemap.xml"));
/// assert_eq!(entry.to_string(), "sitemap:100:https://example.org/sitemap.xml");
/// assert_eq!(SitemapEntry::read("https://example.org/sitemap.xml"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapEntry<'a> {
    /// The sitemap's URL.
    pub url: &'a str,
    /// URLs at most, with those of further sitemaps. `None` means the limit of sitemaps.org.
    pub limit: Option<NonZeroU32>,
}

/// The mark of a sitemap. No URL that is crawled begins with it.
const SITEMAP_MARK: &str = "sitemap:";

impl SitemapEntry<'_> {
    /// Reads an entry; `None` if it is not a sitemap. The URL is not checked.
    pub fn read(entry: &str) -> Option<SitemapEntry<'_>> {
        let rest = entry.strip_prefix(SITEMAP_MARK)?;
        // No scheme begins with a digit.
        let bound = rest.split_once(':').and_then(|(n, url)| Some((n.parse().ok()?, url)));
        Some(match bound {
            Some((limit, url)) => SitemapEntry { url, limit: Some(limit) },
            None => SitemapEntry { url: rest, limit: None },
        })
    }
}

impl fmt::Display for SitemapEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(limit) => write!(f, "{SITEMAP_MARK}{limit}:{}", self.url),
            None => write!(f, "{SITEMAP_MARK}{}", self.url),
        }
    }
}

impl<W: Wire> FleetQueue<W> {
    /// Returns the queue with this name, for a worker with a unique name. Urgent entries are in
    /// `NAME:high`, others in `NAME:low`.
    pub fn new(wire: Rc<W>, worker: String, name: &str, rejected: &str) -> FleetQueue<W> {
        FleetQueue {
            worker,
            queues: [format!("{name}:high"), name.to_owned(), format!("{name}:low")],
            rejected: Letters::new(Rc::clone(&wire), rejected),
            wire,
            given: RefCell::default(),
            waiting: RefCell::default(),
            refused: Cell::new(0),
        }
    }

    /// Returns the number of entries that were not URLs.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Leaves claims that are not in the frontier yet to the other workers, immediately.
    pub async fn leave(&self) -> Result<(), WireError> {
        let mut command = by_hash(&LEAVE);
        command.arg(&self.worker);
        self.wire.run(&LEAVE, &command).await.map(|_| ())
    }

    async fn claim(&self, max: usize) -> Result<Vec<UrlRecord>, WireError> {
        if self.waiting.borrow().is_empty() {
            let mut command = by_hash(&CLAIM);
            let (offered, first) = self.given.borrow().clone();
            command.arg("").arg(&self.worker).arg(offered).arg(first).arg(max);
            command.arg(GONE.as_micros() as u64).arg(&self.queues[..]);
            let value = self.wire.run(&CLAIM, &command).await?;
            self.given.take();
            let mut answer = Reply::new(value)?;
            if answer.text()? == "empty" {
                self.wire.greet_again(None).await?;
                return Ok(Vec::new());
            }
            let mut claimed = answer.list()?;
            let mut waiting = self.waiting.borrow_mut();
            while !claimed.is_over() {
                waiting.push(claimed.bytes()?);
            }
        }
        let (mut urls, mut letters) = (Vec::new(), Vec::new());
        for entry in &*self.waiting.borrow() {
            match read(entry) {
                Ok(record) => urls.push(record),
                Err((entry, why)) => letters.push(letter(entry, &why)),
            }
        }
        let rejected = self.rejected.put(&letters).await?;
        self.refused.set(self.refused.get() + rejected);
        let given = self.waiting.take();
        let first = given.first().and_then(|entry| entry.split(|byte| *byte == b' ').next());
        self.given.replace((given.len(), first.unwrap_or_default().to_vec()));
        Ok(urls)
    }
}

impl<W: Wire> Source for FleetQueue<W> {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        // What could not be claimed now is claimed later.
        Box::pin(async move { self.claim(max).await.unwrap_or_default() })
    }

    /// The store acknowledges settled URLs.
    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// This worker offers its claims again itself. What the store had is lost with it.
    fn rewind(&self, _: u64) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Returns a rejected entry with the reason as JSON.
fn letter(entry: Vec<u8>, why: &str) -> Letter {
    let why = why.replace("\nhint: ", "; ").replace(['\\', '"'], "'");
    let why = why.replace(char::is_control, " ");
    Letter { entry, mark: "{".into(), reason: format!("\"reason\":\"{why}\"}}") }
}

/// Parses an entry after its number and priority. An error has the entry, and why it is not a URL.
fn read(claimed: &[u8]) -> Result<UrlRecord, (Vec<u8>, String)> {
    let mut parts = claimed.splitn(3, |byte| *byte == b' ');
    let mut number = || parts.next().and_then(|n| std::str::from_utf8(n).ok()?.parse::<u64>().ok());
    let (Some(wish), Some(priority)) = (number(), number()) else {
        return Err((claimed.to_vec(), "is no claim".into()));
    };
    let entry = parts.next().unwrap_or_default();
    let malformed = |why: String| Err((entry.to_vec(), why));
    let Ok(spelt) = std::str::from_utf8(entry) else {
        return malformed("is not UTF-8".into());
    };
    let sitemap = SitemapEntry::read(spelt);
    let address = sitemap.map_or(spelt, |sitemap| sitemap.url);
    let read = parse_whatwg(None, address);
    if let Ok(mut url) = read
        && (!url.username().is_empty() || url.password().is_some())
    {
        // Neither events nor letters may contain a password. Setting a user name fails only for a
        // URL without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let why = "has a user name or a password, which is not shown here and never sent";
        return Err((url.as_str().as_bytes().to_vec(), why.into()));
    }
    let wish = Wish {
        spelt: spelt.to_owned(),
        number: wish,
        priority: priority_of(u8::try_from(priority).unwrap_or(u8::MAX)),
    };
    match CrawlUrl::parse(address) {
        Ok(url) => Ok(UrlRecord {
            want: if sitemap.is_some() { Want::Sitemap } else { Want::Page },
            ..UrlRecord::wished(url, wish)
        }),
        Err(error) => malformed(error.to_string().chars().take(SHOWN_MAX).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_engine::Priority;

    #[test]
    fn an_entry_keeps_its_spelling_number_and_priority() {
        let record = read(b"17 0 HTTP://Example.org").unwrap();
        let wish = record.wish.as_deref().unwrap();
        assert_eq!((wish.spelt.as_str(), wish.number), ("HTTP://Example.org", 17));
        assert_eq!((wish.priority, record.url.as_str()), (Priority::High, "http://example.org/"));
    }

    #[test]
    fn a_sitemap_is_known_by_its_mark_and_is_not_the_page_of_its_url() {
        let record = |entry: &[u8]| read(entry).unwrap();
        let page = record(b"1 2 https://example.org/sitemap.xml");
        let plain = record(b"2 2 sitemap:https://example.org/sitemap.xml");
        let bound = record(b"3 2 sitemap:20:https://example.org/sitemap.xml");
        assert_eq!((&plain.url, &bound.url), (&page.url, &page.url));
        assert_eq!((page.want, plain.want, bound.want), (Want::Page, Want::Sitemap, Want::Sitemap));
        let ids = [page.id, plain.id, bound.id];
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        let wish = bound.wish.unwrap();
        assert_eq!(wish.spelt, "sitemap:20:https://example.org/sitemap.xml");
        assert_eq!((wish.number, wish.priority), (3, Priority::Low));
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for entry in [&b"1 1 http://bob:hunter3@a.test/x"[..], b"1 1 sitemap:https://bob@a.test/x"]
        {
            let (shown, why) = read(entry).unwrap_err();
            let shown = String::from_utf8(shown).unwrap();
            assert!(shown.ends_with("://a.test/x") && why.contains("password"), "{shown}: {why}");
        }
    }

    #[test]
    fn entries_that_are_not_urls_are_rejected_with_the_reason() {
        for entry in [
            b"1 1 sitemap:",
            &b"1 1 sitemap:0:http://a.test/"[..],
            b"1 1 sitemap:sitemap:http://a.test/",
        ] {
            assert!(read(entry).is_err(), "{entry:?}");
        }
        for entry in [&b"1 1 "[..], b"1 1 mailto:a@b.c", b"1 1 \xff\xfe", b"1 1 not a url", b"x"] {
            assert!(read(entry).is_err_and(|(_, why)| !why.is_empty()), "{entry:?}");
        }
        let long = [b"1 1 http://a.test/".to_vec(), vec![b'x'; 100_000]].concat();
        assert!(read(&long).is_err_and(|(entry, _)| entry.len() > 100_000));
    }
}
