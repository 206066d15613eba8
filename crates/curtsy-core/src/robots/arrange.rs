//! Builds the [`RuleIndex`] from the rules of one agent.
//!
//! Rules are sorted by their spelled patterns. Wildcards are the lowest octets, so rules with the
//! same head are together, and so are rules with the same first steps. A rule shares with the rule
//! before it everything that it shares with any earlier rule, so the tree grows only at its right
//! edge.

use std::mem;

use super::RuleKind;
use super::index::{Branch, IndexLink, PatternHead, PatternStep, Rank, RuleIndex, shared_len};
use super::occurrences::{WINDOW_MAX, name_steps};
use super::pattern::{END, STAR, Spelled, spell_pattern};

/// From this number on, steps get names. With fewer steps, a search along the path is cheaper than
/// preparing the path.
const MANY_STEPS: usize = 512;
/// Up to this size, the order of the patterns in memory does not matter.
const NEAR_BYTES: usize = 64 << 10;

/// The rules of one agent, in the order of the file.
#[derive(Default)]
pub(super) struct RuleSet {
    spelled: Vec<u8>,
    rules: Vec<PlacedRule>,
}

struct PlacedRule {
    rank: Rank,
    start: u32,
    end: u32,
    head: u32,
}

impl PlacedRule {
    fn text<'a>(&self, spelled: &'a [u8]) -> &'a [u8] {
        &spelled[self.start as usize..self.end as usize]
    }
}

impl RuleSet {
    /// Adds a rule. Its pattern is not empty: an empty one matches nothing that counts (RFC 9309
    /// §2.2.2).
    pub(super) fn add(&mut self, line: u32, kind: RuleKind, value: &[u8]) {
        let start = self.spelled.len() as u32;
        let Spelled { octets, head } = spell_pattern(value, &mut self.spelled);
        let end = self.spelled.len() as u32;
        self.rules.push(PlacedRule { rank: Rank::new(octets, kind, line), start, end, head });
    }

    /// Builds the index.
    pub(super) fn index(mut self) -> RuleIndex {
        let mut order = in_order(self.rules.len(), |at| self.rules[at].text(&self.spelled));
        if self.spelled.len() > NEAR_BYTES {
            self.lay(&mut order);
        }
        let mut spelled = self.spelled;
        let mut tree = RuleTree::default();
        for at in order {
            tree.add(&self.rules[at as usize], &spelled);
        }
        let names = (tree.steps.len() >= MANY_STEPS).then(|| name_steps(&mut tree.steps, &spelled));
        spelled.resize(spelled.len() + WINDOW_MAX, 0);
        RuleIndex {
            names,
            spelled: spelled.into(),
            heads: tree.heads.into(),
            branches: tree.branches.into(),
            steps: tree.steps.into(),
        }
    }

    /// Reorders rules and patterns, so that neighbours in the tree are neighbours in memory.
    fn lay(&mut self, order: &mut [u32]) {
        let mut spelled = Vec::with_capacity(self.spelled.len() + WINDOW_MAX);
        let mut rules = Vec::with_capacity(self.rules.len());
        for (place, at) in order.iter_mut().enumerate() {
            let rule = &self.rules[*at as usize];
            let start = spelled.len() as u32;
            spelled.extend_from_slice(rule.text(&self.spelled));
            rules.push(PlacedRule { start, end: spelled.len() as u32, ..*rule });
            *at = place as u32;
        }
        (self.spelled, self.rules) = (spelled, rules);
    }
}

/// Returns the numbers below `count`, sorted by their texts. No text ends with a zero.
pub(super) fn in_order<'a>(count: usize, text: impl Fn(usize) -> &'a [u8]) -> Vec<u32> {
    // One integer holds twelve octets of the text and the number. Few texts need more to be
    // distinguished.
    let mut keys: Vec<u128> = (0..count).map(|at| opening(text(at)) | at as u128).collect();
    keys.sort_unstable();
    let mut order: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
    let mut at = 0;
    for alike in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
        let group = &mut order[at..at + alike.len()];
        at += alike.len();
        if alike.len() > 1 && group.iter().any(|&at| text(at as usize).len() > OPENING) {
            group.sort_unstable_by_key(|&at| text(at as usize));
        }
    }
    order
}

/// The number of octets of an opening.
const OPENING: usize = 12;

/// Returns the first octets of a text as the high end of a number that sorts like the text.
fn opening(text: &[u8]) -> u128 {
    let mut first = [0; 16];
    match text.first_chunk::<OPENING>() {
        Some(chunk) => first[..OPENING].copy_from_slice(chunk),
        None => first[..text.len()].copy_from_slice(text),
    }
    u128::from_be_bytes(first)
}

#[derive(Default)]
struct RuleTree {
    heads: Vec<PatternHead>,
    branches: Vec<Branch>,
    steps: Vec<PatternStep>,
    /// The steps of the rule that was added last, if it has the last head.
    last: Vec<PatternStep>,
    /// The steps of the rule that is being added.
    fresh: Vec<PatternStep>,
    /// The branches that lead to the last rule. The first one is empty and belongs to the head.
    tips: Vec<Tip>,
}

struct Tip {
    branch: usize,
    /// The number of steps between the head and this branch.
    before: usize,
    last_child: IndexLink,
}

impl RuleTree {
    fn add(&mut self, rule: &PlacedRule, spelled: &[u8]) {
        let text = rule.text(spelled);
        let len = rule.head as usize;
        let at = self.head(rule.start, &text[..len], spelled);
        let head = &mut self.heads[at];
        match text[len..] {
            [] => head.open = head.open.max(rule.rank),
            [END] => head.exact = head.exact.max(rule.rank),
            _ => {
                if self.tips.is_empty() {
                    self.heads[at].first_branch = self.hang(Branch::empty(), 0);
                }
                read_steps(text, len, rule.start, &mut self.fresh);
                self.add_steps(rule, spelled);
            }
        }
    }

    /// Returns the index of a head, which is new or the last one.
    fn head(&mut self, start: u32, text: &[u8], spelled: &[u8]) -> usize {
        let mut shorter = IndexLink::NONE;
        if let Some(above) = self.heads.last() {
            let shared = shared_len(above.text(spelled), text);
            if shared == text.len() && shared == above.len as usize {
                return self.heads.len() - 1;
            }
            shorter = IndexLink(self.heads.len() as u32 - 1);
            while let Some(at) = shorter.get()
                && self.heads[at].len as usize > shared
            {
                shorter = self.heads[at].shorter;
            }
        }
        self.last.clear();
        self.tips.clear();
        let (open, exact, first_branch) = (Rank::default(), Rank::default(), IndexLink::NONE);
        self.heads.push(PatternHead {
            start,
            len: text.len() as u32,
            shorter,
            open,
            exact,
            first_branch,
        });
        self.heads.len() - 1
    }

    /// Adds the rule with the fresh steps.
    fn add_steps(&mut self, rule: &PlacedRule, spelled: &[u8]) {
        let steps = mem::take(&mut self.fresh);
        let same = |(a, b): &(&PatternStep, &PatternStep)| {
            a.last == b.last && a.text(spelled) == b.text(spelled)
        };
        let shared = self.last.iter().zip(&steps).take_while(same).count();
        while self.tips.len() > 1 && self.tips.last().is_some_and(|tip| tip.before >= shared) {
            self.tips.pop();
        }
        self.split(shared);
        // Every branch on the way gets the rank of the rule and the octets that the rule still
        // needs from there.
        let mut need: u32 = steps.iter().map(|s| u32::from(s.len)).sum();
        let mut passed = 0;
        for tip in &self.tips {
            need -= steps[passed..tip.before].iter().map(|s| u32::from(s.len)).sum::<u32>();
            passed = tip.before;
            let branch = &mut self.branches[tip.branch];
            branch.best = branch.best.max(rule.rank);
            branch.need = branch.need.min(need);
        }
        if shared < steps.len() {
            need -= steps[passed..shared].iter().map(|s| u32::from(s.len)).sum::<u32>();
            let first_step = self.steps.len() as u32;
            self.steps.extend(&steps[shared..]);
            let end_step = self.steps.len() as u32;
            self.hang(
                Branch {
                    best: rule.rank,
                    open: rule.rank,
                    first_step,
                    end_step,
                    need,
                    ..Branch::empty()
                },
                shared,
            );
        } else if let Some(tip) = self.tips.last() {
            // The pattern of the rule before, on another line.
            let branch = &mut self.branches[tip.branch];
            branch.open = branch.open.max(rule.rank);
        }
        self.fresh = mem::replace(&mut self.last, steps);
    }

    /// Splits the last branch where a rule leaves it after `shared` steps.
    fn split(&mut self, shared: usize) {
        let Some(tip) = self.tips.last_mut() else { return };
        let whole = self.branches[tip.branch];
        let cut = whole.first_step + (shared - tip.before) as u32;
        if cut >= whole.end_step {
            return;
        }
        let taken = &self.steps[whole.first_step as usize..cut as usize];
        let need = whole.need - taken.iter().map(|s| u32::from(s.len)).sum::<u32>();
        let link = IndexLink(self.branches.len() as u32);
        self.branches.push(Branch { first_step: cut, need, next: IndexLink::NONE, ..whole });
        self.branches[tip.branch] =
            Branch { end_step: cut, open: Rank::default(), first_branch: link, ..whole };
        tip.last_child = link;
    }

    /// Adds a branch under the last tip, `before` steps behind the head, and makes it the last tip.
    fn hang(&mut self, branch: Branch, before: usize) -> IndexLink {
        let at = self.branches.len();
        let link = IndexLink(at as u32);
        self.branches.push(branch);
        if let Some(tip) = self.tips.last_mut() {
            match tip.last_child.get() {
                Some(sibling) => self.branches[sibling].next = link,
                None => self.branches[tip.branch].first_branch = link,
            }
            tip.last_child = link;
        }
        self.tips.push(Tip { branch: at, before, last_child: IndexLink::NONE });
        link
    }
}

impl Branch {
    fn empty() -> Branch {
        Branch {
            best: Rank::default(),
            open: Rank::default(),
            first_step: 0,
            end_step: 0,
            need: u32::MAX,
            first_branch: IndexLink::NONE,
            next: IndexLink::NONE,
        }
    }
}

/// Reads the steps of a spelled pattern that starts at `start` and has a head of `len` octets.
fn read_steps(text: &[u8], len: usize, start: u32, steps: &mut Vec<PatternStep>) {
    let (body, anchored) = match text {
        [body @ .., END] => (body, true),
        body => (body, false),
    };
    steps.clear();
    let mut at = start + len as u32 + 1;
    for step in body[len + 1..].split(|&b| b == STAR) {
        steps.push(PatternStep { start: at, name: 0, len: step.len() as u16, last: false });
        at += step.len() as u32 + 1;
    }
    if let Some(step) = steps.last_mut() {
        step.last = anchored;
    }
}
