//! Builds the user agent: `product/version (+contact)`.
//!
//! A site owner who sees a request in a log must be able to identify the crawler, name it in
//! robots.txt, and write to a person. So the product has a token that robots.txt can name (RFC 9309
//! §2.2.1), and there is no crawl without a contact. Only the caller knows whether a crawl is of
//! its own machine: [`Policy::user_agent`] makes no exception.

use super::error::{PolicyError, PolicyFault};
use super::{Identity, Policy};

impl Policy {
    /// Returns the user agent of every request, or the fault if a part of it is missing.
    ///
    /// ```
    /// use curtsy_core::policy::{Policy, Preset};
    /// let mut policy = Policy::preset(Preset::Audit);
    /// assert!(policy.user_agent().is_err(), "no contact, no crawl");
    /// policy.identity.contact = Some("me@example.org".to_owned());
    /// assert_eq!(policy.user_agent().unwrap(), "AEO-Audit/1.0 (+me@example.org)");
    /// ```
    pub fn user_agent(&self) -> Result<String, PolicyError> {
        match &self.identity.contact {
            Some(contact) => Ok(format!("{} (+{contact})", self.identity.product)),
            None => Err(PolicyError::from(PolicyFault {
                key: "identity.contact".to_owned(),
                at: None,
                problem:
                    "`identity.contact` is not set: a site owner who sees our requests must be \
                          able to reach a person"
                        .to_owned(),
                hint: Some(
                    "give a mail address or a page with `--contact me@example.org`, the variable \
                     `CURTSY_CONTACT`, or `contact` under `[identity]` in the policy file"
                        .to_owned(),
                ),
            })),
        }
    }

    /// Returns the name by which robots.txt groups are matched.
    pub fn product_token(&self) -> &str {
        self.identity.product_token()
    }
}

impl Identity {
    /// Returns the product without its version, as a `User-agent` line of robots.txt names it.
    pub fn product_token(&self) -> &str {
        self.product.split('/').next().unwrap_or_default()
    }
}

/// Returns whether the text is `product/version` with a product of letters, `_` and `-`, which
/// robots.txt can name (RFC 9309 §2.2.1).
pub(super) fn product_names(text: &str) -> bool {
    let Some((product, version)) = text.split_once('/') else { return false };
    let named = |b: u8| b.is_ascii_alphabetic() || b == b'-' || b == b'_';
    let version_byte = |b: u8| b.is_ascii_alphanumeric() || b".-_+".contains(&b);
    text.len() <= TEXT_MAX
        && product.bytes().any(|b| b.is_ascii_alphabetic())
        && product.bytes().all(named)
        && !version.is_empty()
        && version.bytes().all(version_byte)
}

/// Returns whether the text looks like a mail address or a page, and fits between the parentheses
/// of a user agent.
pub(super) fn contact_reaches(text: &str) -> bool {
    let fits = text.len() <= TEXT_MAX
        && text.bytes().all(|b| b.is_ascii_graphic() && !b"()\\\"<>".contains(&b));
    let page = ["https://", "http://"].iter().any(|scheme| {
        text.strip_prefix(scheme)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['))
    });
    let mail =
        text.strip_prefix("mailto:").unwrap_or(text).rsplit_once('@').is_some_and(
            |(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('/'),
        );
    fits && (page || mail)
}

const TEXT_MAX: usize = 200;
