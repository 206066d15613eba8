//! One guarded HTTP exchange: the only place that opens a connection to a site.
//!
//! [`HttpFetch`] has the connections of one worker. [`Outlet`] is what the workers of a process
//! share: TLS roots, names, the guard, and the limits on connections and on bodies in memory. A
//! line takes these steps: `connect` resolves the name, judges every address, dials and does the
//! handshake, without a slot; `send` takes the permit, checks its deadline and writes the first
//! byte in one synchronous step; `body` reads and decodes within the policy's limits. [`Callback`]
//! needs no permit, and cannot crawl.
//!
//! Three invariants:
//!
//! - **No byte leaves late.** The permit is checked in the socket's own `poll_write` (`wire`), not
//!   when the request is queued. Only the line polls the future of its connection, so no slow task
//!   is in between.
//! - **One way out.** `egress::dial` is the only function of the workspace that may connect; clippy
//!   refuses another.
//! - **Everything has a limit**: heads, interim responses, trailers, bodies before and after
//!   decoding, time, speed, memory, connections, names.
//!
//! A redirect is a response like any other. No cookies or credentials are sent but those of the
//! proxy, and those that the policy has for a host of the user's own (`own`).

#![allow(async_fn_in_trait, reason = "a worker is one future on one thread: nothing needs Send")]

// The tests of the line itself share servers and permits with those over its public face.
#[cfg(test)]
extern crate self as curtsy_fetch;
#[cfg(test)]
#[allow(dead_code, reason = "shared")]
#[path = "../tests/exchange/client.rs"]
mod client;
#[cfg(test)]
#[allow(dead_code, reason = "shared")]
#[path = "../tests/exchange/secure.rs"]
mod secure;
#[cfg(test)]
#[allow(dead_code, reason = "shared")]
#[path = "../tests/exchange/site.rs"]
mod site;

mod ask;
mod callback;
mod clock;
pub mod coding;
mod connection;
mod egress;
mod fetch;
mod guard;
mod head;
mod limits;
mod line;
mod memory;
mod outlet;
mod own;
mod pool;
mod port;
mod proxies;
mod proxy;
mod resolve;
mod settings;
mod tls;
mod wire;

pub use callback::Callback;
pub use clock::TokioClock;
pub use fetch::{Counts, HttpFetch, HttpRoute};
pub use guard::{ForbiddenAddress, Guard, GuardRefusal, NamedHost};
pub use ipnet::IpNet;
pub use limits::limits;
pub use line::HttpLine;
pub use outlet::Outlet;
pub use proxies::Proxies;
pub use resolve::{Lookup, OsResolver, Resolve};
pub use settings::{FetchSettings, HttpProxy, NamePin, SettingsError, SpeedFloor};
