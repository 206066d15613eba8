//! What is wrong with a policy, all of it at once.

use std::fmt;

/// A policy that was refused, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// One entry for each mistake, in the order of the file.
    pub faults: Vec<PolicyFault>,
}

/// One mistake in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The field's key, such as `robots.ttl`; empty if the text isn't TOML.
    pub key: String,
    /// Where it was said.
    pub at: Option<ValuePlace>,
    /// What is wrong: the key, the value, and the values that would do.
    pub problem: String,
    /// The next step, if there is one.
    pub hint: Option<String>,
}

/// Where a value was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePlace {
    /// In the file.
    Line {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
    },
    /// In this variable.
    Variable(String),
    /// By this flag.
    Flag(String),
    /// By a key of a settings file.
    Setting {
        /// The key.
        name: String,
        /// The file.
        file: String,
    },
}

impl PolicyError {
    /// Nothing if there is no fault, else all of them.
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
