//! The sections of a policy for one host, and the least delay for public hosts.
//!
//! A site owner may crawl the own site at any speed, and shows that by naming the host in a
//! section. Requests to other public hosts are never closer together than [`PUBLIC_DELAY_MIN`], in
//! any preset.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::error::PolicyFault;
use super::own::OwnHost;
use super::stored::FieldType;
use super::value::{FieldValue, ValueKind};
use super::{HostOverride, Policy, TrapDetection};
use crate::url::HostKey;

/// The shortest delay for a public host that the policy doesn't name.
pub const PUBLIC_DELAY_MIN: Duration = Duration::from_millis(200);

/// The addresses to which a delay applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Addresses of the public internet, with the least delay.
    Public,
    /// Networks that the user allowed by name (`--allow-net`), with any delay.
    AllowedNet,
}

impl Policy {
    /// Returns the policy for one host, with the host's section applied. `host` is the canonical
    /// name.
    ///
    /// Without a section the policy is borrowed. Otherwise the result is a copy without any
    /// sections.
    ///
    /// ```
    /// use curtsy_core::policy::Policy;
    /// let policy = Policy::parse("[host.\"example.org\"]\ndelay = \"0s\"").unwrap();
    /// assert_eq!(policy.for_host("example.org").pace.delay_min.as_secs(), 0);
    /// assert_eq!(policy.for_host("www.example.org").pace.delay_min.as_secs(), 3);
    /// ```
    pub fn for_host(&self, host: &str) -> Cow<'_, Policy> {
        let Some(section) = self.host.get(host) else { return Cow::Borrowed(self) };
        let mut policy = self.without_sections();
        if let Some(delay) = section.delay {
            (policy.pace.delay_min, policy.pace.delay_max) = delay;
        }
        policy.slots.per_host = section.slots.unwrap_or(policy.slots.per_host);
        policy.pace.adaptive = section.adaptive.unwrap_or(policy.pace.adaptive);
        policy.retry.max = section.retries.unwrap_or(policy.retry.max);
        policy.traps.detect = section.traps.unwrap_or(policy.traps.detect);
        Cow::Owned(policy)
    }

    /// Returns the policy for a host on a public address. Its delay is at least
    /// [`PUBLIC_DELAY_MIN`], unless the host's section sets a delay.
    ///
    /// ```
    /// use curtsy_core::policy::Policy;
    /// let mut policy = Policy::parse("[host.\"example.org\"]\ndelay = \"0s\"").unwrap();
    /// (policy.pace.delay_min, policy.pace.delay_max) = Default::default();
    /// assert_eq!(policy.for_public_host("example.org").pace.delay_min.as_millis(), 0);
    /// assert_eq!(policy.for_public_host("other.org").pace.delay_min.as_millis(), 200);
    /// ```
    pub fn for_public_host(&self, host: &str) -> Cow<'_, Policy> {
        let policy = self.for_host(host);
        if !self.is_too_fast_for_public(Some(host)) {
            return policy;
        }
        let mut policy = policy.into_owned();
        let pace = &mut policy.pace;
        pace.delay_min = pace.delay_min.max(PUBLIC_DELAY_MIN);
        pace.delay_max = pace.delay_max.max(pace.delay_min);
        Cow::Owned(policy)
    }

    /// Returns whether this policy's delay for a host is allowed only inside the user's own
    /// networks.
    pub fn is_too_fast_for_public(&self, host: Option<&str>) -> bool {
        let named = host.and_then(|host| self.host.get(host)).is_some_and(|h| h.delay.is_some());
        !named && self.pace.delay_min < PUBLIC_DELAY_MIN
    }

    /// Returns the user's own hosts: those whose sections have credentials.
    ///
    /// ```
    /// use curtsy_core::policy::Policy;
    /// let text = "[host.\"staging.example.org\"]\ncookie = { env = \"STAGING_COOKIE\" }";
    /// let own = Policy::parse(text).unwrap().own_hosts();
    /// assert_eq!(own[0].at.to_string(), "https://staging.example.org");
    /// ```
    pub fn own_hosts(&self) -> Vec<OwnHost> {
        self.host.iter().filter_map(|(host, section)| section.own(host)).collect()
    }

    /// Returns whether the section of a host has credentials.
    pub fn has_credentials(&self, host: &str) -> bool {
        self.host.get(host).is_some_and(HostOverride::has_credentials)
    }

    /// Returns a copy without the sections, of which there may be many.
    fn without_sections(&self) -> Policy {
        Policy {
            preset: self.preset,
            mode: self.mode,
            identity: self.identity.clone(),
            robots: self.robots.clone(),
            pace: self.pace.clone(),
            slots: self.slots.clone(),
            backoff: self.backoff.clone(),
            retry: self.retry.clone(),
            breaker: self.breaker.clone(),
            risk: self.risk.clone(),
            cache: self.cache.clone(),
            budget: self.budget.clone(),
            traps: self.traps.clone(),
            body: self.body.clone(),
            timeout: self.timeout.clone(),
            patience: self.patience,
            host: BTreeMap::new(),
        }
    }

    /// Checks this policy's delay for a host or, without one, for all hosts without a section.
    pub fn check_delay(&self, host: Option<&str>, reach: Reach) -> Result<(), PolicyFault> {
        if reach == Reach::AllowedNet || !self.is_too_fast_for_public(host) {
            return Ok(());
        }
        let delay = super::amount::write_range((self.pace.delay_min, self.pace.delay_max));
        Err(PolicyFault {
            key: "pace.delay".to_owned(),
            at: None,
            problem: format!(
                "`pace.delay` is `{delay}`, expected at least `200ms` for public addresses"
            ),
            hint: Some(format!(
                "for your own site write `[host.\"example.org\"]` and `delay = \"{delay}\"`; inside `--allow-net` \
                 any delay goes"
            )),
        })
    }
}

/// One field of a host's section.
#[derive(Debug)]
pub struct HostField {
    /// The key in the section.
    pub key: &'static str,
    /// The meaning, in one line.
    pub doc: &'static str,
    /// The key of the policy's field that it overrides, or `""`.
    pub overrides: &'static str,
    /// The allowed values.
    pub kind: ValueKind,
    get: fn(&HostOverride) -> Option<FieldValue>,
    set: fn(&mut HostOverride, &FieldValue) -> bool,
}

impl HostField {
    /// Returns the value, if the section sets it.
    pub fn get(&self, section: &HostOverride) -> Option<FieldValue> {
        (self.get)(section)
    }

    /// Sets the value. Returns whether it fits the field's type.
    pub(super) fn set(&self, section: &mut HostOverride, value: &FieldValue) -> bool {
        (self.set)(section, value)
    }
}

/// Makes [`HOST_FIELDS`]. Each entry has the key, the field of [`HostOverride`], the key of the
/// policy's field that it overrides, the kind of the values, and the meaning.
macro_rules! host_fields {
    ($($key:literal $field:ident $overrides:literal: $kind:expr, $doc:literal;)+) => {
        /// All fields of a host's section.
        pub static HOST_FIELDS: &[HostField] = &[$(HostField {
            key: $key,
            doc: $doc,
            overrides: $overrides,
            kind: $kind,
            get: |section| section.$field.as_ref().map(FieldType::value),
            set: |section, value| {
                FieldType::of(value).map(|value| section.$field = Some(value)).is_some()
            },
        }),+];
    };
}

host_fields! {
    "delay" delay "pace.delay": ValueKind::Range { max: Duration::from_secs(86_400) },
        "Least time between two request starts on this host. Any delay is allowed.";
    "slots" slots "slots.per_host": ValueKind::Count { min: 1, max: 64, absent: None },
        "Maximum requests in flight to this host.";
    "adaptive" adaptive "pace.adaptive": ValueKind::Switch,
        "Whether the delay of this host grows with its response time.";
    "retries" retries "retry.max": ValueKind::Count { min: 0, max: 20, absent: None },
        "Maximum retries of one URL of this host after its first try.";
    "traps" traps "traps.detect": ValueKind::Word(TrapDetection::WORDS),
        "Whether links are left where this host seems to have no end.";
    "header" headers "": ValueKind::Headers,
        "Headers to send to this host, which is yours. Values are in variables or files.";
    "basic_auth" basic_auth "": ValueKind::BasicAuth,
        "HTTP Basic credentials for this host, which is yours.";
    "cookie" cookie "": ValueKind::Secret,
        "The `Cookie` header for this host, which is yours.";
    "origin" origin "": ValueKind::Origin,
        "The only origin that gets the three above. Default: `https` on port 443.";
    "plain_http" plain_http "": ValueKind::Switch,
        "Whether that origin may be `http` on another machine. On this machine it always may.";
}

/// Returns the canonical name of a host, or `None` if the text is no host.
pub(super) fn canonical_host(name: &str) -> Option<String> {
    HostKey::parse(name).ok().map(|key| key.as_str().to_owned())
}
