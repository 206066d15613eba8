//! What only tests use: the contracts of stores and sinks, and real servers that a test starts.
//!
//! The crate is only ever a dev-dependency.

pub mod services;
pub mod sink;
pub mod store;
