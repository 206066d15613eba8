//! The extension in stock DuckDB, as a person uses it: real wheels, real sockets, scripted sites on
//! loopback, and the judge on their log.

mod content;
mod discovery;
mod functions;
mod harness;
mod lifecycle;
mod older;
mod rate;
mod raw;
mod retry;
mod robots;
mod settings;
mod statement;
mod table;
mod threads;
mod together;
mod wrong;
