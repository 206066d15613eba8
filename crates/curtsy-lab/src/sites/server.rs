//! The server of scripted sites: reads requests, has the host's stage answer them, and sends the
//! answers at the times that the script gives.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use curtsy_judge::{Exchange, LogScheme};
use mio::net::TcpStream;

use super::connection::{NextSend, SitePhase, SiteState};
use super::stage::{AfterSend, HostStage, SiteRequest, refusal};
use crate::clock::Stalls;
use crate::event_loop::{ClosedBy, ConnectionFate, OpenConnection, Serve, ServerLoop, split_port};
use crate::request::{self, BODY_BYTES_MAX, HEAD_BYTES_MAX, RequestHead, RequestReading};

/// How the server itself fared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitesHealth {
    /// When its own loop was too late to read within 20 ms: what was read then is marked in the
    /// log.
    pub stalls: Stalls,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed at once because too many were open.
    pub turned_away: u64,
    /// Exchanges that the log in memory had no room for.
    pub forgotten: u64,
}

/// The hosts of a scene, as the event loop serves them.
pub(super) struct SiteServer {
    stages: Vec<HostStage>,
    /// The hosts of each listener: the first answers to the bare address too.
    residents: Vec<Vec<usize>>,
    /// Hosts by address and name.
    names: HashMap<(Ipv4Addr, String), usize>,
    /// The current second, as an HTTP-date.
    date: (u64, Arc<str>),
    /// Handshakes begun since the last poll.
    handshakes: u32,
    /// Gates that were opened.
    open_gates: HashSet<String>,
    /// When idle connections were last looked for.
    swept: u64,
}

/// When a host refuses connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RefusalTimer {
    Begins(usize),
    Ends(usize),
}

type SiteLoop = ServerLoop<SiteServer>;
type SiteConnection = OpenConnection<SiteState>;

impl Serve for SiteServer {
    type State = SiteState;
    type Timer = RefusalTimer;
    type Summary = SitesHealth;

    fn accepted(sites: &mut SiteLoop, listener: usize) -> SiteState {
        let now = sites.clock.now();
        let resident = sites.server.residents[listener].first();
        let stage = resident.map(|&resident| &mut sites.server.stages[resident]);
        let idle_max = stage.as_ref().and_then(|stage| stage.host.idle_max);
        let idle_max = idle_max.map_or(IDLE_MAX, |span| span.as_micros() as u64);
        let shut = stage.is_some_and(HostStage::shuts);
        let mut state =
            SiteState { deadline: now + idle_max, idle_max, shut, ..SiteState::default() };
        if let Some(&resident) = resident.filter(|_| sites.listeners[listener].tls.is_some()) {
            let stage = &mut sites.server.stages[resident];
            let range = stage.host.handshake;
            state.handshake_waits = true;
            state.deaf_until = now + stage.wait(range).as_micros() as u64;
        }
        state
    }

    fn only_host(&self, listener: usize) -> Option<Arc<str>> {
        let [resident] = self.residents[listener][..] else { return None };
        let name = &self.stages[resident].host.name;
        Some(name.as_str()).filter(|name| !name.is_empty()).map(Arc::from)
    }

    /// Sends what may be sent, answers what was read, and reads what is there.
    fn advance(
        sites: &mut SiteLoop,
        index: usize,
        connection: &mut SiteConnection,
    ) -> ConnectionFate {
        if connection.state.shut {
            return ConnectionFate::Closed(sites.clock.now(), ClosedBy::Server);
        }
        let mut fate = sites.send(index, connection);
        if fate == ConnectionFate::Open {
            fate = sites.answer(index, connection);
        }
        if fate == ConnectionFate::Open && connection.unread_since.is_some() {
            fate = sites.receive(index, connection);
        }
        fate
    }

    fn interrupted(connection: &mut SiteConnection, now: u64) -> Option<Exchange> {
        connection.state.ended(now).map(|(exchange, _)| exchange)
    }

    fn due(sites: &mut SiteLoop, timer: RefusalTimer) {
        match timer {
            RefusalTimer::Begins(resident) => sites.refuse(resident),
            RefusalTimer::Ends(resident) => sites.end_refusal(resident),
        }
    }

    /// Closes connections on which nothing has happened for too long.
    fn polled(sites: &mut SiteLoop) {
        sites.server.handshakes = 0;
        let now = sites.clock.now();
        if now.saturating_sub(sites.server.swept) > SWEPT_EVERY {
            sites.server.swept = now;
            for index in sites.find(|connection| connection.state.deadline < now) {
                sites.with(index, |_, _| ConnectionFate::Closed(now, ClosedBy::Server));
            }
        }
    }

    fn summary(sites: &SiteLoop) -> SitesHealth {
        SitesHealth {
            stalls: sites.lateness.stalls.clone(),
            accepted: sites.accepted,
            turned_away: sites.turned_away,
            forgotten: sites.log.forgotten(),
        }
    }
}

impl SiteServer {
    /// The hosts of each listener, by the listener's address.
    pub(super) fn new(
        stages: Vec<HostStage>,
        listeners: Vec<(Ipv4Addr, Vec<usize>)>,
    ) -> SiteServer {
        let mut names = HashMap::new();
        for (address, residents) in &listeners {
            for &resident in residents {
                let name = stages[resident].host.name.to_ascii_lowercase();
                names.insert((*address, name), resident);
            }
        }
        SiteServer {
            stages,
            residents: listeners.into_iter().map(|(_, residents)| residents).collect(),
            names,
            date: (0, "".into()),
            handshakes: 0,
            open_gates: HashSet::new(),
            swept: 0,
        }
    }

    /// Returns the host that a request names, or that has the bare address.
    fn resident(&self, connection: &SiteConnection, name: &str) -> Option<usize> {
        let (residents, address) = (&self.residents[connection.listener], connection.local.ip());
        let name = name.strip_suffix('.').unwrap_or(name);
        // Most listeners have one host, requested by its own name.
        let first = *residents.first()?;
        if self.stages[first].host.name.eq_ignore_ascii_case(name) {
            return Some(first);
        }
        if let Some(resident) = self.names.get(&(*address, name.to_ascii_lowercase())) {
            return Some(*resident).filter(|resident| residents.contains(resident));
        }
        let bare = name.parse() == Ok(*address) || name.eq_ignore_ascii_case("localhost");
        bare.then_some(first)
    }
}

impl SiteLoop {
    /// Reads what has come, and answers it.
    fn receive(&mut self, index: usize, connection: &mut SiteConnection) -> ConnectionFate {
        loop {
            let now = self.clock.now();
            let state = &mut connection.state;
            if now >= state.deaf_until
                && state.handshake_waits
                && self.server.handshakes >= HANDSHAKES_AT_ONCE
            {
                // A handshake takes long: requests of others are read between two of them.
                state.deaf_until = now + 1;
            }
            if now < state.deaf_until {
                self.wake_at(state.deaf_until, index, connection);
                return ConnectionFate::Open;
            }
            if std::mem::take(&mut state.handshake_waits) {
                self.server.handshakes += 1;
                connection.unread_since = Some(now);
            }
            if connection.input.len() > HEAD_BYTES_MAX + BODY_BYTES_MAX {
                // Read on when what is here has been answered.
                return ConnectionFate::Open;
            }
            if self.turns_deaf(connection, now) {
                self.wake_at(connection.state.deaf_until, index, connection);
                return ConnectionFate::Open;
            }
            match connection.wire.read(&mut self.chunk) {
                Ok(count @ 1..) => {
                    if !matches!(connection.state.phase, SitePhase::Lingering) {
                        connection.state.deadline = now + READING_MAX;
                        connection.take_in(&self.chunk[..count], now);
                        let fate = self.answer(index, connection);
                        if fate != ConnectionFate::Open {
                            return fate;
                        }
                    }
                    // A short read has emptied the socket; what comes later is reported anew.
                    let plain = connection.scheme == LogScheme::Http;
                    if count < self.chunk.len() && plain && !connection.read_closed {
                        connection.unread_since = None;
                        return ConnectionFate::Open;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.unread_since = None;
                    return ConnectionFate::Open;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return ConnectionFate::Closed(now, ClosedBy::Client),
            }
        }
    }

    /// Whether the host reads the request at hand late. Over TLS this is not known before the
    /// request was read, so only plain hosts do.
    fn turns_deaf(&mut self, connection: &mut SiteConnection, now: u64) -> bool {
        let state = &mut connection.state;
        let begins = !state.heard && connection.input.is_empty();
        if !begins
            || connection.scheme != LogScheme::Http
            || !matches!(state.phase, SitePhase::Reading)
        {
            return false;
        }
        let residents = &self.server.residents[connection.listener];
        let Some(&resident) = residents.first() else { return false };
        let stage = &mut self.server.stages[resident];
        // Only when something is there: chance is drawn for a request, not for a look.
        if stage.host.deaf.is_none()
            || !matches!(peek(connection.wire.stream()), Ok(count) if count > 0)
        {
            return false;
        }
        state.heard = true;
        let lasts = stage.deaf();
        if let Some(lasts) = lasts {
            state.deaf_until = now + lasts.as_micros() as u64;
        }
        lasts.is_some()
    }

    /// Answers what has been read, request by request.
    fn answer(&mut self, index: usize, connection: &mut SiteConnection) -> ConnectionFate {
        while matches!(connection.state.phase, SitePhase::Reading) && !connection.input.is_empty() {
            let mut input = std::mem::take(&mut connection.input);
            let used = match request::read(&input) {
                RequestReading::Unfinished => 0,
                RequestReading::Whole(request) => {
                    self.say(connection, &request);
                    request.bytes
                }
                RequestReading::Wrong(status) => {
                    let exchange = connection.exchange(&RequestHead {
                        method: "UNREADABLE".into(),
                        target: "/".into(),
                        host: Some(connection.local.to_string().into()),
                        ..RequestHead::default()
                    });
                    self.refuse_request(connection, exchange, status);
                    input.len()
                }
            };
            input.drain(..used);
            connection.input = input;
            if used == 0 {
                return ConnectionFate::Open;
            }
            connection.state.heard = false;
            let fate = self.send(index, connection);
            if fate != ConnectionFate::Open {
                return fate;
            }
        }
        ConnectionFate::Open
    }

    fn refuse_request(&mut self, connection: &mut SiteConnection, exchange: Exchange, status: u16) {
        let (now, date) = self.date();
        let said = refusal(status, &date, &mut connection.state.output);
        connection.state.answer(exchange, said, &date, now);
    }

    fn say(&mut self, connection: &mut SiteConnection, request: &RequestHead<'_>) {
        let exchange = connection.exchange(request);
        let (now, date) = self.date();
        let named = request.host.as_deref().unwrap_or_default();
        let Some(resident) = self.server.resident(connection, split_port(named).0) else {
            return self.refuse_request(connection, exchange, 421);
        };
        if !matches!(&*request.method, "GET" | "HEAD") {
            return self.refuse_request(connection, exchange, 405);
        }
        if self.server.stages[resident].begins(now) {
            for window in self.server.stages[resident].host.refuse.clone() {
                let at = |span: Duration| now + span.as_micros() as u64;
                self.set_timer(at(window.from), RefusalTimer::Begins(resident));
                self.set_timer(at(window.to), RefusalTimer::Ends(resident));
            }
        }
        let state = &mut connection.state;
        let stage = &mut self.server.stages[resident];
        let close = request.close
            || stage.host.close_after.is_some_and(|most| state.answered.saturating_add(1) >= most);
        let asked = SiteRequest {
            path: request.path_and_query(),
            head_only: request.method == "HEAD",
            if_none_match: request.if_none_match.as_deref(),
            if_modified_since: request.if_modified_since.as_deref(),
            base: &format_args!("{}://{named}", connection.scheme.as_str()),
            close,
            now,
            date: &date,
        };
        let mut said = stage.say(&asked, &mut state.output);
        said.gate = said.gate.filter(|gate| !self.server.open_gates.contains(&**gate));
        state.answer(exchange, said, &date, now);
    }

    /// Sends what may be sent by now.
    fn send(&mut self, index: usize, connection: &mut SiteConnection) -> ConnectionFate {
        let enough = connection.state.sent.saturating_add(SENT_AT_ONCE);
        loop {
            let OpenConnection { wire, state, .. } = connection;
            let SitePhase::Answering(answering) = &mut state.phase else {
                return match wire.flushed() {
                    Ok(_) => ConnectionFate::Open,
                    Err(_) => self.hung_up(),
                };
            };
            while state.sent < answering.allowed {
                if state.sent >= enough {
                    // A long body takes turns with the others, or they would be read late.
                    self.wake_at(self.clock.now(), index, connection);
                    return ConnectionFate::Open;
                }
                let end = answering.allowed.min(state.sent + SENT_AT_ONCE);
                state.wrote_at = self.clock.now();
                match wire.write(&state.output[state.sent..end]) {
                    Ok(count) => state.sent += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        state.deadline = self.clock.now() + SENDING_MAX;
                        return ConnectionFate::Open;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return self.hung_up(),
                }
            }
            match wire.flushed() {
                Ok(true) => {}
                Ok(false) => return ConnectionFate::Open,
                Err(_) => return self.hung_up(),
            }
            let now = self.clock.now();
            match answering.next(now) {
                NextSend::Send => {}
                NextSend::WaitUntil(at) => {
                    state.deadline = at + SENDING_MAX;
                    self.wake_at(at, index, connection);
                    return ConnectionFate::Open;
                }
                NextSend::Held => {
                    state.deadline = u64::MAX;
                    return ConnectionFate::Open;
                }
                NextSend::Finished => return self.finished(connection, now),
            }
        }
    }

    fn hung_up(&self) -> ConnectionFate {
        ConnectionFate::Closed(self.clock.now(), ClosedBy::Client)
    }

    /// An answer has come to its end.
    fn finished(&mut self, connection: &mut SiteConnection, now: u64) -> ConnectionFate {
        let OpenConnection { wire, state, .. } = connection;
        // Before the last write: a client may act on it before this thread is run again.
        let at = if state.sent > 0 { state.wrote_at } else { now };
        let Some((exchange, then)) = state.ended(at) else { return ConnectionFate::Open };
        let whole = exchange.complete;
        self.log.push(exchange);
        state.deadline = now + state.idle_max;
        match then {
            AfterSend::Next => {}
            AfterSend::Reset => {
                wire.reset();
                return ConnectionFate::Closed(now, ClosedBy::Server);
            }
            AfterSend::Close | AfterSend::Hang => {
                wire.end(whole);
                state.phase = SitePhase::Lingering;
                state.deadline = now + LINGERING_MAX;
            }
        }
        ConnectionFate::Open
    }

    /// Refuses connections to a host from now on, and resets those that it has.
    fn refuse(&mut self, resident: usize) {
        let now = self.clock.now();
        for listener in self.listeners_of(resident) {
            self.close_listener(listener);
            for index in self.find(|connection| connection.listener == listener) {
                self.with(index, |_, connection| {
                    connection.wire.reset();
                    ConnectionFate::Closed(now, ClosedBy::Server)
                });
            }
        }
    }

    fn end_refusal(&mut self, resident: usize) {
        for listener in self.listeners_of(resident) {
            if self.open_listener(listener).is_err() {
                // Another program has the port: tried again.
                let at = self.clock.now() + LISTEN_AGAIN;
                self.set_timer(at, RefusalTimer::Ends(resident));
            }
        }
    }

    fn listeners_of(&self, resident: usize) -> Vec<usize> {
        let residents = self.server.residents.iter().enumerate();
        residents.filter(|(_, all)| all.contains(&resident)).map(|(index, _)| index).collect()
    }

    /// The connections whose answers are held behind a gate.
    pub(super) fn at_gate(&self, gate: &str) -> Vec<usize> {
        self.find(|connection| match &connection.state.phase {
            SitePhase::Answering(answering) => answering.gate.as_deref() == Some(gate),
            SitePhase::Reading | SitePhase::Lingering => false,
        })
    }

    pub(super) fn open_gate(&mut self, gate: String) {
        for index in self.at_gate(&gate) {
            self.with(index, |sites, connection| {
                if let SitePhase::Answering(answering) = &mut connection.state.phase {
                    answering.gate = None;
                }
                SiteServer::advance(sites, index, connection)
            });
        }
        self.server.open_gates.insert(gate);
    }

    /// Now, and as an HTTP-date.
    fn date(&mut self) -> (u64, Arc<str>) {
        let now = self.clock.now();
        let second = now / 1_000_000;
        if self.server.date.0 != second {
            let at = UNIX_EPOCH + Duration::from_secs(second);
            self.server.date = (second, httpdate::fmt_http_date(at).into());
        }
        (now, Arc::clone(&self.server.date.1))
    }
}

/// How many bytes can be read at once, without reading them.
fn peek(stream: &TcpStream) -> io::Result<usize> {
    stream.peek(&mut [0; 1])
}

/// Handshakes that are begun between two polls.
const HANDSHAKES_AT_ONCE: u32 = 8;
/// What one connection may send before the others' turn.
const SENT_AT_ONCE: usize = 256 << 10;
/// In microseconds: a connection without a request, a request without an end, an answer that the
/// client doesn't read, a connection that was closed on our side, a look for idle connections.
const IDLE_MAX: u64 = 120_000_000;
const READING_MAX: u64 = 30_000_000;
const SENDING_MAX: u64 = 60_000_000;
const LINGERING_MAX: u64 = 2_000_000;
const SWEPT_EVERY: u64 = 500_000;
const LISTEN_AGAIN: u64 = 100_000;
