//! The program's parts, as a library, so that tests drive them through the same entrance.

pub mod cli;
pub mod conformance;
#[cfg(feature = "fleet")]
pub mod fleet;
mod limits;
pub mod linkcheck;
#[cfg(feature = "fleet")]
pub mod schedule;
mod signals;

pub use limits::limits;
