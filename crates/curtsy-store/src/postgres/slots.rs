//! Slots of addresses in Postgres: named leases with a deadline, so none can leak.

use std::collections::HashSet;
use std::net::IpAddr;

use curtsy_core::host::LeaseId;
use curtsy_core::time::Time;
use curtsy_engine::AddressClaim;
use curtsy_engine::check::SlotsTaken;

use super::PgLedger;
use super::failure::PgFailure;
use crate::MachineClock;
use crate::ledger::{number, octets, time};

impl<H: MachineClock> PgLedger<H> {
    pub(crate) fn slots_taken(
        &mut self,
        address: IpAddr,
        now: Time,
    ) -> Result<SlotsTaken, PgFailure> {
        let (address, now) = (octets(address), number(now));
        let slots = self.transaction.slots.iter();
        let new: Vec<i64> = slots
            .filter(|((of, _), until)| *of == address && **until > now)
            .map(|(_, until)| *until)
            .collect();
        let (count, first_end): (i64, Option<i64>) = self.change(move |session| {
            let sql = "WITH ended AS (DELETE FROM curtsy_slots WHERE address = $1 AND until <= $2)
                SELECT count(*), min(until) FROM curtsy_slots WHERE address = $1 AND until > $2";
            let rows = session.query(sql, &[&address, &now])?;
            let row = rows.first().ok_or_else(|| PgFailure::damaged("a count is missing"))?;
            Ok((row.get(0), row.get(1)))
        })?;
        let first_end = new.iter().copied().chain(first_end).min().map(time);
        Ok(SlotsTaken { count: count.unsigned_abs() + new.len() as u64, first_end })
    }

    pub(crate) fn take_slot(
        &mut self,
        claim: &AddressClaim,
        lease: LeaseId,
    ) -> Result<(), PgFailure> {
        let slot = (octets(claim.address), lease.0 as i64);
        self.transaction.slots.insert(slot, number(claim.until));
        self.slots.insert(lease);
        Ok(())
    }

    pub(super) fn leases_with_slots(&mut self) -> Result<HashSet<LeaseId>, PgFailure> {
        self.run(|session| {
            let rows = session.query("SELECT lease FROM curtsy_slots", &[])?;
            Ok(rows.iter().map(|row| LeaseId(row.get::<_, i64>(0) as u64)).collect())
        })
    }

    pub(crate) fn give_slot(&mut self, address: IpAddr, lease: LeaseId) -> Result<(), PgFailure> {
        if !self.slots.remove(&lease) {
            return Ok(());
        }
        self.transaction.given.push(lease);
        let slot = (octets(address), lease.0 as i64);
        if self.transaction.slots.remove(&slot).is_some() {
            return Ok(());
        }
        self.change(move |session| {
            let sql = "DELETE FROM curtsy_slots WHERE address = $1 AND lease = $2";
            session.write(sql, &[&slot.0, &slot.1])
        })?;
        Ok(())
    }
}
