//! The three modes of the survey preset.

use std::time::Duration;

use super::Policy;

crate::word_enum! {
    /// The thoroughness of a survey, and who chose its pages.
    pub enum Mode {
        /// A quick scan of the key pages: at most 12 pages, 800 ms apart.
        Light = "light",
        /// A thorough scan of what sitemaps and links show: at most 25 pages, 1000 ms apart.
        Standard = "standard",
        /// Pages that a person named: at most 50, 1000 ms apart. Critical risk does not stop the
        /// survey.
        UserAssisted = "user-assisted",
    }
}

impl Mode {
    /// Returns the page limit of a job.
    pub const fn pages(self) -> u64 {
        match self {
            Mode::Light => 12,        // "Light Mode (≤12 pages)"
            Mode::Standard => 25,     // "Standard Mode (≤25 pages)"
            Mode::UserAssisted => 50, // "User-Assisted Mode (≤50 pages)"
        }
    }

    /// Returns the span between two starts on a host, before risk lengthens it.
    pub const fn delay(self) -> Duration {
        match self {
            Mode::Light => Duration::from_millis(800), // "Default delay: 800ms between requests"
            // "Default delay: 1000ms between requests"; user-assisted has the same by decision.
            Mode::Standard | Mode::UserAssisted => Duration::from_millis(1000),
        }
    }

    /// Returns whether the crawler chose the pages. Friction and critical risk stop such a run.
    pub const fn is_automated(self) -> bool {
        !matches!(self, Mode::UserAssisted)
    }
}

impl Policy {
    /// Returns the policy in another mode.
    ///
    /// Pages and delay change with the mode, unless they differ from the values of the mode before.
    ///
    /// ```
    /// use curtsy_core::policy::{Mode, Policy, Preset};
    /// let light = Policy::preset(Preset::Survey).with_mode(Mode::Light);
    /// assert_eq!(light.budget.pages, Some(12));
    /// assert_eq!(light.pace.delay_min.as_millis(), 800);
    /// ```
    pub fn with_mode(mut self, mode: Mode) -> Policy {
        let before = self.mode.replace(mode);
        if self.budget.pages == before.map(Mode::pages) {
            self.budget.pages = Some(mode.pages());
        }
        let delay = (self.pace.delay_min, self.pace.delay_max);
        if before.is_none_or(|before| delay == (before.delay(), before.delay())) {
            (self.pace.delay_min, self.pace.delay_max) = (mode.delay(), mode.delay());
        }
        self
    }
}
