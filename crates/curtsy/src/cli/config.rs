//! `curtsy.toml`: the flags of a crawl in a file. Its keys are the names of the flags.
//!
//! Every command that crawls or decides reads the file, so that `explain`, `plan` and `crawl`
//! agree. `worker` and `serve` read it only if `--config` names it: a file that lies in the folder
//! describes a crawl.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use curtsy_core::policy::{FIELDS, nearest};
use toml::{Spanned, Table, Value};

use super::flags::{Example, Flag, SECTIONS, Takes, Values};
use super::{SETTINGS, refusal};

/// The file's name, if none is given.
pub(super) const NAME: &str = "curtsy.toml";

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the settings in a file.
pub(super) fn open(path: &Path) -> anyhow::Result<Values> {
    let shown = path.display();
    let unread = || format!("could not read the settings in `{shown}`");
    let length = std::fs::metadata(path).with_context(unread)?.len();
    if length > FILE_BYTES_MAX {
        let most = FILE_BYTES_MAX >> 20;
        return Err(refusal(SETTINGS, format!("`{shown}` is larger than {most} MiB")));
    }
    let text = std::fs::read_to_string(path).with_context(unread)?;
    read(&text).with_context(|| format!("in `{shown}`"))
}

/// Reads the text of a settings file. Unknown keys and values of another form are refused.
fn read(text: &str) -> anyhow::Result<Values> {
    let at_line = |start: usize, why: &str| {
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        refusal(SETTINGS, format!("line {line}: {why}"))
    };
    let keys: BTreeMap<Spanned<String>, Spanned<Value>> =
        toml::from_str(text).map_err(|error| {
            at_line(error.span().map_or(0, |span| span.start), error.message().trim_end())
        })?;
    let mut values = Values::default();
    for (key, value) in &keys {
        let (name, start) = (key.get_ref(), key.span().start);
        let flag = Flag::named(name).filter(|flag| flag.example.is_some());
        let flag = flag.ok_or_else(|| at_line(start, &unknown(name)))?;
        let texts = texts(flag.takes, value.get_ref()).ok_or_else(|| {
            let form = form(flag.takes);
            at_line(start, &format!("`{name}` is `{}`: expected {form}", value.get_ref()))
        })?;
        // An empty text is no value: the template has one for the contact.
        for text in texts.iter().filter(|text| !text.is_empty() || flag.takes == Takes::Switch) {
            flag.check(text).map_err(|why| at_line(start, &format!("`{name}`: {why}")))?;
            values.add(flag.name, text);
        }
    }
    Ok(values)
}

/// Says that a key is no setting, and what was probably meant.
fn unknown(key: &str) -> String {
    let keys = || Flag::all().filter(|flag| flag.example.is_some()).map(|flag| flag.name);
    let hint = match nearest(key, keys()) {
        _ if FIELDS.iter().any(|field| field.key.split('.').next() == Some(key)) => {
            format!("fields of the policy stand under `set`: write `[set.{key}]`")
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the settings are `{}`", keys().collect::<Vec<_>>().join("`, `")),
    };
    format!("`{key}` is not a setting\nhint: {hint}")
}

/// The values of a flag as a file writes them; none if their form is not the flag's.
fn texts(takes: Takes, value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match (takes, value) {
        (Takes::Switch, Value::Boolean(on)) => Some(on.then(String::new).into_iter().collect()),
        (Takes::Text(_) | Takes::Path(_), value) => Some(vec![text(value)?]),
        (Takes::Amount(_), value) => Some(vec![plain(value)]),
        (Takes::Texts(_) | Takes::Words(_) | Takes::Positional(_), Value::Array(list)) => {
            list.iter().map(text).collect()
        }
        (Takes::Fields(_), Value::Table(table)) => {
            let mut fields = Vec::new();
            flatten("", table, &mut fields);
            Some(fields)
        }
        _ => None,
    }
}

/// What a file writes for a flag, in words.
fn form(takes: Takes) -> &'static str {
    match takes {
        Takes::Switch => "`true` or `false`",
        Takes::Text(_) | Takes::Path(_) => "a text in quotes",
        Takes::Amount(_) => "a number, or a text in quotes",
        Takes::Texts(_) | Takes::Words(_) | Takes::Positional(_) => "a list of texts in quotes",
        Takes::Fields(_) => "a table of fields",
    }
}

/// `[set.robots] ttl = "2h"` is `robots.ttl=2h`.
fn flatten(before: &str, table: &Table, into: &mut Vec<String>) {
    for (key, value) in table {
        let key = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        match value {
            Value::Table(table) => flatten(&key, table, into),
            value => into.push(format!("{key}={}", plain(value))),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The file that `curtsy init` writes: every key with its meaning and an example.
pub(super) fn template() -> String {
    let mut text = wrapped(
        "Settings of a crawl. Each key is a flag of `curtsy crawl`. A flag and a variable of the \
         environment override this file. A key behind a # is an example, and not in force.",
    );
    for section in SECTIONS {
        text.push_str(&format!("\n## {}\n", section.title));
        for flag in section.flags {
            let Some(example) = flag.example else { continue };
            text.push_str(&wrapped(flag.help));
            let (mark, value) = match example {
                Example::InForce(value) => ("", value),
                Example::Comment(value) => ("# ", value),
            };
            text.push_str(&match flag.takes {
                Takes::Fields(_) => format!("{mark}[{}.robots]\n{mark}{value}\n", flag.name),
                _ => format!("{mark}{} = {value}\n", flag.name),
            });
        }
    }
    text
}

/// A text as comment lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 100;
    let mut lines = String::from("#");
    let mut columns = 1;
    for word in text.split(' ') {
        let width = word.chars().count() + 1;
        if columns + width > COLUMNS {
            lines.push_str("\n#");
            columns = 1;
        }
        lines.push(' ');
        lines.push_str(word);
        columns += width;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::settings::CommandSettings;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let got = match read(text) {
            Ok(file) => {
                let settings = CommandSettings::new(Values::default(), file, NAME);
                let fields = settings.file.policy_fields(|_, _| String::new());
                let fields = fields.iter().map(|field| format!("{}={}", field.key, field.value));
                format!("{:?} {}", settings.urls(), fields.collect::<Vec<_>>().join(" "))
            }
            Err(error) => format!("{error:#}"),
        };
        assert!(got.contains(expected), "{text}: {got}");
    }

    #[test]
    fn settings_are_flags_in_a_file() {
        check("urls = ['https://a.test/']\ndelay = '2s'", "[\"https://a.test/\"] pace.delay=2s");
        check("pages = 12", "budget.pages=12");
        check("pages = '12'", "budget.pages=12");
        check("delay = 0", "pace.delay=0");
        check("[set.robots]\nttl = '2h'", "robots.ttl=2h");
        check("set = { 'robots.ttl' = '2h' }", "robots.ttl=2h");
        check(
            "only = ['html', 'image/png']",
            "body.accept=text/html,application/xhtml+xml,image/png",
        );
        check("no-body = true", "body.keep=false");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_was_meant() {
        check(
            "pages = 1\ndealy = '2s'",
            "line 2: `dealy` is not a setting\nhint: did you mean `delay`?",
        );
        check("user_agent = 'a/1'", "did you mean `user-agent`?");
        check("[robots]\nttl = '2h'", "write `[set.robots]`");
        check("pages = 1\npages = 2", "line 2: ");
        check("allow-net = ['here']", "`allow-net`: `here` is a name");
        check("scope = 'hots'", "did you mean `host`?");
        check("mode = 'ligth'", "did you mean `light`?");
        check("resolve = ['x']", "`x` pins no name");
        check("only = ['htlm']", "did you mean `html`?");
        check("\nagain = true", "line 2: `again` is not a setting");
        check("no-links = 'yes'", "line 1: `no-links` is `\"yes\"`: expected `true` or `false`");
    }

    #[test]
    fn every_key_of_the_file_is_known() {
        for flag in Flag::all().filter(|flag| flag.example.is_some()) {
            let error = read(&format!("{} = 1979-05-27", flag.name)).err();
            let error = error.map(|e| e.to_string()).unwrap_or_default();
            assert!(!error.contains("is not a setting"), "{error}");
        }
    }

    #[test]
    fn the_template_can_be_read_and_a_flag_beats_it() {
        let mut flags = Values::default();
        flags.add("urls", "https://b.test/");
        let settings = CommandSettings::new(flags.clone(), read(&template()).unwrap(), NAME);
        let fields = settings.file.policy_fields(|_, _| String::new());
        assert_eq!(fields, [], "an empty contact is none");
        assert_eq!(settings.file.text("policy"), Some("careful"));
        assert_eq!(settings.urls(), ["https://b.test/"]);
        let file = read("from = 'seeds.txt'").unwrap();
        let settings = CommandSettings::new(flags, file, NAME);
        assert_eq!(settings.get("from"), None, "seeds of the file go with its other seeds");
        // Every example in it can be read too.
        let all: String = template()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") || rest.starts_with('[') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let settings = CommandSettings::new(Values::default(), read(&all).unwrap(), NAME);
        assert_eq!(settings.file.text("set"), Some("robots.ttl=2h"));
        for flag in Flag::all().filter(|flag| flag.example.is_some()) {
            assert!(settings.file.has(flag.name) || flag.name == "contact", "{}", flag.name);
        }
        assert!(template().lines().all(|line| line.chars().count() <= 100));
    }
}
