//! Finds the priced items of a page: rows of tables, lines with a price, and cards with a price on
//! its own line.
//!
//! A sentence gives a price only if it is nothing else ("From £4,500."), under a name of its own.

use std::collections::BTreeMap;

use crate::lines::TextLine;
use crate::money::{self, Period, Price};
use crate::naming::{clean_name, is_aside, is_measure, is_name, is_prose, is_sentence};
use crate::payable::{add_bare_numbers, tags};
use crate::plain::{fold, identity, plain};
use crate::site::SitePage;
use crate::tile::Via;
use crate::told::COSTS;
use crate::topic::Topic;
use crate::whose;
use crate::words::{LABEL_ONLY, NO_PRICE, OPTION_CLASS, SEASONS};

/// An item and its prices.
#[derive(Clone, Debug)]
pub(crate) struct PricedItem {
    /// What it is called.
    pub(crate) name: String,
    /// What is said about it.
    pub(crate) description: Option<String>,
    /// Its prices; empty if it stands in a price list without one.
    pub(crate) prices: Vec<(Price, Period)>,
    /// The heading it stands under.
    pub(crate) section: Option<String>,
    /// The line of its first price.
    pub(crate) line: usize,
    /// The line of its last price.
    pub(crate) line_last: usize,
    /// What it was read out of.
    pub(crate) via: Via,
    /// The words it was read from.
    pub(crate) text: String,
}

/// Everything on a page that has a price.
pub(crate) fn find(page: &SitePage<'_>) -> Vec<PricedItem> {
    if matches!(page.topic, Topic::News | Topic::Terms | Topic::Imprint) {
        return Vec::new();
    }
    let mut finder = PriceFinder {
        page,
        used: vec![false; page.lines.all.len()],
        items: Vec::new(),
        tags: Vec::new(),
        repeats: BTreeMap::new(),
        looks: BTreeMap::new(),
    };
    finder.tags = (0..page.lines.all.len()).map(|at| tags(page, at)).collect();
    add_bare_numbers(page, &mut finder.tags);
    finder.count_repeats();
    crate::table::find(&mut finder);
    finder.side_by_side();
    for at in 0..page.lines.all.len() {
        if !finder.used[at] && !finder.tags[at].is_empty() && !is_answer(page, at) {
            finder.line(at);
        }
    }
    finder.items.sort_by_key(|item| item.line);
    without_lonely(page, &mut finder.items);
    if page.topic == Topic::Menu {
        without_numbers(&mut finder.items);
        without_letters(&mut finder.items);
        without_days(&mut finder.items);
    }
    finder.items
}

/// Finds priced items on a page.
pub(crate) struct PriceFinder<'f, 'p> {
    pub(crate) page: &'f SitePage<'p>,
    /// Lines that are spoken for.
    pub(crate) used: Vec<bool>,
    pub(crate) items: Vec<PricedItem>,
    /// The prices of every line that are prices of something.
    pub(crate) tags: Vec<Vec<Price>>,
    /// How often each text stands on a line, or before a price.
    pub(crate) repeats: BTreeMap<String, usize>,
    /// How many lines have each look.
    pub(crate) looks: BTreeMap<String, usize>,
}

/// Answers to questions name prices of all kinds.
fn is_answer(page: &SitePage<'_>, at: usize) -> bool {
    let line = &page.lines.all[at];
    page.topic == Topic::Faq
        || line.heading.is_some_and(|heading| {
            crate::faq::asks(&page.lines.all[heading].text) && !heads_list(page, heading)
        })
        || page.tree.nearest(line.block, &["dd"]).is_some_and(|_| {
            let mut above = page.lines.all[..at].iter().rev().take(DETAILS_MAX);
            above
                .find(|line| page.tree.nearest(line.block, &["dt"]).is_some())
                .is_some_and(|term| term.text.ends_with('?'))
        })
        || page.tree.nearest(line.block, &["details"]).is_some_and(|details| {
            let first = page.lines.inside(&page.tree, details).next();
            first.is_some_and(|first| crate::faq::is_question(page, first))
        })
}

/// Whether several short lines with prices are below a heading, such as `What does it cost?`.
fn heads_list(page: &SitePage<'_>, heading: usize) -> bool {
    let lines = &page.lines.all;
    let under = (heading + 1..lines.len()).take_while(|&at| lines[at].level == 0);
    let is_entry = |at: &usize| {
        let line = &lines[*at];
        !line.prices.is_empty() && line.text.split_whitespace().count() <= ENTRY_WORDS_MAX
    };
    under.take(HEADED_LINES_MAX).filter(is_entry).count() >= 2
}

/// Removes numbers that count dishes: `21 Spaghetti`, `22 Penne`, `23 Lasagne`.
fn without_numbers(items: &mut [PricedItem]) {
    let number = |item: &PricedItem| {
        let (number, rest) = item.name.split_once(' ')?;
        let is_name = rest.chars().next().is_some_and(char::is_uppercase) && rest.len() > 2;
        number.parse::<u16>().ok().filter(|_| is_name && number.len() <= 3)
    };
    let numbers: Vec<u16> = items.iter().filter_map(number).collect();
    if numbers.len() < COUNTED_MIN || !numbers.windows(2).all(|two| two[0] < two[1]) {
        return;
    }
    for item in items.iter_mut().filter(|item| number(item).is_some()) {
        if let Some((_, rest)) = item.name.split_once(' ') {
            item.name = rest.to_owned();
        }
    }
}

/// Names of dishes without the letters that they are counted by: `A. For two`, `B. For four`.
fn without_letters(items: &mut [PricedItem]) {
    let letter = |item: &PricedItem| match item.name.split_once(". ") {
        Some((letter, rest)) if is_name(rest) => letter.parse::<char>().ok(),
        _ => None,
    };
    let letters: String = items.iter().filter_map(letter).collect();
    if letters.len() < 2 || !ALPHABET.starts_with(&letters) {
        return;
    }
    for item in items.iter_mut().filter(|item| letter(item).is_some()) {
        item.name.drain(..3);
    }
}

/// Removes days before dishes: `Monday - Meatloaf`, `Tuesday - Pot roast`.
fn without_days(items: &mut [PricedItem]) {
    let rest = |item: &PricedItem| -> Option<String> {
        let (day, rest) =
            [": ", " - ", " – ", " — "].iter().find_map(|by| item.name.split_once(by))?;
        let is_day = crate::clock::day(&fold(day.trim().trim_end_matches('.'))).is_some();
        (is_day && is_name(rest)).then(|| rest.to_owned())
    };
    if items.iter().filter(|item| rest(item).is_some()).count() < COUNTED_MIN {
        return;
    }
    for item in items.iter_mut() {
        if let Some(rest) = rest(item) {
            item.name = rest;
        }
    }
}

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Removes single prices in the text of pages that are not about prices (news, examples), and
/// prices in small print.
fn without_lonely(page: &SitePage<'_>, items: &mut Vec<PricedItem>) {
    let about_prices =
        matches!(page.topic, Topic::Pricing | Topic::Menu | Topic::Shop | Topic::Services);
    let look = |item: &PricedItem| {
        let block = page.lines.all[item.line].block;
        let deep = page.tree.around(block).count();
        (
            page.tree.name(block).to_owned(),
            page.tree.attribute(block, "class").unwrap_or_default().to_owned(),
            deep,
        )
    };
    let looks: Vec<_> = items.iter().map(look).collect();
    let mut place = 0;
    items.retain(|item| {
        let own = &looks[place];
        place += 1;
        let line = &page.lines.all[item.line];
        let is_small = line.is_all(|style| style.aside) && line.text.split_whitespace().count() > 6;
        item.via != Via::Text
            || looks.iter().filter(|other| *other == own).count() >= 2
            || about_prices && !is_small
    });
}

/// The text of a line before its first price.
struct PriceLead<'t> {
    /// The text since the last old price with words after it.
    text: &'t str,
    /// Where the clause of the price begins in the text.
    clause_start: usize,
    /// The name that the clause gives, without struck words.
    name: String,
}

impl<'t> PriceLead<'t> {
    fn of(line: &'t TextLine, first: &Price) -> PriceLead<'t> {
        let mut old = 0;
        let mut text = "";
        let old_prices = line.prices.iter().take_while(|price| price.at.end <= first.at.start);
        for price in old_prices.chain([first]) {
            let gap = &line.text[old..price.at.start];
            if text.is_empty() || !clean_name(gap).is_empty() {
                text = gap;
            }
            old = price.at.end;
        }
        let clause_start = |text: &str| text.len() - whose::last_clause(text).len();
        let mut start = clause_start(text);
        // `Cut and dry | short 42 €`: bars lead from a name to its prices.
        let leads_on = |text: &str, start: usize| {
            let name = clean_name(&text[start..]);
            text[..start].ends_with(['|', '·', '•']) && (name.is_empty() || is_measure(&name))
        };
        while leads_on(text, start) {
            text = text[..start].trim_end_matches(['|', '·', '•', ' ']);
            start = clause_start(text);
        }
        // `Season ticket <s>5 900</s> 5 290 kr`: struck words are no part of the name.
        let name = match line.text.find(text).filter(|_| !text.is_empty()) {
            Some(at) => clean_name(&line.unstruck(at + start..at + text.len())),
            None => String::new(),
        };
        PriceLead { text, clause_start: start, name }
    }

    /// The words before the price in its own clause.
    fn clause(&self) -> &'t str {
        &self.text[self.clause_start..]
    }

    /// Whether another clause stands before that of the price.
    fn has_earlier_clause(&self) -> bool {
        self.text[..self.clause_start].chars().filter(|c| c.is_alphabetic()).count() > 3
    }

    /// `Fish & chips | beer battered, tartare | 26`: the name before the first bar, and the
    /// description after it.
    fn before_bar(&self) -> Option<(String, String)> {
        let (head, rest) = self.text.split_once('|')?;
        let name = clean_name(head);
        (self.text[..self.clause_start].ends_with('|')
            && is_name(&name)
            && !is_measure(&name)
            && !is_prose(&name, ""))
        .then(|| (name, rest.trim_matches(['|', ' ']).to_owned()))
    }
}

impl PriceFinder<'_, '_> {
    /// Reads a line with prices outside of tables.
    fn line(&mut self, at: usize) {
        let line = &self.page.lines.all[at];
        let tags = self.tags[at].clone();
        let Some(first) = tags.first() else { return };
        let lead = PriceLead::of(line, first);
        let after = &line.text[tags.last().map_or(first.at.end, |last| last.at.end)..];
        if let Some((name, description)) = lead.before_bar() {
            let prices = self.with_periods(at, &tags);
            self.push(at, name, Some(description), prices, Via::List);
            return;
        }
        if self.is_size_of_another(at, &tags, &lead) {
            return;
        }
        if lead.name.is_empty() {
            self.price_before_name(at, tags, &lead, after);
        } else if let Some((above, name)) = self.named_above(at, first) {
            // `Crudo`, and on the next line in small print its description and price.
            let prices = self.with_periods(at, &tags);
            self.used[above] = true;
            self.push(at, name, Some(lead.name), prices, Via::List);
        } else if let Some((name, description)) = self.set_off_name(at, first) {
            if description.as_deref().is_none_or(|text| text.chars().count() < 160) {
                self.push(at, name, description, self.with_periods(at, &tags), Via::List);
            }
        } else if lead.has_earlier_clause()
            || !is_name(&lead.name)
            || is_prose(&lead.name, after) && !self.is_led_entry(at, first, &lead.name)
            || self.is_told(at, &tags, &lead.name)
            || COSTS.is_match(lead.clause())
        {
            self.prose(at, &tags);
        } else {
            self.pairs(at, &tags, lead.name);
        }
    }

    /// `Half £4.20`, `Full £6.80`: sizes of an item named above. Adds such a price to its item.
    fn is_size_of_another(&mut self, at: usize, tags: &[Price], lead: &PriceLead<'_>) -> bool {
        let own = lead.name.as_str();
        let is_option = self.is_option(at) && !crate::naming::is_addition(own);
        if own.is_empty() || lead.has_earlier_clause() || !(is_option || self.is_variant(own)) {
            return false;
        }
        let is_season = SEASONS.are(&fold(own));
        let lines = &self.page.lines.all;
        // A sentence names nothing, and neither does a heading over another one.
        let is_near = |line: usize| {
            lines[line].level == 0 || (line + 1..at).all(|between| lines[between].level == 0)
        };
        let above = self
            .name_of(at)
            .map(|(line, _)| line)
            .filter(|&line| line < at && !lines[line].text.ends_with('.') && is_near(line));
        let is_headed = above.is_some_and(|line| (1..=6).contains(&lines[line].level));
        // `Regular price £9` in every card is a label; `Adults £9` under several headings is not.
        let is_named = above.is_some_and(|line| {
            is_option
                || is_measure(own)
                || is_season
                || self.repeats(own) >= REPEATS_OF_LABEL && self.is_only_price(at)
                || !is_headed
                || self.is_of_card(at, line)
        });
        let is_entry = is_headed && !is_season && self.is_among_names(at);
        !is_entry && (is_named || self.continues(at)) && self.bare(at, tags.to_vec()).is_some()
    }

    /// A line that begins with its prices: `£9 Adults`, or a price without any name beside it.
    fn price_before_name(
        &mut self,
        at: usize,
        tags: Vec<Price>,
        lead: &PriceLead<'_>,
        after: &str,
    ) {
        let has_earlier = lead.has_earlier_clause();
        let is_measured = !has_earlier && money::period_alone(fold(after).trim()).is_some();
        if !is_measured && (has_earlier || is_sentence(after)) {
            // `Two hours of service. From $16 per guest.`
            let named = self.named_by_block(at);
            if !is_aside(after) || has_earlier && named.is_none() {
                self.prose(at, &tags);
            } else if let Some((name, via)) = named {
                self.push(at, name, None, self.with_periods(at, &tags[..1]), via);
            }
        } else if let Some(name) = self.name_after(at, &tags, after) {
            self.push(at, name, None, self.with_periods(at, &tags), Via::List);
        } else {
            self.bare(at, tags);
        }
    }

    /// The name that stands after the prices of a line, without small print at the end.
    fn name_after(&self, at: usize, tags: &[Price], after: &str) -> Option<String> {
        let line = &self.page.lines.all[at];
        let start = line.text.len() - after.len();
        let small = line.pieces.iter().find(|piece| {
            piece.style.aside && piece.at.start > start + 2 && piece.at.end == line.text.len()
        });
        let end = small.map_or(line.text.len(), |piece| piece.at.start);
        let name = clean_name(&line.text[start..end]);
        let begins_name = name.chars().next().is_some_and(|c| {
            c.is_uppercase() || ('1'..='9').contains(&c) && self.is_apart(at, &tags[0])
        });
        let has_words_between = tags
            .windows(2)
            .any(|two| line.text[two[0].at.end..two[1].at.start].contains(char::is_alphabetic));
        let is_named = after.starts_with([' ', '\u{a0}'])
            && begins_name
            && !after.trim_start().starts_with(['/', '(', '|', '*'])
            && is_name(&name)
            && !is_measure(&name)
            && !LABEL_ONLY.are(&identity(&name))
            && !line.has_at(line.text.len() - 1, |style| style.link.is_some())
            && name.split_whitespace().count() <= 6
            && !has_words_between
            && !is_prose(&name, "")
            && money::prices(after).is_empty()
            && !NO_PRICE.are_in(&fold(after));
        is_named.then_some(name)
    }

    /// The words at the beginning of a line that are set off by their style, and the description
    /// between them and the price.
    fn set_off_name(&self, at: usize, first: &Price) -> Option<(String, Option<String>)> {
        let line = &self.page.lines.all[at];
        let start = |lead: &str| line.text.find(lead).unwrap_or(0);
        let lead = line.lead().filter(|lead| start(lead) + lead.len() <= first.at.start)?;
        let lead = self.last_lead(at, first).unwrap_or(lead);
        let name = Some(clean_name(lead)).filter(|name| is_name(name))?;
        let between = &line.text[start(lead) + lead.len()..first.at.start];
        let between = between.trim_matches(|c: char| !c.is_alphanumeric() && c != '(');
        Some((name, Some(between.to_owned()).filter(|text| text.len() > 3)))
    }

    /// `Happy hour, 5 to 6: Fried squid £4`, both bold: the price is that of the second.
    fn last_lead(&self, at: usize, first: &Price) -> Option<&str> {
        let line = &self.page.lines.all[at];
        let is_led = |start: usize| line.text[..start].trim_end().ends_with(':');
        let strong = line.pieces.iter().filter(|piece| piece.style.strong);
        let mut last = strong.filter(|piece| piece.at.start > 0 && piece.at.end <= first.at.start);
        let piece = last.next_back().filter(|piece| is_led(piece.at.start))?;
        Some(line.text[piece.at.clone()].trim()).filter(|name| is_name(name))
    }

    /// Whether a class says that a line is one of several ways to have a thing.
    pub(crate) fn is_option(&self, at: usize) -> bool {
        let tree = &self.page.tree;
        let block = self.page.lines.all[at].block;
        let mut around = std::iter::once(block).chain(tree.around(block)).take(2);
        around.any(|at| tree.has_class(at, &OPTION_CLASS))
    }

    /// Whether a price has an element of its own, and what follows it another one.
    fn is_apart(&self, at: usize, price: &Price) -> bool {
        let line = &self.page.lines.all[at];
        let ends = line.pieces.iter().any(|piece| piece.at.end == price.at.end);
        ends && line.pieces.iter().any(|piece| piece.at.start > price.at.end)
    }

    /// `<li>Dog in your room: £12 a night</li>`: short, and led to its price by a colon or a dash.
    fn is_led_entry(&self, at: usize, first: &Price, name: &str) -> bool {
        let before = self.page.lines.all[at].text[..first.at.start].trim_end();
        self.is_entry(at)
            && before.ends_with([':', '–', '—', '-'])
            && name.split_whitespace().count() <= ENTRY_WORDS_MAX
    }

    /// Whether a line stands in a list or a table.
    fn is_entry(&self, at: usize) -> bool {
        let block = self.page.lines.all[at].block;
        self.page.tree.nearest(block, &["li", "dt", "dd", "td"]).is_some()
    }

    /// The name on the line before, if all that stands before a price is small print.
    fn named_above(&self, at: usize, first: &Price) -> Option<(usize, String)> {
        let lines = &self.page.lines.all;
        let line = &lines[at];
        let mut pieces = line.pieces.iter().filter(|piece| {
            piece.at.start < first.at.start
                && line.text[piece.at.clone()].chars().any(char::is_alphabetic)
        });
        let above = at.checked_sub(1).filter(|&above| {
            lines[above].block == line.block
                && lines[above].level == 0
                && self.tags[above].is_empty()
                && !self.used[above]
                && !lines[above].is_all(|style| style.aside)
                && !lines[above].text.ends_with(['.', ':', '!'])
        })?;
        let name = clean_name(&lines[above].text);
        let is_short = is_name(&name) && name.split_whitespace().count() <= 7;
        (is_short && pieces.clone().count() > 0 && pieces.all(|piece| piece.style.aside))
            .then_some((above, name))
    }

    fn count_repeats(&mut self) {
        for (at, line) in self.page.lines.all.iter().enumerate() {
            *self.looks.entry(look(self.page, at)).or_default() += 1;
            if line.is_matter() {
                let text = match self.tags[at].first() {
                    Some(tag) => identity(&clean_name(&line.text[..tag.at.start])),
                    None => identity(&line.text),
                };
                if (1..=REPEAT_CHARS_MAX).contains(&text.len()) {
                    *self.repeats.entry(text).or_default() += 1;
                }
            }
        }
    }

    pub(crate) fn repeats(&self, text: &str) -> usize {
        self.repeats.get(&identity(text)).copied().unwrap_or(0)
    }

    pub(crate) fn push(
        &mut self,
        at: usize,
        name: String,
        description: Option<String>,
        prices: Vec<(Price, Period)>,
        via: Via,
    ) {
        if self.items.len() >= ITEMS_MAX
            || crate::naming::is_time(&name, self.page.language())
            || crate::naming::is_addition(&name) && (!self.is_entry(at) || name.ends_with(" add"))
        {
            return;
        }
        let section = section(self.page, at, &name);
        let text = self.page.lines.all[at].text.clone();
        self.used[at] = true;
        let description = description.map(|text| plain(&text, DESCRIPTION_CHARS_MAX));
        self.items.push(PricedItem {
            name,
            description,
            prices,
            section,
            line: at,
            line_last: at,
            via,
            text,
        });
    }
}

/// What a line looks like: its block and the element of its words, with their classes.
pub(crate) fn look(page: &SitePage<'_>, line: usize) -> String {
    let tree = &page.tree;
    let line = &page.lines.all[line];
    let inner = line.pieces.first().map_or(line.block, |piece| tree.node(piece.node).parent);
    let class = |at: usize| tree.attribute(at, "class").unwrap_or_default();
    format!("{} {} {} {}", tree.name(line.block), class(line.block), tree.name(inner), class(inner))
}

/// The nearest heading over a line that is not the thing's own name.
pub(crate) fn section(page: &SitePage<'_>, at: usize, name: &str) -> Option<String> {
    let own = identity(name);
    page.lines
        .headings(at)
        .map(|heading| page.lines.all[heading].text.clone())
        .find(|text| identity(text) != own)
        .map(|text| plain(text.trim_end_matches(':'), 120))
}

/// The most things of one page that are read.
pub(crate) const ITEMS_MAX: usize = 600;
/// So many lines before the first price are looked at for a name.
pub(crate) const NEAR_LINES: usize = 30;
/// The most lines under a heading that are looked at.
pub(crate) const HEADED_LINES_MAX: usize = 12;
/// What is said of a term has no more lines.
pub(crate) const DETAILS_MAX: usize = 12;
/// So many names that begin with a greater number each are counted.
pub(crate) const COUNTED_MIN: usize = 3;
/// The most words of a line of a list.
pub(crate) const ENTRY_WORDS_MAX: usize = 8;
/// The most headings of one rank that are looked at.
pub(crate) const PEERS_MAX: usize = 50;
/// Longer texts are not counted.
pub(crate) const REPEAT_CHARS_MAX: usize = 60;
/// What stands on so many lines is a label.
pub(crate) const REPEATS_OF_LABEL: usize = 3;
/// The most prices of one thing that are read.
pub(crate) const PRICES_MAX: usize = 8;
/// A price and its name are in boxes no more than this many levels apart.
pub(crate) const CLIMB_MAX: usize = 6;
/// The most boxes side by side that are looked at.
pub(crate) const SIBLINGS_MAX: usize = 50;
/// The most lines of a card.
pub(crate) const CARD_LINES_MAX: usize = 60;
/// How far a period may stand after its price.
pub(crate) const PERIOD_CHARS: usize = 34;
/// Longer descriptions are cut.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 300;
