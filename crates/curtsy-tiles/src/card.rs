//! Finds the name for a price on a line of its own: in its card, in the term before it, or on the
//! line above.

use std::ops::Range;

use crate::lines::TextLine;
use crate::money::{self, Period, Price};
use crate::naming::{clean_name, is_measure, is_name, is_prose};
use crate::plain::{fold, identity, plain};
use crate::priced::{
    CARD_LINES_MAX, CLIMB_MAX, DESCRIPTION_CHARS_MAX, NEAR_LINES, PRICES_MAX, PriceFinder,
    REPEATS_OF_LABEL, SIBLINGS_MAX, look, section,
};
use crate::tile::Via;
use crate::whose;
use crate::words::{AGES, COURSES, LABEL_ONLY, MENU, OR, SEASONS};

impl PriceFinder<'_, '_> {
    /// Reads a price on a line of its own, or with a size only. Returns the line of its name.
    pub(crate) fn bare(&mut self, at: usize, mut tags: Vec<Price>) -> Option<usize> {
        // `145 € a night, final cleaning 60 €`: what has a name of its own is another thing.
        let text = &self.page.lines.all[at].text;
        let is_own = |two: &[Price]| {
            let between = clean_name(whose::last_clause(&text[two[0].at.end..two[1].at.start]));
            let last = between.rsplit([',', ';']).next().unwrap_or_default().trim();
            !last.is_empty()
                && !is_measure(last)
                && !OR.begin(&fold(last))
                && !AGES.are(&fold(last))
                && !self.is_variant(last)
        };
        if let Some(place) = tags.windows(2).position(is_own) {
            tags.truncate(place + 1);
        }
        // A second price right after the first is the same thing's.
        if self.continues(at) {
            let prices = self.with_periods(at, &tags);
            let last = self.items.last_mut().filter(|last| last.prices.len() < PRICES_MAX)?;
            last.prices.extend(prices);
            last.line_last = at;
            self.used[at] = true;
            return Some(last.line);
        }
        let (name_line, flat) = self.name_of(at)?;
        let name_line = self.own_heading(at, name_line).unwrap_or(name_line);
        let name_text = &self.page.lines.all[name_line];
        let name = clean_name(
            name_text
                .lead()
                .filter(|_| name_text.level == 0)
                .or(before_aside(name_text))
                .unwrap_or(without_number(name_text)),
        );
        if !is_name(&name) || name.split_whitespace().count() > 6 && is_prose(&name, "") {
            return None;
        }
        let description = self.description(name_line, at, flat);
        let mut prices = self.with_periods(at, &tags);
        if let [(_, period @ Period::Once)] = prices.as_mut_slice()
            && let Some(said) = self.period_near(at, name_line)
        {
            *period = said;
        }
        self.used[name_line] = true;
        let via = if (1..=6).contains(&self.page.lines.all[name_line].level) {
            Via::Heading
        } else {
            Via::List
        };
        self.push(at, name, description, prices, via);
        if let Some(item) = self.items.last_mut() {
            item.section = section(self.page, name_line, &item.name);
        }
        Some(name_line)
    }

    /// `<h4>Trout</h4><p>leeks, butter<br>£18</p>`: the text between heading and price describes.
    fn own_heading(&self, at: usize, name: usize) -> Option<usize> {
        let lines = &self.page.lines.all;
        let heading =
            lines[at].heading.filter(|heading| (2..=6).contains(&lines[*heading].level))?;
        let is_plain = lines[name].level == 0
            && name > heading
            && name < at
            && lines[name].lead().is_none()
            && !lines[name].is_all(|style| style.strong);
        let folded = &lines[heading].folded;
        let is_course = COURSES.are_in(folded) || MENU.are_in(folded);
        (is_plain && at - heading <= 4 && !is_course && self.heads_one_price(heading))
            .then_some(heading)
    }

    /// Names in one box, as many prices in the next: the first has the first, and so on.
    pub(crate) fn side_by_side(&mut self) {
        let lines = &self.page.lines;
        let mut at = 0;
        while at < lines.all.len() {
            let prices = self.column(at, |finder, line| finder.is_price_alone(line));
            let count = prices.len();
            let names = at
                .checked_sub(count)
                .map(|start| self.column(start, |finder, line| finder.could_be_listed(line)));
            at = prices.end.max(at + 1);
            let Some(names) =
                names.filter(|names| count >= 2 && *names == (prices.start - count..prices.start))
            else {
                continue;
            };
            for (name, price) in names.zip(prices) {
                let text =
                    clean_name(before_aside(&lines.all[name]).unwrap_or(&lines.all[name].text));
                let tags = self.tags[price].clone();
                let prices = self.with_periods(price, &tags);
                self.used[name] = true;
                self.used[price] = true;
                self.push(name, text, None, prices, Via::List);
            }
        }
    }

    /// The lines of a box, if `at` is the first of them and all of them are of a kind; else
    /// nothing.
    fn column(&self, at: usize, is_of: impl Fn(&Self, usize) -> bool) -> Range<usize> {
        let (lines, tree) = (&self.page.lines, &self.page.tree);
        let block = lines.all[at].block;
        let own = lines.inside(tree, block);
        let around = if own.len() > 1 { own } else { lines.inside(tree, tree.node(block).parent) };
        let is_column = around.start == at
            && (2..=CARD_LINES_MAX).contains(&around.len())
            && around.clone().all(|line| is_of(self, line));
        if is_column { around } else { at..at }
    }

    /// Whether a line is a price and nothing else.
    fn is_price_alone(&self, line: usize) -> bool {
        let own = &self.page.lines.all[line];
        let (Some(first), Some(last)) = (self.tags[line].first(), self.tags[line].last()) else {
            return false;
        };
        !self.used[line]
            && !own.text[..first.at.start].contains(char::is_alphabetic)
            && !own.text[last.at.end..].contains(char::is_alphabetic)
    }

    /// Whether a line may name something in a list.
    fn could_be_listed(&self, line: usize) -> bool {
        let own = &self.page.lines.all[line];
        !self.used[line]
            && own.is_matter()
            && own.level == 0
            && own.prices.is_empty()
            && self.tags[line].is_empty()
            && own.text.split_whitespace().count() <= 8
            && is_name(&clean_name(&own.text))
            && !is_measure(&own.text)
    }

    /// The period that a line of its own gives beside a price: `CHF 12`, `Fondue pot`, `per day`.
    pub(crate) fn period_near(&self, at: usize, name: usize) -> Option<Period> {
        let lines = &self.page.lines.all;
        let is_free = |line: &usize| {
            lines[*line].level == 0 && self.tags[*line].is_empty() && lines[*line].prices.is_empty()
        };
        let near = (at.min(name) + 1..at.max(name)).chain(at.max(name) + 1..at.max(name) + 2);
        near.filter(|line| *line < lines.len())
            .filter(is_free)
            .filter(|&line| is_measure(&lines[line].text))
            .find_map(|line| money::period_alone(&lines[line].folded))
    }

    /// Whether a heading and the priced lines below it are a box among similar boxes, some of them
    /// with a price without words: then these words distinguish sizes.
    pub(crate) fn is_of_card(&self, at: usize, heading: usize) -> bool {
        let (page, tree) = (self.page, &self.page.tree);
        let nodes = page.lines.all[heading].nodes.0;
        let mut boxes = tree.around(page.lines.all[at].block).take(CLIMB_MAX);
        let Some(card) = boxes.find(|around| tree.contains(*around, nodes)) else { return false };
        let is_like = |other: usize| {
            other != card
                && tree.name(other) == tree.name(card)
                && tree.attribute(other, "class") == tree.attribute(card, "class")
        };
        let has_bare = |other: usize| {
            page.lines.inside(tree, other).take(CARD_LINES_MAX).any(|line| {
                let end = self.tags[line].first().map_or(0, |tag| tag.at.start);
                end < page.lines.all[line].text.len()
                    && !self.tags[line].is_empty()
                    && clean_name(&page.lines.all[line].text[..end]).is_empty()
            })
        };
        let beside = tree.children(tree.node(card).parent).take(SIBLINGS_MAX);
        beside.filter(|&other| is_like(other)).any(has_bare)
    }

    /// Whether other items of the list have real names, so that the words of this one are a name
    /// too.
    pub(crate) fn is_among_names(&self, at: usize) -> bool {
        let (page, tree) = (self.page, &self.page.tree);
        let Some(item) = tree.nearest(page.lines.all[at].block, &["li"]) else { return false };
        let list = page.lines.inside(tree, tree.node(item).parent);
        list.take(CARD_LINES_MAX).filter(|&line| line != at).any(|line| {
            self.tags[line].first().is_some_and(|tag| {
                let name = clean_name(&page.lines.all[line].text[..tag.at.start]);
                !name.is_empty() && !self.is_variant(&name)
            })
        })
    }

    /// Whether no other line near it, in the box that it shares with other lines, has a price.
    pub(crate) fn is_only_price(&self, at: usize) -> bool {
        let (page, tree) = (self.page, &self.page.tree);
        let block = page.lines.all[at].block;
        let boxes = std::iter::once(block).chain(tree.around(block)).take(CLIMB_MAX);
        let mut inside = boxes.map(|around| page.lines.inside(tree, around));
        let Some(inside) = inside.find(|inside| inside.len() > 1) else { return false };
        inside.filter(|&line| !self.tags[line].is_empty()).count() == 1
    }

    /// Whether the text before a price only distinguishes sizes: a measure, or the same words again
    /// and again.
    pub(crate) fn is_variant(&self, name: &str) -> bool {
        is_measure(name)
            || SEASONS.are(&fold(name))
            || (name.split_whitespace().count() <= 3 && self.repeats(name) >= 2)
    }

    /// Whether a price on a line of its own follows another item's price in the same box.
    pub(crate) fn continues(&self, at: usize) -> bool {
        let lines = &self.page.lines.all;
        let tree = &self.page.tree;
        let Some(last) = self.items.last().filter(|last| {
            last.via != Via::Table && last.line_last < at && at - last.line_last <= 3
        }) else {
            return false;
        };
        let (one, other) = (lines[last.line_last].block, lines[at].block);
        let near = one == other
            || tree.node(one).parent == tree.node(other).parent
            || tree.node(tree.node(one).parent).parent == tree.node(tree.node(other).parent).parent;
        let is_label = |line: usize| {
            lines[line].level == 0
                && (lines[line].text.chars().filter(|c| c.is_alphabetic()).count() < 4
                    || self.is_label(line)
                    || is_measure(&lines[line].text)
                    || tree.name(lines[line].block) == "dt" && self.is_variant(&lines[line].text)
                    || lines[line].is_all(|style| style.aside))
                && (tree.name(lines[line].block) != "dt" || self.is_variant(&lines[line].text))
        };
        // Sizes stand in a list of their own; prices alone in several items are of several things.
        let own = &lines[at].text[..self.tags[at].first().map_or(0, |tag| tag.at.start)];
        // What comes before has to be a size too, or the name alone.
        let label = |line: usize| {
            let end = self.tags[line].first().map_or(0, |tag| tag.at.start);
            clean_name(&lines[line].text[..end])
        };
        let before = label(last.line_last);
        let is_option = self.is_option(at);
        let is_size = !clean_name(own).is_empty()
            && (is_option || self.is_variant(&clean_name(own)))
            && (is_option || before.is_empty() || self.is_variant(&before))
            // Nothing above names them: each is called what it says.
            && identity(&before) != identity(&last.name);
        // `<b>Short stack</b> 7`, after `<b>Omelette</b> 9`: what is set off alike are names.
        let is_lead = |lead: &str| identity(&clean_name(lead)) == identity(&last.name);
        if one != other
            && lines[at].lead().is_some()
            && lines[last.line].lead().is_some_and(is_lead)
        {
            return false;
        }
        // `Small bowl 9`, `Large bowl 12`: each is called what it says.
        let are_names = !clean_name(own).is_empty()
            && self.is_variant(&before)
            && identity(&before) == identity(&last.name);
        near && !are_names
            && (last.line_last + 1..at).all(is_label)
            && (is_size || tree.name(other) != "li")
    }

    /// Whether a line names nothing: a label, a measure, or words that repeat on the page.
    pub(crate) fn is_label(&self, line: usize) -> bool {
        let own = &self.page.lines.all[line];
        LABEL_ONLY.are(&identity(&own.text))
            || !(1..=6).contains(&own.level)
                && self.page.tree.name(own.block) != "dt"
                && (is_measure(&own.text) || self.repeats(&own.text) >= REPEATS_OF_LABEL)
    }

    /// The line that names the item of a lone price, and whether the items follow each other
    /// without boxes.
    pub(crate) fn name_of(&self, at: usize) -> Option<(usize, bool)> {
        let page = self.page;
        let tree = &page.tree;
        let lines = &page.lines.all;
        let is_candidate = |line: usize| {
            let own = &lines[line];
            self.tags[line].is_empty()
                && !own.part.button
                && own.text.chars().filter(|c| c.is_alphabetic()).count() >= 2
                && !self.used[line]
                && own.prices.is_empty()
                && !self.is_label(line)
                && !own.is_all(|style| style.aside)
        };
        // A term and its description.
        if tree.nearest(lines[at].block, &["dd"]).is_some() {
            let mut before = (0..at).rev().take(12);
            let term = before.find(|&line| tree.nearest(lines[line].block, &["dt"]).is_some());
            // Terms that only measure stand under what they measure.
            let is_size = term.is_some_and(|term| {
                self.is_variant(&lines[term].text) && lines[term].text.len() < 30
            });
            let list = tree.nearest(lines[at].block, &["dl"]).filter(|_| is_size);
            let over = list.and_then(|list| {
                let start = page.lines.inside(tree, list).start;
                let mut boxes = tree.around(list).take(CLIMB_MAX);
                let candidates = boxes.find_map(|around| {
                    let inside = page.lines.inside(tree, around);
                    let before = inside.start.max(start.saturating_sub(12))..start;
                    let found: Vec<usize> = before.filter(|&line| is_candidate(line)).collect();
                    Some(found).filter(|found| !found.is_empty())
                })?;
                pick(lines, &candidates, at)
            });
            return over.or(term).map(|line| (line, true));
        }
        let mut climbed = 0;
        for around in std::iter::once(lines[at].block).chain(tree.around(lines[at].block)) {
            climbed += 1;
            if climbed > CLIMB_MAX
                || matches!(tree.name(around), "body" | "html" | "") && climbed > 2
            {
                break;
            }
            let inside = page.lines.inside(tree, around);
            if inside.len() > CARD_LINES_MAX
                && !matches!(
                    tree.name(around),
                    "dl" | "div" | "body" | "main" | "section" | "td" | "center" | "article"
                )
            {
                break;
            }
            let window = inside.start.max(at.saturating_sub(12))..inside.end.min(at + 12);
            let candidates: Vec<usize> =
                window.clone().filter(|&line| line != at && is_candidate(line)).collect();
            if candidates.is_empty() {
                continue;
            }
            // A text after the price is seldom its name: perhaps the next box has one before its
            // price.
            let name_before = candidates.iter().any(|line| *line < at);
            if !name_before
                && climbed < CLIMB_MAX - 1
                && !matches!(tree.name(around), "li" | "article" | "tr")
                && tree.around(around).next().is_some_and(|outer| {
                    let wider = page.lines.inside(tree, outer);
                    wider.len() <= 10
                        && wider.clone().any(|line| line < at && is_candidate(line))
                        && wider.filter(|&line| line != at && !self.tags[line].is_empty()).count()
                            == 0
                })
            {
                continue;
            }
            let others: Vec<usize> = inside
                .clone()
                .filter(|&line| {
                    line != at && !self.tags[line].is_empty() && !self.shares_name(at, line)
                })
                .collect();
            if others.is_empty() {
                let candidates = self.without_badges(&candidates, at);
                return pick(lines, &candidates, at).map(|line| (line, false));
            }
            if self.names_follow(&inside, &others, at) {
                let next = others.iter().copied().find(|&other| other > at).unwrap_or(inside.end);
                let name = candidates.into_iter().find(|line| (at..next).contains(line));
                return name.map(|line| (line, true));
            }
            // One after the other: the name is between the price before and this one.
            let floor = others
                .iter()
                .copied()
                .filter(|&other| other < at)
                .max()
                .map_or(inside.start, |other| other + 1);
            let between: Vec<usize> =
                candidates.into_iter().filter(|line| (floor..at).contains(line)).collect();
            if between.is_empty() {
                return None;
            }
            let next = others.iter().copied().find(|&other| other > at).unwrap_or(inside.end);
            return self.pick_between(&between, at, next).map(|line| (line, true));
        }
        None
    }

    /// Without what only this card has, as `Most popular`: names look alike in all cards.
    pub(crate) fn without_badges(&self, candidates: &[usize], at: usize) -> Vec<usize> {
        let looks: Vec<usize> = candidates.iter().map(|&line| self.look_count(line)).collect();
        let is_usual = |place: usize| candidates[place] < at && looks[place] >= 2;
        let usual = (0..candidates.len()).any(is_usual);
        let is_badge = |place: usize| usual && candidates[place] < at && looks[place] == 1;
        let kept = (0..candidates.len()).filter(|&place| !is_badge(place));
        kept.map(|place| candidates[place]).collect()
    }

    /// How many lines of the page look like this line: same block, class and inline element.
    pub(crate) fn look_count(&self, line: usize) -> usize {
        self.looks.get(&look(self.page, line)).copied().unwrap_or(0)
    }

    /// Whether items follow each other with the price first: no possible name precedes the first.
    pub(crate) fn names_follow(&self, inside: &Range<usize>, others: &[usize], at: usize) -> bool {
        let lines = &self.page.lines.all;
        let first = others.first().map_or(at, |first| at.min(*first));
        let last = others.last().map_or(at, |last| at.max(*last));
        let could_name = |line: usize| {
            self.tags[line].is_empty()
                && lines[line].prices.is_empty()
                && lines[line].text.chars().filter(|c| c.is_alphabetic()).count() >= 2
                && !self.is_label(line)
        };
        let has_heading = |line: usize| (1..=6).contains(&lines[line].level);
        let start = (inside.start..first).rev().find(|&line| has_heading(line));
        let start = start.map_or(inside.start, |heading| heading + 1);
        let start = start.max(first.saturating_sub(NEAR_LINES));
        !(start..first).any(could_name)
            && (last + 1..inside.end.min(last + 3))
                .any(|line| could_name(line) && !has_heading(line))
            && !(first..last).any(has_heading)
    }

    /// Whether two lines with prices belong to one item: no possible name stands between them.
    pub(crate) fn shares_name(&self, one: usize, other: usize) -> bool {
        let lines = &self.page.lines.all;
        let between = one.min(other) + 1..one.max(other);
        between.len() <= 2
            && between.clone().all(|line| {
                !self.tags[line].is_empty()
                    || lines[line].text.chars().filter(|c| c.is_alphabetic()).count() < 4
                    || LABEL_ONLY.are(lines[line].folded.trim_end_matches(':'))
            })
            && {
                let own = clean_name(
                    &lines[other].text[..self.tags[other].first().map_or(0, |tag| tag.at.start)],
                );
                own.is_empty() || self.is_variant(&own)
            }
    }

    pub(crate) fn pick_between(&self, between: &[usize], at: usize, next: usize) -> Option<usize> {
        let lines = &self.page.lines.all;
        if let Some(&term) =
            between.iter().rev().find(|&&line| self.page.tree.name(lines[line].block) == "dt")
        {
            return Some(term);
        }
        let heading = between.iter().rev().copied().find(|&line| lines[line].level > 0);
        let after_heading: Vec<usize> = between
            .iter()
            .copied()
            .filter(|line| heading.is_none_or(|heading| *line > heading))
            .collect();
        if let Some(heading) = heading {
            // Every thing has a heading of its own, or the heading is over several.
            let repeats = (at + 1..next).any(|line| lines[line].level == lines[heading].level)
                || next >= lines.len()
                || (at + 1..next).next().is_none_or(|line| {
                    lines[line].block != lines[at].block
                        && lines[next.min(lines.len() - 1)].heading != Some(heading)
                });
            if after_heading.is_empty() || repeats {
                return Some(heading);
            }
        }
        if let Some(&strong) = after_heading
            .iter()
            .rev()
            .find(|&&line| lines[line].is_all(|style| style.strong) || lines[line].lead().is_some())
        {
            return Some(strong);
        }
        // After the first price, what was said about the thing before may come first.
        after_heading.last().copied().filter(|_| after_heading.len() <= 2).map(|last| {
            if after_heading.len() == 2 && self.is_described_before_price(after_heading[0]) {
                after_heading[0]
            } else {
                last
            }
        })
    }

    /// Whether a line begins a thing: it comes right after a heading.
    pub(crate) fn is_described_before_price(&self, line: usize) -> bool {
        let lines = &self.page.lines.all;
        line.checked_sub(1).is_some_and(|above| lines[above].level > 0)
            || lines[line].text.chars().count()
                < lines.get(line + 1).map_or(0, |next| next.text.chars().count())
    }

    pub(crate) fn description(&self, name: usize, price: usize, flat: bool) -> Option<String> {
        let lines = &self.page.lines.all;
        let range = if name < price { name + 1..price } else { price + 1..name };
        let text = |range: Range<usize>| {
            range
                .filter(|&line| self.tags[line].is_empty() && lines[line].level == 0)
                .map(|line| lines[line].text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let between = text(range);
        let after = if between.is_empty() && !flat {
            lines
                .get(price + 1)
                .filter(|next| {
                    next.level == 0
                        && self.page.tree.node(next.block).parent
                            == self.page.tree.node(lines[price].block).parent
                        && self.tags[price + 1].is_empty()
                })
                .map(|next| next.text.clone())
        } else {
            None
        };
        Some(plain(&after.unwrap_or(between), DESCRIPTION_CHARS_MAX))
            .filter(|text| text.chars().count() > 2)
    }
}

/// What stands before words in small print that end a line: `Tonkotsu <em>pork broth, egg</em>`.
pub(crate) fn before_aside(line: &TextLine) -> Option<&str> {
    let aside = line.pieces.iter().find(|piece| piece.style.aside)?;
    let goes_on = line
        .pieces
        .iter()
        .any(|piece| piece.at.start > aside.at.start && !piece.style.aside && piece.at.len() > 2);
    let name = line.text[..aside.at.start].trim();
    (!goes_on && is_name(name) && name.chars().count() > 2).then_some(name)
}

/// A line without a number in an element of its own before the words: `<b>12</b> Seekh Kebab`.
pub(crate) fn without_number(line: &TextLine) -> &str {
    match line.pieces.as_slice() {
        [first, _, ..]
            if first.at.len() <= 4
                && line.text[first.at.clone()]
                    .chars()
                    .all(|c| c.is_ascii_digit() || ".)#".contains(c)) =>
        {
            line.text[first.at.end..].trim_start()
        }
        _ => &line.text,
    }
}

/// Of the lines of a card, the one that names it.
pub(crate) fn pick(lines: &[TextLine], candidates: &[usize], at: usize) -> Option<usize> {
    let real = |line: &&usize| (1..=6).contains(&lines[**line].level);
    let strong =
        |line: &&usize| lines[**line].level > 0 || lines[**line].is_all(|style| style.strong);
    let before: Vec<usize> = candidates.iter().copied().filter(|line| *line < at).collect();
    candidates
        .iter()
        .find(real)
        .or(before.iter().find(strong))
        .or(before.first())
        .or(candidates.iter().find(strong))
        .or(candidates.first())
        .copied()
}
