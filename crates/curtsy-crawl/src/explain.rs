//! What would a crawl do with a URL now? The same decision, on what the ledger of hosts knows; nothing is sent.

use std::time::Duration;

use curtsy_core::evidence::{Names, sentence};
use curtsy_core::host::{Action, Decision, Gate, HostState, Kind, Reason, Verdict};
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
    /// The line of robots.txt that decides, with its number.
    pub rule: Option<(u32, String)>,
    /// The span between two requests to the host.
    pub delay: Duration,
    /// Whether its robots.txt asks for that.
    pub delay_by_robots: bool,
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
    let line = match decision.findings.of(Gate::Robots).reason {
        Reason::RobotsAllows { line, .. } | Reason::RobotsForbids { line, .. } => line,
        _ => None,
    };
    let text = line.zip(parsed.as_ref()).and_then(|(line, robots)| robots.line_text(line));
    let rule = line.zip(text).map(|(line, text)| (line, text.trim().to_owned()));
    let (delay, delay_by_robots) = pace(&view.state, &policy.for_host(url.host().as_str()));
    Ok(Explained { decision, gates, rule, delay, delay_by_robots, now: view.now })
}

impl Explained {
    /// Whether robots.txt allows it; none if that is not known.
    pub fn allowed(&self) -> Option<bool> {
        let asks = matches!(&self.decision.action, Action::Approach(to) if to.kind == Kind::Robots);
        match self.decision.findings.of(Gate::Robots).verdict {
            Verdict::Never => Some(false),
            Verdict::Go if !asks => Some(true),
            _ => None,
        }
    }
}

/// The span between two requests to a host, and whether its robots.txt asks for that.
pub(crate) fn pace(state: &HostState, policy: &Policy) -> (Duration, bool) {
    let asked = state.all_robots().map(|robots| robots.crawl_delay_micros).max();
    let asked = Duration::from_micros(asked.unwrap_or(0));
    match asked > policy.pace.delay_max {
        true => (asked, true),
        false => (policy.pace.delay_max, false),
    }
}
