//! What the sites keep of a connection: the answer under way, and what the log will say of it.

use std::sync::Arc;

use curtsy_judge::Exchange;

use super::stage::{AfterSend, SendPlan, SiteResponse};

#[derive(Default)]
pub(super) struct SiteState {
    /// It is closed at once, unread.
    pub(super) shut: bool,
    /// How long it may be idle, in microseconds.
    pub(super) idle_max: u64,
    /// Its handshake is kept waiting: no request can have been sent before that ends.
    pub(super) handshake_waits: bool,
    /// Nothing is read before this time.
    pub(super) deaf_until: u64,
    /// Whether it was drawn if the request at hand is read late: once for each request.
    pub(super) heard: bool,
    pub(super) phase: SitePhase,
    pub(super) output: Vec<u8>,
    pub(super) sent: usize,
    /// When the last write was begun.
    pub(super) wrote_at: u64,
    /// Closed at this time if nothing happens.
    pub(super) deadline: u64,
    pub(super) answered: u32,
}

#[derive(Debug, Default)]
pub(super) enum SitePhase {
    /// Waits for a request, or for the rest of one.
    #[default]
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
    pub(super) delivery: SendPlan,
    /// How much may be sent by now.
    pub(super) allowed: usize,
    /// When more may be sent.
    pub(super) wake: u64,
    /// The gate behind which it is held.
    pub(super) gate: Option<Arc<str>>,
}

impl SiteState {
    /// Begins to send what was said; it is in `output`.
    pub(super) fn answer(
        &mut self,
        mut exchange: Exchange,
        said: SiteResponse,
        date: &Arc<str>,
        now: u64,
    ) {
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
        self.phase = SitePhase::Answering(Box::new(answering));
    }

    /// Takes the exchange under way, as it has come to its end: whole, or broken off.
    pub(super) fn ended(&mut self, now: u64) -> Option<(Exchange, AfterSend)> {
        let SitePhase::Answering(answering) =
            std::mem::replace(&mut self.phase, SitePhase::Reading)
        else {
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
    pub(super) fn next(&mut self, now: u64) -> NextSend {
        if self.gate.is_some() {
            return NextSend::Held;
        }
        if now < self.wake {
            return NextSend::WaitUntil(self.wake);
        }
        let SendPlan { send, head_bytes, piece, then, .. } = self.delivery;
        if self.allowed >= send {
            if then == AfterSend::Hang {
                self.delivery.then = AfterSend::Close;
                self.wake = now + HANGS;
                return NextSend::WaitUntil(self.wake);
            }
            return NextSend::Finished;
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
        NextSend::Send
    }
}

/// What an answer does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextSend {
    /// More may be sent.
    Send,
    /// Nothing before this time.
    WaitUntil(u64),
    /// Nothing before its gate is opened.
    Held,
    /// It is at its end.
    Finished,
}

/// How long a host that says nothing keeps the connection: longer than any client's patience.
const HANGS: u64 = 60_000_000;
const OUTPUT_KEPT_BYTES: usize = 1 << 20;
