//! Idle connections: about one for each authority. The oldest is dropped first.
//!
//! A connection that the server has closed must not cost a turn, so each is checked before use. How
//! long a server keeps idle connections is learnt from its `Keep-Alive` header, and from
//! connections that it closed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use curtsy_core::url::Authority;
use curtsy_engine::Mono;

use crate::connection::HttpConnection;

/// The idle connections of one worker.
#[derive(Default)]
pub(crate) struct Pool {
    /// The connection used last is at the end. Authorities without a connection are removed.
    #[allow(
        clippy::vec_box,
        reason = "a connection goes to and fro with every request, and is large"
    )]
    idle: RefCell<HashMap<Authority, Vec<Box<HttpConnection>>>>,
    /// How long servers keep an idle connection, as far as is known.
    kept: RefCell<HashMap<Authority, Duration>>,
}

impl Pool {
    /// Returns an idle connection that is open, and will be at `turn`.
    pub(crate) fn take(
        &self,
        authority: &Authority,
        now: Mono,
        turn: Mono,
    ) -> Option<Box<HttpConnection>> {
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

    /// Keeps an open connection. The oldest of too many is dropped.
    pub(crate) fn put(
        &self,
        authority: &Authority,
        mut connection: Box<HttpConnection>,
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

    /// Learns from a connection that the server closed after this time. The time has a minimum:
    /// otherwise a server that closes at once would cost a new connection for each request.
    pub(crate) fn died(&self, authority: &Authority, age: Duration) {
        let age = age.max(2 * SPARE);
        let known = self.kept.borrow().get(authority).copied();
        self.told(authority, known.map_or(age, |known| known.min(age)));
    }

    /// Learns how long a server keeps idle connections.
    pub(crate) fn told(&self, authority: &Authority, span: Duration) {
        let mut kept = self.kept.borrow_mut();
        match kept.get_mut(authority) {
            Some(known) => *known = span,
            None => {
                if kept.len() >= KEPT_MAX {
                    // It is learnt again.
                    kept.clear();
                }
                kept.insert(authority.clone(), span);
            }
        }
    }

    /// Drops the connection that was idle longest. Returns false if there is none.
    pub(crate) fn give_up_oldest(&self) -> bool {
        let mut idle = self.idle.borrow_mut();
        let oldest = idle.iter().min_by_key(|(_, shelf)| shelf[0].idle_since);
        let Some(authority) = oldest.map(|(authority, _)| authority.clone()) else { return false };
        if let Some(shelf) = idle.get_mut(&authority) {
            shelf.remove(0);
            if shelf.is_empty() {
                idle.remove(&authority);
            }
        }
        true
    }

    /// Returns the number of idle connections.
    pub(crate) fn len(&self) -> usize {
        self.idle.borrow().values().map(Vec::len).sum()
    }
}

/// A connection is not used if the server will close it within this time.
const SPARE: Duration = Duration::from_millis(500);
/// How long an idle connection is trusted without a word of the server: many servers close it after
/// 5 s.
const IDLE_TRUSTED: Duration = Duration::from_secs(5);
/// The longest time that a connection is idle.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(90);
/// The largest number of servers in this table.
const KEPT_MAX: usize = 16_384;
