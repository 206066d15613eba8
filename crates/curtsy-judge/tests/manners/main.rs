//! Each rule, kept and broken, in tiny logs.

mod asking;
mod connections;
mod faults;
mod notation;
mod pace;
mod repeats;
mod robots;
mod waits;
