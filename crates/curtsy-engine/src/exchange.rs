//! The exchange itself: send, tell a refusal at once, read, observe.

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::evidence::friction_signal;
use curtsy_core::host::{
    BookedTurn, Class, Friction, HostState, Kind, LeaseId, Observation, Outcome, Problem, RobotsId,
    RobotsNews, Scene, Settled, SlotEnds,
};
use curtsy_core::limits::Hit;
use curtsy_core::policy::Unreachable;
use curtsy_core::robots::RobotsClass;
use curtsy_core::time::Time;
use futures_util::future::{Either, join, select};

use crate::answer;
use crate::becomes::{Becomes, unsent};
use crate::dial::Dial;
use crate::visit::{Asked, HOLD, Next, Seen, Stamp, Stay, Url};
use crate::{
    CachedPage, Clock, Commit, Committed, Exchanged, Fetched, FrictionEvent, Head, Line, Mono,
    Note, Permit, Point, Reading, Request, RobotsFile, Saved, Sent, Store, UrlRecord, View, Want,
    Worker, World,
};

/// Commits of what is known of a start, at most.
const CONFIRM_TRIES: u32 = 3;

/// What one request brought.
pub(crate) struct Brought {
    pub(crate) outcome: Outcome,
    pub(crate) head: Option<Arc<Head>>,
    pub(crate) page: Option<Fetched>,
    /// The address that answered.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) latency: Option<Duration>,
    sent: Option<Mono>,
    first_byte: Option<Mono>,
    /// The other side had closed the line before anything was sent.
    gone: bool,
}

impl Brought {
    fn nothing(outcome: Outcome) -> Brought {
        Brought {
            outcome,
            head: None,
            page: None,
            peer: None,
            latency: None,
            sent: None,
            first_byte: None,
            gone: false,
        }
    }

    /// Whether nobody was asked, since we refuse to: final for the URL, whatever was to be asked for on its behalf.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(problem) if problem.is_refusal())
    }
}

/// The address on which a request over this line counts.
pub(crate) fn counted_on(line: &impl Line) -> Option<IpAddr> {
    line.is_counted().then(|| line.peer())
}

/// A robots.txt that goes to the store with what it means.
pub(crate) type Kept = Option<(RobotsId, Arc<RobotsFile>)>;

impl<W: World> Worker<'_, W> {
    /// Uses up a permit, and applies the outcome.
    pub(crate) async fn exchange(
        &self,
        seen: Seen,
        asked: &mut Asked<'_>,
        permit: Permit,
        line: &mut impl Line,
        new_line: bool,
    ) -> Next {
        let address = counted_on(line);
        let request = self.request_for(&seen, asked).await;
        self.world.reached(Point::BeforeSend).await;
        let granted = GrantedTurn {
            turn: permit.turn().clone(),
            epoch: seen.view.epoch.id,
            state: Arc::clone(&seen.view.state),
        };
        let (mut brought, seen) = self.bring(seen, &granted, asked, permit, line, &request).await;
        if brought.gone && new_line {
            // The server accepted the connection and closed it before a byte was sent. Dialling again at once would be a burst.
            brought.outcome = Outcome::Failed(Problem::Reset);
        }
        self.world.reached(Point::BodyRead).await;
        self.tell_listener(&seen, asked, &granted.turn, &brought);
        self.note_limit(brought.outcome);
        self.note_health(&seen.view, &brought).await;

        let (news, kept) = self.robots_news(&seen, asked, &brought);
        let stamp = seen.stamp;
        let observation = Observation {
            outcome: brought.outcome,
            sent: brought.sent.map(|m| stamp.latest(m)),
            first_byte: brought.first_byte.map(|m| stamp.latest(m)),
            latency: brought.latency,
            robots: news,
            ended: Some(stamp.latest(self.world.clock().mono())),
        };
        let becomes = self.becomes_of(&seen, asked, &brought, observation.robots.as_ref());
        let claim = self.new_lease();
        // Known and kept before anything can be lost with this worker: what is asked again then is answered from here.
        self.note_url(&asked.record, &becomes, claim);
        self.still_owe(&asked.record, &becomes, claim);
        let now = seen.stamp.latest(self.world.clock().mono());
        let settling =
            self.settle(seen, &granted, asked, &observation, &becomes, claim, kept, address);
        let ((seen, settled, stay), kept) =
            join(settling, self.keep_page(asked, &brought, now)).await;
        if seen.view.epoch.id != granted.epoch {
            // The store lost something while the exchange went on: what it brought may have found no record.
            Box::pin(self.remind_of(asked.record.id)).await;
        }
        self.count(asked, &brought, &settled);
        self.note_step(&seen, asked, brought.outcome, &becomes, now);
        self.world.reached(Point::Observed).await;
        self.follow_up(&seen, asked, &mut brought, kept, becomes, claim).await;
        if brought.outcome == Outcome::NotSent && asked.is_for_url() {
            asked.record = unsent(UrlRecord { claim: Some(claim), ..asked.record.clone() });
        }
        self.go_on(seen, asked, &brought, stay).await
    }

    /// Sends and reads. A refusal is told to every worker when its head is here, not after the body.
    async fn bring(
        &self,
        mut seen: Seen,
        granted: &GrantedTurn,
        asked: &Asked<'_>,
        permit: Permit,
        line: &mut impl Line,
        request: &Request,
    ) -> (Brought, Seen) {
        let clock = self.world.clock();
        let turn = &granted.turn;
        clock.sleep_until(seen.stamp.not_before(turn.at())).await;
        let written = Cell::new(None);
        let confirm = Confirm { asked, turn, written: &written, done: Cell::new(false) };
        // Who was told to stop or to pause hands the turn back.
        let sent = match self.begins_nothing() {
            true => Sent::NotSent,
            false => {
                let sending = line.send(permit, request, &written);
                self.confirming(&mut seen, &confirm, sending).await
            }
        };
        let mut brought = Brought::nothing(Outcome::NotSent);
        brought.peer = Some(line.peer());
        match sent {
            Sent::NotSent => {}
            Sent::Gone => brought.gone = true,
            Sent::Failed { sent, problem } => {
                brought.sent = Some(sent);
                brought.outcome = Outcome::Failed(problem);
            }
            Sent::Answered { sent, first_byte, head } => {
                self.world.reached(Point::HeadRead).await;
                brought.sent = Some(sent);
                brought.first_byte = Some(first_byte);
                brought.latency = Some(first_byte - sent);
                let now = seen.stamp.latest(clock.mono());
                let early = answer::outcome(&head, None, None, now);
                if early.class() == Class::ToldToWait {
                    let stamp = seen.stamp;
                    let told = Observation {
                        outcome: early,
                        sent: Some(stamp.latest(sent)),
                        first_byte: Some(stamp.latest(first_byte)),
                        latency: None,
                        robots: None,
                        ended: None,
                    };
                    let observed =
                        |state: &HostState, scene: &Scene<'_>| state.observe(turn, &told, scene).0;
                    seen = Box::pin(self.tell(seen, granted, asked, observed)).await;
                }
                let kind = asked.approach.kind;
                let reader = self.outside.reader;
                let (page, problem, friction) = if asked.wants_head_only(head.status) {
                    self.confirming(&mut seen, &confirm, line.discard()).await;
                    let blank = Fetched::default();
                    let wall = reader.friction(kind, &head, &blank);
                    // Nothing was read, so nothing is unusual about it.
                    (None, None, wall.filter(|friction| *friction == Friction::Challenge))
                } else {
                    match self.confirming(&mut seen, &confirm, line.body()).await {
                        Reading::Whole(page) => {
                            let friction = reader.friction(kind, &head, &page);
                            (Some(page), None, friction)
                        }
                        Reading::Failed(problem) => (None, Some(problem), None),
                    }
                };
                let now = seen.stamp.latest(clock.mono());
                brought.outcome = answer::outcome(&head, problem, friction, now);
                (brought.head, brought.page) = (Some(head), page);
            }
        }
        (brought, seen)
    }

    /// Waits for a part of the exchange. With several slots, one that outlasts half the delay tells what is known of its start, else
    /// the next turn would wait for window and margin.
    async fn confirming<T>(
        &self,
        seen: &mut Seen,
        confirm: &Confirm<'_>,
        part: impl Future<Output = T>,
    ) -> T {
        let apart = confirm.asked.policy.slots.per_host > 1 && !confirm.turn.delay().is_zero();
        if !apart || confirm.done.get() {
            return part.await;
        }
        let clock = self.world.clock();
        let half = confirm.turn.at() + confirm.turn.delay() / 2;
        let sleep = pin!(clock.sleep_until(seen.stamp.not_before(half)));
        match select(pin!(part), sleep).await {
            Either::Left((done, _)) => done,
            Either::Right(((), part)) => {
                confirm.done.set(true);
                let Some(written) = confirm.written.get() else {
                    return part.await;
                };
                // The exchange goes on meanwhile. If its answer comes first, that is told instead: an answer in hand waits for nothing,
                // since a worker that dies with it loses it.
                let confirming = Box::pin(self.confirm(seen, confirm.turn, written));
                match select(part, confirming).await {
                    Either::Left((done, _)) => done,
                    Either::Right(((), part)) => part.await,
                }
            }
        }
    }

    /// Tells what is known of a start. Worth a few tries: the end of the exchange tells it too.
    async fn confirm(&self, seen: &mut Seen, turn: &BookedTurn, written: Mono) {
        let clock = self.world.clock();
        for _ in 0..CONFIRM_TRIES {
            let sent = seen.stamp.latest(written);
            let state = Arc::new(seen.view.state.confirm_start(turn, sent));
            let due = self.scene_due(&seen.view, &state);
            let commit = self.plain_commit(&seen.view, &state, due);
            let m0 = clock.mono();
            match self.world.store().commit(commit).await {
                Ok(Committed::Done(saved)) => {
                    seen.view.state = state;
                    (seen.view.version, seen.view.now) = (saved.version, saved.now);
                    seen.stamp = Stamp { now: saved.now, m0, m1: clock.mono() };
                    return self.wake_by(seen.stamp.not_before(due));
                }
                Ok(Committed::Stale(view)) => {
                    let stamp = Stamp { now: view.now, m0, m1: clock.mono() };
                    *seen = self.newer(view, stamp);
                }
                Ok(Committed::Refused(_)) | Err(_) => return,
            }
        }
    }

    /// Writes a change of the host's state at once, on whatever state is newest.
    async fn tell(
        &self,
        mut seen: Seen,
        granted: &GrantedTurn,
        asked: &Asked<'_>,
        change: impl Fn(&HostState, &Scene<'_>) -> HostState,
    ) -> Seen {
        loop {
            let now = seen.stamp.latest(self.world.clock().mono());
            let scene = self.scene(asked.policy, &seen.view, now, None);
            let state = Arc::new(change(&granted.base(&seen.view, now), &scene));
            let due = self.scene_due(&seen.view, &state);
            let commit = self.plain_commit(&seen.view, &state, due);
            let (answer, stamp) = self.commit_known(&commit).await;
            match answer {
                Committed::Done(saved) => return self.wrote(seen, state, saved, stamp),
                Committed::Stale(view) => seen = self.newer(view, stamp),
                Committed::Refused(_) => return seen,
            }
        }
    }

    /// The observation's commit: frees the slot and writes what becomes of the URL. Repeated on newer states until it is written.
    #[allow(clippy::too_many_arguments, reason = "one atomic write has that many parts")]
    async fn settle(
        &self,
        mut seen: Seen,
        granted: &GrantedTurn,
        asked: &Asked<'_>,
        observation: &Observation,
        becomes: &Becomes,
        claim: LeaseId,
        kept: Kept,
        address: Option<IpAddr>,
    ) -> (Seen, Settled, Stay) {
        let lease = granted.turn.lease().id;
        let friction = friction_shown(asked, &observation.outcome);
        loop {
            let now = seen.stamp.latest(self.world.clock().mono());
            let base = granted.base(&seen.view, now);
            let scene = self.scene(asked.policy, &seen.view, now, None);
            let (state, settled) = base.observe(&granted.turn, observation, &scene);
            let state = Arc::new(state);
            let (not_before, stay) = self.handed_out_at(&seen.view, &state, &scene, asked.more);
            let commit = Commit {
                release: address.map(|address| (address, lease)),
                robots: kept.iter().cloned().collect(),
                urls: match becomes {
                    // Without our lease this was written before, or is too late: a hop is not made twice.
                    Becomes::New(_) if !settled.ours => Vec::new(),
                    _ => becomes.write(&seen.view, asked.policy, &asked.record, claim, now),
                },
                exchanged: observation.sent.map(|sent| Exchanged {
                    sent,
                    // Without our lease it was taken in before: a signal is not shown twice.
                    friction: friction.clone().filter(|_| settled.ours),
                }),
                ..self.plain_commit(&seen.view, &state, not_before)
            };
            let (answer, stamp) = self.commit_known(&commit).await;
            match answer {
                Committed::Done(saved) => {
                    return (self.wrote(seen, state, saved, stamp), settled, stay);
                }
                Committed::Stale(view) => seen = self.newer(view, stamp),
                Committed::Refused(_) => unreachable!("only grants are refused"),
            }
        }
    }

    /// No line could be made: observed like any other failure.
    pub(crate) async fn no_line(
        &self,
        seen: Seen,
        asked: &mut Asked<'_>,
        problem: Problem,
        dial: Option<Dial>,
    ) -> Next {
        if asked.is_for_url() {
            // This try had no grant: one that is open is an earlier one, which was never heard of and counts.
            asked.record.tries = asked.record.tries.opened();
        }
        let outcome = Outcome::Failed(problem);
        let mut brought = Brought::nothing(outcome);
        self.note_limit(outcome);
        let (host, kind) = (asked.approach.url.host(), asked.approach.kind);
        self.outside.listener.note(Note::NoLine { host, kind, problem });
        if problem.is_unreached() {
            self.unreached.set(true);
        }
        self.note_health(&seen.view, &brought).await;
        let becomes = self.becomes_of(&seen, asked, &brought, None);
        let robots = asked.approach.kind == Kind::Robots;
        let claim = self.new_lease();
        let mut seen = seen;
        let (settled, stay) = loop {
            let now = seen.stamp.latest(self.world.clock().mono());
            let scene = self.scene(asked.policy, &seen.view, now, None);
            let mut before = (*seen.view.state).clone();
            if let Some(dial) = dial {
                before.note_dial(seen.stamp.latest(dial.at), dial.booked);
            }
            let (mut state, settled) = match problem.is_refusal() {
                // Nobody was asked for anything, so nothing is learnt: neither of the host nor of its robots.txt.
                true => (before, Settled { ours: true, ..Settled::default() }),
                false => before.observe_no_line(&outcome, &scene),
            };
            // Who may go on without robots.txt must have asked for it. No request got there, so
            // nothing is known: the next turn asks again, as it would for a page, and the breaker
            // counts the failures.
            if robots
                && !problem.is_refusal()
                && outcome.class() != Class::Ours
                && asked.policy.robots.unreachable == Unreachable::Deny
            {
                let news =
                    RobotsNews::Answer { class: RobotsClass::Unreachable, file: None, told: None };
                let authority = asked.approach.authority();
                state.learn_robots(&authority, news, &asked.policy.robots, None, now);
            }
            let state = Arc::new(state);
            let (not_before, stay) = self.handed_out_at(&seen.view, &state, &scene, asked.more);
            let commit = Commit {
                urls: becomes.write(&seen.view, asked.policy, &asked.record, claim, now),
                ..self.plain_commit(&seen.view, &state, not_before)
            };
            let (answer, stamp) = self.commit_known(&commit).await;
            match answer {
                Committed::Done(saved) => {
                    seen = self.wrote(seen, state, saved, stamp);
                    break (settled, stay);
                }
                Committed::Stale(view) => seen = self.newer(view, stamp),
                Committed::Refused(_) => unreachable!("only grants are refused"),
            }
        };
        self.count(asked, &brought, &settled);
        self.note_url(&asked.record, &becomes, claim);
        self.still_owe(&asked.record, &becomes, claim);
        let now = seen.stamp.latest(self.world.clock().mono());
        self.note_step(&seen, asked, outcome, &becomes, now);
        self.follow_up(&seen, asked, &mut brought, None, becomes, claim).await;
        self.go_on(seen, asked, &brought, stay).await
    }

    /// When a host is handed out after an exchange: when it is due, unless this visit keeps it.
    fn handed_out_at(
        &self,
        view: &View,
        state: &HostState,
        scene: &Scene<'_>,
        more: bool,
    ) -> (Time, Stay) {
        let due = state.hand_out_at(scene, SlotEnds::Deadline);
        match more && self.may_linger(scene.now, due) {
            true => (self.others_at(view, state, scene.now), Stay::Kept),
            false => (due, Stay::GivenBack),
        }
    }

    /// When a host that this worker keeps is handed out to others: with one slot when its visit seems to be dead; with several at once
    /// while there are fewer visits than slots, and else as soon as they have let a turn go by. Where the policy bounds the wait for a
    /// slot, one more looks whether a slot is free, and counts that wait.
    pub(crate) fn others_at(&self, view: &View, state: &HostState, now: Time) -> Time {
        let policy = self.policy_of(&view.host);
        let scene = self.scene(&policy, view, now, None);
        if policy.slots.wait.is_some() && !self.has_enough_visits(&view.host) {
            state.hand_out_at(&scene, SlotEnds::Likely)
        } else if policy.slots.per_host == 1 {
            state.hand_out_at(&scene, SlotEnds::Deadline) + HOLD
        } else if self.has_enough_visits(&view.host) {
            state.earliest_start(&scene, SlotEnds::Deadline) + Duration::from_millis(50)
        } else {
            state.hand_out_at(&scene, SlotEnds::Deadline)
        }
    }

    /// The state that this worker just wrote, as it now stands in the store; remembered in case the store loses it.
    pub(crate) fn wrote(
        &self,
        seen: Seen,
        state: Arc<HostState>,
        saved: Saved,
        stamp: Stamp,
    ) -> Seen {
        self.remember(&seen.view.host, &state, saved.now);
        let view = View { state, version: saved.version, now: saved.now, ..seen.view };
        Seen { view, stamp }
    }

    /// A newer state that somebody else wrote.
    pub(crate) fn newer(&self, view: View, stamp: Stamp) -> Seen {
        self.counts.borrow_mut().stale += 1;
        Seen { view, stamp }
    }

    pub(crate) fn plain_commit(
        &self,
        view: &View,
        state: &Arc<HostState>,
        not_before: Time,
    ) -> Commit {
        Commit {
            host: view.host.clone(),
            version: view.version,
            epoch: view.epoch.id,
            not_before,
            state: Some(Arc::clone(state)),
            grant: None,
            release: None,
            robots: Vec::new(),
            urls: Vec::new(),
            exchanged: None,
        }
    }

    /// Whether the visit goes on, and with what. Whoever kept the host goes on, though perhaps not at once: else it would be nobody's
    /// until the hold is over.
    async fn go_on(&self, seen: Seen, asked: &Asked<'_>, brought: &Brought, stay: Stay) -> Next {
        let left = !asked.is_for_url() || brought.outcome == Outcome::NotSent;
        let url = if left && !brought.is_refusal() { Url::Left } else { Url::Through };
        let now = seen.stamp.earliest(self.world.clock().mono());
        let due = self.scene_due(&seen.view, &seen.view.state);
        // Another host waits for what was just learnt here.
        let hop = matches!(asked.record.want, Want::RobotsHop { .. });
        let waited_for = url == Url::Left && hop;
        let stays = stay == Stay::Kept && self.may_wait(now, due);
        if waited_for || stays && self.room_for_rows().await {
            return Next::Again(seen, url);
        }
        Next::End
    }

    async fn request_for(&self, seen: &Seen, asked: &Asked<'_>) -> Request {
        let mut request = Request {
            method: asked.method(),
            user_agent: self.user_agent.clone(),
            ..Request::default()
        };
        let (etag, modified) = match asked.approach.kind {
            Kind::Robots => {
                let known = seen.view.state.robots_of(&asked.approach.authority());
                let file = match known.and_then(|r| r.file) {
                    Some(id) => self.robots_file(id).await,
                    None => None,
                };
                file.map(|f| (f.etag.clone(), f.last_modified.clone())).unwrap_or_default()
            }
            Kind::Page | Kind::Sitemap => {
                // Whoever says that nothing has changed sends no page: the one that is held must be there then.
                let validated =
                    |held: &CachedPage| held.etag.is_some() || held.last_modified.is_some();
                let cached = match asked.cached.clone().filter(validated) {
                    Some(held) if self.outside.cache.hold(asked.record.url.key()).await => {
                        Some(held)
                    }
                    _ => None,
                };
                cached.map(|c| (c.etag, c.last_modified)).unwrap_or_default()
            }
            Kind::RobotsHop | Kind::Probe => (None, None),
        };
        request.if_none_match = etag;
        request.if_modified_since = modified;
        request
    }

    /// What an answer to a request for robots.txt says, and the text to keep.
    fn robots_news(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        brought: &Brought,
    ) -> (Option<RobotsNews>, Kept) {
        let unasked =
            brought.sent.is_none() && asked.policy.robots.unreachable == Unreachable::Allow;
        let silent = unasked || matches!(brought.outcome.class(), Class::Nothing | Class::Ours);
        if asked.approach.kind != Kind::Robots || silent {
            return (None, None);
        }
        let now = seen.stamp.latest(self.world.clock().mono());
        let held = seen.view.state.robots_of(&asked.approach.authority()).and_then(|r| r.file);
        // From when the server can have sent its answer, not from when we had read it.
        let sent = brought.sent.map_or(now, |m| seen.stamp.earliest(m));
        let deadline = sent + asked.policy.robots.chain_deadline;
        let url = &asked.approach.url;
        let (news, kept) = self.read_robots(url, asked.policy, brought, held.is_some(), deadline);
        let kept = match (&news, held) {
            // The store may have lost the text since, and this worker may be the last to have it.
            (RobotsNews::NotModified, Some(id)) => {
                self.rules.borrow().get(&id).map(|(_, file)| (id, Arc::clone(file)))
            }
            _ => kept,
        };
        (Some(news), kept)
    }

    /// Tells our own network's trouble from a host's, and takes back what was ours.
    async fn note_health(&self, view: &View, brought: &Brought) {
        let faulty = match brought.outcome {
            Outcome::Failed(problem) => problem.may_be_ours(),
            _ => false,
        };
        let now = self.world.clock().mono();
        self.note_own_fault(&brought.outcome);
        if brought.head.is_some() {
            self.health.borrow_mut().success(now);
        }
        if brought.outcome.is_ordinary() {
            self.progressed();
        }
        if !faulty {
            return;
        }
        // A proxy that has let nothing through yet is wrongly set, or down: no second host is
        // needed to know that.
        let worked = self.health.borrow().has_succeeded();
        let known = brought.outcome.class() == Class::Ours && !worked;
        let ours = self.health.borrow_mut().fault(&view.host, now, known);
        if let Some(hosts) = ours {
            self.counts.borrow_mut().own_trouble += 1;
            self.outside.listener.note(Note::OwnTrouble);
            for (host, faults) in hosts {
                // The failure in hand is not counted yet.
                let counted = if host == view.host { faults - 1 } else { faults };
                let forgiven = |view: &View| {
                    let mut state = HostState::clone(&view.state);
                    state.forgive(counted);
                    state
                };
                Box::pin(self.change(&host, forgiven)).await;
            }
        }
    }

    fn count(&self, asked: &Asked<'_>, brought: &Brought, settled: &Settled) {
        let mut counts = self.counts.borrow_mut();
        if brought.sent.is_some() {
            counts.sent[asked.approach.kind as usize] += 1;
        } else if brought.outcome == Outcome::NotSent {
            counts.handed_back += 1;
        }
        counts.breaker_opened += u64::from(settled.probe_in.is_some());
        drop(counts);
        let host = asked.approach.url.host();
        if let Some(probe_in) = settled.probe_in {
            self.outside.listener.note(Note::BreakerOpened { host, probe_in });
        }
        if settled.closed {
            self.outside.listener.note(Note::BreakerClosed { host });
        }
    }

    fn tell_listener(&self, seen: &Seen, asked: &Asked<'_>, turn: &BookedTurn, brought: &Brought) {
        let Some(sent) = brought.sent else { return };
        let kind = asked.approach.kind;
        let late = sent - seen.stamp.not_before(turn.at());
        self.outside.listener.note(Note::Sent { kind, late });
        let (host, took) = (asked.approach.url.host(), self.world.clock().mono() - sent);
        self.outside.listener.note(Note::Ended { host, kind, took, outcome: brought.outcome });
    }

    fn note_limit(&self, outcome: Outcome) {
        if let Outcome::Failed(problem) = outcome
            && let Some(hit) = Hit::of(problem)
        {
            self.outside.listener.note(Note::LimitHit { hit });
        }
    }
}

/// Friction as people are shown it, where it decides anything.
fn friction_shown(asked: &Asked<'_>, outcome: &Outcome) -> Option<FrictionEvent> {
    let points = outcome.friction_points().filter(|_| asked.policy.risk.active)?;
    Some(FrictionEvent { signal: friction_signal(outcome, &asked.approach.url)?, points })
}

/// A granted turn, and the state in which it was granted.
struct GrantedTurn {
    turn: BookedTurn,
    epoch: u64,
    state: Arc<HostState>,
}

impl GrantedTurn {
    /// The newest state to add to. If the store lost something since the grant, what we know is put back first.
    fn base(&self, newest: &View, now: Time) -> Arc<HostState> {
        let mut base = Arc::clone(&newest.state);
        if newest.epoch.id != self.epoch {
            Arc::make_mut(&mut base).restore(&self.state, now);
        }
        base
    }
}

/// What is needed to tell a start while its exchange goes on.
struct Confirm<'a> {
    asked: &'a Asked<'a>,
    turn: &'a BookedTurn,
    written: &'a Cell<Option<Mono>>,
    done: Cell<bool>,
}
