//! Writes a batch: one transaction, prepared statements, and no computation while the file is
//! locked.

use curtsy_core::evidence::{SLOT_TIMEOUT_TEXT, Sureness, encode, timestamp_micros};
use curtsy_core::host::Gate;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Batch, CachedPage, Ending, Row, Step, Then};
use curtsy_file::Statements;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Transaction, TransactionBehavior, params, params_from_iter};

use crate::columns::{COLUMNS, Column, ColumnGroup, place};
use crate::facts::Facts;
use crate::reason::Cause;
use crate::record::{CellValue, RowChange, RowRecord, set};
use crate::rules::{RobotsTexts, Rules};
use crate::words::{self, FindingColumns};

/// URLs of a sitemap in one transaction: other writers wait meanwhile.
pub(crate) const SITEMAP_URLS_MAX: usize = 1000;

/// Writes into the tables.
pub(super) struct RowWriter {
    db: Statements,
    run: Option<i64>,
    rules: Rules,
    body_max: Option<u64>,
}

impl RowWriter {
    pub(super) fn new(
        db: Connection,
        texts: Option<RobotsTexts>,
        body_max: Option<u64>,
    ) -> Result<RowWriter, rusqlite::Error> {
        let db = Statements::new(db, &statements().each_ref().map(String::as_str))?;
        Ok(RowWriter { db, run: None, rules: Rules::new(texts), body_max })
    }

    pub(super) fn db(&self) -> &Connection {
        self.db.db()
    }

    /// Sets the run of further rows.
    pub(super) fn set_run(&mut self, run: i64) {
        self.run = Some(run);
    }

    pub(super) fn run(&self) -> Option<i64> {
        self.run
    }

    /// Writes a batch and returns the pages that the table holds now.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<Vec<NowHeld>, rusqlite::Error> {
        let mut records: Vec<RowRecord<'_>> =
            batch.rows.iter().map(|row| RowRecord::new(Facts::of(row), self.body_max)).collect();
        for record in &mut records {
            self.complete(record);
        }
        let steps = batch.steps.iter();
        let values = |step| step_values(step, self.run, &mut self.rules, self.body_max);
        let steps: Vec<[CellValue<'_>; 23]> = steps.map(values).collect();
        self.sitemaps(batch)?;
        let tx = Transaction::new_unchecked(self.db.db(), TransactionBehavior::Immediate)?;
        for record in &records {
            keep(&self.db, record)?;
        }
        for step in &steps {
            let values = step.iter().map(|value| ToSqlOutput::Borrowed(value.as_sql()));
            tx.prepare_cached(STEP)?.execute(params_from_iter(values))?;
        }
        tx.commit()?;
        Ok(batch.rows.iter().filter_map(|row| held(row)).collect())
    }

    /// Adds the values that only the writer knows.
    fn complete(&mut self, record: &mut RowRecord<'_>) {
        let file = record.facts.robots.map(|(file, _)| CellValue::Bytes(file.0.to_vec().into()));
        let findings = CellValue::Bytes(encode(&record.row.findings).into());
        set!(record, findings = findings, robots_file = file, run = self.run);
        self.rules.complete(record);
    }

    /// Writes the URLs of sitemaps. Each part is a transaction; a repeat changes nothing.
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

/// A page that the table holds: its final key, its validators, and whether the final URL is not its
/// own.
pub(super) type NowHeld = (UrlKey, CachedPage, bool);

fn held(row: &Row) -> Option<NowHeld> {
    let kept = row.page.as_ref()?.kept.clone()?;
    Some((row.final_url.key(), kept, row.final_url != row.url))
}

/// What is done with a row, by the index of the statement.
#[derive(Clone, Copy)]
enum Keep {
    Insert,
    Answer,
    Failed,
    Nothing,
    Confirmed,
    Cached,
}

/// Returns the statements made from the list of columns, in the order of [`Keep`].
fn statements() -> [String; 6] {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let marks: Vec<String> = COLUMNS.iter().map(|column| mark(column.name)).collect();
    let set = |wanted: fn(&Column) -> bool| {
        let wanted = COLUMNS.iter().filter(|column| wanted(column));
        let set = wanted.map(|column| format!("{} = {}", column.name, mark(column.name)));
        set.collect::<Vec<_>>().join(", ")
    };
    let decision = set(|c| c.group == ColumnGroup::Decision);
    // A page that failed in between gets its status back.
    let good = format!(
        "error = NULL, http_status = coalesce({}, http_status), source = coalesce({}, source)",
        mark("http_status"),
        mark("source"),
    );
    // A 304 need not repeat the validators.
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
        update(&format!("{}, final_id = ?2", set(|c| c.group != ColumnGroup::Url))),
        update(&set(|c| matches!(c.group, ColumnGroup::Decision | ColumnGroup::Outcome))),
        update(&set(|c| c.group == ColumnGroup::Decision || c.name == "error")),
        format!("UPDATE pages SET {decision}, {good}, {fresh} {same}"),
        format!("UPDATE pages SET {decision}, {good} {same}"),
    ]
}

/// Writes a row: inserts it, or updates the existing row. The outcome of the existing row goes to
/// the history.
fn keep(db: &Statements, record: &RowRecord<'_>) -> Result<(), rusqlite::Error> {
    let confirms = match record.facts.news {
        RowChange::Confirmed => Some(Keep::Confirmed),
        RowChange::Cached => Some(Keep::Cached),
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
        RowChange::Answer | RowChange::Confirmed | RowChange::Cached => Keep::Answer,
        RowChange::Failed => Keep::Failed,
        RowChange::Nothing => Keep::Nothing,
    };
    execute(db, changes, record)?;
    Ok(())
}

/// Returns the parameter of a column; the first two parameters are the keys.
fn mark(name: &str) -> String {
    format!("?{}", place(name) + 3)
}

fn execute(db: &Statements, what: Keep, record: &RowRecord<'_>) -> Result<usize, rusqlite::Error> {
    let (id, moved) = (id(record.row.id), record.moved_to().map(id));
    let moved = moved.as_ref().map_or(ValueRef::Null, |id| ValueRef::Blob(id));
    let keys = [ValueRef::Blob(&id), moved];
    db.execute(what as usize, keys.into_iter().chain(record.values.iter().map(CellValue::as_sql)))
}

/// Copies the outcome of the existing row to the history, unless the same outcome is repeated.
fn archive(db: &Connection, record: &RowRecord<'_>) -> Result<(), rusqlite::Error> {
    let sql = "INSERT OR IGNORE INTO history
        SELECT * FROM last_decisions WHERE id = ?1 AND at <> ?2";
    let mut statement = db.prepare_cached(sql)?;
    statement.execute((&id(record.row.id)[..], &record.decided_at))?;
    Ok(())
}

impl CellValue<'_> {
    fn as_sql(&self) -> ValueRef<'_> {
        match self {
            CellValue::Null => ValueRef::Null,
            CellValue::Int(number) => ValueRef::Integer(*number),
            CellValue::Real(number) => ValueRef::Real(*number),
            CellValue::Text(text) => ValueRef::Text(text.as_bytes()),
            CellValue::Bytes(bytes) => ValueRef::Blob(bytes),
        }
    }
}

/// Returns a key as the tables store it.
pub(crate) fn id(key: UrlKey) -> [u8; 16] {
    key.as_u128().to_be_bytes()
}

/// Returns a request on the way to a row as the values of [`STEP`].
fn step_values<'a>(
    step: &'a Step,
    run: Option<i64>,
    rules: &mut Rules,
    body_max: Option<u64>,
) -> [CellValue<'a>; 23] {
    let found = FindingColumns::of(&step.findings);
    let (not_before, follows) = match &step.then {
        Then::Retry(at) => (Some(timestamp_micros(*at)), None),
        Then::Follow(to) => (None, Some(to.as_str())),
        Then::Decide => (None, None),
    };
    let cause = || Cause::of_outcome(&step.outcome, step.url.host(), None, body_max);
    let reason = match words::is_slot_timeout(step) {
        true => Some(SLOT_TIMEOUT_TEXT.to_owned()),
        false => cause().filter(|_| follows.is_none()).map(|cause| cause.to_string()),
    };
    let line = found.robots.and_then(|(_, line)| line);
    let rule = found.robots.zip(line).and_then(|((file, _), line)| rules.rule(file, line));
    let bytes = |bytes: &[u8]| CellValue::Bytes(bytes.to_vec().into());
    [
        bytes(&id(step.id)),
        timestamp_micros(step.at).into(),
        words::kind(step.kind).into(),
        words::then(&step.then).into(),
        run.into(),
        step.url.as_str().into(),
        step.url.host().as_str().into(),
        step.outcome.status().into(),
        words::step_error(step).into(),
        words::friction(&step.outcome).into(),
        words::wait_ms(&step.outcome).into(),
        found.gate.map(Gate::name).into(),
        not_before.into(),
        follows.into(),
        found.delay_ms.into(),
        found.delay_by.into(),
        found.robots.map(|(file, _)| bytes(&file.0)).into(),
        line.into(),
        bytes(&encode(&step.findings)),
        reason.into(),
        rule.map(|rule| rule.to_string()).into(),
        Sureness::of(step.findings.of(Gate::Robots)).map(Sureness::name).into(),
        step.crawl_delay.map(words::millis).into(),
    ]
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
