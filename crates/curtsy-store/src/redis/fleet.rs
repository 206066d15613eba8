//! The fleet as a whole: how it does, and orders to all of it.

use std::rc::Rc;
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

use super::letters::strange;
use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange};
use super::script::{FLOW, STATUS, STOPS};

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

/// The hosts of which nothing may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stops {
    /// The store's time.
    pub now: Time,
    /// Each host, and when the order was given, by name.
    pub hosts: Vec<(HostKey, Time)>,
}

/// Reads the stop orders that are in force. Nothing is written, whatever is there.
pub async fn stops<W: Wire>(wire: &Rc<W>) -> Result<Stops, WireError> {
    let mut reply = Reply::new(wire.run(&STOPS, &by_hash(&STOPS)).await?).map_err(strange)?;
    read_stops(&mut reply).map_err(strange)
}

fn read_stops(reply: &mut Reply) -> Result<Stops, Strange> {
    reply.text()?;
    let mut stops = Stops { now: Time::from_micros(reply.number()?), hosts: Vec::new() };
    let mut hosts = reply.list()?;
    while !hosts.is_over() {
        let (host, at) = (hosts.text()?, Time::from_micros(hosts.number()?));
        // A host that can't be read is none of ours.
        stops.hosts.extend(HostKey::parse(&host).ok().map(|host| (host, at)));
    }
    stops.hosts.sort();
    Ok(stops)
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
