//! Judges a log of many agents, each one by itself.
//!
//! Agents are distinguished by the name in their user agent ([`agent_of`]). A name without a
//! contact is a tool that anybody may use (`curl/7.88.1`), so each address that uses it can be
//! judged by itself. There are at most [`AGENTS_MAX`] judges at a time. If a log has more names,
//! the half with the fewest requests is given up: their violations are counted together, and an
//! agent that returns is judged anew. So memory does not grow with the number of names, and the
//! most active agents stay.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use crate::agent::{AgentKind, BROWSERS, agent_of, has_contact};
use crate::connection::{ConnectionAgent, ConnectionEvent, LogEntry};
use crate::exchange::Exchange;
use crate::generations::HashedKeys;
use crate::judge::{Judge, LogDetail};
use crate::report::{JudgeReport, Violation};

/// Judges for the agents of a log.
pub struct Docket<F> {
    /// Makes the judge of an agent, by the agent's name.
    judge_for: F,
    /// Whether browsers are judged, or only counted.
    browsers: bool,
    /// Whether the addresses of an agent without a contact are agents of their own.
    tools_apart: bool,
    cases: HashMap<Arc<str>, OpenCase>,
    /// The key of the case of each user agent.
    known: HashMap<Arc<str>, Arc<str>, HashedKeys>,
    /// The number of hosts of all judges.
    hosts: usize,
    others: Others,
    connections_unknown: u64,
    detail: LogDetail,
}

/// An agent, and the judge of its exchanges.
struct OpenCase {
    agent: AgentCase,
    judge: Option<Judge>,
    hosts: usize,
}

/// The requests of one agent, and what its judge found.
#[derive(Clone, Debug)]
pub struct AgentCase {
    /// The product token, or a text for browsers and for requests without a user agent.
    pub name: String,
    /// The kind of the user agent.
    pub kind: AgentKind,
    /// Whether the case has only the requests of one address, because the user agent has no
    /// contact.
    pub one_address: bool,
    /// The first full user agent.
    pub user_agent: Option<Arc<str>>,
    /// The number of requests.
    pub requests: u64,
    /// The number of requests for robots.txt.
    pub robots_requests: u64,
    /// The addresses; the first 64.
    pub addresses: BTreeSet<IpAddr>,
    /// Whether there were more addresses.
    pub more_addresses: bool,
    /// The start of its first request, in microseconds of the server's clock.
    pub first: u64,
    /// The start of its last request.
    pub last: u64,
    /// What the judge found; `None` for browsers that are only counted.
    pub report: Option<JudgeReport>,
}

/// The agents that were given up because there were too many.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// The number of agents, each counted as often as it was given up.
    pub agents: u64,
    /// Their requests.
    pub requests: u64,
    /// Their violations.
    pub violations: u64,
    /// The first of them.
    pub first: Option<Violation>,
}

/// The results of a docket.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// The agents, those with the most violations first, then those with the most requests.
    pub agents: Vec<AgentCase>,
    /// The agents that were given up.
    pub others: Others,
    /// The number of accepted connections that cannot be assigned to an agent. P17 was not judged
    /// on them.
    pub connections_unknown: u64,
}

impl Verdicts {
    /// Returns whether no agent broke a rule.
    pub fn clean(&self) -> bool {
        let agents = self.agents.iter().filter_map(|agent| agent.report.as_ref());
        self.others.violations == 0 && agents.into_iter().all(JudgeReport::clean)
    }
}

impl AgentCase {
    /// Returns the number of violations of this agent.
    pub fn violations(&self) -> u64 {
        self.report.as_ref().map_or(0, JudgeReport::violations)
    }
}

impl<F: Fn(&str) -> Judge> Docket<F> {
    /// Returns a docket without cases. `judge_for` makes the judge of an agent, by the agent's
    /// name.
    pub fn new(judge_for: F) -> Docket<F> {
        Docket {
            judge_for,
            browsers: false,
            tools_apart: false,
            cases: HashMap::new(),
            known: HashMap::default(),
            hosts: 0,
            others: Others::default(),
            connections_unknown: 0,
            detail: LogDetail::FULL,
        }
    }

    /// Judges browsers too, as one agent.
    pub fn with_browsers(mut self) -> Docket<F> {
        self.browsers = true;
        self
    }

    /// Judges each address by itself if the user agent has no contact, since different people use
    /// such a tool.
    pub fn with_tools_apart(mut self) -> Docket<F> {
        self.tools_apart = true;
        self
    }

    /// Adds to what is known about the detail of the log.
    pub fn detail(&mut self, detail: LogDetail) {
        let least = self.detail.least(detail);
        if least == self.detail {
            return;
        }
        self.detail = least;
        for judge in self.cases.values_mut().filter_map(|case| case.judge.as_mut()) {
            judge.detail(least);
        }
    }

    /// Judges the next entry of the log, in the order of the starts.
    pub fn see(&mut self, entry: impl Into<LogEntry>) {
        match entry.into() {
            LogEntry::Exchange(x) => self.exchange(x),
            LogEntry::Connection(event) => self.connection(event),
        }
    }

    /// Gives a connection to the judge of its agent.
    fn connection(&mut self, event: ConnectionEvent) {
        let key = match &event.agent {
            ConnectionAgent::Known(agent) => {
                let (key, apart) = self.case_of(agent.as_ref(), event.peer);
                self.open(&key, agent.as_ref(), event.at, apart);
                Some(key)
            }
            ConnectionAgent::Unknown => match self.cases.len() {
                1 => self.cases.keys().next().map(Arc::clone),
                _ => None,
            },
        };
        match key.and_then(|key| self.cases.get_mut(&key)) {
            Some(case) => {
                if let Some(judge) = &mut case.judge {
                    judge.see(event);
                }
            }
            None => self.connections_unknown += 1,
        }
    }

    fn exchange(&mut self, x: Exchange) {
        let (key, apart) = self.case_of(x.user_agent.as_ref(), x.peer);
        self.open(&key, x.user_agent.as_ref(), x.start, apart);
        let Some(case) = self.cases.get_mut(&key) else { return };
        let agent = &mut case.agent;
        agent.requests += 1;
        agent.robots_requests += u64::from(&*x.target == "/robots.txt");
        agent.first = agent.first.min(x.start);
        agent.last = agent.last.max(x.start);
        if let Some(peer) = x.peer
            && !agent.addresses.contains(&peer)
        {
            match agent.addresses.len() < ADDRESSES_MAX {
                true => _ = agent.addresses.insert(peer),
                false => agent.more_addresses = true,
            }
        }
        if let Some(judge) = &mut case.judge {
            if self.hosts >= HOSTS_MAX {
                judge.takes_no_more_hosts();
            }
            judge.see(x);
            let grown = judge.hosts() - case.hosts;
            case.hosts += grown;
            self.hosts += grown;
        }
    }

    /// Returns the results.
    pub fn finish(self) -> Verdicts {
        let mut agents: Vec<AgentCase> = self.cases.into_values().map(OpenCase::close).collect();
        agents.sort_by(|a, b| {
            let rank = |agent: &AgentCase| (agent.violations(), agent.requests);
            rank(b).cmp(&rank(a)).then_with(|| a.name.cmp(&b.name))
        });
        let connections_unknown = self.connections_unknown;
        Verdicts { agents, others: self.others, connections_unknown }
    }

    /// Returns the key of the case of a user agent.
    fn key_of(&mut self, user_agent: Option<&Arc<str>>) -> Arc<str> {
        let Some(text) = user_agent else { return agent_of(None).0.into() };
        if let Some(key) = self.known.get(text) {
            return Arc::clone(key);
        }
        let (name, _) = agent_of(Some(text));
        let key: Arc<str> = name.chars().take(NAME_MAX).collect::<String>().to_lowercase().into();
        // The map is only a cache.
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(Arc::clone(text), Arc::clone(&key));
        key
    }

    /// Returns the key of an agent's case, and whether the case has one address only.
    fn case_of(&mut self, agent: Option<&Arc<str>>, peer: Option<IpAddr>) -> (Arc<str>, bool) {
        let key = self.key_of(agent);
        let counted_only = !self.browsers && &*key == BROWSERS;
        let contact = has_contact(agent.map_or("", |agent| agent));
        let apart = self.tools_apart && !counted_only && !contact;
        match peer.filter(|_| apart) {
            Some(peer) => (format!("{key} {peer}").into(), apart),
            None => (key, apart),
        }
    }

    /// Opens a case if there is none.
    fn open(&mut self, key: &Arc<str>, agent: Option<&Arc<str>>, at: u64, one_address: bool) {
        if self.cases.contains_key(key) {
            return;
        }
        if self.cases.len() >= AGENTS_MAX {
            self.give_up_half();
        }
        let (name, kind) = agent_of(agent.map(|agent| &**agent));
        let name: String = name.chars().take(NAME_MAX).collect();
        let judged = kind != AgentKind::Browser || self.browsers;
        let judge = judged.then(|| {
            let product = if kind == AgentKind::Robot { name.as_str() } else { "*" };
            let mut judge = (self.judge_for)(product);
            // An agent that returns may have requested robots.txt before.
            if self.others.agents > 0 {
                judge = judge.with_log_from_midway();
            }
            judge.with_detail(self.detail)
        });
        let agent = AgentCase {
            name,
            kind,
            one_address,
            user_agent: agent.cloned(),
            requests: 0,
            robots_requests: 0,
            addresses: BTreeSet::new(),
            more_addresses: false,
            first: at,
            last: at,
            report: None,
        };
        self.cases.insert(Arc::clone(key), OpenCase { agent, judge, hosts: 0 });
    }

    /// Gives up the half of the agents with the fewest requests.
    fn give_up_half(&mut self) {
        let mut by_requests: Vec<(u64, Arc<str>)> =
            self.cases.iter().map(|(key, case)| (case.agent.requests, Arc::clone(key))).collect();
        by_requests.sort_unstable();
        by_requests.truncate(self.cases.len() / 2);
        for (_, key) in by_requests {
            let Some(case) = self.cases.remove(&key) else { continue };
            self.hosts -= case.hosts;
            let agent = case.close();
            let others = &mut self.others;
            others.agents += 1;
            others.requests += agent.requests;
            others.violations += agent.violations();
            if others.first.is_none() {
                others.first = agent.report.and_then(|report| report.first.into_iter().next());
            }
        }
    }
}

impl OpenCase {
    fn close(self) -> AgentCase {
        AgentCase { report: self.judge.map(Judge::finish), ..self.agent }
    }
}

/// Limit of the agents that are judged at a time.
const AGENTS_MAX: usize = 256;
/// Limit of the hosts of all agents, at about 3 KB each. Requests to further hosts are counted and
/// not judged.
const HOSTS_MAX: usize = 1 << 17;
/// Limit of the addresses of one agent.
const ADDRESSES_MAX: usize = 64;
/// Limit of the characters of an agent's name.
const NAME_MAX: usize = 64;
const KNOWN_MAX: usize = 1 << 14;
