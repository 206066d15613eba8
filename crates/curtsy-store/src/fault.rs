//! Errors of a ledger or a frontier, with their messages.

use crate::place::LedgerPlace;
use curtsy_file::trouble;

/// A read or write of a ledger or a frontier failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum StoreFault {
    /// In a file.
    Sqlite(#[from] rusqlite::Error),
    /// In a database.
    #[cfg(feature = "postgres")]
    Postgres(#[from] crate::postgres::PgFailure),
}

impl StoreFault {
    /// Returns the message, with the next step. An error of SQLite is said of the ledger: the
    /// frontier has messages of its own.
    pub(crate) fn trouble(&self, place: &LedgerPlace) -> String {
        match (self, place) {
            (StoreFault::Sqlite(error), LedgerPlace::File(path)) => trouble(path, error),
            #[cfg(feature = "postgres")]
            (StoreFault::Sqlite(error), LedgerPlace::Postgres(_)) => {
                format!(
                    "can't write the queue of this crawl: {error}\nhint: is there room for temporary files?"
                )
            }
            #[cfg(feature = "postgres")]
            (StoreFault::Postgres(failure), _) => failure.trouble(place),
        }
    }
}
