//! `crawl(urls, …)`: pages as rows, as soon as they are fetched.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::url::UrlKey;
use curtsy_crawl::LeftPage;
use curtsy_engine::{Ending, Row};
use curtsy_sink::Rules;

use super::listing::UrlsCall;
use crate::crawling::{Crawling, HeldPages, NextRows};
use crate::duck::{Bind, Chunk, NamedParameter, SqlError, TableFunction, Type};
use crate::order::{GivenOptions, OPTIONS, Seeds};
use crate::table::{COLUMNS, PageLine, write};

/// `crawl(urls, …)`.
pub(crate) struct CrawlFunction;

/// A running crawl, and the rows that the query has not taken yet.
pub(crate) struct CrawlRun {
    crawling: Option<Crawling>,
    lines: VecDeque<QueuedLine>,
    /// Pages that were refused.
    refused: HashSet<UrlKey>,
    rules: Option<Rules>,
    columns: Vec<usize>,
}

enum QueuedLine {
    Malformed(String),
    Row(Arc<Row>),
    Left(LeftPage),
}

impl TableFunction for CrawlFunction {
    const NAME: &'static str = "crawl";
    const POSITIONAL: &'static [Type] = &[Type::Any];
    const NAMED: &'static [NamedParameter] = OPTIONS;
    const COLUMNS: &'static [(&'static str, Type)] = &COLUMNS;
    type Bound = UrlsCall;
    type Running = CrawlRun;

    fn bind(bind: &mut Bind<'_>) -> Result<UrlsCall, SqlError> {
        if GivenOptions::of_call(bind).flag("update_stale")? == Some(true) {
            return Err(SqlError::from(
                "crawl() has no table whose rows could be stale\nhint: `CRAWL (…) INTO t WITH (update_stale true)` or `crawl_into('t', …, update_stale := true)`",
            ));
        }
        Ok(UrlsCall::read(bind, Seeds::of)?.naming(bind))
    }

    fn start(call: &UrlsCall) -> Result<CrawlRun, SqlError> {
        let crawling = match call.order.job.seeds.is_empty() {
            true => None,
            false => {
                let caller = call.caller.clone();
                Some(Crawling::start(&call.order, Vec::new(), HeldPages::new(), caller)?)
            }
        };
        Ok(CrawlRun {
            crawling,
            lines: call.malformed.iter().cloned().map(QueuedLine::Malformed).collect(),
            refused: HashSet::new(),
            rules: None,
            columns: (0..COLUMNS.len()).collect(),
        })
    }

    fn fill(_: &UrlsCall, run: &mut CrawlRun, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        let CrawlRun { crawling, lines, refused, rules, columns } = run;
        while lines.is_empty()
            && let Some(work) = crawling
        {
            match work.next()? {
                NextRows::Delivered(mut delivery) => {
                    let pages = delivery.rows.drain(..).filter(|row| row.kind == AskKind::Page);
                    // Several workers may report the same refusal: one row is enough.
                    let once = |row: &Arc<Row>| match row.ending {
                        Ending::Refused(_) => refused.insert(row.id),
                        _ => true,
                    };
                    lines.extend(pages.filter(once).map(QueuedLine::Row));
                    lines.extend(delivery.left.drain(..).map(QueuedLine::Left));
                    delivery.accept();
                    rules.get_or_insert_with(|| work.rules());
                }
                NextRows::Ended(_) => *crawling = None,
                NextRows::Nothing => {
                    out.not_yet(Duration::ZERO);
                    return Ok(());
                }
            }
        }
        let none = &mut Rules::new(None);
        let rules = rules.as_mut().unwrap_or(none);
        out.fill(std::iter::from_fn(|| lines.pop_front()), |out, line, queued| {
            let page = match &queued {
                QueuedLine::Malformed(text) => PageLine::Malformed(text),
                QueuedLine::Row(row) => PageLine::Row(row),
                QueuedLine::Left(left) => PageLine::Left(left),
            };
            write(out, line, columns, &page, rules);
        });
        Ok(())
    }
}
