//! The synthetic web, virtual time and faults, in which the engine lives a thousand days in a
//! night.
//!
//! It supplies `Store`, `Fetch` and `Clock` and a small seeded executor, and runs *the engine's
//! loop*: it has none of its own. The judge reads the servers' access log and is the oracle. A run
//! is made from its seed and nothing else; a failing one prints it and replays exactly.

mod chance;
mod director;
pub mod executor;
mod manners;
pub mod net;
pub mod outside;
mod plant;
mod run;
mod sabotage;
mod scenery;
pub mod store_faults;
pub mod web;
mod world;

pub use chance::Chance;
pub use manners::manners_of;
pub use run::{Backing, Mode, Outcome, Set, Spec, endless, simulate, simulate_over};
pub use sabotage::{ExtraDials, Mark, Misread, Sabotage, Tamper};
pub use world::{Life, SimClock, SimWorld};
