//! The types of columns, parameters and settings.

use libduckdb_sys as ffi;

/// DuckDB's numbers of types.
pub(super) mod id {
    pub(in super::super) use libduckdb_sys::{
        DUCKDB_TYPE_DUCKDB_TYPE_ANY as ANY, DUCKDB_TYPE_DUCKDB_TYPE_BIGINT as BIGINT,
        DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN as BOOLEAN, DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL as DECIMAL,
        DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE as DOUBLE, DUCKDB_TYPE_DUCKDB_TYPE_FLOAT as FLOAT,
        DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT as HUGEINT, DUCKDB_TYPE_DUCKDB_TYPE_INTEGER as INTEGER,
        DUCKDB_TYPE_DUCKDB_TYPE_INTEGER_LITERAL as INTEGER_LITERAL,
        DUCKDB_TYPE_DUCKDB_TYPE_INVALID as INVALID, DUCKDB_TYPE_DUCKDB_TYPE_LIST as LIST,
        DUCKDB_TYPE_DUCKDB_TYPE_MAP as MAP, DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT as SMALLINT,
        DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL as SQLNULL, DUCKDB_TYPE_DUCKDB_TYPE_STRUCT as STRUCT,
        DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP as TIMESTAMP,
        DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ as TIMESTAMP_TZ,
        DUCKDB_TYPE_DUCKDB_TYPE_TINYINT as TINYINT, DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT as UBIGINT,
        DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT as UHUGEINT, DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER as UINTEGER,
        DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT as USMALLINT,
        DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT as UTINYINT, DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR as VARCHAR,
    };
}

/// The type of a parameter or a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    Integer,
    Bigint,
    Ubigint,
    Double,
    Varchar,
    /// Without a time zone; the extension's timestamps are UTC.
    Timestamp,
    /// `VARCHAR[]`.
    Texts,
    /// Any type, for parameters.
    Any,
}

impl Type {
    /// Returns the name in SQL.
    pub(crate) const fn sql(self) -> &'static str {
        self.known_as().0
    }

    /// Returns the name in SQL and DuckDB's number. A list has the number of a list of any type.
    const fn known_as(self) -> (&'static str, ffi::duckdb_type) {
        match self {
            Type::Boolean => ("BOOLEAN", id::BOOLEAN),
            Type::Integer => ("INTEGER", id::INTEGER),
            Type::Bigint => ("BIGINT", id::BIGINT),
            Type::Ubigint => ("UBIGINT", id::UBIGINT),
            Type::Double => ("DOUBLE", id::DOUBLE),
            Type::Varchar => ("VARCHAR", id::VARCHAR),
            Type::Timestamp => ("TIMESTAMP", id::TIMESTAMP),
            Type::Texts => ("VARCHAR[]", id::LIST),
            Type::Any => ("ANY", id::ANY),
        }
    }
}

/// A type as DuckDB stores it.
pub(super) struct LogicalType(pub(super) ffi::duckdb_logical_type);

impl LogicalType {
    pub(super) fn of(ty: Type) -> LogicalType {
        if ty == Type::Texts {
            let text = LogicalType::of(Type::Varchar);
            // SAFETY: `text` is a type, and is copied.
            return LogicalType(unsafe { ffi::duckdb_create_list_type(text.0) });
        }
        // SAFETY: the types other than lists need no more than their number.
        LogicalType(unsafe { ffi::duckdb_create_logical_type(ty.known_as().1) })
    }

    /// Returns DuckDB's number of the type.
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
