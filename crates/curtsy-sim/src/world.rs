//! One life of a worker: its clock, its end, and the world that it sees.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use curtsy_engine::{Clock, Mono, Point, Store, World};

use crate::executor::Universe;
use crate::net::SimFetch;

/// Requests of a worker that its kill is told of; more than any worker has in flight.
const REQUESTS_MAX: usize = 4096;

/// One life of a worker, from its start to its kill.
pub struct Life {
    universe: Rc<Universe>,
    /// Added to the true time: no two workers have the same monotonic clock.
    clock_base: u64,
    dead: Cell<bool>,
    /// Points at which it dies when it comes there next.
    armed: RefCell<BTreeMap<Point, u32>>,
    /// The point at which it died.
    died_at: Cell<Option<Point>>,
    requests: RefCell<VecDeque<(u64, u64)>>,
    network_down: Cell<u64>,
    proxy_shut: Cell<u64>,
    agent: Arc<str>,
}

impl Life {
    /// A new life.
    pub fn new(universe: Rc<Universe>, clock_base: u64, agent: &str) -> Rc<Life> {
        Rc::new(Life {
            universe,
            clock_base,
            dead: Cell::new(false),
            armed: RefCell::default(),
            died_at: Cell::new(None),
            requests: RefCell::default(),
            network_down: Cell::new(0),
            proxy_shut: Cell::new(0),
            agent: agent.into(),
        })
    }

    /// Its monotonic clock.
    pub fn mono(&self) -> Mono {
        Mono(self.universe.now() + self.clock_base)
    }

    /// Whether it has been killed.
    pub fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// Ends it where it stands.
    pub fn kill(&self) {
        self.dead.set(true);
    }

    /// Has it die when it next comes to a point.
    pub fn arm(&self, point: Point) {
        *self.armed.borrow_mut().entry(point).or_default() += 1;
    }

    /// Where it died, if at a point.
    pub fn died_at(&self) -> Option<Point> {
        self.died_at.get()
    }

    /// Cuts it off from the network until a moment.
    pub fn cut_off(&self, until: u64) {
        self.network_down.set(until);
    }

    /// Has its proxy want a password until a moment: nothing reaches a site until then.
    pub fn shut_proxy(&self, until: u64) {
        self.proxy_shut.set(until);
    }

    pub(crate) fn proxy_shut(&self, now: u64) -> bool {
        now < self.proxy_shut.get()
    }

    pub(crate) fn network_down(&self, now: u64) -> bool {
        now < self.network_down.get()
    }

    /// Requests in flight now, or received in the last 100 ms.
    pub fn in_flight(&self) -> u32 {
        let now = self.universe.now();
        let requests = self.requests.borrow();
        requests.iter().filter(|(_, end)| end + 150_000 > now).count() as u32
    }

    pub(crate) fn note_request(&self, start: u64, end: u64) {
        let mut requests = self.requests.borrow_mut();
        requests.push_back((start, end));
        if requests.len() > REQUESTS_MAX {
            requests.pop_front();
        }
    }

    pub(crate) fn agent(&self) -> String {
        self.agent.to_string()
    }

    /// The user agent without a new allocation, if it is the usual one.
    pub(crate) fn user_agent(&self, sent: &str) -> Arc<str> {
        if *self.agent == *sent { Arc::clone(&self.agent) } else { sent.into() }
    }

    /// Goes on only if it still lives: the dead do nothing more.
    pub(crate) async fn check(&self) {
        if self.dead.get() {
            std::future::pending::<()>().await;
        }
    }
}

/// A worker's clock.
#[derive(Clone)]
pub struct SimClock(pub Rc<Life>);

impl Clock for SimClock {
    fn mono(&self) -> Mono {
        self.0.mono()
    }

    async fn sleep_until(&self, until: Mono) {
        let at = until.0.saturating_sub(self.0.clock_base);
        self.0.universe.sleep_until(at).await;
        self.0.check().await;
    }
}

/// What a worker of the simulation lives in. The engine's loop runs in it unchanged.
pub struct SimWorld<S> {
    /// Its store.
    pub store: S,
    /// Its way to the web.
    pub fetch: SimFetch,
    /// Its clock.
    pub clock: SimClock,
    /// Its life.
    pub life: Rc<Life>,
}

impl<S: Store> World for SimWorld<S> {
    type Store = S;
    type Fetch = SimFetch;
    type Clock = SimClock;

    fn store(&self) -> &S {
        &self.store
    }

    fn fetch(&self) -> &SimFetch {
        &self.fetch
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    async fn reached(&self, point: Point) {
        self.life.check().await;
        let dies = match self.life.armed.borrow_mut().get_mut(&point) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        if dies {
            self.life.died_at.set(Some(point));
            self.life.kill();
            self.life.check().await;
        }
    }
}
