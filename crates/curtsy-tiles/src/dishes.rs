//! Finds dishes without a price of their own: in courses, in lists at one price, and among dishes
//! with prices.

use std::collections::{BTreeMap, BTreeSet};

use crate::found::{FoundFact, LABELLED};
use crate::kind::PricedKind;
use crate::naming;
use crate::priced::{self, PricedItem};
use crate::site::SitePage;
use crate::tile::{TileFact, Via};
use crate::topic::Topic;
use crate::week;
use crate::words::{COURSE_ALONE, COURSES, EVENTS, FOR_ALL, MEAL, NOT_DISH, SET_MENU, patterns};

/// Adds dishes of courses without any price: in lists on a page about food, and under headings that
/// only food has.
pub(crate) fn dishes_in_courses(
    page: &SitePage<'_>,
    items: &[PricedItem],
    found: &mut Vec<FoundFact>,
) {
    let lines = &page.lines.all;
    // Possible dishes by heading. A heading with a price below it has none.
    let mut courses: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(heading) = line.heading.filter(|_| line.level == 0 && is_dish_line(page, at)) {
            courses.entry(heading).or_default().push(at);
        }
    }
    // A list below a menu with a price names its dishes. Elsewhere, text without a price among
    // prices describes.
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
        dishes.retain(|&at| !is_day || !EVENTS.are_in(&lines[at].folded));
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
            let name = without_label(&dish_of(&lines[at]), &labels).to_owned();
            found.push(dish(page, at, name));
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
    // `Desserts £6` over names is the price of each; `Breakfast £9` is the price of all together.
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

/// `Harvest menu, £27` over a list: the lines of its dishes, which have no price of their own.
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

/// `All tacos $3.75 each`: the dishes below this line, each with a heading or list item of its own.
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

/// Adds the dishes without a price that stand among dishes with prices.
pub(crate) fn dishes_without_price(
    page: &SitePage<'_>,
    items: &[PricedItem],
    kinds: &[PricedKind],
    found: &mut Vec<FoundFact>,
) {
    let dishes = || items.iter().zip(kinds).filter(|(_, kind)| **kind == PricedKind::Menu);
    let in_boxes = dishes().filter(|(item, _)| item.via != Via::Table);
    let boxes: BTreeSet<usize> = in_boxes.map(|(item, _)| box_of_dish(page, item, items)).collect();
    let mut named = Vec::new();
    if !boxes.is_empty() {
        named.extend(named_beside_stand_in(page, items));
    }
    named.extend(terms_without_price(page, dishes().map(|(item, _)| item)));
    let lists = lists_of_dishes(page, &boxes);
    named.extend(lists.iter().flat_map(|(list, look)| named_in_boxes(page, *list, look, &boxes)));
    found.extend(named.into_iter().map(|(at, name)| dish(page, at, name)));
}

/// A dish without a price that a line names.
fn dish(page: &SitePage<'_>, at: usize, name: String) -> FoundFact {
    let section = priced::section(page, at, &name);
    let fact = TileFact::Menu { section, name, description: None, amount: None, currency: None };
    let text = page.lines.all[at].text.clone();
    FoundFact::new(fact, page.number, Via::List, text, LABELLED)
}

/// The largest element around the price of an item that has no other item's price.
fn box_of_dish(page: &SitePage<'_>, item: &PricedItem, items: &[PricedItem]) -> usize {
    let line = |item: &PricedItem| &page.lines.all[item.line];
    let has_others = |&around: &usize| {
        let inside = |other: &&PricedItem| page.tree.contains(around, line(other).nodes.0);
        items.iter().filter(inside).count() > 1
    };
    let block = line(item).block;
    page.tree.around(block).take_while(|around| !has_others(around)).last().unwrap_or(block)
}

/// Lines that name a dish and have other words where a price would stand: `Turbot … see board`.
fn named_beside_stand_in(page: &SitePage<'_>, items: &[PricedItem]) -> Vec<(usize, String)> {
    let lines = &page.lines.all;
    let blocks: BTreeSet<usize> = items.iter().map(|item| lines[item.line].block).collect();
    let is_free =
        |at: usize| lines[at].prices.is_empty() && items.iter().all(|item| item.line != at);
    let named = (0..lines.len()).filter(|&at| is_free(at)).filter_map(|at| {
        let end = end_of_name(page, at, &blocks).filter(|&end| end > 0)?;
        let name = naming::clean_name(&lines[at].text[..end]);
        (is_dish_line(page, at) && naming::is_name(&name)).then_some((at, name))
    });
    named.collect()
}

/// The elements that contain boxes of dishes, each with the signature of these boxes.
fn lists_of_dishes(page: &SitePage<'_>, boxes: &BTreeSet<usize>) -> BTreeSet<(usize, String)> {
    let tree = &page.tree;
    let place = |at: usize| (tree.node(at).parent, signature(page, at));
    let mut lists: BTreeSet<(usize, String)> = boxes.iter().map(|&at| place(at)).collect();
    lists.retain(|(_, signature)| !signature.is_empty());
    // A class that dishes have in two lists marks dishes in other lists too.
    let mut lists_by_signature: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, signature) in &lists {
        *lists_by_signature.entry(signature).or_default() += 1;
    }
    lists_by_signature
        .retain(|signature, count| *count >= 2 && signature.split_whitespace().count() > 1);
    let marks: BTreeSet<String> = lists_by_signature.into_keys().map(str::to_owned).collect();
    // How many elements have each signature, and how many of them are boxes of dishes.
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for at in (0..tree.len()).filter(|&at| tree.element(at).is_some() && !tree.node(at).hidden) {
        let (parent, signature) = place(at);
        let (elements, dishes) = counts.entry(signature.clone()).or_default();
        *elements += 1;
        *dishes += usize::from(boxes.contains(&at));
        if marks.contains(&signature) {
            lists.insert((parent, signature));
        }
    }
    // `p.text` may be the class of every text of the page.
    lists.retain(|(_, signature)| {
        let is_list_entry = signature.starts_with("li ") || signature == "article ";
        counts
            .get(signature)
            .is_some_and(|(elements, dishes)| 2 * dishes >= *elements || is_list_entry)
    });
    lists
}

/// The names in those boxes of a list that look like boxes of dishes and have no price.
fn named_in_boxes(
    page: &SitePage<'_>,
    list: usize,
    look: &str,
    boxes: &BTreeSet<usize>,
) -> Vec<(usize, String)> {
    let tree = &page.tree;
    let is_candidate = |&at: &usize| {
        // The contents of the box of a dish describe the dish.
        let is_inside = |outer: &usize| tree.contains(*outer, at);
        !tree.node(at).hidden
            && !boxes.range(..=at).next_back().is_some_and(is_inside)
            && signature(page, at) == look
    };
    let siblings = tree.children(list).take(SIBLINGS_MAX).filter(is_candidate);
    siblings.filter_map(|at| named_in_box(page, at)).collect()
}

fn named_in_box(page: &SitePage<'_>, at: usize) -> Option<(usize, String)> {
    let mut inside = page.lines.inside(&page.tree, at);
    let has_price = |at: usize| !page.lines.all[at].prices.is_empty();
    if !(1..=3).contains(&inside.len()) || inside.clone().any(has_price) {
        return None;
    }
    // A number before the name counts the dishes.
    let is_count = |at: usize| page.lines.all[at].text.bytes().all(|byte| byte.is_ascii_digit());
    let start = inside.find(|&at| !is_count(at))?;
    let first = &page.lines.all[start];
    if !first.is_matter() || first.part.footer || first.part.header || first.part.post {
        return None;
    }
    let text = first_of_spans(page, first).or(first.lead()).unwrap_or(&first.text);
    let name = naming::clean_name(naming::without_stand_in(text));
    // The page's own name and a day of the week head a list.
    let is_head = first.level == 1 || crate::clock::day(&crate::plain::fold(&name)).is_some();
    let is_dish = !is_head
        && naming::is_name(&name)
        && !naming::is_measure(&name)
        && !SURPLUS.is_match(&name)
        && name.chars().count() <= 50
        && !name.contains(". ");
    is_dish.then_some((start, name))
}

/// `<span class=name>Fish of the day</span> <span class=size>200 g</span>`: the first part, if the
/// parts have different classes.
fn first_of_spans<'l>(page: &SitePage<'_>, line: &'l crate::lines::TextLine) -> Option<&'l str> {
    let (first, last) = (line.pieces.first()?, line.pieces.last()?);
    let class = |piece: &crate::lines::TextPiece| {
        page.tree.attribute(page.tree.node(piece.node).parent, "class")
    };
    let own = class(first).filter(|_| page.tree.node(first.node).parent != line.block)?;
    let is_other = class(last).is_some_and(|other| other != own);
    is_other.then(|| line.text[first.at.clone()].trim())
}

/// The end of the name on a line without a price: `Turbot ....... see board`, `Turbot market
/// price`.
fn end_of_name(page: &SitePage<'_>, at: usize, blocks: &BTreeSet<usize>) -> Option<usize> {
    let line = &page.lines.all[at];
    let led = LEADERS.find(&line.text).map(|found| found.start());
    let short = naming::without_stand_in(&line.text).len();
    led.or_else(|| Some(short).filter(|_| short < line.text.len() && blocks.contains(&line.block)))
}

/// `Gnocchi of the day | ask us`: terms without a price in a list of terms with prices.
fn terms_without_price<'i>(
    page: &SitePage<'_>,
    dishes: impl Iterator<Item = &'i PricedItem>,
) -> Vec<(usize, String)> {
    let (tree, lines) = (&page.tree, &page.lines.all);
    let mut priced: BTreeMap<usize, usize> = BTreeMap::new();
    for list in dishes.filter_map(|item| tree.nearest(lines[item.line].block, &["dl"])) {
        *priced.entry(list).or_default() += 1;
    }
    let is_term = |at: usize| tree.nearest(lines[at].block, &["dt"]).is_some();
    let mut named = Vec::new();
    for list in priced.into_iter().filter(|(_, count)| *count >= 2).map(|(list, _)| list) {
        let inside = page.lines.inside(tree, list);
        for at in inside.clone().filter(|&at| is_term(at)) {
            let mut details = (at + 1..inside.end).take_while(|&line| !is_term(line));
            let words: usize =
                details.clone().map(|line| lines[line].text.split_whitespace().count()).sum();
            let has_number = |line: usize| lines[line].text.bytes().any(|b| b.is_ascii_digit());
            let name = crate::card::before_aside(&lines[at]).unwrap_or(&lines[at].text);
            let name = naming::clean_name(name);
            if (1..=STAND_IN_WORDS).contains(&words)
                && !details.any(has_number)
                && naming::is_name(&name)
                && lines[at].is_matter()
            {
                named.push((at, name));
            }
        }
    }
    named
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

patterns! {
    /// An amount to the cent: whatever it is, it is no part of a name.
    AMOUNT: r"\d[.,]\d\d(?:$|[^0-9])";
    /// `Gluten free +10`: what something costs more.
    SURPLUS: r"\+\s?\d";
    LEADERS: r"\s?(?:\.\s?){4,}|\s\.{3}\s|…{2,}|_{4,}";
}

/// The most dishes of one price that are read.
pub(crate) const DISHES_MAX: usize = 60;

/// The most prices of a menu of several courses.
const SET_PRICES_MAX: usize = 2;
/// What so many lines begin with is a label.
const LABELS_MIN: usize = 3;
/// What stands where a price would has no more words.
const STAND_IN_WORDS: usize = 4;

/// The most boxes side by side that are looked at.
pub(crate) const SIBLINGS_MAX: usize = 1_000;
