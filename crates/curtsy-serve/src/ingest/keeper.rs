//! Stores the results of a run's crawl: a row for each page, the requests, and the pages for tiles.

use std::sync::{Mutex, MutexGuard, PoisonError};

use curtsy_core::evidence::{
    RobotsEvidence, SLOT_TIMEOUT_TEXT, SentenceContext, sentence, timestamp,
};
use curtsy_core::host::{AskKind, Findings, Gate, Outcome, Verdict};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{Keeper, LeftPage, PageKind};
use curtsy_engine::{Batch, Boxed, Cache, Ending, Row, Sink, SinkError, Step};
use curtsy_sink::{Facts, FindingColumns, RobotsTexts, Rules, request_kind};
use curtsy_store::{StoreHandle, SystemClock};
use serde_json::{Value as Json, json};

use crate::db::{DbError, DbLink, ServiceDatabase, SqlValue};
use crate::ingest::live::{Live, ShownPage};
use crate::ingest::now_text;
use crate::secret::hash_hex;

/// Bytes of a page that tiles are made of; the rest of it is not read.
pub(crate) const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of all pages of a run that tiles are made of.
pub(crate) const PAGES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Characters of a title that are kept.
pub(crate) const TITLE_MAX: usize = 300;

/// Keeps what one run brings.
pub(super) struct RunKeeper<'r> {
    pub(super) live: &'r Live,
    pub(super) database: &'r ServiceDatabase,
    pub(super) kept: &'r Mutex<KeptPages>,
    pub(super) rules: Mutex<Rules>,
    /// The policy's limit on bodies.
    body_max: u64,
}

/// What is kept in memory until the run ends.
#[derive(Default)]
pub(super) struct KeptPages {
    pub(super) pages: Vec<PageKept>,
    /// Why the first page that did not come did not come: mostly the home page.
    pub(super) reason: Option<String>,
    bytes: usize,
    number: i64,
}

/// A page that tiles are made of.
pub(super) struct PageKept {
    pub(super) url: CrawlUrl,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
}

impl<'r> RunKeeper<'r> {
    pub(super) fn new(
        live: &'r Live,
        database: &'r ServiceDatabase,
        kept: &'r Mutex<KeptPages>,
        texts: RobotsTexts,
        body_max: u64,
    ) -> RunKeeper<'r> {
        RunKeeper { live, database, kept, rules: Mutex::new(Rules::new(Some(texts))), body_max }
    }

    fn lock(&self) -> MutexGuard<'_, KeptPages> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, batch: &Batch) -> Result<(), DbError> {
        let mut shown = Vec::new();
        let mut number = self.lock().number;
        self.database.transact(|db| {
            for step in &batch.steps {
                self.write_step(db, step)?;
            }
            for row in &batch.rows {
                self.write_request(db, row)?;
                if row.kind == AskKind::Page {
                    number += 1;
                    shown.push(self.write_page(db, row, number)?);
                }
            }
            Ok(())
        })?;
        self.lock().number = number;
        for (row, page) in batch.rows.iter().filter(|row| row.kind == AskKind::Page).zip(shown) {
            self.take(row);
            let mut kept = self.lock();
            if kept.reason.is_none() {
                let why = Facts::of(row).reason(Some(self.body_max));
                let host = row.final_url.host();
                kept.reason = why.map(|why| format!("{host}: {why}"));
            }
            drop(kept);
            self.live.page(page);
        }
        Ok(())
    }

    /// A request on the way to a row.
    fn write_step(&self, db: &mut DbLink, step: &Step) -> Result<(), DbError> {
        let kind = request_kind(step.kind);
        self.request(db, &step.url, kind, &step.outcome, &step.findings, step.at)
    }

    /// The request that a row ends with, if there was one.
    fn write_request(&self, db: &mut DbLink, row: &Row) -> Result<(), DbError> {
        let (Ending::Fetched(outcome) | Ending::Dead(outcome) | Ending::LoginWall(outcome)) =
            &row.ending
        else {
            return Ok(());
        };
        if row.is_remembered() || was_not_sent(outcome) {
            return Ok(());
        }
        let kind = match row.kind {
            AskKind::Sitemap => "sitemap",
            _ => "page",
        };
        let latency = row.page.as_ref().and_then(|page| page.latency).unwrap_or_default();
        self.request(db, &row.final_url, kind, outcome, &row.findings, row.at.back(latency))
    }

    fn request(
        &self,
        db: &mut DbLink,
        url: &CrawlUrl,
        kind: &str,
        outcome: &Outcome,
        findings: &Findings,
        at: Time,
    ) -> Result<(), DbError> {
        let said = FindingColumns::of(findings);
        let what = match outcome.status() {
            Some(_) => "answered",
            None => "failed",
        };
        let sql = "INSERT INTO run_requests (trace_id, hostname, url, kind, status_code, outcome, delay_ms, delay_by, asked_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let values: [SqlValue; 9] = [
            self.live.trace.as_str().into(),
            url.host().as_str().into(),
            without_query(url).into(),
            kind.into(),
            outcome.status().map(u64::from).into(),
            what.into(),
            said.delay_ms.into(),
            said.delay_by.into(),
            timestamp(at).into(),
        ];
        db.execute(sql, &values).map(drop)
    }

    fn write_page(&self, db: &mut DbLink, row: &Row, number: i64) -> Result<ShownPage, DbError> {
        let facts = Facts::of(row);
        let url = row.url.as_str();
        let (trace, url_hash) = (self.live.trace.as_str(), hash_hex(url));
        // A batch may be told twice: each page has one row.
        let sql = "DELETE FROM run_pages WHERE trace_id = ?1 AND url_hash = ?2";
        db.execute(sql, &[trace.into(), url_hash.as_str().into()])?;
        let hash = facts.content_hash();
        let changed = match &hash {
            Some(hash) => before(db, &url_hash)?.map(|before| before != *hash),
            None => None,
        };
        let (file, line) = facts.robots.unzip();
        let line = line.flatten();
        let rule = file.zip(line).and_then(|(file, line)| {
            let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            rules.rule(file, line)
        });
        let title = facts.title().map(|title| title.chars().take(TITLE_MAX).collect::<String>());
        let (kind, status) = (PageKind::of(&row.url).name(), facts.http_status);
        let sql = "INSERT INTO run_pages (trace_id, number, url, url_hash, final_url, kind, decision, status_code, error, title, used,
            content_hash, changed, robots_rule, robots_line, delay_ms, delay_by, reasons, decided_at, reason, evidence)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";
        let evidence = evidence(row, rule.as_deref()).map(|evidence| evidence.to_string());
        let values: [SqlValue; 21] = [
            trace.into(),
            number.into(),
            url.into(),
            url_hash.into(),
            row.final_url.as_str().into(),
            kind.into(),
            facts.decision.into(),
            status.map(u64::from).into(),
            facts.error.into(),
            title.into(),
            facts.body().is_some().into(),
            hash.into(),
            changed.map(i64::from).into(),
            rule.as_deref().into(),
            line.map(u64::from).into(),
            facts.delay_ms.into(),
            facts.delay_by.into(),
            reasons(row).to_string().into(),
            timestamp(row.at).into(),
            facts.reason(Some(self.body_max)).into(),
            evidence.into(),
        ];
        db.execute(sql, &values)?;
        Ok(ShownPage { url: url.to_owned(), kind, decision: facts.decision, status })
    }

    /// Pages that must wait longer than the run may have rows too, which say for whom.
    fn keep_left(&self, left: &[LeftPage]) -> Result<(), DbError> {
        let mut kept = self.lock();
        self.database.transact(|db| {
            for LeftPage { url, gate, why } in left {
                kept.number += 1;
                kept.reason.get_or_insert_with(|| format!("{}: {why}", url.host()));
                let sql = "INSERT INTO run_pages (trace_id, number, url, url_hash, final_url, kind, decision, error, used, reasons, decided_at, reason)
                    VALUES (?1, ?2, ?3, ?4, ?3, ?5, 'waits', ?6, ?7, ?8, ?9, ?10)";
                let reasons = json!([{"gate": gate.name(), "verdict": "wait", "why": why}]);
                let values: [SqlValue; 10] = [
                    self.live.trace.as_str().into(),
                    kept.number.into(),
                    url.as_str().into(),
                    hash_hex(url.as_str()).into(),
                    PageKind::of(url).name().into(),
                    format!("waits_for_{}", gate.name()).into(),
                    false.into(),
                    reasons.to_string().into(),
                    now_text().into(),
                    why.as_str().into(),
                ];
                db.execute(sql, &values)?;
            }
            Ok(())
        })
    }

    /// Takes a page for tiles, if there is room.
    fn take(&self, row: &Row) {
        let Some(page) = row.page.as_deref() else { return };
        let Some(body) = &page.body else { return };
        let mut kept = self.lock();
        let body = &body[..body.len().min(PAGE_BYTES_MAX)];
        if row.webpage().is_some() && kept.bytes + body.len() <= PAGES_BYTES_MAX {
            kept.bytes += body.len();
            kept.pages.push(PageKept {
                url: row.final_url.clone(),
                content_type: page.head.content_type.clone(),
                body: body.to_vec(),
            });
        }
    }
}

/// The hash of a page's content as an earlier run found it.
fn before(db: &mut DbLink, url_hash: &str) -> Result<Option<String>, DbError> {
    let sql = "SELECT content_hash FROM run_pages WHERE url_hash = ?1 AND content_hash IS NOT NULL ORDER BY decided_at DESC LIMIT 1";
    db.first(sql, &[url_hash.into()])
}

/// The robots.txt decision on a page as a record, or the timeout of its slot.
fn evidence(row: &Row, rule: Option<&str>) -> Option<Json> {
    let (url, found) = (&row.final_url, row.findings.of(Gate::Robots));
    if row.ending == Ending::Refused(Gate::Slots) {
        return Some(json!({
            "type": "slot_timeout",
            "content": {"error": SLOT_TIMEOUT_TEXT, "timestamp": timestamp(row.at)},
            "metadata": {"url": url},
        }));
    }
    if let Ending::Dead(outcome) = &row.ending
        && was_not_sent(outcome)
    {
        // The host could not be reached: robots.txt said nothing.
        return None;
    }
    let rule = rule.map(str::to_owned);
    let evidence = RobotsEvidence::with_rule(found, url, rule, row.crawl_delay, row.at)?;
    // Plain data of ours always is JSON.
    serde_json::to_value(evidence).ok()
}

/// Whether a URL failed before any request for it went out: its address may not be dialled, or no
/// connection could be made.
fn was_not_sent(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(problem) if problem.is_refusal() || problem.is_unreached())
}

/// What every gate said, as sentences.
fn reasons(row: &Row) -> Json {
    let names = SentenceContext { robots: None, now: row.at };
    let reasons = row.findings.iter().map(|(gate, finding)| {
        let verdict = match finding.verdict {
            Verdict::Go => "go",
            Verdict::NotBefore(_) => "wait",
            Verdict::Never => "never",
        };
        json!({"gate": gate.name(), "verdict": verdict, "why": sentence(gate, finding, &names)})
    });
    reasons.collect()
}

/// A URL as evidence shows it: values of its query may be nobody's business.
pub(crate) fn without_query(url: &CrawlUrl) -> String {
    let text = url.as_str();
    match text.split_once('?') {
        Some((page, _)) => format!("{page}?…"),
        None => text.to_owned(),
    }
}

impl Keeper for RunKeeper<'_> {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(RunSink(self))
    }

    fn cache(&self, store: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        Box::new(store.cache())
    }

    fn left(&self, left: Vec<LeftPage>) {
        // A row that was not written is missing in the evidence; whoever watches the run sees the
        // note.
        if let Err(error) = self.keep_left(&left) {
            self.live.failed(&error.to_string());
        }
        for page in left {
            self.live.left(&page.url, &page.why);
        }
    }
}

/// Keeps nothing of a plan's rows. Pages go into the cache, as always.
pub(super) struct PlanKeeper;

impl Keeper for PlanKeeper {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(NoRows)
    }

    fn cache(&self, store: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        Box::new(store.cache())
    }
}

struct NoRows;

impl Sink for NoRows {
    fn write<'a>(&'a self, _: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

struct RunSink<'k, 'r>(&'k RunKeeper<'r>);

impl Sink for RunSink<'_, '_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let kept = self
            .0
            .keep(batch)
            .map_err(|error| SinkError { rows: batch.rows.len(), why: error.to_string() });
        Box::pin(std::future::ready(kept))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use curtsy_core::policy::Mode;
    use curtsy_store::LedgerPlace;
    use curtsy_testkit::sink::{KeptRow, SinkKind, SinkRig, keep_the_contract};
    use rusqlite::Connection;

    use super::*;
    use crate::orbit::Slug;

    /// The tables of a service with one run.
    struct InService {
        file: PathBuf,
        keeper: RunKeeper<'static>,
    }

    impl InService {
        fn new() -> InService {
            let file = curtsy_testkit::services::folder("service").join("service.db");
            let slug = Slug::parse("town").expect("a slug");
            let (trace, url) = ("run-1".to_owned(), "http://a.test/".to_owned());
            // They live as long as the process: a keeper borrows them.
            let live = Box::leak(Box::new(Live::new(trace, slug, url, Mode::Light)));
            let database = ServiceDatabase::open(&LedgerPlace::from(&file)).expect("a new file");
            let (database, kept) = (Box::leak(Box::new(database)), Box::leak(Box::default()));
            let keeper = RunKeeper::new(live, database, kept, Arc::new(|_| None), 1 << 20);
            InService { file, keeper }
        }
    }

    impl SinkRig for InService {
        fn keeps(&self) -> SinkKind {
            SinkKind::Pages
        }

        fn open(&self) -> Box<dyn Sink + '_> {
            self.keeper.sink()
        }

        fn kept(&self) -> Vec<KeptRow> {
            let db = Connection::open(&self.file).expect("the file is there");
            let mut pages = db.prepare("SELECT url FROM run_pages").expect("the table is there");
            let rows =
                pages.query_map([], |row| Ok(KeptRow { url: row.get(0)?, ..KeptRow::default() }));
            rows.expect("it can be read").map(|row| row.expect("a text")).collect()
        }
    }

    impl Drop for InService {
        fn drop(&mut self) {
            // What can't be removed is not what is tested.
            let _ = std::fs::remove_dir_all(self.file.parent().expect("its folder"));
        }
    }

    #[test]
    fn the_rows_of_a_run_keep_the_contract() {
        keep_the_contract(InService::new);
    }
}
