//! The flags that commands share: their arguments, and the values that a layer has for them.
//!
//! [`SECTIONS`] is the one table. From it follow the arguments of every command ([`Flags`]), the
//! keys of `curtsy.toml` and its template (`config`), which of flag, variable and file counts
//! (`settings`), and the command in the record of a run ([`Values::command`]).

mod table;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use curtsy_crawl::RouteChoices;
use curtsy_engine::discover::DiscoverySpec;

pub(super) use table::SECTIONS;

/// Where a crawl begins.
pub(super) const SEEDS: u16 = 1;
/// The manners of a crawl.
pub(super) const MANNERS: u16 = 1 << 1;
/// The manners that `policy show` takes beside its policy.
pub(super) const POLICY: u16 = 1 << 2;
/// What a crawl discovers.
pub(super) const FIND: u16 = 1 << 3;
/// Which content a crawl keeps.
pub(super) const KEEP: u16 = 1 << 4;
/// Where rows go.
pub(super) const INTO: u16 = 1 << 5;
/// The ledger of hosts.
pub(super) const LEDGER: u16 = 1 << 6;
/// The page cache that all crawls of a user share.
pub(super) const CACHE: u16 = 1 << 7;
/// The way out.
pub(super) const WAY: u16 = 1 << 8;
/// The settings file.
pub(super) const CONFIG: u16 = 1 << 9;
/// What a run does with the crawl that its file holds.
pub(super) const RUN: u16 = 1 << 10;
/// How a crawl begins anew.
pub(super) const ANEW: u16 = 1 << 11;
/// Every flag.
pub(super) const ALL: u16 = u16::MAX;

/// Flags under one heading of the template.
pub(super) struct FlagSection {
    /// The heading.
    pub(super) title: &'static str,
    /// The flags, in the order of the help and of the template.
    pub(super) flags: &'static [Flag],
}

/// A flag: an argument of the commands that take one of its groups, and a key of `curtsy.toml`.
pub(super) struct Flag {
    /// The name: `delay` is the flag `--delay` and the key `delay`.
    pub(super) name: &'static str,
    /// The groups that have this flag, as bits.
    groups: u16,
    /// The form of its value.
    pub(super) takes: Takes,
    /// What its value sets.
    pub(super) sets: Sets,
    /// The help, and the comment in the template.
    pub(super) help: &'static str,
    /// What the help adds in brackets: variables and the default.
    notes: &'static str,
    /// The variable that sets the same, unless the policy or the proxies read it.
    pub(super) variable: Option<&'static str>,
    /// The value in the template. A flag without one is no key of the file.
    pub(super) example: Option<Example>,
    /// Refuses values that the flag cannot take.
    check: fn(&str) -> Result<(), String>,
    /// A value as the record of a run shows it.
    shown: fn(&str) -> String,
}

/// The form of a value. The text is the value's name in the help.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// No value: on, or not given.
    Switch,
    /// A text.
    Text(&'static str),
    /// A text, which may be a number in the file.
    Amount(&'static str),
    /// The name of a file.
    Path(&'static str),
    /// Texts: the flag is repeated.
    Texts(&'static str),
    /// Words with commas between them.
    Words(&'static str),
    /// Texts without a flag before them.
    Positional(&'static str),
    /// `FIELD=VALUE`, repeated; a table in the file.
    Fields(&'static str),
}

/// What a value sets.
pub(super) enum Sets {
    /// A field of the policy. The function returns the field's value for a value of the flag.
    Policy(&'static str, fn(&str) -> String),
    /// The fields of the policy that the values name.
    PolicyFields,
    /// What a crawl discovers.
    Discovery(fn(&mut DiscoverySpec, &str)),
    /// The way out.
    Way(fn(&mut RouteChoices, &str)),
    /// Something that a command looks up by the flag's name.
    ByName,
}

/// A value in the template.
#[derive(Clone, Copy)]
pub(super) enum Example {
    /// A value in force, which a user is meant to change.
    InForce(&'static str),
    /// A value behind a `#`.
    Comment(&'static str),
}

impl Flag {
    /// Every flag of the table.
    pub(super) fn all() -> impl Iterator<Item = &'static Flag> {
        SECTIONS.iter().flat_map(|section| section.flags)
    }

    /// The flag with this name.
    pub(super) fn named(name: &str) -> Option<&'static Flag> {
        Flag::all().find(|flag| flag.name == name)
    }

    /// Refuses a value that the flag cannot take, and says why.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        (self.check)(value)
    }

    /// The flag as an argument of a command.
    fn argument(&'static self) -> Arg {
        let arg = Arg::new(self.name).help(format!("{}{}", self.help, self.notes));
        let arg = match self.takes {
            Takes::Positional(_) => arg.num_args(1..),
            _ => arg.long(self.name),
        };
        let parser = move |text: &str| self.check(text).map(|()| OsString::from(text));
        let one = |arg: Arg, name| arg.value_name(name).value_parser(ValueParser::new(parser));
        match self.takes {
            Takes::Switch => arg.action(ArgAction::SetTrue),
            Takes::Path(name) => arg.value_name(name).value_parser(ValueParser::os_string()),
            Takes::Text(name) | Takes::Amount(name) => one(arg, name),
            Takes::Texts(name) | Takes::Positional(name) | Takes::Fields(name) => {
                one(arg, name).action(ArgAction::Append)
            }
            Takes::Words(name) => one(arg, name).action(ArgAction::Append).value_delimiter(','),
        }
    }
}

/// The flags of some groups, as arguments of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Flags<const GROUPS: u16>(pub(super) Values);

impl<const GROUPS: u16> Flags<GROUPS> {
    fn all() -> impl Iterator<Item = &'static Flag> {
        Flag::all().filter(|flag| flag.groups & GROUPS != 0)
    }
}

impl<const GROUPS: u16> Args for Flags<GROUPS> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::all().map(Flag::argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUPS: u16> FromArgMatches for Flags<GROUPS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags<GROUPS>, clap::Error> {
        let mut values = Values::default();
        for flag in Self::all() {
            if flag.takes != Takes::Switch {
                let given = matches.get_many::<OsString>(flag.name).unwrap_or_default();
                given.for_each(|value| values.add(flag.name, value));
            } else if matches.get_flag(flag.name) {
                values.switch_on(flag.name);
            }
        }
        Ok(Flags(values))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values that the command line or a settings file has for flags, by the flags' names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values(BTreeMap<&'static str, Vec<OsString>>);

impl Values {
    /// Adds a value of a flag.
    pub(super) fn add(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.0.entry(name).or_default().push(value.into());
    }

    /// Turns a switch on.
    pub(super) fn switch_on(&mut self, name: &'static str) {
        self.0.insert(name, vec![OsString::new()]);
    }

    /// Gives a flag without a value this one.
    #[cfg(any(feature = "fleet", feature = "serve"))]
    pub(super) fn add_default(&mut self, name: &'static str, value: &str) {
        self.0.entry(name).or_insert_with(|| vec![value.into()]);
    }

    /// Takes the values of a flag out.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Whether no flag has a value, except for these.
    pub(super) fn is_empty_except(&self, names: &[&str]) -> bool {
        self.0.keys().all(|name| names.contains(name))
    }

    /// Whether a flag has a value.
    pub(super) fn has(&self, name: &str) -> bool {
        debug_assert!(Flag::named(name).is_some(), "`{name}` is not in the table of flags");
        self.0.contains_key(name)
    }

    /// The value of a flag that has one at most.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.has(name).then(|| self.0[name][0].as_os_str())
    }

    /// The values of a flag whose parser takes UTF-8 only: every form but [`Takes::Path`].
    pub(super) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        debug_assert!(Flag::named(name).is_some(), "`{name}` is not in the table of flags");
        self.0.get(name).into_iter().flatten().filter_map(|value| value.to_str())
    }

    /// The first of these values.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).next()
    }

    /// The command for the record of a run: what was given, without a password.
    pub(super) fn command(&self) -> String {
        let mut words = vec!["curtsy crawl".to_owned()];
        for flag in Flag::all() {
            let name = format!("--{}", flag.name);
            let values = self.0.get(flag.name).into_iter().flatten();
            let values = values.map(|value| (flag.shown)(&value.to_string_lossy()));
            match flag.takes {
                Takes::Positional(_) => words.extend(values),
                Takes::Switch => words.extend(values.map(|_| name.clone())),
                Takes::Words(_) => {
                    let list = values.collect::<Vec<_>>().join(",");
                    words.extend((!list.is_empty()).then(|| format!("{name} {list}")));
                }
                _ => words.extend(values.map(|value| format!("{name} {value}"))),
            }
        }
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use curtsy_core::policy::Field;

    use super::*;

    #[test]
    fn every_flag_is_in_the_table_once_and_sets_a_field_that_exists() {
        let mut names: Vec<&str> = Flag::all().map(|flag| flag.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for flag in Flag::all() {
            if let Sets::Policy(key, _) = flag.sets {
                assert!(Field::find(key).is_some(), "`{}` sets `{key}`", flag.name);
            }
        }
    }

    #[test]
    fn a_recorded_value_is_one_word_for_a_shell() {
        let mut values = Values::default();
        values.add("include", "/it's here/*");
        values.add("only", "html");
        values.add("only", "pdf");
        values.add("from", "my seeds.txt");
        values.switch_on("again");
        let command = r"curtsy crawl --from 'my seeds.txt' --include '/it'\''s here/*' --only html,pdf --again";
        assert_eq!(values.command(), command);
    }
}
