//! The types of columns, parameters and settings.

use libduckdb_sys as ffi;

/// A type that a function takes or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    Integer,
    Bigint,
    Ubigint,
    Double,
    Varchar,
    /// Without a time zone; ours are UTC.
    Timestamp,
    /// `VARCHAR[]`.
    Texts,
    /// Whatever is given, for parameters.
    Any,
}

impl Type {
    /// Its name in SQL.
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Type::Boolean => "BOOLEAN",
            Type::Integer => "INTEGER",
            Type::Bigint => "BIGINT",
            Type::Ubigint => "UBIGINT",
            Type::Double => "DOUBLE",
            Type::Varchar => "VARCHAR",
            Type::Timestamp => "TIMESTAMP",
            Type::Texts => "VARCHAR[]",
            Type::Any => "ANY",
        }
    }
}

/// A type as DuckDB has it.
pub(super) struct LogicalType(pub(super) ffi::duckdb_logical_type);

impl LogicalType {
    pub(super) fn of(ty: Type) -> LogicalType {
        let plain = match ty {
            Type::Boolean => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
            Type::Integer => ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
            Type::Bigint => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
            Type::Ubigint => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
            Type::Double => ffi::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
            Type::Varchar => ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
            Type::Timestamp => ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP,
            Type::Any => ffi::DUCKDB_TYPE_DUCKDB_TYPE_ANY,
            Type::Texts => {
                let text = LogicalType::of(Type::Varchar);
                // SAFETY: `text` is a type, and is copied.
                return LogicalType(unsafe { ffi::duckdb_create_list_type(text.0) });
            }
        };
        // SAFETY: none of these needs more than its number.
        LogicalType(unsafe { ffi::duckdb_create_logical_type(plain) })
    }

    /// DuckDB's number for the type.
    pub(super) fn id(&self) -> ffi::duckdb_type {
        // SAFETY: this is a type.
        unsafe { ffi::duckdb_get_type_id(self.0) }
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_logical_type(&mut self.0) }
    }
}
