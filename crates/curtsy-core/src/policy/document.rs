//! Generates the tables of `docs/reference/policy.md` from the lists that the program uses.
//!
//! A block of the document is between `<!-- begin NAME -->` and `<!-- end NAME -->`. A test
//! compares it with the text that is generated here.

use super::environment::INHERITED;
use super::fields::FIELDS;
use super::host::HOST_FIELDS;
use super::{Policy, Preset};

/// Returns the names of the generated blocks and their text.
pub fn tables() -> [(&'static str, String); 4] {
    [
        ("presets", presets()),
        ("fields", fields()),
        ("host fields", host_fields()),
        ("inherited variables", inherited()),
    ]
}

fn presets() -> String {
    let mut text = String::from("| field |");
    text.extend(Preset::ALL.iter().map(|preset| format!(" {} |", preset.name())));
    text.push_str("\n|---|");
    text.extend(Preset::ALL.iter().map(|_| "---|"));
    text.push('\n');
    let policies: Vec<Policy> = Preset::ALL.iter().map(|preset| Policy::preset(*preset)).collect();
    for field in FIELDS {
        text.push_str(&format!("| `{}` |", field.key));
        for policy in &policies {
            // The document outlives a release.
            let value = field.text(policy).replace(env!("CARGO_PKG_VERSION"), "VERSION");
            text.push_str(&format!(" {} |", if value.is_empty() { "–" } else { &value }));
        }
        text.push('\n');
    }
    text
}

fn fields() -> String {
    let mut text =
        String::from("| field | meaning | allowed values | variable |\n|---|---|---|---|\n");
    for field in FIELDS {
        text.push_str(&format!(
            "| `{}` | {} | {} | `{}` |\n",
            field.key,
            field.doc,
            field.kind.would_do(),
            field.variable()
        ));
    }
    text
}

fn host_fields() -> String {
    let mut text = String::from("| field | meaning | allowed values |\n|---|---|---|\n");
    for field in HOST_FIELDS {
        text.push_str(&format!(
            "| `{}` | {} | {} |\n",
            field.key,
            field.doc,
            field.kind.would_do()
        ));
    }
    text
}

fn inherited() -> String {
    let mut text = String::from("| preset | variable | sets | value |\n|---|---|---|---|\n");
    for variable in INHERITED {
        let keys: Vec<_> = variable.keys.iter().map(|key| format!("`{key}`")).collect();
        text.push_str(&format!(
            "| {} | `{}` | {} | {} |\n",
            variable.preset.name(),
            variable.name,
            keys.join(", "),
            variable.unit()
        ));
    }
    text
}
