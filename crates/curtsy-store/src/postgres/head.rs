//! The row about the ledger itself, and the server's clock.

use curtsy_core::time::Time;
use curtsy_engine::Epoch;

use super::failure::PgFailure;
use super::link::{PgSession, Texts};
use crate::ledger::{number, time};

/// The row about the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) struct PgHead {
    /// The ledger's name.
    pub(super) id: i64,
    /// What is added to the server's clock, and how often that was changed.
    offset: i64,
    pub(super) steps: u64,
    /// The store's time of the last write.
    pub(super) latest: Time,
    /// The number of transactions that wrote something.
    pub(super) writes: i64,
    /// The number of changes of stop orders.
    pub(super) orders: i64,
    pub(super) epoch: Epoch,
    clock: u64,
}

/// The server's clock, in microseconds.
macro_rules! clock {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

/// The columns of a [`PgHead`].
macro_rules! columns {
    () => {
        concat!(
            "id, clock_offset, steps, latest, writes, orders, epoch, floor, quiet_until, emptied, ",
            clock!()
        )
    };
}

/// Reads the head.
pub(super) const LOOK: &str = concat!("SELECT ", columns!(), " FROM curtsy_ledger");

/// Begins a transaction in which no other process writes, and reads the head. The clock is read
/// after the lock was taken, not before the wait for it.
pub(super) const LOCK_AND_LOOK: &str = concat!(
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ",
    columns!(),
    " FROM (SELECT * FROM curtsy_ledger FOR UPDATE) AS locked"
);

impl PgHead {
    /// Reads the head; `None` if there is no row.
    pub(super) fn look(session: &mut PgSession, sql: &str) -> Result<Option<PgHead>, PgFailure> {
        session.look(sql)?.map(|row| PgHead::read(&row)).transpose()
    }

    fn read(row: &Texts) -> Result<PgHead, PgFailure> {
        Ok(PgHead {
            id: row.number(0)?,
            offset: row.number(1)?,
            steps: row.number(2)? as u64,
            latest: time(row.number(3)?),
            writes: row.number(4)?,
            orders: row.number(5)?,
            epoch: Epoch {
                id: row.number(6)? as u64,
                floor: row.number_if_any(7)?.map(time),
                quiet_until: row.number_if_any(8)?.map(time),
                emptied: row.flag(9),
            },
            clock: row.number(10)?.unsigned_abs(),
        })
    }

    /// Returns the store's time of the reading, by the server's clock or by `instead`.
    pub(super) fn now(&self, instead: Option<u64>) -> Time {
        let clock = instead.unwrap_or(self.clock);
        Time::from_micros(clock.saturating_add_signed(self.offset))
    }
}

/// Returns SQL that creates the row if it is missing.
pub(super) fn first(clock: Option<u64>) -> String {
    let clock = clock.map_or(clock!().to_owned(), |clock| clock.to_string());
    // The time makes the epochs of each ledger differ, so a worker that knew another ledger
    // notices.
    format!(
        "INSERT INTO curtsy_ledger (one, id, clock_offset, steps, latest, writes, orders, epoch, floor, quiet_until, emptied)
        SELECT 1, now, 0, 0, now, 0, 0, now, NULL, NULL, false FROM (SELECT {clock} AS now) AS clock
        ON CONFLICT (one) DO NOTHING"
    )
}

/// Returns SQL that corrects a step of the clock, unless another process has done so.
pub(super) fn step(by: i64, steps: u64) -> String {
    format!(
        "UPDATE curtsy_ledger SET clock_offset = clock_offset + ({by}), steps = steps + 1 WHERE steps = {steps}"
    )
}

/// Returns SQL that begins an epoch.
pub(super) fn begin_epoch(epoch: &Epoch) -> String {
    let or_null = |time: Option<Time>| time.map_or("NULL".to_owned(), |t| number(t).to_string());
    format!(
        "UPDATE curtsy_ledger SET epoch = {}, floor = {}, quiet_until = {}, emptied = {}",
        epoch.id,
        or_null(epoch.floor),
        or_null(epoch.quiet_until),
        epoch.emptied
    )
}
