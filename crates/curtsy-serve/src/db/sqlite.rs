//! A connection to SQLite.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::schema::{self, Types};
use super::{DbError, SqlRow, SqlValue};

pub(crate) struct SqliteLink(Connection);

impl SqliteLink {
    pub(super) fn open(path: &Path) -> Result<SqliteLink, DbError> {
        let steps: Vec<String> =
            schema::STEPS.iter().map(|step| Types::SQLITE.spell(step)).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let schema = curtsy_file::Schema {
            begins: curtsy_file::Begins::First,
            what: "service",
            steps: &steps,
            page_bytes: curtsy_file::PAGE_BYTES_LARGE,
            names: schema::NAMES,
            checkpoint_pages: 4_000,
        };
        Ok(SqliteLink(curtsy_file::open(path, &schema)?))
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        Ok(self.0.execute_batch(sql)?)
    }

    pub(super) fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, DbError> {
        let changed = self.0.prepare_cached(sql)?.execute(params_from_iter(values))?;
        Ok(changed as u64)
    }

    pub(super) fn query(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, DbError> {
        let mut statement = self.0.prepare_cached(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(values), |row| {
            let values = (0..columns).map(|column| {
                Ok(match row.get_ref(column)? {
                    ValueRef::Null => SqlValue::Null,
                    ValueRef::Integer(number) => SqlValue::Int(number),
                    ValueRef::Real(number) => SqlValue::Real(number),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        SqlValue::Text(String::from_utf8_lossy(text).into_owned())
                    }
                })
            });
            values.collect::<Result<_, rusqlite::Error>>().map(SqlRow)
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            SqlValue::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            SqlValue::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            SqlValue::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            SqlValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}
