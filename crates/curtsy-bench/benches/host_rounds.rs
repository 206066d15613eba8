//! Rounds of admit, reserve and observe per second of CPU on one core, and how large a host is at
//! rest.
//!
//! Each figure is the best of several runs, in CPU time of this thread, so that a busy machine
//! doesn't count.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use curtsy_bench::host::{Around, START, STEP};
use curtsy_core::host::{HostState, LeaseId};

const RUNS: usize = 15;
const ROUNDS: u32 = 100_000;
/// Within the TTL of a robots.txt, which is then confirmed.
const ROUNDS_PER_LEARN: u32 = 100;

fn main() {
    println!("{:<36} {:>12} {:>12}", "", "ns a round", "rounds / s");
    let cases = [
        ("no robots.txt", Around::without_robots()),
        ("a robots.txt of 2 KB", Around::with_robots()),
    ];
    for (name, around) in &cases {
        let best = (0..RUNS).map(|_| seconds(around));
        let best = best.fold(f64::INFINITY, f64::min) / f64::from(ROUNDS);
        println!("{name:<36} {:>12.0} {:>12.0}", best * 1e9, 1.0 / best);
    }
    let around = &cases[1].1;
    println!("\n{:<36} {:>12}", "", "bytes");
    for (name, bytes) in [
        ("a host in memory, without its heap", size_of::<HostState>()),
        ("a new host, encoded", HostState::default().encode().len()),
        ("a quiet host, encoded", around.quiet().encode().len()),
        ("a busy host, encoded", around.busy().encode().len()),
    ] {
        println!("{name:<36} {bytes:>12}");
    }
}

fn seconds(around: &Around) -> f64 {
    let mut state = around.quiet();
    let mut now = START + STEP * 5;
    let start = ThreadTime::now();
    for round in 0..ROUNDS {
        if round % ROUNDS_PER_LEARN == 0 {
            around.learn(&mut state, now);
        }
        now = now + STEP;
        around.round(black_box(&mut state), now, LeaseId(u64::from(round)));
    }
    black_box(state);
    start.elapsed().as_secs_f64()
}
