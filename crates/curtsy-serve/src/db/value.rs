//! A value on its way into a column or out of one.

use serde_json::Value as Json;

use super::DbError;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue {
    Null,
    Int(i64),
    Real(f64),
    /// Text, JSON, or a moment as ISO-8601.
    Text(String),
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> SqlValue {
        SqlValue::Int(number)
    }
}

impl From<u64> for SqlValue {
    fn from(number: u64) -> SqlValue {
        SqlValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for SqlValue {
    fn from(yes: bool) -> SqlValue {
        SqlValue::Int(yes.into())
    }
}

impl From<f64> for SqlValue {
    fn from(number: f64) -> SqlValue {
        SqlValue::Real(number)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> SqlValue {
        text.to_owned().into()
    }
}

impl From<String> for SqlValue {
    fn from(mut text: String) -> SqlValue {
        // Postgres has no place for it, and nobody can read it.
        if text.contains('\0') {
            text.retain(|c| c != '\0');
        }
        SqlValue::Text(text)
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> SqlValue {
        value.map_or(SqlValue::Null, Into::into)
    }
}

/// A row that a query returned.
pub(crate) struct SqlRow(pub(super) Vec<SqlValue>);

impl SqlRow {
    /// The value of a column.
    pub(crate) fn get<T: FromColumn>(&self, column: usize) -> Result<T, DbError> {
        let value = self.0.get(column).and_then(T::from_value);
        value.ok_or(DbError::Value { column, wanted: T::WANTED })
    }
}

/// A type that a column is read as.
pub(crate) trait FromColumn: Sized {
    const WANTED: &'static str;

    fn from_value(value: &SqlValue) -> Option<Self>;
}

macro_rules! column {
    ($type:ty, $wanted:literal, $($value:pat => $read:expr),*) => {
        impl FromColumn for $type {
            const WANTED: &'static str = $wanted;

            fn from_value(value: &SqlValue) -> Option<$type> {
                match value {
                    $($value => $read,)*
                    _ => None,
                }
            }
        }
    };
}

column!(String, "text", SqlValue::Text(text) => Some(text.clone()));
column!(i64, "number", SqlValue::Int(number) => Some(*number));
column!(bool, "number", SqlValue::Int(number) => Some(*number != 0));
column!(Json, "JSON", SqlValue::Text(text) => serde_json::from_str(text).ok(), SqlValue::Null => Some(Json::Null));

column!(Vec<String>, "JSON", SqlValue::Text(text) => serde_json::from_str(text).ok());

impl<T: FromColumn> FromColumn for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn from_value(value: &SqlValue) -> Option<Option<T>> {
        if *value == SqlValue::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// A type that a row is read as.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &SqlRow) -> Result<Self, DbError>;
}

impl<T: FromColumn> FromRow for T {
    fn from_row(row: &SqlRow) -> Result<T, DbError> {
        row.get(0)
    }
}

impl<A: FromColumn, B: FromColumn> FromRow for (A, B) {
    fn from_row(row: &SqlRow) -> Result<(A, B), DbError> {
        Ok((row.get(0)?, row.get(1)?))
    }
}

/// Declares a record whose fields are the columns of its queries, in their order.
macro_rules! record {
    ($(#[$meta:meta])* struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: $type,)*
        }

        impl $crate::db::FromRow for $name {
            fn from_row(row: &$crate::db::SqlRow) -> Result<$name, $crate::db::DbError> {
                let mut columns = 0..;
                Ok($name { $($field: row.get(columns.next().unwrap_or_default())?,)* })
            }
        }
    };
}
pub(crate) use record;
