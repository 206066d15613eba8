//! Connections to a host: how long they take to stand, and when the last one was dialled.
//!
//! A connection stands before its turn comes, so a host is handed out a handshake before the turn. New connections are spaced like
//! requests, whatever becomes of them: a dial is booked in the state before it is made.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gates::pace::step;
use super::{HostState, Scene, SlotEnds};
use crate::time::Time;

/// How long before its turn a host is handed out, beyond its handshake.
const LEAD: Duration = Duration::from_millis(50);
/// Handshakes after which a host's own are known well enough.
pub const HANDSHAKES_KNOWN: u8 = 16;
/// A handshake that is reckoned with until then.
const HANDSHAKE_SLOW: Duration = Duration::from_secs(3);

/// How long a host's handshakes take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// The longest of late, in milliseconds: at once up and very slowly down.
    pub ms: u16,
    /// How many were seen, up to [`HANDSHAKES_KNOWN`].
    pub seen: u8,
}

impl HostState {
    /// When the host should be handed to a worker: a handshake before the earliest start.
    pub fn hand_out_at(&self, scene: &Scene<'_>, ends: SlotEnds) -> Time {
        self.earliest_start(scene, ends).back(self.lead(scene)).max(scene.now)
    }

    /// How long before a turn the host should be in a worker's hands, so that the line stands when the turn comes.
    pub fn lead(&self, scene: &Scene<'_>) -> Duration {
        // A quarter more than the longest of late: what was never that slow may be once.
        let longest = Duration::from_millis(u64::from(self.handshake.ms) * 5 / 4);
        let longest = match self.handshake.seen < HANDSHAKES_KNOWN {
            // Of a host that is hardly known a slow one is reckoned with, as far as its delay has room.
            true => longest.max((self.delay(scene).0 / 3).min(HANDSHAKE_SLOW)),
            false => longest,
        };
        longest + LEAD
    }

    /// Takes in how long a handshake took; nothing for a line that stood already.
    pub fn note_handshake(&mut self, took: Duration) {
        if took.is_zero() {
            return;
        }
        let ms = u16::try_from(took.as_millis()).unwrap_or(u16::MAX);
        // A line that stands late loses its turn, one that stands early costs little.
        self.handshake.ms = match ms >= self.handshake.ms {
            true => ms,
            false => step(self.handshake.ms, ms, 256),
        };
        self.handshake.seen = (self.handshake.seen + 1).min(HANDSHAKES_KNOWN);
    }

    /// The latest moment at which the last new connection can have been dialled. Where only a start is known, that had a connection.
    pub fn last_dial(&self) -> Option<Time> {
        self.dialled_at.or(self.last_start)
    }

    /// The state with a dial booked, which happens at `by` at the latest.
    pub fn book_dial(&self, by: Time) -> HostState {
        HostState { dialled_at: self.dialled_at.max(Some(by)), ..self.clone() }
    }

    /// Notes that a connection was dialled at `at`. A booking for it ends; one that another visit made since stays.
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
