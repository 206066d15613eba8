//! What becomes of a URL once its request has come to something: its record, its links, its page, its row.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Class, Fate, Friction, Gate, LeaseId, Outcome, RobotsNews, TrapReason, Tries, fate,
};
use curtsy_core::policy::{Noindex, OnForbidden, Policy};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_parse::login::leads_to_login;

use crate::answer;
use crate::exchange::Brought;
use crate::flush::Ended;
use crate::visit::{Asked, Seen};
use crate::{
    CachedPage, CheckBy, Clock, Document, Ending, Fetched, Head, Page, PageSource, Point, Step,
    Store, Then, UrlRecord, UrlWrite, View, Want, Worker, World,
};

/// The least time for which a URL whose answer is in hand is kept from others.
const HELD_MIN: Duration = Duration::from_secs(30);
/// The tries of a URL that is not tried again.
pub(crate) const ENDED: Tries = Tries { counted: u8::MAX, doubt: None, open: false };
/// Links of one page that get a row because they look like traps; the rest is counted among the links that were cut.
pub(crate) const TRAPS_MAX: usize = 10_000;
/// Pages that one sitemap may name (sitemaps.org).
pub(crate) const ENTRIES_MAX: usize = 50_000;
/// Links that are offered at once.
const OFFER_MAX: usize = 500;
/// Pages of which it is remembered that they led on while they were stale.
const LED_MAX: usize = 65_536;

impl<W: World> Worker<'_, W> {
    /// What becomes of the URL.
    pub(crate) fn becomes_of(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        brought: &Brought,
        news: Option<&RobotsNews>,
    ) -> Becomes {
        let record = &asked.record;
        let now = seen.stamp.latest(self.world.clock().mono());
        let outcome_class = brought.outcome.class();
        if !asked.is_for_url() && !brought.is_refusal() {
            return self.first_hop(asked, news).map_or(Becomes::Unchanged, Becomes::New);
        }
        if brought.outcome == Outcome::NotSent {
            return Becomes::Unsent;
        }
        if let Want::RobotsHop { .. } = record.want
            && outcome_class != Class::Ours
        {
            return match self.next_hop(record, brought) {
                Some(next) => Becomes::Moved(Box::new(next)),
                None => Becomes::Held(None),
            };
        }
        if let Some(head) = &brought.head
            && answer::is_redirect(head.status)
            && brought.outcome.status().is_some()
        {
            let target = head.location.as_deref().and_then(|l| record.url.join(l).ok());
            return match target {
                Some(target) if leads_to_login(&record.url, &target) => {
                    Becomes::Held(Some(Ending::LoginWall(brought.outcome)))
                }
                // Without cookies, a URL that leads to itself leads nowhere.
                Some(target)
                    if record.hop < asked.policy.body.redirects_max && target != record.url =>
                {
                    Becomes::Moved(Box::new(UrlRecord {
                        url: target,
                        hop: record.hop + 1,
                        ..record.untried()
                    }))
                }
                _ => Becomes::Held(Some(Ending::LostRedirect)),
            };
        }
        let outcome = brought.outcome;
        if record.want == (Want::Check { by: CheckBy::Head })
            && is_no_to_head(&outcome, asked.policy)
        {
            return Becomes::Moved(Box::new(UrlRecord {
                want: Want::Check { by: CheckBy::Get },
                ..record.untried()
            }));
        }
        if outcome.asks_for_login() {
            return Becomes::Held(Some(Ending::LoginWall(outcome)));
        }
        // The try in hand is the open one.
        let before = Tries { open: false, ..record.tries }.settled(&seen.view.state);
        let seed = seen.view.host.seed();
        match fate(&outcome, before, asked.policy, seed, now) {
            Fate::Done => Becomes::Held(Some(Ending::Fetched(outcome))),
            Fate::Dead => Becomes::Held(Some(Ending::Dead(outcome))),
            Fate::Retry { at, tries } => Becomes::Retry { at, tries, outcome },
        }
    }

    /// Remembers a URL that failed, in case the store loses its tries or its end.
    pub(crate) fn note_url(&self, record: &UrlRecord, becomes: &Becomes, claim: LeaseId) {
        let failed = match becomes {
            Becomes::Retry { at, tries, outcome } => Some((Some(*at), *tries, *outcome)),
            Becomes::Held(Some(Ending::Dead(outcome) | Ending::LoginWall(outcome))) => {
                Some((None, ENDED, *outcome))
            }
            _ => None,
        };
        let mut memory = self.memory.borrow_mut();
        match failed {
            Some((ready, tries, outcome)) => memory.remember_url(UrlRecord {
                ready,
                tries,
                last: Some(outcome),
                claim: Some(claim),
                ..record.clone()
            }),
            None if matches!(becomes, Becomes::Held(_) | Becomes::Moved(_)) => {
                memory.forget_url(record.id);
            }
            None => {}
        }
    }

    /// Notes a request that was not the last of its URL.
    pub(crate) fn note_step(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        outcome: Outcome,
        becomes: &Becomes,
        at: Time,
    ) {
        let then = match becomes {
            _ if outcome == Outcome::NotSent => return,
            Becomes::Retry { at, .. } => Then::Retry(*at),
            Becomes::Moved(to) => Then::Follow(to.url.clone()),
            Becomes::New(to) => Then::Follow(to.url.clone()),
            Becomes::Held(None) | Becomes::Unchanged | Becomes::Unsent => Then::Decide,
            Becomes::Held(Some(_)) => return,
        };
        self.step(Step {
            id: asked.record.id,
            url: asked.approach.url.clone(),
            kind: asked.approach.kind,
            findings: asked.findings,
            crawl_delay: seen.view.state.crawl_delay_of(&asked.approach.authority()),
            outcome,
            then,
            at,
        });
    }

    /// After the observation is written: links and row.
    pub(crate) async fn follow_up(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        brought: &mut Brought,
        kept: Option<CachedPage>,
        becomes: Becomes,
        claim: LeaseId,
    ) {
        let Becomes::Held(ending) = becomes else {
            return;
        };
        let record = UrlRecord { claim: Some(claim), ..asked.record.clone() };
        let Some(ending) = ending else {
            return Box::pin(self.end_hop(seen, asked, &record, brought)).await;
        };
        let now = seen.stamp.earliest(self.world.clock().mono());
        let answer = match (brought.head.take(), brought.page.take()) {
            (Some(head), page) if head.status == 304 && !self.is_for_us_alone(&record.url) => {
                let (cache, key) = (self.outside.cache, record.url.key());
                let source = cache.source(key).await;
                let held = cache.page(key).await;
                Some(held.map_or((head, page, PageSource::Network), |(head, page)| {
                    (head, Some(page), source)
                }))
            }
            (Some(head), page) => Some((head, page, PageSource::Network)),
            (None, _) => None,
        };
        let answer = answer.map(|(head, page, source)| Answer {
            head,
            page,
            kept,
            peer: brought.peer,
            latency: brought.latency,
            source,
        });
        let page = self.take_in(seen, asked.policy, &record, answer, now).await;
        let (ending, page) = behind_login(ending, page, &record);
        self.world.reached(Point::Offered).await;
        let ended = self.ended(&seen.view, &record, ending, asked.findings, now);
        self.end(ended.with(page));
    }

    /// A page that we hold is as good a source of links as one that was just fetched.
    pub(crate) async fn take_in_cached(
        &self,
        seen: &Seen,
        policy: &Policy,
        record: &UrlRecord,
        cached: Option<CachedPage>,
        now: Time,
    ) -> Option<Arc<Page>> {
        let source = self.outside.cache.source(record.url.key()).await;
        let (head, page) = self.outside.cache.page(record.url.key()).await?;
        let page = policy.body.wants(head.content_type.as_deref()).then_some(page);
        let kept = cached;
        let answer = Answer { head, page, kept, peer: None, latency: None, source };
        self.take_in(seen, policy, record, Some(answer), now).await
    }

    /// A page that went stale a moment ago, and that its server lets be used while it is asked for again (RFC 5861), leads on at once:
    /// what it links to need not wait for its turn, nor for its answer.
    pub(crate) async fn lead_on(
        &self,
        policy: &Policy,
        record: &UrlRecord,
        held: &CachedPage,
        now: Time,
    ) {
        if !policy.cache.stale_while_revalidate || !self.leads_on_first(record.id) {
            return;
        }
        let Some((head, page)) = self.outside.cache.page(record.url.key()).await else {
            return;
        };
        if held.fresh_until + answer::stale_while_revalidate(&head, now) <= now {
            return;
        }
        let document = self.outside.reader.read(record, &head, &page, now);
        self.offer(&within(document.offers, record, policy)).await;
    }

    fn leads_on_first(&self, id: UrlKey) -> bool {
        let mut led = self.led.borrow_mut();
        if led.len() >= LED_MAX {
            // Leading on twice is work for nothing, and nothing worse.
            led.clear();
        }
        led.insert(id)
    }

    /// Reads an answer and offers what it leads to. What a page links to is known before the page has ended.
    async fn take_in(
        &self,
        seen: &Seen,
        policy: &Policy,
        record: &UrlRecord,
        answer: Option<Answer>,
        now: Time,
    ) -> Option<Arc<Page>> {
        let reader = self.outside.reader;
        let is_good = |head: &Head| matches!(head.status, 200..=299);
        let read = answer.as_ref().and_then(|a| a.page.clone().filter(|_| is_good(&a.head)));
        let mut document = match (&answer, &read) {
            (Some(answer), Some(page)) => reader.read(record, &answer.head, page, now),
            _ => Document { offers: reader.instead(record), ..Document::default() },
        };
        let offers = within(std::mem::take(&mut document.offers), record, policy);
        self.offer(&offers).await;
        let beyond = policy.budget.depth.is_some_and(|max| record.depth >= max);
        let traps = std::mem::take(&mut document.traps);
        if let Some(html) = &mut document.html
            && !beyond
        {
            html.cut.links += traps.len().saturating_sub(TRAPS_MAX);
        }
        for (url, reason) in traps.into_iter().filter(|_| !beyond).take(TRAPS_MAX) {
            self.end(self.trapped(seen, record, url, reason, now));
        }
        let answer = answer?;
        let unwanted = document.rules.noindex && policy.cache.noindex != Noindex::Mark;
        let body = match read {
            Some(page) if !unwanted && policy.body.keep => Some(page.body),
            _ => None,
        };
        Some(Arc::new(Page {
            head: answer.head,
            body,
            document,
            kept: answer.kept,
            peer: answer.peer,
            latency: answer.latency,
            source: answer.source,
        }))
    }

    /// Offers URLs, however often that must be tried: until they are in, what they were found in has not ended.
    pub(crate) async fn offer(&self, records: &[UrlRecord]) -> usize {
        let mut new = 0;
        for some in records.chunks(OFFER_MAX) {
            loop {
                match self.world.store().offer(some).await {
                    Ok(offered) => break new += offered.new,
                    Err(_) => self.pause(Duration::from_millis(200)).await,
                }
            }
        }
        new
    }

    /// The row of a link that looks like a trap: it never gets into the queue.
    fn trapped(
        &self,
        seen: &Seen,
        found_in: &UrlRecord,
        url: CrawlUrl,
        reason: TrapReason,
        now: Time,
    ) -> Ended {
        let record = UrlRecord::page(url, found_in.depth.saturating_add(1));
        let ending = Ending::Refused(Gate::Trap);
        let ended = self.ended(&seen.view, &record, ending, reason.refusal(), now);
        Ended { write: None, ..ended }
    }

    /// What is held of a page. What others were shown is not what one's own credentials show.
    pub(crate) async fn held(&self, url: &CrawlUrl) -> Option<CachedPage> {
        match self.is_for_us_alone(url) {
            true => None,
            false => self.outside.cache.get(url.key()).await,
        }
    }

    /// Whether a page is asked for with credentials, and the cache is not this crawl's alone.
    fn is_for_us_alone(&self, url: &CrawlUrl) -> bool {
        self.outside.cache.is_shared() && self.policy.has_credentials(url.host().as_str())
    }

    /// Keeps a page for the next time.
    pub(crate) async fn keep_page(
        &self,
        asked: &Asked<'_>,
        brought: &Brought,
        now: Time,
    ) -> Option<CachedPage> {
        let (Some(head), Some(page), true) = (&brought.head, &brought.page, asked.is_for_url())
        else {
            return None;
        };
        let plain = matches!(brought.outcome, Outcome::Answered { friction: None, .. });
        let missing = answer::is_missing(head.status) && plain;
        let missing = missing && self.outside.cache.remembers_missing();
        if head.own && self.outside.cache.is_shared() {
            return None;
        }
        if !(missing || matches!(head.status, 200 | 304))
            || matches!(asked.record.want, Want::RobotsHop { .. } | Want::Check { .. })
        {
            return None;
        }
        let mut kept = answer::keep(head, asked.policy, now)?;
        if let (304, Some(old)) = (head.status, &asked.cached) {
            // A 304 need not repeat the validators of what it confirms.
            kept.etag = kept.etag.or_else(|| old.etag.clone());
            kept.last_modified = kept.last_modified.or_else(|| old.last_modified.clone());
        }
        let answer = (head.status != 304).then_some((head, page));
        self.outside.cache.put(&asked.record, kept.clone(), answer).await;
        self.world.reached(Point::Cached).await;
        Some(kept)
    }
}

/// What is offered of what a document leads to. How much that can be is bounded by the reader's limits, which count what they cut.
fn within(mut offers: Vec<UrlRecord>, record: &UrlRecord, policy: &Policy) -> Vec<UrlRecord> {
    if record.want == Want::Sitemap {
        offers.truncate(ENTRIES_MAX);
    }
    offers.retain(|o| o.want != Want::Page || policy.budget.depth.is_none_or(|max| o.depth <= max));
    offers
}

/// Whether an answer to `HEAD` may be one to the method alone: 405 and 501 say so, and many servers say 403, 404 or 500 instead.
/// A bot wall would say the same to any method, what holds for the whole host is waited for as always, and a 403 for which the policy
/// leaves the host alone for a while is not asked about a second time.
fn is_no_to_head(outcome: &Outcome, policy: &Policy) -> bool {
    match *outcome {
        Outcome::Answered { friction: Some(Friction::Challenge), .. } => false,
        Outcome::Answered { status: 403, .. } => policy.backoff.forbidden == OnForbidden::Permanent,
        Outcome::Answered { status, .. } => {
            status >= 400 && matches!(outcome.class(), Class::UrlSpecific | Class::Ambiguous)
        }
        Outcome::Failed(problem) => problem.class() == Class::UrlPassing,
        Outcome::NotSent => false,
    }
}

/// The ending and the page of a URL, where the page turned out to be a login. A login form is not what was asked for: it is kept neither as a body nor
/// for the next time.
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

/// An answer on its way into a row.
struct Answer {
    head: Arc<Head>,
    page: Option<Fetched>,
    kept: Option<CachedPage>,
    peer: Option<IpAddr>,
    latency: Option<Duration>,
    source: PageSource,
}

/// What becomes of a URL with the observation's commit.
pub(crate) enum Becomes {
    /// The request was not for it.
    Unchanged,
    /// The request was for it, and was not sent.
    Unsent,
    /// The request was not for it, and this one is new: the next hop of a robots.txt.
    New(Box<UrlRecord>),
    /// Its answer is in hand: kept from others until its row and fate are written. No ending is a robots hop.
    Held(Option<Ending>),
    /// Tried again.
    Retry { at: Time, tries: Tries, outcome: Outcome },
    /// Redirected.
    Moved(Box<UrlRecord>),
}

impl Becomes {
    /// The change of the record, which has the claim that it was granted or handed out with; `claim` is its next.
    pub(crate) fn write(
        &self,
        view: &View,
        policy: &Policy,
        record: &UrlRecord,
        claim: LeaseId,
        now: Time,
    ) -> Vec<UrlWrite> {
        let same =
            UrlRecord { claim: Some(claim), held: false, slot_since: None, ..record.clone() };
        let to = match self {
            Becomes::Unchanged => return Vec::new(),
            Becomes::New(new) => {
                return vec![UrlWrite {
                    from: None,
                    id: new.id,
                    claim: None,
                    to: Some((**new).clone()),
                }];
            }
            Becomes::Unsent => unsent(same),
            Becomes::Held(ending) => {
                let held = UrlRecord { ready: Some(now + held_for(policy)), held: true, ..same };
                match ending {
                    // Whoever has it next, if its worker dies, must not ask again for what is final.
                    Some(Ending::Dead(outcome) | Ending::LoginWall(outcome)) => {
                        UrlRecord { tries: ENDED, last: Some(*outcome), ..held }
                    }
                    _ => held,
                }
            }
            Becomes::Retry { at, tries, outcome } => {
                UrlRecord { ready: Some(*at), tries: *tries, last: Some(*outcome), ..same }
            }
            Becomes::Moved(moved) => (**moved).clone(),
        };
        let from = Some(view.host.clone());
        vec![UrlWrite { from, id: record.id, claim: record.claim, to: Some(to) }]
    }
}

/// How long a URL whose answer is in hand is kept from others, until its fate is written: four times as long as a request may take. Whoever still
/// has it by then says so again; whoever died with it leaves it to the others.
pub(crate) fn held_for(policy: &Policy) -> Duration {
    (policy.timeout.whole * 4).max(HELD_MIN)
}

/// The ending of a URL that is not asked again, by the last that was heard of it.
pub(crate) fn final_ending(record: &UrlRecord) -> Ending {
    match record.last {
        None => Ending::Unheard,
        // A redirect ends a URL only where it leads to a login.
        Some(outcome)
            if outcome.asks_for_login() || matches!(outcome.status(), Some(300..=399)) =>
        {
            Ending::LoginWall(outcome)
        }
        Some(outcome) => Ending::Dead(outcome),
    }
}

/// The record of a URL whose turn was handed back.
pub(crate) fn unsent(record: UrlRecord) -> UrlRecord {
    UrlRecord { tries: Tries { open: false, ..record.tries }, ..record }
}
