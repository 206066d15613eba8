//! One visit to a host: decide, connect, reserve, send, observe.
//!
//! A visit settles what needs no request on the spot, then asks for one URL at a time. With one slot it keeps the host as long as
//! turns follow closely; with several slots it asks once and lets others take the host meanwhile.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, BackoffReason, BudgetReason, Findings, Gate, HostState, Kind, Outcome,
    Reason, RobotsId, RobotsReason, Scene, SlotEnds, SlotsReason, Verdict,
};
use curtsy_core::policy::Policy;
use curtsy_core::robots::AgentRules;
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, HostKey};

use crate::answer;
use crate::becomes::{ENDED, behind_login, final_ending};
use crate::chain::Hop;
use crate::dial::Dialled;
use crate::exchange::counted_on;
use crate::flush::Ended;
use crate::grant::{Granted, Wanted, ask_of};
use crate::visiting::{Elsewhere, Tick};
use crate::{
    CachedPage, CheckBy, Clock, Commit, Committed, Ending, Fetch, Line, Mono, Point, RobotsFile,
    Row, Step, Store, Then, UrlRecord, UrlWrite, View, Visit, Want, Worker, World,
};

/// A visit keeps its host if the next turn is no further away than this.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// A visit that waits until rows are kept looks so often.
const ROWS_LOOK: Duration = Duration::from_millis(10);
/// Rounds in which a URL came to nothing, after which a visit gives its host back for a moment.
const FRUITLESS_MAX: u32 = 16;
const FRUITLESS_PAUSE: Duration = Duration::from_secs(1);
/// Commits that give a host back, at most: where it is that busy, others say when it is due.
const RELEASE_TRIES: u32 = 3;
/// How long a host that a visit keeps is not handed out to others.
pub(crate) const HOLD: Duration = Duration::from_secs(10);

/// A host's state as this worker last saw it.
pub(crate) struct Seen {
    pub(crate) view: View,
    pub(crate) stamp: Stamp,
}

/// The store's time against this worker's clock: `now` was somewhere between `m0` and `m1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) now: Time,
    pub(crate) m0: Mono,
    pub(crate) m1: Mono,
}

impl Stamp {
    /// The store's time at `at`, at least: what waits are measured with.
    pub(crate) fn earliest(&self, at: Mono) -> Time {
        self.now.back(self.m1 - at) + (at - self.m1)
    }

    /// The store's time at `at`, at most: what has happened by then. It may lie before the question: a start that is told later.
    pub(crate) fn latest(&self, at: Mono) -> Time {
        self.now.back(self.m0 - at) + (at - self.m0)
    }

    /// When the store's time has surely reached `time`.
    pub(crate) fn not_before(&self, time: Time) -> Mono {
        self.m1 + (time - self.now)
    }

    /// Until when the store's time is surely not past `time`.
    pub(crate) fn deadline(&self, time: Time) -> Mono {
        self.m0 + (time - self.now)
    }

    pub(crate) fn round_trip(&self) -> Duration {
        self.m1 - self.m0
    }
}

/// Hosts on public addresses that are remembered, where the policy has a pace that is for one's own only.
const PUBLIC_MAX: usize = 65_536;
/// Authorities of which it is remembered that what goes first was offered.
const ENTERED_MAX: usize = 65_536;
/// A URL whose robots.txt is being followed from host to host is looked at again so soon.
const CHASE_LOOK: Duration = Duration::from_secs(2);

/// What to do next on a host.
enum Choice<'p> {
    /// Nothing is left of what was handed out.
    Nothing,
    /// Nothing can be asked before this.
    Wait(Time),
    /// Others have the slots, and may give them back at any time: the host is looked at anew then.
    Look(Time),
    /// What is left is in the hands of another visit, which says when the host is due.
    InOtherHands,
    /// What goes before what was handed out has just been offered.
    Anew,
    /// This URL, with this approach.
    Go(Box<Asked<'p>>),
}

impl<W: World> Worker<'_, W> {
    /// A host is visited until there is nothing more to do on it, or its next turn is far. What comes back is a host that others have.
    pub(crate) async fn visit(
        &self,
        visit: Visit,
        since: Tick,
        m0: Mono,
        m1: Mono,
    ) -> Option<Seen> {
        self.world.reached(Point::Taken).await;
        let host = visit.view.host.clone();
        let policy = self.policy_of(&host);
        let began = visit.view.now;
        let stamp = Stamp { now: began, m0, m1 };
        let mut seen = Seen { view: visit.view, stamp };
        let mut urls = self.within_budget(&host, visit.urls);
        let keys: Vec<_> = urls.iter().map(|record| record.url.key()).collect();
        self.outside.cache.look_ahead(&keys).await;
        let mut fruitless = 0;
        loop {
            let mut blocked = Vec::new();
            let choice = self.choose(&seen, &policy, since, &mut urls, &mut blocked).await;
            let now = seen.stamp.earliest(self.world.clock().mono());
            match choice {
                Choice::Nothing => {
                    let due = self.look_due(&seen.view);
                    self.release(seen, due, blocked).await;
                    return None;
                }
                Choice::Wait(until) => {
                    let scene = self.scene(&policy, &seen.view, now, None);
                    let due = until.back(seen.view.state.lead(&scene));
                    if !self.may_linger(now, due) || self.begins_nothing() {
                        self.release(seen, due, blocked).await;
                        return None;
                    }
                    self.world.clock().sleep_until(seen.stamp.not_before(due)).await;
                }
                Choice::Look(at) => {
                    let waiting = urls.into_iter().find(|url| url.slot_since >= Some(began));
                    blocked.extend(waiting.map(|record| self.waits_for_slot(&seen, record)));
                    self.release(seen, at, blocked).await;
                    return None;
                }
                Choice::InOtherHands => return Some(seen),
                Choice::Anew => {
                    self.release(seen, now, blocked).await;
                    return None;
                }
                // Told to stop or to pause while it lingered.
                Choice::Go(_) if self.begins_nothing() => {
                    self.release(seen, now, blocked).await;
                    return None;
                }
                Choice::Go(mut asked) => {
                    let id = asked.record.id;
                    self.visiting.borrow_mut().asks(&host, id);
                    let next = self.request(seen, &mut asked).await;
                    let through = !matches!(next, Next::Again(_, Url::Left));
                    self.visiting.borrow_mut().asked(&host, id, through);
                    match next {
                        Next::End => return None,
                        Next::Again(newer, url) => {
                            seen = newer;
                            fruitless = match url {
                                Url::Left => fruitless + 1,
                                Url::Through => 0,
                            };
                            if url == Url::Left {
                                urls.insert(0, asked.record);
                            }
                            if fruitless > FRUITLESS_MAX {
                                let due = now + FRUITLESS_PAUSE;
                                self.release(seen, due, Vec::new()).await;
                                return None;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Decides each URL until one needs a request. What needs none is settled on the spot. What waits for its authority's robots.txt
    /// is put behind the others, so that a host's other authorities are not held up.
    async fn choose<'p>(
        &self,
        seen: &Seen,
        policy: &'p Policy,
        since: Tick,
        urls: &mut Vec<UrlRecord>,
        blocked: &mut Vec<UrlWrite>,
    ) -> Choice<'p> {
        let mut settled = Vec::new();
        let mut wait: Option<Time> = None;
        let mut look: Option<Time> = None;
        let mut choice = None;
        let mut left_out = false;
        let mut index = 0;
        while index < urls.len() {
            let record = &urls[index];
            let elsewhere = self.visiting.borrow().elsewhere(&seen.view.host, since, record.id);
            match elsewhere {
                // Two visits that were handed the same URLs would only race for them.
                Elsewhere::Asking => {
                    left_out = true;
                    index += 1;
                    continue;
                }
                Elsewhere::Through => {
                    urls.remove(index);
                    continue;
                }
                Elsewhere::No => {}
            }
            if record.held && record.ready > Some(seen.stamp.earliest(self.clock_now())) {
                // Somebody has its answer in hand: its row is on its way out.
                index += 1;
                continue;
            }
            if let Want::RobotsHop { .. } = record.want {
                match Box::pin(self.hop_without_request(seen, policy, record)).await {
                    Hop::NeedsRequest => {}
                    Hop::Settled => {
                        urls.remove(index);
                        continue;
                    }
                    Hop::Waits => {
                        let until = seen.stamp.latest(self.clock_now()) + CHASE_LOOK;
                        blocked.push(self.put_behind(seen, urls.remove(index), until));
                        continue;
                    }
                }
            }
            if record.tries.spent(&seen.view.state, policy) {
                // Its host answered others since: the failures were its own, and they are used up.
                let now = seen.stamp.earliest(self.world.clock().mono());
                let mut record = urls.remove(index);
                self.visiting.borrow_mut().asks(&seen.view.host, record.id);
                let ending = final_ending(&record);
                // A row has the tries before its last one, and the last one has been made.
                record.tries.counted = match record.tries == ENDED {
                    true => 0,
                    false => record.tries.counted.saturating_sub(1),
                };
                settled.push(self.ended(&seen.view, &record, ending, Findings::CLEAR, now));
                continue;
            }
            let hop = matches!(record.want, Want::RobotsHop { .. });
            let cached = match hop {
                true => None,
                false => self.held(&record.url).await,
            };
            let now = seen.stamp.earliest(self.world.clock().mono());
            let rules = self.rules_of(&seen.view.state, policy, &record.url.authority(), now).await;
            let scene = self.scene(policy, &seen.view, now, rules.as_deref());
            let decision = {
                let ask = ask_of(record, cached.as_ref(), &seen.view.state, policy);
                seen.view.state.admit(&ask, &scene)
            };
            if let (Action::Refuse(Gate::Budget), Reason::Budget(reason)) =
                (&decision.action, decision.findings.of(Gate::Budget).reason)
            {
                // It stays in the queue: a larger budget takes it up.
                self.budget_is_spent(reason);
                urls.remove(index);
                continue;
            }
            let mut page = None;
            let ending = match decision.action {
                Action::Approach(approach)
                    if matches!(approach.kind, Kind::Page | Kind::Sitemap)
                        && self.opens(seen, policy, record).await =>
                {
                    choice = Some(Choice::Anew);
                    break;
                }
                Action::Approach(approach) => {
                    if let (Kind::Page, Some(held)) = (approach.kind, &cached) {
                        Box::pin(self.lead_on(policy, record, held, now)).await;
                    }
                    let (record, findings) = (urls.remove(index), decision.findings);
                    let more = !urls.is_empty();
                    let asked = Asked { policy, record, approach, findings, cached, more };
                    choice = Some(Choice::Go(Box::new(asked)));
                    break;
                }
                Action::Wait(until, Gate::Robots) => {
                    let asked =
                        decision.findings.of(Gate::Robots).reason == RobotsReason::Asked.into();
                    let until = if asked { until.min(now + CHASE_LOOK) } else { until };
                    blocked.push(self.put_behind(seen, urls.remove(index), until));
                    continue;
                }
                Action::Wait(_, Gate::Backoff)
                    if matches!(
                        decision.findings.of(Gate::Backoff).reason,
                        Reason::Backoff(BackoffReason::Retry { .. })
                    ) =>
                {
                    // Its own wait, not the host's: others may come meanwhile, and the store knows when it is ready.
                    index += 1;
                    continue;
                }
                Action::Wait(until, Gate::Slots) => {
                    let mut until = seen.view.state.likely_free(until, &scene);
                    match decision.findings.of(Gate::Slots).reason {
                        Reason::Slots(SlotsReason::Timeout) if self.settings.slot_timeout_ends => {
                            let record = urls.remove(index);
                            let ending = Ending::Refused(Gate::Slots);
                            let findings = decision.findings;
                            settled.push(self.ended(&seen.view, &record, ending, findings, now));
                            continue;
                        }
                        Reason::Slots(SlotsReason::Timeout) => {
                            let record = urls.remove(index);
                            blocked.push(self.without_slot(
                                seen,
                                record,
                                decision.findings,
                                now,
                                until,
                            ));
                        }
                        // The first of them is the one that would have had it.
                        Reason::Slots(SlotsReason::Taken { .. }) if look.is_none() => {
                            let since = *urls[index].slot_since.get_or_insert(now);
                            // The end of its wait is looked at too.
                            until = policy.slots.wait.map_or(until, |wait| until.min(since + wait));
                            index += 1;
                        }
                        _ => index += 1,
                    }
                    look = Some(look.map_or(until, |l: Time| l.min(until)));
                    continue;
                }
                Action::Wait(until, _) => {
                    wait = Some(wait.map_or(until, |w: Time| w.min(until)));
                    index += 1;
                    continue;
                }
                // A page that need not be asked for leads to its site all the same: what the site lists is part of the crawl.
                Action::UseCached
                    if record.want != Want::Rules && self.opens(seen, policy, record).await =>
                {
                    choice = Some(Choice::Anew);
                    break;
                }
                Action::UseCached => {
                    let held =
                        Box::pin(self.take_in_cached(seen, policy, record, cached, now)).await;
                    let ending = held
                        .as_deref()
                        .map_or(Ending::Cached, |page| answer::remembered(page, policy));
                    let (ending, held) = behind_login(ending, held, record);
                    page = held;
                    ending
                }
                Action::Refuse(_) if hop => {
                    let record = urls.remove(index);
                    Box::pin(self.give_up_hop(&seen.view, &record)).await;
                    continue;
                }
                Action::Refuse(gate) => Ending::Refused(gate),
            };
            let record = urls.remove(index);
            // The host's other visits may have it on their lists, and the store has it in the queue until its row is kept.
            self.visiting.borrow_mut().asks(&seen.view.host, record.id);
            let ended = self.ended(&seen.view, &record, ending, decision.findings, now);
            settled.push(ended.with(page));
        }
        if !settled.is_empty() {
            let kept = self.write_out(&settled).await;
            let mut visiting = self.visiting.borrow_mut();
            settled.iter().for_each(|e| visiting.asked(&seen.view.host, e.record.id, true));
            drop(visiting);
            match kept {
                true => settled.iter().for_each(|e| self.paid(e.record.id)),
                // Kept for the next flush: nothing is lost.
                false => settled.into_iter().for_each(|e| self.end(e)),
            }
        }
        let without = if left_out { Choice::InOtherHands } else { Choice::Nothing };
        let waiting = match (wait, look) {
            (Some(wait), look) if look.is_none_or(|look| wait < look) => Some(Choice::Wait(wait)),
            (_, look) => look.map(Choice::Look),
        };
        choice.or(waiting).unwrap_or(without)
    }

    /// Whether the crawl comes to this page's authority for the first time, and has just found that something goes before it.
    async fn opens(&self, seen: &Seen, policy: &Policy, record: &UrlRecord) -> bool {
        let authority = record.url.authority();
        if record.hop > 0 || self.entered.borrow().contains(&authority) {
            return false;
        }
        let now = seen.stamp.earliest(self.clock_now());
        let known = seen.view.state.robots_of(&authority);
        let file = match known.and_then(|known| known.ruling(&policy.robots, now)) {
            Some((id, _)) => self.robots_file(id).await,
            None => None,
        };
        let first = self.outside.reader.entrances(record, file.as_deref());
        self.enter(authority);
        self.offer(&first).await > 0
    }

    fn enter(&self, authority: Authority) {
        let mut entered = self.entered.borrow_mut();
        if entered.len() >= ENTERED_MAX {
            // The store knows what was offered: asking again costs little.
            entered.clear();
        }
        entered.insert(authority);
    }

    /// Has a URL wait while others are asked for.
    fn put_behind(&self, seen: &Seen, record: UrlRecord, until: Time) -> UrlWrite {
        // A retry that is further away stays there.
        let ready = record.ready.max(Some(until));
        UrlWrite {
            from: Some(seen.view.host.clone()),
            id: record.id,
            claim: record.claim,
            to: Some(UrlRecord { ready, claim: Some(self.new_lease()), held: false, ..record }),
        }
    }

    /// A URL that waited for a slot for as long as the policy has it wait: that is noted, and it goes back behind the others.
    fn without_slot(
        &self,
        seen: &Seen,
        record: UrlRecord,
        findings: Findings,
        now: Time,
        until: Time,
    ) -> UrlWrite {
        self.held_up(seen, &record, findings, now);
        self.put_behind(seen, UrlRecord { slot_since: None, ..record }, until)
    }

    /// Records that a gate held a URL up, and nothing was sent.
    fn held_up(&self, seen: &Seen, record: &UrlRecord, findings: Findings, now: Time) {
        self.step(Step {
            id: record.id,
            url: record.url.clone(),
            kind: match record.want {
                Want::Page | Want::Check { .. } => Kind::Page,
                Want::Sitemap => Kind::Sitemap,
                Want::RobotsHop { .. } => Kind::RobotsHop,
                Want::Rules => Kind::Robots,
            },
            findings,
            crawl_delay: seen.view.state.crawl_delay_of(&record.url.authority()),
            outcome: Outcome::NotSent,
            then: Then::Decide,
            at: now,
        });
    }

    /// A URL that began to wait for a slot in this visit: whoever has it next goes on counting.
    fn waits_for_slot(&self, seen: &Seen, record: UrlRecord) -> UrlWrite {
        UrlWrite {
            from: Some(seen.view.host.clone()),
            id: record.id,
            claim: record.claim,
            to: Some(UrlRecord { claim: Some(self.new_lease()), ..record }),
        }
    }

    /// A URL that has ended, as a row and the write that settles it.
    pub(crate) fn ended(
        &self,
        view: &View,
        record: &UrlRecord,
        ending: Ending,
        findings: Findings,
        at: Time,
    ) -> Ended {
        let row = Row {
            id: record.id,
            url: record.origin.clone(),
            wish: record.wish.clone(),
            final_url: record.url.clone(),
            redirects: record.hop,
            depth: record.depth,
            kind: record.kind(),
            tries: record.tries.counted,
            ending,
            findings,
            crawl_delay: view.state.crawl_delay_of(&record.url.authority()),
            at,
            page: None,
        };
        let write = UrlWrite {
            from: Some(view.host.clone()),
            id: record.id,
            claim: record.claim,
            to: None,
        };
        Ended { row: Some(Arc::new(row)), write: Some(write), before: None, record: record.clone() }
    }

    /// One request, from its approach to its observation. What seldom happens on its way is boxed, here and in what it calls: whoever awaits a future moves
    /// all of it, and each page has one of these.
    async fn request(&self, seen: Seen, asked: &mut Asked<'_>) -> Next {
        let turn = seen.stamp.not_before(asked.approach.turn);
        let (mut line, took, dialled, seen) =
            match self.world.fetch().standing(&asked.approach, turn) {
                Some(line) => (line, Duration::ZERO, None, seen),
                None => match Box::pin(self.dial(seen, asked)).await {
                    Ok(Dialled { line, took, dial, seen }) => (line, took, Some(dial), seen),
                    Err(next) => return next,
                },
            };
        self.world.reached(Point::Connected).await;
        if line.is_public() && self.learns_to_be_slower(&seen.view.host) {
            // The visit goes by the pace of one's own network: it begins anew, and finds this line standing.
            let due = self.look_due(&seen.view);
            Box::pin(self.release(seen, due, Vec::new())).await;
            return Next::End;
        }
        let wanted = Wanted { counted_on: counted_on(&line), took, dialled, asked };
        let (permit, seen) = match self.grant(seen, wanted).await {
            Granted::Open(permit, seen) => (permit, seen),
            Granted::Changed(seen) => return Next::Again(seen, Url::Left),
            Granted::Wait(seen, until) => {
                let now = seen.stamp.earliest(self.world.clock().mono());
                if asked.findings.of(Gate::Address).verdict > Verdict::Go {
                    self.held_up(&seen, &asked.record, asked.findings, now);
                }
                let scene = self.scene(asked.policy, &seen.view, now, None);
                let due = until.back(seen.view.state.lead(&scene));
                Box::pin(self.release(seen, due, Vec::new())).await;
                return Next::End;
            }
            Granted::Gone(seen) => {
                // Another visit has it, and probably those after it too: the host is handed out anew, with what is left.
                self.owe_no_longer(&asked.record);
                let due = self.look_due(&seen.view);
                Box::pin(self.release(seen, due, Vec::new())).await;
                return Next::End;
            }
            Granted::Spent(seen) => {
                let pages = asked.policy.budget.pages.unwrap_or(u64::MAX);
                self.budget_is_spent(BudgetReason::PageLimit { pages });
                return Next::Again(seen, Url::Through);
            }
        };
        self.world.reached(Point::Granted).await;
        self.exchange(seen, asked, permit, &mut line, dialled.is_some()).await
    }

    /// The policy for a host: where it turned out to be on a public address, with the least delay of such hosts.
    pub(crate) fn policy_of(&self, host: &HostKey) -> Cow<'_, Policy> {
        match self.public.borrow().contains(host) {
            true => self.policy.for_public_host(host.as_str()),
            false => self.policy.for_host(host.as_str()),
        }
    }

    /// A host is on a public address. Says whether its pace changes by that.
    fn learns_to_be_slower(&self, host: &HostKey) -> bool {
        if !self.policy.is_too_fast_for_public(Some(host.as_str())) {
            return false;
        }
        let mut public = self.public.borrow_mut();
        if public.len() >= PUBLIC_MAX {
            // Each is found out again before its next request.
            public.clear();
        }
        public.insert(host.clone())
    }

    /// Gives the host back. What others wrote meanwhile may have it due later.
    pub(crate) async fn release(&self, mut seen: Seen, not_before: Time, urls: Vec<UrlWrite>) {
        let mut not_before = self.due_within_budget(&seen.view.host, not_before, seen.view.now);
        for _ in 0..RELEASE_TRIES {
            let commit = Commit {
                host: seen.view.host.clone(),
                version: seen.view.version,
                epoch: seen.view.epoch.id,
                state: None,
                not_before,
                grant: None,
                release: None,
                robots: Vec::new(),
                urls: urls.clone(),
                exchanged: None,
            };
            let m0 = self.clock_now();
            match self.world.store().commit(commit).await {
                Ok(Committed::Stale(view)) => {
                    let stamp = Stamp { now: view.now, m0, m1: self.clock_now() };
                    seen = self.newer(view, stamp);
                    not_before = not_before.max(self.look_due(&seen.view));
                }
                Ok(Committed::Done(_)) => {
                    self.owe_as_written(&urls);
                    break;
                }
                // If this does not get through, the host falls due again by itself.
                Ok(Committed::Refused(_)) | Err(_) => break,
            }
        }
        self.wake_by(seen.stamp.not_before(not_before));
    }

    /// Whether a visit keeps its host for the next turn.
    pub(crate) fn may_linger(&self, now: Time, due: Time) -> bool {
        self.may_wait(now, due) && self.keeps(self.clock_now())
    }

    /// Whether a visit that has kept its host waits for the next turn.
    pub(crate) fn may_wait(&self, now: Time, due: Time) -> bool {
        let paused = self.health.borrow().paused_until(self.clock_now()).is_some();
        due <= now + LINGER && !paused && !self.begins_nothing()
    }

    /// Waits until what is fetched next can be kept. After a while the host falls due again by itself, for whoever can keep something then.
    pub(crate) async fn room_for_rows(&self) -> bool {
        let end = self.clock_now() + LINGER;
        while !self.keeps(self.clock_now()) {
            if self.clock_now() >= end || self.stop_switch().get() {
                return false;
            }
            self.pause(ROWS_LOOK).await;
        }
        true
    }

    /// What surrounds a decision.
    pub(crate) fn scene<'a>(
        &self,
        policy: &'a Policy,
        view: &View,
        now: Time,
        rules: Option<&'a AgentRules>,
    ) -> Scene<'a> {
        Scene {
            policy,
            now,
            seed: view.host.seed(),
            rules,
            job: view.job,
            stopped: view.stopped,
            floor: view.epoch.floor,
            quiet_until: self.quiet_until(&view.epoch, now),
        }
    }

    /// When a host with this state may be handed out again.
    pub(crate) fn scene_due(&self, view: &View, state: &HostState) -> Time {
        let policy: Cow<'_, Policy> = self.policy_of(&view.host);
        state.hand_out_at(&self.scene(&policy, view, view.now, None), SlotEnds::Deadline)
    }

    /// When a host that a visit gives back is handed out again.
    pub(crate) fn look_due(&self, view: &View) -> Time {
        let policy: Cow<'_, Policy> = self.policy_of(&view.host);
        view.state.hand_out_at(&self.scene(&policy, view, view.now, None), SlotEnds::Likely)
    }

    /// The rules for us in the text that rules an authority, parsed once.
    pub(crate) async fn rules_of(
        &self,
        state: &HostState,
        policy: &Policy,
        authority: &Authority,
        now: Time,
    ) -> Option<Arc<AgentRules>> {
        let (id, _) = state.robots_of(authority)?.ruling(&policy.robots, now)?;
        if let Some((rules, _)) = self.rules.borrow().get(&id) {
            return Some(Arc::clone(rules));
        }
        let file = Box::pin(self.robots_file(id)).await?;
        Some(self.keep_rules(id, file, policy.robots.agent_match))
    }

    /// A robots.txt from memory or from the store, however often that must be asked. None is lost, and asked for again.
    pub(crate) async fn robots_file(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        if let Some((_, file)) = self.rules.borrow().get(&id) {
            return Some(Arc::clone(file));
        }
        loop {
            match self.world.store().robots(id).await {
                Ok(file) => return file,
                Err(_) => self.pause(Duration::from_millis(200)).await,
            }
        }
    }

    pub(crate) fn clock_now(&self) -> Mono {
        self.world.clock().mono()
    }
}

/// A URL with its approach.
pub(crate) struct Asked<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) record: UrlRecord,
    pub(crate) approach: Approach,
    /// Every gate's finding at the decision that counts.
    pub(crate) findings: Findings,
    pub(crate) cached: Option<CachedPage>,
    /// Whether the visit has further URLs.
    pub(crate) more: bool,
}

impl Asked<'_> {
    /// Whether the request was for the URL itself, not for what must come before it.
    pub(crate) fn is_for_url(&self) -> bool {
        !matches!(self.approach.kind, Kind::Robots | Kind::Probe)
    }

    /// The method of the request.
    pub(crate) fn method(&self) -> &'static str {
        match self.record.want {
            Want::Check { by: CheckBy::Head } if self.is_for_url() => "HEAD",
            _ => self.approach.method(),
        }
    }

    /// Whether the head of an answer with this status says all that is wanted. What a refusal says may be a bot wall's page.
    pub(crate) fn wants_head_only(&self, status: u16) -> bool {
        let is_check = self.is_for_url() && matches!(self.record.want, Want::Check { .. });
        is_check && (status < 400 || self.method() == "HEAD")
    }
}

/// How a visit goes on.
pub(crate) enum Next {
    /// It ends.
    End,
    /// With this state.
    Again(Seen, Url),
}

/// Whether a visit has its host to itself after an exchange, as the store was told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Others have it when this visit seems to be dead.
    Kept,
    /// Others have it when it is due.
    GivenBack,
}

/// Whether a URL that was asked for is through with this visit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Url {
    /// What came of it is written down.
    Through,
    /// It is to be asked for still.
    Left,
}
