//! Chooses the prices that a customer pays: no deposits, discounts, old prices, thresholds or
//! prizes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::money::{self, Price};
use crate::plain::fold;
use crate::site::SitePage;
use crate::topic::Topic;
use crate::whose;
use crate::words::{
    FOR_ALL, IN_BRACKETS, MEAL, NO_PRICE, NO_PRICE_AFTER, NO_PRICE_BELOW, OLD, OTHER_MATTER,
    PRICE_CLASS, SMALLER, TAUGHT, THRESHOLD, VOLUME, Words, patterns,
};

/// The prices of a line that somebody is to pay now.
pub(crate) fn tags(page: &SitePage<'_>, at: usize) -> Vec<Price> {
    let line = &page.lines.all[at];
    if !line.is_matter() || line.part.post || line.part.footer || DATE.is_match(&line.folded) {
        return Vec::new();
    }
    let is_elsewhere = |heading: usize| {
        let folded = &page.lines.all[heading].folded;
        // `Events and workshops` has prices of its own.
        OTHER_MATTER.are_in(folded) && !TAUGHT.are_in(folded) || NO_PRICE_BELOW.are_in(folded)
    };
    // `Nearby: boat trips from $40.`
    let is_led_elsewhere = line.lead().is_some_and(|lead| OTHER_MATTER.are_in(&fold(lead)));
    if is_led_elsewhere || page.headings(at).any(is_elsewhere) {
        return Vec::new();
    }
    let mut tags = line.prices.clone();
    // In brackets after a price there are shares, savings and old prices: `£41 (list price £52)`.
    let is_in_brackets = |price: &Price| {
        let before = &line.text[..price.at.start];
        before.rfind('(').is_some_and(|open| !before[open..].contains(')'))
    };
    // `Stew £9 (half £6)` has two.
    let is_size = |price: &Price| {
        let before = &line.text[..price.at.start];
        before.rfind('(').is_some_and(|open| SMALLER.are(fold(&before[open + 1..]).trim()))
    };
    if tags.first().is_some_and(|first| !is_in_brackets(first)) {
        tags.retain(|price| !is_in_brackets(price) || is_size(price));
    }
    // `Crab (about £9 at the market)`, `Chicken (supplement £3)`: not the price of the item.
    let is_aside = |price: &Price| {
        let before = &line.text[..price.at.start];
        before.rfind('(').is_some_and(|open| {
            let inside = fold(&before[open + 1..]);
            is_in_brackets(price) && (IN_BRACKETS.begin(inside.trim()) || inside.contains('+'))
        })
    };
    // `Chips, salad. Add an egg for £2`, `Peas. Sauces +£2`: said of something else.
    let in_list = page.tree.nearest(line.block, &["li", "dt", "dd", "td"]).is_some();
    let is_addition = |price: &Price| {
        let before = &line.text[..price.at.start];
        let clause = whose::last_clause(before);
        let is_later = clause.len() < before.trim_start().len();
        (is_later || !in_list) && crate::naming::is_addition(clause.trim())
            || is_later && before.trim_end().ends_with('+') && clause.trim().len() > 3
    };
    tags.retain(|price| !is_aside(price) && !is_addition(price));
    let mut from = 0;
    tags.retain(|price| {
        let before = &line.text[from..price.at.start];
        from = price.at.end;
        !line.has_at(price.at.start, |style| style.struck)
            && !is_quoted(&line.text, price.at.start)
            && !is_no_price(&line.text[..price.at.start], before, &line.text[price.at.end..])
    });
    tags
}

/// Adds the prices without a currency sign, as on lists of food and prices: `Espresso 2,40`.
pub(crate) fn add_bare_numbers(page: &SitePage<'_>, tags: &mut [Vec<Price>]) {
    let lines = &page.lines.all;
    let is_free = |at: usize| {
        tags[at].is_empty()
            && lines[at].is_matter()
            && !lines[at].part.footer
            && !lines[at].part.post
            && lines[at].prices.is_empty()
            // Tables know more about their numbers.
            && !crate::heading::is_cell_of_row(&page.tree, lines, at)
    };
    let tagged = tags.iter().filter(|tags| !tags.is_empty()).count();
    let about_prices = matches!(page.topic, Topic::Menu | Topic::Pricing | Topic::Shop);
    let mut bare = numbers_on_lines(page, &is_free, about_prices, tagged);
    let mut in_columns: BTreeMap<usize, Vec<Price>> = BTreeMap::new();
    for (at, price) in numbers_in_columns(page, &is_free, about_prices) {
        in_columns.entry(at).or_default().push(price);
    }
    bare.extend(in_columns);
    let is_digits = |at: usize| lines[at].text.bytes().all(|byte| byte.is_ascii_digit());
    let alone: BTreeSet<usize> =
        bare.iter().map(|(at, _)| *at).filter(|&at| is_digits(at)).collect();
    let only_count = count_dishes(alone.iter().map(|&at| lines[at].text.as_str()), tagged);
    if !bare.is_empty() && page.topic == Topic::Menu {
        bare.extend(numbers_over_lists(page, &is_free));
    }
    for (at, prices) in bare {
        if tags[at].is_empty() && !(only_count && is_digits(at)) {
            tags[at] = prices;
        }
    }
}

/// Whether the numbers of some lines count the dishes: whole numbers that grow or begin anew, among
/// prices with a sign.
fn count_dishes<'t>(numbers: impl Iterator<Item = &'t str>, tagged: usize) -> bool {
    let counts: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    (2..=tagged).contains(&counts.len())
        && counts.windows(2).all(|two| two[0] < two[1] || two[1] == 1)
}

/// `Sides 4.5 each`, over a list of names.
fn numbers_over_lists(page: &SitePage<'_>, is_free: &dyn Fn(usize) -> bool) -> Vec<NumberedLine> {
    let lines = &page.lines.all;
    let is_over_all = |at: usize| lines[at].level > 0 && FOR_ALL.are_in(&lines[at].folded);
    let over = (0..lines.len()).filter(|&at| is_free(at) && is_over_all(at)).filter_map(|at| {
        let number = NUMBER_FOR_ALL.captures(&lines[at].text)?.get(1)?;
        Some((at, vec![unsigned(&lines[at].text, number.range())?]))
    });
    over.collect()
}

/// A line, and the numbers that are its prices.
type NumberedLine = (usize, Vec<Price>);

/// A number of a text as a price without a currency.
fn unsigned(text: &str, at: std::ops::Range<usize>) -> Option<Price> {
    let amount = money::bare_amount(&text[at.clone()])?;
    Some(Price { amount, currency: money::Currency::Unsaid, at })
}

/// The lines that end in a price without a sign. Several lines of a page have to end like that.
fn numbers_on_lines(
    page: &SitePage<'_>,
    is_free: &dyn Fn(usize) -> bool,
    about_prices: bool,
    tagged: usize,
) -> Vec<NumberedLine> {
    let lines = &page.lines.all;
    let ending_in = |pattern: &Regex| -> Vec<NumberedLine> {
        let free = (0..lines.len()).filter(|&at| is_free(at));
        free.filter_map(|at| Some((at, numbers_of_line(page, at, pattern)?))).collect()
    };
    let language = page.language();
    let has_days = |at: usize| {
        crate::hours::read(&lines[at].text, language, crate::hours::WaitingDays::default()).has_days
    };
    let decimals = ending_in(&ENDS_IN_DECIMALS);
    if decimals.len() >= 3 && (about_prices || decimals.len() >= 6) && !has_days(decimals[0].0) {
        return decimals;
    }
    if page.topic != Topic::Menu && !crate::kind::is_eatery(page) {
        return Vec::new();
    }
    let mut numbers = ending_in(&ENDS_IN_NUMBER);
    // Without a price elsewhere a few are enough; else they have to stand together.
    if tagged > 0 || numbers.len() < 3 {
        retain_together(page, &mut numbers);
    }
    numbers
}

/// The numbers that a line ends in, if nothing shows that they are no prices.
fn numbers_of_line(page: &SitePage<'_>, at: usize, pattern: &Regex) -> Option<Vec<Price>> {
    let line = &page.lines.all[at];
    // `Toast 5,25 (with ham 0,75 more)`
    let text = match line.text.rfind('(') {
        Some(open) if line.text.ends_with(')') && open > 0 => line.text[..open].trim_end(),
        _ => line.text.as_str(),
    };
    // `Shrimp 6 / –`: there is no second size.
    let text = text.trim_end_matches(['–', '—', '-', '/', ' ']);
    let last = pattern.captures(text)?.name("n")?;
    let before = &text[..last.start()];
    // `Trout <sup>4,8</sup>` has notes.
    let is_note = line.pieces.last().is_some_and(|piece| page.tree.is_raised(piece.node));
    // `Bacon jam, chips. Add an egg for 1.5` is the price of another item.
    if is_note || !is_whole(before) || is_clock(before, last.as_str(), line.level) {
        return None;
    }
    let prices = numbers_of_parts(text).unwrap_or_else(|| numbers_at_end(text, last.range()));
    // `+ egg 3 + bacon 6`, `Friday: red wine 8, olives 4`: each number is of something unclear.
    let start = prices.first().map_or(0, |price| price.at.start);
    (!text.starts_with('+') && !NUMBER_BETWEEN.is_match(&text[..start])).then_some(prices)
}

/// Keeps the lines with numbers that stand together: under one heading, in one element, or as a
/// list on one line.
fn retain_together(page: &SitePage<'_>, bare: &mut Vec<NumberedLine>) {
    let lines = &page.lines.all;
    let places = |at: usize| [lines[at].block, page.tree.node(lines[at].block).parent];
    // How many lines each heading has, and how many of them end in a number.
    let mut under: BTreeMap<Option<usize>, (usize, usize)> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.level == 0) {
        under.entry(line.heading).or_default().1 += 1;
    }
    let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, _) in bare.iter() {
        under.entry(lines[*at].heading).or_default().0 += 1;
        for place in places(*at) {
            *inside.entry(place).or_default() += 1;
        }
    }
    let is_headed = |at: usize| {
        let (numbers, all) = under.get(&lines[at].heading).copied().unwrap_or_default();
        lines[at].heading.is_some() && numbers >= 3 && 3 * numbers >= 2 * all
    };
    let fill = |place: usize| {
        let all = page.lines.inside(&page.tree, place).len();
        let numbers = inside.get(&place).copied().unwrap_or(0);
        let is_list = matches!(page.tree.name(place), "ul" | "ol");
        numbers >= 3 && 2 * numbers >= all || numbers == 2 && (all == 2 || all == 3 && is_list)
    };
    bare.retain(|(at, prices)| {
        let text = &lines[*at].text;
        // `Olives 4 | Bread 4.5 | Whitebait 7`
        let is_list = prices.len() >= 3 && numbers_of_parts(text).is_some();
        // `small 4 / large 5.50`, for each dish of a heading.
        let is_sizes = prices.len() >= 2 && {
            let size = &text[..prices[0].at.start];
            size.contains(char::is_alphabetic) && crate::naming::is_measure(size)
        };
        is_list || is_sizes || is_headed(*at) || places(*at).into_iter().any(fill)
    });
}

/// Whether a number is the time of a meal: `Lunch from 11.30`, as a heading or nothing but that.
fn is_clock(before: &str, number: &str, level: u8) -> bool {
    let folded = fold(before);
    let Some(from) = FROM_OR_UNTIL.find(&folded) else { return false };
    let is_meal = MEAL.are(folded[..from.start()].trim());
    (is_meal || (1..=6).contains(&level)) && CLOCK.is_match(number)
}

/// Whether what stands before a number is no sentence and what follows one.
fn is_whole(before: &str) -> bool {
    whose::last_clause(before).len() == before.len() || before.contains(['|', '·', '•'])
}

/// The numbers of `Egg 1,80 · Salmon 4,50`: every part between bars has a name and a number.
fn numbers_of_parts(text: &str) -> Option<Vec<Price>> {
    ["·", "•", "|", " / ", " . "].iter().find_map(|bar| numbers_between(text, bar))
}

fn numbers_between(text: &str, bar: &str) -> Option<Vec<Price>> {
    let mut from = 0;
    let mut prices = Vec::new();
    for part in text.split(bar).take(NUMBERS_MAX + 1) {
        let start = text[from..].find(part).map_or(from, |at| from + at);
        from = start + part.len();
        let number = LAST_NUMBER.captures(part)?.name("n")?;
        let letters = part[..number.start()].chars().filter(|c| c.is_alphabetic()).count();
        let at = start + number.start()..start + number.end();
        prices.push(unsigned(text, at).filter(|_| letters >= 3)?);
    }
    (2..=NUMBERS_MAX).contains(&prices.len()).then_some(prices)
}

/// The numbers at the end of a line, with only bars, commas and sizes between: `small 4 / large
/// 5.50`.
fn numbers_at_end(text: &str, last: std::ops::Range<usize>) -> Vec<Price> {
    let mut found: Vec<Price> = unsigned(text, last.clone()).into_iter().collect();
    let mut end = last.start;
    while found.len() < NUMBERS_MAX {
        // A comma inside a number is none between two.
        let is_bar = |&(at, c): &(usize, char)| {
            let next = text[at + c.len_utf8()..].chars().next();
            matches!(c, '/' | '|' | ';' | '–' | '—')
                || c == ',' && !next.is_some_and(|next| next.is_ascii_digit())
        };
        let bar = text[..end].char_indices().rev().find(is_bar);
        // Sizes alone stand between two numbers too: `small 3,20 large 3,90`.
        let (before, gap) = match bar {
            Some((at, c)) if crate::naming::is_measure(&text[at + c.len_utf8()..end]) => {
                (&text[..at], &text[at + c.len_utf8()..end])
            }
            _ => match LAST_SIZE.find(&text[..end]).or_else(|| LAST_VOLUME.find(&text[..end])) {
                Some(size) if crate::naming::is_measure(size.as_str()) => {
                    (&text[..size.start()], size.as_str())
                }
                _ => break,
            },
        };
        let number = LAST_NUMBER.captures(before).and_then(|caught| caught.name("n"));
        let Some((number, price)) = number.and_then(|at| Some((at, unsigned(before, at.range())?)))
        else {
            break;
        };
        if gap.len() > 24 {
            break;
        }
        end = number.start();
        found.insert(0, price);
    }
    found
}

/// The numbers of `9 / 34` and `8 glass | 30 bottle`: parts that are a number and a size.
fn numbers_of_sizes(text: &str, part: std::ops::Range<usize>) -> Option<Vec<Price>> {
    let mut prices = Vec::new();
    let mut from = part.start;
    for piece in text[part].split(['/', '|']).take(NUMBERS_MAX + 1) {
        let start = from + (piece.len() - piece.trim_start().len());
        from += piece.len() + 1;
        let number = piece.trim().split(' ').next().unwrap_or_default();
        let price = unsigned(text, start..start + number.len())?;
        let rest = &piece.trim()[number.len()..];
        if !crate::naming::is_measure(rest) || VOLUME.begin(rest.trim()) || price.amount.len() > 6 {
            return None;
        }
        prices.push(price);
    }
    (2..=NUMBERS_MAX).contains(&prices.len()).then_some(prices)
}

/// Numbers at the end of lines in elements that look alike: `<b>Bacon</b> <i>6</i>`, repeatedly.
fn numbers_in_columns(
    page: &SitePage<'_>,
    is_free: &dyn Fn(usize) -> bool,
    about_prices: bool,
) -> Vec<(usize, Price)> {
    let (tree, lines) = (&page.tree, &page.lines.all);
    let mut columns: BTreeMap<String, (Vec<(usize, Price)>, usize)> = BTreeMap::new();
    for at in (0..lines.len()).filter(|&at| is_free(at)) {
        let line = &lines[at];
        let Some(last) = line.pieces.last() else { continue };
        let own = tree.node(last.node).parent;
        let class = tree.attribute(own, "class").unwrap_or_default();
        if tree.nearest(own, &["table", "form", "nav"]).is_some() || tree.is_raised(last.node) {
            continue;
        }
        let column = columns.entry(format!("{} {class} {}", tree.name(own), tree.name(line.block)));
        let (numbers, others) = column.or_default();
        let number = PIECE_OF_NUMBER.captures(&line.text[last.at.clone()]).and_then(|caught| {
            let number = caught.get(1)?.range();
            unsigned(&line.text, last.at.start + number.start..last.at.start + number.end)
        });
        match number {
            Some(price) => numbers.push((at, price)),
            None => match numbers_of_sizes(&line.text, last.at.clone()) {
                Some(prices) => numbers.extend(prices.into_iter().map(|price| (at, price))),
                None => *others += 1,
            },
        }
    }
    columns.retain(|class, (numbers, others)| {
        let says_price =
            class.split(|c: char| !c.is_alphanumeric()).any(|word| PRICE_CLASS.are(&fold(word)));
        let value =
            |at: usize| numbers.get(at).and_then(|(_, price)| price.amount.parse::<f64>().ok());
        // One, two, three only counts.
        let counts = (0..numbers.len().min(4)).all(|at| value(at) == Some(at as f64 + 1.0));
        // Three amounts to the cent, each in a box of its own, are prices wherever they stand.
        let to_the_cent = numbers.len() >= 3
            && *others == 0
            && numbers.iter().all(|(_, price)| {
                price.amount.split_once('.').is_some_and(|(_, cents)| cents.len() == 2)
            });
        let is_column = about_prices && *others * 2 <= numbers.len();
        !counts && (says_price || is_column || to_the_cent) && numbers.len() >= 2
    });
    columns.into_values().flat_map(|(numbers, _)| numbers).collect()
}

patterns! {
    /// `6`, `4.8`, `+2`, `5 each`.
    PIECE_OF_NUMBER: r"^\s*\+?\s?(\d{1,3}(?:[.,]\d{1,2})?)(?:\s(?:each|ea|pp|p\.p\.|per person|je|cad\.?|p\.?st\.?))?\s*$";
    /// Compounds that end in a deposit: `Schlüsseldepot`.
    DEPOSIT_END: r"[a-z](?:depot|kaution|pfand|anzahlung|borg|depositum|deposition)\b";
    BRACKETS: r"\([^()]{0,60}\)";
    /// `Espresso 2,40`, or the amount alone.
    ENDS_IN_DECIMALS: r"^(?:.*\p{L}.*?(?:[\s…_·-]|\.\.))?(?P<n>\d{1,3}[.,]\d{2})$";
    /// An hour of the day, to the quarter.
    CLOCK: r"^(?:[01]?\d|2[0-3])[.:](?:00|15|30|45)$";
    /// What leads to a time.
    FROM_OR_UNTIL: r"(?:^|\s)(?:from|until|till|til|to|at|ab|bis|um|des|a partir de|jusqu'a|dalle|fino alle|desde|desde las|hasta|hasta las|vanaf|tot|od|do|fra|fran|kl|kl\.|das|ate)\s*$";
    /// `Burger 14`, `Burger 14.5`, `Burger 14.50`.
    ENDS_IN_NUMBER: r"^(?:.*\p{L}.*?(?:[\s…_·-]|\.\.))?(?P<n>\d{1,3}(?:[.,]\d{1,2})?)$";
    /// `Sides 4.5 each`, `Sides, all 4.5`
    NUMBER_FOR_ALL: r"\p{L}[\s,:–—-]+(\d{1,3}(?:[.,]\d{1,2})?)(?:\s\p{L}{1,10}\.?)?$";
    /// The number that a text ends in.
    LAST_NUMBER: r"(?:^|[\s…_·-])(?P<n>\d{1,3}(?:[.,]\d{1,2})?)\s*$";
    /// The word that a text ends in.
    LAST_SIZE: r"\s\p{L}{3,10}\s*$";
    /// A number in the middle that something else follows.
    NUMBER_BETWEEN: r"\p{L}\s\d{1,3}(?:[.,]\d{1,2})?\s?(?:[/+|·;]|[,.])\s";
    /// The volume that a text ends in: `0,4 l`.
    LAST_VOLUME: r"\s\d{1,3}(?:[.,/]\d{1,3})?\s?(?:l|cl|dl|ml|oz|g|gr|kg|cm)\s*$";
}

/// By the words beside it: a deposit, a discount, an old price, a threshold.
fn is_no_price(all_before: &str, before: &str, after: &str) -> bool {
    // What stands in brackets is about something beside it.
    let clause = BRACKETS.replace_all(&fold(whose::last_clause(all_before)), " ").into_owned();
    let own = fold(whose::last_clause(before));
    let near: String =
        own.chars().rev().take(NEAR_CHARS).collect::<Vec<_>>().into_iter().rev().collect();
    let after = whose::first_clause(after).split(['(', ',']).next().unwrap_or_default();
    let after_near: String = fold(after).chars().take(NEAR_CHARS).collect();
    OLD.are_in(&near)
        || is_last(&THRESHOLD, &near)
        || NO_PRICE.are_in(&clause)
        || DEPOSIT_END.is_match(&clause)
        || NO_PRICE_AFTER.are_in(&after_near.replace("one-off", ""))
        || own.trim_end().ends_with(['-', '–']) && own.trim().len() <= 1
}

/// Whether a text ends in one of some words, so that what follows is meant by it.
fn is_last(words: &Words, folded: &str) -> bool {
    let folded = folded.trim_end_matches(|c: char| !c.is_alphanumeric());
    let starts = folded.char_indices().rev().filter(|(_, c)| *c == ' ').map(|(at, _)| at + 1);
    starts.take(2).chain(std::iter::once(0)).any(|start| words.are(&folded[start..]))
}

/// Whether a place in a text is inside somebody's words in quotation marks.
fn is_quoted(text: &str, at: usize) -> bool {
    let Some(open) = text[..at].rfind(['„', '“', '«', '‹']) else { return false };
    let inside = &text[open..];
    let end = inside.char_indices().skip(1).find(|(_, c)| matches!(c, '”' | '“' | '»' | '›' | '"'));
    end.is_some_and(|(end, _)| {
        open + end > at && inside[..end].split_whitespace().count() > QUOTED_WORDS
    })
}

/// A day of a month: news, events.
pub(crate) static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let months = "jan(?:uary|uar|vier|uari)?|feb(?:ruary|ruar|ruari|braio)?|fevrier|febrero|mar(?:ch|s|zo|z|ca)|maart|apr(?:il|ile)?|avril|abril|kwietnia|mai|may|mayo|maggio|maja|mei|jun[ei]?|juni|juin|junio|giugno|czerwca|jul[yi]?|juillet|julio|luglio|lipca|aug(?:ust|ustus)?|aout|agosto|sierpnia|sep(?:t|tember|tembre|tiembre)?|settembre|wrzesnia|o[ck]t(?:ober|obre|ubre)?|ottobre|outubro|nov(?:ember|embre|iembre)?|listopada|de[cz](?:ember|embre)?|dicembre|diciembre|grudnia|cervna|cervence|srpna|zari|rijna|prosince|ledna|unora|brezna|dubna|kvetna";
    Regex::new(&format!(r"(?:^|[^a-z0-9])(?:\d{{1,2}}(?:\.|st|nd|rd|th|er)?\s(?:de\s)?(?:{months})\b|(?:{months})\.?\s\d{{1,2}}(?:$|[^0-9:.,]|,\s)|\d{{1,2}}\.\d{{1,2}}\.(?:20\d\d|\s))")).expect("a constant pattern")
});

/// The most numbers of one line that are read.
const NUMBERS_MAX: usize = 6;

/// Quotation marks around fewer words are those of a name.
const QUOTED_WORDS: usize = 4;

/// How far a word that changes a price's meaning may stand before it.
const NEAR_CHARS: usize = 26;
