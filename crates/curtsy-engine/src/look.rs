//! What the gates say about a URL right now: for `explain`, progress, and a page of the service.
//!
//! The same decision that a visit would make, on the same state. Nothing is sent, reserved or
//! written.

use std::sync::Arc;

use curtsy_core::host::{Decision, RobotsId, Scene};
use curtsy_core::policy::Policy;
use curtsy_core::robots::Robots;

use crate::grant::ask_of;
use crate::{CachedPage, RobotsFile, Store, StoreError, UrlRecord, View};

/// A decision, with the state and the rules it is based on.
#[derive(Clone, Debug)]
pub struct Look {
    /// The host as the store has it.
    pub view: View,
    /// What a visit would do now, and every gate's finding.
    pub decision: Decision,
    /// The robots.txt in force.
    pub robots: Option<Arc<RobotsFile>>,
}

/// Decides about a URL as a visit would. The product is our name in robots.txt.
pub async fn look<S: Store>(
    store: &S,
    policy: &Policy,
    product: &str,
    record: &UrlRecord,
    cached: Option<&CachedPage>,
) -> Result<Look, StoreError> {
    let view = store.load(record.host()).await?;
    let robots = match ruling(&view, policy, record) {
        Some(id) => store.robots(id).await?,
        None => None,
    };
    let decision = decide(&view, robots.as_deref(), policy, product, record, cached);
    Ok(Look { decision, robots, view })
}

/// Returns the robots.txt in force for a URL, if there is one.
pub fn ruling(view: &View, policy: &Policy, record: &UrlRecord) -> Option<RobotsId> {
    let policy = policy.for_host(view.host.as_str());
    let known = view.state.robots_of(&record.url.authority())?;
    known.ruling(&policy.robots, view.now).map(|(id, _)| id)
}

/// Decides about a URL, on a host's state and the robots.txt in force.
pub fn decide(
    view: &View,
    robots: Option<&RobotsFile>,
    policy: &Policy,
    product: &str,
    record: &UrlRecord,
    cached: Option<&CachedPage>,
) -> Decision {
    let policy = policy.for_host(view.host.as_str());
    let how = policy.robots.agent_match;
    let rules = robots.map(|file| Robots::parse(&file.text).for_agent(product, how));
    let scene = Scene {
        policy: &policy,
        now: view.now,
        seed: view.host.seed(),
        rules: rules.as_ref(),
        job: view.job,
        stopped: view.stopped,
        floor: view.epoch.floor,
        quiet_until: view.epoch.quiet_until,
    };
    view.state.admit(&ask_of(record, cached, &view.state, &policy), &scene)
}
