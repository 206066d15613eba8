//! The exchange: send, report a refusal at once, read, observe.

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::evidence::friction_signal;
use curtsy_core::host::{
    BookedTurn, Class, Friction, HostChanges, HostState, LeaseId, Observation, Outcome, Problem,
    RequestKind, RobotsId, RobotsNews, Scene,
};
use curtsy_core::limits::Hit;
use curtsy_core::policy::Unreachable;
use curtsy_core::robots::RobotsClass;
use curtsy_core::time::Time;
use futures_util::future::{Either, join, select};

use crate::answer;
use crate::chain::read_robots;
use crate::dial::Dial;
use crate::schedule::Stay;
use crate::url_fate::{UrlFate, unsent};
use crate::visit::{AfterRequest, HostVisit, PlannedRequest, UrlState};
use crate::{
    Clock, Commit, CommitReply, Committed, Exchanged, Fetched, FrictionEvent, Head, Line, Mono,
    Note, Permit, Point, Reading, Request, RobotsFile, Sent, UrlRecord, View, Want, Worker, World,
};

/// The most commits that confirm one start.
const CONFIRM_TRIES: u32 = 3;

/// The result of one request.
pub(crate) struct ExchangeResult {
    pub(crate) outcome: Outcome,
    pub(crate) head: Option<Arc<Head>>,
    pub(crate) page: Option<Fetched>,
    /// The address that answered.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) latency: Option<Duration>,
    sent: Option<Mono>,
    first_byte: Option<Mono>,
    /// Whether the server had closed the line before anything was sent.
    gone: bool,
}

impl ExchangeResult {
    fn without_response(outcome: Outcome) -> ExchangeResult {
        ExchangeResult {
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

    /// Whether we refuse to make the request. That is final for the URL, even if the request was
    /// for its robots.txt.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(problem) if problem.is_refusal())
    }
}

/// Returns the address on which a request over this line counts.
pub(crate) fn counted_on(line: &impl Line) -> Option<IpAddr> {
    line.is_counted().then(|| line.peer())
}

/// A robots.txt that is written to the store.
pub(crate) type NewRobotsFile = Option<(RobotsId, Arc<RobotsFile>)>;

impl<W: World> HostVisit<'_, '_, W> {
    /// Uses up a permit, and observes the result.
    pub(crate) async fn exchange(
        &mut self,
        planned: &mut PlannedRequest,
        permit: Permit,
        line: &mut impl Line,
        new_line: bool,
    ) -> AfterRequest {
        let worker = self.worker;
        let address = counted_on(line);
        let request = self.request_for(planned).await;
        worker.world.reached(Point::BeforeSend).await;
        let granted = GrantedTurn {
            turn: permit.turn().clone(),
            epoch: self.view.epoch.id,
            state: Arc::clone(&self.view.state),
        };
        let mut result = self.send_and_read(&granted, planned, permit, line, &request).await;
        if result.gone && new_line {
            // The server accepted the connection and closed it before a byte was sent. To dial
            // again at once would be a burst.
            result.outcome = Outcome::Failed(Problem::Reset);
        }
        worker.world.reached(Point::BodyRead).await;
        self.note_exchange(planned, &granted.turn, &result);
        worker.note_limit(result.outcome);
        worker.note_health(&self.view, &result).await;

        let (news, robots) = self.robots_news(planned, &result);
        let stamp = self.stamp;
        let observation = Observation {
            outcome: result.outcome,
            sent: result.sent.map(|m| stamp.latest(m)),
            first_byte: result.first_byte.map(|m| stamp.latest(m)),
            latency: result.latency,
            robots: news,
            ended: Some(self.latest_now()),
        };
        let fate = self.fate_of(planned, &result, observation.robots.as_ref());
        let claim = worker.identity.new_lease();
        // Remembered before this worker can lose anything: a repeated request is avoided by it.
        worker.remember_url(&planned.record, &fate, claim);
        worker.still_owe(&planned.record, &fate, claim);
        let now = self.latest_now();
        let policy = self.policy;
        let report = ObservationReport {
            granted: &granted,
            planned,
            observation: &observation,
            fate: &fate,
            claim,
        };
        let writing = self.write_observation(report, robots, address);
        let caching = worker.cache_page(policy, planned, &result, now);
        let ((settled, stay), kept) = join(writing, caching).await;
        if self.view.epoch.id != granted.epoch {
            // The store lost something during the exchange: it may have had no record to change.
            Box::pin(worker.remind_of_url(planned.record.id)).await;
        }
        worker.count(planned, &result, &settled);
        self.note_step(planned, result.outcome, &fate, now);
        worker.world.reached(Point::Observed).await;
        self.follow_up(planned, &mut result, kept, fate, claim).await;
        if result.outcome == Outcome::NotSent && planned.is_for_url() {
            planned.record = unsent(UrlRecord { claim: Some(claim), ..planned.record.clone() });
        }
        self.after_exchange(planned, &result, stay).await
    }

    /// Sends and reads. A refusal is written for every worker when its head has been read, before
    /// the body.
    async fn send_and_read(
        &mut self,
        granted: &GrantedTurn,
        planned: &PlannedRequest,
        permit: Permit,
        line: &mut impl Line,
        request: &Request,
    ) -> ExchangeResult {
        let worker = self.worker;
        let turn = &granted.turn;
        worker.world.clock().sleep_until(self.stamp.not_before(turn.at())).await;
        let written = Cell::new(None);
        let start = RequestStart { turn, written: &written, confirmed: Cell::new(false) };
        let (host, kind) = (planned.approach.url.host(), planned.approach.kind);
        worker.outside.listener.note(Note::Sending { host, kind });
        // A worker that was stopped or paused hands the turn back.
        let sent = match worker.finish.begins_nothing() {
            true => Sent::NotSent,
            false => {
                let sending = line.send(permit, request, &written);
                self.confirming(&start, sending).await
            }
        };
        let mut result = ExchangeResult::without_response(Outcome::NotSent);
        result.peer = Some(line.peer());
        match sent {
            Sent::NotSent => {}
            Sent::Gone => result.gone = true,
            Sent::Failed { sent, problem } => {
                result.sent = Some(sent);
                result.outcome = Outcome::Failed(problem);
            }
            Sent::Answered { sent, first_byte, head } => {
                worker.world.reached(Point::HeadRead).await;
                result.sent = Some(sent);
                result.first_byte = Some(first_byte);
                result.latency = Some(first_byte - sent);
                self.report_refusal(granted, &result, &head).await;
                let (page, problem, friction) = self.read_body(planned, &start, line, &head).await;
                result.outcome = answer::outcome(&head, problem, friction, self.latest_now());
                (result.head, result.page) = (Some(head), page);
            }
        }
        result
    }

    /// Writes a refusal for every worker, if the head of the response is one.
    async fn report_refusal(
        &mut self,
        granted: &GrantedTurn,
        result: &ExchangeResult,
        head: &Head,
    ) {
        let outcome = answer::outcome(head, None, None, self.latest_now());
        if outcome.class() != Class::ToldToWait {
            return;
        }
        let stamp = self.stamp;
        let refusal = Observation {
            outcome,
            sent: result.sent.map(|m| stamp.latest(m)),
            first_byte: result.first_byte.map(|m| stamp.latest(m)),
            latency: None,
            robots: None,
            ended: None,
        };
        let observed =
            |state: &HostState, scene: &Scene<'_>| state.observe(&granted.turn, &refusal, scene).0;
        Box::pin(self.write_change(granted, observed)).await;
    }

    /// Reads the body of a response, unless its head is all that is needed.
    async fn read_body(
        &mut self,
        planned: &PlannedRequest,
        start: &RequestStart<'_>,
        line: &mut impl Line,
        head: &Head,
    ) -> (Option<Fetched>, Option<Problem>, Option<Friction>) {
        let (reader, kind) = (self.worker.outside.reader, planned.approach.kind);
        if planned.needs_head_only(head.status) {
            self.confirming(start, line.discard()).await;
            let friction = reader.friction(kind, head, &Fetched::default());
            // A body that was not read can't be unusual.
            return (None, None, friction.filter(|friction| *friction == Friction::Challenge));
        }
        if answer::is_part(head.status) && planned.method() != "HEAD" {
            self.confirming(start, line.discard()).await;
            return (None, Some(Problem::Truncated), None);
        }
        match self.confirming(start, line.body()).await {
            Reading::Whole(page) => {
                let friction = reader.friction(kind, head, &page);
                (Some(page), None, friction)
            }
            Reading::Failed(problem) => (None, Some(problem), None),
        }
    }

    /// Waits for a part of the exchange. With several slots, an exchange that outlasts half the
    /// delay has its start confirmed. Otherwise the next turn would wait for the latest possible
    /// start.
    async fn confirming<T>(
        &mut self,
        start: &RequestStart<'_>,
        part: impl Future<Output = T>,
    ) -> T {
        let delay = start.turn.delay();
        let several = self.policy.slots.per_host > 1 && !delay.is_zero();
        if !several || start.confirmed.get() {
            return part.await;
        }
        let half = start.turn.at() + delay / 2;
        let clock = self.worker.world.clock();
        let sleep = pin!(clock.sleep_until(self.stamp.not_before(half)));
        match select(pin!(part), sleep).await {
            Either::Left((done, _)) => done,
            Either::Right(((), part)) => {
                start.confirmed.set(true);
                let Some(written) = start.written.get() else {
                    return part.await;
                };
                // The exchange goes on meanwhile. A response that arrives first is reported
                // instead: a worker that dies while it confirms the start would lose the response.
                let confirming = Box::pin(self.confirm(start.turn, written));
                match select(part, confirming).await {
                    Either::Left((done, _)) => done,
                    Either::Right(((), part)) => part.await,
                }
            }
        }
    }

    /// Writes when a request started. Tried a few times only: the end of the exchange says it too.
    async fn confirm(&mut self, turn: &BookedTurn, written: Mono) {
        let worker = self.worker;
        for _ in 0..CONFIRM_TRIES {
            let sent = self.stamp.latest(written);
            let state = Arc::new(self.view.state.confirm_start(turn, sent));
            let due = worker.due(&self.view, &state);
            let commit = Commit::of_state(&self.view, Some(Arc::clone(&state)), due);
            let Ok(CommitReply { committed, stamp, .. }) = worker.try_commit(&commit).await else {
                return;
            };
            match committed {
                Committed::Done(saved) => {
                    self.view.state = state;
                    (self.view.version, self.view.now) = (saved.version, saved.now);
                    self.stamp = stamp;
                    return worker.wake_by(stamp.not_before(due));
                }
                Committed::Stale(view) => self.adopt(view, stamp),
                Committed::Refused(_) => return,
            }
        }
    }

    /// Writes a change of the host's state on the newest state, until it is written.
    async fn write_change(
        &mut self,
        granted: &GrantedTurn,
        change: impl Fn(&HostState, &Scene<'_>) -> HostState,
    ) {
        loop {
            let now = self.latest_now();
            let scene = self.scene(now, None);
            let state = Arc::new(change(&granted.base(&self.view, now), &scene));
            let due = self.worker.due(&self.view, &state);
            if self.write(Commit::of_state(&self.view, Some(state), due)).await {
                return;
            }
        }
    }

    /// Writes the observation, which frees the slot, and the URL's fate, on the newest state, until
    /// they are written.
    async fn write_observation(
        &mut self,
        report: ObservationReport<'_>,
        robots: NewRobotsFile,
        address: Option<IpAddr>,
    ) -> (HostChanges, Stay) {
        let ObservationReport { granted, planned, observation, fate, claim } = report;
        let lease = granted.turn.lease().id;
        let friction = self.friction_event(planned, &observation.outcome);
        loop {
            let now = self.latest_now();
            let base = granted.base(&self.view, now);
            let scene = self.scene(now, None);
            let (state, settled) = base.observe(&granted.turn, observation, &scene);
            let (not_before, stay) = self.due_after_exchange(&state, &scene, planned.more);
            let commit = Commit {
                release: address.map(|address| (address, lease)),
                robots: robots.iter().cloned().collect(),
                urls: match fate {
                    // Without our lease this was written before, or is too late: a hop is not made
                    // twice.
                    UrlFate::New(_) if !settled.ours => Vec::new(),
                    _ => fate.writes(&self.view, self.policy, &planned.record, claim, now),
                },
                exchanged: observation.sent.map(|sent| Exchanged {
                    sent,
                    // Without our lease it was written before: a signal is not shown twice.
                    friction: friction.clone().filter(|_| settled.ours),
                }),
                ..Commit::of_state(&self.view, Some(Arc::new(state)), not_before)
            };
            if self.write(commit).await {
                return (settled, stay);
            }
        }
    }

    /// Observes that no line could be made, like any other failure.
    pub(crate) async fn no_line(
        &mut self,
        planned: &mut PlannedRequest,
        problem: Problem,
        dial: Option<Dial>,
    ) -> AfterRequest {
        let worker = self.worker;
        if planned.is_for_url() {
            // This try had no grant. An open try is an earlier one that was never reported: it
            // counts.
            planned.record.tries = planned.record.tries.opened();
        }
        let outcome = Outcome::Failed(problem);
        let mut result = ExchangeResult::without_response(outcome);
        worker.note_limit(outcome);
        let (host, kind) = (planned.approach.url.host(), planned.approach.kind);
        worker.outside.listener.note(Note::NoLine { host, kind, problem });
        if problem.is_unreached() {
            worker.finish.unreached.set(true);
        }
        worker.note_health(&self.view, &result).await;
        let fate = self.fate_of(planned, &result, None);
        let claim = worker.identity.new_lease();
        let (settled, stay) = loop {
            let now = self.latest_now();
            let scene = self.scene(now, None);
            let (state, settled) = self.state_without_line(planned, problem, dial, &scene);
            let (not_before, stay) = self.due_after_exchange(&state, &scene, planned.more);
            let commit = Commit {
                urls: fate.writes(&self.view, self.policy, &planned.record, claim, now),
                ..Commit::of_state(&self.view, Some(Arc::new(state)), not_before)
            };
            if self.write(commit).await {
                break (settled, stay);
            }
        };
        worker.count(planned, &result, &settled);
        worker.remember_url(&planned.record, &fate, claim);
        worker.still_owe(&planned.record, &fate, claim);
        self.note_step(planned, outcome, &fate, self.latest_now());
        self.follow_up(planned, &mut result, None, fate, claim).await;
        self.after_exchange(planned, &result, stay).await
    }

    /// Returns the host's state after a line could not be made.
    fn state_without_line(
        &self,
        planned: &PlannedRequest,
        problem: Problem,
        dial: Option<Dial>,
        scene: &Scene<'_>,
    ) -> (HostState, HostChanges) {
        let mut before = HostState::clone(&self.view.state);
        if let Some(dial) = dial {
            before.note_dial(self.stamp.latest(dial.at), dial.booked);
        }
        if problem.is_refusal() {
            // Nothing was requested, so nothing is learnt of the host or its robots.txt.
            return (before, HostChanges { ours: true, ..HostChanges::default() });
        }
        let outcome = Outcome::Failed(problem);
        let (mut state, settled) = before.observe_no_line(&outcome, scene);
        let robots = &self.policy.robots;
        // A policy that goes on without robots.txt needs a request that the server can have seen.
        // No request arrived, so robots.txt stays unknown: the next turn requests it again, as it
        // would a page, and the breaker counts the failures.
        if planned.approach.kind == RequestKind::Robots
            && outcome.class() != Class::Ours
            && robots.unreachable == Unreachable::Deny
        {
            let class = RobotsClass::Unreachable;
            let news = RobotsNews::Answer { class, file: None, told: None };
            state.learn_robots(&planned.approach.authority(), news, robots, None, scene.now);
        }
        (state, settled)
    }

    /// Decides whether the visit goes on. A visit that has kept the host goes on, though perhaps
    /// not at once: otherwise nobody would have the host until the hold is over.
    async fn after_exchange(
        &self,
        planned: &PlannedRequest,
        result: &ExchangeResult,
        stay: Stay,
    ) -> AfterRequest {
        let left = !planned.is_for_url() || result.outcome == Outcome::NotSent;
        let url = if left && !result.is_refusal() { UrlState::Left } else { UrlState::Finished };
        let due = self.worker.due(&self.view, &self.view.state);
        // Another host waits for what was just learnt here.
        let hop = matches!(planned.record.want, Want::RobotsHop { .. });
        let waited_for = url == UrlState::Left && hop;
        let stays = stay == Stay::Kept && self.worker.may_wait(self.earliest_now(), due);
        if waited_for || stays && self.worker.wait_for_room().await {
            return AfterRequest::Again(url);
        }
        AfterRequest::End
    }

    async fn request_for(&self, planned: &PlannedRequest) -> Request {
        let worker = self.worker;
        let (if_none_match, if_modified_since) = match planned.approach.kind {
            RequestKind::Robots => {
                let known = self.view.state.robots_of(&planned.approach.authority());
                let file = match known.and_then(|r| r.file) {
                    Some(id) => worker.robots_file(id).await,
                    None => None,
                };
                file.map(|f| (f.etag.clone(), f.last_modified.clone())).unwrap_or_default()
            }
            RequestKind::Page | RequestKind::Sitemap => match &planned.cached {
                // A server that answers 304 sends no page: the cached one must be there then.
                Some(cached)
                    if (cached.etag.is_some() || cached.last_modified.is_some())
                        && worker.outside.cache.hold(planned.record.url.key()).await =>
                {
                    (cached.etag.clone(), cached.last_modified.clone())
                }
                _ => (None, None),
            },
            RequestKind::RobotsHop | RequestKind::Probe => (None, None),
        };
        let user_agent = worker.identity.user_agent.clone();
        Request { method: planned.method(), user_agent, if_none_match, if_modified_since }
    }

    /// Returns what a response to a request for robots.txt says, and the file to write.
    fn robots_news(
        &self,
        planned: &PlannedRequest,
        result: &ExchangeResult,
    ) -> (Option<RobotsNews>, NewRobotsFile) {
        let policy = &self.policy.robots;
        let unseen = result.sent.is_none() && policy.unreachable == Unreachable::Allow;
        let silent = unseen || matches!(result.outcome.class(), Class::Nothing | Class::Ours);
        if planned.approach.kind != RequestKind::Robots || silent {
            return (None, None);
        }
        let known = self.view.state.robots_of(&planned.approach.authority()).and_then(|r| r.file);
        // Counted from when the server can have sent its response, not from when it was read.
        let sent = result.sent.map_or(self.latest_now(), |m| self.stamp.earliest(m));
        let deadline = sent + policy.chain_deadline;
        let (url, rules) = (&planned.approach.url, &self.worker.rules);
        let (news, file) = read_robots(url, policy, rules, result, known.is_some(), deadline);
        let file = match (&news, known) {
            // The store may have lost the file since, and this worker may be the last to have it.
            (RobotsNews::NotModified, Some(id)) => rules.file(id).map(|file| (id, file)),
            _ => file,
        };
        (Some(news), file)
    }

    /// Notes an exchange for listeners.
    fn note_exchange(&self, planned: &PlannedRequest, turn: &BookedTurn, result: &ExchangeResult) {
        let listener = self.worker.outside.listener;
        let (host, kind) = (planned.approach.url.host(), planned.approach.kind);
        if let Some(sent) = result.sent {
            let late = sent - self.stamp.not_before(turn.at());
            listener.note(Note::Sent { host, kind, late });
        }
        let took = result.sent.map(|sent| self.worker.now() - sent);
        listener.note(Note::Ended { host, kind, took, outcome: result.outcome });
    }

    /// Returns the friction of an outcome as people are shown it, if it decides anything.
    fn friction_event(&self, planned: &PlannedRequest, outcome: &Outcome) -> Option<FrictionEvent> {
        let points = outcome.friction_points().filter(|_| self.policy.risk.active)?;
        Some(FrictionEvent { signal: friction_signal(outcome, &planned.approach.url)?, points })
    }
}

impl<W: World> Worker<'_, W> {
    /// Distinguishes an outage of our own network from a host's failure, and takes back failures
    /// that were our own.
    async fn note_health(&self, view: &View, result: &ExchangeResult) {
        let now = self.now();
        self.note_own_fault(&result.outcome);
        if result.head.is_some() {
            self.health.borrow_mut().success(now);
        }
        if result.outcome.is_ordinary() {
            self.finish.progressed(now);
        }
        if !matches!(result.outcome, Outcome::Failed(problem) if problem.may_be_ours()) {
            return;
        }
        // A proxy that has let nothing through yet is misconfigured, or down: no second host is
        // needed to know that.
        let worked = self.health.borrow().has_succeeded();
        let known = result.outcome.class() == Class::Ours && !worked;
        let Some(hosts) = self.health.borrow_mut().fault(&view.host, now, known) else {
            return;
        };
        self.counts.borrow_mut().own_trouble += 1;
        self.outside.listener.note(Note::OwnTrouble);
        for (host, faults) in hosts {
            // The failure at hand is not counted yet.
            let counted = if host == view.host { faults - 1 } else { faults };
            let forgiven = |view: &View| {
                let mut state = HostState::clone(&view.state);
                state.forgive(counted);
                state
            };
            Box::pin(self.change(&host, forgiven)).await;
        }
    }

    fn count(&self, planned: &PlannedRequest, result: &ExchangeResult, settled: &HostChanges) {
        let mut counts = self.counts.borrow_mut();
        if result.sent.is_some() {
            counts.sent[planned.approach.kind as usize] += 1;
        } else if result.outcome == Outcome::NotSent {
            counts.handed_back += 1;
        }
        counts.breaker_opened += u64::from(settled.probe_in.is_some());
        drop(counts);
        let host = planned.approach.url.host();
        if let Some(probe_in) = settled.probe_in {
            self.outside.listener.note(Note::BreakerOpened { host, probe_in });
        }
        if settled.closed {
            self.outside.listener.note(Note::BreakerClosed { host });
        }
    }

    fn note_limit(&self, outcome: Outcome) {
        if let Outcome::Failed(problem) = outcome
            && let Some(hit) = Hit::of(problem)
        {
            self.outside.listener.note(Note::LimitHit { hit });
        }
    }
}

/// What the commit of an observation says.
struct ObservationReport<'a> {
    granted: &'a GrantedTurn,
    planned: &'a PlannedRequest,
    observation: &'a Observation,
    fate: &'a UrlFate,
    /// The URL's next claim.
    claim: LeaseId,
}

/// A granted turn, and the state in which it was granted.
struct GrantedTurn {
    turn: BookedTurn,
    epoch: u64,
    state: Arc<HostState>,
}

impl GrantedTurn {
    /// Returns the newest state. If the store lost something since the grant, the state of the
    /// grant is merged into it.
    fn base(&self, newest: &View, now: Time) -> Arc<HostState> {
        let mut base = Arc::clone(&newest.state);
        if newest.epoch.id != self.epoch {
            Arc::make_mut(&mut base).restore(&self.state, now);
        }
        base
    }
}

/// A request's start, to confirm it while the exchange goes on.
struct RequestStart<'a> {
    turn: &'a BookedTurn,
    /// When the first byte had left.
    written: &'a Cell<Option<Mono>>,
    confirmed: Cell<bool>,
}
