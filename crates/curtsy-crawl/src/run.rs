//! A crawl into a file, which can be resumed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use curtsy_core::evidence::timestamp;
use curtsy_core::host::Anew;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::Discovery;
use curtsy_engine::{Batch, Outside, Over, Sink, UrlRecord};
use curtsy_sink::read::{CrawlRunRow, PagesFile};
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, RobotsTexts, RunEnd, RunStart, SqliteSink};
use curtsy_store::{MachineStore, Options};
use tokio::sync::watch::channel;

use crate::attend::{Attendant, WAITING_SHOWN, runtime};
use crate::compare::{Comparing, Forced};
use crate::report::{Done, LeftPart};
use crate::tally::{Counted, Setback, Tally};
use crate::work::{Crew, chance};
use crate::{
    Begin, CrawlError, CrawlReport, FileSpec, JobSpec, LookedFor, ReasonCount, RowsTarget,
    RunEnding, Watch, shown_url,
};

/// The largest number of rows in a batch, if they arrive within the time that a row may wait. Large
/// batches are cheaper: keys are spread over their index, and a transaction writes every changed
/// page of the index.
pub(crate) const FLUSH_ROWS: usize = 400;

/// The largest number of hosts that are retried at once when settings have changed.
pub(crate) const ANEW_MAX: usize = 10_000;

/// Runs a crawl until nothing is left, until the remaining URLs must wait too long, or until the
/// user stops it: the first signal lets open requests end, the second ends the crawl at once.
/// `asked` completes at each signal.
pub fn run(
    spec: &JobSpec,
    into: &FileSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<CrawlReport, CrawlError> {
    runtime()?.block_on(crawl(spec, into, watch, asked))
}

async fn crawl(
    spec: &JobSpec,
    into: &FileSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<CrawlReport, CrawlError> {
    let (outlet, discovery) = Crew::check(spec)?;
    let began = Instant::now();
    let name = format!("{:016x}", chance());
    let opened = OpenCrawl::open(spec, into)?;
    if let Some(report) = opened.complete_already(spec, &name, began)? {
        return Ok(report);
    }
    let started_at = opened.crawl.now();
    let known = opened.begin_run(spec, into, (&name, started_at), &discovery)?;
    let OpenCrawl { crawl, pages, kept, runs, again, .. } = &opened;
    let again = *again;
    let is_first = runs.is_empty();
    let job = if again { name.clone() } else { job_name(runs).unwrap_or(&name).to_owned() };
    let comparing = Comparing::new(pages, kept);
    let (told, hears) = channel(0);
    let told = Arc::new(told);
    let unread = Arc::new(AtomicBool::new(false));
    let nobody_reads: Arc<dyn Fn() + Send + Sync> = {
        let (told, unread) = (Arc::clone(&told), Arc::clone(&unread));
        Arc::new(move || {
            unread.store(true, Ordering::Relaxed);
            // The same as a second signal: responses in flight are not waited for.
            told.send_modify(|times| *times += 2);
        })
    };
    let files = files(spec, into, job, &name, crawl, &nobody_reads)?;
    let tally = Tally::new(&spec.policy);
    let mut sinks: Vec<&dyn Sink> = if again { vec![&comparing] } else { vec![pages] };
    sinks.extend(files.iter().map(|file| &**file));
    let crew = Crew::new(spec, crawl, (outlet, discovery), 1, FLUSH_ROWS);
    sinks.extend(crew.sharing.as_ref().map(|sharing| sharing as &dyn Sink));
    sinks.push(&tally);
    let shelves = crew.shelves(Box::new(pages.clone()));
    let forced = Forced { pages, shelves: &*shelves, since: started_at };
    let mut attendant = Attendant::new(&crew, &tally, began, watch);
    known.into_iter().for_each(|known| attendant.warn(known));
    let outside = Outside {
        source: &crew.seeds,
        sinks,
        cache: match into.begin {
            Begin::Forced => &forced,
            Begin::GoOn | Begin::Again => &*shelves,
        },
        reader: &crew.discovery,
        listener: &tally,
    };
    if !spec.prelude.steps.is_empty() {
        let prelude = Batch { rows: Vec::new(), steps: spec.prelude.steps.clone() };
        for sink in &outside.sinks {
            sink.write(&prelude).await?;
        }
    }
    let work = crew.work(crew.store(0), outside, hears);
    let (over, counts) = attendant.attend(work, asked, &told).await?;
    let warnings = attendant.said();
    let mut counted = tally.counted();
    let mut sent = counts.sent;
    sent.iter_mut().zip(spec.prelude.sent).for_each(|(sum, before)| *sum += before);
    if let None | Some(Over::Waits(_) | Over::Stopped) = over {
        add_earlier_setbacks(&mut counted, crawl, kept)?;
    }
    let waits = crew.waits(over, &tally, &counted, began).await;
    crew.complete(&mut counted);
    let not_dialled = crew.outlet.refusals();
    let done =
        Done { name, over, counted, planned: None, sent, warnings, not_dialled, waits, began };
    let mut report = done.report(spec, crawl);
    report.left = LeftPart::all(&crew.discovery);
    report.unread = unread.load(Ordering::Relaxed);
    // Without an earlier run, or without bodies, nothing can be compared.
    report.compared = (again && !is_first && spec.policy.body.keep).then(|| comparing.compared());
    if let (Some(compared), RunEnding::Complete) = (&mut report.compared, report.how) {
        compared.unlinked = kept.held_before(started_at)?;
    }
    pages.end_run(RunEnd {
        at: crawl.now(),
        outcome: report.ended.to_owned(),
        figures: serde_json::to_value(&report).unwrap_or_default(),
        evidence: Some(report.evidence.clone()),
    })?;
    // An aborted worker has requests in flight: their leases stay until they expire.
    if over.is_some() {
        crawl.end_run();
    }
    Ok(report)
}

/// A crawl whose files are open.
struct OpenCrawl {
    // Closed in this order: a file that is open for reading alone can't remove its log.
    kept: PagesFile,
    pages: SqliteSink,
    crawl: MachineStore,
    runs: Vec<CrawlRunRow>,
    /// Seeds that were not in the crawl's file.
    added: Vec<CrawlUrl>,
    /// Whether it begins anew.
    again: bool,
    /// The number of URLs that an earlier run gave up and that are queued again.
    back: usize,
}

impl OpenCrawl {
    /// Opens the files of a crawl, and queues URLs that an earlier run gave up.
    fn open(spec: &JobSpec, into: &FileSpec) -> Result<OpenCrawl, CrawlError> {
        let ledger = spec.ledger_file()?;
        make_folder(ledger)?;
        make_folder(&into.file)?;
        // A target that cannot be written is refused before the crawl's file is created.
        for target in &into.targets {
            match target {
                RowsTarget::Sqlite => {}
                RowsTarget::JsonLines(path) => JsonlSink::check(path)?,
                RowsTarget::Csv(path) => CsvSink::check(path)?,
            }
        }
        let crawl = MachineStore::open(ledger, &into.file, Options::default())?;
        let Admitted { added, is_new } = admit_seeds(spec, into, &crawl)?;
        let again = into.begin != Begin::GoOn;
        if again || is_new {
            crawl.begin_again()?
        } else {
            crawl.begin_run()?
        }
        let options = curtsy_sink::SqliteOptions {
            robots: Some(robots_texts(&crawl)),
            body_max: Some(spec.policy.body.decoded_max),
            ..curtsy_sink::SqliteOptions::default()
        };
        let pages = SqliteSink::open(&into.file, options)?;
        let kept = PagesFile::open(&into.file)?;
        let runs = kept.runs()?;
        let back = if again || is_new { 0 } else { put_back(spec, &kept, &crawl)? };
        try_own_machine(spec, &crawl)?;
        Ok(OpenCrawl { crawl, pages, kept, runs, added, again, back })
    }

    /// Returns the report on a complete crawl, if there is nothing to do.
    fn complete_already(
        &self,
        spec: &JobSpec,
        name: &str,
        began: Instant,
    ) -> Result<Option<CrawlReport>, CrawlError> {
        let OpenCrawl { crawl, kept, runs, .. } = self;
        let has_work = self.again || !self.added.is_empty() || self.back > 0 || crawl.queued() > 0;
        let finished = runs.last().filter(|run| run.outcome.as_deref() == Some("complete"));
        let Some(run) = finished.filter(|_| !has_work) else { return Ok(None) };
        let held = kept.held()?;
        // A complete crawl without any page is no success either.
        let planned = (held == 0).then(|| (spec.seeds.len() as u64, Vec::new()));
        let done = Done { name: name.to_owned(), planned, ..Done::nothing(began) };
        let mut report = done.report(spec, crawl);
        report.complete_since = run.ended_at.map(timestamp);
        report.pages_held = Some(held);
        if held == 0 {
            report.reasons = ReasonCount::of_run(run);
        }
        if let Some(before) = LookedFor::of_run(run) {
            report.changed_flags = report.looked_for.changed(&before);
        }
        crawl.end_run();
        Ok(Some(report))
    }

    /// Records the beginning of a run, and tells discovery the known URLs. Returns warnings about
    /// added seeds that the crawl has already.
    fn begin_run(
        &self,
        spec: &JobSpec,
        into: &FileSpec,
        (name, at): (&str, Time),
        discovery: &Discovery,
    ) -> Result<Vec<String>, CrawlError> {
        self.pages.begin_run(RunStart {
            trace_id: name.to_owned(),
            at,
            command: into.command.clone(),
            policy: spec.policy.to_toml(),
            policy_hash: spec.policy.hash_hex(),
            anew: self.again,
        })?;
        self.kept.known(|url, last, depth| {
            discovery.note_known(&url);
            if depth == 0 && last != url {
                discovery.admit_root(&last);
            }
        })?;
        let mut warnings = Vec::new();
        for url in self.added.iter().filter(|_| into.add) {
            if self.kept.row(url)?.is_some() {
                let url = shown_url(url.as_str());
                warnings.push(format!(
                    "{url} is in this crawl already, and is not asked for because it is added"
                ));
            }
        }
        Ok(warnings)
    }
}

/// Adds failures of an earlier run on the hosts that wait: they may be the cause.
fn add_earlier_setbacks(
    counted: &mut Counted,
    crawl: &MachineStore,
    kept: &PagesFile,
) -> Result<(), CrawlError> {
    for (host, ..) in crawl.waiting(WAITING_SHOWN) {
        if !counted.setbacks.contains_key(&host)
            && let Some(row) = kept.last_setback(&host)?
            && let Some(setback) = Setback::of(&row)
        {
            counted.setbacks.insert(host, setback);
        }
    }
    Ok(())
}

/// Returns the job of a crawl's output files: the trace id of its last run that began anew.
fn job_name(runs: &[CrawlRunRow]) -> Option<&str> {
    let begun = runs.iter().rev().find(|run| run.anew).or(runs.first());
    begun.map(|run| run.trace_id.as_str())
}

/// The seeds of a crawl that were not in its file.
struct Admitted {
    added: Vec<CrawlUrl>,
    /// Whether they replace the seeds of an earlier crawl, to which no site ever answered.
    is_new: bool,
}

/// Makes these seeds the seeds of the crawl in a file. Seeds that the crawl does not have are
/// refused, unless the user adds them or no site ever answered the crawl: a wrong scheme or a typo
/// in a host name leaves nothing worth keeping.
fn admit_seeds(
    spec: &JobSpec,
    into: &FileSpec,
    crawl: &MachineStore,
) -> Result<Admitted, CrawlError> {
    let others = crawl.other_seeds(&spec.seeds)?;
    let mut is_new = false;
    match others.as_deref() {
        Some([]) => return Ok(Admitted { added: Vec::new(), is_new }),
        Some([first, more @ ..]) if !into.add => {
            if PagesFile::was_answered(&into.file) {
                return Err(CrawlError::OtherSeeds {
                    file: into.file.clone(),
                    first: shown_url(first.as_str()),
                    more: more.len(),
                });
            }
            is_new = true;
            crawl.drop_seeds()?;
        }
        _ => {}
    }
    crawl.keep_seeds(&spec.seeds)?;
    Ok(Admitted { added: others.unwrap_or_default(), is_new })
}

/// Queues URLs again that an earlier run gave up for a cause that is over: a budget, or a failure
/// on our own side. Returns their number.
///
/// A failure on our side is over if the settings have changed. A seed without any request is tried
/// again in any case: that costs no site anything, and a crawl that did not reach its seed has not
/// begun.
fn put_back(spec: &JobSpec, kept: &PagesFile, crawl: &MachineStore) -> Result<usize, CrawlError> {
    let changed = crawl.settings_changed(spec.outlet.fingerprint())?;
    let seeds: HashSet<&CrawlUrl> = spec.seeds.iter().collect();
    let mut back = kept.over_budget()?;
    let unreached = kept.unreached()?.into_iter();
    let unreached: Vec<UrlRecord> = unreached
        .filter(|it| changed || it.nobody_asked && it.is_page && seeds.contains(&it.record.url))
        .map(|it| it.record)
        .collect();
    if changed {
        let hosts = unreached.iter().map(|record| record.host().clone()).collect();
        crawl.try_anew(Anew::Settings, hosts, ANEW_MAX)?;
    }
    back.extend(unreached);
    let count = back.len();
    crawl.put_back(back)?;
    Ok(count)
}

/// Tries the user's own machine again if no server listened there the last time. The server may run
/// now, and the wait would protect nobody.
pub(crate) fn try_own_machine(spec: &JobSpec, crawl: &MachineStore) -> Result<(), CrawlError> {
    let hosts = spec.seeds.iter().map(CrawlUrl::host).filter(|host| host.names_this_machine());
    let hosts: Vec<_> = hosts.take(ANEW_MAX).cloned().collect();
    if hosts.is_empty() { Ok(()) } else { Ok(crawl.try_anew(Anew::OwnMachine, hosts, ANEW_MAX)?) }
}

/// Creates the folder of a file.
pub(crate) fn make_folder(file: &std::path::Path) -> Result<(), CrawlError> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder)
            .map_err(|source| CrawlError::Folder { path: folder.to_owned(), source }),
        None => Ok(()),
    }
}

/// The sinks besides the crawl's own file.
fn files(
    spec: &JobSpec,
    into: &FileSpec,
    job: String,
    run: &str,
    crawl: &MachineStore,
    unread: &Arc<dyn Fn() + Send + Sync>,
) -> Result<Vec<Box<dyn Sink>>, CrawlError> {
    let options = || FileOptions {
        job: job.clone(),
        run: run.to_owned(),
        policy_hash: spec.policy.hash_hex(),
        robots: Some(robots_texts(crawl)),
        unread: Some(Arc::clone(unread)),
        body_max: Some(spec.policy.body.decoded_max),
    };
    let mut files: Vec<Box<dyn Sink>> = Vec::new();
    for target in &into.targets {
        match target {
            RowsTarget::Sqlite => {}
            RowsTarget::JsonLines(path) => files.push(Box::new(JsonlSink::open(path, options())?)),
            RowsTarget::Csv(path) => files.push(Box::new(CsvSink::open(path, options())?)),
        }
    }
    Ok(files)
}

/// Returns a function that finds the texts of robots.txt in a crawl's store.
pub fn robots_texts(crawl: &MachineStore) -> RobotsTexts {
    let crawl = crawl.clone();
    Arc::new(move |id| crawl.robots(id))
}
