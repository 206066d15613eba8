//! The elements of a page, as far as their order matters.
//!
//! An element here has no name, no attributes and no text: only its place and, if it has a fact,
//! the fact's number. An element that is closed, has no children left and no fact is removed. So
//! the tree has only the open elements and the ways to the facts.

/// The number of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(u32);

/// The number of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) struct FactId(pub(in crate::html) u32);

/// The place of a new element: as the last child, or before another child.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsertionPlace {
    pub(super) parent: NodeId,
    pub(super) before: Option<NodeId>,
}

/// A node of the tree.
#[derive(Clone, Copy)]
struct ArenaNode {
    parent: u32,
    first: u32,
    last: u32,
    previous: u32,
    next: u32,
    fact: u32,
    /// On the stack of open elements.
    open: bool,
    /// Its content is not in the document.
    outside: bool,
}

pub(super) struct Arena {
    nodes: Vec<ArenaNode>,
    free: Vec<u32>,
}

impl Arena {
    /// Returns a tree with only the document, which is [`DOCUMENT`].
    pub(super) fn new() -> Arena {
        let mut nodes = Vec::with_capacity(256);
        nodes.push(ArenaNode { open: true, ..NODE });
        Arena { nodes, free: Vec::new() }
    }

    /// Returns the number of elements that take memory.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn create(&mut self, fact: Option<FactId>) -> NodeId {
        let node = ArenaNode { fact: fact.map_or(NONE, |fact| fact.0), ..NODE };
        match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                NodeId(id)
            }
            None => {
                self.nodes.push(node);
                NodeId(self.nodes.len() as u32 - 1)
            }
        }
    }

    /// Creates a second element with the same fact.
    pub(super) fn copy(&mut self, of: NodeId) -> NodeId {
        let fact = self.at(of).fact;
        self.create((fact != NONE).then_some(FactId(fact)))
    }

    pub(super) fn insert(&mut self, node: NodeId, place: InsertionPlace) {
        let (NodeId(id), NodeId(parent)) = (node, place.parent);
        match place.before {
            Some(NodeId(next)) => {
                let previous = std::mem::replace(&mut self.nodes[next as usize].previous, id);
                match previous {
                    NONE => self.nodes[parent as usize].first = id,
                    previous => self.nodes[previous as usize].next = id,
                }
                let node = &mut self.nodes[id as usize];
                (node.parent, node.previous, node.next) = (parent, previous, next);
            }
            None => {
                let previous = std::mem::replace(&mut self.nodes[parent as usize].last, id);
                match previous {
                    NONE => self.nodes[parent as usize].first = id,
                    previous => self.nodes[previous as usize].next = id,
                }
                let node = &mut self.nodes[id as usize];
                (node.parent, node.previous, node.next) = (parent, previous, NONE);
            }
        }
    }

    /// Removes an element from its parent, with everything in it.
    pub(super) fn detach(&mut self, node: NodeId) {
        let ArenaNode { parent, previous, next, .. } = *self.at(node);
        if parent == NONE {
            return;
        }
        match previous {
            NONE => self.nodes[parent as usize].first = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.nodes[parent as usize].last = previous,
            next => self.nodes[next as usize].previous = previous,
        }
        let node = &mut self.nodes[node.0 as usize];
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
    }

    /// Moves all children of one element to another, which has none.
    pub(super) fn move_children(&mut self, from: NodeId, to: NodeId) {
        let (first, last) = (self.at(from).first, self.at(from).last);
        let mut child = first;
        while child != NONE {
            let node = &mut self.nodes[child as usize];
            node.parent = to.0;
            child = node.next;
        }
        let from = &mut self.nodes[from.0 as usize];
        (from.first, from.last) = (NONE, NONE);
        let to = &mut self.nodes[to.0 as usize];
        (to.first, to.last) = (first, last);
    }

    pub(super) fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.at(node).parent;
        (parent != NONE).then_some(NodeId(parent))
    }

    pub(super) fn is_open(&self, node: NodeId) -> bool {
        self.at(node).open
    }

    pub(super) fn set_open(&mut self, node: NodeId, open: bool) {
        self.nodes[node.0 as usize].open = open;
    }

    /// Marks the content of this element as not in the document, as with a `template`.
    pub(super) fn set_outside(&mut self, node: NodeId) {
        self.nodes[node.0 as usize].outside = true;
    }

    /// Removes a closed element for good if it has no children and no fact. Nothing may refer to it
    /// any more.
    pub(super) fn drop_if_bare(&mut self, node: NodeId) {
        let ArenaNode { first, fact, open, .. } = *self.at(node);
        if first == NONE && fact == NONE && !open {
            self.detach(node);
            self.free.push(node.0);
        }
    }

    /// Calls `tell` with the facts in the order of their elements.
    pub(super) fn tell_facts(&self, mut tell: impl FnMut(FactId)) {
        let mut at = DOCUMENT.0;
        loop {
            let node = &self.nodes[at as usize];
            if node.fact != NONE {
                tell(FactId(node.fact));
            }
            let mut next = if node.outside { NONE } else { node.first };
            while next == NONE {
                if at == DOCUMENT.0 {
                    return;
                }
                next = self.nodes[at as usize].next;
                if next == NONE {
                    at = self.nodes[at as usize].parent;
                }
            }
            at = next;
        }
    }

    fn at(&self, node: NodeId) -> &ArenaNode {
        &self.nodes[node.0 as usize]
    }
}

/// The root of the tree, which is no element.
pub(super) const DOCUMENT: NodeId = NodeId(0);

const NONE: u32 = u32::MAX;
const NODE: ArenaNode = ArenaNode {
    parent: NONE,
    first: NONE,
    last: NONE,
    previous: NONE,
    next: NONE,
    fact: NONE,
    open: false,
    outside: false,
};
