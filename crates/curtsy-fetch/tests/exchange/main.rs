//! The line against real sockets: what hostile and broken servers do, and what comes of it.

mod callbacks;
mod client;
mod codings;
mod encrypted;
mod guard;
mod heads;
mod lines;
mod permits;
mod proxied;
mod secure;
mod site;
mod worker;
mod zoo;
