//! One run: a seed in, a verdict out.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use curtsy_core::policy::{Policy, Preset};
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::memory::{Control, MemoryStore, Options};
use curtsy_engine::{Outside, Store, Worker, WorkerCounts, WorkerMemory, WorkerSettings};
use curtsy_judge::{CrawlerFault, Judge, JudgeReport, LogEntry, SecondMatcher};

use crate::chance::Chance;
use crate::director::{Act, acts};
use crate::executor::{Executor, Stepped, TaskId, Universe};
use crate::manners::manners_of;
use crate::net::{SimFetch, Web};
use crate::outside::{SimCache, SimReader, SimSink, SimSource};
use crate::plant::{Plant, SabotagedStore};
use crate::sabotage::{Sabotage, Tamper};
use crate::scenery;
use crate::store_faults::{FaultyStore, Weather};
use crate::web::{Mood, Oddity, RobotsAnswer, SECOND};
use crate::world::{Life, SimClock, SimWorld};

/// The true time at which every run begins: the first of January 2027, 00:00 UTC.
const START: u64 = 1_798_761_600 * SECOND;
/// How long a run may take to end everything after its faults: longer than the longest wait of any
/// preset.
const CALM_MAX: u64 = 5 * 86_400 * SECOND;

/// How long a call of the store may take in bad weather, with everything that is tried again.
const SLOW_BY: u64 = 30 * SECOND;

/// How long it may take until workers have heard an order: as long as the store may be away.
const HEARD_WITHIN: u64 = 120 * SECOND;

/// How long a worker whose proxy let nothing through may take to try it again.
const PROXY_LOOK: u64 = 120 * SECOND;

/// Lines that a trace keeps.
const TRACE_MAX: usize = 4000;

/// What a run is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Any faults, any moods: P0 to P15 and P17 hold and nothing is lost.
    Safety,
    /// Faults stop after a third; from then on P16 holds too.
    Liveness,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Everything follows from it.
    pub seed: u64,
    /// How long, in seconds.
    pub seconds: u64,
    /// Workers.
    pub workers: usize,
    /// Hosts.
    pub hosts: usize,
    /// Waves of work for each host.
    pub waves: u64,
    /// Pages of a wave, on average.
    pub pages: u64,
    /// What it is to show.
    pub mode: Mode,
    /// Whether things go wrong.
    pub faults: bool,
    /// Whether pages are found by links too.
    pub links: bool,
    /// The policy; none has the seed choose a preset.
    pub policy: Option<Policy>,
    /// Stop at the first violation.
    pub stop_at_first: bool,
    /// A host whose last exchanges are kept.
    pub trace: Option<String>,
    /// What is fixed about hosts and events; none leaves it to the seed.
    pub set: Option<Set>,
    /// A planted fault.
    pub sabotage: Option<Sabotage>,
}

/// What is fixed about the hosts and events of a run.
#[derive(Clone, Debug)]
pub struct Set {
    /// Every host's mood.
    pub mood: Mood,
    /// After how many seconds it begins.
    pub mood_after: u64,
    /// Every host's robots.txt.
    pub robots: RobotsAnswer,
    /// The time to think, least and most.
    pub think: (u64, u64),
    /// The time of a handshake, least and most.
    pub handshake: (u64, u64),
    /// How late a server reads, at most.
    pub late: u64,
    /// Whether all hosts share one address.
    pub one_address: bool,
    /// Which pages are odd.
    pub oddity: Oddity,
    /// A stop order for every host after so many seconds.
    pub stop_after: Option<u64>,
    /// The store goes away, again and again, for so many seconds.
    pub away: Option<u64>,
    /// Whether it lost everything a second before it went.
    pub emptied: bool,
    /// For how many seconds the proxy of every worker wants a password, from the start.
    pub proxy_shut: Option<u64>,
}

impl Spec {
    /// A day of a fleet of 16 workers and 50 hosts, with faults.
    pub fn day(seed: u64, mode: Mode) -> Spec {
        Spec {
            seed,
            seconds: 86_400,
            workers: 16,
            hosts: 50,
            waves: 4,
            pages: 50,
            mode,
            faults: true,
            links: seed.is_multiple_of(3),
            policy: None,
            stop_at_first: true,
            trace: None,
            set: None,
            sabotage: None,
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The judge's report on the servers' log.
    pub report: JudgeReport,
    /// The preset it ran with.
    pub preset: Preset,
    /// URLs that were offered and have no row.
    pub lost: Vec<String>,
    /// Requests that the servers read.
    pub requests: u64,
    /// URLs with a row.
    pub rows: u64,
    /// Rows that came more than once.
    pub repeats: u64,
    /// What went wrong, and how often.
    pub faults: BTreeMap<String, u64>,
    /// How URLs ended.
    pub endings: BTreeMap<String, u64>,
    /// What the workers did.
    pub counts: WorkerCounts,
    /// Polls.
    pub steps: u64,
    /// Simulated seconds, the calm end included.
    pub seconds: u64,
    /// The last exchanges of the host that is traced, and what went wrong meanwhile.
    pub trace: VecDeque<String>,
    /// Requests from a planted fault's first effect to the end.
    pub since_sabotage: Option<u64>,
}

impl Outcome {
    /// Whether nothing was broken and nothing lost.
    pub fn clean(&self) -> bool {
        self.report.clean() && self.lost.is_empty()
    }
}

/// The other end of a store that a run's workers share: for orders, and for what can happen to it.
pub trait Backing {
    /// What workers get.
    type Store: Store;
    /// A worker's handle.
    fn handle(&self, clock: SimClock) -> Self::Store;
    /// Orders that nothing more is asked of a host, or lifts the order.
    fn stop(&self, host: &HostKey, stopped: bool);
    /// Loses what was written within a span, as far as it can, and begins a new epoch.
    fn lose(&self, span: std::time::Duration);
    /// Loses everything and begins a new epoch.
    fn empty(&self);
    /// URLs that are not settled.
    fn queued(&self) -> u64;
    /// What is known of a host and its queue, for a trace.
    fn describe(&self, host: &HostKey) -> String;
}

impl Backing for Control {
    type Store = MemoryStore<SimClock>;

    fn handle(&self, clock: SimClock) -> Self::Store {
        Control::handle(self, clock)
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        Control::stop(self, host, stopped);
    }

    fn lose(&self, span: std::time::Duration) {
        Control::lose(self, span);
    }

    fn empty(&self) {
        Control::empty(self);
    }

    fn queued(&self) -> u64 {
        Control::queued(self)
    }

    fn describe(&self, host: &HostKey) -> String {
        format!("{:#?}\n{:?}", self.state(host), self.schedule(host))
    }
}

/// Runs one run over the store in memory.
pub fn simulate(spec: &Spec) -> Outcome {
    simulate_over(spec, |universe, step, quiet| {
        let raw = move || universe.now().saturating_add_signed(step.get());
        let options = Options {
            quiet,
            quarantine: std::time::Duration::from_secs(11),
            journal: std::time::Duration::from_secs(2),
        };
        Control::new(options, raw)
    })
}

/// Runs one run over a store of one's own. It is made from the true time, the steps of its clock so
/// far, and how long nothing is granted in a new epoch.
pub fn simulate_over<B: Backing>(
    spec: &Spec,
    backing: impl FnOnce(Rc<Universe>, Rc<Cell<i64>>, std::time::Duration) -> B,
) -> Outcome {
    let mut chance = Chance::new(spec.seed);
    let policy = spec.policy.clone().unwrap_or_else(|| some_policy(&mut chance));
    let universe = Universe::new(START);
    let calm = START + spec.seconds * SECOND;
    let web = Web::new(Rc::clone(&universe), scenery::hosts(spec, START, calm, &mut chance));
    let step = Rc::new(Cell::new(0_i64));
    let quiet = policy.timeout.whole + std::time::Duration::from_secs(1);
    let backing = backing(Rc::clone(&universe), Rc::clone(&step), quiet);
    let source = SimSource::new(Rc::clone(&universe));
    let (sink, cache) = (SimSink::default(), SimCache::default());
    let agent = policy.user_agent().expect("the simulation names a contact");
    let plant = Rc::new(Plant::new(spec.sabotage, &policy, Rc::clone(&web)));
    let judge = Judge::new(manners_of(&policy)).with_second_matcher(SecondMatcher::Sampled);
    let policy = match spec.sabotage {
        Some(fault) => {
            let other = fault.policy(&policy);
            // Another policy may show in the first request already, but for what needs a row of
            // failures.
            if other != policy && fault != Sabotage::BreakerOpensLate {
                plant.mark.set();
            }
            other
        }
        None => policy,
    };
    let stage = Stage {
        spec,
        plant,
        executor: Executor::new(Rc::clone(&universe), chance.fork()),
        backing,
        weather: Rc::default(),
        judge,
        policy: Arc::new(policy),
        agent,
        universe,
        web,
        step,
        source: &source,
        sink: &sink,
        cache: &cache,
        workers: Vec::new(),
        lives: 0,
        chance: chance.fork(),
        offered: BTreeSet::new(),
        pending: BTreeMap::new(),
        emptied: false,
        orders: Vec::new(),
        faults: BTreeMap::new(),
        counts: WorkerCounts::default(),
        trace: VecDeque::new(),
    };
    let script = acts(spec, START, calm, calm, &mut chance);
    stage.play(script.into(), calm)
}

/// A preset as a simulation can live by it: with a contact, and without an end by itself.
pub fn endless(preset: Preset) -> Policy {
    let mut policy = Policy::preset(preset);
    policy.identity.contact = Some("mailto:sim@example.org".into());
    policy.budget.time = None;
    policy.budget.pages = None;
    policy.budget.depth = Some(1);
    policy
}

fn some_policy(chance: &mut Chance) -> Policy {
    let mut policy = endless(*chance.pick(Preset::ALL));
    policy.slots.per_address = chance.percent(30).then_some(2);
    policy
}

struct Stage<'s, B: Backing> {
    spec: &'s Spec,
    plant: Rc<Plant>,
    universe: Rc<Universe>,
    executor: Executor<'s>,
    backing: B,
    weather: Rc<Weather>,
    judge: Judge,
    policy: Arc<Policy>,
    agent: String,
    web: Rc<Web>,
    step: Rc<Cell<i64>>,
    source: &'s SimSource,
    sink: &'s SimSink,
    cache: &'s SimCache,
    workers: Vec<Actor<'s, B::Store>>,
    lives: u64,
    chance: Chance,
    offered: BTreeSet<(UrlKey, String)>,
    pending: BTreeMap<u64, Vec<UrlKey>>,
    emptied: bool,
    /// Orders as they were given.
    orders: Vec<(u64, HostKey, bool)>,
    faults: BTreeMap<String, u64>,
    counts: WorkerCounts,
    trace: VecDeque<String>,
}

type SimWorker<'s, S> = Worker<'s, SimWorld<SabotagedStore<FaultyStore<S>>>>;

/// A worker on the stage.
struct Actor<'s, S: Store> {
    task: Option<TaskId>,
    life: Rc<Life>,
    worker: Rc<SimWorker<'s, S>>,
    memory: Rc<RefCell<WorkerMemory>>,
}

impl<'s, B: Backing> Stage<'s, B>
where
    B::Store: 's,
{
    fn play(mut self, mut script: VecDeque<(u64, Act)>, calm: u64) -> Outcome {
        for _ in 0..self.spec.workers {
            let actor = self.actor(Rc::default());
            self.workers.push(actor);
        }
        let last = calm + CALM_MAX;
        let mut calmed = false;
        let mut next_look = START + 10 * SECOND;
        loop {
            let now = self.universe.now();
            while script.front().is_some_and(|(at, _)| *at <= now) {
                if let Some((_, act)) = script.pop_front() {
                    self.act(act, &mut script);
                }
            }
            if now >= calm && !calmed {
                calmed = true;
                self.calm();
            }
            if now >= next_look {
                next_look = now + 10 * SECOND;
                self.look();
                let done = calmed && script.is_empty() && self.all_ended();
                if done || now >= last {
                    break;
                }
            }
            let next_act = script.front().map_or(last, |(at, _)| *at);
            let limit = next_act.min(next_look).min(if calmed { last } else { calm });
            if let Stepped::Polled(id) | Stepped::Ended(id) = self.executor.step(limit) {
                self.bury(id, &mut script);
            }
            while let Some(line) = self.web.next_line() {
                self.note(&line);
                self.judge.see(line);
            }
            if self.spec.stop_at_first && self.judge.violations() > 0 {
                break;
            }
        }
        self.finish()
    }

    /// Keeps a line of the host that is traced.
    fn note(&mut self, line: &LogEntry) {
        let traced = self.spec.trace.as_deref().is_some_and(|host| match line {
            LogEntry::Exchange(x) => {
                *host == *x.host || x.location.as_deref().is_some_and(|to| to.contains(host))
            }
            LogEntry::Connection(event) => event.host.as_deref() == Some(host),
        });
        if traced {
            let mut text = Vec::new();
            // Writing to memory can't fail.
            let _ = line.write(&mut text);
            self.keep(String::from_utf8_lossy(&text).trim_end().to_owned());
        }
    }

    fn keep(&mut self, line: String) {
        self.trace.push_back(line);
        if self.trace.len() > TRACE_MAX {
            self.trace.pop_front();
        }
    }

    /// A new worker in a new life.
    fn actor(&mut self, memory: Rc<RefCell<WorkerMemory>>) -> Actor<'s, B::Store> {
        self.lives += 1;
        let base = self.chance.below(1 << 40);
        let life = Life::new(Rc::clone(&self.universe), base, &self.agent);
        let clock = SimClock(Rc::clone(&life));
        let store = FaultyStore::new(
            self.backing.handle(clock.clone()),
            Rc::clone(&self.universe),
            Rc::clone(&self.weather),
            Rc::clone(&life),
            self.chance.fork(),
        );
        let store = SabotagedStore::new(store, Rc::clone(&self.plant));
        let web = Rc::clone(&self.web);
        let mark = self.plant.mark.clone();
        let tamper = match self.spec.sabotage {
            Some(fault) => fault.tamper(mark),
            None => Tamper { mark, ..Tamper::default() },
        };
        let fetch = SimFetch::new(web, Rc::clone(&life), self.chance.fork(), tamper);
        let world = SimWorld { store, fetch, clock, life: Rc::clone(&life) };
        let outside = Outside {
            source: self.source,
            sinks: vec![self.sink],
            cache: self.cache,
            reader: &SimReader,
            listener: &(),
        };
        let settings = WorkerSettings {
            worker: self.spec.seed.rotate_left(32) ^ (self.lives << 20),
            visits_max: 16,
            ..WorkerSettings::default()
        };
        let policy = Arc::clone(&self.policy);
        let agent = self.agent.clone();
        let kept = Rc::clone(&memory);
        let worker = Rc::new(Worker::new(world, policy, agent, outside, settings, kept));
        let running = Rc::clone(&worker);
        let task = self.executor.spawn(async move {
            running.run().await;
        });
        Actor { task: Some(task), life, worker, memory }
    }

    /// Takes a worker off the stage if it has died or ended.
    fn bury(&mut self, id: TaskId, script: &mut VecDeque<(u64, Act)>) {
        let Some(index) = self.workers.iter().position(|a| a.task == Some(id)) else {
            return;
        };
        let actor = &mut self.workers[index];
        if !actor.life.is_dead() {
            return;
        }
        actor.task = None;
        self.executor.kill(id);
        let now = self.universe.now();
        let in_flight = actor.life.in_flight();
        let died_at = actor.life.died_at();
        self.judge.fault(CrawlerFault::WorkerLost { at: now, in_flight });
        if self.spec.trace.is_some() {
            self.keep(format!(
                "{now} worker {index} died at {died_at:?} with {in_flight} requests"
            ));
        }
        if let Some(point) = died_at {
            *self.faults.entry(format!("kill at {point:?}")).or_default() += 1;
        }
        self.add_counts(index);
        let back = now + self.chance.below(30 * SECOND);
        insert(script, back, Act::Return(index));
    }

    fn add_counts(&mut self, index: usize) {
        let counts = self.workers[index].worker.counts();
        for (sum, one) in self.counts.sent.iter_mut().zip(counts.sent) {
            *sum += one;
        }
        self.counts.handed_back += counts.handed_back;
        self.counts.stale += counts.stale;
        self.counts.rows += counts.rows;
        self.counts.breaker_opened += counts.breaker_opened;
        self.counts.own_trouble += counts.own_trouble;
        self.counts.recoveries += counts.recoveries;
    }

    fn act(&mut self, act: Act, script: &mut VecDeque<(u64, Act)>) {
        let now = self.universe.now();
        if self.spec.trace.is_some() {
            self.keep(format!("{now} {act:?}"));
        }
        let mut count = |what: &str| *self.faults.entry(what.to_owned()).or_default() += 1;
        match act {
            Act::Wave { host, pages } => self.wave(host, pages, now),
            Act::KillAt(worker, point) => self.workers[worker].life.arm(point),
            Act::Kill(worker) => {
                count("kill");
                if let Some(task) = self.workers[worker].task {
                    self.workers[worker].life.kill();
                    self.bury(task, script);
                }
            }
            Act::Return(worker) => {
                // What a worker keeps in its local file outlives it.
                let memory = Rc::clone(&self.workers[worker].memory);
                let actor = self.actor(memory);
                self.workers[worker] = actor;
            }
            Act::Restart(worker) => {
                count("restart");
                self.workers[worker].worker.stop_switch().set(true);
                // Whoever has not ended by then is killed.
                insert(script, now + 15 * SECOND, Act::Kill(worker));
            }
            Act::Pause(worker, span) => {
                count("pause");
                if let Some(task) = self.workers[worker].task {
                    self.executor.pause(task, now + span);
                    self.judge
                        .fault(CrawlerFault::Pause { from: now, to: now + span + 30 * SECOND });
                    if span > 10 * SECOND {
                        // For the others that is as good as dead: its leases run out.
                        let in_flight = self.workers[worker].life.in_flight();
                        self.judge.fault(CrawlerFault::WorkerLost { at: now, in_flight });
                    }
                }
            }
            Act::Lose(span) => {
                count("store lost its last writes");
                self.backing.lose(std::time::Duration::from_micros(span));
                self.order_again(now);
                self.judge.fault(CrawlerFault::StoreLoss { at: now });
            }
            Act::Empty => {
                count("store restarted empty");
                self.emptied = true;
                self.backing.empty();
                self.order_again(now);
                self.judge.fault(CrawlerFault::StoreLoss { at: now });
            }
            Act::Step(by) => {
                count("clock step");
                self.step.set(self.step.get() + by);
            }
            Act::Weather => {
                count("bad weather");
                let part = self.chance.between(1_000, 200_000);
                self.weather.lost_reply.set(part);
                self.weather.refusal.set(part);
                self.weather.delay.set(part);
                // It lasts until it clears, ten minutes at most.
                let to = now + 600 * SECOND;
                self.judge.fault(CrawlerFault::StoreSlow { from: now, to, by: SLOW_BY });
            }
            Act::Clear => {
                self.weather.clear();
                let slow = CrawlerFault::StoreSlow { from: now, to: now + SLOW_BY, by: SLOW_BY };
                self.judge.fault(slow);
            }
            Act::Away(span) => {
                count("store away");
                self.weather.away_until.set(now + span);
                let by = span + SLOW_BY;
                self.judge.fault(CrawlerFault::StoreSlow { from: now, to: now + by, by });
            }
            Act::CutOff(worker, span) => {
                count("own network down");
                self.workers[worker].life.cut_off(now + span);
                self.judge.fault(CrawlerFault::NetworkDown { from: now, to: now + span });
            }
            Act::ProxyShut(worker, span) => {
                count("proxy wants a password");
                self.workers[worker].life.shut_proxy(now + span);
                // While it waits, and until it has tried again.
                let to = now + span + PROXY_LOOK;
                self.judge.fault(CrawlerFault::NetworkDown { from: now, to });
            }
            Act::Sink(away) => {
                if away {
                    count("sink away");
                }
                self.sink.away.set(away);
            }
            Act::Stop(host, stopped) => {
                let host = HostKey::parse(&format!("h{host}.test")).expect("a host of ours");
                if self.spec.sabotage == Some(Sabotage::StopIgnored) {
                    self.plant.mark.set();
                } else {
                    self.backing.stop(&host, stopped);
                    self.orders.push((now, host.clone(), stopped));
                }
                if stopped {
                    count("stop order");
                    self.judge.stop_order(host.as_str(), now);
                } else {
                    self.judge.stop_lifted(host.as_str(), now);
                }
            }
        }
    }

    /// Whoever gives an order sees that the store is lost before any worker can have heard it, and
    /// gives it again.
    fn order_again(&mut self, now: u64) {
        self.orders.retain(|(at, ..)| at + HEARD_WITHIN > now);
        for (_, host, stopped) in &self.orders {
            self.backing.stop(host, *stopped);
        }
    }

    /// Work for a host.
    fn wave(&mut self, host: u64, pages: u64, now: u64) {
        let name = format!("h{host}.test");
        let scheme = if self.chance.percent(80) { "http" } else { "https" };
        let port = if self.chance.percent(5) && scheme == "http" { ":8080" } else { "" };
        let first = self.chance.below(90_000);
        let mut new = false;
        for page in first..first + pages {
            let text = format!("{scheme}://{name}{port}/p/{page}");
            let url = CrawlUrl::parse(&text).expect("a URL of ours");
            if self.offered.insert((url.key(), text)) {
                new = true;
                self.pending.entry(host).or_default().push(url.key());
                self.source.add(url);
            }
        }
        if new && self.spec.mode == Mode::Liveness {
            // Seeds reach the store within two looks of an idle worker.
            self.judge.work_waiting(&name, now + 11 * SECOND);
        }
    }

    /// Looks which hosts have no more work waiting.
    fn look(&mut self) {
        let now = self.universe.now();
        let (sink, judge) = (self.sink, &mut self.judge);
        self.pending.retain(|host, urls| {
            let before = urls.len();
            urls.retain(|id| !sink.has(*id));
            if before > 3 && urls.len() <= 3 || urls.is_empty() {
                judge.work_gone(&format!("h{host}.test"), now.saturating_sub(10 * SECOND));
            }
            !urls.is_empty()
        });
    }

    /// Whether every URL has its row and the store knows of no more.
    fn all_ended(&self) -> bool {
        self.pending.is_empty() && self.backing.queued() == 0
    }

    /// Faults end; the store's clock stays where it is.
    fn calm(&mut self) {
        self.weather.clear();
        self.weather.away_until.set(0);
        self.sink.away.set(false);
    }

    fn finish(mut self) -> Outcome {
        if let Some(host) = self.spec.trace.as_deref().and_then(|h| HostKey::parse(h).ok()) {
            self.keep(format!("{} {}", self.universe.now(), self.backing.describe(&host)));
            self.keep(format!("{} queued", self.backing.queued()));
        }
        for index in 0..self.workers.len() {
            if self.workers[index].task.is_some() {
                self.add_counts(index);
            }
        }
        let sink = self.sink;
        let without_row = self.offered.iter().filter(|(id, _)| !sink.has(*id));
        let missing: Vec<String> = without_row.map(|(_, url)| url.clone()).collect();
        // What a budget did not reach is still queued, or with its source.
        let by_budget = self.policy.budget.pages.is_some();
        let lost = match self.judge.violations() > 0 || by_budget {
            true => Vec::new(),
            false => missing,
        };
        for (count, what) in self.weather.counts.iter().zip([
            "lost reply",
            "refused call",
            "slow call",
            "call while away",
        ]) {
            *self.faults.entry(what.into()).or_default() += count.get();
        }
        Outcome {
            preset: self.policy.preset,
            lost,
            requests: self.web.requests(),
            rows: self.sink.len() as u64,
            repeats: self.sink.repeats.get(),
            endings: self.sink.endings.borrow().clone(),
            faults: self.faults,
            counts: self.counts,
            steps: self.executor.steps,
            seconds: (self.universe.now() - START) / SECOND,
            trace: self.trace,
            since_sabotage: self.plant.mark.since(),
            report: self.judge.finish(),
        }
    }
}

/// Puts an act into the script at its time.
fn insert(script: &mut VecDeque<(u64, Act)>, at: u64, act: Act) {
    let place = script.partition_point(|(other, _)| *other <= at);
    script.insert(place, (at, act));
}
