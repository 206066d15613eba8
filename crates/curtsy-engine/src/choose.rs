//! Which URL of a host is requested next, and which need no request?
//!
//! A visit looks at its URLs in order. It settles those that need no request, passes over those
//! that must wait, and stops at the first one that needs a request now.

use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, BackoffReason, Decision, Findings, Gate, Outcome, Reason, RequestKind,
    RobotsReason, Scene, SlotsReason, Tries,
};
use curtsy_core::time::Time;

use crate::answer;
use crate::chain::HopState;
use crate::discover::LeftLink;
use crate::grant::ask_of;
use crate::outbox::FinishedUrl;
use crate::pages::behind_login;
use crate::url_fate::{ENDED, final_ending};
use crate::visit::{HostVisit, PlannedRequest};
use crate::visiting::OtherVisits;
use crate::{CachedPage, Ending, Fetch, UrlRecord, UrlWrite, Want, World};

/// When a URL is looked at again whose robots.txt is being followed from host to host.
const CHASE_LOOK: Duration = Duration::from_secs(2);

/// What a visit does next.
pub(crate) enum NextStep {
    /// Nothing is left of what was handed out.
    NothingLeft,
    /// No request may be made before this moment.
    WaitForTurn(Time),
    /// All slots are taken. The host is looked at again then, because a slot may become free at any
    /// time.
    WaitForSlot(Time),
    /// Other visits of this worker have what is left, and say when the host is due.
    InOtherVisits,
    /// URLs were offered that come before those on the list.
    StartAgain,
    /// Request this URL.
    Request(Box<PlannedRequest>),
}

/// What becomes of a URL on the list.
enum Considered {
    /// It stays on the list, for a later pass.
    Stays,
    /// It stays, and the host may be requested at this moment.
    WaitsForTurn(Time),
    /// It stays, and a slot is likely to be free at this moment.
    WaitsForSlot(Time),
    /// It stays, and a request for the same URL is likely to end at this moment.
    WaitsForSameUrl(Time),
    /// It stays, and another visit requests it.
    InOtherVisit,
    /// It leaves the list.
    Leaves,
    /// It leaves the list, and goes back to the queue until this moment, behind the others.
    GoesBack(Time),
    /// It leaves the list without the slot that it waited for, and goes back to the queue.
    GoesWithoutSlot(Findings, Time),
    /// It has ended.
    Ends(FinishedUrl),
    /// URLs that come before it were offered.
    StartsAgain,
    /// It needs a request.
    NeedsRequest(Approach, Findings, Option<CachedPage>),
}

/// The waits and the ended URLs of one look at a list.
#[derive(Default)]
struct ListPass {
    ended: Vec<FinishedUrl>,
    turn: Option<Time>,
    slot: Option<Time>,
    in_other_visits: bool,
}

impl ListPass {
    /// What a visit does if no URL needs a request now.
    fn next_step(&self) -> NextStep {
        match (self.turn, self.slot) {
            (Some(turn), slot) if slot.is_none_or(|slot| turn < slot) => {
                NextStep::WaitForTurn(turn)
            }
            (_, Some(slot)) => NextStep::WaitForSlot(slot),
            _ if self.in_other_visits => NextStep::InOtherVisits,
            _ => NextStep::NothingLeft,
        }
    }
}

/// Keeps the earlier of two moments.
fn keep_earlier(earliest: &mut Option<Time>, at: Time) {
    *earliest = Some(earliest.map_or(at, |known| known.min(at)));
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Decides each URL until one needs a request, and settles what needs none. A URL that waits
    /// for its authority's robots.txt goes behind the others, so that the host's other authorities
    /// are not delayed.
    pub(crate) async fn choose(&mut self) -> NextStep {
        self.put_back.clear();
        let mut pass = ListPass::default();
        let mut index = 0;
        let mut next = None;
        while next.is_none() && index < self.urls.len() {
            let mut stays = false;
            match self.consider(&self.urls[index]).await {
                Considered::Stays => stays = true,
                Considered::InOtherVisit => (stays, pass.in_other_visits) = (true, true),
                Considered::WaitsForTurn(at) => {
                    stays = true;
                    keep_earlier(&mut pass.turn, at);
                }
                Considered::WaitsForSlot(at) => {
                    stays = true;
                    let at = if pass.slot.is_none() { self.wait_for_slot(index, at) } else { at };
                    keep_earlier(&mut pass.slot, at);
                }
                Considered::WaitsForSameUrl(at) => {
                    stays = true;
                    keep_earlier(&mut pass.slot, at);
                }
                Considered::Leaves => drop(self.urls.remove(index)),
                Considered::GoesBack(until) => {
                    let record = self.urls.remove(index);
                    self.put_back.push(self.put_behind(record, until));
                }
                Considered::GoesWithoutSlot(findings, until) => {
                    let record = self.urls.remove(index);
                    self.note_held_up(&record, findings, self.earliest_now());
                    let record = UrlRecord { slot_since: None, ..record };
                    self.put_back.push(self.put_behind(record, until));
                    keep_earlier(&mut pass.slot, until);
                }
                Considered::Ends(url) => {
                    self.urls.remove(index);
                    // Other visits may have the URL on their lists, and the store has it in the
                    // queue until its row is written.
                    self.worker.visiting.borrow_mut().begin_url(&self.view.host, url.record.id);
                    pass.ended.push(url);
                }
                Considered::StartsAgain => next = Some(NextStep::StartAgain),
                Considered::NeedsRequest(approach, findings, cached) => {
                    let record = self.urls.remove(index);
                    let more = !self.urls.is_empty();
                    let planned = PlannedRequest { record, approach, findings, cached, more };
                    next = Some(NextStep::Request(Box::new(planned)));
                }
            }
            index += usize::from(stays);
        }
        let waits = pass.next_step();
        self.settle_ended(pass.ended).await;
        next.unwrap_or(waits)
    }

    /// Writes the rows of URLs that ended without a request.
    async fn settle_ended(&self, ended: Vec<FinishedUrl>) {
        if ended.is_empty() {
            return;
        }
        let written = self.worker.write_out(&ended).await;
        for url in &ended {
            let id = url.record.id;
            self.worker.visiting.borrow_mut().end_url(&self.view.host, id, true);
        }
        for url in ended {
            match written {
                true => self.worker.paid(url.record.id),
                // The next flush writes it: nothing is lost.
                false => self.worker.finish_url(url),
            }
        }
    }

    /// Considers a URL: what can be said of it without a decision.
    async fn consider(&self, record: &UrlRecord) -> Considered {
        let elsewhere =
            self.worker.visiting.borrow().elsewhere(&self.view.host, self.since, record.id);
        match elsewhere {
            OtherVisits::Requested => return Considered::InOtherVisit,
            OtherVisits::Finished => return Considered::Leaves,
            OtherVisits::No => {}
        }
        if record.held && record.ready > Some(self.earliest_now()) {
            // Another worker has its response: its row is on its way out.
            return Considered::Stays;
        }
        if let Want::RobotsHop { .. } = record.want {
            match Box::pin(self.hop_without_request(record)).await {
                HopState::NeedsRequest => {}
                HopState::Settled => return Considered::Leaves,
                HopState::Waits => return Considered::GoesBack(self.latest_now() + CHASE_LOOK),
            }
        }
        if record.tries.spent(&self.view.state, self.policy) {
            return Considered::Ends(self.tries_spent(record));
        }
        self.decide(record).await
    }

    /// Decides whether a URL may be requested now.
    async fn decide(&self, record: &UrlRecord) -> Considered {
        let worker = self.worker;
        let is_hop = matches!(record.want, Want::RobotsHop { .. });
        if let Some(left) = worker.outside.reader.leaves(record) {
            return Considered::Ends(self.left(record, left));
        }
        let cached = match is_hop {
            true => None,
            false => worker.cached(&record.url).await,
        };
        let now = self.earliest_now();
        let state = &self.view.state;
        let rules = worker.rules_of(state, self.policy, &record.url.authority(), now).await;
        let scene = self.scene(now, rules.as_deref());
        let Decision { action, findings } =
            state.admit(&ask_of(record, cached.as_ref(), state, self.policy), &scene);
        // A redirect may lead to an address that is not dialled, whose robots.txt is known from a
        // crawl that was allowed to dial it. The address is the reason then, not the rules.
        let by_robots =
            matches!(action, Action::Refuse(Gate::Robots) | Action::Wait(_, Gate::Robots));
        if by_robots
            && record.hop > 0
            && !is_hop
            && let Some(problem) = Box::pin(worker.world.fetch().refuses(&record.url)).await
        {
            let ending = Ending::Dead(Outcome::Failed(problem));
            let findings = Findings::CLEAR;
            return Considered::Ends(FinishedUrl::new(&self.view, record, ending, findings, now));
        }
        let ended = |ending| FinishedUrl::new(&self.view, record, ending, findings, now);
        match action {
            Action::Refuse(Gate::Budget) => {
                // It stays in the queue: a run with a larger budget requests it.
                if let Reason::Budget(reason) = findings.of(Gate::Budget).reason {
                    worker.budget_is_spent(reason);
                }
                Considered::Leaves
            }
            Action::Refuse(_) if is_hop => {
                Box::pin(worker.give_up_hop(&self.view, record)).await;
                Considered::Leaves
            }
            Action::Refuse(gate) => Considered::Ends(ended(Ending::Refused(gate))),
            Action::Approach(approach) => {
                let leads = matches!(approach.kind, RequestKind::Page | RequestKind::Sitemap);
                if leads && self.offers_entrances(record).await {
                    return Considered::StartsAgain;
                }
                if let (RequestKind::Page, Some(cached)) = (approach.kind, &cached) {
                    Box::pin(worker.lead_on(self.policy, record, cached, now)).await;
                }
                Considered::NeedsRequest(approach, findings, cached)
            }
            // A page that needs no request leads to its site all the same.
            Action::UseCached
                if record.want != Want::Rules && self.offers_entrances(record).await =>
            {
                Considered::StartsAgain
            }
            Action::UseCached => {
                let page = Box::pin(self.read_cached(record, cached, now)).await;
                let ending = match &page {
                    Some(page) => answer::remembered(page, self.policy),
                    None => Ending::Cached,
                };
                let (ending, page) = behind_login(ending, page, record);
                Considered::Ends(ended(ending).with(page))
            }
            Action::Wait(until, gate) => self.wait_at(record, gate, until, findings, &scene),
        }
    }

    /// The end of a URL that leads nowhere.
    fn left(&self, record: &UrlRecord, left: LeftLink) -> FinishedUrl {
        match left.row {
            true => {
                let ending = Ending::Refused(Gate::Trap);
                let findings = left.reason.refusal();
                FinishedUrl::new(&self.view, record, ending, findings, self.earliest_now())
            }
            false => FinishedUrl::without_row(&self.view, record),
        }
    }

    /// What becomes of a URL that a gate makes wait.
    fn wait_at(
        &self,
        record: &UrlRecord,
        gate: Gate,
        until: Time,
        findings: Findings,
        scene: &Scene<'_>,
    ) -> Considered {
        match (gate, findings.of(gate).reason) {
            (Gate::Robots, reason) if reason == RobotsReason::Asked.into() => {
                Considered::GoesBack(until.min(scene.now + CHASE_LOOK))
            }
            (Gate::Robots, _) => Considered::GoesBack(until),
            // The wait of this URL alone: others may be requested meanwhile, and the store knows
            // when it is ready.
            (Gate::Backoff, Reason::Backoff(BackoffReason::Retry { .. })) => Considered::Stays,
            (Gate::Slots, Reason::Slots(SlotsReason::Timeout)) => {
                if self.worker.settings.slot_timeout_ends {
                    let ending = Ending::Refused(Gate::Slots);
                    let ended = FinishedUrl::new(&self.view, record, ending, findings, scene.now);
                    return Considered::Ends(ended);
                }
                let until = self.view.state.likely_free(until, scene);
                Considered::GoesWithoutSlot(findings, until)
            }
            (Gate::Slots, reason) => {
                let free = self.view.state.likely_free(until, scene);
                match reason {
                    Reason::Slots(SlotsReason::Taken { .. }) => Considered::WaitsForSlot(free),
                    _ => Considered::WaitsForSameUrl(free),
                }
            }
            _ => Considered::WaitsForTurn(until),
        }
    }

    /// The end of a URL whose host has answered other requests since it failed: the failures were
    /// the URL's own, and its tries are used up.
    fn tries_spent(&self, record: &UrlRecord) -> FinishedUrl {
        let ending = final_ending(record);
        // A row counts the tries before the last one.
        let counted = match record.tries == ENDED {
            true => 0,
            false => record.tries.counted.saturating_sub(1),
        };
        let record = UrlRecord { tries: Tries { counted, ..record.tries }, ..record.clone() };
        FinishedUrl::new(&self.view, &record, ending, Findings::CLEAR, self.earliest_now())
    }

    /// Lets the first URL that found no slot wait for one. Returns when the host is looked at
    /// again.
    fn wait_for_slot(&mut self, index: usize, until: Time) -> Time {
        let now = self.earliest_now();
        let since = *self.urls[index].slot_since.get_or_insert(now);
        self.policy.slots.wait.map_or(until, |wait| until.min(since + wait))
    }

    /// Whether the crawl comes to a page's authority for the first time, and URLs that come before
    /// the page, such as sitemaps, were offered by this.
    async fn offers_entrances(&self, record: &UrlRecord) -> bool {
        let worker = self.worker;
        let authority = record.url.authority();
        if record.hop > 0 || worker.once.entered.borrow().contains(&authority) {
            return false;
        }
        let known = self.view.state.robots_of(&authority);
        let file =
            match known.and_then(|known| known.ruling(&self.policy.robots, self.earliest_now())) {
                Some((id, _)) => worker.robots_file(id).await,
                None => None,
            };
        let entrances = worker.outside.reader.entrances(record, file.as_deref());
        worker.once.entered.borrow_mut().insert(authority);
        worker.offer(&entrances).await > 0
    }

    /// Returns the write that puts a URL behind the others until a moment. A retry that is further
    /// away keeps its time.
    fn put_behind(&self, record: UrlRecord, until: Time) -> UrlWrite {
        let ready = record.ready.max(Some(until));
        self.write_of(UrlRecord { ready, held: false, ..record })
    }
}
