//! The rules of one agent, arranged so that a search finds the longest match without trying every
//! rule.
//!
//! A pattern is a *head*, the text before its first star, and *steps*, the texts between stars. The
//! rule matches if the path starts with the head and then has the steps, in order and apart. If the
//! pattern ends with `$`, the last step must end the path. The first place of each step is always
//! right, because it leaves the most room for the rest. So the common part of two patterns is
//! searched only once, and its end is one number:
//!
//! - Heads are sorted, and each has a link to the longest other head that it starts with. One
//!   binary search finds the last head that sorts before the path. Its chain has every head that
//!   the path starts with.
//! - Behind each head is a tree of steps, shared as far as patterns agree. A missing step cuts off
//!   its branch. A branch is skipped if it has nothing more specific than the best match, or needs
//!   more octets than the path has left.
//!
//! A [`Finder`] searches for steps: directly in ordinary files, and with [`Occurrences`] in files
//! with so many steps that a search along the whole path for each would be slow.
//! [`arrange`](super::arrange) builds all this.

use memchr::{memchr, memmem};

use super::occurrences::Occurrences;
use super::pattern::spell_path;
use super::{RuleKind, RuleLine};

/// The rules of one agent, ready for many paths.
#[derive(Clone, Debug)]
pub(super) struct RuleIndex {
    /// All patterns, with room for a window after the last one.
    pub(super) spelled: Box<[u8]>,
    pub(super) heads: Box<[PatternHead]>,
    pub(super) branches: Box<[Branch]>,
    pub(super) steps: Box<[PatternStep]>,
    /// The number of step names, if there are so many steps that they were named for
    /// [`Occurrences`].
    pub(super) names: Option<u32>,
}

/// The weight of a rule against other matches: longer first, then Allow, then the earlier line.
/// Zero means no rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

/// The text before the first star of patterns.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternHead {
    pub(super) start: u32,
    pub(super) len: u32,
    /// The longest other head that this one starts with.
    pub(super) shorter: IndexLink,
    /// The rule whose pattern ends here.
    pub(super) open: Rank,
    /// The rule whose pattern ends here, if the path ends here too.
    pub(super) exact: Rank,
    pub(super) first_branch: IndexLink,
}

/// Consecutive steps that all rules behind them share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    /// The best rule on this branch or behind it.
    pub(super) best: Rank,
    /// The rule that ends with this branch.
    pub(super) open: Rank,
    pub(super) first_step: u32,
    pub(super) end_step: u32,
    /// The fewest octets that a rule on this branch or behind it still needs.
    pub(super) need: u32,
    pub(super) first_branch: IndexLink,
    pub(super) next: IndexLink,
}

/// A text between two stars.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternStep {
    pub(super) start: u32,
    /// The same number for equal texts, if steps are named.
    pub(super) name: u32,
    pub(super) len: u16,
    /// Whether the step must end the path.
    pub(super) last: bool,
}

/// An index in a list, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexLink(pub(super) u32);

impl RuleIndex {
    /// Returns the most specific matching rule.
    pub(super) fn decide(&self, path: &[u8]) -> Option<RuleLine> {
        let path = &*spell_path(path);
        let after = self.heads.partition_point(|head| head.text(&self.spelled) <= path);
        let last = after.checked_sub(1)?;
        let shared = shared_len(self.heads[last].text(&self.spelled), path);
        let (mut direct, mut occurrences) = (None, None);
        let mut best = Rank::default();
        let mut link = IndexLink(last as u32);
        while let Some(at) = link.get() {
            let head = &self.heads[at];
            link = head.shorter;
            let len = head.len as usize;
            if len > shared {
                continue;
            }
            best = best.max(head.open);
            if len == path.len() {
                best = best.max(head.exact);
            }
            if head.first_branch == IndexLink::NONE {
                continue;
            }
            match self.names {
                Some(names) if Occurrences::pays(path, self.steps.len()) => {
                    let new = || Occurrences::of(path, &self.spelled, names);
                    let finder = occurrences.get_or_insert_with(new);
                    self.climb(head.first_branch, len, finder, &mut best);
                }
                _ => {
                    let new = || DirectFinder::of(path, &self.spelled, self.steps.len());
                    let finder = direct.get_or_insert_with(new);
                    self.climb(head.first_branch, len, finder, &mut best);
                }
            }
        }
        best.rule()
    }

    /// Follows the branches from `first` on, at `from` in the path. The recursion is as deep as
    /// patterns are nested in each other, which 500 KiB of text limit to about a thousand.
    fn climb(&self, first: IndexLink, from: usize, finder: &mut impl Finder, best: &mut Rank) {
        let mut link = first;
        while let Some(at) = link.get() {
            let branch = &self.branches[at];
            link = branch.next;
            if branch.best <= *best || from + branch.need as usize > finder.path_len() {
                continue;
            }
            let steps = &self.steps[branch.first_step as usize..branch.end_step as usize];
            // With many steps in a row, the last one is checked first.
            if let [_, .., last] = steps
                && !finder.may_end(last, from)
            {
                continue;
            }
            let end = steps.iter().try_fold(from, |end, step| finder.find(step, end));
            if let Some(end) = end {
                *best = branch.open.max(*best);
                self.climb(branch.first_branch, end, finder, best);
            }
        }
    }
}

impl Rank {
    pub(super) fn new(octets: u32, kind: RuleKind, line: u32) -> Rank {
        Rank(
            u64::from(octets) << 33
                | u64::from(kind == RuleKind::Allow) << 32
                | u64::from(u32::MAX - line),
        )
    }

    fn rule(self) -> Option<RuleLine> {
        let kind = if self.0 >> 32 & 1 == 1 { RuleKind::Allow } else { RuleKind::Disallow };
        (self.0 != 0).then_some(RuleLine { line: u32::MAX - self.0 as u32, kind })
    }
}

impl PatternHead {
    pub(super) fn text<'a>(&self, spelled: &'a [u8]) -> &'a [u8] {
        &spelled[self.start as usize..(self.start + self.len) as usize]
    }
}

impl PatternStep {
    pub(super) fn text<'a>(&self, spelled: &'a [u8]) -> &'a [u8] {
        &spelled[self.start as usize..self.start as usize + usize::from(self.len)]
    }
}

impl IndexLink {
    pub(super) const NONE: IndexLink = IndexLink(u32::MAX);

    pub(super) fn get(self) -> Option<usize> {
        (self != IndexLink::NONE).then_some(self.0 as usize)
    }
}

/// Searches for steps in one path.
pub(super) trait Finder {
    /// Returns the end of the step's first place from `from` on.
    fn find(&mut self, step: &PatternStep, from: usize) -> Option<usize>;

    /// Returns whether the step may be in the path from `from` on. The answer `false` is always
    /// right.
    fn may_end(&mut self, step: &PatternStep, from: usize) -> bool;

    /// Returns the length of the path.
    fn path_len(&self) -> usize;
}

/// Searches along the path each time, unless a quick check excludes the step.
pub(super) struct DirectFinder<'a> {
    path: &'a [u8],
    spelled: &'a [u8],
    /// A bit for each pair of octets in the path, if there are enough steps. Other pairs may share
    /// the bit.
    pairs: Option<[u64; 64]>,
}

impl<'a> DirectFinder<'a> {
    pub(super) fn of(path: &'a [u8], spelled: &'a [u8], steps: usize) -> DirectFinder<'a> {
        let pairs = (steps >= SOME_STEPS).then(|| {
            let mut pairs = [0; 64];
            for pair in path.windows(2) {
                pairs[usize::from(pair[0] & 63)] |= 1 << (pair[1] & 63);
            }
            pairs
        });
        DirectFinder { path, spelled, pairs }
    }

    /// Returns whether the path has the first and the last pair of a text.
    fn glance(&self, text: &[u8]) -> bool {
        let has = |pairs: &[u64; 64], a: u8, b: u8| pairs[usize::from(a & 63)] >> (b & 63) & 1 == 1;
        match (&self.pairs, text) {
            (Some(pairs), [a, b, .., y, z]) => has(pairs, *a, *b) && has(pairs, *y, *z),
            (Some(pairs), [a, b, ..]) => has(pairs, *a, *b),
            _ => true,
        }
    }
}

impl Finder for DirectFinder<'_> {
    fn find(&mut self, step: &PatternStep, from: usize) -> Option<usize> {
        let text = step.text(self.spelled);
        let rest = &self.path[from..];
        if step.last {
            return rest.ends_with(text).then_some(self.path.len());
        }
        let place = match text {
            [byte] => memchr(*byte, rest),
            _ if !self.glance(text) => None,
            _ => memmem::find(rest, text),
        };
        place.map(|i| from + i + text.len())
    }

    fn may_end(&mut self, step: &PatternStep, _from: usize) -> bool {
        let text = step.text(self.spelled);
        if step.last { self.path.ends_with(text) } else { self.glance(text) }
    }

    fn path_len(&self) -> usize {
        self.path.len()
    }
}

/// From this number of steps on, the check of pairs saves more than it costs.
const SOME_STEPS: usize = 16;

/// Returns the length of the common start of two texts.
pub(super) fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let mut len = 0;
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        if a != b {
            break;
        }
        len += 8;
    }
    len + a[len..].iter().zip(&b[len..]).take_while(|(a, b)| a == b).count()
}
