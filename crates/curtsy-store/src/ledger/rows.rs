//! Hosts and robots.txt files of the ledger.

use std::sync::Arc;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Exchanged, RobotsFile};
use rusqlite::OptionalExtension;
use rusqlite::types::Type;

use super::{Ledger, number, shown};
use crate::MachineClock;
use crate::kept::LedgerRow;

impl<H: MachineClock> Ledger<H> {
    /// Returns the current row of a host. Call [`Ledger::refresh`] or [`Ledger::begin`] before.
    pub(crate) fn row(&mut self, host: &HostKey) -> Result<&LedgerRow, rusqlite::Error> {
        if self.kept.sure(host).is_none() {
            let known = self.kept.old(host).filter(|row| row.id.is_some()).map(|row| row.version);
            match self.read(host, known)? {
                Some(row) => self.kept.keep(host, row),
                None => self.kept.confirm(host),
            }
        }
        Ok(self.kept.sure(host).expect("read or found just now"))
    }

    /// Reads a host; `None` if its version is still `known`.
    fn read(
        &self,
        host: &HostKey,
        known: Option<u64>,
    ) -> Result<Option<LedgerRow>, rusqlite::Error> {
        let sql = "SELECT id, version, state FROM hosts WHERE host = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([host.as_str()])?;
        let Some(row) = rows.next()? else {
            let state = Arc::default();
            return Ok(Some(LedgerRow { id: None, version: 0, state }));
        };
        let version = row.get::<_, i64>(1)? as u64;
        if known == Some(version) {
            return Ok(None);
        }
        let bytes = row.get_ref(2)?.as_blob()?;
        let state = HostState::decode(bytes)
            .map_err(|e| rusqlite::Error::FromSqlConversionFailure(2, Type::Blob, Box::new(e)))?;
        Ok(Some(LedgerRow { id: row.get(0)?, version, state: Arc::new(state) }))
    }

    /// Writes a host whose version was checked in this transaction, with its row of readable
    /// tables. Returns the new version.
    pub(crate) fn write(
        &mut self,
        host: &HostKey,
        state: Arc<HostState>,
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Result<u64, rusqlite::Error> {
        let row = self.row(host)?;
        let (id, old, before) = (row.id, row.version, Arc::clone(&row.state));
        let version = (old + 1).max(now.micros());
        let bytes = state.encode();
        let id = match id {
            Some(id) => {
                let sql = "UPDATE hosts SET version = ?2, state = ?3 WHERE id = ?1";
                self.db.prepare_cached(sql)?.execute((id, version as i64, bytes))?;
                id
            }
            None => {
                let sql = "INSERT INTO hosts (host, version, state) VALUES (?1, ?2, ?3)";
                self.db.prepare_cached(sql)?.insert((host.as_str(), version as i64, bytes))?
            }
        };
        if let Some(row) = self.shows.risk_row(host, (&before, &state), exchanged, now) {
            shown::write_risk(&self.db, &row)?;
        }
        self.kept.keep(host, LedgerRow { id: Some(id), version, state });
        Ok(version)
    }

    /// Keeps a robots.txt.
    pub(crate) fn keep_robots(
        &mut self,
        id: RobotsId,
        file: &RobotsFile,
        now: Time,
    ) -> Result<(), rusqlite::Error> {
        let sql = "INSERT INTO robots (id, written, etag, last_modified, text) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET written = excluded.written";
        let file = (&id.0[..], number(now), &file.etag, &file.last_modified, &file.text);
        self.db.prepare_cached(sql)?.execute(file)?;
        Ok(())
    }

    /// Reads a robots.txt.
    pub fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, rusqlite::Error> {
        let sql = "SELECT etag, last_modified, text FROM robots WHERE id = ?1";
        let file = self.db.prepare_cached(sql)?.query_row([&id.0[..]], |row| {
            Ok(RobotsFile { etag: row.get(0)?, last_modified: row.get(1)?, text: row.get(2)? })
        });
        Ok(file.optional()?.map(Arc::new))
    }
}
