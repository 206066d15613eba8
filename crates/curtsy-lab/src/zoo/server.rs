//! The server of the zoo: every connection plays the script of its case.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::ErrorKind;

use curtsy_judge::Exchange;

use super::case::{ZooCase, ZooProtocol, ZooRequest};
use super::connection::{Exchanging, Played, ZooState};
use super::frames::{self, HeardFrame, Http2Frames};
use super::http::{self, told};
use super::script::ZooScript;
use crate::clock::Stalls;
use crate::event_loop::{ClosedBy, ConnectionFate, OpenConnection, Serve, ServerLoop};
use crate::request::{self, RequestHead, RequestReading};

/// What the zoo has seen so far.
#[derive(Clone, Debug, Default)]
pub struct ZooSeen {
    /// Every exchange that has ended, in the order of their starts.
    pub log: Vec<Exchange>,
    /// Every connection that has ended.
    pub connections: Vec<ConnectionRecord>,
    /// When the zoo's own loop was late.
    pub stalls: Stalls,
}

/// A connection that has ended, in microseconds of the log's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The number of its case.
    pub case: usize,
    /// When it was accepted.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// Requests that it carried.
    pub requests: u32,
    /// Bytes that the kernel accepted from the zoo.
    pub sent: u64,
    /// Whether the client closed it.
    pub by_client: bool,
}

/// The cases, as the event loop serves them: the listener of a case has the case's number.
pub(super) struct ZooServer {
    cases: Vec<ZooCase>,
    /// How often each path of each case was requested.
    requested: Vec<HashMap<String, u32>>,
    /// The address of a host that behaves.
    elsewhere: String,
    ended: Vec<ConnectionRecord>,
}

type ZooLoop = ServerLoop<ZooServer>;
type ZooConnection = OpenConnection<ZooState>;

impl Serve for ZooServer {
    type State = ZooState;
    type Timer = Infallible;
    type Summary = ZooSeen;

    fn accepted(zoo: &mut ZooLoop, listener: usize) -> ZooState {
        let case = &zoo.server.cases[listener];
        let frames = (case.speaks == ZooProtocol::Http2).then(Http2Frames::default);
        let script = case.opens.map(|opens| opens()).unwrap_or_default();
        ZooState::new(frames, script, zoo.clock.now())
    }

    /// Reads what is there, answers it, and plays what is to be played.
    fn advance(zoo: &mut ZooLoop, index: usize, connection: &mut ZooConnection) -> ConnectionFate {
        for _ in 0..=TURNS_MAX {
            if connection.unread_since.is_some() {
                let fate = zoo.receive(connection);
                if fate != ConnectionFate::Open {
                    return fate;
                }
            }
            let OpenConnection { wire, state, .. } = connection;
            let played = state.play(wire, zoo.clock.now());
            let wake = match played {
                Ok(Played::Blocked) => return ConnectionFate::Open,
                Ok(Played::Until(at)) => Some(at),
                // Others come first, and then it goes on.
                Ok(Played::Much) => Some(zoo.clock.now() + 1),
                Ok(Played::Out | Played::Closed) => None,
                Err(_) => return ConnectionFate::Closed(zoo.clock.now(), ClosedBy::Client),
            };
            if let Some(at) = wake {
                zoo.wake_at(at, index, connection);
                return ConnectionFate::Open;
            }
            let now = zoo.clock.now();
            if let Some(exchange) = state.ended(now, true) {
                zoo.log.push(exchange);
            }
            if matches!(played, Ok(Played::Closed)) {
                return ConnectionFate::Closed(now, ClosedBy::Server);
            }
            if !zoo.answer(connection) {
                break;
            }
        }
        ConnectionFate::Open
    }

    fn interrupted(connection: &mut ZooConnection, now: u64) -> Option<Exchange> {
        connection.state.ended(now, false)
    }

    fn closed(&mut self, connection: &ZooConnection, now: u64, by: ClosedBy) {
        if self.ended.len() < RECORDS_MAX {
            self.ended.push(ConnectionRecord {
                case: connection.listener,
                from: connection.accepted_at,
                to: now,
                requests: connection.state.requests,
                sent: connection.state.sent,
                by_client: by == ClosedBy::Client,
            });
        }
    }

    fn due(_: &mut ZooLoop, timer: Infallible) {
        match timer {}
    }

    fn summary(zoo: &ZooLoop) -> ZooSeen {
        let stalls = zoo.lateness.stalls.clone();
        ZooSeen { log: Vec::new(), connections: zoo.server.ended.clone(), stalls }
    }
}

impl ZooServer {
    pub(super) fn new(cases: Vec<ZooCase>, elsewhere: String) -> ZooServer {
        let requested = vec![HashMap::new(); cases.len()];
        ZooServer { cases, requested, elsewhere, ended: Vec::new() }
    }
}

impl ZooLoop {
    /// Reads all that has come.
    fn receive(&mut self, connection: &mut ZooConnection) -> ConnectionFate {
        loop {
            let now = self.clock.now();
            match connection.wire.read(&mut self.chunk) {
                Ok(count @ 1..) if connection.input.len() < INPUT_MAX => {
                    connection.take_in(&self.chunk[..count], now);
                }
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.unread_since = None;
                    return ConnectionFate::Open;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A client that closed its side has left: no client of a test sends a request and
                // only listens from then on.
                Ok(0) | Err(_) => {
                    return ConnectionFate::Closed(self.clock.now(), ClosedBy::Client);
                }
            }
        }
    }

    /// Makes the answer to the next request the script; false if there is no request.
    fn answer(&mut self, connection: &mut ZooConnection) -> bool {
        if connection.input.is_empty()
            || self.server.cases[connection.listener].speaks == ZooProtocol::Raw
        {
            return false;
        }
        let mut input = std::mem::take(&mut connection.input);
        let used = match &mut connection.state.frames {
            Some(frames) => match frames.read(&input) {
                None => 0,
                Some((heard, used)) => {
                    self.hear(connection, heard);
                    used
                }
            },
            None => match request::read(&input) {
                RequestReading::Unfinished => 0,
                RequestReading::Whole(request) => {
                    self.say(connection, &request, 0);
                    request.bytes
                }
                RequestReading::Wrong(_) => {
                    connection.state.script = ZooScript::new().close();
                    input.len()
                }
            },
        };
        input.drain(..used);
        connection.input = input;
        used > 0
    }

    fn hear(&mut self, connection: &mut ZooConnection, heard: HeardFrame) {
        match heard {
            HeardFrame::Greeting => connection.state.script = ZooScript::say(frames::settings()),
            HeardFrame::Nonsense => connection.state.script = ZooScript::new().close(),
            HeardFrame::Reset(_) | HeardFrame::Other => {}
            HeardFrame::Request(stream, headers) => {
                let of = |name: &str| {
                    let header = headers.iter().find(|(known, _)| known == name);
                    header.map(|(_, value)| value.as_str().into())
                };
                let request = RequestHead {
                    method: of(":method").unwrap_or("GET".into()),
                    target: of(":path").unwrap_or("/".into()),
                    host: of(":authority"),
                    user_agent: of("user-agent"),
                    from: of("from"),
                    if_none_match: of("if-none-match"),
                    if_modified_since: of("if-modified-since"),
                    cookie: of("cookie").is_some(),
                    authorization: of("authorization").is_some(),
                    ..RequestHead::default()
                };
                self.say(connection, &request, stream);
            }
        }
    }

    fn say(&mut self, connection: &mut ZooConnection, request: &RequestHead<'_>, stream: u32) {
        let (case, host) = (connection.listener, request.host.as_deref().unwrap_or_default());
        let path = if stream == 0 { request.path_and_query() } else { &*request.target };
        let mut exchange = connection.exchange(request);
        if request.target.len() > TARGET_CHARS_MAX {
            exchange.target =
                request.target.chars().take(TARGET_CHARS_MAX).collect::<String>().into();
        }
        let base = format!("{}://{host}", exchange.scheme.as_str());
        let requested = &mut self.server.requested[case];
        let before = requested.get(path).copied().unwrap_or_default();
        if requested.len() < PATHS_MAX {
            requested.insert(path.to_owned(), before + 1);
        }
        let elsewhere = &self.server.elsewhere;
        let asked = ZooRequest { path, before, base: &base, elsewhere, stream };
        let own = (self.server.cases[case].answers)(&asked);
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
        connection.state.begins(Exchanging { exchange, whole: script.whole }, script);
    }
}

/// Connections at once; more are closed as they come.
pub(super) const CONNECTIONS_MAX: usize = 4_096;
/// Input that waits for its answer.
const INPUT_MAX: usize = 128 << 10;
/// Requests answered on a connection before others have their turn.
const TURNS_MAX: u32 = 64;
const RECORDS_MAX: usize = 1 << 17;
const PATHS_MAX: usize = 100_000;
const TARGET_CHARS_MAX: usize = 4_096;
