//! One guarded HTTP exchange: the only place that opens a connection to a site.
//!
//! [`HttpFetch`] is one worker's way to the web, [`Outlet`] what the workers of a process share: the
//! TLS roots, the names, the guard, and the caps on connections and on bodies in memory. A line goes
//! through the steps that politeness needs: `connect` resolves, judges every address, dials and
//! shakes hands, and holds no slot; `send` takes the permit, checks its moment and writes the first
//! byte in one synchronous step; `body` reads what is wanted, decoded, and never more than the
//! policy allows. [`Callback`] is the one way out that needs no permit, and is no way to a site.
//!
//! Three things hold here and are worth knowing before changing anything:
//!
//! - **No byte leaves late.** The permit is checked in the socket's own `poll_write` (`wire`), not
//!   when the request is queued. The connection's future belongs to its line and is polled by nobody
//!   else, so there is no task in between that could be slow.
//! - **One way out.** `egress::dial` is the only function of the workspace that may connect; clippy
//!   refuses another.
//! - **Everything has a bound**: heads, interim replies, trailers, bodies before and after decoding, time, speed, memory, connections, names.
//!
//! Redirects are answers. There are no cookies and no credentials but the proxy's own, and those that the policy has for
//! a host of the user's own (`own`).

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
pub use fetch::{Counts, HttpFetch, Route};
pub use guard::{Forbidden, Guard, GuardRefusal, NamedHost};
pub use ipnet::IpNet;
pub use limits::limits;
pub use line::HttpLine;
pub use outlet::Outlet;
pub use proxies::Proxies;
pub use resolve::{Lookup, OsResolver, Resolve};
pub use settings::{NamePin, Proxy, Settings, SettingsError, SpeedFloor};
