//! One host: its pace (P4), its slots (P5), its address (P6), stop orders, and its liveness.

use std::sync::Arc;

use crate::bench::{Bench, DELTA, Earlier, SeenExchange, span};
use crate::connections::HostConnections;
use crate::down::Down;
use crate::exchange::{Exchange, LogScheme, line_of};
use crate::faults::Faults;
use crate::judge::LogDetail;
use crate::live::{HANDSHAKE, HostActivity};
use crate::manners::{HeldTo, Manners, micros};
use crate::report::Violation;
use crate::robots::JudgedAuthority;
use crate::rule::Rule;
use crate::told::WaitsInForce;

/// What is known of one host.
pub(crate) struct JudgedHost {
    pub(crate) name: Arc<str>,
    delay_min: u64,
    delay_max: u64,
    slots: u32,
    pub(crate) retries: u8,
    pub(crate) pages_max: Option<u64>,
    /// The number of different pages that were requested.
    pub(crate) pages: u64,
    pub(crate) last: Option<Arc<SeenExchange>>,
    pace: Option<StartRun>,
    pub(crate) connections: HostConnections,
    in_flight: u32,
    /// When the host last gave a good answer.
    pub(crate) good_end: u64,
    pub(crate) authorities: Vec<JudgedAuthority>,
    pub(crate) told: WaitsInForce,
    pub(crate) down: Down,
    pub(crate) live: HostActivity,
    /// The times of stop orders, and when they were lifted.
    pub(crate) stops: Vec<(u64, u64)>,
}

/// A run of starts on a host, at their earliest possible times if each kept its distance.
struct StartRun {
    /// The start that began the run.
    first: Arc<SeenExchange>,
    /// The number of starts after it.
    more: u64,
    /// The earliest possible time of the last of them.
    earliest: u64,
    last_read_late: bool,
}

impl StartRun {
    fn from(seen: &Arc<SeenExchange>) -> StartRun {
        let (earliest, last_read_late) = (seen.x.at_earliest(), seen.x.read_late);
        StartRun { first: Arc::clone(seen), more: 0, earliest, last_read_late }
    }

    fn and_then_at(self, earliest: u64) -> StartRun {
        StartRun { more: self.more + 1, earliest, last_read_late: false, ..self }
    }

    /// Returns the earliest time for the next start.
    fn due(&self, delay: u64) -> u64 {
        self.earliest.saturating_add(delay)
    }

    fn charge(&self, host: &str, name: &str, delay: u64, x: &Exchange, bench: &mut Bench) {
        let short = self.due(delay).saturating_sub(x.start);
        let gap = x.start.saturating_sub(self.first.x.start);
        let at_most = gap.saturating_add(bench.coarse).saturating_add(self.first.x.early);
        bench.broken_by(Rule::P4, short, host, Earlier::Seen(&self.first), x, || match self.more {
            0 => format!(
                "started {}{} after the start before, the {name} is {}",
                if at_most > gap { "at most " } else { "" },
                span(at_most),
                span(delay)
            ),
            more => format!(
                "{} starts in {} by the log, and surely in less than {}; the {name} is {}",
                more + 2,
                span(gap),
                span(at_most),
                span(delay)
            ),
        });
    }
}

/// A gap without a start although work waited.
pub(crate) struct LateGap {
    earlier: Option<Arc<SeenExchange>>,
    later: Option<Arc<SeenExchange>>,
    at: u64,
    gap: u64,
    longest: u64,
}

impl JudgedHost {
    pub(crate) fn new(name: Arc<str>, manners: &Manners) -> JudgedHost {
        let own = manners.hosts.iter().find(|(host, _)| {
            host.as_str() == &*name || crate::host_name::canonical_host(host) == *name
        });
        let own = own.map(|(_, own)| own.clone()).unwrap_or_default();
        let (delay_min, delay_max) = own.delay.unwrap_or((manners.delay_min, manners.delay_max));
        JudgedHost {
            delay_min: micros(delay_min),
            delay_max: micros(delay_max.max(delay_min)),
            slots: u32::from(own.slots.unwrap_or(manners.slots)),
            retries: own.retries.unwrap_or(manners.retries),
            pages_max: own.pages,
            pages: 0,
            last: None,
            pace: None,
            connections: HostConnections::default(),
            in_flight: 0,
            good_end: 0,
            authorities: Vec::new(),
            told: WaitsInForce::default(),
            down: Down::default(),
            live: HostActivity::default(),
            stops: Vec::new(),
            name,
        }
    }

    pub(crate) fn delay_min(&self) -> u64 {
        self.delay_min
    }

    pub(crate) fn authority(
        &mut self,
        scheme: LogScheme,
        port: u16,
        given: &[(String, Arc<[u8]>)],
    ) -> usize {
        let known = self.authorities.iter().position(|a| a.port == port && a.scheme == scheme);
        known.unwrap_or_else(|| {
            let mut authority = JudgedAuthority::new(scheme, port);
            let own = given.iter().find(|(host, _)| **host == *self.name);
            let text = own.or_else(|| given.iter().find(|(host, _)| host == "*"));
            authority.given = text.map(|(_, text)| Arc::clone(text));
            self.authorities.push(authority);
            self.authorities.len() - 1
        })
    }

    /// P4: checks that consecutive starts of any kind are a delay apart.
    ///
    /// A log with exact times shows each gap. In a coarse one a start is somewhere in a span, and a
    /// run of starts is charged if they cannot all be a delay apart, wherever in their spans they
    /// were.
    pub(crate) fn keeps_distance(&mut self, seen: &Arc<SeenExchange>, bench: &mut Bench) -> bool {
        let x = &seen.x;
        let wishes = bench.held_to == HeldTo::Wishes;
        if wishes && &*x.target == "/robots.txt" {
            return true; // nobody can know the Crawl-delay before, and many crawlers ask for it in between
        }
        let Some(pace) = &self.pace else {
            self.pace = Some(StartRun::from(seen));
            return true;
        };
        if pace.last_read_late || x.read_late {
            bench.not_judged(Rule::P4);
            self.pace = Some(StartRun::from(seen));
            return true;
        }
        let crawl_delays: Vec<_> = self
            .authorities
            .iter()
            .map(|authority| authority.crawl_delay(x, bench))
            .filter(|(delay, _)| *delay > self.delay_min)
            .collect();
        let any = self.delay_min > 0 || !crawl_delays.is_empty();
        if wishes && !any {
            self.pace = Some(StartRun::from(seen));
            return true; // nobody asked for a delay
        }
        bench.judged(Rule::P4);
        let latest = x.start.saturating_add(bench.coarse);
        let mut in_force = self.delay_min;
        let mut kept = true;
        if pace.due(self.delay_min) > latest {
            pace.charge(&self.name, "delay", self.delay_min, x, bench);
            kept = false;
        } else {
            for (delay, by) in crawl_delays {
                bench.crawl_delay = bench.crawl_delay.max(delay);
                in_force = in_force.max(delay);
                if pace.due(delay) <= latest {
                    continue;
                }
                if let Some(by) = by {
                    // A crawler that lost its store must request robots.txt again before it can
                    // know the delay.
                    if bench.faults.store_lost(by.x.end, x.start) {
                        bench.excused(Rule::P4);
                        in_force = self.delay_min;
                        continue;
                    }
                    // The charge names the two starts, but the robots.txt is what may not have been
                    // received.
                    let told = bench.faults.excuse_unheard(by.number, by.x.start, by.x.end);
                    if told == crate::faults::KillDoubt::Perhaps {
                        bench.excused(Rule::P4);
                        in_force = self.delay_min;
                        continue;
                    }
                } else if !wishes {
                    continue;
                }
                pace.charge(&self.name, "Crawl-delay", delay, x, bench);
                kept = false;
                break;
            }
        }
        let due = pace.due(in_force);
        match kept && due > x.at_earliest() && due <= latest {
            true => self.pace = self.pace.take().map(|pace| pace.and_then_at(due)),
            false => self.pace = Some(StartRun::from(seen)),
        }
        kept
    }

    /// P5: checks the requests in flight to the host.
    pub(crate) fn keeps_slots(&self, x: &Exchange, bench: &mut Bench) {
        bench.judged(Rule::P5);
        if self.in_flight < self.slots {
            return;
        }
        let earlier = self.last.as_ref().map_or(Earlier::Nothing, Earlier::Seen);
        bench.broken(Rule::P5, &self.name, earlier, x, || {
            format!("{} in flight on the host, {} promised", self.in_flight + 1, self.slots)
        });
    }

    /// P6: checks the requests in flight to the server's address. Returns whether there is room for
    /// more.
    pub(crate) fn keeps_address(
        &self,
        x: &Exchange,
        in_flight: u32,
        cap: Option<u16>,
        bench: &mut Bench,
    ) -> bool {
        let Some(cap) = cap.map(u32::from) else { return true };
        bench.judged(Rule::P6);
        if in_flight > cap {
            let earlier = self.last.as_ref().map_or(Earlier::Nothing, Earlier::Seen);
            bench.broken(Rule::P6, &self.name, earlier, x, || {
                format!("{in_flight} in flight on the address, {cap} promised")
            });
        }
        in_flight < cap
    }

    /// P12: checks that nothing starts later than 1 s after a stop order.
    pub(crate) fn heeds_stop(&self, x: &Exchange, bench: &mut Bench) {
        for &(at, lifted) in &self.stops {
            if x.start < at || x.start >= lifted {
                continue;
            }
            bench.judged(Rule::P12);
            if bench.late(x.at_earliest(), at.saturating_add(STOP_WITHIN)) {
                bench.broken(Rule::P12, &self.name, Earlier::Nothing, x, || {
                    format!("started {} after a stop order", span(x.start - at))
                });
            }
        }
    }

    /// P16: checks the gap before this start, if work was waiting all through it.
    pub(crate) fn is_live(
        &mut self,
        seen: &Arc<SeenExchange>,
        detail: &LogDetail,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let x = &seen.x;
        if !self.live.planned() {
            return;
        }
        let Some((from, to)) = self.live.span_at(x.start) else {
            return self.live.used(x.conn, x.start);
        };
        let late_read = x.read_late || self.last.as_ref().is_some_and(|last| last.x.read_late);
        if let Some(gap) = self.idle(x.start, from, to, late_read, detail, manners, bench) {
            self.live.gaps += 1;
            bench.judged(Rule::P16);
            if gap.gap > gap.longest {
                match gap.gap - gap.longest <= HANDSHAKE {
                    true => self.live.is_late(x.start),
                    false => self.live.late += 1,
                }
                self.live
                    .first_late
                    .get_or_insert(LateGap { later: Some(Arc::clone(seen)), ..gap });
            }
        }
        self.live.used(x.conn, x.start);
        self.live.forget_spans_before(x.start);
    }

    /// P16: checks the gap after the last start, up to the end of the plan or of the log.
    pub(crate) fn idle_at_end(
        &mut self,
        now: u64,
        detail: &LogDetail,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let since = self.last.as_ref().map_or(0, |last| last.x.start);
        let Some((from, to)) = self.live.last_span().filter(|&(_, to)| to > since) else { return };
        let until = to.min(now);
        self.live.disturbed |= self.must_wait(until, manners, &bench.faults);
        let late_read = self.last.as_ref().is_some_and(|last| last.x.read_late);
        if let Some(gap) = self.idle(until, from, to, late_read, detail, manners, bench)
            && gap.gap > gap.longest.saturating_mul(2).saturating_add(AT_THE_EDGE)
        {
            bench.judged(Rule::P16);
            self.live.gaps += 1;
            // Nothing more came at all: every turn in the gap counts as late.
            self.live.late += (gap.gap / gap.longest.max(1)).max(1);
            self.live.first_late.get_or_insert(gap);
        }
    }

    /// Returns the gap that ends at `until`, if liveness can be judged in it.
    #[allow(clippy::too_many_arguments)] // one question, asked from two places
    fn idle(
        &self,
        until: u64,
        from: u64,
        to: u64,
        late_read: bool,
        detail: &LogDetail,
        manners: &Manners,
        bench: &mut Bench,
    ) -> Option<LateGap> {
        let last = self.last.as_ref().map(|last| last.x.start).filter(|&start| start >= from);
        let mut since = last.unwrap_or(from);
        let delays = self.authorities.iter().map(|a| a.crawl_delay_at_most(since));
        let crawl_delay = delays.max().unwrap_or(0);
        let mut longest = self.live.longest(self.delay_max, crawl_delay, manners);
        if last.is_none() {
            // The host of new work must first be found and connected to.
            longest = longest.saturating_mul(2).saturating_add(AT_THE_EDGE);
        }
        // An exchange that is longer than the delay postpones the next start until it ends.
        if self.live.freed > since.saturating_add(self.delay_min) {
            since = self.live.freed;
        }
        let parked = crawl_delay > micros(manners.crawl_delay_park);
        let stopped = self.stops.iter().any(|&(at, lifted)| at <= until && since <= lifted);
        let busy = self.in_flight >= self.slots;
        if self.live.disturbed || parked || stopped || busy || late_read || !detail.ends {
            bench.not_judged(Rule::P16);
            return None;
        }
        if until > to || bench.faults.disturbed(since, until) {
            bench.not_judged(Rule::P16);
            return None;
        }
        let gap = until.saturating_sub(since).saturating_sub(bench.coarse);
        let earlier = self.last.clone();
        Some(LateGap { earlier, later: None, at: until, gap, longest })
    }

    /// Records that something forbids starts since `at`, or that the crawler may think so.
    pub(crate) fn disturb(&mut self, at: u64) {
        self.live.disturbed = true;
        self.live.disturbed_at = at;
    }

    /// Returns whether anything forbids a start now.
    pub(crate) fn must_wait(&self, at: u64, manners: &Manners, faults: &Faults) -> bool {
        self.told.waiting(at)
            || self.down.may_be_open()
            || self.authorities.iter().any(|authority| authority.closed(at, manners, faults))
    }

    pub(crate) fn started(&mut self, seen: &Arc<SeenExchange>, manners: &Manners, faults: &Faults) {
        self.in_flight += 1;
        self.connections.carries(&seen.x);
        // An order that was lifted before the last start can't matter to a gap any more.
        let before = self.last.as_ref().map_or(0, |last| last.x.start);
        self.stops.retain(|&(_, lifted)| lifted >= before);
        self.last = Some(Arc::clone(seen));
        if self.live.planned() {
            // A request that was in flight when the host had to wait does not end the wait.
            let start = seen.x.start;
            let just_now = start <= self.live.disturbed_at.saturating_add(DELTA);
            self.live.disturbed = just_now || self.must_wait(start, manners, faults);
        }
    }

    /// Handles the end of an exchange of the host.
    pub(crate) fn freed(&mut self, end: u64) {
        if self.in_flight >= self.slots {
            self.live.freed = end;
        }
        self.in_flight -= 1;
    }
}

impl LateGap {
    pub(crate) fn violation(&self, host: &str, late: u64, gaps: u64) -> Violation {
        let line = |seen: &Option<Arc<SeenExchange>>| seen.as_ref().map(|seen| line_of(&seen.x));
        Violation {
            rule: Rule::P16,
            host: host.to_owned(),
            at: self.at,
            what: format!(
                "{late} of {gaps} gaps too long while work waited; the first took {}, at most {} are fair",
                span(self.gap),
                span(self.longest)
            ),
            earlier: line(&self.earlier),
            later: line(&self.later),
            earlier_source: self.earlier.as_ref().and_then(|seen| seen.x.source.clone()),
            later_source: self.later.as_ref().and_then(|seen| seen.x.source.clone()),
        }
    }
}

const STOP_WITHIN: u64 = 1_000_000;
/// The time that the first start of new work, or the end, may take in addition to two delays.
const AT_THE_EDGE: u64 = 5_000_000;
