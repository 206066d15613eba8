//! `crawl_why(url, …)`: what a crawl would do with a URL now, and what every gate says about it.
//! Sends nothing.

use curtsy_core::evidence::timestamp;
use curtsy_core::host::{Action, Verdict};
use curtsy_core::time::Time;
use curtsy_crawl::{Explained, explain_job, would_do};

use super::listing::{Listing, UrlsCall};
use crate::duck::{Bind, Chunk, SqlError, Type};
use crate::order::{Seeds, sql_error};
use crate::task::StopSignal;

/// `crawl_why(url, …)`.
pub(crate) struct CrawlWhy;

/// The name of a gate or `action`, its verdict, until when, and why.
type Explanation = (&'static str, &'static str, Option<i64>, String);

impl Listing for CrawlWhy {
    const NAME: &'static str = "crawl_why";
    const URLS: Type = Type::Varchar;
    const COLUMNS: &'static [(&'static str, Type)] = &[
        ("gate", Type::Varchar),
        ("verdict", Type::Varchar),
        ("not_before", Type::Timestamp),
        ("why", Type::Varchar),
    ];
    type Row = Explanation;

    fn call(bind: &Bind<'_>) -> Result<UrlsCall, SqlError> {
        UrlsCall::read(bind, Seeds::all)
    }

    /// The action first, then every gate.
    fn rows(call: UrlsCall, _: StopSignal) -> Result<Vec<Explanation>, SqlError> {
        let (job, mut ledger) = (&call.order.job, call.order.open_ledger()?);
        let explained = explain_job(&mut ledger, job, &job.seeds[0]).map_err(sql_error)?;
        let gates = explained.gates.iter().map(|(gate, verdict, why)| {
            let (word, until) = match verdict {
                Verdict::Go => ("go", None),
                Verdict::NotBefore(at) => ("not_before", micros(*at)),
                Verdict::Never => ("never", None),
            };
            (gate.name(), word, until, why.clone())
        });
        Ok(std::iter::once(action(&explained)).chain(gates).collect())
    }

    fn write(out: &mut Chunk<'_>, line: usize, (gate, verdict, until, why): Explanation) {
        out.text(0, line, gate);
        out.text(1, line, verdict);
        out.or_null(2, line, until, Chunk::timestamp);
        out.text(3, line, &why);
    }
}

fn micros(at: Time) -> Option<i64> {
    i64::try_from(at.micros()).ok()
}

fn action(explained: &Explained) -> Explanation {
    let (verdict, until, why) = match &explained.decision.action {
        Action::Refuse(gate) => ("never", None, format!("the {} gate refuses it", gate.name())),
        Action::UseCached => ("go", None, "needs no request".to_owned()),
        Action::Wait(until, gate) => {
            let why = format!("waits until {} for {}", timestamp(*until), gate.name());
            ("not_before", micros(*until), why)
        }
        Action::Approach(approach) => {
            let why = would_do(approach);
            match approach.turn > explained.now {
                true => ("not_before", micros(approach.turn), why),
                false => ("go", None, why),
            }
        }
    };
    ("action", verdict, until, why)
}
