//! The connections to a host: how long handshakes take, and when the last one was dialled.
//!
//! A connection stands before its turn, so a host is handed out one handshake before the turn. New
//! connections are spaced like requests, whatever their result: a dial is booked in the state
//! before it is made.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gates::pace::step;
use super::{HostState, Scene, SlotEnds};
use crate::time::Time;

/// How long before its turn a host is handed out, in addition to its handshake.
const LEAD: Duration = Duration::from_millis(50);
/// The number of handshakes after which a host's usual handshake is known.
pub const HANDSHAKES_KNOWN: u8 = 16;
/// The expected handshake until then.
const HANDSHAKE_SLOW: Duration = Duration::from_secs(3);

/// The time of a host's handshakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// The longest recent handshake in milliseconds. It rises at once and falls very slowly.
    pub ms: u16,
    /// The number of handshakes so far, up to [`HANDSHAKES_KNOWN`].
    pub seen: u8,
}

impl HostState {
    /// Returns when the host should be handed to a worker: one handshake before the earliest start.
    pub fn hand_out_at(&self, scene: &Scene<'_>, ends: SlotEnds) -> Time {
        self.earliest_start(scene, ends).back(self.lead(scene)).max(scene.now)
    }

    /// Returns how long before a turn a worker should have the host, so that the connection stands
    /// when the turn comes. A host that counts as down is not dialled before the wait for its probe
    /// is over: there the connection itself is half of the probe.
    pub fn lead(&self, scene: &Scene<'_>) -> Duration {
        if self.breaker.is_open() {
            return Duration::ZERO;
        }
        // A quarter more than the longest recent handshake.
        let longest = Duration::from_millis(u64::from(self.handshake.ms) * 5 / 4);
        let longest = match self.handshake.seen < HANDSHAKES_KNOWN {
            // Of a host that is hardly known a slow one is reckoned with, as far as its delay has
            // room.
            true => longest.max((self.delay(scene).0 / 3).min(HANDSHAKE_SLOW)),
            false => longest,
        };
        longest + LEAD
    }

    /// Records the time of a handshake. Zero means that the connection stood already.
    pub fn note_handshake(&mut self, took: Duration) {
        if took.is_zero() {
            return;
        }
        let ms = u16::try_from(took.as_millis()).unwrap_or(u16::MAX);
        // A late connection loses its turn. An early one costs little.
        self.handshake.ms = match ms >= self.handshake.ms {
            true => ms,
            false => step(self.handshake.ms, ms, 256),
        };
        self.handshake.seen = (self.handshake.seen + 1).min(HANDSHAKES_KNOWN);
    }

    /// Returns the latest moment at which the last new connection can have been dialled. If only a
    /// start is known, it had a connection.
    pub fn last_dial(&self) -> Option<Time> {
        self.dialled_at.or(self.last_start)
    }

    /// Returns the state with a booked dial, which happens at `by` at the latest.
    pub fn book_dial(&self, by: Time) -> HostState {
        HostState { dialled_at: self.dialled_at.max(Some(by)), ..self.clone() }
    }

    /// Records that a connection was dialled at `at`. Its own booking ends; a later booking of
    /// another visit stays.
    pub fn note_dial(&mut self, at: Time, booked: Option<Time>) {
        if booked.is_some() && self.dialled_at == booked {
            self.dialled_at = Some(at);
        } else {
            self.dialled_at = self.dialled_at.max(Some(at));
        }
    }

    pub(super) fn restore_lines(&mut self, remembered: &HostState) {
        self.dialled_at = self.dialled_at.max(remembered.dialled_at);
        self.handshake.ms = self.handshake.ms.max(remembered.handshake.ms);
        self.handshake.seen = self.handshake.seen.max(remembered.handshake.seen);
    }
}
