//! `curtsy crawl` as a person runs it: the program itself, real sockets, scripted sites on loopback, and the judge on their log.

mod early;
mod friction;
mod harness;
mod judged;
mod killed;
mod plain;
mod promises;
mod secrets;
mod trouble;
