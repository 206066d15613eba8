//! Host states and frontier: on SQLite for one machine, in Redis (`redis`) for a fleet.
//!
//! On SQLite they are two files. The [`Ledger`] keeps what is known of hosts: one for each user and machine, shared by every process that crawls, so that
//! two crawls have one pace for each host. The crawl's own file keeps its frontier, and the rows that a sink writes beside it; one
//! process at a time has it. A [`Crawl`] opens both, and each worker gets a [`Handle`], which is the engine's `Store`. For a service the ledger may
//! be in Postgres instead (`postgres`), and show risk scores and pages to whoever reads its tables ([`Shows`], [`PageCache`]).
//!
//! What must stay true:
//! - **A receipt is given after the write is with the operating system**: `kill -9` loses nothing that was told. A power cut may lose
//!   the last writes; the next boot begins a new epoch.
//! - **The ledger is written before the crawl's file.** A crash in between leaves a turn that nobody uses, and nothing else.
//! - **Another process is always possible in the ledger**: versions, stop orders and caps are compared inside the transaction that
//!   writes. Whatever is kept in memory of it is thrown away when the file has changed.
//! - **Nobody else is in the crawl's file**: memory is ahead of its tables, and a journal of changes is what makes it durable.
//!
//! No rule of politeness is here, and none may come.

#![allow(async_fn_in_trait, reason = "a worker is one future on one thread: nothing needs Send")]

mod books;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod clock;
mod core;
mod crawl;
mod fault;
mod handle;
mod headers;
mod hours;
mod kept;
mod ledger;
mod limits;
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

use std::time::Duration;

pub use crate::core::{Crawl, Options};
pub use crawl::{has_seed, queued_in};
pub use curtsy_file::OpenError;
pub use handle::Handle;
pub use hours::{Hours, Machine};
pub use ledger::Ledger;
pub use limits::limits;
pub use pages::PageCache;
pub use place::Place;
pub use shared::{SHARED_BYTES, SHARED_BYTES_MIN, SharedPage, SharedPages, SharedSize};
pub use shows::Shows;

/// How long a host that was handed out is kept from others, unless something is heard of it.
const HOLD: Duration = Duration::from_secs(10);
