//! Reads what the web sends: pages, sitemaps and feeds, and the signs that a response is no page.
//!
//! Bytes go in, plain data comes out. Nothing here opens a connection or a file, reads a clock or
//! draws random numbers. Nothing panics for any bytes. Everything has a limit, and what a limit
//! removed is counted.
//!
//! - [`html`]: the links and statements of a page, from the tree that a browser would build;
//! - [`sitemap`]: sitemaps, their indexes, text lists, RSS and Atom;
//! - [`challenge`]: whether a response is a bot wall instead of the page;
//! - [`login`]: whether a redirect leads to a login (`html` recognises login pages);
//! - [`content_type`]: the kind of a body, by its header and by its first bytes;
//! - [`link_header`]: the canonical URL in a `Link` header;
//! - [`charset`]: the encoding of a document.
//!
//! `curtsy-core` reads header values that decide about requests (`Retry-After`, `Cache-Control`,
//! robots rules).

pub mod challenge;
pub mod charset;
pub mod content_type;
pub mod html;
mod limits;
pub mod link_header;
pub mod login;
pub mod sitemap;

pub use limits::limits;
