//! The service through its sockets: a real server, real runs on sites on loopback, and what the
//! sites saw.

mod client;
mod kept;
mod life;
mod place;
mod sites;

mod answer;
mod answers;
mod bounds;
mod cache;
mod callback;
mod door;
mod evidence;
mod follow;
mod guard;
mod health;
mod import;
mod limits;
mod load;
mod modes;
mod openapi;
mod outcomes;
mod plan;
mod postgres;
mod refusals;
mod restart;
mod runs;
mod schemathesis;
mod secrets;
mod session;
mod slugs;
mod tables;
mod tenants;
