//! The loop: one thread, one poll, every connection a small machine.
//!
//! It is written on the poll itself, not on an async runtime, because its log is evidence: the time at which a request was read must be the
//! time of that read, and it must know how late its own reads can have been ([`clock`](super::clock)).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, UNIX_EPOCH};

use curtsy_judge::{Exchange, LogScheme};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Poll};

use super::clock::{Clock, Lateness, READ_WITHIN, Stalls, TICK};
use super::door::Door;
use super::line::{Line, Next, Phase, split_port};
use super::log::Log;
use super::request::{self, BODY_BYTES_MAX, HEAD_BYTES_MAX, Reading};
use super::stage::{Asked, Stage, Then, refusal};

/// What the owner of the sites may ask of the loop.
pub(super) enum Order {
    /// The exchanges so far.
    Log(SyncSender<Vec<Exchange>>),
    /// How it fared.
    Health(SyncSender<Health>),
    /// How many requests stand before a gate.
    AtGate(String, SyncSender<usize>),
    /// Opens a gate, for those who stand there and all who come.
    Open(String, SyncSender<()>),
    /// The end.
    Stop,
}

/// How the server itself fared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// When its own loop was too late to read within 20 ms: what was read then is marked in the log.
    pub stalls: Stalls,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed at once, since there were too many.
    pub turned_away: u64,
    /// Exchanges that the log in memory had no room for.
    pub forgotten: u64,
}

pub(super) struct Server {
    pub(super) poll: Poll,
    pub(super) orders: Receiver<Order>,
    pub(super) clock: Clock,
    pub(super) lateness: Lateness,
    pub(super) doors: Vec<Door>,
    pub(super) stages: Vec<Stage>,
    /// Who goes by a name at an address.
    pub(super) names: HashMap<(Ipv4Addr, String), usize>,
    pub(super) lines: Vec<Option<Line>>,
    pub(super) free: Vec<usize>,
    pub(super) generations: u32,
    pub(super) timers: BinaryHeap<Reverse<(u64, Alarm)>>,
    pub(super) log: Log,
    pub(super) health: Health,
    pub(super) lines_max: usize,
    pub(super) date: (u64, Arc<str>),
    /// Every read goes here first.
    pub(super) chunk: Box<[u8]>,
    /// A door could not be emptied, for want of descriptors.
    pub(super) knocking: bool,
    /// Handshakes begun since the last poll.
    pub(super) shaken: u32,
    /// Gates that were opened.
    pub(super) open: HashSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    Line(usize, u32),
    Shut(usize),
    Open(usize),
}

/// What becomes of a connection.
pub(super) enum Fate {
    Stays,
    Gone,
}

impl Server {
    pub(super) fn new(
        poll: Poll,
        orders: Receiver<Order>,
        doors: Vec<Door>,
        stages: Vec<Stage>,
        log: Log,
        lines_max: usize,
    ) -> io::Result<Server> {
        let mut names = HashMap::new();
        for door in &doors {
            for &resident in &door.residents {
                let name = stages[resident].host.name.to_ascii_lowercase();
                names.insert((door.address, name), resident);
            }
        }
        let clock = Clock::new();
        let mut server = Server {
            poll,
            orders,
            clock,
            lateness: Lateness::new(clock.now()),
            doors,
            stages,
            names,
            lines: Vec::new(),
            free: Vec::new(),
            generations: 0,
            timers: BinaryHeap::new(),
            log,
            health: Health::default(),
            lines_max,
            date: (0, "".into()),
            chunk: vec![0; READ_BYTES].into(),
            knocking: false,
            shaken: 0,
            open: HashSet::new(),
        };
        for index in 0..server.doors.len() {
            server.register(index)?;
        }
        Ok(server)
    }

    /// Runs until it is told to stop, and gives the log back.
    pub(super) fn run(mut self) -> (Vec<Exchange>, Health, io::Result<()>) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut whole = true;
        let mut swept = self.clock.now();
        let ended = loop {
            let entered = self.clock.now();
            let next = self.timers.peek().map(|Reverse((at, _))| at.saturating_sub(entered));
            let timeout = next.map_or(TICK, |micros| TICK.min(Duration::from_micros(micros)));
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            }
            self.shaken = 0;
            self.lateness.polled(entered, self.clock.now(), whole);
            let mut count = 0;
            for event in &events {
                count += 1;
                self.on(event);
            }
            whole = count < EVENTS_MAX;
            self.ring();
            if std::mem::take(&mut self.knocking) {
                (0..self.doors.len()).for_each(|door| self.accept(door));
            }
            if entered.saturating_sub(swept) > SWEPT_EVERY {
                swept = entered;
                self.sweep();
            }
            if self.obey() {
                break Ok(());
            }
        };
        let now = self.clock.now();
        for line in self.lines.iter_mut().flatten() {
            if let Some((exchange, _)) = line.ended(now) {
                self.log.push(exchange);
            }
        }
        let health = self.health();
        let (exchanges, written) = self.log.finish();
        (exchanges, health, ended.and(written))
    }

    fn health(&self) -> Health {
        let stalls = self.lateness.stalls.clone();
        Health { stalls, forgotten: self.log.forgotten(), ..self.health.clone() }
    }

    fn on(&mut self, event: &Event) {
        match event.token().0 {
            WAKER => {}
            token if token < LINES => self.accept(token - DOORS),
            token => {
                let index = token - LINES;
                let Some(mut line) = self.lines.get_mut(index).and_then(Option::take) else {
                    return;
                };
                line.ending |= event.is_read_closed();
                if event.is_readable() || event.is_read_closed() {
                    line.unread_since.get_or_insert(self.lateness.unread_since);
                }
                let fate = self.go_on(index, &mut line);
                self.settle(index, line, fate);
            }
        }
    }

    /// Sends what may be sent, answers what was read, and reads what is there.
    fn go_on(&mut self, index: usize, line: &mut Line) -> Fate {
        let mut fate = self.send(index, line);
        if matches!(fate, Fate::Stays) {
            fate = self.answer(index, line);
        }
        if matches!(fate, Fate::Stays) && line.unread_since.is_some() {
            fate = self.receive(index, line);
        }
        fate
    }

    pub(super) fn settle(&mut self, index: usize, mut line: Line, fate: Fate) {
        match fate {
            Fate::Stays => self.lines[index] = Some(line),
            Fate::Gone => {
                let _ = self.poll.registry().deregister(line.wire.stream());
                self.free.push(index);
            }
        }
    }

    /// Reads what has come, and answers it.
    pub(super) fn receive(&mut self, index: usize, line: &mut Line) -> Fate {
        loop {
            let now = self.clock.now();
            if now < line.deaf_until {
                self.alarm(line.deaf_until, index, line);
                return Fate::Stays;
            }
            if line.kept_waiting && self.shaken >= HANDSHAKES_AT_ONCE {
                // A handshake is long work: others' requests are read between them.
                line.deaf_until = now + 1;
                self.alarm(line.deaf_until, index, line);
                return Fate::Stays;
            }
            if std::mem::take(&mut line.kept_waiting) {
                self.shaken += 1;
                line.unread_since = Some(now);
            }
            if line.input.len() > HEAD_BYTES_MAX + BODY_BYTES_MAX {
                // Read on when what is here has been answered.
                return Fate::Stays;
            }
            if !line.heard && line.input.is_empty() && self.turns_deaf(line, now) {
                self.alarm(line.deaf_until, index, line);
                return Fate::Stays;
            }
            match line.wire.read(&mut self.chunk) {
                Ok(0) => return self.hung_up(line, now),
                Ok(count) => {
                    let fate = self.take_in(index, line, count, now);
                    if matches!(fate, Fate::Gone) {
                        return fate;
                    }
                    // A short read has emptied the socket; what comes later is reported anew.
                    if count < self.chunk.len() && line.scheme == LogScheme::Http && !line.ending {
                        line.unread_since = None;
                        return Fate::Stays;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    line.unread_since = None;
                    return Fate::Stays;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.hung_up(line, now),
            }
        }
    }

    /// Whether this request is one that the host reads late. TLS can't tell before it has read, so only plain hosts are deaf.
    fn turns_deaf(&mut self, line: &mut Line, now: u64) -> bool {
        if line.scheme != LogScheme::Http || !matches!(line.phase, Phase::Reading) {
            return false;
        }
        let Some(&resident) = self.doors[line.listener].residents.first() else { return false };
        if self.stages[resident].host.deaf.is_none() {
            return false;
        }
        // Only when something is there: the draw is for a request, not for a look.
        if !matches!(peek(line.wire.stream()), Ok(count) if count > 0) {
            return false;
        }
        line.heard = true;
        match self.stages[resident].deaf() {
            Some(lasts) => {
                line.deaf_until = now + lasts.as_micros() as u64;
                true
            }
            None => false,
        }
    }

    fn take_in(&mut self, index: usize, line: &mut Line, count: usize, now: u64) -> Fate {
        if matches!(line.phase, Phase::Lingering) {
            return Fate::Stays;
        }
        if line.input.is_empty() {
            line.input_at = now;
            line.input_late =
                line.unread_since.is_some_and(|since| now.saturating_sub(since) > READ_WITHIN);
        }
        line.deadline = now + READING_MAX;
        line.input.extend_from_slice(&self.chunk[..count]);
        self.answer(index, line)
    }

    /// Answers what has been read, request by request.
    fn answer(&mut self, index: usize, line: &mut Line) -> Fate {
        while matches!(line.phase, Phase::Reading) && !line.input.is_empty() {
            let input = std::mem::take(&mut line.input);
            let used = match request::read(&input) {
                Reading::Unfinished => 0,
                Reading::Whole(request) => {
                    self.say(line, &request);
                    request.bytes
                }
                Reading::Wrong(status) => {
                    let exchange = line.asked_nonsense();
                    let (now, date) = self.date();
                    let said = refusal(status, &date, &mut line.output);
                    line.answer(exchange, said, &date, now);
                    input.len()
                }
            };
            line.input = input;
            line.input.drain(..used);
            if used == 0 {
                return Fate::Stays;
            }
            line.heard = false;
            if let Fate::Gone = self.send(index, line) {
                return Fate::Gone;
            }
        }
        Fate::Stays
    }

    fn say(&mut self, line: &mut Line, request: &request::Request<'_>) {
        let exchange = line.asked(request);
        let (now, date) = self.date();
        let named = request.host.as_deref().unwrap_or_default();
        let Some(resident) = self.resident(line, split_port(named).0) else {
            let said = refusal(421, &date, &mut line.output);
            return line.answer(exchange, said, &date, now);
        };
        if !matches!(&*request.method, "GET" | "HEAD") {
            let said = refusal(405, &date, &mut line.output);
            return line.answer(exchange, said, &date, now);
        }
        if self.stages[resident].begins(now) {
            for window in self.stages[resident].host.refuse.clone() {
                let at = |span: Duration| now + span.as_micros() as u64;
                self.timers.push(Reverse((at(window.from), Alarm::Shut(resident))));
                self.timers.push(Reverse((at(window.to), Alarm::Open(resident))));
            }
        }
        let stage = &mut self.stages[resident];
        let close = request.close
            || stage.host.close_after.is_some_and(|most| line.answered.saturating_add(1) >= most);
        let asked = Asked {
            path: request.path_and_query(),
            head_only: request.method == "HEAD",
            if_none_match: request.if_none_match.as_deref(),
            if_modified_since: request.if_modified_since.as_deref(),
            base: &format_args!("{}://{named}", line.scheme.as_str()),
            close,
            now,
            date: &date,
        };
        let mut said = stage.say(&asked, &mut line.output);
        said.gate = said.gate.filter(|gate| !self.open.contains(&**gate));
        line.answer(exchange, said, &date, now);
    }

    /// Sends what may be sent by now.
    fn send(&mut self, index: usize, line: &mut Line) -> Fate {
        let enough = line.sent.saturating_add(SENT_AT_ONCE);
        loop {
            let Phase::Answering(answering) = &mut line.phase else {
                return match line.wire.flushed() {
                    Ok(_) => Fate::Stays,
                    Err(_) => Fate::Gone,
                };
            };
            while line.sent < answering.allowed {
                if line.sent >= enough {
                    // A long body takes turns with the others, or they would be read late.
                    let now = self.clock.now();
                    self.alarm(now, index, line);
                    return Fate::Stays;
                }
                let end = answering.allowed.min(line.sent + SENT_AT_ONCE);
                line.wrote_at = self.clock.now();
                match line.wire.write(&line.output[line.sent..end]) {
                    Ok(count) => line.sent += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        line.deadline = self.clock.now() + SENDING_MAX;
                        return Fate::Stays;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => {
                        let now = self.clock.now();
                        return self.hung_up(line, now);
                    }
                }
            }
            match line.wire.flushed() {
                Ok(true) => {}
                Ok(false) => return Fate::Stays,
                Err(_) => {
                    let now = self.clock.now();
                    return self.hung_up(line, now);
                }
            }
            let now = self.clock.now();
            match answering.next(now) {
                Next::Send => {}
                Next::WaitUntil(at) => {
                    line.deadline = at + SENDING_MAX;
                    self.alarm(at, index, line);
                    return Fate::Stays;
                }
                Next::Held => {
                    line.deadline = u64::MAX;
                    return Fate::Stays;
                }
                Next::Finished => return self.finished(line, now),
            }
        }
    }

    /// An answer has come to its end.
    fn finished(&mut self, line: &mut Line, now: u64) -> Fate {
        // Before the last write: a client may act on it before this thread is run again.
        let at = if line.sent > 0 { line.wrote_at } else { now };
        let Some((exchange, then)) = line.ended(at) else { return Fate::Stays };
        let whole = exchange.complete;
        self.log.push(exchange);
        line.deadline = now + IDLE_MAX;
        match then {
            Then::Next => Fate::Stays,
            Then::Reset => {
                line.wire.reset();
                Fate::Gone
            }
            Then::Close | Then::Hang => {
                line.wire.end(whole);
                line.phase = Phase::Lingering;
                line.deadline = now + LINGERING_MAX;
                Fate::Stays
            }
        }
    }

    /// The client has closed: an answer under way ends here.
    pub(super) fn hung_up(&mut self, line: &mut Line, now: u64) -> Fate {
        if let Some((exchange, _)) = line.ended(now) {
            self.log.push(exchange);
        }
        Fate::Gone
    }

    fn alarm(&mut self, at: u64, index: usize, line: &Line) {
        self.timers.push(Reverse((at, Alarm::Line(index, line.generation))));
    }

    /// Does what is due.
    fn ring(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((at, alarm))) = self.timers.peek().copied() {
            if at > now {
                return;
            }
            self.timers.pop();
            match alarm {
                Alarm::Line(index, generation) => {
                    let fits = |line: &mut Line| line.generation == generation;
                    let Some(slot) = self.lines.get_mut(index) else { continue };
                    let Some(mut line) = slot.take_if(fits) else { continue };
                    let fate = self.go_on(index, &mut line);
                    self.settle(index, line, fate);
                }
                Alarm::Shut(resident) => self.shut(resident, now),
                Alarm::Open(resident) => self.open(resident, now),
            }
        }
    }

    /// Closes connections on which nothing has happened for too long.
    fn sweep(&mut self) {
        let now = self.clock.now();
        for index in 0..self.lines.len() {
            if let Some(mut line) = self.lines[index].take_if(|line| line.deadline < now) {
                let fate = self.hung_up(&mut line, now);
                self.settle(index, line, fate);
            }
        }
    }

    /// The lines whose answers are held behind a gate.
    fn at_gate(&self, gate: &str) -> Vec<usize> {
        let held = |line: &Line| match &line.phase {
            Phase::Answering(answering) => answering.gate.as_deref() == Some(gate),
            Phase::Reading | Phase::Lingering => false,
        };
        let lines = self.lines.iter().enumerate();
        lines.filter(|(_, line)| line.as_ref().is_some_and(held)).map(|(index, _)| index).collect()
    }

    fn open_gate(&mut self, gate: String) {
        for index in self.at_gate(&gate) {
            let Some(mut line) = self.lines[index].take() else { continue };
            if let Phase::Answering(answering) = &mut line.phase {
                answering.gate = None;
            }
            let fate = self.go_on(index, &mut line);
            self.settle(index, line, fate);
        }
        self.open.insert(gate);
    }

    /// Does what the owner asks; true if it is to stop.
    fn obey(&mut self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            // An owner that no longer waits needs no answer.
            match order {
                Order::Log(tell) => drop(tell.send(self.log.so_far())),
                Order::Health(tell) => drop(tell.send(self.health())),
                Order::AtGate(gate, tell) => drop(tell.send(self.at_gate(&gate).len())),
                Order::Open(gate, tell) => {
                    self.open_gate(gate);
                    let _ = tell.send(());
                }
                Order::Stop => return true,
            }
        }
        false
    }

    /// Now, and as an HTTP-date.
    fn date(&mut self) -> (u64, Arc<str>) {
        let now = self.clock.now();
        let second = now / 1_000_000;
        if self.date.0 != second {
            let at = UNIX_EPOCH + Duration::from_secs(second);
            self.date = (second, httpdate::fmt_http_date(at).into());
        }
        (now, Arc::clone(&self.date.1))
    }
}

/// How many bytes can be read at once, without reading them.
fn peek(stream: &TcpStream) -> io::Result<usize> {
    stream.peek(&mut [0; 1])
}

pub(super) const WAKER: usize = 0;
pub(super) const DOORS: usize = 1;
/// Tokens from here on are connections.
pub(super) const LINES: usize = 1 << 20;
/// What one poll reports at most.
const EVENTS_MAX: usize = 4096;
/// Handshakes that are begun between two polls.
const HANDSHAKES_AT_ONCE: u32 = 8;
/// What one connection may send before the others' turn.
const SENT_AT_ONCE: usize = 256 << 10;
const READ_BYTES: usize = 16 << 10;
/// In microseconds: a connection without a request, a request without an end, an answer that the client doesn't read, a goodbye.
pub(super) const IDLE_MAX: u64 = 120_000_000;
const READING_MAX: u64 = 30_000_000;
const SENDING_MAX: u64 = 60_000_000;
const LINGERING_MAX: u64 = 2_000_000;
const SWEPT_EVERY: u64 = 500_000;
