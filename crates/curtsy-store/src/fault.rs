//! What a ledger or a crawl's file could not do, and what is said about it.

use crate::place::Place;
use curtsy_file::trouble;

/// Something could not be read or written, in the words of whoever keeps it.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A file.
    Sqlite(rusqlite::Error),
    /// A database.
    #[cfg(feature = "postgres")]
    Postgres(crate::postgres::Failure),
}

impl Fault {
    /// What it means for whoever waits, with the next step. A file's error is told of the ledger: the crawl's own file has its own words.
    pub(crate) fn trouble(&self, place: &Place) -> String {
        match (self, place) {
            (Fault::Sqlite(error), Place::File(path)) => trouble(path, error),
            #[cfg(feature = "postgres")]
            (Fault::Sqlite(error), Place::Postgres(_)) => {
                format!(
                    "can't write what goes with this crawl: {error}\nhint: is there room for temporary files?"
                )
            }
            #[cfg(feature = "postgres")]
            (Fault::Postgres(failure), _) => failure.trouble(place),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

#[cfg(feature = "postgres")]
impl From<crate::postgres::Failure> for Fault {
    fn from(failure: crate::postgres::Failure) -> Fault {
        Fault::Postgres(failure)
    }
}
