//! The zoo, visited by the program itself: every case ends as its table says.

mod outcomes;
mod together;
mod visit;
