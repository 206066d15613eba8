//! What keeps a crawl from starting or going on.

use std::path::PathBuf;

/// A crawl could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// A file of the crawl could not be opened: the ledger, what is queued, or where the rows go.
    #[error(transparent)]
    File(#[from] curtsy_store::OpenError),
    /// The store could not be written.
    #[error(transparent)]
    Write(#[from] curtsy_engine::StoreError),
    /// A setting of the way out is wrong.
    #[error(transparent)]
    Outlet(#[from] curtsy_fetch::SettingsError),
    /// The rows can't be written.
    #[error("{}", .0.why)]
    Rows(#[from] curtsy_engine::SinkError),
    /// What is crawled is not clear.
    #[error(transparent)]
    Scope(#[from] curtsy_engine::discover::DiscoveryError),
    /// A folder could not be made.
    #[error("could not make the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gave us no event loop.
    #[error("could not start: {0}")]
    Runtime(std::io::Error),
}
