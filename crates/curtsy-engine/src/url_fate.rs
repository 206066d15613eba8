//! What becomes of a URL after a request: its record in the store.

use std::time::Duration;

use curtsy_core::host::{Class, Fate, Friction, LeaseId, Outcome, RobotsNews, Tries, fate};
use curtsy_core::policy::{OnForbidden, Policy};
use curtsy_core::time::Time;
use curtsy_parse::login::leads_to_login;

use crate::answer;
use crate::chain::{first_hop, next_hop};
use crate::exchange::ExchangeResult;
use crate::visit::{HostVisit, PlannedRequest};
use crate::{CheckBy, Ending, Head, Step, Then, UrlRecord, UrlWrite, View, Want, Worker, World};

/// The shortest hold of a URL whose response has arrived.
const HELD_MIN: Duration = Duration::from_secs(30);
/// The tries of a URL that is not tried again.
pub(crate) const ENDED: Tries = Tries { counted: u8::MAX, doubt: None, open: false };

/// What becomes of a URL with the commit of an observation.
pub(crate) enum UrlFate {
    /// The request was not for the URL.
    Unchanged,
    /// The request was for the URL, and was not sent.
    Unsent,
    /// The request was not for the URL, and this URL is new: the next hop of a robots.txt.
    New(Box<UrlRecord>),
    /// The response has arrived: the URL is held until its row and fate are written. A robots hop
    /// has no ending.
    Held(Option<Ending>),
    /// The URL is tried again.
    Retry { at: Time, tries: Tries, outcome: Outcome },
    /// The URL is followed as this record: after a redirect, or by another method.
    Moved(Box<UrlRecord>),
}

impl UrlFate {
    /// Returns the changes of the URL's record. The record has the claim with which it was granted
    /// or handed out; `claim` is its next one.
    pub(crate) fn writes(
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
            UrlFate::Unchanged => return Vec::new(),
            UrlFate::New(new) => {
                let to = Some((**new).clone());
                return vec![UrlWrite { from: None, id: new.id, claim: None, to }];
            }
            UrlFate::Unsent => unsent(same),
            UrlFate::Held(ending) => {
                let held = UrlRecord { ready: Some(now + held_for(policy)), held: true, ..same };
                match ending {
                    // If this worker dies, the next one must not request a URL that has failed for
                    // good.
                    Some(Ending::Dead(outcome) | Ending::LoginWall(outcome)) => {
                        UrlRecord { tries: ENDED, last: Some(*outcome), ..held }
                    }
                    _ => held,
                }
            }
            UrlFate::Retry { at, tries, outcome } => {
                UrlRecord { ready: Some(*at), tries: *tries, last: Some(*outcome), ..same }
            }
            UrlFate::Moved(moved) => (**moved).clone(),
        };
        let from = Some(view.host.clone());
        vec![UrlWrite { from, id: record.id, claim: record.claim, to: Some(to) }]
    }
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Decides what becomes of a URL after a request.
    pub(crate) fn fate_of(
        &self,
        planned: &PlannedRequest,
        result: &ExchangeResult,
        news: Option<&RobotsNews>,
    ) -> UrlFate {
        let record = &planned.record;
        let outcome = result.outcome;
        if !planned.is_for_url() && !result.is_refusal() {
            return first_hop(planned, news).map_or(UrlFate::Unchanged, UrlFate::New);
        }
        if outcome == Outcome::NotSent {
            return UrlFate::Unsent;
        }
        if let Want::RobotsHop { .. } = record.want
            && outcome.class() != Class::Ours
        {
            return match next_hop(record, result) {
                Some(next) => UrlFate::Moved(Box::new(next)),
                None => UrlFate::Held(None),
            };
        }
        if let Some(head) = &result.head
            && answer::is_redirect(head.status)
            && outcome.status().is_some()
        {
            return redirected(record, head, outcome, self.policy);
        }
        if record.want == (Want::Check { by: CheckBy::Head })
            && is_no_to_head(&outcome, self.policy)
        {
            let want = Want::Check { by: CheckBy::Get };
            return UrlFate::Moved(Box::new(UrlRecord { want, ..record.untried() }));
        }
        if outcome.asks_for_login() {
            return UrlFate::Held(Some(Ending::LoginWall(outcome)));
        }
        // The open try is this one.
        let before = Tries { open: false, ..record.tries }.settled(&self.view.state);
        let seed = self.view.host.seed();
        match fate(&outcome, before, self.policy, seed, self.latest_now()) {
            Fate::Done => UrlFate::Held(Some(Ending::Fetched(outcome))),
            Fate::Dead => UrlFate::Held(Some(Ending::Dead(outcome))),
            Fate::Retry { at, tries } => UrlFate::Retry { at, tries, outcome },
        }
    }

    /// Puts a request that was not the last of its URL into the outbox, as a step.
    pub(crate) fn note_step(
        &self,
        planned: &PlannedRequest,
        outcome: Outcome,
        fate: &UrlFate,
        at: Time,
    ) {
        let then = match fate {
            _ if outcome == Outcome::NotSent => return,
            UrlFate::Retry { at, .. } => Then::Retry(*at),
            UrlFate::Moved(to) | UrlFate::New(to) => Then::Follow(to.url.clone()),
            UrlFate::Held(None) | UrlFate::Unchanged | UrlFate::Unsent => Then::Decide,
            UrlFate::Held(Some(_)) => return,
        };
        self.worker.step(Step {
            id: planned.record.id,
            url: planned.approach.url.clone(),
            kind: planned.approach.kind,
            findings: planned.findings,
            crawl_delay: self.view.state.crawl_delay_of(&planned.approach.authority()),
            outcome,
            then,
            at,
        });
    }
}

impl<W: World> Worker<'_, W> {
    /// Remembers a URL that failed, in case the store loses its tries or its end.
    pub(crate) fn remember_url(&self, record: &UrlRecord, fate: &UrlFate, claim: LeaseId) {
        let mut memory = self.memory.borrow_mut();
        let (ready, tries, outcome) = match fate {
            UrlFate::Retry { at, tries, outcome } => (Some(*at), *tries, *outcome),
            UrlFate::Held(Some(Ending::Dead(outcome) | Ending::LoginWall(outcome))) => {
                (None, ENDED, *outcome)
            }
            UrlFate::Held(_) | UrlFate::Moved(_) => return memory.forget_url(record.id),
            UrlFate::Unchanged | UrlFate::Unsent | UrlFate::New(_) => return,
        };
        let (last, claim) = (Some(outcome), Some(claim));
        memory.remember_url(UrlRecord { ready, tries, last, claim, ..record.clone() });
    }
}

/// What becomes of a URL that was redirected.
fn redirected(record: &UrlRecord, head: &Head, outcome: Outcome, policy: &Policy) -> UrlFate {
    let target = head.location.as_deref().and_then(|location| record.url.join(location).ok());
    match target {
        Some(target) if leads_to_login(&record.url, &target) => {
            UrlFate::Held(Some(Ending::LoginWall(outcome)))
        }
        // Without cookies, a redirect to the same URL leads nowhere.
        Some(target) if record.hop < policy.body.redirects_max && target != record.url => {
            let hop = record.hop + 1;
            UrlFate::Moved(Box::new(UrlRecord { url: target, hop, ..record.untried() }))
        }
        _ => UrlFate::Held(Some(Ending::LostRedirect)),
    }
}

/// Whether a response to `HEAD` may refuse the method alone: 405 and 501 say so, and many servers
/// say 403, 404 or 500 instead. A bot wall would refuse any method. A failure of the whole host is
/// waited for as always. A 403 is not followed by a second request if the policy leaves the host
/// alone for a while after it.
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

/// How long a URL whose response has arrived is held in the store, until its fate is written: four
/// times as long as a request may take. A worker that still has it by then holds it anew. The URL
/// of a worker that died falls to the others.
pub(crate) fn held_for(policy: &Policy) -> Duration {
    (policy.timeout.whole * 4).max(HELD_MIN)
}

/// The ending of a URL that is not requested again, by its last outcome.
pub(crate) fn final_ending(record: &UrlRecord) -> Ending {
    match record.last {
        None => Ending::Unheard,
        // A redirect ends a URL only if it leads to a login.
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
