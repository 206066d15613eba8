//! A crawl into a file of its own, which goes on when it was stopped.

use std::sync::Arc;
use std::time::Instant;

use curtsy_engine::{Outside, Sink, UrlRecord};
use curtsy_sink::read::PagesFile;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, RobotsTexts, RunEnd, RunStart, SqliteSink};
use curtsy_store::{Crawl, Options};
use tokio::sync::watch::channel;

use crate::attend::{Attendant, runtime};
use crate::report::Done;
use crate::sharing::Missing;
use crate::tally::Tally;
use crate::work::{Crew, chance};
use crate::{CrawlError, FileSpec, JobSpec, Report, Target, Watch};

/// Rows that are written together, if so many come within the time that a row may wait: keys are all over their index, and each
/// transaction writes every page of it that it touched.
pub(crate) const FLUSH_ROWS: usize = 400;

/// Runs a crawl until nothing is left, until what is left must wait too long, or until it is asked to stop: once to finish what was
/// sent, twice to end at once. `asked` is done whenever somebody asks.
pub fn run(
    spec: &JobSpec,
    into: &FileSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<Report, CrawlError> {
    runtime()?.block_on(crawl(spec, into, watch, asked))
}

async fn crawl(
    spec: &JobSpec,
    into: &FileSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<Report, CrawlError> {
    let (outlet, discovery) = Crew::check(spec)?;
    let ledger = spec.ledger_file()?;
    make_folder(ledger)?;
    make_folder(&into.file)?;
    let began = Instant::now();
    let name = format!("{:016x}", chance());
    let crawl = Crawl::open(ledger, &into.file, Options::default())?;
    match into.again {
        true => crawl.begin_again()?,
        false => crawl.begin_run()?,
    }
    let options =
        curtsy_sink::Options { robots: Some(texts(&crawl)), ..curtsy_sink::Options::default() };
    let pages = SqliteSink::open(&into.file, options)?;
    pages.begin_run(RunStart {
        trace_id: name.clone(),
        at: crawl.now(),
        command: into.command.clone(),
        policy: spec.policy.to_toml(),
        policy_hash: spec.policy.hash_hex(),
    })?;
    let kept = PagesFile::open(&into.file)?;
    kept.known(|url, last, depth| {
        discovery.note_known(&url);
        if depth == 0 && last != url {
            discovery.admit_root(&last);
        }
    })?;
    let first = kept.runs()?.into_iter().next().map_or(name.clone(), |run| run.trace_id);
    let room = spec.policy.budget.pages.is_none_or(|max| crawl.pages() < max);
    if room && !into.again {
        let left = kept.over_budget()?.into_iter();
        crawl.put_back(left.map(|(url, depth)| UrlRecord::page(url, depth)).collect())?;
    }
    drop(kept);
    let files = files(spec, into, first, &name, &crawl)?;
    let tally = Tally::default();
    let mut sinks: Vec<&dyn Sink> = vec![&pages];
    sinks.extend(files.iter().map(|file| &**file));
    let crew = Crew::new(spec, &crawl, (outlet, discovery), 1, FLUSH_ROWS);
    sinks.extend(crew.sharing.as_ref().map(|sharing| sharing as &dyn Sink));
    sinks.push(&tally);
    // Whoever crawls again wants to know whether what was missing is there now.
    let missing = if into.again { Missing::AskedAgain } else { Missing::Counts };
    let cache = crew.shelves(Box::new(pages.clone()), missing);
    let (told, hears) = channel(0);
    let mut attendant = Attendant::new(&crew, &tally, began, watch);
    let outside = Outside {
        source: &crew.seeds,
        sinks,
        cache: &*cache,
        reader: &crew.discovery,
        listener: &tally,
    };
    let work = crew.work(crew.store(0), outside, hears);
    let (over, counts) = attendant.attend(work, asked, &told).await?;
    let warnings = attendant.said();
    let (counted, sent) = (tally.counted(), counts.sent);
    let report =
        Done { name, over, counted, planned: None, sent, warnings, began }.report(spec, &crawl);
    pages.end_run(RunEnd {
        at: crawl.now(),
        outcome: report.ended.to_owned(),
        figures: serde_json::to_value(&report).unwrap_or_default(),
        evidence: Some(report.evidence.clone()),
    })?;
    Ok(report)
}

/// Makes the folder of a file that is about to be opened.
pub(crate) fn make_folder(file: &std::path::Path) -> Result<(), CrawlError> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder)
            .map_err(|source| CrawlError::Folder { path: folder.to_owned(), source }),
        None => Ok(()),
    }
}

/// The sinks besides the crawl's own file. The job's name is that of its first run.
fn files(
    spec: &JobSpec,
    into: &FileSpec,
    job: String,
    run: &str,
    crawl: &Crawl,
) -> Result<Vec<Box<dyn Sink>>, CrawlError> {
    let options = || FileOptions {
        job: job.clone(),
        run: run.to_owned(),
        policy_hash: spec.policy.hash_hex(),
        robots: Some(texts(crawl)),
    };
    let mut files: Vec<Box<dyn Sink>> = Vec::new();
    for target in &into.targets {
        match target {
            Target::Sqlite => {}
            Target::JsonLines(path) => files.push(Box::new(JsonlSink::open(path, options())?)),
            Target::Csv(path) => files.push(Box::new(CsvSink::open(path, options())?)),
        }
    }
    Ok(files)
}

/// Who has the texts of robots.txt.
pub(crate) fn texts(crawl: &Crawl) -> RobotsTexts {
    let crawl = crawl.clone();
    Arc::new(move |id| crawl.robots(id))
}
