//! Which dishes are on a menu without a price of their own? Those of courses, of lists at one price, and those that stand among dishes with prices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::found::{FoundFact, LABELLED};
use crate::kind::{COURSE_ALONE, COURSES, PricedKind};
use crate::naming;
use crate::payable::MEAL;
use crate::plain::words;
use crate::priced::{self, PricedItem};
use crate::site::SitePage;
use crate::tile::{Fact, Via};
use crate::topic::Topic;
use crate::week;

/// Dishes of courses without any price: lists on a page about food, and lines under a heading that only food has.
pub(crate) fn dishes_in_courses(
    page: &SitePage<'_>,
    number: usize,
    items: &[PricedItem],
    found: &mut Vec<FoundFact>,
) {
    let lines = &page.lines.all;
    // Lines that could be dishes, by the heading they stand under; none if there is a price among them.
    let mut courses: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(heading) = line.heading.filter(|_| line.level == 0 && is_dish_line(page, at)) {
            courses.entry(heading).or_default().push(at);
        }
    }
    // A list under a menu with a price has its dishes; elsewhere what has no price among prices describes.
    let list = |at: usize| page.tree.nearest(lines[at].block, &["ul", "ol"]);
    let priced_lists: BTreeSet<usize> = items.iter().filter_map(|item| list(item.line)).collect();
    let mut priced: BTreeMap<usize, usize> = BTreeMap::new();
    for heading in items.iter().filter_map(|item| lines[item.line].heading) {
        *priced.entry(heading).or_default() += 1;
    }
    let is_set_menu = |heading: usize| {
        let prices = priced.get(&heading).copied().unwrap_or(0);
        (1..=SET_PRICES_MAX).contains(&prices)
            && lines[heading].level > 1
            && SET_MENU.are_in(&lines[heading].folded)
    };
    for item in items {
        courses.remove(&item.line);
        for heading in page.lines.headings(item.line).take(1) {
            if !is_set_menu(heading) {
                courses.remove(&heading);
            } else if let Some(dishes) = courses.get_mut(&heading) {
                dishes.retain(|&at| list(at).is_some_and(|list| !priced_lists.contains(&list)));
            }
        }
    }
    let in_list = |at: usize| page.tree.nearest(lines[at].block, &["li", "dt"]).is_some();
    let is_menu = page.topic == Topic::Menu && items.is_empty();
    // Two days may have anything; a week of them has dishes.
    let days =
        courses.keys().filter(|heading| crate::clock::day(&lines[**heading].folded).is_some());
    let is_week = page.topic == Topic::Menu && days.count() >= week::DAYS_MIN;
    courses.retain(|heading, dishes| {
        let folded = &lines[*heading].folded;
        let is_day = is_week && crate::clock::day(folded).is_some();
        dishes.retain(|&at| !is_day || !week::EVENTS.are_in(&lines[at].folded));
        let is_course =
            is_day || COURSES.are_in(folded) || COURSE_ALONE.are(folded) || is_set_menu(*heading);
        dishes.retain(|&at| is_course || is_menu && in_list(at));
        !dishes.is_empty()
    });
    let labels = labels(page);
    // One line under one heading may be anything.
    let is_one = courses.len() == 1;
    for dishes in courses.into_values() {
        if is_one && dishes.len() < 2 && !dishes.iter().all(|&at| in_list(at)) {
            continue;
        }
        for at in dishes {
            let line = &lines[at];
            let name = without_label(&dish_of(line), &labels).to_owned();
            let section = priced::section(page, at, &name);
            let fact =
                Fact::Menu { section, name, description: None, amount: None, currency: None };
            let text = line.text.clone();
            found.push(FoundFact {
                fact,
                page: number,
                via: Via::List,
                text,
                confidence: LABELLED,
            });
        }
    }
}

/// What several lines begin with, before a colon: `Soup: leek`, `Soup: pea`, `Soup: tomato`.
fn labels<'p>(page: &'p SitePage<'_>) -> BTreeSet<&'p str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in page.lines.all.iter().filter(|line| line.prices.is_empty()) {
        if let Some((label, _)) = line.text.split_once(": ") {
            *counts.entry(label).or_default() += 1;
        }
    }
    counts.retain(|label, count| *count >= LABELS_MIN && label.split_whitespace().count() <= 2);
    counts.into_keys().collect()
}

fn without_label<'n>(name: &'n str, labels: &BTreeSet<&str>) -> &'n str {
    match name.split_once(": ") {
        Some((label, rest)) if labels.contains(label) && naming::is_name(rest) => rest,
        _ => name,
    }
}

/// What a line without a price of its own calls a dish: `Beef (€4 supplement)` has none.
pub(crate) fn dish_of(line: &crate::lines::TextLine) -> String {
    let end = line.prices.first().and_then(|price| line.text[..price.at.start].rfind('('));
    let end = end.or_else(|| LEADERS.find(&line.text).map(|found| found.start()));
    let text = line.lead().unwrap_or(&line.text[..end.unwrap_or(line.text.len())]);
    naming::clean_name(naming::without_stand_in(text))
}

/// Outside of lists more is asked of a line: a page about food, no sentence, no times.
pub(crate) fn reads_like_dish(page: &SitePage<'_>, line: &crate::lines::TextLine) -> bool {
    let hours =
        crate::hours::read(&line.text, page.language(), crate::hours::WaitingDays::default());
    page.topic == Topic::Menu
        && !naming::without_stand_in(&line.text).ends_with(['.', '!', '?', ':'])
        && !naming::is_prose(&line.text, "")
        && !hours.has_days
        && !hours.says_open
}

/// `Cocktails, all £9.50`: the dishes under a heading that has the price of all of them.
pub(crate) fn dishes_at_one_price(
    page: &SitePage<'_>,
    item: &PricedItem,
    items: &[PricedItem],
) -> Vec<(usize, String)> {
    let lines = &page.lines.all;
    let named = |at: usize| (at, dish_of(&lines[at]));
    if item.prices.len() == 1 && FOR_ALL.begin(&lines[item.line].folded) {
        return dishes_below(page, item, items).into_iter().map(named).collect();
    }
    // `Desserts £6` over names without prices is what each of them costs; `Breakfast £9` is what all of it does.
    let folded = &lines[item.line].folded;
    let is_course = COURSES.are_in(folded) && !SET_MENU.are_in(folded) && !MEAL.are_in(folded);
    if !(1..=6).contains(&lines[item.line].level)
        || item.prices.len() != 1
        || !FOR_ALL.are_in(folded) && !is_course
    {
        return Vec::new();
    }
    // What follows with a price of its own is something else.
    let under = (item.line + 1..lines.len().min(item.line + DISHES_MAX)).take_while(|&at| {
        lines[at].heading == Some(item.line)
            && items.binary_search_by_key(&at, |other| other.line).is_err()
    });
    let dishes: Vec<(usize, String)> =
        under.clone().filter(|&at| is_dish_line(page, at)).map(named).collect();
    if dishes.len() >= 2 {
        return dishes;
    }
    // `Crumble · Cheesecake · Lemon tart`
    let in_row =
        under.flat_map(|at| names_in_row(&lines[at]).into_iter().map(move |name| (at, name)));
    in_row.collect()
}

/// The names of a line that has several between bars, and nothing else.
fn names_in_row(line: &crate::lines::TextLine) -> Vec<String> {
    let parts = line.text.split(['·', '•', '|']).take(DISHES_MAX);
    let names: Vec<String> = parts.map(naming::clean_name).collect();
    let is_short = |name: &String| naming::is_name(name) && name.split_whitespace().count() <= 7;
    let are_names = names.len() >= 2 && line.prices.is_empty() && line.is_matter();
    Some(names).filter(|names| are_names && names.iter().all(is_short)).unwrap_or_default()
}

/// `Harvest menu, £27` over a list: the dishes that are served for it, without a price of their own.
pub(crate) fn dishes_of_menu(
    page: &SitePage<'_>,
    item: &PricedItem,
    items: &[PricedItem],
) -> Vec<usize> {
    let lines = &page.lines.all;
    let heading = &lines[item.line];
    let is_over_priced = || items.iter().any(|other| lines[other.line].heading == Some(item.line));
    if !(1..=6).contains(&heading.level)
        || item.prices.len() != 1
        || !SET_MENU.are_in(&heading.folded)
        || is_over_priced()
    {
        return Vec::new();
    }
    let under = item.line + 1..lines.len().min(item.line + DISHES_MAX);
    let dishes: Vec<usize> = under
        .take_while(|&at| lines[at].heading == Some(item.line))
        // `Starter + main + dessert` counts courses.
        .filter(|&at| is_dish_line(page, at) && !lines[at].text.contains('+'))
        .collect();
    Some(dishes).filter(|dishes| dishes.len() >= 2).unwrap_or_default()
}

/// `All tacos $3.75 each`: the dishes after a line that has the price of all of them, each with a heading or an item of its own.
pub(crate) fn dishes_below(
    page: &SitePage<'_>,
    item: &PricedItem,
    items: &[PricedItem],
) -> Vec<usize> {
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
pub(crate) fn is_dish_line(page: &SitePage<'_>, at: usize) -> bool {
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
        && !line.part.post
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
    page: &SitePage<'_>,
    number: usize,
    items: &[PricedItem],
    kinds: &[PricedKind],
    found: &mut Vec<FoundFact>,
) {
    let tree = &page.tree;
    let mut boxes: Vec<(usize, String)> = Vec::new();
    for (item, _) in items
        .iter()
        .zip(kinds)
        .filter(|(item, kind)| **kind == PricedKind::Menu && item.via != Via::Table)
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
    let mut found_here: Vec<FoundFact> = Vec::new();
    let blocks: BTreeSet<usize> =
        items.iter().map(|item| page.lines.all[item.line].block).collect();
    if !boxes.is_empty() {
        for (at, line) in page.lines.all.iter().enumerate() {
            if line.prices.is_empty()
                && items.iter().all(|item| item.line != at)
                && let Some(end) = end_of_name(page, at, &blocks)
                && is_dish_line(page, at)
            {
                let name = naming::clean_name(&line.text[..end]);
                if !naming::is_name(&name) || end == 0 {
                    continue;
                }
                let section = priced::section(page, at, &name);
                let fact =
                    Fact::Menu { section, name, description: None, amount: None, currency: None };
                let text = line.text.clone();
                found_here.push(FoundFact {
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
    terms_without_price(page, number, items, kinds, found);
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
    // How many boxes have each signature, and how many of these are dishes.
    let mut all: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for at in (0..tree.len()).filter(|&at| tree.element(at).is_some() && !tree.node(at).hidden) {
        let signature = signature(page, at);
        let (boxes, dishes) = all.entry(signature.clone()).or_default();
        *boxes += 1;
        *dishes += usize::from(own.contains(&at));
        if classes.contains(&signature) {
            more.insert((tree.node(at).parent, signature));
        }
    }
    // `p.text` is the class of everything.
    let is_of_dishes = |signature: &str| {
        all.get(signature).is_some_and(|(boxes, dishes)| {
            2 * dishes >= *boxes || signature.starts_with("li ") || signature == "article "
        })
    };
    for (parent, signature_of_dish) in kinds.into_iter().chain(more).collect::<BTreeSet<_>>() {
        if !is_of_dishes(&signature_of_dish) {
            continue;
        }
        for sibling in tree.children(parent).take(SIBLINGS_MAX) {
            // What is inside the box of a dish describes it.
            let is_inside = |at: &usize| tree.contains(*at, sibling);
            if tree.node(sibling).hidden
                || own.range(..=sibling).next_back().is_some_and(is_inside)
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
            if !first.is_matter() || first.part.footer || first.part.header || first.part.post {
                continue;
            }
            let text = first_of_spans(page, first).or(first.lead()).unwrap_or(&first.text);
            let name = naming::clean_name(naming::without_stand_in(text));
            // The page's own name and a day of the week head a list.
            let is_head =
                first.level == 1 || crate::clock::day(&crate::plain::fold(&name)).is_some();
            if !is_head
                && naming::is_name(&name)
                && !naming::is_measure(&name)
                && !SURPLUS.is_match(&name)
                && name.chars().count() <= 50
                && !name.contains(". ")
            {
                let section = priced::section(page, start, &name);
                let fact =
                    Fact::Menu { section, name, description: None, amount: None, currency: None };
                found.push(FoundFact {
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

/// `<span class=name>Fish of the day</span> <span class=size>200 g</span>`: each part of a line has a class of its own.
fn first_of_spans<'l>(page: &SitePage<'_>, line: &'l crate::lines::TextLine) -> Option<&'l str> {
    let (first, last) = (line.pieces.first()?, line.pieces.last()?);
    let class = |piece: &crate::lines::TextPiece| {
        page.tree.attribute(page.tree.node(piece.node).parent, "class")
    };
    let own = class(first).filter(|_| page.tree.node(first.node).parent != line.block)?;
    let is_other = class(last).is_some_and(|other| other != own);
    is_other.then(|| line.text[first.at.clone()].trim())
}

/// Where the name ends on a line without a price: `Turbot ....... see board`, or `Turbot market price` among lines with prices.
fn end_of_name(page: &SitePage<'_>, at: usize, blocks: &BTreeSet<usize>) -> Option<usize> {
    let line = &page.lines.all[at];
    let led = LEADERS.find(&line.text).map(|found| found.start());
    let short = naming::without_stand_in(&line.text).len();
    led.or_else(|| Some(short).filter(|_| short < line.text.len() && blocks.contains(&line.block)))
}

/// `Gnocchi of the day | ask us`: a term without a price in a list of terms with prices.
fn terms_without_price(
    page: &SitePage<'_>,
    number: usize,
    items: &[PricedItem],
    kinds: &[PricedKind],
    found: &mut Vec<FoundFact>,
) {
    let (tree, lines) = (&page.tree, &page.lines.all);
    let mut priced: BTreeMap<usize, usize> = BTreeMap::new();
    for (item, _) in items.iter().zip(kinds).filter(|(_, kind)| **kind == PricedKind::Menu) {
        if let Some(list) = tree.nearest(lines[item.line].block, &["dl"]) {
            *priced.entry(list).or_default() += 1;
        }
    }
    for list in priced.into_iter().filter(|(_, count)| *count >= 2).map(|(list, _)| list) {
        let inside = page.lines.inside(tree, list);
        let is_term = |at: usize| tree.nearest(lines[at].block, &["dt"]).is_some();
        for at in inside.clone().filter(|&at| is_term(at)) {
            let said = (at + 1..inside.end).take_while(|&line| !is_term(line));
            let words: usize =
                said.clone().map(|line| lines[line].text.split_whitespace().count()).sum();
            let has_number = |line: usize| lines[line].text.bytes().any(|b| b.is_ascii_digit());
            let name = crate::card::before_aside(&lines[at]).unwrap_or(&lines[at].text);
            let name = naming::clean_name(name);
            if words == 0 || words > STAND_IN_WORDS || said.clone().any(has_number) {
                continue;
            }
            if naming::is_name(&name) && lines[at].is_matter() {
                let section = priced::section(page, at, &name);
                let fact =
                    Fact::Menu { section, name, description: None, amount: None, currency: None };
                let text = lines[at].text.clone();
                found.push(FoundFact {
                    fact,
                    page: number,
                    via: Via::List,
                    text,
                    confidence: LABELLED,
                });
            }
        }
    }
}

/// An element's name and classes; none if it has no class, since then it may be anything.
pub(crate) fn signature(page: &SitePage<'_>, at: usize) -> String {
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

/// `Gluten free +10`: what something costs more.
static SURPLUS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\+\s?\d").expect("a constant pattern"));

pub(crate) static LEADERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\s?(?:\.\s?){4,}|\s\.{3}\s|…{2,}|_{4,}").expect("a constant pattern")
});

words! { NOT_DISH: "up to, under, for children, jusqu'a, pour les enfants, bis, fur kinder, hasta, para ninos, fino a, per bambini, tot, voor kinderen, served, serving, ask, please, see, choose, available, from, until, all served, includes, including, serviert, dazu, inklusive, wahlweise, bitte, alle, servi, servis, au choix, demandez, tous, toutes, servido, servidos, a elegir, todos, todas, consultar, servito, serviti, a scelta, tutti, tutte, geserveerd, keuze uit, alle onze, podawane, do wyboru, serveras, serveres, podavame" }

words! { SET_MENU: "menu, menus, menue, meny, formule, carte, menu del dia, set meal, set meals, set lunch, set dinner, banquet" }

words! { FOR_ALL: "every dish, jedes, jeder, chaque, ogni, kazdy, everything, alles, tout, todo, tudo, tutto, wszystko, vse, allt, cada, ciascuno, ciascuna, cad, per stuk, kazdy, kazde, all, each, alle, je, jeweils, chacun, chacune, tous, toutes, tutti, tutte, l'uno, todos, todas, cada uno, elk, allemaal, wszystkie, alla, hver, vsechny" }

/// More dishes of one price are not read.
pub(crate) const DISHES_MAX: usize = 60;

/// A menu of several courses has no more prices.
const SET_PRICES_MAX: usize = 2;
/// What so many lines begin with is a label.
const LABELS_MIN: usize = 3;
/// What stands where a price would has no more words.
const STAND_IN_WORDS: usize = 4;

/// More boxes side by side are not looked at.
pub(crate) const SIBLINGS_MAX: usize = 1_000;
