//! Finds the host and the agent of each accepted connection among the requests of the log.
//!
//! A connection belongs to the host and the agent of the requests on it. A connection without a
//! request belongs to the host of all requests at its address and port, if they were for one host.
//! If there was none, it belongs to the host that the server names, which is the only one there.
//! Its agent is the agent of its client's address, if that address had one agent. Otherwise nobody
//! knows whose it is, and the judge counts it as not judged.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::connection::{ConnectionAgent, ConnectionChange, ConnectionEvent, ConnectionKey};
use crate::exchange::Exchange;
use crate::host_name::canonical_host;

/// What the log has shown about connections. Empty if it shows none.
#[derive(Default)]
pub(crate) struct Attribution {
    /// Connections that were accepted and not closed.
    open: HashMap<ConnectionKey, OpenedConnection>,
    /// The hosts that were requested at each address and port of the server.
    residents: HashMap<(Option<IpAddr>, u16), OneOrMany<Arc<str>>>,
    /// The agents at each address of a client.
    clients: HashMap<IpAddr, OneOrMany<Option<Arc<str>>>>,
    /// Whether something was forgotten, so that one host or agent may be one of several.
    full: bool,
    active: bool,
}

/// A connection that was accepted and not closed.
struct OpenedConnection {
    /// The place of its accept among the waiting entries.
    place: (u64, u64),
    carried: Carried,
}

/// What is known of the requests on a connection.
enum Carried {
    Nothing,
    Requests(Arc<str>, Option<Arc<str>>),
    /// Requests that are not judged.
    Others,
}

enum OneOrMany<T> {
    One(T),
    Many,
}

/// What becomes of an accept that waits.
pub(crate) enum AcceptIs {
    /// It is the one of this host and agent.
    Of(Arc<str>, Option<Arc<str>>),
    /// It is not judged.
    Others,
}

impl Attribution {
    /// Takes in an entry about a connection, which waits at `place`. A close gets the host and the
    /// agent of its connection. Returns whether the entry is to be judged.
    pub(crate) fn changes(&mut self, event: &mut ConnectionEvent, place: (u64, u64)) -> bool {
        self.active = true;
        if event.change == ConnectionChange::Accepted {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            self.open.insert(event.key(), OpenedConnection { place, carried: Carried::Nothing });
            return true;
        }
        match self.open.remove(&event.key()).map(|open| open.carried) {
            Some(Carried::Requests(host, agent)) => {
                event.host = Some(host);
                event.agent = ConnectionAgent::Known(agent);
                true
            }
            Some(Carried::Others) => false,
            // What had no request was not lost idle, which is all that a close is read for.
            Some(Carried::Nothing) | None => event.host.is_some(),
        }
    }

    /// Takes in a request. Returns what the accept of its connection is, if that may be waiting.
    pub(crate) fn requested(
        &mut self,
        x: &Exchange,
        judged: bool,
    ) -> Option<((u64, u64), AcceptIs)> {
        if !self.active {
            return None;
        }
        self.note_resident(x);
        let open = self.open.get_mut(&x.connection())?;
        if !matches!(open.carried, Carried::Nothing) {
            return None;
        }
        let (host, agent) = (Arc::clone(&x.host), x.user_agent.clone());
        Some(match judged {
            true => {
                open.carried = Carried::Requests(Arc::clone(&host), agent.clone());
                (open.place, AcceptIs::Of(host, agent))
            }
            false => {
                open.carried = Carried::Others;
                (open.place, AcceptIs::Others)
            }
        })
    }

    fn note_resident(&mut self, x: &Exchange) {
        if self.residents.len() >= KNOWN_MAX || self.clients.len() >= KNOWN_MAX {
            self.full = true;
        }
        if self.full {
            return;
        }
        let same_host =
            |a: &Arc<str>, b: &Arc<str>| a == b || canonical_host(a) == canonical_host(b);
        note(&mut self.residents, (x.local, x.port), &x.host, same_host);
        if let Some(peer) = x.peer {
            note(&mut self.clients, peer, &x.user_agent, |a, b| a == b);
        }
    }

    /// Gives an accept whose connection had no request the only host and the only agent that it can
    /// be of.
    pub(crate) fn guess(&self, event: &mut ConnectionEvent) {
        if event.change != ConnectionChange::Accepted || event.agent != ConnectionAgent::Unknown {
            return;
        }
        if self.full {
            event.host = None;
            return;
        }
        match self.residents.get(&(event.local, event.port)) {
            Some(OneOrMany::One(host)) => event.host = Some(Arc::clone(host)),
            // The client has more names for the host than the server.
            Some(OneOrMany::Many) => event.host = None,
            None => {}
        }
        if let Some(OneOrMany::One(agent)) = event.peer.and_then(|peer| self.clients.get(&peer)) {
            event.agent = ConnectionAgent::Known(agent.clone());
        }
    }
}

fn note<K: std::hash::Hash + Eq, T: Clone>(
    known: &mut HashMap<K, OneOrMany<T>>,
    key: K,
    value: &T,
    same: impl Fn(&T, &T) -> bool,
) {
    let one = known.entry(key).or_insert_with(|| OneOrMany::One(value.clone()));
    if let OneOrMany::One(known) = one
        && !same(known, value)
    {
        *one = OneOrMany::Many;
    }
}

/// Limit of the open connections. Beyond it, their requests are not looked for any more.
const OPEN_MAX: usize = 1 << 16;
/// Limit of the addresses. Beyond it, connections without a request are nobody's.
const KNOWN_MAX: usize = 1 << 16;
