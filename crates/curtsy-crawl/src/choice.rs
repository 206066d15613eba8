//! The choice of a policy: a preset or a file.

use curtsy_core::policy::Preset;

use crate::SpecError;

/// A preset, or the text of a policy file.
#[derive(Clone, Debug)]
pub enum PolicyChoice {
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

impl PolicyChoice {
    /// Finds a policy by name: a preset first, else a file.
    pub fn find(name: &str) -> Result<PolicyChoice, SpecError> {
        if let Some(preset) = Preset::parse(name) {
            return Ok(PolicyChoice::Preset(preset));
        }
        let looks_like_a_file = name.contains(['/', '.', '\\']);
        if !looks_like_a_file && !std::path::Path::new(name).exists() {
            return Err(SpecError::NoPolicy(name.to_owned()));
        }
        let text = std::fs::read_to_string(name)
            .map_err(|source| SpecError::PolicyFile { path: name.to_owned(), source })?;
        Ok(PolicyChoice::File { path: name.to_owned(), text })
    }

    /// Returns the text of the file, if it is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            PolicyChoice::Preset(_) => None,
            PolicyChoice::File { text, .. } => Some(text),
        }
    }

    /// Returns the preset, if it is one.
    pub fn preset(&self) -> Option<Preset> {
        match self {
            PolicyChoice::Preset(preset) => Some(*preset),
            PolicyChoice::File { .. } => None,
        }
    }

    /// Returns the name that the user gave.
    pub fn name(&self) -> &str {
        match self {
            PolicyChoice::Preset(preset) => preset.name(),
            PolicyChoice::File { path, .. } => path,
        }
    }
}
