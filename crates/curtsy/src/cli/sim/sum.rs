//! The result of all days: counts, the judge's tallies, and the days that failed with everything
//! known about them.

use std::collections::BTreeMap;

use curtsy_core::policy::Preset;
use curtsy_core::url::CrawlUrl;
use curtsy_judge::JudgeReport;
use curtsy_sim::{Mode, Outcome as Day};
use serde_json::{Value as Json, json};

use super::super::{Console, printable};
use super::SimArgs;

/// What all days came to.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) days: u64,
    pub(super) failed: u64,
    pub(super) requests: u64,
    rows: u64,
    repeats: u64,
    lost: u64,
    pub(super) seconds: u64,
    /// The judge's tallies; its first pairs are with the failures.
    report: JudgeReport,
    presets: BTreeMap<&'static str, u64>,
    faults: BTreeMap<String, u64>,
    endings: BTreeMap<String, u64>,
    /// The first days that failed, by seed.
    failures: BTreeMap<u64, FailedDay>,
    /// The trace of a single day that did not fail.
    trace: Vec<String>,
}

/// A day on which something was broken or lost.
struct FailedDay {
    mode: Mode,
    what: Broken,
    replay: String,
    trace: Vec<String>,
}

enum Broken {
    Judged { preset: Preset, steps: u64, report: Box<JudgeReport>, lost: Vec<String> },
    Panicked(String),
}

impl Sum {
    /// Adds a day, and gives a line about it if it failed.
    pub(super) fn add(
        &mut self,
        args: &SimArgs,
        seed: u64,
        day: Result<Day, String>,
    ) -> Option<String> {
        self.days += 1;
        let mode = args.mode_of(seed);
        let failure = match day {
            Ok(mut day) => {
                self.add_counts(&day);
                let trace = std::mem::take(&mut day.trace).into();
                if day.clean() {
                    if args.days == 1 {
                        self.trace = trace;
                    }
                    return None;
                }
                let host = day.report.first.first().map(|first| first.host.clone());
                let host = host.or_else(|| Some(host_of(day.lost.first()?)?.to_owned()));
                day.lost.truncate(LOST_SHOWN);
                FailedDay {
                    mode,
                    replay: args.replay(seed, host.as_deref()),
                    what: Broken::Judged {
                        preset: day.preset,
                        steps: day.steps,
                        report: Box::new(day.report),
                        lost: day.lost,
                    },
                    trace,
                }
            }
            Err(words) => FailedDay {
                mode,
                replay: args.replay(seed, None),
                what: Broken::Panicked(words),
                trace: Vec::new(),
            },
        };
        self.failed += 1;
        let line = format!("seed {seed} failed; replay: {}", failure.replay);
        self.failures.insert(seed, failure);
        if self.failures.len() > FAILURES_KEPT {
            self.failures.pop_last();
        }
        Some(line)
    }

    fn add_counts(&mut self, day: &Day) {
        self.requests += day.requests;
        self.rows += day.rows;
        self.repeats += day.repeats;
        self.lost += day.lost.len() as u64;
        self.seconds += day.seconds;
        *self.presets.entry(day.preset.name()).or_default() += 1;
        for (sum, day) in [(&mut self.faults, &day.faults), (&mut self.endings, &day.endings)] {
            for (what, times) in day {
                *sum.entry(what.clone()).or_default() += times;
            }
        }
        let (sum, report) = (&mut self.report, &day.report);
        for (sum, tally) in sum.per_rule.iter_mut().zip(&report.per_rule) {
            sum.judged += tally.judged;
            sum.violations += tally.violations;
            sum.excused += tally.excused;
            sum.not_judged += tally.not_judged;
        }
        sum.exchanges += report.exchanges;
        sum.connections += report.connections;
        sum.connections_unknown += report.connections_unknown;
        sum.hosts += report.hosts;
        sum.unreadable += report.unreadable;
        sum.out_of_order += report.out_of_order;
        sum.forgotten += report.forgotten;
        sum.verdicts_by_one += report.verdicts_by_one;
        sum.matchers_differ += report.matchers_differ;
        for limit in &report.limits {
            if !sum.limits.contains(limit) {
                sum.limits.push(limit.clone());
            }
        }
    }

    pub(super) fn print(&self, args: &SimArgs, console: &mut Console<'_>) -> anyhow::Result<()> {
        let out = &mut console.out;
        for line in &self.trace {
            writeln!(out, "{}", printable(line))?;
        }
        for (seed, failure) in &self.failures {
            for line in failure.lines(*seed) {
                writeln!(out, "{}", printable(&line))?;
            }
            writeln!(out)?;
        }
        let unshown = self.failed - self.failures.len() as u64;
        if unshown > 0 {
            writeln!(out, "{unshown} further failed days are not shown\n")?;
        }
        self.report.print(&mut *out)?;
        writeln!(out)?;
        for (title, counts) in [("fault", &self.faults), ("ending", &self.endings)] {
            writeln!(out, "{title:<40} {:>12}", "times")?;
            for (what, times) in counts {
                writeln!(out, "{what:<40} {times:>12}")?;
            }
            writeln!(out)?;
        }
        let presets = self.presets.iter();
        let presets: Vec<String> = presets.map(|(name, n)| format!("{name} {n}")).collect();
        for (what, count) in [
            ("days", self.days),
            ("requests", self.requests),
            ("rows", self.rows),
            ("repeats", self.repeats),
            ("lost", self.lost),
            ("violations", self.report.violations()),
        ] {
            writeln!(out, "{what:<12} {count:>12}")?;
        }
        writeln!(out, "presets      {}", presets.join(", "))?;
        let verdict = match self.failed {
            0 => "clean".to_owned(),
            failed => format!("{failed} days failed"),
        };
        writeln!(
            out,
            "{verdict}: {} days from seed {}, {} requests, {} violations, {} URLs lost",
            self.days,
            args.seed,
            self.requests,
            self.report.violations(),
            self.lost
        )?;
        Ok(())
    }

    pub(super) fn to_json(&self, args: &SimArgs) -> Json {
        let failures: Vec<Json> =
            self.failures.iter().map(|(seed, failure)| failure.to_json(*seed)).collect();
        json!({
            "clean": self.failed == 0,
            "seed": args.seed,
            "days": self.days,
            "failed": self.failed,
            "requests": self.requests,
            "rows": self.rows,
            "repeats": self.repeats,
            "lost": self.lost,
            "violations": self.report.violations(),
            "simulated_seconds": self.seconds,
            "presets": self.presets,
            "faults": self.faults,
            "endings": self.endings,
            "judge": self.report.to_json(),
            "failures": failures,
            "trace": self.trace,
        })
    }
}

impl FailedDay {
    fn lines(&self, seed: u64) -> Vec<String> {
        let mut lines = self.trace.clone();
        let mode = format!("{:?}", self.mode).to_lowercase();
        match &self.what {
            Broken::Judged { preset, steps, report, lost } => {
                let name = preset.name();
                lines.push(format!("seed {seed} failed: {mode}, preset {name}, {steps} steps"));
                for violation in &report.first {
                    let (rule, host) = (violation.rule, &violation.host);
                    lines.push(format!("  {rule} on {host}: {}", violation.what));
                    let pair = [&violation.earlier, &violation.later];
                    lines.extend(pair.into_iter().flatten().map(|line| format!("    {line}")));
                }
                let differs = report.matchers_first.iter();
                lines.extend(
                    differs.map(|d| format!("  the judge's two robots matchers differ: {d}")),
                );
                lines.extend(lost.iter().map(|url| format!("  lost: {url}")));
            }
            Broken::Panicked(words) => {
                lines.push(format!("seed {seed} failed: {mode}, {words}"));
            }
        }
        lines.push(format!("  replay: {}", self.replay));
        lines
    }

    fn to_json(&self, seed: u64) -> Json {
        let mut json = json!({
            "seed": seed,
            "mode": format!("{:?}", self.mode).to_lowercase(),
            "replay": self.replay,
            "trace": self.trace,
        });
        match &self.what {
            Broken::Judged { preset, steps, report, lost } => {
                let first = report.first.iter().map(|violation| violation.to_json());
                json["preset"] = preset.name().into();
                json["steps"] = (*steps).into();
                json["first"] = first.collect();
                json["matchers_differ"] = report.matchers_first.clone().into();
                json["lost"] = lost.clone().into();
            }
            Broken::Panicked(words) => json["panic"] = words.clone().into(),
        }
        json
    }
}

fn host_of(url: &str) -> Option<String> {
    CrawlUrl::parse(url).ok().map(|url| url.host().as_str().to_owned())
}

/// Failed days that are shown with everything that is known of them.
const FAILURES_KEPT: usize = 10;

/// Lost URLs that are shown for a day.
const LOST_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use clap::Parser;
    use curtsy_judge::{Rule, RuleTally, Violation};

    use super::super::one_day;
    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: SimArgs,
    }

    fn args(line: &str) -> SimArgs {
        CommandLine::parse_from(line.split(' ')).args
    }

    /// A short day that went well, to be spoilt.
    fn good_day(args: &SimArgs, seed: u64) -> Day {
        let day = one_day(args, seed).unwrap();
        assert!(day.clean(), "{:?}", day.report.first);
        day
    }

    fn shown(args: &SimArgs, sum: &Sum) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console =
            Console { out: &mut out, err: &mut err, variables: Default::default(), json: false };
        sum.print(args, &mut console).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_day_with_a_violation_shows_the_pair_and_how_to_live_it_again() {
        let args =
            args("sim --hosts 3 --workers 2 --hours 1 --no-faults --mode safety --preset fleet");
        let mut day = good_day(&args, 7);
        day.report.per_rule[4] = RuleTally { violations: 1, ..day.report.rule(Rule::P4) };
        day.report.first.push(Violation {
            rule: Rule::P4,
            host: "h2.test".into(),
            at: 5,
            what: "two starts 1 ms apart".into(),
            earlier: Some("{\"start\":4}".into()),
            later: Some("{\"start\":5}".into()),
            earlier_source: None,
            later_source: None,
        });
        let mut sum = Sum::default();
        let line = sum.add(&args, 7, Ok(day)).unwrap();
        let replay = "curtsy sim --seed 7 --days 1 --mode safety --preset fleet --workers 2 --hosts 3 --hours 1 --no-faults --trace h2.test";
        assert_eq!(line, format!("seed 7 failed; replay: {replay}"));
        let text = shown(&args, &sum);
        assert!(text.starts_with("seed 7 failed: safety, preset fleet, "), "{text}");
        let pair =
            "\n  P4 on h2.test: two starts 1 ms apart\n    {\"start\":4}\n    {\"start\":5}\n";
        assert!(text.contains(pair), "{text}");
        assert!(text.contains("1 days failed: 1 days from seed 1"), "{text}");
        let json = sum.to_json(&args);
        assert_eq!(json["failures"][0]["first"][0]["later"]["start"], 5);
        assert_eq!(json["failures"][0]["replay"], replay);
        assert_eq!(json["clean"], false);
    }

    #[test]
    fn a_lost_url_is_a_failure_too_and_names_its_host() {
        let args = args("sim --hosts 3 --workers 2 --hours 1 --no-faults");
        let mut day = good_day(&args, 2);
        day.lost = (0..9).map(|n| format!("http://h1.test/p/{n}")).collect();
        let mut sum = Sum::default();
        let line = sum.add(&args, 2, Ok(day)).unwrap();
        assert!(
            line.ends_with(
                "--mode safety --workers 2 --hosts 3 --hours 1 --no-faults --trace h1.test"
            ),
            "{line}"
        );
        let text = shown(&args, &sum);
        assert_eq!(text.matches("  lost: http://h1.test/p/").count(), LOST_SHOWN);
        assert!(text.ends_with("0 violations, 9 URLs lost\n"), "{text}");
    }

    #[test]
    fn of_many_failed_days_the_first_seeds_are_kept() {
        let args = args("sim --days 50");
        let mut sum = Sum::default();
        for seed in (1..=50).rev() {
            let words = "panicked at visit.rs:1:1: no lease";
            assert!(sum.add(&args, seed, Err(words.into())).is_some());
        }
        assert_eq!((sum.days, sum.failed, sum.failures.len()), (50, 50, FAILURES_KEPT));
        let text = shown(&args, &sum);
        assert!(
            text.starts_with("seed 1 failed: liveness, panicked at visit.rs:1:1: no lease\n"),
            "{text}"
        );
        assert!(text.contains("\n40 further failed days are not shown\n"), "{text}");
        assert_eq!(
            sum.to_json(&args)["failures"][0]["panic"],
            "panicked at visit.rs:1:1: no lease"
        );
    }
}
