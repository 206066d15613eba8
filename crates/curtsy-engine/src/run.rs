//! The worker's loop over events.
//!
//! Everything that takes time (a take, a visit, a flush, a recovery) is one task of the same set,
//! so nothing that waits for a store or a sink can delay a request whose turn has come.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use curtsy_core::host::BudgetReason;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::finish::Over;
use crate::page::Boxed;
use crate::stamp::{Stamp, StampedView};
use crate::visiting::ListTick;
use crate::{Clock, Mono, Store, StoreError, Taken, Visit, Worker, World};

/// How often a worker that takes nothing looks at its store.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Seeds that are requested from the source at once.
const SEEDS_MAX: usize = 500;
/// The pause before a take or a feed that failed is repeated.
const TAKE_RETRY: Duration = Duration::from_millis(500);

/// The result of a task of the set.
pub(crate) enum Event {
    /// The store answered a take.
    Took(TakeAnswer),
    /// A visit ended.
    Visited,
    /// A batch was written, or not.
    Flushed { accepted: bool },
    /// What this worker remembers was written back.
    Recovered,
    /// The source gave its next seeds.
    Fed { seeds: usize },
    /// URLs of unreachable hosts were given up, if nothing else was left.
    GaveUp { urls: usize },
}

/// The store's answer to a take of up to `hosts` hosts.
pub(crate) struct TakeAnswer {
    hosts: usize,
    taken: Result<Taken, StoreError>,
    /// When the lists of URLs were requested.
    since: ListTick,
    m0: Mono,
    m1: Mono,
}

/// What may begin in one round of the loop.
struct LoopRound {
    now: Mono,
    stopping: bool,
    /// Until when our own network counts as down.
    paused: Option<Mono>,
    /// Whether new work may begin.
    open: bool,
    /// Whether hosts may be taken.
    hungry: bool,
    /// Whether the store is polled although no host may be taken. If the store lost something, what
    /// this worker remembers must be written back.
    looks: bool,
}

/// The state of the loop.
struct EventLoop<'w, 'o, W: World> {
    worker: &'w Worker<'o, W>,
    tasks: FuturesUnordered<Boxed<'w, Event>>,
    visits: usize,
    taking: bool,
    feeding: bool,
    giving_up: bool,
    next_take: Mono,
    next_look: Mono,
    next_feed: Mono,
    /// Whether the source had no seeds when it was last asked.
    source_empty: bool,
    /// Whether nothing was under way when the last take began. Work under way may change what the
    /// store answers.
    idle: bool,
    /// How the work ended, as the last take shows.
    over: Option<Over>,
    /// When the job's time is used up at the latest. A visit notices earlier if it decides a URL
    /// after the end of the time, but all hosts may be waiting then.
    time_ends: Option<Mono>,
}

impl<W: World> Worker<'_, W> {
    /// Works until the worker is stopped, or until nothing is left if the settings say so.
    pub async fn run(&self) -> Over {
        let now = self.now();
        let mut event_loop = EventLoop {
            worker: self,
            tasks: FuturesUnordered::new(),
            visits: 0,
            taking: false,
            feeding: false,
            giving_up: false,
            next_take: now,
            next_look: now,
            next_feed: now,
            source_empty: false,
            idle: false,
            over: None,
            time_ends: self.policies.job.budget.time.map(|time| now + time),
        };
        event_loop.run().await
    }

    async fn take(&self, hosts: usize) -> Event {
        let since = self.visiting.borrow_mut().request_lists();
        let m0 = self.now();
        let taken = self.world.store().take(hosts).await;
        Event::Took(TakeAnswer { hosts, taken, since, m0, m1: self.now() })
    }

    /// Moves seeds from the source to the store.
    async fn feed(&self) -> Event {
        let seeds = self.outside.source.next(SEEDS_MAX).await;
        while !seeds.is_empty() {
            match self.world.store().offer(&seeds).await {
                Ok(offered) => {
                    if offered.new > 0 {
                        self.finish.progressed(self.now());
                    }
                    break;
                }
                Err(_) if self.finish.is_stopping() => break,
                Err(_) => self.pause(TAKE_RETRY).await,
            }
        }
        Event::Fed { seeds: seeds.len() }
    }
}

impl<W: World> EventLoop<'_, '_, W> {
    async fn run(&mut self) -> Over {
        let worker = self.worker;
        worker.finish.progressed(worker.now());
        if !worker.memory.borrow().urls.is_empty() {
            // What an earlier process remembered may not have reached the store.
            worker.store_clock.set_recovering(true);
            self.tasks.push(Box::pin(async move {
                worker.remind().await;
                Event::Recovered
            }));
        }
        loop {
            let round = self.begin_round();
            if let Some(over) = self.is_over(&round) {
                return over;
            }
            match self.next_event(&round).await {
                None => {}
                Some(Event::Took(answer)) => self.took(answer),
                Some(Event::Visited) => self.visited(),
                Some(Event::Flushed { accepted }) => self.flushed(accepted),
                Some(Event::Recovered) => worker.store_clock.set_recovering(false),
                Some(Event::Fed { seeds }) => self.fed(seeds),
                Some(Event::GaveUp { urls }) => self.gave_up(urls),
            }
        }
    }

    /// Begins the flush, the feed and the take that are due.
    fn begin_round(&mut self) -> LoopRound {
        let worker = self.worker;
        let now = worker.now();
        if self.time_ends.is_some_and(|at| at <= now) {
            self.time_ends = None;
            worker.budget_is_spent(BudgetReason::TimeLimit);
        }
        let stopping = worker.finish.is_stopping();
        if self.flush_at(now, stopping).is_some_and(|at| at <= now) {
            worker.outbox.borrow_mut().begin_flush(now);
            self.tasks.push(Box::pin(worker.flush()));
        }
        let paused = worker.health.borrow().paused_until(now);
        let recovering = worker.store_clock.is_recovering();
        // Nothing is taken that could not be kept: sinks that are away stop everything.
        let room = worker.outbox.borrow().has_room(now, &worker.settings);
        let open = !stopping && room && paused.is_none() && !recovering;
        if open && !self.feeding && now >= self.next_feed {
            self.feeding = true;
            self.tasks.push(Box::pin(worker.feed()));
        }
        let free = worker.settings.visits_max.saturating_sub(self.visits);
        let hungry = open && free > 0;
        let looks = !hungry && !stopping && !recovering;
        if !self.taking && hungry && now >= self.take_at() {
            (self.taking, self.idle) = (true, self.is_idle());
            worker.wake_at.set(None);
            self.tasks.push(Box::pin(worker.take(free)));
        } else if !self.taking && looks && now >= self.next_look {
            // While our own network is down, patience runs out all the same.
            (self.taking, self.idle) = (true, self.is_idle() && paused.is_some());
            self.tasks.push(Box::pin(worker.take(0)));
        }
        LoopRound { now, stopping, paused, open, hungry, looks }
    }

    /// Whether neither a visit, a row nor a seed is under way.
    fn is_idle(&self) -> bool {
        let rests = self.visits == 0 && self.worker.outbox.borrow().is_at_rest();
        rests && !self.giving_up && self.source_empty
    }

    /// Returns when the next batch is to be written, if none is on its way.
    fn flush_at(&self, now: Mono, stopping: bool) -> Option<Mono> {
        let outbox = self.worker.outbox.borrow();
        let ending = stopping || self.over.is_some();
        let at = outbox.flush_at(now, ending, &self.worker.settings);
        at.filter(|_| !outbox.is_flushing())
    }

    fn take_at(&self) -> Mono {
        self.worker.wake_at.get().map_or(self.next_take, |own| own.min(self.next_take))
    }

    /// Returns how the work ended, once no task is left.
    fn is_over(&self, round: &LoopRound) -> Option<Over> {
        let outbox = self.worker.outbox.borrow();
        let written = outbox.is_empty() || round.stopping && !outbox.last_accepted();
        if !self.tasks.is_empty() || !written {
            return None;
        }
        match round.stopping {
            true => Some(self.worker.finish.why_stopped()),
            false => self.over.filter(|_| self.worker.settings.until_empty),
        }
    }

    /// Waits for a task to end; returns none if something else is due first.
    async fn next_event(&mut self, round: &LoopRound) -> Option<Event> {
        let worker = self.worker;
        let wake = self.wake_time(round);
        let takes = round.hungry && !self.taking;
        let clock = worker.world.clock();
        let mut sleep = pin!(clock.sleep_until(wake.max(round.now + Duration::from_micros(1))));
        // A visit may learn that a host falls due before this sleep ends.
        let sleep = poll_fn(|cx| match worker.wake_at.get() {
            Some(at) if takes && at < wake => Poll::Ready(()),
            _ if worker.finish.is_stopping() != round.stopping => Poll::Ready(()),
            _ => sleep.as_mut().poll(cx),
        });
        if self.tasks.is_empty() {
            sleep.await;
            return None;
        }
        match select(self.tasks.next(), sleep).await {
            Either::Left((event, _)) => event,
            Either::Right(_) => None,
        }
    }

    /// Returns when the loop must look again, even if no task ends.
    fn wake_time(&self, round: &LoopRound) -> Mono {
        let mut wake = match self.taking {
            false if round.hungry => self.take_at(),
            false if round.looks => self.next_look,
            _ => round.now + self.worker.settings.idle_poll,
        };
        if round.open && !self.feeding {
            wake = wake.min(self.next_feed);
        }
        let flush_at = self.flush_at(round.now, round.stopping);
        [round.paused, flush_at, self.time_ends].into_iter().flatten().fold(wake, Mono::min)
    }

    /// Takes again at once: something ended, and the store may say that nothing is left.
    fn take_now(&mut self) {
        self.next_take = self.next_take.min(self.worker.now());
    }

    fn visited(&mut self) {
        self.visits -= 1;
        if self.visits == 0 && self.worker.settings.until_empty {
            self.take_now();
        }
    }

    fn gave_up(&mut self, urls: usize) {
        self.giving_up = false;
        self.take_now();
        if urls > 0 {
            // There may be more of them.
            self.worker.finish.unreached.set(true);
        }
    }

    fn fed(&mut self, seeds: usize) {
        let worker = self.worker;
        self.feeding = false;
        let again = if seeds > 0 { Duration::ZERO } else { worker.settings.idle_poll };
        self.next_feed = worker.now() + again;
        if seeds == 0 && !self.source_empty && worker.settings.until_empty {
            self.take_now();
        }
        self.source_empty = seeds == 0;
        if seeds > 0 {
            (self.over, self.idle) = (None, false);
            self.next_take = worker.now();
        }
    }

    fn flushed(&mut self, accepted: bool) {
        let worker = self.worker;
        worker.outbox.borrow_mut().end_flush(worker.now(), accepted);
        if worker.settings.until_empty {
            self.take_now();
        }
    }

    fn took(&mut self, answer: TakeAnswer) {
        let worker = self.worker;
        let TakeAnswer { hosts, taken, since, m0, m1 } = answer;
        self.taking = false;
        let Ok(taken) = taken else {
            let again = worker.now() + TAKE_RETRY;
            *(if hosts > 0 { &mut self.next_take } else { &mut self.next_look }) = again;
            return;
        };
        worker.store_clock.note(&taken, m0, m1);
        worker.memory.borrow_mut().hear(&taken.orders);
        self.over = self.what_is_left(&taken, m1);
        self.next_look = m1 + LOOK_EVERY;
        if hosts > 0 {
            self.next_take = self.take_after(&taken, m1);
        }
        let rests = self.visits == 0 && !self.feeding && worker.outbox.borrow().is_at_rest();
        if worker.settings.until_empty && rests && taken.visits.is_empty() && !self.idle {
            // Nothing is under way any more, so the next answer can be trusted.
            self.next_take = m1;
        }
        if worker.note_epoch(taken.epoch) {
            // The hosts that were handed out fall due again by themselves.
            worker.store_clock.set_recovering(true);
            self.tasks.push(Box::pin(worker.recover(taken.epoch)));
            return;
        }
        for visit in taken.visits {
            let stamp = Stamp { now: visit.view.now, m0, m1 };
            self.begin_visit(visit, since, stamp);
        }
        worker.visiting.borrow_mut().receive_lists();
    }

    /// Returns how the work ended, if nothing was under way and the take returned no host. If hosts
    /// could not be reached, their URLs are given up first.
    fn what_is_left(&mut self, taken: &Taken, now: Mono) -> Option<Over> {
        if !self.idle || !taken.visits.is_empty() {
            return None;
        }
        let worker = self.worker;
        let patience = worker.settings.patience;
        if patience.is_some() && taken.queued > 0 && worker.finish.unreached.take() {
            self.giving_up = true;
            self.tasks.push(Box::pin(worker.give_up_unreached()));
            return None;
        }
        worker.finish.is_over(taken, now, patience)
    }

    fn begin_visit(&mut self, visit: Visit, since: ListTick, stamp: Stamp) {
        let worker = self.worker;
        let host = &visit.view.host;
        if worker.has_enough_visits(host) {
            let left = StampedView { view: visit.view, stamp };
            worker.visiting.borrow_mut().leave(left);
            return;
        }
        self.visits += 1;
        worker.visiting.borrow_mut().begin(host, since, &visit.urls);
        self.tasks.push(Box::pin(worker.visit(visit, since, stamp)));
    }

    fn take_after(&self, taken: &Taken, m1: Mono) -> Mono {
        let idle = m1 + self.worker.settings.idle_poll;
        let due = taken.next_due.map_or(idle, |due| m1 + (due - taken.now));
        // An early take finds nothing and costs a call, a late one delays a host.
        due.max(m1 + Duration::from_millis(1)).min(idle)
    }
}
