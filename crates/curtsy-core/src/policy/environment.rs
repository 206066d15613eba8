//! Reads the environment variables that set fields of a policy.
//!
//! Our variables are `CURTSY_*`, one for each field. Each preset also reads the variables of the
//! system whose settings it adopts, so existing deployments keep their environment. Other presets
//! ignore them, since `MAX_PAGES` or `USER_AGENT` can mean something else to other programs. Our
//! variables override theirs. An empty variable counts as unset.
//!
//! The variables are passed as a map: this crate does not read the environment of its process.

use std::collections::BTreeMap;
use std::time::Duration;

use super::amount::{read_factor, read_seconds};
use super::error::{PolicyFault, ValuePlace};
use super::fields::{FIELDS, Field};
use super::file::shown;
use super::layers::unfit;
use super::typo::nearest;
use super::value::{FieldValue, ValueKind};
use super::{Growth, Mode, Preset};

/// The environment variables of a process, by name.
pub type Variables = BTreeMap<String, String>;

/// A field with the value that a variable sets.
pub(super) type VariableValue = (&'static Field, FieldValue, ValuePlace);

/// The preset and the mode, if variables name them.
pub(super) struct PresetChoice {
    pub(super) preset: Option<Preset>,
    pub(super) mode: Option<(Mode, ValuePlace)>,
}

/// Reads `CURTSY_PRESET` and `CURTSY_MODE`.
pub(super) fn choice(variables: &Variables, faults: &mut Vec<PolicyFault>) -> PresetChoice {
    let mut word = |name: &str, key: &str, words: &'static [&'static str]| {
        let text = value_of(variables, name)?;
        if !words.contains(&text) {
            let place = ValuePlace::Variable(name.to_owned());
            faults.push(unfit(key, &ValueKind::Word(words), text, place));
        }
        Some(text)
    };
    let preset = word("CURTSY_PRESET", "preset", Preset::WORDS).and_then(Preset::parse);
    let mode = word("CURTSY_MODE", "mode", Mode::WORDS).and_then(Mode::parse);
    let place = ValuePlace::Variable("CURTSY_MODE".to_owned());
    PresetChoice { preset, mode: mode.map(|mode| (mode, place)) }
}

/// Reads the variables of the preset's own system, then ours, so that ours win.
pub(super) fn fields(
    preset: Preset,
    variables: &Variables,
    faults: &mut Vec<PolicyFault>,
    warnings: &mut Vec<String>,
) -> Vec<VariableValue> {
    let mut said = Vec::new();
    inherited(preset, variables, faults, warnings, &mut said);
    for field in FIELDS {
        let name = field.variable();
        let Some(text) = value_of(variables, &name) else { continue };
        let place = ValuePlace::Variable(name);
        match field.kind.read_text(text) {
            Some(value) => {
                if let Some((_, other, ValuePlace::Variable(theirs))) =
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
            None => faults.push(unfit(field.key, &field.kind, text, place)),
        }
    }
    warnings.extend(variable_typos(preset, variables));
    said
}

/// Reads the variables of the system whose settings the preset adopts.
fn inherited(
    preset: Preset,
    variables: &Variables,
    faults: &mut Vec<PolicyFault>,
    warnings: &mut Vec<String>,
    said: &mut Vec<VariableValue>,
) {
    for variable in INHERITED.iter().filter(|variable| variable.preset == preset) {
        let Some((name, text)) = variable.find(variables) else { continue };
        for key in variable.keys {
            let Some(field) = Field::find(key) else { continue };
            let place = ValuePlace::Variable(name.to_owned());
            // A value out of bounds is refused as in a file: the kind reads its own spelling of the
            // value.
            let value = (variable.unit.read)(text)
                .and_then(|value| field.kind.read_text(&field.kind.write_text(&value)));
            let Some(value) = value else {
                faults.push(PolicyFault {
                    problem: format!(
                        "`{name}` is `{}`, expected {} that gives `{key}` {}",
                        shown(text),
                        variable.unit.would_do,
                        field.kind.would_do()
                    ),
                    hint: None,
                    ..unfit(key, &field.kind, text, place)
                });
                continue;
            };
            let earlier = said.iter().find(|earlier| earlier.0.key == *key);
            match earlier {
                Some((_, other, ValuePlace::Variable(first))) => {
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

/// Returns warnings about variables whose names are nearly those of variables that the preset
/// reads.
///
/// They are warnings, not errors, because the variables may belong to other programs.
pub fn variable_typos(preset: Preset, variables: &Variables) -> Vec<String> {
    let mut known: Vec<String> = FIELDS.iter().map(Field::variable).collect();
    known.extend(OTHERS.split(' ').map(str::to_owned));
    let inherited = INHERITED.iter().filter(|variable| variable.preset == preset);
    known.extend(inherited.map(|variable| variable.name.to_owned()));
    if preset == Preset::Fleet {
        known.extend(WORKER.iter().map(|name| (*name).to_owned()));
    }
    // The settings library of the page fetcher ignores the case of names. The other systems do not.
    let is_known = |name: &str| {
        known.iter().any(|known| match known.starts_with("PAGE_FETCHER_") {
            true => known.eq_ignore_ascii_case(name),
            false => known == name,
        })
    };
    let looks_like_one = |name: &str| {
        let upper = name.to_ascii_uppercase();
        BEGINNINGS.iter().any(|start| upper.starts_with(start))
    };
    let names = variables.keys().filter(|name| looks_like_one(name) && !is_known(name));
    names
        .filter_map(|name| {
            let upper = name.to_ascii_uppercase();
            match nearest(&upper, known.iter().map(String::as_str)) {
                Some(near) => {
                    Some(format!("`{}` sets nothing; did you mean `{near}`?", shown(name)))
                }
                // No other program has variables with this beginning.
                None if preset == Preset::Fleet && upper.starts_with("PAGE_FETCHER_") => {
                    Some(format!("`{}` sets nothing: no setting has that name", shown(name)))
                }
                None => None,
            }
        })
        .collect()
}

fn value_of<'v>(variables: &'v Variables, name: &str) -> Option<&'v str> {
    variables.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// A variable of the system whose settings a preset adopts.
#[derive(Debug)]
pub struct Inherited {
    /// The preset that reads the variable.
    pub preset: Preset,
    /// The name of the variable.
    pub name: &'static str,
    /// The keys of the fields that it sets.
    pub keys: &'static [&'static str],
    unit: &'static Unit,
}

impl Inherited {
    /// Returns what the value is: seconds, minutes, a number…
    pub fn unit(&self) -> &'static str {
        self.unit.would_do
    }

    fn find<'v>(&self, variables: &'v Variables) -> Option<(&'v str, &'v str)> {
        // The settings library of the page fetcher ignores the case of names. The other systems do
        // not.
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
    read: fn(&str) -> Option<FieldValue>,
}

const SECONDS: Unit =
    Unit { would_do: "a number of seconds", read: |text| read_seconds(text).map(FieldValue::Span) };
const MINUTES: Unit = Unit {
    would_do: "a number of minutes",
    read: |text| read_seconds(text)?.checked_mul(60).map(FieldValue::Span),
};
const DELAY: Unit = Unit {
    would_do: "a number of seconds",
    read: |text| read_seconds(text).map(|span| FieldValue::Range(span, span)),
};
const RATE: Unit = Unit {
    would_do: "requests per second",
    read: |text| {
        // The rate of a token bucket is the spacing of its tokens: one start at a time, never a
        // burst.
        let rate = read_factor(text).filter(|rate| *rate > 0.0)?;
        let micros = (1e6 / rate).ceil();
        let span = (micros < 1e15).then(|| Duration::from_micros(micros as u64))?;
        Some(FieldValue::Range(span, span))
    },
};
const NUMBER: Unit =
    Unit { would_do: "a whole number", read: |text| text.parse().ok().map(FieldValue::Count) };
const FACTOR: Unit = Unit {
    would_do: "a factor",
    read: |text| read_factor(text).map(|factor| FieldValue::Growth(Growth::Times(factor))),
};
const TEXT: Unit = Unit { would_do: "text", read: |text| Some(FieldValue::Text(text.to_owned())) };

/// Beginnings of names that are probably meant for us.
const BEGINNINGS: &[&str] = &["CURTS", "PAGE_FETCH", "ROBOTS_", "FETCH_CACHE_", "MAX_SCAN_"];

/// Our variables that set no field of the policy.
const OTHERS: &str = "CURTSY_PRESET CURTSY_MODE CURTSY_LEDGER CURTSY_CACHE_MAX CURTSY_CA_FILE \
    CURTSY_SERVE_STORE CURTSY_SERVE_TOKEN CURTSY_SQLITE_WRITES";

/// Variables of the page fetcher that set no field of the policy. Its worker, scheduler and
/// operator commands read them.
pub const WORKER: &[&str] = &[
    "PAGE_FETCHER_REDIS_URL",
    "PAGE_FETCHER_CACHE_REDIS_URL",
    "PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS",
    "PAGE_FETCHER_POLL_TIMEOUT_SECONDS",
    "PAGE_FETCHER_INPUT_QUEUE",
    "PAGE_FETCHER_DLQ_QUEUE",
    "PAGE_FETCHER_REJECTED_QUEUE",
    "PAGE_FETCHER_WEBPAGE_LOG_TOPIC",
    "PAGE_FETCHER_FOLLOW",
    "PAGE_FETCHER_LISTEN",
    "PAGE_FETCHER_STATE_DIR",
    "PAGE_FETCHER_VISITS",
];

/// Makes [`INHERITED`]. Each entry has the preset, the variable, its unit, and the fields that it
/// sets.
macro_rules! inherited {
    ($($preset:ident $name:literal: $unit:ident => $($key:literal)+;)+) => {
        /// All inherited variables. If two set the same field, the first wins.
        pub static INHERITED: &[Inherited] = &[$(Inherited {
            preset: Preset::$preset,
            name: $name,
            keys: &[$($key),+],
            unit: &$unit,
        }),+];
    };
}

inherited! {
    Careful "ROBOTS_TTL_SECONDS": SECONDS => "robots.ttl";
    Careful "ROBOTS_CACHE_TTL_SEC": SECONDS => "robots.ttl";
    Careful "ROBOTS_DENY_TTL_SECONDS": SECONDS => "robots.deny_ttl";
    Careful "ROBOTS_DEFAULT_DELAY_SECONDS": DELAY => "pace.delay";
    Careful "FETCH_CACHE_TTL_SEC": SECONDS => "cache.ttl";
    Audit "MAX_PAGES": NUMBER => "budget.pages";
    Audit "MAX_SCAN_TIME_MINUTES": MINUTES => "budget.time";
    Audit "USER_AGENT": TEXT => "identity.product";
    Fleet "PAGE_FETCHER_CONTACT": TEXT => "identity.contact";
    Fleet "PAGE_FETCHER_USER_AGENT": TEXT => "identity.product";
    Fleet "PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS": SECONDS => "timeout.whole";
    Fleet "PAGE_FETCHER_MAX_RETRIES": NUMBER => "retry.max";
    Fleet "PAGE_FETCHER_RETRY_BACKOFF_BASE_SECONDS": SECONDS =>
        "retry.curve.base" "backoff.curve.base";
    Fleet "PAGE_FETCHER_MAX_REDIRECTS": NUMBER => "body.redirects_max";
    Fleet "PAGE_FETCHER_CACHE_TTL_SECONDS": SECONDS => "cache.ttl";
    Fleet "PAGE_FETCHER_RATE_LIMIT_PER_SECOND": RATE => "pace.delay";
    Fleet "PAGE_FETCHER_CIRCUIT_BREAKER_FAILURE_THRESHOLD": NUMBER => "breaker.failures";
    Fleet "PAGE_FETCHER_CIRCUIT_BREAKER_INITIAL_BACKOFF_SECONDS": SECONDS => "breaker.curve.base";
    Fleet "PAGE_FETCHER_CIRCUIT_BREAKER_MAX_BACKOFF_SECONDS": SECONDS => "breaker.curve.cap";
    Fleet "PAGE_FETCHER_CIRCUIT_BREAKER_BACKOFF_MULTIPLIER": FACTOR => "breaker.curve.growth";
    Fleet "PAGE_FETCHER_ROBOTS_TXT_CACHE_TTL_SECONDS": SECONDS => "robots.ttl";
}
