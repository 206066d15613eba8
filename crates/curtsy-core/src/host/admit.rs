//! "May this URL be fetched now?"
//!
//! Every gate looks at the same state; their verdicts combine by maximum and their findings are the evidence. The answer is an
//! [`Action`]: refuse, use what we have, wait, or an [`Approach`] — a typed ticket to open a connection, since nothing is dialled
//! without one. Where robots.txt is unknown or past its time, the approach is for robots.txt, whoever asked; where the breaker is
//! open, it is the probe.

use super::gates::{Errand, GateCase};
use super::{Findings, Gate, HostState, RequestKind, Verdict};
use crate::policy::Policy;
use crate::robots::AgentRules;
use crate::time::Time;
use crate::url::{Authority, CrawlUrl};

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
    pub kind: RequestKind,
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
        if self.kind == RequestKind::Probe { "HEAD" } else { "GET" }
    }

    /// The authority that it asks.
    pub fn authority(&self) -> Authority {
        self.url.authority()
    }
}

impl HostState {
    /// Decides about one URL. Pure: the same state, ask and scene give the same decision.
    pub fn admit(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Decision {
        let case = GateCase { host: self, ask, scene };
        let mut findings = Findings::of_url(&case);
        // What needs no request never waits for a turn.
        if let (Verdict::Never, gate) = findings.worst() {
            return Decision { action: Action::Refuse(gate), findings };
        }
        let is_fresh = findings.of(Gate::Freshness).verdict > Verdict::Go;
        if is_fresh || ask.kind == AskKind::Rules && !self.robots_needed(ask, scene) {
            return Decision { action: Action::UseCached, findings };
        }

        let errand = self.errand(ask, scene);
        findings.add_request(&case, &errand);
        let (verdict, gate) = findings.worst();
        let action = match verdict {
            Verdict::Never => Action::Refuse(gate),
            Verdict::NotBefore(at) if at > scene.now + self.lead(scene) => Action::Wait(at, gate),
            // What robots.txt will say then is not known now: nothing is prepared for it.
            Verdict::NotBefore(at)
                if errand.kind != RequestKind::Robots
                    && findings.of(Gate::Robots).verdict > Verdict::Go =>
            {
                Action::Wait(at, Gate::Robots)
            }
            _ => Action::Approach(Approach {
                url: errand.url,
                kind: errand.kind,
                // While the breaker is open, any request that starts when its wait is over is the probe.
                probe: self.breaker.is_open(),
                turn: match verdict {
                    Verdict::NotBefore(at) => at,
                    _ => scene.now,
                },
                made: Made,
            }),
        };
        Decision { action, findings }
    }

    /// What must be requested first: robots.txt, the probe of a host that is down, or else the URL itself.
    fn errand(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Errand {
        let authority = ask.url.authority();
        let itself = || Errand { url: ask.url.clone(), kind: ask.kind.request() };
        if ask.kind == AskKind::RobotsHop {
            // A hop to another authority's robots.txt is that authority's own request, and answers both.
            return match authority.robots_url() {
                url if url == *ask.url => Errand { url, kind: RequestKind::Robots },
                _ => itself(),
            };
        }
        if self.robots_needed(ask, scene) {
            return Errand { url: authority.robots_url(), kind: RequestKind::Robots };
        }
        if self.breaker.is_open() || ask.needs_word {
            let url = authority.root();
            if scene.rules.is_none_or(|rules| rules.decide(url.path_and_query()).allowed) {
                return Errand { url, kind: RequestKind::Probe };
            }
        }
        itself()
    }
}

impl AskKind {
    fn request(self) -> RequestKind {
        match self {
            AskKind::Page | AskKind::Check => RequestKind::Page,
            AskKind::Sitemap => RequestKind::Sitemap,
            AskKind::RobotsHop => RequestKind::RobotsHop,
            AskKind::Rules => RequestKind::Robots,
        }
    }
}
