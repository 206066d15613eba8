//! Workers of a fleet through the program: a real Redis, librdkafka's mock brokers over TCP, `kcat` as the consumer, sites on loopback, the judge.

#![allow(clippy::print_stdout, reason = "the figures are what the long versions are run for")]

#[path = "../crawl/harness.rs"]
#[allow(dead_code, reason = "what crawls need and fleets don't")]
mod harness;

mod fleet;
mod trial;

mod brokers;
mod dead;
mod full;
mod judged;
mod killed;
mod limits;
mod lines;
mod orders;
mod own_side;
mod plain;
mod rate;
mod recovery;
mod rights;
mod schedule;
mod trouble;
