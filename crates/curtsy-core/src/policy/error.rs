//! The faults of a policy, all of them at once.

use std::fmt;

/// A policy that was refused, with all its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The faults, in the order of the file.
    pub faults: Vec<PolicyFault>,
}

/// One fault of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The field's key, such as `robots.ttl`; empty if the text is not TOML.
    pub key: String,
    /// The place of the value.
    pub at: Option<ValuePlace>,
    /// The problem: the key, the value, and the allowed values.
    pub problem: String,
    /// The next step, if there is one.
    pub hint: Option<String>,
}

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePlace {
    /// In the file.
    Line {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag.
    Flag(String),
    /// A key of a settings file.
    Setting {
        /// The key.
        name: String,
        /// The file.
        file: String,
    },
}

impl PolicyError {
    /// Returns an error if there are faults.
    pub fn unless_empty(faults: Vec<PolicyFault>) -> Result<(), PolicyError> {
        if faults.is_empty() { Ok(()) } else { Err(PolicyError { faults }) }
    }
}

impl From<PolicyFault> for PolicyError {
    fn from(fault: PolicyFault) -> PolicyError {
        PolicyError { faults: vec![fault] }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.at {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}", self.problem)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ValuePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValuePlace::Line { line, column } => write!(f, "line {line}, column {column}"),
            ValuePlace::Variable(name) => write!(f, "variable `{name}`"),
            ValuePlace::Flag(name) => write!(f, "flag `{name}`"),
            ValuePlace::Setting { name, file } => write!(f, "`{name}` in `{file}`"),
        }
    }
}

impl std::error::Error for PolicyError {}
