//! The ledger of hosts that a crawl works with, wherever it is kept: the verbs that [`Core`](crate::core::Core) needs of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Anew, HostState, LeaseId, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::{
    AddressClaim, CachedPage, Epoch, Exchanged, Fetched, Head, Order, Orders, RobotsFile,
};

use crate::fault::Fault;
use crate::kept::HostRow;
use crate::ledger::Changed;
use crate::pages::PageWrite;
#[cfg(feature = "postgres")]
use crate::postgres::PgLedger;
use crate::{Hours, Ledger, OpenError, Place, Shows};

/// A ledger of hosts.
pub(crate) enum Books<H> {
    /// In a file of this machine.
    File(Ledger<H>),
    /// In a database.
    #[cfg(feature = "postgres")]
    Postgres(PgLedger<H>),
}

/// Asks whichever ledger it is, and gives its error as one of both.
macro_rules! either {
    ($self:ident, $ledger:ident => $call:expr) => {
        match $self {
            Books::File($ledger) => Ok($call?),
            #[cfg(feature = "postgres")]
            Books::Postgres($ledger) => Ok($call?),
        }
    };
}

impl<H: Hours> Books<H> {
    /// Opens or begins a ledger. Nothing is granted for `quiet` when a new epoch begins: one lease.
    pub(crate) fn open(
        place: Place,
        hours: H,
        quiet: Duration,
        shows: Shows,
    ) -> Result<Books<H>, OpenError> {
        match place {
            Place::File(path) => Ledger::open_showing(&path, hours, quiet, shows).map(Books::File),
            #[cfg(feature = "postgres")]
            Place::Postgres(url) => PgLedger::open(&url, hours, quiet, shows).map(Books::Postgres),
        }
    }

    /// Where it is, for messages.
    pub(crate) fn place(&self) -> Place {
        match self {
            Books::File(ledger) => Place::from(ledger.path()),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.place().clone(),
        }
    }

    /// Takes back what was held against a host while no request of ours could reach it. Only crawls with files of their own ask for it.
    pub(crate) fn try_anew(&mut self, host: &HostKey, why: Anew) -> Result<(), rusqlite::Error> {
        match self {
            Books::File(ledger) => ledger.try_anew(host, why),
            #[cfg(feature = "postgres")]
            Books::Postgres(_) => Ok(()),
        }
    }

    /// The store's time.
    pub(crate) fn now(&mut self) -> Time {
        match self {
            Books::File(ledger) => ledger.now(),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.now(),
        }
    }

    /// How often others were found to have written; a database does not tell.
    pub(crate) fn others(&self) -> u64 {
        match self {
            Books::File(ledger) => ledger.others(),
            #[cfg(feature = "postgres")]
            Books::Postgres(_) => 0,
        }
    }

    /// The epoch, as of the last look.
    pub(crate) fn epoch(&self) -> Epoch {
        match self {
            Books::File(ledger) => ledger.epoch(),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.epoch(),
        }
    }

    /// The newest order for each host, as of the last look.
    pub(crate) fn orders(&self) -> &Arc<Orders> {
        match self {
            Books::File(ledger) => ledger.orders(),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.orders(),
        }
    }

    /// What is shown beside it.
    pub(crate) fn shows(&self) -> &Shows {
        match self {
            Books::File(ledger) => ledger.shows(),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.shows(),
        }
    }

    /// Looks whether others wrote. What they did is known afterwards.
    pub(crate) fn refresh(&mut self) -> Result<Changed, Fault> {
        either!(self, ledger => ledger.refresh())
    }

    /// Begins a transaction. Nobody else writes until its end, and what others wrote is known.
    pub(crate) fn begin(&mut self) -> Result<Changed, Fault> {
        either!(self, ledger => ledger.begin())
    }

    /// Ends a transaction. If that fails, it may be written or not, and what was in memory of it counts no more.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        match self {
            Books::File(ledger) => Ok(ledger.end(Ok(()))?),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => Ok(ledger.end(Ok(()))?),
        }
    }

    /// Ends a transaction as if it had not been.
    pub(crate) fn roll_back(&mut self) {
        match self {
            Books::File(ledger) => ledger.roll_back(),
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => ledger.roll_back(),
        }
    }

    /// These hosts are asked for next: a ledger that is far away looks for all of them at once.
    pub(crate) fn look_ahead(&mut self, hosts: &[&HostKey]) -> Result<(), Fault> {
        match self {
            Books::File(_) => {
                let _ = hosts;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Books::Postgres(ledger) => Ok(ledger.look_ahead(hosts)?),
        }
    }

    /// A host as it is now. Call [`Books::refresh`] or [`Books::begin`] before.
    pub(crate) fn row(&mut self, host: &HostKey) -> Result<&HostRow, Fault> {
        either!(self, ledger => ledger.row(host))
    }

    /// A host's state.
    pub(crate) fn state(&mut self, host: &HostKey) -> Result<Arc<HostState>, Fault> {
        self.refresh()?;
        Ok(self.row(host)?.state.clone())
    }

    /// Writes a host whose row was compared in this transaction, and what is shown of it. Gives its version.
    pub(crate) fn write(
        &mut self,
        host: &HostKey,
        state: Arc<HostState>,
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Result<u64, Fault> {
        either!(self, ledger => ledger.write(host, state, exchanged, now))
    }

    /// Takes a slot, or tells when the first of those that are taken runs out.
    pub(crate) fn take_slot(
        &mut self,
        claim: &AddressClaim,
        lease: LeaseId,
        now: Time,
    ) -> Result<Result<(), Time>, Fault> {
        either!(self, ledger => ledger.take_slot(claim, lease, now))
    }

    /// Gives a slot back.
    pub(crate) fn give_slot(&mut self, address: IpAddr, lease: LeaseId) -> Result<(), Fault> {
        either!(self, ledger => ledger.give_slot(address, lease))
    }

    /// Keeps a robots.txt.
    pub(crate) fn keep_robots(
        &mut self,
        id: RobotsId,
        file: &Arc<RobotsFile>,
        now: Time,
    ) -> Result<(), Fault> {
        either!(self, ledger => ledger.keep_robots(id, file, now))
    }

    /// A robots.txt.
    pub(crate) fn robots(&mut self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, Fault> {
        either!(self, ledger => ledger.robots(id))
    }

    /// Orders that nothing more is asked of a host, or lifts the order.
    pub(crate) fn give(&mut self, host: &HostKey, stopped: bool) -> Result<Changed, Fault> {
        either!(self, ledger => ledger.give(host, stopped))
    }

    /// Takes over orders that are newer than what is known of their hosts.
    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<Changed, Fault> {
        either!(self, ledger => ledger.order(orders))
    }

    /// Keeps a page, in the transaction that is under way.
    pub(crate) fn keep_page(&mut self, page: &Arc<PageWrite>, now: Time) -> Result<(), Fault> {
        either!(self, ledger => ledger.keep_page(page, now))
    }

    /// What is kept of pages, each in its place.
    pub(crate) fn pages(&mut self, keys: &[UrlKey]) -> Result<Vec<Option<CachedPage>>, Fault> {
        either!(self, ledger => ledger.pages(keys))
    }

    /// A page, if its text is kept.
    pub(crate) fn page(&mut self, key: UrlKey) -> Result<Option<(Head, Fetched)>, Fault> {
        either!(self, ledger => ledger.page(key))
    }

    /// Forgets everything and begins a new epoch, as if it had been lost.
    pub(crate) fn empty(&mut self) -> Result<(), Fault> {
        either!(self, ledger => ledger.empty())
    }
}
