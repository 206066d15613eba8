//! Errors of Postgres, with messages that name the next step.

use std::error::Error;
use std::path::PathBuf;

use postgres::error::SqlState;

use crate::record::Damaged;
use crate::{LedgerPlace, OpenError};

/// A statement failed, or its result is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PgFailure {
    /// The server can't be reached, or has not answered.
    #[error("{0}")]
    Away(String),
    /// The server returned an error.
    #[error("{}", words(.0))]
    Server(postgres::Error),
    /// An earlier statement of the same transaction failed.
    #[error("an earlier statement of the transaction failed")]
    Spoilt,
    /// The database has data that this program has not written like this.
    #[error("its content can't be read: {0}")]
    Damaged(Damaged),
    /// The address can't be parsed.
    #[error("this is no address of a database")]
    NoAddress,
    /// The address demands TLS, which is not supported.
    #[error("TLS to a database is not supported")]
    NoTls,
    /// The encoding of the database can't represent every character.
    #[error("its encoding is `{0}`")]
    Encoding(String),
    /// The tables were made by a newer program.
    #[error("its {what} has version {found}, this program knows up to {known}")]
    Newer { what: &'static str, found: i64, known: i64 },
    /// A table of another program has the name of one of ours.
    #[error("it has a table `{0}` of another program")]
    Foreign(String),
    /// The server's clock changes faster than it can be read.
    #[error("its clock keeps changing")]
    Unsettled,
}

impl PgFailure {
    pub(super) fn damaged(error: impl Into<Damaged>) -> PgFailure {
        PgFailure::Damaged(error.into())
    }

    pub(super) fn is_missing_table(&self) -> bool {
        self.code() == Some(&SqlState::UNDEFINED_TABLE)
    }

    fn code(&self) -> Option<&SqlState> {
        match self {
            PgFailure::Server(error) => error.code(),
            _ => None,
        }
    }

    /// Returns the message for a failed write, with the next step.
    pub(crate) fn trouble(&self, place: &LedgerPlace) -> String {
        match self.code() {
            Some(&SqlState::DISK_FULL) => curtsy_file::full(&place.to_string()),
            Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED) => format!(
                "`{place}` is locked by another program, or too slow\nhint: `pg_stat_activity` shows what holds a transaction open there"
            ),
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => format!(
                "`{place}` can't be written to: {self}\nhint: name the primary, not one of its copies"
            ),
            _ => match self {
                PgFailure::Away(_) => format!(
                    "can't reach `{place}`: {self}\nhint: is the server up? pending writes are written when it is back"
                ),
                _ => format!("can't write to `{place}`: {self}"),
            },
        }
    }

    /// Returns the error for a ledger that can't be opened.
    pub(super) fn opening(self, place: &LedgerPlace) -> OpenError {
        let path = PathBuf::from(place.to_string());
        let hint = match (&self, self.code()) {
            (PgFailure::Away(_), _) => "is the server up, and is this its address?",
            (PgFailure::NoAddress, _) => "postgres://USER:PASSWORD@HOST/DATABASE",
            (PgFailure::NoTls, _) => {
                "a server on this machine or in a network of your own needs none"
            }
            (PgFailure::Encoding(_), _) => "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
            (_, Some(&SqlState::INSUFFICIENT_PRIVILEGE)) => {
                "the first user creates the tables and needs CREATE on the schema"
            }
            _ => "",
        };
        match self {
            PgFailure::Newer { what, found, known } => {
                OpenError::Newer { path, what, found, known }
            }
            PgFailure::Foreign(table) => OpenError::Foreign { path, table },
            failure if hint.is_empty() => OpenError::Other { path, source: Box::new(failure) },
            failure => OpenError::Other { path, source: format!("{failure}\nhint: {hint}").into() },
        }
    }
}

impl From<postgres::Error> for PgFailure {
    fn from(error: postgres::Error) -> PgFailure {
        match error.code() {
            // A server that is starting or stopping counts as unreachable.
            None
            | Some(
                &SqlState::ADMIN_SHUTDOWN
                | &SqlState::CRASH_SHUTDOWN
                | &SqlState::CANNOT_CONNECT_NOW,
            ) => PgFailure::Away(words(&error)),
            Some(_) => PgFailure::Server(error),
        }
    }
}

/// Returns the message of an error and of its causes. Neither the server's nor the client's
/// messages contain passwords.
fn words(error: &postgres::Error) -> String {
    if let Some(from_server) = error.as_db_error() {
        return format!("{} ({})", from_server.message(), from_server.code().code());
    }
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}
