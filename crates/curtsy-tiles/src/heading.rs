//! Finds headings: `h1` to `h6`, and lines that are bold, large, in capitals, or over a list of
//! prices.

use crate::lines::TextLine;
use crate::tree::{Element, PageTree};
use crate::words::{FENCE_ELEMENT, TITLE_CLASS};

/// Finds lines that look like headings, and gives every line its heading.
pub(crate) fn mark_headings(tree: &PageTree, lines: &mut [TextLine]) {
    // Among lines that only look like headings, an earlier look ranks above a later one.
    let mut looks: Vec<String> = Vec::new();
    for at in 0..lines.len() {
        if lines[at].level == 0 && looks_like_heading(tree, lines, at) {
            let look = look(tree, &lines[at]);
            let rank = looks.iter().position(|known| *known == look).unwrap_or_else(|| {
                looks.push(look);
                looks.len() - 1
            });
            lines[at].level = 7 + rank.min(LOOKS_MAX) as u8;
        }
    }
    // The headings that hold here, outermost first, each with the element it cannot reach beyond.
    let mut over: Vec<(usize, u8, usize)> = Vec::new();
    for at in 0..lines.len() {
        let node = lines[at].nodes.0;
        over.retain(|(line, _, fence)| {
            tree.contains(*fence, node) && lines[*line].part.footer == lines[at].part.footer
        });
        // What a rule sets apart is under the page's first heading only.
        if lines[at].ruled {
            over.retain(|(_, level, _)| *level == 1);
        }
        if lines[at].level > 0 {
            let level = lines[at].level;
            // A heading that is broken over two lines is one.
            over.retain(|(_, above, _)| *above < level);
            lines[at].heading = over.last().map(|(line, ..)| *line);
            over.push((at, level, fence(tree, lines, at)));
        } else {
            lines[at].heading = over.last().map(|(line, ..)| *line);
        }
    }
}

/// The element that ends a heading's reach: a cell, an item, an aside, or the paragraph that it
/// leads.
fn fence(tree: &PageTree, lines: &[TextLine], at: usize) -> usize {
    let line = &lines[at];
    if line.level >= 7 {
        let goes_on = lines.get(at + 1).is_some_and(|next| next.block == line.block)
            || (at > 0 && lines[at - 1].block == line.block);
        if goes_on && line.block != 0 && tree.name(line.block) == "p" {
            return line.block;
        }
    }
    let mut around = tree.around(line.nodes.0).enumerate();
    let is_fence = |climbed: usize, around: usize| {
        (FENCE_ELEMENT.are(tree.name(around))
            || climbed < CLIMB_MAX && is_card(tree, lines, around, line.level))
            && !is_alone(tree, lines, around, at)
    };
    around.find(|&(climbed, around)| is_fence(climbed, around)).map_or(0, |(_, around)| around)
}

/// Whether a box is one of several of a class, each with a heading: the text after them is below
/// none of these.
fn is_card(tree: &PageTree, lines: &[TextLine], around: usize, level: u8) -> bool {
    if tree.attribute(around, "role") == Some("listitem") {
        return true;
    }
    let class = tree.attribute(around, "class").unwrap_or_default();
    if class.is_empty() || !(1..=6).contains(&level) {
        return false;
    }
    let is_like = |other: usize| {
        tree.name(other) == tree.name(around)
            && tree
                .attribute(other, "class")
                .is_some_and(|own| own.split(' ').next() == class.split(' ').next())
    };
    let has_heading = |other: usize| {
        let first = lines.partition_point(|line| line.nodes.0 < other);
        lines[first..]
            .iter()
            .take_while(|line| line.nodes.0 < tree.node(other).end)
            .take(CARD_LINES_MAX)
            .any(|line| line.level == level)
    };
    let end = tree.node(around).end;
    let next =
        (end..tree.node(tree.node(around).parent).end).find(|&at| tree.element(at).is_some());
    let before = || {
        let siblings = tree.children(tree.node(around).parent).take(CARDS_MAX);
        siblings.take_while(|&other| other < around).filter(|&at| tree.element(at).is_some()).last()
    };
    next.filter(|&next| is_like(next) && has_heading(next)).is_some()
        || before().is_some_and(|before| is_like(before) && has_heading(before))
}

/// Whether a line is all that an element has.
fn is_alone(tree: &PageTree, lines: &[TextLine], around: usize, at: usize) -> bool {
    let inside =
        |line: Option<&TextLine>| line.is_some_and(|line| tree.contains(around, line.nodes.0));
    !(inside(lines.get(at + 1)) || at > 0 && inside(lines.get(at - 1)))
}

fn looks_like_heading(tree: &PageTree, lines: &[TextLine], at: usize) -> bool {
    let line = &lines[at];
    let letters = line.text.chars().filter(|c| c.is_alphabetic()).count();
    if letters < 2
        || line.text.chars().count() > HEADING_CHARS_MAX
        || line.text.ends_with(['.', ',', ';', '!'])
        || !line.is_matter()
    {
        return false;
    }
    // Prices, numbers to call and times are what headings announce.
    if line.text.chars().filter(char::is_ascii_digit).count() > 4 || !line.prices.is_empty() {
        return false;
    }
    if line.pieces.iter().all(|piece| piece.style.link.is_some()) {
        return false;
    }
    if matches!(tree.name(line.block), "dt" | "dd") {
        return false;
    }
    // What is over a fold, a table or a group, unless it asks.
    if matches!(tree.name(line.block), "summary" | "caption" | "legend") {
        return !line.text.contains('?');
    }
    if is_cell_of_row(tree, lines, at) {
        return false;
    }
    if heads_prices(tree, lines, at) {
        return true;
    }
    let is_set_off = line.is_all(|style| style.strong) || tree.has_class(line.block, &TITLE_CLASS);
    let shouts = !line.text.chars().any(char::is_lowercase)
        && letters >= 4
        && lines.get(at + 1).is_some_and(|next| next.block == line.block);
    is_set_off || shouts
}

/// All that a cell has, in a row with others: the head of a column, or a row's name.
pub(crate) fn is_cell_of_row(tree: &PageTree, lines: &[TextLine], at: usize) -> bool {
    let Some(cell) = tree.nearest(lines[at].block, &["td", "th"]) else { return false };
    let has_text = |other: usize| {
        let first = lines.partition_point(|line| line.nodes.1 < other);
        lines.get(first).is_some_and(|line| line.nodes.0 < tree.node(other).end)
    };
    is_alone(tree, lines, cell, at)
        && tree.children(tree.node(cell).parent).take(CELLS_MAX).any(|other| {
            other != cell && matches!(tree.name(other), "td" | "th") && has_text(other)
        })
}

/// Alone in its block, before a sibling block of another look whose line ends in a price.
fn heads_prices(tree: &PageTree, lines: &[TextLine], at: usize) -> bool {
    let (line, Some(next)) = (&lines[at], lines.get(at + 1)) else { return false };
    let is_alone = line.block != next.block && (at == 0 || lines[at - 1].block != line.block);
    let siblings = (0..=1).contains(&next.block.wrapping_sub(tree.node(line.block).end))
        && tree.node(line.block).parent == tree.node(next.block).parent;
    let class = |line: &TextLine| {
        (
            tree.name(line.block).to_owned(),
            tree.attribute(line.block, "class").unwrap_or_default().to_owned(),
        )
    };
    let after_price = at == 0
        || tree.contains(lines[at - 1].block, line.block)
        || class(&lines[at - 1]) == class(next)
        || lines[at - 1].level > 0;
    let names_price = || {
        next.prices.first().is_some_and(|price| {
            next.text[..price.at.start].chars().filter(|c| c.is_alphabetic()).count() > 3
                && next.text.len() - price.at.end < 4
        })
    };
    line.text.chars().count() <= 40
        && is_alone
        && siblings
        && class(line) != class(next)
        && after_price
        && !line.text.ends_with(':')
        && names_price()
}

/// What a line looks like: its block's name and classes, and whether it shouts.
fn look(tree: &PageTree, line: &TextLine) -> String {
    let inline = line.pieces.first().map_or("", |piece| tree.name(tree.node(piece.node).parent));
    let class = tree.attribute(line.block, "class").unwrap_or_default();
    format!(
        "{} {class} {inline} {}",
        tree.name(line.block),
        !line.text.chars().any(char::is_lowercase)
    )
}

pub(crate) fn heading_level(element: &Element) -> Option<u8> {
    match &*element.name {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        "h4" => Some(4),
        "h5" => Some(5),
        "h6" => Some(6),
        _ => element.attribute("role").filter(|role| *role == "heading").map(|_| 5),
    }
}

/// Longer lines are no headings.
const HEADING_CHARS_MAX: usize = 80;

/// A card's heading is no deeper inside it.
const CLIMB_MAX: usize = 8;
/// A card's heading is among its first lines.
const CARD_LINES_MAX: usize = 8;
/// The most boxes side by side that are looked at.
const CARDS_MAX: usize = 100;
/// The most cells of a row that are looked at.
const CELLS_MAX: usize = 20;

/// The most styles of headings that are distinguished.
const LOOKS_MAX: usize = 20;
