//! The service's own tables, in SQLite or Postgres: the same statements for both.
//!
//! Statements are written once, with `?1`, `?2` for their values. A [`SqlValue`] fits any type of
//! column: a TIMESTAMP of Postgres is ISO-8601 text with milliseconds and `Z` here, as in SQLite,
//! and JSON is text. [`schema`] has the differences between the tables. Calls block; handlers use
//! [`ServiceDatabase::ask`].
//!
//! The ledger of hosts is in the same database. The store writes the tables of hosts
//! (`domain_risk`, `url_fetch_cache`) with their states. This module only reads them.

pub(crate) mod postgres;
mod schema;
mod sqlite;
mod value;

use std::sync::{Arc, Mutex, PoisonError};

use curtsy_store::LedgerPlace;

pub(crate) use value::{FromRow, SqlRow, SqlValue, record};

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
pub(crate) struct ServiceDatabase(Arc<DatabaseInner>);

struct DatabaseInner {
    place: LedgerPlace,
    idle: Mutex<Vec<DbLink>>,
}

impl ServiceDatabase {
    /// Opens a database and brings its tables to the version that this program knows.
    pub(crate) fn open(place: &LedgerPlace) -> Result<ServiceDatabase, DbError> {
        let database = ServiceDatabase(Arc::new(DatabaseInner {
            place: place.clone(),
            idle: Mutex::default(),
        }));
        // The first connection makes the tables; the others find them.
        let first = DbLink::open(place)?;
        database.give_back(first);
        Ok(database)
    }

    /// Runs `work` with a connection, on this thread. An open transaction is rolled back.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut DbLink) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut link = match idle {
            Some(link) => link,
            None => DbLink::open(&self.0.place)?,
        };
        let done = work(&mut link);
        // A connection that failed is not used again: its state is unknown.
        if done.is_ok() {
            self.give_back(link);
        }
        done
    }

    /// The same as one transaction: all of it, or nothing.
    pub(crate) fn transact<T>(
        &self,
        work: impl FnOnce(&mut DbLink) -> Result<T, DbError>,
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
        work: impl FnOnce(&mut DbLink) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, DbError> {
        let database = self.clone();
        let asked = tokio::task::spawn_blocking(move || database.with(work)).await;
        asked.unwrap_or(Err(DbError::Ending))
    }

    fn give_back(&self, link: DbLink) {
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }
}

/// A connection to either.
pub(crate) enum DbLink {
    Sqlite(SqliteLink),
    Postgres(PostgresLink),
}

impl DbLink {
    fn open(place: &LedgerPlace) -> Result<DbLink, DbError> {
        match place {
            LedgerPlace::File(path) => SqliteLink::open(path).map(DbLink::Sqlite),
            LedgerPlace::Postgres(address) => PostgresLink::open(address).map(DbLink::Postgres),
        }
    }

    fn begin(&mut self) -> Result<(), DbError> {
        match self {
            DbLink::Sqlite(link) => link.batch("BEGIN IMMEDIATE"),
            DbLink::Postgres(link) => link.batch("BEGIN"),
        }
    }

    fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            DbLink::Sqlite(link) => link.batch(sql),
            DbLink::Postgres(link) => link.batch(sql),
        }
    }

    /// Carries out a statement; gives how many rows it changed.
    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        values: &[SqlValue],
    ) -> Result<u64, DbError> {
        match self {
            DbLink::Sqlite(link) => link.execute(sql, values),
            DbLink::Postgres(link) => link.execute(sql, values),
        }
    }

    /// The rows that a query returns.
    pub(crate) fn all<T: FromRow>(
        &mut self,
        sql: &'static str,
        values: &[SqlValue],
    ) -> Result<Vec<T>, DbError> {
        let rows = match self {
            DbLink::Sqlite(link) => link.query(sql, values),
            DbLink::Postgres(link) => link.query(sql, values),
        };
        rows?.iter().map(T::from_row).collect()
    }

    /// The first row that a query returns, if there is one.
    pub(crate) fn first<T: FromRow>(
        &mut self,
        sql: &'static str,
        values: &[SqlValue],
    ) -> Result<Option<T>, DbError> {
        Ok(self.all(sql, values)?.into_iter().next())
    }
}
