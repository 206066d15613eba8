//! A page as a tree in document order: the contents of an element are a range of numbers.
//!
//! html5ever builds the tree like a browser; this module keeps the parts that facts are read from.
//! Nothing recurses, so depth costs no stack. The bounds are [`TEXT_BYTES_MAX`], [`NODES_MAX`] and
//! [`DEPTH_MAX`]; the rest of a page is left out.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use crate::words::{HIDING_CLASS, KEPT_ATTRIBUTE, Words, patterns};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ExpandedName, LocalName, ParseOpts, QualName, ns, parse_document};
/// The nodes of a page, in document order.
pub(crate) struct PageTree {
    nodes: Vec<PageNode>,
    /// Classes whose lines a `style` element keeps as they are written.
    keeping: Vec<String>,
}

/// A node. Its descendants have the numbers between its own and `end`.
pub(crate) struct PageNode {
    /// The element around it; the root is around itself.
    pub(crate) parent: usize,
    /// One past the last node inside it.
    pub(crate) end: usize,
    /// What it is.
    pub(crate) what: NodeKind,
    /// Not shown to a reader: inside `template`, `script`, `hidden` and the like.
    pub(crate) hidden: bool,
}

/// The kind of a node.
pub(crate) enum NodeKind {
    /// The document itself.
    Root,
    /// An element.
    Element(Element),
    /// Some text, as written.
    Text(String),
}

/// An element's name and those of its attributes that matter here.
pub(crate) struct Element {
    /// In lower case.
    pub(crate) name: LocalName,
    attributes: Vec<(LocalName, String)>,
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| &**own == name).map(|(_, value)| value.as_str())
    }

    /// The words of `class`, `id` and similar attributes: `menu-item_price` has three.
    pub(crate) fn class_words(&self) -> impl Iterator<Item = &str> {
        ["class", "id", "data-hook", "role"]
            .into_iter()
            .filter_map(|name| self.attribute(name))
            .flat_map(|value| value.split(|c: char| !c.is_ascii_alphanumeric()))
            .filter(|word| !word.is_empty())
    }

    /// Whether a word of its classes is in a list.
    pub(crate) fn has_class(&self, words: &Words) -> bool {
        self.class_words().any(|word| words.are(&word.to_ascii_lowercase()))
    }
}

impl PageTree {
    /// Reads a page's text.
    pub(crate) fn parse(text: &str) -> PageTree {
        let mut cut = text.len().min(TEXT_BYTES_MAX);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        // Without scripts, as this reader is: what is in `noscript` counts.
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts {
                scripting_enabled: false,
                ..TreeBuilderOpts::default()
            },
            ..ParseOpts::default()
        };
        let mut parser = parse_document(NodeSink::new(), options);
        let mut rest = &text[..cut];
        let mut quiet = LongTag::default();
        while !rest.is_empty() {
            let mut step = rest.len().min(STEP_BYTES);
            while !rest.is_char_boundary(step) {
                step -= 1;
            }
            let (now, later) = rest.split_at(step);
            rest = later;
            parser.process(StrTendril::from_slice(now));
            let sink = &parser.tokenizer.sink.sink;
            if sink.is_full() || quiet.is_too_long(now, sink.calls.get()) {
                break;
            }
        }
        let mut tree = parser.finish();
        tree.hide_by_style();
        tree
    }

    /// Hides elements that a `style` element hides by class. Answers, panels and menus, which open
    /// on a click, stay.
    fn hide_by_style(&mut self) {
        let mut hidden: Vec<String> = Vec::new();
        let mut keeping: Vec<String> = Vec::new();
        for at in self.all("style") {
            let text = self.raw_text(at);
            for (classes, rule) in [(&mut hidden, &HIDING_RULE), (&mut keeping, &KEEPING_RULE)] {
                let caught = rule.captures_iter(&text).take(STYLES_MAX);
                classes.extend(caught.map(|caught| caught[1].to_owned()));
            }
        }
        self.keeping = keeping;
        hidden.retain(|class| !OPENS.iter().any(|word| class.to_ascii_lowercase().contains(word)));
        if hidden.is_empty() {
            return;
        }
        for at in 1..self.len() {
            let has = |element: &Element| {
                element.attribute("class").is_some_and(|class| {
                    class
                        .split_ascii_whitespace()
                        .any(|class| hidden.iter().any(|known| known == class))
                })
            };
            let own = self.element(at).is_some_and(has);
            self.nodes[at].hidden |= own || self.nodes[self.nodes[at].parent].hidden;
        }
    }

    /// Whether lines are kept as they are written: in a `pre`, or by a style that says the same.
    pub(crate) fn keeps_lines(&self, element: &Element) -> bool {
        let is_kept = |class: &str| self.keeping.iter().any(|known| known == class);
        &*element.name == "pre"
            || element.attribute("style").is_some_and(|style| KEEPING.is_match(style))
            || !self.keeping.is_empty()
                && element.attribute("class").is_some_and(|all| all.split(' ').any(is_kept))
    }

    /// Whether a text is raised: a number of a note, or cents.
    pub(crate) fn is_raised(&self, text: usize) -> bool {
        self.name(self.nodes[text].parent) == "sup"
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node with a number.
    pub(crate) fn node(&self, at: usize) -> &PageNode {
        &self.nodes[at]
    }

    /// The element with a number, if it is one.
    pub(crate) fn element(&self, at: usize) -> Option<&Element> {
        match &self.nodes[at].what {
            NodeKind::Element(element) => Some(element),
            _ => None,
        }
    }

    /// The name of an element; of other nodes it is empty.
    pub(crate) fn name(&self, at: usize) -> &str {
        self.element(at).map_or("", |element| &*element.name)
    }

    /// An element's attribute.
    pub(crate) fn attribute(&self, at: usize, name: &str) -> Option<&str> {
        self.element(at)?.attribute(name)
    }

    /// Whether a word of an element's classes is in a list.
    pub(crate) fn has_class(&self, at: usize, words: &Words) -> bool {
        self.element(at).is_some_and(|element| element.has_class(words))
    }

    /// The numbers of everything inside a node.
    pub(crate) fn inside(&self, at: usize) -> Range<usize> {
        at + 1..self.nodes[at].end
    }

    /// Whether a node is another one or inside it.
    pub(crate) fn contains(&self, outer: usize, inner: usize) -> bool {
        (outer..self.nodes[outer].end).contains(&inner)
    }

    /// The elements around a node, from the nearest on, without the root.
    pub(crate) fn around(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut here = at;
        std::iter::from_fn(move || {
            here = self.nodes[here].parent;
            (here != 0).then_some(here)
        })
    }

    /// The nearest element of one of these names, the node itself included.
    pub(crate) fn nearest(&self, at: usize, names: &[&str]) -> Option<usize> {
        std::iter::once(at).chain(self.around(at)).find(|&node| names.contains(&self.name(node)))
    }

    /// The children of a node.
    pub(crate) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[at].end;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.nodes[child].end;
            Some(child)
        })
    }

    /// All elements of a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |&at| self.name(at) == name)
    }

    /// The text inside a node as written; what is hidden only if the node itself is asked for.
    pub(crate) fn raw_text(&self, at: usize) -> String {
        let mut text = String::new();
        for inner in at..self.nodes[at].end {
            match &self.nodes[inner].what {
                NodeKind::Text(piece) if !self.nodes[inner].hidden || self.nodes[at].hidden => {
                    text.push_str(piece);
                }
                NodeKind::Element(element) if &*element.name == "br" => text.push('\n'),
                _ => {}
            }
            if text.len() > RAW_BYTES_MAX {
                break;
            }
        }
        text
    }
}

/// The time inside one tag. The tokenizer's search for repeated attributes is quadratic.
#[derive(Default)]
struct LongTag {
    calls: u64,
    gaps: usize,
}

impl LongTag {
    fn is_too_long(&mut self, step: &str, calls: u64) -> bool {
        if calls != self.calls {
            *self = LongTag { calls, gaps: 0 };
            return false;
        }
        let is_gap =
            |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'"' | b'\'' | b'=');
        self.gaps +=
            step.as_bytes().windows(2).filter(|two| is_gap(two[0]) && !is_gap(two[1])).count();
        self.gaps > QUIET_GAPS_MAX
    }
}

/// The tree that html5ever builds: nodes in the order of their creation, linked to each other.
struct NodeSink {
    made: RefCell<Vec<MadeNode>>,
    /// How often it was called: a reader of tags that is inside one does not call.
    calls: Cell<u64>,
    /// Nested too deeply to go on.
    deep: Cell<bool>,
}

/// A node and its name, which html5ever needs often.
#[derive(Clone)]
struct NodeHandle {
    at: usize,
    name: Rc<QualName>,
}

/// A node that html5ever created.
struct MadeNode {
    parent: Option<usize>,
    first: Option<usize>,
    last: Option<usize>,
    before: Option<usize>,
    after: Option<usize>,
    depth: usize,
    what: MadeWhat,
}

enum MadeWhat {
    Root,
    Element(LocalName, Vec<(LocalName, String)>),
    Text(String),
    /// A comment or the like: nothing is read from it.
    Other,
}

impl NodeSink {
    fn new() -> NodeSink {
        let sink =
            NodeSink { made: RefCell::default(), calls: Cell::new(0), deep: Cell::new(false) };
        sink.make(MadeWhat::Root);
        sink
    }

    fn is_full(&self) -> bool {
        self.deep.get() || self.made.borrow().len() > NODES_MAX
    }

    fn make(&self, what: MadeWhat) -> usize {
        let mut made = self.made.borrow_mut();
        made.push(MadeNode {
            parent: None,
            first: None,
            last: None,
            before: None,
            after: None,
            depth: 0,
            what,
        });
        made.len() - 1
    }

    fn called(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    fn detach(&self, at: usize) {
        let mut made = self.made.borrow_mut();
        let MadeNode { parent, before, after, .. } = made[at];
        if let Some(before) = before {
            made[before].after = after;
        }
        if let Some(after) = after {
            made[after].before = before;
        }
        if let Some(parent) = parent {
            if made[parent].first == Some(at) {
                made[parent].first = after;
            }
            if made[parent].last == Some(at) {
                made[parent].last = before;
            }
        }
        (made[at].parent, made[at].before, made[at].after) = (None, None, None);
    }

    /// Puts a node under `parent`, before one of its children or last.
    fn attach(&self, parent: usize, at: usize, after: Option<usize>) {
        self.detach(at);
        let mut made = self.made.borrow_mut();
        let before = match after {
            Some(after) => made[after].before,
            None => made[parent].last,
        };
        (made[at].parent, made[at].before, made[at].after) = (Some(parent), before, after);
        match before {
            Some(before) => made[before].after = Some(at),
            None => made[parent].first = Some(at),
        }
        match after {
            Some(after) => made[after].before = Some(at),
            None => made[parent].last = Some(at),
        }
        made[at].depth = made[parent].depth + 1;
        if made[at].depth > DEPTH_MAX {
            self.deep.set(true);
        }
    }

    fn put(&self, parent: usize, child: NodeOrText<NodeHandle>, after: Option<usize>) {
        self.called();
        let text = match child {
            NodeOrText::AppendNode(node) => return self.attach(parent, node.at, after),
            NodeOrText::AppendText(text) => text,
        };
        let before = match after {
            Some(after) => self.made.borrow()[after].before,
            None => self.made.borrow()[parent].last,
        };
        if let Some(before) = before
            && let MadeWhat::Text(own) = &mut self.made.borrow_mut()[before].what
        {
            own.push_str(&text);
            return;
        }
        let at = self.make(MadeWhat::Text(text.to_string()));
        self.attach(parent, at, after);
    }
}

impl TreeSink for NodeSink {
    type Handle = NodeHandle;
    type Output = PageTree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> PageTree {
        order(self.made.into_inner())
    }

    fn parse_error(&self, _: Cow<'static, str>) {
        self.called();
    }

    fn get_document(&self) -> NodeHandle {
        NodeHandle { at: 0, name: Rc::new(QualName::new(None, ns!(), LocalName::from(""))) }
    }

    fn elem_name<'a>(&'a self, target: &'a NodeHandle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        _: ElementFlags,
    ) -> NodeHandle {
        self.called();
        let at = self.make(MadeWhat::Element(name.local.clone(), kept(attributes)));
        NodeHandle { at, name: Rc::new(name) }
    }

    fn create_comment(&self, _: StrTendril) -> NodeHandle {
        self.called();
        NodeHandle { at: self.make(MadeWhat::Other), ..self.get_document() }
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeHandle {
        self.create_comment(StrTendril::new())
    }

    fn append(&self, parent: &NodeHandle, child: NodeOrText<NodeHandle>) {
        self.put(parent.at, child, None);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeHandle,
        previous: &NodeHandle,
        child: NodeOrText<NodeHandle>,
    ) {
        if self.made.borrow()[element.at].parent.is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// What is in a template stays inside it here: it is hidden with it.
    fn get_template_contents(&self, target: &NodeHandle) -> NodeHandle {
        target.clone()
    }

    fn same_node(&self, x: &NodeHandle, y: &NodeHandle) -> bool {
        x.at == y.at
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeHandle, child: NodeOrText<NodeHandle>) {
        let parent = self.made.borrow()[sibling.at].parent;
        if let Some(parent) = parent {
            self.put(parent, child, Some(sibling.at));
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeHandle, more: Vec<Attribute>) {
        if let MadeWhat::Element(_, own) = &mut self.made.borrow_mut()[target.at].what {
            for (name, value) in kept(more) {
                if own.len() < ATTRIBUTES_MAX && own.iter().all(|(known, _)| *known != name) {
                    own.push((name, value));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeHandle) {
        self.detach(target.at);
    }

    fn reparent_children(&self, node: &NodeHandle, new_parent: &NodeHandle) {
        loop {
            let first = self.made.borrow()[node.at].first;
            match first {
                Some(child) => self.attach(new_parent.at, child, None),
                None => break,
            }
        }
    }
}

/// The attributes that facts are read from, cut to a length.
fn kept(attributes: Vec<Attribute>) -> Vec<(LocalName, String)> {
    let wanted =
        attributes.into_iter().filter(|attribute| KEPT_ATTRIBUTE.are(&attribute.name.local));
    wanted
        .take(ATTRIBUTES_MAX)
        .map(|attribute| {
            (attribute.name.local, attribute.value.chars().take(VALUE_CHARS_MAX).collect())
        })
        .collect()
}

/// Numbers the nodes in document order.
fn order(mut made: Vec<MadeNode>) -> PageTree {
    let mut nodes = vec![PageNode { parent: 0, end: 0, what: NodeKind::Root, hidden: false }];
    // Nodes to visit, each with its parent's number; and the numbers of the open ones.
    let mut next = made[0].first;
    let mut open: Vec<(usize, usize)> = vec![(0, 0)];
    while let Some(&(around, number)) = open.last() {
        let Some(at) = next else {
            open.pop();
            nodes[number].end = nodes.len();
            next = made[around].after;
            continue;
        };
        let what = match std::mem::replace(&mut made[at].what, MadeWhat::Other) {
            MadeWhat::Element(name, attributes) => NodeKind::Element(Element { name, attributes }),
            MadeWhat::Text(text) => NodeKind::Text(text),
            MadeWhat::Root | MadeWhat::Other => {
                next = made[at].after;
                continue;
            }
        };
        let hidden = nodes[number].hidden
            || matches!(&what, NodeKind::Element(element) if is_hidden(element));
        let leaf = !matches!(what, NodeKind::Element(_)) || open.len() > DEPTH_MAX;
        nodes.push(PageNode { parent: number, end: nodes.len() + 1, what, hidden });
        if leaf {
            next = made[at].after;
        } else {
            open.push((at, nodes.len() - 1));
            next = made[at].first;
        }
    }
    PageTree { nodes, keeping: Vec::new() }
}

fn is_hidden(element: &Element) -> bool {
    if [
        "script", "style", "template", "head", "textarea", "select", "option", "datalist", "svg",
        "math", "iframe", "object", "canvas", "audio", "video",
    ]
    .contains(&&*element.name)
        || element.attribute("hidden").is_some()
    {
        return true;
    }
    if element.attribute("class").is_some_and(is_hiding_class) {
        return true;
    }
    element.attribute("style").is_some_and(|style| {
        let style: String =
            style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
        style.contains("display:none") || style.contains("visibility:hidden")
    })
}

/// Whether well-known classes hide an element on all screens and for good.
fn is_hiding_class(class: &str) -> bool {
    let class = class.to_ascii_lowercase();
    let mut words = class.split_ascii_whitespace();
    words.any(|word| HIDING_CLASS.are(word))
        && !SHOWN_AGAIN.is_match(&class)
        && !OPENS.iter().any(|word| class.contains(word))
}

patterns! {
    /// `hidden md:block`, `d-none d-md-block`.
    SHOWN_AGAIN: r":(?:block|flex|grid|inline|table|contents)|d-(?:sm|md|lg|xl|xxl)-";
    /// A rule for one class that hides it. Rules with more to them depend on what a script does.
    HIDING_RULE: r"(?:^|[}\s,])\.([A-Za-z0-9_-]+)\s*\{[^{}]*display\s*:\s*none[^{}]*\}";
    /// A rule for one class that keeps lines as they are written.
    KEEPING_RULE: r"(?:^|[}\s,])\.([A-Za-z0-9_-]+)\s*\{[^{}]*white-space\s*:\s*pre[^{}]*\}";
    KEEPING: r"white-space\s*:\s*pre";
}

/// Parts of class names of what opens on a click.
const OPENS: [&str; 16] = [
    "answer", "panel", "content", "body", "collapse", "accord", "tab", "menu", "nav", "toggle",
    "drop", "faq", "text", "mobile", "desktop", "price",
];

/// The most of a page that is read.
pub(crate) const TEXT_BYTES_MAX: usize = 2 << 20;
/// More nodes than these end a page.
pub(crate) const NODES_MAX: usize = 200_000;
/// A page that nests deeper ends there.
pub(crate) const DEPTH_MAX: usize = 512;
/// The page is handed on in steps: after each, the bounds are looked at.
const STEP_BYTES: usize = 4_096;
/// A single tag with more gaps between its words ends the page.
pub(crate) const QUIET_GAPS_MAX: usize = 4_000;
/// The most rules of one `style` that are read.
pub(crate) const STYLES_MAX: usize = 100;
/// The most attributes of one element that are kept.
pub(crate) const ATTRIBUTES_MAX: usize = 32;
/// The most of an attribute's value that is kept.
pub(crate) const VALUE_CHARS_MAX: usize = 2_000;
/// The most of one element's text that is gathered.
pub(crate) const RAW_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(html: &str) -> String {
        PageTree::parse(html).raw_text(0)
    }

    #[test]
    fn what_is_hidden_is_not_read() {
        let html = "<p>a<!-- b --><b hidden>c</b><i style='Display : none'>d</i><template>e</template><script>f</script>g";
        assert_eq!(visible(html), "ag");
    }

    #[test]
    fn a_class_that_a_style_hides_is_not_read() {
        assert_eq!(
            visible(
                "<style>p{margin:0}.off { color: red; display: none }.faq-answer{display:none}</style><p class=off>a<p class='x faq-answer'>b"
            ),
            "b"
        );
    }

    #[test]
    fn inside_is_a_range() {
        let tree = PageTree::parse("<ul><li>a<li>b<b>c</b></ul><p>d");
        let list = tree.all("ul").next().unwrap();
        assert_eq!(tree.raw_text(list), "abc");
        assert_eq!(
            tree.children(list).map(|at| tree.raw_text(at)).collect::<Vec<_>>(),
            ["a", "bc"]
        );
        assert!(tree.inside(list).all(|inner| tree.contains(list, inner)));
    }

    #[test]
    fn misnested_tags_end_up_where_a_browser_has_them() {
        assert_eq!(visible("<table><tr>x<td>y</table>"), "xy");
        assert_eq!(visible("<b>1<p>2</b>3</p>"), "123");
    }

    #[test]
    fn a_million_nested_tags_cost_neither_stack_nor_time() {
        let tree = PageTree::parse(&"<div>".repeat(1_000_000));
        assert!(tree.len() < 10 * DEPTH_MAX);
    }

    #[test]
    fn a_tag_with_endless_attributes_ends_the_page() {
        let mut html = String::from("<p>before<a ");
        for number in 0..300_000 {
            html.push_str(&format!("a{number} "));
        }
        html.push_str(">after");
        assert_eq!(visible(&html), "before");
    }

    #[test]
    fn a_long_value_is_cut_and_the_page_goes_on() {
        let html = format!("<p title=x><img alt='{}'>after", "y".repeat(1_000_000));
        let tree = PageTree::parse(&html);
        let image = tree.all("img").next().unwrap();
        assert_eq!(tree.attribute(image, "alt").unwrap().len(), VALUE_CHARS_MAX);
        assert_eq!(tree.raw_text(0), "after");
    }
}
