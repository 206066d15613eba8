//! Plays a script against a host: `0s 429 | 1m ? | 15m25ms ok`.
//!
//! A step is a time, perhaps a URL (`/a`, or a whole one), and an event:
//! - a response (`ok`, `404`, `429 after 60s`, `challenge`, `empty`) or a failure (`reset`,
//!   `timeout`, `truncated`): request and response at the same time, at which the host must allow a
//!   request;
//! - `send`, and later `got` with a response, for requests that take their time (`got ok since 1s`
//!   ended then, and is observed only now); `told` is a response whose head is read;
//! - `lost`: sent by a worker that dies; `unsent`: a permit that is handed back; `undialled`: no
//!   connection could be made;
//! - `?`: may the URL be fetched now? The answers are the expectation.
//!
//! The store is a state and its version. After a commit it has that state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, Ask, AskKind, BookedTurn, Chase, Decision, Friction, Gate, HostChanges,
    HostState, JobView, LeaseId, Observation, Outcome, Problem, RequestKind, RobotsId, RobotsNews,
    Scene, Verdict,
};
use curtsy_core::policy::{Curve, Policy, Preset, read_span};
use curtsy_core::robots::{AgentRules, Robots, RobotsClass, RobotsReply, class_of};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;

/// The start of scripts: 2024-01-01T00:00:00Z.
pub(crate) const START: Time = Time::from_secs(1_704_067_200);

/// Plays `script` with a preset and compares the answers to its questions, in order.
#[track_caller]
pub(crate) fn check(preset: &str, script: &str, expected: &str) {
    check_with(Play::new(preset), script, expected);
}

/// Does the same on a prepared host.
#[track_caller]
pub(crate) fn check_with(mut play: Play, script: &str, expected: &str) {
    let answers = play.play(script);
    assert_eq!(answers.join(" | "), expected, "{script}");
}

/// Returns the time `span` after the start.
pub(crate) fn at(span: &str) -> Time {
    START + span_of(span)
}

pub(crate) fn span_of(text: &str) -> Duration {
    read_span(text).unwrap_or_else(|| panic!("`{text}` is no span"))
}

/// Returns a time as the script writes it: `15m25ms`.
pub(crate) fn written(at: Time) -> String {
    if at == Time::NEVER {
        return "ever".to_owned();
    }
    let mut rest = (at - START).as_micros();
    let mut text = String::new();
    let units =
        [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms"), (1, "us")];
    for (unit, name) in units {
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// A host, its store and its surroundings.
pub(crate) struct Play {
    pub(crate) policy: Policy,
    pub(crate) state: HostState,
    pub(crate) seed: u64,
    pub(crate) job: JobView,
    pub(crate) stopped: bool,
    pub(crate) floor: Option<Time>,
    pub(crate) quiet_until: Option<Time>,
    /// When a URL may be tried again, by path.
    pub(crate) retry_at: BTreeMap<String, Time>,
    /// Since when a URL waits for a slot, by path.
    pub(crate) slot_since: BTreeMap<String, Time>,
    /// URLs that wait until their host has answered another request, by path.
    pub(crate) needs_word: BTreeSet<String>,
    /// Until when a cached copy is fresh, by path.
    pub(crate) fresh_until: BTreeMap<String, Time>,
    /// The robots.txt that is served.
    pub(crate) robots: String,
    /// The changes of the last observation.
    pub(crate) settled: HostChanges,
    texts: Vec<(String, AgentRules)>,
    charged: BTreeSet<String>,
    open: BTreeMap<String, (BookedTurn, Time)>,
    version: u64,
}

impl Play {
    /// Returns a host without robots.txt and jitter.
    pub(crate) fn new(preset: &str) -> Play {
        let mut play = Play::cold(preset);
        play.policy.robots.ttl = Duration::from_secs(1_000 * 86_400);
        let authority = url("/").authority();
        let absent = RobotsNews::Answer { class: RobotsClass::NoRules, file: None, told: None };
        let asked = Some((START, START));
        play.state.learn_robots(&authority, absent, &play.policy.robots, asked, START);
        play
    }

    /// Returns an unknown host.
    pub(crate) fn cold(preset: &str) -> Play {
        let preset: Preset = *Preset::ALL.iter().find(|p| p.name() == preset).expect("a preset");
        let mut policy = Policy::preset(preset);
        let plain = |curve: &mut Curve| curve.jitter_percent = (0, 0);
        plain(&mut policy.backoff.curve);
        plain(&mut policy.retry.curve);
        plain(&mut policy.breaker.curve);
        Play {
            policy,
            state: HostState::default(),
            seed: 7,
            job: JobView { started_at: START, pages: 0 },
            stopped: false,
            floor: None,
            quiet_until: None,
            retry_at: BTreeMap::new(),
            slot_since: BTreeMap::new(),
            needs_word: BTreeSet::new(),
            fresh_until: BTreeMap::new(),
            robots: String::new(),
            settled: HostChanges::default(),
            texts: Vec::new(),
            charged: BTreeSet::new(),
            open: BTreeMap::new(),
            version: 0,
        }
    }

    /// Changes the policy.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Policy)) -> Play {
        change(&mut self.policy);
        self
    }

    /// Serves a robots.txt.
    pub(crate) fn serving(mut self, robots: &str) -> Play {
        self.robots = robots.to_owned();
        self
    }

    /// Plays a script and returns the answers to its questions.
    #[track_caller]
    pub(crate) fn play(&mut self, script: &str) -> Vec<String> {
        let mut answers = Vec::new();
        for step in script.split('|') {
            let (moment, rest) = step.trim().split_once(' ').expect("a moment, then a step");
            let now = at(moment);
            let (path, what) = match rest.split_once(' ') {
                Some((path, what)) if path.starts_with('/') || path.starts_with("http") => {
                    (path, what)
                }
                _ => ("/page", rest),
            };
            let (verb, reply) = what.split_once(' ').unwrap_or((what, ""));
            match verb {
                "?" => answers.push(self.answer(path, now)),
                "send" => drop(self.send(path, now)),
                "got" => {
                    let (reply, ended) = reply.split_once(" since ").unwrap_or((reply, moment));
                    self.got(path, now, reply, Some(at(ended)));
                }
                "told" => self.got(path, now, reply, None),
                "lost" => {
                    self.send(path, now);
                    self.lose(path);
                }
                "undialled" => self.undialled(path, now),
                _ => {
                    self.send(path, now);
                    self.got(path, now, what, Some(now));
                }
            }
        }
        answers
    }

    /// Returns the decision about a URL.
    pub(crate) fn decide(&self, path: &str, now: Time) -> Decision {
        let url = url(path);
        self.state.admit(&self.ask(path, &url), &self.scene(&url, now))
    }

    /// Returns the decision in words.
    #[track_caller]
    pub(crate) fn answer(&self, path: &str, now: Time) -> String {
        let decision = self.decide(path, now);
        let (verdict, gate) = decision.findings.worst();
        match (verdict, &decision.action) {
            (Verdict::Never, Action::Refuse(by)) => {
                assert_eq!(gate, *by);
                format!("never: {}", gate.name())
            }
            (_, Action::UseCached) => "fresh".to_owned(),
            (Verdict::Go, Action::Approach(approach)) => {
                assert_eq!(approach.turn, now);
                format!("go{}", for_what(approach))
            }
            (Verdict::NotBefore(until), Action::Wait(at, by)) => {
                assert_eq!(until, *at);
                format!("not before {}: {}", written(until), by.name())
            }
            // Near enough to prepare for it.
            (Verdict::NotBefore(until), Action::Approach(approach)) => {
                assert_eq!(until, approach.turn);
                format!("not before {}: {}", written(until), gate.name())
            }
            other => panic!("verdict and action disagree: {other:?}"),
        }
    }

    /// Returns the finding of one gate.
    pub(crate) fn reason(&self, path: &str, now: Time, gate: Gate) -> String {
        let reason = format!("{:?}", self.decide(path, now).findings.of(gate).reason);
        let inner = reason.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        inner.unwrap_or(&reason).to_owned()
    }

    /// Returns when the URL may be requested by a worker that waits as long as each decision says.
    #[track_caller]
    pub(crate) fn next_start(&self, path: &str, from: Time) -> (Time, Approach) {
        let mut now = from;
        for _ in 0..10 {
            let decision = self.decide(path, now);
            match (decision.findings.worst().0, decision.action) {
                (Verdict::Go, Action::Approach(approach)) => return (now, approach),
                (Verdict::NotBefore(until), _) => now = until,
                other => panic!("never: {other:?}"),
            }
        }
        panic!("waits for ever");
    }

    /// Sends a request as soon as possible; returns its time and its URL.
    #[track_caller]
    pub(crate) fn soon(&mut self, path: &str, from: Time, reply: &str) -> (Time, RequestKind) {
        let (now, approach) = self.next_start(path, from);
        self.send(path, now);
        self.got(path, now, reply, Some(now));
        (now, approach.kind)
    }

    /// Admits, books, commits and sends. The request is that of the approach.
    #[track_caller]
    pub(crate) fn send(&mut self, path: &str, now: Time) -> Approach {
        let url = url(path);
        let (ask, scene) = (self.ask(path, &url), self.scene(&url, now));
        let approach = match self.state.admit(&ask, &scene).action {
            Action::Approach(approach) if approach.turn <= now => approach,
            _ => panic!("at {} {path} may not be asked: {}", written(now), self.answer(path, now)),
        };
        let id = LeaseId(self.version + 1);
        let reserved = match self.state.reserve(&approach, &ask, &scene, id) {
            Ok(reserved) => reserved,
            Err(decision) => panic!("admitted but not reserved: {decision:?}"),
        };
        self.commit(reserved.state);
        let turn = reserved.permit.into_turn();
        assert!(self.state.lease(id).is_some(), "its lease is written");
        assert_eq!((turn.lease().id, turn.at()), (id, now));
        if turn.lease().kind.is_page() && self.charged.insert(path.to_owned()) {
            self.job.pages += 1;
        }
        self.open.insert(path.to_owned(), (turn, now));
        approach
    }

    /// Lets the worker of a request die: no result comes.
    pub(crate) fn lose(&mut self, path: &str) {
        self.open.remove(path);
    }

    /// Observes the outcome of an earlier request.
    #[track_caller]
    fn got(&mut self, path: &str, now: Time, reply: &str, ended: Option<Time>) {
        let (turn, sent) = self.open.remove(path).expect("it was sent");
        let outcome = outcome(reply);
        let answered = outcome.status().is_some();
        let seen = Observation {
            outcome,
            sent: (outcome != Outcome::NotSent).then_some(sent),
            first_byte: answered.then_some(now),
            latency: answered.then_some(now - sent),
            robots: (ended.is_some()
                && turn.lease().kind == RequestKind::Robots
                && outcome != Outcome::NotSent)
                .then(|| self.news(&outcome, now)),
            ended,
        };
        let url = turn.approach().url.clone();
        let (state, settled) = self.state.observe(&turn, &seen, &self.scene(&url, now));
        self.commit(state);
        self.settled = settled;
        if ended.is_some() {
            assert!(self.state.lease(turn.lease().id).is_none(), "its lease is gone");
        } else {
            self.open.insert(path.to_owned(), (turn, sent));
        }
    }

    /// Observes a failed connection.
    #[track_caller]
    fn undialled(&mut self, path: &str, now: Time) {
        let Action::Approach(approach) = self.decide(path, now).action else {
            panic!("nothing may be dialled: {}", self.answer(path, now));
        };
        let outcome = Outcome::Failed(Problem::Connect);
        let url = url(path);
        let (mut state, settled) = self.state.observe_no_line(&outcome, &self.scene(&url, now));
        if approach.kind == RequestKind::Robots {
            let news =
                RobotsNews::Answer { class: RobotsClass::Unreachable, file: None, told: None };
            let authority = approach.authority();
            state.learn_robots(&authority, news, &self.policy.robots, None, now);
        }
        self.settled = settled;
        self.commit(state);
    }

    fn commit(&mut self, state: HostState) {
        self.version += 1;
        // Through its bytes, as every store keeps it.
        self.state = HostState::decode(&state.encode()).expect("written by this program");
        assert_eq!(self.state, state);
    }

    fn ask<'a>(&self, path: &str, url: &'a CrawlUrl) -> Ask<'a> {
        Ask {
            url,
            kind: AskKind::Page,
            charged: self.charged.contains(path),
            fresh_until: self.fresh_until.get(path).copied(),
            retry_at: self.retry_at.get(path).copied(),
            tries: u8::from(self.retry_at.contains_key(path)),
            needs_word: self.needs_word.contains(path),
            slot_since: self.slot_since.get(path).copied(),
        }
    }

    /// Returns the scene of a decision about this URL.
    pub(crate) fn scene(&self, url: &CrawlUrl, now: Time) -> Scene<'_> {
        let known = self.state.robots_of(&url.authority());
        let file = known.and_then(|r| r.ruling(&self.policy.robots, now));
        Scene {
            policy: &self.policy,
            now,
            seed: self.seed,
            rules: file.map(|(file, _)| &self.texts[usize::from(file.0[0])].1),
            job: self.job,
            stopped: self.stopped,
            floor: self.floor,
            quiet_until: self.quiet_until,
        }
    }

    /// Returns the news of a response for robots.txt.
    fn news(&mut self, outcome: &Outcome, now: Time) -> RobotsNews {
        let (reply, told) = match *outcome {
            Outcome::Answered { status, retry_after, .. } => {
                (RobotsReply::Status(status), retry_after)
            }
            _ => (RobotsReply::Failed, None),
        };
        match reply {
            RobotsReply::Status(304) => return RobotsNews::NotModified,
            RobotsReply::Status(301) => {
                return RobotsNews::Moved(Chase {
                    to: CrawlUrl::parse("https://www.example.net/robots.txt").unwrap(),
                    deadline: now + self.policy.robots.chain_deadline,
                });
            }
            _ => {}
        }
        let class = class_of(reply, self.policy.robots.forbidden);
        let file = (class == RobotsClass::Rules).then(|| self.take_text());
        RobotsNews::Answer { class, file, told }
    }

    /// Returns ID and Crawl-delay of the robots.txt that is served now.
    fn take_text(&mut self) -> (RobotsId, Option<Duration>) {
        let known = self.texts.iter().position(|(text, _)| *text == self.robots);
        let n = known.unwrap_or_else(|| {
            let how = self.policy.robots.agent_match;
            let rules =
                Robots::parse(self.robots.as_bytes()).for_agent(&self.policy.identity.product, how);
            self.texts.push((self.robots.clone(), rules));
            self.texts.len() - 1
        });
        (RobotsId([n as u8; 16]), self.texts[n].1.crawl_delay())
    }
}

/// Returns the URL of a script's step.
pub(crate) fn url(path: &str) -> CrawlUrl {
    let text = match path.starts_with('/') {
        true => format!("https://example.org{path}"),
        false => path.to_owned(),
    };
    CrawlUrl::parse(&text).expect("a URL")
}

/// Returns the outcome of a script's response.
pub(crate) fn outcome(reply: &str) -> Outcome {
    let (what, after) = match reply.split_once(" after ") {
        Some((what, after)) => (what, Some(span_of(after))),
        None => (reply, None),
    };
    let answered = |status, friction| Outcome::Answered { status, retry_after: after, friction };
    match what {
        "ok" => answered(200, None),
        "challenge" => answered(200, Some(Friction::Challenge)),
        "empty" => answered(200, Some(Friction::Unusual)),
        "reset" => Outcome::Failed(Problem::Reset),
        "timeout" => Outcome::Failed(Problem::FirstByteTimeout),
        "truncated" => Outcome::Failed(Problem::Truncated),
        "unsent" => Outcome::NotSent,
        status => {
            answered(status.parse().unwrap_or_else(|_| panic!("`{status}` is no answer")), None)
        }
    }
}

/// Returns the name of a request that is not for the page.
fn for_what(approach: &Approach) -> String {
    let kind = match approach.kind {
        RequestKind::Page => "",
        RequestKind::Robots => ": robots",
        RequestKind::RobotsHop => ": robots hop",
        RequestKind::Sitemap => ": sitemap",
        RequestKind::Probe => ": HEAD /",
    };
    let probe = if approach.probe { " as probe" } else { "" };
    format!("{kind}{probe}")
}
