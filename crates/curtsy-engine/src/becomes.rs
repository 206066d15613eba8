//! What becomes of a URL once its request has come to something: its record, its links, its page, its row.

use std::time::Duration;

use curtsy_core::host::{Fate, LeaseId, Outcome, RobotsNews, Tries, fate};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;

use crate::answer;
use crate::exchange::Brought;
use crate::visit::{Asked, Seen};
use crate::{
    Clock, Ending, Fetched, Head, Point, Store, UrlRecord, UrlWrite, View, Want, Worker, World,
};

/// How long a URL whose answer is in hand is kept from others, until its fate is written.
pub(crate) const HELD: Duration = Duration::from_secs(900);
/// Links of one page that are offered; the rest is counted.
const LINKS_MAX: usize = 10_000;
/// Links that are offered at once.
const OFFER_MAX: usize = 500;

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
        if !asked.is_for_url() {
            return self.first_hop(asked, news).map_or(Becomes::Unchanged, Becomes::New);
        }
        if brought.outcome == Outcome::NotSent {
            return Becomes::Unsent;
        }
        if let Want::RobotsHop { .. } = record.want {
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
                // Without cookies, a URL that leads to itself leads nowhere.
                Some(target)
                    if record.hop < asked.policy.body.redirects_max && target != record.url =>
                {
                    Becomes::Moved(Box::new(UrlRecord {
                        url: target,
                        hop: record.hop + 1,
                        tries: Tries::default(),
                        last: None,
                        ready: None,
                        claim: None,
                        slot_since: None,
                        ..record.clone()
                    }))
                }
                _ => Becomes::Held(Some(Ending::LostRedirect)),
            };
        }
        let outcome = brought.outcome;
        let before = Tries { open: false, ..record.tries };
        let counted = before.settled(seen.view.state.last_ok);
        match fate(&outcome, asked.policy, seen.view.host.seed(), counted, now) {
            Fate::Done => Becomes::Held(Some(Ending::Fetched(outcome))),
            Fate::Dead => Becomes::Held(Some(Ending::Dead(outcome))),
            Fate::Retry { at, tries } => Becomes::Retry { at, tries, outcome },
        }
    }

    /// Remembers a URL that failed, in case the store loses its tries or its end.
    pub(crate) fn note_url(&self, record: &UrlRecord, becomes: &Becomes, claim: LeaseId) {
        let failed = match becomes {
            Becomes::Retry { at, tries, outcome } => Some((Some(*at), *tries, *outcome)),
            Becomes::Held(Some(Ending::Dead(outcome))) => {
                Some((None, Tries { counted: u8::MAX, ..Tries::default() }, *outcome))
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

    /// After the observation is written: links, cache, row.
    pub(crate) async fn follow_up(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        brought: &Brought,
        becomes: Becomes,
        claim: LeaseId,
    ) {
        let Becomes::Held(ending) = becomes else {
            return;
        };
        let record = UrlRecord { claim: Some(claim), ..asked.record.clone() };
        let Some(ending) = ending else {
            return self.end_hop(seen, asked, &record, brought).await;
        };
        if let (Some(head), Some(page), Outcome::Answered { status, .. }) =
            (&brought.head, &brought.page, brought.outcome)
        {
            if status == 200 {
                self.offer_links(asked.policy, &asked.record, head, page).await;
            }
            self.world.reached(Point::Offered).await;
        }
        let now = seen.stamp.earliest(self.world.clock().mono());
        let ended = self.ended(&seen.view, &record, ending, asked.findings, now);
        self.end(ended);
    }

    /// A page that we hold is as good a source of links as one that was just fetched.
    pub(crate) async fn offer_cached_links(&self, policy: &Policy, record: &UrlRecord) {
        if let Some(page) = self.outside.cache.body(record.url.key()).await {
            self.offer_links(policy, record, &Head::default(), &page).await;
        }
    }

    async fn offer_links(&self, policy: &Policy, record: &UrlRecord, head: &Head, page: &Fetched) {
        let depth = record.depth.saturating_add(1);
        if policy.budget.depth.is_some_and(|max| depth > max) {
            return;
        }
        let mut links = self.outside.reader.links(&record.url, head, page);
        links.truncate(LINKS_MAX);
        for batch in links.chunks(OFFER_MAX) {
            let records: Vec<_> = batch.iter().map(|l| UrlRecord::page(l.clone(), depth)).collect();
            // Offers come before the row: until they are in, the page has not ended.
            while self.world.store().offer(records.clone()).await.is_err() {
                self.pause(Duration::from_millis(200)).await;
            }
        }
    }

    /// Keeps a page for the next time.
    pub(crate) async fn keep_page(&self, asked: &Asked<'_>, brought: &Brought, now: Time) {
        let (Some(head), Some(page), true) = (&brought.head, &brought.page, asked.is_for_url())
        else {
            return;
        };
        if !matches!(head.status, 200 | 304) || matches!(asked.record.want, Want::RobotsHop { .. })
        {
            return;
        }
        let Some(mut kept) = answer::keep(head, asked.policy, now) else {
            return;
        };
        if let (304, Some(old)) = (head.status, &asked.cached) {
            // A 304 need not repeat the validators of what it confirms.
            kept.etag = kept.etag.or_else(|| old.etag.clone());
            kept.last_modified = kept.last_modified.or_else(|| old.last_modified.clone());
        }
        let body = (head.status == 200).then(|| page.clone());
        self.outside.cache.put(asked.record.url.key(), kept, body).await;
        self.world.reached(Point::Cached).await;
    }
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
        record: &UrlRecord,
        claim: LeaseId,
        now: Time,
    ) -> Vec<UrlWrite> {
        let same = UrlRecord { claim: Some(claim), ..record.clone() };
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
            Becomes::Held(_) => UrlRecord { ready: Some(now + HELD), ..same },
            Becomes::Retry { at, tries, outcome } => {
                UrlRecord { ready: Some(*at), tries: *tries, last: Some(*outcome), ..same }
            }
            Becomes::Moved(moved) => (**moved).clone(),
        };
        let from = Some(view.host.clone());
        vec![UrlWrite { from, id: record.id, claim: record.claim, to: Some(to) }]
    }
}

/// The record of a URL whose turn was handed back.
pub(crate) fn unsent(record: UrlRecord) -> UrlRecord {
    UrlRecord { tries: Tries { open: false, ..record.tries }, ..record }
}
