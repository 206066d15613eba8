//! The scheduler's loop: take the lease, queue what is due, and sleep until the next moment;
//! without the lease, wait for it.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, Instant};

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use curtsy_store::redis::schedule::{Became, Leadership, LookFor, Push, Schedule, Seat, Turn};
use curtsy_store::redis::{ClientKind, LinkOptions, RedisLink, WireError};
use tokio::time::{sleep, timeout};

use super::due::SeedDue;
use super::{
    Does, LEASE, RENEWED_EVERY, ScheduleError, ScheduleReport, ScheduleSpec, SeedReport, told,
};
use crate::fleet::{FleetLog, reach};
use crate::signals::Signals;

/// How often a scheduler that only looks once tries to get the lease.
const TRIED_EVERY: Duration = Duration::from_millis(100);
/// Nothing sleeps less: a moment that comes in between is queued with the next.
const SLEEP_MIN: Duration = Duration::from_millis(10);

/// Queues seeds whenever they are due, until it is told to end (Ctrl-C, SIGTERM).
pub fn run(spec: &ScheduleSpec, log: &FleetLog) -> Result<(), ScheduleError> {
    in_runtime(async {
        let mut signals = Signals::listen().map_err(ScheduleError::Runtime)?;
        let mut scheduler = SeedScheduler::new(spec, log)?;
        let fields = [
            ("scheduler", scheduler.name.as_str().into()),
            ("seeds", spec.seeds.len().into()),
            ("queue", spec.queue.as_str().into()),
        ];
        log.info("started", "scheduler started", &fields);
        tokio::select! {
            ended = scheduler.work() => return ended,
            () = signals.next() => {}
        }
        scheduler.leave().await;
        log.info("ended", "scheduler ended", &[("scheduler", scheduler.name.as_str().into())]);
        Ok(())
    })
}

/// Queues what is due now. Waits for a lease that another scheduler left behind, but not for a
/// lease that is being renewed.
pub fn run_once(spec: &ScheduleSpec, log: &FleetLog) -> Result<ScheduleReport, ScheduleError> {
    in_runtime(async {
        let mut scheduler = SeedScheduler::new(spec, log)?;
        scheduler.reach().await?;
        let waits_until = Instant::now() + LEASE + RENEWED_EVERY;
        let leads = loop {
            if scheduler.turn().await? {
                break true;
            }
            if Instant::now() >= waits_until {
                break false;
            }
            sleep(TRIED_EVERY).await;
        };
        scheduler.leave().await;
        Ok(scheduler.report(!leads))
    })
}

/// Says what would be queued now, and changes nothing.
pub fn look(spec: &ScheduleSpec, log: &FleetLog) -> Result<ScheduleReport, ScheduleError> {
    in_runtime(async {
        let mut scheduler = SeedScheduler::new(spec, log)?;
        scheduler.reach().await?;
        scheduler.look().await?;
        Ok(scheduler.report(false))
    })
}

fn in_runtime<T>(work: impl Future<Output = Result<T, ScheduleError>>) -> Result<T, ScheduleError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ScheduleError::Runtime)?.block_on(work)
}

struct SeedScheduler<'a> {
    spec: &'a ScheduleSpec,
    log: &'a FleetLog,
    name: String,
    shared: Schedule<RedisLink>,
    seats: Vec<Seat>,
    /// What is known of each seed.
    standings: Vec<SeedSchedule>,
    /// Redis' time at the last question.
    now: Time,
    role: SchedulerRole,
}

/// Whether a scheduler queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchedulerRole {
    /// It has just begun.
    New,
    Leads,
    Waits,
}

#[derive(Clone, Copy, Debug)]
struct SeedSchedule {
    last: Option<Time>,
    /// Nothing is to be done before this.
    next: Time,
    /// What the last turn did, and for which moment.
    did: Option<(Does, Time)>,
}

impl<'a> SeedScheduler<'a> {
    fn new(spec: &'a ScheduleSpec, log: &'a FleetLog) -> Result<SeedScheduler<'a>, ScheduleError> {
        // Only workers announce the new life of a store: to the store, a scheduler is a producer
        // like any other.
        let options = LinkOptions { caller: ClientKind::Guest, ..LinkOptions::default() };
        let link = RedisLink::new(&spec.redis_url, options).map_err(ScheduleError::Redis)?;
        let name = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        Ok(SeedScheduler {
            spec,
            log,
            shared: Schedule::new(Rc::new(link), name.clone()),
            name,
            seats: spec.seeds.iter().map(|seed| seed.seat(&spec.queue)).collect(),
            standings: vec![
                SeedSchedule { last: None, next: Time::START, did: None };
                spec.seeds.len()
            ],
            now: Time::START,
            role: SchedulerRole::New,
        })
    }

    /// Whether Redis is there.
    async fn reach(&self) -> Result<(), ScheduleError> {
        let first = &self.seats[..1];
        reach(async || self.shared.look(first, LookFor::Moments).await).await?;
        Ok(())
    }

    /// Turn after turn, for ever.
    async fn work(&mut self) -> Result<(), ScheduleError> {
        self.reach().await?;
        let mut away: Option<String> = None;
        loop {
            match self.turn().await {
                Ok(_) if away.take().is_some() => {
                    self.log.info("redis_back", "redis answers again", &[]);
                }
                Ok(_) => {}
                Err(error) => {
                    // Redis knows what was queued, and reports it when it is back; nothing is
                    // queued without Redis.
                    let why = error.to_string();
                    if away.as_ref() != Some(&why) {
                        let fields = [("why", why.as_str().into())];
                        let message = "redis can't be asked: nothing is queued";
                        self.log.warn("redis_away", message, &fields);
                        away = Some(why);
                    }
                }
            }
            sleep(self.sleeps(away.is_some())).await;
        }
    }

    /// Until the next moment, or until the lease is asked for again.
    fn sleeps(&self, away: bool) -> Duration {
        if away || self.role != SchedulerRole::Leads {
            return RENEWED_EVERY;
        }
        let next = self.standings.iter().map(|standing| standing.next).min();
        let until = next.map_or(RENEWED_EVERY, |next| next - self.now);
        until.clamp(SLEEP_MIN, RENEWED_EVERY)
    }

    /// Queues what is due, if this scheduler leads. Tells whether it does.
    async fn turn(&mut self) -> Result<bool, WireError> {
        let (lease, now) = self.shared.lead(LEASE).await?;
        self.now = now;
        match (lease, self.role) {
            (Leadership::Other, SchedulerRole::Waits) => return Ok(false),
            (Leadership::Other, role) => {
                self.role = SchedulerRole::Waits;
                match role {
                    SchedulerRole::Leads => self.lost(),
                    _ => self.log.info("waits", "another scheduler leads", &[]),
                }
                return Ok(false);
            }
            (Leadership::Renewed, SchedulerRole::Leads) => {}
            (Leadership::Taken | Leadership::Renewed, _) => {
                // Somebody else may have queued, or Redis may have lost what it knew.
                let (_, known) = self.shared.look(&self.seats, LookFor::Moments).await?;
                for (standing, known) in self.standings.iter_mut().zip(known) {
                    *standing = SeedSchedule { last: known.last, next: Time::START, did: None };
                }
                if self.role != SchedulerRole::Leads {
                    let fields = [("scheduler", self.name.as_str().into())];
                    self.log.info("leads", "this scheduler leads", &fields);
                }
                self.role = SchedulerRole::Leads;
            }
        }
        self.queue().await?;
        Ok(self.role == SchedulerRole::Leads)
    }

    /// Takes the turns of all seeds that have one.
    async fn queue(&mut self) -> Result<(), WireError> {
        let mut turns = Vec::new();
        let mut whose = Vec::new();
        for (n, seed) in self.spec.seeds.iter().enumerate() {
            let SeedSchedule { last, next, .. } = self.standings[n];
            if next > self.now {
                continue;
            }
            let (moment, push) = match seed.when.due(last, self.now) {
                SeedDue::Now(moment) => (moment, Push::Queue),
                SeedDue::FromNow => (self.now, Push::NoteOnly),
                SeedDue::Later(next) => {
                    self.standings[n].next = next;
                    continue;
                }
            };
            turns.push(Turn { seat: &self.seats[n], last, moment, push });
            whose.push(n);
        }
        if turns.is_empty() {
            return Ok(());
        }
        let became = self.shared.queue(&turns).await?;
        let lost = became.len() < turns.len();
        let moments: Vec<Time> = turns.iter().map(|turn| turn.moment).collect();
        for ((n, moment), became) in whose.into_iter().zip(moments).zip(became) {
            self.note(n, moment, became);
        }
        if lost {
            self.role = SchedulerRole::Waits;
            self.lost();
        }
        Ok(())
    }

    fn note(&mut self, n: usize, moment: Time, became: Became) {
        let standing = &mut self.standings[n];
        let when = &self.spec.seeds[n].when;
        match became {
            Became::Known(last) => {
                *standing = SeedSchedule { last, next: Time::START, did: None };
                return;
            }
            Became::Noted => standing.did = None,
            Became::Queued => standing.did = Some((Does::Queued, moment)),
            Became::Waits => standing.did = Some((Does::Waits, moment)),
        }
        standing.last = Some(moment);
        standing.next = when.next(moment, self.now);
        let Some((does, _)) = standing.did else { return };
        // No more of a URL than its host: its query may hold what is nobody's business.
        let fields = [
            ("seed", n.into()),
            ("kind", self.spec.seeds[n].kind.key().into()),
            ("host", self.spec.seeds[n].url.host().as_str().into()),
            ("list", self.seats[n].list.as_str().into()),
            ("due", timestamp(moment).into()),
        ];
        match does {
            Does::Waits => {
                self.log.info("still_queued", "due, and still waits in its list", &fields)
            }
            _ => self.log.info("queued", "queued", &fields),
        }
    }

    fn lost(&self) {
        let message = "the lease is another scheduler's: nothing more is queued here";
        self.log.warn("lease_lost", message, &[]);
    }

    /// Reads what would be done.
    async fn look(&mut self) -> Result<(), WireError> {
        let (now, known) = self.shared.look(&self.seats, LookFor::Waiting).await?;
        self.now = now;
        for ((standing, known), seed) in self.standings.iter_mut().zip(known).zip(&self.spec.seeds)
        {
            let (did, next) = match seed.when.due(known.last, now) {
                SeedDue::Now(moment) => {
                    let does = if known.waits { Does::Waits } else { Does::Queued };
                    (Some((does, moment)), seed.when.next(moment, now))
                }
                SeedDue::FromNow => (None, seed.when.next(now, now)),
                SeedDue::Later(next) => (None, next),
            };
            *standing = SeedSchedule { last: known.last, next, did };
        }
        Ok(())
    }

    /// Gives up the lease, so that nobody has to wait until it runs out.
    async fn leave(&self) {
        // What can't be given up runs out by itself, and what is another's stays so.
        let _ = timeout(Duration::from_secs(1), self.shared.give_up()).await;
    }

    fn report(&self, another_leads: bool) -> ScheduleReport {
        let seeds = self.spec.seeds.iter().zip(&self.seats).zip(&self.standings);
        let seeds = seeds.map(|((seed, seat), standing)| SeedReport {
            kind: seed.kind.key(),
            url: seed.spelt.clone(),
            list: seat.list.clone(),
            does: standing.did.map_or(Does::Nothing, |(does, _)| does),
            due: standing.did.and_then(|(_, moment)| told(moment)),
            next: told(standing.next).filter(|_| standing.next > Time::START),
        });
        ScheduleReport { now: timestamp(self.now), another_leads, seeds: seeds.collect() }
    }
}
