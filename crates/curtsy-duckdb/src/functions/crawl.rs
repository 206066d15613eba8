//! `crawl(urls, …)`: pages as rows, as they come.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::url::UrlKey;
use curtsy_crawl::Left;
use curtsy_engine::{Ending, Row};
use curtsy_sink::Rules;

use crate::crawling::{Crawling, Held, Next};
use crate::duck::{Bind, Caller, Chunk, Fault, TableFunction, Type};
use crate::order::{Asked, Options, Seeds, Session, asked};
use crate::table::{COLUMNS, Page, write};

/// `crawl(urls, …)`.
pub(crate) struct Crawl;

/// A crawl that was asked for.
pub(crate) struct Bound {
    asked: Asked,
    malformed: Vec<String>,
    caller: Caller,
}

/// A crawl at work, and what came of it that the query has not taken yet.
pub(crate) struct Running {
    crawling: Option<Crawling>,
    rows: VecDeque<Arc<Row>>,
    /// Pages that were refused.
    refused: HashSet<UrlKey>,
    malformed: VecDeque<String>,
    left: VecDeque<Left>,
    rules: Option<Rules>,
    columns: Vec<usize>,
}

impl TableFunction for Crawl {
    const NAME: &'static str = "crawl";
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Any]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        for (name, kind) in COLUMNS {
            bind.column(name, kind);
        }
        let options = Options::of_call(bind);
        if options.flag("update_stale")? == Some(true) {
            return Err(Fault::from(
                "crawl() has no table whose rows could be stale\nhint: `CRAWL (…) INTO t WITH (update_stale true)` or `crawl_into('t', …, update_stale := true)`",
            ));
        }
        let seeds = Seeds::of(&bind.argument(0))?;
        let asked = asked(&options, &Session::of(bind), seeds.urls)?.naming(&bind.argument(0));
        Ok(Bound { asked, malformed: seeds.malformed, caller: bind.caller() })
    }

    fn start(bound: &Bound) -> Result<Running, Fault> {
        let crawling = match bound.asked.job.seeds.is_empty() {
            true => None,
            false => {
                let caller = bound.caller.clone();
                Some(Crawling::start(&bound.asked, Vec::new(), Held::new(), caller)?)
            }
        };
        Ok(Running {
            crawling,
            rows: VecDeque::new(),
            refused: HashSet::new(),
            malformed: bound.malformed.iter().cloned().collect(),
            left: VecDeque::new(),
            rules: None,
            columns: (0..COLUMNS.len()).collect(),
        })
    }

    fn fill(_: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        while running.rows.is_empty() && running.malformed.is_empty() && running.left.is_empty() {
            let Some(crawling) = &mut running.crawling else {
                out.set_len(0);
                return Ok(());
            };
            match crawling.next()? {
                Next::Rows(mut delivery) => {
                    let pages = delivery.rows.drain(..).filter(|row| row.kind == AskKind::Page);
                    let refused = &mut running.refused;
                    // A refusal may be told by each worker that comes to it: once is enough.
                    let once = |row: &Arc<Row>| match row.ending {
                        Ending::Refused(_) => refused.insert(row.id),
                        _ => true,
                    };
                    running.rows.extend(pages.filter(once));
                    running.left.extend(delivery.left.drain(..));
                    delivery.keep();
                }
                Next::Over(_) => running.crawling = None,
                Next::Nothing => {
                    out.not_yet(Duration::ZERO);
                    return Ok(());
                }
            }
        }
        if running.rules.is_none() {
            running.rules = running.crawling.as_ref().map(Crawling::rules);
        }
        let mut none = Rules::new(None);
        let rules = running.rules.as_mut().unwrap_or(&mut none);
        let mut line = 0;
        while line < out.capacity()
            && let Some(text) = running.malformed.pop_front()
        {
            write(out, line, &running.columns, &Page::Malformed(&text), rules);
            line += 1;
        }
        while line < out.capacity()
            && let Some(row) = running.rows.pop_front()
        {
            write(out, line, &running.columns, &Page::Row(&row), rules);
            line += 1;
        }
        while line < out.capacity()
            && let Some(left) = running.left.pop_front()
        {
            write(out, line, &running.columns, &Page::Left(&left), rules);
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}
