//! Plans a crawl: how many pages, how long, and which pages first.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use curtsy_core::host::Action;
use curtsy_core::robots::{AgentRules, Robots};
use curtsy_core::url::{Authority, CrawlUrl};
use curtsy_engine::discover::{Discovery, DiscoverySpec};
use curtsy_engine::{UrlRecord, ruling};
use curtsy_sink::read::SitemapUrl;
use curtsy_store::{Ledger, OpenError, Options, SystemClock};

use crate::explain::{explain, pace};
use crate::{CrawlError, JobSpec, PageKind};

/// The plan of a crawl.
#[derive(Clone, Debug)]
pub struct SitePlan {
    /// Number of URLs in the sitemaps.
    pub listed: u64,
    /// Number of listed pages that the crawl would fetch without a budget.
    pub pages: u64,
    /// Why the other listed URLs would not be fetched, each reason with its number of URLs.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Why the seed itself would not be fetched.
    pub seed_refused: Option<String>,
    /// The delay between two requests.
    pub delay: Duration,
    /// The authority whose robots.txt asks for this delay; none if the policy does.
    pub delay_by: Option<Authority>,
    /// The time for all pages.
    pub all_take: Duration,
    /// The time for the pages within the budget.
    pub chosen_take: Duration,
    /// The pages within the budget, in order, each with the name of its kind.
    pub chosen: Vec<(&'static str, String)>,
}

impl SitePlan {
    /// Returns the plan of a crawl, given the URLs in the sitemaps of its first seed.
    pub fn new(spec: &JobSpec, listed: &[SitemapUrl]) -> Result<SitePlan, CrawlError> {
        let file = spec.ledger_file()?;
        let mut ledger = Ledger::open(file, SystemClock, Options::default().quiet)?;
        let seed = &spec.seeds[0];
        let policy = spec.policy.for_host(seed.host().as_str());
        let view = ledger.view(seed.host()).map_err(|e| OpenError::sqlite(file, e))?;
        let (delay, delay_by) = pace(&view.state, &policy, seed.host());
        let mut sieve = Sieve::new(spec, &mut ledger)?;
        let mut left_out = BTreeMap::new();
        let mut queues: BTreeMap<PageKind, Vec<&str>> = BTreeMap::new();
        for entry in listed {
            let Ok(url) = CrawlUrl::parse(&entry.url) else { continue };
            match sieve.left_out(&url)? {
                Some(why) => *left_out.entry(why).or_default() += 1,
                None => queues.entry(PageKind::of(&url)).or_default().push(&entry.url),
            }
        }
        let explained = explain(&mut ledger, &spec.policy, seed)?;
        let seed_refused = match explained.decision.action {
            Action::Refuse(gate) => {
                let why = explained.gates.iter().find(|(of, ..)| *of == gate);
                Some(why.map_or(gate.name(), |(_, _, why)| why).to_owned())
            }
            _ => None,
        };
        let pages = queues.values().map(Vec::len).sum::<usize>() as u64;
        let taken = spec.policy.budget.pages.unwrap_or(u64::MAX).min(pages);
        let taken = match spec.policy.budget.time {
            Some(time) if !delay.is_zero() => {
                taken.min((time.as_micros() / delay.as_micros()) as u64)
            }
            _ => taken,
        };
        let span = |n: u64| delay.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
        let chosen = choose(queues, taken as usize);
        Ok(SitePlan {
            listed: listed.len() as u64,
            pages,
            left_out,
            seed_refused,
            delay,
            delay_by,
            all_take: span(pages),
            chosen_take: span(taken),
            chosen: chosen.into_iter().map(|(kind, url)| (kind, url.to_owned())).collect(),
        })
    }

    /// Returns the number of chosen pages for each kind.
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        self.chosen.iter().fold(BTreeMap::new(), |mut kinds, (kind, _)| {
            *kinds.entry(*kind).or_default() += 1;
            kinds
        })
    }
}

/// Says which listed URLs a crawl leaves out: by its scope, its patterns, its depth and robots.txt.
struct Sieve<'s> {
    spec: &'s JobSpec,
    ledger: &'s mut Ledger<SystemClock>,
    /// The crawl's scope and patterns.
    wanted: Discovery,
    /// Its scope alone.
    scope: Discovery,
    /// The rules of each authority, if it has any.
    rules: HashMap<Authority, Option<AgentRules>>,
}

impl<'s> Sieve<'s> {
    fn new(
        spec: &'s JobSpec,
        ledger: &'s mut Ledger<SystemClock>,
    ) -> Result<Sieve<'s>, CrawlError> {
        let wanted = Discovery::new(spec.discovery.clone())?;
        let (include, exclude) = (Vec::new(), Vec::new());
        let scope = DiscoverySpec { include, exclude, ..spec.discovery.clone() };
        let scope = Discovery::new(scope)?;
        Ok(Sieve { spec, ledger, wanted, scope, rules: HashMap::new() })
    }

    /// Why the crawl would not fetch a URL that a sitemap lists; none if it would.
    fn left_out(&mut self, url: &CrawlUrl) -> Result<Option<&'static str>, CrawlError> {
        if !self.scope.wants(url) {
            return Ok(Some("out of scope"));
        }
        if !self.wanted.wants(url) {
            return Ok(Some("left out by `--include` or `--exclude`"));
        }
        // A URL in a sitemap has the depth 1.
        if self.spec.policy.budget.depth == Some(0) && !self.spec.seeds.contains(url) {
            return Ok(Some("deeper than `--depth 0`"));
        }
        let authority = url.authority();
        if !self.rules.contains_key(&authority) {
            let rules = self.rules_of(url)?;
            self.rules.insert(authority.clone(), rules);
        }
        let rules = self.rules.get(&authority).and_then(Option::as_ref);
        let allowed = rules.is_none_or(|rules| rules.decide(url.path_and_query()).allowed);
        Ok((!allowed).then_some("refused by robots.txt"))
    }

    /// Returns the robots.txt rules for a URL from the ledger.
    fn rules_of(&mut self, url: &CrawlUrl) -> Result<Option<AgentRules>, CrawlError> {
        let path = self.ledger.path().to_owned();
        let of = |e| OpenError::sqlite(&path, e);
        let view = self.ledger.view(url.host()).map_err(of)?;
        let policy = &self.spec.policy;
        let file = match ruling(&view, policy, &UrlRecord::page(url.clone(), 1)) {
            Some(id) => self.ledger.robots(id).map_err(of)?,
            None => None,
        };
        let how = policy.for_host(url.host().as_str()).robots.agent_match;
        Ok(file.map(|file| Robots::parse(&file.text).for_agent(policy.product_token(), how)))
    }
}

/// Returns the pages that a budget takes first: the home page, then one page of each kind in turn,
/// in the order of the sitemap.
fn choose(mut queues: BTreeMap<PageKind, Vec<&str>>, taken: usize) -> Vec<(&'static str, &str)> {
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
