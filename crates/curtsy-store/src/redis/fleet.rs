//! The fleet as a whole: how it does, and orders to all of it.

use std::rc::Rc;
use std::time::Duration;

use super::letters::strange;
use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange};
use super::script::{FLOW, STATUS};

/// An order to all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing new is begun.
    Pause,
    /// Nothing more is taken from the queue; what was taken is finished.
    Drain,
    /// Everything goes on.
    Resume,
}

impl Flow {
    fn name(self) -> &'static str {
        match self {
            Flow::Pause => "pause",
            Flow::Drain => "drain",
            Flow::Resume => "resume",
        }
    }
}

/// How a fleet does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The stretch of the store's life in which nothing was lost.
    pub epoch: u64,
    /// Whether everything was lost when it began.
    pub emptied: bool,
    /// How much longer nothing is sent, since something was lost.
    pub quiet: Duration,
    /// URLs that were taken from the queue and are not settled.
    pub queued: u64,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether it drains.
    pub draining: bool,
    /// Hosts with URLs.
    pub hosts: u64,
    /// Hosts whose turn has come.
    pub hosts_due: u64,
    /// Entries that were claimed and are not in the frontier yet.
    pub claims: u64,
    /// Workers, and how long ago each was heard of.
    pub workers: Vec<(String, Duration)>,
    /// The lengths of the lists that were asked about.
    pub lengths: Vec<u64>,
}

/// Asks how the fleet does; none if nobody has ever been there.
pub async fn status<W: Wire>(wire: &Rc<W>, lists: &[&str]) -> Result<Option<Status>, WireError> {
    let mut command = by_hash(&STATUS);
    for list in lists {
        command.arg(list);
    }
    let mut reply = Reply::new(wire.run(&STATUS, &command).await?).map_err(strange)?;
    match reply.text().map_err(strange)?.as_str() {
        "status" => read(&mut reply).map(Some).map_err(strange),
        _ => Ok(None),
    }
}

/// Gives an order to all workers.
pub async fn order<W: Wire>(wire: &Rc<W>, flow: Flow) -> Result<(), WireError> {
    let mut command = by_hash(&FLOW);
    command.arg(flow.name());
    wire.run(&FLOW, &command).await.map(|_| ())
}

fn read(reply: &mut Reply) -> Result<Status, Strange> {
    let mut status = Status {
        epoch: reply.number()?,
        quiet: Duration::from_micros(reply.number()?),
        queued: reply.number()?,
        paused: reply.flag()?,
        draining: reply.flag()?,
        ..Status::default()
    };
    // Pages are counted for budgets, which a fleet has none of.
    reply.number()?;
    status.hosts = reply.number()?;
    status.hosts_due = reply.number()?;
    status.claims = reply.number()?;
    let mut workers = reply.list()?;
    while !workers.is_over() {
        status.workers.push((workers.text()?, Duration::from_micros(workers.number()?)));
    }
    let mut lengths = reply.list()?;
    while !lengths.is_over() {
        status.lengths.push(lengths.number()?);
    }
    status.emptied = reply.flag()?;
    Ok(status)
}
