//! Decides whether a URL may be fetched now, and says why.
//!
//! Everything here is a pure function of its input: the state of a host, the policy, what a site
//! said, and the time. The crate has no clock, no random numbers, no files and no network, so the
//! simulator can run a thousand days in it, and a recorded run can be replayed to the same
//! decisions.

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
