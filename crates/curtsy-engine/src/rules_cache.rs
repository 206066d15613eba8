//! Robots rules in a worker's memory: parsed once, with the files that they were parsed from.
//!
//! A cache in front of the store, which has every file by its hash. A store that lost a file gets
//! it back from here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::policy::{AgentMatch, Policy};
use curtsy_core::robots::{AgentRules, Robots};
use curtsy_core::time::Time;
use curtsy_core::url::Authority;

use crate::{RobotsFile, Store, Worker, World};

/// Files in memory. The one with the lowest hash gives way.
pub(crate) const RULES_MAX: usize = 1024;

/// Parsed robots.txt files by the hash of their text.
pub(crate) struct RulesCache {
    /// The name by which robots.txt files address the crawler.
    product: String,
    files: RefCell<BTreeMap<RobotsId, ParsedFile>>,
}

struct ParsedFile {
    file: Arc<RobotsFile>,
    rules: Arc<AgentRules>,
}

impl RulesCache {
    pub(crate) fn new(user_agent: &str) -> RulesCache {
        let product = user_agent.split(['/', ' ']).next().unwrap_or_default().to_owned();
        RulesCache { product, files: RefCell::default() }
    }

    pub(crate) fn rules(&self, id: RobotsId) -> Option<Arc<AgentRules>> {
        self.files.borrow().get(&id).map(|parsed| Arc::clone(&parsed.rules))
    }

    pub(crate) fn file(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        self.files.borrow().get(&id).map(|parsed| Arc::clone(&parsed.file))
    }

    /// Parses a file, keeps both, and returns the rules for the crawler.
    pub(crate) fn insert(
        &self,
        id: RobotsId,
        file: Arc<RobotsFile>,
        agent_match: AgentMatch,
    ) -> Arc<AgentRules> {
        let rules = Arc::new(Robots::parse(&file.text).for_agent(&self.product, agent_match));
        let mut files = self.files.borrow_mut();
        if files.len() >= RULES_MAX {
            files.pop_first();
        }
        files.insert(id, ParsedFile { file, rules: Arc::clone(&rules) });
        rules
    }

    /// Returns the files of a host that are in memory.
    pub(crate) fn files_of(&self, state: &HostState) -> Vec<(RobotsId, Arc<RobotsFile>)> {
        let ids = state.all_robots().filter_map(|robots| robots.file);
        ids.filter_map(|id| Some((id, self.file(id)?))).collect()
    }
}

impl<W: World> Worker<'_, W> {
    /// Returns the rules in the robots.txt that is in force for an authority.
    pub(crate) async fn rules_of(
        &self,
        state: &HostState,
        policy: &Policy,
        authority: &Authority,
        now: Time,
    ) -> Option<Arc<AgentRules>> {
        let (id, _) = state.robots_of(authority)?.ruling(&policy.robots, now)?;
        if let Some(rules) = self.rules.rules(id) {
            return Some(rules);
        }
        let file = Box::pin(self.robots_file(id)).await?;
        Some(self.rules.insert(id, file, policy.robots.agent_match))
    }

    /// Returns a robots.txt from memory or from the store, which is asked until it answers. None
    /// means that the file is lost and must be requested again.
    pub(crate) async fn robots_file(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        if let Some(file) = self.rules.file(id) {
            return Some(file);
        }
        self.until_answered(async |store| store.robots(id).await).await
    }
}
