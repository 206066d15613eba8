//! Judges a log in one pass: the conditions of each start, and the changes of each end.
//!
//! Exchanges come in the order of their starts. Before a start is judged, every exchange that had
//! ended by then is settled, in the order of the ends, so a start is held only to what was known
//! when it happened. Nothing here looks ahead, and the memory for a host does not grow with the
//! log.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bench::{Bench, SeenExchange, span};
use crate::budget::PageBudget;
use crate::connection::{ConnectionChange, ConnectionEvent, LogEntry};
use crate::exchange::Exchange;
use crate::faults::CrawlerFault;
use crate::generations::HashedKeys;
use crate::hops::Hops;
use crate::host::JudgedHost;
use crate::host_name::canonical_host;
use crate::identity::LogIdentity;
use crate::live::WorkPlan;
use crate::manners::{HeldTo, Manners, micros};
use crate::matchers::{Matchers, SecondMatcher};
use crate::repeat::Repeats;
use crate::report::{JudgeReport, Violation};
use crate::rule::Rule;
use crate::trial::PendingExchange;

/// Reads a log, exchange by exchange, and reports the broken manners.
///
/// ```
/// use curtsy_judge::{Exchange, Judge, Manners, Rule};
///
/// let mut judge = Judge::new(Manners::default());
/// for (second, target, status) in [(0, "/robots.txt", 404), (3, "/a", 200), (5, "/b", 200)] {
///     let mut x = Exchange::get(second * 1_000_000, "example.org", target, status);
///     x.user_agent = Some("curtsy/0.1 (+me@example.org)".into());
///     judge.see(x);
/// }
/// let report = judge.finish();
/// assert!(!report.clean());
/// assert_eq!(report.first[0].rule, Rule::P4); // 2 s between /a and /b, 3 s were promised
/// ```
pub struct Judge {
    pub(crate) manners: Manners,
    pub(crate) bench: Bench,
    pub(crate) identity: LogIdentity,
    pub(crate) matchers: Matchers,
    pub(crate) hosts: Vec<JudgedHost>,
    pub(crate) by_name: HashMap<Arc<str>, usize, HashedKeys>,
    pub(crate) by_spelling: HashMap<Arc<str>, usize, HashedKeys>,
    /// Exchanges that have not ended, by their end and their number in the log.
    pub(crate) pending: BTreeMap<(u64, u64), PendingExchange>,
    pub(crate) addresses: BTreeMap<IpAddr, u32>,
    pub(crate) repeats: Repeats,
    pub(crate) hops: Hops,
    pub(crate) budget: PageBudget,
    pub(crate) detail: LogDetail,
    pub(crate) midway: bool,
    /// The start of the first exchange.
    pub(crate) begin: u64,
    given: Vec<(String, Arc<[u8]>)>,
    hosts_max: usize,
    /// The number of exchanges of hosts beyond `hosts_max`.
    left_out: u64,
    now: u64,
    exchanges: u64,
    /// Connections that were accepted, and those of them whose host is not known.
    connections: (u64, u64),
    out_of_order: u64,
    unreadable: u64,
    unreadable_first: Vec<String>,
}

/// The detail of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDetail {
    /// The resolution of its times.
    pub resolution: Duration,
    /// Whether it shows when an exchange ended.
    pub ends: bool,
    /// Whether it has the headers of the responses.
    pub headers: bool,
}

impl LogDetail {
    /// The log of a test server: microseconds, ends and headers.
    pub const FULL: LogDetail = LogDetail { resolution: Duration::ZERO, ends: true, headers: true };

    /// Returns the detail of two logs together.
    pub fn least(self, other: LogDetail) -> LogDetail {
        LogDetail {
            resolution: self.resolution.max(other.resolution),
            ends: self.ends && other.ends,
            headers: self.headers && other.headers,
        }
    }
}

impl Judge {
    /// Returns a judge that holds the log to these manners.
    pub fn new(manners: Manners) -> Judge {
        Judge {
            identity: LogIdentity::new(manners.product.as_deref()),
            budget: PageBudget::new(&manners),
            bench: Bench::new(manners.held_to),
            manners,
            matchers: Matchers::new(),
            hosts_max: HOSTS_MAX,
            left_out: 0,
            hosts: Vec::new(),
            by_name: HashMap::default(),
            by_spelling: HashMap::default(),
            pending: BTreeMap::new(),
            addresses: BTreeMap::new(),
            repeats: Repeats::new(URLS_MAX),
            hops: Hops::new(),
            detail: LogDetail::FULL,
            midway: false,
            begin: 0,
            given: Vec::new(),
            now: 0,
            exchanges: 0,
            connections: (0, 0),
            out_of_order: 0,
            unreadable: 0,
            unreadable_first: Vec::new(),
        }
    }

    /// Adds the spans in which work was waiting, so that liveness (P16) can be judged.
    pub fn with_plan(mut self, plan: impl IntoIterator<Item = WorkPlan>) -> Judge {
        for span in plan {
            let host = self.host_named(&span.host);
            self.hosts[host].live.plan(span.from, span.to);
        }
        self
    }

    /// Adds the faults on the crawler's side.
    pub fn with_faults(mut self, faults: Vec<CrawlerFault>) -> Judge {
        for fault in faults {
            self.fault(fault);
        }
        self
    }

    /// Sets the detail of the log. What the log does not show is not judged.
    pub fn with_detail(mut self, detail: LogDetail) -> Judge {
        self.detail(detail);
        self
    }

    /// Declares that the log begins in the middle of a crawl, which may have requested robots.txt
    /// before.
    pub fn with_log_from_midway(mut self) -> Judge {
        self.midway = true;
        self
    }

    /// Adds the robots.txt of a host, for logs without it. The host `*` is every host without one
    /// of its own.
    pub fn with_robots(mut self, host: &str, text: &[u8]) -> Judge {
        self.given.push((canonical_host(host), text.into()));
        self
    }

    /// Sets how often the second robots matcher is used. The default is always.
    pub fn with_second_matcher(mut self, how: SecondMatcher) -> Judge {
        self.matchers.second = how;
        self
    }

    /// Sets how many robots verdicts are remembered (131,072 by default). This only saves time.
    pub fn with_verdicts_max(mut self, verdicts: usize) -> Judge {
        self.matchers.remember(verdicts);
        self
    }

    /// Sets how many URLs are remembered for P9 and P10 (262,144 by default, about 30 MB).
    pub fn with_urls_max(mut self, urls: usize) -> Judge {
        self.repeats = Repeats::new(urls);
        self
    }

    /// Adds to what is known about the detail of the log.
    pub fn detail(&mut self, detail: LogDetail) {
        self.detail = self.detail.least(detail);
        self.bench.coarse = micros(self.detail.resolution);
    }

    /// Adds a fault while the log is being read, before the exchanges that it may excuse.
    pub fn fault(&mut self, fault: CrawlerFault) {
        self.bench.judged(Rule::P13);
        self.bench.faults.add(&fault);
    }

    /// Declares that work waits for this host from now on, until [`Judge::work_gone`].
    pub fn work_waiting(&mut self, host: &str, at: u64) {
        let host = self.host_named(host);
        self.hosts[host].live.plan(at, u64::MAX);
    }

    /// Declares that no work waits for this host any more.
    pub fn work_gone(&mut self, host: &str, at: u64) {
        let host = self.host_named(host);
        self.hosts[host].live.plan_ends(at);
    }

    /// Adds an order to send no more requests to this host: nothing may start later than 1 s after
    /// it.
    pub fn stop_order(&mut self, host: &str, at: u64) {
        let host = self.host_named(host);
        self.hosts[host].stops.push((at, u64::MAX));
    }

    /// Lifts all orders for this host.
    pub fn stop_lifted(&mut self, host: &str, at: u64) {
        let host = self.host_named(host);
        for stop in self.hosts[host].stops.iter_mut().filter(|stop| stop.1 == u64::MAX) {
            stop.1 = at;
        }
    }

    /// Counts an unreadable line, and keeps the first few to show.
    pub fn unreadable(&mut self, line: &crate::log::Unreadable) {
        self.unreadable += 1;
        if self.unreadable_first.len() < UNREADABLE_SHOWN {
            self.unreadable_first.push(line.to_string());
        }
    }

    /// Counts exchanges of new hosts from now on, without judging them.
    pub(crate) fn takes_no_more_hosts(&mut self) {
        self.hosts_max = 0;
    }

    /// Returns the number of hosts so far.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Returns the number of violations so far.
    pub fn violations(&self) -> usize {
        self.bench.violations + self.matchers.differ as usize
    }

    /// Returns the first violation of each rule that was broken so far, in the order of the rules.
    pub fn first(&self) -> impl Iterator<Item = &Violation> {
        self.bench.first.iter().flatten().map(|violation| &**violation)
    }

    /// Judges the next entry of the log, in the order of the starts. An exchange out of order is
    /// counted and not judged.
    pub fn see(&mut self, entry: impl Into<LogEntry>) {
        match entry.into() {
            LogEntry::Exchange(x) => self.exchange(x),
            LogEntry::Connection(event) => self.connection(&event),
        }
    }

    fn exchange(&mut self, mut x: Exchange) {
        let number = self.exchanges;
        self.exchanges += 1;
        if x.start < self.now {
            self.out_of_order += 1;
            return;
        }
        if number == 0 {
            self.begin = x.start;
        }
        self.now = x.start;
        x.end = x.end.max(x.start);
        self.settle_until(x.start);
        let Some(host) = self.host_spelt(&x.host) else {
            self.left_out += 1;
            return;
        };
        let authority = self.hosts[host].authority(x.scheme, x.port, &self.given);
        self.starts(host, authority, Arc::new(SeenExchange { number, x }));
    }

    fn connection(&mut self, event: &ConnectionEvent) {
        let host = event.host.as_ref().and_then(|host| self.host_spelt(host));
        if event.change != ConnectionChange::Accepted {
            // A close may become known later than it was.
            if let Some(host) = host {
                self.hosts[host].connections.closed(event);
            }
            return;
        }
        self.connections.0 += 1;
        if event.at < self.now {
            self.out_of_order += 1;
            return;
        }
        self.now = event.at;
        self.settle_until(event.at);
        match host {
            Some(host) => self.hosts[host].accepts(event, &mut self.bench),
            None => {
                self.connections.1 += 1;
                self.bench.not_judged(Rule::P17);
            }
        }
    }

    /// Declares that the log continues to `at`, even without requests until then: idling counts.
    pub fn log_goes_on_to(&mut self, at: u64) {
        self.settle_until(at);
        self.now = self.now.max(at);
    }

    /// Returns the results.
    pub fn finish(mut self) -> JudgeReport {
        self.settle_until(u64::MAX);
        self.judge_liveness();
        let forgotten = self.repeats.forgotten();
        let examples = self.bench.take_examples();
        if forgotten > 0 {
            for rule in [Rule::P9, Rule::P10] {
                self.bench.tallies[rule.index()].not_judged += forgotten;
            }
        }
        JudgeReport {
            per_rule: self.bench.tallies,
            first: self.bench.first.into_iter().flatten().map(|violation| *violation).collect(),
            exchanges: self.exchanges,
            hosts: self.hosts.iter().filter(|host| host.last.is_some()).count() as u64,
            product: self.identity.product.map(String::from),
            unreadable: self.unreadable,
            unreadable_first: self.unreadable_first,
            out_of_order: self.out_of_order,
            forgotten,
            verdicts_by_one: self.matchers.by_one,
            matchers_differ: self.matchers.differ,
            matchers_first: self.matchers.first,
            limits: limits(&self.detail, self.manners.held_to),
            held_to: self.manners.held_to,
            examples,
            disobeyed: self.bench.disobeyed.into_iter().collect(),
            crawl_delay: self.bench.crawl_delay,
            left_out: self.left_out,
            connections: self.connections.0,
            connections_unknown: self.connections.1,
        }
    }

    /// Judges P16 over the whole log, and for each host with enough gaps.
    fn judge_liveness(&mut self) {
        let (mut gaps, mut late) = (0, 0);
        let mut worst: Option<(u64, Violation)> = None;
        for host in &mut self.hosts {
            host.idle_at_end(self.now, &self.detail, &self.manners, &mut self.bench);
            let live = &host.live;
            gaps += live.gaps;
            late += live.late;
            let own = live.late_by_itself();
            let own_share = live.gaps >= 20 && own * 20 > live.gaps;
            let never = live.gaps < 20 && own > 1 && own * 2 > live.gaps;
            if let Some(first) = &live.first_late {
                let violation = first.violation(&host.name, live.late, live.gaps);
                if own_share || never {
                    self.bench.record(violation);
                } else if worst.as_ref().is_none_or(|(most, _)| live.late > *most) {
                    worst = Some((live.late, violation));
                }
            }
        }
        if late * 100 > gaps.max(100)
            && let Some((_, mut violation)) = worst
        {
            violation.what =
                format!("{late} of {gaps} gaps in the log too long; {}", violation.what);
            self.bench.record(violation);
        }
    }

    /// Returns the host of an exchange, or `None` for a new one when there are too many.
    fn host_spelt(&mut self, spelling: &Arc<str>) -> Option<usize> {
        if let Some(&host) = self.by_spelling.get(spelling) {
            return Some(host);
        }
        if self.hosts.len() >= self.hosts_max {
            return self.by_name.get(canonical_host(spelling).as_str()).copied();
        }
        let host = self.host_named(spelling);
        // The map is only a cache: a log full of odd spellings does not make it grow for ever.
        if self.by_spelling.len() >= SPELLINGS_MAX {
            self.by_spelling.clear();
        }
        self.by_spelling.insert(Arc::clone(spelling), host);
        Some(host)
    }

    fn host_named(&mut self, spelling: &str) -> usize {
        let name: Arc<str> = canonical_host(spelling).into();
        if let Some(&host) = self.by_name.get(&name) {
            return host;
        }
        self.hosts.push(JudgedHost::new(Arc::clone(&name), &self.manners));
        self.by_name.insert(name, self.hosts.len() - 1);
        self.hosts.len() - 1
    }
}

/// Returns what a log of this detail does not show.
fn limits(detail: &LogDetail, held_to: HeldTo) -> Vec<String> {
    let mut limits = Vec::new();
    let rules = |rules: &[Rule]| {
        let held: Vec<String> =
            rules.iter().filter(|rule| held_to.includes(**rule)).map(Rule::to_string).collect();
        (!held.is_empty()).then(|| held.join(", "))
    };
    if !detail.resolution.is_zero() {
        limits.push(format!(
            "times are known to {}: P4 is charged only if some gap is surely too short, so it is counted too low rather than too high",
            span(micros(detail.resolution))
        ));
    }
    if detail.resolution >= Duration::from_secs(1)
        && let Some(judged) = rules(&[Rule::P0, Rule::P1, Rule::P2, Rule::P3, Rule::P11])
    {
        limits.push(format!("times in whole seconds do not weaken {judged}"));
    }
    if !detail.ends
        && let Some(rules) = rules(&[Rule::P5, Rule::P6, Rule::P16])
    {
        limits.push(format!("the log does not say when an answer ended: {rules} are not judged"));
    }
    if !detail.headers
        && let Some(rules) = rules(&[Rule::P7, Rule::P8, Rule::P9, Rule::P10, Rule::P14])
    {
        let are = if rules.contains(',') { "are" } else { "is" };
        let tail = match held_to {
            HeldTo::Promises => ", a 503 does not count for P15",
            HeldTo::Wishes => "",
        };
        limits.push(format!("the log holds no headers of answers: {rules} {are} not judged{tail}"));
    }
    limits
}

/// Limit of the URLs that are remembered for P9 and P10.
const URLS_MAX: usize = 1 << 18;
const HOSTS_MAX: usize = 1 << 17;
const SPELLINGS_MAX: usize = 1 << 20;
const UNREADABLE_SHOWN: usize = 5;
