//! What comes in and what goes out: seeds and rows.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::evidence::Webpage;
use curtsy_core::headers::http_date;
use curtsy_core::host::{AskKind, Findings, Gate, Kind, Outcome};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};

use crate::page::{Boxed, Page};
use crate::{UrlRecord, Wish};

/// One URL that was considered, fetched or not, with the evidence.
#[derive(Clone, Debug)]
pub struct Row {
    /// The URL as it was offered.
    pub id: UrlKey,
    /// The same, to print.
    pub url: CrawlUrl,
    /// Whose wish it was, if it was one that may come again.
    pub wish: Option<Arc<Wish>>,
    /// Where it was found in the end.
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
    /// The Crawl-delay that the site's robots.txt had for us then.
    pub crawl_delay: Option<Duration>,
    /// The store's time.
    pub at: Time,
    /// What the site sent, or what we hold of it.
    pub page: Option<Arc<Page>>,
}

impl Row {
    /// The URL as it was asked for, to the letter.
    pub fn spelt(&self) -> &str {
        self.wish.as_ref().map_or(self.url.as_str(), |wish| &wish.spelt)
    }

    /// Which wish for this URL it is; zero for one that nobody wished for.
    pub fn wish_number(&self) -> u64 {
        self.wish.as_ref().map_or(0, |wish| wish.number)
    }

    /// Whether it ended by an answer that we hold, without a request.
    pub fn is_remembered(&self) -> bool {
        let held = self.page.as_deref().is_some_and(|page| page.peer.is_none());
        self.ending == Ending::Cached || held
    }

    /// The page that whoever asked for it gets: fetched, confirmed or held; not what stands in for it, like a bot wall.
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
    /// The URL on whose behalf it was made, as it was offered.
    pub id: UrlKey,
    /// What was asked for.
    pub url: CrawlUrl,
    /// What for.
    pub kind: Kind,
    /// Every gate's finding at the decision.
    pub findings: Findings,
    /// The Crawl-delay that the site's robots.txt had for us then.
    pub crawl_delay: Option<Duration>,
    /// What came of it.
    pub outcome: Outcome,
    /// What follows.
    pub then: Then,
    /// The store's time.
    pub at: Time,
}

/// What follows a request on the way to a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The decision is made again with what was learnt.
    Decide,
    /// The URL is tried again, not before this.
    Retry(Time),
    /// The URL is followed to where it leads.
    Follow(CrawlUrl),
}

/// What goes out together.
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
    /// Fetched: an answer of the site.
    Fetched(Outcome),
    /// The page that we hold is fresh.
    Cached,
    /// Refused by a gate.
    Refused(Gate),
    /// A failure that stays.
    Dead(Outcome),
    /// Nothing was heard of any of its tries: whoever asked for it died.
    Unheard,
    /// More redirects than allowed, or one that leads nowhere.
    LostRedirect,
    /// The site wants a login: a status 401, a redirect to a login, or a login form where a page was asked for. It is never tried.
    LoginWall(Outcome),
}

/// Seeds.
pub trait Source {
    /// The next seeds, none if there are none now.
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>>;
    /// The rows of these are kept: they need not be offered again.
    fn ack(&self, ids: &[UrlKey]) -> Boxed<'_, ()>;
    /// The store lost something in this epoch: everything that is not acknowledged must be offered again.
    fn rewind(&self, epoch: u64) -> Boxed<'_, ()>;
}

/// Rows out. Accepts a batch as a whole; may be told a row twice, with the same id.
pub trait Sink {
    /// Writes a batch; when this returns, it is kept.
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>>;
}

/// The sink could not keep a batch.
#[derive(Clone, Debug, thiserror::Error)]
#[error("sink could not keep {rows} rows: {why}")]
pub struct SinkError {
    /// How many.
    pub rows: usize,
    /// Why.
    pub why: String,
}
