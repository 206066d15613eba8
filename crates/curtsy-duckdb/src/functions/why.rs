//! `crawl_why(url, …)`: what a crawl would do with a URL now, and what every gate says to it. Nothing is asked.

use std::collections::VecDeque;

use curtsy_core::evidence::timestamp;
use curtsy_core::host::{Action, RequestKind, Verdict};
use curtsy_crawl::{Explained, explain_job};
use curtsy_store::{Ledger, Machine, Options as StoreOptions};

use crate::duck::{Bind, Chunk, Fault, TableFunction, Type};
use crate::order::{Asked, Options, Seeds, Session, asked, fault};

/// `crawl_why(url, …)`.
pub(crate) struct CrawlWhy;

/// What is told: which gate, its verdict, until when, and why.
type Told = (String, &'static str, Option<i64>, String);

impl TableFunction for CrawlWhy {
    const NAME: &'static str = "crawl_why";
    type Bound = Asked;
    type Running = VecDeque<Told>;

    fn positional() -> Vec<Type> {
        vec![Type::Varchar]
    }

    fn named() -> Vec<(&'static str, Type)> {
        super::options()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Asked, Fault> {
        bind.column("gate", Type::Varchar);
        bind.column("verdict", Type::Varchar);
        bind.column("not_before", Type::Timestamp);
        bind.column("why", Type::Varchar);
        let seeds = Seeds::all(&bind.argument(0))?;
        asked(&Options::of_call(bind), &Session::of(bind), seeds)
    }

    fn start(asked: &Asked) -> Result<VecDeque<Told>, Fault> {
        let job = &asked.job;
        let quiet = StoreOptions::default().quiet;
        let mut ledger =
            Ledger::open(job.ledger_file().map_err(fault)?, Machine, quiet).map_err(fault)?;
        let explained = explain_job(&mut ledger, job, &job.seeds[0]).map_err(fault)?;
        Ok(told(&explained).collect())
    }

    fn fill(_: &Asked, told: &mut VecDeque<Told>, out: &mut Chunk<'_>) -> Result<(), Fault> {
        let mut line = 0;
        while line < out.capacity()
            && let Some((gate, verdict, until, why)) = told.pop_front()
        {
            out.text(0, line, &gate);
            out.text(1, line, verdict);
            match until {
                Some(micros) => out.timestamp(2, line, micros),
                None => out.null(2, line),
            }
            out.text(3, line, &why);
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}

/// The action first, then every gate.
fn told(explained: &Explained) -> impl Iterator<Item = Told> {
    let gates = explained.gates.iter().map(|(gate, verdict, why)| {
        let (word, until) = match verdict {
            Verdict::Go => ("go", None),
            Verdict::NotBefore(at) => ("not_before", i64::try_from(at.micros()).ok()),
            Verdict::Never => ("never", None),
        };
        (gate.name().to_owned(), word, until, why.clone())
    });
    std::iter::once(action(explained)).chain(gates)
}

fn action(explained: &Explained) -> Told {
    let micros = |at: curtsy_core::time::Time| i64::try_from(at.micros()).ok();
    let (verdict, until, why) = match &explained.decision.action {
        Action::Refuse(gate) => ("never", None, format!("the {} gate refuses it", gate.name())),
        Action::UseCached => ("go", None, "needs no request".to_owned()),
        Action::Wait(until, gate) => {
            let why = format!("waits until {} for {}", timestamp(*until), gate.name());
            ("not_before", micros(*until), why)
        }
        Action::Approach(approach) => {
            let why = match approach.kind {
                RequestKind::Robots => format!("would first ask for {}", approach.url.as_str()),
                RequestKind::Probe => {
                    "would first see whether the host is back (HEAD /)".to_owned()
                }
                _ => "would be fetched".to_owned(),
            };
            match approach.turn > explained.now {
                true => ("not_before", micros(approach.turn), why),
                false => ("go", None, why),
            }
        }
    };
    ("action".to_owned(), verdict, until, why)
}
