//! Reads what the web sends: pages, sitemaps and feeds, and the signs that an answer is no page at
//! all.
//!
//! Bytes go in, plain data comes out. Nothing here opens a connection or a file, reads a clock or
//! throws dice; nothing panics, whatever the bytes; everything has a bound, and what a bound cut
//! off is counted.
//!
//! - [`html`]: what a page links to and says about itself, as a browser's finished tree would show
//!   it;
//! - [`sitemap`]: sitemaps, their indexes, text lists, RSS and Atom;
//! - [`challenge`]: whether an answer is a bot wall instead of the page;
//! - [`login`]: whether a redirect leads to a login; whether a page is one, `html` says;
//! - [`content_type`]: what kind of body it is, by its header and by its first bytes;
//! - [`link_header`]: the canonical address that a `Link` header names;
//! - [`charset`]: which encoding a document is in.
//!
//! Header values that decide about requests (`Retry-After`, `Cache-Control`, robots rules) are read
//! in `curtsy-core`.

pub mod challenge;
pub mod charset;
pub mod content_type;
pub mod html;
mod limits;
pub mod link_header;
pub mod login;
pub mod sitemap;

pub use limits::limits;
