//! Which of http and https does a site speak, and can it be dialled at all?
//!
//! A seed without a scheme is tried with the likely scheme: https, or http on the user's own
//! machine. The try is a request for robots.txt, paced and recorded in the ledger like a request of
//! a crawl, so the crawl does not repeat it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::host::{Outcome, Problem};
use curtsy_core::url::{CrawlUrl, Scheme};
use curtsy_engine::Batch;
use curtsy_fetch::{GuardRefusal, HttpFetch, Outlet, TokioClock};
use curtsy_store::{Ledger, Options, SystemClock};

use crate::attend::runtime;
use crate::report::REQUEST_KINDS;
use crate::{CrawlError, EachBatch, JobSpec, RunEnding, SeedsAre, Streaming, Unwatched, stream};

/// Chooses between a seed with its likely scheme and the same seed with the other scheme. The other
/// scheme wins only if the site speaks it and does not speak the likely one. The requests are added
/// to the job's prelude.
pub fn spoken(
    spec: &mut JobSpec,
    [likely, other]: [&CrawlUrl; 2],
    mut asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<Scheme, CrawlError> {
    if let Some(known) = known(spec, [likely, other])? {
        return Ok(known);
    }
    let silent = match ask(spec, likely, &mut asked)? {
        SchemeAnswer::Yes | SchemeAnswer::Unknown => false,
        // Servers send status 400 for http on a port for https.
        SchemeAnswer::BadRequest => likely.scheme() == Scheme::Http,
        SchemeAnswer::No(problem) => is_silence(problem),
    };
    if !silent {
        return Ok(likely.scheme());
    }
    let other_is_spoken = match ask(spec, other, &mut asked)? {
        SchemeAnswer::Yes => true,
        SchemeAnswer::No(problem) => is_tls(problem),
        SchemeAnswer::BadRequest | SchemeAnswer::Unknown => false,
    };
    Ok(if other_is_spoken { other.scheme() } else { likely.scheme() })
}

/// Whether a failure shows that a site does not speak a scheme. A failed name lookup or a failed
/// proxy shows nothing of this.
fn is_silence(problem: Problem) -> bool {
    use Problem::{Connect, ConnectTimeout, FirstByteTimeout, Malformed, Reset, TlsAbsent};
    matches!(problem, Connect | ConnectTimeout | Reset | TlsAbsent | Malformed | FirstByteTimeout)
}

/// Whether a failed handshake shows that the server speaks TLS. Then nothing is requested without
/// encryption.
fn is_tls(problem: Problem) -> bool {
    use Problem::{Tls, TlsExpired, TlsIssuer, TlsName};
    matches!(problem, Tls | TlsExpired | TlsIssuer | TlsName)
}

/// Returns the scheme that a site is known to speak: its robots.txt was answered with this scheme
/// and is not due again.
pub fn known(
    spec: &JobSpec,
    [likely, other]: [&CrawlUrl; 2],
) -> Result<Option<Scheme>, CrawlError> {
    let file = spec.ledger_file()?;
    if !file.exists() {
        return Ok(None);
    }
    let mut ledger = Ledger::open(file, SystemClock, Options::default().quiet)?;
    let of = |e| curtsy_store::OpenError::sqlite(file, e);
    let (state, now) = (ledger.state(likely.host()).map_err(of)?, ledger.now());
    let answered = |url: &CrawlUrl| {
        state.robots_of(&url.authority()).is_some_and(|robots| {
            let asked_for = robots.good_until(&spec.policy.robots) > now;
            asked_for && robots.failing_since.is_none() && robots.good_at.is_some()
        })
    };
    let urls = [likely, other].into_iter();
    Ok(urls.filter(|url| answered(url)).map(CrawlUrl::scheme).next())
}

/// Checks whether a URL could be dialled now: its port, its name, its addresses. Nothing is sent to
/// the site.
pub fn dialable(spec: &JobSpec, url: &CrawlUrl) -> Result<Dialable, CrawlError> {
    let outlet = Outlet::new(&spec.outlet)?;
    let fetch = HttpFetch::new(&outlet, TokioClock::new());
    let problem = runtime()?.block_on(fetch.check(url)).err();
    Ok(Dialable { problem, refused: outlet.refusals().into_iter().next() })
}

/// What prevents a connection to a site.
#[derive(Clone, Debug)]
pub struct Dialable {
    /// The expected failure.
    pub problem: Option<Problem>,
    /// The address that may not be dialled.
    pub refused: Option<GuardRefusal>,
}

/// The result of a request for robots.txt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SchemeAnswer {
    Yes,
    /// The response had status 400.
    BadRequest,
    No(Problem),
    /// Nothing was sent: the host must wait.
    Unknown,
}

fn ask(
    job: &mut JobSpec,
    url: &CrawlUrl,
    asked: &mut impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<SchemeAnswer, CrawlError> {
    let mut spec = job.clone();
    spec.seeds = vec![url.clone()];
    spec.seeds_are = SeedsAre::Rules;
    spec.discovery.seeds = spec.seeds.clone();
    spec.discovery.follow_sitemaps = false;
    let mut policy = (*spec.policy).clone();
    policy.patience = Some(Duration::ZERO);
    spec.policy = Arc::new(policy);
    // The requests: robots.txt and its redirects.
    let steps = Mutex::new(Vec::new());
    let keep = |batch: &Batch| {
        let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.extend(batch.steps.iter().cloned());
    };
    let (how, asked) = (Streaming::one_worker(100), async || asked().await);
    let report = stream(&spec, how, |_| EachBatch(keep), &mut Unwatched, asked)?;
    let steps = steps.into_inner().unwrap_or_else(PoisonError::into_inner);
    let last = steps.last().map(|step| step.outcome);
    job.prelude.steps.extend(steps);
    for (sum, kind) in job.prelude.sent.iter_mut().zip(REQUEST_KINDS) {
        *sum += report.requests.get(kind).copied().unwrap_or(0);
    }
    Ok(match (last, report.how) {
        (Some(Outcome::Failed(problem)), _) => SchemeAnswer::No(problem),
        (Some(Outcome::Answered { status: 400, .. }), _) => SchemeAnswer::BadRequest,
        (_, RunEnding::Complete) => SchemeAnswer::Yes,
        _ => SchemeAnswer::Unknown,
    })
}
