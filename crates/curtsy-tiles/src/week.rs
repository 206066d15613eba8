//! Finds dishes of weekdays: rows and lines that begin with a day, and the price that all of them
//! have.

use std::collections::BTreeSet;

use crate::clock;
use crate::naming::{clean_name, is_name};
use crate::plain::fold;
use crate::priced::PricedItem;
use crate::site::SitePage;
use crate::topic::Topic;
use crate::words::{CLOSED, COURSES, EVENTS, FOR_ALL};

/// The dishes of a week.
pub(crate) struct Week {
    /// The line of each dish, and what it is called.
    pub(crate) dishes: Vec<(usize, String)>,
    /// Which of the page's things with a price is what each of them costs.
    pub(crate) price: Option<usize>,
}

/// All weeks of a page: at least three days with a dish each that has no price of its own.
pub(crate) fn find(page: &SitePage<'_>, items: &[PricedItem]) -> Vec<Week> {
    let taken: BTreeSet<usize> = items.iter().map(|item| item.line).collect();
    let mut weeks: Vec<Vec<(usize, usize, String)>> = Vec::new();
    for at in 0..page.lines.all.len() {
        let Some((line, name)) = dish_of_day(page, at).filter(|(line, _)| !taken.contains(line))
        else {
            continue;
        };
        match weeks.last_mut() {
            Some(week) if week.last().is_some_and(|(last, ..)| is_next(page, *last, at)) => {
                week.push((at, line, name));
            }
            _ => weeks.push(vec![(at, line, name)]),
        }
    }
    let made = weeks.into_iter().filter_map(|week| {
        let (first, ..) = week.first().filter(|_| week.len() >= DAYS_MIN)?;
        let price = price_over(page, items, *first);
        let is_food = price.is_some() || page.topic == Topic::Menu || is_course(page, *first);
        let dishes = week.iter().map(|(_, line, name)| (*line, name.clone())).collect();
        is_food.then_some(Week { dishes, price })
    });
    made.take(WEEKS_MAX).collect()
}

/// `Monday: Lasagne`, or `Monday` in a cell or a term and `Lasagne` in the next.
fn dish_of_day(page: &SitePage<'_>, at: usize) -> Option<(usize, String)> {
    let (lines, tree) = (&page.lines.all, &page.tree);
    let line = &lines[at];
    let is_free = line.is_matter() && !line.part.footer && !line.part.post && line.level == 0;
    if !is_free || !line.prices.is_empty() {
        return None;
    }
    let led = line.lead().filter(|lead| is_day(lead)).map(|lead| &line.text[lead.len()..]);
    let (line, text) = match line.text.split_once(": ") {
        _ if led.is_some() => (at, led.unwrap_or_default()),
        Some((day, rest)) if is_day(day) => (at, rest),
        None if is_day(&line.text) => {
            let next = lines.get(at + 1).filter(|next| next.prices.is_empty())?;
            let is_cell = tree.nearest(line.block, &["td", "th", "dt"]).is_some()
                && tree.nearest(next.block, &["td", "dd"]).is_some();
            is_cell.then_some((at + 1, next.text.as_str()))?
        }
        _ => return None,
    };
    let name = clean_name(text);
    let hours = crate::hours::read(text, page.language(), crate::hours::WaitingDays::default());
    let is_dish = is_name(&name)
        && !text.ends_with(['.', '!'])
        && name.split_whitespace().count() <= WORDS_MAX
        && !text.contains(|c: char| c.is_ascii_digit())
        && !hours.says_open
        && !hours.has_days
        && !CLOSED.are_in(&fold(text))
        && !EVENTS.are_in(&fold(text));
    is_dish.then_some((line, name))
}

fn is_day(text: &str) -> bool {
    clock::day(fold(text).trim().trim_end_matches(['.', ':'])).is_some()
}

/// Whether a line follows another in a list of days: a row or two below, under the same heading.
fn is_next(page: &SitePage<'_>, last: usize, at: usize) -> bool {
    at - last <= 2 && page.lines.all[last].heading == page.lines.all[at].heading
}

/// `Dish of the day, £11` over a week, or a line that says what each costs.
fn price_over(page: &SitePage<'_>, items: &[PricedItem], first: usize) -> Option<usize> {
    let lines = &page.lines.all;
    let over = items.iter().rposition(|item| item.line < first && item.prices.len() == 1)?;
    let at = items[over].line;
    let is_heading = lines[first].heading == Some(at);
    let is_note = lines[at].heading == lines[first].heading
        && first - at <= 2
        && FOR_ALL.are_in(&lines[at].folded);
    (is_heading || is_note).then_some(over)
}

fn is_course(page: &SitePage<'_>, at: usize) -> bool {
    page.lines.headings(at).any(|heading| COURSES.are_in(&page.lines.all[heading].folded))
}

/// So many days make a week.
pub(crate) const DAYS_MIN: usize = 3;
/// What is served has no more words.
const WORDS_MAX: usize = 9;
/// The most weeks of a page that are read.
const WEEKS_MAX: usize = 10;
