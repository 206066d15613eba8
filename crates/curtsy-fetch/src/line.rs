//! A line: one connection, one exchange.
//!
//! `send` takes a permit, queues the request and writes it in the same step; the socket's gate
//! compares the permit's last moment with the clock (see `wire`). `body` reads within limits: bytes
//! before and after decoding, time, speed, and the memory of the process. A failure is a `Problem`
//! and ends the connection; only an answer that was read to its end gives the connection back.

use std::cell::Cell;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use curtsy_core::headers::Coding;
use curtsy_core::host::{Approach, Problem, RequestKind};
use curtsy_core::limits::Hit;
use curtsy_core::robots::ROBOTS_BYTES_MAX;
use curtsy_core::url::Authority;
use curtsy_engine::{Clock, Fetched, Line, Mono, Permit, Reading, Request, Sent};
use tokio::time::Sleep;

use crate::ask::Proxied;
use crate::coding::{CodingFault, DecodeStep, Decoder};
use crate::connection::{AnswerHead, BodyStream, HttpConnection, PendingAnswer, Piece};
use crate::fetch::FetchInner;
use crate::guard::Guard;
use crate::head;
use crate::memory::HeldMemory;
use crate::proxy;
use crate::settings::SpeedFloor;

/// A line to a site.
pub struct HttpLine {
    inner: Rc<FetchInner>,
    authority: Authority,
    kind: RequestKind,
    peer: IpAddr,
    /// None once the exchange is over or has failed.
    connection: Option<Box<HttpConnection>>,
    /// Whether a request was handed to the connection.
    asked: bool,
    /// The response whose body is not read yet.
    answered: Option<OpenBody>,
    /// Memory for the body, until the line is dropped.
    memory: Option<HeldMemory>,
    /// The deadline of a body that uses the overdraft of memory.
    hurried: Option<Mono>,
    timer: Option<Pin<Box<Sleep>>>,
    wire_before: (u64, u64),
}

/// A response whose body is not read yet.
struct OpenBody {
    rest: BodyStream,
    coding: Result<Option<Coding>, Problem>,
    declared: Option<u64>,
    /// The deadline of the whole exchange.
    deadline: Mono,
    use_of_body: UseOfBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseOfBody {
    /// Read, up to the limit.
    Page,
    /// Only its beginning counts.
    Robots,
    /// A redirect: read only to keep the connection.
    None,
    /// A type that the policy does not want.
    Unwanted,
}

impl HttpLine {
    pub(crate) fn new(
        inner: Rc<FetchInner>,
        approach: &Approach,
        connection: Box<HttpConnection>,
    ) -> HttpLine {
        HttpLine {
            inner,
            authority: approach.authority(),
            kind: approach.kind,
            peer: connection.peer,
            asked: false,
            answered: None,
            memory: None,
            hurried: None,
            timer: None,
            wire_before: connection.gate.wire_bytes(),
            connection: Some(connection),
        }
    }

    /// Hands the request to the connection, armed with the permit's deadline. Writes nothing yet.
    /// Returns none if the connection is closed.
    fn queue(&mut self, permit: &Permit, request: &Request) -> Option<PendingAnswer> {
        let connection = self.connection.as_mut().filter(|_| !self.asked)?;
        let now = self.inner.clock.mono();
        if !connection.is_ready(now) {
            let age = now - connection.idle_since;
            self.inner.pool.died(&self.authority, age);
            return None;
        }
        self.asked = true;
        connection.gate.arm(permit.until());
        connection.ask(&self.inner.shared.manner, &permit.approach().url, request)
    }

    /// Writes the request and waits for the head.
    async fn head(
        &mut self,
        mut answer: PendingAnswer,
        until: Mono,
        written: &Cell<Option<Mono>>,
    ) -> Result<AnswerHead, Problem> {
        let timeouts = &self.inner.shared.timeouts;
        let (first_byte, whole) = (timeouts.first_byte, timeouts.whole);
        let window = self.inner.shared.floor.window;
        let clock = self.inner.clock;
        poll_fn(|cx| {
            let Some(connection) = &mut self.connection else {
                return Poll::Ready(Err(Problem::Reset));
            };
            let polled = connection.poll_head(&mut answer, cx);
            let gate = &connection.gate;
            written.set(gate.written());
            if polled.is_ready() {
                return polled;
            }
            // Frames without a head prove nothing: pings could hold the slot.
            let first_read = gate.first_read().filter(|_| !connection.is_framed());
            let (deadline, problem) = match (gate.written(), first_read) {
                // The socket takes no bytes: the permit expires before the first one.
                (None, _) => (until, Problem::Reset),
                (Some(sent), None) => (sent + first_byte, Problem::FirstByteTimeout),
                (Some(sent), Some(_)) if sent + whole < clock.mono() => {
                    return Poll::Ready(Err(Problem::WholeTimeout));
                }
                (Some(sent), Some(first)) => ((first + window).min(sent + whole), Problem::TooSlow),
            };
            match self.poll_timer(deadline, cx) {
                Poll::Ready(()) => Poll::Ready(Err(problem)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Converts a head and decides how its body is read.
    fn take_in(&mut self, heading: AnswerHead, sent: Mono) -> Result<curtsy_engine::Head, Problem> {
        let headers = &heading.headers;
        if heading.status < 200 || !heading.framed && !head::is_framed_well(headers) {
            return Err(Problem::Malformed);
        }
        let shared = &self.inner.shared;
        let mut told = head::read(heading.status, headers);
        let proxied = self.connection.as_ref().is_some_and(|c| c.proxied == Proxied::Plainly);
        if let Some(problem) = proxy::answered_itself(&told, proxied) {
            return Err(problem);
        }
        told.own = self.connection.as_ref().is_some_and(|connection| {
            shared.manner.credentials(&self.authority, connection.proxied).is_some()
        });
        if told.own && told.status == 401 && self.kind == RequestKind::Robots {
            // Without valid credentials nobody sees the rules, which does not mean that there are
            // none.
            return Err(Problem::OwnLogin);
        }
        told.inside = Guard::default().judge(self.peer).is_err();
        if let Some(seconds) = head::keep_alive(headers) {
            self.inner.pool.told(&self.authority, Duration::from_secs(seconds.min(3_600)));
        }
        let redirect = matches!(told.status, 301 | 302 | 303 | 307 | 308);
        let use_of_body = match self.kind {
            _ if redirect && told.location.is_some() => UseOfBody::None,
            RequestKind::Robots | RequestKind::RobotsHop => UseOfBody::Robots,
            kind if !head::is_wanted(&told, kind, &shared.body) => UseOfBody::Unwanted,
            _ => UseOfBody::Page,
        };
        self.answered = Some(OpenBody {
            coding: head::coding(headers),
            declared: head::declared(headers),
            deadline: sent + shared.timeouts.whole,
            rest: heading.rest,
            use_of_body,
        });
        Ok(told)
    }

    async fn read(&mut self, answered: OpenBody) -> Result<Vec<u8>, Problem> {
        let max = self.inner.shared.body.decoded_max;
        let OpenBody { mut rest, coding, declared, deadline, use_of_body } = answered;
        match use_of_body {
            _ if rest.is_empty() => return Ok(Vec::new()),
            UseOfBody::None => {
                self.drain(&mut rest, deadline, max).await;
                return Ok(Vec::new());
            }
            UseOfBody::Unwanted => {
                self.drain(&mut rest, deadline, DRAIN_MAX).await;
                return Err(Problem::ContentType);
            }
            UseOfBody::Page if declared.is_some_and(|bytes| bytes > max) => {
                return Err(Problem::OverLimit(Hit::Body));
            }
            UseOfBody::Page | UseOfBody::Robots => {}
        }
        let coding = coding?;
        let mut decoder = Decoder::new(coding);
        let mut speed = self.speed();
        let expected = declared.unwrap_or_default().min(RESERVE_MAX) as usize;
        let mut out = Vec::with_capacity(expected);
        let (mut packed, mut unpacked, mut pieces) = (0, 0, 0_u32);
        loop {
            let data = match self.piece(&mut rest, deadline, &mut speed, packed).await? {
                Piece::Data(data) => data,
                Piece::Nothing => continue,
                Piece::End => break,
            };
            packed += data.len() as u64;
            pieces += 1;
            if coding.is_some() || pieces % PIECES_AT_ONCE == 0 {
                // Many tiny pieces are much work, and so is decoding. Other hosts need the thread
                // too.
                tokio::task::yield_now().await;
            }
            if packed > max {
                return self.past_limit(use_of_body, out);
            }
            let mut left = &data[..];
            loop {
                let step = decoder.step(left, &mut out).map_err(failure_of)?;
                left = &left[step.taken..];
                unpacked += step.given as u64;
                if coding.is_some() && unpacked > max {
                    // Also for robots.txt: an owner does not write a text that decodes to this
                    // much.
                    return Err(Problem::OverLimit(Hit::Body));
                }
                if use_of_body == UseOfBody::Robots {
                    // The rest does not count. It is read so that the server can finish.
                    out.truncate(ROBOTS_KEPT);
                }
                if out.len() as u64 > max {
                    return Err(Problem::OverLimit(Hit::Body));
                }
                self.make_room(out.len() as u64, deadline, &mut speed).await?;
                if step == DecodeStep::default() {
                    break;
                }
            }
            if coding.is_some() && packed > HOLLOW_MAX + HOLLOW_TIMES * unpacked {
                // Empty blocks and frames are only work.
                return Err(Problem::OverLimit(Hit::Coding));
            }
        }
        decoder.end().map_err(failure_of)?;
        Ok(out)
    }

    /// An endless robots.txt counts by its beginning (RFC 9309 §2.5); an endless page is an error.
    fn past_limit(&mut self, use_of_body: UseOfBody, out: Vec<u8>) -> Result<Vec<u8>, Problem> {
        match use_of_body {
            UseOfBody::Robots if out.len() >= ROBOTS_BYTES_MAX => {
                self.leave(After::Close);
                Ok(out)
            }
            _ => Err(Problem::OverLimit(Hit::Body)),
        }
    }

    /// Returns the next piece of a body.
    async fn piece(
        &mut self,
        rest: &mut BodyStream,
        deadline: Mono,
        speed: &mut Speed,
        packed: u64,
    ) -> Result<Piece, Problem> {
        let clock = self.inner.clock;
        let (deadline, late) = match self.hurried {
            // We gave up: the URL is retried, and nobody is blamed.
            Some(hurried) if hurried < deadline => (hurried, Problem::Truncated),
            _ => (deadline, Problem::WholeTimeout),
        };
        poll_fn(|cx| {
            let Some(connection) = &mut self.connection else {
                return Poll::Ready(Err(Problem::Truncated));
            };
            let polled = connection.poll_piece(rest, cx);
            if connection.gate.read() > OVERHEAD_MAX + packed * OVERHEAD_TIMES {
                // Endless frames, chunk headers or trailers.
                return Poll::Ready(Err(Problem::OverLimit(Hit::Around)));
            }
            if let Poll::Ready(Ok(Piece::Data(data))) = &polled {
                speed.bytes += data.len() as u64;
            }
            match polled {
                Poll::Ready(Ok(Piece::End) | Err(_)) => return polled,
                Poll::Ready(_) if clock.mono() < deadline.min(speed.until()) => return polled,
                _ => {}
            }
            while self.poll_timer(deadline.min(speed.until()), cx).is_ready() {
                let now = clock.mono();
                if now >= deadline {
                    return Poll::Ready(Err(late));
                }
                if !speed.next_window(now) {
                    return Poll::Ready(Err(Problem::TooSlow));
                }
            }
            polled
        })
        .await
    }

    /// Waits until there is memory for so many bytes of a body. The time of the wait does not count
    /// as slowness of the site.
    async fn make_room(
        &mut self,
        bytes: u64,
        deadline: Mono,
        speed: &mut Speed,
    ) -> Result<(), Problem> {
        let memory = self.memory.get_or_insert_with(|| self.inner.shared.memory.hold());
        if memory.try_cover(bytes) {
            return Ok(());
        }
        let at = self.inner.clock.instant(deadline);
        match tokio::time::timeout_at(at, memory.cover(bytes)).await {
            Ok(()) => {
                let now = self.inner.clock.mono();
                if memory.is_overdrawn() {
                    self.hurried = Some(now + self.inner.shared.timeouts.whole / OVERDRAWN_PART);
                }
                *speed = self.speed();
                Ok(())
            }
            // We gave up: the URL is retried, and nobody is blamed.
            Err(_) => Err(Problem::Truncated),
        }
    }

    /// Reads a short rest that is not needed, or closes the connection.
    async fn drain(&mut self, rest: &mut BodyStream, deadline: Mono, most: u64) {
        let mut speed = self.speed();
        let mut left = most;
        loop {
            match self.piece(rest, deadline, &mut speed, most).await {
                Ok(Piece::Data(data)) if data.len() as u64 <= left => left -= data.len() as u64,
                Ok(Piece::Nothing) => {}
                Ok(Piece::End) => return,
                Ok(Piece::Data(_)) | Err(_) => return self.leave(After::Close),
            }
        }
    }

    /// Begins a window of the speed limit.
    fn speed(&self) -> Speed {
        Speed::new(self.inner.shared.floor, self.inner.clock.mono())
    }

    /// Completes at a time.
    fn poll_timer(&mut self, at: Mono, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.inner.clock.instant(at);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }

    /// Returns the connection to the pool, or closes it.
    fn leave(&mut self, after: After) {
        let Some(connection) = self.connection.take() else { return };
        let (bytes_in, bytes_out) = connection.gate.wire_bytes();
        self.inner.count(|counts| {
            counts.bytes_in += bytes_in - self.wire_before.0;
            counts.bytes_out += bytes_out - self.wire_before.1;
        });
        let shared = &self.inner.shared;
        if after == After::Keep && shared.waiting.load(Ordering::Relaxed) == 0 {
            let now = self.inner.clock.mono();
            self.inner.pool.put(&self.authority, connection, now, shared.idle_per_authority);
        }
    }
}

impl Line for HttpLine {
    fn peer(&self) -> IpAddr {
        self.peer
    }

    fn is_counted(&self) -> bool {
        self.inner.shared.count_allowed || self.is_public()
    }

    fn is_public(&self) -> bool {
        let at = SocketAddr::new(self.peer, self.authority.port);
        !self.inner.shared.guard.allows_for(&self.authority.host, at)
    }

    async fn send(
        &mut self,
        permit: Permit,
        request: &Request,
        written: &Cell<Option<Mono>>,
    ) -> Sent {
        if permit.approach().authority() != self.authority {
            self.inner.count(|counts| counts.unsent += 1);
            return Sent::NotSent;
        }
        let until = permit.until();
        let got = match self.queue(&permit, request) {
            Some(answer) => self.head(answer, until, written).await,
            None => Err(Problem::Reset),
        };
        let sent = self.connection.as_ref().filter(|_| self.asked).and_then(|c| c.gate.written());
        let Some(sent) = sent else {
            // Late, or the connection was closed: nothing was written.
            self.inner.count(|counts| counts.unsent += 1);
            self.leave(After::Close);
            return if self.inner.clock.mono() > until { Sent::NotSent } else { Sent::Gone };
        };
        let first_byte = self.connection.as_ref().and_then(|c| c.gate.first_read());
        let framed = got.as_ref().is_ok_and(|heading| heading.framed);
        match got.and_then(|heading| self.take_in(heading, sent)) {
            Ok(head) => {
                let now = self.inner.clock.mono();
                let first_byte = first_byte.filter(|_| !framed).unwrap_or(now);
                Sent::Answered { sent, first_byte, head: Arc::new(head) }
            }
            Err(problem) => {
                self.leave(After::Close);
                Sent::Failed { sent, problem }
            }
        }
    }

    async fn body(&mut self) -> Reading {
        let Some(answered) = self.answered.take() else {
            return Reading::Failed(Problem::Malformed);
        };
        let read = self.read(answered).await;
        self.leave(match read {
            Ok(_) | Err(Problem::ContentType) => After::Keep,
            Err(_) => After::Close,
        });
        match read {
            Ok(body) => Reading::Whole(Fetched { body: body.into() }),
            Err(problem) => Reading::Failed(problem),
        }
    }

    async fn discard(&mut self) {
        let Some(OpenBody { mut rest, deadline, .. }) = self.answered.take() else { return };
        if !rest.is_empty() {
            self.drain(&mut rest, deadline, DRAIN_MAX).await;
        }
        self.leave(After::Keep);
    }
}

/// An unused line is kept for the next visit; in the middle of a response it is useless.
impl Drop for HttpLine {
    fn drop(&mut self) {
        self.leave(if self.asked { After::Close } else { After::Keep });
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Keep,
    Close,
}

/// The bytes in the current window of the speed limit.
struct Speed {
    floor: SpeedFloor,
    since: Mono,
    bytes: u64,
}

impl Speed {
    fn new(floor: SpeedFloor, since: Mono) -> Speed {
        Speed { floor, since, bytes: 0 }
    }

    fn until(&self) -> Mono {
        self.since + self.floor.window
    }

    /// Begins the next window. Returns whether the last one had enough bytes.
    fn next_window(&mut self, now: Mono) -> bool {
        let enough = self.bytes >= self.floor.bytes;
        *self = Speed::new(self.floor, now);
        enough
    }
}

fn failure_of(fault: CodingFault) -> Problem {
    match fault {
        CodingFault::Bad => Problem::Coding,
        CodingFault::TooLarge => Problem::OverLimit(Hit::Coding),
        CodingFault::Cut => Problem::Truncated,
    }
}

/// The part of an exchange's time in which a body with the overdraft must be read.
const OVERDRAWN_PART: u32 = 6;
/// Bytes that are read of a body that is not needed, to keep the connection.
pub(crate) const DRAIN_MAX: u64 = 64 * 1024;
/// Bytes that are kept of a robots.txt: all that count, and enough to show that there were more.
const ROBOTS_KEPT: usize = ROBOTS_BYTES_MAX + 1024;
/// Memory that is reserved because of a `Content-Length`.
const RESERVE_MAX: u64 = 256 * 1024;
/// Bytes around the data: heads, chunk headers, frames.
pub(crate) const OVERHEAD_MAX: u64 = 512 * 1024;
pub(crate) const OVERHEAD_TIMES: u64 = 4;
/// Compressed data is not larger than the text, apart from a small overhead.
pub(crate) const HOLLOW_MAX: u64 = 64 * 1024;
pub(crate) const HOLLOW_TIMES: u64 = 2;
/// Pieces that are read before other tasks run.
const PIECES_AT_ONCE: u32 = 128;

#[cfg(test)]
mod tests {
    use curtsy_engine::Connected;

    use super::*;
    use crate::client::{Client, approach, request, run};
    use crate::secure::{Ca, SecureSite};
    use crate::site::{Site, ok};

    /// Queues a request, blocks the whole runtime for a while, and then lets the connection write.
    async fn stalled(client: &Client, url: &str, stall: Duration) -> Option<Mono> {
        let (ticket, booked) = approach(url);
        let Ok(Connected { mut line, .. }) = client.line(&ticket, Mono(0)).await else {
            panic!("the site accepts");
        };
        let permit = client.permit(booked, Duration::from_millis(400));
        let (written, until) = (Cell::new(None), permit.until());
        let answer = line.queue(&permit, &request()).expect("the line stands");
        std::thread::sleep(stall);
        let head = line.head(answer, until, &written).await;
        let gate = &line.connection.as_ref().expect("not yet left").gate;
        assert_eq!((head.is_ok(), written.get()), (gate.written().is_some(), gate.written()));
        assert!(written.get().is_none_or(|at| at <= until));
        drop(line);
        // Bytes in transit have arrived.
        tokio::time::sleep(Duration::from_millis(50)).await;
        written.get()
    }

    #[test]
    fn a_permit_that_runs_out_between_the_queue_and_the_write_sends_nothing() {
        let site = Site::saying(ok("", "page"));
        run(async {
            let client = Client::new();
            assert_eq!(stalled(&client, &site.url("/"), Duration::from_millis(500)).await, None);
            assert_eq!((site.accepted(), site.heard().len()), (1, 0));
            assert!(stalled(&client, &site.url("/"), Duration::ZERO).await.is_some());
            assert_eq!(site.heard().len(), 1);
        });
    }

    #[test]
    fn and_neither_does_one_under_tls_and_http2() {
        let ca = Ca::new();
        let site = SecureSite::saying_http2(ca.server(&["shop.test"], &["h2"]), b"page");
        let url = format!("https://shop.test:{}/", site.address.port());
        run(async {
            let client = Client::with(|settings| {
                settings.ca_pem = ca.pem.clone();
                settings.pins = vec!["shop.test=127.0.0.1".parse().unwrap()];
            });
            assert_eq!(stalled(&client, &url, Duration::from_millis(500)).await, None);
            assert_eq!((site.accepted(), site.heard().len()), (1, 0));
            assert!(stalled(&client, &url, Duration::ZERO).await.is_some());
            assert_eq!(site.heard().len(), 1);
        });
    }
}
