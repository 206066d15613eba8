//! "May this URL be fetched now?"
//!
//! Every gate checks the same state. Their verdicts combine by maximum, and their findings are the
//! evidence. The result is an [`Action`]: refuse, use the cached page, wait, or an [`Approach`]. An
//! approach is a typed ticket to open a connection; nothing is dialled without one. If robots.txt
//! is unknown or past its time, the approach is for robots.txt. If the breaker is open, it is the
//! probe.

use super::gates::{Errand, GateCase};
use super::{Findings, Gate, HostState, RequestKind, Verdict};
use crate::policy::Policy;
use crate::robots::AgentRules;
use crate::time::Time;
use crate::url::{Authority, CrawlUrl};

/// A request to decide about one URL, with what is known about the URL.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The URL.
    pub url: &'a CrawlUrl,
    /// The purpose of the request.
    pub kind: AskKind,
    /// Whether the job's budget was charged for the URL already.
    pub charged: bool,
    /// Until when the cached page is fresh, if there is one.
    pub fresh_until: Option<Time>,
    /// When the next try may start, if a try failed.
    pub retry_at: Option<Time>,
    /// The number of tries so far.
    pub tries: u8,
    /// Whether the host must answer another request first (see [`super::Tries::needs_word`]).
    pub needs_word: bool,
    /// When the URL began to wait for a slot of its host, if it waits.
    pub slot_since: Option<Time>,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskKind {
    /// The content.
    Page,
    /// Whether the URL exists.
    Check,
    /// The URLs that a sitemap lists.
    Sitemap,
    /// The robots.txt of another authority that was redirected here.
    RobotsHop,
    /// What robots.txt says about the URL. Once that is known, no request is made.
    Rules,
}

/// The surroundings of a decision.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The policy, resolved for this host.
    pub policy: &'a Policy,
    /// The store's time.
    pub now: Time,
    /// The host's seed for chance.
    pub seed: u64,
    /// Our rules in the robots.txt that rules the URL's authority (see
    /// [`super::RobotsState::ruling`]).
    pub rules: Option<&'a AgentRules>,
    /// The job.
    pub job: JobView,
    /// Whether a stop order for this host is in force.
    pub stopped: bool,
    /// If set, every host counts as started at this time, because the store began a new epoch.
    pub floor: Option<Time>,
    /// Nothing is sent before this time, because the store began a new epoch and earlier requests
    /// may still run.
    pub quiet_until: Option<Time>,
}

/// The parts of a job that a decision needs.
#[derive(Clone, Copy, Debug)]
pub struct JobView {
    /// When the job began.
    pub started_at: Time,
    /// Pages charged to it so far.
    pub pages: u64,
}

/// The decision about one URL, with every gate's finding.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The action to take.
    pub action: Action,
    /// The findings of all gates.
    pub findings: Findings,
}

/// The result of a decision.
#[derive(Clone, Debug)]
pub enum Action {
    /// Not in this job. The gate has the reason.
    Refuse(Gate),
    /// The cached page is fresh.
    UseCached,
    /// No request is possible before this time.
    Wait(Time, Gate),
    /// A request may be prepared.
    Approach(Approach),
}

/// A ticket to open a connection. Only [`HostState::admit`] makes one.
#[derive(Clone, Debug)]
pub struct Approach {
    /// The URL to request: the URL itself, its authority's robots.txt, or the root.
    pub url: CrawlUrl,
    /// The kind of the request.
    pub kind: RequestKind,
    /// Whether the request tests an open breaker.
    pub probe: bool,
    /// When the turn begins.
    pub turn: Time,
    #[allow(dead_code, reason = "keeps an approach from being made elsewhere")]
    made: Made,
}

#[derive(Clone, Debug)]
struct Made;

impl Approach {
    /// Returns the method of the request.
    pub fn method(&self) -> &'static str {
        if self.kind == RequestKind::Probe { "HEAD" } else { "GET" }
    }

    /// Returns the authority of the URL.
    pub fn authority(&self) -> Authority {
        self.url.authority()
    }
}

impl HostState {
    /// Decides about one URL. The same state, ask and scene give the same decision.
    pub fn admit(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Decision {
        let case = GateCase { host: self, ask, scene };
        let mut findings = Findings::of_url(&case);
        // A URL without a request never waits for a turn.
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
            // Robots.txt may change until then, so nothing is prepared.
            Verdict::NotBefore(at)
                if errand.kind != RequestKind::Robots
                    && findings.of(Gate::Robots).verdict > Verdict::Go =>
            {
                Action::Wait(at, Gate::Robots)
            }
            _ => Action::Approach(Approach {
                url: errand.url,
                kind: errand.kind,
                // While the breaker is open, any request that starts when its wait is over is the
                // probe.
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

    /// Returns the request that must come first: robots.txt, the probe of a host that is down, or
    /// the URL itself.
    fn errand(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Errand {
        let authority = ask.url.authority();
        let itself = || Errand { url: ask.url.clone(), kind: ask.kind.request() };
        if ask.kind == AskKind::RobotsHop {
            // A hop to another authority's robots.txt is that authority's own request and answers
            // both.
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
