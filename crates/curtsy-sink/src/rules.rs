//! The lines of robots.txt that decided, as text.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::evidence::rule_text;
use curtsy_core::host::RobotsId;
use curtsy_core::robots::Robots;
use curtsy_engine::RobotsFile;

use crate::record::{RowRecord, set};

/// Finds the text of a robots.txt in the store. Called once for each line that decided.
pub type RobotsTexts = Arc<dyn Fn(RobotsId) -> Option<Arc<RobotsFile>> + Send + Sync>;

/// Lines whose text is cached.
pub(crate) const RULES_MAX: usize = 4096;

/// A cache of the lines that decided.
pub struct Rules {
    /// The policy's limit on bodies, for reasons in words.
    pub body_max: Option<u64>,
    texts: Option<RobotsTexts>,
    known: HashMap<(RobotsId, u32), Option<Arc<str>>>,
}

impl Rules {
    /// Returns an empty cache.
    pub fn new(texts: Option<RobotsTexts>) -> Rules {
        Rules { body_max: None, texts, known: HashMap::new() }
    }

    /// Adds the line that decided to a row, if its text is available.
    pub(crate) fn complete(&mut self, record: &mut RowRecord<'_>) {
        if let Some((file, Some(line))) = record.facts.robots
            && let Some(rule) = self.rule(file, line)
        {
            set!(record, robots_rule = rule.to_string());
        }
    }

    /// Returns a line of a robots.txt, if its text is available.
    pub fn rule(&mut self, file: RobotsId, line: u32) -> Option<Arc<str>> {
        let texts = self.texts.as_ref()?;
        if let Some(rule) = self.known.get(&(file, line)) {
            return rule.clone();
        }
        let robots = texts(file).map(|file| Robots::parse(&file.text));
        let rule: Option<Arc<str>> =
            robots.and_then(|robots| Some(rule_text(&robots, line)?.into()));
        if self.known.len() >= RULES_MAX {
            self.known.clear();
        }
        self.known.insert((file, line), rule.clone());
        rule
    }
}
