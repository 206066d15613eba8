//! Combines the layers of a policy: flags override the environment, which overrides files, which
//! override the preset.
//!
//! The strongest layer that names the preset and the mode decides both, and they give every field a
//! value. Then the policy file, the settings file, the environment and the flags replace fields,
//! the weakest first. The result is the policy, the origin of each value, and warnings for the
//! user.

use std::collections::BTreeMap;
use std::fmt;

use super::environment::{self, Variables};
use super::error::{PolicyError, PolicyFault, ValuePlace};
use super::fields::{FIELDS, Field};
use super::file::{FileLayer, shown};
use super::host::Reach;
use super::value::{FieldValue, ValueKind};
use super::{Curve, Mode, Policy, Preset};

/// The layers of a policy, the strongest last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layers<'a> {
    /// The text of a policy file.
    pub file: Option<&'a str>,
    /// The settings in a settings file (`curtsy.toml`).
    pub settings: SettingsFile<'a>,
    /// The environment variables of the process. Only those of the policy are read.
    pub environment: Option<&'a Variables>,
    /// The preset, if a flag names one.
    pub preset: Option<Preset>,
    /// The mode, if a flag names one.
    pub mode: Option<Mode>,
    /// Flags that each set one field.
    pub flags: &'a [FlagValue<'a>],
}

/// The policy settings of a settings file, which are the flags of a command. They override a policy
/// file, which the settings file may name.
#[derive(Clone, Copy, Debug, Default)]
pub struct SettingsFile<'a> {
    /// The name of the file, for messages.
    pub file: &'a str,
    /// The preset, if the file names one.
    pub preset: Option<Preset>,
    /// The mode, if the file names one.
    pub mode: Option<Mode>,
    /// Keys that each set one field. `flag` is the key as the user wrote it, such as `delay`.
    pub values: &'a [FlagValue<'a>],
}

/// One flag that sets one field.
#[derive(Clone, Copy, Debug)]
pub struct FlagValue<'a> {
    /// The flag as the user wrote it, such as `--delay`.
    pub flag: &'a str,
    /// The field's key, such as `pace.delay`.
    pub key: &'a str,
    /// The value as the user wrote it.
    pub value: &'a str,
}

/// A policy with the origin of its values.
#[derive(Clone, Debug)]
pub struct SettledPolicy {
    /// The policy.
    pub policy: Policy,
    /// The origin of each field's value, by key.
    pub origin: BTreeMap<&'static str, Origin>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The preset.
    Preset(Preset),
    /// The mode of the survey preset.
    Mode(Mode),
    /// A file, a variable or a flag.
    Said(ValuePlace),
}

impl Policy {
    /// Parses a policy file: a preset, and the fields that differ from it.
    ///
    /// The delay is checked as for public addresses. A crawl inside `--allow-net` uses
    /// [`Layers::settle`].
    ///
    /// ```
    /// use curtsy_core::policy::Policy;
    /// let policy = Policy::parse("preset = 'audit'\n[robots]\nttl = '2h'").unwrap();
    /// assert_eq!(policy.robots.ttl.as_secs(), 7200);
    ///
    /// let refused = Policy::parse("[robots]\ntll = '2h'").unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "line 2, column 1: `robots.tll` is not a field of a policy\nhint: did you mean `robots.ttl`?"
    /// );
    /// ```
    pub fn parse(toml: &str) -> Result<Policy, PolicyError> {
        let layers = Layers { file: Some(toml), ..Layers::default() };
        layers.settle(Reach::Public).map(|settled| settled.policy)
    }
}

impl Layers<'_> {
    /// Combines the layers and checks the result.
    pub fn settle(&self, reach: Reach) -> Result<SettledPolicy, PolicyError> {
        let mut faults = Vec::new();
        let mut warnings = Vec::new();
        let mut file = self.file.map(FileLayer::read).unwrap_or_default();
        faults.append(&mut file.faults);
        let none = Variables::new();
        let variables = self.environment.unwrap_or(&none);
        let choice = environment::choice(variables, &mut faults);

        let preset = self.preset.or(choice.preset).or(self.settings.preset).or(file.preset);
        let preset = preset.unwrap_or(Preset::Careful);
        let mut settling = Settling::of(preset);
        let flag_mode = self.mode.map(|mode| (mode, ValuePlace::Flag("--mode".to_owned())));
        let in_settings = |name: &str| ValuePlace::Setting {
            name: name.to_owned(),
            file: self.settings.file.to_owned(),
        };
        let settings_mode = self.settings.mode.map(|mode| (mode, in_settings("mode")));
        if let Some((mode, place)) = flag_mode.or(choice.mode).or(settings_mode).or(file.mode) {
            settling.mode(mode, place, &mut faults);
        }

        for (field, value, place) in file.fields {
            settling.set(field, &value, place);
        }
        settling.policy.host = file.hosts.into_iter().collect();
        for value in self.settings.values {
            settling.say(value, in_settings(value.flag), &mut faults);
        }
        let said = environment::fields(preset, variables, &mut faults, &mut warnings);
        for (field, value, place) in said {
            settling.set(field, &value, place);
        }
        for flag in self.flags {
            settling.say(flag, ValuePlace::Flag(flag.flag.to_owned()), &mut faults);
        }

        settling.check(reach, &mut faults);
        PolicyError::unless_empty(faults)?;
        Ok(SettledPolicy { policy: settling.policy, origin: settling.origin, warnings })
    }
}

/// A policy while layers are applied to it.
struct Settling {
    policy: Policy,
    origin: BTreeMap<&'static str, Origin>,
}

impl Settling {
    fn of(preset: Preset) -> Settling {
        let origin = FIELDS.iter().map(|field| (field.key, Origin::Preset(preset)));
        Settling { policy: Policy::preset(preset), origin: origin.collect() }
    }

    fn mode(&mut self, mode: Mode, place: ValuePlace, faults: &mut Vec<PolicyFault>) {
        if self.policy.preset != Preset::Survey {
            faults.push(PolicyFault {
                key: "mode".to_owned(),
                at: Some(place),
                problem: format!(
                    "`mode` is `{}`, but the preset `{}` has no modes",
                    mode.name(),
                    self.policy.preset.name()
                ),
                hint: Some("choose the preset `survey`, or leave the mode out".to_owned()),
            });
            return;
        }
        let before = self.policy.clone();
        self.policy = before.clone().with_mode(mode);
        for field in FIELDS.iter().filter(|f| f.get(&before) != f.get(&self.policy)) {
            self.origin.insert(field.key, Origin::Mode(mode));
        }
    }

    fn set(&mut self, field: &'static Field, value: &FieldValue, place: ValuePlace) {
        // The kind has accepted this value, and a test checks each kind against the type of its
        // field.
        let fitted = field.set(&mut self.policy, value);
        debug_assert!(fitted, "{} has a kind that its type can't hold", field.key);
        self.origin.insert(field.key, Origin::Said(place));
    }

    /// Sets one field to the value of a flag or of a settings file.
    fn say(&mut self, flag: &FlagValue<'_>, place: ValuePlace, faults: &mut Vec<PolicyFault>) {
        let Some(field) = Field::find(flag.key) else {
            let near = super::typo::nearest(flag.key, FIELDS.iter().map(|field| field.key));
            faults.push(PolicyFault {
                key: flag.key.to_owned(),
                at: Some(place),
                problem: format!("`{}` is not a field of a policy", shown(flag.key)),
                hint: near.map(|near| format!("did you mean `{near}`?")),
            });
            return;
        };
        match field.kind.read_text(flag.value) {
            Some(value) => self.set(field, &value, place),
            None => faults.push(unfit(field.key, &field.kind, flag.value, place)),
        }
    }

    /// Checks fields against each other.
    fn check(&self, reach: Reach, faults: &mut Vec<PolicyFault>) {
        let policy = &self.policy;
        if let Err(mut fault) = policy.check_delay(None, reach) {
            fault.at = self.place("pace.delay");
            faults.push(fault);
        }
        let curves: [(&str, &Curve); 3] = [
            ("backoff.curve", &policy.backoff.curve),
            ("retry.curve", &policy.retry.curve),
            ("breaker.curve", &policy.breaker.curve),
        ];
        for (section, curve) in curves.into_iter().filter(|(_, curve)| curve.cap < curve.base) {
            faults.push(self.at_odds(
                &format!("{section}.cap"),
                &format!("at least `{section}.base`"),
                &super::amount::write_span(curve.base),
            ));
        }
        if policy.slots.body_memory < policy.body.decoded_max {
            faults.push(self.at_odds(
                "slots.body_memory",
                "at least `body.decoded_max`",
                &super::amount::write_size(policy.body.decoded_max),
            ));
        }
    }

    fn at_odds(&self, key: &str, would_do: &str, bound: &str) -> PolicyFault {
        let written = Field::find(key).map(|field| field.text(&self.policy)).unwrap_or_default();
        let other = would_do.split('`').nth(1).unwrap_or_default();
        PolicyFault {
            key: key.to_owned(),
            at: self.place(key).or_else(|| self.place(other)),
            problem: format!("`{key}` is `{written}`, expected {would_do}, which is `{bound}`"),
            hint: None,
        }
    }

    fn place(&self, key: &str) -> Option<ValuePlace> {
        match self.origin.get(key) {
            Some(Origin::Said(place)) => Some(place.clone()),
            _ => None,
        }
    }
}

/// Returns the fault of a value from a variable or a flag that is not allowed.
pub(super) fn unfit(key: &str, kind: &ValueKind, written: &str, at: ValuePlace) -> PolicyFault {
    PolicyFault {
        key: key.to_owned(),
        at: Some(at),
        problem: format!("`{key}` is `{}`, expected {}", shown(written), kind.would_do()),
        hint: kind.meant(written),
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Preset(preset) => write!(f, "preset {}", preset.name()),
            Origin::Mode(mode) => write!(f, "mode {}", mode.name()),
            Origin::Said(ValuePlace::Line { line, .. }) => write!(f, "file, line {line}"),
            Origin::Said(place) => write!(f, "{}", place.to_string().replace('`', "")),
        }
    }
}
