//! Turns priced items into facts: dishes, goods, or prices of plans, treatments, tickets and rooms.
//!
//! The kind follows from the page, the headings, a basket button and the trade of the site.

use std::collections::{BTreeMap, BTreeSet};

use crate::dishes::{
    dish_of, dishes_at_one_price, dishes_in_courses, dishes_of_menu, dishes_without_price,
};
use crate::found::{FoundFact, LABELLED, LISTED, STRUCTURED};
use crate::kind::{PricedKind, kinds};
use crate::money::Period;
use crate::naming;
use crate::plain::{fold, identity};
use crate::priced::{self, PricedItem};
use crate::schema::SchemaFact;
use crate::site::{SitePage, SitePages};
use crate::tile::{TileFact, TileKind, Via};
use crate::topic::Topic;
use crate::week::{self, Week};
use crate::words::{ALL_PRICES, HOURLY, PER, RECURRING};

/// Everything with a price on a site, and dishes without one.
pub(crate) fn find(site: &SitePages<'_>) -> Vec<FoundFact> {
    let mut found = Vec::new();
    for page in &site.pages {
        let of_page = found.len();
        structured(site, page, &mut found);
        let items = priced::find(page);
        let all = kinds(site, page, &items);
        let notes = notes(page);
        let names: BTreeSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let weeks = week::find(page, &items);
        emit_weeks(site, page, &items, &weeks, &mut found);
        for (place, (item, kind)) in items.iter().zip(&all).enumerate() {
            if weeks.iter().any(|week| week.price == Some(place)) {
                continue;
            }
            let is_menu = *kind == PricedKind::Menu;
            let dishes = if is_menu { dishes_at_one_price(page, item, &items) } else { Vec::new() };
            if !dishes.is_empty() {
                let is_heading = page.lines.all[item.line].level > 0;
                let section =
                    if is_heading { Some(&item.name) } else { item.section.as_ref() }.cloned();
                for (at, name) in dishes {
                    let (section, text) = (section.clone(), page.lines.all[at].text.clone());
                    let dish = PricedItem { name, section, text, ..item.clone() };
                    emit(site, page.number, &dish, *kind, None, &mut found);
                }
                continue;
            }
            // A heading may state the period of all items below it, unless it is the name of one of
            // them.
            let section = item.section.as_deref().filter(|section| !names.contains(section));
            let headed = section.and_then(|section| period_of_name(&fold(section)));
            let note = headed.or_else(|| period_of_note(page, &notes, item));
            emit(site, page.number, item, *kind, note, &mut found);
            let served = if is_menu { dishes_of_menu(page, item, &items) } else { Vec::new() };
            for at in served {
                let line = &page.lines.all[at];
                let (name, section) = (dish_of(line), Some(item.name.clone()));
                let text = line.text.clone();
                let dish = PricedItem { name, section, text, prices: Vec::new(), ..item.clone() };
                emit(site, page.number, &dish, *kind, None, &mut found);
            }
        }
        dishes_without_price(page, &items, &all, &mut found);
        if page.topic == Topic::Menu && items.is_empty() || all.contains(&PricedKind::Menu) {
            dishes_in_courses(page, &items, &mut found);
        }
        without_marks(page, &mut found[of_page..]);
    }
    // The house itself is none of its dishes.
    let own = site.name.as_ref().map(|name| identity(&name.text)).unwrap_or_default();
    found.retain(|found| {
        !matches!(&found.fact, TileFact::Menu { name, amount: None, .. } if identity(name) == own)
    });
    without_twins(&mut found);
    without_old_prices(&mut found);
    without_unsaid_periods(&mut found);
    of_one_kind(&mut found);
    found
}

/// The dishes of a week, at the price that all of them have.
fn emit_weeks(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    items: &[PricedItem],
    weeks: &[Week],
    found: &mut Vec<FoundFact>,
) {
    for week in weeks {
        let price = week.price.map(|place| &items[place]);
        for (at, name) in &week.dishes {
            let line = &page.lines.all[*at];
            let dish = PricedItem {
                name: name.clone(),
                description: None,
                prices: price.map(|item| item.prices.clone()).unwrap_or_default(),
                section: priced::section(page, *at, name),
                line: *at,
                line_last: *at,
                via: Via::List,
                text: line.text.clone(),
            };
            emit(site, page.number, &dish, PricedKind::Menu, None, found);
        }
    }
}

/// Names of dishes without the numbers and marks of a page's notes on allergens and diets.
fn without_marks(page: &SitePage<'_>, found: &mut [FoundFact]) {
    let lines = &page.lines.all;
    let has_notes = lines.iter().any(|line| naming::has_notes(&line.text));
    let marks: Vec<String> =
        lines.iter().flat_map(|line| naming::explained_marks(&line.text)).collect();
    for found in found {
        if let TileFact::Menu { name, .. } = &mut found.fact {
            let short = naming::without_marks(name, &marks);
            let short = if has_notes { naming::without_note(short) } else { short };
            *name = short.to_owned();
        }
    }
}

/// A dish that has a price somewhere does not go without one elsewhere.
fn without_twins(found: &mut Vec<FoundFact>) {
    let name = |found: &FoundFact| match &found.fact {
        TileFact::Menu { name, amount, .. } => Some((identity(name), amount.is_some())),
        _ => None,
    };
    let priced: BTreeSet<String> =
        found.iter().filter_map(name).filter(|(_, priced)| *priced).map(|(name, _)| name).collect();
    found.retain(|found| {
        name(found).is_none_or(|(name, is_priced)| is_priced || !priced.contains(&name))
    });
}

/// A price whose period is said in one place is not paid once in another.
fn without_unsaid_periods(found: &mut Vec<FoundFact>) {
    let thing = |fact: &TileFact| match fact {
        TileFact::Pricing { period, .. } => Some((name_and_amount(fact)?, *period)),
        _ => None,
    };
    let said: BTreeSet<(String, u64)> = found
        .iter()
        .filter_map(|found| thing(&found.fact))
        .filter(|(_, period)| *period != Period::Once)
        .map(|(key, _)| key)
        .collect();
    found.retain(|found| {
        thing(&found.fact)
            .is_none_or(|(key, period)| period != Period::Once || !said.contains(&key))
    });
}

/// The name and the amount of a thing with a price.
fn name_and_amount(fact: &TileFact) -> Option<(String, u64)> {
    match fact {
        TileFact::Menu { name, amount: Some(amount), .. }
        | TileFact::Products { name, amount: Some(amount), .. }
        | TileFact::Pricing { name, amount, .. } => {
            Some((identity(name), amount.parse::<f64>().ok()?.to_bits()))
        }
        _ => None,
    }
}

/// Where structured data and what visitors see differ about a price, visitors are right.
fn without_old_prices(found: &mut Vec<FoundFact>) {
    let mut seen: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (name, amount) in found
        .iter()
        .filter(|found| !found.via.is_structured())
        .filter_map(|found| name_and_amount(&found.fact))
    {
        seen.entry(name).or_default().insert(amount);
    }
    found.retain(|found| {
        !found.via.is_structured()
            || name_and_amount(&found.fact).is_none_or(|(name, amount)| {
                seen.get(&name).is_none_or(|amounts| amounts.contains(&amount))
            })
    });
}

/// An item has one kind: the surest fact decides for all facts with the same name and price.
fn of_one_kind(found: &mut Vec<FoundFact>) {
    let mut best: BTreeMap<(String, u64), (f32, TileKind)> = BTreeMap::new();
    for found in found.iter() {
        if let Some(key) = name_and_amount(&found.fact) {
            let own = (found.confidence, found.fact.kind());
            let known = best.entry(key).or_insert(own);
            if own.0 > known.0 {
                *known = own;
            }
        }
    }
    found.retain(|found| {
        name_and_amount(&found.fact)
            .and_then(|key| best.get(&key))
            .is_none_or(|(_, kind)| *kind == found.fact.kind())
    });
}

fn structured(site: &SitePages<'_>, page: &SitePage<'_>, found: &mut Vec<FoundFact>) {
    for (via, said) in &page.said {
        let currency = |code: Option<&String>| code.cloned().or(site.currency.map(str::to_owned));
        let fact = match said {
            SchemaFact::Dish { section, name, description, price } => TileFact::Menu {
                section: section.clone(),
                name: name.clone(),
                description: description.clone(),
                amount: price.as_ref().map(|price| price.amount.clone()),
                currency: price.as_ref().and_then(|price| currency(price.currency.as_ref())),
            },
            SchemaFact::Offer { name, price: Some(price), service, .. }
                if *service || price.period != Period::Once || page.topic == Topic::Pricing =>
            {
                let Some(currency) = currency(price.currency.as_ref()) else { continue };
                TileFact::Pricing {
                    name: name.clone(),
                    amount: price.amount.clone(),
                    currency,
                    period: price.period,
                }
            }
            SchemaFact::Offer { name, description, price: Some(price), .. } => TileFact::Products {
                name: name.clone(),
                amount: Some(price.amount.clone()),
                currency: currency(price.currency.as_ref()),
                description: description.clone(),
            },
            SchemaFact::Offer { name, description, price: None, service: true } => {
                TileFact::Services { name: name.clone(), description: description.clone() }
            }
            _ => continue,
        };
        let text = match said {
            SchemaFact::Dish { name, .. } | SchemaFact::Offer { name, .. } => name.clone(),
            _ => String::new(),
        };
        found.push(FoundFact::new(fact, page.number, *via, text, STRUCTURED));
    }
}

/// Adds one fact for each price: a dish of several sizes, a room in several seasons.
fn emit(
    site: &SitePages<'_>,
    page: usize,
    item: &PricedItem,
    kind: PricedKind,
    note: Option<Period>,
    found: &mut Vec<FoundFact>,
) {
    let confidence = if item.via == Via::Text { LABELLED } else { LISTED };
    let (name, description) = (|| item.name.clone(), || item.description.clone());
    let dish = |amount, currency| TileFact::Menu {
        section: item.section.clone(),
        name: name(),
        description: description(),
        amount,
        currency,
    };
    let mut push = |fact| found.push(FoundFact::new(fact, page, item.via, &item.text, confidence));
    if item.prices.is_empty() && kind == PricedKind::Menu {
        push(dish(None, None));
    }
    for (price, period) in &item.prices {
        let Some(currency) = site.iso(price.currency).map(str::to_owned) else { continue };
        let amount = price.amount.clone();
        push(match kind {
            PricedKind::Menu => dish(Some(amount), Some(currency)),
            PricedKind::Products => TileFact::Products {
                name: name(),
                amount: Some(amount),
                currency: Some(currency),
                description: description(),
            },
            PricedKind::Pricing => {
                let by_name = || period_of_name(&fold(&item.name)).or(note);
                let period = Some(*period).filter(|period| *period != Period::Once);
                let period = period.or_else(by_name).unwrap_or(Period::Once);
                TileFact::Pricing { name: name(), amount, currency, period }
            }
        });
    }
}

/// A line that gives a period to all prices: "all prices are per room per night".
struct PeriodNote {
    heading: Option<usize>,
    /// No price stands right under its heading, so that it is for all of the page.
    is_wide: bool,
    period: Period,
}

/// `per room and night` as `per room per night`.
pub(crate) fn joined(folded: &str) -> String {
    [" und ", " and ", " et ", " e ", " y ", " en ", " i ", " og ", " och ", " a "]
        .iter()
        .fold(folded.to_owned(), |text, and| text.replace(and, " per "))
}

/// The notes of a page.
fn notes(page: &SitePage<'_>) -> Vec<PeriodNote> {
    let lines = &page.lines.all;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut priced: BTreeSet<Option<usize>> = BTreeSet::new();
    for line in lines {
        *counts.entry(&line.folded).or_default() += 1;
        if !line.prices.is_empty() {
            priced.insert(line.heading);
        }
    }
    let is_note = |line: &&crate::lines::TextLine| {
        let chars = line.text.chars().count();
        let end = crate::whose::first_clause(&line.text).len();
        let has_price = line.prices.iter().any(|price| price.at.start < end);
        line.is_matter() && !has_price && chars < 160 && {
            // What every card says is its own.
            let is_period = || {
                line.level == 0
                    && chars < 60
                    && counts.get(line.folded.as_str()) == Some(&1)
                    && PER.begin(&line.folded)
                    && crate::money::period_alone(&line.folded).is_some()
            };
            ALL_PRICES.are_in(&line.folded) || is_period()
        }
    };
    let note = |line: &crate::lines::TextLine| {
        let period = crate::money::period(&line.folded)
            .or_else(|| crate::money::period(&joined(&line.folded)))?;
        Some(PeriodNote { heading: line.heading, is_wide: !priced.contains(&line.heading), period })
    };
    lines.iter().filter(is_note).filter_map(note).take(NOTES_MAX).collect()
}

/// The period that a note gives to a thing under its heading.
fn period_of_note(page: &SitePage<'_>, notes: &[PeriodNote], item: &PricedItem) -> Option<Period> {
    if notes.is_empty() {
        return None;
    }
    let own: Vec<usize> = page.lines.headings(item.line).collect();
    let nearest = own.iter().copied().find(|&heading| page.lines.all[heading].text != item.name);
    let is_over = |note: &&PeriodNote| {
        note.heading == nearest
            || note.is_wide && note.heading.is_none_or(|heading| own.contains(&heading))
    };
    notes.iter().find(is_over).map(|note| note.period)
}

/// The period that a name has in it: `Arbeitsstunde`, `hourly rate`.
fn period_of_name(folded: &str) -> Option<Period> {
    if HOURLY.are_in(folded) {
        return Some(Period::Hour);
    }
    RECURRING.are_in(folded).then(|| crate::money::period(folded)).flatten()
}

/// The most notes of a page that are read.
const NOTES_MAX: usize = 20;
