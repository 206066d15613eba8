//! Runs at work: one thread each, with a crawl of its own on the ledger that all share.
//!
//! A run that ends is stored with its tiles in one transaction. A run that was interrupted is
//! started again with the service: pages that it fetched are in the cache, so they are not
//! requested twice. After three starts, a run is closed with evidence.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use curtsy_core::evidence::{RunEvidence, RunFigures, timestamp};
use curtsy_core::policy::Mode;
use curtsy_core::time::Time;
use curtsy_crawl::{
    CrawlError, CrawlReport, JobOrder, JobSpec, PageSharing, SpecError, Streaming, robots_texts,
    stream,
};
use curtsy_engine::discover::DiscoverySpec;
use curtsy_store::{MachineStore, ReadableTables};
use curtsy_tiles::{PageText, Tile};
use tokio::sync::oneshot;

use super::callback::call_back;
use super::keeper::{KeptPages, PlanKeeper, RunKeeper};
use super::live::{RunWatch, Stop};
use super::survey::{Depth, survey};
use super::{IngestOrder, Live, SurveyPlan};

use crate::ServeSpec;
use crate::db::{DbError, ServiceDatabase};
use crate::orbit::Slug;
use crate::records::{self, DueCallback, RunRecord};
use crate::secret::new_name;

/// Runs at once.
pub(crate) const RUNS_MAX: usize = 64;
/// How often a run is begun that never ends.
pub(crate) const STARTS_MAX: i64 = 3;
/// Rows that are kept together, if so many come at once.
const ROWS: usize = 20;
/// Sitemaps that are read for a sample.
pub(crate) const SITEMAPS_LIGHT: u32 = 3;
pub(crate) const SITEMAPS_STANDARD: u32 = 10;
/// What was sent is waited for so long when a run is told to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// The stack of a run's thread.
const STACK_BYTES: usize = 4 * 1024 * 1024;

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct RunAnswer {
    pub(crate) evidence: RunEvidence,
    pub(crate) tiles: Vec<Tile>,
    /// Why no page was used, if none was.
    pub(crate) reason: Option<String>,
}

/// A run that could not begin, or could not be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(
        "{RUNS_MAX} runs are at work, which is as many as there may be\nhint: try again in a minute"
    )]
    Busy,
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    #[error(transparent)]
    ServiceDatabase(#[from] DbError),
    #[error("a thread for the run could not be made: {0}")]
    Thread(std::io::Error),
    #[error("the service is ending; the run goes on when it starts again")]
    Ending,
    #[error("the run ended by a fault in this program, and was closed as an error")]
    Panic,
}

/// All runs.
#[derive(Clone)]
pub(crate) struct Runs(Arc<RunsInner>);

struct RunsInner {
    spec: Arc<ServeSpec>,
    database: ServiceDatabase,
    live: Mutex<HashMap<String, Arc<Live>>>,
}

/// Whoever waits for a run hears of its end here.
pub(crate) type SurveyAnswer = oneshot::Receiver<Result<RunAnswer, RunError>>;

impl Runs {
    pub(crate) fn new(spec: Arc<ServeSpec>, database: ServiceDatabase) -> Runs {
        Runs(Arc::new(RunsInner { spec, database, live: Mutex::default() }))
    }

    /// Begins a run. It is written down before anything is sent.
    pub(crate) fn start(&self, order: IngestOrder) -> Result<(Arc<Live>, SurveyAnswer), RunError> {
        // What is wrong with the order is said now, not in the run's evidence.
        let job = self.job(&order)?;
        let trace = new_name();
        let live = self.announce(&order, &trace)?;
        let begun = self.0.database.transact(|db| records::begin(db, &order, &trace, &now_text()));
        let started = begun.map_err(RunError::from).and_then(|()| self.work(order, job, &live));
        if started.is_err() {
            self.lock().remove(&trace);
        }
        Ok((live, started?))
    }

    /// Makes the plan of a run. Costs robots.txt, sitemaps and the home page, unless they are
    /// fresh.
    pub(crate) fn plan(&self, order: &IngestOrder) -> Result<(CrawlReport, SurveyPlan), RunError> {
        let job = self.job(order)?;
        let live = self.announce(order, &new_name())?;
        // A plan is no run: nothing is kept of it but what was fetched.
        let (how, mut watch) = (streaming(&job), RunWatch(&live));
        let made = |plan: &SurveyPlan| live.planned(plan);
        let planned =
            survey(&job, Depth::Plan, how, |_| PlanKeeper, made, &mut watch, asked(&live));
        self.lock().remove(&live.trace);
        Ok(planned?)
    }

    /// Where runs are kept.
    pub(super) fn database(&self) -> &ServiceDatabase {
        &self.0.database
    }

    /// A run at work.
    pub(crate) fn live(&self, slug: &Slug, trace: &str) -> Option<Arc<Live>> {
        self.lock().get(trace).filter(|live| live.slug == *slug).cloned()
    }

    /// Ends a run with the pages that it has. This is stored first, so that no restart continues
    /// it.
    pub(crate) async fn cancel(&self, live: &Live) -> Result<(), DbError> {
        let (trace, at) = (live.trace.clone(), now_text());
        self.0.database.ask(move |db| records::cancel(db, &trace, &at)).await?;
        live.stop(Stop::Cancelled);
        Ok(())
    }

    /// How many are at work.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Begins again what was cut off when the service last ended.
    pub(crate) fn resume(&self) -> Result<usize, DbError> {
        let unfinished = self.0.database.with(RunRecord::unfinished)?;
        let mut resumed = HashSet::new();
        for run in unfinished {
            let again = self.0.database.transact(|db| {
                let order = records::order_of(db, &run.trace_id)?;
                records::begin_again(db, &run.trace_id)?;
                Ok(order)
            })?;
            let order = again.filter(|order| order.starts < STARTS_MAX).and_then(|order| {
                let slug = Slug::parse(&run.orbit_slug)?;
                let url = run.url.as_deref()?;
                let read = IngestOrder::read(slug, url, &run.mode, &order.user_urls).ok()?;
                read.calling_back(order.callback.as_deref()).ok()
            });
            let begun = order.and_then(|order| {
                let job = self.job(&order).ok()?;
                let live = self.announce(&order, &run.trace_id).ok()?;
                if run.cancelled_at.is_some() {
                    live.stop(Stop::Cancelled);
                }
                self.work(order, job, &live).ok()
            });
            match begun {
                Some(_) => drop(resumed.insert(run.trace_id)),
                None => {
                    let mode = super::mode_of(&run.mode).unwrap_or(Mode::Standard);
                    self.close(&run.trace_id, mode, run.hostname.as_deref())?;
                }
            }
        }
        // Those that go on tell of their end themselves.
        let mut due = self.0.database.with(records::due)?;
        due.retain(|due| !resumed.contains(&due.trace));
        self.tell_all(due);
        Ok(resumed.len())
    }

    /// Tells every run to end, and waits until all have; the next start goes on with them.
    pub(crate) async fn end_all(&self) {
        self.lock().values().for_each(|live| live.stop(Stop::Ending));
        let until = Instant::now() + GRACE + GRACE;
        while self.count() > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Closes a run that can't go on, by a fault of ours.
    fn close(&self, trace: &str, mode: Mode, host: Option<&str>) -> Result<(), DbError> {
        let risk_score = host.map_or(0, |host| self.risk(host));
        let figures =
            RunFigures { planned: 1, our_fault: true, risk_score, ..RunFigures::default() };
        let evidence = RunEvidence::new(trace.to_owned(), mode, figures);
        self.0.database.transact(|db| records::end(db, &evidence, &[], &now_text(), None))
    }

    /// The score of a host, for a run whose crawl could not say it.
    fn risk(&self, host: &str) -> u8 {
        // A fault is told without it rather than not at all.
        let risk = self.0.database.with(|db| records::risk(db, host)).ok().flatten();
        let daily = self.0.spec.settled.policy.risk.daily_percent;
        risk.map_or(0, |risk| risk.score_at(now(), daily))
    }

    fn announce(&self, order: &IngestOrder, trace: &str) -> Result<Arc<Live>, RunError> {
        let mut live = self.lock();
        if live.len() >= RUNS_MAX {
            return Err(RunError::Busy);
        }
        let url = order.url.as_str().to_owned();
        let new = Arc::new(Live::new(trace.to_owned(), order.slug.clone(), url, order.mode));
        live.insert(trace.to_owned(), Arc::clone(&new));
        Ok(new)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(
        &self,
        order: IngestOrder,
        job: JobSpec,
        live: &Arc<Live>,
    ) -> Result<SurveyAnswer, RunError> {
        let (tell, ended) = oneshot::channel();
        let (runs, live) = (self.clone(), Arc::clone(live));
        let thread = std::thread::Builder::new().name("run".into()).stack_size(STACK_BYTES);
        let spawned = thread.spawn(move || {
            let work = AssertUnwindSafe(|| runs.carry_out(&order, &job, &live));
            // What a page says must not leave a run without an end, whatever it does to us.
            let done = std::panic::catch_unwind(work).unwrap_or_else(|_| {
                runs.close(&live.trace, order.mode, Some(order.url.host().as_str()))?;
                Err(RunError::Panic)
            });
            let outcome = match &done {
                Ok(answer) => answer.evidence.ingest.outcome.name(),
                Err(_) => "error",
            };
            live.done(outcome);
            runs.lock().remove(&live.trace);
            // Whoever asked may have gone.
            let _ = tell.send(done);
            if order.callback.is_some() {
                // What can't be read now is told after the next start.
                let due = runs.0.database.with(records::due).unwrap_or_default();
                due.iter()
                    .filter(|due| due.trace == live.trace)
                    .for_each(|due| runs.tell(&job, due));
            }
        });
        spawned.map_err(RunError::Thread)?;
        Ok(ended)
    }

    /// Tells whoever was still to be told when the service last ended, one after the other.
    fn tell_all(&self, all: Vec<DueCallback>) {
        let runs = self.clone();
        let tell = move || {
            for due in all {
                // Who we are and which way we go is the same for every order.
                let slug = Slug::parse(&due.orbit);
                let order =
                    slug.and_then(|slug| IngestOrder::read(slug, &due.callback, "light", &[]).ok());
                if let Some(job) = order.and_then(|order| runs.job(&order).ok()) {
                    runs.tell(&job, &due);
                }
            }
        };
        // Without a thread they are told after the next start.
        drop(std::thread::Builder::new().name("callbacks".into()).spawn(tell));
    }

    fn tell(&self, job: &JobSpec, due: &DueCallback) {
        let what = call_back(job, due);
        // It was told or not; if this can't be written down, it is told again after the next start.
        drop(self.0.database.transact(|db| records::called_back(db, &due.trace, &what)));
    }

    fn carry_out(
        &self,
        order: &IngestOrder,
        job: &JobSpec,
        live: &Live,
    ) -> Result<RunAnswer, RunError> {
        let began = Instant::now();
        let kept = Mutex::new(KeptPages::default());
        let crawled = match order.mode {
            Mode::UserAssisted => self.named_pages(job, live, &kept),
            Mode::Light | Mode::Standard => self.survey(job, live, &kept),
        };
        if live.stopped() == Stop::Ending {
            // As if it had been killed: the next start goes on with it.
            return Err(RunError::Ending);
        }
        live.reads();
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let pages: Vec<PageText<'_>> = kept
            .pages
            .iter()
            .map(|page| PageText {
                url: &page.url,
                content_type: page.content_type.as_deref(),
                body: &page.body,
            })
            .collect();
        let tiles = curtsy_tiles::extract(&pages);
        let mut reason = kept.reason.clone().filter(|_| kept.pages.is_empty());
        let evidence = match crawled {
            Ok(report) => RunEvidence { trace_id: live.trace.clone(), ..report.evidence },
            Err(error) => {
                live.failed(&error.to_string());
                reason = Some(error.to_string());
                let took = began.elapsed();
                let planned = order.seeds().len() as u64;
                let risk_score = self.risk(order.url.host().as_str());
                let figures = RunFigures {
                    planned,
                    our_fault: true,
                    risk_score,
                    took,
                    ..RunFigures::default()
                };
                RunEvidence::new(live.trace.clone(), order.mode, figures)
            }
        };
        let breaks = self.0.spec.breaks;
        let at = now_text();
        let cancelled = live.stopped() == Stop::Cancelled;
        self.0.database.transact(|db| {
            if !cancelled {
                records::not_cancelled(db, &live.trace)?;
            }
            records::end(db, &evidence, &tiles, &at, breaks)
        })?;
        Ok(RunAnswer { evidence, tiles, reason })
    }

    /// Fetches the pages that a person named, and nothing else.
    fn named_pages(
        &self,
        job: &JobSpec,
        live: &Live,
        kept: &Mutex<KeptPages>,
    ) -> Result<CrawlReport, CrawlError> {
        live.plans(job.seeds.len() as u64);
        let database = &self.0.database;
        let body_max = job.policy.body.decoded_max;
        let keeper = |crawl: &MachineStore| {
            RunKeeper::new(live, database, kept, robots_texts(crawl), body_max)
        };
        let mut report = stream(job, streaming(job), keeper, &mut RunWatch(live), asked(live))?;
        // Nothing was looked for: robots.txt was asked for its rules alone.
        report.evidence.ingest.discovery_sources.clear();
        Ok(report)
    }

    /// Finds out what the site has, and fetches a sample of it.
    fn survey(
        &self,
        job: &JobSpec,
        live: &Live,
        kept: &Mutex<KeptPages>,
    ) -> Result<CrawlReport, CrawlError> {
        let database = &self.0.database;
        let body_max = job.policy.body.decoded_max;
        let keeper = |crawl: &MachineStore| {
            RunKeeper::new(live, database, kept, robots_texts(crawl), body_max)
        };
        let planned = |plan: &SurveyPlan| {
            live.planned(plan);
            // A plan that could not be written down is missing on a page; the run goes on.
            if let Err(error) = database.transact(|db| records::plan(db, &live.trace, plan)) {
                live.failed(&error.to_string());
            }
        };
        let (how, mut watch) = (streaming(job), RunWatch(live));
        survey(job, Depth::Pages, how, keeper, planned, &mut watch, asked(live))
            .map(|(report, _)| report)
    }

    /// The crawl of an order.
    fn job(&self, order: &IngestOrder) -> Result<JobSpec, SpecError> {
        let spec = &self.0.spec;
        let mut settled = spec.settled.clone();
        settled.policy = settled.policy.with_mode(order.mode);
        let automated = order.mode.is_automated();
        let sitemaps_max = match order.mode {
            Mode::Light => SITEMAPS_LIGHT,
            _ => SITEMAPS_STANDARD,
        };
        let mut discovery = DiscoverySpec {
            follow_links: automated,
            follow_sitemaps: automated,
            sitemaps_max,
            ..DiscoverySpec::default()
        };
        if let Some(breaks) = spec.breaks {
            breaks.policy(&mut settled.policy);
            breaks.discovery(&mut discovery);
        }
        let seeds = order.seeds();
        let (way, ledger) = (spec.way.clone(), spec.store.clone());
        // A service has its own table of pages.
        let sharing = PageSharing::Off;
        JobOrder { seeds, settled, way, discovery, ledger, sharing }.job()
    }
}

fn streaming(job: &JobSpec) -> Streaming {
    let shows = ReadableTables::RiskAndPages(job.policy.risk.clone());
    Streaming { workers: 1, rows: ROWS, known: Vec::new(), shows }
}

/// Completes when a run is told to end, and again when its grace is over. It may be called anew
/// after any other event: what counts is what was heard, not the number of calls.
fn asked(live: &Live) -> impl AsyncFnMut() -> std::io::Result<()> {
    let (mut heard, mut until) = (0, None);
    async move || {
        match (heard, until) {
            (0, _) => {
                live.asked_to_stop().await;
                until = Some(tokio::time::Instant::now() + GRACE);
            }
            (1, Some(until)) => tokio::time::sleep_until(until).await,
            _ => std::future::pending().await,
        }
        heard += 1;
        Ok(())
    }
}

/// The moment, by this machine's clock.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The same as tables have it.
pub(crate) fn now_text() -> String {
    timestamp(now())
}
