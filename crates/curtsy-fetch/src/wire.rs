//! The socket, and the gate in front of its first write.
//!
//! A request is *armed* with its permit's deadline. While it is armed, each write to the socket
//! reads the clock first. After the deadline the write fails, and no byte has left. The check is
//! below TLS: no buffer, task or queue comes after it.
//!
//! HTTP/2 also writes other frames. The gate watches them, so that the response to a PING is not
//! taken for the request, and a request that waits for the server's settings stays armed.
//!
//! The gate also notes when the first byte of the response was read. That is above TLS: tickets and
//! key updates are no response.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use curtsy_engine::{Clock, Mono};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::TokioClock;

/// The state that a line shares with its socket. Both are on one thread.
#[derive(Debug)]
pub(crate) struct WriteGate {
    clock: TokioClock,
    /// The permit's deadline, while a request is armed.
    until: Cell<Option<Mono>>,
    /// When the last byte was written while armed.
    written: Cell<Option<Mono>>,
    /// Whether the request itself was written; with HTTP/1.1 nothing else is.
    begun: Cell<bool>,
    /// The frames that are written, with HTTP/2.
    frames: Option<RefCell<FrameWatch>>,
    /// The socket, to peek without reading.
    tcp: Rc<RefCell<TcpStream>>,
    /// When the first byte after the request was read.
    first_read: Cell<Option<Mono>>,
    /// Whether the socket took less than it was given.
    blocked: Cell<bool>,
    /// Bytes read since the request was armed, after TLS.
    read: Cell<u64>,
    /// Bytes received and sent on this connection.
    wire_in: Cell<u64>,
    wire_out: Cell<u64>,
}

impl WriteGate {
    pub(crate) fn new(
        clock: TokioClock,
        tcp: Rc<RefCell<TcpStream>>,
        speaks: HttpVersion,
    ) -> Rc<WriteGate> {
        Rc::new(WriteGate {
            clock,
            begun: Cell::new(false),
            frames: (speaks == HttpVersion::Http2).then(RefCell::default),
            tcp,
            until: Cell::new(None),
            written: Cell::new(None),
            first_read: Cell::new(None),
            blocked: Cell::new(false),
            read: Cell::new(0),
            wire_in: Cell::new(0),
            wire_out: Cell::new(0),
        })
    }

    /// Arms a request that must be written until a deadline.
    pub(crate) fn arm(&self, until: Mono) {
        self.until.set(Some(until));
        self.written.set(None);
        self.begun.set(self.frames.is_none());
        self.first_read.set(None);
        self.read.set(0);
    }

    /// Called after each round of writes. The request is complete as soon as something was written
    /// and the socket is not blocked. Until then every write is checked, so no part of a request
    /// leaves late.
    pub(crate) fn settle(&self) {
        if self.written().is_some() && !self.blocked.get() {
            self.until.set(None);
        }
    }

    /// Returns when the request was written, if any byte of it was.
    pub(crate) fn written(&self) -> Option<Mono> {
        self.written.get().filter(|_| self.begun.get())
    }

    /// Peeks at the socket: whether the server has closed, or sent bytes that were not read. Needs
    /// no event loop.
    pub(crate) fn hears(&self) -> Hears {
        match SockRef::from(&*self.tcp.borrow()).peek(&mut [MaybeUninit::uninit()]) {
            Ok(0) => Hears::End,
            Ok(_) => Hears::Something,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Hears::Nothing,
            Err(_) => Hears::End,
        }
    }

    fn is_late(&self) -> bool {
        self.until.get().is_some_and(|until| self.clock.mono() > until)
    }

    fn note_write(&self, polled: &Poll<io::Result<usize>>, given: usize) {
        let taken = match polled {
            Poll::Ready(Ok(n)) => *n,
            _ => 0,
        };
        if taken > 0 {
            self.wire_out.set(self.wire_out.get() + taken as u64);
            if self.until.get().is_some() {
                self.written.set(Some(self.clock.mono()));
            }
        }
        self.blocked.set(taken < given);
    }

    fn note_frames(&self, bytes: &[u8]) {
        if let Some(frames) = &self.frames
            && frames.borrow_mut().watch(bytes)
        {
            self.begun.set(true);
        }
    }

    /// Whether the socket has no room for more.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Returns when the first byte of the response was read.
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

/// What a peek at the socket shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hears {
    Nothing,
    Something,
    End,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    Http1,
    Http2,
}

/// The socket with its gate.
#[derive(Debug)]
pub(crate) struct GatedSocket {
    tcp: Rc<RefCell<TcpStream>>,
    /// None before the handshake is done, which chooses the protocol.
    gate: Option<Rc<WriteGate>>,
}

impl GatedSocket {
    pub(crate) fn new(tcp: TcpStream) -> GatedSocket {
        GatedSocket { tcp: Rc::new(RefCell::new(tcp)), gate: None }
    }
}

impl AsyncRead for GatedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        // tokio skips the read after one that left room in the buffer, until the event loop reports
        // more. That saves a system call for each response.
        let polled = Pin::new(&mut *self.tcp.borrow_mut()).poll_read(cx, buf);
        if let Some(gate) = &self.gate {
            let n = (buf.filled().len() - before) as u64;
            gate.wire_in.set(gate.wire_in.get() + n);
        }
        polled
    }
}

impl GatedSocket {
    fn poll_write_now(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let tcp = self.tcp.borrow();
        loop {
            ready!(tcp.poll_write_ready(cx))?;
            if let Some(gate) = &self.gate
                && gate.is_late()
            {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // Nothing is awaited between the check of the clock and this system call.
            match tcp.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl AsyncWrite for GatedSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = self.poll_write_now(cx, bytes);
        if let Some(gate) = &self.gate {
            gate.note_write(&polled, bytes.len());
        }
        polled
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.tcp.borrow()).shutdown(std::net::Shutdown::Write))
    }
}

/// Finds requests among written HTTP/2 frames, by their headers (RFC 9113 §4.1).
#[derive(Debug)]
struct FrameWatch {
    header: [u8; 9],
    have: usize,
    skip: usize,
}

/// The connection's preface comes first: 24 bytes that are not a frame.
impl Default for FrameWatch {
    fn default() -> FrameWatch {
        FrameWatch { header: [0; 9], have: 0, skip: 24 }
    }
}

impl FrameWatch {
    /// Whether a HEADERS frame begins in these bytes.
    fn watch(&mut self, mut bytes: &[u8]) -> bool {
        let mut begins = false;
        while !bytes.is_empty() {
            let n = bytes.len().min(self.skip);
            self.skip -= n;
            bytes = &bytes[n..];
            let n = bytes.len().min(9 - self.have);
            self.header[self.have..self.have + n].copy_from_slice(&bytes[..n]);
            self.have += n;
            bytes = &bytes[n..];
            if self.have == 9 {
                let [a, b, c, kind, ..] = self.header;
                self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
                self.have = 0;
                begins |= kind == HEADERS;
            }
        }
        begins
    }
}

const HEADERS: u8 = 1;

/// Plain or encrypted.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(GatedSocket),
    Tls(Box<TlsStream<GatedSocket>>),
}

impl Stream {
    /// Puts the gate in front of all further writes.
    pub(crate) fn gated(&mut self, clock: TokioClock, speaks: HttpVersion) -> Rc<WriteGate> {
        let wire = match self {
            Stream::Plain(wire) => wire,
            Stream::Tls(tls) => tls.get_mut().0,
        };
        let gate = WriteGate::new(clock, Rc::clone(&wire.tcp), speaks);
        wire.gate = Some(Rc::clone(&gate));
        gate
    }

    fn gate(&self) -> Option<&Rc<WriteGate>> {
        match self {
            Stream::Plain(wire) => wire.gate.as_ref(),
            Stream::Tls(tls) => tls.get_ref().0.gate.as_ref(),
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
        if n > 0
            && let Some(gate) = self.gate()
        {
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
        let polled = match &mut *self {
            Stream::Plain(wire) => Pin::new(wire).poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        };
        if let (Poll::Ready(Ok(n)), Some(gate)) = (&polled, self.gate()) {
            gate.note_frames(&bytes[..*n]);
        }
        polled
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_found_among_the_frames_however_they_are_cut() {
        let frame = |kind: u8, payload: &[u8]| {
            let mut out = vec![0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 1];
            out.extend_from_slice(payload);
            out
        };
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // The payloads hold bytes that would be HEADERS if they were taken for a frame.
        let before = [preface, frame(4, &[0; 6]), frame(6, &[1; 8])].concat();
        let request = frame(HEADERS, &[1; 40]);
        for piece in 1..60 {
            let mut frames = FrameWatch::default();
            let found = before.chunks(piece).any(|bytes| frames.watch(bytes));
            assert!(!found, "in pieces of {piece}");
            assert!(request.chunks(piece).any(|bytes| frames.watch(bytes)), "in pieces of {piece}");
        }
    }
}
