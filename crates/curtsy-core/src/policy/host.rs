//! What a policy says about one host: its own section, and how fast a public host may be asked at all.
//!
//! A site owner who crawls the own site may ask it as fast as it bears: naming the host is what makes the difference. Everybody
//! else's hosts are never asked faster than every [`PUBLIC_DELAY_MIN`], whatever the preset.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::error::Fault;
use super::own::OwnHost;
use super::value::{Kind, Value};
use super::{HostOverride, Policy};
use crate::url::HostKey;

/// The shortest delay for a public host that the policy doesn't name.
pub const PUBLIC_DELAY_MIN: Duration = Duration::from_millis(200);

/// Which addresses a delay is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Addresses of the public internet: the shortest delay holds.
    Public,
    /// Networks that the user allowed by name (`--allow-net`): any delay goes.
    AllowedNet,
}

impl Policy {
    /// The policy as it stands for one host: the section of that host applied, if there is one.
    ///
    /// `host` is the canonical host name. The job's budget stays as it is. What is borrowed costs nothing; what had a section is a
    /// small copy without any sections.
    ///
    /// ```
    /// use curtsy_core::policy::Policy;
    /// let policy = Policy::parse("[host.\"example.org\"]\ndelay = \"0s\"").unwrap();
    /// assert_eq!(policy.for_host("example.org").pace.delay_min.as_secs(), 0);
    /// assert_eq!(policy.for_host("www.example.org").pace.delay_min.as_secs(), 3);
    /// ```
    pub fn for_host(&self, host: &str) -> Cow<'_, Policy> {
        let Some(section) = self.host.get(host) else {
            return Cow::Borrowed(self);
        };
        let mut policy = self.without_sections();
        if let Some(delay) = section.delay {
            (policy.pace.delay_min, policy.pace.delay_max) = delay;
        }
        if let Some(slots) = section.slots {
            policy.slots.per_host = slots;
        }
        if let Some(adaptive) = section.adaptive {
            policy.pace.adaptive = adaptive;
        }
        if let Some(retries) = section.retries {
            policy.retry.max = retries;
        }
        Cow::Owned(policy)
    }

    /// The policy as it stands for a host on a public address: its delay is not below [`PUBLIC_DELAY_MIN`], unless the policy names one for
    /// this host.
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

    /// Whether a host may be asked at this policy's delay only inside one's own networks.
    pub fn is_too_fast_for_public(&self, host: Option<&str>) -> bool {
        let named = host.and_then(|host| self.host.get(host)).is_some_and(|h| h.delay.is_some());
        !named && self.pace.delay_min < PUBLIC_DELAY_MIN
    }

    /// The hosts that the policy names as one's own by having credentials for them.
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

    /// Whether there are credentials for an origin of this host.
    pub fn has_credentials(&self, host: &str) -> bool {
        self.host.get(host).is_some_and(HostOverride::has_credentials)
    }

    /// Everything but the sections: they are many where there are any, and what stands for one host needs none of them.
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
            body: self.body.clone(),
            timeout: self.timeout.clone(),
            patience: self.patience,
            host: BTreeMap::new(),
        }
    }

    /// Says whether a host may be asked at the delay that this policy has for it.
    ///
    /// Without a host it is asked about the delay of all hosts that have no section of their own.
    pub fn check_delay(&self, host: Option<&str>, reach: Reach) -> Result<(), Fault> {
        if reach == Reach::AllowedNet || !self.is_too_fast_for_public(host) {
            return Ok(());
        }
        let delay = super::amount::write_range((self.pace.delay_min, self.pace.delay_max));
        Err(Fault {
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

/// One field that a host's section may set.
#[derive(Debug)]
pub struct HostField {
    /// Its key in the section.
    pub key: &'static str,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// The field of the policy that it stands in for.
    pub overrides: &'static str,
    /// Which values are allowed.
    pub kind: Kind,
    get: fn(&HostOverride) -> Option<Value>,
    set: fn(&mut HostOverride, &Value) -> bool,
}

impl HostField {
    /// The value, if the section sets it.
    pub fn get(&self, section: &HostOverride) -> Option<Value> {
        (self.get)(section)
    }

    /// Sets the value, and answers whether it fitted.
    pub(super) fn set(&self, section: &mut HostOverride, value: &Value) -> bool {
        (self.set)(section, value)
    }
}

/// All fields of a host's section.
pub static HOST_FIELDS: &[HostField] = &[
    HostField {
        key: "delay",
        doc: "Least time between two request starts on this host. Any delay is allowed.",
        overrides: "pace.delay",
        kind: Kind::Range { max: Duration::from_secs(86_400) },
        get: |section| section.delay.map(|(low, high)| Value::Range(low, high)),
        set: |section, value| match value {
            Value::Range(low, high) => {
                section.delay = Some((*low, *high));
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "slots",
        doc: "Maximum requests in flight to this host.",
        overrides: "slots.per_host",
        kind: Kind::Count { min: 1, max: 64, absent: None },
        get: |section| section.slots.map(|slots| Value::Count(slots.into())),
        set: |section, value| small_count(value, &mut section.slots),
    },
    HostField {
        key: "adaptive",
        doc: "Whether the delay of this host grows with its response time.",
        overrides: "pace.adaptive",
        kind: Kind::Switch,
        get: |section| section.adaptive.map(Value::Switch),
        set: |section, value| match value {
            Value::Switch(on) => {
                section.adaptive = Some(*on);
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "retries",
        doc: "Maximum retries of one URL of this host after its first try.",
        overrides: "retry.max",
        kind: Kind::Count { min: 0, max: 20, absent: None },
        get: |section| section.retries.map(|retries| Value::Count(retries.into())),
        set: |section, value| small_count(value, &mut section.retries),
    },
    HostField {
        key: "header",
        doc: "Headers to send to this host, which is yours. Values are in variables or files.",
        overrides: "",
        kind: Kind::Headers,
        get: |section| {
            (!section.headers.is_empty()).then(|| Value::Headers(section.headers.clone()))
        },
        set: |section, value| match value {
            Value::Headers(headers) => {
                section.headers.clone_from(headers);
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "basic_auth",
        doc: "HTTP Basic credentials for this host, which is yours.",
        overrides: "",
        kind: Kind::BasicAuth,
        get: |section| section.basic_auth.clone().map(Value::BasicAuth),
        set: |section, value| match value {
            Value::BasicAuth(login) => {
                section.basic_auth = Some(login.clone());
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "cookie",
        doc: "The `Cookie` header for this host, which is yours.",
        overrides: "",
        kind: Kind::Secret,
        get: |section| section.cookie.clone().map(Value::Secret),
        set: |section, value| match value {
            Value::Secret(secret) => {
                section.cookie = Some(secret.clone());
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "origin",
        doc: "The only origin that gets the three above. Default: `https` on port 443.",
        overrides: "",
        kind: Kind::Origin,
        get: |section| section.origin.clone().map(Value::Text),
        set: |section, value| match value {
            Value::Text(origin) => {
                section.origin = Some(origin.clone());
                true
            }
            _ => false,
        },
    },
    HostField {
        key: "plain_http",
        doc: "Whether that origin may be `http` on another machine. On this machine it always may.",
        overrides: "",
        kind: Kind::Switch,
        get: |section| section.plain_http.map(Value::Switch),
        set: |section, value| match value {
            Value::Switch(on) => {
                section.plain_http = Some(*on);
                true
            }
            _ => false,
        },
    },
];

fn small_count(value: &Value, place: &mut Option<u8>) -> bool {
    let Value::Count(count) = value else {
        return false;
    };
    let Ok(count) = u8::try_from(*count) else {
        return false;
    };
    *place = Some(count);
    true
}

/// The one spelling of a host's name, or nothing if this isn't a host.
pub(super) fn canonical_host(name: &str) -> Option<String> {
    HostKey::parse(name).ok().map(|key| key.as_str().to_owned())
}
