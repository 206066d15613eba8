//! The rights that a user of Redis needs, and the check that it has them.
//!
//! Redis checks rights for each command, also inside scripts. A script whose user lacks a right
//! stops in its middle. So all rights are checked before anything is done (`rights.lua`), and again
//! after every refusal. The commands are read from the scripts.

use std::collections::BTreeSet;
use std::fmt::Write;

use redis::Cmd;

use super::script::{OF_OTHERS, OF_PAGES, OF_WORKERS, RIGHTS, RedisScript};

/// Our keys, and keys of the page fetcher with fixed names.
const OURS: [&str; 4] = ["curtsy:*", "rate_limit:*", "robots:*", "webpage:*"];
/// Keys of pages.
const PAGES: [&str; 2] = ["curtsy:*", "webpage:*"];
/// Rights that the check itself needs. `CONFIG GET` may be missing: then the worst case is assumed.
const FIRST: [&str; 2] = ["select", "eval"];
/// Commands outside scripts.
const OUTSIDE: [&str; 2] = ["EVALSHA", "SCRIPT|LOAD"];
/// Commands without a key.
const KEYLESS: [&str; 4] = ["EVALSHA", "INFO", "SCRIPT|LOAD", "TIME"];
/// Missing rights that a message names. The others are counted.
const NAMED: usize = 6;

/// The rights that a user needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Patterns of keys.
    keys: Vec<String>,
    commands: BTreeSet<&'static str>,
}

impl Rights {
    /// Returns the rights of a worker with lists of these names.
    pub fn of_worker(lists: &[&str]) -> Rights {
        Rights { keys: keys(lists), commands: commands(&OF_WORKERS, &["INFO"]) }
    }

    /// Returns the rights of a client that only keeps pages.
    pub fn of_pages() -> Rights {
        Rights { keys: PAGES.map(str::to_owned).to_vec(), commands: commands(&OF_PAGES, &[]) }
    }

    /// Returns the rights of everyone in a fleet: workers, schedulers and operators.
    pub fn of_all(lists: &[&str]) -> Rights {
        let commands = commands(&OF_OTHERS, &[]);
        Rights { commands: &commands | &Rights::of_worker(lists).commands, keys: keys(lists) }
    }

    /// Returns a hint for a user who lacks rights.
    pub(super) fn hint(&self, user: &str) -> String {
        match self.commands.is_empty() {
            true => "hint: docs/internals/redis.md says which rights a user needs".into(),
            false => format!("hint: as an administrator, `{}`", self.line(user)),
        }
    }

    /// Returns the command with which an administrator grants the rights to a user.
    pub fn line(&self, user: &str) -> String {
        let mut line = format!("ACL SETUSER {user}");
        for key in &self.keys {
            // Writing to a string does not fail.
            let _ = write!(line, " ~{key}");
        }
        for command in FIRST.iter().chain(&self.commands) {
            let _ = write!(line, " +{}", command.to_ascii_lowercase());
        }
        line
    }

    /// Returns the command that checks a user's rights; `None` without rights to check.
    pub(super) fn question(&self) -> Option<Cmd> {
        if self.commands.is_empty() {
            return None;
        }
        let mut command = redis::cmd("EVAL");
        command.arg(RIGHTS.text).arg(0).arg(self.keys.len()).arg(&self.keys);
        for name in &self.commands {
            command.arg(*name);
        }
        Some(command)
    }

    /// Returns a message about the rights that are missing in the answer to
    /// [`question`](Self::question); `None` if none is.
    pub(super) fn missing(&self, may: &[u8]) -> Option<String> {
        let asked = (self.commands.iter())
            .flat_map(|command| self.keys.iter().map(move |key| (*command, key.as_str())));
        // Rights without an answer are missing.
        let answers = may.iter().map(|may| *may == b'1').chain(std::iter::repeat(false));
        let lacking: BTreeSet<(&str, &str)> =
            asked.zip(answers).filter(|(_, may)| !may).map(|(pair, _)| pair).collect();
        if lacking.is_empty() {
            return None;
        }
        let no_command =
            |command: &str| self.keys.iter().all(|key| lacking.contains(&(command, key.as_str())));
        let no_key = |key: &str| {
            self.commands
                .iter()
                .all(|command| KEYLESS.contains(command) || lacking.contains(&(*command, key)))
        };
        let commands = self.commands.iter().filter(|command| no_command(command));
        let keys = self.keys.iter().filter(|key| no_key(key));
        let both = lacking.iter().filter(|(command, key)| !no_command(command) && !no_key(key));
        let parts = [
            ("run", named(commands.map(|command| format!("`{command}`")))),
            ("use the keys", named(keys.map(|key| format!("`{key}`")))),
            ("run", named(both.map(|(command, key)| format!("`{command}` on `{key}`")))),
        ];
        let parts =
            parts.into_iter().filter_map(|(verb, names)| Some(format!("{verb} {}", names?)));
        let parts: Vec<String> = parts.collect();
        Some(format!("this user of Redis may not {}", parts.join(", nor ")))
    }
}

/// Returns the first few names; `None` if there are none.
fn named(names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let first = names[..names.len() - more].join(", ");
    match (names.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(first),
        _ => Some(format!("{first} and {more} more")),
    }
}

fn keys(lists: &[&str]) -> Vec<String> {
    let lists = lists.iter().flat_map(|list| [(*list).to_owned(), format!("{list}:*")]);
    lists.chain(OURS.map(str::to_owned)).collect()
}

/// Returns the commands in scripts, those that run scripts, and `more`.
fn commands(scripts: &[&'static RedisScript], more: &[&'static str]) -> BTreeSet<&'static str> {
    let calls = scripts.iter().flat_map(|script| script.text.split("redis.call('").skip(1));
    let called = calls.filter_map(|rest| rest.split('\'').next());
    called.chain(OUTSIDE).chain(more.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(commands: &[&'static str], keys: &[&str]) -> Rights {
        Rights {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            commands: commands.iter().copied().collect(),
        }
    }

    #[test]
    fn missing_rights_are_named_by_command_by_key_or_by_both() {
        let rights = rights(&["GET", "SET", "TIME"], &["a:*", "b:*"]);
        let check = |may: &[u8], expected: Option<&str>| {
            let missing = rights.missing(may);
            assert_eq!(missing, expected.map(|what| format!("this user of Redis may not {what}")));
        };
        check(b"111111", None);
        check(b"110011", Some("run `SET`"));
        check(b"101011", Some("use the keys `b:*`"));
        check(b"111011", Some("run `SET` on `b:*`"));
        check(b"", Some("run `GET`, `SET`, `TIME`, nor use the keys `a:*`, `b:*`"));
    }

    #[test]
    fn the_commands_are_those_of_the_scripts() {
        let all = Rights::of_all(&[]).commands;
        assert!(all.contains("LPOS") && all.contains("TIME") && all.len() > 20, "{all:?}");
        let none = ["KEYS", "FLUSHALL", "CONFIG"];
        assert!(none.iter().all(|command| !all.contains(command)), "{all:?}");
        let pages = Rights::of_pages().commands;
        assert!(pages.is_subset(&Rights::of_worker(&[]).commands), "{pages:?}");
        // Calls of another form would not be found.
        for script in OF_WORKERS.iter().chain(&OF_OTHERS) {
            let calls = script.text.matches("redis.call").count()
                + script.text.matches("redis.pcall").count();
            assert_eq!(calls, script.text.matches("redis.call('").count(), "{}", script.text);
        }
    }
}
