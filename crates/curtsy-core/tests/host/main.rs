//! The host in virtual time: what it may be asked and when, to the microsecond.
//!
//! Scripts say what happens at which moment and where a question is put ([`script`]); expectations
//! are exact. Jitter is off unless a test is about it, and robots.txt is known to be absent unless
//! a test is about that.

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
