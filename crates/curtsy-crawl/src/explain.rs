//! What would a crawl do with a URL now? The same decision, on what the ledger of hosts knows; nothing is sent.

use curtsy_core::evidence::{Names, sentence};
use curtsy_core::host::{Decision, Gate, Verdict};
use curtsy_core::policy::Policy;
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{UrlRecord, decide, ruling};
use curtsy_store::{Hours, Ledger};

/// A decision and its reasons.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What would be done.
    pub decision: Decision,
    /// Every gate with its verdict and a sentence.
    pub gates: Vec<(Gate, Verdict, String)>,
    /// The ledger's time.
    pub now: Time,
}

/// What a crawl with this policy would do with a URL now.
pub fn explain<H: Hours>(
    ledger: &mut Ledger<H>,
    policy: &Policy,
    url: &CrawlUrl,
) -> Result<Explained, curtsy_store::OpenError> {
    let path = ledger.path().to_owned();
    let of = |e| curtsy_store::OpenError::sqlite(&path, e);
    let view = ledger.view(url.host()).map_err(of)?;
    let record = UrlRecord::page(url.clone(), 0);
    let robots = match ruling(&view, policy, &record) {
        Some(id) => ledger.robots(id).map_err(of)?,
        None => None,
    };
    let decision = decide(&view, robots.as_deref(), policy, policy.product_token(), &record, None);
    let parsed = robots.as_ref().map(|file| Robots::parse(&file.text));
    let names = Names { robots: parsed.as_ref(), now: view.now };
    let gates = decision.findings.iter();
    let gates = gates
        .map(|(gate, finding)| (gate, finding.verdict, sentence(gate, finding, &names)))
        .collect();
    Ok(Explained { decision, gates, now: view.now })
}
