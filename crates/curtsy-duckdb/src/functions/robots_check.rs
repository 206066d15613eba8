//! `robots_check(urls, …)`: what robots.txt says of URLs: verdict, line, delay. Asks for robots.txt and for nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use curtsy_core::host::Verdict;
use curtsy_core::url::UrlKey;
use curtsy_crawl::{SeedsAre, explain};
use curtsy_engine::{Ending, Row};
use curtsy_sink::{Facts, Rules};
use curtsy_store::{Ledger, Machine, Options as StoreOptions};

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
    rows: HashMap<UrlKey, Arc<Row>>,
    rules: Option<Rules>,
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
        let mut asked = asked(&Options::of_call(bind), &Session::of(bind), seeds.urls)?;
        asked.job.seeds_are = SeedsAre::Rules;
        asked.job.discovery.follow_sitemaps = false;
        // Whoever can't be reached now is told as such, and not waited for.
        let mut policy = (*asked.job.policy).clone();
        policy.patience = Some(std::time::Duration::ZERO);
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
        Ok(Running { crawling, rows: HashMap::new(), rules: None, answers })
    }

    fn fill(bound: &Bound, running: &mut Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        while let Some(crawling) = &mut running.crawling {
            match crawling.next()? {
                Next::Rows(delivery) => {
                    let rows = delivery.rows.iter().map(|row| (row.id, Arc::clone(row)));
                    running.rows.extend(rows);
                    running.rules.get_or_insert_with(|| crawling.rules());
                    delivery.keep();
                }
                Next::Nothing => {
                    out.not_yet(std::time::Duration::ZERO);
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
        let mut ledger = Ledger::open(&job.ledger, Machine, quiet).map_err(fault)?;
        let mut none = Rules::new(None);
        for url in &job.seeds {
            let explained = explain(&mut ledger, &job.policy, url).map_err(fault)?;
            let of_robots = explained.gates.iter().find(|(gate, ..)| gate.name() == "robots");
            let (told, why) = of_robots
                .map_or((Verdict::Go, String::new()), |(_, told, why)| (*told, why.clone()));
            let row = self.rows.get(&url.key());
            let facts = row.map(|row| Facts::of(row));
            let allowed = match row.map(|row| &row.ending) {
                Some(Ending::Cached) => Some(told == Verdict::Go),
                Some(Ending::Refused(_)) => Some(false),
                _ => None,
            };
            let line = facts.as_ref().and_then(|facts| facts.robots?.1);
            let file = facts.as_ref().and_then(|facts| Some(facts.robots?.0));
            let rules = self.rules.as_mut().unwrap_or(&mut none);
            self.answers.push_back(Answer {
                url: url.as_str().to_owned(),
                allowed,
                verdict: match allowed {
                    Some(true) => "allowed",
                    Some(false) => "disallowed",
                    None => "unreachable",
                },
                rule: file.zip(line).and_then(|(f, l)| rules.rule(f, l)).map(|r| r.to_string()),
                line,
                delay: facts.as_ref().and_then(|f| Some(f.delay_ms? as f64 / 1000.0)),
                delay_by: facts.as_ref().and_then(|facts| facts.delay_by),
                robots_url: Some(url.authority().robots_url().as_str().to_owned()),
                why,
            });
        }
        Ok(())
    }
}

impl Answer {
    fn write(&self, out: &mut Chunk<'_>, line: usize) {
        let text = |out: &mut Chunk<'_>, at: usize, text: Option<&str>| match text {
            Some(text) => out.text(at, line, text),
            None => out.null(at, line),
        };
        text(out, 0, Some(&self.url));
        match self.allowed {
            Some(allowed) => out.boolean(1, line, allowed),
            None => out.null(1, line),
        }
        text(out, 2, Some(self.verdict));
        text(out, 3, self.rule.as_deref());
        match self.line.and_then(|number| i32::try_from(number).ok()) {
            Some(number) => out.integer(4, line, number),
            None => out.null(4, line),
        }
        match self.delay {
            Some(delay) => out.double(5, line, delay),
            None => out.null(5, line),
        }
        text(out, 6, self.delay_by);
        text(out, 7, self.robots_url.as_deref());
        text(out, 8, Some(&self.why));
    }
}
