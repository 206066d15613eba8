//! Dialling a host: when may a new connection be made?
//!
//! New connections to a host are at least a delay apart, whatever becomes of them (P17). The host's
//! state has the last dial that led to a request, failed, or was booked. Like a turn, a dial is
//! written down before it is made, because another visit may have the host as well.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::time::Time;

use crate::schedule::LINGER;
use crate::visit::{AfterRequest, HostVisit, PlannedRequest, UrlState};
use crate::{Clock, Commit, Connected, Fetch, Mono, World};

/// How much further apart than the delay connections are, because their way to the server varies.
const DIAL_MARGIN: Duration = Duration::from_millis(25);
/// From the booking of a dial to the latest moment at which it is made: as long as a commit usually
/// takes.
const DIAL_WINDOW: Duration = Duration::from_millis(100);
/// The most bookings of one dial, before the visit decides again.
const DIAL_ROUNDS: u32 = 8;

/// A connection that was dialled for a visit.
pub(crate) struct Dialled<L> {
    pub(crate) line: L,
    /// How long routing and connecting took, without the wait for the dial's turn.
    pub(crate) took: Duration,
    pub(crate) dial: Dial,
}

/// One dial.
#[derive(Clone, Copy)]
pub(crate) struct Dial {
    /// When it was made.
    pub(crate) at: Mono,
    /// Its booking in the host's state, if it has one.
    pub(crate) booked: Option<Time>,
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Makes a new connection for a request, when the host may be dialled. Without a connection,
    /// the visit goes on as the error says.
    pub(crate) async fn dial(
        &mut self,
        planned: &mut PlannedRequest,
    ) -> Result<Dialled<<W::Fetch as Fetch>::Line>, AfterRequest> {
        let worker = self.worker;
        let fetch = worker.world.fetch();
        let began = worker.now();
        let route = match fetch.route(&planned.approach).await {
            Ok(route) => route,
            Err(problem) => return Err(self.no_line(planned, problem, None).await),
        };
        let routed = worker.now() - began;
        let booked = self.book_turn_to_dial().await?;
        let dial = Dial { at: worker.now(), booked };
        match fetch.connect(&planned.approach, route).await {
            Ok(Connected { line, took }) => Ok(Dialled { line, took: routed + took, dial }),
            Err(problem) => Err(self.no_line(planned, problem, Some(dial)).await),
        }
    }

    /// Waits until a new connection may be dialled, and books it. Returns the booking, if the host
    /// needs one.
    async fn book_turn_to_dial(&mut self) -> Result<Option<Time>, AfterRequest> {
        let worker = self.worker;
        for _ in 0..DIAL_ROUNDS {
            let now = worker.now();
            let scene = self.scene(self.stamp.earliest(now), None);
            let delay = self.view.state.delay_least(&scene);
            if delay.is_zero() {
                return Ok(None);
            }
            let next = self.view.state.last_dial().map(|dial| dial + delay + DIAL_MARGIN);
            let at = next.map_or(now, |next| self.stamp.not_before(next).max(now));
            if at > now + LINGER {
                return Err(AfterRequest::GiveBack(self.stamp.latest(at)));
            }
            if at > now {
                worker.world.clock().sleep_until(at).await;
                if worker.finish.begins_nothing() {
                    break;
                }
            }
            let by = self.latest_now() + DIAL_WINDOW;
            let epoch = self.view.epoch.id;
            if self.book_dial(by).await && worker.now() <= self.stamp.deadline(by) {
                return Ok(Some(by));
            }
            if self.view.epoch.id != epoch {
                // The store lost something. What other workers remember must come back before
                // anything is written.
                break;
            }
        }
        Err(AfterRequest::Again(UrlState::Left))
    }

    /// Writes down that the host is dialled at `by` at the latest. Returns whether it was written.
    /// If only the answer is lost, the dial is booked twice, which costs a delay.
    async fn book_dial(&mut self, by: Time) -> bool {
        let state = Arc::new(self.view.state.book_dial(by));
        let due = self.worker.due_for_others(&self.view, &state, self.view.now);
        self.write(Commit::of_state(&self.view, Some(state), due)).await
    }
}
