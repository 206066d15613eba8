//! The service: ingestion of small business sites for products, with an HTTP API and web pages.
//!
//! A run is a crawl of `curtsy-crawl` on a ledger of hosts, which all runs and all other processes
//! on the machine share. This crate has no rule about crawling. It adds access ([`door`]), orders
//! and runs ([`ingest`]), their records ([`records`], [`db`]), tiles (from `curtsy-tiles`), web
//! pages ([`pages`]), and the contract's checks, which are really carried out ([`health`]).

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
