//! `crawl_into(table, query_or_urls, …)` and the statement `CRAWL (query) INTO table WITH (…)`:
//! fetch pages into a table, batch by batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_crawl::{CrawlReport, LeftPage};
use curtsy_engine::Row;
use curtsy_engine::discover::Discovery;
use curtsy_sink::Rules;

use crate::crawling::{Crawling, NextRows, RowDelivery};
use crate::duck::{
    Argument, Bind, CallerSession, Chunk, ColumnKind, DuckConnection, NamedParameter, Prepared,
    SqlError, TableFunction, TableName, Type, missing_statement,
};
use crate::order::{GivenOptions, OPTIONS, Seeds, SessionSettings, order, sql_error};
use crate::target::{PagesTable, Written};

/// Rows in a batch.
const BATCH: usize = 100;
/// Rows in a batch while rows arrive faster: a transaction has a fixed cost.
const BATCH_MOST: usize = 1000;
/// Bytes of bodies in a batch.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// How long a row waits for its batch.
const WAIT: Duration = Duration::from_millis(100);
/// How long a row waits for a larger batch while rows arrive fast.
const RUSH: Duration = Duration::from_millis(50);
/// How long rows are written before DuckDB gets its thread back.
const STRETCH: Duration = Duration::from_millis(200);

/// `crawl_into(table, query_or_urls, …)`.
pub(crate) struct CrawlInto;

/// The target of `CRAWL (query) INTO table WITH (…)`.
pub(crate) struct Statement;

/// A call of a crawl into a table.
pub(crate) struct IntoCall {
    target: TableName,
    from: UrlsFrom,
    options: GivenOptions,
    session: SessionSettings,
    caller: CallerSession,
}

/// The source of the seeds.
enum UrlsFrom {
    Query(String),
    Urls(Argument),
}

/// A run of a crawl into a table. Returns one row at its end.
pub(crate) enum IntoRun {
    Begins,
    Works(Box<Work>),
    /// The row was returned.
    Over,
}

/// A running crawl into a table.
pub(crate) struct Work {
    /// Dropped before the table.
    crawling: Crawling,
    target: PagesTable,
    written: Written,
    rules: Option<Rules>,
    /// Rows that are not written yet, the bytes of their bodies, and the time of the first of them.
    rows: Vec<Arc<Row>>,
    bytes: usize,
    left: Vec<LeftPage>,
    first: Option<Instant>,
}

/// The columns of the result.
const ANSWER: [(&str, Type); 9] = [
    ("target", Type::Varchar),
    ("rows_inserted", Type::Bigint),
    ("rows_updated", Type::Bigint),
    ("fetched", Type::Bigint),
    ("requests", Type::Bigint),
    ("waiting", Type::Bigint),
    ("ended", Type::Varchar),
    ("resume_after", Type::Varchar),
    ("seconds", Type::Double),
];

impl TableFunction for CrawlInto {
    const NAME: &'static str = "crawl_into";
    const POSITIONAL: &'static [Type] = &[Type::Varchar, Type::Any];
    const NAMED: &'static [NamedParameter] = OPTIONS;
    const COLUMNS: &'static [(&'static str, Type)] = &ANSWER;
    type Bound = IntoCall;
    type Running = IntoRun;

    fn bind(bind: &mut Bind<'_>) -> Result<IntoCall, SqlError> {
        let options = GivenOptions::of_call(bind);
        let from = match bind.argument(1) {
            Argument::Text(text) if is_query(&text) => UrlsFrom::Query(text),
            other => UrlsFrom::Urls(other),
        };
        let target = bind.argument(0);
        let target =
            target.as_text().ok_or_else(|| SqlError::from("the name of the table is NULL"))?;
        IntoCall::new(bind, target, from, options)
    }

    fn start(_: &IntoCall) -> Result<IntoRun, SqlError> {
        Ok(IntoRun::Begins)
    }

    fn fill(bound: &IntoCall, running: &mut IntoRun, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        bound.fill(running, out)
    }
}

impl TableFunction for Statement {
    const NAME: &'static str = "curtsy_statement";
    const POSITIONAL: &'static [Type] = &[Type::Varchar, Type::Varchar, Type::Texts, Type::Texts];
    const COLUMNS: &'static [(&'static str, Type)] = &ANSWER;
    type Bound = IntoCall;
    type Running = IntoRun;

    fn bind(bind: &mut Bind<'_>) -> Result<IntoCall, SqlError> {
        let text = |at: usize| match bind.argument(at) {
            Argument::Text(text) => text,
            _ => String::new(),
        };
        let (query, target) = (text(0), text(1));
        let (keys, values) = (list(bind.argument(2)), list(bind.argument(3)));
        let keys = keys.into_iter().filter_map(|key| key.as_text().map(str::to_owned));
        let options = GivenOptions::of_statement(keys.zip(values).collect())?;
        IntoCall::new(bind, &target, UrlsFrom::Query(query), options)
    }

    fn start(_: &IntoCall) -> Result<IntoRun, SqlError> {
        Ok(IntoRun::Begins)
    }

    fn fill(bound: &IntoCall, running: &mut IntoRun, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        bound.fill(running, out)
    }
}

fn list(argument: Argument) -> Vec<Argument> {
    match argument {
        Argument::List(list) => list,
        _ => Vec::new(),
    }
}

/// Whether a text is a query, not a URL.
fn is_query(text: &str) -> bool {
    let first = text.trim_start().trim_start_matches('(').trim_start();
    let word = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let words = ["select", "from", "with", "values", "table"];
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
        && first[word.len()..].starts_with(|c: char| c.is_whitespace() || c == '(')
}

impl IntoCall {
    fn new(
        bind: &mut Bind<'_>,
        target: &str,
        from: UrlsFrom,
        options: GivenOptions,
    ) -> Result<IntoCall, SqlError> {
        let caller = bind.caller();
        if !caller.has_shim() {
            let why = missing_statement().unwrap_or_default();
            return Err(SqlError::from(format!(
                "a crawl can't write into a table by itself here: {why}\nhint: INSERT INTO {target} BY NAME FROM crawl(…)"
            )));
        }
        if caller.in_transaction() {
            return Err(SqlError::from(
                "a crawl into a table can't be part of a transaction: what was fetched is kept batch by batch, whatever becomes of it\nhint: COMMIT first, or use INSERT INTO … BY NAME FROM crawl(…) inside the transaction",
            ));
        }
        let session = SessionSettings::of(bind);
        // Wrong options are reported before anything is changed.
        order(&options, &session, Vec::new())?;
        let target = caller.resolve(target)?;
        if let UrlsFrom::Query(query) = &from {
            prepared(&caller.connect()?, query)?;
        }
        Ok(IntoCall { target, from, options, session, caller })
    }

    /// Does the next step. Returns one row at the end.
    fn fill(&self, running: &mut IntoRun, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        match running {
            IntoRun::Begins => match self.begin()? {
                (written, None) => {
                    *running = IntoRun::Over;
                    answer(out, &self.target, written, None);
                }
                (_, Some(work)) => {
                    *running = IntoRun::Works(work);
                    out.not_yet(Duration::ZERO);
                }
            },
            IntoRun::Works(work) => match work.steps(&self.caller)? {
                Some(report) => {
                    answer(out, &self.target, work.written, Some(&report));
                    *running = IntoRun::Over;
                }
                None => out.not_yet(Duration::ZERO),
            },
            IntoRun::Over => {}
        }
        Ok(())
    }

    /// Opens the table and starts the crawl, if there is anything to crawl.
    fn begin(&self) -> Result<(Written, Option<Box<Work>>), SqlError> {
        let db = self.caller.connect()?;
        let seeds = match &self.from {
            UrlsFrom::Query(query) => self.seeds_of(&db, query)?,
            UrlsFrom::Urls(urls) => Seeds::of(urls)?,
        };
        let mut order = order(&self.options, &self.session, seeds.urls)?;
        if let UrlsFrom::Urls(urls) = &self.from {
            order = order.naming(urls);
        }
        let mut target = PagesTable::open(self.target.clone(), db)?;
        let written = target.write_malformed(&seeds.malformed)?;
        let (known, held) = target.held(order.update_stale)?;
        if order.update_stale {
            let hosts: HashSet<String> =
                order.job.seeds.iter().map(|url| url.host().as_str().to_owned()).collect();
            order.job.seeds.extend(target.urls_on(&hosts)?);
            order.job.discovery.seeds = order.job.seeds.clone();
        }
        if order.job.discovery.follow_links && !order.update_stale {
            // A crawl that was ended continues from the pages that it has read. The seeds alone
            // define the scope.
            let discovery = Discovery::new(order.job.discovery.clone()).map_err(sql_error)?;
            let links = target.links()?.into_iter().filter(|url| discovery.wants(url));
            order.job.seeds.extend(links);
        }
        if order.job.seeds.is_empty() {
            return Ok((written, None));
        }
        let crawling = Crawling::start(&order, known, held, self.caller.clone())?;
        let (rules, rows, left, first) = (None, Vec::new(), Vec::new(), None);
        let work = Work { crawling, target, written, rules, rows, bytes: 0, left, first };
        Ok((written, Some(Box::new(work))))
    }

    /// Returns the URLs of a query: its first column.
    fn seeds_of(&self, db: &DuckConnection, query: &str) -> Result<Seeds, SqlError> {
        let mut prepared = prepared(db, query)?;
        let failed = |error| SqlError(format!("in the query for URLs: {error}"));
        let mut rows = prepared.query_unless(|| self.caller.is_interrupted()).map_err(failed)?;
        let mut seeds = Seeds::default();
        while let Some(batch) = rows.next().map_err(failed)? {
            (0..batch.len()).try_for_each(|line| seeds.add(&batch.value(0, line)?))?;
        }
        Ok(seeds)
    }
}

/// Prepares a query for URLs, and refuses another statement.
fn prepared(db: &DuckConnection, query: &str) -> Result<Prepared, SqlError> {
    let prepared =
        db.prepare(query).map_err(|error| SqlError(format!("in the query for URLs: {error}")))?;
    let columns = prepared.columns();
    if !prepared.is_select() || columns.is_empty() {
        return Err(SqlError::from("expected a query for URLs: (SELECT url FROM …)"));
    }
    if prepared.parameters() > 0 {
        return Err(SqlError::from(
            "a query for URLs can't have parameters\nhint: SET VARIABLE x = …, and getvariable('x') in the query",
        ));
    }
    if !matches!(columns[0].kind, ColumnKind::Text | ColumnKind::Null) {
        return Err(SqlError(format!(
            "the first column of the query for URLs is `{}`, which is not text\nhint: the first column has the URLs, as VARCHAR",
            columns[0].name
        )));
    }
    Ok(prepared)
}

impl Work {
    /// Writes rows as they come, for a while. Returns the report of a crawl that has ended.
    fn steps(&mut self, caller: &CallerSession) -> Result<Option<CrawlReport>, SqlError> {
        let since = Instant::now();
        while since.elapsed() < STRETCH && !caller.is_interrupted() {
            match self.crawling.next()? {
                NextRows::Delivered(delivery) => self.take(delivery)?,
                NextRows::Nothing => {
                    self.write()?;
                    break;
                }
                NextRows::Ended(report) => {
                    self.write()?;
                    return Ok(Some(*report));
                }
            }
        }
        Ok(None)
    }

    /// Collects rows until the batch is full or its first row has waited long enough. The worker
    /// continues meanwhile. A kill loses the collected rows; the next crawl fetches their pages
    /// again.
    fn take(&mut self, mut delivery: RowDelivery) -> Result<(), SqlError> {
        let bodies = delivery.rows.iter().filter_map(|row| row.page.as_deref()?.body.as_deref());
        self.bytes += bodies.map(<[u8]>::len).sum::<usize>();
        self.rows.append(&mut delivery.rows);
        self.left.append(&mut delivery.left);
        delivery.accept();
        let first = *self.first.get_or_insert_with(Instant::now);
        if is_enough(self.rows.len(), self.bytes, first.elapsed()) { self.write() } else { Ok(()) }
    }

    /// Writes the collected rows as one transaction.
    fn write(&mut self) -> Result<(), SqlError> {
        (self.first, self.bytes) = (None, 0);
        let (rows, left) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.left));
        if !rows.is_empty() {
            let rules = self.rules.get_or_insert_with(|| self.crawling.rules());
            self.written += self.target.write(&rows, rules)?;
        }
        self.written += self.target.write_left(&left)?;
        Ok(())
    }
}

/// Whether a batch is written now.
fn is_enough(rows: usize, bytes: usize, waited: Duration) -> bool {
    rows >= BATCH_MOST || bytes >= BATCH_BYTES || rows >= BATCH && waited >= RUSH || waited >= WAIT
}

fn answer(out: &mut Chunk<'_>, target: &TableName, written: Written, report: Option<&CrawlReport>) {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    out.text(0, 0, &target.quoted());
    out.bigint(1, 0, count(written.inserted));
    out.bigint(2, 0, count(written.updated));
    out.bigint(3, 0, count(report.map_or(0, |report| report.fetched)));
    out.bigint(4, 0, count(report.map_or(0, |report| report.requests.values().sum())));
    out.bigint(5, 0, count(report.map_or(0, |report| report.queued)));
    out.text(6, 0, report.map_or("complete", |report| report.ended));
    match report.and_then(|report| report.resume_after.as_deref()) {
        Some(after) => out.text(7, 0, after),
        None => out.null(7, 0),
    }
    out.double(8, 0, report.map_or(0.0, |report| report.took.as_secs_f64()));
    out.set_len(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_by_the_hundred_and_more_together_in_a_rush() {
        let check = |rows, bytes, waited, written| {
            assert_eq!(is_enough(rows, bytes, Duration::from_millis(waited)), written, "{rows}");
        };
        check(1, 0, 99, false);
        check(1, 0, 100, true);
        check(99, 0, 60, false);
        check(100, 0, 60, true);
        check(100, 0, 49, false);
        check(999, 0, 49, false);
        check(1000, 0, 10, true);
        check(9, BATCH_BYTES, 10, true);
    }
}
