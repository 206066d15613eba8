//! What the gates say. Verdicts combine by maximum; findings are the evidence and are stored with the row.
//!
//! A [`Reason`] is `Copy` and holds numbers only. Sentences and JSON are made on reading (`crate::evidence`), so deciding costs no
//! allocation and no page text can get into the evidence.

use serde::{Deserialize, Serialize};

use super::gates::{Gate, Reason};
use crate::time::Time;

/// One gate's answer, and the answer of them all together: the largest.
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
    /// Nothing is against it.
    Go,
    /// Not before this moment; [`Time::NEVER`] waits for a person.
    NotBefore(Time),
    /// Not in this job.
    Never,
}

/// One gate's verdict with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What the gate says.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

impl Finding {
    /// Nothing is against it.
    pub const CLEAR: Finding = Finding { verdict: Verdict::Go, reason: Reason::Clear };

    /// A verdict and its reason.
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

    /// A wait until `until` if that is still to come, else a go; the reason stands either way.
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

    /// What one gate found.
    pub fn of(&self, gate: Gate) -> &Finding {
        &self.0[gate as usize]
    }

    /// Notes what one gate found.
    pub fn set(&mut self, gate: Gate, finding: Finding) {
        self.0[gate as usize] = finding;
    }

    /// The largest verdict and the gate that gave it; the first of equals.
    pub fn worst(&self) -> (Verdict, Gate) {
        let mut worst = (Verdict::Go, Gate::Robots);
        for (gate, finding) in self.iter() {
            // Most gates let a URL go: the whole comparison is for the others.
            if finding.verdict != Verdict::Go && finding.verdict > worst.0 {
                worst = (finding.verdict, gate);
            }
        }
        worst
    }

    /// Each gate with its finding.
    pub fn iter(&self) -> impl Iterator<Item = (Gate, &Finding)> {
        Gate::ALL.into_iter().zip(&self.0)
    }
}
