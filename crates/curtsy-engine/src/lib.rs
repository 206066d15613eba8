//! The loop from seed to stored row, and the traits that it needs from outside.
//!
//! A worker is one future on one thread with a bounded set of visits; two cores are two workers, as
//! in a fleet. Nothing here spawns, reads a clock or draws a random number: time, store and network
//! come in through [`World`], rows and pages go out through [`Sink`] and [`Cache`]. The simulation
//! therefore runs this very loop.
//!
//! The order is guaranteed: offers, then row, then fate. A crash in between repeats work and never
//! loses a row.

#![allow(async_fn_in_trait, reason = "a worker is one future on one thread: nothing needs Send")]

pub mod answer;
mod bounded_set;
mod budget;
mod chain;
pub mod check;
mod choose;
mod commit;
mod dial;
pub mod discover;
mod exchange;
mod fetch;
mod finish;
mod flush;
mod giving_up;
mod grant;
mod head_fields;
mod health;
mod host_policies;
mod identity;
mod limits;
mod look;
mod memo;
pub mod memory;
mod note;
mod orders;
mod outbox;
mod page;
mod pages;
mod permit;
mod recover;
mod row;
mod rules_cache;
mod run;
mod schedule;
mod stamp;
mod store;
mod store_clock;
pub mod timetable;
mod url_fate;
mod visit;
mod visiting;
mod worker;
mod world;

pub use fetch::{Connected, Fetch, Head, Line, Reading, Request, Sent};
pub use finish::Over;
pub use limits::limits;
pub use look::{Look, decide, look, ruling};
pub use memo::WorkerMemory;
pub use note::{Listener, Note};
pub use orders::{Order, Orders};
pub use page::{Boxed, Cache, CachedPage, Document, Fetched, Page, PageSource, Reader};
pub use permit::{CommitReply, Permit, Receipt, commit};
pub use row::{Batch, Ending, Row, Sink, SinkError, Source, Step, Then};
pub use store::{
    AddressClaim, CheckBy, Commit, Committed, Epoch, Exchanged, FrictionEvent, Grant, Offered,
    Priority, Refusal, RobotsFile, Saved, Store, StoreError, Taken, UrlRecord, UrlWrite, View,
    Visit, Want, Wish,
};
pub use worker::{Outside, Worker, WorkerCounts, WorkerSettings};
pub use world::{Clock, Mono, Point, World};
