//! Which policy a command goes by: the name of a preset or a file.

use anyhow::{Context, bail};
use curtsy_core::policy::Preset;

/// A preset, or the text of a policy file.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Preset(Preset),
    File { path: String, text: String },
}

impl Choice {
    /// Finds what a user means: a preset's name first, else a file.
    pub(super) fn find(name: &str) -> anyhow::Result<Choice> {
        if let Some(preset) = Preset::parse(name) {
            return Ok(Choice::Preset(preset));
        }
        let looks_like_a_file = name.contains(['/', '.', '\\']);
        if !looks_like_a_file && !std::path::Path::new(name).exists() {
            bail!(
                "`{name}` is neither a preset nor a file\nhint: the presets are {}",
                Preset::WORDS.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
            );
        }
        let text = std::fs::read_to_string(name)
            .with_context(|| format!("could not read the policy file `{name}`"))?;
        Ok(Choice::File { path: name.to_owned(), text })
    }

    /// The text of the file, if it is one.
    pub(super) fn file(&self) -> Option<&str> {
        match self {
            Choice::Preset(_) => None,
            Choice::File { text, .. } => Some(text),
        }
    }

    /// The preset, if it is one.
    pub(super) fn preset(&self) -> Option<Preset> {
        match self {
            Choice::Preset(preset) => Some(*preset),
            Choice::File { .. } => None,
        }
    }

    /// What the user calls it.
    pub(super) fn name(&self) -> &str {
        match self {
            Choice::Preset(preset) => preset.name(),
            Choice::File { path, .. } => path,
        }
    }
}
