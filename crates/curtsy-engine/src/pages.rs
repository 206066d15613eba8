//! Pages after their exchange: kept in the cache, read for links, put into their rows.
//!
//! Links are offered before the page they were found on has ended: a crash repeats work and never
//! loses a link.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Gate, LeaseId, Outcome};
use curtsy_core::policy::{Noindex, Policy};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;

use crate::answer;
use crate::exchange::ExchangeResult;
use crate::outbox::FinishedUrl;
use crate::url_fate::UrlFate;
use crate::visit::{HostVisit, PlannedRequest};
use crate::{
    CachedPage, Document, Ending, Fetched, Head, Page, PageSource, Point, Store, UrlRecord, Want,
    Worker, World,
};

/// Links of one page that get a row because they look like traps. The rest is counted among the
/// links that were cut.
pub(crate) const TRAPS_MAX: usize = 10_000;
/// Pages that one sitemap may name (sitemaps.org).
pub(crate) const ENTRIES_MAX: usize = 50_000;
/// Links that are offered at once.
const OFFER_MAX: usize = 500;

/// A response on its way into a row.
struct Response {
    head: Arc<Head>,
    page: Option<Fetched>,
    kept: Option<CachedPage>,
    peer: Option<IpAddr>,
    latency: Option<Duration>,
    source: PageSource,
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Offers links and puts the row into the outbox, after the observation is written.
    pub(crate) async fn follow_up(
        &self,
        planned: &PlannedRequest,
        result: &mut ExchangeResult,
        kept: Option<CachedPage>,
        fate: UrlFate,
        claim: LeaseId,
    ) {
        let UrlFate::Held(ending) = fate else {
            return;
        };
        let worker = self.worker;
        let record = UrlRecord { claim: Some(claim), ..planned.record.clone() };
        let Some(ending) = ending else {
            return Box::pin(self.end_hop(&record, result)).await;
        };
        let now = self.earliest_now();
        let (peer, latency) = (result.peer, result.latency);
        let mut response = result.head.take().map(|head| {
            let (page, source) = (result.page.take(), PageSource::Network);
            Response { head, page, kept, peer, latency, source }
        });
        // A 304 confirms the page in the cache.
        if let Some(response) = &mut response
            && response.head.status == 304
            && !worker.is_private(&record.url)
        {
            let (cache, key) = (worker.outside.cache, record.url.key());
            let source = cache.source(key).await;
            if let Some((head, page)) = cache.page(key).await {
                (response.head, response.page, response.source) = (head, Some(page), source);
            }
        }
        let page = self.read_response(&record, response, now).await;
        let (ending, page) = behind_login(ending, page, &record);
        worker.world.reached(Point::Offered).await;
        let ended = FinishedUrl::new(&self.view, &record, ending, planned.findings, now);
        worker.finish_url(ended.with(page));
    }

    /// Reads a page from the cache like one that was just fetched.
    pub(crate) async fn read_cached(
        &self,
        record: &UrlRecord,
        kept: Option<CachedPage>,
        now: Time,
    ) -> Option<Arc<Page>> {
        let (cache, key) = (self.worker.outside.cache, record.url.key());
        let source = cache.source(key).await;
        let (head, page) = cache.page(key).await?;
        let wanted = self.policy.body.wants(head.content_type.as_deref());
        let page = wanted.then_some(page);
        let response = Response { head, page, kept, peer: None, latency: None, source };
        self.read_response(record, Some(response), now).await
    }

    /// Reads a response and offers its links.
    async fn read_response(
        &self,
        record: &UrlRecord,
        response: Option<Response>,
        now: Time,
    ) -> Option<Arc<Page>> {
        let (worker, policy) = (self.worker, self.policy);
        let reader = worker.outside.reader;
        let is_good = |head: &Head| matches!(head.status, 200..=299);
        let read = response.as_ref().and_then(|r| r.page.clone().filter(|_| is_good(&r.head)));
        let mut document = match (&response, &read) {
            (Some(response), Some(page)) => reader.read(record, &response.head, page, now),
            _ => Document { offers: reader.instead(record), ..Document::default() },
        };
        let offers = within_bounds(std::mem::take(&mut document.offers), record, policy);
        worker.offer(&offers).await;
        let beyond = policy.budget.depth.is_some_and(|max| record.depth >= max);
        let traps = std::mem::take(&mut document.traps);
        if let Some(html) = &mut document.html
            && !beyond
        {
            html.cut.links += traps.len().saturating_sub(TRAPS_MAX);
        }
        for (url, reason) in traps.into_iter().filter(|_| !beyond).take(TRAPS_MAX) {
            // A trap gets its row at once, and never enters the queue.
            let trap = UrlRecord::page(url, record.depth.saturating_add(1));
            let ending = Ending::Refused(Gate::Trap);
            let ended = FinishedUrl::new(&self.view, &trap, ending, reason.refusal(), now);
            worker.finish_url(FinishedUrl { write: None, ..ended });
        }
        let Response { head, kept, peer, latency, source, .. } = response?;
        let unwanted = document.rules.noindex && policy.cache.noindex != Noindex::Mark;
        let body = read.filter(|_| !unwanted && policy.body.keep).map(|page| page.body);
        Some(Arc::new(Page { head, body, document, kept, peer, latency, source }))
    }
}

impl<W: World> Worker<'_, W> {
    /// Offers the links of a page that has become stale, before its request, if its server permits
    /// the use of a stale page meanwhile (RFC 5861): the links need not wait for the page's turn.
    pub(crate) async fn lead_on(
        &self,
        policy: &Policy,
        record: &UrlRecord,
        cached: &CachedPage,
        now: Time,
    ) {
        if !policy.cache.stale_while_revalidate || !self.once.led_on.borrow_mut().insert(record.id)
        {
            return;
        }
        let Some((head, page)) = self.outside.cache.page(record.url.key()).await else {
            return;
        };
        if cached.fresh_until + answer::stale_while_revalidate(&head, now) <= now {
            return;
        }
        let document = self.outside.reader.read(record, &head, &page, now);
        self.offer(&within_bounds(document.offers, record, policy)).await;
    }

    /// Offers URLs to the store until it has them. Returns how many are new.
    pub(crate) async fn offer(&self, records: &[UrlRecord]) -> usize {
        let mut new = 0;
        for some in records.chunks(OFFER_MAX) {
            new += self.until_answered(async |store| store.offer(some).await).await.new;
        }
        new
    }

    /// Returns what is cached of a page, unless it is requested with credentials that other crawls
    /// do not have.
    pub(crate) async fn cached(&self, url: &CrawlUrl) -> Option<CachedPage> {
        match self.is_private(url) {
            true => None,
            false => self.outside.cache.get(url.key()).await,
        }
    }

    /// Whether a page is requested with credentials, and other crawls read the cache.
    fn is_private(&self, url: &CrawlUrl) -> bool {
        let policy = &self.policies.job;
        self.outside.cache.is_shared() && policy.has_credentials(url.host().as_str())
    }

    /// Writes a page to the cache, if it may be kept.
    pub(crate) async fn cache_page(
        &self,
        policy: &Policy,
        planned: &PlannedRequest,
        result: &ExchangeResult,
        now: Time,
    ) -> Option<CachedPage> {
        let (Some(head), Some(page), true) = (&result.head, &result.page, planned.is_for_url())
        else {
            return None;
        };
        let cache = self.outside.cache;
        let plain = matches!(result.outcome, Outcome::Answered { friction: None, .. });
        let missing = answer::is_missing(head.status) && plain && cache.remembers_missing();
        let is_page = !matches!(planned.record.want, Want::RobotsHop { .. } | Want::Check { .. });
        let private = head.own && cache.is_shared();
        if private || !is_page || !(missing || matches!(head.status, 200 | 304)) {
            return None;
        }
        let mut kept = answer::keep(head, policy, now)?;
        if let (304, Some(old)) = (head.status, &planned.cached) {
            // A 304 need not repeat the validators of the page that it confirms.
            kept.etag = kept.etag.or_else(|| old.etag.clone());
            kept.last_modified = kept.last_modified.or_else(|| old.last_modified.clone());
        }
        let response = (head.status != 304).then_some((head, page));
        cache.put(&planned.record, kept.clone(), response).await;
        self.world.reached(Point::Cached).await;
        Some(kept)
    }
}

/// Returns the links of a document that are offered. The reader bounds their number, and counts
/// what it cuts.
fn within_bounds(
    mut offers: Vec<UrlRecord>,
    record: &UrlRecord,
    policy: &Policy,
) -> Vec<UrlRecord> {
    if record.want.is_sitemap() {
        offers.truncate(ENTRIES_MAX);
    }
    offers.retain(|o| o.want != Want::Page || policy.budget.depth.is_none_or(|max| o.depth <= max));
    offers
}

/// Returns the ending and the page of a URL. If the page is a login form where another page was
/// requested, its body is kept neither in the row nor in the cache.
pub(crate) fn behind_login(
    ending: Ending,
    page: Option<Arc<Page>>,
    record: &UrlRecord,
) -> (Ending, Option<Arc<Page>>) {
    let Some(wall) = page.as_ref().filter(|page| page.is_login_wall(&record.origin)) else {
        return (ending, page);
    };
    let outcome = match ending {
        Ending::Fetched(outcome) => outcome,
        Ending::Cached => {
            Outcome::Answered { status: wall.head.status, retry_after: None, friction: None }
        }
        _ => return (ending, page),
    };
    let wall = Page { body: None, kept: None, ..Page::clone(wall) };
    (Ending::LoginWall(outcome), Some(Arc::new(wall)))
}
