//! The service: ingestion of small business sites for products, with an HTTP API and web pages.
//!
//! A run is a crawl of `curtsy-crawl` on a ledger of hosts that all runs, and every other process on the machine, share; this crate has
//! no rule about crawling. What it adds: who may ask ([`door`]), orders and runs ([`ingest`]), what is kept of them ([`records`],
//! [`db`]), tiles (made by `curtsy-tiles`), the pages that people look at ([`pages`]), and the contract's checks, which are really
//! carried out ([`health`]).

#![allow(rustdoc::private_intra_doc_links, reason = "the map above is for who reads this crate")]

mod api;
mod app;
mod db;
mod demo;
mod door;
mod health;
mod ingest;
mod limits;
mod listen;
mod orbit;
mod pages;
mod records;
mod secret;
mod spec;

pub use app::{Serving, rotate_token, start};
pub use db::DbError;
pub use demo::Demo;
pub use health::Break;
pub use limits::limits;
pub use listen::Bounds;
pub use spec::{ServeError, ServeSpec};
