//! Finds the lines with the business's own opening hours, not those of its kitchen, its car park,
//! its courses or its neighbours.

use crate::clock;
use crate::found::{FoundFact, LABELLED, LISTED, PROSE, STRUCTURED};
use crate::hours::{self, Interval, WaitingDays};
use crate::plain::fold;
use crate::schema::SchemaFact;
use crate::site::{SitePage, SitePages};
use crate::tile::{Contact, Day, OpeningHours, TileFact, Via};
use crate::topic::Topic;
use crate::whose;
use crate::words::{
    BREAK, HOLIDAYS, HOURS, MONTHS, NOT_HOURS, NOT_US, OTHER_MATTER, SPARE, TRAFFIC,
};

/// All hours of a site.
pub(crate) fn find(site: &SitePages<'_>) -> Vec<FoundFact> {
    let mut found = Vec::new();
    // Hours of a telephone line, a reception or the like, for a business that has no others.
    let mut spare = Vec::new();
    for page in &site.pages {
        for (via, said) in &page.said {
            if let SchemaFact::Hours(interval) = said {
                let contact = hours_of(*interval);
                found.push(FoundFact::new(contact, page.number, *via, "openingHours", STRUCTURED));
            }
        }
        let in_columns = columns(page, &mut found);
        in_lines(site, page, &in_columns, &mut found, &mut spare);
    }
    if found.is_empty() {
        found = spare;
    }
    without_old(&mut found);
    found
}

/// Where structured data and what visitors see differ, visitors are right.
fn without_old(found: &mut Vec<FoundFact>) {
    let hours = |found: &FoundFact| match &found.fact {
        TileFact::Contact(Contact::Hours(hours)) => Some(hours.clone()),
        _ => None,
    };
    let seen: Vec<OpeningHours> =
        found.iter().filter(|found| !found.via.is_structured()).filter_map(hours).collect();
    let mut days: Vec<Day> = seen.iter().map(|hours| hours.day).collect();
    days.sort();
    days.dedup();
    found.retain(|found| {
        let Some(own) = hours(found).filter(|_| found.via.is_structured()) else { return true };
        seen.contains(&own) || !(days.contains(&own.day) || days.len() >= DAYS_OF_A_WEEK)
    });
}

fn hours_of(interval: Interval) -> Contact {
    // Midnight is written as clocks show it.
    let time = |minutes: u16| format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60);
    let day = Day::ALL[usize::from(interval.day) % 7];
    Contact::Hours(OpeningHours { day, opens: time(interval.opens), closes: time(interval.closes) })
}

/// Reads the lines of a page. Weekdays at the end of a line wait for the times of the next.
fn in_lines(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    skip: &[bool],
    found: &mut Vec<FoundFact>,
    spare: &mut Vec<FoundFact>,
) {
    let waiting = WaitingDays::default();
    let mut reader = LineReader { site, page, found, spare, waiting, daily: None };
    let mut at = 0;
    while at < page.lines.all.len() {
        let line = &page.lines.all[at];
        let is_read = line.is_matter()
            && !line.part.post
            && !skip[at]
            && (!matches!(page.topic, Topic::News | Topic::Terms) || line.part.footer)
            && !is_elsewhere(page, at);
        if is_read {
            let (text, next) = row(page, at).unwrap_or_else(|| (line.text.clone(), at + 1));
            reader.line(at, &text);
            at = next;
        } else {
            reader.waiting = WaitingDays::default();
            at += 1;
        }
    }
}

/// Reads the hours of a page line by line.
struct LineReader<'r, 's, 'p> {
    site: &'r SitePages<'s>,
    page: &'r SitePage<'p>,
    found: &'r mut Vec<FoundFact>,
    /// Hours of a telephone line or the like, for a business that states no others.
    spare: &'r mut Vec<FoundFact>,
    waiting: WaitingDays,
    /// The first fact of the last line about every day, and that line: a closed day may follow.
    daily: Option<(usize, usize)>,
}

impl LineReader<'_, '_, '_> {
    fn line(&mut self, at: usize, text: &str) {
        // `Closed on Mondays. Open from 12 to 3`: on the other days.
        let read = |sentence| hours::read(sentence, self.page.language(), WaitingDays::default());
        let closed = sentences(text).fold(0, |closed, sentence| closed | read(sentence).closed);
        let mut after_strange = false;
        for sentence in sentences(text).filter(|sentence| sentence.chars().count() >= 2) {
            after_strange |= self.sentence(at, sentence, closed, after_strange);
        }
        if self.page.lines.all[at].level > 0 && self.waiting.given {
            self.waiting = WaitingDays::default();
        }
    }

    /// Reads a sentence. Returns whether it is about something else than hours.
    fn sentence(&mut self, at: usize, sentence: &str, closed: u8, after_strange: bool) -> bool {
        let page = self.page;
        let text = &page.lines.all[at].text;
        let folded = fold(sentence);
        let mut reading = hours::read(sentence, page.language(), self.waiting);
        if closed != 0 && reading.intervals.is_empty() && !reading.has_days && reading.says_open {
            let days = WaitingDays { days: ALL_DAYS & !closed, given: false };
            reading = hours::read(sentence, page.language(), days);
            reading.has_days = true;
        }
        let is_break = BREAK.are_in(&folded);
        if is_break {
            let days = WaitingDays { days: 1, given: false };
            if let Some(pause) = hours::read(sentence, page.language(), days).intervals.last() {
                split(self.found, page.number, pause);
                split(self.spare, page.number, pause);
            }
        }
        let under = is_under_hours(page, at);
        let is_pure = reading.strange == 0;
        // A timetable has many short times on one day.
        let of_day = |day| reading.intervals.iter().filter(move |interval| interval.day == day);
        let is_timetable = (0..7).any(|day| of_day(day).count() > 2);
        let is_others =
            is_others(self.site, &folded) || is_timetable || is_break && !reading.has_days;
        let is_believed = !is_others
            && believes(self.site, page, at, &reading, &folded, under)
            && !(after_strange && !reading.says_open && !under);
        let facts = |via, confidence| {
            let fact = move |interval: &Interval| {
                FoundFact::new(hours_of(*interval), page.number, via, text, confidence)
            };
            reading.intervals.iter().map(fact)
        };
        if is_believed {
            let first = self.found.len();
            self.found.extend(match via(page, at) {
                Via::Text if is_pure || under => facts(Via::Text, LABELLED),
                Via::Text => facts(Via::Text, PROSE),
                via => facts(via, LISTED),
            });
            if reading.says_daily && !reading.intervals.is_empty() {
                self.daily = Some((first, at));
            }
        } else if !is_timetable && SPARE.are_in(&folded) && reading.has_days {
            self.spare.extend(facts(Via::Text, PROSE));
        }
        if let Some((first, line)) = self.daily
            && reading.closed != 0
            && at - line <= 3
            && !is_others
        {
            let is_closed = |found: &FoundFact| matches!(&found.fact, TileFact::Contact(Contact::Hours(hours)) if reading.closed & (1 << hours.day as u8) != 0);
            let daily = self.found.split_off(first);
            self.found.extend(daily.into_iter().filter(|found| !is_closed(found)));
        }
        let keeps_waiting = is_believed || is_pure && !is_others;
        self.waiting = if keeps_waiting { reading.waiting } else { WaitingDays::default() };
        !is_pure && reading.intervals.is_empty() && !reading.says_open && !under
    }
}

/// The sentences of a text, and the signs between them.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let sentence = match whose::first_clause(rest) {
            "" => &rest[..first.len_utf8()],
            sentence => sentence,
        };
        rest = &rest[sentence.len()..];
        Some(sentence)
    })
}

/// Takes a break out of the hours that a page has stated so far.
fn split(found: &mut Vec<FoundFact>, page: usize, pause: &Interval) {
    let minutes = |clock: &str| -> Option<u16> {
        let (hour, minutes) = clock.split_once(':')?;
        Some(hour.parse::<u16>().ok()? * 60 + minutes.parse::<u16>().ok()?)
    };
    for at in 0..found.len() {
        let TileFact::Contact(Contact::Hours(hours)) = &found[at].fact else { continue };
        let (Some(opens), Some(closes)) = (minutes(&hours.opens), minutes(&hours.closes)) else {
            continue;
        };
        if found[at].page == page && opens < pause.opens && pause.closes < closes {
            let day = hours.day as u8;
            let morning = hours_of(Interval { day, opens, closes: pause.opens });
            let afternoon = hours_of(Interval { day, opens: pause.closes, closes });
            found.push(FoundFact { fact: afternoon.into(), ..found[at].clone() });
            found[at].fact = morning.into();
        }
    }
}

/// Whether a sentence with times speaks of somebody or something else.
fn is_others(site: &SitePages<'_>, folded: &str) -> bool {
    (whose::is_others(folded) && !site.is_named_in(folded))
        || NOT_HOURS.are_in(folded)
        || TRAFFIC.are_in(folded)
        || is_of_dates(folded)
        || NOT_US.are_in(folded)
}

/// Whether a sentence speaks of single days or holidays. Seasons, from month to month, are regular.
fn is_of_dates(folded: &str) -> bool {
    HOLIDAYS.are_in(folded)
        || MONTHS.are_in(folded) && (crate::payable::DATE.is_match(folded) || !is_season(folded))
}

/// Two months or more, or a whole season.
fn is_season(folded: &str) -> bool {
    let words = folded.split(|c: char| !c.is_alphabetic());
    words.filter(|word| MONTHS.are(word) || *word == "may").count() >= 2
}

/// Whether a sentence is about opening hours: by its words, or because hours are announced there.
fn believes(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    at: usize,
    reading: &hours::HoursReading,
    folded: &str,
    under: bool,
) -> bool {
    // Courses, rooms and dishes have times of their own.
    let is_list = matches!(
        page.topic,
        Topic::Pricing | Topic::Services | Topic::Menu | Topic::Shop | Topic::Faq
    ) && !page.lines.all[at].part.footer;
    if is_list && !under && !reading.says_open {
        let near = at.saturating_sub(2)..page.lines.all.len().min(at + 3);
        let has_prices = page.lines.all[near].iter().any(|line| !line.prices.is_empty());
        return reading.strange == 0 && !has_prices;
    }
    if reading.strange == 0 {
        return true;
    }
    let starts_well = reading.strange_before == 0
        || reading.says_open
        || site.is_named_in(folded)
        || (under && reading.strange_before <= 2);
    reading.has_days
        && starts_well
        && (reading.says_open || reading.strange <= if under { 8 } else { 4 })
}

/// A row of a table as one line, and the line after it. Two cells with one time each are a range.
fn row(page: &SitePage<'_>, at: usize) -> Option<(String, usize)> {
    let tree = &page.tree;
    let row = tree.nearest(page.lines.all[at].block, &["tr"])?;
    let lines = page.lines.inside(tree, row);
    let cells: Vec<usize> = tree
        .children(row)
        .filter(|&at| matches!(tree.name(at), "td" | "th") && !tree.node(at).hidden)
        .collect();
    let texts: Vec<String> =
        cells.iter().map(|&cell| page.text(cell)).filter(|text| !text.is_empty()).collect();
    if lines.start != at
        || !(2..=6).contains(&texts.len())
        || lines.len() > 8
        || texts.iter().any(|text| text.chars().count() > 80)
    {
        return None;
    }
    let is_single = |text: &String| {
        let tokens: Vec<clock::HoursToken> = clock::tokens(text, "")
            .into_iter()
            .filter(|token| *token != clock::HoursToken::Filler)
            .collect();
        matches!(tokens.as_slice(), [clock::HoursToken::Time(_)])
    };
    let mut text = texts[0].clone();
    let mut place = 1;
    while place < texts.len() {
        text.push_str(", ");
        text.push_str(&texts[place]);
        if is_single(&texts[place]) && texts.get(place + 1).is_some_and(is_single) {
            text.push_str(" - ");
            text.push_str(&texts[place + 1]);
            place += 1;
        }
        place += 1;
    }
    Some((text, lines.end))
}

/// A table whose first row has weekdays: each column is a day's. Says which lines it has read.
fn columns(page: &SitePage<'_>, found: &mut Vec<FoundFact>) -> Vec<bool> {
    let mut used = vec![false; page.lines.all.len()];
    for table in page.tree.all("table").filter(|&at| !page.tree.node(at).hidden).take(TABLES_MAX) {
        let rows: Vec<usize> =
            page.tree.inside(table).filter(|&at| page.tree.name(at) == "tr").take(100).collect();
        let cells = |row: usize| {
            page.tree
                .children(row)
                .filter(|&at| matches!(page.tree.name(at), "td" | "th"))
                .collect::<Vec<_>>()
        };
        let Some((head, body)) = rows.split_first() else { continue };
        let days: Vec<Option<u8>> = cells(*head)
            .into_iter()
            .map(|cell| clock::day(fold(&page.text(cell)).trim_end_matches('.')))
            .collect();
        if days.iter().flatten().count() < 3 || body.is_empty() {
            continue;
        }
        used[page.lines.inside(&page.tree, table)].fill(true);
        let is_own = page
            .lines
            .inside(&page.tree, table)
            .next()
            .is_some_and(|line| !is_elsewhere(page, line))
            && page.topic != Topic::News;
        for row in body {
            for (cell, day) in cells(*row).into_iter().zip(&days) {
                let text = page.text(cell);
                let Some(day) = day.filter(|_| is_own) else { continue };
                let reading = hours::read(
                    &text,
                    page.language(),
                    WaitingDays { days: 1 << day, given: false },
                );
                if reading.strange == 0 {
                    found.extend(reading.intervals.into_iter().map(|interval| {
                        FoundFact::new(hours_of(interval), page.number, Via::Table, &text, LISTED)
                    }));
                }
            }
        }
    }
    used
}

/// Under a heading that announces something else.
fn is_elsewhere(page: &SitePage<'_>, at: usize) -> bool {
    page.headings(at).take(2).any(|heading| {
        let folded = &page.lines.all[heading].folded;
        (OTHER_MATTER.are_in(folded) || NOT_HOURS.are_in(folded)) && !HOURS.are_in(folded)
    })
}

/// Under a heading, or after a line of the same paragraph, that announces hours.
fn is_under_hours(page: &SitePage<'_>, at: usize) -> bool {
    let start = page.lines.paragraph_start(at);
    page.lines.headings(at).take(1).any(|heading| HOURS.are_in(&page.lines.all[heading].folded))
        || page.lines.all[start..at]
            .iter()
            .any(|line| HOURS.are_in(&line.folded) && line.text.len() < 60)
}

fn via(page: &SitePage<'_>, at: usize) -> Via {
    let block = page.lines.all[at].block;
    match page.tree.nearest(block, &["tr", "li", "dd", "dt"]).map(|around| page.tree.name(around)) {
        Some("tr") => Via::Table,
        Some(_) => Via::List,
        None => Via::Text,
    }
}

/// The week, one bit a day.
const ALL_DAYS: u8 = 0b111_1111;
/// A page that states so many days states the whole week.
const DAYS_OF_A_WEEK: usize = 4;
/// The most tables of a page that are looked at.
const TABLES_MAX: usize = 200;
