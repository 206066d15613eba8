//! The zoo's loop: one thread, one poll, every connection plays its script.
//!
//! It is written on the poll itself, for the same reason as the loop of the sites: its log is evidence, and it must know how late its own reads
//! can have been.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use curtsy_judge::{Exchange, LogScheme};
use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use rustls::{ServerConfig, ServerConnection};

use super::case::{Asked, Case, Speaks};
use super::frames::{self, Frames, Heard};
use super::http::{self, told};
use super::line::{Exchanging, Line, Played};
use super::script::Script;
use crate::loopback::clock::{Clock, Lateness, READ_WITHIN, Stalls, TICK};
use crate::loopback::log::Log;
use crate::loopback::request::{self, Reading};
use crate::loopback::wire::Wire;

/// What the owner of the zoo may ask of the loop.
pub(super) enum Order {
    Look(SyncSender<Seen>),
    Stop,
}

/// What the zoo has seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Every exchange that has ended, in the order of their starts.
    pub log: Vec<Exchange>,
    /// Every connection that has ended.
    pub connections: Vec<Connection>,
    /// When the zoo's own loop was late.
    pub stalls: Stalls,
}

/// A connection that has ended, in microseconds of the log's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Whose it was: the case's number.
    pub case: usize,
    /// When it was accepted.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// Requests that it carried.
    pub requests: u32,
    /// Bytes that the kernel took from us.
    pub sent: u64,
    /// Whether the client ended it.
    pub by_client: bool,
}

/// A host of the zoo.
pub(super) struct Den {
    pub(super) case: Case,
    pub(super) address: SocketAddrV4,
    pub(super) listener: Option<TcpListener>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// How often each path was asked for.
    pub(super) asked: HashMap<String, u32>,
}

pub(super) struct Server {
    poll: Poll,
    orders: Receiver<Order>,
    clock: Clock,
    lateness: Lateness,
    dens: Vec<Den>,
    elsewhere: String,
    lines: Vec<Option<Line>>,
    free: Vec<usize>,
    accepted: u64,
    alarms: BinaryHeap<Reverse<(u64, usize, u64)>>,
    log: Log,
    connections: Vec<Connection>,
    chunk: Box<[u8]>,
}

/// What becomes of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Gone,
    /// The client has left.
    Left,
}

impl Server {
    pub(super) fn new(
        poll: Poll,
        orders: Receiver<Order>,
        mut dens: Vec<Den>,
        elsewhere: String,
        log: Log,
    ) -> io::Result<Server> {
        for (index, den) in dens.iter_mut().enumerate() {
            if let Some(listener) = &mut den.listener {
                poll.registry().register(listener, Token(DENS + index), Interest::READABLE)?;
            }
        }
        let clock = Clock::new();
        Ok(Server {
            poll,
            orders,
            clock,
            lateness: Lateness::new(clock.now()),
            dens,
            elsewhere,
            lines: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            alarms: BinaryHeap::new(),
            log,
            connections: Vec::new(),
            chunk: vec![0; READ_BYTES].into(),
        })
    }

    /// Runs until it is told to stop.
    pub(super) fn run(mut self) -> io::Result<Seen> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut whole = true;
        loop {
            let entered = self.clock.now();
            let next = self.alarms.peek().map(|Reverse((at, ..))| at.saturating_sub(entered));
            let timeout = next.map_or(TICK, |micros| TICK.min(Duration::from_micros(micros)));
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.lateness.polled(entered, self.clock.now(), whole);
            let mut count = 0;
            for event in &events {
                count += 1;
                self.on(event);
            }
            whole = count < EVENTS_MAX;
            self.ring();
            if self.obey() {
                break;
            }
        }
        let now = self.clock.now();
        for line in &mut self.lines {
            if let Some(exchange) = line.as_mut().and_then(|line| line.ended(now, false)) {
                self.log.push(exchange);
            }
        }
        let seen = self.seen();
        let (log, written) = self.log.finish();
        written.map(|()| Seen { log, ..seen })
    }

    fn seen(&self) -> Seen {
        let (log, stalls) = (self.log.so_far(), self.lateness.stalls.clone());
        Seen { log, connections: self.connections.clone(), stalls }
    }

    fn obey(&mut self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                // Who asked may have gone.
                Order::Look(tell) => drop(tell.send(self.seen())),
                Order::Stop => return true,
            }
        }
        false
    }

    fn on(&mut self, event: &Event) {
        match event.token().0 {
            WAKER => {}
            token if token < LINES => self.accept(token - DENS),
            token => {
                let index = token - LINES;
                let Some(mut line) = self.lines.get_mut(index).and_then(Option::take) else {
                    return;
                };
                if event.is_readable() || event.is_read_closed() {
                    line.unread_since.get_or_insert(self.lateness.unread_since);
                }
                let fate = self.go_on(index, &mut line);
                self.settle(index, line, fate);
            }
        }
    }

    /// Those who waited go on.
    fn ring(&mut self) {
        let now = self.clock.now();
        while let Some(&Reverse((at, index, number))) = self.alarms.peek() {
            if at > now {
                return;
            }
            self.alarms.pop();
            let line = self
                .lines
                .get_mut(index)
                .and_then(|line| line.take_if(|line| line.number == number));
            if let Some(mut line) = line {
                let fate = self.go_on(index, &mut line);
                self.settle(index, line, fate);
            }
        }
    }

    fn settle(&mut self, index: usize, mut line: Line, fate: Fate) {
        if fate == Fate::Stays {
            self.lines[index] = Some(line);
            return;
        }
        let now = self.clock.now();
        let _ = self.poll.registry().deregister(line.wire.stream());
        if let Some(exchange) = line.ended(now, false) {
            self.log.push(exchange);
        }
        if self.connections.len() < CONNECTIONS_TOLD_MAX {
            self.connections.push(Connection {
                case: line.den,
                from: line.since,
                to: now,
                requests: line.requests,
                sent: line.sent,
                by_client: fate == Fate::Left,
            });
        }
        self.free.push(index);
    }

    fn accept(&mut self, den: usize) {
        loop {
            let Some(listener) = self.dens.get(den).and_then(|den| den.listener.as_ref()) else {
                return;
            };
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => return,
            };
            self.accepted += 1;
            if self.lines.len() - self.free.len() >= LINES_MAX {
                continue;
            }
            let Ok(mut line) = self.welcome(den, stream) else { continue };
            let index = self.free.pop().unwrap_or_else(|| {
                self.lines.push(None);
                self.lines.len() - 1
            });
            let interest = Interest::READABLE | Interest::WRITABLE;
            let token = Token(LINES + index);
            if self.poll.registry().register(line.wire.stream(), token, interest).is_err() {
                self.free.push(index);
                continue;
            }
            line.unread_since = Some(self.lateness.unread_since);
            let fate = self.go_on(index, &mut line);
            self.settle(index, line, fate);
        }
    }

    fn welcome(&self, index: usize, stream: TcpStream) -> io::Result<Line> {
        stream.set_nodelay(true)?;
        let den = &self.dens[index];
        let wire = match &den.tls {
            None => Wire::Plain(stream),
            Some(config) => {
                let session =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Wire::Secure(Box::new(session), stream)
            }
        };
        let mut line = Line::new(wire, index, self.accepted, self.clock.now());
        if den.case.speaks == Speaks::Http2 {
            line.frames = Some(Frames::default());
        }
        line.script = den.case.opens.map(|opens| opens()).unwrap_or_default();
        Ok(line)
    }

    /// Reads what is there, answers it, and plays what is to be played.
    fn go_on(&mut self, index: usize, line: &mut Line) -> Fate {
        let mut turns = 0;
        loop {
            if line.unread_since.is_some() {
                match self.receive(line) {
                    Fate::Stays => {}
                    gone => return gone,
                }
            }
            match line.play(self.clock.now()) {
                Ok(Played::Blocked) => return Fate::Stays,
                Ok(Played::Until(at)) => {
                    self.alarms.push(Reverse((at, index, line.number)));
                    return Fate::Stays;
                }
                Ok(Played::Much) => {
                    // Others come first, and then it goes on.
                    self.alarms.push(Reverse((self.clock.now() + 1, index, line.number)));
                    return Fate::Stays;
                }
                Ok(Played::Out) => {}
                Ok(Played::Closed) => {
                    if let Some(exchange) = line.ended(self.clock.now(), true) {
                        self.log.push(exchange);
                    }
                    return Fate::Gone;
                }
                Err(_) => return Fate::Left,
            }
            if let Some(exchange) = line.ended(self.clock.now(), true) {
                self.log.push(exchange);
            }
            turns += 1;
            if !self.answer(line) || turns > TURNS_MAX {
                return Fate::Stays;
            }
        }
    }

    /// Reads all that has come.
    fn receive(&mut self, line: &mut Line) -> Fate {
        loop {
            let now = self.clock.now();
            match line.wire.read(&mut self.chunk) {
                Ok(0) => {
                    line.unread_since = None;
                    // A client that has closed its side has left: nobody here sends requests and goes on listening.
                    return Fate::Left;
                }
                Ok(count) => {
                    if line.input.is_empty() {
                        line.input_at = now;
                        let since = line.unread_since.unwrap_or(now);
                        line.input_late = now.saturating_sub(since) > READ_WITHIN;
                    }
                    if line.input.len() < INPUT_MAX {
                        line.input.extend_from_slice(&self.chunk[..count]);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    line.unread_since = None;
                    return Fate::Stays;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Fate::Left,
            }
        }
    }

    /// Takes the next request and makes its answer the script; false if there is none.
    fn answer(&mut self, line: &mut Line) -> bool {
        let speaks = self.dens[line.den].case.speaks;
        if line.input.is_empty() || speaks == Speaks::Raw {
            return false;
        }
        let input = std::mem::take(&mut line.input);
        let used = match &mut line.frames {
            Some(frames) => match frames.read(&input) {
                None => 0,
                Some((heard, used)) => {
                    self.hear(line, heard);
                    used
                }
            },
            None => match request::read(&input) {
                Reading::Unfinished => 0,
                Reading::Whole(request) => {
                    let name = |name: &Option<std::borrow::Cow<'_, str>>| {
                        name.as_deref().map(Arc::<str>::from)
                    };
                    let host = request.host.as_deref().unwrap_or_default();
                    let mut exchange = self.exchange(line, host, &request.target);
                    exchange.method = (&*request.method).into();
                    exchange.user_agent = name(&request.user_agent);
                    exchange.from = name(&request.from);
                    exchange.if_none_match = name(&request.if_none_match);
                    exchange.if_modified_since = name(&request.if_modified_since);
                    exchange.cookie = request.cookie;
                    exchange.authorization = request.authorization;
                    self.say(line, exchange, host, request.path_and_query(), 0);
                    request.bytes
                }
                Reading::Wrong(_) => {
                    line.script = Script::new().close();
                    input.len()
                }
            },
        };
        line.input = input;
        line.input.drain(..used);
        used > 0
    }

    fn hear(&mut self, line: &mut Line, heard: Heard) {
        match heard {
            Heard::Greeting => line.script = Script::say(frames::settings()),
            Heard::Nonsense => line.script = Script::new().close(),
            Heard::Reset(_) | Heard::Other => {}
            Heard::Request(stream, headers) => {
                let of = |name: &str| {
                    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
                };
                let (host, path) =
                    (of(":authority").unwrap_or_default(), of(":path").unwrap_or("/"));
                let mut exchange = self.exchange(line, host, path);
                exchange.method = of(":method").unwrap_or("GET").into();
                exchange.user_agent = of("user-agent").map(Into::into);
                exchange.from = of("from").map(Into::into);
                exchange.if_none_match = of("if-none-match").map(Into::into);
                exchange.if_modified_since = of("if-modified-since").map(Into::into);
                exchange.cookie = of("cookie").is_some();
                exchange.authorization = of("authorization").is_some();
                self.say(line, exchange, host, path, stream);
            }
        }
    }

    fn exchange(&self, line: &mut Line, host: &str, target: &str) -> Exchange {
        let den = &self.dens[line.den];
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let target: String = target.chars().take(TARGET_CHARS_MAX).collect();
        let mut exchange = Exchange::get(line.input_at, name, &target, 0);
        exchange.conn = line.number;
        exchange.peer = line.wire.peer().map(|peer| peer.ip());
        exchange.local = Some(IpAddr::V4(*den.address.ip()));
        exchange.port = den.address.port();
        exchange.scheme = if den.case.speaks.tls() { LogScheme::Https } else { LogScheme::Http };
        exchange.status = None;
        exchange.read_late = line.input_late;
        exchange
    }

    fn say(
        &mut self,
        line: &mut Line,
        mut exchange: Exchange,
        host: &str,
        path: &str,
        stream: u32,
    ) {
        let den = &mut self.dens[line.den];
        let base = format!("{}://{host}", exchange.scheme.as_str());
        let seen = den.asked.get(path).copied().unwrap_or_default();
        if den.asked.len() < PATHS_MAX {
            den.asked.insert(path.to_owned(), seen + 1);
        }
        let asked = Asked { path, before: seen, base: &base, elsewhere: &self.elsewhere, stream };
        let own = (den.case.answers)(&asked);
        if own.is_none() && path == "/robots.txt" {
            exchange.robots_body = Some(http::GOOD_ROBOTS.as_bytes().into());
        }
        let script = own.unwrap_or_else(|| match stream {
            0 => http::good(&asked),
            _ => frames::good(&asked),
        });
        let said = told(script.first());
        exchange.status = script.status.or(said.status);
        exchange.location = said.location;
        exchange.retry_after = said.retry_after;
        exchange.date = said.date;
        exchange.cache_control = said.cache_control;
        if path == "/robots.txt" && exchange.robots_body.is_none() {
            let body = script.first().get(said.body_at..).unwrap_or_default();
            exchange.robots_body = Some(body.into());
        }
        line.requests += 1;
        line.begins(Exchanging { exchange, whole: script.whole }, script);
    }
}

pub(super) const WAKER: usize = 0;
const DENS: usize = 1;
const LINES: usize = 100_000;
/// Connections at once; more are closed as they come.
const LINES_MAX: usize = 4_096;
const EVENTS_MAX: usize = 1_024;
const READ_BYTES: usize = 64 << 10;
/// Input that waits for its answer.
const INPUT_MAX: usize = 128 << 10;
/// Requests answered on a connection before others have their turn.
const TURNS_MAX: u32 = 64;
const CONNECTIONS_TOLD_MAX: usize = 1 << 17;
const PATHS_MAX: usize = 100_000;
const TARGET_CHARS_MAX: usize = 4_096;
