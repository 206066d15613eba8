//! Never early, hardly ever late: many hosts, one process, slow handshakes mixed in.
//!
//! The long version, with its table:
//! `CURTSY_HOSTS=1000 cargo nextest run --release -p curtsy --test crawl early --no-capture`

use std::collections::BTreeMap;

use curtsy_judge::{Exchange, Rule, WorkPlan};
use curtsy_lab::sites::Scene;

use crate::harness::{Town, assert_clean, judge_planned, policy};

#[test]
fn no_start_is_early() {
    let hosts: u32 = std::env::var("CURTSY_HOSTS").map_or(40, |n| n.parse().unwrap());
    let long = hosts >= 1000;
    let (delay_ms, pages): (u32, u32) = if long { (1000, 30) } else { (200, 8) };
    let mut town = Town::new(Scene::slow_handshakes(hosts, pages, 2_000));
    std::fs::write(town.path("ca.pem"), town.sites.as_ref().unwrap().ca_pem().unwrap()).unwrap();
    let seeds = town.seeds();
    let text = format!(
        "preset = 'warehouse'\n[pace]\ndelay = '{delay_ms}ms'\nadaptive = false\n[slots]\nper_host = 1\ntotal_connections = 2000\n[budget]\npages = 100000\n"
    );
    std::fs::write(town.path("p.toml"), text).unwrap();
    let args =
        ["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--ca-file", "ca.pem", "--quiet"];
    let ran = town.crawl(&args).ends(0);
    let log = town.close();
    assert!(log.len() as u32 >= hosts * pages, "{} exchanges\n{}", log.len(), ran.err);
    let seen = Gaps::of(&log, u64::from(delay_ms) * 1000);
    #[allow(clippy::print_stdout, reason = "the table is what the long version is run for")]
    {
        println!("{seen}");
    }
    assert_eq!(seen.early, 0, "{seen}");
    let plan = if long { waiting(&log) } else { Vec::new() };
    let report = judge_planned(log, &policy(&town.path("p.toml")), &[], plan);
    assert_clean(&report);
    if long {
        let lively = report.rule(Rule::P16);
        #[allow(clippy::print_stdout, reason = "as above")]
        {
            println!("P16: {} gaps judged, {} violations", lively.judged, lively.violations);
        }
        assert!(lively.judged > 0, "there was a plan");
    }
}

/// When pages of each host were waiting: from the sitemap on, which has to be read before there is more to ask for, to the last.
fn waiting(log: &[Exchange]) -> Vec<WorkPlan> {
    let plan = by_host(log).into_iter().filter_map(|(host, starts)| {
        let (from, to) = (starts.get(FIRST_GAPS)?.start, starts.last()?.start);
        Some(WorkPlan { host: host.to_owned(), from, to })
    });
    plan.collect()
}

/// The first gaps hold the handshake, and the sitemap that has to be read before there is more to ask for.
const FIRST_GAPS: usize = 3;

fn by_host(log: &[Exchange]) -> BTreeMap<&str, Vec<&Exchange>> {
    let mut hosts: BTreeMap<&str, Vec<&Exchange>> = BTreeMap::new();
    for x in log {
        hosts.entry(&x.host).or_default().push(x);
    }
    hosts.values_mut().for_each(|starts| starts.sort_by_key(|x| x.start));
    hosts
}

/// The spans between starts on each host.
struct Gaps {
    hosts: usize,
    gaps: usize,
    early: usize,
    /// Gaps beside which the server itself read late.
    stalled: usize,
    used_percent: f64,
    late_median_ms: f64,
    late_p99_ms: f64,
}

impl Gaps {
    fn of(log: &[Exchange], delay: u64) -> Gaps {
        let hosts = by_host(log);
        let (mut early, mut stalled, mut late) = (0, 0, Vec::new());
        let (mut turns, mut span) = (0, 0);
        for starts in hosts.values() {
            for pair in starts.windows(2).skip(FIRST_GAPS) {
                let gap = pair[1].start - pair[0].start;
                if pair.iter().any(|x| x.read_late) {
                    stalled += 1;
                    continue;
                }
                early += usize::from(gap < delay);
                late.push(gap.saturating_sub(delay));
                (turns, span) = (turns + 1, span + gap);
            }
        }
        late.sort_unstable();
        let at = |part: f64| {
            late.get((late.len() as f64 * part) as usize).map_or(0.0, |us| *us as f64 / 1000.0)
        };
        Gaps {
            hosts: hosts.len(),
            gaps: late.len(),
            early,
            stalled,
            used_percent: 100.0 * (turns * delay) as f64 / span.max(1) as f64,
            late_median_ms: at(0.5),
            late_p99_ms: at(0.99),
        }
    }
}

impl std::fmt::Display for Gaps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} hosts, {} gaps: {} early, {:.1} % of the polite maximum used, late by {:.1} ms at the median and {:.1} ms at p99; {} gaps set aside where the server stalled",
            self.hosts,
            self.gaps,
            self.early,
            self.used_percent,
            self.late_median_ms,
            self.late_p99_ms,
            self.stalled
        )
    }
}
