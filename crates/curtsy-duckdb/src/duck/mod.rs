//! A small safe layer over DuckDB's C API. Nothing outside knows that there is C.
//!
//! Rules that hold in here:
//! - No connection outlives the call or the state that it was made for: a database with an open connection never closes, and whoever opens
//!   its file again in the same process waits for ever.
//! - No panic and no error leaves a callback: it becomes the error of that query.
//! - What may be written into memory of DuckDB's is checked first: column, type, row.

#![allow(unsafe_code)]

mod append;
mod argument;
mod caller;
mod chunk;
mod connection;
mod fault;
mod load;
mod pulse;
mod rows;
mod scalar;
mod settings;
mod shim;
mod table;
mod types;

pub(crate) use argument::Argument;
pub(crate) use caller::{Caller, Target, quoted};
pub(crate) use chunk::{Chunk, OwnedChunk};
pub(crate) use connection::{Connection, Prepared};
pub(crate) use fault::Fault;
pub(crate) use load::{Database, load};
pub(crate) use rows::Kind;
pub(crate) use scalar::Scalar;
pub(crate) use settings::Setting;
pub(crate) use shim::missing as missing_statement;
pub(crate) use table::{Bind, TableFunction};
pub(crate) use types::Type;
