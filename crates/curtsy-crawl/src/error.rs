//! Errors of a crawl's order, and of the crawl itself.

use std::path::PathBuf;

use curtsy_core::policy::{Preset, nearest};

/// A wrong order.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// Neither a preset nor a file.
    #[error("`{0}` is neither a preset nor a file\nhint: {meant}the presets are {presets}", meant = meant(.0), presets = presets())]
    NoPolicy(String),
    /// A policy file that cannot be read.
    #[error("could not read the policy file `{path}`: {source}")]
    PolicyFile {
        /// Its name.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A text that is not a URL that can be crawled.
    #[error("`{text}` is no URL that can be crawled: {why}")]
    Seed {
        /// The text, without a password and the values of a query.
        text: String,
        /// The reason, and perhaps a hint.
        why: String,
    },
    /// Not a network.
    #[error("`{text}` {why}\nhint: {hint}")]
    Network {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
        /// Valid forms.
        hint: String,
    },
    /// A target whose format cannot be written.
    #[error("`--into {}`: {why}\nhint: {hint}", path.display())]
    Into {
        /// The name.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// Valid formats.
        hint: String,
    },
    /// A URL with a user name or a password in it.
    #[error(
        "`{text}` is no URL that can be crawled: it has a user name or a password in it, and a password is never sent because of a URL\nhint: leave it out; for a site of your own, `header` in the policy's section `[host.\"…\"]` sends what lets you in"
    )]
    Login {
        /// The text, without the user and the password.
        text: String,
    },
    /// A proxy that cannot be used.
    #[error("`{text}`: {why}")]
    Proxy {
        /// The text, without a password.
        text: String,
        /// What is wrong with it.
        why: curtsy_fetch::SettingsError,
    },
    /// Certificates that cannot be read.
    #[error("could not read the certificates in `{}`: {source}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A policy that cannot be applied, or that has no contact.
    #[error(transparent)]
    Policy(#[from] curtsy_core::policy::PolicyError),
    /// No folder for the ledger of hosts.
    #[error("no place for the ledger of hosts: neither `XDG_STATE_HOME` nor `HOME` is set")]
    NoLedger,
}

fn meant(name: &str) -> String {
    let near = nearest(name, Preset::WORDS.iter().copied());
    near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

fn presets() -> String {
    Preset::WORDS.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// An error of a crawl.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The operation needs a ledger in a file.
    #[error("this needs a ledger of hosts in a file, and `{0}` is none")]
    NoLedgerFile(String),
    /// A file could not be opened: the ledger, the frontier, or a target.
    #[error(transparent)]
    File(#[from] curtsy_store::OpenError),
    /// The store could not be written.
    #[error(transparent)]
    Write(#[from] curtsy_engine::StoreError),
    /// A setting of the outlet is wrong.
    #[error(transparent)]
    Outlet(#[from] curtsy_fetch::SettingsError),
    /// The rows cannot be written.
    #[error("{}", .0.why)]
    Rows(#[from] curtsy_engine::SinkError),
    /// The scope or a pattern is wrong.
    #[error(transparent)]
    Scope(#[from] curtsy_engine::discover::DiscoveryError),
    /// Seeds that do not belong to the crawl in the file.
    #[error(
        "`{}` holds the crawl of other seeds, and `{first}` is not among them{}\nhint: `--add` adds it to that crawl, `--into other.db` begins another one",
        file.display(), if *more > 0 { format!(" (nor are {more} more)") } else { String::new() }
    )]
    OtherSeeds {
        /// The crawl's file.
        file: PathBuf,
        /// The first of them, without the values of a query.
        first: String,
        /// How many more there are.
        more: usize,
    },
    /// A folder could not be created.
    #[error("could not make the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The system provides no event loop, no thread or no signals.
    #[error("could not start: {0}")]
    Runtime(std::io::Error),
}
