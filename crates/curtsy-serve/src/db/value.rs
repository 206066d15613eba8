//! A value on its way into a column or out of one.

use super::DbError;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Real(f64),
    /// Text, JSON, or a moment as ISO-8601.
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Int(yes.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        text.to_owned().into()
    }
}

impl From<String> for Value {
    fn from(mut text: String) -> Value {
        // Postgres has no place for it, and nobody can read it.
        if text.contains('\0') {
            text.retain(|c| c != '\0');
        }
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A row that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Row(pub(super) Vec<Value>);

impl Row {
    /// A text that must be there.
    pub(crate) fn text(&self, column: usize) -> Result<&str, DbError> {
        self.maybe_text(column)?.ok_or(DbError::Value { column, wanted: "text" })
    }

    /// A text that may be missing.
    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&str>, DbError> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            _ => Err(DbError::Value { column, wanted: "text" }),
        }
    }

    /// A number that must be there.
    pub(crate) fn int(&self, column: usize) -> Result<i64, DbError> {
        self.maybe_int(column)?.ok_or(DbError::Value { column, wanted: "number" })
    }

    /// A number that may be missing.
    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, DbError> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(Some(*number)),
            Some(Value::Null) => Ok(None),
            _ => Err(DbError::Value { column, wanted: "number" }),
        }
    }

    /// JSON that may be missing.
    pub(crate) fn json(&self, column: usize) -> Result<Option<serde_json::Value>, DbError> {
        let Some(text) = self.maybe_text(column)? else { return Ok(None) };
        let read = serde_json::from_str(text);
        read.map(Some).map_err(|_| DbError::Value { column, wanted: "JSON" })
    }
}
