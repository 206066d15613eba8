//! Hosts and robots.txt files of the ledger, with the hosts that were read last in memory.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::RobotsFile;
use rusqlite::OptionalExtension;
use rusqlite::types::Type;

use super::{Ledger, number};
use crate::Hours;

/// Hosts that are kept in memory; all are dropped when there are more.
const KEPT_MAX: usize = 16_384;

/// A host as the ledger has it.
#[derive(Clone, Debug)]
pub(crate) struct HostRow {
    /// Its row; none if it is not in the ledger.
    id: Option<i64>,
    pub(crate) version: u64,
    pub(crate) state: Arc<HostState>,
    /// The look of which it is known to be so.
    look: u64,
}

/// What was read and written last. It counts as long as nobody else writes.
#[derive(Default)]
pub(super) struct Kept {
    rows: HashMap<HostKey, HostRow>,
    look: u64,
}

impl Kept {
    /// Somebody else wrote: what is kept must be compared before it is used.
    pub(super) fn doubt(&mut self) {
        self.look += 1;
    }

    pub(super) fn forget(&mut self, host: &HostKey) {
        self.rows.remove(host);
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
}

impl<H: Hours> Ledger<H> {
    /// A host as it is now. Call [`Ledger::refresh`] or [`Ledger::begin`] before.
    pub(crate) fn row(&mut self, host: &HostKey) -> Result<&HostRow, rusqlite::Error> {
        let look = self.kept.look;
        let old = self.kept.rows.get(host);
        if old.is_none_or(|row| row.look != look) {
            let known = old.filter(|row| row.id.is_some()).map(|row| row.version);
            match self.read(host, known)? {
                Some(row) => {
                    if self.kept.rows.len() >= KEPT_MAX {
                        self.kept.rows.clear();
                    }
                    self.kept.rows.insert(host.clone(), row);
                }
                None => {
                    if let Some(row) = self.kept.rows.get_mut(host) {
                        row.look = look;
                    }
                }
            }
        }
        Ok(self.kept.rows.get(host).expect("read or found just now"))
    }

    /// Reads a host; none if it still has the version that is known.
    fn read(&self, host: &HostKey, known: Option<u64>) -> Result<Option<HostRow>, rusqlite::Error> {
        let sql = "SELECT id, version, state FROM hosts WHERE host = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([host.as_str()])?;
        let look = self.kept.look;
        let Some(row) = rows.next()? else {
            let state = Arc::default();
            return Ok(Some(HostRow { id: None, version: 0, state, look }));
        };
        let version = row.get::<_, i64>(1)? as u64;
        if known == Some(version) {
            return Ok(None);
        }
        let bytes = row.get_ref(2)?.as_blob()?;
        let state = HostState::decode(bytes)
            .map_err(|e| rusqlite::Error::FromSqlConversionFailure(2, Type::Blob, Box::new(e)))?;
        Ok(Some(HostRow { id: row.get(0)?, version, state: Arc::new(state), look }))
    }

    /// Writes a host whose row was compared in this transaction. Gives its version.
    pub(crate) fn write(
        &mut self,
        host: &HostKey,
        state: Arc<HostState>,
        now: Time,
    ) -> Result<u64, rusqlite::Error> {
        let (id, old) = {
            let row = self.row(host)?;
            (row.id, row.version)
        };
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
        let look = self.kept.look;
        if let Some(row) = self.kept.rows.get_mut(host) {
            *row = HostRow { id: Some(id), version, state, look };
        }
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

    /// A robots.txt.
    pub fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, rusqlite::Error> {
        let sql = "SELECT etag, last_modified, text FROM robots WHERE id = ?1";
        let file = self.db.prepare_cached(sql)?.query_row([&id.0[..]], |row| {
            Ok(RobotsFile { etag: row.get(0)?, last_modified: row.get(1)?, text: row.get(2)? })
        });
        Ok(file.optional()?.map(Arc::new))
    }
}
