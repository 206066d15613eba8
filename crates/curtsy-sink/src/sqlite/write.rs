//! A batch into the tables: one transaction, prepared statements, nothing computed while the file is locked.

use std::sync::Arc;

use curtsy_core::evidence::{SLOT_TIMEOUT_TEXT, Sureness, encode, timestamp_micros};
use curtsy_core::host::Gate;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Batch, CachedPage, Ending, Row, Step, Then};
use curtsy_file::Statements;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::columns::{COLUMNS, Column, Group, place};
use crate::facts::Facts;
use crate::reason::Cause;
use crate::record::{News, Record, Value};
use crate::rules::{RobotsTexts, Rules};
use crate::words::{self, Said};

/// URLs of a sitemap that are written in one transaction: others wait for the file meanwhile.
pub(crate) const SITEMAP_URLS_MAX: usize = 1000;

/// The one who writes.
pub(super) struct Writer {
    db: Statements,
    run: Option<i64>,
    rules: Rules,
    body_max: Option<u64>,
}

impl Writer {
    pub(super) fn new(
        db: Connection,
        texts: Option<RobotsTexts>,
        body_max: Option<u64>,
    ) -> Result<Writer, rusqlite::Error> {
        let db = Statements::new(db, &statements().each_ref().map(String::as_str))?;
        Ok(Writer { db, run: None, rules: Rules::new(texts), body_max })
    }

    pub(super) fn db(&self) -> &Connection {
        self.db.db()
    }

    /// What is written from now on belongs to this run.
    pub(super) fn set_run(&mut self, run: i64) {
        self.run = Some(run);
    }

    pub(super) fn run(&self) -> Option<i64> {
        self.run
    }

    /// Writes a batch as a whole; tells which pages are held by the table now.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<Vec<NowHeld>, rusqlite::Error> {
        let mut records: Vec<Record<'_>> =
            batch.rows.iter().map(|row| Record::new(Facts::of(row), self.body_max)).collect();
        for record in &mut records {
            self.complete(record);
        }
        let steps = batch.steps.iter();
        let steps: Vec<Passed<'_>> =
            steps.map(|step| Passed::new(step, self.run, &mut self.rules, self.body_max)).collect();
        self.sitemaps(batch)?;
        let tx = Transaction::new_unchecked(self.db.db(), TransactionBehavior::Immediate)?;
        for record in &records {
            keep(&self.db, record)?;
        }
        for step in &steps {
            step.insert(&tx)?;
        }
        tx.commit()?;
        Ok(batch.rows.iter().filter_map(|row| held(row)).collect())
    }

    /// What only the writer knows of a row.
    fn complete<'a>(&mut self, record: &mut Record<'a>) {
        record.set(const { place("findings") }, Value::Bytes(encode(&record.row.findings).into()));
        if let Some((file, _)) = record.facts.robots {
            record.set(const { place("robots_file") }, Value::Bytes(file.0.to_vec().into()));
        }
        if let Some(run) = self.run {
            record.set(const { place("run") }, Value::Int(run));
        }
        self.rules.complete(record);
    }

    /// What sitemaps list. Each part is a transaction of its own: written twice they are kept once.
    fn sitemaps(&self, batch: &Batch) -> Result<(), rusqlite::Error> {
        for row in &batch.rows {
            let Some(sitemap) = row.page.as_ref().and_then(|page| page.document.sitemap.as_ref())
            else {
                continue;
            };
            if matches!(row.ending, Ending::Cached) {
                continue;
            }
            for part in sitemap.entries.chunks(SITEMAP_URLS_MAX) {
                let db = self.db.db();
                let tx = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
                let mut insert = tx.prepare_cached(SITEMAP_URL)?;
                for entry in part {
                    let lastmod = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
                    let lastmod = lastmod.map(|ms| timestamp_micros(Time::from_micros(ms * 1000)));
                    let change = entry.change.map(|change| change.name());
                    let url = entry.url.as_str();
                    let sitemap = row.final_url.as_str();
                    insert.execute(params![url, sitemap, lastmod, change, entry.priority])?;
                }
                drop(insert);
                tx.commit()?;
            }
        }
        Ok(())
    }
}

/// A page that the table holds now: under which key, what is kept, and whether that is another URL than its own.
pub(super) type NowHeld = (UrlKey, CachedPage, bool);

fn held(row: &Row) -> Option<NowHeld> {
    let kept = row.page.as_ref()?.kept.clone()?;
    Some((row.final_url.key(), kept, row.final_url != row.url))
}

/// What is done with a row: the places of the statements in their list.
#[derive(Clone, Copy)]
enum Keep {
    Insert,
    Answer,
    Failed,
    Nothing,
    Confirmed,
    Cached,
}

/// The statements that are made from the list of columns, in the order of [`Keep`].
fn statements() -> [String; 6] {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let marks: Vec<String> = COLUMNS.iter().map(|column| mark(column.name)).collect();
    let set = |wanted: fn(&Column) -> bool| {
        let wanted = COLUMNS.iter().filter(|column| wanted(column));
        let set = wanted.map(|column| format!("{} = {}", column.name, mark(column.name)));
        set.collect::<Vec<_>>().join(", ")
    };
    let decision = set(|c| c.group == Group::Decision);
    // A page that failed meanwhile has its status back.
    let good = format!(
        "error = NULL, http_status = coalesce({}, http_status), source = coalesce({}, source)",
        mark("http_status"),
        mark("source"),
    );
    // Validators need not be told again with a 304.
    let fresh = format!(
        "fresh_until = {}, etag = coalesce({}, etag), last_modified = coalesce({}, last_modified)",
        mark("fresh_until"),
        mark("etag"),
        mark("last_modified"),
    );
    let same =
        format!("WHERE id = ?1 AND final_url = {} AND fresh_until IS NOT NULL", mark("final_url"));
    let update = |set: &str| format!("UPDATE pages SET {set} WHERE id = ?1");
    let insert = format!(
        "INSERT INTO pages (id, final_id, {}) VALUES (?1, ?2, {}) ON CONFLICT (id) DO NOTHING",
        names.join(", "),
        marks.join(", "),
    );
    [
        insert,
        update(&format!("{}, final_id = ?2", set(|c| c.group != Group::Url))),
        update(&set(|c| matches!(c.group, Group::Decision | Group::Outcome))),
        update(&set(|c| c.group == Group::Decision || c.name == "error")),
        format!("UPDATE pages SET {decision}, {good}, {fresh} {same}"),
        format!("UPDATE pages SET {decision}, {good} {same}"),
    ]
}

/// Keeps a row: a new one, or what it changes of the one that is there. What that one said of its end goes to the history.
fn keep(db: &Statements, record: &Record<'_>) -> Result<(), rusqlite::Error> {
    let confirms = match record.facts.news {
        News::Confirmed => Some(Keep::Confirmed),
        News::Cached => Some(Keep::Cached),
        _ => None,
    };
    if let Some(confirms) = confirms {
        archive(db.db(), record)?;
        if execute(db, confirms, record)? > 0 {
            return Ok(());
        }
    }
    if execute(db, Keep::Insert, record)? > 0 {
        return Ok(());
    }
    archive(db.db(), record)?;
    let changes = match record.facts.news {
        News::Answer | News::Confirmed | News::Cached => Keep::Answer,
        News::Failed => Keep::Failed,
        News::Nothing => Keep::Nothing,
    };
    execute(db, changes, record)?;
    Ok(())
}

/// The parameter of a column: the first two are the keys.
fn mark(name: &str) -> String {
    format!("?{}", place(name) + 3)
}

fn execute(db: &Statements, what: Keep, record: &Record<'_>) -> Result<usize, rusqlite::Error> {
    let (id, moved) = (id(record.row.id), record.moved_to().map(id));
    let moved = moved.as_ref().map_or(ValueRef::Null, |id| ValueRef::Blob(id));
    let keys = [ValueRef::Blob(&id), moved];
    db.execute(what as usize, keys.into_iter().chain(record.values.iter().map(Value::as_sql)))
}

/// What a row said of its end before goes to the history, unless it is the same end that is told again.
fn archive(db: &Connection, record: &Record<'_>) -> Result<(), rusqlite::Error> {
    let sql = "INSERT OR IGNORE INTO history
        SELECT * FROM last_decisions WHERE id = ?1 AND at <> ?2";
    let mut statement = db.prepare_cached(sql)?;
    statement.execute((&id(record.row.id)[..], &record.decided_at))?;
    Ok(())
}

impl Value<'_> {
    fn as_sql(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }
    }
}

/// A key as the tables have it: its digits in their order.
pub(crate) fn id(key: UrlKey) -> [u8; 16] {
    key.as_u128().to_be_bytes()
}

/// A request on the way to a row, as the history has it.
struct Passed<'a> {
    step: &'a Step,
    run: Option<i64>,
    at: String,
    not_before: Option<String>,
    said: Said,
    findings: Vec<u8>,
    reason: Option<String>,
    rule: Option<Arc<str>>,
    confidence: Option<&'static str>,
}

impl<'a> Passed<'a> {
    fn new(
        step: &'a Step,
        run: Option<i64>,
        rules: &mut Rules,
        body_max: Option<u64>,
    ) -> Passed<'a> {
        let not_before = match step.then {
            Then::Retry(at) => Some(timestamp_micros(at)),
            _ => None,
        };
        let (at, said) = (timestamp_micros(step.at), Said::by(&step.findings));
        let reason = match words::is_slot_timeout(step) {
            true => Some(SLOT_TIMEOUT_TEXT.to_owned()),
            false => Cause::of_outcome(&step.outcome, step.url.host(), None, body_max)
                .filter(|_| !matches!(step.then, Then::Follow(_)))
                .map(|cause| cause.to_string()),
        };
        let rule = match said.robots {
            Some((file, Some(line))) => rules.rule(file, line),
            _ => None,
        };
        let confidence = Sureness::of(step.findings.of(Gate::Robots)).map(Sureness::name);
        let findings = encode(&step.findings);
        Passed { step, run, at, not_before, said, findings, reason, rule, confidence }
    }

    fn insert(&self, db: &Connection) -> Result<(), rusqlite::Error> {
        let (step, said) = (self.step, &self.said);
        let follows = match &step.then {
            Then::Follow(to) => Some(to.as_str()),
            _ => None,
        };
        db.prepare_cached(STEP)?.execute(params![
            &id(step.id)[..],
            self.at,
            words::kind(step.kind),
            words::then(&step.then),
            self.run,
            step.url.as_str(),
            step.url.host().as_str(),
            step.outcome.status(),
            words::step_error(step),
            words::friction(&step.outcome),
            words::wait_ms(&step.outcome),
            said.gate.map(Gate::name),
            self.not_before,
            follows,
            said.delay_ms,
            said.delay_by,
            said.robots.as_ref().map(|(file, _)| &file.0[..]),
            said.robots.and_then(|(_, line)| line),
            self.findings,
            self.reason,
            self.rule.as_deref(),
            self.confidence,
            step.crawl_delay.map(words::millis),
        ])?;
        Ok(())
    }
}

const STEP: &str = "INSERT OR IGNORE INTO history (id, at, kind, decision, run, url, host,
    http_status, error, friction, retry_after_ms, gate, not_before, follows, delay_ms, delay_by,
    robots_file, robots_line, findings, reason, robots_rule, robots_confidence, crawl_delay_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21, ?22, ?23)";

const SITEMAP_URL: &str = "INSERT INTO sitemap_urls (url, sitemap, lastmod, changefreq, priority)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (url, sitemap) DO UPDATE SET lastmod = excluded.lastmod,
        changefreq = excluded.changefreq, priority = excluded.priority";
