//! Host states and frontier of a crawl: on SQLite for one machine, in Redis (`redis`) for a fleet.
//!
//! A store on one machine has two files. The [`Ledger`] keeps what is known of hosts. It is one
//! file for each user and machine, shared by all processes, so two crawls have one pace for each
//! host. The crawl's own file keeps its frontier, and a sink writes rows beside it; only one
//! process at a time uses it. A [`MachineStore`] opens both, and each worker gets a
//! [`StoreHandle`], which is the engine's `Store`. The ledger of a service may be in Postgres
//! instead (`postgres`), with readable tables of risk scores and pages ([`ReadableTables`],
//! [`PageCache`]).
//!
//! Invariants:
//! - **A commit is answered after the operating system has the write**: `kill -9` loses nothing
//!   that was answered. A power failure may lose the last writes; the next boot begins a new epoch.
//! - **The ledger is written before the crawl's file.** A crash in between wastes a turn, and
//!   nothing else.
//! - **Other processes may always write to the ledger.** Versions, stop orders and caps are
//!   compared inside the transaction that writes. What is in memory of the ledger becomes invalid
//!   when another process has written.
//! - **No other process writes to the crawl's file.** Memory is ahead of its tables, and a journal
//!   of changes makes it durable.
//!
//! No rule of politeness is here.

#![allow(async_fn_in_trait, reason = "a worker is one future on one thread: nothing needs Send")]

#[cfg(any(feature = "postgres", feature = "redis"))]
mod clock;
mod crawl;
mod fault;
mod handle;
mod headers;
mod host_ledger;
mod kept;
mod ledger;
mod limits;
mod machine_clock;
mod machine_store;
mod pages;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
#[cfg(feature = "redis")]
pub mod redis;
mod running;
mod shared;
mod shows;

pub use crawl::{has_seed, queued_in};
use curtsy_engine::check::HOLD;
pub use curtsy_file::OpenError;
pub use handle::StoreHandle;
pub use ledger::Ledger;
pub use limits::limits;
pub use machine_clock::{MachineClock, SystemClock};
pub use machine_store::{MachineStore, Options};
pub use pages::PageCache;
pub use place::LedgerPlace;
pub use shared::{SHARED_BYTES, SHARED_BYTES_MIN, SharedPage, SharedPages, SharedSize};
pub use shows::ReadableTables;
