//! A worker of a fleet: URLs from a queue in Redis, pages to Redis, events to Kafka, one set of manners for all workers.
//!
//! The engine, its way out and its decisions are those of a crawl on one machine; what differs is where host states, URLs and pages are kept. Order
//! is the promise here too: the page is in the cache before its event is told, and the event is acknowledged before the URL is settled. A
//! worker that is killed in between repeats that, under the same event id.

mod dead;
pub(crate) mod listen;
pub(crate) mod log;
mod meter;
mod reach;
pub(crate) mod reader;
pub(crate) mod run;
mod spec;
mod way_out;

pub use listen::{Health, ask};
pub use log::Log;
pub use meter::METRICS;
pub(crate) use reach::reach;
pub use run::{FleetError, WorkerReport, run};
pub use spec::{FleetSpec, Names};
