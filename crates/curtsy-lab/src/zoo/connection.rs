//! What the zoo keeps of a connection: its script, and how far that has been played.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use curtsy_judge::Exchange;

use super::frames::Http2Frames;
use super::script::{ScriptStep, ZooScript};
use crate::wire::ServerWire;

pub(super) struct ZooState {
    pub(super) requests: u32,
    /// Bytes that have left.
    pub(super) sent: u64,
    /// For a connection that uses HTTP/2.
    pub(super) frames: Option<Http2Frames>,
    pub(super) script: ZooScript,
    exchanging: Option<Exchanging>,
    /// Bytes of the present step that have left.
    at: usize,
    /// Times that the present step was played.
    times: u64,
    wake: u64,
    /// A script ends at this time at the latest.
    until: u64,
    sent_before: u64,
}

/// The exchange that a script answers.
pub(super) struct Exchanging {
    pub(super) exchange: Exchange,
    pub(super) whole: bool,
}

/// How far a script was played.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Played {
    /// The client must do something first.
    Blocked,
    /// Nothing before this moment.
    Until(u64),
    /// A good deal, and there is more.
    Much,
    /// To its end; the connection stays.
    Out,
    /// To its end, and the connection is closed.
    Closed,
}

impl ZooState {
    pub(super) fn new(frames: Option<Http2Frames>, script: ZooScript, now: u64) -> ZooState {
        ZooState {
            requests: 0,
            sent: 0,
            frames,
            script,
            exchanging: None,
            at: 0,
            times: 0,
            wake: 0,
            until: now + SCRIPT_LASTS,
            sent_before: 0,
        }
    }

    /// A request has come, and this is its answer.
    pub(super) fn begins(&mut self, exchanging: Exchanging, script: ZooScript) {
        self.requests += 1;
        self.until = exchanging.exchange.start + SCRIPT_LASTS;
        self.exchanging = Some(exchanging);
        self.script = script;
        self.sent_before = self.sent;
        (self.at, self.times, self.wake) = (0, 0, 0);
    }

    /// Takes the exchange under way, as it has come to its end.
    pub(super) fn ended(&mut self, now: u64, played_out: bool) -> Option<Exchange> {
        let Exchanging { mut exchange, whole } = self.exchanging.take()?;
        exchange.end = now.max(exchange.start);
        exchange.complete = whole && played_out;
        if self.sent == self.sent_before {
            // The client never saw a status.
            exchange.status = None;
            exchange.retry_after = None;
            exchange.location = None;
        }
        Some(exchange)
    }

    /// Plays as much of the script as can be played now. An error is a client that has left.
    pub(super) fn play(&mut self, wire: &mut ServerWire, now: u64) -> io::Result<Played> {
        let enough = self.sent + SENT_AT_ONCE;
        loop {
            if now < self.wake {
                return Ok(Played::Until(self.wake));
            }
            if now > self.until || self.sent > SENT_MAX {
                return Ok(Played::Closed);
            }
            if self.sent > enough {
                return Ok(Played::Much);
            }
            let Some(step) = self.script.steps.front().cloned() else {
                return wire.flushed().map(|flushed| match flushed {
                    true => Played::Out,
                    false => Played::Blocked,
                });
            };
            match step {
                ScriptStep::Say(bytes) => match self.push(wire, &bytes, bytes.len())? {
                    true => self.next(),
                    false => return Ok(Played::Blocked),
                },
                ScriptStep::Times(bytes, most) => match self.push(wire, &bytes, bytes.len())? {
                    true if self.times + 1 < most => (self.at, self.times) = (0, self.times + 1),
                    true => self.next(),
                    false => return Ok(Played::Blocked),
                },
                ScriptStep::Endless(bytes, every) => match self.push(wire, &bytes, bytes.len())? {
                    true => {
                        self.at = 0;
                        self.wake = now + every.as_micros() as u64;
                    }
                    false => return Ok(Played::Blocked),
                },
                ScriptStep::Drip(bytes, every) => {
                    let upto = (self.at + 1).min(bytes.len());
                    match self.push(wire, &bytes, upto)? {
                        true if self.at >= bytes.len() => self.next(),
                        true => self.wake = now + every.as_micros() as u64,
                        false => return Ok(Played::Blocked),
                    }
                }
                ScriptStep::Wait(span) => {
                    self.next();
                    self.wake = now + span.as_micros() as u64;
                }
                ScriptStep::Silence => return Ok(Played::Until(self.until + 1)),
                ScriptStep::HalfClose => {
                    wire.end(false);
                    self.script.steps.pop_front();
                    self.script.steps.push_front(ScriptStep::Silence);
                }
                ScriptStep::Close => {
                    if !wire.flushed()? {
                        return Ok(Played::Blocked);
                    }
                    let whole = self.exchanging.as_ref().is_some_and(|now| now.whole);
                    wire.end(whole);
                    return Ok(Played::Closed);
                }
                ScriptStep::Reset => {
                    wire.reset();
                    return Ok(Played::Closed);
                }
            }
        }
    }

    fn next(&mut self) {
        self.script.steps.pop_front();
        (self.at, self.times) = (0, 0);
    }

    /// Sends the first `upto` bytes, as far as they have not left; true once they have.
    fn push(&mut self, wire: &mut ServerWire, bytes: &Arc<[u8]>, upto: usize) -> io::Result<bool> {
        while self.at < upto {
            match wire.write(&bytes[self.at..upto]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.at += count;
                    self.sent += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// No script lasts longer than this, in microseconds: longer than any client's patience.
const SCRIPT_LASTS: u64 = 120_000_000;
/// What one connection is sent at most.
const SENT_MAX: u64 = 1 << 30;
/// What is sent before others have their turn.
const SENT_AT_ONCE: u64 = 256 << 10;
