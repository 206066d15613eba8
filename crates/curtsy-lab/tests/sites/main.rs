//! The sites on loopback through real sockets: what each mood sends, byte by byte, and what the log
//! says of it.

mod bounds;
mod client;
mod journal;
mod moods;
mod scenes;
mod secure;
