//! What an answer to `GET /robots.txt` means, before a byte of it is read (RFC 9309 §2.3.1).

use crate::policy::Forbidden;

/// How asking for robots.txt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RobotsReply {
    /// A complete answer with this status, at the end of its redirects.
    Status(u16),
    /// More hops than five, or a loop.
    TooManyRedirects,
    /// No complete answer: name not found, refused, time-out, TLS, reset, or a body that broke off.
    Failed,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RobotsClass {
    /// The body is the rules (RFC 9309 §2.3.1.1).
    Rules,
    /// There are no rules: everything may be fetched (§2.3.1.3, "unavailable").
    NoRules,
    /// The site keeps even its rules to itself, and the policy takes that as a no.
    Denied,
    /// Nothing is known, which is not the same as nothing being forbidden (§2.3.1.4, "unreachable").
    Unreachable,
}

/// What an answer to `GET /robots.txt` means.
///
/// A redirect status arrives here only if there was nowhere to go (no `Location`, or one that can't be followed): that is an
/// answer without rules, as is a chain that never ends (§2.3.1.2).
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
        // House rule: "too many requests" says that there are rules, and that we may not see them yet.
        RobotsReply::Status(429) => RobotsClass::Unreachable,
        RobotsReply::Status(300..=499) | RobotsReply::TooManyRedirects => RobotsClass::NoRules,
        // 5xx, and numbers that are no status at all.
        RobotsReply::Status(_) | RobotsReply::Failed => RobotsClass::Unreachable,
    }
}
