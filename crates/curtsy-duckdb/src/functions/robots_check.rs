//! `robots_check(urls, …)`: what robots.txt says of URLs: verdict, line, delay. Asks for robots.txt and for nothing else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Gate;
use curtsy_crawl::{SeedsAre, explain};
use curtsy_store::{Ledger, Options as StoreOptions, SystemClock};

use crate::crawling::{Crawling, Held, Next};
use crate::duck::{Bind, Caller, Chunk, Fault, TableFunction, Type};
use crate::order::{Asked, Options, Seeds, Session, asked, fault};

/// `robots_check(urls, …)`.
pub(crate) struct RobotsCheck;

/// URLs whose robots.txt is asked.
pub(crate) struct Bound {
    asked: Asked,
    malformed: Vec<String>,
    caller: Caller,
}

/// Robots being asked, and then what they say.
pub(crate) struct Running {
    crawling: Option<Crawling>,
    answers: VecDeque<Answer>,
}

/// What a robots.txt says of a URL.
struct Answer {
    url: String,
    allowed: Option<bool>,
    verdict: &'static str,
    rule: Option<String>,
    line: Option<u32>,
    delay: Option<f64>,
    delay_by: Option<&'static str>,
    robots_url: Option<String>,
    why: String,
}

impl TableFunction for RobotsCheck {
    const NAME: &'static str = "robots_check";
    type Bound = Bound;
    type Running = Running;

    fn positional() -> Vec<Type> {
        vec![Type::Any]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Bound, Fault> {
        for (name, kind) in [
            ("url", Type::Varchar),
            ("allowed", Type::Boolean),
            ("verdict", Type::Varchar),
            ("rule", Type::Varchar),
            ("line", Type::Integer),
            ("delay_seconds", Type::Double),
            ("delay_by", Type::Varchar),
            ("robots_url", Type::Varchar),
            ("why", Type::Varchar),
        ] {
            bind.column(name, kind);
        }
        let seeds = Seeds::of(&bind.argument(0))?;
        let mut asked = asked(&Options::of_call(bind), &Session::of(bind), seeds.urls)?
            .naming(&bind.argument(0));
        asked.job.seeds_are = SeedsAre::Rules;
        asked.job.discovery.follow_sitemaps = false;
        // Whoever can't be reached now is told as such, and not waited for.
        let mut policy = (*asked.job.policy).clone();
        policy.patience = Some(Duration::ZERO);
        asked.job.policy = Arc::new(policy);
        asked.threads = 1;
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
        let malformed = bound.malformed.iter().map(|text| Answer {
            url: text.clone(),
            allowed: None,
            verdict: "malformed_url",
            rule: None,
            line: None,
            delay: None,
            delay_by: None,
            robots_url: None,
            why: "this is no URL that can be crawled".to_owned(),
        });
        let answers = malformed.collect();
        Ok(Running { crawling, answers })
    }

    fn fill(bound: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        while let Some(crawling) = &mut running.crawling {
            match crawling.next()? {
                // What was learnt is in the ledger.
                Next::Rows(delivery) => delivery.keep(),
                Next::Nothing => {
                    out.not_yet(Duration::ZERO);
                    return Ok(());
                }
                Next::Over(_) => {
                    running.crawling = None;
                    running.answer(&bound.asked)?;
                }
            }
        }
        let mut line = 0;
        while line < out.capacity()
            && let Some(answer) = running.answers.pop_front()
        {
            answer.write(out, line);
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}

impl Running {
    /// One answer for each URL, in the order in which they were given.
    fn answer(&mut self, asked: &Asked) -> Result<(), Fault> {
        let job = &asked.job;
        let quiet = StoreOptions::default().quiet;
        let mut ledger =
            Ledger::open(job.ledger_file().map_err(fault)?, SystemClock, quiet).map_err(fault)?;
        for url in &job.seeds {
            let explained = explain(&mut ledger, &job.policy, url).map_err(fault)?;
            let of_robots = explained.gates.iter().find(|(gate, ..)| *gate == Gate::Robots);
            let allowed = explained.allowed();
            let by = if explained.delay_by.is_some() { "robots" } else { "floor" };
            let (line, rule) = explained.rule.unzip();
            self.answers.push_back(Answer {
                url: url.as_str().to_owned(),
                allowed,
                verdict: match allowed {
                    Some(true) => "allowed",
                    Some(false) => "disallowed",
                    None => "unreachable",
                },
                rule,
                line,
                delay: allowed.map(|_| explained.delay.as_secs_f64()),
                delay_by: allowed.map(|_| by),
                robots_url: Some(url.authority().robots_url().as_str().to_owned()),
                why: of_robots.map_or(String::new(), |(_, _, why)| why.clone()),
            });
        }
        Ok(())
    }
}

impl Answer {
    fn write(&self, out: &mut Chunk<'_>, line: usize) {
        out.text(0, line, &self.url);
        out.or_null(1, line, self.allowed, Chunk::boolean);
        out.text(2, line, self.verdict);
        out.or_null(3, line, self.rule.as_deref(), Chunk::text);
        let number = self.line.and_then(|number| i32::try_from(number).ok());
        out.or_null(4, line, number, Chunk::integer);
        out.or_null(5, line, self.delay, Chunk::double);
        out.or_null(6, line, self.delay_by, Chunk::text);
        out.or_null(7, line, self.robots_url.as_deref(), Chunk::text);
        out.text(8, line, &self.why);
    }
}
