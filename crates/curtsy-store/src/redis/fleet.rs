//! The fleet as a whole: its status, and orders to all workers.

use std::rc::Rc;
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange, ask};
use super::script::{FLOW, STATUS, STOPS};

curtsy_core::word_enum! {
    /// An order to all workers.
    pub enum Flow {
        /// Begin nothing new.
        Pause = "pause",
        /// Take nothing more from the queue, and finish what was taken.
        Drain = "drain",
        /// Continue.
        Resume = "resume",
    }
}

/// The status of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The number of the store's epoch.
    pub epoch: u64,
    /// Whether the epoch began with an empty store.
    pub emptied: bool,
    /// How much longer nothing is sent, because something was lost.
    pub quiet: Duration,
    /// URLs that were taken from the queue and are not settled.
    pub queued: u64,
    /// Whether the fleet is paused.
    pub paused: bool,
    /// Whether the fleet drains.
    pub draining: bool,
    /// Hosts with URLs.
    pub hosts: u64,
    /// Hosts that are due.
    pub hosts_due: u64,
    /// Entries that were claimed and are not in the frontier yet.
    pub claims: u64,
    /// Workers, and how long ago each was active.
    pub workers: Vec<(String, Duration)>,
    /// The lengths of the requested lists.
    pub lengths: Vec<u64>,
}

/// Reads the status of the fleet; `None` if no worker was ever there.
pub async fn status<W: Wire>(wire: &Rc<W>, lists: &[&str]) -> Result<Option<Status>, WireError> {
    let mut command = by_hash(&STATUS);
    for list in lists {
        command.arg(list);
    }
    let mut reply = ask(&**wire, &STATUS, &command).await?;
    match reply.text()?.as_str() {
        "status" => Ok(Some(read(&mut reply)?)),
        _ => Ok(None),
    }
}

/// Gives an order to all workers.
pub async fn order<W: Wire>(wire: &Rc<W>, flow: Flow) -> Result<(), WireError> {
    let mut command = by_hash(&FLOW);
    command.arg(flow.name());
    wire.run(&FLOW, &command).await.map(|_| ())
}

/// The stop orders that are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stops {
    /// The store's time.
    pub now: Time,
    /// Each host, and when its order was given, sorted by name.
    pub hosts: Vec<(HostKey, Time)>,
}

/// Reads the stop orders that are in force. Writes nothing.
pub async fn stops<W: Wire>(wire: &Rc<W>) -> Result<Stops, WireError> {
    let mut reply = ask(&**wire, &STOPS, &by_hash(&STOPS)).await?;
    Ok(read_stops(&mut reply)?)
}

fn read_stops(reply: &mut Reply) -> Result<Stops, Strange> {
    reply.text()?;
    let mut stops = Stops { now: Time::from_micros(reply.number()?), hosts: Vec::new() };
    let mut hosts = reply.list()?;
    while !hosts.is_over() {
        let (host, at) = (hosts.text()?, Time::from_micros(hosts.number()?));
        // A host that can't be parsed was not written by curtsy.
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
    // Pages are counted for budgets. A fleet has none.
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
