//! What goes wrong between a worker and its store, as a wrapper around any store.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use curtsy_core::host::RobotsId;
use curtsy_core::url::HostKey;
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Store, StoreError, Taken, UrlRecord, UrlWrite,
    View, Visit,
};

use crate::chance::Chance;
use crate::executor::Universe;
use crate::world::Life;

/// How the way to the store is: shared by all workers, changed by the director.
#[derive(Debug, Default)]
pub struct Weather {
    /// In parts of a million: an answer is lost after the store did its work.
    pub lost_reply: Cell<u64>,
    /// In parts of a million: the store refuses.
    pub refusal: Cell<u64>,
    /// In parts of a million: a call takes up to five seconds longer.
    pub delay: Cell<u64>,
    /// The store is away until then.
    pub away_until: Cell<u64>,
    /// How often each of these happened: lost replies, refusals, delays, calls while it was away.
    pub counts: [Cell<u64>; 4],
}

impl Weather {
    /// Fair weather.
    pub fn clear(&self) {
        for part in [&self.lost_reply, &self.refusal, &self.delay] {
            part.set(0);
        }
    }

    fn count(&self, kind: usize) {
        self.counts[kind].set(self.counts[kind].get() + 1);
    }
}

/// A store behind a network.
pub struct FaultyStore<S> {
    inner: S,
    universe: Rc<Universe>,
    weather: Rc<Weather>,
    life: Rc<Life>,
    chance: RefCell<Chance>,
}

impl<S> FaultyStore<S> {
    /// Puts a network between a worker and a store.
    pub fn new(
        inner: S,
        universe: Rc<Universe>,
        weather: Rc<Weather>,
        life: Rc<Life>,
        chance: Chance,
    ) -> FaultyStore<S> {
        FaultyStore { inner, universe, weather, life, chance: RefCell::new(chance) }
    }

    async fn way(&self, slow: bool) {
        let (span, long) = {
            let mut chance = self.chance.borrow_mut();
            let long = if slow && chance.ppm(self.weather.delay.get()) {
                self.weather.count(2);
                chance.below(5_000_000)
            } else {
                0
            };
            (chance.between(100, 900), long)
        };
        self.universe.sleep_until(self.universe.now() + span + long).await;
        self.life.check().await;
    }

    async fn call<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.life.check().await;
        self.way(true).await;
        if self.universe.now() < self.weather.away_until.get() {
            self.weather.count(3);
            self.universe.sleep_until(self.universe.now() + 50_000).await;
            return Err(StoreError::Unknown(what));
        }
        if self.chance.borrow_mut().ppm(self.weather.refusal.get()) {
            self.weather.count(1);
            return Err(StoreError::Refused(what, "simulated".into()));
        }
        let answer = call.await;
        self.way(true).await;
        if self.chance.borrow_mut().ppm(self.weather.lost_reply.get()) {
            self.weather.count(0);
            return Err(StoreError::Unknown(what));
        }
        answer
    }
}

impl<S: Store> Store for FaultyStore<S> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        self.call("offer", self.inner.offer(records)).await
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        self.call("remind", self.inner.remind(records)).await
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        self.call("order", self.inner.order(orders)).await
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        self.call("take", self.inner.take(hosts)).await
    }

    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        self.call("waiting", self.inner.waiting(hosts)).await
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        self.call("load", self.inner.load(host)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.call("commit", self.inner.commit(commit)).await
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        self.call("settle", self.inner.settle(writes)).await
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.call("robots", self.inner.robots(id)).await
    }
}
