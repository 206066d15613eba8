//! What is wrong with a policy, all of it at once.

use std::fmt;

/// A policy that was refused, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// One entry for each mistake, in the order of the file.
    pub faults: Vec<Fault>,
}

/// One mistake in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field's key, such as `robots.ttl`; empty if the text isn't TOML.
    pub key: String,
    /// Where it was said.
    pub at: Option<Place>,
    /// What is wrong: the key, the value, and the values that would do.
    pub problem: String,
    /// The next step, if there is one.
    pub hint: Option<String>,
}

/// Where a value was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
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
    pub fn unless_empty(faults: Vec<Fault>) -> Result<(), PolicyError> {
        if faults.is_empty() { Ok(()) } else { Err(PolicyError { faults }) }
    }
}

impl From<Fault> for PolicyError {
    fn from(fault: Fault) -> PolicyError {
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

impl fmt::Display for Fault {
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { line, column } => write!(f, "line {line}, column {column}"),
            Place::Variable(name) => write!(f, "variable `{name}`"),
            Place::Flag(name) => write!(f, "flag `{name}`"),
            Place::Setting { name, file } => write!(f, "`{name}` in `{file}`"),
        }
    }
}

impl std::error::Error for PolicyError {}
