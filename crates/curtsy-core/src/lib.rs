//! Decides whether a URL may be fetched now, and says why.
//!
//! Everything here is a pure function of what goes in: the state of a host, the policy, what a site said, and the time.
//! There is no clock, no chance, no file and no network in this crate, so the simulator can live a thousand days in it and a
//! recorded run can be replayed to the same decisions.

mod words;

pub mod calendar;
pub mod chance;
pub mod evidence;
pub mod headers;
pub mod host;
pub mod limits;
pub mod policy;
pub mod robots;
pub mod time;
pub mod url;
