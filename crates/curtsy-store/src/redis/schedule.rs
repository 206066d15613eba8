//! What schedulers of a fleet share: who of them leads, and for which moment each seed was queued last.
//!
//! A seed is pushed and its moment written in one script, which also compares the lease and the moment that the caller knew of. So whatever dies,
//! hangs or answers late, no moment is queued twice, and nobody queues anything once its lease is over. Which moments there are is not known here.

use std::rc::Rc;
use std::time::Duration;

use curtsy_core::time::Time;

use super::letters::strange;
use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange, micros};
use super::script::{LEASE, LEASE_END, SCHEDULE, SCHEDULE_LOOK};

/// Seeds of one script.
const AT_ONCE: usize = 50;
/// Entries of a list that are searched for one that still waits: a search takes time in which Redis does nothing else.
pub(crate) const SEARCHED_MAX: usize = 10_000;

/// One scheduler's view of what they share.
pub struct Schedule<W> {
    wire: Rc<W>,
    name: String,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// This scheduler, from now on.
    Taken,
    /// This scheduler, as before.
    Renewed,
    /// Another one.
    Other,
}

/// A seed as Redis knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its name among the moments, the same in every scheduler.
    pub name: String,
    /// The list that it is queued in.
    pub list: String,
    /// What is queued.
    pub entry: String,
}

/// What is known of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The moment that it was queued for last, or at which it was first heard of.
    pub last: Option<Time>,
    /// Whether it still waits in its list; not looked for unless asked.
    pub waits: bool,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookFor {
    /// Moments alone.
    Moments,
    /// Entries that still wait, too: a search for each.
    Waiting,
}

/// A seed whose moment has come.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The seed.
    pub seat: &'a Seat,
    /// The last moment that the caller knows of.
    pub last: Option<Time>,
    /// The moment that has come.
    pub moment: Time,
    /// Whether it is queued, or only its moment is written down.
    pub push: Push,
}

/// What a turn does besides writing its moment down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// The seed is queued.
    Queue,
    /// Nothing.
    NoteOnly,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// The seed is in its list.
    Queued,
    /// It was there already.
    Waits,
    /// Its moment is written down.
    Noted,
    /// Somebody else was here first: this is the last moment now.
    Known(Option<Time>),
}

impl<W: Wire> Schedule<W> {
    /// The view of a scheduler whose name nobody else has.
    pub fn new(wire: Rc<W>, name: String) -> Schedule<W> {
        Schedule { wire, name }
    }

    /// Takes or renews the lease; tells Redis' time too.
    pub async fn lead(&self, lasts: Duration) -> Result<(Lease, Time), WireError> {
        let mut command = by_hash(&LEASE);
        command.arg(&self.name).arg(lasts.as_millis() as u64);
        let mut reply = Reply::new(self.wire.run(&LEASE, &command).await?).map_err(strange)?;
        let lease = match reply.text().map_err(strange)?.as_str() {
            "taken" => Lease::Taken,
            "renewed" => Lease::Renewed,
            _ => Lease::Other,
        };
        Ok((lease, reply.time().map_err(strange)?))
    }

    /// Gives up the lease, so that another scheduler has it at once.
    pub async fn give_up(&self) -> Result<(), WireError> {
        let mut command = by_hash(&LEASE_END);
        command.arg(&self.name);
        self.wire.run(&LEASE_END, &command).await.map(|_| ())
    }

    /// Reads what is known of seeds, and Redis' time; changes nothing.
    pub async fn look(
        &self,
        seats: &[Seat],
        what: LookFor,
    ) -> Result<(Time, Vec<Known>), WireError> {
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
            let value = self.wire.run(&SCHEDULE_LOOK, &command).await?;
            now = read_look(value, &mut known).map_err(strange)?;
        }
        Ok((now, known))
    }

    /// Takes turns, in their order. Where the lease is another's it stops: then fewer came to something than were asked for.
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
            let value = self.wire.run(&SCHEDULE, &command).await?;
            if !read_turns(value, &mut became).map_err(strange)? {
                break;
            }
        }
        Ok(became)
    }
}

fn read_look(value: redis::Value, known: &mut Vec<Known>) -> Result<Time, Strange> {
    let mut reply = Reply::new(value)?;
    reply.text()?;
    let now = reply.time()?;
    let (mut moments, mut waiting) = (reply.list()?, reply.list()?);
    while !moments.is_over() {
        known.push(Known { last: moments.time_if_any()?, waits: waiting.flag()? });
    }
    Ok(now)
}

/// Reads what came of turns; false if the lease is another's.
fn read_turns(value: redis::Value, became: &mut Vec<Became>) -> Result<bool, Strange> {
    let mut reply = Reply::new(value)?;
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
