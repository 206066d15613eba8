//! "May this URL be fetched now?"
//!
//! Ten gates look at the same state; their verdicts combine by maximum and their findings are the evidence. The answer is an
//! [`Action`]: refuse, use what we have, wait, or an [`Approach`] — a typed ticket to open a connection, since nothing is dialled
//! without one. Where robots.txt is unknown or past its time, the approach is for robots.txt, whoever asked; where the breaker is
//! open, it is the probe.

use std::time::Duration;

use super::outcome::Problem;
use super::robots::RobotsStanding;
use super::verdict::{DelayBy, Finding, Findings, Gate, Reason, Verdict};
use super::{HostState, Kind, SLOT_LOOK};
use crate::chance::{Purpose, between, draw};
use crate::policy::{Mode, Policy};
use crate::robots::AgentRules;
use crate::time::{Time, micros};
use crate::url::{Authority, CrawlUrl, UrlKey};

/// One URL that somebody wants, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The URL.
    pub url: &'a CrawlUrl,
    /// What it is wanted for.
    pub kind: AskKind,
    /// Whether the job has paid for it already.
    pub charged: bool,
    /// Until when the page that we hold is fresh, if we hold one.
    pub fresh_until: Option<Time>,
    /// When its next try may start, if it failed before.
    pub retry_at: Option<Time>,
    /// Tries so far.
    pub tries: u8,
    /// Whether the host must answer something else first (see [`super::Tries::needs_word`]).
    pub needs_word: bool,
    /// When it began to wait for a slot of its host, if it waits for one.
    pub slot_since: Option<Time>,
}

/// What a URL is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskKind {
    /// Its content.
    Page,
    /// Whether it is there.
    Check,
    /// The URLs that it lists.
    Sitemap,
    /// The robots.txt of another authority that was redirected here.
    RobotsHop,
    /// What robots.txt says of it: once that is known, nothing is asked.
    Rules,
}

/// What surrounds a decision.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The policy, resolved for this host.
    pub policy: &'a Policy,
    /// The store's time.
    pub now: Time,
    /// The host's seed for chance.
    pub seed: u64,
    /// The rules for us in the text that rules this URL's authority (see [`super::RobotsState::ruling`]).
    pub rules: Option<&'a AgentRules>,
    /// The job.
    pub job: JobView,
    /// Whether a stop order for this host is in force.
    pub stopped: bool,
    /// Every host counts as started then: the store began anew.
    pub floor: Option<Time>,
    /// Nothing is sent before this: the store began anew and old requests may still run.
    pub quiet_until: Option<Time>,
}

/// A job, as far as a decision needs it.
#[derive(Clone, Copy, Debug)]
pub struct JobView {
    /// When it began.
    pub started_at: Time,
    /// Pages charged to it so far.
    pub pages: u64,
}

/// The decision about one URL, with every gate's finding.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What follows.
    pub action: Action,
    /// Why.
    pub findings: Findings,
}

/// What follows from a decision.
#[derive(Clone, Debug)]
pub enum Action {
    /// Not in this job: the gate that says so has the reason.
    Refuse(Gate),
    /// The page that we hold is fresh.
    UseCached,
    /// Nothing can be asked before this moment.
    Wait(Time, Gate),
    /// A request may be prepared.
    Approach(Approach),
}

/// A ticket to open a connection. Made only by [`HostState::admit`].
#[derive(Clone, Debug)]
pub struct Approach {
    /// What is asked for: the URL itself, its authority's robots.txt, or the root.
    pub url: CrawlUrl,
    /// What for.
    pub kind: Kind,
    /// Whether it tests an open breaker.
    pub probe: bool,
    /// When its turn comes.
    pub turn: Time,
    #[allow(dead_code, reason = "keeps an approach from being made elsewhere")]
    made: Made,
}

#[derive(Clone, Debug)]
struct Made;

impl Approach {
    /// The method of its request.
    pub fn method(&self) -> &'static str {
        if self.kind == Kind::Probe { "HEAD" } else { "GET" }
    }

    /// The authority that it asks.
    pub fn authority(&self) -> Authority {
        self.url.authority()
    }
}

impl HostState {
    /// Decides about one URL. Pure: the same state, ask and scene give the same decision.
    pub fn admit(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Decision {
        let mut found = Findings::CLEAR;
        found.set(Gate::Stop, stop(scene));
        found.set(Gate::Risk, self.risk_gate(scene));
        found.set(Gate::Budget, budget(ask, scene));
        found.set(Gate::Robots, self.robots_gate(ask, scene));

        // What needs no request never waits for a turn.
        for gate in [Gate::Robots, Gate::Risk, Gate::Budget] {
            if found.of(gate).verdict == Verdict::Never {
                return Decision { action: Action::Refuse(gate), findings: found };
            }
        }
        if ask.kind == AskKind::Rules && !self.robots_needed(ask, scene) {
            return Decision { action: Action::UseCached, findings: found };
        }
        if let Some(until) = ask.fresh_until.filter(|until| *until > scene.now) {
            let fresh = Finding::new(Verdict::NotBefore(until), Reason::Fresh);
            found.set(Gate::Freshness, fresh);
            return Decision { action: Action::UseCached, findings: found };
        }

        // While the breaker is open, whatever starts when its wait is over is the probe.
        let probe = self.breaker.is_open();
        found.set(Gate::Breaker, self.breaker_gate(scene.now));
        found.set(Gate::Pace, self.pace_gate(scene));
        found.set(Gate::Backoff, self.backoff_gate(ask, scene));

        let wanted = self.wanted(ask, scene);
        if let Some((_, Kind::Robots)) = wanted {
            // The request is for robots.txt itself: what the URL waits for does not hold that up.
            found.set(Gate::Robots, self.robots_request(ask, scene));
            found.set(Gate::Backoff, self.told_to_wait(scene));
        } else if let (Some((_, Kind::Probe)), true) = (&wanted, probe) {
            found.set(Gate::Backoff, self.told_to_wait(scene));
        }
        let (url, kind) = wanted.unwrap_or_else(|| (ask.url.clone(), ask.kind.request()));
        found.set(Gate::Slots, self.slots_gate(url.key(), ask, scene));

        let (verdict, gate) = found.worst();
        let action = match verdict {
            Verdict::Never => Action::Refuse(gate),
            Verdict::NotBefore(at) if at > scene.now + self.lead(scene) => Action::Wait(at, gate),
            // What robots.txt will say then is not known now: nothing is prepared for it.
            Verdict::NotBefore(at)
                if kind != Kind::Robots && found.of(Gate::Robots).verdict > Verdict::Go =>
            {
                Action::Wait(at, Gate::Robots)
            }
            _ => Action::Approach(Approach {
                url,
                kind,
                probe,
                turn: match verdict {
                    Verdict::NotBefore(at) => at,
                    _ => scene.now,
                },
                made: Made,
            }),
        };
        Decision { action, findings: found }
    }

    /// When the host should be handed out: a lead before its next turn.
    pub fn next_due(&self, scene: &Scene<'_>) -> Time {
        self.next_turn(scene).back(self.lead(scene)).max(scene.now)
    }

    /// When whoever holds none of its slots should look at the host again. Like [`Self::next_due`], but slots are given back early far more
    /// often than they run out, and not every store tells.
    pub fn next_look(&self, scene: &Scene<'_>) -> Time {
        let slot = self.slot_free_at(scene).map(|free| self.slot_look(free, scene));
        self.turn_with(slot, scene).back(self.lead(scene)).max(scene.now)
    }

    /// A slot that comes free at `free`, as somebody who waits for it should reckon with it: the longer it has been taken, the longer
    /// it may yet be.
    pub fn slot_look(&self, free: Time, scene: &Scene<'_>) -> Time {
        let taken_at = self.in_flight(scene.now).map(|lease| lease.send_by).max();
        let taken_for = taken_at.map_or(Duration::ZERO, |at| scene.now - at);
        free.min(scene.now + SLOT_LOOK.max(taken_for) + self.lead(scene))
    }

    /// The earliest moment at which any request to this host can start.
    pub fn next_turn(&self, scene: &Scene<'_>) -> Time {
        self.turn_with(self.slot_free_at(scene), scene)
    }

    fn turn_with(&self, slot_free: Option<Time>, scene: &Scene<'_>) -> Time {
        let slot = slot_free.map(|free| Finding::wait(free, scene.now, Reason::Clear));
        let found = [
            stop(scene),
            self.pace_gate(scene),
            self.told_to_wait(scene),
            self.breaker_gate(scene.now),
        ];
        let worst = found.iter().chain(&slot).map(|finding| finding.verdict).max();
        match worst.unwrap_or(Verdict::Go) {
            Verdict::NotBefore(at) => at.max(scene.now),
            _ => scene.now,
        }
    }

    /// What must be asked instead of the URL itself.
    fn wanted(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Option<(CrawlUrl, Kind)> {
        let robots_url = || ask.url.authority().robots_url();
        if ask.kind == AskKind::RobotsHop {
            // A hop to another authority's robots.txt is that authority's own request, and answers both.
            let target = robots_url();
            return (target == *ask.url).then_some((target, Kind::Robots));
        }
        if self.robots_needed(ask, scene) {
            return Some((robots_url(), Kind::Robots));
        }
        if self.breaker.is_open() || ask.needs_word {
            let root = ask.url.authority().root();
            let allowed =
                scene.rules.is_none_or(|rules| rules.decide(root.path_and_query()).allowed);
            return allowed.then_some((root, Kind::Probe));
        }
        None
    }

    /// Whether robots.txt is unknown or will be past its time when this request could start.
    fn robots_needed(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> bool {
        let Some(known) = self.robots_of(&ask.url.authority()) else {
            return true;
        };
        let policy = &scene.policy.robots;
        if let RobotsStanding::Chasing(chase) = &known.standing
            && scene.now < chase.deadline
        {
            return false;
        }
        let waits_anyway = known.ruling(policy, scene.now).is_none()
            && known.without_text(policy, scene.now).verdict > Verdict::Go;
        // A turn may be booked up to a window ahead, and be used a window later.
        let latest = scene.now + HostState::window(scene.policy.slots.per_host) * 2;
        waits_anyway || self.text_missing(ask, scene) || latest >= known.good_until(policy)
    }

    /// Whether the text that rules is not in hand: it is asked for again rather than guessed.
    fn text_missing(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> bool {
        let known = self.robots_of(&ask.url.authority());
        let rules = known.and_then(|r| r.ruling(&scene.policy.robots, scene.now));
        rules.is_some() && scene.rules.is_none()
    }

    /// What robots.txt says about the URL.
    fn robots_gate(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        if ask.kind == AskKind::RobotsHop {
            return Finding::new(Verdict::Go, Reason::RobotsExempt);
        }
        let authority = ask.url.authority();
        let policy = &scene.policy.robots;
        let Some(known) = self.robots_of(&authority) else {
            return if self.has_room_for(&authority) {
                Finding::new(Verdict::Go, Reason::RobotsUnknown)
            } else {
                Finding::new(Verdict::Never, Reason::AuthorityLimit)
            };
        };
        let past = scene.now >= known.good_until(policy);
        match (known.ruling(policy, scene.now), scene.rules) {
            (Some(_), _) if past => Finding::new(Verdict::Go, Reason::RobotsDue),
            (Some((file, standing)), Some(rules)) => {
                let answer = rules.decide(ask.url.path_and_query());
                let line = answer.rule.map(|r| r.line);
                if answer.allowed {
                    Finding::new(Verdict::Go, Reason::RobotsAllows { file, line, standing })
                } else {
                    Finding::new(Verdict::Never, Reason::RobotsForbids { file, line, standing })
                }
            }
            (Some(_), None) => Finding::new(Verdict::Go, Reason::RobotsUnknown),
            (None, _) if past => Finding::new(Verdict::Go, Reason::RobotsDue),
            (None, _) => known.without_text(policy, scene.now),
        }
    }

    /// When the request for robots.txt itself may start.
    fn robots_request(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        match self.robots_of(&ask.url.authority()) {
            None => Finding::new(Verdict::Go, Reason::RobotsUnknown),
            Some(known) => match known.standing {
                RobotsStanding::Rules if self.text_missing(ask, scene) => {
                    Finding::new(Verdict::Go, Reason::RobotsUnknown)
                }
                // Nothing reached the site, and this job has not tried yet: settings or names may be right by now.
                RobotsStanding::Unreachable(_) if self.failed_before(scene) => {
                    Finding::new(Verdict::Go, Reason::RobotsDue)
                }
                RobotsStanding::Unreachable(_) => {
                    let due = known.due(&scene.policy.robots);
                    Finding::wait(due, scene.now, Reason::RobotsUnreachable)
                }
                _ => Finding::wait(known.due(&scene.policy.robots), scene.now, Reason::RobotsDue),
            },
        }
    }

    /// Whether the last connection could not be made, and that was before this job began.
    fn failed_before(&self, scene: &Scene<'_>) -> bool {
        self.unreached.is_some() && self.last_start < Some(scene.job.started_at)
    }

    /// Whether no connection to the host could be made since the job began, and why.
    pub fn never_reached(&self, job: &JobView) -> Option<Problem> {
        let tried = self.last_start >= Some(job.started_at);
        self.unreached.filter(|_| tried && self.last_ok < Some(job.started_at))
    }

    /// The delay in force before the next start, and who set it.
    pub fn delay(&self, scene: &Scene<'_>) -> (Duration, DelayBy) {
        let pace = &scene.policy.pace;
        let chance = draw(scene.seed, self.turn, Purpose::Delay);
        // The margin for late reading is part of a range: what the server sees stays inside it.
        let most = pace.delay_max.saturating_sub(HostState::margin(pace.delay_max));
        self.delay_from(between(pace.delay_min, most.max(pace.delay_min), chance), scene)
    }

    /// The least delay that may be in force: by the lower end of the policy's range. New connections are so far apart.
    pub fn delay_least(&self, scene: &Scene<'_>) -> Duration {
        self.delay_from(scene.policy.pace.delay_min, scene).0
    }

    fn delay_from(&self, own: Duration, scene: &Scene<'_>) -> (Duration, DelayBy) {
        let pace = &scene.policy.pace;
        let own = (own, DelayBy::Policy);
        let risk = match scene.policy.risk.active {
            true => (self.risk_delay(scene.policy, scene.now), DelayBy::Risk),
            false => own,
        };
        let asked = self.all_robots().map(|r| r.crawl_delay_micros).max().unwrap_or(0);
        let asked = Duration::from_micros(asked);
        let parked = asked > pace.crawl_delay_park;
        let robots = (asked, if parked { DelayBy::Parked } else { DelayBy::CrawlDelay });
        let mut longest = own;
        for (delay, by) in [risk, robots] {
            if delay > longest.0 {
                longest = (delay, by);
            }
        }
        let slower = self.latency.slower();
        if pace.adaptive && slower > 1.0 {
            let stretched = longest.0.mul_f64(slower).min(pace.adaptive_max);
            if stretched > longest.0 {
                longest = (stretched, DelayBy::Latency);
            }
        }
        longest
    }

    fn pace_gate(&self, scene: &Scene<'_>) -> Finding {
        let (delay, by) = self.delay(scene);
        let reason = Reason::Delay { micros: micros(delay), by };
        // A delay that outlasts the quiet must show, or the end of the quiet would be prepared for as a turn.
        let next = self.last_start.max(scene.floor).map(|start| start + delay);
        if let Some(quiet) =
            scene.quiet_until.filter(|quiet| *quiet > scene.now && Some(*quiet) >= next)
        {
            return Finding::new(Verdict::NotBefore(quiet), Reason::StoreRestarted);
        }
        match next {
            // Without a delay nothing is kept apart: neither starts that are not heard of yet, nor those before a loss.
            Some(next) if !delay.is_zero() => Finding::wait(next, scene.now, reason),
            _ => Finding::new(Verdict::Go, reason),
        }
    }

    fn told_to_wait(&self, scene: &Scene<'_>) -> Finding {
        let Some(until) = self.backoff.until else {
            return Finding::CLEAR;
        };
        let reason = Reason::ToldToWait {
            streak: self.backoff.streak,
            micros: micros(self.backoff.last_wait),
        };
        Finding::wait(until, scene.now, reason)
    }

    fn backoff_gate(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        let host = self.told_to_wait(scene);
        match ask.retry_at {
            Some(at) if at > scene.now && Verdict::NotBefore(at) > host.verdict => {
                Finding::new(Verdict::NotBefore(at), Reason::Retry { tries: ask.tries })
            }
            _ => host,
        }
    }

    fn breaker_gate(&self, now: Time) -> Finding {
        let reason = Reason::Down { failures: self.breaker.failures, level: self.breaker.level };
        match self.breaker.until {
            Some(until) if self.breaker.is_open() => Finding::wait(until, now, reason),
            _ => Finding::CLEAR,
        }
    }

    fn slots_gate(&self, url: UrlKey, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        let now = scene.now;
        if let Some(same) = self.in_flight(now).find(|l| l.url == url) {
            return Finding::new(Verdict::NotBefore(same.until), Reason::SingleFlight);
        }
        // One probe at a time: whatever is in flight while the breaker is open may be it.
        let slots = if self.breaker.is_open() { 1 } else { scene.policy.slots.per_host };
        let in_flight = self.in_flight(now).count();
        let count = u8::try_from(in_flight).unwrap_or(u8::MAX);
        if count < slots {
            return Finding::CLEAR;
        }
        let free = self.in_flight(now).map(|l| l.until).min().unwrap_or(now);
        let given_up = scene.policy.slots.wait.zip(ask.slot_since);
        let reason = match given_up {
            Some((wait, since)) if since + wait <= now => Reason::SlotTimeout,
            _ => Reason::SlotsTaken { in_flight: count },
        };
        Finding::new(Verdict::NotBefore(free), reason)
    }

    /// When a slot comes free, if none is.
    fn slot_free_at(&self, scene: &Scene<'_>) -> Option<Time> {
        let taken = self.in_flight(scene.now).count();
        if taken < usize::from(scene.policy.slots.per_host) {
            return None;
        }
        self.in_flight(scene.now).map(|l| l.until).min()
    }

    fn risk_gate(&self, scene: &Scene<'_>) -> Finding {
        let policy = &scene.policy.risk;
        let score = self.risk.score(policy, scene.now);
        let reason = Reason::RiskScore { score };
        if !policy.active || scene.policy.mode == Some(Mode::UserAssisted) {
            return Finding::new(Verdict::Go, reason);
        }
        if self.risk.streak >= policy.early_stop
            && self.risk.since.is_some_and(|since| since >= scene.job.started_at)
        {
            return Finding::new(Verdict::Never, Reason::EarlyStop { streak: self.risk.streak });
        }
        match RiskLevel::of(score) {
            RiskLevel::Critical => Finding::new(Verdict::Never, reason),
            _ => Finding::new(Verdict::Go, reason),
        }
    }

    /// The span between two requests that the host's risk asks for.
    pub fn risk_delay(&self, policy: &Policy, now: Time) -> Duration {
        let [low, medium, high] = policy.risk.delay;
        match RiskLevel::of(self.risk_score(policy, now)) {
            RiskLevel::Low => low,
            RiskLevel::Medium => medium,
            RiskLevel::High | RiskLevel::Critical => high,
        }
    }
}

/// The four levels of seed 004.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskLevel {
    /// 0 to 20: normal crawling.
    Low,
    /// 21 to 50: increased caution.
    Medium,
    /// 51 to 80: minimal requests.
    High,
    /// 81 to 100: automated modes skip the host.
    Critical,
}

impl RiskLevel {
    /// The level of a score.
    pub fn of(score: u8) -> RiskLevel {
        match score {
            0..=20 => RiskLevel::Low,
            21..=50 => RiskLevel::Medium,
            51..=80 => RiskLevel::High,
            _ => RiskLevel::Critical,
        }
    }
}

impl AskKind {
    fn request(self) -> Kind {
        match self {
            AskKind::Page | AskKind::Check => Kind::Page,
            AskKind::Sitemap => Kind::Sitemap,
            AskKind::RobotsHop => Kind::RobotsHop,
            AskKind::Rules => Kind::Robots,
        }
    }
}

fn stop(scene: &Scene<'_>) -> Finding {
    if scene.stopped {
        Finding::new(Verdict::NotBefore(Time::NEVER), Reason::Stopped)
    } else {
        Finding::CLEAR
    }
}

/// A page is charged once, with its first grant; robots.txt, sitemaps, probes and retries are not.
fn budget(ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
    let policy = &scene.policy.budget;
    if policy.time.is_some_and(|time| scene.job.started_at + time <= scene.now) {
        return Finding::new(Verdict::Never, Reason::TimeLimit);
    }
    let pages = scene.job.pages;
    let over = policy.pages.is_some_and(|cap| pages >= cap);
    if over && !ask.charged && matches!(ask.kind, AskKind::Page | AskKind::Check) {
        return Finding::new(Verdict::Never, Reason::PageLimit { pages });
    }
    Finding::CLEAR
}
