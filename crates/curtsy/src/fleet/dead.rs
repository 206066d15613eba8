//! Dead letters and rejected URLs: which URLs failed for good, and why. A sitemap that failed is a
//! line of the log.

use std::cell::Cell;
use std::rc::Rc;

use curtsy_core::evidence::{event_id, timestamp};
use curtsy_core::host::{AskKind, Friction, Outcome};
use curtsy_core::policy::Policy;
use curtsy_engine::{Batch, Boxed, Ending, Row, Sink, SinkError};
use curtsy_sink::Cause;
use curtsy_store::redis::{Letter, Letters, RedisLink, WireError};
use serde_json::json;

use super::{FleetLog, QueueNames};

/// Dead letters go to one list, URLs that no worker survives to another.
pub(super) struct DeadLetters<'l> {
    dead: Letters<RedisLink>,
    rejected: Letters<RedisLink>,
    put: Cell<u64>,
    poison: Cell<u64>,
    policy: &'l Policy,
    log: &'l FleetLog,
}

impl<'l> DeadLetters<'l> {
    pub(super) fn new(
        link: &Rc<RedisLink>,
        names: &QueueNames,
        policy: &'l Policy,
        log: &'l FleetLog,
    ) -> DeadLetters<'l> {
        DeadLetters {
            dead: Letters::new(Rc::clone(link), names.dlq_queue.clone()),
            rejected: Letters::new(Rc::clone(link), names.rejected_queue.clone()),
            put: Cell::new(0),
            poison: Cell::new(0),
            policy,
            log,
        }
    }

    /// Dead letters so far, and URLs that were rejected since nobody survived them.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.put.get(), self.poison.get())
    }

    async fn sort(&self, batch: &Batch) -> Result<(), WireError> {
        let mut dead = Vec::new();
        let mut poison = Vec::new();
        for row in &batch.rows {
            match reason(row) {
                Some(DeadReason::Dead(why)) => dead.push(letter(row, &why, self.policy)),
                Some(DeadReason::Poison(why)) => poison.push(letter(row, &why, self.policy)),
                None => {}
            }
        }
        if !dead.is_empty() {
            self.put.set(self.put.get() + self.dead.put(&dead).await?);
        }
        if !poison.is_empty() {
            self.poison.set(self.poison.get() + self.rejected.put(&poison).await?);
        }
        for (row, why) in batch.rows.iter().filter_map(|row| Some((row, failed_sitemap(row)?))) {
            let fields = [("host", row.url.host().as_str().into()), ("why", why.into())];
            self.log.warn("sitemap_failed", "a sitemap could not be had", &fields);
        }
        Ok(())
    }
}

impl Sink for DeadLetters<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let rows = batch.rows.len();
            self.sort(batch).await.map_err(|e| SinkError { rows, why: format!("redis: {e}") })
        })
    }
}

/// Why a URL came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DeadReason {
    /// A failure of its own that stays.
    Dead(String),
    /// Whoever asked for it died.
    Poison(String),
}

/// Returns why a row is a dead letter; none if it is no failure. A refusal by robots.txt is no
/// failure, nor is a host that is down.
fn reason(row: &Row) -> Option<DeadReason> {
    if row.kind != AskKind::Page || row.webpage().is_some() {
        return None;
    }
    Some(DeadReason::Dead(match &row.ending {
        Ending::Dead(outcome) => outcome_text(outcome, row),
        Ending::LostRedirect => "redirects that lead nowhere, or too many of them".into(),
        Ending::Fetched(outcome) => outcome_text(outcome, row),
        Ending::Unheard => {
            return Some(DeadReason::Poison(format!(
                "nothing was heard of {} workers that asked for it",
                row.tries
            )));
        }
        // A login is nothing that failed: nobody has to look after it.
        Ending::Cached | Ending::Refused(_) | Ending::LoginWall(_) => return None,
    }))
}

/// Why a sitemap could not be had, if it could not. It is tried again when it is queued again.
fn failed_sitemap(row: &Row) -> Option<String> {
    if row.kind != AskKind::Sitemap {
        return None;
    }
    Some(match &row.ending {
        Ending::Fetched(Outcome::Answered { status: 200..=299 | 304, friction: None, .. })
        | Ending::Cached => return None,
        Ending::Fetched(outcome) | Ending::Dead(outcome) => outcome_text(outcome, row),
        Ending::Refused(gate) => format!("refused by the gate `{}`", gate.name()),
        Ending::LostRedirect => "redirects that lead nowhere, or too many of them".into(),
        Ending::LoginWall(_) => "the site wants a login for it".into(),
        Ending::Unheard => format!("nothing was heard of {} workers that asked for it", row.tries),
    })
}

/// What came of a URL, in words.
fn outcome_text(outcome: &Outcome, row: &Row) -> String {
    match outcome {
        Outcome::Answered { friction: Some(Friction::Challenge), status, .. } => {
            format!("a bot wall (HTTP {status}); it is not climbed")
        }
        Outcome::Answered { status, .. } => format!("HTTP {status}"),
        Outcome::Failed(_) | Outcome::NotSent => {
            let host = row.final_url.host();
            let cause = Cause::of_outcome(outcome, host, row.page.as_deref(), None);
            cause.map_or_else(|| "failed".to_owned(), |cause| cause.to_string())
        }
    }
}

/// How often a URL was asked for. A row counts the tries before its last; one that ended without a
/// further try counts all of them.
fn times_asked(row: &Row, policy: &Policy) -> u8 {
    if let Ending::Dead(Outcome::Failed(problem)) = row.ending
        && problem.is_refusal()
    {
        return 0;
    }
    let most = policy.for_host(row.final_url.host().as_str()).retry.max.saturating_add(1);
    match row.ending {
        Ending::Unheard => row.tries,
        _ => row.tries.saturating_add(1).min(most.max(row.tries)),
    }
}

fn letter(row: &Row, why: &str, policy: &Policy) -> Letter {
    let id = event_id(row.spelt(), row.wish_number());
    let reason = json!({
        "reason": why,
        "final_url": row.final_url.as_str(),
        "redirects": row.redirects,
        "tries": times_asked(row, policy),
        "at": timestamp(row.at),
    });
    // The event's name comes first: what is told again begins with the same.
    let rest = reason.to_string();
    Letter {
        entry: row.spelt().as_bytes().to_vec(),
        mark: format!("{{\"event_id\":\"{id}\","),
        reason: rest.trim_start_matches('{').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use curtsy_core::policy::Preset;
    use curtsy_store::redis::{Empty, LinkOptions};
    use curtsy_testkit::services::Redis;
    use curtsy_testkit::sink::{KeptRow, SinkKind, SinkRig, keep_the_contract};
    use redis::Commands;

    use super::*;

    /// The lists of a Redis that is empty at first.
    struct InRedis {
        url: String,
        policy: Policy,
        log: FleetLog,
    }

    impl InRedis {
        fn new(server: &Redis) -> InRedis {
            let (policy, log) = (Policy::preset(Preset::Fleet), FleetLog::to_stderr());
            let rig = InRedis { url: server.url(), policy, log };
            let _: () = redis::cmd("FLUSHALL").query(&mut rig.db()).unwrap();
            rig
        }

        fn db(&self) -> redis::Connection {
            redis::Client::open(&*self.url).unwrap().get_connection().unwrap()
        }
    }

    impl SinkRig for InRedis {
        fn keeps(&self) -> SinkKind {
            SinkKind::Failures
        }

        fn open(&self) -> Box<dyn Sink + '_> {
            let options = LinkOptions { empty: Empty::New, ..LinkOptions::default() };
            let link = Rc::new(RedisLink::new(&self.url, options).unwrap());
            Box::new(DeadLetters::new(&link, &QueueNames::default(), &self.policy, &self.log))
        }

        fn kept(&self) -> Vec<KeptRow> {
            let letters: Vec<String> =
                self.db().lrange(QueueNames::default().dlq_queue, 0, -1).unwrap();
            letters.into_iter().map(|url| KeptRow { url, ..KeptRow::default() }).collect()
        }
    }

    #[test]
    fn dead_letters_keep_the_contract() {
        let server = Redis::forgetful();
        keep_the_contract(|| InRedis::new(&server));
    }
}
