//! The queue of a fleet: producers `RPUSH` plain URLs, workers take them with a claim that outlives them.
//!
//! An entry goes from the queue to the worker's list of claims, in one step and with a number, and stays there until its URL is in the frontier.
//! A worker that is not heard of any more leaves its list to the others. What is no URL goes to `page_fetcher_rejected`, with the reason.
//!
//! An entry with a mark in front ([`SitemapEntry`]) is a sitemap: what it lists is fetched, not the sitemap for its own sake.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::url::{CrawlUrl, UrlKey, parse_whatwg};
use curtsy_engine::{Boxed, Source, UrlRecord, Want, Wish};

use super::letters::{Letter, Letters, strange};
use super::link::{Wire, WireError, by_hash};
use super::record::priority_of;
use super::script::{CLAIM, LEAVE};

/// A worker that was not heard of for so long is gone: it claims, or tries to, every second.
pub(crate) const GONE: Duration = Duration::from_secs(30);
/// How much of an entry a message shows.
pub(crate) const SHOWN_MAX: usize = 200;

/// The queue as one worker's source of URLs.
pub struct Queue<W> {
    wire: Rc<W>,
    worker: String,
    queues: [String; 3],
    rejected: Letters<W>,
    /// How many claims the worker was given last, and the number of the first: when it asks for more, they are offered.
    given: RefCell<(usize, Vec<u8>)>,
    /// Entries that could not be dealt with yet.
    waiting: RefCell<Vec<Vec<u8>>>,
    /// Entries that were no URLs.
    refused: Cell<u64>,
}

/// A sitemap as an entry of the queue: `sitemap:https://example.org/sitemap.xml`, or with a bound `sitemap:100:https://example.org/sitemap.xml`.
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
    /// Where it is.
    pub url: &'a str,
    /// URLs of it at most, with all that it leads to; none is what sitemaps.org lets one list.
    pub limit: Option<NonZeroU32>,
}

/// What an entry is that is no page. No URL that is crawled begins so.
const SITEMAP_MARK: &str = "sitemap:";

impl SitemapEntry<'_> {
    /// Reads an entry; none if it is no sitemap. Whether its URL is one is not looked at.
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

/// What an entry of the queue is.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Url(UrlRecord),
    /// What it was, and why it is none.
    Malformed(Vec<u8>, String),
}

impl<W: Wire> Queue<W> {
    /// The queue of this name, for a worker whose name nobody else has. Urgent entries are in `NAME:high`, others in `NAME:low`.
    pub fn new(wire: Rc<W>, worker: String, name: &str, rejected: &str) -> Queue<W> {
        Queue {
            worker,
            queues: [format!("{name}:high"), name.to_owned(), format!("{name}:low")],
            rejected: Letters::new(Rc::clone(&wire), rejected),
            wire,
            given: RefCell::default(),
            waiting: RefCell::default(),
            refused: Cell::new(0),
        }
    }

    /// Entries so far that were no URLs.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Leaves what is claimed and not offered to the others, at once.
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
            let mut answer = match super::reply::Reply::new(value) {
                Ok(answer) => answer,
                Err(error) => return Err(strange(error)),
            };
            if answer.text().map_err(strange)? == "empty" {
                self.wire.greet_again(None).await?;
                return Ok(Vec::new());
            }
            let mut claimed = answer.list().map_err(strange)?;
            let mut waiting = self.waiting.borrow_mut();
            while !claimed.is_over() {
                waiting.push(claimed.bytes().map_err(strange)?);
            }
        }
        let entries: Vec<Entry> = self.waiting.borrow().iter().map(|entry| read(entry)).collect();
        let (mut urls, mut letters) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Url(record) => urls.push(record),
                Entry::Malformed(entry, why) => letters.push(letter(entry, &why)),
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

impl<W: Wire> Source for Queue<W> {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        // What could not be claimed now is asked for again.
        Box::pin(async move { self.claim(max).await.unwrap_or_default() })
    }

    /// What is settled in the store is acknowledged.
    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What this worker has in hand is offered again by itself; what the store had is gone with it.
    fn rewind(&self, _: u64) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A rejected entry, with the reason as JSON.
fn letter(entry: Vec<u8>, why: &str) -> Letter {
    let why = why.replace("\nhint: ", "; ").replace(['\\', '"'], "'");
    let why = why.replace(char::is_control, " ");
    Letter { entry, mark: "{".into(), reason: format!("\"reason\":\"{why}\"}}") }
}

/// An entry with its number and priority in front.
fn read(claimed: &[u8]) -> Entry {
    let mut parts = claimed.splitn(3, |byte| *byte == b' ');
    let mut number = || parts.next().and_then(|n| std::str::from_utf8(n).ok()?.parse::<u64>().ok());
    let (Some(wish), Some(priority)) = (number(), number()) else {
        return Entry::Malformed(claimed.to_vec(), "is no claim".into());
    };
    let entry = parts.next().unwrap_or_default();
    let malformed = |why: String| Entry::Malformed(entry.to_vec(), why);
    let Ok(spelt) = std::str::from_utf8(entry) else {
        return malformed("is not UTF-8".into());
    };
    let sitemap = SitemapEntry::read(spelt);
    let address = sitemap.map_or(spelt, |sitemap| sitemap.url);
    let read = parse_whatwg(None, address);
    if let Ok(mut url) = read
        && (!url.username().is_empty() || url.password().is_some())
    {
        // Neither events nor letters may carry a password. Only a URL without a host takes no user name.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let why = "has a user name or a password, which is not shown here and never sent";
        return Entry::Malformed(url.as_str().as_bytes().to_vec(), why.into());
    }
    let wish = Wish {
        spelt: spelt.to_owned(),
        number: wish,
        priority: priority_of(u8::try_from(priority).unwrap_or(u8::MAX)),
    };
    match CrawlUrl::parse(address) {
        Ok(url) => Entry::Url(UrlRecord {
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
        let Entry::Url(record) = read(b"17 0 HTTP://Example.org") else { panic!("it is a URL") };
        let wish = record.wish.as_deref().unwrap();
        assert_eq!((wish.spelt.as_str(), wish.number), ("HTTP://Example.org", 17));
        assert_eq!((wish.priority, record.url.as_str()), (Priority::High, "http://example.org/"));
    }

    #[test]
    fn a_sitemap_is_known_by_its_mark_and_is_not_the_page_of_its_url() {
        let record = |entry: &[u8]| match read(entry) {
            Entry::Url(record) => record,
            Entry::Malformed(_, why) => panic!("{why}"),
        };
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
            let Entry::Malformed(shown, why) = read(entry) else { panic!("{entry:?}") };
            let shown = String::from_utf8(shown).unwrap();
            assert!(shown.ends_with("://a.test/x") && why.contains("password"), "{shown}: {why}");
        }
    }

    #[test]
    fn what_is_no_url_is_told_with_the_reason() {
        for entry in [
            b"1 1 sitemap:",
            &b"1 1 sitemap:0:http://a.test/"[..],
            b"1 1 sitemap:sitemap:http://a.test/",
        ] {
            assert!(matches!(read(entry), Entry::Malformed(..)), "{entry:?}");
        }
        for entry in [&b"1 1 "[..], b"1 1 mailto:a@b.c", b"1 1 \xff\xfe", b"1 1 not a url", b"x"] {
            assert!(
                matches!(read(entry), Entry::Malformed(_, why) if !why.is_empty()),
                "{entry:?}"
            );
        }
        let long = [b"1 1 http://a.test/".to_vec(), vec![b'x'; 100_000]].concat();
        assert!(matches!(read(&long), Entry::Malformed(entry, _) if entry.len() > 100_000));
    }
}
