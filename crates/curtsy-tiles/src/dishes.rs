//! Which dishes are on a menu without a price of their own? Those of courses, of lists at one price, and those that stand among dishes with prices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::found::{Found, LABELLED};
use crate::kind::{COURSE_ALONE, COURSES, Kind};
use crate::naming;
use crate::plain::words;
use crate::priced::{self, Item};
use crate::site::Page;
use crate::tile::{Fact, Via};
use crate::topic::Topic;

/// Dishes of courses without any price: lists on a page about food, and lines under a heading that only food has.
pub(crate) fn dishes_in_courses(
    page: &Page<'_>,
    number: usize,
    items: &[Item],
    found: &mut Vec<Found>,
) {
    let lines = &page.lines.all;
    // Lines that could be dishes, by the heading they stand under; none if there is a price among them.
    let mut courses: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(heading) = line.heading.filter(|_| line.level == 0 && is_dish_line(page, at)) {
            courses.entry(heading).or_default().push(at);
        }
    }
    for item in items {
        courses.remove(&item.line);
        for heading in page.lines.headings(item.line).take(1) {
            courses.remove(&heading);
        }
    }
    let in_list = |at: usize| page.tree.nearest(lines[at].block, &["li", "dt"]).is_some();
    let is_menu = page.topic == Topic::Menu && items.is_empty();
    courses.retain(|heading, dishes| {
        let folded = &lines[*heading].folded;
        let is_course = COURSES.are_in(folded) || COURSE_ALONE.are(folded);
        dishes.retain(|&at| is_course || is_menu && in_list(at));
        !dishes.is_empty()
    });
    // One line under one heading may be anything.
    let is_one = courses.len() == 1;
    for dishes in courses.into_values() {
        if is_one && dishes.len() < 2 && !dishes.iter().all(|&at| in_list(at)) {
            continue;
        }
        for at in dishes {
            let line = &lines[at];
            let name = dish_of(line);
            let section = priced::section(page, at, &name);
            let fact =
                Fact::Menu { section, name, description: None, amount: None, currency: None };
            let text = line.text.clone();
            found.push(Found { fact, page: number, via: Via::List, text, confidence: LABELLED });
        }
    }
}

/// What a line without a price of its own calls a dish: `Beef (€4 supplement)` has none.
pub(crate) fn dish_of(line: &crate::lines::Line) -> String {
    let end = line.prices.first().and_then(|price| line.text[..price.at.start].rfind('('));
    let text = line.lead().unwrap_or(&line.text[..end.unwrap_or(line.text.len())]);
    naming::clean_name(naming::without_stand_in(text))
}

/// Outside of lists more is asked of a line: a page about food, no sentence, no times.
pub(crate) fn reads_like_dish(page: &Page<'_>, line: &crate::lines::Line) -> bool {
    let hours = crate::hours::read(&line.text, page.language(), crate::hours::Waiting::default());
    page.topic == Topic::Menu
        && !line.text.ends_with(['.', '!', '?', ':'])
        && !naming::is_prose(&line.text, "")
        && !hours.has_days
        && !hours.says_open
}

/// `Cocktails, all £9.50`: the dishes under a heading that has the price of all of them.
pub(crate) fn dishes_at_one_price(page: &Page<'_>, item: &Item, items: &[Item]) -> Vec<usize> {
    let lines = &page.lines.all;
    if item.prices.len() == 1 && FOR_ALL.begin(&lines[item.line].folded) {
        return dishes_below(page, item, items);
    }
    if !(1..=6).contains(&lines[item.line].level)
        || item.prices.len() != 1
        || !FOR_ALL.are_in(&lines[item.line].folded)
        || items.iter().any(|other| lines[other.line].heading == Some(item.line))
    {
        return Vec::new();
    }
    let under = item.line + 1..lines.len().min(item.line + DISHES_MAX);
    let dishes: Vec<usize> = under
        .take_while(|&at| lines[at].heading == Some(item.line))
        .filter(|&at| is_dish_line(page, at))
        .collect();
    Some(dishes).filter(|dishes| dishes.len() >= 2).unwrap_or_default()
}

/// `All tacos $3.75 each`: the dishes after a line that has the price of all of them, each with a heading or an item of its own.
pub(crate) fn dishes_below(page: &Page<'_>, item: &Item, items: &[Item]) -> Vec<usize> {
    let lines = &page.lines.all;
    let Some(over) = lines[item.line].heading else { return Vec::new() };
    let below = item.line + 1..lines.len().min(item.line + DISHES_MAX);
    let is_dish = |at: &usize| {
        let line = &lines[*at];
        line.heading == Some(over)
            && (line.level > lines[over].level && line.is_matter()
                || page.tree.nearest(line.block, &["li"]).is_some() && is_dish_line(page, *at))
            && naming::is_name(&dish_of(line))
    };
    let inside = below
        .take_while(|&at| at == over || page.lines.headings(at).any(|heading| heading == over));
    let dishes: Vec<usize> = inside.filter(is_dish).collect();
    let last = dishes.last().copied().unwrap_or(0);
    let is_priced = items.iter().any(|other| other.line > item.line && other.line <= last);
    Some(dishes).filter(|dishes| dishes.len() >= 2 && !is_priced).unwrap_or_default()
}

/// Whether a line reads like the name of a dish: the first of its item, short, and no sentence.
pub(crate) fn is_dish_line(page: &Page<'_>, at: usize) -> bool {
    let line = &page.lines.all[at];
    let name = dish_of(line);
    let item = page.tree.nearest(line.block, &["li", "dt"]);
    let in_brackets = |price: &crate::money::Price| line.text[..price.at.start].contains('(');
    let is_first = item.is_none_or(|item| page.lines.inside(&page.tree, item).start == at);
    is_first
        && line.prices.iter().all(in_brackets)
        && (item.is_some() || page.tree.nearest(line.block, &["table"]).is_none())
        && line.is_matter()
        && !line.part.footer
        && !line.part.header
        && !line.pieces.iter().all(|piece| piece.style.link.is_some() || piece.style.aside)
        && naming::is_name(&name)
        && name.chars().count() <= 60
        && name.split_whitespace().count() <= 9
        && !name.contains(". ")
        && (item.is_some() || reads_like_dish(page, line))
        && !NOT_DISH.begin(&line.folded)
        && line.text.chars().filter(char::is_ascii_digit).count() < 4
        && !AMOUNT.is_match(&line.text)
}

/// In a list of dishes with prices, those that have none: the same markup around a name.
pub(crate) fn dishes_without_price(
    page: &Page<'_>,
    number: usize,
    items: &[Item],
    kinds: &[Kind],
    found: &mut Vec<Found>,
) {
    let tree = &page.tree;
    let mut boxes: Vec<(usize, String)> = Vec::new();
    for (item, _) in items
        .iter()
        .zip(kinds)
        .filter(|(item, kind)| **kind == Kind::Menu && item.via != Via::Table)
    {
        let line = &page.lines.all[item.line];
        // The box of a dish: the largest element around its price that has no other price.
        let mut own = line.block;
        for around in tree.around(line.block) {
            if items
                .iter()
                .filter(|other| tree.contains(around, page.lines.all[other.line].nodes.0))
                .count()
                > 1
            {
                break;
            }
            own = around;
        }
        boxes.push((own, signature(page, own)));
    }
    let mut found_here: Vec<Found> = Vec::new();
    // `Turbot ....... market price`: leaders lead to where a price would be.
    if !boxes.is_empty() {
        for (at, line) in page.lines.all.iter().enumerate() {
            if line.prices.is_empty()
                && items.iter().all(|item| item.line != at)
                && let Some(found) = LEADERS.find(&line.text)
                && is_dish_line(page, at)
            {
                let name = naming::clean_name(&line.text[..found.start()]);
                if !naming::is_name(&name) || found.start() == 0 {
                    continue;
                }
                let section = priced::section(page, at, &name);
                let fact =
                    Fact::Menu { section, name, description: None, amount: None, currency: None };
                let text = line.text.clone();
                found_here.push(Found {
                    fact,
                    page: number,
                    via: Via::List,
                    text,
                    confidence: LABELLED,
                });
            }
        }
    }
    found.append(&mut found_here);
    let own: BTreeSet<usize> = boxes.iter().map(|(own, _)| *own).collect();
    let kinds: BTreeSet<(usize, String)> = boxes
        .into_iter()
        .filter(|(_, signature)| !signature.is_empty())
        .map(|(own, signature)| (tree.node(own).parent, signature))
        .collect();
    // Boxes of a class that dishes have are dishes wherever they stand; without one only beside a dish.
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, signature) in &kinds {
        *counts.entry(signature).or_default() += 1;
    }
    let classes: BTreeSet<String> = counts
        .into_iter()
        .filter(|(signature, count)| *count >= 2 && signature.split_whitespace().count() > 1)
        .map(|(signature, _)| signature.to_owned())
        .collect();
    let mut more: BTreeSet<(usize, String)> = BTreeSet::new();
    if !classes.is_empty() {
        for at in (0..tree.len()).filter(|&at| tree.element(at).is_some()) {
            let signature = signature(page, at);
            if classes.contains(&signature) {
                more.insert((tree.node(at).parent, signature));
            }
        }
    }
    for (parent, signature_of_dish) in kinds.into_iter().chain(more).collect::<BTreeSet<_>>() {
        for sibling in tree.children(parent).take(SIBLINGS_MAX) {
            if tree.node(sibling).hidden
                || own.contains(&sibling)
                || signature(page, sibling) != signature_of_dish
            {
                continue;
            }
            let lines = page.lines.inside(tree, sibling);
            if lines.is_empty()
                || lines.len() > 3
                || lines.clone().any(|line| !page.lines.all[line].prices.is_empty())
            {
                continue;
            }
            // A number before the name counts the dishes.
            let is_count =
                |&line: &usize| page.lines.all[line].text.bytes().all(|byte| byte.is_ascii_digit());
            let Some(start) = lines.clone().find(|line| !is_count(line)) else { continue };
            let first = &page.lines.all[start];
            let name =
                naming::clean_name(naming::without_stand_in(first.lead().unwrap_or(&first.text)));
            // The page's own name and a day of the week head a list.
            let is_head =
                first.level == 1 || crate::clock::day(&crate::plain::fold(&name)).is_some();
            if !is_head
                && naming::is_name(&name)
                && name.chars().count() <= 50
                && !name.contains(". ")
            {
                let section = priced::section(page, start, &name);
                let fact =
                    Fact::Menu { section, name, description: None, amount: None, currency: None };
                found.push(Found {
                    fact,
                    page: number,
                    via: Via::List,
                    text: first.text.clone(),
                    confidence: LABELLED,
                });
            }
        }
    }
}

/// An element's name and classes; none if it has no class, since then it may be anything.
pub(crate) fn signature(page: &Page<'_>, at: usize) -> String {
    let class = page.tree.attribute(at, "class").unwrap_or_default();
    if class.is_empty() && !matches!(page.tree.name(at), "li" | "article") {
        String::new()
    } else {
        format!("{} {class}", page.tree.name(at))
    }
}

/// An amount to the cent: whatever it is, it is no part of a name.
pub(crate) static AMOUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d[.,]\d\d(?:$|[^0-9])").expect("a constant pattern"));

pub(crate) static LEADERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\s?(?:\.\s?){4,}|…{2,}|_{4,}").expect("a constant pattern"));

words! { NOT_DISH: "served, serving, ask, please, see, choose, available, from, until, all served, includes, including, serviert, dazu, inklusive, wahlweise, bitte, alle, servi, servis, au choix, demandez, tous, toutes, servido, servidos, a elegir, todos, todas, consultar, servito, serviti, a scelta, tutti, tutte, geserveerd, keuze uit, alle onze, podawane, do wyboru, serveras, serveres, podavame" }

words! { FOR_ALL: "all, each, alle, je, jeweils, chacun, chacune, tous, toutes, tutti, tutte, l'uno, todos, todas, cada uno, elk, allemaal, wszystkie, alla, hver, vsechny" }

/// More dishes of one price are not read.
pub(crate) const DISHES_MAX: usize = 60;

/// More boxes side by side are not looked at.
pub(crate) const SIBLINGS_MAX: usize = 1_000;
