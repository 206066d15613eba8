//! A worker of a fleet: URLs from a queue in Redis, pages to Redis, events to Kafka, and one set of
//! manners for all workers.
//!
//! The engine, the fetcher and the decisions are those of a crawl on one machine; only the places
//! of host states, URLs and pages differ. The order of writes is a promise here too: the page is in
//! the cache before its event is sent, and the event is acknowledged before the URL is settled. A
//! worker that is killed in between repeats these steps, under the same event id.

mod dead;
pub(crate) mod listen;
pub(crate) mod log;
mod meter;
mod reach;
pub(crate) mod reader;
pub(crate) mod run;
mod spec;
mod way_out;

pub use listen::{WorkerHealth, ask};
pub use log::FleetLog;
pub(crate) use reach::reach;
pub use run::{FleetError, WorkerReport, run};
pub use spec::{FleetSpec, QueueNames};
