//! Rows that a query gives, batch by batch: no more is held than one batch and what DuckDB has ready.

use std::{ptr, slice};

use libduckdb_sys as ffi;

use super::argument::{huge, nearest};
use super::connection::Connection;
use super::fault::said;
use super::types::LogicalType;
use super::{Argument, Fault};

/// A column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Integer,
    Double,
    Text,
    Timestamp,
    /// Nothing but NULL, of no type.
    Null,
    /// Cannot be read here; a cast to VARCHAR can.
    Other,
}

impl Kind {
    pub(super) fn of(ty: ffi::duckdb_type) -> Kind {
        match ty {
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => Kind::Boolean,
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => Kind::Integer,
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE
            | ffi::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => Kind::Double,
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => Kind::Text,
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP | ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => {
                Kind::Timestamp
            }
            ffi::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => Kind::Null,
            _ => Kind::Other,
        }
    }
}

/// The rows of a query. They end with an error when another statement is run on their connection.
pub(crate) struct Rows {
    result: ffi::duckdb_result,
    columns: Vec<Column>,
    /// Dropped after the result.
    _connection: Connection,
}

// SAFETY: DuckDB locks the connection while rows are fetched, and only the owner fetches.
unsafe impl Send for Rows {}

impl Rows {
    /// # Safety
    ///
    /// `result` is what DuckDB gave with `state`, and nobody else frees it.
    pub(super) unsafe fn of(
        result: ffi::duckdb_result,
        state: ffi::duckdb_state,
        connection: &Connection,
    ) -> Result<Rows, Fault> {
        let mut rows = Rows { result, columns: Vec::new(), _connection: connection.clone() };
        // SAFETY: the result is there until `rows` is dropped.
        unsafe {
            if state != ffi::DuckDBSuccess {
                let said = ffi::duckdb_result_error(&mut rows.result);
                return Err(Fault::said(said, "the query failed"));
            }
            for column in 0..ffi::duckdb_column_count(&mut rows.result) {
                let name = said(ffi::duckdb_column_name(&mut rows.result, column));
                let kind = Kind::of(ffi::duckdb_column_type(&mut rows.result, column));
                rows.columns.push(Column { name: name.unwrap_or_default(), kind });
            }
        }
        Ok(rows)
    }

    /// The next rows, at least one; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, Fault> {
        loop {
            // SAFETY: the result is there; the chunk is ours to free. No chunk is the end, or an error that the result has.
            let batch = unsafe {
                let chunk = ffi::duckdb_fetch_chunk(self.result);
                if chunk.is_null() {
                    let said = ffi::duckdb_result_error(&mut self.result);
                    return if said.is_null() {
                        Ok(None)
                    } else {
                        Err(Fault::said(said, "the query failed"))
                    };
                }
                Batch::of(chunk)
            };
            if batch.len > 0 {
                return Ok(Some(batch));
            }
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_result(&mut self.result) }
    }
}

/// Some rows.
pub(crate) struct Batch {
    raw: ffi::duckdb_data_chunk,
    vectors: Vec<Vector>,
    len: usize,
}

// SAFETY: a chunk is memory without ties to a thread, and only its owner has it.
unsafe impl Send for Batch {}

struct Vector {
    ty: ffi::duckdb_type,
    /// How a decimal is stored, and how many of its digits are behind the point.
    decimal: (ffi::duckdb_type, u8),
    data: *const std::ffi::c_void,
    validity: *mut u64,
}

impl Batch {
    /// # Safety
    ///
    /// `raw` is a chunk that DuckDB fetched, so its vectors are flat, and that nobody else frees.
    unsafe fn of(raw: ffi::duckdb_data_chunk) -> Batch {
        // SAFETY: the chunk is there, and its vectors live as long as it does.
        unsafe {
            let len = ffi::duckdb_data_chunk_get_size(raw) as usize;
            let columns = 0..ffi::duckdb_data_chunk_get_column_count(raw);
            let vectors = columns.map(|column| {
                let vector = ffi::duckdb_data_chunk_get_vector(raw, column);
                let logical = LogicalType(ffi::duckdb_vector_get_column_type(vector));
                let ty = logical.id();
                let decimal = match ty == ffi::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL {
                    true => {
                        let stored = ffi::duckdb_decimal_internal_type(logical.0);
                        (stored, ffi::duckdb_decimal_scale(logical.0))
                    }
                    false => (ffi::DUCKDB_TYPE_DUCKDB_TYPE_INVALID, 0),
                };
                let (data, validity) = match Kind::of(ty) {
                    Kind::Other | Kind::Null => (ptr::null(), ptr::null_mut()),
                    _ => (
                        ffi::duckdb_vector_get_data(vector).cast_const(),
                        ffi::duckdb_vector_get_validity(vector),
                    ),
                };
                Vector { ty, decimal, data, validity }
            });
            let vectors = vectors.collect();
            Batch { raw, vectors, len }
        }
    }

    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A field.
    pub(crate) fn value(&self, column: usize, row: usize) -> Result<Argument, Fault> {
        assert!(row < self.len, "row {row} of {}", self.len);
        let vector = &self.vectors[column];
        match Kind::of(vector.ty) {
            Kind::Null => return Ok(Argument::Null),
            Kind::Other => {
                let column = column + 1;
                return Err(format!("column {column} of the query has a type that is not read here; cast it to VARCHAR").into());
            }
            _ => {}
        }
        // SAFETY: the row is there; a flat vector of this type has such a value for each row that is not null.
        unsafe {
            if !ffi::duckdb_validity_row_is_valid(vector.validity, row as u64) {
                return Ok(Argument::Null);
            }
            Ok(match vector.ty {
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => {
                    Argument::Boolean(vector.at::<u8>(row) != 0)
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT => {
                    Argument::Double(vector.at::<f32>(row).into())
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE => Argument::Double(vector.at(row)),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
                    let digits = vector.whole(vector.decimal.0, row) as f64;
                    Argument::Double(digits / 10_f64.powi(vector.decimal.1.into()))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => Argument::Text(vector.text(row).to_owned()),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => Argument::Timestamp(vector.at(row)),
                ty => Argument::Integer(nearest(vector.whole(ty, row))),
            })
        }
    }

    /// A field of a column of text, without a copy; `None` is NULL. What is not text is an error.
    pub(crate) fn text(&self, column: usize, row: usize) -> Result<Option<&str>, Fault> {
        assert!(row < self.len, "row {row} of {}", self.len);
        let vector = &self.vectors[column];
        match Kind::of(vector.ty) {
            Kind::Null => return Ok(None),
            Kind::Text => {}
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

impl Vector {
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
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => self.at::<i8>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => self.at::<i16>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => self.at::<i32>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => self.at::<i64>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => self.at::<u8>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => self.at::<u16>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => self.at::<u32>(row).into(),
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => self.at::<u64>(row).into(),
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

/// The text in a row of a flat vector of text.
///
/// # Safety
///
/// `data` is that vector's, the row is there and not null, and the answer is dropped before the vector is.
pub(super) unsafe fn text_at<'a>(data: *const std::ffi::c_void, row: usize) -> &'a str {
    // SAFETY: short texts lie in the entry itself, so it is not copied. DuckDB's texts are UTF-8; it refuses others.
    unsafe {
        let entry = data.cast::<ffi::duckdb_string_t>().add(row).cast_mut();
        let length = ffi::duckdb_string_t_length(entry.read()) as usize;
        let bytes = slice::from_raw_parts(ffi::duckdb_string_t_data(entry).cast::<u8>(), length);
        str::from_utf8_unchecked(bytes)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_data_chunk(&mut self.raw) }
    }
}
