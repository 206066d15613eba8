//! What a service is told when it starts.

use std::net::SocketAddr;

use curtsy_core::policy::SettledPolicy;
use curtsy_crawl::RouteChoices;
use curtsy_store::LedgerPlace;

use crate::{Bounds, Break, DbError};

/// A service.
#[derive(Clone, Debug)]
pub struct ServeSpec {
    /// Where it listens; port 0 is any free one.
    pub bind: SocketAddr,
    /// Accepted names besides its address and `localhost`: `host` or `host:port`.
    pub names: Vec<String>,
    /// Where hosts, runs and pages are kept.
    pub store: LedgerPlace,
    /// The manners of its runs; each run's mode is put on top.
    pub settled: SettledPolicy,
    /// The way out of its runs.
    pub way: RouteChoices,
    /// The token for changes. Without one, the database has a token, which is made at the first
    /// start.
    pub token: Option<String>,
    /// How often the contract's checks are carried out by themselves; never without.
    pub check_every: Option<std::time::Duration>,
    /// What one client may take up of it.
    pub bounds: Bounds,
    /// A site of the demonstration, shown on the first page.
    pub example: Option<String>,
    /// Breaks a behaviour on purpose, so that its check can be seen to notice.
    pub breaks: Option<Break>,
}

/// A service that can't start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("can't listen on {bind}: {source}\nhint: `--bind 127.0.0.1:0` takes any free port")]
    Bind {
        /// The address.
        bind: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The database.
    #[error(transparent)]
    ServiceDatabase(#[from] DbError),
    /// The ledger of hosts.
    #[error(transparent)]
    Ledger(#[from] curtsy_store::OpenError),
    /// The sites of the demonstration.
    #[error("the demonstration's sites could not be started: {0}")]
    Demo(std::io::Error),
    /// The runtime or the socket.
    #[error("the service ended: {0}")]
    Io(#[from] std::io::Error),
}
