//! One connection: what it has read, what it still has to send, and what the log will say of it.

use std::net::IpAddr;
use std::sync::Arc;

use curtsy_judge::{Exchange, LogScheme};

use super::request::Request;
use super::stage::{Delivery, Said, Then};
use super::wire::Wire;

pub(super) struct Line {
    pub(super) wire: Wire,
    pub(super) number: u64,
    pub(super) peer: Option<IpAddr>,
    pub(super) local: IpAddr,
    pub(super) port: u16,
    pub(super) scheme: LogScheme,
    /// The listener that it came by.
    pub(super) listener: usize,
    /// What was read and not yet answered.
    pub(super) input: Vec<u8>,
    /// When the first byte of `input` was read, and whether that was too late.
    pub(super) input_at: u64,
    pub(super) input_late: bool,
    /// Something is to be read, and was not there before this time.
    pub(super) unread_since: Option<u64>,
    /// The client has said that nothing more comes: read to the end.
    pub(super) ending: bool,
    /// Its handshake is kept waiting: no request can have been sent before that ends.
    pub(super) kept_waiting: bool,
    /// Nothing is read before this time.
    pub(super) deaf_until: u64,
    /// Whether the request at hand has been listened to: a deaf server draws once for each.
    pub(super) heard: bool,
    pub(super) phase: Phase,
    pub(super) output: Vec<u8>,
    pub(super) sent: usize,
    /// When the last write was begun.
    pub(super) wrote_at: u64,
    /// Closed at this time if nothing happens.
    pub(super) deadline: u64,
    pub(super) answered: u32,
    pub(super) generation: u32,
    /// Texts that a client repeats are kept once.
    known_host: Option<Arc<str>>,
    known_agent: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waits for a request, or for the rest of one.
    Reading,
    /// Has an answer to send.
    Answering(Box<Answering>),
    /// Has said goodbye, and reads what the client still sends.
    Lingering,
}

/// An exchange under way.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) exchange: Exchange,
    pub(super) delivery: Delivery,
    /// How much may be sent by now.
    pub(super) allowed: usize,
    /// When more may be sent.
    pub(super) wake: u64,
    /// The gate behind which it is held.
    pub(super) gate: Option<Arc<str>>,
}

impl Line {
    #[expect(clippy::too_many_arguments, reason = "what a connection is born with")]
    pub(super) fn new(
        mut wire: Wire,
        number: u64,
        local: IpAddr,
        port: u16,
        scheme: LogScheme,
        listener: usize,
        generation: u32,
        deadline: u64,
    ) -> Line {
        Line {
            peer: wire.peer().map(|peer| peer.ip()),
            wire,
            number,
            local,
            port,
            scheme,
            listener,
            input: Vec::new(),
            input_at: 0,
            input_late: false,
            unread_since: None,
            ending: false,
            kept_waiting: false,
            deaf_until: 0,
            heard: false,
            phase: Phase::Reading,
            output: Vec::new(),
            sent: 0,
            wrote_at: 0,
            deadline,
            answered: 0,
            generation,
            known_host: None,
            known_agent: None,
        }
    }

    /// The beginning of a log line: what was asked.
    pub(super) fn asked(&mut self, request: &Request<'_>) -> Exchange {
        let host = request.host.as_deref().unwrap_or_default();
        let (name, port) = split_port(host);
        let text = |value: &Option<std::borrow::Cow<'_, str>>| value.as_deref().map(Arc::from);
        Exchange {
            start: self.input_at,
            end: self.input_at,
            conn: self.number,
            peer: self.peer,
            local: Some(self.local),
            scheme: self.scheme,
            host: kept(&mut self.known_host, name),
            port: port.unwrap_or(self.port),
            method: match &*request.method {
                "GET" => known_method(),
                other => other.into(),
            },
            target: (&*request.target).into(),
            user_agent: request
                .user_agent
                .as_deref()
                .map(|agent| kept(&mut self.known_agent, agent)),
            from: text(&request.from),
            if_none_match: text(&request.if_none_match),
            if_modified_since: text(&request.if_modified_since),
            cookie: request.cookie,
            authorization: request.authorization,
            status: None,
            location: None,
            retry_after: None,
            date: None,
            cache_control: None,
            etag: None,
            last_modified: None,
            robots_body: None,
            complete: false,
            read_late: self.input_late,
            early: 0,
            source: None,
        }
    }

    /// What was asked could not be read.
    pub(super) fn asked_nonsense(&mut self) -> Exchange {
        let host = self.local.to_string();
        let nonsense =
            Request { method: "UNREADABLE".into(), target: "/".into(), ..Request::default() };
        Exchange { host: host.into(), port: self.port, ..self.asked(&nonsense) }
    }

    /// Begins to send what was said; it is in `output`.
    pub(super) fn answer(&mut self, mut exchange: Exchange, said: Said, date: &Arc<str>, now: u64) {
        exchange.status = said.status;
        exchange.date = said.status.map(|_| Arc::clone(date));
        if said.status.is_some() {
            exchange.location = said.location;
            exchange.retry_after = said.retry_after;
            exchange.cache_control = said.cache_control;
            exchange.etag = said.etag;
            exchange.last_modified = said.last_modified;
            exchange.robots_body = said.robots_body;
        }
        let delivery = said.delivery;
        let wake = now + delivery.first_byte.as_micros() as u64;
        self.sent = 0;
        self.answered += 1;
        let gate = said.gate;
        let answering = Answering { exchange, delivery, allowed: 0, wake, gate };
        self.phase = Phase::Answering(Box::new(answering));
    }

    /// Takes the exchange under way, as it has come to its end: whole, or broken off.
    pub(super) fn ended(&mut self, now: u64) -> Option<(Exchange, Then)> {
        let Phase::Answering(answering) = std::mem::replace(&mut self.phase, Phase::Reading) else {
            return None;
        };
        let Answering { mut exchange, delivery, .. } = *answering;
        exchange.end = now.max(exchange.start);
        exchange.complete = delivery.whole && self.sent >= delivery.send;
        if self.sent == 0 {
            // The client never saw a status.
            exchange.status = None;
            exchange.date = None;
            exchange.retry_after = None;
            exchange.location = None;
        }
        if self.output.capacity() > OUTPUT_KEPT_BYTES {
            self.output = Vec::new();
        }
        self.output.clear();
        Some((exchange, delivery.then))
    }
}

impl Answering {
    /// What is allowed has been sent: what now?
    pub(super) fn next(&mut self, now: u64) -> Next {
        if self.gate.is_some() {
            return Next::Held;
        }
        if now < self.wake {
            return Next::WaitUntil(self.wake);
        }
        let Delivery { send, head_bytes, piece, then, .. } = self.delivery;
        if self.allowed >= send {
            if then == Then::Hang {
                self.delivery.then = Then::Close;
                self.wake = now + HANGS;
                return Next::WaitUntil(self.wake);
            }
            return Next::Finished;
        }
        self.allowed = match piece {
            Some((_, wait)) if self.allowed == 0 => {
                self.wake = now + wait.as_micros() as u64;
                head_bytes.min(send)
            }
            Some((bytes, wait)) if self.allowed + bytes < send => {
                self.wake = now + wait.as_micros() as u64;
                self.allowed + bytes
            }
            _ => send,
        };
        Next::Send
    }
}

/// What an answer does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More may be sent.
    Send,
    /// Nothing before this time.
    WaitUntil(u64),
    /// Nothing before its gate is opened.
    Held,
    /// It is at its end.
    Finished,
}

/// `host:port`, taken apart.
pub(super) fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (host, None),
        },
        _ => (host, None),
    }
}

fn kept(known: &mut Option<Arc<str>>, text: &str) -> Arc<str> {
    match known {
        Some(known) if **known == *text => Arc::clone(known),
        _ => Arc::clone(known.insert(text.into())),
    }
}

fn known_method() -> Arc<str> {
    thread_local!(static GET: Arc<str> = "GET".into());
    GET.with(Arc::clone)
}

/// How long a host that says nothing keeps the connection: longer than any client's patience.
const HANGS: u64 = 60_000_000;
const OUTPUT_KEPT_BYTES: usize = 1 << 20;
