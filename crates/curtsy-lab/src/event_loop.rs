//! The event loop of the test servers: one thread, one poll, every connection a small machine.
//!
//! Sites and zoo differ in what a connection sends ([`Serve`]). Listening, accepting, TLS, timers,
//! the lateness of reads and the access log are the same and are here. The loop is written on the
//! poll itself, not on an async runtime, because its log is evidence: the time of a request is the
//! time of the read, and the loop knows how late its own reads can have been ([`crate::clock`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use curtsy_judge::{ConnectionChange, ConnectionEvent, Exchange, LogScheme};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::{ServerConfig, ServerConnection};
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::{Lateness, LogClock, READ_WITHIN, TICK};
use crate::log::AccessLog;
use crate::request::RequestHead;
use crate::wire::ServerWire;

/// What a server does with its connections.
pub(crate) trait Serve: Sized + Send + 'static {
    /// What the server keeps of each connection.
    type State: Send;
    /// Timers that belong to no connection.
    type Timer: Copy + Ord + Send;
    /// What the server returns when it stops.
    type Summary: Send;

    /// Returns the state of a connection that was accepted just now.
    fn accepted(server: &mut ServerLoop<Self>, listener: usize) -> Self::State;
    /// Returns the name of the host at a listener, if it is the only one there.
    fn only_host(&self, _listener: usize) -> Option<Arc<str>> {
        None
    }
    /// Reads and writes as much as is possible now.
    fn advance(
        server: &mut ServerLoop<Self>,
        index: usize,
        connection: &mut OpenConnection<Self::State>,
    ) -> ConnectionFate;
    /// Takes the exchange that is under way, which ends here incomplete.
    fn interrupted(connection: &mut OpenConnection<Self::State>, now: u64) -> Option<Exchange>;
    /// A connection was closed.
    fn closed(&mut self, _connection: &OpenConnection<Self::State>, _now: u64, _by: ClosedBy) {}
    /// A timer of the server's own is due.
    fn due(server: &mut ServerLoop<Self>, timer: Self::Timer);
    /// A poll and all of its events have been handled.
    fn polled(_server: &mut ServerLoop<Self>) {}
    /// Returns what the owner wants to know of the server so far, without the log.
    fn summary(server: &ServerLoop<Self>) -> Self::Summary;
}

/// A server and its poll.
pub(crate) struct ServerLoop<S: Serve> {
    pub(crate) server: S,
    pub(crate) clock: LogClock,
    pub(crate) lateness: Lateness,
    pub(crate) listeners: Vec<ListeningPort>,
    pub(crate) log: AccessLog,
    /// Connections that were accepted.
    pub(crate) accepted: u64,
    /// Connections that were closed at once because too many were open.
    pub(crate) turned_away: u64,
    /// Every read goes here first.
    pub(crate) chunk: Box<[u8]>,
    poll: Poll,
    orders: Receiver<LoopOrder<S>>,
    connections: Vec<Option<OpenConnection<S::State>>>,
    connections_max: usize,
    free: Vec<usize>,
    timers: BinaryHeap<Reverse<(u64, LoopTimer<S::Timer>)>>,
    /// A listener could not be emptied because no file descriptor was left.
    accept_again: bool,
}

/// A connection that was accepted.
pub(crate) struct OpenConnection<T> {
    pub(crate) wire: ServerWire,
    /// Its number in the log.
    pub(crate) number: u64,
    /// The listener that accepted it.
    pub(crate) listener: usize,
    pub(crate) scheme: LogScheme,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) local: SocketAddrV4,
    pub(crate) accepted_at: u64,
    /// What was read and not yet answered.
    pub(crate) input: Vec<u8>,
    /// When the first byte of `input` was read, and whether that was too late.
    pub(crate) input_at: u64,
    pub(crate) input_late: bool,
    /// Something is to be read, and was not there before this time.
    pub(crate) unread_since: Option<u64>,
    /// The client has closed its side, so the connection is read to the end.
    pub(crate) read_closed: bool,
    pub(crate) state: T,
    /// Texts that a client repeats are kept once.
    known_host: Option<Arc<str>>,
    known_agent: Option<Arc<str>>,
}

/// An address and port that the server listens on.
pub(crate) struct ListeningPort {
    pub(crate) address: SocketAddrV4,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// `None` while connections are refused.
    pub(crate) socket: Option<TcpListener>,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionFate {
    /// It stays open.
    Open,
    /// It is closed, and this is the end of the exchange that was under way.
    Closed(u64, ClosedBy),
}

/// Which side closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    Server,
    Client,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LoopTimer<T> {
    /// The connection at this index, if it still has this number.
    Connection(usize, u64),
    Own(T),
}

/// What the owner asks of a running server. Without owner the server stops.
type LoopOrder<S> = Box<dyn FnOnce(&mut ServerLoop<S>) + Send>;

/// What a server leaves behind.
pub(crate) struct LoopEnd<T> {
    /// The log, in the order of starts.
    pub(crate) exchanges: Vec<Exchange>,
    /// The connections of the log.
    pub(crate) connections: Vec<ConnectionEvent>,
    pub(crate) summary: T,
    /// Why it stopped early.
    pub(crate) ended: io::Result<()>,
}

/// A server on a thread of its own. Dropping it stops the server.
pub(crate) struct RunningServer<S: Serve> {
    orders: Option<Sender<LoopOrder<S>>>,
    waker: Waker,
    thread: Option<JoinHandle<LoopEnd<S::Summary>>>,
}

impl<S: Serve> RunningServer<S> {
    pub(crate) fn start(
        name: &str,
        server: S,
        listeners: Vec<ListeningPort>,
        log: AccessLog,
        connections_max: usize,
    ) -> io::Result<RunningServer<S>> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Token(WAKER))?;
        let (sender, orders) = channel();
        let clock = LogClock::new();
        let mut server = ServerLoop {
            server,
            clock,
            lateness: Lateness::new(clock.now()),
            listeners,
            log,
            accepted: 0,
            turned_away: 0,
            chunk: vec![0; READ_BYTES].into(),
            poll,
            orders,
            connections: Vec::new(),
            connections_max,
            free: Vec::new(),
            timers: BinaryHeap::new(),
            accept_again: false,
        };
        (0..server.listeners.len()).try_for_each(|index| server.register(index))?;
        let run = || server.run();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(RunningServer { orders: Some(sender), waker, thread: Some(thread) })
    }

    /// Has the server's thread run a function. `None` if the server has failed.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut ServerLoop<S>) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = sync_channel(1);
        let order: LoopOrder<S> = Box::new(move |server| drop(answer.send(question(server))));
        self.orders.as_ref()?.send(order).ok()?;
        self.waker.wake().ok()?;
        answered.recv().ok()
    }

    /// Stops the server; what is under way is cut off. `None` if its thread panicked.
    pub(crate) fn stop(&mut self) -> Option<LoopEnd<S::Summary>> {
        let thread = self.thread.take()?;
        self.orders = None;
        // A server that has failed already needs no waking.
        let _ = self.waker.wake();
        thread.join().ok()
    }
}

impl<S: Serve> Drop for RunningServer<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<S: Serve> ServerLoop<S> {
    /// Runs until the owner stops it.
    fn run(mut self) -> LoopEnd<S::Summary> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut whole = true;
        let ended = loop {
            let entered = self.clock.now();
            let next = self.timers.peek().map(|Reverse((at, _))| at.saturating_sub(entered));
            let timeout = next.map_or(TICK, |micros| TICK.min(Duration::from_micros(micros)));
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            }
            self.lateness.polled(entered, self.clock.now(), whole);
            let mut count = 0;
            for event in &events {
                count += 1;
                let token = event.token().0;
                if let Some(index) = token.checked_sub(CONNECTIONS) {
                    let since = self.lateness.unread_since;
                    self.with(index, |server, connection| {
                        connection.read_closed |= event.is_read_closed();
                        if event.is_readable() || event.is_read_closed() {
                            connection.unread_since.get_or_insert(since);
                        }
                        S::advance(server, index, connection)
                    });
                } else if token != WAKER {
                    self.accept(token - LISTENERS);
                }
            }
            whole = count < EVENTS_MAX;
            self.ring();
            if std::mem::take(&mut self.accept_again) {
                (0..self.listeners.len()).for_each(|listener| self.accept(listener));
            }
            S::polled(&mut self);
            if self.obey() {
                break Ok(());
            }
        };
        let now = self.clock.now();
        for connection in self.connections.iter_mut().flatten() {
            if let Some(exchange) = S::interrupted(connection, now) {
                self.log.push(exchange);
            }
        }
        let summary = S::summary(&self);
        let (exchanges, connections, written) = self.log.finish();
        LoopEnd { exchanges, connections, summary, ended: ended.and(written) }
    }

    /// Carries out what the owner asks; true if there is no owner any more.
    fn obey(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(order) => order(self),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    /// Has `act` use a connection, which is closed afterwards if it says so.
    pub(crate) fn with(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut ServerLoop<S>, &mut OpenConnection<S::State>) -> ConnectionFate,
    ) {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.with_taken(index, connection, act);
    }

    fn with_taken(
        &mut self,
        index: usize,
        mut connection: OpenConnection<S::State>,
        act: impl FnOnce(&mut ServerLoop<S>, &mut OpenConnection<S::State>) -> ConnectionFate,
    ) {
        let ConnectionFate::Closed(at, by) = act(self, &mut connection) else {
            self.connections[index] = Some(connection);
            return;
        };
        let _ = self.poll.registry().deregister(connection.wire.stream());
        if let Some(exchange) = S::interrupted(&mut connection, at) {
            self.log.push(exchange);
        }
        self.log.push(connection.closed(at, by));
        self.server.closed(&connection, at, by);
        self.free.push(index);
    }

    /// The indexes of the open connections that fit.
    pub(crate) fn find(&self, fits: impl Fn(&OpenConnection<S::State>) -> bool) -> Vec<usize> {
        let connections = self.connections.iter().enumerate();
        let fitting = connections.filter(|(_, one)| one.as_ref().is_some_and(&fits));
        fitting.map(|(index, _)| index).collect()
    }

    /// Has a connection advance at a time.
    pub(crate) fn wake_at(&mut self, at: u64, index: usize, connection: &OpenConnection<S::State>) {
        self.timers.push(Reverse((at, LoopTimer::Connection(index, connection.number))));
    }

    pub(crate) fn set_timer(&mut self, at: u64, timer: S::Timer) {
        self.timers.push(Reverse((at, LoopTimer::Own(timer))));
    }

    /// Does what is due.
    fn ring(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((at, timer))) = self.timers.peek().copied() {
            if at > now {
                return;
            }
            self.timers.pop();
            match timer {
                LoopTimer::Connection(index, number) => {
                    let same = |one: &mut OpenConnection<S::State>| one.number == number;
                    let slot = self.connections.get_mut(index);
                    if let Some(connection) = slot.and_then(|slot| slot.take_if(same)) {
                        let advance = |server: &mut ServerLoop<S>, connection: &mut _| {
                            S::advance(server, index, connection)
                        };
                        self.with_taken(index, connection, advance);
                    }
                }
                LoopTimer::Own(timer) => S::due(self, timer),
            }
        }
    }

    fn register(&mut self, index: usize) -> io::Result<()> {
        let Some(socket) = &mut self.listeners[index].socket else { return Ok(()) };
        self.poll.registry().register(socket, Token(LISTENERS + index), Interest::READABLE)
    }

    /// Refuses connections from now on.
    pub(crate) fn close_listener(&mut self, index: usize) {
        if let Some(mut socket) = self.listeners[index].socket.take() {
            let _ = self.poll.registry().deregister(&mut socket);
        }
    }

    /// Listens again where a listener was closed.
    pub(crate) fn open_listener(&mut self, index: usize) -> io::Result<()> {
        let listener = &mut self.listeners[index];
        if listener.socket.is_none() {
            listener.socket = Some(listen(listener.address)?);
            if self.register(index).is_err() {
                self.listeners[index].socket = None;
            }
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) {
        loop {
            let Some(socket) = self.listeners.get(listener).and_then(|it| it.socket.as_ref())
            else {
                return;
            };
            let stream = match socket.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // No file descriptor is left: accepted when one is free again.
                    self.accept_again = true;
                    return;
                }
            };
            self.accepted += 1;
            let event = self.accept_event(listener, &stream);
            self.log.push(event);
            if self.connections.len() - self.free.len() >= self.connections_max {
                self.turned_away += 1;
                continue;
            }
            let Ok(mut connection) = self.connection(listener, stream) else { continue };
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let interest = Interest::READABLE | Interest::WRITABLE;
            let token = Token(CONNECTIONS + index);
            if self.poll.registry().register(connection.wire.stream(), token, interest).is_err() {
                self.free.push(index);
                continue;
            }
            // What is there already may have come as early as the connection.
            connection.unread_since = Some(self.lateness.unread_since);
            self.with_taken(index, connection, |server, connection| {
                S::advance(server, index, connection)
            });
        }
    }

    /// Returns the line of the log for the connection that was accepted just now.
    fn accept_event(&self, listener: usize, stream: &TcpStream) -> ConnectionEvent {
        let (at, address) = (self.clock.now(), self.listeners[listener].address);
        ConnectionEvent {
            at,
            change: ConnectionChange::Accepted,
            conn: self.accepted,
            peer: stream.peer_addr().ok().map(|peer| peer.ip()),
            local: Some(IpAddr::V4(*address.ip())),
            port: address.port(),
            host: self.server.only_host(listener),
            read_late: at.saturating_sub(self.lateness.unread_since) > READ_WITHIN,
            ..ConnectionEvent::default()
        }
    }

    fn connection(
        &mut self,
        listener: usize,
        stream: TcpStream,
    ) -> io::Result<OpenConnection<S::State>> {
        stream.set_nodelay(true)?;
        let ListeningPort { address, tls, .. } = &self.listeners[listener];
        let (local, peer) = (*address, stream.peer_addr().ok().map(|peer| peer.ip()));
        let (wire, scheme) = match tls {
            None => (ServerWire::Plain(stream), LogScheme::Http),
            Some(config) => {
                let session = ServerConnection::new(Arc::clone(config));
                let session = session.map_err(io::Error::other)?;
                (ServerWire::Secure(Box::new(session), stream), LogScheme::Https)
            }
        };
        Ok(OpenConnection {
            wire,
            number: self.accepted,
            listener,
            scheme,
            peer,
            local,
            accepted_at: self.clock.now(),
            input: Vec::new(),
            input_at: 0,
            input_late: false,
            unread_since: None,
            read_closed: false,
            state: S::accepted(self, listener),
            known_host: None,
            known_agent: None,
        })
    }
}

impl<T> OpenConnection<T> {
    /// Keeps bytes that were read at `now`.
    pub(crate) fn take_in(&mut self, bytes: &[u8], now: u64) {
        if self.input.is_empty() {
            self.input_at = now;
            let since = self.unread_since.unwrap_or(now);
            self.input_late = now.saturating_sub(since) > READ_WITHIN;
        }
        self.input.extend_from_slice(bytes);
    }

    /// Returns the line of the log for the close of this connection.
    fn closed(&self, at: u64, by: ClosedBy) -> ConnectionEvent {
        ConnectionEvent {
            at,
            change: match by {
                ClosedBy::Server => ConnectionChange::ClosedByServer,
                ClosedBy::Client => ConnectionChange::ClosedByClient,
            },
            conn: self.number,
            peer: self.peer,
            local: Some(IpAddr::V4(*self.local.ip())),
            port: self.local.port(),
            ..ConnectionEvent::default()
        }
    }

    /// Returns the first half of a log entry: the request.
    pub(crate) fn exchange(&mut self, request: &RequestHead<'_>) -> Exchange {
        let (name, port) = split_port(request.host.as_deref().unwrap_or_default());
        let text = |value: &Option<std::borrow::Cow<'_, str>>| value.as_deref().map(Arc::from);
        let agent = request.user_agent.as_deref();
        Exchange {
            conn: self.number,
            peer: self.peer,
            local: Some(IpAddr::V4(*self.local.ip())),
            scheme: self.scheme,
            host: shared(&mut self.known_host, name),
            port: port.unwrap_or(self.local.port()),
            method: match &*request.method {
                "GET" => get_method(),
                other => other.into(),
            },
            user_agent: agent.map(|agent| shared(&mut self.known_agent, agent)),
            from: text(&request.from),
            if_none_match: text(&request.if_none_match),
            if_modified_since: text(&request.if_modified_since),
            cookie: request.cookie,
            authorization: request.authorization,
            status: None,
            complete: false,
            read_late: self.input_late,
            ..Exchange::get(self.input_at, "", &request.target, 0)
        }
    }
}

fn shared(known: &mut Option<Arc<str>>, text: &str) -> Arc<str> {
    match known {
        Some(known) if **known == *text => Arc::clone(known),
        _ => Arc::clone(known.insert(text.into())),
    }
}

fn get_method() -> Arc<str> {
    thread_local!(static GET: Arc<str> = "GET".into());
    GET.with(Arc::clone)
}

/// `host:port`, taken apart.
pub(crate) fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (host, None),
        },
        _ => (host, None),
    }
}

/// Why a test server can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The description is wrong.
    #[error(transparent)]
    Scene(#[from] crate::sites::SceneError),
    /// An address can't be listened on.
    #[error(
        "could not listen on {address}: {source}\nhint: leave `port` out, and any free port is taken"
    )]
    Listen {
        /// The address.
        address: SocketAddrV4,
        /// The system's error.
        source: io::Error,
    },
    /// The log can't be written.
    #[error("could not write the log `{}`: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No certificate can be made.
    #[error("could not make a certificate: {0}")]
    Tls(String),
    /// Another error of the system.
    #[error("could not start to serve: {0}")]
    System(#[from] io::Error),
}

/// Opens the log of a server.
pub(crate) fn open_log(in_memory_max: usize, file: Option<&Path>) -> Result<AccessLog, StartError> {
    let path = file.unwrap_or(Path::new("")).to_owned();
    AccessLog::new(in_memory_max, file).map_err(|source| StartError::Log { path, source })
}

/// Raises the soft limit of open files as far as the hard one allows.
pub(crate) fn allow_open_files(sockets: usize) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = sockets as u64 + OTHER_FILES;
    let allowed = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|now| now < allowed) {
        // With fewer, connections wait until others have ended.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limit });
    }
}

/// Listens on all addresses at one port: the given one, or any that is free at all of them.
pub(crate) fn listen_on_one_port(
    wanted: u16,
    addresses: &[Ipv4Addr],
) -> Result<Vec<ListeningPort>, StartError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut port = wanted;
        let open = |&ip: &Ipv4Addr| {
            let address = SocketAddrV4::new(ip, port);
            let failed = |source| StartError::Listen { address, source };
            let socket = listen(address).map_err(failed)?;
            port = socket.local_addr()?.port();
            let address = SocketAddrV4::new(ip, port);
            Ok(ListeningPort { address, tls: None, socket: Some(socket) })
        };
        match addresses.iter().map(open).collect() {
            Err(StartError::Listen { source, .. })
                if wanted == 0 && source.kind() == ErrorKind::AddrInUse && tries < TRIES => {}
            other => return other,
        }
    }
}

/// Listens with the longest queue that the system gives: connections come in bursts.
fn listen(address: SocketAddrV4) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

const WAKER: usize = 0;
const LISTENERS: usize = 1;
/// Tokens from here on are connections.
const CONNECTIONS: usize = 1 << 20;
/// What one poll reports at most.
const EVENTS_MAX: usize = 4096;
const READ_BYTES: usize = 16 << 10;
/// What the rest of the process may have open.
const OTHER_FILES: u64 = 1_024;
const TRIES: u32 = 20;
const BACKLOG: i32 = 4096;
