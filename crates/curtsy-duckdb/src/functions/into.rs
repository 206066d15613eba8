//! `crawl_into(table, query_or_urls, …)` and the statement `CRAWL (query) INTO table WITH (…)`: pages into a table, batch by batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_crawl::{Left, Report};
use curtsy_engine::Row;
use curtsy_engine::discover::Discovery;
use curtsy_sink::Rules;

use crate::crawling::{Crawling, Delivery, Next};
use crate::duck::{
    Argument, Bind, Caller, Chunk, Connection, Fault, Kind, Prepared, TableFunction,
    Target as TableName, Type, missing_statement,
};
use crate::order::{Options, Seeds, Session, asked, fault};
use crate::target::{Target, Written};

/// Rows that are written together.
const BATCH: usize = 100;
/// Rows that are written together when they come faster than that: a transaction has a price of its own.
const BATCH_MOST: usize = 1000;
/// Bytes of bodies that are written together.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// How long a row waits for company.
const WAIT: Duration = Duration::from_millis(100);
/// How long a row waits for more company than a batch, while rows come that fast.
const RUSH: Duration = Duration::from_millis(50);
/// How long rows are written before DuckDB looks after the query.
const STRETCH: Duration = Duration::from_millis(200);

/// `crawl_into(table, query_or_urls, …)`.
pub(crate) struct CrawlInto;

/// What `CRAWL (query) INTO table WITH (…)` calls.
pub(crate) struct Statement;

/// A crawl into a table that was asked for.
pub(crate) struct Bound {
    target: TableName,
    from: From,
    options: Options,
    session: Session,
    caller: Caller,
}

/// Where the seeds come from.
enum From {
    Query(String),
    Urls(Argument),
}

/// A crawl into a table at work. It answers with one row when it is over.
pub(crate) enum Running {
    /// Nothing was done yet.
    Begins,
    /// It works.
    Works(Box<Work>),
    /// It has answered.
    Over,
}

/// What a crawl into a table works with.
pub(crate) struct Work {
    /// Ends before the table is let go.
    crawling: Crawling,
    target: Target,
    written: Written,
    rules: Option<Rules>,
    /// Rows that are not written yet, the bytes of their bodies, and since when they wait.
    rows: Vec<Arc<Row>>,
    bytes: usize,
    left: Vec<Left>,
    first: Option<Instant>,
}

/// What it answers.
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
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Varchar, Type::Any]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        let options = Options::of_call(bind);
        let from = match bind.argument(1) {
            Argument::Text(text) if is_query(&text) => From::Query(text),
            other => From::Urls(other),
        };
        let target = bind.argument(0);
        let target =
            target.as_text().ok_or_else(|| Fault::from("the name of the table is NULL"))?;
        Bound::new(bind, target, from, options)
    }

    fn start(_: &Bound) -> Result<Running, Fault> {
        Ok(Running::Begins)
    }

    fn fill(bound: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        bound.fill(running, out)
    }
}

impl TableFunction for Statement {
    const NAME: &'static str = "curtsy_statement";
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Varchar, Type::Varchar, Type::Texts, Type::Texts]
    }

    fn named() -> Vec<(&'static str, Type)> {
        Vec::new()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        let text = |at: usize| match bind.argument(at) {
            Argument::Text(text) => text,
            _ => String::new(),
        };
        let (query, target) = (text(0), text(1));
        let (keys, values) = (list(bind.argument(2)), list(bind.argument(3)));
        let keys = keys.into_iter().filter_map(|key| key.as_text().map(str::to_owned));
        let options = Options::of_statement(keys.zip(values).collect())?;
        Bound::new(bind, &target, From::Query(query), options)
    }

    fn start(_: &Bound) -> Result<Running, Fault> {
        Ok(Running::Begins)
    }

    fn fill(bound: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        bound.fill(running, out)
    }
}

fn list(argument: Argument) -> Vec<Argument> {
    match argument {
        Argument::List(list) => list,
        _ => Vec::new(),
    }
}

/// Whether a text is a query and not a URL.
fn is_query(text: &str) -> bool {
    let first = text.trim_start().trim_start_matches('(').trim_start();
    let word = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let words = ["select", "from", "with", "values", "table"];
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
        && first[word.len()..].starts_with(|c: char| c.is_whitespace() || c == '(')
}

impl Bound {
    fn new(
        bind: &mut Bind<'_>,
        target: &str,
        from: From,
        options: Options,
    ) -> Result<Bound, Fault> {
        for (name, kind) in ANSWER {
            bind.column(name, kind);
        }
        let caller = bind.caller();
        if !caller.has_shim() {
            let why = missing_statement().unwrap_or_default();
            return Err(Fault::from(format!(
                "a crawl can't write into a table by itself here: {why}\nhint: INSERT INTO {target} BY NAME FROM crawl(…)"
            )));
        }
        if caller.in_transaction() {
            return Err(Fault::from(
                "a crawl into a table can't be part of a transaction: what was fetched is kept batch by batch, whatever becomes of it\nhint: COMMIT first, or use INSERT INTO … BY NAME FROM crawl(…) inside the transaction",
            ));
        }
        let session = Session::of(bind);
        // What is wrong with the order is said before anything is touched.
        asked(&options, &session, Vec::new())?;
        let target = caller.resolve(target)?;
        if let From::Query(query) = &from {
            prepared(&caller.connect()?, query)?;
        }
        Ok(Bound { target, from, options, session, caller })
    }

    /// Does the next step; answers with one row when there is nothing more to do.
    fn fill(&self, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        match running {
            Running::Begins => match self.begin()? {
                (written, None) => {
                    *running = Running::Over;
                    answer(out, &self.target, written, None);
                }
                (_, Some(work)) => {
                    *running = Running::Works(work);
                    out.not_yet(Duration::ZERO);
                }
            },
            Running::Works(work) => match work.steps(&self.caller)? {
                Some(report) => {
                    answer(out, &self.target, work.written, Some(&report));
                    *running = Running::Over;
                }
                None => out.not_yet(Duration::ZERO),
            },
            Running::Over => {}
        }
        Ok(())
    }

    /// Opens the table and starts the crawl, if there is anything to crawl.
    fn begin(&self) -> Result<(Written, Option<Box<Work>>), Fault> {
        let db = self.caller.connect()?;
        let seeds = match &self.from {
            From::Query(query) => self.seeds_of(&db, query)?,
            From::Urls(urls) => Seeds::of(urls)?,
        };
        let mut asked = asked(&self.options, &self.session, seeds.urls)?;
        if let From::Urls(urls) = &self.from {
            asked = asked.naming(urls);
        }
        let mut target = Target::open(self.target.clone(), db)?;
        let written = target.write_malformed(&seeds.malformed)?;
        let (known, held) = target.held(asked.update_stale)?;
        if asked.update_stale {
            let hosts: HashSet<String> =
                asked.job.seeds.iter().map(|url| url.host().as_str().to_owned()).collect();
            asked.job.seeds.extend(target.urls_on(&hosts)?);
            asked.job.discovery.seeds = asked.job.seeds.clone();
        }
        if asked.job.discovery.follow_links && !asked.update_stale {
            // A crawl that was ended goes on from the pages that it had read. Where links lead is the seeds' to say.
            let discovery = Discovery::new(asked.job.discovery.clone()).map_err(fault)?;
            let links = target.links()?.into_iter().filter(|url| discovery.wants(url));
            asked.job.seeds.extend(links);
        }
        if asked.job.seeds.is_empty() {
            return Ok((written, None));
        }
        let crawling = Crawling::start(&asked, known, held, self.caller.clone())?;
        let (rules, rows, left, first) = (None, Vec::new(), Vec::new(), None);
        let work = Work { crawling, target, written, rules, rows, bytes: 0, left, first };
        Ok((written, Some(Box::new(work))))
    }

    /// The URLs that a query gives: its first column.
    fn seeds_of(&self, db: &Connection, query: &str) -> Result<Seeds, Fault> {
        let mut prepared = prepared(db, query)?;
        let failed = |fault| Fault(format!("in the query for URLs: {fault}"));
        let mut rows = prepared.query_unless(|| self.caller.is_interrupted()).map_err(failed)?;
        let mut seeds = Seeds::default();
        while let Some(batch) = rows.next().map_err(failed)? {
            (0..batch.len()).try_for_each(|line| seeds.add(&batch.value(0, line)?))?;
        }
        Ok(seeds)
    }
}

/// A query for URLs, if it is one.
fn prepared(db: &Connection, query: &str) -> Result<Prepared, Fault> {
    let prepared =
        db.prepare(query).map_err(|fault| Fault(format!("in the query for URLs: {fault}")))?;
    let columns = prepared.columns();
    if !prepared.is_select() || columns.is_empty() {
        return Err(Fault::from("expected a query for URLs: (SELECT url FROM …)"));
    }
    if prepared.parameters() > 0 {
        return Err(Fault::from(
            "a query for URLs can't have parameters\nhint: SET VARIABLE x = …, and getvariable('x') in the query",
        ));
    }
    if !matches!(columns[0].kind, Kind::Text | Kind::Null) {
        return Err(Fault(format!(
            "the first column of the query for URLs is `{}`, which is not text\nhint: the first column has the URLs, as VARCHAR",
            columns[0].name
        )));
    }
    Ok(prepared)
}

impl Work {
    /// Writes what comes; tells what the crawl came to when it is over. DuckDB has its thread back now and then.
    fn steps(&mut self, caller: &Caller) -> Result<Option<Report>, Fault> {
        let since = Instant::now();
        while since.elapsed() < STRETCH && !caller.is_interrupted() {
            match self.crawling.next()? {
                Next::Rows(delivery) => self.take(delivery)?,
                Next::Nothing => {
                    self.write()?;
                    break;
                }
                Next::Over(report) => {
                    self.write()?;
                    return Ok(Some(*report));
                }
            }
        }
        Ok(None)
    }

    /// Gathers rows until there are enough of them, or the first has waited long enough. Whoever fetched them goes on meanwhile: what is not
    /// written yet is lost with this process, and so is what was to be fetched.
    fn take(&mut self, mut delivery: Delivery) -> Result<(), Fault> {
        let bodies = delivery.rows.iter().filter_map(|row| row.page.as_deref()?.body.as_deref());
        self.bytes += bodies.map(<[u8]>::len).sum::<usize>();
        self.rows.append(&mut delivery.rows);
        self.left.append(&mut delivery.left);
        delivery.keep();
        let first = *self.first.get_or_insert_with(Instant::now);
        match is_enough(self.rows.len(), self.bytes, first.elapsed()) {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Writes what was gathered as one transaction.
    fn write(&mut self) -> Result<(), Fault> {
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

/// Whether rows that have waited so long are written now.
fn is_enough(rows: usize, bytes: usize, waited: Duration) -> bool {
    rows >= BATCH_MOST || bytes >= BATCH_BYTES || rows >= BATCH && waited >= RUSH || waited >= WAIT
}

fn answer(out: &mut Chunk<'_>, target: &TableName, written: Written, report: Option<&Report>) {
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
