//! The hosts of a crawl, and when each is handed out.
//!
//! Hosts with work soon are in memory. If there are too many, those that wait longest are kept in
//! the table only and are read again when they become due. This module keeps the schedule of a
//! host. What may be requested, and when, the engine decides on the host's state.

use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::UrlRecord;
use curtsy_engine::timetable::HandOut;
use rusqlite::OptionalExtension;

use super::CrawlFrontier;
use super::queue::WindowSlot;
use crate::ledger::{number, time};
use crate::record::{FIRST, QueuePlace};

/// A host's index in memory.
pub(super) type HostNo = usize;

/// URLs handed out with a host. Each is a copy, and a visit that needs more takes the host again.
pub(crate) const URLS_PER_VISIT: usize = 8;
/// Hosts that are read from the table at once.
const WOKEN_AT_ONCE: usize = 512;

/// A worker's share of the hosts. A worker keeps connections to its hosts, which other workers
/// would have to open anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostShare {
    /// The worker's index.
    pub(crate) of: usize,
    /// The number of workers.
    pub(crate) workers: usize,
    /// Whether the worker also takes overdue hosts of other workers.
    pub(crate) late_too: bool,
}

impl HostShare {
    /// All hosts.
    pub(crate) const WHOLE: HostShare = HostShare { of: 0, workers: 1, late_too: false };

    fn is_own(self, no: HostNo) -> bool {
        no % self.workers == self.of
    }

    fn may_take(self, (due, no): (Time, HostNo), now: Time) -> bool {
        self.is_own(no) || self.late_too && due + LATE <= now
    }
}

/// A host and its first URLs.
pub(crate) type Queued = (HostKey, Vec<UrlRecord>);

/// After this time a due host is overdue: its worker has too much to do.
const LATE: Duration = Duration::from_millis(100);
/// Due hosts that are searched for one of the worker's own.
const LOOKED_AT: usize = 256;

/// A host that is in memory.
#[derive(Default)]
pub(super) struct FrontierHost {
    pub(super) key: Option<HostKey>,
    /// Its number in the table.
    pub(super) id: i64,
    pub(super) hand_out: HandOut,
    /// Its URLs in memory, in order of their places.
    pub(super) window: Vec<WindowSlot>,
    /// The number of its URLs in memory and in the table.
    pub(super) total: u64,
    /// URLs that are not in the window have this place or a later one.
    pub(super) bound: QueuePlace,
    /// Whether its row in the table is outdated.
    pub(super) changed: bool,
}

impl FrontierHost {
    /// Returns when its first URL is ready.
    fn first_ready(&self) -> Option<Time> {
        if self.total == 0 {
            return None;
        }
        let more = self.total > self.window.len() as u64;
        let first = self.window.first().map(|slot| slot.place);
        let first = match first {
            Some(first) if !more || first < self.bound => first,
            // The first place after the bound is unknown. A visit that comes too early costs
            // little.
            _ => self.bound,
        };
        Some(time(first.0))
    }
}

impl CrawlFrontier {
    /// Returns a host's index in memory, and reads or creates the host if necessary.
    pub(super) fn host(&mut self, key: &HostKey) -> Result<HostNo, rusqlite::Error> {
        if let Some(no) = self.by_name.get(key) {
            return Ok(*no);
        }
        let sql = "SELECT id, queued, due FROM frontier_hosts WHERE host = ?1";
        let row = self
            .db
            .prepare_cached(sql)?
            .query_row([key.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let no = match row {
            Some((id, queued, due)) => self.wake(key.clone(), id, queued, due),
            None => {
                let id = self.counters.next_host;
                self.counters.next_host += 1;
                self.unmerged.journal.host(id, key.as_str());
                self.settle_in(FrontierHost {
                    id,
                    changed: true,
                    key: Some(key.clone()),
                    ..FrontierHost::default()
                })
            }
        };
        Ok(no)
    }

    /// Adds a host that was read from the table.
    fn wake(&mut self, key: HostKey, id: i64, queued: i64, due: Option<i64>) -> HostNo {
        let total = u64::try_from(queued).unwrap_or(0);
        let hand_out = HandOut::not_before(due.map(time));
        let host = FrontierHost { id, total, hand_out, bound: FIRST, ..FrontierHost::default() };
        let no = self.settle_in(FrontierHost { key: Some(key), changed: due.is_some(), ..host });
        self.reschedule_unless_held(no);
        no
    }

    fn settle_in(&mut self, host: FrontierHost) -> HostNo {
        let key = host.key.clone().expect("a host that is used has a name");
        let no = match self.free.pop() {
            Some(no) => {
                self.hosts[no] = host;
                no
            }
            None => {
                self.hosts.push(host);
                self.hosts.len() - 1
            }
        };
        self.by_name.insert(key, no);
        no
    }

    /// Sets when a host is handed out: not before `not_before`, and not before its first URL is
    /// ready.
    pub(crate) fn reschedule(
        &mut self,
        host: &HostKey,
        not_before: Time,
    ) -> Result<(), rusqlite::Error> {
        let no = self.host(host)?;
        let host = &mut self.hosts[no];
        let ready = host.first_ready();
        self.due.give_back(&no, &mut host.hand_out, Some(not_before), ready);
        Ok(())
    }

    /// Updates the due time of a host whose queue has changed, unless a visit has the host.
    pub(super) fn reschedule_unless_held(&mut self, no: HostNo) {
        let host = &mut self.hosts[no];
        let ready = host.first_ready();
        self.due.queue_changed(&no, &mut host.hand_out, ready);
    }

    /// The same by name.
    pub(crate) fn queue_changed(&mut self, host: &HostKey) {
        if let Some(no) = self.by_name.get(host) {
            self.reschedule_unless_held(*no);
        }
    }

    /// Hands out the first due host of a worker with its first URLs. The host is not removed: it
    /// becomes due again by itself.
    pub(crate) fn take(
        &mut self,
        now: Time,
        share: HostShare,
    ) -> Result<Option<Queued>, rusqlite::Error> {
        // Hosts in memory first. There is room for their number only.
        let none_due = self.due.first_due().is_none_or(|due| due > now);
        if none_due && self.resting.is_some_and(|due| due <= now) {
            self.wake_resting(now)?;
        }
        let Some(no) = self.first_due(now, share) else {
            return Ok(None);
        };
        self.fill(no)?;
        let host = &mut self.hosts[no];
        self.due.take(&no, &mut host.hand_out, now);
        // URLs that are in flight come last. With many slots these may be all of the first URLs.
        let is_open =
            |open: bool| host.window.iter().filter(move |entry| entry.record.tries.open == open);
        let urls = is_open(false).chain(is_open(true)).take(URLS_PER_VISIT);
        let urls = urls.map(|entry| entry.record.clone()).collect();
        let key = host.key.clone().expect("a host that is due has a name");
        Ok(Some((key, urls)))
    }

    fn first_due(&self, now: Time, share: HostShare) -> Option<HostNo> {
        let due = self.due.iter().take_while(|(due, _)| *due <= now).take(LOOKED_AT);
        due.map(|(due, no)| (*due, *no)).find(|host| share.may_take(*host, now)).map(|(_, no)| no)
    }

    /// Returns when the next host of a worker becomes due.
    pub(crate) fn next_due(&self, now: Time, share: HostShare) -> Option<Time> {
        let due = self.due.iter().take(if share.workers == 1 { 1 } else { LOOKED_AT });
        let first = due.map(|(due, no)| match share.is_own(*no) {
            true => *due,
            false => (*due).max(now) + LATE,
        });
        let first = first.min();
        [first, self.resting].into_iter().flatten().min()
    }

    /// Returns hosts in memory that become due later and that no visit has, the last first.
    pub(crate) fn waiting(&self, now: Time, hosts: usize) -> Vec<(HostKey, Time, u64)> {
        let later = self.due.iter().rev().take_while(|(due, _)| *due > now);
        later
            .map(|(due, no)| (due, &self.hosts[*no]))
            .filter(|(_, host)| !host.hand_out.is_held())
            .filter_map(|(due, host)| Some((host.key.clone()?, *due, host.total)))
            .take(hosts)
            .collect()
    }

    /// Returns the number of hosts in memory with work, those with the most, and those that wait
    /// longest.
    pub(crate) fn busiest(
        &self,
        now: Time,
        hosts: usize,
    ) -> (u64, Vec<(HostKey, Option<Time>, u64)>) {
        let with_work = self.hosts.iter().filter(|host| host.total > 0 && host.key.is_some());
        let mut all: Vec<&FrontierHost> = with_work.collect();
        let count = all.len() as u64;
        let wait = |host: &FrontierHost| {
            host.hand_out.due().filter(|due| *due > now && !host.hand_out.is_held())
        };
        let mut chosen = Vec::new();
        for part in 0..2 {
            if all.len() > hosts {
                match part {
                    0 => all.select_nth_unstable_by_key(hosts, |h| std::cmp::Reverse(h.total)),
                    _ => all.select_nth_unstable_by_key(hosts, |h| std::cmp::Reverse(wait(h))),
                };
            }
            let rest = all.split_off(all.len().min(hosts));
            chosen.append(&mut all);
            all = rest;
        }
        let busiest =
            chosen.into_iter().filter_map(|host| Some((host.key.clone()?, wait(host), host.total)));
        (count, busiest.collect())
    }

    /// Returns every host with its first URLs, if all of them are in memory, are at most `hosts`,
    /// and wait.
    pub(crate) fn all_waiting(
        &mut self,
        now: Time,
        hosts: usize,
    ) -> Result<Option<Vec<Queued>>, rusqlite::Error> {
        let due_now = self.due.first_due().is_some_and(|due| due <= now);
        if self.resting.is_some() || due_now || self.due.iter().len() > hosts {
            return Ok(None);
        }
        let all: Vec<HostNo> = self.due.iter().map(|(_, no)| *no).collect();
        let mut waiting = Vec::with_capacity(all.len());
        for no in all {
            self.fill(no)?;
            let host = &self.hosts[no];
            let urls = host.window.iter().map(|entry| entry.record.clone()).collect();
            waiting.push((host.key.clone().expect("a host that is due has a name"), urls));
        }
        Ok(Some(waiting))
    }

    /// Returns when a host is handed out next, and its first URLs.
    pub(crate) fn schedule(
        &mut self,
        host: &HostKey,
    ) -> Result<(Option<Time>, Vec<UrlRecord>), rusqlite::Error> {
        let no = self.host(host)?;
        self.fill(no)?;
        let host = &self.hosts[no];
        let urls = host.window.iter().take(URLS_PER_VISIT).map(|entry| entry.record.clone());
        Ok((host.hand_out.due(), urls.collect()))
    }

    /// Reads due hosts from the table.
    fn wake_resting(&mut self, now: Time) -> Result<(), rusqlite::Error> {
        let sql = "SELECT id, host, queued, due FROM frontier_hosts
            WHERE due IS NOT NULL AND due <= ?1 ORDER BY due LIMIT ?2";
        let mut woken = Vec::new();
        {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query((number(now), WOKEN_AT_ONCE as i64))?;
            while let Some(row) = rows.next()? {
                let key = HostKey::parse(row.get_ref(1)?.as_str()?).map_err(super::damaged)?;
                woken.push((row.get::<_, i64>(0)?, key, row.get::<_, i64>(2)?, row.get(3)?));
            }
        }
        let tx = self.db.unchecked_transaction()?;
        for (id, ..) in &woken {
            tx.prepare_cached("UPDATE frontier_hosts SET due = NULL WHERE id = ?1")?
                .execute([id])?;
        }
        tx.commit()?;
        for (id, key, queued, due) in woken {
            if !self.by_name.contains_key(&key) {
                self.wake(key, id, queued, due);
            }
        }
        self.find_resting()
    }

    /// Finds out when the first host of the table becomes due.
    pub(super) fn find_resting(&mut self) -> Result<(), rusqlite::Error> {
        let sql = "SELECT min(due) FROM frontier_hosts WHERE due IS NOT NULL";
        let first: Option<i64> = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        self.resting = first.map(time);
        Ok(())
    }

    /// Removes hosts and windows from memory if there are too many. Call this after a merge, when
    /// nothing in memory differs from the tables.
    pub(super) fn make_room(&mut self) -> Result<(), rusqlite::Error> {
        if self.by_name.len() > self.options.hosts_in_memory {
            self.rest()?;
        }
        if self.in_memory > self.options.urls_in_memory {
            // Those that wait longest are needed last.
            let last_first: Vec<HostNo> = self.due.iter().rev().map(|(_, no)| *no).collect();
            for no in last_first {
                if self.in_memory <= self.options.urls_in_memory / 2 {
                    break;
                }
                let host = &mut self.hosts[no];
                // A URL that was handed out is searched by its key, so it stays in memory.
                if !host.hand_out.is_held() && host.window.iter().all(|e| e.record.claim.is_none())
                {
                    self.in_memory -= host.window.len();
                    host.window = Vec::new();
                    host.bound = FIRST;
                }
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), rusqlite::Error> {
        let keep = self.options.hosts_in_memory / 2;
        let due = |host: &FrontierHost| host.hand_out.due().unwrap_or(Time::NEVER);
        let mut all: Vec<(Time, HostNo)> = (0..self.hosts.len())
            .filter(|no| self.hosts[*no].key.is_some() && !self.hosts[*no].hand_out.is_held())
            .map(|no| (due(&self.hosts[no]), no))
            .collect();
        all.sort_unstable();
        let tx = self.db.unchecked_transaction()?;
        let mut resting = Vec::new();
        for (due, no) in all.into_iter().skip(keep) {
            let host = &self.hosts[no];
            let claimed = host.window.iter().any(|e| e.record.claim.is_some());
            if claimed {
                continue;
            }
            let due = (host.total > 0).then(|| number(due));
            let sql = "UPDATE frontier_hosts SET due = ?2 WHERE id = ?1";
            tx.prepare_cached(sql)?.execute((host.id, due))?;
            resting.push(no);
        }
        tx.commit()?;
        for no in resting {
            let mut host = std::mem::take(&mut self.hosts[no]);
            self.due.remove(&no, &mut host.hand_out);
            self.in_memory -= host.window.len();
            self.by_name.remove(&host.key.expect("a host that rests has a name"));
            self.free.push(no);
        }
        self.find_resting()
    }
}
