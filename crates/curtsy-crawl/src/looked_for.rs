//! What a run looked for, and why it did not take a URL.
//!
//! The report of a run contains the settings that decide about found URLs. These settings and the
//! links in the file answer the question "why is this URL not in the crawl?".

use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::{Discovery, DiscoverySpec, Scope};
use curtsy_sink::read::{CrawlRunRow, LinkedFrom, PagesFile};
use serde::{Deserialize, Serialize};

use crate::{CrawlError, JobSpec, shown_url};

/// The settings of a run that decide which found URLs it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookedFor {
    /// The name of a [`Scope`].
    pub scope: String,
    /// Patterns of which one must match.
    pub include: Vec<String>,
    /// Patterns of which none may match.
    pub exclude: Vec<String>,
    /// Whether it follows links.
    pub links: bool,
    /// Whether it reads sitemaps.
    pub sitemaps: bool,
    /// Whether it follows links that are marked `nofollow`.
    pub nofollow: bool,
    /// The largest number of links from a seed.
    pub depth: Option<u64>,
}

impl LookedFor {
    /// Returns the settings of a job.
    pub(crate) fn of(spec: &JobSpec) -> LookedFor {
        let find = &spec.discovery;
        LookedFor {
            scope: find.scope.to_string(),
            include: find.include.clone(),
            exclude: find.exclude.clone(),
            links: find.follow_links,
            sitemaps: find.follow_sitemaps,
            nofollow: !find.respect_nofollow,
            depth: spec.policy.budget.depth.map(u64::from),
        }
    }

    /// Returns the settings of a run that has ended.
    pub(crate) fn of_run(run: &CrawlRunRow) -> Option<LookedFor> {
        let figures: serde_json::Value = serde_json::from_str(run.figures.as_deref()?).ok()?;
        serde_json::from_value(figures["looked_for"].clone()).ok()
    }

    /// Returns the flags in which two runs differ.
    pub(crate) fn changed(&self, other: &LookedFor) -> Vec<&'static str> {
        let all = [
            ("--scope", self.scope != other.scope),
            ("--include", self.include != other.include),
            ("--exclude", self.exclude != other.exclude),
            ("--no-links", self.links != other.links),
            ("--no-sitemaps", self.sitemaps != other.sitemaps),
            ("--follow-nofollow", self.nofollow != other.nofollow),
            ("--depth", self.depth != other.depth),
        ];
        all.into_iter().filter(|(_, changed)| *changed).map(|(flag, _)| flag).collect()
    }
}

/// Why a crawl did not take a URL.
#[derive(Clone, Debug)]
pub struct UrlLeftOut {
    /// The page or sitemap nearest to a seed that names the URL, if there is one.
    pub named_by: Option<String>,
    /// The explanation, without the URL.
    pub why: String,
    /// What would include it.
    pub hint: Option<String>,
}

/// Returns why the crawl in a file has no row of a URL.
pub fn left_out(pages: &PagesFile, url: &CrawlUrl) -> Result<UrlLeftOut, CrawlError> {
    let from = pages.linked_from(url)?;
    let runs = pages.runs()?;
    let wishes = runs.iter().rev().find_map(LookedFor::of_run);
    let kept = match &wishes {
        Some(wishes) => kept_out(pages, url, wishes, from.as_ref())?,
        None => None,
    };
    let named_by = from.as_ref().map(|from| shown_url(&from.url));
    let named = match (&from, &named_by) {
        (Some(from), Some(name)) if from.is_sitemap => format!("the sitemap {name} lists it"),
        (_, Some(name)) => format!("linked from {name}"),
        (_, None) => "no page of this crawl links to it".to_owned(),
    };
    let (why, hint) = match (kept, &from) {
        (Some((why, hint)), Some(_)) => (format!("{named}, but {why}"), hint),
        (Some((why, hint)), None) => (format!("{named}, and {why}"), hint),
        (None, Some(_)) if runs.last().is_some_and(|run| run.ended_at.is_none()) => {
            let then = "the run that found it has not ended, or was killed";
            (format!("{named}, but {then}"), Some("the same command goes on".to_owned()))
        }
        (None, Some(_)) => (format!("{named}, but not taken"), None),
        (None, None) => (named, None),
    };
    Ok(UrlLeftOut { named_by, why, hint })
}

/// Returns the setting that excludes a URL, and what would include it.
fn kept_out(
    pages: &PagesFile,
    url: &CrawlUrl,
    wishes: &LookedFor,
    from: Option<&LinkedFrom>,
) -> Result<Option<(String, Option<String>)>, CrawlError> {
    let again = |what: &str| Some(format!("the same command with {what} and `--again` takes it"));
    let scope: Scope = wishes.scope.parse().unwrap_or_default();
    let everywhere = DiscoverySpec { scope: Scope::Everywhere, ..DiscoverySpec::default() };
    let admits = |include: &[String], exclude: &[String]| -> Result<bool, CrawlError> {
        let (include, exclude) = (include.to_vec(), exclude.to_vec());
        Ok(Discovery::new(DiscoverySpec { include, exclude, ..everywhere.clone() })?.wants(url))
    };
    let mut seeds = Vec::new();
    pages.known(|seed, last, depth| {
        if depth == 0 {
            seeds.extend([seed, last]);
        }
    })?;
    let at_home = Discovery::new(DiscoverySpec { scope, seeds, ..DiscoverySpec::default() })?;
    if !at_home.wants(url) {
        let what = match scope {
            Scope::Prefix => "outside of the seed's folder",
            _ => "on another host",
        };
        return Ok(Some((format!("{what} (`--scope {scope}`)"), None)));
    }
    for pattern in &wishes.exclude {
        if !admits(&[], std::slice::from_ref(pattern))? {
            return Ok(Some((format!("excluded by `--exclude '{pattern}'`"), None)));
        }
    }
    if !admits(&wishes.include, &[])? {
        let all: Vec<_> = wishes.include.iter().map(|p| format!("`--include '{p}'`")).collect();
        return Ok(Some((format!("not matched by {}", all.join(" or ")), None)));
    }
    let Some(from) = from else { return Ok(None) };
    if !from.is_sitemap && !wishes.links {
        return Ok(Some(("links are not followed (`--no-links`)".to_owned(), None)));
    }
    if from.nofollow && !wishes.nofollow {
        let hint = again("`--follow-nofollow`");
        return Ok(Some(("the link says nofollow".to_owned(), hint)));
    }
    let depth = from.depth + 1;
    Ok(wishes
        .depth
        .filter(|max| depth > *max)
        .map(|max| (format!("deeper than `--depth {max}`"), again(&format!("`--depth {depth}`")))))
}
