//! The list of active formatting elements (HTML standard §13.2.4.3) and the adoption agency
//! (§13.2.6.4.7), by which one link of the source can become several in the page.

use super::arena::{InsertionPlace, NodeId};
use super::stack::OpenElement;
use super::{Builder, TreeStep};
use crate::html::entity;
use crate::html::name::{ElementName, SCOPE, SPECIAL};
use crate::html::token::{TextSpan, Tokens};

/// An entry in the list of active formatting elements.
#[derive(Clone, Copy)]
enum FormattingEntry {
    /// Searches end here: the start of a cell, a caption, a template, an object.
    Marker,
    Element {
        node: NodeId,
        name: ElementName,
        /// The place of its attributes in the text, and their hash once it was needed.
        inside: TextSpan,
        sum: Option<u64>,
    },
}

#[derive(Default)]
pub(super) struct Formatting {
    entries: Vec<FormattingEntry>,
    /// The number of steps of all searches so far.
    pub(super) steps: usize,
}

impl Formatting {
    pub(super) fn mark(&mut self) {
        self.entries.push(FormattingEntry::Marker);
    }

    pub(super) fn clear_to_mark(&mut self) {
        while let Some(entry) = self.entries.pop()
            && !matches!(entry, FormattingEntry::Marker)
        {}
    }

    fn last_is(&self, wanted: NodeId) -> bool {
        matches!(self.entries.last(), Some(FormattingEntry::Element { node, .. }) if *node == wanted)
    }

    fn position(&mut self, wanted: NodeId) -> Option<usize> {
        let found = self.entries.iter().rposition(
            |entry| matches!(entry, FormattingEntry::Element { node, .. } if *node == wanted),
        );
        self.steps += self.entries.len() - found.unwrap_or(0);
        found
    }

    /// Returns the last element of this name after the last marker.
    fn last(&mut self, wanted: ElementName) -> Option<NodeId> {
        for entry in self.entries.iter().rev() {
            self.steps += 1;
            match entry {
                FormattingEntry::Marker => return None,
                FormattingEntry::Element { node, name, .. } if *name == wanted => {
                    return Some(*node);
                }
                FormattingEntry::Element { .. } => {}
            }
        }
        None
    }

    fn remove(&mut self, node: NodeId) {
        if let Some(at) = self.position(node) {
            self.entries.remove(at);
        }
    }

    /// Adds an element. Of equal ones after the last marker three are kept.
    fn push(&mut self, node: NodeId, name: ElementName, tokens: &Tokens<'_>) {
        let inside = tokens.inside();
        let (mut same_name, mut from) = (0, self.entries.len());
        for (at, entry) in self.entries.iter().enumerate().rev() {
            self.steps += 1;
            match entry {
                FormattingEntry::Marker => break,
                FormattingEntry::Element { name: other, .. } => {
                    same_name += usize::from(*other == name)
                }
            }
            from = at;
        }
        let mut sum = None;
        if same_name >= ALIKE_MAX {
            let own = attribute_sum(tokens.text(), inside);
            sum = Some(own);
            let mut alike = 0;
            let mut first = None;
            for (at, entry) in self.entries.iter_mut().enumerate().skip(from) {
                self.steps += 1;
                if let FormattingEntry::Element { name: other, inside, sum, .. } = entry
                    && *other == name
                    && *sum.get_or_insert_with(|| attribute_sum(tokens.text(), *inside)) == own
                {
                    alike += 1;
                    first.get_or_insert(at);
                }
            }
            if let Some(first) = first.filter(|_| alike >= ALIKE_MAX) {
                self.entries.remove(first);
            }
        }
        self.entries.push(FormattingEntry::Element { node, name, inside, sum });
    }
}

impl Builder<'_> {
    /// Inserts the element of the last tag and records that it may be opened again.
    pub(super) fn insert_formatting(&mut self, name: ElementName) {
        let node = self.insert_html(name);
        self.formatting.push(node, name, &self.tokens);
    }

    /// "Reconstruct the active formatting elements": usually there are none, or the last one is
    /// open.
    #[inline]
    pub(super) fn reconstruct(&mut self) {
        match self.formatting.entries.last() {
            Some(FormattingEntry::Element { node, .. }) if !self.arena.is_open(*node) => {
                self.reopen()
            }
            _ => {}
        }
    }

    /// Opens the last elements of the list again that are closed.
    fn reopen(&mut self) {
        let mut at = self.formatting.entries.len();
        while at > 0 {
            match self.formatting.entries[at - 1] {
                FormattingEntry::Element { node, .. } if !self.arena.is_open(node) => at -= 1,
                FormattingEntry::Marker | FormattingEntry::Element { .. } => break,
            }
        }
        for at in at..self.formatting.entries.len() {
            self.formatting.steps += 1;
            if let FormattingEntry::Element { node, name, .. } = &mut self.formatting.entries[at] {
                let copy = self.arena.copy(*node);
                let name = *name;
                *node = copy;
                let place = self.place_here();
                self.arena.insert(copy, place);
                let open = OpenElement { node: copy, name, kinds: name.html_kinds() };
                self.stack.push(open, &mut self.arena);
            }
        }
    }

    /// Ends an `<a>` before another one inside it.
    pub(super) fn close_last_active(&mut self, name: ElementName) {
        let Some(node) = self.formatting.last(name) else { return };
        self.adopt(name);
        self.formatting.remove(node);
        if let Some(at) = self.arena.is_open(node).then(|| self.stack.position(node)).flatten() {
            self.stack.remove(at, &mut self.arena);
        }
    }

    /// The adoption agency algorithm for the end tag of a formatting element.
    pub(super) fn adopt(&mut self, name: ElementName) -> TreeStep {
        if let Some(&current) = self.stack.last()
            && current.is(name)
        {
            // The last opened element usually ends first, and no search is needed.
            let plain = self.formatting.last_is(current.node);
            if plain || self.formatting.position(current.node).is_none() {
                self.pop();
                if plain {
                    self.formatting.entries.pop();
                    self.arena.drop_if_bare(current.node);
                }
                return TreeStep::Done;
            }
        }
        for _ in 0..OUTER_MAX {
            let Some(formatting) = self.formatting.last(name) else {
                return self.any_other_end(name);
            };
            if !self.arena.is_open(formatting) {
                self.formatting.remove(formatting);
                return TreeStep::Done;
            }
            if !self.stack.search(SCOPE, |open| open.node == formatting) {
                return TreeStep::Done;
            }
            let Some(at) = self.stack.position(formatting) else { return TreeStep::Done };
            let special = (at + 1..self.stack.len())
                .find(|&at| self.stack.get(at).is_some_and(|open| open.kinds & SPECIAL != 0));
            self.stack.steps += self.stack.len() - at;
            let Some(furthest) = special else {
                while self.pop().is_some_and(|open| open.node != formatting) {}
                self.formatting.remove(formatting);
                self.arena.drop_if_bare(formatting);
                return TreeStep::Done;
            };
            self.adopt_into(formatting, at, furthest);
        }
        TreeStep::Done
    }

    /// Does one round of the agency: the formatting element at `at` moves from around the block at
    /// `furthest` into it.
    fn adopt_into(&mut self, formatting: NodeId, at: usize, furthest: usize) {
        let (Some(&ancestor), Some(&block)) =
            (self.stack.get(at.saturating_sub(1)), self.stack.get(furthest))
        else {
            return;
        };
        // The copy of the formatting element goes before the element at this place.
        let Some(mut bookmark) = self.formatting.position(formatting) else { return };
        let mut last = block.node;
        let mut above = furthest;
        for inner in 1.. {
            above -= 1;
            if above <= at {
                break;
            }
            let Some(&node) = self.stack.get(above) else { break };
            let mut listed = self.formatting.position(node.node);
            if inner > INNER_MAX
                && let Some(place) = listed.take()
            {
                self.formatting.entries.remove(place);
                bookmark -= usize::from(place < bookmark);
            }
            let Some(place) = listed else {
                self.stack.remove(above, &mut self.arena);
                continue;
            };
            let copy = self.arena.copy(node.node);
            if let FormattingEntry::Element { node, .. } = &mut self.formatting.entries[place] {
                *node = copy;
            }
            self.stack.replace(above, copy, &mut self.arena);
            if last == block.node {
                bookmark = place + 1;
            }
            self.arena.detach(last);
            self.arena.insert(last, InsertionPlace { parent: copy, before: None });
            last = copy;
        }
        self.arena.detach(last);
        let place = self.place(ancestor);
        self.arena.insert(last, place);

        let copy = self.arena.copy(formatting);
        self.arena.move_children(block.node, copy);
        self.arena.insert(copy, InsertionPlace { parent: block.node, before: None });
        if let Some(listed) = self.formatting.position(formatting) {
            let mut entry = self.formatting.entries.remove(listed);
            if let FormattingEntry::Element { node, .. } = &mut entry {
                *node = copy;
            }
            bookmark -= usize::from(listed < bookmark);
            self.formatting.entries.insert(bookmark, entry);
        }
        let Some(&OpenElement { name, kinds, .. }) = self.stack.get(at) else { return };
        self.stack.remove(at, &mut self.arena);
        if let Some(block) = self.stack.position(block.node) {
            self.stack.insert(block + 1, OpenElement { node: copy, name, kinds }, &mut self.arena);
        }
    }
}

/// Returns a hash that is the same for the same attributes in any order.
fn attribute_sum(text: &str, inside: TextSpan) -> u64 {
    let mut sum = 0_u64;
    for (name, value) in Tokens::attributes_of(text, inside) {
        let value = entity::in_attribute(value);
        let bytes = name.bytes().chain([b'=']).chain(value.bytes());
        sum = sum.wrapping_add(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            // FNV-1a
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }));
    }
    sum
}

/// The number of equal elements that are opened again.
const ALIKE_MAX: usize = 3;
const OUTER_MAX: usize = 8;
const INNER_MAX: usize = 3;
