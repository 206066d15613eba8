//! Classifies an answer to `GET /robots.txt` by its status (RFC 9309 §2.3.1).

use crate::policy::Forbidden;

/// The end of a request for robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RobotsReply {
    /// A complete answer with this status, after all redirects.
    Status(u16),
    /// More than five redirects, or a loop.
    TooManyRedirects,
    /// No complete answer: name not found, refused, timeout, TLS, reset, or an incomplete body.
    Failed,
}

/// The meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RobotsClass {
    /// The body has the rules (RFC 9309 §2.3.1.1).
    Rules,
    /// There are no rules, so everything may be fetched (§2.3.1.3, "unavailable").
    NoRules,
    /// The site refuses its robots.txt, and the policy treats that as a refusal of everything.
    Denied,
    /// Nothing is known, which does not mean that nothing is forbidden (§2.3.1.4, "unreachable").
    Unreachable,
}

/// Returns what an answer to `GET /robots.txt` means.
///
/// A redirect status arrives here only if there is no usable `Location`. That is an answer without
/// rules, as is an endless chain (§2.3.1.2).
///
/// ```
/// use curtsy_core::policy::Forbidden;
/// use curtsy_core::robots::{RobotsClass, RobotsReply, class_of};
/// assert_eq!(class_of(RobotsReply::Status(404), Forbidden::Deny), RobotsClass::NoRules);
/// assert_eq!(class_of(RobotsReply::Status(429), Forbidden::Allow), RobotsClass::Unreachable);
/// ```
pub fn class_of(reply: RobotsReply, forbidden: Forbidden) -> RobotsClass {
    match reply {
        RobotsReply::Status(200..=299) => RobotsClass::Rules,
        RobotsReply::Status(401 | 403) if forbidden == Forbidden::Deny => RobotsClass::Denied,
        // House rule: "too many requests" means that there are rules and that we may not see them
        // yet.
        RobotsReply::Status(429) => RobotsClass::Unreachable,
        RobotsReply::Status(300..=499) | RobotsReply::TooManyRedirects => RobotsClass::NoRules,
        // 5xx, and numbers that are no status.
        RobotsReply::Status(_) | RobotsReply::Failed => RobotsClass::Unreachable,
    }
}
