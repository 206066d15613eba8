//! CPU time of the robots.txt engine on the worst files that we know: parsing (with `for_agent`)
//! and one decision.
//!
//! Each is the least of several runs, in CPU time of this thread, so that a busy machine doesn't
//! count.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use curtsy_bench::robots::{PRODUCT, Worst, worst};
use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::Robots;

fn main() {
    println!("{:<42} {:>7} {:>10} {:>12}", "file", "lines", "parse ms", "decide ms");
    let (mut slowest_parse, mut slowest_decide) = (0.0_f64, 0.0_f64);
    for Worst { name, text, path } in worst() {
        let parse =
            least(7, || Robots::parse(black_box(&text)).for_agent(PRODUCT, AgentMatch::Rfc));
        let rules = Robots::parse(&text).for_agent(PRODUCT, AgentMatch::Rfc);
        let decide = least(30, || rules.decide(black_box(&path)));
        println!(
            "{name:<42} {:>7} {parse:>10.2} {decide:>12.3}",
            text.iter().filter(|&&b| b == b'\n').count()
        );
        slowest_parse = slowest_parse.max(parse);
        slowest_decide = slowest_decide.max(decide);
    }
    println!("{:<42} {:>7} {slowest_parse:>10.2} {slowest_decide:>12.3}", "the slowest", "");
}

fn least<T>(runs: usize, mut run: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let start = ThreadTime::now();
        black_box(run());
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}
