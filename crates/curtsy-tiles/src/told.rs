//! Finds prices in sentences: those of bold words, of short sentences without other content, and of
//! a heading above a single price.

use crate::lines::TextLine;
use crate::money::Price;
use crate::naming::{clean_name, is_measure, is_name, is_prose};
use crate::priced::{HEADED_LINES_MAX, PEERS_MAX, PriceFinder};
use crate::tile::Via;
use crate::topic::Topic;
use crate::whose;
use crate::words::patterns;

impl PriceFinder<'_, '_> {
    /// Whether a sentence outside lists mentions a price in passing: the sentence continues after
    /// the price, and no colon or dash precedes it.
    pub(crate) fn is_told(&self, at: usize, tags: &[Price], own_before: &str) -> bool {
        let line = &self.page.lines.all[at];
        // `Adult plan £18.50 a month. Child plan £7 a month.`
        let is_short = |tag: &Price| {
            is_measure(
                whose::first_clause(&line.text[tag.at.end..]).split(',').next().unwrap_or_default(),
            )
        };
        if own_before.split_whitespace().count() <= 4 && tags.iter().all(is_short) {
            return false;
        }
        let (Some(first), Some(last)) = (tags.first(), tags.last()) else { return false };
        let leads = line.text[..first.at.start]
            .trim_end()
            .ends_with([':', '–', '—', '-', '.', '…', ')', '|', '•', '·']);
        let in_list = self.page.tree.nearest(line.block, &["li", "dt", "dd", "td", "th"]).is_some();
        let after = &line.text[last.at.end..];
        let sentence = whose::first_clause(after);
        let goes_on = after[sentence.len()..].split_whitespace().count() > 2;
        let ends = line.text.ends_with(['.', '!', '?']);
        let words = own_before.split_whitespace().count()
            + sentence
                .split_whitespace()
                .filter(|word| word.chars().any(char::is_alphabetic))
                .count();
        !in_list
            && line.level == 0
            && line.lead().is_none()
            && (goes_on || ends)
            && (words > 6 || !leads)
    }

    /// Prices in running text belong to bold words before them, or to the heading of their
    /// paragraph.
    pub(crate) fn prose(&mut self, at: usize, tags: &[Price]) {
        let page = self.page;
        let line = &page.lines.all[at];
        let mut from = 0;
        let mut is_named = false;
        // Sentences that are nothing but a name and a price are a list, if there are several.
        let about_prices = matches!(page.topic, Topic::Pricing | Topic::Services | Topic::Shop);
        let told = tags.iter().filter_map(|tag| short_name(line, tag)).count()
            >= if about_prices && tags.iter().any(|tag| costs(line, tag) || is_led(line, tag)) {
                1
            } else {
                2
            };
        for tag in tags {
            let before = &line.text[from..tag.at.start];
            let clause = tag.at.start - whose::last_clause(before).len();
            let name = line
                .pieces
                .iter()
                .rev()
                .find(|piece| {
                    piece.style.strong && piece.at.end <= tag.at.start && piece.at.start >= clause
                })
                .map(|piece| clean_name(&line.text[piece.at.clone()]))
                .filter(|name| is_name(name) && !is_measure(name));
            from = tag.at.end;
            let name = name.or_else(|| told.then(|| short_name(line, tag)).flatten());
            if let Some(name) = name {
                let prices = self.with_periods(at, std::slice::from_ref(tag));
                self.push(at, name, None, prices, Via::Text);
                is_named = true;
            }
        }
        let (Some(heading), Some(first)) = (line.heading.filter(|_| !is_named), tags.first())
        else {
            return;
        };
        let name = clean_name(&page.lines.all[heading].text);
        let may_tell = about_prices || matches!(page.topic, Topic::Menu | Topic::Home);
        if may_tell && self.heads_one_price(heading) && is_name(&name) && !crate::faq::asks(&name) {
            let prices = self.with_periods(at, std::slice::from_ref(first));
            self.push(at, name, None, prices, Via::Heading);
        }
    }

    /// Whether a heading is over one price only, as others of its rank beside it are.
    pub(crate) fn heads_one_price(&self, heading: usize) -> bool {
        let lines = &self.page.lines.all;
        let own = &lines[heading];
        let prices_under = |heading: usize| {
            (heading + 1..lines.len())
                .take_while(|&line| lines[line].level == 0)
                .take(HEADED_LINES_MAX)
                .filter(|&line| !self.tags[line].is_empty())
                .count()
        };
        own.level >= 2
            && prices_under(heading) == 1
            && (0..lines.len())
                .filter(|&other| {
                    lines[other].level == own.level && lines[other].heading == own.heading
                })
                .take(PEERS_MAX)
                .filter(|&other| prices_under(other) == 1)
                .count()
                >= 2
    }

    /// The heading or the strong words that a paragraph with a price stands under.
    pub(crate) fn named_by_block(&self, at: usize) -> Option<(String, Via)> {
        let page = self.page;
        let lines = &page.lines.all;
        let start = page.lines.paragraph_start(at);
        let line = &lines[at];
        if let Some(lead) = line.lead() {
            return Some((clean_name(lead), Via::List)).filter(|(name, _)| is_name(name));
        }
        let heading = line.heading?;
        let near =
            at - heading <= 3 && (lines[heading].level >= 2) && start.saturating_sub(heading) <= 2;
        // The heading has to be this item's own: its next neighbour of the same rank is near and
        // beside it.
        let rank = lines[heading].level;
        let has_peers = lines.iter().enumerate().any(|(other, peer)| {
            other != heading && peer.level == rank && peer.heading == lines[heading].heading
        });
        let name = clean_name(&lines[heading].text);
        (near && has_peers && is_name(&name) && !crate::faq::asks(&name))
            .then_some((name, Via::Heading))
    }
}

/// Whether a sentence says that a thing costs a price: `Truck rental is $275 per hour`.
pub(crate) fn costs(line: &TextLine, tag: &Price) -> bool {
    COSTS.is_match(whose::last_clause(&line.text[..tag.at.start]))
}

/// Whether a colon leads to a price.
pub(crate) fn is_led(line: &TextLine, tag: &Price) -> bool {
    clean_lead(&line.text[..tag.at.start]).ends_with(':')
}

/// A text without the small words right before a price.
pub(crate) fn clean_lead(before: &str) -> &str {
    let before = before.trim_end();
    ["from", "ab", "od", "desde", "vanaf", "fra", "från", "dès"]
        .iter()
        .find_map(|word| before.strip_suffix(word))
        .unwrap_or(before)
        .trim_end()
}

/// The name of a sentence that has nothing but a name, a price and a measure: `Simple will: $450.`
pub(crate) fn short_name(line: &TextLine, tag: &Price) -> Option<String> {
    let clause = whose::last_clause(&line.text[..tag.at.start]);
    let is_capital =
        clause.trim_start().chars().next().is_some_and(|c| c.is_uppercase() || c.is_ascii_digit());
    let clause = COSTS.find(clause).map_or(clause, |found| &clause[..found.start()]);
    let name = clean_name(ARTICLE.find(clause).map_or(clause, |found| &clause[found.end()..]));
    let after = whose::first_clause(&line.text[tag.at.end..]);
    (is_measure(after.split(',').next().unwrap_or(after))
        && is_capital
        && name.split_whitespace().count() <= 6
        && is_name(&name)
        && !is_measure(&name)
        && !is_prose(&name, ""))
    .then_some(name)
}

patterns! {
    COSTS: r"\s(?i:is|are|costs?|zahlen|zahlt|paient|pagan|betalen|betaler|kostet|kosten|kost|custam?|co[uû]tent?|est à|sont à|cuestan?|costano?|kosztują?e?|koster|kostar|stojí|maksaa)(?:\s(?i:from|ab|just|only|à partir de|desde|od|fra|från|vanaf))?\s*$";
    ARTICLE: r"^\s*(?i:an?|the|eine?|der|die|das|une?|les?|la|el|il|lo|una|en|ett|et|een|de|het|um|uma|o)\s";
}
