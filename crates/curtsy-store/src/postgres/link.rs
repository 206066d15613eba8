//! The connection to the database, owned by a thread that runs jobs on it.
//!
//! The Postgres client blocks on a runtime of its own, so it can't be called from inside another
//! runtime, where workers run. The ledger sends jobs to this thread and waits for their results,
//! for a bounded time. A thread that does not answer in time is abandoned with its connection, and
//! the next job goes to a new thread.
//!
//! The next job opens a lost connection again, unless the job belongs to a transaction: a new
//! connection knows nothing of the transaction's beginning.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, Statement};

use super::failure::PgFailure;

/// The timeout of a connection.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// The timeout of a statement, and of the wait for a lock.
pub(crate) const STATEMENT_WITHIN: Duration = Duration::from_secs(5);
/// The timeout of an answer. It is longer than that of a statement, which a reachable server
/// reports itself.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(8);
/// The timeout of a migration.
pub(crate) const MIGRATE_WITHIN: Duration = Duration::from_secs(600);
/// How long an idle transaction can block others, if its process has stopped in the middle.
pub(crate) const IDLE_WITHIN: Duration = Duration::from_secs(10);
/// The shortest pause before an unreachable server is tried again. The pause is as long as the last
/// try took.
const REST_MIN: Duration = Duration::from_millis(100);

/// Whether a job may open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connect {
    /// Yes: it is the first of its transaction, or needs none.
    IfNeeded,
    /// No: it belongs to a transaction of the open connection.
    Never,
}

/// Which timeouts apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Those of a usual statement.
    Usual,
    /// Those of a migration.
    Migration,
}

/// The connection to the database.
pub(super) struct PgLink {
    config: Config,
    /// The thread that runs jobs; `None` before the first job, and after a thread was abandoned.
    jobs: Option<Sender<PgJob>>,
    /// Until when nothing is tried, and why.
    resting: Option<(Instant, String)>,
}

type PgJob = Box<dyn FnOnce(&mut Option<PgSession>) + Send>;

impl PgLink {
    /// Returns a link that is not connected yet.
    pub(super) fn new(mut config: Config) -> PgLink {
        config.application_name("curtsy");
        config.connect_timeout(CONNECT_WITHIN);
        config.tcp_user_timeout(CONNECT_WITHIN);
        PgLink { config, jobs: None, resting: None }
    }

    /// Runs a job and waits for its result.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        connect: Connect,
        patience: Patience,
        job: impl FnOnce(&mut PgSession) -> Result<T, PgFailure> + Send + 'static,
    ) -> Result<T, PgFailure> {
        if let Some((until, why)) = &self.resting
            && connect == Connect::IfNeeded
        {
            if Instant::now() < *until {
                return Err(PgFailure::Away(why.clone()));
            }
            self.resting = None;
        }
        let asked = Instant::now();
        let (reply, replies) = channel();
        let config = self.config.clone();
        let whole: PgJob = Box::new(move |session| {
            let answer = connected(session, connect, &config)
                .and_then(|open| open.patient(patience).and_then(|()| job(open)));
            // The caller may have given up.
            let _ = reply.send(answer);
        });
        self.send(whole)?;
        let within = match patience {
            Patience::Usual => ANSWER_WITHIN,
            Patience::Migration => MIGRATE_WITHIN + ANSWER_WITHIN,
        };
        let answer = replies.recv_timeout(within).unwrap_or_else(|_| {
            self.jobs = None;
            Err(PgFailure::Away(format!("no answer within {} s", within.as_secs())))
        });
        if let Err(PgFailure::Away(why)) = &answer
            && connect == Connect::IfNeeded
        {
            let rest = asked.elapsed().max(REST_MIN);
            self.resting = Some((Instant::now() + rest, why.clone()));
        }
        answer
    }

    /// Rolls a transaction back. If that fails, the connection is closed.
    pub(super) fn roll_back(&mut self) {
        let done = self.ask(Connect::Never, Patience::Usual, |session| session.run("ROLLBACK"));
        if done.is_err() {
            self.hang_up();
        }
    }

    /// Closes the connection and forgets its prepared statements.
    pub(super) fn hang_up(&mut self) {
        self.jobs = None;
    }

    fn send(&mut self, job: PgJob) -> Result<(), PgFailure> {
        let jobs = match &self.jobs {
            Some(jobs) => jobs,
            None => {
                let (jobs, orders): (Sender<PgJob>, Receiver<PgJob>) = channel();
                let thread = std::thread::Builder::new().name("postgres".into());
                // The thread ends when the sender is dropped, after the jobs that were sent.
                thread
                    .spawn(move || {
                        let mut session = None;
                        for job in orders {
                            job(&mut session);
                        }
                    })
                    .map_err(|e| PgFailure::Away(format!("no thread for its connection: {e}")))?;
                self.jobs.insert(jobs)
            }
        };
        // If the thread has ended, the job is dropped, and so is the sender of its result.
        let _ = jobs.send(job);
        Ok(())
    }
}

fn connected<'s>(
    session: &'s mut Option<PgSession>,
    connect: Connect,
    config: &Config,
) -> Result<&'s mut PgSession, PgFailure> {
    if session.as_ref().is_some_and(|open| open.client.is_closed()) {
        *session = None;
    }
    match (session.is_some(), connect) {
        (true, _) => {}
        (false, Connect::IfNeeded) => *session = Some(PgSession::open(config)?),
        (false, Connect::Never) => return Err(PgFailure::Away("the connection was lost".into())),
    }
    Ok(session.as_mut().expect("made or found just now"))
}

/// A connection with its prepared statements.
pub(super) struct PgSession {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    patience: Patience,
}

impl PgSession {
    fn open(config: &Config) -> Result<PgSession, PgFailure> {
        let mut client = config.connect(NoTls)?;
        // An acknowledged write must be on the disk, whatever the database's default is.
        client.batch_execute(&format!(
            "SET synchronous_commit = on; SET idle_in_transaction_session_timeout = {idle};
            SET statement_timeout = {within}; SET lock_timeout = {within}",
            idle = IDLE_WITHIN.as_millis(),
            within = STATEMENT_WITHIN.as_millis(),
        ))?;
        Ok(PgSession { client, statements: HashMap::new(), patience: Patience::Usual })
    }

    fn patient(&mut self, patience: Patience) -> Result<(), PgFailure> {
        if self.patience != patience {
            let within = match patience {
                Patience::Usual => STATEMENT_WITHIN,
                Patience::Migration => MIGRATE_WITHIN,
            };
            let within = within.as_millis();
            self.run(&format!("SET statement_timeout = {within}; SET lock_timeout = {within}"))?;
            self.patience = patience;
        }
        Ok(())
    }

    /// Runs statements without parameters.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), PgFailure> {
        Ok(self.client.batch_execute(sql)?)
    }

    /// Runs statements without parameters, and returns their one row as text.
    pub(super) fn look(&mut self, sql: &str) -> Result<Option<Texts>, PgFailure> {
        let messages = self.client.simple_query(sql)?;
        let row = messages.into_iter().find_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(row.map(Texts))
    }

    /// Runs a prepared query.
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PgFailure> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query(&statement, with)?)
    }

    /// Runs a prepared statement. Returns the number of rows that it changed.
    pub(super) fn write(
        &mut self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, PgFailure> {
        let statement = self.prepared(sql)?;
        Ok(self.client.execute(&statement, with)?)
    }

    fn prepared(&mut self, sql: &'static str) -> Result<Statement, PgFailure> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// A row as text.
pub(super) struct Texts(Vec<Option<String>>);

impl Texts {
    /// Returns a column's number; `None` for NULL.
    pub(super) fn number_if_any(&self, at: usize) -> Result<Option<i64>, PgFailure> {
        let text = self.0.get(at).and_then(Option::as_deref);
        text.map(str::parse).transpose().map_err(PgFailure::damaged)
    }

    /// Returns a column's number.
    pub(super) fn number(&self, at: usize) -> Result<i64, PgFailure> {
        self.number_if_any(at)?.ok_or_else(|| PgFailure::damaged("a number is missing"))
    }

    /// Whether a column is true.
    pub(super) fn flag(&self, at: usize) -> bool {
        self.0.get(at).and_then(Option::as_deref) == Some("t")
    }
}
