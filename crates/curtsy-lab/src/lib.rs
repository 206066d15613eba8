//! The laboratory: web sites on loopback with real sockets, for any crawler.
//!
//! [`sites`] plays scripted sites and keeps the access log that the judge reads. [`zoo`] serves
//! hosts that misbehave, each in one way. [`worlds`] are large and endless sites, computed page by
//! page, that measure how a crawler tells the two apart.

mod certificate;
mod clock;
mod event_loop;
mod log;
mod request;
pub mod sites;
mod wire;
pub mod worlds;
pub mod zoo;

pub use event_loop::StartError;
