//! Slots of addresses: named leases with a deadline, so that none can leak. Two crawls share them.

use std::collections::HashSet;
use std::net::IpAddr;

use curtsy_core::host::LeaseId;
use curtsy_core::time::Time;
use curtsy_engine::AddressClaim;
use rusqlite::Connection;

use super::{Ledger, number, time};
use crate::Hours;

impl<H: Hours> Ledger<H> {
    /// Takes a slot, or tells when the first of those that are taken runs out.
    pub(crate) fn take_slot(
        &mut self,
        claim: &AddressClaim,
        lease: LeaseId,
        now: Time,
    ) -> Result<Result<(), Time>, rusqlite::Error> {
        let address = octets(claim.address);
        let sql = "DELETE FROM slots WHERE address = ?1 AND until <= ?2";
        self.db.prepare_cached(sql)?.execute((&address, number(now)))?;
        let sql = "SELECT count(*), min(until) FROM slots WHERE address = ?1";
        let (taken, first): (i64, Option<i64>) = self
            .db
            .prepare_cached(sql)?
            .query_row([&address], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if taken >= i64::from(claim.cap) {
            return Ok(Err(first.map_or(now, time)));
        }
        let sql = "INSERT OR REPLACE INTO slots (address, lease, until) VALUES (?1, ?2, ?3)";
        let slot = (&address, lease.0 as i64, number(claim.until));
        self.db.prepare_cached(sql)?.execute(slot)?;
        self.slots.insert(lease);
        Ok(Ok(()))
    }

    /// The leases that have slots: what is given back without one costs nothing.
    pub(super) fn leases_with_slots(db: &Connection) -> Result<HashSet<LeaseId>, rusqlite::Error> {
        let mut statement = db.prepare("SELECT lease FROM slots")?;
        let leases = statement.query_map([], |row| Ok(LeaseId(row.get::<_, i64>(0)? as u64)))?;
        leases.collect()
    }

    /// Gives a slot back.
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

/// An address as bytes; an IPv4 address inside an IPv6 one is the same address.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}
