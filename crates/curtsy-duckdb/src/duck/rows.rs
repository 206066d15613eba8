//! The rows of a query, batch by batch. Memory holds one batch and what DuckDB has prepared.

use std::{ptr, slice};

use libduckdb_sys as ffi;

use super::argument::{huge, nearest};
use super::connection::DuckConnection;
use super::error::said;
use super::types::{LogicalType, id};
use super::{Argument, SqlError};

/// A column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Boolean,
    Integer,
    Double,
    Text,
    Timestamp,
    /// A column without a type, which is always NULL.
    Null,
    /// A type that is not read here. A cast to VARCHAR helps.
    Other,
}

impl ColumnKind {
    pub(super) fn of(ty: ffi::duckdb_type) -> ColumnKind {
        match ty {
            id::BOOLEAN => ColumnKind::Boolean,
            id::TINYINT
            | id::SMALLINT
            | id::INTEGER
            | id::BIGINT
            | id::UTINYINT
            | id::USMALLINT
            | id::UINTEGER
            | id::UBIGINT
            | id::HUGEINT => ColumnKind::Integer,
            id::FLOAT | id::DOUBLE | id::DECIMAL => ColumnKind::Double,
            id::VARCHAR => ColumnKind::Text,
            id::TIMESTAMP | id::TIMESTAMP_TZ => ColumnKind::Timestamp,
            id::SQLNULL => ColumnKind::Null,
            _ => ColumnKind::Other,
        }
    }
}

/// The rows of a query. Another statement on their connection ends them with an error.
pub(crate) struct QueryRows {
    result: ffi::duckdb_result,
    columns: Vec<QueryColumn>,
    /// Dropped after the result.
    _connection: DuckConnection,
}

// SAFETY: DuckDB locks the connection while rows are fetched, and only the owner fetches.
unsafe impl Send for QueryRows {}

impl QueryRows {
    /// # Safety
    ///
    /// `result` and `state` are from the same call of DuckDB, and nobody else frees the result.
    pub(super) unsafe fn of(
        result: ffi::duckdb_result,
        state: ffi::duckdb_state,
        connection: &DuckConnection,
    ) -> Result<QueryRows, SqlError> {
        let mut rows = QueryRows { result, columns: Vec::new(), _connection: connection.clone() };
        // SAFETY: the result is there until `rows` is dropped.
        unsafe {
            if state != ffi::DuckDBSuccess {
                let said = ffi::duckdb_result_error(&mut rows.result);
                return Err(SqlError::said(said, "the query failed"));
            }
            for column in 0..ffi::duckdb_column_count(&mut rows.result) {
                let name = said(ffi::duckdb_column_name(&mut rows.result, column));
                let kind = ColumnKind::of(ffi::duckdb_column_type(&mut rows.result, column));
                rows.columns.push(QueryColumn { name: name.unwrap_or_default(), kind });
            }
        }
        Ok(rows)
    }

    /// Returns the next rows, at least one; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<QueryBatch>, SqlError> {
        loop {
            // SAFETY: the result exists; the chunk is ours to free. No chunk means the end, or an
            // error in the result.
            let batch = unsafe {
                let chunk = ffi::duckdb_fetch_chunk(self.result);
                if chunk.is_null() {
                    let said = ffi::duckdb_result_error(&mut self.result);
                    return if said.is_null() {
                        Ok(None)
                    } else {
                        Err(SqlError::said(said, "the query failed"))
                    };
                }
                QueryBatch::of(chunk)
            };
            if batch.len > 0 {
                return Ok(Some(batch));
            }
        }
    }
}

impl Drop for QueryRows {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_result(&mut self.result) }
    }
}

/// A batch of rows.
pub(crate) struct QueryBatch {
    raw: ffi::duckdb_data_chunk,
    vectors: Vec<FetchedVector>,
    len: usize,
}

// SAFETY: a chunk is memory that belongs to no thread, and only its owner uses it.
unsafe impl Send for QueryBatch {}

struct FetchedVector {
    ty: ffi::duckdb_type,
    /// The storage type of a decimal, and the number of digits after the point.
    decimal: (ffi::duckdb_type, u8),
    data: *const std::ffi::c_void,
    validity: *mut u64,
}

impl QueryBatch {
    /// # Safety
    ///
    /// `raw` is a chunk that DuckDB fetched, so its vectors are flat, and that nobody else frees.
    unsafe fn of(raw: ffi::duckdb_data_chunk) -> QueryBatch {
        // SAFETY: the chunk is there, and its vectors live as long as it does.
        unsafe {
            let len = ffi::duckdb_data_chunk_get_size(raw) as usize;
            let columns = 0..ffi::duckdb_data_chunk_get_column_count(raw);
            let vectors = columns.map(|column| {
                let vector = ffi::duckdb_data_chunk_get_vector(raw, column);
                let logical = LogicalType(ffi::duckdb_vector_get_column_type(vector));
                let ty = logical.id();
                let decimal = match ty == id::DECIMAL {
                    true => {
                        let stored = ffi::duckdb_decimal_internal_type(logical.0);
                        (stored, ffi::duckdb_decimal_scale(logical.0))
                    }
                    false => (id::INVALID, 0),
                };
                let (data, validity) = match ColumnKind::of(ty) {
                    ColumnKind::Other | ColumnKind::Null => (ptr::null(), ptr::null_mut()),
                    _ => (
                        ffi::duckdb_vector_get_data(vector).cast_const(),
                        ffi::duckdb_vector_get_validity(vector),
                    ),
                };
                FetchedVector { ty, decimal, data, validity }
            });
            let vectors = vectors.collect();
            QueryBatch { raw, vectors, len }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a field.
    pub(crate) fn value(&self, column: usize, row: usize) -> Result<Argument, SqlError> {
        assert!(row < self.len, "row {row} of {}", self.len);
        let vector = &self.vectors[column];
        match ColumnKind::of(vector.ty) {
            ColumnKind::Null => return Ok(Argument::Null),
            ColumnKind::Other => {
                let column = column + 1;
                return Err(format!("column {column} of the query has a type that is not read here; cast it to VARCHAR").into());
            }
            _ => {}
        }
        // SAFETY: the row exists; a flat vector of this type has such a value for each row that is
        // not null.
        unsafe {
            if !ffi::duckdb_validity_row_is_valid(vector.validity, row as u64) {
                return Ok(Argument::Null);
            }
            Ok(match vector.ty {
                id::BOOLEAN => Argument::Boolean(vector.at::<u8>(row) != 0),
                id::FLOAT => Argument::Double(vector.at::<f32>(row).into()),
                id::DOUBLE => Argument::Double(vector.at(row)),
                id::DECIMAL => {
                    let digits = vector.whole(vector.decimal.0, row) as f64;
                    Argument::Double(digits / 10_f64.powi(vector.decimal.1.into()))
                }
                id::VARCHAR => Argument::Text(vector.text(row).to_owned()),
                id::TIMESTAMP | id::TIMESTAMP_TZ => Argument::Timestamp(vector.at(row)),
                ty => Argument::Integer(nearest(vector.whole(ty, row))),
            })
        }
    }

    /// Returns a text without a copy; NULL is none. A column of another type is an error.
    pub(crate) fn text(&self, column: usize, row: usize) -> Result<Option<&str>, SqlError> {
        assert!(row < self.len, "row {row} of {}", self.len);
        let vector = &self.vectors[column];
        match ColumnKind::of(vector.ty) {
            ColumnKind::Null => return Ok(None),
            ColumnKind::Text => {}
            _ => {
                let column = column + 1;
                return Err(format!(
                    "column {column} of the query is not text; cast it to VARCHAR"
                )
                .into());
            }
        }
        // SAFETY: the row is there, and is text unless it is null.
        unsafe {
            let valid = ffi::duckdb_validity_row_is_valid(vector.validity, row as u64);
            Ok(valid.then(|| vector.text(row)))
        }
    }
}

impl FetchedVector {
    /// # Safety
    ///
    /// The vector's values are `T`s, and it has this row.
    unsafe fn at<T: Copy>(&self, row: usize) -> T {
        // SAFETY: the caller says so.
        unsafe { self.data.cast::<T>().add(row).read() }
    }

    /// # Safety
    ///
    /// The vector's values are stored as `ty`, a type of whole numbers, and it has this row.
    unsafe fn whole(&self, ty: ffi::duckdb_type, row: usize) -> i128 {
        // SAFETY: the caller says so.
        unsafe {
            match ty {
                id::TINYINT => self.at::<i8>(row).into(),
                id::SMALLINT => self.at::<i16>(row).into(),
                id::INTEGER => self.at::<i32>(row).into(),
                id::BIGINT => self.at::<i64>(row).into(),
                id::UTINYINT => self.at::<u8>(row).into(),
                id::USMALLINT => self.at::<u16>(row).into(),
                id::UINTEGER => self.at::<u32>(row).into(),
                id::UBIGINT => self.at::<u64>(row).into(),
                _ => huge(self.at(row)),
            }
        }
    }

    /// # Safety
    ///
    /// The vector's values are text, and it has this row, which is not null.
    unsafe fn text(&self, row: usize) -> &str {
        // SAFETY: the caller says so.
        unsafe { text_at(self.data, row) }
    }
}

/// Returns the text in a row of a flat vector of texts.
///
/// # Safety
///
/// `data` belongs to that vector, the row exists and is not null, and the result is dropped before
/// the vector.
pub(super) unsafe fn text_at<'a>(data: *const std::ffi::c_void, row: usize) -> &'a str {
    // SAFETY: a short text is inside the entry itself, so the entry is not copied. DuckDB's texts
    // are UTF-8; it refuses others.
    unsafe {
        let entry = data.cast::<ffi::duckdb_string_t>().add(row).cast_mut();
        let length = ffi::duckdb_string_t_length(entry.read()) as usize;
        let bytes = slice::from_raw_parts(ffi::duckdb_string_t_data(entry).cast::<u8>(), length);
        str::from_utf8_unchecked(bytes)
    }
}

impl Drop for QueryBatch {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_data_chunk(&mut self.raw) }
    }
}
