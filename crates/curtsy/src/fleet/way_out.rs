//! Which hosts can't be reached, and whether our own way out is the reason. A line of the log for
//! each change, not for each try.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use curtsy_core::host::{Class, Outcome, Problem, RequestKind};
use curtsy_core::url::HostKey;
use curtsy_fetch::HttpProxy;
use curtsy_sink::Cause;

use super::log::{FleetLog, trouble};

/// A fault of the proxy that lasts is told again after this.
const TOLD_AGAIN: Duration = Duration::from_secs(600);
/// A proxy that let something through so lately works: what it refuses now, it refuses for one
/// host.
const WORKED: Duration = Duration::from_secs(60);
/// Hosts of which it is remembered that they can't be reached. Of more, all are told anew.
const UNREACHED_MAX: usize = 10_000;

/// Why no connection could be made, as a label of the metric.
pub(super) const REASONS: [&str; 5] = ["dns", "connect", "timeout", "tls", "proxy"];

/// The way from this worker to the hosts.
pub(super) struct WayOut<'l> {
    log: &'l FleetLog,
    /// Where the proxy is, without its login.
    proxy: Option<String>,
    /// What is wrong with the proxy, and when the log was last told.
    fault: Cell<Option<(Problem, Instant)>>,
    /// When a host last answered.
    answered: Cell<Option<Instant>>,
    /// Whether our own network was found to be down, and nothing has got through since.
    is_down: Cell<bool>,
    unreached: RefCell<BTreeMap<HostKey, Problem>>,
    counts: Cell<[u64; REASONS.len()]>,
}

impl<'l> WayOut<'l> {
    pub(super) fn new(log: &'l FleetLog, proxy: Option<&HttpProxy>) -> WayOut<'l> {
        WayOut {
            log,
            proxy: proxy.map(|proxy| format!("http://{}:{}", proxy.host, proxy.port)),
            fault: Cell::new(None),
            answered: Cell::new(None),
            is_down: Cell::new(false),
            unreached: RefCell::default(),
            counts: Cell::default(),
        }
    }

    /// No connection to a host could be made.
    pub(super) fn no_line(&self, host: &HostKey, problem: Problem) {
        if let Some(at) = reason(problem) {
            let mut counts = self.counts.get();
            counts[at] += 1;
            self.counts.set(counts);
        }
        if self.is_proxys(problem) {
            return self.proxy_failed(problem);
        }
        // What the guard refuses is nothing that failed: the URL's letter says why.
        if problem.is_refusal() || self.is_down.get() {
            return;
        }
        let mut unreached = self.unreached.borrow_mut();
        if unreached.len() >= UNREACHED_MAX {
            unreached.clear();
        }
        if unreached.insert(host.clone(), problem) != Some(problem) {
            let why = why(&Outcome::Failed(problem), host);
            let message = format!("{host} could not be reached: {why}");
            let fields = [("host", host.as_str().into()), ("why", why.into())];
            self.log.warn("host_unreached", &message, &fields);
        }
    }

    /// A request came to its end.
    pub(super) fn ended(&self, host: &HostKey, kind: RequestKind, outcome: &Outcome) {
        match outcome {
            Outcome::Answered { .. } => self.answered(host),
            Outcome::Failed(problem) if self.is_proxys(*problem) => {
                self.proxy_failed(*problem);
            }
            // The retry of a robots.txt is nobody's failure, but its loss is worth a line.
            Outcome::Failed(_) if kind == RequestKind::Robots => {
                let why = why(outcome, host);
                let message = format!("robots.txt of {host} could not be fetched: {why}");
                let fields = [("host", host.as_str().into()), ("why", why.into())];
                self.log.warn("robots_unreachable", &message, &fields);
            }
            Outcome::Failed(_) | Outcome::NotSent => {}
        }
    }

    /// Our own network was found to be down. A proxy that is the reason was told already.
    pub(super) fn network_down(&self) {
        if !self.is_down.replace(true) && self.fault.get().is_none() {
            let message = "our own network seems to be down: everything waits, nobody is blamed";
            self.log.warn("own_network_down", message, &[]);
        }
    }

    /// What keeps everything from getting through, for whoever asks whether the worker is ready.
    pub(super) fn trouble(&self) -> Option<String> {
        match self.fault.get() {
            Some((problem, _)) => Some(format!("proxy: {}", self.fault_of_proxy(problem).0)),
            None => self.is_down.get().then(|| "network: no host can be reached".to_owned()),
        }
    }

    /// Connections that could not be made, by reason.
    pub(super) fn counts(&self) -> [(&'static str, u64); REASONS.len()] {
        let counts = self.counts.get();
        std::array::from_fn(|at| (REASONS[at], counts[at]))
    }

    /// Whether the proxy lets nothing through, as far as this failure and the time since the last
    /// answer show.
    fn is_proxys(&self, problem: Problem) -> bool {
        let worked = self.answered.get().is_some_and(|at| at.elapsed() < WORKED);
        problem == Problem::ProxyLogin || problem.class() == Class::Ours && !worked
    }

    fn answered(&self, host: &HostKey) {
        self.answered.set(Some(Instant::now()));
        if self.fault.take().is_some() {
            self.is_down.set(false);
            self.log.info("proxy_back", "the proxy lets requests through again", &[]);
        }
        if self.is_down.replace(false) {
            self.log.info("own_network_back", "our own network works again", &[]);
        }
        if self.unreached.borrow_mut().remove(host).is_some() {
            let message = format!("{host} can be reached again");
            self.log.info("host_reached", &message, &[("host", host.as_str().into())]);
        }
    }

    fn proxy_failed(&self, problem: Problem) {
        let told = self.fault.get();
        if told.is_some_and(|(known, at)| known == problem && at.elapsed() < TOLD_AGAIN) {
            return;
        }
        self.fault.set(Some((problem, Instant::now())));
        let (what, hint) = self.fault_of_proxy(problem);
        let message = format!("{what}: nothing gets through, and no site is blamed");
        self.log.warn("proxy_failed", &message, &trouble(&format!("{what}\nhint: {hint}")));
    }

    /// What is wrong with the proxy, and what mends it.
    fn fault_of_proxy(&self, problem: Problem) -> (String, &'static str) {
        let proxy = match &self.proxy {
            Some(proxy) => format!("the proxy `{proxy}`"),
            None => "the network".to_owned(),
        };
        match problem {
            Problem::ProxyLogin => (
                format!("{proxy} wants a user and a password (407)"),
                "`--proxy http://USER:PASSWORD@HOST:PORT`, or the variable `http_proxy`",
            ),
            Problem::OwnLogin => (
                "a site refused the credentials that the policy has for it (401)".to_owned(),
                "check `basic_auth`, `header` or `cookie` in the host's section, and the variable or \
                 file that it names",
            ),
            Problem::ProxyRefused => (
                format!("{proxy} answers in a site's place: it can't reach it, or refuses it"),
                "check what the proxy allows this worker to reach",
            ),
            _ => (
                format!("{proxy} can't be reached"),
                "check that the proxy runs and lets this worker through: `--proxy`, or the variables \
                 `http_proxy` and `https_proxy`",
            ),
        }
    }
}

/// The place of a failure among [`REASONS`]; none for what was refused on this side.
fn reason(problem: Problem) -> Option<usize> {
    let name = match problem {
        Problem::Dns => "dns",
        Problem::ConnectTimeout => "timeout",
        Problem::Tls
        | Problem::TlsExpired
        | Problem::TlsName
        | Problem::TlsIssuer
        | Problem::TlsAbsent => "tls",
        Problem::Proxy | Problem::ProxyLogin | Problem::ProxyRefused => "proxy",
        Problem::Guard | Problem::Port | Problem::OwnLogin => return None,
        _ => "connect",
    };
    REASONS.iter().position(|reason| *reason == name)
}

/// What failed, in words.
pub(super) fn why(outcome: &Outcome, host: &HostKey) -> String {
    let cause = Cause::of_outcome(outcome, host, None, None);
    cause.map_or_else(|| "no answer".to_owned(), |cause| cause.to_string())
}
