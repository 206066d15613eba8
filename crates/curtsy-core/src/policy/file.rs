//! Reads policy files and reports all faults at once, each with its place, the value and the
//! allowed values.
//!
//! A file names a preset and the fields that differ from it. Unknown keys are refused, so a typo
//! never leaves the default in force unnoticed.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{PolicyFault, ValuePlace};
use super::fields::{FIELDS, Field};
use super::host::{HOST_FIELDS, HostField, canonical_host};
use super::typo::nearest;
use super::value::{FieldValue, ValueKind};
use super::{HostOverride, Mode, Preset};

/// The content of one file.
#[derive(Debug, Default)]
pub(super) struct FileLayer {
    pub(super) preset: Option<Preset>,
    pub(super) mode: Option<(Mode, ValuePlace)>,
    pub(super) fields: Vec<(&'static Field, FieldValue, ValuePlace)>,
    pub(super) hosts: Vec<(String, HostOverride)>,
    pub(super) faults: Vec<PolicyFault>,
}

impl FileLayer {
    /// Reads a file of at most [`FILE_BYTES_MAX`].
    pub(super) fn read(text: &str) -> FileLayer {
        let mut reader = FileReader { text, layer: FileLayer::default() };
        if text.len() > FILE_BYTES_MAX {
            let problem =
                format!("the file has {} bytes, expected at most {FILE_BYTES_MAX}", text.len());
            reader.fault("", None, problem, None);
            return reader.layer;
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            reader.top(document.get_ref());
        }
        for error in errors {
            let problem = format!("not TOML: {}", error.message().trim_end_matches('.'));
            let at = error.span().map(|span| span.start);
            reader.fault("", at, problem, None);
        }
        let mut layer = reader.layer;
        layer.faults.sort_by_key(|fault| match fault.at {
            Some(ValuePlace::Line { line, column }) => (line, column),
            _ => (0, 0),
        });
        layer
    }
}

/// The largest policy file that is read. It has room for thousands of host sections.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Limit of the faults that are reported for one file.
const FAULTS_MAX: usize = 100;

struct FileReader<'t> {
    text: &'t str,
    layer: FileLayer,
}

impl FileReader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            match name.get_ref().as_ref() {
                "preset" => {
                    self.layer.preset = self.word(value, "preset", Preset::WORDS, Preset::parse);
                }
                "mode" => {
                    let mode = self.word(value, "mode", Mode::WORDS, Mode::parse);
                    self.layer.mode = mode.map(|mode| (mode, self.place(value.span().start)));
                }
                "host" => self.hosts(value),
                _ => self.entry("", name, value),
            }
        }
    }

    /// Reads one entry of the file or of a section.
    fn entry(&mut self, section: &str, name: &Spanned<Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        let key = match section {
            "" => name.get_ref().to_string(),
            _ => format!("{section}.{}", name.get_ref()),
        };
        if let Some(field) = Field::find(&key) {
            match field.kind.read_toml(value.get_ref()) {
                Some(read) => {
                    let place = self.place(value.span().start);
                    self.layer.fields.push((field, read, place));
                }
                None => self.unfit(&key, value, &field.kind),
            }
        } else if is_section(&key) {
            match value.get_ref().as_table() {
                Some(table) => {
                    for (name, value) in table {
                        self.entry(&key, name, value);
                    }
                }
                None => {
                    let would_do = format!("a section `[{key}]` with {}", keys_of(&key));
                    self.unlike(&key, value, &would_do, None);
                }
            }
        } else {
            self.unknown(&key, section, name.span().start);
        }
    }

    fn hosts(&mut self, value: &Spanned<DeValue<'_>>) {
        let would_do = "sections such as `[host.\"example.org\"]`";
        let Some(table) = value.get_ref().as_table() else {
            return self.unlike("host", value, would_do, None);
        };
        for (name, value) in table {
            let host = name.get_ref().as_ref();
            let key = format!("host.{}", super::value::quoted(&shown(host)));
            match canonical_host(host) {
                Some(canonical) if canonical == host => self.host(&key, host, value),
                Some(canonical) => self.fault(
                    &key,
                    Some(name.span().start),
                    format!("`{key}` is not the host's canonical name, expected `{canonical}`"),
                    Some(format!("write `[host.\"{canonical}\"]`")),
                ),
                None => self.fault(
                    &key,
                    Some(name.span().start),
                    format!("`{key}` does not name a host, expected a name or an address without scheme, port and path"),
                    Some("write `[host.\"example.org\"]`, with the name in quotes".to_owned()),
                ),
            }
        }
    }

    fn host(&mut self, key: &str, host: &str, value: &Spanned<DeValue<'_>>) {
        let Some(table) = value.get_ref().as_table() else {
            if HOST_FIELDS.iter().any(|field| field.key == host && field.kind.is_secret()) {
                // The host's name is missing, so the value may be a secret.
                let problem = format!("`{key}` is not a section with {}", host_keys());
                return self.fault(key, Some(value.span().start), problem, None);
            }
            return self.unlike(key, value, &format!("a section with {}", host_keys()), None);
        };
        let mut section = HostOverride::default();
        for (name, value) in table {
            let field = HOST_FIELDS.iter().find(|field| field.key == name.get_ref().as_ref());
            let Some(field) = field else {
                self.unknown_in_host(key, name);
                continue;
            };
            let fitted = field.kind.read_toml(value.get_ref());
            let fitted = fitted.is_some_and(|read| field.set(&mut section, &read));
            if !fitted && field.kind.is_secret() {
                // The value may be the secret itself.
                let problem = format!("`{key}.{}` is not {}", field.key, field.kind.would_do());
                self.fault(key, Some(value.span().start), problem, None);
            } else if !fitted {
                self.unfit(&format!("{key}.{}", field.key), value, &field.kind);
            }
        }
        if let Some((field, problem, hint)) = section.odds(host) {
            let at = table.iter().find(|(name, _)| name.get_ref() == field);
            let at = at.map_or(value.span().start, |(_, value)| value.span().start);
            self.fault(key, Some(at), format!("`{key}.{field}` {problem}"), hint);
        }
        self.layer.hosts.push((host.to_owned(), section));
    }

    fn unknown_in_host(&mut self, key: &str, name: &Spanned<Cow<'_, str>>) {
        let known = HOST_FIELDS.iter().map(|field| field.key);
        let hint = match nearest(name.get_ref(), known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a host's section has {}", host_keys()),
        };
        let problem = format!("`{key}.{}` is not a field of a host", shown(name.get_ref()));
        self.fault(key, Some(name.span().start), problem, Some(hint));
    }

    fn unknown(&mut self, key: &str, section: &str, at: usize) {
        let sections = FIELDS.iter().filter_map(|field| Some(field.key.rsplit_once('.')?.0));
        let known = FIELDS.iter().map(|field| field.key).chain(sections);
        let hint = match nearest(key, known.chain(["preset", "mode", "host"])) {
            Some(near) => format!("did you mean `{near}`?"),
            None if section.is_empty() => {
                "`curtsy policy show` prints every field with its meaning".to_owned()
            }
            None => format!("`[{section}]` has {}", keys_of(section)),
        };
        let problem = format!("`{}` is not a field of a policy", shown(key));
        self.fault(key, Some(at), problem, Some(hint));
    }

    fn word<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
        words: &'static [&'static str],
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = value.get_ref().as_str();
        let read = word.and_then(parse);
        if read.is_none() {
            self.unfit(key, value, &ValueKind::Word(words));
        }
        read
    }

    /// Reports a value that does not fit its kind.
    fn unfit(&mut self, key: &str, value: &Spanned<DeValue<'_>>, kind: &ValueKind) {
        let written = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) => number.as_str(),
            _ => "",
        };
        let hint = kind.meant(written);
        self.unlike(key, value, &kind.would_do(), hint);
    }

    fn unlike(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        would_do: &str,
        hint: Option<String>,
    ) {
        let written = self.text.get(value.span()).unwrap_or_default();
        let problem = format!("`{key}` is `{}`, expected {would_do}", shown(written));
        self.fault(key, Some(value.span().start), problem, hint);
    }

    fn fault(&mut self, key: &str, at: Option<usize>, problem: String, hint: Option<String>) {
        if self.layer.faults.len() < FAULTS_MAX {
            let at = at.map(|at| self.place(at));
            self.layer.faults.push(PolicyFault { key: key.to_owned(), at, problem, hint });
        }
    }

    fn place(&self, at: usize) -> ValuePlace {
        let before = self.text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ValuePlace::Line {
            line: before.bytes().filter(|b| *b == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

fn is_section(key: &str) -> bool {
    FIELDS.iter().any(|field| field.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

/// Returns the keys of a section, as a list for people.
fn keys_of(section: &str) -> String {
    let inside =
        FIELDS.iter().filter_map(|field| field.key.strip_prefix(section)?.strip_prefix('.'));
    inside.map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn host_keys() -> String {
    HOST_FIELDS.iter().map(|f: &HostField| format!("`{}`", f.key)).collect::<Vec<_>>().join(", ")
}

/// Returns the user's text on one line, shortened, and safe to print.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(SHOWN_MAX)
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default().to_string());
            escaped.unwrap_or_else(|| c.to_string()).chars().collect::<Vec<_>>()
        })
        .collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}

const SHOWN_MAX: usize = 80;
