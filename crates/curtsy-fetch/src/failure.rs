//! Why an answer is not to be had: what went wrong, and of the limits on size which one it was.
//!
//! A `Problem` is stored and told, and one word says enough there. Whoever counts wants to know more, so whoever reads an answer here never
//! says `OverLimit`: they say which limit it is.

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;

/// Why an answer is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Something went wrong.
    Of(Problem),
    /// There was more than this limit allows.
    Over(Hit),
}

impl Failure {
    /// What is told of it.
    pub(crate) const fn problem(self) -> Problem {
        match self {
            Failure::Of(problem) => problem,
            Failure::Over(_) => Problem::OverLimit,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Of(problem)
    }
}
