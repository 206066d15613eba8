//! Instructions that a host's decisions take: one admit, one whole round, and the way to bytes and
//! back.
//!
//! A round is admit, reserve and observe. `none` is a host without a robots.txt; `typical` has one
//! of 2 KB, which is asked about the path twice in a round, by admit and by reserve.

#![expect(missing_docs, reason = "the macros of gungraun make public items")]

use std::hint::black_box;

use curtsy_bench::host::{Around, START, STEP};
use curtsy_core::host::{Decision, HostState, LeaseId};
use gungraun::prelude::*;

fn rested(around: Around) -> (Around, HostState) {
    let state = around.quiet();
    (around, state)
}

fn quiet() -> HostState {
    Around::with_robots().quiet()
}

fn busy() -> HostState {
    Around::with_robots().busy()
}

#[library_benchmark]
#[bench::none(rested(Around::without_robots()))]
#[bench::typical(rested(Around::with_robots()))]
fn admit((around, state): (Around, HostState)) -> (Decision, Around, HostState) {
    let decision = black_box(&state).admit(&around.ask(), &around.scene(START + STEP * 9));
    black_box((decision, around, state))
}

#[library_benchmark]
#[bench::none(rested(Around::without_robots()))]
#[bench::typical(rested(Around::with_robots()))]
fn round((around, mut state): (Around, HostState)) -> (Around, HostState) {
    around.round(black_box(&mut state), START + STEP * 9, LeaseId(99));
    black_box((around, state))
}

#[library_benchmark]
#[bench::quiet(quiet())]
#[bench::busy(busy())]
fn encode(state: HostState) -> (Vec<u8>, HostState) {
    black_box((black_box(&state).encode(), state))
}

#[library_benchmark]
#[bench::quiet(quiet().encode())]
#[bench::busy(busy().encode())]
fn decode(bytes: Vec<u8>) -> (HostState, Vec<u8>) {
    let state = HostState::decode(black_box(&bytes)).expect("written by us");
    black_box((state, bytes))
}

library_benchmark_group!(name = decide, benchmarks = [admit, round]);
library_benchmark_group!(name = bytes, benchmarks = [encode, decode]);
main!(library_benchmark_groups = decide, bytes);
