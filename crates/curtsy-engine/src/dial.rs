//! Dialling a host: when may a new connection be made?
//!
//! New connections to a host are a delay apart, whatever becomes of them (P17). The host's state has the last one that led to a request,
//! failed, or was booked: like a turn, a dial is written down before it is made, since another visit may have the host in hand as well.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::time::Time;

use crate::visit::{Asked, LINGER, Next, Seen, Url};
use crate::{Clock, Committed, Connected, Fetch, Mono, Worker, World};

/// How much later than another a connection may reach its server: connections are this much further apart than the delay.
const DIAL_MARGIN: Duration = Duration::from_millis(25);
/// From the booking of a dial to the latest moment at which it is made: as long as a commit usually takes.
const DIAL_WINDOW: Duration = Duration::from_millis(100);
/// Bookings of one dial, at most, before the visit looks at its host anew.
const DIAL_ROUNDS: u32 = 8;

/// A connection that was dialled for a visit.
pub(crate) struct Dialled<L> {
    pub(crate) line: L,
    /// How long it took to find the way and to connect, waits for the dial's turn apart.
    pub(crate) took: Duration,
    pub(crate) dial: Dial,
    pub(crate) seen: Seen,
}

/// One dial.
#[derive(Clone, Copy)]
pub(crate) struct Dial {
    /// When it was made.
    pub(crate) at: Mono,
    /// Its booking in the host's state, if it has one.
    pub(crate) booked: Option<Time>,
}

/// Whether a visit may dial.
enum TurnToDial {
    /// Now, with this booking.
    Now(Seen, Option<Time>),
    /// Not now: the visit goes on with something else.
    Later(Next),
}

impl<W: World> Worker<'_, W> {
    /// Makes a new connection for what a visit asks, when its host may be dialled. Without one, the visit goes on as the error says.
    pub(crate) async fn dial(
        &self,
        seen: Seen,
        asked: &mut Asked<'_>,
    ) -> Result<Dialled<<W::Fetch as Fetch>::Line>, Next> {
        let began = self.clock_now();
        let route = match self.world.fetch().route(&asked.approach).await {
            Ok(route) => route,
            Err(problem) => return Err(self.no_line(seen, asked, problem, None).await),
        };
        let routed = self.clock_now() - began;
        let (seen, booked) = match self.turn_to_dial(seen, asked).await {
            TurnToDial::Now(seen, booked) => (seen, booked),
            TurnToDial::Later(next) => return Err(next),
        };
        let dial = Dial { at: self.clock_now(), booked };
        let connecting = self.world.fetch().connect(&asked.approach, route);
        match connecting.await {
            Ok(Connected { line, took }) => Ok(Dialled { line, took: routed + took, dial, seen }),
            Err(problem) => Err(self.no_line(seen, asked, problem, Some(dial)).await),
        }
    }

    /// Waits until a new connection may be dialled, and books it.
    async fn turn_to_dial(&self, mut seen: Seen, asked: &Asked<'_>) -> TurnToDial {
        for _ in 0..DIAL_ROUNDS {
            let now = self.clock_now();
            let scene = self.scene(asked.policy, &seen.view, seen.stamp.earliest(now), None);
            let delay = seen.view.state.delay_least(&scene);
            if delay.is_zero() {
                return TurnToDial::Now(seen, None);
            }
            let next = seen.view.state.last_dial().map(|dial| dial + delay + DIAL_MARGIN);
            let at = next.map_or(now, |next| seen.stamp.not_before(next).max(now));
            if at > now + LINGER {
                let due = seen.stamp.latest(at);
                Box::pin(self.release(seen, due, Vec::new())).await;
                return TurnToDial::Later(Next::End);
            }
            if at > now {
                self.world.clock().sleep_until(at).await;
                if self.begins_nothing() {
                    break;
                }
            }
            let by = seen.stamp.latest(self.clock_now()) + DIAL_WINDOW;
            let epoch = seen.view.epoch.id;
            let (newer, booked) = self.book_dial(seen, by).await;
            seen = newer;
            if booked && self.clock_now() <= seen.stamp.deadline(by) {
                return TurnToDial::Now(seen, Some(by));
            }
            if seen.view.epoch.id != epoch {
                // The store lost something. What others know must come back before anything is written.
                break;
            }
        }
        TurnToDial::Later(Next::Again(seen, Url::Left))
    }

    /// Writes down that the host is dialled at `by` at the latest. Says whether that is so, on the newest state.
    async fn book_dial(&self, seen: Seen, by: Time) -> (Seen, bool) {
        let state = Arc::new(seen.view.state.book_dial(by));
        let due = self.others_at(&seen.view, &state, seen.view.now);
        let commit = self.plain_commit(&seen.view, &state, due);
        let (answer, stamp) = self.commit_known(&commit).await;
        match answer {
            Committed::Done(saved) => (self.wrote(seen, state, saved, stamp), true),
            // If only the answer had got lost, this dial is booked twice: that costs a delay, and no harm.
            Committed::Stale(view) => (self.newer(view, stamp), false),
            Committed::Refused(_) => unreachable!("only grants are refused"),
        }
    }
}
