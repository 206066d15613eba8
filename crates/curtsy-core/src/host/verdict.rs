//! Verdicts and findings of the gates. Verdicts combine by maximum. Findings are the evidence and
//! are stored with the row.
//!
//! A [`Reason`] is `Copy` and has only numbers. Sentences and JSON are made when a person reads
//! them (`crate::evidence`), so a decision allocates nothing and no page text gets into the
//! evidence.

use serde::{Deserialize, Serialize};

use super::gates::{Gate, Reason};
use crate::time::Time;

/// The answer of one gate. The answer of all gates together is the largest.
///
/// ```
/// use curtsy_core::host::Verdict;
/// use curtsy_core::time::Time;
/// let later = Verdict::NotBefore(Time::from_secs(60));
/// assert_eq!(Verdict::Go.max(later).max(Verdict::NotBefore(Time::from_secs(9))), later);
/// assert!(Verdict::Never > later);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// No objection.
    Go,
    /// Not before this time. [`Time::NEVER`] waits for a person.
    NotBefore(Time),
    /// Not in this job.
    Never,
}

/// The verdict of one gate with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Reason,
}

impl Finding {
    /// The finding of a gate without an objection.
    pub const CLEAR: Finding = Finding { verdict: Verdict::Go, reason: Reason::Clear };

    /// Returns a verdict with its reason.
    pub fn new(verdict: Verdict, reason: impl Into<Reason>) -> Finding {
        Finding { verdict, reason: reason.into() }
    }

    /// Returns a finding that lets the URL go.
    pub fn go(reason: impl Into<Reason>) -> Finding {
        Finding::new(Verdict::Go, reason)
    }

    /// Returns a finding that refuses the URL for the whole job.
    pub fn never(reason: impl Into<Reason>) -> Finding {
        Finding::new(Verdict::Never, reason)
    }

    /// Returns a wait until `until`, or a go if that has passed. Either has the reason.
    pub fn wait(until: Time, now: Time, reason: impl Into<Reason>) -> Finding {
        let verdict = if until > now { Verdict::NotBefore(until) } else { Verdict::Go };
        Finding::new(verdict, reason)
    }
}

/// Every gate's finding, in the order of [`Gate::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings(pub [Finding; Gate::ALL.len()]);

impl Findings {
    /// All gates clear.
    pub const CLEAR: Findings = Findings([Finding::CLEAR; Gate::ALL.len()]);

    /// Returns the finding of one gate.
    pub fn of(&self, gate: Gate) -> &Finding {
        &self.0[gate as usize]
    }

    /// Sets the finding of one gate.
    pub fn set(&mut self, gate: Gate, finding: Finding) {
        self.0[gate as usize] = finding;
    }

    /// Returns the largest verdict and its gate, the first one if several are equal.
    pub fn worst(&self) -> (Verdict, Gate) {
        let mut worst = (Verdict::Go, Gate::Robots);
        for (gate, finding) in self.iter() {
            // Most gates let a URL go, and `Go` is cheap to compare.
            if finding.verdict != Verdict::Go && finding.verdict > worst.0 {
                worst = (finding.verdict, gate);
            }
        }
        worst
    }

    /// Returns each gate with its finding.
    pub fn iter(&self) -> impl Iterator<Item = (Gate, &Finding)> {
        Gate::ALL.into_iter().zip(&self.0)
    }
}
