//! What a process's variables say about the policy.
//!
//! Ours are `CURTSY_*`, one for each field. Each preset also knows the variables of the system whose settings it carries, so that an existing
//! deployment keeps its environment; they are read only when their preset is chosen, for `MAX_PAGES` or `USER_AGENT` may mean
//! something else to everybody else. Ours win over theirs. An empty variable counts as unset.
//!
//! The variables come as a map: this crate doesn't look at the process that it runs in.

use std::collections::BTreeMap;
use std::time::Duration;

use super::amount::{read_factor, read_seconds};
use super::error::{Fault, Place};
use super::fields::{FIELDS, Field};
use super::file::shown;
use super::layers::unfit;
use super::typo::nearest;
use super::value::{Kind, Value};
use super::{Growth, Mode, Preset};

/// A process's variables by name.
pub type Variables = BTreeMap<String, String>;

/// One value that a variable sets.
pub(super) type Said = (&'static Field, Value, Place);

/// What the variables choose before any field is set.
pub(super) struct Choice {
    pub(super) preset: Option<Preset>,
    pub(super) mode: Option<(Mode, Place)>,
}

/// Reads `CURTSY_PRESET` and `CURTSY_MODE`.
pub(super) fn choice(variables: &Variables, faults: &mut Vec<Fault>) -> Choice {
    let mut word = |name: &str, key: &str, words: &'static [&'static str]| {
        let text = value_of(variables, name)?;
        if !words.contains(&text) {
            faults.push(Fault {
                key: key.to_owned(),
                at: Some(Place::Variable(name.to_owned())),
                problem: format!(
                    "`{key}` is `{}`, expected {}",
                    shown(text),
                    Kind::Word(words).would_do()
                ),
                hint: None,
            });
        }
        Some(text)
    };
    let preset = word("CURTSY_PRESET", "preset", Preset::WORDS).and_then(Preset::parse);
    let mode = word("CURTSY_MODE", "mode", Mode::WORDS).and_then(Mode::parse);
    let place = Place::Variable("CURTSY_MODE".to_owned());
    Choice { preset, mode: mode.map(|mode| (mode, place)) }
}

/// Reads the variables of the preset's own system, then ours, so that ours win.
pub(super) fn fields(
    preset: Preset,
    variables: &Variables,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<String>,
) -> Vec<Said> {
    let mut said = Vec::new();
    inherited(preset, variables, faults, warnings, &mut said);
    for field in FIELDS {
        let name = field.variable();
        let Some(text) = value_of(variables, &name) else {
            continue;
        };
        let place = Place::Variable(name);
        match field.kind.read_text(text) {
            Some(value) => {
                if let Some((_, other, Place::Variable(theirs))) =
                    said.iter().rev().find(|s| s.0.key == field.key)
                    && *other != value
                {
                    warnings.push(format!(
                        "`{}` wins over `{theirs}`: they set `{}` differently",
                        field.variable(),
                        field.key
                    ));
                }
                said.push((field, value, place));
            }
            None => faults.push(unfit(field, text, place)),
        }
    }
    warn_of_typos(variables, warnings);
    said
}

/// The variables of the system that a preset carries on.
fn inherited(
    preset: Preset,
    variables: &Variables,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<String>,
    said: &mut Vec<Said>,
) {
    for variable in INHERITED.iter().filter(|variable| variable.preset == preset) {
        let Some((name, text)) = variable.find(variables) else {
            continue;
        };
        for key in variable.keys {
            let Some(field) = Field::find(key) else {
                continue;
            };
            let place = Place::Variable(name.to_owned());
            // Out of bounds is refused as it would be in a file: the kind reads what it would itself write.
            let value = (variable.unit.read)(text)
                .and_then(|value| field.kind.read_text(&field.kind.write_text(&value)));
            let Some(value) = value else {
                faults.push(Fault {
                    problem: format!(
                        "`{name}` is `{}`, expected {} that gives `{key}` {}",
                        shown(text),
                        variable.unit.would_do,
                        field.kind.would_do()
                    ),
                    ..unfit(field, text, place)
                });
                continue;
            };
            let earlier = said.iter().find(|earlier| earlier.0.key == *key);
            match earlier {
                Some((_, other, Place::Variable(first))) => {
                    if *other != value {
                        warnings.push(format!(
                            "`{first}` wins over `{name}`: they set `{key}` differently"
                        ));
                    }
                }
                _ => said.push((field, value, place)),
            }
        }
    }
}

/// A name that begins as ours do and is nearly one of them was probably meant to be one.
fn warn_of_typos(variables: &Variables, warnings: &mut Vec<String>) {
    let mut known: Vec<String> = FIELDS.iter().map(Field::variable).collect();
    known.extend(["CURTSY_PRESET".to_owned(), "CURTSY_MODE".to_owned()]);
    for name in variables.keys().filter(|name| name.starts_with("CURTSY_")) {
        if known.contains(name) {
            continue;
        }
        if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
            warnings.push(format!("`{}` sets nothing; did you mean `{near}`?", shown(name)));
        }
    }
}

fn value_of<'v>(variables: &'v Variables, name: &str) -> Option<&'v str> {
    variables.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// A variable of the system that a preset carries on.
#[derive(Debug)]
pub struct Inherited {
    /// The preset that reads it.
    pub preset: Preset,
    /// Its name.
    pub name: &'static str,
    /// The fields that it sets.
    pub keys: &'static [&'static str],
    unit: &'static Unit,
}

impl Inherited {
    /// What its value is: seconds, minutes, a number…
    pub fn unit(&self) -> &'static str {
        self.unit.would_do
    }

    fn find<'v>(&self, variables: &'v Variables) -> Option<(&'v str, &'v str)> {
        // The page fetcher's settings library takes names in either case; the other systems don't.
        let same = |name: &&String| match self.preset {
            Preset::Fleet => name.eq_ignore_ascii_case(self.name),
            _ => name.as_str() == self.name,
        };
        let name = variables.keys().find(same)?;
        Some((name, value_of(variables, name)?))
    }
}

#[derive(Debug)]
struct Unit {
    would_do: &'static str,
    read: fn(&str) -> Option<Value>,
}

const SECONDS: Unit =
    Unit { would_do: "a number of seconds", read: |text| read_seconds(text).map(Value::Span) };
const MINUTES: Unit = Unit {
    would_do: "a number of minutes",
    read: |text| read_seconds(text)?.checked_mul(60).map(Value::Span),
};
const DELAY: Unit = Unit {
    would_do: "a number of seconds",
    read: |text| read_seconds(text).map(|span| Value::Range(span, span)),
};
const RATE: Unit = Unit {
    would_do: "requests per second",
    read: |text| {
        // A token bucket's rate is the spacing of its tokens: one start at a time, never a burst.
        let rate = read_factor(text).filter(|rate| *rate > 0.0)?;
        let micros = (1e6 / rate).ceil();
        let span = (micros < 1e15).then(|| Duration::from_micros(micros as u64))?;
        Some(Value::Range(span, span))
    },
};
const NUMBER: Unit =
    Unit { would_do: "a whole number", read: |text| text.parse().ok().map(Value::Count) };
const FACTOR: Unit = Unit {
    would_do: "a factor",
    read: |text| read_factor(text).map(|factor| Value::Growth(Growth::Times(factor))),
};
const TEXT: Unit = Unit { would_do: "text", read: |text| Some(Value::Text(text.to_owned())) };

const fn inherit(
    preset: Preset,
    name: &'static str,
    keys: &'static [&'static str],
    unit: &'static Unit,
) -> Inherited {
    Inherited { preset, name, keys, unit }
}

/// Every inherited variable; where two set one field, the first wins.
pub static INHERITED: &[Inherited] = &[
    inherit(Preset::Careful, "ROBOTS_TTL_SECONDS", &["robots.ttl"], &SECONDS),
    inherit(Preset::Careful, "ROBOTS_CACHE_TTL_SEC", &["robots.ttl"], &SECONDS),
    inherit(Preset::Careful, "ROBOTS_DENY_TTL_SECONDS", &["robots.deny_ttl"], &SECONDS),
    inherit(Preset::Careful, "ROBOTS_DEFAULT_DELAY_SECONDS", &["pace.delay"], &DELAY),
    inherit(Preset::Careful, "FETCH_CACHE_TTL_SEC", &["cache.ttl"], &SECONDS),
    inherit(Preset::Audit, "MAX_PAGES", &["budget.pages"], &NUMBER),
    inherit(Preset::Audit, "MAX_SCAN_TIME_MINUTES", &["budget.time"], &MINUTES),
    inherit(Preset::Audit, "USER_AGENT", &["identity.product"], &TEXT),
    inherit(Preset::Fleet, "PAGE_FETCHER_CONTACT", &["identity.contact"], &TEXT),
    inherit(Preset::Fleet, "PAGE_FETCHER_USER_AGENT", &["identity.product"], &TEXT),
    inherit(Preset::Fleet, "PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS", &["timeout.whole"], &SECONDS),
    inherit(Preset::Fleet, "PAGE_FETCHER_MAX_RETRIES", &["retry.max"], &NUMBER),
    inherit(
        Preset::Fleet,
        "PAGE_FETCHER_RETRY_BACKOFF_BASE_SECONDS",
        &["retry.curve.base", "backoff.curve.base"],
        &SECONDS,
    ),
    inherit(Preset::Fleet, "PAGE_FETCHER_MAX_REDIRECTS", &["body.redirects_max"], &NUMBER),
    inherit(Preset::Fleet, "PAGE_FETCHER_CACHE_TTL_SECONDS", &["cache.ttl"], &SECONDS),
    inherit(Preset::Fleet, "PAGE_FETCHER_RATE_LIMIT_PER_SECOND", &["pace.delay"], &RATE),
    inherit(
        Preset::Fleet,
        "PAGE_FETCHER_CIRCUIT_BREAKER_FAILURE_THRESHOLD",
        &["breaker.failures"],
        &NUMBER,
    ),
    inherit(
        Preset::Fleet,
        "PAGE_FETCHER_CIRCUIT_BREAKER_INITIAL_BACKOFF_SECONDS",
        &["breaker.curve.base"],
        &SECONDS,
    ),
    inherit(
        Preset::Fleet,
        "PAGE_FETCHER_CIRCUIT_BREAKER_MAX_BACKOFF_SECONDS",
        &["breaker.curve.cap"],
        &SECONDS,
    ),
    inherit(
        Preset::Fleet,
        "PAGE_FETCHER_CIRCUIT_BREAKER_BACKOFF_MULTIPLIER",
        &["breaker.curve.growth"],
        &FACTOR,
    ),
    inherit(Preset::Fleet, "PAGE_FETCHER_ROBOTS_TXT_CACHE_TTL_SECONDS", &["robots.ttl"], &SECONDS),
];
