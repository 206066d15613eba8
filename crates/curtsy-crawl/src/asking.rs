//! Which hosts are being asked right now: what they are waited for is an answer, not a turn.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use curtsy_core::host::{Approach, Problem};
use curtsy_core::url::HostKey;
use curtsy_engine::{Connected, Fetch, Line, Mono, Permit, Reading, Request, Sent};
use curtsy_fetch::HttpFetch;

/// The hosts with a request in flight, and how many each has.
#[derive(Default)]
pub(crate) struct HostsInFlight(Mutex<HashMap<HostKey, u32>>);

impl HostsInFlight {
    /// Whether a host has a request of ours in flight.
    pub(crate) fn is_asked(&self, host: &HostKey) -> bool {
        self.lock().contains_key(host)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<HostKey, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight; over when it is dropped.
struct InFlight<'a> {
    asking: &'a HostsInFlight,
    host: HostKey,
}

impl<'a> InFlight<'a> {
    fn new(asking: &'a HostsInFlight, host: HostKey) -> InFlight<'a> {
        *asking.lock().entry(host.clone()).or_default() += 1;
        InFlight { asking, host }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut asking = self.asking.lock();
        if let Some(requests) = asking.get_mut(&self.host) {
            *requests -= 1;
            if *requests == 0 {
                asking.remove(&self.host);
            }
        }
    }
}

/// The way to a site, with a note of who is being asked.
pub(crate) struct Noted<'a> {
    pub(crate) fetch: HttpFetch,
    pub(crate) asking: &'a HostsInFlight,
}

impl<'a> Fetch for Noted<'a> {
    type Line = NotedLine<'a, <HttpFetch as Fetch>::Line>;
    type Route = <HttpFetch as Fetch>::Route;

    fn standing(&self, approach: &Approach, turn: Mono) -> Option<Self::Line> {
        Some(self.noted(approach, self.fetch.standing(approach, turn)?))
    }

    async fn route(&self, approach: &Approach) -> Result<Self::Route, Problem> {
        self.fetch.route(approach).await
    }

    async fn connect(
        &self,
        approach: &Approach,
        route: Self::Route,
    ) -> Result<Connected<Self::Line>, Problem> {
        let Connected { line, took } = self.fetch.connect(approach, route).await?;
        Ok(Connected { line: self.noted(approach, line), took })
    }
}

impl<'a> Noted<'a> {
    fn noted<L>(&self, approach: &Approach, line: L) -> NotedLine<'a, L> {
        let (asking, host) = (self.asking, approach.url.host().clone());
        NotedLine { line, asking, host, in_flight: None }
    }
}

/// A line, with a note from the send to the end of the answer.
pub(crate) struct NotedLine<'a, L> {
    line: L,
    asking: &'a HostsInFlight,
    host: HostKey,
    in_flight: Option<InFlight<'a>>,
}

impl<L: Line> Line for NotedLine<'_, L> {
    fn peer(&self) -> IpAddr {
        self.line.peer()
    }

    fn is_counted(&self) -> bool {
        self.line.is_counted()
    }

    fn is_public(&self) -> bool {
        self.line.is_public()
    }

    async fn send(
        &mut self,
        permit: Permit,
        request: &Request,
        written: &Cell<Option<Mono>>,
    ) -> Sent {
        self.in_flight = Some(InFlight::new(self.asking, self.host.clone()));
        let sent = self.line.send(permit, request, written).await;
        if !matches!(sent, Sent::Answered { .. }) {
            self.in_flight = None;
        }
        sent
    }

    async fn body(&mut self) -> Reading {
        let read = self.line.body().await;
        self.in_flight = None;
        read
    }

    async fn discard(&mut self) {
        self.line.discard().await;
        self.in_flight = None;
    }
}
