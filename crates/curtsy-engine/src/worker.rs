//! A worker: one future with a bounded set of visits.
//!
//! Everything that takes time (a take, a visit, a flush, a recovery) is one task of the same set, so nothing that waits for a store or
//! a sink can hold up a request whose turn has come.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use curtsy_core::host::{BudgetReason, LeaseId, Problem, RobotsId};
use curtsy_core::policy::{AgentMatch, Policy};
use curtsy_core::robots::{AgentRules, Robots};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, HostKey, UrlKey};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::flush::Ended;
use crate::health::Health;
use crate::memo::Memory;
use crate::page::Boxed;
use crate::spent::Budget;
use crate::visit::{Seen, Stamp};
use crate::visiting::{Tick, Visiting};
use crate::{
    Cache, Clock, Epoch, Listener, Mono, Reader, RobotsFile, Sink, Source, Step, Store, StoreError,
    Taken, World,
};

/// How often a worker that takes nothing looks at its store.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Steps that go out without company of a row.
const STEPS_FLUSH: usize = 1000;
/// A store that did not answer for so long could not be reached, if requests take as long: an idle worker asks twice as often.
const SILENCE: Duration = Duration::from_secs(10);
/// How long whoever has something to tell may take when the store is back: they ask five times a second.
const TELLING: Duration = Duration::from_secs(1);
/// How long a visit waits that sees an epoch before its worker does, beyond the time that a request may take: one lease, so the host is given
/// back.
const UNNOTED: Duration = Duration::from_secs(1);
/// How long a batch may be on its way to the sinks before nothing more is fetched.
pub(crate) const SINK_PATIENCE: Duration = Duration::from_secs(2);
/// Batches that may wait behind the one that is on its way.
pub(crate) const SINK_BATCHES: usize = 2;
/// Parsed robots.txt files that a worker keeps.
pub(crate) const RULES_MAX: usize = 1024;

/// What a worker may hold at once, and how it waits.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A number that no other worker, past or present, has.
    pub worker: u64,
    /// Visits at once.
    pub visits_max: usize,
    /// How long an idle worker waits before it looks again.
    pub idle_poll: Duration,
    /// How long a row waits for company before it is flushed.
    pub flush_after: Duration,
    /// Rows that are flushed at once.
    pub flush_rows: usize,
    /// Bytes of bodies that are flushed at once.
    pub flush_bytes: usize,
    /// Whether the worker ends when the queue is empty and the source has nothing more.
    pub until_empty: bool,
    /// With that: it also ends when nothing was achieved for this span, or when nothing falls due before that. `None` waits for ever.
    pub patience: Option<Duration>,
    /// Whether a URL that waited for a slot for as long as the policy has it wait has ended, for a caller that wants this URL alone.
    /// Else it goes back to the queue.
    pub slot_timeout_ends: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            worker: 0,
            visits_max: 64,
            idle_poll: Duration::from_secs(5),
            flush_after: Duration::from_millis(100),
            flush_rows: 100,
            flush_bytes: 8 * 1024 * 1024,
            until_empty: false,
            patience: None,
            slot_timeout_ends: false,
        }
    }
}

/// What a worker reads from and writes to besides its world.
pub struct Outside<'o> {
    /// Seeds.
    pub source: &'o dyn Source,
    /// Rows; every one of them must accept a batch.
    pub sinks: Vec<&'o dyn Sink>,
    /// Pages for the next time.
    pub cache: &'o dyn Cache,
    /// Reads documents.
    pub reader: &'o dyn Reader,
    /// Hears what happens.
    pub listener: &'o dyn Listener,
}

/// What a worker has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests written, by kind: page, robots, robots hop, sitemap, probe.
    pub sent: [u64; 5],
    /// Permits handed back unused.
    pub handed_back: u64,
    /// Commits that found a newer state.
    pub stale: u64,
    /// Rows kept.
    pub rows: u64,
    /// Times the breaker of a host opened.
    pub breaker_opened: u64,
    /// Times our own network was found to be down.
    pub own_trouble: u64,
    /// Epochs after the first.
    pub recoveries: u64,
}

/// How a worker's work ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    /// Nothing is left.
    Empty,
    /// It was told to stop.
    Stopped,
    /// What is left must wait, at least until then: longer than the worker's patience.
    Waits(Time),
    /// Our own side failed in a way that waiting does not mend.
    Ours(Problem),
    /// The job's budget is used up.
    Spent(BudgetReason),
}

/// One worker.
pub struct Worker<'o, W: World> {
    pub(crate) world: W,
    pub(crate) policy: Arc<Policy>,
    pub(crate) outside: Outside<'o>,
    pub(crate) settings: Settings,
    /// How long a store may not answer before others may have answers to tell whose leases have run out.
    silence: Duration,
    pub(crate) user_agent: String,
    pub(crate) product: String,
    pub(crate) health: RefCell<Health>,
    pub(crate) rules: RefCell<BTreeMap<RobotsId, KeptRules>>,
    pub(crate) memory: Rc<RefCell<Memory>>,
    /// Visits of this worker: no more to a host than it has slots.
    pub(crate) visiting: RefCell<Visiting>,
    /// Authorities whose sitemaps have been offered.
    pub(crate) entered: RefCell<BTreeSet<Authority>>,
    /// Stale pages that have led on already.
    pub(crate) led: RefCell<BTreeSet<UrlKey>>,
    pub(crate) ended: RefCell<Vec<Ended>>,
    /// Bytes of the bodies among them.
    pub(crate) ended_bytes: Cell<usize>,
    pub(crate) steps: RefCell<Vec<Step>>,
    pub(crate) recovering: Cell<bool>,
    pub(crate) counts: RefCell<Counts>,
    /// The store's time when it last answered a take.
    pub(crate) last_stamp: Cell<Option<Stamp>>,
    /// Until when an epoch is quiet for this worker, if that is longer than the store knows.
    quiet: Cell<Option<Time>>,
    /// Since when rows can't be kept, or were last held anew.
    pub(crate) held_at: Cell<Option<Mono>>,
    leases: Cell<u32>,
    wake_at: Cell<Option<Mono>>,
    first_ended: Cell<Option<Mono>>,
    /// Whether the sinks accepted the last batch.
    kept_last: Cell<bool>,
    /// Since when a batch is on its way to them.
    flush_began: Cell<Option<Mono>>,
    stopping: Rc<Cell<bool>>,
    /// Whether people ordered that nothing new begins.
    pausing: Rc<Cell<bool>>,
    /// When something was last achieved: an answer that can be used, a row, a seed.
    progress: Cell<Mono>,
    /// A connection could not be made since it was last looked whether that is all that is left.
    pub(crate) unreached: Cell<bool>,
    /// What is wrong on our own side, if waiting does not mend it.
    pub(crate) own_fault: Cell<Option<Problem>>,
    pub(crate) budget: RefCell<Budget>,
    /// Hosts on public addresses, where the policy has a pace that is for one's own only.
    pub(crate) public: RefCell<HashSet<HostKey>>,
}

/// A robots.txt, parsed and as it was served.
pub(crate) type KeptRules = (Arc<AgentRules>, Arc<RobotsFile>);

/// What a task of the set came to.
pub(crate) enum Event {
    Took {
        hosts: usize,
        taken: Result<Taken, StoreError>,
        since: Tick,
        m0: Mono,
        m1: Mono,
    },
    Visited,
    Flushed {
        kept: bool,
    },
    Recovered,
    Fed {
        seeds: usize,
    },
    /// Hosts that can't be reached were given up, if nothing else was left.
    GaveUp {
        urls: usize,
    },
}

impl<'o, W: World> Worker<'o, W> {
    /// A worker that has not begun.
    pub fn new(
        world: W,
        policy: Arc<Policy>,
        user_agent: String,
        outside: Outside<'o>,
        mut settings: Settings,
        memory: Rc<RefCell<Memory>>,
    ) -> Worker<'o, W> {
        let silence = SILENCE.min(policy.timeout.whole);
        settings.idle_poll = settings.idle_poll.min(silence / 2);
        let product = user_agent.split(['/', ' ']).next().unwrap_or_default().to_owned();
        Worker {
            world,
            policy,
            outside,
            settings,
            silence,
            user_agent,
            product,
            health: RefCell::default(),
            rules: RefCell::default(),
            memory,
            visiting: RefCell::default(),
            entered: RefCell::default(),
            led: RefCell::default(),
            ended: RefCell::default(),
            ended_bytes: Cell::new(0),
            steps: RefCell::default(),
            recovering: Cell::new(false),
            counts: RefCell::default(),
            last_stamp: Cell::new(None),
            quiet: Cell::new(None),
            held_at: Cell::new(None),
            leases: Cell::new(0),
            wake_at: Cell::new(None),
            first_ended: Cell::new(None),
            kept_last: Cell::new(true),
            flush_began: Cell::new(None),
            stopping: Rc::default(),
            pausing: Rc::default(),
            progress: Cell::new(Mono(0)),
            unreached: Cell::new(true),
            own_fault: Cell::new(None),
            budget: RefCell::default(),
            public: RefCell::default(),
        }
    }

    /// A switch that lets the worker finish what it holds and end.
    pub fn stop_switch(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.stopping)
    }

    /// A switch that lets the worker finish what was sent and begin nothing, until it is switched
    /// off again. Whatever waits goes back to the store.
    pub fn pause_switch(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.pausing)
    }

    /// Whether nothing new begins, since the worker is to stop or to pause.
    pub(crate) fn begins_nothing(&self) -> bool {
        self.stopping.get() || self.pausing.get()
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    /// Works until it is told to stop, or until nothing is left if the settings say so.
    pub async fn run(&self) -> Over {
        let clock = self.world.clock();
        let mut tasks: FuturesUnordered<Boxed<'_, Event>> = FuturesUnordered::new();
        let (mut visits, mut taking, mut flushing, mut feeding) = (0_usize, false, false, false);
        let (mut next_take, mut next_look) = (clock.mono(), clock.mono());
        let mut next_feed = clock.mono();
        // Whether the source had nothing more when it was last asked.
        let mut fed = false;
        let (mut drained, mut idle) = (None, false);
        let mut giving_up = false;
        self.progressed();
        if !self.memory.borrow().urls.is_empty() {
            // What a life before this one knew may not have reached the store.
            self.recovering.set(true);
            tasks.push(Box::pin(async {
                self.remind().await;
                Event::Recovered
            }));
        }
        loop {
            let now = clock.mono();
            let stopping = self.stopping.get();
            let flush_at = self.flush_at(now, stopping || drained.is_some());
            if !flushing && flush_at.is_some_and(|at| at <= now) {
                flushing = true;
                self.flush_began.set(Some(now));
                self.first_ended.set(None);
                tasks.push(Box::pin(self.flush_batch()));
            }
            let paused = self.health.borrow().paused_until(now);
            // What can't be kept is not fetched: while the sink is away nothing new is taken.
            let open = !stopping && self.keeps(now) && paused.is_none() && !self.recovering.get();
            if open && !feeding && now >= next_feed {
                feeding = true;
                tasks.push(Box::pin(self.feed()));
            }
            let room = self.settings.visits_max - visits.min(self.settings.visits_max);
            let hungry = open && room > 0;
            // Whoever takes nothing looks at the store still: if it lost something, what this worker knows must come back to it.
            let looks = !hungry && !stopping && !self.recovering.get();
            // What was under way when the store was asked may have changed what it would say.
            let resting =
                visits == 0 && !flushing && !giving_up && fed && self.ended.borrow().is_empty();
            if !taking && hungry && now >= self.take_at(next_take) {
                (taking, idle) = (true, resting);
                self.wake_at.set(None);
                tasks.push(Box::pin(self.take(room)));
            } else if !taking && looks && now >= next_look {
                // While everything pauses, patience runs out all the same.
                (taking, idle) = (true, resting && paused.is_some());
                tasks.push(Box::pin(self.take(0)));
            }
            let out = self.ended.borrow().is_empty() && self.steps.borrow().is_empty();
            if tasks.is_empty() && (out || stopping && !self.kept_last.get()) {
                match drained {
                    _ if stopping => {
                        let ours = self.own_fault.get().map(Over::Ours);
                        let spent = self.budget.borrow().is_over().map(Over::Spent);
                        return ours.or(spent).unwrap_or(Over::Stopped);
                    }
                    Some(over) if self.settings.until_empty => return over,
                    _ => {}
                }
            }
            let takes = hungry && !taking;
            let mut wake = match taking {
                false if hungry => self.take_at(next_take),
                false if looks => next_look,
                _ => now + self.settings.idle_poll,
            };
            if open && !feeding {
                wake = wake.min(next_feed);
            }
            if let Some(until) = paused {
                wake = wake.min(until);
            }
            if !flushing && let Some(at) = flush_at {
                wake = wake.min(at);
            }
            let event = {
                let mut sleep = pin!(clock.sleep_until(wake.max(now + Duration::from_micros(1))));
                // A visit may learn that a host falls due sooner than this sleep ends.
                let sleep = poll_fn(|cx| match self.wake_at.get() {
                    Some(at) if takes && at < wake => Poll::Ready(()),
                    _ if self.stopping.get() != stopping => Poll::Ready(()),
                    _ => sleep.as_mut().poll(cx),
                });
                if tasks.is_empty() {
                    sleep.await;
                    None
                } else {
                    match select(tasks.next(), sleep).await {
                        Either::Left((event, _)) => event,
                        Either::Right(_) => None,
                    }
                }
            };
            match event {
                None => {}
                Some(Event::Visited) => {
                    visits -= 1;
                    if visits == 0 && self.settings.until_empty {
                        // Is anything left?
                        next_take = next_take.min(clock.mono());
                    }
                }
                Some(Event::Recovered) => self.recovering.set(false),
                Some(Event::GaveUp { urls }) => {
                    giving_up = false;
                    next_take = next_take.min(clock.mono());
                    if urls > 0 {
                        // There may be more of them.
                        self.unreached.set(true);
                    }
                }
                Some(Event::Fed { seeds }) => {
                    feeding = false;
                    let again = if seeds > 0 { Duration::ZERO } else { self.settings.idle_poll };
                    next_feed = clock.mono() + again;
                    if seeds == 0 && !fed && self.settings.until_empty {
                        // Nothing more comes from there: is anything left?
                        next_take = next_take.min(clock.mono());
                    }
                    fed = seeds == 0;
                    if seeds > 0 {
                        (drained, idle) = (None, false);
                        next_take = clock.mono();
                    }
                }
                Some(Event::Flushed { kept }) => {
                    flushing = false;
                    self.flush_began.set(None);
                    if !kept {
                        // The rows wait; so does everybody.
                        self.first_ended.set(Some(clock.mono() + Duration::from_secs(1)));
                    }
                    self.kept_last.set(kept);
                    if self.settings.until_empty {
                        next_take = next_take.min(clock.mono());
                    }
                }
                Some(Event::Took { hosts, taken: Err(_), .. }) => {
                    taking = false;
                    let again = clock.mono() + Duration::from_millis(500);
                    *(if hosts > 0 { &mut next_take } else { &mut next_look }) = again;
                }
                Some(Event::Took { hosts, taken: Ok(taken), since, m0, m1 }) => {
                    taking = false;
                    self.count_quiet(&taken);
                    self.memory.borrow_mut().hear(&taken.orders);
                    self.last_stamp.set(Some(Stamp { now: taken.now, m0, m1 }));
                    drained = match idle && taken.visits.is_empty() {
                        true if self.settings.patience.is_some()
                            && taken.queued > 0
                            && self.unreached.take() =>
                        {
                            giving_up = true;
                            tasks.push(Box::pin(self.give_up_unreached()));
                            None
                        }
                        true => self.over(&taken, m1),
                        false => None,
                    };
                    next_look = m1 + LOOK_EVERY;
                    if hosts > 0 {
                        next_take = self.after_take(&taken, m1);
                    }
                    let under_way = flushing || feeding || !self.ended.borrow().is_empty();
                    let quiet = visits == 0 && taken.visits.is_empty() && !under_way;
                    if self.settings.until_empty && quiet && !idle {
                        // Nothing is under way any more: a look that can be trusted. Rows that wait are under way: their flush has
                        // another look follow it.
                        next_take = m1;
                    }
                    if self.note_epoch(taken.epoch) {
                        // What was handed out falls due again by itself.
                        self.recovering.set(true);
                        tasks.push(Box::pin(self.recover(taken.epoch)));
                        continue;
                    }
                    for visit in taken.visits {
                        let host = visit.view.host.clone();
                        if self.has_enough_visits(&host) {
                            let stamp = Stamp { now: visit.view.now, m0, m1 };
                            self.visiting.borrow_mut().leave(Seen { view: visit.view, stamp });
                            continue;
                        }
                        visits += 1;
                        self.visiting.borrow_mut().begin(&host, since, &visit.urls);
                        tasks.push(Box::pin(async move {
                            let left = self.visit(visit, since, m0, m1).await;
                            let left = self.visiting.borrow_mut().end(&host, since, left);
                            if let Some(seen) = left {
                                let due = self.look_due(&seen.view);
                                self.release(seen, due, Vec::new()).await;
                            }
                            Event::Visited
                        }));
                    }
                    self.visiting.borrow_mut().taken();
                }
            }
        }
    }

    /// Whether a look at the store that brought nothing shows that the work is over.
    fn over(&self, taken: &Taken, now: Mono) -> Option<Over> {
        if taken.queued == 0 {
            return Some(Over::Empty);
        }
        let due = taken.next_due?;
        let end = self.progress.get() + self.settings.patience?;
        // Many short waits are one long wait: what counts is the time since something was achieved.
        (now >= end || now + (due - taken.now) > end).then_some(Over::Waits(due))
    }

    /// Something was achieved: patience begins anew.
    pub(crate) fn progressed(&self) {
        self.progress.set(self.world.clock().mono());
    }

    /// Whether this worker has as many visits to a host as the host has slots: more would only stand in each other's way. Where the
    /// policy bounds the wait for a slot there is one more, which counts that wait.
    pub(crate) fn has_enough_visits(&self, host: &HostKey) -> bool {
        let policy = self.policy_of(host);
        let waits = usize::from(policy.slots.wait.is_some());
        self.visiting.borrow().count(host) >= usize::from(policy.slots.per_host) + waits
    }

    /// Has the worker wake when a host that it wrote falls due.
    pub(crate) fn wake_by(&self, at: Mono) {
        let earlier = self.wake_at.get().is_none_or(|known| at < known);
        if earlier {
            self.wake_at.set(Some(at));
        }
    }

    fn take_at(&self, next_take: Mono) -> Mono {
        self.wake_at.get().map_or(next_take, |own| own.min(next_take))
    }

    fn after_take(&self, taken: &Taken, m1: Mono) -> Mono {
        let idle = m1 + self.settings.idle_poll;
        let due = taken.next_due.map_or(idle, |due| m1 + (due - taken.now));
        // An early look finds nothing and costs a call; a late one costs lateness: a millisecond is the middle.
        due.max(m1 + Duration::from_millis(1)).min(idle)
    }

    /// When what waits goes out; none if nothing does. Steps alone wait for company, unless they are many or the work is over.
    fn flush_at(&self, now: Mono, ending: bool) -> Option<Mono> {
        let (rows, steps) = (self.ended.borrow().len(), self.steps.borrow().len());
        let alone = rows == 0;
        if alone && (steps == 0 || steps < STEPS_FLUSH && !ending) {
            return None;
        }
        let first = self.first_ended.get().unwrap_or(now);
        let much =
            rows >= self.settings.flush_rows || self.ended_bytes.get() >= self.settings.flush_bytes;
        Some(if alone || much || ending { first } else { first + self.settings.flush_after })
    }

    /// Whether what is fetched now can be kept: the sinks accepted the last batch, and the one that is under way does not take too long.
    pub(crate) fn keeps(&self, now: Mono) -> bool {
        let behind = self.flush_began.get().is_some_and(|began| {
            now - began > SINK_PATIENCE
                || self.ended_bytes.get() >= SINK_BATCHES * self.settings.flush_bytes
                || self.ended.borrow().len() >= SINK_BATCHES * self.settings.flush_rows
        });
        self.kept_last.get() && !behind
    }

    /// Puts a row on its way out.
    pub(crate) fn end(&self, ended: Ended) {
        if self.first_ended.get().is_none() {
            self.first_ended.set(Some(self.world.clock().mono()));
        }
        self.progressed();
        self.paid(ended.record.id);
        self.ended_bytes.set(self.ended_bytes.get() + ended.bytes());
        self.ended.borrow_mut().push(ended);
    }

    /// Puts a step on its way out, with the next rows.
    pub(crate) fn step(&self, step: Step) {
        self.steps.borrow_mut().push(step);
    }

    async fn take(&self, hosts: usize) -> Event {
        let since = self.visiting.borrow_mut().take();
        let m0 = self.world.clock().mono();
        let taken = self.world.store().take(hosts).await;
        Event::Took { hosts, taken, since, m0, m1: self.world.clock().mono() }
    }

    /// Moves seeds from the source to the store.
    async fn feed(&self) -> Event {
        let seeds = self.outside.source.next(500).await;
        while !seeds.is_empty() {
            match self.world.store().offer(&seeds).await {
                Ok(offered) if offered.new > 0 => {
                    self.progressed();
                    break;
                }
                Ok(_) => break,
                Err(_) if self.stopping.get() => break,
                Err(_) => self.pause(Duration::from_millis(500)).await,
            }
        }
        Event::Fed { seeds: seeds.len() }
    }

    /// Sleeps on the worker's own clock.
    pub(crate) async fn pause(&self, span: Duration) {
        let clock = self.world.clock();
        clock.sleep_until(clock.mono() + span).await;
    }

    /// A lease's name that nobody else has.
    pub(crate) fn new_lease(&self) -> LeaseId {
        let n = self.leases.get();
        self.leases.set(n.wrapping_add(1));
        LeaseId::of(self.settings.worker, n)
    }

    /// Notes the store's epoch; true if it is another than before.
    pub(crate) fn note_epoch(&self, epoch: Epoch) -> bool {
        let before = self.memory.borrow_mut().epoch.replace(epoch.id);
        before.is_some_and(|b| b != epoch.id)
    }

    /// After a silence of the store others have to tell first what they met meanwhile: answers whose leases have run out. And what of an
    /// epoch's quiet passes in a silence helps nobody to put back what it knows, so that is added at the end.
    fn count_quiet(&self, taken: &Taken) {
        let before = self.last_stamp.get().map(|stamp| stamp.now);
        let Some(before) = before.filter(|before| taken.now - *before > self.silence) else {
            return;
        };
        // An epoch that began in the silence has its whole quiet before it.
        let since = taken.epoch.floor.unwrap_or(before).max(before);
        let quiet = taken.epoch.quiet_until.max(self.quiet.get());
        let left = quiet.map_or(Duration::ZERO, |quiet| quiet - since);
        self.quiet.set(Some(taken.now + left.max(TELLING)));
    }

    /// Until when nothing is granted, as far as this worker knows.
    pub(crate) fn quiet_until(&self, epoch: &Epoch, now: Time) -> Option<Time> {
        let noted = self.memory.borrow().epoch == Some(epoch.id);
        // A visit may see an epoch first: what its worker knows goes back before anything is granted.
        let unnoted = (!noted).then_some(now + self.policy.timeout.whole + UNNOTED);
        epoch.quiet_until.max(self.quiet.get()).max(unnoted)
    }

    /// Reads a robots.txt and keeps it, parsed and as it is.
    pub(crate) fn keep_rules(
        &self,
        id: RobotsId,
        file: Arc<RobotsFile>,
        how: AgentMatch,
    ) -> Arc<AgentRules> {
        let rules = Arc::new(Robots::parse(&file.text).for_agent(&self.product, how));
        let mut kept = self.rules.borrow_mut();
        if kept.len() >= RULES_MAX {
            kept.pop_first();
        }
        kept.insert(id, (Arc::clone(&rules), file));
        rules
    }
}
