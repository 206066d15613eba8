//! A batch into the tables: one transaction, prepared statements, nothing computed while the file is locked.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::evidence::encode;
use curtsy_core::host::{Gate, Outcome, RobotsId};
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Batch, CachedPage, Ending, Step, Then};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql, TransactionBehavior, params};

use super::RobotsTexts;
use crate::columns::{COLUMNS, Group, place};
use crate::moment;
use crate::record::{News, Record, Value};
use crate::words::{self, Said};

/// URLs of a sitemap that are written in one transaction: others wait for the file meanwhile.
const SITEMAP_URLS_MAX: usize = 1000;
/// Lines of robots.txt whose text is remembered.
const RULES_MAX: usize = 4096;

/// The one who writes.
pub(super) struct Writer {
    db: Connection,
    run: Option<i64>,
    texts: Option<RobotsTexts>,
    rules: HashMap<(RobotsId, u32), Option<Arc<str>>>,
    sql: Sql,
}

impl Writer {
    pub(super) fn new(db: Connection, texts: Option<RobotsTexts>) -> Writer {
        Writer { db, run: None, texts, rules: HashMap::new(), sql: Sql::new() }
    }

    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    /// What is written from now on belongs to this run.
    pub(super) fn set_run(&mut self, run: i64) {
        self.run = Some(run);
    }

    pub(super) fn run(&self) -> Option<i64> {
        self.run
    }

    /// Writes a batch as a whole; tells which pages are held by the table now.
    pub(super) fn write(
        &mut self,
        batch: &Batch,
    ) -> Result<Vec<(UrlKey, CachedPage)>, rusqlite::Error> {
        let mut records: Vec<Record<'_>> = batch.rows.iter().map(Record::new).collect();
        for record in &mut records {
            self.complete(record);
        }
        let rows = records.iter().map(|record| Decided::row(record, self.run));
        let steps = batch.steps.iter().map(|step| Decided::step(step, self.run));
        let decided: Vec<Decided<'_>> = steps.chain(rows).collect();
        self.sitemaps(batch)?;
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut answer = tx.prepare_cached(&self.sql.answer)?;
            for record in &records {
                match record.news {
                    News::Answer => upsert(&mut answer, record)?,
                    News::Failed => {
                        let mut failed = tx.prepare_cached(&self.sql.failed)?;
                        upsert(&mut failed, record)?;
                    }
                    News::Nothing => {
                        let mut nothing = tx.prepare_cached(&self.sql.nothing)?;
                        upsert(&mut nothing, record)?;
                    }
                    News::Confirmed | News::Cached => {
                        let sql = match record.news {
                            News::Confirmed => &self.sql.confirmed,
                            _ => &self.sql.cached,
                        };
                        let mut held = tx.prepare_cached(sql)?;
                        if update(&mut held, record)? == 0 {
                            upsert(&mut answer, record)?;
                        }
                    }
                }
            }
            let mut decision = tx.prepare_cached(DECISION)?;
            for decided in &decided {
                decided.insert(&mut decision)?;
            }
        }
        tx.commit()?;
        Ok(batch.rows.iter().filter_map(held).collect())
    }

    /// What only the writer knows of a row.
    fn complete<'a>(&mut self, record: &mut Record<'a>) {
        if let Some(run) = self.run {
            record.set(const { place("run") }, Value::Int(run));
        }
        if let Some((file, Some(line))) = record.said.robots
            && let Some(rule) = self.rule(file, line)
        {
            record.set(const { place("robots_rule") }, Value::Text(rule.to_string().into()));
        }
    }

    /// A line of a robots.txt, if somebody has its text.
    fn rule(&mut self, file: RobotsId, line: u32) -> Option<Arc<str>> {
        let texts = self.texts.as_ref()?;
        if let Some(rule) = self.rules.get(&(file, line)) {
            return rule.clone();
        }
        let text = texts(file);
        let robots = text.map(|file| Robots::parse(&file.text));
        let rule: Option<Arc<str>> =
            robots.and_then(|robots| Some(robots.line_text(line)?.trim().into()));
        if self.rules.len() >= RULES_MAX {
            self.rules.clear();
        }
        self.rules.insert((file, line), rule.clone());
        rule
    }

    /// What sitemaps list. Each part is a transaction of its own: written twice they are kept once.
    fn sitemaps(&mut self, batch: &Batch) -> Result<(), rusqlite::Error> {
        for row in &batch.rows {
            let Some(sitemap) = row.page.as_ref().and_then(|page| page.document.sitemap.as_ref())
            else {
                continue;
            };
            if matches!(row.ending, Ending::Cached) {
                continue;
            }
            for part in sitemap.entries.chunks(SITEMAP_URLS_MAX) {
                let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let mut insert = tx.prepare_cached(SITEMAP_URL)?;
                for entry in part {
                    let lastmod = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
                    let lastmod = lastmod.map(|ms| moment::text(Time::from_micros(ms * 1000)));
                    let change = entry.change.map(|change| change.as_str());
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

/// The page of a row, if it is kept for the next time.
fn held(row: &curtsy_engine::Row) -> Option<(UrlKey, CachedPage)> {
    let kept = row.page.as_ref()?.kept.clone()?;
    Some((row.final_url.key(), kept))
}

/// The statements that are made from the list of columns.
struct Sql {
    answer: String,
    failed: String,
    nothing: String,
    confirmed: String,
    cached: String,
}

impl Sql {
    fn new() -> Sql {
        let named = |wanted: fn(&crate::Column) -> bool| {
            COLUMNS.iter().filter(move |column| wanted(column)).map(|column| column.name)
        };
        let excluded = |names: &mut dyn Iterator<Item = &'static str>| {
            names.map(|name| format!("{name} = excluded.{name}")).collect::<Vec<_>>().join(", ")
        };
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        let marks: Vec<String> = (1..=COLUMNS.len()).map(|n| format!("?{}", n + 2)).collect();
        let insert = format!(
            "INSERT INTO pages (id, final_id, {}) VALUES (?1, ?2, {}) ON CONFLICT (id) DO UPDATE SET ",
            names.join(", "),
            marks.join(", "),
        );
        let all = excluded(&mut named(|c| c.group != Group::Url));
        let failed = excluded(&mut named(|c| matches!(c.group, Group::Decision | Group::Outcome)));
        let nothing = excluded(&mut named(|c| c.group == Group::Decision || c.name == "error"));
        let set = |names: &mut dyn Iterator<Item = &'static str>| {
            names
                .map(|name| format!("{name} = ?{}", place(name) + 3))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let decision = set(&mut named(|c| c.group == Group::Decision));
        // Validators need not be told again with a 304; a page that failed meanwhile has its status back.
        let more = format!(
            "error = NULL, http_status = coalesce(?{}, http_status)",
            place("http_status") + 3
        );
        let fresh = format!(
            "fresh_until = ?{}, etag = coalesce(?{}, etag), last_modified = coalesce(?{}, last_modified)",
            place("fresh_until") + 3,
            place("etag") + 3,
            place("last_modified") + 3,
        );
        let same = format!(
            "WHERE id = ?1 AND final_url = ?{} AND fresh_until IS NOT NULL",
            place("final_url") + 3
        );
        Sql {
            answer: format!("{insert}{all}, final_id = excluded.final_id"),
            failed: format!("{insert}{failed}"),
            nothing: format!("{insert}{nothing}"),
            confirmed: format!("UPDATE pages SET {decision}, {more}, {fresh} {same}"),
            cached: format!("UPDATE pages SET {decision}, {more} {same}"),
        }
    }
}

fn upsert(statement: &mut Statement<'_>, record: &Record<'_>) -> Result<(), rusqlite::Error> {
    let id = id(record.row.id);
    let moved = record.moved_to().map(self::id);
    statement.raw_bind_parameter(1, &id[..])?;
    statement.raw_bind_parameter(2, moved.as_ref().map(|id| &id[..]))?;
    for (at, value) in record.values.iter().enumerate() {
        statement.raw_bind_parameter(at + 3, value)?;
    }
    statement.raw_execute()?;
    Ok(())
}

fn update(statement: &mut Statement<'_>, record: &Record<'_>) -> Result<usize, rusqlite::Error> {
    statement.raw_bind_parameter(1, &id(record.row.id)[..])?;
    let count = statement.parameter_count();
    for (at, value) in record.values.iter().enumerate() {
        // Values behind the last that the statement names have no place in it.
        if at + 3 <= count {
            statement.raw_bind_parameter(at + 3, value)?;
        }
    }
    statement.raw_execute()
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A key as the tables have it: its digits in their order.
pub(crate) fn id(key: UrlKey) -> [u8; 16] {
    key.as_u128().to_be_bytes()
}

/// One decision, as its table has it.
struct Decided<'a> {
    id: UrlKey,
    at: String,
    kind: &'static str,
    decision: &'static str,
    run: Option<i64>,
    url: &'a str,
    host: &'a str,
    status: Option<u16>,
    error: Option<&'static str>,
    friction: Option<&'static str>,
    retry_after_ms: Option<i64>,
    gate: Option<&'static str>,
    not_before: Option<String>,
    follows: Option<&'a str>,
    said: Said,
    findings: Vec<u8>,
}

impl<'a> Decided<'a> {
    fn row(record: &Record<'a>, run: Option<i64>) -> Decided<'a> {
        let row = record.row;
        let outcome = match &row.ending {
            Ending::Fetched(outcome) | Ending::Dead(outcome) => Some(outcome),
            _ => None,
        };
        let gate = match row.ending {
            Ending::Refused(gate) => Some(gate),
            _ => None,
        };
        Decided {
            id: row.id,
            at: record.decided_at.clone(),
            kind: words::ask_kind(row.kind),
            decision: words::ending(&row.ending),
            run,
            url: row.final_url.as_str(),
            host: row.final_url.host().as_str(),
            error: record.error,
            gate: gate.map(Gate::name),
            not_before: None,
            follows: None,
            said: record.said,
            findings: encode(&row.findings),
            ..Decided::of(outcome)
        }
    }

    fn step(step: &'a Step, run: Option<i64>) -> Decided<'a> {
        let said = Said::by(&step.findings);
        Decided {
            id: step.id,
            at: moment::text(step.at),
            kind: words::kind(step.kind),
            decision: words::then(&step.then),
            run,
            url: step.url.as_str(),
            host: step.url.host().as_str(),
            gate: said.gate.map(Gate::name),
            not_before: match step.then {
                Then::Retry(at) => Some(moment::text(at)),
                _ => None,
            },
            follows: match &step.then {
                Then::Follow(to) => Some(to.as_str()),
                _ => None,
            },
            said,
            findings: encode(&step.findings),
            ..Decided::of(Some(&step.outcome))
        }
    }

    /// What an outcome says; the rest is the caller's.
    fn of(outcome: Option<&Outcome>) -> Decided<'a> {
        let (friction, wait) = match outcome {
            Some(Outcome::Answered { friction, retry_after, .. }) => (*friction, *retry_after),
            _ => (None, None),
        };
        Decided {
            id: UrlKey::from_u128(0),
            at: String::new(),
            kind: "",
            decision: "",
            run: None,
            url: "",
            host: "",
            status: outcome.and_then(Outcome::status),
            error: outcome.and_then(words::error_of),
            friction: friction.map(words::friction),
            retry_after_ms: wait.and_then(|wait| i64::try_from(wait.as_millis()).ok()),
            gate: None,
            not_before: None,
            follows: None,
            said: Said::default(),
            findings: Vec::new(),
        }
    }

    fn insert(&self, statement: &mut Statement<'_>) -> Result<(), rusqlite::Error> {
        let robots = self.said.robots.as_ref();
        statement.execute(params![
            &id(self.id)[..],
            self.at,
            self.kind,
            self.decision,
            self.run,
            self.url,
            self.host,
            self.status,
            self.error,
            self.friction,
            self.retry_after_ms,
            self.gate,
            self.not_before,
            self.follows,
            self.said.delay_ms,
            self.said.delay_by,
            robots.map(|(file, _)| &file.0[..]),
            robots.and_then(|(_, line)| *line),
            self.findings,
        ])?;
        Ok(())
    }
}

const DECISION: &str = "INSERT OR REPLACE INTO decisions (id, at, kind, decision, run, url, host,
    http_status, error, friction, retry_after_ms, gate, not_before, follows, delay_ms, delay_by,
    robots_file, robots_line, findings)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

const SITEMAP_URL: &str = "INSERT INTO sitemap_urls (url, sitemap, lastmod, changefreq, priority)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (url, sitemap) DO UPDATE SET lastmod = excluded.lastmod,
        changefreq = excluded.changefreq, priority = excluded.priority";
