//! One visit to a host: decide, connect, reserve, send, observe.
//!
//! A visit settles URLs that need no request, then requests the others one at a time. With one slot
//! it keeps the host as long as turns follow closely. With several slots it makes one request, and
//! others get the host meanwhile.

use std::time::Duration;

use curtsy_core::host::{
    Approach, BudgetReason, Findings, Gate, LeaseId, Outcome, RequestKind, Scene, Verdict,
};
use curtsy_core::policy::Policy;
use curtsy_core::robots::AgentRules;
use curtsy_core::time::Time;

use crate::choose::NextStep;
use crate::dial::Dialled;
use crate::exchange::counted_on;
use crate::grant::{GrantRequest, GrantResult};
use crate::run::Event;
use crate::stamp::{Stamp, StampedView};
use crate::visiting::ListTick;
use crate::{
    CachedPage, CheckBy, Clock, Fetch, Line, Point, Step, Then, UrlRecord, UrlWrite, View, Visit,
    Want, Worker, World,
};

/// Rounds in a row that left their URL undone, after which a visit gives its host back for a
/// moment.
const FRUITLESS_MAX: u32 = 16;
const FRUITLESS_PAUSE: Duration = Duration::from_secs(1);

/// A visit to one host.
pub(crate) struct HostVisit<'v, 'o, W: World> {
    pub(crate) worker: &'v Worker<'o, W>,
    /// The policy for this host.
    pub(crate) policy: &'v Policy,
    /// The host as this visit last read or wrote it.
    pub(crate) view: View,
    pub(crate) stamp: Stamp,
    /// When the list of URLs was requested.
    pub(crate) since: ListTick,
    /// The URLs that are left to do.
    pub(crate) urls: Vec<UrlRecord>,
    /// Changes of URLs that go to the store when the host is given back.
    pub(crate) put_back: Vec<UrlWrite>,
}

/// A URL with the request that it needs.
pub(crate) struct PlannedRequest {
    pub(crate) record: UrlRecord,
    pub(crate) approach: Approach,
    /// Every gate's finding at the decision that counts.
    pub(crate) findings: Findings,
    pub(crate) cached: Option<CachedPage>,
    /// Whether the visit has further URLs.
    pub(crate) more: bool,
}

/// How a visit goes on after a request.
pub(crate) enum AfterRequest {
    /// The visit ends. The host is scheduled.
    End,
    /// The visit ends, and the host is due then.
    GiveBack(Time),
    /// The visit goes on.
    Again(UrlState),
}

/// Whether a visit has finished a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlState {
    /// What came of it is written.
    Finished,
    /// It is still to be requested.
    Left,
}

impl<W: World> Worker<'_, W> {
    /// Visits a host, and gives it back to the store unless other visits of this worker have it.
    pub(crate) async fn visit(&self, visit: Visit, since: ListTick, stamp: Stamp) -> Event {
        self.world.reached(Point::Taken).await;
        let Visit { view, urls } = visit;
        let host = view.host.clone();
        let policy = self.policies.of(&host);
        let urls = self.within_budget(&host, urls);
        let keys: Vec<_> = urls.iter().map(|record| record.url.key()).collect();
        self.outside.cache.look_ahead(&keys).await;
        let (worker, policy, put_back) = (self, &*policy, Vec::new());
        let visit = HostVisit { worker, policy, view, stamp, since, urls, put_back };
        let left = visit.run().await;
        let left = self.visiting.borrow_mut().end(&host, since, left);
        if let Some(left) = left {
            let due = self.likely_due(&left.view);
            self.release(left, due, Vec::new()).await;
        }
        Event::Visited
    }
}

impl<'v, W: World> HostVisit<'v, '_, W> {
    /// Goes on until nothing is left to do on the host, or its next turn is far away. Returns the
    /// host if other visits of this worker have all of its URLs.
    async fn run(mut self) -> Option<StampedView> {
        let worker = self.worker;
        let began = self.stamp.now;
        let mut fruitless = 0;
        loop {
            let next = self.choose().await;
            let now = self.earliest_now();
            let due = match next {
                NextStep::InOtherVisits => {
                    return Some(StampedView { view: self.view, stamp: self.stamp });
                }
                NextStep::NothingLeft => worker.likely_due(&self.view),
                NextStep::StartAgain => now,
                NextStep::WaitForSlot(at) => {
                    // The next visit goes on with the wait that began in this one.
                    let waiting = self.urls.iter().find(|url| url.slot_since >= Some(began));
                    let write = waiting.map(|record| self.write_of(record.clone()));
                    self.put_back.extend(write);
                    at
                }
                NextStep::WaitForTurn(until) => {
                    let due = self.before_turn(until, now);
                    if worker.may_linger(now, due) {
                        worker.world.clock().sleep_until(self.stamp.not_before(due)).await;
                        continue;
                    }
                    due
                }
                // The worker was stopped or paused while the visit lingered.
                NextStep::Request(_) if worker.finish.begins_nothing() => now,
                NextStep::Request(mut planned) => {
                    let id = planned.record.id;
                    worker.visiting.borrow_mut().begin_url(&self.view.host, id);
                    let after = self.request(&mut planned).await;
                    if let AfterRequest::GiveBack(due) = after {
                        let left = StampedView { view: self.view.clone(), stamp: self.stamp };
                        Box::pin(worker.release(left, due, Vec::new())).await;
                    }
                    let finished = !matches!(after, AfterRequest::Again(UrlState::Left));
                    worker.visiting.borrow_mut().end_url(&self.view.host, id, finished);
                    match after {
                        AfterRequest::Again(UrlState::Finished) => fruitless = 0,
                        AfterRequest::Again(UrlState::Left) => {
                            self.urls.insert(0, planned.record);
                            fruitless += 1;
                        }
                        AfterRequest::End | AfterRequest::GiveBack(_) => return None,
                    }
                    if fruitless <= FRUITLESS_MAX {
                        continue;
                    }
                    self.put_back.clear();
                    now + FRUITLESS_PAUSE
                }
            };
            let left = StampedView { view: self.view, stamp: self.stamp };
            worker.release(left, due, self.put_back).await;
            return None;
        }
    }

    /// One request, from its approach to its observation. Rare parts are boxed, here and below:
    /// awaiting a future moves the whole future, and each page has one of these.
    async fn request(&mut self, planned: &mut PlannedRequest) -> AfterRequest {
        let worker = self.worker;
        let turn = self.stamp.not_before(planned.approach.turn);
        let (mut line, took, dial) = match worker.world.fetch().standing(&planned.approach, turn) {
            Some(line) => (line, Duration::ZERO, None),
            None => match Box::pin(self.dial(planned)).await {
                Ok(Dialled { line, took, dial }) => (line, took, Some(dial)),
                Err(after) => return after,
            },
        };
        worker.world.reached(Point::Connected).await;
        if line.is_public() && worker.policies.note_public(&self.view.host) {
            // This visit has the pace of the user's own network. The next one has the pace of
            // public hosts, and finds this line standing.
            return AfterRequest::GiveBack(worker.likely_due(&self.view));
        }
        let wanted = GrantRequest { counted_on: counted_on(&line), took, dial, planned };
        let permit = match self.grant(wanted).await {
            GrantResult::Open(permit) => permit,
            GrantResult::Changed => return AfterRequest::Again(UrlState::Left),
            GrantResult::Wait(until) => {
                let now = self.earliest_now();
                if planned.findings.of(Gate::Address).verdict > Verdict::Go {
                    self.note_held_up(&planned.record, planned.findings, now);
                }
                return AfterRequest::GiveBack(self.before_turn(until, now));
            }
            GrantResult::Gone => {
                // Another visit has this URL, and probably the next ones too: the host is handed
                // out again with what is left.
                worker.owe_no_longer(&planned.record);
                return AfterRequest::GiveBack(worker.likely_due(&self.view));
            }
            GrantResult::Spent => {
                let pages = self.policy.budget.pages.unwrap_or(u64::MAX);
                worker.budget_is_spent(BudgetReason::PageLimit { pages });
                return AfterRequest::Again(UrlState::Finished);
            }
        };
        worker.world.reached(Point::Granted).await;
        self.exchange(planned, permit, &mut line, dial.is_some()).await
    }

    /// The store's time now, at the earliest.
    pub(crate) fn earliest_now(&self) -> Time {
        self.stamp.earliest(self.worker.now())
    }

    /// The store's time now, at the latest.
    pub(crate) fn latest_now(&self) -> Time {
        self.stamp.latest(self.worker.now())
    }

    /// Returns what surrounds a decision on this host.
    pub(crate) fn scene<'a>(&self, now: Time, rules: Option<&'a AgentRules>) -> Scene<'a>
    where
        'v: 'a,
    {
        self.worker.scene(self.policy, &self.view, now, rules)
    }

    /// Returns when the host must be in a worker's hands for a turn at `turn`.
    fn before_turn(&self, turn: Time, now: Time) -> Time {
        turn.back(self.view.state.lead(&self.scene(now, None)))
    }

    /// Records that a gate held a URL up, and nothing was sent.
    pub(crate) fn note_held_up(&self, record: &UrlRecord, findings: Findings, now: Time) {
        self.worker.step(Step {
            id: record.id,
            url: record.url.clone(),
            kind: match record.want {
                Want::Page | Want::Check { .. } => RequestKind::Page,
                Want::Sitemap | Want::LaterSitemap { .. } => RequestKind::Sitemap,
                Want::RobotsHop { .. } => RequestKind::RobotsHop,
                Want::Rules => RequestKind::Robots,
            },
            findings,
            crawl_delay: self.view.state.crawl_delay_of(&record.url.authority()),
            outcome: Outcome::NotSent,
            then: Then::Decide,
            at: now,
        });
    }

    /// Returns the write of a URL that keeps its place in this host's queue, with a new claim.
    pub(crate) fn write_of(&self, record: UrlRecord) -> UrlWrite {
        let claim: Option<LeaseId> = Some(self.worker.identity.new_lease());
        UrlWrite {
            from: Some(self.view.host.clone()),
            id: record.id,
            claim: record.claim,
            to: Some(UrlRecord { claim, ..record }),
        }
    }
}

impl PlannedRequest {
    /// Whether the request is for the URL itself, not for robots.txt or a probe before it.
    pub(crate) fn is_for_url(&self) -> bool {
        !matches!(self.approach.kind, RequestKind::Robots | RequestKind::Probe)
    }

    /// The method of the request.
    pub(crate) fn method(&self) -> &'static str {
        match self.record.want {
            Want::Check { by: CheckBy::Head } if self.is_for_url() => "HEAD",
            _ => self.approach.method(),
        }
    }

    /// Whether the head of a response with this status is all that is needed. The body of a refusal
    /// may be a bot wall's page.
    pub(crate) fn needs_head_only(&self, status: u16) -> bool {
        let is_check = self.is_for_url() && matches!(self.record.want, Want::Check { .. });
        is_check && (status < 400 || self.method() == "HEAD")
    }
}
