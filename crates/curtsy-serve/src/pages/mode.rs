//! The three modes as a person chooses between them: what each does, and what it costs.

use curtsy_core::evidence::mode_name;
use curtsy_core::policy::Mode;

use super::words::{self, millis, span};
use crate::ServeSpec;

/// A mode to choose.
pub(super) struct ModeChoice {
    /// Its name in forms and in the API.
    pub(super) value: &'static str,
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) best_for: &'static str,
    /// Pages at most.
    pub(super) pages: u64,
    /// Between two requests.
    pub(super) delay: String,
    /// How long that many pages take at that delay.
    pub(super) takes: String,
    pub(super) is_assisted: bool,
}

/// The modes, with the figures of this service's policy.
pub(super) fn choices(spec: &ServeSpec) -> [ModeChoice; 3] {
    [Mode::Light, Mode::Standard, Mode::UserAssisted].map(|mode| {
        let policy = spec.settled.policy.clone().with_mode(mode);
        let pages = policy.budget.pages.unwrap_or(mode.pages());
        let delay = millis(policy.pace.delay_max);
        let value = mode_name(mode);
        ModeChoice {
            value,
            name: match mode {
                Mode::Light => "Light",
                Mode::Standard => "Standard",
                Mode::UserAssisted => "User-assisted",
            },
            what: match mode {
                Mode::Light => {
                    "A quick scan of the key pages: home page, about, services, contact."
                }
                Mode::Standard => {
                    "A thorough scan of what robots.txt, sitemaps and the home page lead to."
                }
                Mode::UserAssisted => "Only the pages that you name below. Nothing is looked for.",
            },
            best_for: match mode {
                Mode::Light => "small business sites and landing pages",
                Mode::Standard => "shops, restaurant menus and service catalogues",
                Mode::UserAssisted => {
                    "sites with bot protection, or when you know the pages you want"
                }
            },
            pages,
            delay: words::delay(delay),
            takes: span(pages.saturating_mul(delay)),
            is_assisted: !mode.is_automated(),
        }
    })
}
