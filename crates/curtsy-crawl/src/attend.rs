//! Accompanies a running crawl: passes on stop signals, reports progress, and warns.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::{Duration, Instant};

use curtsy_core::evidence::{SentenceContext, sentence};
use curtsy_core::host::{Confidence, Gate, Reason, Verdict};
use curtsy_core::url::HostKey;
use curtsy_engine::look;
use curtsy_store::MachineStore;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch::Sender;

use crate::explain::pace;
use crate::sharing::Sharing;
use crate::tally::Tally;
use crate::work::Crew;
use crate::{CrawlError, JobSpec, Progress, Waiting, Watch};

/// The largest number of waiting hosts that are listed.
pub(crate) const WAITING_SHOWN: usize = 5;
/// The largest number of hosts in one warning.
const UNSURE_SHOWN: usize = 10;

/// The number of hosts from which the remaining time is estimated: those with the longest queues
/// and those with the longest waits.
const LOOKED_AT: usize = 32;

/// A watch with a longer interval does not count as watching.
const WATCHES: Duration = Duration::from_secs(60);

/// The event loop of one thread.
pub(crate) fn runtime() -> Result<Runtime, CrawlError> {
    Builder::new_current_thread().enable_all().build().map_err(CrawlError::Runtime)
}

/// Accompanies a crawl.
pub(crate) struct Attendant<'a> {
    crew: &'a Crew<'a>,
    tally: &'a Tally,
    began: Instant,
    watch: &'a mut dyn Watch,
    warned: Warned,
}

impl<'a> Attendant<'a> {
    pub(crate) fn new(
        crew: &'a Crew<'a>,
        tally: &'a Tally,
        began: Instant,
        watch: &'a mut dyn Watch,
    ) -> Attendant<'a> {
        let mut warned = Warned::default();
        if let Some(said) = &crew.sharing_said {
            warned.say(said.clone(), watch);
        }
        Attendant { crew, tally, began, watch, warned }
    }

    /// Passes on signals and progress until the work is over.
    pub(crate) async fn attend<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut asked: impl AsyncFnMut() -> std::io::Result<()>,
        told: &Sender<u32>,
    ) -> Result<T, CrawlError> {
        let mut work = pin!(work);
        let every = self.watch.every();
        let mut tick = tokio::time::interval(every);
        let watches = every <= WATCHES;
        let (Crew { spec, .. }, began) = (self.crew, self.began);
        let mut share_of_time = pin!(async {
            match time_warned_at(spec) {
                Some(at) => tokio::time::sleep(at.saturating_sub(began.elapsed())).await,
                None => std::future::pending().await,
            }
        });
        loop {
            let pages_unused = watches && spec.policy.budget.pages.is_some() && !self.warned.pages;
            let time_unused = watches && !self.warned.time;
            tokio::select! {
                // The warning about the budget comes before what the work does next.
                biased;
                () = self.tally.next_request(), if pages_unused => self.look_at_pages(),
                () = &mut share_of_time, if time_unused => self.look_at_time(),
                over = &mut work => {
                    if watches {
                        // The last requests may have been sent a moment ago.
                        self.look_at_pages();
                    }
                    self.warned.look_at_robots(self.tally, self.watch);
                    return Ok(over);
                }
                heard = asked() => {
                    heard.map_err(CrawlError::Runtime)?;
                    told.send_modify(|times| *times += 1);
                    if *told.borrow() == 1 {
                        self.watch.note("stopping: what was sent is waited for; once more to end at once (nothing is lost either way)");
                    }
                }
                _ = tick.tick() => self.look().await,
            }
        }
    }

    fn look_at_pages(&mut self) {
        let Crew { spec, crawl, .. } = self.crew;
        self.warned.look_at_pages(crawl, spec, self.watch);
    }

    fn look_at_time(&mut self) {
        let percent = self.crew.spec.policy.budget.warn_percent;
        self.warned.time = true;
        self.warned.say(format!("{percent} % of the time of the budget is used"), self.watch);
    }

    /// Warns the user.
    pub(crate) fn warn(&mut self, text: String) {
        self.warned.say(text, self.watch);
    }

    /// Returns the warnings.
    pub(crate) fn said(mut self) -> Vec<String> {
        if let Some(sharing) = &self.crew.sharing {
            self.warned.sharing(sharing, self.watch);
        }
        self.warned.said
    }

    async fn look(&mut self) {
        let Crew { spec, crawl, .. } = self.crew;
        let (rows, fetched, body_bytes, hosts) = self.tally.glance();
        let waiting = waiting(self.crew, self.tally).await;
        let room = Room::of(self.crew, self.began.elapsed());
        let progress = Progress {
            rows,
            fetched,
            body_bytes,
            hosts,
            requests: self.tally.requests(),
            queued: crawl.queued(),
            in_budget: room.urls,
            time_left: room.time,
            took: self.began.elapsed(),
            left: left(self.crew, &room, &waiting),
            waiting,
        };
        self.look_at_pages();
        if !self.warned.time && time_warned_at(spec).is_some_and(|at| self.began.elapsed() >= at) {
            self.look_at_time();
        }
        self.warned.store.look("the store", crawl.trouble(), self.watch);
        self.warned.rows.look("rows", self.tally.trouble(), self.watch);
        self.warned.look_at_robots(self.tally, self.watch);
        if let Some(sharing) = &self.crew.sharing {
            self.warned.sharing(sharing, self.watch);
        }
        self.watch.see(&progress);
    }
}

/// Returns how long a crawl has run when the user is warned about the budget of time.
fn time_warned_at(spec: &JobSpec) -> Option<Duration> {
    let budget = &spec.policy.budget;
    budget.time.map(|max| max.mul_f64(f64::from(budget.warn_percent) / 100.0))
}

/// The hosts that have work and must wait, the longest wait first, and the gate of each. A host
/// with a request in flight does not wait.
pub(crate) async fn waiting(crew: &Crew<'_>, tally: &Tally) -> Vec<Waiting> {
    let Crew { spec, crawl, .. } = crew;
    let handle = crawl.handle();
    let mut waiting = Vec::new();
    for (host, until, queued) in crawl.waiting(WAITING_SHOWN) {
        if tally.is_in_flight(&host) {
            continue;
        }
        let now = crawl.now();
        let first = crawl.schedule(&host).ok().and_then(|(_, urls)| urls.into_iter().next());
        let product = spec.policy.product_token();
        let seen = match &first {
            Some(record) => look(&handle, &spec.policy, product, record, None).await.ok(),
            None => None,
        };
        let found = seen.as_ref().and_then(|seen| {
            let (verdict, gate) = seen.decision.findings.worst();
            (verdict > Verdict::Go).then(|| (gate, seen.decision.findings.of(gate)))
        });
        let names = SentenceContext { robots: None, now };
        let why = match found {
            Some((Gate::Slots, _)) if crawl.answers_killed(&host) => {
                "a request of the last run, which was killed, may still be in flight".to_owned()
            }
            Some((gate, finding)) => sentence(gate, finding, &names),
            None => "its turn".to_owned(),
        };
        let (gate, reason) =
            found.map_or((Gate::Pace, Reason::Clear), |(gate, found)| (gate, found.reason));
        // A host with a visit is leased for longer than it waits.
        let until = match seen.as_ref().map(|seen| seen.decision.findings.worst().0) {
            Some(Verdict::NotBefore(turn)) => until.min(turn),
            _ => until,
        };
        waiting.push(Waiting { wait: until - now, host, until, queued, why, gate, reason });
    }
    waiting
}

/// The number of URLs that the budget leaves to this run, and the time.
struct Room {
    urls: u64,
    time: Option<Duration>,
}

impl Room {
    fn of(crew: &Crew<'_>, took: Duration) -> Room {
        let Crew { spec, crawl, .. } = crew;
        let budget = &spec.policy.budget;
        let pages = budget.pages.map_or(u64::MAX, |max| max.saturating_sub(crawl.pages()));
        let time = budget.time.map(|max| max.saturating_sub(took));
        Room { urls: pages.min(crawl.queued()), time }
    }
}

/// The least time that the queued URLs take. Each host has a wait and a pace; the host that takes
/// longest counts. What is not known yet (a Crawl-delay, further pages) makes the time longer, a
/// budget makes it shorter.
fn left(crew: &Crew<'_>, room: &Room, waiting: &[Waiting]) -> Option<Duration> {
    let Crew { spec, crawl, .. } = crew;
    let (hosts, busiest) = crawl.busiest(LOOKED_AT);
    // Of pages that a budget leaves, some host has at least its share.
    let share = match room.urls < crawl.queued() {
        true => room.urls.div_ceil(hosts.max(1)),
        false => u64::MAX,
    };
    let now = crawl.now();
    let each = busiest.into_iter().filter_map(|(host, due, queued)| {
        let state = crawl.state(&host).ok()?;
        let (delay, _) = pace(&state, &spec.policy.for_host(host.as_str()), &host);
        let turns = u32::try_from(queued.min(share).saturating_sub(1)).unwrap_or(u32::MAX);
        // A host with a visit or a request is leased for longer than it waits: its next turn is one
        // delay away.
        let waits = |w: &&Waiting| w.reason != Reason::Clear && w.gate != Gate::Slots;
        let waits = waiting.iter().find(|w| w.host == host).filter(waits);
        let held = due.map_or(Duration::ZERO, |due| due - now).min(delay);
        let wait = waits.map_or(held, |waits| waits.wait);
        Some(wait.saturating_add(delay.saturating_mul(turns)))
    });
    let left = each.max()?;
    Some(room.time.map_or(left, |time| left.min(time)))
}

/// Returns the number of pages at which the user is warned: this part of the budget, and at least
/// one page before its end if the budget has more than one.
fn warned_at(max: u64, percent: u8) -> u64 {
    let part = u128::from(max) * u128::from(percent);
    let part = u64::try_from(part.div_ceil(100)).unwrap_or(max);
    part.min(max.saturating_sub(1)).max(1)
}

/// The warnings of a crawl, each given once.
#[derive(Default)]
struct Warned {
    said: Vec<String>,
    pages: bool,
    time: bool,
    store: WriteTrouble,
    rows: WriteTrouble,
    /// Hosts with a warning about robots.txt.
    unsure: BTreeSet<HostKey>,
    sharing: bool,
    evicted: bool,
}

/// The last reported failure of writes.
#[derive(Default)]
struct WriteTrouble(Option<String>);

impl WriteTrouble {
    fn look(&mut self, what: &str, now: Option<String>, watch: &mut dyn Watch) {
        if now == self.0 {
            return;
        }
        match &now {
            Some(why) => watch.note(&format!("{what} can't be written: {why}")),
            None => watch.note(&format!("{what} can be written again")),
        }
        self.0 = now;
    }
}

impl Warned {
    /// Warns once when most of the budget of pages is used.
    fn look_at_pages(&mut self, crawl: &MachineStore, spec: &JobSpec, watch: &mut dyn Watch) {
        let budget = &spec.policy.budget;
        let Some(max) = budget.pages else { return };
        let part = warned_at(max, budget.warn_percent);
        if !self.pages && crawl.pages() >= part {
            self.pages = true;
            let are = if part == 1 { "is" } else { "are" };
            self.say(format!("{part} of the {max} pages of the budget {are} used"), watch);
        }
    }

    /// Warns of hosts that are requested although their robots.txt could not be fetched.
    fn look_at_robots(&mut self, tally: &Tally, watch: &mut dyn Watch) {
        let Some(unsure) = tally.unsure(self.unsure.len()) else { return };
        let new: Vec<_> =
            unsure.into_iter().filter(|(host, _)| !self.unsure.contains(host)).collect();
        for standing in [Confidence::Current, Confidence::LastGood] {
            let hosts: Vec<&HostKey> =
                new.iter().filter(|(_, found)| *found == standing).map(|(host, _)| host).collect();
            let names: Vec<&str> = hosts.iter().take(UNSURE_SHOWN).map(|h| h.as_str()).collect();
            let more = match hosts.len().saturating_sub(UNSURE_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let then = match standing {
                Confidence::Current => "allowed, low confidence",
                Confidence::LastGood => "its last good copy is obeyed, low confidence",
            };
            if !names.is_empty() {
                let names = names.join(", ");
                self.say(
                    format!("robots.txt of {names}{more} could not be fetched: {then}"),
                    watch,
                );
            }
        }
        self.unsure.extend(new.into_iter().map(|(host, _)| host));
    }

    /// Warns of an error of the page cache, and of a full cache, once each.
    fn sharing(&mut self, sharing: &Sharing, watch: &mut dyn Watch) {
        if let (Some(why), false) = (sharing.pages.trouble(), self.sharing) {
            self.sharing = true;
            let why = why.lines().next().unwrap_or_default().to_owned();
            self.say(format!("the page cache is not used any more: {why}"), watch);
        }
        if sharing.pages.evicted() > 0 && !self.evicted {
            self.evicted = true;
            let text =
                "the page cache is full: its oldest pages make room (`--cache-max` sets its size)";
            self.say(text.to_owned(), watch);
        }
    }

    fn say(&mut self, text: String, watch: &mut dyn Watch) {
        watch.note(&text);
        self.said.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::warned_at;

    #[test]
    fn the_user_is_warned_before_the_last_page() {
        for (max, percent, at) in [
            (1, 80, 1),
            (2, 80, 1),
            (3, 80, 2),
            (4, 80, 3),
            (5, 80, 4),
            (9, 80, 8),
            (10, 80, 8),
            (600, 80, 480),
            (100, 1, 1),
            (100, 100, 99),
            (u64::MAX, 100, u64::MAX - 1),
        ] {
            assert_eq!(warned_at(max, percent), at, "{percent} % of {max}");
        }
    }
}
