//! The way to the database: a thread that owns the connection and carries out what it is sent.
//!
//! The client of Postgres waits on a runtime of its own and can't be called inside of another, which is where workers live. So the
//! ledger sends jobs to this thread and waits for their answers, each of them with a bound: whoever does not answer in time is left
//! behind with its connection, and the next question goes to a new thread.
//!
//! A connection that was lost is made again by the next job that may do so. One that belongs to a transaction may not: the rest of
//! a transaction must never go to a connection that knows nothing of its beginning.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, Statement};

use super::failure::Failure;

/// How long a connection may take.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long the server may take for a statement, or wait for a lock.
pub(crate) const STATEMENT_WITHIN: Duration = Duration::from_secs(5);
/// How long an answer is waited for: longer than a statement may take, for a server that is there.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(8);
/// Bringing tables up to date may take its time.
pub(crate) const MIGRATE_WITHIN: Duration = Duration::from_secs(600);
/// A transaction of a process that stopped in the middle keeps everybody from writing so long, at most.
pub(crate) const IDLE_WITHIN: Duration = Duration::from_secs(10);
/// A server that can't be reached is left alone for as long as the last try took, and at least so long.
const REST_MIN: Duration = Duration::from_millis(100);

/// Whether a job may make a connection if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connect {
    /// It is the first of what hangs together.
    IfNeeded,
    /// It belongs to what was begun on the connection that stands.
    Never,
}

/// What may take how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// A question among many.
    Usual,
    /// Making tables.
    Migration,
}

/// The way to the database.
pub(super) struct Link {
    config: Config,
    /// Who carries jobs out; none before the first, and after one that was left behind.
    jobs: Option<Sender<Job>>,
    /// Until when nothing is tried, and why.
    resting: Option<(Instant, String)>,
}

type Job = Box<dyn FnOnce(&mut Option<Session>) + Send>;

impl Link {
    /// A way that nobody has gone yet.
    pub(super) fn new(mut config: Config) -> Link {
        config.application_name("curtsy");
        config.connect_timeout(CONNECT_WITHIN);
        config.tcp_user_timeout(CONNECT_WITHIN);
        Link { config, jobs: None, resting: None }
    }

    /// Has a job carried out, and waits for its answer.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        connect: Connect,
        patience: Patience,
        job: impl FnOnce(&mut Session) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        if let Some((until, why)) = &self.resting
            && connect == Connect::IfNeeded
        {
            if Instant::now() < *until {
                return Err(Failure::Away(why.clone()));
            }
            self.resting = None;
        }
        let asked = Instant::now();
        let (tell, told) = channel();
        let config = self.config.clone();
        let whole: Job = Box::new(move |session| {
            let answer = connected(session, connect, &config)
                .and_then(|open| open.patient(patience).and_then(|()| job(open)));
            // Who does not wait any more has given up.
            let _ = tell.send(answer);
        });
        self.send(whole)?;
        let within = match patience {
            Patience::Usual => ANSWER_WITHIN,
            Patience::Migration => MIGRATE_WITHIN + ANSWER_WITHIN,
        };
        let answer = told.recv_timeout(within).unwrap_or_else(|_| {
            self.jobs = None;
            Err(Failure::Away(format!("no answer within {} s", within.as_secs())))
        });
        if let Err(Failure::Away(why)) = &answer
            && connect == Connect::IfNeeded
        {
            let rest = asked.elapsed().max(REST_MIN);
            self.resting = Some((Instant::now() + rest, why.clone()));
        }
        answer
    }

    /// Gives a transaction up. A connection on which that can't be said is given up with it.
    pub(super) fn roll_back(&mut self) {
        let told = self.ask(Connect::Never, Patience::Usual, |session| session.run("ROLLBACK"));
        if told.is_err() {
            self.hang_up();
        }
    }

    /// Gives the connection up, with what was prepared on it.
    pub(super) fn hang_up(&mut self) {
        self.jobs = None;
    }

    fn send(&mut self, job: Job) -> Result<(), Failure> {
        let jobs = match &self.jobs {
            Some(jobs) => jobs,
            None => {
                let (jobs, orders): (Sender<Job>, Receiver<Job>) = channel();
                let thread = std::thread::Builder::new().name("postgres".into());
                // It ends when nobody can ask it any more, after what it was asked.
                thread
                    .spawn(move || {
                        let mut session = None;
                        for job in orders {
                            job(&mut session);
                        }
                    })
                    .map_err(|e| Failure::Away(format!("no thread for its connection: {e}")))?;
                self.jobs.insert(jobs)
            }
        };
        // A thread that is gone has dropped the job, and whoever waits for its answer is told so.
        let _ = jobs.send(job);
        Ok(())
    }
}

fn connected<'s>(
    session: &'s mut Option<Session>,
    connect: Connect,
    config: &Config,
) -> Result<&'s mut Session, Failure> {
    if session.as_ref().is_some_and(|open| open.client.is_closed()) {
        *session = None;
    }
    match (session.is_some(), connect) {
        (true, _) => {}
        (false, Connect::IfNeeded) => *session = Some(Session::open(config)?),
        (false, Connect::Never) => return Err(Failure::Away("the connection was lost".into())),
    }
    Ok(session.as_mut().expect("made or found just now"))
}

/// A connection with its prepared statements.
pub(super) struct Session {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    patience: Patience,
}

impl Session {
    fn open(config: &Config) -> Result<Session, Failure> {
        let mut client = config.connect(NoTls)?;
        // What the engine is told must be on the disk, whatever is usual in this database.
        client.batch_execute(&format!(
            "SET synchronous_commit = on; SET idle_in_transaction_session_timeout = {idle};
            SET statement_timeout = {within}; SET lock_timeout = {within}",
            idle = IDLE_WITHIN.as_millis(),
            within = STATEMENT_WITHIN.as_millis(),
        ))?;
        Ok(Session { client, statements: HashMap::new(), patience: Patience::Usual })
    }

    fn patient(&mut self, patience: Patience) -> Result<(), Failure> {
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
    pub(super) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        Ok(self.client.batch_execute(sql)?)
    }

    /// Runs statements without parameters, and gives the one row that they lead to, as text.
    pub(super) fn look(&mut self, sql: &str) -> Result<Option<Texts>, Failure> {
        let told = self.client.simple_query(sql)?;
        let row = told.into_iter().find_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(row.map(Texts))
    }

    /// Asks with a prepared statement.
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query(&statement, with)?)
    }

    /// Writes with a prepared statement; tells how many rows.
    pub(super) fn write(
        &mut self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let statement = self.prepared(sql)?;
        Ok(self.client.execute(&statement, with)?)
    }

    fn prepared(&mut self, sql: &'static str) -> Result<Statement, Failure> {
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
    /// A column's number; none if it has none.
    pub(super) fn number_if_any(&self, at: usize) -> Result<Option<i64>, Failure> {
        let text = self.0.get(at).and_then(Option::as_deref);
        text.map(str::parse).transpose().map_err(Failure::damaged)
    }

    /// A column's number.
    pub(super) fn number(&self, at: usize) -> Result<i64, Failure> {
        self.number_if_any(at)?.ok_or_else(|| Failure::damaged("a number is missing"))
    }

    /// Whether a column is true.
    pub(super) fn flag(&self, at: usize) -> bool {
        self.0.get(at).and_then(Option::as_deref) == Some("t")
    }
}
