//! The rules of one agent, arranged so that the longest match is found without trying every rule.
//!
//! A pattern is a *head*, the text before its first star, and then *steps*, the texts between stars. The rule matches if the
//! path starts with the head and has the steps after it, in order and apart; the last step must end the path if the pattern
//! does. Taking each step at its first place is always right, because a place further left leaves more room for the rest.
//! So what two patterns have in common needs to be looked for once, and its end is one number:
//!
//! - Heads are sorted, and each knows the longest other head that it starts with. One binary search finds the last head that
//!   sorts before the path; every head that the path starts with is on that one's chain.
//! - Behind each head is a tree of steps, shared as far as patterns agree. A step that isn't found cuts off its branch, and so
//!   does a branch that holds nothing more specific than what was found, or more octets than the path has left.
//!
//! Steps are looked for with a [`Finder`]: directly in ordinary files, by [`Occurrences`] where a file has so many that
//! looking for each along the whole path would be its weapon. [`arrange`](super::arrange) builds all this.

use memchr::{memchr, memmem};

use super::occurrences::Occurrences;
use super::pattern::spell_path;
use super::{RuleKind, RuleLine};

/// The rules of one agent, ready for many questions.
#[derive(Clone, Debug)]
pub(super) struct RuleIndex {
    /// All patterns, with room for a window behind the last.
    pub(super) spelled: Box<[u8]>,
    pub(super) heads: Box<[PatternHead]>,
    pub(super) branches: Box<[Branch]>,
    pub(super) steps: Box<[PatternStep]>,
    /// How many names the steps have, if there are so many steps that they were named for [`Occurrences`].
    pub(super) names: Option<u32>,
}

/// How much a rule weighs against others that match: longer first, then Allow, then the earlier line. Zero is no rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

/// A text that patterns start with.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternHead {
    pub(super) start: u32,
    pub(super) len: u32,
    /// The longest other head that this one starts with.
    pub(super) shorter: IndexLink,
    /// The rule that ends here.
    pub(super) open: Rank,
    /// The rule that ends here, and the path with it.
    pub(super) exact: Rank,
    pub(super) first_branch: IndexLink,
}

/// Some steps in a row that all rules behind them share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    /// The best rule on this branch or beyond.
    pub(super) best: Rank,
    /// The rule that ends with this branch.
    pub(super) open: Rank,
    pub(super) first_step: u32,
    pub(super) end_step: u32,
    /// The fewest octets that any rule here or beyond still needs.
    pub(super) need: u32,
    pub(super) first_branch: IndexLink,
    pub(super) next: IndexLink,
}

/// A text between two stars.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternStep {
    pub(super) start: u32,
    /// The same for equal texts, if steps are named at all.
    pub(super) name: u32,
    pub(super) len: u16,
    /// Whether the path must end with it.
    pub(super) last: bool,
}

/// A place in a list, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexLink(pub(super) u32);

impl RuleIndex {
    /// The most specific rule that matches.
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

    /// Follows the branches side by side from `first` on, from `from` in the path. The recursion is as deep as patterns are
    /// nested in each other, which 500 KiB of text bound to about a thousand.
    fn climb(&self, first: IndexLink, from: usize, finder: &mut impl Finder, best: &mut Rank) {
        let mut link = first;
        while let Some(at) = link.get() {
            let branch = &self.branches[at];
            link = branch.next;
            if branch.best <= *best || from + branch.need as usize > finder.path_len() {
                continue;
            }
            let steps = &self.steps[branch.first_step as usize..branch.end_step as usize];
            // Where many steps wait in a row, the last one is asked first whether the walk can end well.
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

/// Looks for steps in one path.
pub(super) trait Finder {
    /// Where a step ends at its first place from `from` on.
    fn find(&mut self, step: &PatternStep, from: usize) -> Option<usize>;

    /// Whether a step can be found at all from `from` on: a cheap guess, never wrong when it says no.
    fn may_end(&mut self, step: &PatternStep, from: usize) -> bool;

    /// The path's length.
    fn path_len(&self) -> usize;
}

/// Looks along the path each time, unless a glance shows that it is no use.
pub(super) struct DirectFinder<'a> {
    path: &'a [u8],
    spelled: &'a [u8],
    /// A bit for each pair of octets in the path, if there are enough steps to be worth it. Others may share the bit.
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

    /// Whether the first and the last pair of a text are in the path.
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

/// From how many steps on a glance at the path's pairs saves more than it costs.
const SOME_STEPS: usize = 16;

/// How many octets two texts start with in common.
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
