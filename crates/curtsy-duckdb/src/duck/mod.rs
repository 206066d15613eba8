//! A small safe layer over DuckDB's C API. No other module uses C.
//!
//! Rules in this module:
//! - No connection outlives the call or the state that it was made for. A database with an open
//!   connection never closes, and the next program part of the same process that opens its file
//!   waits forever.
//! - No panic and no error leaves a callback: it becomes the error of that query.
//! - A write into DuckDB's memory is checked first: column, type, row.

#![allow(unsafe_code)]

mod append;
mod argument;
mod caller;
mod chunk;
mod connection;
mod error;
mod load;
mod pulse;
mod rows;
mod scalar;
mod settings;
mod shim;
mod table;
mod types;

pub(crate) use argument::Argument;
pub(crate) use caller::{CallerSession, TableName, quoted};
pub(crate) use chunk::{Chunk, OwnedChunk};
pub(crate) use connection::{DuckConnection, Prepared};
pub(crate) use error::SqlError;
pub(crate) use load::{LoadedDatabase, load};
pub(crate) use rows::ColumnKind;
pub(crate) use scalar::Scalar;
pub(crate) use settings::Setting;
pub(crate) use shim::missing as missing_statement;
pub(crate) use table::{Bind, NamedParameter, TableFunction};
pub(crate) use types::Type;
