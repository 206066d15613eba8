//! The message of a command that failed: as text for a person, or as JSON for a program.
//!
//! A failure is a message, a code, and often a hint with the next step. The message is built from
//! the chain of causes: each cause once, the hint last. Scripts compare the codes, so a code is
//! never renamed.

use std::io::{self, Write};

use clap::error::{ContextKind, ErrorKind};
use curtsy_core::policy::PolicyError;
use curtsy_core::url::UrlError;
use curtsy_crawl::{CrawlError, SpecError};
use curtsy_engine::discover::DiscoveryError;
use curtsy_fetch::SettingsError;
use curtsy_store::OpenError;
use serde_json::json;

/// A failure as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// What kind of failure it is: one of the codes in docs/reference/crawl.md.
    pub code: &'static str,
    /// What was tried, on what, and why it failed.
    pub message: String,
    /// The next step, if there is one.
    pub hint: Option<String>,
}

/// Arguments that can't be understood.
const USAGE: &str = "usage";
/// A setting, in a flag, a variable or a file, that can't be followed.
pub(super) const SETTINGS: &str = "settings";
/// A URL that a crawl did not take.
pub(super) const NOT_TAKEN: &str = "not_taken";
/// A page that can't be had.
pub(super) const NO_PAGE: &str = "no_page";
/// A site that must wait longer than the patience.
pub(super) const WAITS: &str = "waits";
/// A site that could not be reached, or may not be.
pub(super) const UNREACHED: &str = "unreached";
/// Trouble on our own side, such as a proxy that wants a password.
pub(super) const OUR_SIDE: &str = "our_side";
/// Ctrl-C or SIGTERM before there was an answer.
pub(super) const STOPPED: &str = "stopped";
/// A command that this program was built without.
#[cfg(not(all(feature = "fleet", feature = "serve")))]
pub(super) const NOT_BUILT: &str = "not_built";

/// An error of the command line itself, with its code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct CodedError {
    code: &'static str,
    text: String,
}

/// An error with a code; the text may end with a line `hint: …`.
pub(super) fn refusal(code: &'static str, text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(CodedError { code, text: text.into() })
}

impl CommandFailure {
    /// What an error of a command comes to.
    pub fn of(error: &anyhow::Error) -> CommandFailure {
        let mut message = String::new();
        let mut hint = None;
        for cause in error.chain() {
            let text = cause.to_string();
            let (text, next) = match text.rsplit_once("\nhint: ") {
                // Several mistakes at once have a hint each, which stays with its mistake.
                Some((text, next)) if !text.contains("\nhint: ") && !next.contains('\n') => {
                    (text.to_owned(), Some(next.to_owned()))
                }
                _ => (text, None),
            };
            // A message that quotes its cause has said all that the causes below would say.
            if !message.is_empty() && message.contains(&text) {
                break;
            }
            hint = next.or(hint);
            match (message.is_empty(), text.strip_prefix("hint: ")) {
                (_, Some(next)) => hint = Some(next.to_owned()),
                (true, None) => message = text,
                (false, None) => message = format!("{message}: {text}"),
            }
        }
        let message = in_words(&message);
        CommandFailure { code: error.chain().find_map(code_of).unwrap_or("failed"), message, hint }
    }

    /// What is wrong with the arguments.
    pub fn of_arguments(error: &clap::Error) -> CommandFailure {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let first: Vec<_> = text.lines().take_while(|line| !line.trim().is_empty()).collect();
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        let hint = tip.map(str::to_owned).or_else(|| {
            let meant = error.get(ContextKind::SuggestedSubcommand);
            meant.map(|meant| format!("did you mean `{meant}`?"))
        });
        let message = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "no command is given".to_owned(),
            _ => first.join(" "),
        };
        let (message, hint) = match message.split_once(" hint: ") {
            Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
            None => (message, hint),
        };
        CommandFailure { code: USAGE, message, hint }
    }

    /// Tells a person, after a word such as `error: `.
    pub fn tell(&self, out: &mut dyn Write, before: &str) -> io::Result<()> {
        writeln!(out, "{before}{}", self.message)?;
        match &self.hint {
            Some(hint) => writeln!(out, "hint: {hint}"),
            None => Ok(()),
        }
    }

    /// Tells a program: one line of JSON.
    pub fn tell_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let CommandFailure { code, message, hint } = self;
        writeln!(out, "{}", json!({"error": {"code": code, "message": message, "hint": hint}}))
    }
}

/// The code of one cause, if it has one.
fn code_of(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(refusal) = cause.downcast_ref::<CodedError>() {
        return Some(refusal.code);
    }
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        return Some(of_file(error));
    }
    if let Some(error) = cause.downcast_ref::<CrawlError>() {
        return match error {
            CrawlError::File(error) => Some(of_file(error)),
            CrawlError::Write(_) | CrawlError::Rows(_) | CrawlError::Folder { .. } => {
                Some("unwritable")
            }
            CrawlError::Outlet(_) | CrawlError::Scope(_) => Some(SETTINGS),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<SpecError>() {
        return match error {
            SpecError::Seed { .. } => Some("url"),
            SpecError::PolicyFile { source, .. } | SpecError::CaFile { source, .. } => {
                Some(of_io(source))
            }
            SpecError::Policy(error) => Some(of_policy(error)),
            _ => Some(SETTINGS),
        };
    }
    if let Some(error) = cause.downcast_ref::<PolicyError>() {
        return Some(of_policy(error));
    }
    if cause.is::<SettingsError>() || cause.is::<DiscoveryError>() {
        return Some(SETTINGS);
    }
    if cause.is::<UrlError>() {
        return Some("url");
    }
    cause.downcast_ref::<io::Error>().map(of_io)
}

fn of_policy(error: &PolicyError) -> &'static str {
    let no_contact = |key: &str| key == "identity.contact";
    match &error.faults[..] {
        [fault] if no_contact(&fault.key) && fault.at.is_none() => "no_contact",
        _ => SETTINGS,
    }
}

fn of_file(error: &OpenError) -> &'static str {
    match error {
        OpenError::Writes { .. } => SETTINGS,
        OpenError::Missing { .. } => "missing_file",
        OpenError::Running { .. } | OpenError::Locked { .. } => "in_use",
        OpenError::Folder { .. }
        | OpenError::NotDatabase { .. }
        | OpenError::OtherDatabase { .. }
        | OpenError::Foreign { .. }
        | OpenError::OtherFile { .. }
        | OpenError::NoRows { .. }
        | OpenError::Newer { .. } => "wrong_file",
        OpenError::Damaged { .. } | OpenError::Unreadable { .. } => "unreadable",
        OpenError::Full { .. } => "disk_full",
        OpenError::ReadOnly { .. } | OpenError::Disk { .. } | OpenError::Other { .. } => {
            "unwritable"
        }
    }
}

fn of_io(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "missing_file",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk_full",
        _ => "unreadable",
    }
}

/// What the system says, as a person would.
fn in_words(message: &str) -> String {
    let mut words = message.to_owned();
    while let Some(at) = words.find(" (os error ") {
        let end = words[at..].find(')').map_or(words.len(), |end| at + end + 1);
        words.replace_range(at..end, "");
    }
    for (system, person) in [
        (": No such file or directory", ": there is no such file"),
        (": Is a directory", ": it is a folder, not a file"),
        (": Not a directory", ": a part of its path is a file, not a folder"),
        (": Permission denied", ": you may not (permission denied)"),
    ] {
        words = words.replace(system, person);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn check(error: anyhow::Error, code: &str, message: &str, hint: Option<&str>) {
        let failure = CommandFailure::of(&error);
        let hint = hint.map(str::to_owned);
        let (code, message) = (code.to_owned(), message.to_owned());
        assert_eq!((failure.code.to_owned(), failure.message, failure.hint), (code, message, hint));
    }

    #[test]
    fn each_cause_is_told_once_and_the_hint_comes_last() {
        let missing = || io::Error::from_raw_os_error(2);
        check(
            Err::<(), _>(missing()).context("could not read the seeds in `x`").unwrap_err(),
            "missing_file",
            "could not read the seeds in `x`: there is no such file",
            None,
        );
        // The policy file's error quotes what the system says.
        let quotes = SpecError::PolicyFile { path: "p.toml".to_owned(), source: missing() };
        check(
            anyhow::Error::new(quotes),
            "missing_file",
            "could not read the policy file `p.toml`: there is no such file",
            None,
        );
        let inner = refusal(SETTINGS, "`x` is no network\nhint: write `10.0.0.0/8`");
        check(
            inner.context("in `curtsy.toml`"),
            "settings",
            "in `curtsy.toml`: `x` is no network",
            Some("write `10.0.0.0/8`"),
        );
        let outer = anyhow::anyhow!("no place").context("hint: name a file");
        check(outer, "failed", "no place", Some("name a file"));
        let two = "a is wrong\nhint: b\nc is wrong\nhint: d";
        check(anyhow::anyhow!(two), "failed", two, None);
    }
}
