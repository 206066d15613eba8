//! The files and the hosts that curtsy is measured on, beside its peers or at its worst. Made by
//! code, the same every time.

pub mod documents;
pub mod host;
pub mod robots;
pub mod scheduler;
