//! Slots of addresses: named leases with a deadline, so none can leak. All crawls of a machine
//! share them.

use std::collections::HashSet;
use std::net::IpAddr;

use curtsy_core::host::LeaseId;
use curtsy_core::time::Time;
use curtsy_engine::AddressClaim;
use curtsy_engine::check::SlotsTaken;
use rusqlite::Connection;

use super::{Ledger, number, time};
use crate::MachineClock;

impl<H: MachineClock> Ledger<H> {
    /// Counts the slots of an address that are taken, and deletes those that have ended.
    pub(crate) fn slots_taken(
        &mut self,
        address: IpAddr,
        now: Time,
    ) -> Result<SlotsTaken, rusqlite::Error> {
        let address = octets(address);
        let sql = "DELETE FROM slots WHERE address = ?1 AND until <= ?2";
        self.db.prepare_cached(sql)?.execute((&address, number(now)))?;
        let sql = "SELECT count(*), min(until) FROM slots WHERE address = ?1";
        let mut count = self.db.prepare_cached(sql)?;
        count.query_row([&address], |row| {
            let (count, first_end) = (row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?);
            Ok(SlotsTaken { count: count.unsigned_abs(), first_end: first_end.map(time) })
        })
    }

    /// Takes a slot of an address. The caller has counted those that are taken.
    pub(crate) fn take_slot(
        &mut self,
        claim: &AddressClaim,
        lease: LeaseId,
    ) -> Result<(), rusqlite::Error> {
        let sql = "INSERT OR REPLACE INTO slots (address, lease, until) VALUES (?1, ?2, ?3)";
        let slot = (octets(claim.address), lease.0 as i64, number(claim.until));
        self.db.prepare_cached(sql)?.execute(slot)?;
        self.slots.insert(lease);
        Ok(())
    }

    /// Returns the leases that have slots. Other leases have nothing to release.
    pub(super) fn leases_with_slots(db: &Connection) -> Result<HashSet<LeaseId>, rusqlite::Error> {
        let mut statement = db.prepare("SELECT lease FROM slots")?;
        let leases = statement.query_map([], |row| Ok(LeaseId(row.get::<_, i64>(0)? as u64)))?;
        leases.collect()
    }

    /// Releases a slot.
    pub(crate) fn give_slot(
        &mut self,
        address: IpAddr,
        lease: LeaseId,
    ) -> Result<(), rusqlite::Error> {
        if !self.slots.remove(&lease) {
            return Ok(());
        }
        let sql = "DELETE FROM slots WHERE address = ?1 AND lease = ?2";
        self.db.prepare_cached(sql)?.execute((octets(address), lease.0 as i64))?;
        Ok(())
    }
}

/// Returns an address as bytes. An IPv4 address inside an IPv6 one is the same address.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}
