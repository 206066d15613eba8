//! The choice of a policy: a preset or a file.

use curtsy_core::policy::Preset;

use crate::SpecError;

/// A preset, or the text of a policy file.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A preset.
    Preset(Preset),
    /// A file.
    File {
        /// Its name, as the user gave it.
        path: String,
        /// Its text.
        text: String,
    },
}

impl Choice {
    /// Finds a policy by name: a preset first, else a file.
    pub fn find(name: &str) -> Result<Choice, SpecError> {
        if let Some(preset) = Preset::parse(name) {
            return Ok(Choice::Preset(preset));
        }
        let looks_like_a_file = name.contains(['/', '.', '\\']);
        if !looks_like_a_file && !std::path::Path::new(name).exists() {
            return Err(SpecError::NoPolicy(name.to_owned()));
        }
        let text = std::fs::read_to_string(name)
            .map_err(|source| SpecError::PolicyFile { path: name.to_owned(), source })?;
        Ok(Choice::File { path: name.to_owned(), text })
    }

    /// Returns the text of the file, if it is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Choice::Preset(_) => None,
            Choice::File { text, .. } => Some(text),
        }
    }

    /// Returns the preset, if it is one.
    pub fn preset(&self) -> Option<Preset> {
        match self {
            Choice::Preset(preset) => Some(*preset),
            Choice::File { .. } => None,
        }
    }

    /// Returns the name that the user gave.
    pub fn name(&self) -> &str {
        match self {
            Choice::Preset(preset) => preset.name(),
            Choice::File { path, .. } => path,
        }
    }
}
