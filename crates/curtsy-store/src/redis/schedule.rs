//! What the schedulers of a fleet share: which of them is the leader, and for which moment each
//! seed was last queued.
//!
//! One script pushes a seed and writes its moment, after comparing the lease and the moment that
//! the caller knew. So if a scheduler dies, stops or answers late, no moment is queued twice, and
//! no scheduler queues a seed after its lease. The caller computes the moments.

use std::rc::Rc;
use std::time::Duration;

use curtsy_core::time::Time;

use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange, ask, micros};
use super::script::{LEASE, LEASE_END, SCHEDULE, SCHEDULE_LOOK};

/// Seeds of one script.
const AT_ONCE: usize = 50;
/// Entries of a list that are searched for a seed. Redis does nothing else during a search.
pub(crate) const SEARCHED_MAX: usize = 10_000;

/// One scheduler's access to what they share.
pub struct Schedule<W> {
    wire: Rc<W>,
    name: String,
}

/// The leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This scheduler, since this call.
    Taken,
    /// This scheduler, as before.
    Renewed,
    /// Another scheduler.
    Other,
}

/// A seed as Redis knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its name, the same in every scheduler.
    pub name: String,
    /// The list in which it is queued.
    pub list: String,
    /// The entry that is queued.
    pub entry: String,
}

/// What Redis knows of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedHistory {
    /// The moment for which it was last queued, or at which it was first seen.
    pub last: Option<Time>,
    /// Whether it is still in its list; false if that was not requested.
    pub waits: bool,
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookFor {
    /// Moments.
    Moments,
    /// Moments, and entries that are still in their lists. Each needs a search.
    Waiting,
}

/// A seed whose moment has come.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The seed.
    pub seat: &'a Seat,
    /// The last moment that the caller knows.
    pub last: Option<Time>,
    /// The moment that has come.
    pub moment: Time,
    /// Whether to queue it, or only to write its moment.
    pub push: Push,
}

/// What a turn does besides writing its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It queues the seed.
    Queue,
    /// Nothing.
    NoteOnly,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// The seed was queued.
    Queued,
    /// The seed was in its list already.
    Waits,
    /// The moment was written.
    Noted,
    /// Another scheduler was faster. The seed's last moment is this one.
    Known(Option<Time>),
}

impl<W: Wire> Schedule<W> {
    /// Returns the access of a scheduler with a unique name.
    pub fn new(wire: Rc<W>, name: String) -> Schedule<W> {
        Schedule { wire, name }
    }

    /// Takes or renews the lease. Also returns Redis' time.
    pub async fn lead(&self, lasts: Duration) -> Result<(Leadership, Time), WireError> {
        let mut command = by_hash(&LEASE);
        command.arg(&self.name).arg(lasts.as_millis() as u64);
        let mut reply = ask(&*self.wire, &LEASE, &command).await?;
        let lease = match reply.text()?.as_str() {
            "taken" => Leadership::Taken,
            "renewed" => Leadership::Renewed,
            _ => Leadership::Other,
        };
        Ok((lease, reply.time()?))
    }

    /// Gives up the lease, so that another scheduler can take it at once.
    pub async fn give_up(&self) -> Result<(), WireError> {
        let mut command = by_hash(&LEASE_END);
        command.arg(&self.name);
        self.wire.run(&LEASE_END, &command).await.map(|_| ())
    }

    /// Reads what is known of seeds, and Redis' time. Writes nothing.
    pub async fn look(
        &self,
        seats: &[Seat],
        what: LookFor,
    ) -> Result<(Time, Vec<SeedHistory>), WireError> {
        let mut now = Time::START;
        let mut known = Vec::with_capacity(seats.len());
        for some in seats.chunks(AT_ONCE) {
            let mut command = by_hash(&SCHEDULE_LOOK);
            command.arg(match what {
                LookFor::Moments => 0,
                LookFor::Waiting => SEARCHED_MAX,
            });
            for seat in some {
                command.arg(&seat.name).arg(&seat.list).arg(&seat.entry);
            }
            let reply = ask(&*self.wire, &SCHEDULE_LOOK, &command).await?;
            now = read_look(reply, &mut known)?;
        }
        Ok((now, known))
    }

    /// Takes turns in their order, and returns their results. If the lease is another scheduler's,
    /// stops early and returns fewer.
    pub async fn queue(&self, turns: &[Turn<'_>]) -> Result<Vec<Became>, WireError> {
        let mut became = Vec::with_capacity(turns.len());
        for some in turns.chunks(AT_ONCE) {
            let mut command = by_hash(&SCHEDULE);
            command.arg(&self.name).arg(SEARCHED_MAX);
            for turn in some {
                let last = turn.last.map(|last| micros(last).to_string()).unwrap_or_default();
                command.arg(&turn.seat.name).arg(last).arg(micros(turn.moment));
                match turn.push {
                    Push::Queue => command.arg(&turn.seat.list).arg(&turn.seat.entry),
                    Push::NoteOnly => command.arg("").arg(""),
                };
            }
            let reply = ask(&*self.wire, &SCHEDULE, &command).await?;
            if !read_turns(reply, &mut became)? {
                break;
            }
        }
        Ok(became)
    }
}

fn read_look(mut reply: Reply, known: &mut Vec<SeedHistory>) -> Result<Time, Strange> {
    reply.text()?;
    let now = reply.time()?;
    let (mut moments, mut waiting) = (reply.list()?, reply.list()?);
    while !moments.is_over() {
        known.push(SeedHistory { last: moments.time_if_any()?, waits: waiting.flag()? });
    }
    Ok(now)
}

/// Reads the results of turns. Returns false if the lease is another scheduler's.
fn read_turns(mut reply: Reply, became: &mut Vec<Became>) -> Result<bool, Strange> {
    if reply.text()? == "lost" {
        return Ok(false);
    }
    let mut words = reply.list()?;
    while !words.is_over() {
        let (word, last) = (words.text()?, words.time_if_any()?);
        became.push(match word.as_str() {
            "queued" => Became::Queued,
            "waits" => Became::Waits,
            "noted" => Became::Noted,
            _ => Became::Known(last),
        });
    }
    Ok(true)
}
