//! What a crawl would do with a URL now: the decision of the engine, on what the ledger of hosts
//! knows. Nothing is sent.

use std::time::Duration;

use curtsy_core::evidence::{SentenceContext, sentence};
use curtsy_core::host::{
    Action, Approach, Decision, DelayBy, Gate, HostState, PaceReason, Reason, RequestKind,
    RobotsReason, Verdict,
};
use curtsy_core::policy::Policy;
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, HostKey};
use curtsy_engine::{CachedPage, UrlRecord, decide, ruling};
use curtsy_store::{Ledger, MachineClock, OpenError, SharedPages};

use crate::JobSpec;
use crate::sharing::Sharing;

/// A decision and its reasons.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What would be done.
    pub decision: Decision,
    /// Every gate with its verdict and a sentence.
    pub gates: Vec<(Gate, Verdict, String)>,
    /// The line of robots.txt that decides, with its number.
    pub rule: Option<(u32, String)>,
    /// The delay between two requests to the host.
    pub delay: Duration,
    /// The authority whose robots.txt asks for this delay; none if the policy does.
    pub delay_by: Option<Authority>,
    /// The status of the copy that the page cache holds, if the decision is to use it.
    pub held_status: Option<u16>,
    /// The ledger's time.
    pub now: Time,
}

/// Returns what a crawl would do with its next request for a URL, in words.
pub fn would_do(approach: &Approach) -> String {
    match approach.kind {
        RequestKind::Robots => format!("would first ask for {}", approach.url.as_str()),
        RequestKind::Probe => "would first see whether the host is back (HEAD /)".to_owned(),
        _ => "would be fetched".to_owned(),
    }
}

/// Returns what a new crawl with this order would do with a URL now. A page in the shared cache is
/// used as the crawl would use it.
pub fn explain_job<H: MachineClock>(
    ledger: &mut Ledger<H>,
    spec: &JobSpec,
    url: &CrawlUrl,
) -> Result<Explained, OpenError> {
    // Opening would create the folder of the cache.
    let begun = spec.ledger.file().is_some_and(|file| SharedPages::beside(file).exists());
    let sharing = if begun { Sharing::open(spec).0 } else { None };
    let held = sharing.and_then(|sharing| {
        let held = sharing.find(url.key())?;
        // An incomplete page is requested.
        sharing.page(url.key()).map(|_| held)
    });
    let mut explained = explain_with(ledger, &spec.policy, url, held.as_ref().map(|h| &h.kept))?;
    let held = held.filter(|_| matches!(explained.decision.action, Action::UseCached));
    explained.held_status = held.map(|held| held.head.status);
    Ok(explained)
}

/// Returns what a crawl with this policy, and without a cached page, would do with a URL now.
pub fn explain<H: MachineClock>(
    ledger: &mut Ledger<H>,
    policy: &Policy,
    url: &CrawlUrl,
) -> Result<Explained, OpenError> {
    explain_with(ledger, policy, url, None)
}

fn explain_with<H: MachineClock>(
    ledger: &mut Ledger<H>,
    policy: &Policy,
    url: &CrawlUrl,
    held: Option<&CachedPage>,
) -> Result<Explained, OpenError> {
    let path = ledger.path().to_owned();
    let of = |e| OpenError::sqlite(&path, e);
    let view = ledger.view(url.host()).map_err(of)?;
    let record = UrlRecord::page(url.clone(), 0);
    let robots = match ruling(&view, policy, &record) {
        Some(id) => ledger.robots(id).map_err(of)?,
        None => None,
    };
    let decision = decide(&view, robots.as_deref(), policy, policy.product_token(), &record, held);
    let parsed = robots.as_ref().map(|file| Robots::parse(&file.text));
    let names = SentenceContext { robots: parsed.as_ref(), now: view.now };
    let (delay, delay_by) = pace(&view.state, &policy.for_host(url.host().as_str()), url.host());
    let gates = decision.findings.iter();
    let gates = gates
        .map(|(gate, finding)| {
            let mut text = sentence(gate, finding, &names);
            if let (
                Reason::Pace(PaceReason::Delay {
                    by: DelayBy::CrawlDelay | DelayBy::Parked, ..
                }),
                Some(by),
            ) = (finding.reason, delay_by.as_ref().filter(|by| **by != url.authority()))
            {
                // A host has one pace: that of the authority that asks for the longest delay.
                text.push_str(&format!("; {} asks for it", by.robots_url().as_str()));
            }
            (gate, finding.verdict, text)
        })
        .collect();
    let line = match decision.findings.of(Gate::Robots).reason {
        Reason::Robots(RobotsReason::Allows { line, .. } | RobotsReason::Forbids { line, .. }) => {
            line
        }
        _ => None,
    };
    let text = line.zip(parsed.as_ref()).and_then(|(line, robots)| robots.line_text(line));
    let rule = line.zip(text).map(|(line, text)| (line, text.trim().to_owned()));
    let held_status = None;
    Ok(Explained { decision, gates, rule, delay, delay_by, held_status, now: view.now })
}

impl Explained {
    /// Whether robots.txt allows it; none if that is unknown.
    pub fn allowed(&self) -> Option<bool> {
        let asks =
            matches!(&self.decision.action, Action::Approach(to) if to.kind == RequestKind::Robots);
        match self.decision.findings.of(Gate::Robots).verdict {
            Verdict::Never => Some(false),
            Verdict::Go if !asks => Some(true),
            _ => None,
        }
    }
}

/// Returns the delay between two requests to a host, and the authority whose robots.txt asks for
/// it; none if the policy does.
pub fn pace(state: &HostState, policy: &Policy, host: &HostKey) -> (Duration, Option<Authority>) {
    let longest = state.all_robots().max_by_key(|robots| robots.crawl_delay_micros);
    let asked = longest.map_or(Duration::ZERO, |r| Duration::from_micros(r.crawl_delay_micros));
    let longest = longest.filter(|_| asked > policy.pace.delay_max);
    let by = longest.map(|robots| Authority {
        scheme: robots.scheme,
        host: host.clone(),
        port: robots.port,
    });
    (asked.max(policy.pace.delay_max), by)
}
