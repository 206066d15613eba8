//! Table functions that work on a thread of their own and then return all their rows.

use std::vec::IntoIter;

use crate::duck::{
    Argument, Bind, CallerSession, Chunk, NamedParameter, SqlError, TableFunction, Type,
};
use crate::order::{CrawlOrder, GivenOptions, OPTIONS, Seeds, SessionSettings, order};
use crate::task::{CrawlThread, StopSignal};

/// A call whose first argument has the URLs.
#[derive(Clone)]
pub(crate) struct UrlsCall {
    /// The crawl of these URLs.
    pub(crate) order: CrawlOrder,
    /// Texts that are not URLs.
    pub(crate) malformed: Vec<String>,
    /// The caller's session.
    pub(crate) caller: CallerSession,
}

impl UrlsCall {
    /// Reads a call. `seeds` reads its first argument.
    pub(crate) fn read(
        bind: &Bind<'_>,
        seeds: fn(&Argument) -> Result<Seeds, SqlError>,
    ) -> Result<UrlsCall, SqlError> {
        let Seeds { urls, malformed } = seeds(&bind.argument(0))?;
        let order = order(&GivenOptions::of_call(bind), &SessionSettings::of(bind), urls)?;
        Ok(UrlsCall { order, malformed, caller: bind.caller() })
    }

    /// Reads a call for the sitemaps of one site.
    pub(crate) fn read_site(bind: &Bind<'_>) -> Result<UrlsCall, SqlError> {
        let mut call = UrlsCall::read(bind, Seeds::all)?.naming(bind);
        // A sitemap that robots.txt names counts for every URL of the site.
        call.order.job.discovery.follow_sitemaps = true;
        call.order.job.discovery.sitemaps_of_sites = false;
        Ok(call)
    }

    /// Permits requests to a host of this machine that the call names.
    pub(crate) fn naming(mut self, bind: &Bind<'_>) -> UrlsCall {
        self.order = self.order.naming(&bind.argument(0));
        self
    }
}

/// A table function that works on a thread of its own and then returns all its rows.
pub(crate) trait Listing: 'static {
    const NAME: &'static str;
    /// The type of the first argument.
    const URLS: Type;
    const COLUMNS: &'static [(&'static str, Type)];
    type Row: Send + 'static;

    /// Reads the call.
    fn call(bind: &Bind<'_>) -> Result<UrlsCall, SqlError>;

    /// Does the work. Ends soon after the signal.
    fn rows(call: UrlsCall, stop: StopSignal) -> Result<Vec<Self::Row>, SqlError>;

    /// Writes a row into a line of a chunk.
    fn write(out: &mut Chunk<'_>, line: usize, row: Self::Row);
}

/// A listing that is made, and then returned.
pub(crate) enum ListingRun<R> {
    Works(CrawlThread<Result<Vec<R>, SqlError>>),
    Has(IntoIter<R>),
}

impl<L: Listing> TableFunction for L {
    const NAME: &'static str = <L as Listing>::NAME;
    const POSITIONAL: &'static [Type] = &[L::URLS];
    const NAMED: &'static [NamedParameter] = OPTIONS;
    const COLUMNS: &'static [(&'static str, Type)] = <L as Listing>::COLUMNS;
    type Bound = UrlsCall;
    type Running = ListingRun<L::Row>;

    fn bind(bind: &mut Bind<'_>) -> Result<UrlsCall, SqlError> {
        L::call(bind)
    }

    fn start(call: &UrlsCall) -> Result<ListingRun<L::Row>, SqlError> {
        let call = call.clone();
        Ok(ListingRun::Works(CrawlThread::start(move |stop| L::rows(call, stop))?))
    }

    fn fill(
        _: &UrlsCall,
        running: &mut ListingRun<L::Row>,
        out: &mut Chunk<'_>,
    ) -> Result<(), SqlError> {
        if let ListingRun::Works(thread) = running {
            let Some(rows) = thread.result(out)? else { return Ok(()) };
            *running = ListingRun::Has(rows?.into_iter());
        }
        if let ListingRun::Has(rows) = running {
            out.fill(rows, L::write);
        }
        Ok(())
    }
}
