//! The tree construction of the HTML standard (§13.2.6), with scripting off.
//!
//! Browsers repair what authors write: a link inside a table moves before it, an unclosed link is
//! opened again in the next paragraph, a frameset removes the body. A page links to what is in the
//! finished tree, so all insertion modes are here. A document is *not* here: the tree has places,
//! no texts and no attributes (see [`arena`]), and elements without children and facts never get
//! into it.
//!
//! Not supported: `template` with `shadowrootmode` (a template like others), and fragments.

mod arena;
mod body;
mod foreign;
mod formatting;
mod head;
mod stack;
mod table;

use arena::{Arena, DOCUMENT, FactId, InsertionPlace, NodeId};
use formatting::Formatting;
use stack::{OpenElement, Stack};

use super::fact::{self, ElementFact};
use super::name::{
    BODY, CAPTION, COLGROUP, ElementName, FORMATTING, FRAMESET, HEAD, HTML, KEPT, TABLE, TBODY, TD,
    TEMPLATE, TFOOT, TH, THEAD, TR,
};
use super::token::{Characters, HtmlToken, TextSpan, Tokens};

/// Reads a whole text, and calls `tell` with the facts of its elements in document order.
pub(super) fn facts(text: &str, mut tell: impl FnMut(ElementFact)) -> Whole {
    let mut builder = Builder::new(text);
    let complete = builder.run();
    builder.arena.tell_facts(|FactId(at)| tell(builder.facts[at as usize]));
    Whole { complete, password: builder.password }
}

/// Facts about a page as a whole.
pub(super) struct Whole {
    /// Whether it was read to its end.
    pub(super) complete: bool,
    /// Whether it has a password field.
    pub(super) password: bool,
}

/// Whether a token is processed, or must be processed again in the mode that is now in force.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeStep {
    Done,
    Again,
}

/// "Insertion mode". There is none for text: the content of `title` and `script` is skipped where
/// it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InsertionMode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InTemplate,
    AfterBody,
    InFrameset,
    AfterFrameset,
    AfterAfterBody,
    AfterAfterFrameset,
}

struct Builder<'t> {
    tokens: Tokens<'t>,
    arena: Arena,
    stack: Stack,
    formatting: Formatting,
    facts: Vec<ElementFact>,
    mode: InsertionMode,
    template_modes: Vec<InsertionMode>,
    head: Option<NodeId>,
    form: Option<NodeId>,
    quirky: bool,
    frameset_ok: bool,
    password: bool,
    /// "Foster parenting": content that does not belong into a table is put before it.
    fostering: bool,
    nodes_max: usize,
    steps_max: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Builder<'t> {
        Builder {
            tokens: Tokens::new(text),
            arena: Arena::new(),
            stack: Stack::default(),
            formatting: Formatting::default(),
            facts: Vec::with_capacity(FACTS_EXPECTED),
            mode: InsertionMode::Initial,
            template_modes: Vec::new(),
            head: None,
            form: None,
            quirky: false,
            frameset_ok: true,
            password: false,
            fostering: false,
            nodes_max: NODES_MAX + text.len() / BYTES_PER_NODE,
            steps_max: STEPS_MAX + text.len() * STEPS_PER_BYTE,
        }
    }

    fn run(&mut self) -> bool {
        loop {
            let foreign = self.stack.last().is_some_and(|open| !open.is_html());
            match self.tokens.next(foreign) {
                None => return true,
                // Every second token is text in the body: it takes the shortest way.
                Some(HtmlToken::Characters(run))
                    if self.mode == InsertionMode::InBody && !foreign =>
                {
                    self.characters_in_body(run);
                }
                Some(token) => self.process(token),
            }
            let steps = self.stack.steps + self.formatting.steps;
            if self.arena.len() > self.nodes_max || steps > self.steps_max {
                return false;
            }
        }
    }

    fn process(&mut self, token: HtmlToken) {
        while match self.is_for_html(token) {
            true => self.step(self.mode, token),
            false => self.foreign(token),
        } == TreeStep::Again
        {}
    }

    fn step(&mut self, mode: InsertionMode, token: HtmlToken) -> TreeStep {
        match mode {
            InsertionMode::InBody | InsertionMode::AfterAfterBody | InsertionMode::AfterBody => {
                self.body_modes(mode, token)
            }
            InsertionMode::Initial
            | InsertionMode::BeforeHtml
            | InsertionMode::BeforeHead
            | InsertionMode::InHead
            | InsertionMode::InHeadNoscript
            | InsertionMode::AfterHead => self.head_modes(mode, token),
            InsertionMode::InTable
            | InsertionMode::InCaption
            | InsertionMode::InColumnGroup
            | InsertionMode::InTableBody
            | InsertionMode::InRow
            | InsertionMode::InCell => self.table_modes(mode, token),
            InsertionMode::InTemplate => self.in_template(token),
            InsertionMode::InFrameset
            | InsertionMode::AfterFrameset
            | InsertionMode::AfterAfterFrameset => self.frameset_modes(mode, token),
        }
    }

    /// "In template".
    fn in_template(&mut self, token: HtmlToken) -> TreeStep {
        use super::name::*;
        let mode = match token {
            HtmlToken::Characters(_) | HtmlToken::Doctype { .. } => return self.in_body(token),
            HtmlToken::End { name: TEMPLATE } => return self.in_head(token),
            HtmlToken::End { .. } => return TreeStep::Done,
            HtmlToken::Start { name, .. } => match name {
                BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE
                | TITLE => return self.in_head(token),
                CAPTION | COLGROUP | TBODY | TFOOT | THEAD => InsertionMode::InTable,
                COL => InsertionMode::InColumnGroup,
                TR => InsertionMode::InTableBody,
                TD | TH => InsertionMode::InRow,
                _ => InsertionMode::InBody,
            },
        };
        self.template_modes.pop();
        self.template_modes.push(mode);
        self.mode = mode;
        TreeStep::Again
    }

    /// "In frameset", "after frameset", "after after frameset".
    fn frameset_modes(&mut self, mode: InsertionMode, token: HtmlToken) -> TreeStep {
        use super::name::*;
        match (mode, token) {
            (_, HtmlToken::Start { name: HTML, .. }) => return self.in_body(token),
            // Only the white space of a run of characters counts.
            (InsertionMode::AfterAfterFrameset, HtmlToken::Characters(_)) => {
                let white = self.tokens.whole_run().white;
                return self.characters_in_body(Characters { white, ..Characters::default() });
            }
            (InsertionMode::InFrameset, HtmlToken::Start { name: FRAMESET, .. }) => {
                self.insert_html(FRAMESET);
            }
            (InsertionMode::InFrameset, HtmlToken::End { name: FRAMESET })
                if self.stack.len() > 1 =>
            {
                self.pop();
                if !self.stack.last().is_some_and(|open| open.is(FRAMESET)) {
                    self.mode = InsertionMode::AfterFrameset;
                }
            }
            (InsertionMode::InFrameset, HtmlToken::Start { name: FRAME, .. }) => {
                self.insert_void(FRAME)
            }
            (_, HtmlToken::Start { name: NOFRAMES, .. }) => return self.in_head(token),
            (InsertionMode::AfterFrameset, HtmlToken::End { name: HTML }) => {
                self.mode = InsertionMode::AfterAfterFrameset;
            }
            _ => {}
        }
        TreeStep::Done
    }

    // ---- inserting

    /// "The appropriate place for inserting a node".
    fn place(&mut self, target: OpenElement) -> InsertionPlace {
        if !self.fostering || !target.any(&[TABLE, TBODY, TFOOT, THEAD, TR]) {
            return InsertionPlace { parent: target.node, before: None };
        }
        let template = self.stack.last_position(TEMPLATE);
        let table = self.stack.last_position(TABLE);
        let inside = |open: Option<&OpenElement>| InsertionPlace {
            parent: open.map_or(DOCUMENT, |open| open.node),
            before: None,
        };
        match (template, table) {
            (Some(template), None) => inside(self.stack.get(template)),
            (Some(template), Some(table)) if template > table => inside(self.stack.get(template)),
            (_, None) => inside(self.stack.get(0)),
            (_, Some(table)) => {
                let node = self.stack.get(table).map_or(DOCUMENT, |open| open.node);
                match self.arena.parent(node) {
                    Some(parent) => InsertionPlace { parent, before: Some(node) },
                    None => inside(self.stack.get(table.saturating_sub(1))),
                }
            }
        }
    }

    fn place_here(&mut self) -> InsertionPlace {
        match self.stack.last() {
            Some(&open) => self.place(open),
            None => InsertionPlace { parent: DOCUMENT, before: None },
        }
    }

    fn keep(&mut self, fact: Option<ElementFact>) -> Option<FactId> {
        self.facts.push(fact?);
        Some(FactId(self.facts.len() as u32 - 1))
    }

    fn insert(&mut self, name: ElementName, kinds: u32, fact: Option<ElementFact>) -> NodeId {
        let fact = self.keep(fact);
        let place = self.place_here();
        let node = self.arena.create(fact);
        self.arena.insert(node, place);
        self.stack.push(OpenElement { node, name, kinds }, &mut self.arena);
        node
    }

    /// Inserts an HTML element for the last tag.
    fn insert_html(&mut self, name: ElementName) -> NodeId {
        let fact = fact::of_html(name, &self.tokens);
        self.insert(name, name.html_kinds(), fact)
    }

    /// Inserts an HTML element without a tag.
    fn insert_implied(&mut self, name: ElementName) -> NodeId {
        self.insert(name, name.html_kinds(), None)
    }

    /// Inserts an element without children.
    fn insert_void(&mut self, name: ElementName) {
        let fact = fact::of_html(name, &self.tokens);
        self.insert_leaf(fact);
    }

    fn insert_leaf(&mut self, fact: Option<ElementFact>) {
        if let Some(fact) = self.keep(fact) {
            let place = self.place_here();
            let node = self.arena.create(Some(fact));
            self.arena.insert(node, place);
        }
    }

    /// Inserts an element whose content is text only, and skips it.
    fn insert_raw(&mut self, name: ElementName) {
        self.insert_void(name);
        self.tokens.raw_contents(name.raw_text().unwrap_or_default());
    }

    fn insert_title(&mut self) {
        let text: TextSpan = self.tokens.raw_contents("title");
        self.insert_leaf(Some(ElementFact::Title { text }));
    }

    // ---- closing

    fn pop(&mut self) -> Option<OpenElement> {
        let open = self.stack.pop(&mut self.arena)?;
        if open.kinds & (FORMATTING | KEPT) == 0 {
            self.arena.drop_if_bare(open.node);
        }
        Some(open)
    }

    /// Pops until an HTML element of this name has been popped.
    fn pop_until(&mut self, name: ElementName) {
        while self.pop().is_some_and(|open| !open.is(name)) {}
    }

    fn pop_until_any(&mut self, wanted: u32) {
        while self.pop().is_some_and(|open| open.kinds & wanted == 0) {}
    }

    /// "Clear the stack back to a table context", and its variants; `html` and `template` always
    /// end it.
    fn clear_back_to(&mut self, names: &[ElementName]) {
        while let Some(open) = self.stack.last()
            && !open.any(names)
            && !open.any(&[TEMPLATE, HTML])
        {
            self.pop();
        }
    }

    fn imply_ends(&mut self, but: Option<ElementName>) {
        while self.stack.top_is_implied(but, false) {
            self.pop();
        }
    }

    fn imply_all_ends(&mut self) {
        while self.stack.top_is_implied(None, true) {
            self.pop();
        }
    }

    fn current_is(&self, name: ElementName) -> bool {
        self.stack.last().is_some_and(|open| open.is(name))
    }

    /// "Reset the insertion mode appropriately".
    fn reset_mode(&mut self) {
        self.mode = InsertionMode::InBody;
        for at in (0..self.stack.len()).rev() {
            self.stack.steps += 1;
            let Some(open) = self.stack.get(at).filter(|open| open.is_html()) else { continue };
            self.mode = match open.name {
                TD | TH if at > 0 => InsertionMode::InCell,
                TR => InsertionMode::InRow,
                TBODY | THEAD | TFOOT => InsertionMode::InTableBody,
                CAPTION => InsertionMode::InCaption,
                COLGROUP => InsertionMode::InColumnGroup,
                TABLE => InsertionMode::InTable,
                TEMPLATE => self.template_modes.last().copied().unwrap_or(InsertionMode::InBody),
                HEAD if at > 0 => InsertionMode::InHead,
                BODY => InsertionMode::InBody,
                FRAMESET => InsertionMode::InFrameset,
                HTML if self.head.is_none() => InsertionMode::BeforeHead,
                HTML => InsertionMode::AfterHead,
                _ => continue,
            };
            return;
        }
    }
}

/// The usual number of facts of a page.
const FACTS_EXPECTED: usize = 64;
/// Limit of the nodes of a page, which grows with its length: no page takes more than four times
/// its own size.
pub(crate) const NODES_MAX: usize = 16_384;
const BYTES_PER_NODE: usize = 8;
/// Limit of the search steps of a page, which grows with its length. Ordinary pages take less than
/// one for two bytes.
pub(crate) const STEPS_MAX: usize = 4_000_000;
const STEPS_PER_BYTE: usize = 64;
