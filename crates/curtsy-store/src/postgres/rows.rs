//! Hosts and robots.txt files of a ledger in Postgres.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Exchanged, RobotsFile};

use super::PgLedger;
use super::failure::PgFailure;
use crate::MachineClock;
use crate::kept::LedgerRow;
use crate::ledger::number;

impl<H: MachineClock> PgLedger<H> {
    /// Reads the hosts that are needed next in one query, except those that are valid in memory.
    pub(crate) fn look_ahead(&mut self, hosts: &[&HostKey]) -> Result<(), PgFailure> {
        let unsure: BTreeSet<&HostKey> =
            hosts.iter().copied().filter(|host| self.kept.sure(host).is_none()).collect();
        if unsure.is_empty() {
            return Ok(());
        }
        match self.read(&unsure) {
            // The commit that needs a damaged host reports it. The others have read theirs.
            Err(PgFailure::Damaged(_)) => Ok(()),
            read => read,
        }
    }

    pub(crate) fn row(&mut self, host: &HostKey) -> Result<&LedgerRow, PgFailure> {
        if self.kept.sure(host).is_none() {
            self.read(&BTreeSet::from([host]))?;
        }
        Ok(self.kept.sure(host).expect("read or found just now"))
    }

    fn read(&mut self, hosts: &BTreeSet<&HostKey>) -> Result<(), PgFailure> {
        // The query must see the writes of this transaction.
        self.write_hosts()?;
        let names: Vec<String> = hosts.iter().map(|host| host.as_str().to_owned()).collect();
        let mut found: HashMap<String, (i64, Vec<u8>)> = self.run(move |session| {
            let sql = "SELECT host, version, state FROM curtsy_hosts WHERE host = ANY($1)";
            let rows = session.query(sql, &[&names])?;
            Ok(rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
        })?;
        let mut damaged = None;
        for &host in hosts {
            let (version, state) = match found.remove(host.as_str()) {
                None => (0, Ok(HostState::default())),
                Some((version, _))
                    if self.kept.old(host).is_some_and(|old| old.version == version as u64) =>
                {
                    self.kept.confirm(host);
                    continue;
                }
                Some((version, bytes)) => (version as u64, HostState::decode(&bytes)),
            };
            match state {
                Ok(state) => {
                    let row = LedgerRow { id: None, version, state: Arc::new(state) };
                    self.kept.keep(host, row);
                }
                Err(error) => damaged = Some(PgFailure::damaged(error)),
            }
        }
        damaged.map_or(Ok(()), Err)
    }

    pub(crate) fn write(
        &mut self,
        host: &HostKey,
        state: Arc<HostState>,
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Result<u64, PgFailure> {
        let row = self.row(host)?;
        let (old, before) = (row.version, Arc::clone(&row.state));
        let version = (old + 1).max(now.micros());
        if let Some(row) = self.shows.risk_row(host, (&before, &state), exchanged, now) {
            self.write_risk(row)?;
        }
        let written = (version as i64, state.encode());
        self.transaction.hosts.insert(host.as_str().to_owned(), written);
        self.kept.keep(host, LedgerRow { id: None, version, state });
        Ok(version)
    }

    /// Writes the hosts and slots of this transaction that are not written yet, in one statement.
    pub(super) fn write_hosts(&mut self) -> Result<(), PgFailure> {
        let hosts = std::mem::take(&mut self.transaction.hosts);
        let slots = std::mem::take(&mut self.transaction.slots);
        if hosts.is_empty() && slots.is_empty() {
            return Ok(());
        }
        let (slots, ends): (Vec<_>, Vec<i64>) = slots.into_iter().unzip();
        let (addresses, leases): (Vec<Vec<u8>>, Vec<i64>) = slots.into_iter().unzip();
        let (mut names, mut versions, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for (name, (version, state)) in hosts {
            names.push(name);
            versions.push(version);
            states.push(state);
        }
        self.change(move |session| {
            let sql = "WITH taken AS (INSERT INTO curtsy_slots (address, lease, until)
                    SELECT * FROM unnest($4::bytea[], $5::bigint[], $6::bigint[])
                    ON CONFLICT (address, lease) DO UPDATE SET until = excluded.until)
                INSERT INTO curtsy_hosts (host, version, state)
                SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
                ON CONFLICT (host) DO UPDATE SET version = excluded.version, state = excluded.state";
            session.write(sql, &[&names, &versions, &states, &addresses, &leases, &ends])
        })?;
        Ok(())
    }

    pub(crate) fn keep_robots(
        &mut self,
        id: RobotsId,
        file: &Arc<RobotsFile>,
        now: Time,
    ) -> Result<(), PgFailure> {
        let (file, now) = (Arc::clone(file), number(now));
        self.change(move |session| {
            let sql = "INSERT INTO curtsy_robots (id, written, etag, last_modified, text) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (id) DO UPDATE SET written = excluded.written";
            let RobotsFile { text, etag, last_modified } = &*file;
            session.write(sql, &[&&id.0[..], &now, etag, last_modified, text])
        })?;
        Ok(())
    }

    pub(crate) fn robots(&mut self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, PgFailure> {
        self.run(move |session| {
            let sql = "SELECT etag, last_modified, text FROM curtsy_robots WHERE id = $1";
            let rows = session.query(sql, &[&&id.0[..]])?;
            Ok(rows.first().map(|row| {
                let (etag, last_modified, text) = (row.get(0), row.get(1), row.get(2));
                Arc::new(RobotsFile { text, etag, last_modified })
            }))
        })
    }
}
