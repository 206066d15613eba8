//! `curtsy crawl` as a person runs it: the program itself, real sockets, scripted sites on loopback, and the judge on their log.

mod early;
mod first;
mod friction;
mod harness;
mod judged;
mod killed;
mod links;
mod plain;
mod reasons;
mod secrets;
mod trouble;
mod words;
