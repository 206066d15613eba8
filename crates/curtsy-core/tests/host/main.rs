//! The host in virtual time: which requests are allowed and when, to the microsecond.
//!
//! Scripts say what happens at which time and where a decision is checked ([`script`]).
//! Expectations are exact. Jitter is off unless a test is about it, and robots.txt is known to be
//! absent unless a test is about that.

mod backoff;
mod breaker;
mod budget;
mod manners;
mod pace;
mod retries;
mod risk;
mod robots;
mod script;
mod slots;
mod state;
