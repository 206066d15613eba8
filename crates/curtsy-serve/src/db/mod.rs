//! The service's own tables, in SQLite or Postgres: the same statements for both.
//!
//! Statements are written once, with `?1`, `?2` for their values. [`Value`] goes into whatever type a column has: a TIMESTAMP of
//! Postgres is ISO-8601 text with milliseconds and `Z` here, as it is in SQLite, and JSON is text. What differs in how tables
//! are made is said by [`schema`]. Calls block; handlers call them on threads where that is allowed ([`Database::ask`]).
//!
//! The ledger of hosts lies in the same database, so that what the service shows of hosts (`domain_risk`, `url_fetch_cache`) is written
//! with their state by the store. This module only reads those.

pub(crate) mod postgres;
mod schema;
mod sqlite;
mod value;

use std::sync::{Arc, Mutex, PoisonError};

use curtsy_store::LedgerPlace;

pub(crate) use value::{Row, Value};

use self::postgres::PostgresLink;
use self::sqlite::SqliteLink;

/// Connections that are kept open while nobody uses them.
pub(crate) const IDLE_MAX: usize = 8;

/// The database could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] curtsy_file::OpenError),
    /// SQLite refused.
    #[error("the service's database refused a statement: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Postgres refused, or is away.
    #[error("Postgres refused a statement: {0}")]
    Postgres(#[from] ::postgres::Error),
    /// A value is not what the column should hold.
    #[error("column {column} of the service's database holds no {wanted}")]
    Value {
        /// Which, counted from 0.
        column: usize,
        /// What was expected.
        wanted: &'static str,
    },
    /// It was made by a newer program.
    #[error(
        "the service's tables have version {found}, this program knows {known}\nhint: use the program that made them, or a newer one"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The version known.
        known: i64,
    },
    /// A call was given up because the program ends.
    #[error("the program is ending")]
    Ending,
}

/// The service's database.
#[derive(Clone)]
pub(crate) struct Database(Arc<Inner>);

struct Inner {
    place: LedgerPlace,
    idle: Mutex<Vec<Link>>,
}

impl Database {
    /// Opens a database and brings its tables to the version that this program knows.
    pub(crate) fn open(place: &LedgerPlace) -> Result<Database, DbError> {
        let database = Database(Arc::new(Inner { place: place.clone(), idle: Mutex::default() }));
        // The first connection makes the tables; the others find them.
        let first = Link::open(place)?;
        database.give_back(first);
        Ok(database)
    }

    /// Does something with a connection, on this thread. A transaction that is left open is rolled back.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Link) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut link = match idle {
            Some(link) => link,
            None => Link::open(&self.0.place)?,
        };
        let done = work(&mut link);
        // A connection with which something went wrong is not used again: what it has open is unknown.
        if done.is_ok() {
            self.give_back(link);
        }
        done
    }

    /// The same as one transaction: all of it, or nothing.
    pub(crate) fn transact<T>(
        &self,
        work: impl FnOnce(&mut Link) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        self.with(|link| {
            link.begin()?;
            match work(link) {
                Ok(done) => link.batch("COMMIT").map(|()| done),
                Err(error) => {
                    // The connection is closed if this fails, which rolls back too.
                    let _ = link.batch("ROLLBACK");
                    Err(error)
                }
            }
        })
    }

    /// The same for a handler: on a thread that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Link) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, DbError> {
        let database = self.clone();
        let asked = tokio::task::spawn_blocking(move || database.with(work)).await;
        asked.unwrap_or(Err(DbError::Ending))
    }

    fn give_back(&self, link: Link) {
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }
}

/// A connection to either.
pub(crate) enum Link {
    Sqlite(SqliteLink),
    Postgres(PostgresLink),
}

impl Link {
    fn open(place: &LedgerPlace) -> Result<Link, DbError> {
        match place {
            LedgerPlace::File(path) => SqliteLink::open(path).map(Link::Sqlite),
            LedgerPlace::Postgres(address) => PostgresLink::open(address).map(Link::Postgres),
        }
    }

    fn begin(&mut self) -> Result<(), DbError> {
        match self {
            Link::Sqlite(link) => link.batch("BEGIN IMMEDIATE"),
            Link::Postgres(link) => link.batch("BEGIN"),
        }
    }

    fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            Link::Sqlite(link) => link.batch(sql),
            Link::Postgres(link) => link.batch(sql),
        }
    }

    /// Carries out a statement; gives how many rows it changed.
    pub(crate) fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, DbError> {
        match self {
            Link::Sqlite(link) => link.execute(sql, values),
            Link::Postgres(link) => link.execute(sql, values),
        }
    }

    /// Asks for rows.
    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, DbError> {
        match self {
            Link::Sqlite(link) => link.query(sql, values),
            Link::Postgres(link) => link.query(sql, values),
        }
    }

    /// Asks for one row, if there is one.
    pub(crate) fn one(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Option<Row>, DbError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}
