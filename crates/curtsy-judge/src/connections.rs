//! P17: new connections to a host are at least the delay apart, whatever becomes of them.
//!
//! The one exception is a reconnect for a request that an idle connection lost: after the server
//! has closed a connection that carried a request and was idle, the next connection may come at any
//! time. Two of these in a row are a delay apart by themselves, because the two lost requests are.
//! So a second reconnect within the delay of the first is charged.

use std::collections::VecDeque;

use crate::bench::{Bench, span};
use crate::connection::{ConnectionChange, ConnectionEvent, ConnectionKey};
use crate::exchange::Exchange;
use crate::faults::KillDoubt;
use crate::host::JudgedHost;
use crate::rule::Rule;

/// The connections of one host. Empty if the log shows no accepts.
#[derive(Default)]
pub(crate) struct HostConnections {
    last: Option<ConnectionEvent>,
    /// Whether the last connection was closer to the one before than the delay, and was allowed
    /// because an idle connection was lost.
    last_was_spared: bool,
    /// Connections that were accepted and not closed; the newest last.
    open: VecDeque<OpenHostConnection>,
    /// Idle connections that the server closed and that no new connection has replaced yet.
    lost: usize,
}

/// A connection that was accepted and not closed.
struct OpenHostConnection {
    key: ConnectionKey,
    /// The end of the last exchange on it, and whether each exchange was complete. `None` before
    /// the first.
    carried: Option<(u64, bool)>,
}

impl HostConnections {
    /// Takes in a request on one of the host's connections.
    pub(crate) fn carries(&mut self, x: &Exchange) {
        if self.open.is_empty() {
            return;
        }
        let key = x.connection();
        if let Some(open) = self.open.iter_mut().rev().find(|open| open.key == key) {
            let (end, complete) = open.carried.unwrap_or((0, true));
            open.carried = Some((end.max(x.end), complete && x.complete));
        }
    }

    /// Takes in the close of a connection.
    pub(crate) fn closed(&mut self, event: &ConnectionEvent) {
        let key = event.key();
        let Some(place) = self.open.iter().rposition(|open| open.key == key) else { return };
        let Some(open) = self.open.remove(place) else { return };
        let was_idle = open.carried.is_some_and(|(end, complete)| complete && end <= event.at);
        if was_idle && event.change == ConnectionChange::ClosedByServer {
            self.lost = (self.lost + 1).min(OPEN_MAX);
        }
    }

    fn opens(&mut self, event: &ConnectionEvent, spared: bool) {
        if self.open.len() >= OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back(OpenHostConnection { key: event.key(), carried: None });
        self.lost = self.lost.saturating_sub(1);
        self.last_was_spared = spared;
        self.last = Some(event.clone());
    }
}

impl JudgedHost {
    /// P17: checks that a new connection is a delay after the one before.
    pub(crate) fn accepts(&mut self, event: &ConnectionEvent, bench: &mut Bench) {
        let spared = self.keeps_connections_apart(event, bench);
        self.connections.opens(event, spared);
    }

    /// Judges a new connection. Returns whether it was too early and allowed as a reconnect.
    fn keeps_connections_apart(&self, event: &ConnectionEvent, bench: &mut Bench) -> bool {
        let Some(last) = &self.connections.last else { return false };
        if last.read_late || event.read_late {
            bench.not_judged(Rule::P17);
            return false;
        }
        bench.judged(Rule::P17);
        let gap = event.at.saturating_sub(last.at);
        let (delay, name) = match gap < self.delay_min() {
            true => (self.delay_min(), "delay"),
            false => match self.crawl_delay_broken(event, gap, bench) {
                Some(delay) => (delay, "Crawl-delay"),
                None => return false,
            },
        };
        if self.connections.lost > 0 && !self.connections.last_was_spared {
            return true;
        }
        let after = if self.connections.last_was_spared {
            "the connection before, which was the one reconnect for a lost idle connection"
        } else {
            "the connection before"
        };
        bench.broken_connection(&self.name, delay - gap, last, event, || {
            format!("connected {} after {after}, the {name} is {}", span(gap), span(delay))
        });
        false
    }

    /// Returns a Crawl-delay that was certainly in force and is longer than the gap.
    fn crawl_delay_broken(
        &self,
        event: &ConnectionEvent,
        gap: u64,
        bench: &mut Bench,
    ) -> Option<u64> {
        let at = Exchange { start: event.at, end: event.at, ..Exchange::default() };
        for authority in &self.authorities {
            let (delay, by) = authority.crawl_delay(&at, bench);
            let (true, Some(by)) = (delay > gap, by) else { continue };
            // As for P4: a crawler that lost its store must request robots.txt again, and one that
            // was killed may not have received it.
            let lost = bench.faults.store_lost(by.x.end, event.at);
            if lost
                || bench.faults.excuse_unheard(by.number, by.x.start, by.x.end)
                    == KillDoubt::Perhaps
            {
                bench.excused(Rule::P17);
                continue;
            }
            return Some(delay);
        }
        None
    }
}

/// Limit of the open connections that are remembered for a host.
const OPEN_MAX: usize = 64;
