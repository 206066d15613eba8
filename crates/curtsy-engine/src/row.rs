//! Seeds in, rows out.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::evidence::Webpage;
use curtsy_core::headers::http_date;
use curtsy_core::host::{AskKind, Findings, Gate, Outcome, RequestKind};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};

use crate::page::{Boxed, Page};
use crate::{UrlRecord, Wish};

/// The result of one URL, fetched or not, with the evidence.
#[derive(Clone, Debug)]
pub struct Row {
    /// The URL as it was offered.
    pub id: UrlKey,
    /// The same, to print.
    pub url: CrawlUrl,
    /// The wish, if somebody asked for the URL and may ask again.
    pub wish: Option<Arc<Wish>>,
    /// Where its redirects led.
    pub final_url: CrawlUrl,
    /// Redirects followed.
    pub redirects: u8,
    /// Links followed from a seed.
    pub depth: u16,
    /// A page, or a sitemap on the way to pages.
    pub kind: AskKind,
    /// Tries that failed before.
    pub tries: u8,
    /// How it ended.
    pub ending: Ending,
    /// Every gate's finding at its last decision.
    pub findings: Findings,
    /// The Crawl-delay that robots.txt had for us then.
    pub crawl_delay: Option<Duration>,
    /// The store's time.
    pub at: Time,
    /// The page that the site sent, or that was cached.
    pub page: Option<Arc<Page>>,
}

impl Row {
    /// The URL as somebody spelt it.
    pub fn spelt(&self) -> &str {
        self.wish.as_ref().map_or(self.url.as_str(), |wish| &wish.spelt)
    }

    /// The number of the wish; zero without one.
    pub fn wish_number(&self) -> u64 {
        self.wish.as_ref().map_or(0, |wish| wish.number)
    }

    /// Whether it ended by a cached response, without a request.
    pub fn is_remembered(&self) -> bool {
        let held = self.page.as_deref().is_some_and(|page| page.peer.is_none());
        self.ending == Ending::Cached || held
    }

    /// The page for the caller: fetched, confirmed or cached, but not a bot wall in its place.
    pub fn webpage(&self) -> Option<Webpage<'_>> {
        let page = self.page.as_deref().filter(|_| self.kind == AskKind::Page)?;
        let at = match self.ending {
            Ending::Fetched(Outcome::Answered {
                status: 200..=299 | 304, friction: None, ..
            }) => Some(self.at),
            Ending::Cached => {
                let date = page.head.date.as_deref();
                let secs = date.and_then(|date| http_date(date, self.at.secs() as i64));
                Some(secs.map_or(self.at, |secs| Time::from_secs(secs.max(0) as u64)))
            }
            _ => None,
        };
        Some(Webpage {
            url: self.spelt(),
            wish: self.wish_number(),
            status: page.head.status,
            content_type: page.head.content_type.as_deref(),
            body: page.body.as_ref()?,
            at: at?,
        })
    }
}

/// A request on the way to a row: robots.txt, a hop of a redirect, a try that failed, a probe.
#[derive(Clone, Debug)]
pub struct Step {
    /// The URL that needed the request, as it was offered.
    pub id: UrlKey,
    /// The URL of the request.
    pub url: CrawlUrl,
    /// What was requested.
    pub kind: RequestKind,
    /// Every gate's finding at the decision.
    pub findings: Findings,
    /// The Crawl-delay that robots.txt had for us then.
    pub crawl_delay: Option<Duration>,
    /// The result.
    pub outcome: Outcome,
    /// What the URL does next.
    pub then: Then,
    /// The store's time.
    pub at: Time,
}

/// What a URL does after a request on the way to its row.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The decision is made again with what was learnt.
    Decide,
    /// The URL is tried again, not before this.
    Retry(Time),
    /// The URL is followed to where it leads.
    Follow(CrawlUrl),
}

/// Rows and steps that are written together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// URLs that have ended.
    pub rows: Vec<Arc<Row>>,
    /// Requests on the way to rows. A kill may lose the last of them; no row depends on one.
    pub steps: Vec<Step>,
}

impl Batch {
    /// Rows without steps.
    pub fn of_rows(rows: impl IntoIterator<Item = Row>) -> Batch {
        Batch { rows: rows.into_iter().map(Arc::new).collect(), steps: Vec::new() }
    }
}

/// How a URL ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Fetched: the site responded.
    Fetched(Outcome),
    /// The cached page is fresh.
    Cached,
    /// Refused by a gate.
    Refused(Gate),
    /// A failure that stays.
    Dead(Outcome),
    /// No try was ever reported: the workers that made them died.
    Unheard,
    /// More redirects than allowed, or one that leads nowhere.
    LostRedirect,
    /// The site wants a login: status 401, a redirect to a login, or a login form in place of the
    /// page. curtsy never logs in.
    LoginWall(Outcome),
}

/// Seeds.
pub trait Source {
    /// Returns the next seeds; none if there are none now.
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>>;
    /// Acknowledges URLs whose rows are written: they need not be offered again.
    fn ack(&self, ids: &[UrlKey]) -> Boxed<'_, ()>;
    /// The store lost something before this epoch: URLs without an acknowledgement must be offered
    /// again.
    fn rewind(&self, epoch: u64) -> Boxed<'_, ()>;
}

/// A destination of rows. Accepts a batch as a whole. May receive a row twice, with the same id.
pub trait Sink {
    /// Writes a batch. It is durable when this returns.
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>>;
}

/// A sink did not accept a batch.
#[derive(Clone, Debug, thiserror::Error)]
#[error("sink could not keep {rows} rows: {why}")]
pub struct SinkError {
    /// How many.
    pub rows: usize,
    /// Why.
    pub why: String,
}
