//! Connections that stand idle: about one for each authority, the oldest given up first.
//!
//! A line that a server closed while it was idle must not cost a turn. So it is looked at before it is handed out, and how long a server keeps an
//! idle connection is learnt from its `Keep-Alive` header or from the connections that it closed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use curtsy_core::url::Authority;
use curtsy_engine::Mono;

use crate::connection::Connection;

/// The idle connections of one worker.
#[derive(Default)]
pub(crate) struct Pool {
    /// The one used last is at the end. No authority without a connection.
    #[allow(
        clippy::vec_box,
        reason = "a connection goes to and fro with every request, and is large"
    )]
    idle: RefCell<HashMap<Authority, Vec<Box<Connection>>>>,
    /// How long a server keeps an idle connection, as far as we know.
    kept: RefCell<HashMap<Authority, Duration>>,
}

impl Pool {
    /// An idle connection that still stands, and will when it is used at `turn`.
    pub(crate) fn take(
        &self,
        authority: &Authority,
        now: Mono,
        turn: Mono,
    ) -> Option<Box<Connection>> {
        let mut idle = self.idle.borrow_mut();
        let shelf = idle.get_mut(authority)?;
        let kept = self.kept.borrow().get(authority).copied().unwrap_or(IDLE_TRUSTED);
        let mut found = None;
        while let Some(mut connection) = shelf.pop() {
            let age = now - connection.idle_since;
            let used = turn.max(now) - connection.idle_since;
            if used + SPARE >= kept.min(IDLE_MAX) {
                continue;
            }
            if connection.is_ready(now) {
                found = Some(connection);
                break;
            }
            self.died(authority, age);
        }
        if shelf.is_empty() {
            idle.remove(authority);
        }
        found
    }

    /// Keeps a connection for later, if it still stands and any are to be kept; the oldest of a full shelf gives way.
    pub(crate) fn put(
        &self,
        authority: &Authority,
        mut connection: Box<Connection>,
        now: Mono,
        most: usize,
    ) {
        if most == 0 || !connection.stands() {
            return;
        }
        connection.idle_since = now;
        let mut idle = self.idle.borrow_mut();
        let shelf = idle.entry(authority.clone()).or_default();
        shelf.push(connection);
        if shelf.len() > most {
            shelf.remove(0);
        }
    }

    /// A server closed a connection that was idle for so long. Bounded from below: one that closes at once must not have every
    /// connection dialled anew for ever.
    pub(crate) fn died(&self, authority: &Authority, age: Duration) {
        let age = age.max(2 * SPARE);
        let known = self.kept.borrow().get(authority).copied();
        self.told(authority, known.map_or(age, |known| known.min(age)));
    }

    /// A server says how long it keeps idle connections.
    pub(crate) fn told(&self, authority: &Authority, span: Duration) {
        let mut kept = self.kept.borrow_mut();
        match kept.get_mut(authority) {
            Some(known) => *known = span,
            None => {
                if kept.len() >= KEPT_MAX {
                    // Learnt again where it matters.
                    kept.clear();
                }
                kept.insert(authority.clone(), span);
            }
        }
    }

    /// Gives up the connection that was idle longest; `false` if there is none.
    pub(crate) fn give_up_oldest(&self) -> bool {
        let mut idle = self.idle.borrow_mut();
        let oldest = idle.iter().min_by_key(|(_, shelf)| shelf[0].idle_since);
        let Some(authority) = oldest.map(|(authority, _)| authority.clone()) else {
            return false;
        };
        if let Some(shelf) = idle.get_mut(&authority) {
            shelf.remove(0);
            if shelf.is_empty() {
                idle.remove(&authority);
            }
        }
        true
    }

    /// Idle connections.
    pub(crate) fn len(&self) -> usize {
        self.idle.borrow().values().map(Vec::len).sum()
    }
}

/// A connection is not used that the server will close within this.
const SPARE: Duration = Duration::from_millis(500);
/// An idle connection of a server that has not said how long it keeps one is trusted for so long: many close it after 5 s.
const IDLE_TRUSTED: Duration = Duration::from_secs(5);
/// No connection is idle for longer.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(90);
/// Servers whose habits are remembered.
const KEPT_MAX: usize = 16_384;
