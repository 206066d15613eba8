//! A connection to Postgres, with the statements of SQLite. Values fit any type of column.

use std::collections::HashMap;
use std::error::Error;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use curtsy_core::evidence::{read_timestamp, timestamp};
use curtsy_core::time::Time;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::schema::{self, Types};
use super::{DbError, SqlRow, SqlValue};

/// How long a connection may take to be made.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// How long a statement may take.
pub(crate) const STATEMENT: Duration = Duration::from_secs(10);
/// How long it may wait for a lock.
pub(crate) const LOCK: Duration = Duration::from_secs(5);
/// Moments of Postgres count from 2000-01-01, in microseconds.
const EPOCH_MICROS: i64 = 946_684_800_000_000;
/// A lock that everybody takes who makes tables.
const MIGRATION_LOCK: i64 = 0x63_75_72_74_73_79;

/// A connection on a thread of its own: its client contains a runtime, and can't be used or dropped
/// within another one.
pub(crate) struct PostgresLink {
    work: Sender<PostgresJob>,
}

type PostgresJob = Box<dyn FnOnce(&mut PostgresSession) + Send>;

/// What the thread holds.
struct PostgresSession {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl PostgresLink {
    pub(super) fn open(address: &str) -> Result<PostgresLink, DbError> {
        let mut config: Config = address.parse()?;
        let (statement, lock) = (STATEMENT.as_millis(), LOCK.as_millis());
        let options =
            format!("-c statement_timeout={statement} -c lock_timeout={lock} -c timezone=UTC");
        config.connect_timeout(CONNECT).application_name("curtsy serve").options(&options);
        let (work, jobs) = channel::<PostgresJob>();
        let (tell, told) = channel();
        let hold = move || {
            let opened = config.connect(NoTls).map_err(DbError::from).and_then(|mut client| {
                migrate(&mut client)?;
                Ok(PostgresSession { client, statements: HashMap::new() })
            });
            let mut held = match opened {
                Ok(held) => held,
                Err(error) => return drop(tell.send(Err(error))),
            };
            // Whoever opened it waits for this.
            drop(tell.send(Ok(())));
            for job in jobs {
                job(&mut held);
            }
        };
        let thread = std::thread::Builder::new().name("postgres".into()).spawn(hold);
        thread.map_err(|_| DbError::Ending)?;
        told.recv().map_err(|_| DbError::Ending)??;
        Ok(PostgresLink { work })
    }

    /// Does something with the connection and waits for it.
    fn on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut PostgresSession) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, DbError> {
        let (tell, told) = channel();
        // Whoever asked waits for the answer.
        let job: PostgresJob = Box::new(move |held| drop(tell.send(work(held))));
        self.work.send(job).map_err(|_| DbError::Ending)?;
        told.recv().map_err(|_| DbError::Ending)?
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        let sql = sql.to_owned();
        self.on(move |held| Ok(held.client.batch_execute(&sql)?))
    }

    pub(super) fn execute(
        &mut self,
        sql: &'static str,
        values: &[SqlValue],
    ) -> Result<u64, DbError> {
        let values = values.to_vec();
        self.on(move |held| {
            let statement = held.statement(sql)?;
            Ok(held.client.execute(&statement, &refs(&values))?)
        })
    }

    pub(super) fn query(
        &mut self,
        sql: &'static str,
        values: &[SqlValue],
    ) -> Result<Vec<SqlRow>, DbError> {
        let values = values.to_vec();
        self.on(move |held| {
            let statement = held.statement(sql)?;
            let rows = held.client.query(&statement, &refs(&values))?;
            let read = |row: &postgres::Row| {
                let values = (0..row.len()).map(|column| {
                    let value: Option<SqlValue> = row.try_get(column)?;
                    Ok(value.unwrap_or(SqlValue::Null))
                });
                values.collect::<Result<_, postgres::Error>>().map(SqlRow)
            };
            Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
        })
    }
}

impl PostgresSession {
    fn statement(&mut self, sql: &'static str) -> Result<Statement, DbError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&numbered(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// `?1` is `$1` here.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}

fn refs(values: &[SqlValue]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

/// Brings the tables to the version that this program knows. Whoever comes meanwhile waits.
fn migrate(client: &mut Client) -> Result<(), DbError> {
    let mut tx = client.transaction()?;
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])?;
    tx.batch_execute(
        "CREATE TABLE IF NOT EXISTS curtsy_service_version (version BIGINT NOT NULL)",
    )?;
    let found = tx.query_opt("SELECT version FROM curtsy_service_version", &[])?;
    let found: i64 = found.map_or(0, |row| row.get(0));
    let known = schema::STEPS.len() as i64;
    if found > known {
        return Err(DbError::Newer { found, known });
    }
    if found == known {
        return Ok(());
    }
    for step in &schema::STEPS[found as usize..] {
        tx.batch_execute(&Types::POSTGRES.spell(step))?;
    }
    tx.execute("DELETE FROM curtsy_service_version", &[])?;
    tx.execute("INSERT INTO curtsy_service_version (version) VALUES ($1)", &[&known])?;
    tx.commit()?;
    Ok(())
}

impl ToSql for SqlValue {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, of) {
            (SqlValue::Null, _) => Ok(IsNull::Yes),
            (SqlValue::Int(number), &Type::INT8) => number.to_sql(of, out),
            (SqlValue::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(of, out),
            (SqlValue::Int(number), &Type::INT2) => i16::try_from(*number)?.to_sql(of, out),
            (SqlValue::Int(number), &Type::BOOL) => (*number != 0).to_sql(of, out),
            (SqlValue::Real(number), &Type::FLOAT8) => number.to_sql(of, out),
            (SqlValue::Text(text), &Type::TIMESTAMP) => {
                let at = read_timestamp(text).ok_or("a moment is not written as one")?;
                let micros = i64::try_from(at.micros())? - EPOCH_MICROS;
                out.extend_from_slice(&micros.to_be_bytes());
                Ok(IsNull::No)
            }
            (SqlValue::Text(text), &Type::JSONB) => {
                // The version of the format.
                out.extend_from_slice(&[1]);
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (SqlValue::Text(text), &Type::TEXT | &Type::VARCHAR) => text.to_sql(of, out),
            (value, of) => Err(format!("{value:?} does not fit into a column of type {of}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for SqlValue {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<SqlValue, Box<dyn Error + Sync + Send>> {
        Ok(match *of {
            Type::INT8 => SqlValue::Int(i64::from_sql(of, raw)?),
            Type::INT4 => SqlValue::Int(i32::from_sql(of, raw)?.into()),
            Type::INT2 => SqlValue::Int(i16::from_sql(of, raw)?.into()),
            Type::BOOL => SqlValue::Int(bool::from_sql(of, raw)?.into()),
            Type::FLOAT8 => SqlValue::Real(f64::from_sql(of, raw)?),
            Type::TIMESTAMP => {
                let micros = i64::from_be_bytes(raw.try_into()?).saturating_add(EPOCH_MICROS);
                SqlValue::Text(timestamp(Time::from_micros(u64::try_from(micros).unwrap_or(0))))
            }
            Type::JSONB => {
                SqlValue::Text(str::from_utf8(raw.get(1..).unwrap_or_default())?.to_owned())
            }
            _ => SqlValue::Text(String::from_sql(of, raw)?),
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
