//! `curtsy sim`: lives days of a whole fleet in a simulated web, with the judge as the oracle.
//!
//! A day depends on its seed alone and runs on one thread; days share nothing, so they run in
//! parallel. The result of a day is added to the sum and dropped: a thousand days need no more
//! memory than a few. The same arguments print the same data, on any machine and with any number of
//! jobs; the time taken goes to stderr.

mod sum;

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use curtsy_core::policy::Preset;
use curtsy_sim::{Mode, Outcome as Day, Spec, simulate};

use super::{Console, Exit, printable};
use sum::Sum;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct SimArgs {
    /// How many days; each has the next seed
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    days: u64,
    /// The seed of the first day
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// What a day is to show
    #[arg(long, value_enum, default_value_t = Show::Both)]
    mode: Show,
    /// The manners to go by; without it each seed chooses a preset
    #[arg(long, value_name = "PRESET", value_parser = preset())]
    preset: Option<Preset>,
    /// Workers of the fleet
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    workers: u16,
    /// Hosts of the simulated web
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    hosts: u16,
    /// How long a day is
    #[arg(long, default_value_t = 24, value_name = "H", value_parser = clap::value_parser!(u16).range(1..=240))]
    hours: u16,
    /// Nothing goes wrong: no crash, no lost write, no step of a clock
    #[arg(long)]
    no_faults: bool,
    /// Days that run at once; without it one for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print a host's last exchanges and the faults meanwhile: of a single day, or of the days that
    /// failed
    #[arg(long, value_name = "HOST")]
    trace: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// Any faults, any moods of the hosts: P0 to P15 hold and no URL is lost
    Safety,
    /// Faults end after a third of the day: from then on P16 holds too, and no pace is wasted
    Liveness,
    /// Safety for even seeds, liveness for odd ones
    Both,
}

pub(super) fn run(args: &SimArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let sum = live(args, console)?;
    if args.json {
        writeln!(console.out, "{:#}", sum.to_json(args))?;
    } else {
        sum.print(args, console)?;
    }
    Ok(if sum.failed == 0 { Exit::Fine } else { Exit::Refused })
}

/// Runs the days on threads and sums them up here.
fn live(args: &SimArgs, console: &mut Console<'_>) -> anyhow::Result<Sum> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let jobs = args.jobs.map_or(cores, u64::from).min(args.days);
    let next = AtomicU64::new(0);
    let (tell, told) = mpsc::sync_channel(64);
    note_panics_of_days();
    let sum = thread::scope(|scope| {
        for _ in 0..jobs {
            let (next, tell) = (&next, tell.clone());
            thread::Builder::new().name(DAY_THREAD.to_owned()).spawn_scoped(scope, move || {
                loop {
                    let day = next.fetch_add(1, Ordering::Relaxed);
                    if day >= args.days {
                        break;
                    }
                    let seed = args.seed.wrapping_add(day);
                    // Nobody listens any more once stdout is closed.
                    if tell.send((seed, one_day(args, seed))).is_err() {
                        break;
                    }
                }
            })?;
        }
        drop(tell);
        // Ends, and drops `told`, on the first error: the threads then end after their current day.
        sum_up(args, told, console)
    });
    // Back to the usual hook.
    drop(panic::take_hook());
    sum
}

fn sum_up(
    args: &SimArgs,
    told: mpsc::Receiver<(u64, Result<Day, String>)>,
    console: &mut Console<'_>,
) -> anyhow::Result<Sum> {
    let mut sum = Sum::default();
    let mut progress = SimProgress::new();
    loop {
        match told.recv_timeout(PROGRESS_EVERY) {
            Ok((seed, day)) => {
                if let Some(failure) = sum.add(args, seed, day) {
                    writeln!(console.err, "{}", printable(&failure))?;
                }
                if sum.days % PROGRESS_DAYS == 0 {
                    progress.say(&sum, args, console)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if progress.said.elapsed() >= PROGRESS_EVERY {
            progress.say(&sum, args, console)?;
        }
    }
    progress.say(&sum, args, console)?;
    Ok(sum)
}

/// One day, or the words with which it panicked.
fn one_day(args: &SimArgs, seed: u64) -> Result<Day, String> {
    let spec = args.spec(seed);
    caught(|| simulate(&spec))
}

impl SimArgs {
    fn mode_of(&self, seed: u64) -> Mode {
        match self.mode {
            Show::Safety => Mode::Safety,
            Show::Liveness => Mode::Liveness,
            Show::Both if seed.is_multiple_of(2) => Mode::Safety,
            Show::Both => Mode::Liveness,
        }
    }

    fn spec(&self, seed: u64) -> Spec {
        Spec {
            seconds: u64::from(self.hours) * 3600,
            workers: usize::from(self.workers),
            hosts: usize::from(self.hosts),
            faults: !self.no_faults,
            policy: self.preset.map(curtsy_sim::endless),
            trace: self.trace.clone(),
            ..Spec::day(seed, self.mode_of(seed))
        }
    }

    /// The command that lives one day again and shows what happened on a host.
    fn replay(&self, seed: u64, host: Option<&str>) -> String {
        let mode = match self.mode_of(seed) {
            Mode::Safety => "safety",
            Mode::Liveness => "liveness",
        };
        let mut command = format!("curtsy sim --seed {seed} --days 1 --mode {mode}");
        if let Some(preset) = self.preset {
            command += &format!(" --preset {}", preset.name());
        }
        for (flag, value, usual) in
            [("workers", self.workers, 16), ("hosts", self.hosts, 50), ("hours", self.hours, 24)]
        {
            if value != usual {
                command += &format!(" --{flag} {value}");
            }
        }
        if self.no_faults {
            command += " --no-faults";
        }
        if let Some(host) = host.or(self.trace.as_deref()) {
            command += &format!(" --trace {host}");
        }
        command
    }
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::WORDS)
        .map(|word| Preset::parse(&word).expect("one of the words"))
}

/// Says now and then how far it is.
struct SimProgress {
    began: Instant,
    said: Instant,
}

impl SimProgress {
    fn new() -> SimProgress {
        let now = Instant::now();
        SimProgress { began: now, said: now }
    }

    fn say(&mut self, sum: &Sum, args: &SimArgs, console: &mut Console<'_>) -> anyhow::Result<()> {
        self.said = Instant::now();
        let took = self.began.elapsed().as_secs_f64();
        writeln!(
            console.err,
            "{} of {} days, {} failed, {} requests, {:.0} s, {:.0} times as fast as real time",
            sum.days,
            args.days,
            sum.failed,
            sum.requests,
            took,
            sum.seconds as f64 / took.max(1e-3),
        )?;
        Ok(())
    }
}

/// Runs something that may panic: what it touches is dropped with it.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(run))
        .map_err(|_| PANIC.take().unwrap_or_else(|| "panicked".to_owned()))
}

thread_local! {
    /// How the day on this thread panicked.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A day that panics has failed; it is kept for the result with its seed. (The usual panic hook
/// would wait for stderr, which the command holds.)
fn note_panics_of_days() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        if thread::current().name() == Some(DAY_THREAD) {
            let words = panicked.to_string().replace('\n', " ");
            PANIC.set(Some(words));
        } else {
            usual(panicked);
        }
    }));
}

const DAY_THREAD: &str = "fleet-day";

const PROGRESS_EVERY: Duration = Duration::from_secs(5);
const PROGRESS_DAYS: u64 = 25;

const HELP: &str = "\
A fleet crawls a made-up web in which servers slow down, refuse, vanish and change their \
robots.txt, while workers crash and pause, and the store loses writes, steps its clock and goes \
away. The judge reads the servers' own log. Each day follows from its seed alone: a day that \
fails prints the command that lives it again. The table counts how often each rule was judged \
and broken, each fault, and how URLs ended.

Examples:
  curtsy sim                  two days: 16 workers, 50 hosts, faults on
  curtsy sim --days 1000      a thousand days; takes a night or less
  curtsy sim --days 20 --seed 500 --preset careful --mode safety
  curtsy sim --seed 123 --days 1 --mode safety --trace h7.test
      lives that day again and shows what h7.test saw

Exit codes: 0 nothing broken, nothing lost; 1 a violation or a lost URL; 2 a wrong argument.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_kept_with_its_place_and_its_words() {
        note_panics_of_days();
        let day =
            thread::Builder::new().name(DAY_THREAD.into()).spawn(|| caught(|| panic!("no lease")));
        let words: Result<(), String> = day.unwrap().join().unwrap();
        let words = words.unwrap_err();
        assert!(words.contains("sim.rs") && words.ends_with("no lease"), "{words}");
    }
}
