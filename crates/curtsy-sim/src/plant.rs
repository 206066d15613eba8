//! Faults that are planted between a worker and its store: views that hide something, writes that
//! lose something.
//!
//! All that a store keeps is plain data, so a worker with a bug in its limiter and a worker that
//! was told nonsense look the same to a server.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    BreakerState, HostState, Lease, LeaseId, RequestKind, RobotsId, RobotsStanding,
};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Saved, Store, StoreError, Taken, UrlRecord,
    UrlWrite, View,
};

use crate::net::Web;
use crate::sabotage::{Mark, Sabotage};

/// What the workers of a sabotaged fleet share.
pub(crate) struct Plant {
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) mark: Mark,
    robots_ttl: Duration,
    margin: Duration,
    failures: u8,
    web: Rc<Web>,
    looks: Cell<u64>,
    /// Waits that were changed, by host: the true end and the other.
    cuts: RefCell<BTreeMap<HostKey, (Time, Option<Time>)>>,
    last_ok: RefCell<BTreeMap<HostKey, Time>>,
    leaked: RefCell<BTreeMap<HostKey, Vec<Lease>>>,
    /// Slots of addresses that the store should know of.
    claims: RefCell<Vec<(IpAddr, LeaseId, Time)>>,
    /// URLs as they were last written.
    known: RefCell<BTreeMap<UrlKey, UrlRecord>>,
}

impl Plant {
    pub(crate) fn new(sabotage: Option<Sabotage>, promised: &Policy, web: Rc<Web>) -> Plant {
        Plant {
            sabotage,
            mark: Mark::default(),
            robots_ttl: promised.robots.ttl,
            margin: promised.pace.delay_min / 100,
            failures: promised.breaker.failures,
            web,
            looks: Cell::new(0),
            cuts: RefCell::default(),
            last_ok: RefCell::default(),
            leaked: RefCell::default(),
            claims: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// The store's time: its clock never steps where faults are planted.
    fn now(&self) -> Time {
        Time::from_micros(self.web.universe.now())
    }

    /// What a worker gets to see of a host.
    fn view(&self, fault: Sabotage, view: &mut View) {
        self.looks.set(self.looks.get() + 1);
        let before = view.state.clone();
        let state = Arc::make_mut(&mut view.state);
        match fault {
            Sabotage::LimiterOff => state.last_start = None,
            Sabotage::BurstOfTwo if self.looks.get().is_multiple_of(2) => state.last_start = None,
            Sabotage::CountsFromSend => {
                state.last_start = state.last_start.map(|at| at.back(self.margin));
            }
            Sabotage::LeasesForgotten => state.leases.retain(|l| l.kind != RequestKind::Page),
            Sabotage::LeasesLeak => {
                let leaked = self.leaked.borrow();
                for lease in leaked.get(&view.host).into_iter().flatten() {
                    if state.lease(lease.id).is_none() {
                        state.leases.push(Lease { until: Time::NEVER, ..*lease });
                    }
                }
            }
            Sabotage::RobotsForgotten => {
                state.robots = None;
                state.more_robots = Box::default();
            }
            Sabotage::BudgetIgnored => view.job.pages = 0,
            Sabotage::DialsForgotten => state.dialled_at = Some(Time::from_micros(0)),
            Sabotage::DialsInBreakersWait => {
                if state.breaker.until.is_some_and(|until| until > view.now) {
                    self.dial(view.host.as_str());
                }
            }
            _ => self.robots(fault, view.now, state),
        }
        if view.state != before {
            self.mark.set();
        }
    }

    fn robots(&self, fault: Sabotage, now: Time, state: &mut HostState) {
        for robots in state.robots.iter_mut().chain(&mut state.more_robots) {
            let before = robots.clone();
            match fault {
                Sabotage::CrawlDelayCut => {
                    robots.crawl_delay_micros -= robots.crawl_delay_micros % 1_000_000;
                }
                Sabotage::CrawlDelayIgnored => robots.crawl_delay_micros = 0,
                Sabotage::UnreachableIsAbsent => {
                    if matches!(robots.standing, RobotsStanding::Unreachable(_)) {
                        robots.standing = RobotsStanding::Absent;
                    }
                }
                Sabotage::RobotsTtlTenfold => {
                    let old = now - robots.asked_at;
                    if old + Duration::from_secs(1) > self.robots_ttl && old < self.robots_ttl * 10
                    {
                        (robots.asked_at, robots.asked_by) = (now, now);
                    }
                }
                _ => {}
            }
            if *robots != before {
                self.mark.set();
            }
        }
    }

    /// A worker dials a host and sends nothing.
    fn dial(&self, host: &str) {
        if let Some(host) = self.web.hosts.get(host) {
            self.mark.set();
            self.web.accept(host, 80);
        }
    }

    /// What a worker's write becomes.
    fn commit(&self, fault: Sabotage, commit: &mut Commit) {
        let now = self.now();
        if fault.looks_often() {
            commit.not_before = commit.not_before.min(now + Duration::from_secs(1));
        }
        if let Some(grant) = &mut commit.grant {
            match fault {
                Sabotage::AddressCapIgnored => {
                    if let Some(claim) = grant.address.take() {
                        let mut claims = self.claims.borrow_mut();
                        claims.retain(|(_, _, until)| *until > now);
                        let others = claims.iter().filter(|(at, ..)| *at == claim.address).count();
                        if others >= claim.cap.into() {
                            self.mark.set();
                        }
                        claims.push((claim.address, grant.lease, claim.until));
                    }
                }
                Sabotage::BudgetIgnored if grant.charge.take().is_some() => self.mark.set(),
                _ => {}
            }
        }
        if let Some((_, lease)) = commit.release {
            self.claims.borrow_mut().retain(|(_, id, _)| *id != lease);
        }
        for write in &mut commit.urls {
            self.url(fault, write);
        }
        let host = commit.host.clone();
        if commit.state.is_none() {
            // A worker that gives a host back names the true end of its wait.
            if let Some((until, cut)) = self.cuts.borrow().get(&host)
                && commit.not_before + Duration::from_secs(5) > *until
                && commit.not_before <= *until
            {
                commit.not_before = cut.unwrap_or(now);
            }
            return;
        }
        let (Some(state), due) = (&mut commit.state, &mut commit.not_before) else { return };
        let state = Arc::make_mut(state);
        match fault {
            Sabotage::RetryAfterIgnored => {
                self.cut(&host, &mut state.backoff.until, due, |_| None);
            }
            Sabotage::WaitCapped => {
                let most = now + Duration::from_secs(60);
                self.cut(&host, &mut state.backoff.until, due, |until| Some(until.min(most)));
            }
            Sabotage::JitterShortens => {
                self.cut(&host, &mut state.backoff.until, due, |until| {
                    Some(until.back((until - now) / 10))
                });
            }
            Sabotage::BreakerHalved => {
                self.cut(&host, &mut state.breaker.until, due, |until| {
                    Some(until.back((until - now) / 2))
                });
            }
            Sabotage::SuccessClearsBlock => {
                let newer = state.last_ok.is_some_and(|ok| {
                    self.last_ok.borrow_mut().insert(host.clone(), ok).is_none_or(|old| old < ok)
                });
                if newer && state.backoff.until.is_some_and(|until| until > now) {
                    self.cut(&host, &mut state.backoff.until, due, |_| None);
                }
            }
            Sabotage::DialsUnbooked if state.dialled_at.is_some() => {
                self.mark.set();
                state.dialled_at = None;
            }
            Sabotage::NoGrowth if state.backoff.streak > 0 => {
                self.mark.set();
                state.backoff.streak = 0;
                state.backoff.last_wait = Duration::ZERO;
            }
            Sabotage::BreakerNeverOpens if state.breaker.failures > 1 => {
                self.mark.set();
                state.breaker = BreakerState { failures: 1, ..BreakerState::default() };
            }
            Sabotage::BreakerOpensLate if state.breaker.failures >= self.failures => {
                self.mark.set();
            }
            Sabotage::LeasesLeak => {
                let mut leaked = self.leaked.borrow_mut();
                let leaked = leaked.entry(host).or_default();
                for lease in &state.leases {
                    if leaked.iter().all(|l| l.id != lease.id) {
                        leaked.push(*lease);
                    }
                }
            }
            _ => self.robots(fault, now, state),
        }
    }

    /// Changes the end of a wait, once for each.
    fn cut(
        &self,
        host: &HostKey,
        field: &mut Option<Time>,
        due: &mut Time,
        other: impl FnOnce(Time) -> Option<Time>,
    ) {
        let Some(until) = *field else { return };
        let mut cuts = self.cuts.borrow_mut();
        let cut = match cuts.get(host) {
            Some((known, cut)) if *known == until || *cut == Some(until) => *cut,
            _ => {
                let cut = other(until);
                cuts.insert(host.clone(), (until, cut));
                cut
            }
        };
        if cut != Some(until) {
            self.mark.set();
            *due = (*due).min(cut.unwrap_or(self.now()));
        }
        *field = cut;
    }

    fn url(&self, fault: Sabotage, write: &mut UrlWrite) {
        if fault == Sabotage::PagesForgotten {
            let mut known = self.known.borrow_mut();
            match &write.to {
                Some(record) => drop(known.insert(write.id, record.clone())),
                None => write.to = known.get(&write.id).cloned(),
            }
        }
        let Some(record) = &mut write.to else { return };
        match fault {
            Sabotage::RetriesWithoutEnd if record.tries.counted > 0 => {
                self.mark.set();
                record.tries = Default::default();
            }
            Sabotage::RetriesAtOnce if record.last.is_some() && record.ready.is_some() => {
                self.mark.set();
                record.ready = None;
            }
            _ => {}
        }
    }
}

/// A store whose answers and writes are tampered with.
pub(crate) struct SabotagedStore<S> {
    inner: S,
    plant: Rc<Plant>,
}

impl<S> SabotagedStore<S> {
    pub(crate) fn new(inner: S, plant: Rc<Plant>) -> SabotagedStore<S> {
        SabotagedStore { inner, plant }
    }

    fn seen(&self, view: &mut View) {
        if let Some(fault) = self.plant.sabotage {
            self.plant.view(fault, view);
        }
    }
}

impl<S: Store> Store for SabotagedStore<S> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        self.inner.offer(records).await
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        self.inner.remind(records).await
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        self.inner.order(orders).await
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        let mut taken = self.inner.take(hosts).await?;
        for visit in &mut taken.visits {
            self.seen(&mut visit.view);
        }
        Ok(taken)
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        let mut view = self.inner.load(host).await?;
        self.seen(&mut view);
        Ok(view)
    }

    async fn commit(&self, mut commit: Commit) -> Result<Committed, StoreError> {
        let Some(fault) = self.plant.sabotage else { return self.inner.commit(commit).await };
        self.plant.commit(fault, &mut commit);
        // A store that lies opens permits: no type can prevent that, so the judge must see it.
        let made_up = (fault == Sabotage::LocalFallback)
            .then(|| Saved { version: commit.version + 1, now: self.plant.now() });
        match (self.inner.commit(commit).await, made_up) {
            (Ok(Committed::Stale(mut view)), _) => {
                self.seen(&mut view);
                Ok(Committed::Stale(view))
            }
            (Err(_), Some(saved)) => {
                self.plant.mark.set();
                Ok(Committed::Done(saved))
            }
            (other, _) => other,
        }
    }

    async fn settle(&self, mut writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        if let Some(fault) = self.plant.sabotage {
            for write in &mut writes {
                self.plant.url(fault, write);
            }
        }
        match self.inner.settle(writes).await {
            // Whoever goes on by itself believes that everything is kept.
            Err(_) if self.plant.sabotage == Some(Sabotage::LocalFallback) => Ok(()),
            settled => settled,
        }
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.inner.robots(id).await
    }
}
