//! The ledger of hosts that a crawl uses, in a file or in a database.
//!
//! Both kinds have the same methods, which say what they do in [`Ledger`]. The methods here call
//! those of the one that is open, and make one error of both.

use std::net::IpAddr;
use std::sync::Arc;

use curtsy_core::host::{Anew, HostState, LeaseId, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::check::SlotsTaken;
use curtsy_engine::{
    AddressClaim, CachedPage, Epoch, Exchanged, Fetched, Head, Order, Orders, RobotsFile,
};

use crate::fault::StoreFault;
use crate::kept::LedgerRow;
use crate::ledger::Changed;
use crate::pages::PageWrite;
#[cfg(feature = "postgres")]
use crate::postgres::PgLedger;
use crate::{Ledger, LedgerPlace, MachineClock, OpenError, Options, ReadableTables};

/// A ledger of hosts.
pub(crate) enum HostLedger<H> {
    /// In a file of this machine.
    File(Ledger<H>),
    /// In a database.
    #[cfg(feature = "postgres")]
    Postgres(PgLedger<H>),
}

/// Calls the ledger that is open.
macro_rules! either {
    ($host_ledger:expr, $ledger:ident => $call:expr) => {
        match $host_ledger {
            HostLedger::File($ledger) => $call,
            #[cfg(feature = "postgres")]
            HostLedger::Postgres($ledger) => $call,
        }
    };
}

/// Defines methods that call those of the ledger that is open.
macro_rules! methods {
    ($(fn $name:ident(&mut $this:ident $(, $arg:ident: $kind:ty)*) -> $out:ty;)*) => {
        $(pub(crate) fn $name(&mut $this $(, $arg: $kind)*) -> Result<$out, StoreFault> {
            Ok(either!($this, ledger => ledger.$name($($arg),*)?))
        })*
    };
}

impl<H: MachineClock> HostLedger<H> {
    methods! {
        fn refresh(&mut self) -> Changed;
        fn begin(&mut self) -> Changed;
        fn row(&mut self, host: &HostKey) -> &LedgerRow;
        fn write(
            &mut self,
            host: &HostKey,
            state: Arc<HostState>,
            exchanged: Option<&Exchanged>,
            now: Time
        ) -> u64;
        fn slots_taken(&mut self, address: IpAddr, now: Time) -> SlotsTaken;
        fn take_slot(&mut self, claim: &AddressClaim, lease: LeaseId) -> ();
        fn give_slot(&mut self, address: IpAddr, lease: LeaseId) -> ();
        fn keep_robots(&mut self, id: RobotsId, file: &Arc<RobotsFile>, now: Time) -> ();
        fn robots(&mut self, id: RobotsId) -> Option<Arc<RobotsFile>>;
        fn give(&mut self, host: &HostKey, stopped: bool) -> Changed;
        fn order(&mut self, orders: &[Order]) -> Changed;
        fn keep_page(&mut self, page: &Arc<PageWrite>, now: Time) -> ();
        fn pages(&mut self, keys: &[UrlKey]) -> Vec<Option<CachedPage>>;
        fn page(&mut self, key: UrlKey) -> Option<(Head, Fetched)>;
        fn empty(&mut self) -> ();
    }

    /// Opens or creates a ledger.
    pub(crate) fn open(
        place: LedgerPlace,
        hours: H,
        options: &Options,
    ) -> Result<HostLedger<H>, OpenError> {
        match place {
            LedgerPlace::File(path) => {
                Ledger::open_showing(&path, hours, options).map(HostLedger::File)
            }
            #[cfg(feature = "postgres")]
            LedgerPlace::Postgres(url) => {
                PgLedger::open(&url, hours, options).map(HostLedger::Postgres)
            }
        }
    }

    /// Returns where the ledger is, for messages.
    pub(crate) fn place(&self) -> LedgerPlace {
        match self {
            HostLedger::File(ledger) => LedgerPlace::from(ledger.path()),
            #[cfg(feature = "postgres")]
            HostLedger::Postgres(ledger) => ledger.place().clone(),
        }
    }

    /// Forgets the failures of a host during which no request of ours could reach it. Only crawls
    /// with a file of their own call this, and their ledger is a file.
    pub(crate) fn try_anew(&mut self, host: &HostKey, why: Anew) -> Result<(), rusqlite::Error> {
        match self {
            HostLedger::File(ledger) => ledger.try_anew(host, why),
            #[cfg(feature = "postgres")]
            HostLedger::Postgres(_) => Ok(()),
        }
    }

    pub(crate) fn now(&mut self) -> Time {
        either!(self, ledger => ledger.now())
    }

    /// Returns how often another process was found to have written. Always 0 for a database.
    pub(crate) fn others(&self) -> u64 {
        match self {
            HostLedger::File(ledger) => ledger.others(),
            #[cfg(feature = "postgres")]
            HostLedger::Postgres(_) => 0,
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        either!(self, ledger => ledger.epoch())
    }

    pub(crate) fn orders(&self) -> &Arc<Orders> {
        either!(self, ledger => ledger.orders())
    }

    pub(crate) fn shows(&self) -> &ReadableTables {
        either!(self, ledger => ledger.shows())
    }

    /// Ends a transaction. After an error it may be written or not, and nothing of it stays in
    /// memory.
    pub(crate) fn end(&mut self) -> Result<(), StoreFault> {
        either!(self, ledger => Ok(ledger.end(Ok(()))?))
    }

    pub(crate) fn roll_back(&mut self) {
        either!(self, ledger => ledger.roll_back());
    }

    /// Reads the hosts that are needed next in one query, if the ledger is in a database.
    pub(crate) fn look_ahead(&mut self, hosts: &[&HostKey]) -> Result<(), StoreFault> {
        match self {
            HostLedger::File(_) => {
                let _ = hosts;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            HostLedger::Postgres(ledger) => Ok(ledger.look_ahead(hosts)?),
        }
    }

    /// Reads a host's state.
    pub(crate) fn state(&mut self, host: &HostKey) -> Result<Arc<HostState>, StoreFault> {
        self.refresh()?;
        Ok(self.row(host)?.state.clone())
    }
}
