//! `crawl_plan(url, …)`: what a crawl of a site would take, how long, and which pages first. Asks for robots.txt and sitemaps only.

use curtsy_crawl::{Plan, list_sitemaps};

use crate::duck::{Bind, Chunk, Fault, TableFunction, Type};
use crate::order::{Asked, Options, Seeds, Session, asked, fault};
use crate::task::{Task, Unseen};

/// `crawl_plan(url, …)`.
pub(crate) struct CrawlPlan;

/// A site for which a plan is wanted.
pub(crate) struct Bound {
    asked: Asked,
}

/// The plan being made, and then told.
pub(crate) struct Running {
    task: Option<Task<Result<Plan, Fault>>>,
    plan: Option<Plan>,
    next: usize,
}

impl TableFunction for CrawlPlan {
    const NAME: &'static str = "crawl_plan";
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Varchar]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        for (name, kind) in [
            ("position", Type::Bigint),
            ("kind", Type::Varchar),
            ("url", Type::Varchar),
            ("pages_listed", Type::Bigint),
            ("pages_planned", Type::Bigint),
            ("delay_seconds", Type::Double),
            ("delay_by", Type::Varchar),
            ("planned_seconds", Type::Double),
            ("all_seconds", Type::Double),
        ] {
            bind.column(name, kind);
        }
        let seeds = Seeds::all(&bind.argument(0))?;
        let mut asked =
            asked(&Options::of_call(bind), &Session::of(bind), seeds)?.naming(&bind.argument(0));
        // What robots.txt names counts for every address of the site.
        asked.job.discovery.follow_sitemaps = true;
        asked.job.discovery.sitemaps_of_sites = false;
        Ok(Bound { asked })
    }

    fn start(bound: &Bound) -> Result<Running, Fault> {
        let job = bound.asked.job.clone();
        let task = Task::start(move |stop| {
            let asked = async || {
                stop.notified().await;
                Ok(())
            };
            let (listed, _) = list_sitemaps(&job, &mut Unseen, asked).map_err(fault)?;
            Plan::new(&job, &listed).map_err(fault)
        })?;
        Ok(Running { task: Some(task), plan: None, next: 0 })
    }

    fn fill(_: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        if let Some(task) = &mut running.task {
            match task.done(out)? {
                Some(plan) => running.plan = Some(plan?),
                None => return Ok(()),
            }
            running.task = None;
        }
        let Some(plan) = &running.plan else {
            return Ok(());
        };
        // A site that lists nothing has one row, which says so.
        let rows = plan.chosen.len().max(1);
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let mut line = 0;
        while line < out.capacity() && running.next < rows {
            out.bigint(0, line, count(running.next + 1));
            match plan.chosen.get(running.next) {
                Some((kind, url)) => {
                    out.text(1, line, kind);
                    out.text(2, line, url);
                }
                None => {
                    out.null(1, line);
                    out.null(2, line);
                }
            }
            out.bigint(3, line, i64::try_from(plan.listed).unwrap_or(i64::MAX));
            out.bigint(4, line, count(plan.chosen.len()));
            out.double(5, line, plan.delay.as_secs_f64());
            // As the table of pages calls them.
            out.text(6, line, if plan.delay_by.is_none() { "floor" } else { "robots" });
            out.double(7, line, plan.chosen_take.as_secs_f64());
            out.double(8, line, plan.all_take.as_secs_f64());
            running.next += 1;
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}
