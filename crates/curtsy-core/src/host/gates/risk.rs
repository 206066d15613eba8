//! The risk gate: the friction that a host has shown.
//!
//! The score decays continuously. The decay is computed when the score is read, never written by a
//! timer. A high score lengthens the delay (see `pace`). A critical score, or friction signals in a
//! row, end an automated run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{GateCase, GateCheck, RequestNews, Telling};
use crate::evidence::counted;
use crate::host::{Finding, HostChanges, HostState, Outcome, Scene, Verdict};
use crate::policy::{self, Mode, Policy};
use crate::time::{Time, micros};

/// Keeps automated runs away from hosts that show friction.
pub(super) struct RiskGate;

/// The amount of friction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RiskReason {
    /// Friction on this host.
    Score {
        /// The score, 0 to 100, rounded.
        score: u8,
    },
    /// Friction signals in a row stopped this run.
    EarlyStop {
        /// How many.
        streak: u8,
    },
}

/// The friction of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RiskState {
    /// The score at `as_of`, 0 to 100.
    pub score: f32,
    /// When the score had this value.
    pub as_of: Option<Time>,
    /// Friction signals in a row.
    pub streak: u8,
    /// When the first signal of the row came.
    pub since: Option<Time>,
}

crate::word_enum! {
    /// The four levels of seed 004.
    pub enum RiskLevel {
        /// 0 to 20: normal crawling.
        Low = "low",
        /// 21 to 50: increased caution.
        Medium = "medium",
        /// 51 to 80: minimal requests.
        High = "high",
        /// 81 to 100: automated modes skip the host.
        Critical = "critical",
    }
}

impl GateCheck for RiskGate {
    type Reason = RiskReason;
    const NAME: &'static str = "risk";
    const CLEAR: &'static str = "no friction counts against the host";

    fn of_url(case: &GateCase<'_>) -> Finding {
        let (risk, scene) = (&case.host.risk, case.scene);
        let policy = &scene.policy.risk;
        let score = risk.score(policy, scene.now);
        let reason = RiskReason::Score { score };
        if !policy.active || scene.policy.mode == Some(Mode::UserAssisted) {
            return Finding::go(reason);
        }
        let in_this_run = risk.since.is_some_and(|since| since >= scene.job.started_at);
        if risk.streak >= policy.early_stop && in_this_run {
            return Finding::never(RiskReason::EarlyStop { streak: risk.streak });
        }
        match RiskLevel::of(score) {
            RiskLevel::Critical => Finding::never(reason),
            _ => Finding::go(reason),
        }
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        if heard.ended().is_some() {
            host.risk.note(&heard.outcome, heard.scene);
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, _: Time) {
        let score = host.risk.score.max(remembered.risk.score);
        if remembered.risk.as_of > host.risk.as_of {
            host.risk = remembered.risk.clone();
        }
        host.risk.score = score;
    }

    fn sentence(reason: RiskReason, telling: &Telling<'_>) -> String {
        match reason {
            RiskReason::Score { score } => {
                let skips = match telling.verdict {
                    Verdict::Never => ": automated modes skip the host",
                    _ => "",
                };
                format!("risk score {score} of 100, {}{skips}", RiskLevel::of(score).name())
            }
            RiskReason::EarlyStop { streak } => {
                format!("{} in a row stopped this run early", counted(streak, "friction signal"))
            }
        }
    }
}

tags! {
    RiskReason { 21 Score { score }, 22 EarlyStop { streak } }
}

impl RiskLevel {
    /// Returns the level of a score.
    pub fn of(score: u8) -> RiskLevel {
        match score {
            0..=20 => RiskLevel::Low,
            21..=50 => RiskLevel::Medium,
            51..=80 => RiskLevel::High,
            _ => RiskLevel::Critical,
        }
    }
}

impl RiskState {
    /// Returns the score at `now`, decayed and rounded, 0 to 100.
    pub fn score(&self, policy: &policy::Risk, now: Time) -> u8 {
        self.exact(policy, now).round() as u8
    }

    fn exact(&self, policy: &policy::Risk, now: Time) -> f32 {
        let Some(as_of) = self.as_of else { return 0.0 };
        let days = micros(now - as_of) as f64 / 86_400e6;
        let left = (f64::from(policy.daily_percent) / 100.0).powf(days);
        (f64::from(self.score) * left).clamp(0.0, 100.0) as f32
    }

    fn note(&mut self, outcome: &Outcome, scene: &Scene<'_>) {
        let (policy, now) = (&scene.policy.risk, scene.now);
        match outcome.friction_points() {
            Some(points) => {
                self.score = (self.exact(policy, now) + f32::from(points)).min(100.0);
                self.as_of = Some(now);
                if self.streak == 0 || self.since < Some(scene.job.started_at) {
                    // A row belongs to one run: signals of an earlier run do not stop this one.
                    (self.streak, self.since) = (0, Some(now));
                }
                self.streak = self.streak.saturating_add(1);
            }
            None if outcome.is_ordinary() => {
                self.streak = 0;
                self.since = None;
            }
            None => {}
        }
    }
}

impl HostState {
    /// Returns the risk score at `now`.
    pub fn risk_score(&self, policy: &Policy, now: Time) -> u8 {
        self.risk.score(&policy.risk, now)
    }

    /// Returns the delay for the host's risk.
    pub fn risk_delay(&self, policy: &Policy, now: Time) -> Duration {
        let [low, medium, high] = policy.risk.delay;
        match RiskLevel::of(self.risk_score(policy, now)) {
            RiskLevel::Low => low,
            RiskLevel::Medium => medium,
            RiskLevel::High | RiskLevel::Critical => high,
        }
    }
}
