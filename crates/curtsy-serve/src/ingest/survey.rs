//! A crawl of a sample: it discovers the pages of a site, chooses some by their kind, and fetches
//! these.
//!
//! Discovery comes first (seed 004): sitemaps of robots.txt or at usual places, robots.txt, and
//! links of the home page. Pages are only collected; when the home page and all sitemaps have
//! ended, the sample is chosen, and the same job continues with it, in one budget. A page that
//! robots.txt forbids takes no place in the sample: it is offered too and refused without a
//! request, and its row has the rule.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::evidence::DiscoverySource;
use curtsy_core::host::{Action, AskKind, Gate};
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_crawl::{
    CrawlError, CrawlReport, JobSpec, Keeper, LeftPage, PageKind, Streaming, Watch, pace, stream,
};
use curtsy_engine::discover::Discovery;
use curtsy_engine::{
    Batch, Boxed, Cache, Document, Reader, Row, Sink, SinkError, Store, StoreError, UrlRecord,
    Want, look,
};
use curtsy_store::{MachineStore, StoreHandle, SystemClock};
use serde::Serialize;

/// Found URLs that are looked at.
pub(crate) const CANDIDATES_MAX: usize = 50_000;
/// Records that are looked through for sitemaps.
pub(crate) const LEFT_MAX: usize = 1_000;
/// Pages that robots.txt forbids and that are told of: the rest of them are like these.
pub(crate) const FORBIDDEN_MAX: usize = 20;

/// How far a survey goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Discovery alone: robots.txt, sitemaps and the home page, for a plan.
    Plan,
    /// The pages of the plan.
    Pages,
}

/// What a survey asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SurveyPlan {
    /// The pages, in the order in which they are asked for; the home page is the first.
    pub(crate) pages: Vec<Planned>,
    /// Pages that would be among them if robots.txt did not forbid them.
    pub(crate) forbidden: Vec<Planned>,
    /// Pages that were found.
    pub(crate) found: u64,
    /// Where URLs came from.
    pub(crate) sources: Vec<DiscoverySource>,
    /// The span between two requests, and who asks for it.
    pub(crate) delay_ms: u64,
    /// `robots.txt`, `risk` or `mode`.
    pub(crate) delay_by: &'static str,
}

/// A page of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Planned {
    /// Its address.
    pub(crate) url: String,
    /// What it is about.
    pub(crate) kind: &'static str,
    /// Where it was found.
    pub(crate) source: DiscoverySource,
}

impl SurveyPlan {
    /// How long the plan takes at least.
    pub(crate) fn takes(&self) -> Duration {
        Duration::from_millis(self.delay_ms.saturating_mul(self.pages.len() as u64))
    }
}

/// Runs a survey of the site of the first seed. `planned` is told the plan as soon as it is made.
pub(crate) fn survey<K: Keeper>(
    spec: &JobSpec,
    depth: Depth,
    how: Streaming,
    keeper: impl FnOnce(&MachineStore) -> K,
    planned: impl Fn(&SurveyPlan) + Sync,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<(CrawlReport, SurveyPlan), CrawlError> {
    let survey = Mutex::new(SurveyState::default());
    let entrances = Discovery::new(spec.discovery.clone())?;
    let keep = |crawl: &MachineStore| Surveyor {
        entrances: &entrances,
        inner: keeper(crawl),
        crawl: crawl.clone(),
        spec,
        depth,
        state: &survey,
        planned: &planned,
    };
    let report = stream(spec, how, keep, watch, asked)?;
    Ok((report, survey.into_inner().unwrap_or_else(PoisonError::into_inner).plan))
}

#[derive(Default)]
struct SurveyState {
    candidates: Vec<Candidate>,
    seen: HashSet<(UrlKey, DiscoverySource)>,
    plan: SurveyPlan,
    /// The home page, once it has ended.
    home: Option<(CrawlUrl, CrawlUrl)>,
    /// Whether the plan is made.
    made: bool,
    /// What was chosen and is not offered yet.
    chosen: Vec<UrlRecord>,
}

struct Candidate {
    record: UrlRecord,
    kind: PageKind,
    source: DiscoverySource,
}

struct Surveyor<'s, K, P> {
    inner: K,
    crawl: MachineStore,
    spec: &'s JobSpec,
    depth: Depth,
    /// Places of sitemaps: a home page that is fresh needs no request, so nothing has found them.
    entrances: &'s Discovery,
    state: &'s Mutex<SurveyState>,
    planned: &'s P,
}

impl<K: Keeper, P: Fn(&SurveyPlan) + Sync> Keeper for Surveyor<'_, K, P> {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(Surveying { survey: self, inner: self.inner.sink() })
    }

    fn cache(&self, store: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        self.inner.cache(store)
    }

    fn left(&self, left: Vec<LeftPage>) {
        self.inner.left(left);
    }

    fn found(&self, record: &UrlRecord, document: &mut Document) {
        let (pages, others): (Vec<_>, Vec<_>) =
            document.offers.drain(..).partition(|offer| offer.want == Want::Page);
        document.offers = others;
        let source = match record.want.is_sitemap() {
            true => DiscoverySource::Sitemap,
            false => DiscoverySource::Homepage,
        };
        let mut state = self.lock();
        if state.made {
            return;
        }
        for record in pages {
            if state.candidates.len() >= CANDIDATES_MAX {
                break;
            }
            if may_be_page(&record.url) && state.seen.insert((record.url.key(), source)) {
                let kind = PageKind::of(&record.url);
                state.candidates.push(Candidate { record, kind, source });
            }
        }
    }

    fn planned(&self) -> Option<(u64, Vec<DiscoverySource>)> {
        let state = self.lock();
        let pages = match self.depth {
            Depth::Plan => state.plan.pages.len().min(1),
            Depth::Pages => state.plan.pages.len(),
        };
        // Without a plan the home page was all that was planned.
        Some((pages.max(1) as u64, state.plan.sources.clone()))
    }
}

impl<K: Keeper, P: Fn(&SurveyPlan) + Sync> Surveyor<'_, K, P> {
    fn lock(&self) -> MutexGuard<'_, SurveyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers the next URLs before these rows are settled, so that the crawl always has work:
    /// sitemaps if the home page needed no request, the sample after discovery. A failed offer is
    /// repeated with the rows.
    async fn go_on(&self, rows: &[Arc<Row>]) -> Result<(), StoreError> {
        let home = rows.iter().find(|row| row.kind == AskKind::Page && row.depth == 0);
        if let Some(home) = home.filter(|_| self.lock().home.is_none()) {
            let mut sitemaps = Vec::new();
            if home.is_remembered() {
                let record = UrlRecord::page(home.url.clone(), 0);
                let (policy, product) = (&self.spec.policy, self.spec.policy.product_token());
                let seen = look(&self.crawl.handle(), policy, product, &record, None).await?;
                sitemaps = self.entrances.entrances(&record, seen.robots.as_deref());
            }
            let found = self.crawl.handle().offer(&sitemaps).await?;
            self.lock().home = Some((home.url.clone(), home.final_url.clone()));
            if found.new > 0 {
                return Ok(());
            }
        }
        let Some(home) = self.lock().home.clone() else { return Ok(()) };
        let left = self.crawl.left(LEFT_MAX)?;
        let ended = |record: &UrlRecord| rows.iter().any(|row| row.id == record.id);
        // A sitemap that redirects to another host may have to wait too long there.
        let awaited = |record: &UrlRecord| {
            record.want.is_sitemap() && record.host() == home.0.host() && !ended(record)
        };
        if left.iter().any(awaited) {
            return Ok(());
        }
        self.choose(home).await;
        let chosen = std::mem::take(&mut self.lock().chosen);
        let offered = self.crawl.handle().offer(&chosen).await;
        if offered.is_err() {
            self.lock().chosen = chosen;
        }
        offered.map(drop)
    }

    /// Chooses the sample, once.
    async fn choose(&self, (home, home_found_at): (CrawlUrl, CrawlUrl)) {
        let mut candidates = {
            let mut state = self.lock();
            if std::mem::replace(&mut state.made, true) {
                return;
            }
            std::mem::take(&mut state.candidates)
        };
        // What sitemaps name comes first, whichever was read first.
        candidates.sort_by_key(|candidate| candidate.source != DiscoverySource::Sitemap);
        let mut seen = HashSet::new();
        candidates.retain(|candidate| seen.insert(candidate.record.url.key()));
        let found = candidates.len() as u64;
        let at_home = [home.key(), home_found_at.key()];
        candidates.retain(|candidate| !at_home.contains(&candidate.record.url.key()));
        let mut sources = Vec::new();
        let mut from = |source, yes: bool| sources.extend(yes.then_some(source));
        let any = |source| candidates.iter().any(|candidate| candidate.source == source);
        from(DiscoverySource::Sitemap, any(DiscoverySource::Sitemap));
        let (delay, delay_by, rules_known) = self.pace(&home);
        from(DiscoverySource::Robots, rules_known);
        from(DiscoverySource::Homepage, any(DiscoverySource::Homepage));
        let room = self.spec.policy.budget.pages.unwrap_or(u64::MAX);
        let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(1);
        let homepage = Planned {
            url: home.as_str().to_owned(),
            kind: PageKind::Homepage.name(),
            source: DiscoverySource::Homepage,
        };
        let mut plan = SurveyPlan {
            pages: vec![homepage],
            found,
            sources,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            delay_by,
            ..SurveyPlan::default()
        };
        let mut next = Vec::new();
        for candidate in in_turn(candidates) {
            if plan.pages.len() > room {
                break;
            }
            let forbidden = self.is_forbidden(&candidate.record).await;
            let planned = Planned {
                url: candidate.record.url.as_str().to_owned(),
                kind: candidate.kind.name(),
                source: candidate.source,
            };
            match forbidden {
                false => plan.pages.push(planned),
                true if plan.forbidden.len() < FORBIDDEN_MAX => plan.forbidden.push(planned),
                true => continue,
            }
            next.push(candidate.record);
        }
        (self.planned)(&plan);
        let mut state = self.lock();
        state.plan = plan;
        if self.depth == Depth::Pages {
            state.chosen = next;
        }
    }

    /// Whether robots.txt forbids a page. What is not known is found out when its turn has come.
    async fn is_forbidden(&self, record: &UrlRecord) -> bool {
        let (policy, product) = (&self.spec.policy, self.spec.policy.product_token());
        match look(&self.crawl.handle(), policy, product, record, None).await {
            Ok(seen) => matches!(seen.decision.action, Action::Refuse(Gate::Robots)),
            Err(_) => false,
        }
    }

    /// The span between two requests, who asks for it, and whether a robots.txt is known.
    fn pace(&self, home: &CrawlUrl) -> (Duration, &'static str, bool) {
        let policy = self.spec.policy.for_host(home.host().as_str());
        let Ok(state) = self.crawl.state(home.host()) else {
            return (policy.pace.delay_max, "mode", false);
        };
        let known = state.all_robots().next().is_some();
        let (delay, by) = pace(&state, &policy, home.host());
        let risk = state.risk_delay(&policy, self.crawl.now());
        match () {
            () if risk > delay => (risk, "risk", known),
            () if by.is_some() => (delay, "robots.txt", known),
            () => (delay, "mode", known),
        }
    }
}

/// Rows on their way to the keeper; when those of discovery are through, the sample is chosen.
struct Surveying<'s, K, P> {
    survey: &'s Surveyor<'s, K, P>,
    inner: Box<dyn Sink + 's>,
}

impl<K: Keeper, P: Fn(&SurveyPlan) + Sync> Sink for Surveying<'_, K, P> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.inner.write(batch).await?;
            let gone_on = self.survey.go_on(&batch.rows).await;
            gone_on.map_err(|error| SinkError { rows: batch.rows.len(), why: error.to_string() })
        })
    }
}

/// Takes one of each kind in turn, in the order of the kinds; within a kind, pages near the root
/// first.
fn in_turn(candidates: Vec<Candidate>) -> impl Iterator<Item = Candidate> {
    let mut kinds: BTreeMap<PageKind, Vec<(usize, usize, Candidate)>> = BTreeMap::new();
    for (at, candidate) in candidates.into_iter().enumerate() {
        let path = candidate.record.url.path_and_query();
        let deep = path.matches(['/', '?', '&']).count();
        kinds.entry(candidate.kind).or_default().push((deep, at, candidate));
    }
    let mut queues: Vec<_> = kinds
        .into_values()
        .map(|mut queue| {
            queue.sort_by_key(|(deep, at, _)| (*deep, *at));
            queue.into_iter().map(|(_, _, candidate)| candidate)
        })
        .collect();
    let mut turn = 0;
    std::iter::from_fn(move || {
        for _ in 0..queues.len() {
            let queue = turn % queues.len();
            turn += 1;
            if let Some(candidate) = queues[queue].next() {
                return Some(candidate);
            }
        }
        None
    })
}

/// Whether a URL leads to something that is read as a page, as far as its ending says.
fn may_be_page(url: &CrawlUrl) -> bool {
    let path = url.path_and_query();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_none_or(|ending| !NO_PAGES.contains(&ending.as_str()))
}

/// Endings of what a sample has no use for.
const NO_PAGES: &[&str] = &[
    "7z", "avi", "avif", "bmp", "css", "csv", "doc", "docx", "exe", "gif", "gz", "ico", "ics",
    "jpeg", "jpg", "js", "json", "mov", "mp3", "mp4", "pdf", "png", "ppt", "pptx", "rar", "rss",
    "svg", "tar", "tif", "tiff", "vcf", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx",
    "xml", "zip",
];
