//! The socket, and the gate in front of its first write.
//!
//! A request is *armed* with the moment until which its permit holds. While it is armed, each write to the socket reads the clock first: past that
//! moment the write fails, and not a byte has left. The check stands below TLS, so what it lets through are the very bytes that leave
//! the machine; no buffer, task or queue comes after it.
//!
//! The gate also stamps when the answer's first byte was read. That stands above TLS: tickets and key updates are not an answer.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use curtsy_engine::{Clock, Mono};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::TokioClock;

/// What a line and its socket tell each other. One thread, so cells.
#[derive(Debug)]
pub(crate) struct Gate {
    clock: TokioClock,
    /// The permit's last moment, while a request is armed.
    until: Cell<Option<Mono>>,
    /// When the last byte written while armed had left.
    written: Cell<Option<Mono>>,
    /// When the first byte after the request was read.
    first_read: Cell<Option<Mono>>,
    /// The socket took less than it was given.
    blocked: Cell<bool>,
    /// Bytes read since the request was armed, after TLS.
    read: Cell<u64>,
    /// Bytes of this connection, in and out, as the network has them.
    wire_in: Cell<u64>,
    wire_out: Cell<u64>,
}

impl Gate {
    pub(crate) fn new(clock: TokioClock) -> Rc<Gate> {
        Rc::new(Gate {
            clock,
            until: Cell::new(None),
            written: Cell::new(None),
            first_read: Cell::new(None),
            blocked: Cell::new(false),
            read: Cell::new(0),
            wire_in: Cell::new(0),
            wire_out: Cell::new(0),
        })
    }

    /// The next bytes written are a request that must leave by then.
    pub(crate) fn arm(&self, until: Mono) {
        self.until.set(Some(until));
        self.written.set(None);
        self.first_read.set(None);
        self.read.set(0);
    }

    /// Called after each round in which the connection could write: the request is out as soon as something was written and nothing is left
    /// in the way. Until then every further write is checked too, so no part of a request leaves late.
    pub(crate) fn settle(&self) {
        if self.written.get().is_some() && !self.blocked.get() {
            self.until.set(None);
        }
    }

    /// When the request had surely left, if any byte of it did.
    pub(crate) fn written(&self) -> Option<Mono> {
        self.written.get()
    }

    /// Whether the socket has no room for more.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// When the first byte of the answer was here.
    pub(crate) fn first_read(&self) -> Option<Mono> {
        self.first_read.get()
    }

    /// Bytes read since the request, after TLS.
    pub(crate) fn read(&self) -> u64 {
        self.read.get()
    }

    /// Bytes in and out over the connection's life.
    pub(crate) fn wire_bytes(&self) -> (u64, u64) {
        (self.wire_in.get(), self.wire_out.get())
    }
}

/// The socket itself.
#[derive(Debug)]
pub(crate) struct Wire {
    tcp: TcpStream,
    gate: Rc<Gate>,
}

impl Wire {
    pub(crate) fn new(tcp: TcpStream, gate: Rc<Gate>) -> Wire {
        Wire { tcp, gate }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.tcp).poll_read(cx, buf);
        let n = (buf.filled().len() - before) as u64;
        self.gate.wire_in.set(self.gate.wire_in.get() + n);
        polled
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let armed = self.gate.until.get();
        if let Some(until) = armed
            && self.gate.clock.mono() > until
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        // Nothing is awaited between the look at the clock and this call into the system.
        let polled = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = &polled
            && *n > 0
        {
            self.gate.wire_out.set(self.gate.wire_out.get() + *n as u64);
            if armed.is_some() {
                self.gate.written.set(Some(self.gate.clock.mono()));
            }
        }
        self.gate.blocked.set(!matches!(&polled, Poll::Ready(Ok(n)) if *n == bytes.len()));
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// Plain or encrypted.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

impl Stream {
    fn wire(&self) -> &Wire {
        match self {
            Stream::Plain(wire) => wire,
            Stream::Tls(tls) => tls.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = match &mut *self {
            Stream::Plain(wire) => Pin::new(wire).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        };
        let n = (buf.filled().len() - before) as u64;
        if n > 0 {
            let gate = &self.wire().gate;
            gate.read.set(gate.read.get() + n);
            if gate.first_read.get().is_none() && gate.written.get().is_some() {
                gate.first_read.set(Some(gate.clock.mono()));
            }
        }
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Stream::Plain(wire) => Pin::new(wire).poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Plain(wire) => Pin::new(wire).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Plain(wire) => Pin::new(wire).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
