//! Slots of addresses in Postgres: named leases with a deadline, so that none can leak.

use std::collections::HashSet;
use std::net::IpAddr;

use curtsy_core::host::LeaseId;
use curtsy_core::time::Time;
use curtsy_engine::AddressClaim;

use super::PgLedger;
use super::failure::Failure;
use crate::Hours;
use crate::ledger::{number, octets, time};

impl<H: Hours> PgLedger<H> {
    /// Takes a slot, or tells when the first of those that are taken runs out.
    pub(crate) fn take_slot(
        &mut self,
        claim: &AddressClaim,
        lease: LeaseId,
        now: Time,
    ) -> Result<Result<(), Time>, Failure> {
        let address = octets(claim.address);
        let (cap, until, id) = (i64::from(claim.cap), number(claim.until), lease.0 as i64);
        let at = number(now);
        let (taken, first): (i64, Option<i64>) = self.change(move |session| {
            // All parts see the table as it was before.
            let sql = "WITH ended AS (DELETE FROM curtsy_slots WHERE address = $1 AND until <= $2 AND lease <> $3),
                taken AS (SELECT count(*) AS slots, min(until) AS first FROM curtsy_slots WHERE address = $1 AND until > $2),
                put AS (INSERT INTO curtsy_slots (address, lease, until) SELECT $1, $3, $4 FROM taken WHERE slots < $5
                    ON CONFLICT (address, lease) DO UPDATE SET until = excluded.until)
                SELECT slots, first FROM taken";
            let rows = session.query(sql, &[&address, &at, &id, &until, &cap])?;
            let row = rows.first().ok_or_else(|| Failure::damaged("a count is missing"))?;
            Ok((row.get(0), row.get(1)))
        })?;
        if taken >= cap {
            return Ok(Err(first.map_or(now, time)));
        }
        self.slots.insert(lease);
        Ok(Ok(()))
    }

    /// The leases that have slots: what is given back without one costs nothing.
    pub(super) fn leases_with_slots(&mut self) -> Result<HashSet<LeaseId>, Failure> {
        self.tell(|session| {
            let rows = session.query("SELECT lease FROM curtsy_slots", &[])?;
            Ok(rows.iter().map(|row| LeaseId(row.get::<_, i64>(0) as u64)).collect())
        })
    }

    /// Gives a slot back.
    pub(crate) fn give_slot(&mut self, address: IpAddr, lease: LeaseId) -> Result<(), Failure> {
        if !self.slots.remove(&lease) {
            return Ok(());
        }
        self.transaction.given.push(lease);
        let (address, lease) = (octets(address), lease.0 as i64);
        self.change(move |session| {
            let sql = "DELETE FROM curtsy_slots WHERE address = $1 AND lease = $2";
            session.write(sql, &[&address, &lease])
        })?;
        Ok(())
    }
}
