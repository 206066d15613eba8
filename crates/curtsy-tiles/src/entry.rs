//! Reads a line of a list: a name and its prices or several such pairs, and the period of each
//! price.

use crate::goods::joined;
use crate::money::{self, Period, Price};
use crate::naming::{clean_name, is_measure, is_name, split_name, without_measure};
use crate::plain::fold;
use crate::priced::{PERIOD_CHARS, PriceFinder};
use crate::tile::Via;
use crate::whose;
use crate::words::{AGES, OR, PER, SEASONS};

impl PriceFinder<'_, '_> {
    /// `Cod £6.20`, `Cod £6.20 / £8.40`, `Adults £9, children £4.50`.
    pub(crate) fn pairs(&mut self, at: usize, tags: &[Price], first_name: String) {
        let line = &self.page.lines.all[at];
        let text = line.text.clone();
        // What stands in another style between the name and the price describes it.
        let aside = line
            .pieces
            .iter()
            .find(|piece| {
                piece.style.aside
                    && piece.at.start > 0
                    && tags.first().is_some_and(|tag| piece.at.end <= tag.at.start)
            })
            .map(|piece| piece.at.clone());
        if let (Some(aside), Some(first)) = (&aside, tags.first()) {
            let name = clean_name(&text[..aside.start]);
            if is_name(&name)
                && text[aside.end..first.at.start].trim().chars().all(|c| !c.is_alphabetic())
            {
                let description = Some(text[aside.clone()].to_owned());
                let prices = self.with_periods(at, tags);
                self.push(at, name, description, prices, Via::List);
                return;
            }
        }
        // `<span>Platter</span><span>for two</span><span>18</span>`: the middle describes.
        if let Some((name, description)) = self.in_spans(at, tags) {
            let prices = self.with_periods(at, tags);
            self.push(at, name, Some(description), prices, Via::List);
            return;
        }
        // `extras: bacon $5 / egg $3`: what stands before the colon is over all of them.
        let first_name = match first_name.split_once(": ") {
            Some((_, label)) if tags.len() > 2 && !self.is_variant(label) && is_name(label) => {
                label.to_owned()
            }
            _ => first_name,
        };
        // `Cider: glass £3.50, jug £7`: what stands before the colon has all of the prices.
        if tags.len() > 1
            && let Some((head, label)) = first_name.split_once(':')
            && is_name(head.trim())
            && self.is_variant(label.trim())
        {
            let prices = self.with_periods(at, tags);
            self.push(at, clean_name(head), None, prices, Via::List);
            return;
        }
        // `/mån eller`: units and small words lead from one price to the next.
        let joins = |word: &str| {
            let folded = fold(word);
            is_measure(word)
                || OR.are(&folded)
                || money::period_alone(&format!("/{folded}")).is_some()
        };
        let mut groups: Vec<(String, Vec<Price>)> = Vec::new();
        let mut from = 0;
        for tag in tags {
            let name = if groups.is_empty() {
                first_name.clone()
            } else {
                // `12 € per person, bikes 8 €`: the unit is that of the price before.
                let between = whose::last_clause(&text[from..tag.at.start]);
                match between.split_once(',') {
                    Some((unit, rest)) if is_measure(unit) => clean_name(rest),
                    _ => clean_name(between),
                }
            };
            // `Concert £18, students £12`
            let is_for_others = AGES.are(&fold(&name)) && !AGES.are(&fold(&first_name));
            let goes_on = name.is_empty()
                || is_for_others
                || name.split_whitespace().all(joins)
                || is_measure(&name)
                || OR.begin(&fold(&name))
                || is_measure(whose::last_clause(&text[from..tag.at.start]))
                || name.chars().count() < 3;
            match groups.last_mut() {
                Some(group) if goes_on => group.1.push(tag.clone()),
                _ => groups.push((name, vec![tag.clone()])),
            }
            from = tag.at.end;
        }
        for (name, prices) in groups {
            let (name, description) = split_name(name);
            // Of several sizes the first stands before the first price.
            let name = match prices.len() {
                1 => name,
                _ => Some(clean_name(without_measure(&name)))
                    .filter(|short| is_name(short))
                    .unwrap_or(name),
            };
            if is_name(&name) {
                let prices = self.with_periods(at, &prices);
                let via = if self
                    .page
                    .tree
                    .nearest(self.page.lines.all[at].block, &["li", "dt", "dd"])
                    .is_some()
                {
                    Via::List
                } else {
                    Via::Text
                };
                self.push(at, name, description, prices, via);
            }
        }
    }

    /// The name and description of a line of three or more elements, the last one with its prices.
    pub(crate) fn in_spans(&self, at: usize, tags: &[Price]) -> Option<(String, String)> {
        let line = &self.page.lines.all[at];
        let tree = &self.page.tree;
        let own = |node: usize| tree.node(node).parent;
        let is_own = |node: usize| own(node) != line.block && own(node) + 1 == node;
        let first = tags.first()?;
        let mut pieces: Vec<_> =
            line.pieces.iter().filter(|piece| piece.at.start < first.at.start).collect();
        let in_last = line.pieces.iter().any(|piece| {
            piece.at.contains(&first.at.start)
                && pieces.iter().all(|other| other.at.end <= piece.at.start)
        });
        pieces.retain(|piece| line.text[piece.at.clone()].chars().any(char::is_alphabetic));
        if !in_last || pieces.len() < 2 || !pieces.iter().all(|piece| is_own(piece.node)) {
            return None;
        }
        let name = clean_name(&line.text[pieces[0].at.clone()]);
        let description = line.text[pieces[1].at.start..first.at.start].trim().to_owned();
        let same = |one: usize, other: usize| {
            tree.attribute(own(one), "class") == tree.attribute(own(other), "class")
                && tree.name(own(one)) == tree.name(own(other))
        };
        // Elements of one class may be halves of a name.
        let are_halves = tree.attribute(own(pieces[0].node), "class").is_some()
            && same(pieces[0].node, pieces[1].node);
        (is_name(&name) && !are_halves && !is_measure(&name)).then_some((name, description))
    }

    /// Prices with the periods that are said right after them, or for the whole list.
    pub(crate) fn with_periods(&self, at: usize, tags: &[Price]) -> Vec<(Price, Period)> {
        let text = &self.page.lines.all[at].text;
        let mut with = Vec::new();
        for (place, tag) in tags.iter().enumerate() {
            let end = tags.get(place + 1).map_or(text.len(), |next| next.at.start);
            let after: String =
                text[tag.at.end..end.max(tag.at.end)].chars().take(PERIOD_CHARS).collect();
            let after = fold(whose::first_clause(&after));
            // Text in brackets or after a comma is about something else, unless it is only a
            // period.
            let (near, rest) = after.split_at(after.find(['(', ',']).unwrap_or(after.len()));
            let mut period = money::period(near)
                .or_else(|| PER.begin(near.trim()).then(|| money::period(&joined(near))).flatten())
                .or_else(|| money::period_alone(rest.trim_start_matches(['(', ',', ' '])))
                .or_else(|| self.period_before(text, tags, place))
                .or_else(|| {
                    // `Full day: $55`
                    let start = tags[..place].last().map_or(0, |last| last.at.end);
                    let label =
                        text[start..tag.at.start].trim_matches(|c: char| !c.is_alphanumeric());
                    let label =
                        Some(label).filter(|label| !label.is_empty() && is_measure(label))?;
                    money::period_alone(&format!("/{}", fold(label)))
                });
            if period.is_none() && after.trim().is_empty() {
                // `$29` and, on the next line, `per month`.
                let next = self.page.lines.all.get(at + 1).filter(|next| {
                    next.text.split_whitespace().count() <= 4
                        && next.level == 0
                        && self.tags.get(at + 1).is_none_or(Vec::is_empty)
                });
                period = next
                    .filter(|next| is_measure(&next.text))
                    .and_then(|next| money::period_alone(&next.folded));
            }
            with.push((tag.clone(), period.unwrap_or(Period::Once)));
        }
        // `Summer € 48, winter € 62 a night`: what is said at the end holds for all.
        let is_list = tags.windows(2).all(|two| {
            let between = fold(&text[two[0].at.end..two[1].at.start.max(two[0].at.end)]);
            let mut words =
                between.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words
                .all(|word| is_measure(word) || AGES.are(word) || SEASONS.are(word) || OR.are(word))
        });
        let last = with.last().map(|(_, period)| *period).filter(|_| is_list);
        if let Some(last) = last.filter(|last| *last != Period::Once)
            && with[..with.len() - 1].iter().all(|(_, period)| *period == Period::Once)
        {
            with.iter_mut().for_each(|(_, period)| *period = last);
        }
        with
    }

    /// The period before a price, which holds for all prices after it: `Per night £48, £62 in
    /// August`.
    pub(crate) fn period_before(&self, text: &str, tags: &[Price], place: usize) -> Option<Period> {
        let start = tags[..place].last().map_or(0, |last| last.at.end);
        let before = whose::last_clause(&text[start..tags[place].at.start]);
        let words = before.split_whitespace().count();
        let folded = fold(before);
        let period = match place {
            // `billed annually at £90`
            0 => money::period(&folded),
            _ => money::period_alone(folded.trim()),
        };
        period.filter(|_| words <= 4)
    }
}
