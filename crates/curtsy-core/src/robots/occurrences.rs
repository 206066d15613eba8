//! Finds steps in one path, for files with so many steps that a search along the whole path for
//! each would be slow.
//!
//! Equal steps have one name, given when the rules are arranged. For one path, all windows of the
//! requested lengths are put in a table once, with their places in order. The first place of a step
//! from some octet on is then a look-up and a binary search, or one load for a step that is often
//! requested. Steps longer than a window are found by the rarest of their windows; a repetitive
//! path may have several places to try. Apart from those, the costs of steps and path add up and do
//! not multiply.

use super::arrange::in_order;
use super::index::{Finder, PatternStep};

/// The longest window with a table, which fits in one comparison.
pub(super) const WINDOW_MAX: usize = 16;
/// The number of requests after which a step with more than a few places gets a list of ends for
/// every octet.
const OFTEN: u16 = 256;
/// The number of places up to which a search is as good as such a list.
const FEW_PLACES: u16 = 4;
/// From this number of steps times octets of the path on, preparing the path is cheaper than
/// searching along it.
const MUCH_WORK: usize = 1 << 18;
/// No place.
const NOWHERE: u16 = u16::MAX;

/// Gives equal steps equal names, and returns the number of names. The shortest steps, of which
/// there can be most, use a table. The others are sorted, not hashed, so a file cannot cause
/// collisions.
pub(super) fn name_steps(steps: &mut [PatternStep], spelled: &[u8]) -> u32 {
    // Names begin at 1 here, because a table of zeros costs nothing.
    let mut count: u32 = 0;
    let mut fresh = || {
        count += 1;
        count
    };
    let mut short = vec![0; 0x1_0100];
    let mut long = Vec::new();
    for (at, step) in steps.iter_mut().enumerate() {
        let slot = match *step.text(spelled) {
            [a] => usize::from(a),
            [a, b] => 0x100 + (usize::from(a) << 8 | usize::from(b)),
            _ => {
                long.push(at);
                continue;
            }
        };
        if short[slot] == 0 {
            short[slot] = fresh();
        }
        step.name = short[slot] - 1;
    }
    let mut before: Option<(&[u8], u32)> = None;
    for at in in_order(long.len(), |at| steps[long[at]].text(spelled)) {
        let step = &mut steps[long[at as usize]];
        let text = step.text(spelled);
        step.name = match before {
            Some((same, name)) if same == text => name,
            _ => fresh() - 1,
        };
        before = Some((text, step.name));
    }
    count
}

/// The places of the steps of one rule index in one path.
pub(super) struct Occurrences<'a> {
    path: &'a [u8],
    /// The path with room behind it, so that a whole window can be read anywhere. The spelled
    /// patterns have that room too.
    padded: Vec<u8>,
    spelled: &'a [u8],
    known: Vec<StepPlaces>,
    tables: [Option<Windows>; WINDOW_MAX + 1],
    /// Lists of the next end for every octet of the path, one after the other.
    next: Vec<u16>,
}

/// The places of one step.
#[derive(Clone, Copy)]
enum StepPlaces {
    NotAsked,
    Absent,
    /// The step has these places in the table of its length.
    Places {
        first: u16,
        count: u16,
        asked: u16,
    },
    /// The step is longer than a window. The rarest of its windows has these places, with `before`
    /// octets of the step before it.
    Long {
        first: u16,
        count: u16,
        before: u16,
    },
    /// The list of its next ends begins here.
    Listed {
        at: u32,
    },
}

impl<'a> Occurrences<'a> {
    /// Returns whether preparing the path is cheaper than searching, and places fit their type.
    pub(super) fn pays(path: &[u8], steps: usize) -> bool {
        steps * path.len() >= MUCH_WORK && path.len() < usize::from(NOWHERE)
    }

    /// Prepares one path. `names` is the number of step names.
    pub(super) fn of(path: &'a [u8], spelled: &'a [u8], names: u32) -> Occurrences<'a> {
        let mut padded = Vec::with_capacity(path.len() + WINDOW_MAX);
        padded.extend_from_slice(path);
        padded.resize(path.len() + WINDOW_MAX, 0);
        let known = vec![StepPlaces::NotAsked; names as usize];
        Occurrences { path, padded, spelled, known, tables: Default::default(), next: Vec::new() }
    }

    /// Returns the end of the first place from `from` on of a step that has no list yet or must end
    /// the path.
    fn find_slowly(&mut self, step: &PatternStep, from: usize) -> Option<usize> {
        let text = step.text(self.spelled);
        if step.last {
            return self.path[from..].ends_with(text).then_some(self.path.len());
        }
        let name = step.name as usize;
        match self.known(step) {
            StepPlaces::Places { first, count, asked } => {
                let places = self.tables[text.len()].as_ref()?.places(first, count);
                let at = places.partition_point(|&p| usize::from(p) < from);
                let place = places.get(at).copied();
                if asked >= OFTEN && count > FEW_PLACES {
                    self.known[name] = self.list(step, first, count);
                } else {
                    self.known[name] = StepPlaces::Places { first, count, asked: asked + 1 };
                }
                place.map(|place| usize::from(place) + text.len())
            }
            StepPlaces::Long { first, count, before } => {
                let places = self.tables[WINDOW_MAX].as_ref()?.places(first, count);
                let before = usize::from(before);
                let at = places.partition_point(|&p| usize::from(p) < from + before);
                let mut starts = places[at..].iter().map(|&p| usize::from(p) - before);
                let start = starts.find(|&start| self.path[start..].starts_with(text))?;
                Some(start + text.len())
            }
            StepPlaces::NotAsked | StepPlaces::Absent | StepPlaces::Listed { .. } => None,
        }
    }

    /// Returns the places of a step, and looks them up at the first request.
    fn known(&mut self, step: &PatternStep) -> StepPlaces {
        let name = step.name as usize;
        if let StepPlaces::NotAsked = self.known[name] {
            self.known[name] = self.look_up(step);
        }
        self.known[name]
    }

    /// Looks up the places of a step.
    fn look_up(&mut self, step: &PatternStep) -> StepPlaces {
        let len = usize::from(step.len);
        if len > self.path.len() {
            return StepPlaces::Absent;
        }
        let length = len.min(WINDOW_MAX);
        let table = self.tables[length]
            .get_or_insert_with(|| Windows::of(&self.padded, self.path.len(), length));
        if len <= WINDOW_MAX {
            return match table.look_up(window_at(self.spelled, step.start as usize), &self.padded) {
                Some((first, count)) => StepPlaces::Places { first, count, asked: 0 },
                None => StepPlaces::Absent,
            };
        }
        // Each of the adjacent windows and the last one must be in the path. The rarest leaves the
        // fewest places to try.
        let mut rarest = StepPlaces::Absent;
        let mut fewest = u16::MAX;
        for before in (0..len - WINDOW_MAX).step_by(WINDOW_MAX).chain([len - WINDOW_MAX]) {
            let Some((first, count)) =
                table.look_up(window_at(self.spelled, step.start as usize + before), &self.padded)
            else {
                return StepPlaces::Absent;
            };
            if count < fewest {
                fewest = count;
                rarest = StepPlaces::Long { first, count, before: before as u16 };
            }
        }
        rarest
    }

    /// Lists the next end of a step for every octet of the path.
    fn list(&mut self, step: &PatternStep, first: u16, count: u16) -> StepPlaces {
        let Some(table) = &self.tables[usize::from(step.len)] else { return StepPlaces::Absent };
        let at = self.next.len();
        let mut from = 0;
        for &place in table.places(first, count) {
            let span = usize::from(place) + 1 - from;
            self.next.extend(std::iter::repeat_n(place + step.len, span));
            from += span;
        }
        self.next.resize(at + self.path.len() + 1, NOWHERE);
        StepPlaces::Listed { at: at as u32 }
    }
}

impl Finder for Occurrences<'_> {
    fn find(&mut self, step: &PatternStep, from: usize) -> Option<usize> {
        match self.known.get(step.name as usize) {
            Some(StepPlaces::Listed { at }) if !step.last => match self.next[*at as usize + from] {
                NOWHERE => None,
                end => Some(usize::from(end)),
            },
            Some(StepPlaces::Absent) if !step.last => None,
            _ => self.find_slowly(step, from),
        }
    }

    fn may_end(&mut self, step: &PatternStep, from: usize) -> bool {
        if step.last {
            return self.path.ends_with(step.text(self.spelled));
        }
        match self.known(step) {
            StepPlaces::Absent => false,
            StepPlaces::Places { first, count, .. } => {
                let table = self.tables[usize::from(step.len)].as_ref();
                table.is_some_and(|t| {
                    t.places(first, count).last().is_some_and(|&p| usize::from(p) >= from)
                })
            }
            StepPlaces::NotAsked | StepPlaces::Long { .. } | StepPlaces::Listed { .. } => true,
        }
    }

    fn path_len(&self) -> usize {
        self.path.len()
    }
}

/// All windows of one length in a path: the different ones, and their places in order. It is small,
/// since a hostile path has sixteen of these.
struct Windows {
    mask: u128,
    /// About one bit in thirty-two is set. It excludes most windows that are not here.
    hints: Vec<u64>,
    /// For each slot a number that distinguishes windows, and the index of the window.
    slots: Vec<(u16, u16)>,
    /// For each different window its first place in the list, and the number of its places.
    spans: Vec<(u16, u16)>,
    places: Vec<u16>,
}

impl Windows {
    fn of(padded: &[u8], path_len: usize, length: usize) -> Windows {
        let windows = path_len + 1 - length;
        let size = (2 * windows).next_power_of_two();
        // While windows are collected, each one's first place is alone in the list, at the window's
        // index.
        let mut table = Windows {
            mask: mask(length),
            hints: vec![0; (size / 4).max(1)],
            slots: vec![(0, NOWHERE); size],
            spans: Vec::with_capacity(windows),
            places: vec![0; windows],
        };
        let mut which = Vec::with_capacity(windows);
        for place in 0..windows {
            let octets = window_at(padded, place) & table.mask;
            let mixed = mix(octets);
            let slot = table.slot(octets, mixed, padded);
            let mut at = table.slots[slot].1;
            if at == NOWHERE {
                at = table.spans.len() as u16;
                let (word, bit) = table.hint(mixed);
                table.hints[word] |= bit;
                table.slots[slot] = (mixed as u16, at);
                table.places[usize::from(at)] = place as u16;
                table.spans.push((at, 0));
            }
            table.spans[usize::from(at)].1 += 1;
            which.push(at);
        }
        let mut first = 0;
        for span in &mut table.spans {
            let count = span.1;
            *span = (first, 0);
            first += count;
        }
        for (place, at) in which.into_iter().enumerate() {
            let (first, count) = &mut table.spans[usize::from(at)];
            table.places[usize::from(*first + *count)] = place as u16;
            *count += 1;
        }
        table
    }

    /// Returns the places of a window: the first of them in the list, and how many.
    fn look_up(&self, octets: u128, padded: &[u8]) -> Option<(u16, u16)> {
        let octets = octets & self.mask;
        let mixed = mix(octets);
        let (word, bit) = self.hint(mixed);
        if self.hints[word] & bit == 0 {
            return None;
        }
        let (_, at) = self.slots[self.slot(octets, mixed, padded)];
        self.spans.get(usize::from(at)).copied()
    }

    fn places(&self, first: u16, count: u16) -> &[u16] {
        &self.places[usize::from(first)..usize::from(first) + usize::from(count)]
    }

    /// Returns the slot of this window, or the free slot for it. At most half of the slots are
    /// taken.
    fn slot(&self, octets: u128, mixed: u64, padded: &[u8]) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = (mixed >> 32) as usize & last;
        loop {
            let (tag, at) = self.slots[slot];
            if at == NOWHERE || tag == mixed as u16 && self.octets(at, padded) == octets {
                return slot;
            }
            slot = (slot + 1) & last;
        }
    }

    /// Returns one of the different windows, read at its first place.
    fn octets(&self, at: u16, padded: &[u8]) -> u128 {
        let (first, _) = self.spans[usize::from(at)];
        window_at(padded, usize::from(self.places[usize::from(first)])) & self.mask
    }

    /// Returns the word and the bit of a window's hint.
    fn hint(&self, mixed: u64) -> (usize, u64) {
        ((mixed >> 22) as usize & (self.hints.len() - 1), 1 << (mixed >> 16 & 63))
    }
}

/// Mixes the octets of a window into a number.
fn mix(octets: u128) -> u64 {
    let mixed = (octets as u64).wrapping_mul(MIX) ^ ((octets >> 64) as u64).wrapping_mul(MIX_TOO);
    (mixed ^ mixed >> 32).wrapping_mul(MIX)
}

/// Odd numbers with irregular bits.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX_TOO: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// Returns the octets of one window as a number. Every text has room for it at its end.
fn window_at(padded: &[u8], at: usize) -> u128 {
    let mut octets = [0; WINDOW_MAX];
    octets.copy_from_slice(&padded[at..at + WINDOW_MAX]);
    u128::from_le_bytes(octets)
}

/// Returns the mask for the octets of a window of this length.
fn mask(length: usize) -> u128 {
    u128::MAX >> (8 * (WINDOW_MAX - length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::index::DirectFinder;
    use super::*;

    proptest! {
        #[test]
        fn what_is_prepared_finds_what_looking_finds(
            path in "/(aab|aab|ab|b|a|c){0,80}",
            texts in prop::collection::vec("(aab|b|a|c){1,14}", 0..6),
            parts in prop::collection::vec((any::<prop::sample::Index>(), 1..40_usize), 1..12),
        ) {
            let part = |(at, len): (prop::sample::Index, usize)| {
                let at = at.index(path.len());
                path[at..(at + len).min(path.len())].to_owned()
            };
            let texts: Vec<_> = texts.into_iter().chain(parts.into_iter().map(part)).collect();
            let mut spelled = Vec::new();
            let mut steps = Vec::new();
            for text in &texts {
                let start = spelled.len() as u32;
                spelled.extend_from_slice(text.as_bytes());
                steps.push(PatternStep { start, name: 0, len: text.len() as u16, last: false });
                steps.push(PatternStep { start, name: 0, len: text.len() as u16, last: true });
            }
            let names = name_steps(&mut steps, &spelled);
            spelled.resize(spelled.len() + WINDOW_MAX, 0);
            let mut prepared = Occurrences::of(path.as_bytes(), &spelled, names);
            let mut direct = DirectFinder::of(path.as_bytes(), &spelled, 99);
            // Often enough that steps get their lists.
            for _ in 0..8 {
                for from in 0..=path.len() {
                    for step in &steps {
                        let found = direct.find(step, from);
                        prop_assert_eq!(prepared.find(step, from), found, "{:?} from {}", step, from);
                        prop_assert!(found.is_none() || prepared.may_end(step, from));
                        prop_assert!(found.is_none() || direct.may_end(step, from));
                    }
                }
            }
        }
    }
}
