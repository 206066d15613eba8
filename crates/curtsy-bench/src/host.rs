//! Hosts as a crawl meets them, and one round of a request: admit, reserve, observe.

use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, Ask, AskKind, BookedTurn, Decision, HostState, JobView, Lease, LeaseId,
    Observation, Outcome, RequestKind, RobotsId, RobotsNews, Scene,
};
use curtsy_core::policy::{AgentMatch, Policy, Preset};
use curtsy_core::robots::{AgentRules, Robots, RobotsClass};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, UrlKey};

use crate::robots::{PRODUCT, URL, typical};

/// The start of every measurement.
pub const START: Time = Time::from_secs(1_800_000_000);

/// Longer than the delay of the measured policy.
pub const STEP: Duration = Duration::from_secs(10);

/// The surroundings of a host's decisions.
pub struct Around {
    /// The manners: `careful`, with a contact and without an end.
    pub policy: Policy,
    /// The rules for us in the host's robots.txt; `None` if it has no robots.txt.
    pub rules: Option<AgentRules>,
    /// The page to request.
    pub url: CrawlUrl,
    seed: u64,
}

impl Around {
    /// Returns a host without a robots.txt: the cost of the rounds themselves.
    pub fn without_robots() -> Around {
        Around::new(None)
    }

    /// Returns a host with a robots.txt of 2 KB, which every decision checks.
    pub fn with_robots() -> Around {
        Around::new(Some(Robots::parse(typical().as_bytes()).for_agent(PRODUCT, AgentMatch::Rfc)))
    }

    fn new(rules: Option<AgentRules>) -> Around {
        let mut policy = Policy::preset(Preset::Careful);
        policy.identity.contact = Some("mailto:bench@example.org".into());
        policy.budget.time = None;
        policy.budget.pages = None;
        let url = CrawlUrl::parse(URL).expect("a URL of ours");
        let seed = url.host().seed();
        Around { policy, rules, url, seed }
    }

    /// Returns the scene at `now`.
    pub fn scene(&self, now: Time) -> Scene<'_> {
        Scene {
            policy: &self.policy,
            now,
            seed: self.seed,
            rules: self.rules.as_ref(),
            job: JobView { started_at: START, pages: 0 },
            stopped: false,
            floor: None,
            quiet_until: None,
        }
    }

    /// Returns the ask for the page.
    pub fn ask(&self) -> Ask<'_> {
        ask(&self.url)
    }

    /// Returns a host after a request for robots.txt and a few pages.
    pub fn quiet(&self) -> HostState {
        let mut state = HostState::default();
        self.learn(&mut state, START);
        let mut now = START;
        for turn in 0..5 {
            now = now + STEP;
            self.round(&mut state, now, LeaseId(turn));
        }
        state
    }

    /// Returns a host in the middle of everything: leases in flight, several authorities, a wait,
    /// an open breaker, friction.
    pub fn busy(&self) -> HostState {
        let mut state = self.quiet();
        for turn in 0..4_u32 {
            state.leases.push(Lease {
                id: LeaseId(0x0123_4567_89ab_cdef ^ u64::from(turn)),
                kind: RequestKind::Page,
                probe: turn == 3,
                url: UrlKey::from_u128(u128::MAX / 3 + u128::from(turn)),
                turn: state.turn,
                generation: 3,
                send_by: START + STEP * turn,
                until: START + STEP * (turn + 4),
            });
        }
        for port in [80, 8080, 8443] {
            let mut authority = self.url.authority();
            authority.port = port;
            learn(&mut state, &authority, self, START);
        }
        state.backoff.until = Some(START + Duration::from_secs(86_400));
        state.backoff.last_wait = Duration::from_secs(43_200);
        (state.backoff.streak, state.backoff.generation) = (7, 9);
        (state.breaker.failures, state.breaker.level) = (9, 4);
        state.breaker.until = Some(START + Duration::from_secs(3_600));
        state.risk.score = 63.5;
        (state.risk.as_of, state.risk.since) = (Some(START), Some(START));
        state.risk.streak = 3;
        state
    }

    /// Confirms robots.txt at `now`, as a crawl does once per TTL.
    pub fn learn(&self, state: &mut HostState, now: Time) {
        learn(state, &self.url.authority(), self, now);
    }

    /// Returns the approach of an admitted page.
    pub fn approach(&self, state: &HostState, now: Time) -> Approach {
        approach(state.admit(&self.ask(), &self.scene(now)))
    }

    /// Does one round at `now`: admit, reserve and observe.
    pub fn round(&self, state: &mut HostState, now: Time, id: LeaseId) {
        let (ask, scene) = (self.ask(), self.scene(now));
        let approach = approach(state.admit(&ask, &scene));
        let Ok(reserved) = state.reserve(&approach, &ask, &scene, id) else {
            unreachable!("what was admitted can be reserved at the same moment");
        };
        let turn = reserved.permit.into_turn();
        *state = reserved.state.observe(&turn, &answered(&turn, now), &scene).0;
    }
}

/// Returns the ask for a page that was not requested before.
pub fn ask(url: &CrawlUrl) -> Ask<'_> {
    Ask {
        url,
        kind: AskKind::Page,
        charged: false,
        fresh_until: None,
        retry_at: None,
        tries: 0,
        needs_word: false,
        slot_since: None,
    }
}

/// Returns the approach of a decision that lets the page go.
pub fn approach(decision: Decision) -> Approach {
    match decision.action {
        Action::Approach(approach) if approach.kind == RequestKind::Page => approach,
        other => unreachable!("the host is due and its robots.txt known, got {other:?}"),
    }
}

/// Returns an ordinary response within 80 ms.
pub fn answered(turn: &BookedTurn, now: Time) -> Observation {
    let latency = Duration::from_millis(80);
    Observation {
        outcome: Outcome::Answered { status: 200, retry_after: None, friction: None },
        sent: Some(turn.at()),
        first_byte: Some(now + latency),
        latency: Some(latency),
        robots: None,
        ended: Some(now),
    }
}

fn learn(state: &mut HostState, authority: &Authority, around: &Around, now: Time) {
    let file = around.rules.as_ref().map(|_| (RobotsId([7; 16]), None));
    let news = RobotsNews::Answer {
        class: match file {
            Some(_) => RobotsClass::Rules,
            None => RobotsClass::NoRules,
        },
        file,
        told: None,
    };
    state.learn_robots(authority, news, &around.policy.robots, Some((now, now)), now);
}
