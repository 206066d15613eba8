//! Prints the CPU time of SHA-256 for batches of page bodies: this crate beside the crate `sha2`.
//!
//! `cargo run --release -p curtsy-digest --example beside_sha2`
#![allow(clippy::print_stdout)]

use std::hint::black_box;

use sha2::{Digest, Sha256};

/// CPU seconds of this thread, user and system.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has schedstat");
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("nanoseconds come first")
}

fn main() {
    let rounds: u32 =
        std::env::args().nth(1).map_or(15, |n| n.parse().expect("a number of rounds"));
    println!(
        "bytes a body, bodies a batch: µs a body by sha2, by curtsy-digest (least of {rounds})"
    );
    for (bytes, bodies) in
        [(1024, 100), (10_240, 3), (10_240, 8), (10_240, 32), (10_240, 100), (102_400, 32)]
    {
        let texts: Vec<Vec<u8>> = (0..bodies)
            .map(|seed| {
                (0..bytes).map(|at: usize| (at.wrapping_mul(31) ^ seed * 97) as u8).collect()
            })
            .collect();
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let times = (20_000_000 / (bytes * bodies)).max(1);
        let mut least = [u64::MAX; 2];
        for _ in 0..rounds {
            let start = cpu_ns();
            for _ in 0..times {
                for text in black_box(&texts) {
                    black_box(Sha256::digest(text));
                }
            }
            let middle = cpu_ns();
            for _ in 0..times {
                black_box(curtsy_digest::sha256_of_each(black_box(&texts)));
            }
            let end = cpu_ns();
            least = [least[0].min(middle - start), least[1].min(end - middle)];
        }
        let [theirs, ours] = least.map(|ns| ns as f64 / 1000.0 / (times * bodies) as f64);
        println!("{bytes:7} {bodies:4}: {theirs:8.3} {ours:8.3}");
    }
}
