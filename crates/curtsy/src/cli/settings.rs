//! The settings of a command: its flags, with the environment and a settings file behind them.
//!
//! A flag beats a variable of the environment, which beats the settings file. For the fields of the
//! policy, `curtsy_core` puts these layers on top of the policy file and the preset.

use std::ffi::OsStr;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use curtsy_core::policy::{
    FlagValue, Layers, Mode, Reach, SettingsFile, SettledPolicy, Variables, read_size, write_size,
};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{
    JobOrder, JobSpec, PageSharing, PolicyChoice, RouteChoices, RowsTarget, ledger_file,
    other_scheme, seed, spoken,
};
use curtsy_engine::discover::DiscoverySpec;
use curtsy_fetch::GuardRefusal;
use curtsy_sink::read::PagesFile;
use curtsy_store::{Ledger, SHARED_BYTES_MIN, SystemClock, has_seed};

use super::flags::{Flag, Sets, Values};
use super::policy::assignment;
use super::{Console, config, printable};
use crate::signals::Signals;

/// The settings of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandSettings {
    /// The flags of the command line.
    pub(super) flags: Values,
    /// The settings file.
    pub(super) file: Values,
    /// The name of the settings file, for messages.
    file_name: String,
}

impl Values {
    /// These flags in front of the settings file that they name, or of `curtsy.toml` if there is
    /// one.
    pub(super) fn settings(self) -> anyhow::Result<CommandSettings> {
        match self.get("config").is_none() && Path::new(config::NAME).exists() {
            true => {
                Ok(CommandSettings::new(self, config::open(Path::new(config::NAME))?, config::NAME))
            }
            false => self.settings_if_named(),
        }
    }

    /// These flags without a settings file.
    pub(super) fn alone(self) -> CommandSettings {
        CommandSettings { flags: self, ..CommandSettings::default() }
    }

    /// These flags in front of the settings file that they name.
    pub(super) fn settings_if_named(self) -> anyhow::Result<CommandSettings> {
        let Some(path) = self.get("config").map(PathBuf::from) else {
            return Ok(self.alone());
        };
        let file = config::open(&path)?;
        Ok(CommandSettings::new(self, file, &path.display().to_string()))
    }
}

impl CommandSettings {
    /// Flags in front of a file. Seeds of the command line replace all seeds of the file.
    pub(super) fn new(flags: Values, mut file: Values, file_name: &str) -> CommandSettings {
        if flags.has("urls") || flags.has("from") {
            file.remove("urls");
            file.remove("from");
        }
        CommandSettings { flags, file, file_name: file_name.to_owned() }
    }

    /// The layer that counts for a setting without a variable.
    fn layer(&self, name: &str) -> &Values {
        if self.flags.has(name) { &self.flags } else { &self.file }
    }

    /// The value of a setting without a variable.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.layer(name).get(name)
    }

    /// The value of a setting with a variable, and the name of the flag or variable that has it.
    fn find<'s>(&'s self, name: &str, variables: &'s Variables) -> Option<(&'s str, &'s OsStr)> {
        let flag = Flag::named(name)?;
        let in_layer = |values: &'s Values| Some((flag.name, values.get(name)?));
        let in_environment = || {
            let variable = flag.variable?;
            let value = variables.get(variable).filter(|value| !value.is_empty())?;
            Some((variable, OsStr::new(value)))
        };
        in_layer(&self.flags).or_else(in_environment).or_else(|| in_layer(&self.file))
    }

    /// The seeds as they were written, without those of a list.
    pub(super) fn urls(&self) -> Vec<&str> {
        self.layer("urls").texts("urls").collect()
    }

    /// Whether the settings say where a crawl begins.
    pub(super) fn has_seeds(&self) -> bool {
        self.get("urls").is_some() || self.get("from").is_some()
    }

    /// The seeds, each read once: those of the command line first.
    fn seeds(&self) -> anyhow::Result<Vec<CrawlUrl>> {
        let mut seeds = self.urls().into_iter().map(seed).collect::<Result<Vec<_>, _>>()?;
        if let Some(from) = self.get("from").map(Path::new) {
            let unread = || format!("could not read the seeds in `{}`", from.display());
            let lines: Box<dyn BufRead> = match from == Path::new("-") {
                true => Box::new(std::io::stdin().lock()),
                false => {
                    let file = std::fs::File::open(from).with_context(unread)?;
                    Box::new(std::io::BufReader::new(file))
                }
            };
            for (n, line) in lines.lines().enumerate() {
                let line = line.with_context(unread)?;
                let line = line.trim();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                let url = seed(line)
                    .with_context(|| format!("line {} of `{}`", n + 1, from.display()))?;
                seeds.push(url);
            }
        }
        if seeds.is_empty() {
            bail!(
                "nothing to crawl\nhint: give a URL (`curtsy crawl https://example.org/`) or `--from FILE`"
            );
        }
        Ok(seeds)
    }

    /// The order for a crawl with these settings that discovers this.
    pub(super) fn order(
        &self,
        discovery: DiscoverySpec,
        console: &mut Console<'_>,
    ) -> anyhow::Result<JobOrder> {
        let (seeds, urls) = (self.seeds()?, self.urls());
        let mut way = self.way(&console.variables, &seeds)?;
        // A list (`--from`) may come from anywhere: it opens no host of this machine. A URL does.
        seeds.iter().take(urls.len()).for_each(|url| way.name(url));
        urls.iter().filter_map(|text| other_scheme(text)).for_each(|url| way.name(&url));
        let settled = self.manners(way.reach(&seeds), console)?;
        console.warn(&settled.warnings)?;
        let ledger = self.ledger_file(console)?.into();
        let sharing = self.sharing(console)?;
        Ok(JobOrder { seeds, settled, way, discovery, ledger, sharing })
    }

    /// Where a crawl with these settings leads, for commands that begin none.
    pub(super) fn reach(&self) -> anyhow::Result<Reach> {
        // Proxies have no influence here.
        let mut way = self.way(&Variables::default(), &[])?;
        let seeds: Vec<CrawlUrl> =
            self.urls().into_iter().filter_map(|text| seed(text).ok()).collect();
        seeds.iter().for_each(|url| way.name(url));
        // A list may name any host.
        Ok(way.reach(if self.get("from").is_none() { &seeds } else { &[] }))
    }

    /// The policy: flag beats environment beats settings file beats policy file beats preset.
    pub(super) fn manners(
        &self,
        reach: Reach,
        console: &Console<'_>,
    ) -> anyhow::Result<SettledPolicy> {
        let choice = |values: &Values| values.text("policy").map(PolicyChoice::find).transpose();
        let flag = choice(&self.flags)?;
        let in_file = if flag.is_none() { choice(&self.file)? } else { None };
        let mode = |values: &Values| values.text("mode").and_then(Mode::parse);
        let given = self.flags.policy_fields(|flag, _| format!("--{flag}"));
        let written = self.file.policy_fields(|flag, key| match flag {
            "set" => format!("set.{key}"),
            flag => flag.to_owned(),
        });
        let layers = Layers {
            file: flag.as_ref().or(in_file.as_ref()).and_then(PolicyChoice::file),
            settings: SettingsFile {
                file: &self.file_name,
                preset: in_file.as_ref().and_then(PolicyChoice::preset),
                mode: mode(&self.file),
                values: &written.iter().map(PolicyField::borrow).collect::<Vec<_>>(),
            },
            environment: Some(&console.variables),
            preset: flag.as_ref().and_then(PolicyChoice::preset),
            mode: mode(&self.flags),
            flags: &given.iter().map(PolicyField::borrow).collect::<Vec<_>>(),
        };
        Ok(layers.settle(reach)?)
    }
    /// What a crawl discovers; seeds and product are not known here.
    pub(super) fn discovery(&self) -> DiscoverySpec {
        let mut spec = DiscoverySpec::default();
        for flag in Flag::all() {
            if let Sets::Discovery(set) = flag.sets {
                self.layer(flag.name).texts(flag.name).for_each(|value| set(&mut spec, value));
            }
        }
        spec
    }

    /// The way to these seeds; without seeds, to anywhere.
    pub(super) fn way(
        &self,
        variables: &Variables,
        seeds: &[CrawlUrl],
    ) -> anyhow::Result<RouteChoices> {
        let mut way = RouteChoices::default();
        for flag in Flag::all() {
            if let Sets::Way(set) = flag.sets {
                self.layer(flag.name).texts(flag.name).for_each(|value| set(&mut way, value));
            }
        }
        match self.flags.text("proxy") {
            Some(text) => way.through(text)?,
            None => {
                let read = way.through_environment(variables);
                // A proxy that cannot be used does not matter on the way to this machine.
                let is_near = |seed: &CrawlUrl| seed.host().names_this_machine();
                if seeds.is_empty() || !seeds.iter().all(is_near) {
                    read?;
                }
            }
        }
        if let Some(text) = self.file.text("proxy").filter(|_| way.proxies.any().is_none()) {
            way.through(text)?;
        }
        if let Some((_, file)) = self.find("ca-file", variables) {
            way.trust(Path::new(file))?;
        }
        Ok(way)
    }

    /// Where rows go.
    pub(super) fn rows_file(&self) -> Option<PathBuf> {
        self.get("into").map(PathBuf::from)
    }

    /// The crawl's own file that belongs to the settings file's `into`, if the file exists.
    pub(super) fn crawl_file(&self) -> Option<PathBuf> {
        let into = Path::new(self.file.get("into")?);
        let target = RowsTarget::of(into).ok().filter(|target| !target.is_stdout())?;
        Some(target.crawl_file(into, Path::new("."))).filter(|path| path.exists())
    }

    /// The file of the ledger of hosts.
    pub(super) fn ledger_file(&self, console: &Console<'_>) -> anyhow::Result<PathBuf> {
        match self.find("ledger", &console.variables) {
            Some((_, path)) => Ok(path.into()),
            None => ledger_file(&console.variables)
                .context("hint: name a file with `--ledger hosts.db`"),
        }
    }

    /// Opens the ledger of hosts.
    pub(super) fn ledger(&self, console: &Console<'_>) -> anyhow::Result<Ledger<SystemClock>> {
        let quiet = curtsy_store::Options::default().quiet;
        Ok(Ledger::open(&self.ledger_file(console)?, SystemClock, quiet)?)
    }

    /// What a crawl does with the page cache that all crawls of a user share.
    pub(super) fn sharing(&self, console: &Console<'_>) -> anyhow::Result<PageSharing> {
        if self.get("no-cache").is_some() {
            return Ok(PageSharing::Off);
        }
        let Some((name, size)) = self.find("cache-max", &console.variables) else {
            return Ok(PageSharing::default());
        };
        let size = size.to_string_lossy();
        match read_size(&size).filter(|bytes| *bytes >= SHARED_BYTES_MIN) {
            Some(bytes_max) => Ok(PageSharing::On { bytes_max }),
            None => bail!(
                "`{name}` is `{}`: it takes a size of at least {} such as `500MiB`\nhint: `--no-cache` does without the page cache",
                printable(&size),
                write_size(SHARED_BYTES_MIN),
            ),
        }
    }
}

/// A field of the policy that a layer sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyField {
    /// The flag or key that sets the field, as a user writes it.
    flag: String,
    /// The field.
    pub(super) key: String,
    pub(super) value: String,
}

impl PolicyField {
    fn borrow(&self) -> FlagValue<'_> {
        FlagValue { flag: &self.flag, key: &self.key, value: &self.value }
    }
}

impl Values {
    /// The fields of the policy that this layer sets. `shown` names the flag of a field.
    pub(super) fn policy_fields(&self, shown: impl Fn(&str, &str) -> String) -> Vec<PolicyField> {
        let mut fields = Vec::new();
        for flag in Flag::all().filter(|flag| self.has(flag.name)) {
            let texts = self.texts(flag.name);
            let mut set = |key: &str, value: String| {
                let (flag, key) = (shown(flag.name, key), key.to_owned());
                fields.push(PolicyField { flag, key, value });
            };
            match flag.sets {
                Sets::Policy(key, value) => {
                    set(key, texts.map(value).collect::<Vec<_>>().join(","))
                }
                Sets::PolicyFields => {
                    texts.filter_map(|text| assignment(text).ok()).for_each(|(k, v)| set(&k, v));
                }
                _ => {}
            }
        }
        fields
    }
}

/// Gives each seed that was written without a scheme the scheme that its site speaks: as the crawl
/// in this file has it, as the ledger knows it, or as the site answers. Notes where it is not the
/// usual one.
pub(super) fn choose_schemes(
    job: &mut JobSpec,
    texts: &[&str],
    file: Option<&Path>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        let Some(other) = other_scheme(text) else { continue };
        let likely = job.seeds[at].clone();
        // A crawl to which no site ever answered says nothing about the scheme.
        let answered = file.filter(|file| PagesFile::was_answered(file));
        let begun = |url: &CrawlUrl| answered.is_some_and(|file| has_seed(file, url));
        let chosen = match (begun(&likely), begun(&other)) {
            (true, _) => likely.scheme(),
            (false, true) => other.scheme(),
            (false, false) => {
                let mut signals = None;
                spoken(job, [&likely, &other], async || Signals::heard(&mut signals).await)?
            }
        };
        if chosen == other.scheme() {
            let host = printable(&GuardRefusal::host(&likely));
            let (not, instead) = (likely.scheme().as_str(), other.scheme().as_str());
            console.note(&format!("{host} does not speak {not}: {instead} is used"))?;
            job.seeds[at] = other;
        }
    }
    job.discovery.seeds = job.seeds.clone();
    Ok(())
}
