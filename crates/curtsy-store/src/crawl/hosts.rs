//! The hosts of a crawl and when each is handed out.
//!
//! Those with work soon are in memory. When there are too many, the ones that wait longest rest in the table and come back when they
//! fall due. Only the schedule is kept with them: what a host may be asked, and when, is for the engine to decide on its state.

use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::UrlRecord;
use rusqlite::OptionalExtension;

use super::CrawlFile;
use super::queue::Slot;
use crate::HOLD;
use crate::ledger::{number, time};
use crate::record::{FIRST, Place};

/// A host's place in memory.
pub(super) type HostNo = usize;

/// URLs handed out with a host: each is a copy, and a visit that needs more takes the host again.
pub(crate) const URLS_PER_VISIT: usize = 8;
/// Hosts that come back from the table at once.
const WOKEN_AT_ONCE: usize = 512;

/// Which hosts are a worker's: one that takes a host has a line to it, which the others would have to open anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Which of them it is.
    pub(crate) of: usize,
    /// How many workers there are.
    pub(crate) workers: usize,
    /// Whether hosts of others are taken that they leave lying.
    pub(crate) late_too: bool,
}

impl Share {
    /// All of them.
    pub(crate) const WHOLE: Share = Share { of: 0, workers: 1, late_too: false };

    fn is_own(self, no: HostNo) -> bool {
        no % self.workers == self.of
    }

    fn may_take(self, (due, no): (Time, HostNo), now: Time) -> bool {
        self.is_own(no) || self.late_too && due + LATE <= now
    }
}

/// A host and its first URLs.
pub(crate) type Queued = (HostKey, Vec<UrlRecord>);

/// A worker that leaves a host so long that was due has too much to do.
const LATE: Duration = Duration::from_millis(100);
/// Hosts that are looked at for one of its own.
const LOOKED_AT: usize = 256;

/// A host that is in memory.
#[derive(Default)]
pub(super) struct Host {
    pub(super) key: Option<HostKey>,
    /// Its number in the table.
    pub(super) id: i64,
    not_before: Option<Time>,
    due: Option<Time>,
    /// Whether a visit has it: then its due time is when it is given to others.
    held: bool,
    /// Whether it is to be looked at before anything may be asked.
    pub(super) look: bool,
    /// Its URLs that are in memory, in their order.
    pub(super) window: Vec<Slot>,
    /// Its URLs, wherever they are.
    pub(super) total: u64,
    /// What is not in the window stands here or behind.
    pub(super) bound: Place,
    /// Whether its row in the table differs.
    pub(super) changed: bool,
}

impl Host {
    /// When its first URL is ready, if it has one.
    fn first_ready(&self) -> Option<Time> {
        if self.total == 0 {
            return None;
        }
        let more = self.total > self.window.len() as u64;
        let first = self.window.first().map(|slot| slot.place);
        let first = match first {
            Some(first) if !more || first < self.bound => first,
            // Somewhere behind the bound: a look too early costs little.
            _ => self.bound,
        };
        Some(time(first.0))
    }

    /// When it is handed out, if its first URL is ready then.
    fn due_from(&self, ready: Time) -> Time {
        match self.look {
            true => ready,
            false => ready.max(self.not_before.unwrap_or(Time::START)),
        }
    }
}

impl CrawlFile {
    /// A host's place in memory; it comes there if it was not.
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
                let id = self.next_host;
                self.next_host += 1;
                self.journal.host(id, key.as_str());
                self.settle_in(Host {
                    id,
                    changed: true,
                    key: Some(key.clone()),
                    ..Host::default()
                })
            }
        };
        Ok(no)
    }

    /// A host comes back from the table.
    fn wake(&mut self, key: HostKey, id: i64, queued: i64, due: Option<i64>) -> HostNo {
        let total = u64::try_from(queued).unwrap_or(0);
        let not_before = due.map(time);
        let host = Host { id, total, not_before, bound: FIRST, ..Host::default() };
        let no = self.settle_in(Host { key: Some(key), changed: due.is_some(), ..host });
        self.reschedule_unless_held(no);
        no
    }

    fn settle_in(&mut self, host: Host) -> HostNo {
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

    /// Sets when a host is handed out: not before `not_before`, and not before its first URL is ready.
    pub(crate) fn reschedule(
        &mut self,
        host: &HostKey,
        not_before: Time,
    ) -> Result<(), rusqlite::Error> {
        let no = self.host(host)?;
        let host = &mut self.hosts[no];
        host.not_before = Some(not_before);
        host.held = false;
        let due = host.first_ready().map(|ready| host.due_from(ready));
        self.set_due(no, due);
        Ok(())
    }

    /// A host whose queue changed: handed out as its queue asks, unless somebody holds it.
    pub(super) fn reschedule_unless_held(&mut self, no: HostNo) {
        let host = &self.hosts[no];
        let wanted = host.first_ready().map(|ready| host.due_from(ready));
        // A due time earlier than that is a hold that runs out, or nothing; a later one is a hold.
        let sooner = host.due > wanted && !host.held;
        if host.due.is_none() || wanted.is_none() || sooner {
            self.set_due(no, wanted);
        }
    }

    /// The same by name, for a host that some change named.
    pub(crate) fn queue_changed(&mut self, host: &HostKey) {
        if let Some(no) = self.by_name.get(host) {
            self.reschedule_unless_held(*no);
        }
    }

    fn set_due(&mut self, no: HostNo, due: Option<Time>) {
        let host = &mut self.hosts[no];
        if host.due == due {
            return;
        }
        if let Some(old) = host.due.take() {
            self.due.remove(&(old, no));
        }
        if let Some(due) = due {
            self.due.insert((due, no));
        }
        host.due = due;
    }

    /// The first host that is due for a worker, with its first URLs. It is handed out, not removed: it falls due again by itself.
    pub(crate) fn take(
        &mut self,
        now: Time,
        share: Share,
    ) -> Result<Option<Queued>, rusqlite::Error> {
        // Those in memory go first: there is room for no more than that.
        let none_due = self.due.first().is_none_or(|(due, _)| *due > now);
        if none_due && self.resting.is_some_and(|due| due <= now) {
            self.wake_resting(now)?;
        }
        let Some(no) = self.first_due(now, share) else {
            return Ok(None);
        };
        self.fill(no)?;
        self.set_due(no, Some(now + HOLD));
        let host = &mut self.hosts[no];
        host.held = true;
        host.look = false;
        // What is being asked for comes last: with many slots the first URLs are all in flight.
        let is_open =
            |open: bool| host.window.iter().filter(move |entry| entry.record.tries.open == open);
        let urls = is_open(false).chain(is_open(true)).take(URLS_PER_VISIT);
        let urls = urls.map(|entry| entry.record.clone()).collect();
        let key = host.key.clone().expect("a host that is due has a name");
        Ok(Some((key, urls)))
    }

    /// The host that a worker takes next.
    fn first_due(&self, now: Time, share: Share) -> Option<HostNo> {
        let due = self.due.iter().take_while(|(due, _)| *due <= now).take(LOOKED_AT);
        due.map(|(due, no)| (*due, *no)).find(|host| share.may_take(*host, now)).map(|(_, no)| no)
    }

    /// When the next host falls due for a worker.
    pub(crate) fn next_due(&self, now: Time, share: Share) -> Option<Time> {
        let due = self.due.iter().take(if share.workers == 1 { 1 } else { LOOKED_AT });
        let first = due.map(|(due, no)| match share.is_own(*no) {
            true => *due,
            false => (*due).max(now) + LATE,
        });
        let first = first.min();
        [first, self.resting].into_iter().flatten().min()
    }

    /// Hosts in memory that fall due later and are not being visited, the last first.
    pub(crate) fn waiting(&self, now: Time, hosts: usize) -> Vec<(HostKey, Time, u64)> {
        let later = self.due.iter().rev().take_while(|(due, _)| *due > now);
        later
            .map(|(due, no)| (due, &self.hosts[*no]))
            .filter(|(_, host)| !host.held)
            .filter_map(|(due, host)| Some((host.key.clone()?, *due, host.total)))
            .take(hosts)
            .collect()
    }

    /// How many hosts in memory have work, those with the most, and those that wait longest.
    pub(crate) fn busiest(
        &self,
        now: Time,
        hosts: usize,
    ) -> (u64, Vec<(HostKey, Option<Time>, u64)>) {
        let with_work = self.hosts.iter().filter(|host| host.total > 0 && host.key.is_some());
        let mut all: Vec<&Host> = with_work.collect();
        let count = all.len() as u64;
        let wait = |host: &Host| host.due.filter(|due| *due > now && !host.held);
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
        let told = chosen.into_iter();
        let told = told.filter_map(|host| Some((host.key.clone()?, wait(host), host.total)));
        (count, told.collect())
    }

    /// Every host with work and its first URLs, if all of them are in memory, are at most `hosts`, and wait.
    pub(crate) fn all_waiting(
        &mut self,
        now: Time,
        hosts: usize,
    ) -> Result<Option<Vec<Queued>>, rusqlite::Error> {
        let due_now = self.due.first().is_some_and(|(due, _)| *due <= now);
        if self.resting.is_some() || due_now || self.due.len() > hosts {
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

    /// When a host is handed out next, and its first URLs.
    pub(crate) fn schedule(
        &mut self,
        host: &HostKey,
    ) -> Result<(Option<Time>, Vec<UrlRecord>), rusqlite::Error> {
        let no = self.host(host)?;
        self.fill(no)?;
        let host = &self.hosts[no];
        let urls = host.window.iter().take(URLS_PER_VISIT).map(|entry| entry.record.clone());
        Ok((host.due, urls.collect()))
    }

    /// Hosts that are due come back from the table.
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

    /// Looks when the first host that rests falls due.
    pub(super) fn find_resting(&mut self) -> Result<(), rusqlite::Error> {
        let sql = "SELECT min(due) FROM frontier_hosts WHERE due IS NOT NULL";
        let first: Option<i64> = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        self.resting = first.map(time);
        Ok(())
    }

    /// Sends hosts to rest and forgets windows when there are too many. Right after a merge: nothing differs from the tables then.
    pub(super) fn make_room(&mut self) -> Result<(), rusqlite::Error> {
        if self.by_name.len() > self.limits.hosts {
            self.rest()?;
        }
        if self.in_memory > self.limits.urls {
            // Those that wait longest are asked for last.
            let last_first: Vec<HostNo> = self.due.iter().rev().map(|(_, no)| *no).collect();
            for no in last_first {
                if self.in_memory <= self.limits.urls / 2 {
                    break;
                }
                let host = &mut self.hosts[no];
                // A URL that somebody was given is looked for by its key: it stays.
                if !host.held && host.window.iter().all(|e| e.record.claim.is_none()) {
                    self.in_memory -= host.window.len();
                    host.window = Vec::new();
                    host.bound = FIRST;
                }
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), rusqlite::Error> {
        let keep = self.limits.hosts / 2;
        let due = |host: &Host| host.due.unwrap_or(Time::NEVER);
        let mut all: Vec<(Time, HostNo)> = (0..self.hosts.len())
            .filter(|no| self.hosts[*no].key.is_some() && !self.hosts[*no].held)
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
            self.set_due(no, None);
            let host = std::mem::take(&mut self.hosts[no]);
            self.in_memory -= host.window.len();
            self.by_name.remove(&host.key.expect("a host that rests has a name"));
            self.free.push(no);
        }
        self.find_resting()
    }
}
