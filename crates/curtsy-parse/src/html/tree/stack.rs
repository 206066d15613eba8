//! The stack of open elements (HTML standard §13.2.4.2), and its scopes.
//!
//! Each search counts its steps: a page that is nested a million deep and searches at every tag
//! would otherwise take quadratic time.

use super::arena::{Arena, NodeId};
use crate::html::name::{
    BUTTON_SCOPE, ElementName, IMPLIED, LIST_SCOPE, MATH, P, SCOPE, SVG, TABLE_SCOPE, TEMPLATE,
    THOROUGH,
};

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenElement {
    pub(super) node: NodeId,
    pub(super) name: ElementName,
    /// The classes of the name in its language.
    pub(super) kinds: u32,
}

impl OpenElement {
    /// Returns whether it is the HTML element of this name.
    pub(super) fn is(&self, name: ElementName) -> bool {
        self.name == name && self.is_html()
    }

    pub(super) fn is_html(&self) -> bool {
        self.kinds & (SVG | MATH) == 0
    }

    pub(super) fn any(&self, names: &[ElementName]) -> bool {
        self.is_html() && names.contains(&self.name)
    }
}

#[derive(Default)]
pub(super) struct Stack {
    open: Vec<OpenElement>,
    /// The number of open `p` elements. Most searches are for them, and mostly there is none.
    paragraphs: usize,
    templates: usize,
    /// The number of steps of all searches so far.
    pub(super) steps: usize,
}

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn last(&self) -> Option<&OpenElement> {
        self.open.last()
    }

    pub(super) fn get(&self, at: usize) -> Option<&OpenElement> {
        self.open.get(at)
    }

    pub(super) fn has_template(&self) -> bool {
        self.templates > 0
    }

    pub(super) fn push(&mut self, open: OpenElement, arena: &mut Arena) {
        self.count(&open, 1);
        arena.set_open(open.node, true);
        self.open.push(open);
    }

    pub(super) fn insert(&mut self, at: usize, open: OpenElement, arena: &mut Arena) {
        self.count(&open, 1);
        arena.set_open(open.node, true);
        self.open.insert(at, open);
    }

    pub(super) fn pop(&mut self, arena: &mut Arena) -> Option<OpenElement> {
        let open = self.open.pop()?;
        self.count(&open, -1);
        arena.set_open(open.node, false);
        Some(open)
    }

    pub(super) fn remove(&mut self, at: usize, arena: &mut Arena) {
        self.steps += self.open.len() - at;
        let open = self.open.remove(at);
        self.count(&open, -1);
        arena.set_open(open.node, false);
    }

    /// Replaces a formatting element with its copy.
    pub(super) fn replace(&mut self, at: usize, node: NodeId, arena: &mut Arena) {
        arena.set_open(self.open[at].node, false);
        arena.set_open(node, true);
        self.open[at].node = node;
    }

    fn count(&mut self, open: &OpenElement, change: isize) {
        match open.name {
            P if open.is_html() => {
                self.paragraphs = self.paragraphs.wrapping_add_signed(change);
            }
            TEMPLATE if open.is_html() => {
                self.templates = self.templates.wrapping_add_signed(change);
            }
            _ => {}
        }
    }

    /// Returns the place of an element, searched from the top.
    pub(super) fn position(&mut self, node: NodeId) -> Option<usize> {
        let found = self.open.iter().rposition(|open| open.node == node);
        self.steps += self.open.len() - found.unwrap_or(0);
        found
    }

    /// Returns the place of the topmost HTML element of this name.
    pub(super) fn last_position(&mut self, name: ElementName) -> Option<usize> {
        let found = self.open.iter().rposition(|open| open.is(name));
        self.steps += self.open.len() - found.unwrap_or(0);
        found
    }

    pub(super) fn in_scope(&mut self, name: ElementName) -> bool {
        self.search(SCOPE, |open| open.is(name))
    }

    pub(super) fn in_list_scope(&mut self, name: ElementName) -> bool {
        self.search(SCOPE | LIST_SCOPE, |open| open.is(name))
    }

    pub(super) fn p_in_button_scope(&mut self) -> bool {
        self.paragraphs > 0 && self.search(SCOPE | BUTTON_SCOPE, |open| open.is(P))
    }

    pub(super) fn in_table_scope(&mut self, names: &[ElementName]) -> bool {
        self.search(TABLE_SCOPE, |open| open.any(names))
    }

    /// Returns whether an element is found from the top before one of these classes.
    pub(super) fn search(&mut self, ends: u32, wanted: impl Fn(&OpenElement) -> bool) -> bool {
        for open in self.open.iter().rev() {
            self.steps += 1;
            if wanted(open) {
                return true;
            }
            // Table scope consists of HTML elements, which alone have that class.
            if open.kinds & ends != 0 {
                return false;
            }
        }
        false
    }

    /// Returns whether the top is closed by implication.
    pub(super) fn top_is_implied(&self, but: Option<ElementName>, thorough: bool) -> bool {
        let kinds = if thorough { IMPLIED | THOROUGH } else { IMPLIED };
        self.last().is_some_and(|open| open.kinds & kinds != 0 && Some(open.name) != but)
    }
}
