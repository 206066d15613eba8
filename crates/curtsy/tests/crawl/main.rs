//! `curtsy crawl` as a person runs it: the program itself, real sockets, scripted sites on loopback, and the judge on their log.

mod dials;
mod early;
mod ends;
mod faults;
mod first;
mod flags;
mod friction;
mod harness;
mod judged;
mod killed;
mod links;
mod logins;
mod own;
mod plain;
mod plan;
mod promises;
mod reasons;
mod secrets;
mod shared;
mod trouble;
mod words;
