//! Walls: whatever a seed, a site or a name server says, nothing but public addresses is dialled.
//!
//! Each test has a network namespace of its own in which every address there is leads to loopback, so the guard is on as it is for
//! anybody, public addresses included: no test needs a network to be allowed, and nothing leaves the machine. What is dialled is read
//! from the wire. Linux only.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "what was counted is worth a look")]

mod breakers;
mod corpus;
mod crossing;
mod entrances;
mod lookups;
mod manners;
mod namespace;
mod own;
mod ports;
mod proxied;
mod resolver;
mod sites;
mod wire;
