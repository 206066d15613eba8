//! The way from a worker to the synthetic web, and the servers' own access log.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Approach, Problem, RequestKind};
use curtsy_core::time::micros;
use curtsy_core::url::{Authority, CrawlUrl, Scheme};
use curtsy_engine::{Connected, Fetch, Fetched, Head, Line, Mono, Permit, Reading, Request, Sent};
use curtsy_judge::{ConnectionChange, ConnectionEvent, Exchange, LogEntry};

use crate::chance::Chance;
use crate::executor::Universe;
use crate::sabotage::{ExtraDials, Tamper};
use crate::web::{Answer, Asked, HostModel, Mood, SECOND};
use crate::world::Life;

/// What a client waits for a handshake.
const CONNECT_TIMEOUT: u64 = 5 * SECOND;
/// What a client waits for a first byte.
const FIRST_BYTE_TIMEOUT: u64 = 10 * SECOND;
/// What a client waits for the whole.
const WHOLE_TIMEOUT: u64 = 30 * SECOND;

/// After how long a client of RFC 8305 dials another address.
const HAPPY_EYEBALLS: u64 = SECOND / 4;

/// A line is used a little after its turn.
const TURN_SPARE: u64 = SECOND / 4;
/// An idle line of a host whose habits are not known is trusted for so long: many servers close one
/// after 5 s.
const IDLE_TRUSTED: u64 = 5 * SECOND;
/// Connections of a host that are remembered.
const ACCEPTED_MAX: usize = 256;
/// Lines that stand idle for one authority.
const IDLE_MAX: usize = 4;

/// Lines that stand idle, by authority: their numbers, and since when.
type Idle = BTreeMap<Authority, Vec<(u64, u64)>>;

/// All hosts, and the log that their servers write.
pub struct Web {
    /// The time they live in.
    pub universe: Rc<Universe>,
    /// By name.
    pub hosts: HashMap<Arc<str>, HostModel>,
    log: RefCell<Log>,
    connections: Cell<u64>,
    /// When each host was connected to of late, whatever became of that.
    accepted: RefCell<HashMap<Arc<str>, Vec<u64>>>,
}

#[derive(Default)]
struct Log {
    order: BinaryHeap<Reverse<(u64, u64)>>,
    lines: HashMap<u64, LogEntry>,
    count: u64,
    requests: u64,
}

impl Web {
    /// A web of these hosts.
    pub fn new(universe: Rc<Universe>, hosts: Vec<HostModel>) -> Rc<Web> {
        let hosts = hosts.into_iter().map(|h| (Arc::clone(&h.name), h)).collect();
        Rc::new(Web {
            universe,
            hosts,
            log: RefCell::default(),
            connections: Cell::new(0),
            accepted: RefCell::default(),
        })
    }

    /// A client connects to a host. The servers log a refused connection too. Returns the number of
    /// the connection.
    pub(crate) fn accept(&self, host: &HostModel, port: u16) -> u64 {
        let at = self.universe.now();
        let mut accepted = self.accepted.borrow_mut();
        let times = accepted.entry(Arc::clone(&host.name)).or_default();
        if times.len() >= ACCEPTED_MAX {
            times.drain(..ACCEPTED_MAX / 2);
        }
        times.push(at);
        let conn = self.connection();
        self.log(ConnectionEvent {
            at,
            change: ConnectionChange::Accepted,
            conn,
            local: Some(host.ip),
            port,
            host: Some(Arc::clone(&host.name)),
            ..ConnectionEvent::default()
        });
        conn
    }

    /// A host has closed a connection at a time that may have passed.
    fn closed(&self, host: &HostModel, port: u16, conn: u64, at: u64) {
        self.log(ConnectionEvent {
            at,
            change: ConnectionChange::ClosedByServer,
            conn,
            local: Some(host.ip),
            port,
            host: Some(Arc::clone(&host.name)),
            ..ConnectionEvent::default()
        });
    }

    /// When a host was connected to of late.
    pub fn accepted(&self, host: &str) -> Vec<u64> {
        self.accepted.borrow().get(host).cloned().unwrap_or_default()
    }

    /// Writes a line of the log.
    pub fn log(&self, entry: impl Into<LogEntry>) {
        let entry = entry.into();
        let mut log = self.log.borrow_mut();
        log.count += 1;
        log.requests += u64::from(matches!(entry, LogEntry::Exchange(_)));
        let count = log.count;
        log.order.push(Reverse((entry.start(), count)));
        log.lines.insert(count, entry);
    }

    /// The next line whose request has been read by now; later requests can't come before it.
    pub fn next_line(&self) -> Option<LogEntry> {
        let mut log = self.log.borrow_mut();
        let Reverse((start, count)) = *log.order.peek()?;
        if start > self.universe.now() {
            return None;
        }
        log.order.pop();
        log.lines.remove(&count)
    }

    /// Requests that were logged so far.
    pub fn requests(&self) -> u64 {
        self.log.borrow().requests
    }

    fn connection(&self) -> u64 {
        let n = self.connections.get() + 1;
        self.connections.set(n);
        n
    }
}

/// One worker's way to the web.
pub struct SimFetch {
    web: Rc<Web>,
    life: Rc<Life>,
    chance: RefCell<Chance>,
    idle: Rc<RefCell<Idle>>,
    /// How long each host was seen to keep an idle line, at most.
    keep_alive: Rc<RefCell<BTreeMap<Arc<str>, u64>>>,
    tamper: Tamper,
}

impl SimFetch {
    /// A way to the web for one life of a worker.
    pub fn new(web: Rc<Web>, life: Rc<Life>, chance: Chance, tamper: Tamper) -> SimFetch {
        SimFetch {
            web,
            life,
            chance: RefCell::new(chance),
            idle: Rc::default(),
            keep_alive: Rc::default(),
            tamper,
        }
    }
}

/// A line to a host.
pub struct SimLine {
    web: Rc<Web>,
    life: Rc<Life>,
    idle: Rc<RefCell<Idle>>,
    keep_alive: Rc<RefCell<BTreeMap<Arc<str>, u64>>>,
    chance: Chance,
    connection: u64,
    url: CrawlUrl,
    kind: RequestKind,
    host: Arc<str>,
    ip: IpAddr,
    idle_since: Option<u64>,
    answer: Option<(Answer, u64)>,
    /// Nothing was written yet, or an answer was read to its end: the line can be used again.
    healthy: bool,
    early: Option<(Answer, u64)>,
    alias: bool,
    tamper: Tamper,
}

impl Fetch for SimFetch {
    type Line = SimLine;
    type Route = ();

    fn standing(&self, approach: &Approach, turn: Mono) -> Option<SimLine> {
        let universe = &self.web.universe;
        let began = universe.now();
        if self.life.network_down(began) {
            return None;
        }
        let host = self.web.hosts.get(approach.url.host().as_str())?;
        let (connection, since) = {
            let mut idle = self.idle.borrow_mut();
            let lines = idle.entry(approach.authority()).or_default();
            // A line that will be closed before its turn is worse than none: what a host was seen
            // to do is remembered.
            let known = self.keep_alive.borrow().get(&host.name).copied().unwrap_or(IDLE_TRUSTED);
            let used = began + micros(turn - self.life.mono()) + TURN_SPARE;
            lines.retain(|(_, since)| {
                since + host.keep_alive > began && used.saturating_sub(*since) < known
            });
            lines.pop()?
        };
        let chance = self.chance.borrow_mut().fork();
        let mut line = self.line(approach, host, connection, Some(since), chance);
        line.write_at_once(approach);
        Some(line)
    }

    async fn route(&self, approach: &Approach) -> Result<(), Problem> {
        self.life.check().await;
        let universe = &self.web.universe;
        let began = universe.now();
        if self.life.network_down(began) {
            universe.sleep_until(began + 20_000).await;
            return Err(Problem::Dns);
        }
        if !self.web.hosts.contains_key(approach.url.host().as_str()) {
            universe.sleep_until(began + 5_000).await;
            return Err(Problem::Dns);
        }
        Ok(())
    }

    async fn connect(&self, approach: &Approach, (): ()) -> Result<Connected<SimLine>, Problem> {
        self.life.check().await;
        let universe = &self.web.universe;
        let began = universe.now();
        let mut chance = self.chance.borrow_mut().fork();
        let authority = approach.authority();
        let Some(host) = self.web.hosts.get(approach.url.host().as_str()) else {
            return Err(Problem::Dns);
        };
        if self.life.network_down(began) {
            universe.sleep_until(began + 20_000).await;
            return Err(Problem::ConnectTimeout);
        }
        let mut accepted = None;
        if self.life.proxy_shut(began) {
            // It answers requests for http pages in the site's place, and refuses to lead to
            // others.
            universe.sleep_until(began + 2_000).await;
            match self.tamper.proxy_is_site || approach.url.scheme() == Scheme::Http {
                true => {}
                false => return Err(Problem::ProxyLogin),
            }
        } else {
            accepted = Some(self.web.accept(host, authority.port));
        }
        let refused = matches!(host.mood(began), Mood::Refuse)
            || !host.authorities.contains(&(authority.scheme, authority.port));
        if refused {
            universe.sleep_until(began + 1_000).await;
            return Err(Problem::Connect);
        }
        let handshake = chance.between(host.handshake.0, host.handshake.1);
        if self.tamper.dials == Some(ExtraDials::IfSlow) && handshake > HAPPY_EYEBALLS {
            universe.sleep_until(began + HAPPY_EYEBALLS).await;
            self.tamper.mark.set();
            self.web.accept(host, authority.port);
        }
        universe.sleep_until(began + handshake.min(CONNECT_TIMEOUT)).await;
        self.life.check().await;
        if handshake > CONNECT_TIMEOUT {
            return Err(Problem::ConnectTimeout);
        }
        if self.tamper.dials == Some(ExtraDials::AtOnce) {
            self.tamper.mark.set();
            (0..2).for_each(|_| _ = self.web.accept(host, authority.port));
        }
        let connection = accepted.unwrap_or_else(|| self.web.connection());
        let mut made = self.line(approach, host, connection, None, chance);
        if self.tamper.unpaid_probe {
            made.unpaid_probe();
        }
        made.write_at_once(approach);
        Ok(Connected { line: made, took: Duration::from_micros(universe.now() - began) })
    }
}

impl SimFetch {
    fn line(
        &self,
        approach: &Approach,
        host: &HostModel,
        connection: u64,
        idle_since: Option<u64>,
        chance: Chance,
    ) -> SimLine {
        SimLine {
            web: Rc::clone(&self.web),
            life: Rc::clone(&self.life),
            idle: Rc::clone(&self.idle),
            keep_alive: Rc::clone(&self.keep_alive),
            chance,
            connection,
            url: approach.url.clone(),
            kind: approach.kind,
            host: Arc::clone(&host.name),
            ip: host.ip,
            idle_since,
            answer: None,
            healthy: true,
            early: None,
            alias: false,
            tamper: self.tamper.clone(),
        }
    }
}

impl SimLine {
    fn model(&self) -> &HostModel {
        &self.web.hosts[&self.host]
    }

    /// Settles a request that leaves now: what the server answers, and its line in the log.
    fn ask(&mut self, request: &Request) -> Answer {
        let sent = self.web.universe.now();
        let none_match = request.if_none_match.clone().filter(|_| !self.tamper.no_validators);
        let url = self.url.clone();
        let asked = Asked {
            url: &url,
            head_only: request.method == "HEAD",
            if_none_match: none_match.as_deref(),
        };
        let mut chance = self.chance.fork();
        let model = &self.web.hosts[&self.host];
        let mut answer = model.answer(asked, sent, &mut chance);
        // The client gives up; the server sees the line close.
        let gives_up = if answer.head > sent + FIRST_BYTE_TIMEOUT {
            sent + FIRST_BYTE_TIMEOUT
        } else {
            sent + WHOLE_TIMEOUT
        };
        if answer.end > gives_up {
            answer.end = gives_up.max(answer.start) + 500;
            answer.complete = false;
            if answer.head > gives_up {
                answer.status = None;
            }
        }
        if self.tamper.shows_at_once() {
            self.tamper.mark.set();
        }
        if self.tamper.no_validators && request.if_none_match.is_some() {
            self.tamper.mark.set();
        }
        self.tamper.mark.count();
        let line = self.logged(request, &answer);
        self.web.log(line);
        self.life.note_request(answer.start, answer.end);
        answer
    }

    fn logged(&self, request: &Request, answer: &Answer) -> Exchange {
        let url = &self.url;
        let host: Arc<str> =
            if self.alias { self.host.to_uppercase().into() } else { Arc::clone(&self.host) };
        let robots = url.path_and_query() == "/robots.txt" || self.kind == RequestKind::RobotsHop;
        let agent = if self.tamper.second_product && self.connection.is_multiple_of(3) {
            "other/1.0 (+mailto:x@example.org)".into()
        } else if self.tamper.no_contact {
            "curtsy/1.0".into()
        } else {
            self.life.user_agent(&request.user_agent)
        };
        Exchange {
            end: answer.end,
            conn: self.connection,
            local: Some(self.ip),
            scheme: match url.scheme() {
                Scheme::Http => curtsy_judge::LogScheme::Http,
                Scheme::Https => curtsy_judge::LogScheme::Https,
            },
            host,
            port: url.port(),
            method: if self.tamper.post { "POST".into() } else { request.method.into() },
            user_agent: Some(agent),
            if_none_match: request
                .if_none_match
                .as_deref()
                .filter(|_| !self.tamper.no_validators)
                .map(Into::into),
            cookie: self.tamper.cookie,
            authorization: self.tamper.authorization,
            location: answer.location.clone(),
            retry_after: answer.retry_after.clone(),
            date: answer.date.clone(),
            cache_control: answer.cache_control.clone(),
            etag: answer.etag.clone(),
            robots_body: (robots && answer.status == Some(200)).then(|| Arc::clone(&answer.body)),
            complete: answer.complete,
            status: answer.status,
            ..Exchange::get(answer.start, "", url.path_and_query(), 0)
        }
    }

    /// Dials so many times at once, if this is what the planted fault does.
    fn redial(&self, when: ExtraDials, times: u32) {
        if self.tamper.dials == Some(when) {
            self.tamper.mark.set();
            for _ in 0..times {
                self.web.accept(self.model(), self.url.port());
            }
        }
    }

    fn unpaid_probe(&mut self) {
        let request =
            Request { method: "HEAD", user_agent: self.life.agent(), ..Request::default() };
        let root = self.url.authority().root();
        let url = std::mem::replace(&mut self.url, root);
        self.ask(&request);
        self.url = url;
    }

    /// Sends the request although its turn has not come.
    fn write_at_once(&mut self, approach: &Approach) {
        if self.tamper.writes_at_once {
            let user_agent = self.life.agent();
            let request = Request { method: approach.method(), user_agent, ..Request::default() };
            let sent = self.web.universe.now();
            self.early = Some((self.ask(&request), sent));
        }
    }

    /// Whether the server has closed the line while nobody used it.
    fn closed(&self) -> bool {
        let now = self.web.universe.now();
        if matches!(self.model().mood(now), Mood::Shut) && !self.life.proxy_shut(now) {
            return true;
        }
        self.idle_since.is_some_and(|since| since + self.model().keep_alive <= now)
    }
}

impl Line for SimLine {
    fn peer(&self) -> IpAddr {
        self.ip
    }

    fn is_public(&self) -> bool {
        false
    }

    async fn send(
        &mut self,
        permit: Permit,
        request: &Request,
        written: &Cell<Option<Mono>>,
    ) -> Sent {
        self.life.check().await;
        let universe = Rc::clone(&self.web.universe);
        let now = self.life.mono();
        if self.closed() {
            let idle = universe.now() - self.idle_since.unwrap_or(universe.now());
            let mut seen = self.keep_alive.borrow_mut();
            let known = seen.entry(Arc::clone(&self.host)).or_insert(idle);
            *known = idle.min(*known);
            let (model, now) = (self.model(), universe.now());
            let closed_at =
                self.idle_since.map_or(now, |since| (since + model.keep_alive).min(now));
            self.web.closed(model, self.url.port(), self.connection, closed_at);
            self.redial(ExtraDials::AfterLoss, 2);
            return Sent::Gone;
        }
        if now > permit.until() || permit.approach().authority() != self.url.authority() {
            return Sent::NotSent;
        }
        // The check above and the write here are one step: nothing is awaited in between.
        written.set(Some(now));
        (self.healthy, self.idle_since) = (false, None);
        if self.tamper.sleeps_on_permit {
            let nap = self.chance.below(2 * SECOND);
            universe.sleep_until(universe.now() + nap).await;
        }
        let sent_at = universe.now();
        if self.life.proxy_shut(sent_at) {
            universe.sleep_until(sent_at + 2_000).await;
            if !self.tamper.proxy_is_site {
                return Sent::Failed { sent: now, problem: Problem::ProxyLogin };
            }
            self.tamper.mark.set();
            let first_byte = self.life.mono();
            let moment = universe.now();
            let answer = Answer { end: moment, complete: true, ..Answer::default() };
            self.answer = Some((answer, sent_at));
            let head = Arc::new(Head { status: 407, ..Head::default() });
            return Sent::Answered { sent: now, first_byte, head };
        }
        if self.life.network_down(sent_at) {
            // The bytes leave and never arrive.
            universe.sleep_until(sent_at + FIRST_BYTE_TIMEOUT).await;
            return Sent::Failed { sent: now, problem: Problem::FirstByteTimeout };
        }
        let (answer, sent_at) = match self.early.take() {
            Some(early) => early,
            None => (self.ask(request), sent_at),
        };
        if self.tamper.twice || self.tamper.aliases {
            self.alias = self.tamper.aliases;
            self.ask(request);
            self.alias = false;
        }
        let back = self.model().way.0;
        let gives_up = sent_at + FIRST_BYTE_TIMEOUT;
        let arrives = answer.head + back;
        universe.sleep_until(arrives.min(gives_up).max(sent_at)).await;
        self.life.check().await;
        let Some(status) = answer.status else {
            let problem = match arrives > gives_up {
                true => Problem::FirstByteTimeout,
                false => Problem::Reset,
            };
            if problem == Problem::Reset {
                self.redial(ExtraDials::AfterReset, 3);
            }
            return Sent::Failed { sent: now, problem };
        };
        let text = |v: &Option<Arc<str>>| v.as_deref().map(str::to_owned);
        let head = Head {
            status,
            location: text(&answer.location),
            retry_after: self
                .tamper
                .retry_after(status, text(&answer.retry_after))
                .into_iter()
                .collect(),
            date: text(&answer.date),
            cache_control: text(&answer.cache_control).into_iter().collect(),
            etag: text(&answer.etag),
            ..Head::default()
        };
        self.answer = Some((answer, sent_at));
        Sent::Answered { sent: now, first_byte: self.life.mono(), head: Arc::new(head) }
    }

    async fn body(&mut self) -> Reading {
        self.life.check().await;
        let Some((answer, sent)) = self.answer.take() else {
            return Reading::Failed(Problem::Malformed);
        };
        let universe = Rc::clone(&self.web.universe);
        universe.sleep_until((answer.end + self.model().way.0).min(sent + WHOLE_TIMEOUT)).await;
        self.life.check().await;
        if !answer.complete {
            let whole = universe.now() >= sent + WHOLE_TIMEOUT;
            return Reading::Failed(if whole { Problem::WholeTimeout } else { Problem::Truncated });
        }
        if self.tamper.follows_redirects
            && let Some(to) = answer.location.as_deref()
            && let Ok(url) = self.url.join(to)
            && self.web.hosts.contains_key(url.host().as_str())
        {
            let request =
                Request { method: "GET", user_agent: self.life.agent(), ..Request::default() };
            self.host = Arc::clone(&self.web.hosts[url.host().as_str()].name);
            self.url = url;
            self.tamper.mark.set();
            self.ask(&request);
        }
        self.healthy = true;
        let body = match self.kind {
            RequestKind::Robots => self.tamper.robots(&answer.body),
            _ => answer.body.to_vec(),
        };
        Reading::Whole(Fetched { body: body.into() })
    }
}

impl Drop for SimLine {
    fn drop(&mut self) {
        if self.healthy && !self.closed() {
            // One that was not used has been idle since before.
            let now = self.idle_since.unwrap_or(self.web.universe.now());
            let mut idle = self.idle.borrow_mut();
            let lines = idle.entry(self.url.authority()).or_default();
            if lines.len() < IDLE_MAX {
                lines.push((self.connection, now));
            }
        }
    }
}
