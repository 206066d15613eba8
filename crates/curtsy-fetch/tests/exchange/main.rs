//! Lines over real sockets, to hostile and broken servers.

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
