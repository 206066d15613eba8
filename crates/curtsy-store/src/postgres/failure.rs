//! What Postgres could not do, said so that the next step is clear.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use postgres::error::SqlState;

use crate::record::Damaged;
use crate::{OpenError, Place};

/// Something that was asked of a database was not done, or nobody knows whether it was.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It can't be reached, or gave no answer.
    Away(String),
    /// It said no.
    Server(postgres::Error),
    /// An earlier statement of the same transaction failed.
    Spoilt,
    /// What was read is not what this program writes.
    Damaged(Damaged),
    /// The text that should say where it is does not.
    NoAddress,
    /// The text asks for a connection that nobody can read, and there is none.
    NoTls,
    /// It keeps text in a way that has no room for every sign.
    Encoding(String),
    /// A newer program made its tables.
    Newer { what: &'static str, found: i64, known: i64 },
    /// A table of that name is there, and not one of ours.
    Foreign(String),
    /// Its time changes faster than it can be read.
    Unsettled,
}

impl Failure {
    pub(super) fn damaged(error: impl Into<Damaged>) -> Failure {
        Failure::Damaged(error.into())
    }

    /// Whether a table is not there.
    pub(super) fn is_missing_table(&self) -> bool {
        self.code() == Some(&SqlState::UNDEFINED_TABLE)
    }

    fn code(&self) -> Option<&SqlState> {
        match self {
            Failure::Server(error) => error.code(),
            _ => None,
        }
    }

    /// What it means for whoever waits, with the next step.
    pub(crate) fn trouble(&self, place: &Place) -> String {
        match self.code() {
            Some(&SqlState::DISK_FULL) => curtsy_file::full(&place.to_string()),
            Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED) => format!(
                "`{place}` is locked by another program, or too slow\nhint: what holds a transaction open there? `pg_stat_activity` tells"
            ),
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => format!(
                "`{place}` can't be written to: {self}\nhint: name the primary, not one of its copies"
            ),
            _ => match self {
                Failure::Away(_) => format!(
                    "can't reach `{place}`: {self}\nhint: is the server up? what waits is written when it is back"
                ),
                _ => format!("can't write to `{place}`: {self}"),
            },
        }
    }

    /// What it means for whoever opens a ledger.
    pub(super) fn opening(self, place: &Place) -> OpenError {
        let path = PathBuf::from(place.to_string());
        let hint = match (&self, self.code()) {
            (Failure::Away(_), _) => "is the server up, and is this its address?",
            (Failure::NoAddress, _) => "postgres://USER:PASSWORD@HOST/DATABASE",
            (Failure::NoTls, _) => {
                "a server on this machine or in a network of your own needs none"
            }
            (Failure::Encoding(_), _) => "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
            (_, Some(&SqlState::INSUFFICIENT_PRIVILEGE)) => {
                "who opens it first makes its tables: that user needs CREATE on the schema"
            }
            _ => "",
        };
        match self {
            Failure::Newer { what, found, known } => OpenError::Newer { path, what, found, known },
            Failure::Foreign(table) => OpenError::Foreign { path, table },
            failure if hint.is_empty() => OpenError::Other { path, source: Box::new(failure) },
            failure => OpenError::Other { path, source: format!("{failure}\nhint: {hint}").into() },
        }
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Failure {
        match error.code() {
            // A server that is starting or ending is as good as none.
            None
            | Some(
                &SqlState::ADMIN_SHUTDOWN
                | &SqlState::CRASH_SHUTDOWN
                | &SqlState::CANNOT_CONNECT_NOW,
            ) => Failure::Away(words(&error)),
            Some(_) => Failure::Server(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Away(why) => f.write_str(why),
            Failure::Server(error) => f.write_str(&words(error)),
            Failure::Spoilt => f.write_str("an earlier part of the same write failed"),
            Failure::Damaged(error) => write!(f, "what is kept there can't be read: {error}"),
            Failure::NoAddress => f.write_str("this is no address of a database"),
            Failure::NoTls => f.write_str("TLS to a database is not supported"),
            Failure::Encoding(encoding) => write!(f, "its encoding is `{encoding}`"),
            Failure::Newer { what, found, known } => {
                write!(f, "its {what} has version {found}, this program knows up to {known}")
            }
            Failure::Foreign(table) => write!(f, "it has a table `{table}` of somebody else"),
            Failure::Unsettled => f.write_str("its clock does not settle"),
        }
    }
}

impl Error for Failure {}

/// What an error says, with its causes. The server's own words have no password in them; neither have the client's.
fn words(error: &postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return format!("{} ({})", told.message(), told.code().code());
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
