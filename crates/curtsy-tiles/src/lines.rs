//! A page as lines: what a reader sees between two breaks, with what the markup says about it.
//!
//! A line knows its block, its headings, its part of the page (navigation, footer, quotation …) and
//! which of its words are bold, struck or a link. All readers of text read lines.

use std::ops::Range;

use crate::heading::{heading_level, mark_headings};
use crate::money::{self, Price};
use crate::naming::is_measure;
use crate::plain::{fold, is_unseen, plain};
use crate::tree::{Element, NodeKind, PageTree};
use crate::words::{
    DESCRIPTION_CLASS, FOOTER_CLASS, FRACTION_CLASS, NAME_CLASS, NAV_CLASS, OLD_PRICE_CLASS,
    POST_CLASS, QUOTE_CLASS,
};

/// The lines of a page, in order.
pub(crate) struct PageLines {
    /// The lines.
    pub(crate) all: Vec<TextLine>,
}

/// The text between two line breaks, as a reader sees it.
#[derive(Debug)]
pub(crate) struct TextLine {
    /// Plain text.
    pub(crate) text: String,
    /// The same, folded for looking up words.
    pub(crate) folded: String,
    /// The prices it names.
    pub(crate) prices: Vec<Price>,
    /// The block element around it.
    pub(crate) block: usize,
    /// The nodes its texts come from: first and last.
    pub(crate) nodes: (usize, usize),
    /// Its pieces, each with what the markup says about it.
    pub(crate) pieces: Vec<TextPiece>,
    /// What part of the page it is in.
    pub(crate) part: PagePart,
    /// 1 to 6 for `h1` to `h6`, 7 and more for lines that only look like headings; 0 for others.
    pub(crate) level: u8,
    /// An empty line stands before it.
    pub(crate) gap: bool,
    /// A rule (`hr`) stands before it.
    pub(crate) ruled: bool,
    /// The line that is the heading it stands under.
    pub(crate) heading: Option<usize>,
}

/// A part of a line with one style.
#[derive(Clone, Debug)]
pub(crate) struct TextPiece {
    /// Where it is in the line.
    pub(crate) at: Range<usize>,
    /// Its text node.
    pub(crate) node: usize,
    /// Its style.
    pub(crate) style: TextStyle,
}

/// The style that the inline elements around a text give it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextStyle {
    /// `b`, `strong`, `u`, a large font, or a class that says title or name.
    pub(crate) strong: bool,
    /// `s`, `del`, `strike`, or a class that says old price.
    pub(crate) struck: bool,
    /// `small`, `em`, `i`, or a class that says description.
    pub(crate) aside: bool,
    /// Inside a link.
    pub(crate) link: Option<usize>,
}

/// The parts of a page with different rules for facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagePart {
    /// Navigation, breadcrumbs, cookie banners: nothing is read there.
    pub(crate) nav: bool,
    /// The page's header.
    pub(crate) header: bool,
    /// The page's footer.
    pub(crate) footer: bool,
    /// Beside the page's matter.
    pub(crate) aside: bool,
    /// Somebody else's words: quotations, reviews, comments.
    pub(crate) quote: bool,
    /// A news item or a post.
    pub(crate) post: bool,
    /// A form.
    pub(crate) form: bool,
    /// A button.
    pub(crate) button: bool,
    /// An `address` element.
    pub(crate) address: bool,
}

impl TextLine {
    /// A part of its text, without what is crossed out.
    pub(crate) fn unstruck(&self, part: Range<usize>) -> String {
        if !self.pieces.iter().any(|piece| piece.style.struck) {
            return self.text[part].to_owned();
        }
        let pieces = self.pieces.iter().filter(|piece| !piece.style.struck);
        let inside = pieces.filter_map(|piece| {
            let (start, end) = (piece.at.start.max(part.start), piece.at.end.min(part.end));
            self.text.get(start..end).filter(|_| start < end)
        });
        inside.collect::<Vec<_>>().join(" ")
    }

    /// Whether the whole line has a style.
    pub(crate) fn is_all(&self, has: fn(&TextStyle) -> bool) -> bool {
        self.pieces.iter().all(|piece| {
            has(&piece.style) || self.text[piece.at.clone()].chars().all(|c| !c.is_alphanumeric())
        })
    }

    /// Whether a place in it has a style.
    pub(crate) fn has_at(&self, place: usize, has: fn(&TextStyle) -> bool) -> bool {
        self.pieces.iter().any(|piece| piece.at.contains(&place) && has(&piece.style))
    }

    /// The words it begins with that are set off from the rest, if there are such.
    pub(crate) fn lead(&self) -> Option<&str> {
        let end = self.pieces.iter().take_while(|piece| piece.style.strong).last()?.at.end;
        let lead = self.text[..end].trim();
        (lead.len() > 1 && end < self.text.len()).then_some(lead)
    }

    /// Whether it is part of what a page is about.
    pub(crate) fn is_matter(&self) -> bool {
        let PagePart { nav, quote, form, button, .. } = self.part;
        !(nav || quote || form || button)
    }
}

impl PageLines {
    /// Breaks a page's text into lines.
    pub(crate) fn of(tree: &PageTree) -> PageLines {
        let mut writer = LineWriter {
            tree,
            lines: Vec::new(),
            text: String::new(),
            pieces: Vec::new(),
            space: false,
            closed: false,
            breaks: 0,
        };
        // The blocks that are open, with what is inherited from them.
        let mut open: Vec<UnclosedElement> = vec![UnclosedElement {
            at: 0,
            part: PagePart::default(),
            style: TextStyle::default(),
            level: 0,
            kept: false,
        }];
        for at in 1..tree.len() {
            while let Some(last) = open.last()
                && tree.node(last.at).end <= at
            {
                let last = open.pop().expect("it was there");
                if is_block(tree, last.at) {
                    writer.end_line(&last, &open);
                } else {
                    writer.closed = true;
                }
                if open.is_empty() {
                    break;
                }
            }
            let Some(around) = open.last().copied() else { break };
            let node = tree.node(at);
            if node.hidden {
                continue;
            }
            match &node.what {
                // Lines are kept as they are written where the page says so.
                NodeKind::Text(text) if around.kept && text.contains('\n') => {
                    for (number, line) in text.split('\n').take(LINES_MAX).enumerate() {
                        if number > 0 {
                            writer.end_line(&around, &open);
                            writer.breaks = writer.breaks.saturating_add(1);
                        }
                        writer.write(line, at, around.style);
                    }
                }
                NodeKind::Text(text) => writer.write(text, at, around.style),
                NodeKind::Element(element) => {
                    if &*element.name == "br" || &*element.name == "hr" {
                        writer.end_line(&around, &open);
                        writer.breaks = writer.breaks.saturating_add(if &*element.name == "hr" {
                            RULE
                        } else {
                            1
                        });
                        continue;
                    }
                    // A picture may be a label, or an address that is hidden from machines.
                    if &*element.name == "img"
                        && let Some(alt) = element.attribute("alt").filter(|alt| is_label(alt))
                    {
                        writer.write(&format!(" {alt} "), at, around.style);
                    }
                    // The head and the foot of an article are not the page's.
                    let in_article = matches!(&*element.name, "header" | "footer")
                        && open
                            .iter()
                            .any(|open| matches!(tree.name(open.at), "article" | "section" | "li"));
                    let is_most = 2 * (tree.node(at).end - at) > tree.len();
                    let part = if in_article {
                        around.part
                    } else {
                        part_of(element, around.part, is_most)
                    };
                    let inner = UnclosedElement {
                        at,
                        part,
                        style: style_of(element, at, around.style, tree),
                        level: heading_level(element).unwrap_or(around.level),
                        kept: around.kept || tree.keeps_lines(element),
                    };
                    if is_block(tree, at) {
                        writer.end_line(&around, &open);
                    }
                    open.push(inner);
                }
                NodeKind::Root => {}
            }
        }
        while let Some(last) = open.pop() {
            writer.end_line(&last, &open);
        }
        let mut all = writer.lines;
        mark_posts(tree, &mut all);
        mark_headings(tree, &mut all);
        PageLines { all }
    }

    /// The headings over a line, from the nearest on.
    pub(crate) fn headings(&self, line: usize) -> impl Iterator<Item = usize> {
        let mut here = self.all[line].heading;
        std::iter::from_fn(move || {
            let heading = here?;
            here = self.all[heading].heading;
            Some(heading)
        })
        .take(HEADINGS_MAX)
    }

    /// The first line of a line's paragraph: lines of one block without an empty line between them.
    pub(crate) fn paragraph_start(&self, line: usize) -> usize {
        let block = self.all[line].block;
        let mut start = line;
        while start > 0
            && line - start < PARAGRAPH_LINES_MAX
            && !self.all[start].gap
            && self.all[start - 1].block == block
            && self.all[start].level == 0
        {
            start -= 1;
        }
        start
    }

    /// The lines of the paragraph that a line is in.
    pub(crate) fn paragraph(&self, line: usize) -> Range<usize> {
        let start = self.paragraph_start(line);
        let block = self.all[line].block;
        let mut end = line + 1;
        while end < self.all.len()
            && end - line < PARAGRAPH_LINES_MAX
            && !self.all[end].gap
            && self.all[end].block == block
            && self.all[end].level == 0
        {
            end += 1;
        }
        start..end
    }

    /// The first line that an element has a part in.
    pub(crate) fn of_element(&self, tree: &PageTree, at: usize) -> Option<usize> {
        let first = self.all.partition_point(|line| line.nodes.1 < at);
        self.all.get(first).filter(|line| line.nodes.0 < tree.node(at).end).map(|_| first)
    }

    /// The numbers of the lines inside an element.
    pub(crate) fn inside(&self, tree: &PageTree, at: usize) -> Range<usize> {
        let end = tree.node(at).end;
        let first = self.all.partition_point(|line| line.nodes.0 < at);
        let last = self.all.partition_point(|line| line.nodes.0 < end);
        first..last.max(first)
    }
}

/// An element that is not closed yet.
#[derive(Clone, Copy)]
struct UnclosedElement {
    at: usize,
    part: PagePart,
    style: TextStyle,
    level: u8,
    /// Line ends are kept: `pre`.
    kept: bool,
}

/// Collects the lines of a page.
struct LineWriter<'t> {
    tree: &'t PageTree,
    lines: Vec<TextLine>,
    text: String,
    pieces: Vec<TextPiece>,
    /// White space is due before the next character.
    space: bool,
    /// An inline element has just ended: if another begins at once, a reader sees a gap.
    closed: bool,
    /// Breaks since the last line.
    breaks: u8,
}

impl LineWriter<'_> {
    fn write(&mut self, text: &str, node: usize, style: TextStyle) {
        if self.text.len() > LINE_BYTES_MAX {
            return;
        }
        let starts_element = self.tree.node(node).parent + 1 == node;
        let trimmed = text.trim();
        let mut start = self.text.len();
        let is_cents = trimmed.len() == 2 && trimmed.bytes().all(|b| b.is_ascii_digit());
        let after_digit = self.text.ends_with(|c: char| c.is_ascii_digit());
        if starts_element && is_cents && after_digit && !self.space {
            // `29<sup>90</sup>`: a reader sees a decimal point.
            let fraction = self.text.chars().rev().take_while(char::is_ascii_digit).count();
            let has_point =
                self.text.chars().rev().nth(fraction).is_some_and(|c| matches!(c, '.' | ','));
            if has_point { self.space = true } else { self.text.push('.') }
        } else if self.closed
            && starts_element
            && !self.text.is_empty()
            && !(trimmed.starts_with(['.', ',']) && trimmed.chars().count() <= 3)
        {
            self.space = true;
        }
        // `Squid<span>12.50 €</span>`: a style sets the price apart.
        let begins = trimmed.chars().next();
        let is_amount = begins.is_some_and(|c| c.is_ascii_digit() || "€£$½+".contains(c))
            && trimmed.chars().count() > 2
            && trimmed.chars().any(|c| c.is_ascii_digit());
        if (starts_element || self.closed)
            && is_amount
            && self.text.ends_with(|c: char| c.is_alphabetic() || c == ')')
        {
            self.space = true;
        }
        self.closed = false;
        for c in text.chars() {
            if self.text.len() > LINE_BYTES_MAX {
                break;
            }
            if c.is_whitespace() {
                self.space |= !self.text.is_empty();
            } else if !is_unseen(c) {
                if self.space {
                    self.text.push(' ');
                    self.space = false;
                    if start + 1 == self.text.len() {
                        start += 1;
                    }
                }
                self.text.push(c);
            }
        }
        if start < self.text.len() {
            self.pieces.push(TextPiece { at: start..self.text.len(), node, style });
        }
    }

    /// Ends a line inside the innermost block of what is open.
    fn end_line(&mut self, innermost: &UnclosedElement, open: &[UnclosedElement]) {
        self.space = false;
        self.closed = false;
        let text = std::mem::take(&mut self.text);
        let pieces = std::mem::take(&mut self.pieces);
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        if self.lines.len() >= LINES_MAX {
            return;
        }
        let block = std::iter::once(innermost)
            .chain(open.iter().rev())
            .find(|open| is_block(self.tree, open.at))
            .unwrap_or(innermost);
        let folded = fold(&text);
        let breaks = std::mem::take(&mut self.breaks);
        let (gap, ruled) = (breaks > 1, breaks >= RULE);
        let mut part = innermost.part;
        part.quote |= is_quotation(&text);
        let prices = money::prices(&without_notes(self.tree, &text, &pieces));
        // `<button>Large £9</button>` chooses a size; other buttons do something.
        part.button &= !prices.first().is_some_and(|price| {
            let size = &text[..price.at.start];
            size.chars().any(char::is_alphabetic) && is_measure(size)
        });
        let nodes = (first.node, last.node);
        self.lines.push(TextLine {
            text,
            folded,
            prices,
            block: block.at,
            nodes,
            pieces,
            part,
            level: innermost.level,
            gap,
            ruled,
            heading: None,
        });
    }
}

/// An article with its date under its title is a post.
fn mark_posts(tree: &PageTree, lines: &mut [TextLine]) {
    for article in tree.all("article") {
        let end = tree.node(article).end;
        let first = lines.partition_point(|line| line.nodes.0 < article);
        let last = lines.partition_point(|line| line.nodes.0 < end).max(first);
        let is_date = |line: &TextLine| {
            crate::payable::DATE.is_match(&line.folded)
                && line.text.split_whitespace().count() <= DATE_WORDS_MAX
        };
        if lines[first..last].iter().take(POST_HEAD_LINES).any(is_date) {
            lines[first..last].iter_mut().for_each(|line| line.part.post = true);
        }
    }
}

/// Replaces raised numbers after words (of notes and allergens) with blanks.
fn without_notes(tree: &PageTree, text: &str, pieces: &[TextPiece]) -> String {
    let mut without = text.to_owned();
    for piece in pieces.iter().filter(|piece| tree.name(tree.node(piece.node).parent) == "sup") {
        let before = text[..piece.at.start].trim_end();
        let is_note = before.ends_with(|c: char| c.is_alphabetic() || c == ')')
            && text[piece.at.clone()].bytes().all(|b| b.is_ascii_digit() || b", ".contains(&b));
        if is_note {
            without.replace_range(piece.at.clone(), &" ".repeat(piece.at.len()));
        }
    }
    without
}

/// `Fax:`, or an e-mail address.
fn is_label(alt: &str) -> bool {
    let alt = alt.trim();
    alt.chars().count() <= 60
        && (alt.ends_with(':') && alt.split_whitespace().count() <= 3
            || alt.contains('@') && !alt.contains(' '))
}

/// Somebody's words in quotation marks, with or without who said them.
fn is_quotation(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['"', '“', '„', '«', '”']) else { return false };
    rest.find(['"', '”', '“', '»']).is_some_and(|end| rest[..end].split_whitespace().count() > 4)
}

fn style_of(element: &Element, at: usize, around: TextStyle, tree: &PageTree) -> TextStyle {
    let mut style = around;
    match &*element.name {
        "b" | "strong" | "u" | "th" => style.strong = true,
        "s" | "del" | "strike" => style.struck = true,
        "small" | "em" | "i" | "sup" | "sub" => style.aside = true,
        "font"
            if element.attribute("size").is_some_and(|size| {
                size.starts_with('+') || size.parse().is_ok_and(|size: i32| size >= 4)
            }) =>
        {
            style.strong = true
        }
        "a" if element.attribute("href").is_some() => style.link = Some(at),
        _ => {}
    }
    let css = element.attribute("style").unwrap_or_default().replace(' ', "");
    style.struck |= css.contains("line-through");
    style.strong |= css.contains("font-weight:bold") || css.contains("font-weight:7");
    if !is_block(tree, at) || around.link.is_some() || element.attribute("class").is_some() {
        let is_inline = !is_block(tree, at);
        style.struck |= element.has_class(&OLD_PRICE_CLASS);
        style.strong |= is_inline && element.has_class(&NAME_CLASS);
        style.aside |= is_inline && element.has_class(&DESCRIPTION_CLASS);
    }
    style
}

/// `is_most`: the element has more than half of the page, so its class marks no part.
fn part_of(element: &Element, around: PagePart, is_most: bool) -> PagePart {
    let mut part = around;
    match &*element.name {
        "nav" => part.nav = true,
        "header" => part.header = true,
        "footer" => part.footer = true,
        "aside" => part.aside = true,
        "blockquote" | "q" | "cite" => part.quote = true,
        "form" => part.form = true,
        "button" => part.button = true,
        "address" => part.address = true,
        "body" | "html" | "main" => return part,
        _ => {}
    }
    // A template's class for a whole page says nothing about its parts.
    let mut is_denied = false;
    for word in element.class_words() {
        let word = word.to_ascii_lowercase();
        // `not-footer`, `no-sidebar`
        if std::mem::replace(&mut is_denied, matches!(word.as_str(), "not" | "no" | "without")) {
            continue;
        }
        part.nav |= NAV_CLASS.are(&word);
        if !is_most {
            part.footer |= FOOTER_CLASS.are(&word);
            part.aside |= word == "sidebar";
            part.quote |= QUOTE_CLASS.are(&word);
            part.post |= POST_CLASS.are(&word);
        }
    }
    part
}

fn is_block(tree: &PageTree, at: usize) -> bool {
    let inline = [
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
        "em", "font", "i", "img", "ins", "kbd", "label", "mark", "nobr", "output", "q", "ruby",
        "rt", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
        "var", "wbr", "meter", "input", "picture", "source",
    ];
    !inline.contains(&tree.name(at)) && !is_fraction(tree, at)
}

/// A box for the cents of a price: `<div class=price>47<div class=fraction>50</div></div>`.
fn is_fraction(tree: &PageTree, at: usize) -> bool {
    if tree.node(at).end - at > 4 {
        return false;
    }
    let text = tree.raw_text(at);
    let text = text.trim().trim_start_matches(['.', ',']);
    text.len() == 2
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && tree.has_class(at, &FRACTION_CLASS)
}

/// The text of a node as plain words.
pub(crate) fn text_of(tree: &PageTree, at: usize, chars_max: usize) -> String {
    plain(&tree.raw_text(at), chars_max)
}

/// A rule counts as so many breaks.
const RULE: u8 = 100;
/// The most lines of a page that are read.
pub(crate) const LINES_MAX: usize = 3_000;
/// The most of one line that is read.
pub(crate) const LINE_BYTES_MAX: usize = 4_000;
/// Longer paragraphs are cut.
const PARAGRAPH_LINES_MAX: usize = 30;
/// The most words of a line that is a post's date.
const DATE_WORDS_MAX: usize = 4;
/// A post's date is among its first lines.
const POST_HEAD_LINES: usize = 4;
/// Headings over each other that are looked at.
const HEADINGS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(html: &str) -> Vec<String> {
        PageLines::of(&PageTree::parse(html)).all.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn blocks_and_breaks_end_lines() {
        assert_eq!(
            lines("<p>a <b>b</b><br>c<div>d</div>e<table><tr><td>f<td>g</table>"),
            ["a b", "c", "d", "e", "f", "g"]
        );
    }

    #[test]
    fn pieces_of_a_price_come_together() {
        assert_eq!(lines("<sup>$</sup>29<sup>99</sup><small>/mo</small>"), ["$29.99 /mo"]);
        assert_eq!(lines("<span>Polenta</span><span>€ 11,00</span>"), ["Polenta € 11,00"]);
        assert_eq!(lines("<span>H</span>ello wor<i>ld</i>"), ["Hello world"]);
        assert_eq!(lines("bonjour<span>&#64;</span>ty.example"), ["bonjour@ty.example"]);
    }

    #[test]
    fn lines_know_their_headings() {
        let tree = PageTree::parse(
            "<h1>A</h1><h2>B</h2><p>c<h2>D</h2><p><b>E</b><br>f<p>g<table><tr><td><h3>H</h3>i<td>j</table>",
        );
        let lines = PageLines::of(&tree);
        let over = |text: &str| {
            let at = lines.all.iter().position(|line| line.text == text).unwrap();
            lines
                .headings(at)
                .map(|heading| lines.all[heading].text.as_str())
                .collect::<Vec<_>>()
                .join("<")
        };
        assert_eq!(over("c"), "B<A");
        assert_eq!(over("f"), "D<A");
        assert_eq!(over("i"), "H<D<A");
        assert_eq!(over("j"), "D<A");
    }
}
