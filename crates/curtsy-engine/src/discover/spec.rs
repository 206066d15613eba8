//! The specification of what a crawl finds: plain data that every face fills in, and
//! [`Discovery::new`](super::Discovery::new) checks.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use curtsy_core::policy::{Policy, TrapDetection, TrapPolicy, nearest};
use curtsy_core::url::CrawlUrl;

/// What a crawl finds, and what it ignores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoverySpec {
    /// The start of the crawl. Seeds are requested whatever the filters say. URLs found from them
    /// must be in their scope.
    pub seeds: Vec<CrawlUrl>,
    /// How far from the seeds a found URL may be.
    pub scope: Scope,
    /// If there are any, a found URL must match one of them. A pattern between slashes (`/\.pdf$/`)
    /// is a regular expression over the whole URL; one that begins with a slash (`/blog/*`) is a
    /// glob over path and query; any other a glob over the whole URL.
    pub include: Vec<String>,
    /// A found URL that matches one of them is ignored. This overrides `include`.
    pub exclude: Vec<String>,
    /// Whether to request the sitemaps of the authorities where the crawl begins, before their
    /// pages.
    pub follow_sitemaps: bool,
    /// Whether to do so only if a seed is a whole site (its path is `/`). Other seeds are single
    /// pages.
    pub sitemaps_of_sites: bool,
    /// Whether to offer the links of pages and feeds.
    pub follow_links: bool,
    /// Whether to ignore links with `nofollow`, and all links of pages with it.
    pub respect_nofollow: bool,
    /// Whether to offer the canonical URL of a page, if links are followed.
    pub follow_canonical: bool,
    /// Whether to offer found URLs without parameters that only trace where a visitor came from
    /// (`utm_source`, `gclid`, …).
    pub strip_tracking: bool,
    /// Whether to check that images, scripts and style sheets of pages in scope exist; those on
    /// other sites only with `check_external`.
    pub check_assets: bool,
    /// Whether to check that the links of pages in scope to other sites exist. Nothing is crawled
    /// there.
    pub check_external: bool,
    /// Our product token, as in the user agent: robots rules under this name are for us.
    pub product: String,
    /// When links are left because a site seems to have no end.
    pub traps: TrapPolicy,
    /// Hosts of which every link is taken, by canonical name.
    pub taken_whole: HashSet<String>,
    /// Sitemaps of one host that indexes name.
    pub sitemaps_max: u32,
}

impl Default for DiscoverySpec {
    fn default() -> DiscoverySpec {
        DiscoverySpec {
            seeds: Vec::new(),
            scope: Scope::Host,
            include: Vec::new(),
            exclude: Vec::new(),
            follow_sitemaps: true,
            sitemaps_of_sites: false,
            follow_links: true,
            respect_nofollow: true,
            follow_canonical: true,
            strip_tracking: true,
            check_assets: false,
            check_external: false,
            product: "curtsy".to_owned(),
            traps: TrapPolicy::default(),
            taken_whole: HashSet::new(),
            sitemaps_max: SITEMAPS_MAX,
        }
    }
}

/// How far from the seeds a found URL may be. Scheme and port never matter, and `www.` before a
/// name makes no other host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// On the host of a seed.
    #[default]
    Host,
    /// On the host of a seed or below its name.
    Subdomains,
    /// On the host of a seed and in its folder.
    Prefix,
    /// Anywhere.
    Everywhere,
}

impl Scope {
    /// All scopes, the narrowest last but one.
    pub const ALL: [Scope; 4] = [Scope::Host, Scope::Subdomains, Scope::Prefix, Scope::Everywhere];

    /// Returns the name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Host => "host",
            Scope::Subdomains => "subdomains",
            Scope::Prefix => "prefix",
            Scope::Everywhere => "everywhere",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = DiscoveryError;
    fn from_str(text: &str) -> Result<Scope, DiscoveryError> {
        let found = Scope::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| DiscoveryError::Scope(text.to_owned()))
    }
}

/// Sitemaps of one host that indexes name, if nothing else is set.
pub(crate) const SITEMAPS_MAX: u32 = 5_000;

impl DiscoverySpec {
    /// Returns the specification with what the policy says about discovery: the product, and the
    /// limits of traps.
    pub fn under(self, policy: &Policy) -> DiscoverySpec {
        let off = Some(TrapDetection::Off);
        let whole = policy.host.iter().filter(|(_, section)| section.traps == off);
        DiscoverySpec {
            product: policy.product_token().to_owned(),
            traps: policy.traps.clone(),
            taken_whole: whole.map(|(host, _)| host.clone()).collect(),
            ..self
        }
    }

    /// Checks the product. Patterns are checked where they are compiled.
    pub(super) fn check(&self) -> Result<(), DiscoveryError> {
        // RFC 9309 §2.2.1 has letters, `-` and `_`. Digits are common in names.
        let is_token = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if self.product.is_empty() || !self.product.bytes().all(is_token) {
            return Err(DiscoveryError::Product(self.product.clone()));
        }
        Ok(())
    }
}

/// Returns the scope that was probably meant, as a hint.
fn meant(written: &str) -> String {
    let near = nearest(written, Scope::ALL.into_iter().map(Scope::as_str));
    near.map(|near| format!("\nhint: did you mean `{near}`?")).unwrap_or_default()
}

/// An error in a specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// An unknown scope.
    #[error("scope `{0}` is none of `host`, `subdomains`, `prefix`, `everywhere`{meant}", meant = meant(.0))]
    Scope(String),
    /// An unusable pattern.
    #[error("pattern `{pattern}` can't be used: {why}\nhint: {hint}")]
    Pattern {
        /// The pattern, shortened.
        pattern: String,
        /// The problem.
        why: String,
        /// The hint.
        hint: &'static str,
    },
    /// Patterns that are too much together.
    #[error(
        "{count} patterns are too many: {why}\nhint: one regular expression can stand for many words: `/(draft|print|login)/`"
    )]
    Patterns {
        /// The number of patterns.
        count: usize,
        /// The limit that they exceed.
        why: String,
    },
    /// A product token that no robots.txt can name.
    #[error(
        "product token `{0}` is none: letters, digits, `-` and `_`, at least one\nhint: the token of `curtsy/1.0` is `curtsy`"
    )]
    Product(String),
}

#[cfg(test)]
mod tests {
    use super::{DiscoveryError, DiscoverySpec, Scope};

    #[test]
    fn a_wish_that_cannot_be_meant_is_refused_with_what_would_do() {
        let check = |change: fn(&mut DiscoverySpec), expected: &str| {
            let mut spec = DiscoverySpec::default();
            change(&mut spec);
            let said = spec.check().err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(said.lines().next().unwrap_or_default(), expected);
        };
        check(|_| {}, "");
        check(|spec| spec.product = "AEO-Audit_2".into(), "");
        let refused = "is none: letters, digits, `-` and `_`, at least one";
        check(|spec| spec.product.clear(), &format!("product token `` {refused}"));
        check(|spec| spec.product = "x/1.0".into(), &format!("product token `x/1.0` {refused}"));
    }

    #[test]
    fn a_scope_is_read_by_its_name() {
        for scope in Scope::ALL {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        assert_eq!("Host".parse::<Scope>(), Err(DiscoveryError::Scope("Host".into())));
    }
}
