//! What would a crawl of a site take, how long, and which pages first?

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_sink::read::SitemapUrl;
use curtsy_store::{Ledger, Machine, Options};

use crate::explain::pace;
use crate::{CrawlError, JobSpec, PageKind};

/// What a crawl of a site would take.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Pages that its sitemaps list.
    pub listed: u64,
    /// The span between two requests.
    pub delay: Duration,
    /// Who asks for it: `its robots.txt` or `the policy`.
    pub delay_by: &'static str,
    /// How long all of them take.
    pub all_take: Duration,
    /// How long those take that the budget allows.
    pub chosen_take: Duration,
    /// Those that the budget takes, in their order, each with what it is about.
    pub chosen: Vec<(&'static str, String)>,
}

impl Plan {
    /// What a crawl of this host would take, if its sitemaps list this.
    pub fn new(spec: &JobSpec, host: &HostKey, listed: &[SitemapUrl]) -> Result<Plan, CrawlError> {
        let policy = spec.policy.for_host(host.as_str());
        let file = spec.ledger_file()?;
        let mut ledger = Ledger::open(file, Machine, Options::default().quiet)?;
        let view = ledger.view(host).map_err(|e| curtsy_store::OpenError::sqlite(file, e))?;
        let (delay, by_robots) = pace(&view.state, &policy);
        let delay_by = if by_robots { "its robots.txt" } else { "the policy" };
        let pages = listed.len() as u64;
        let taken = spec.policy.budget.pages.unwrap_or(u64::MAX).min(pages);
        let taken = match spec.policy.budget.time {
            Some(time) if !delay.is_zero() => {
                taken.min((time.as_micros() / delay.as_micros()) as u64)
            }
            _ => taken,
        };
        let span = |n: u64| delay.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
        let chosen = choose(listed, host.as_str(), taken as usize);
        Ok(Plan {
            listed: pages,
            delay,
            delay_by,
            all_take: span(pages),
            chosen_take: span(taken),
            chosen: chosen.into_iter().map(|(kind, url)| (kind, url.to_owned())).collect(),
        })
    }

    /// How many of the chosen pages are about what.
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        self.chosen.iter().fold(BTreeMap::new(), |mut kinds, (kind, _)| {
            *kinds.entry(*kind).or_default() += 1;
            kinds
        })
    }
}

/// The pages that a budget takes first: the home page, then one of each kind in turn, in the order of the sitemap.
fn choose<'a>(listed: &'a [SitemapUrl], host: &str, taken: usize) -> Vec<(&'static str, &'a str)> {
    let mut queues: BTreeMap<PageKind, Vec<&'a str>> = BTreeMap::new();
    for entry in listed {
        let Ok(url) = CrawlUrl::parse(&entry.url) else { continue };
        if url.host().as_str().trim_start_matches("www.") == host.trim_start_matches("www.") {
            queues.entry(PageKind::of(&url)).or_default().push(&entry.url);
        }
    }
    queues.values_mut().for_each(|queue| queue.reverse());
    let mut chosen = Vec::new();
    while chosen.len() < taken && queues.values().any(|queue| !queue.is_empty()) {
        for (kind, queue) in &mut queues {
            if chosen.len() < taken
                && let Some(url) = queue.pop()
            {
                chosen.push((kind.name(), url));
            }
        }
    }
    chosen
}
