//! `sitemap(url, …)`: what the sitemaps of a site list.

use std::collections::VecDeque;

use curtsy_crawl::list_sitemaps;
use curtsy_sink::read::SitemapUrl;

use crate::duck::{Bind, Chunk, Fault, TableFunction, Type};
use crate::order::{Asked, Options, Seeds, Session, asked, fault};
use crate::task::{Task, Unseen};

/// `sitemap(url, …)`.
pub(crate) struct Sitemap;

/// A site that is asked for its sitemaps.
pub(crate) struct Bound {
    asked: Asked,
}

/// The sitemaps being read, and then what they list.
pub(crate) struct Running {
    task: Option<Task<Result<Vec<SitemapUrl>, Fault>>>,
    urls: VecDeque<SitemapUrl>,
}

impl TableFunction for Sitemap {
    const NAME: &'static str = "sitemap";
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Any]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        bind.column("url", Type::Varchar);
        bind.column("lastmod", Type::Timestamp);
        bind.column("changefreq", Type::Varchar);
        bind.column("priority", Type::Double);
        bind.column("sitemap", Type::Varchar);
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
            list_sitemaps(&job, &mut Unseen, asked).map(|(listed, _)| listed).map_err(fault)
        })?;
        Ok(Running { task: Some(task), urls: VecDeque::new() })
    }

    fn fill(_: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        if let Some(task) = &mut running.task {
            match task.done(out)? {
                Some(urls) => running.urls = urls?.into(),
                None => return Ok(()),
            }
            running.task = None;
        }
        let mut line = 0;
        while line < out.capacity()
            && let Some(listed) = running.urls.pop_front()
        {
            out.text(0, line, &listed.url);
            let lastmod = listed.lastmod.and_then(|at| i64::try_from(at.micros()).ok());
            out.or_null(1, line, lastmod, Chunk::timestamp);
            out.or_null(2, line, listed.changefreq.as_deref(), Chunk::text);
            out.or_null(3, line, listed.priority, Chunk::double);
            out.text(4, line, &listed.sitemap);
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}
