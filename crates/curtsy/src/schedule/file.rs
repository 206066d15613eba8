//! The scheduler's file: which seeds are queued, when, and how urgently. The whole file is checked
//! before it is used.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use curtsy_core::policy::read_span;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::Priority;
use curtsy_store::redis::SitemapEntry;
use curtsy_store::redis::schedule::Seat;
use serde::Deserialize;

use super::due::{CronLine, When};
use crate::fleet::reader::LISTED_MAX;

/// The longest name of a queue.
pub(crate) const QUEUE_BYTES_MAX: usize = 200;
/// The longest file.
pub(crate) const FILE_BYTES_MAX: u64 = 8 << 20;
/// Seeds of one file.
pub(crate) const SEEDS_MAX: usize = 10_000;
/// The shortest and the longest span.
pub(crate) const EVERY: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(366 * 86_400));
/// The most URLs of a sitemap that may be said.
pub(crate) const LIMIT_MAX: u32 = 10_000_000;

/// A file that was read and is fit.
#[derive(Clone, Debug)]
pub struct SeedFile {
    /// The queue, if it is named.
    pub queue: Option<String>,
    /// The seeds, in the file's order.
    pub seeds: Vec<Seed>,
}

/// Something that is queued again and again.
#[derive(Clone, Debug)]
pub struct Seed {
    /// What it is.
    pub kind: SeedKind,
    /// Its URL as the file has it.
    pub spelt: String,
    /// The same, parsed.
    pub url: CrawlUrl,
    /// When it is queued.
    pub when: When,
    /// How urgent it is.
    pub priority: Priority,
}

/// What a seed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedKind {
    /// A page.
    Url,
    /// A sitemap whose pages are meant, so many of them at most.
    Sitemap(NonZeroU32),
}

/// Why a file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It can't be read.
    #[error("could not be read")]
    Unreadable(#[source] std::io::Error),
    /// It is too long.
    #[error("has {0} bytes\nhint: at most {FILE_BYTES_MAX}")]
    Long(u64),
    /// It is no YAML, or has keys that mean nothing.
    #[error("{0}\nhint: docs/reference/scheduling.md has an example")]
    Yaml(String),
    /// A value can't be meant.
    #[error("`{key}` {what}\nhint: {hint}")]
    Wrong {
        /// Where.
        key: String,
        /// What is wrong with it.
        what: String,
        /// What would do.
        hint: &'static str,
    },
}

impl SeedFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<SeedFile, FileError> {
        let bytes = std::fs::metadata(path).map_err(FileError::Unreadable)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(FileError::Long(bytes));
        }
        SeedFile::parse(&std::fs::read_to_string(path).map_err(FileError::Unreadable)?)
    }

    /// Reads its text.
    pub fn parse(text: &str) -> Result<SeedFile, FileError> {
        let written: WrittenFile = serde_saphyr::from_str(text).map_err(|e| yaml(&e))?;
        if let Some(queue) = &written.queue {
            let legal = |c: char| c.is_ascii_graphic();
            if queue.is_empty() || queue.len() > QUEUE_BYTES_MAX || !queue.chars().all(legal) {
                return Err(wrong("queue", queue, "1 to 200 letters, as crawler_queue"));
            }
        }
        if written.seeds.is_empty() || written.seeds.len() > SEEDS_MAX {
            let count = written.seeds.len().to_string();
            let what = format!("has {count} entries");
            return Err(FileError::Wrong { key: "seeds".into(), what, hint: "1 to 10000 seeds" });
        }
        let mut seeds: Vec<Seed> = Vec::with_capacity(written.seeds.len());
        let mut names = HashMap::new();
        for (n, written) in written.seeds.iter().enumerate() {
            let seed = written.check(n)?;
            if let Some(first) = names.insert(seed.name(), n) {
                let key = format!("seeds[{n}].{}", seed.kind.key());
                let what = format!("is `{}`, and so is that of seeds[{first}]", seed.spelt);
                let hint = "name each URL once; one cron line may have several moments";
                return Err(FileError::Wrong { key, what, hint });
            }
            seeds.push(seed);
        }
        Ok(SeedFile { queue: written.queue, seeds })
    }
}

impl Seed {
    /// Its name among the moments: what it is and where, however it is spelt.
    fn name(&self) -> String {
        UrlKey::of(&format!("{} {}", self.kind.key(), self.url.as_str())).to_string()
    }

    /// Where it is queued, and as what.
    pub fn seat(&self, queue: &str) -> Seat {
        let entry = match self.kind {
            SeedKind::Url => self.spelt.clone(),
            SeedKind::Sitemap(limit) => {
                let limit = Some(limit).filter(|limit| limit.get() != LISTED_MAX);
                SitemapEntry { url: &self.spelt, limit }.to_string()
            }
        };
        let list = match self.priority {
            Priority::High => format!("{queue}:high"),
            Priority::Normal => queue.to_owned(),
            Priority::Low => format!("{queue}:low"),
        };
        Seat { name: self.name(), list, entry }
    }
}

impl SeedKind {
    /// The key by which the file names it.
    pub const fn key(self) -> &'static str {
        match self {
            SeedKind::Url => "url",
            SeedKind::Sitemap(_) => "sitemap",
        }
    }
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    queue: Option<String>,
    seeds: Vec<WrittenSeed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSeed {
    url: Option<String>,
    sitemap: Option<String>,
    every: Option<String>,
    cron: Option<String>,
    priority: Option<String>,
    limit: Option<String>,
}

impl WrittenSeed {
    fn check(&self, n: usize) -> Result<Seed, FileError> {
        let key = |name: &str| format!("seeds[{n}].{name}");
        let seed = || format!("seeds[{n}]");
        let either = |what: &str, hint| FileError::Wrong { key: seed(), what: what.into(), hint };
        let (name, spelt) = match (&self.url, &self.sitemap) {
            (Some(url), None) => ("url", url),
            (None, Some(sitemap)) => ("sitemap", sitemap),
            (None, None) => return Err(either("has no URL", "give it `url` or `sitemap`")),
            (Some(_), Some(_)) => {
                return Err(either(
                    "has `url` and `sitemap`",
                    "keep one of them; two are two seeds",
                ));
            }
        };
        let url = CrawlUrl::parse(spelt).map_err(|error| FileError::Wrong {
            key: key(name),
            what: format!("is `{spelt}`: {error}"),
            hint: "a whole URL, as https://example.org/",
        })?;
        let when = match (&self.every, &self.cron) {
            (Some(every), None) => match read_span(every) {
                Some(span) if EVERY.0 <= span && span <= EVERY.1 => When::Every(span),
                _ => {
                    return Err(wrong(
                        &key("every"),
                        every,
                        "a span from 1s to 366d, as 30m, 6h or 7d",
                    ));
                }
            },
            (None, Some(cron)) => {
                let hint = "five fields in UTC (minute, hour, day, month, day of the week), as \"15 3 * * *\"";
                let refused = |error| FileError::Wrong {
                    key: key("cron"),
                    what: format!("is `{cron}`: {error}"),
                    hint,
                };
                When::Cron(CronLine::parse(cron).map_err(refused)?)
            }
            (None, None) => {
                let hint = "give it `every: 6h` or `cron: \"15 3 * * *\"`";
                return Err(either("does not say when", hint));
            }
            (Some(_), Some(_)) => {
                return Err(either("has `every` and `cron`", "keep one of them"));
            }
        };
        let priority = match self.priority.as_deref() {
            Some("high") => Priority::High,
            Some("normal") | None => Priority::Normal,
            Some("low") => Priority::Low,
            Some(other) => return Err(wrong(&key("priority"), other, "high, normal or low")),
        };
        let kind = match (name, &self.limit) {
            ("url", None) => SeedKind::Url,
            ("url", Some(limit)) => {
                return Err(wrong(
                    &key("limit"),
                    limit,
                    "only a `sitemap` has a limit: leave it out",
                ));
            }
            (_, limit) => {
                let said = limit.as_deref().map_or(Some(LISTED_MAX), |limit| limit.parse().ok());
                let fit = said.filter(|limit| *limit <= LIMIT_MAX).and_then(NonZeroU32::new);
                let value = limit.as_deref().unwrap_or_default();
                let hint = "a number of URLs from 1 to 10000000";
                SeedKind::Sitemap(fit.ok_or_else(|| wrong(&key("limit"), value, hint))?)
            }
        };
        Ok(Seed { kind, spelt: spelt.clone(), url, when, priority })
    }
}

fn wrong(key: &str, value: &str, hint: &'static str) -> FileError {
    FileError::Wrong { key: key.into(), what: format!("is `{value}`"), hint }
}

/// What the reader of YAML says, without the lines of the file that it quotes.
fn yaml(error: &serde_saphyr::Error) -> FileError {
    let text = error.without_snippet().to_string();
    FileError::Yaml(text.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "
queue: my_queue        # a comment
seeds:
  - url: HTTPS://Example.org
    every: 6h
    priority: high
  - url: https://example.org/news?page=1
    cron: \"0 */2 * * *\"
  - sitemap: https://example.org/sitemap.xml
    cron: \"15 3 * * *\"
    priority: low
    limit: 200
  - {sitemap: https://example.org/other.xml, every: 1d}
";

    #[test]
    fn a_seed_is_queued_as_it_is_written_in_the_list_of_its_priority() {
        let file = SeedFile::parse(WHOLE).unwrap();
        assert_eq!(file.queue.as_deref(), Some("my_queue"));
        let seats: Vec<Seat> = file.seeds.iter().map(|seed| seed.seat("q")).collect();
        let places: Vec<(&str, &str)> =
            seats.iter().map(|seat| (seat.list.as_str(), seat.entry.as_str())).collect();
        assert_eq!(
            places,
            [
                ("q:high", "HTTPS://Example.org"),
                ("q", "https://example.org/news?page=1"),
                ("q:low", "sitemap:200:https://example.org/sitemap.xml"),
                ("q", "sitemap:https://example.org/other.xml"),
            ]
        );
    }

    #[test]
    fn a_seed_keeps_its_name_when_it_is_spelt_or_timed_otherwise() {
        let name = |text: &str| {
            let file = SeedFile::parse(&format!("seeds: [{text}]")).unwrap();
            file.seeds[0].seat("q").name
        };
        let page = name("{url: https://example.org, every: 1h}");
        assert_eq!(name("{url: HTTPS://EXAMPLE.org/, cron: '0 0 * * *', priority: low}"), page);
        assert_ne!(name("{sitemap: https://example.org, every: 1h}"), page);
        assert_ne!(name("{url: https://example.org/a, every: 1h}"), page);
    }

    #[test]
    fn the_example_in_deploy_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/seeds.example.yaml");
        let file = SeedFile::read(&path).unwrap();
        assert_eq!((file.queue.as_deref(), file.seeds.len()), (Some("crawler_queue"), 3));
    }

    #[track_caller]
    fn refused(text: &str, says: &[&str]) {
        let said = SeedFile::parse(text).unwrap_err().to_string();
        for says in says {
            assert!(said.contains(says), "`{says}` is not in: {said}");
        }
        assert!(said.contains("\nhint: "), "{said}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_key_its_value_and_what_would_do() {
        let seed = |rest: &str| format!("seeds:\n  - url: https://a.test/\n    {rest}\n");
        refused(&seed("every: 6"), &["`seeds[0].every` is `6`", "6h"]);
        refused(&seed("every: 10ms"), &["`seeds[0].every` is `10ms`", "1s"]);
        refused(&seed("every: 400d"), &["`seeds[0].every` is `400d`", "366d"]);
        refused(
            &seed("cron: \"* * * *\""),
            &["`seeds[0].cron` is `* * * *`", "4 fields", "15 3 * * *"],
        );
        refused(&seed("cron: \"0 0 30 2 *\""), &["`seeds[0].cron`", "never comes"]);
        refused(&seed("priority: high"), &["`seeds[0]` does not say when", "every"]);
        refused(&seed("every: 1h\n    cron: \"* * * * *\""), &["`every` and `cron`"]);
        refused(
            &seed("every: 1h\n    priority: urgent"),
            &["`seeds[0].priority` is `urgent`", "high, normal or low"],
        );
        refused(&seed("every: 1h\n    limit: 5"), &["`seeds[0].limit` is `5`", "sitemap"]);
        refused(&seed("every: 1h\n    sitemap: https://a.test/s.xml"), &["`url` and `sitemap`"]);
        refused("seeds: [{every: 1h}]", &["`seeds[0]` has no URL"]);
        refused("seeds: [{url: a.test, every: 1h}]", &["`seeds[0].url` is `a.test`", "https://"]);
        refused(
            "seeds: [{url: 'ftp://a.test/', every: 1h}]",
            &["`seeds[0].url` is `ftp://a.test/`"],
        );
        refused(
            "seeds: [{sitemap: 'https://a.test/s', every: 1h, limit: 0}]",
            &["`seeds[0].limit` is `0`"],
        );
        refused(
            "seeds: [{sitemap: 'https://a.test/s', every: 1h, limit: all}]",
            &["`seeds[0].limit` is `all`"],
        );
        refused("seeds: []", &["`seeds` has 0 entries"]);
        refused(
            "queue: 'a b'\nseeds: [{url: 'https://a.test/', every: 1h}]",
            &["`queue` is `a b`"],
        );
        let twice =
            "seeds: [{url: 'https://a.test/', every: 1h}, {url: 'https://A.test', every: 2h}]";
        refused(twice, &["`seeds[1].url` is `https://A.test`", "seeds[0]"]);
    }

    #[test]
    fn keys_that_mean_nothing_are_refused_by_their_name() {
        refused("sedes: []", &["sedes", "seeds"]);
        refused("seeds: [{url: 'https://a.test/', evry: 1h}]", &["evry", "every"]);
        refused("seeds: [{url: 'https://a.test/', every: 1h, every: 2h}]", &["every"]);
        refused("seeds: 5", &[]);
        refused("seeds: [", &[]);
        refused("", &[]);
        refused("seeds: [{url: [1], every: 1h}]", &[]);
    }
}
