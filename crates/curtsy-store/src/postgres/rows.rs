//! Hosts and robots.txt files of a ledger in Postgres.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Exchanged, RobotsFile};

use super::PgLedger;
use super::failure::Failure;
use crate::Hours;
use crate::kept::HostRow;
use crate::ledger::number;

impl<H: Hours> PgLedger<H> {
    /// These hosts are asked for next: those that are not sure are read in one question.
    pub(crate) fn look_ahead(&mut self, hosts: &[&HostKey]) -> Result<(), Failure> {
        let unsure: BTreeSet<&HostKey> =
            hosts.iter().copied().filter(|host| self.kept.sure(host).is_none()).collect();
        if unsure.is_empty() {
            return Ok(());
        }
        match self.read(&unsure) {
            // Whoever needs that host is told; the others have theirs.
            Err(Failure::Damaged(_)) => Ok(()),
            read => read,
        }
    }

    /// A host as it is now. Call [`PgLedger::refresh`] or [`PgLedger::begin`] before.
    pub(crate) fn row(&mut self, host: &HostKey) -> Result<&HostRow, Failure> {
        if self.kept.sure(host).is_none() {
            self.read(&BTreeSet::from([host]))?;
        }
        Ok(self.kept.sure(host).expect("read or found just now"))
    }

    fn read(&mut self, hosts: &BTreeSet<&HostKey>) -> Result<(), Failure> {
        // What was written in this transaction is read too.
        self.write_hosts()?;
        let names: Vec<String> = hosts.iter().map(|host| host.as_str().to_owned()).collect();
        let mut found: HashMap<String, (i64, Vec<u8>)> = self.tell(move |session| {
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
                    let row = HostRow { id: None, version, state: Arc::new(state) };
                    self.kept.keep(host, row);
                }
                Err(error) => damaged = Some(Failure::damaged(error)),
            }
        }
        damaged.map_or(Ok(()), Err)
    }

    /// Writes a host whose row was compared in this transaction, and what is shown of it. Gives its version.
    pub(crate) fn write(
        &mut self,
        host: &HostKey,
        state: Arc<HostState>,
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Result<u64, Failure> {
        let row = self.row(host)?;
        let (old, before) = (row.version, Arc::clone(&row.state));
        let version = (old + 1).max(now.micros());
        if let Some(row) = self.shows.risk_row(host, (&before, &state), exchanged, now) {
            self.write_risk(row)?;
        }
        let written = (version as i64, state.encode());
        self.transaction.hosts.insert(host.as_str().to_owned(), written);
        self.kept.keep(host, HostRow { id: None, version, state });
        Ok(version)
    }

    /// Writes the hosts of this transaction that are not written yet, in one statement.
    pub(super) fn write_hosts(&mut self) -> Result<(), Failure> {
        let hosts = std::mem::take(&mut self.transaction.hosts);
        if hosts.is_empty() {
            return Ok(());
        }
        let (mut names, mut versions, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for (name, (version, state)) in hosts {
            names.push(name);
            versions.push(version);
            states.push(state);
        }
        self.change(move |session| {
            let sql = "INSERT INTO curtsy_hosts (host, version, state) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
                ON CONFLICT (host) DO UPDATE SET version = excluded.version, state = excluded.state";
            session.write(sql, &[&names, &versions, &states])
        })?;
        Ok(())
    }

    /// Keeps a robots.txt.
    pub(crate) fn keep_robots(
        &mut self,
        id: RobotsId,
        file: &Arc<RobotsFile>,
        now: Time,
    ) -> Result<(), Failure> {
        let (file, now) = (Arc::clone(file), number(now));
        self.change(move |session| {
            let sql = "INSERT INTO curtsy_robots (id, written, etag, last_modified, text) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (id) DO UPDATE SET written = excluded.written";
            let RobotsFile { text, etag, last_modified } = &*file;
            session.write(sql, &[&&id.0[..], &now, etag, last_modified, text])
        })?;
        Ok(())
    }

    /// A robots.txt.
    pub(crate) fn robots(&mut self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, Failure> {
        self.tell(move |session| {
            let sql = "SELECT etag, last_modified, text FROM curtsy_robots WHERE id = $1";
            let rows = session.query(sql, &[&&id.0[..]])?;
            Ok(rows.first().map(|row| {
                let (etag, last_modified, text) = (row.get(0), row.get(1), row.get(2));
                Arc::new(RobotsFile { text, etag, last_modified })
            }))
        })
    }
}
