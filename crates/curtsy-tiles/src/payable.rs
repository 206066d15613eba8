//! Which prices of a line is somebody to pay now, for something? Not deposits, discounts, old prices, thresholds and prizes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::dishes::FOR_ALL;
use crate::heading::OTHER_MATTER;
use crate::kind::TAUGHT;
use crate::money::{self, Price};
use crate::plain::{fold, words};
use crate::site::SitePage;
use crate::topic::Topic;
use crate::whose;

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
    // `Crab (about £9 at the market)`, `Chicken (supplement £3)`: neither is what the thing costs.
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

/// On lists of food and prices the sign is often left out: `Espresso 2,40`. Several lines have to end like that.
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
    let found = |pattern: &Regex| -> Vec<(usize, Vec<Price>)> {
        let matching = (0..lines.len()).filter(|&at| is_free(at)).filter_map(|at| {
            // `Toast 5,25 (with ham 0,75 more)`
            let text = lines[at].text.as_str();
            let text = match text.rfind('(') {
                Some(open) if text.ends_with(')') && open > 0 => text[..open].trim_end(),
                _ => text,
            };
            // `Shrimp 6 / –`: there is no second size.
            let text = text.trim_end_matches(['–', '—', '-', '/', ' ']);
            let last = pattern.captures(text)?.name("n")?;
            // `Trout <sup>4,8</sup>` has notes.
            if lines[at].pieces.last().is_some_and(|piece| page.tree.is_raised(piece.node)) {
                return None;
            }
            // `Bacon jam, chips. Add an egg for 1.5` is the price of another item.
            if !is_whole(&text[..last.start()])
                || is_clock(&text[..last.start()], last.as_str(), lines[at].level)
            {
                return None;
            }
            let several = numbers_of_parts(text);
            let prices = several.unwrap_or_else(|| numbers_at_end(text, last.range()));
            // `+ egg 3 + bacon 6`, `Friday: red wine 8, olives 4`: of what each number is stays unclear.
            let start = prices.first().map_or(0, |price| price.at.start);
            if text.starts_with('+') || NUMBER_BETWEEN.is_match(&text[..start]) {
                return None;
            }
            Some((at, prices))
        });
        matching.collect()
    };
    let about_prices = matches!(page.topic, Topic::Menu | Topic::Pricing | Topic::Shop);
    let columns = numbers_in_columns(page, &is_free, about_prices);
    let mut bare = found(&ENDS_IN_DECIMALS);
    if bare.len() < 3
        || !(about_prices || bare.len() >= 6)
        || crate::hours::read(
            &lines[bare[0].0].text,
            page.language(),
            crate::hours::WaitingDays::default(),
        )
        .has_days
    {
        let is_food = page.topic == Topic::Menu || crate::kind::is_eatery(page);
        bare = if is_food { found(&ENDS_IN_NUMBER) } else { Vec::new() };
        // Without a price elsewhere a few are enough; else they have to stand together.
        if tags.iter().any(|tags| !tags.is_empty()) || bare.len() < 3 {
            let around = |at: usize| page.tree.node(lines[at].block).parent;
            // Under some heading nearly all lines end in a number.
            let mut under: BTreeMap<Option<usize>, (usize, usize)> = BTreeMap::new();
            for line in lines.iter().filter(|line| line.level == 0) {
                under.entry(line.heading).or_default().1 += 1;
            }
            for (at, _) in &bare {
                under.entry(lines[*at].heading).or_default().0 += 1;
            }
            let is_headed = |at: usize| {
                let (numbers, all) = under.get(&lines[at].heading).copied().unwrap_or_default();
                lines[at].heading.is_some() && numbers >= 3 && 3 * numbers >= 2 * all
            };
            let mut together: BTreeMap<usize, usize> = BTreeMap::new();
            for (at, _) in &bare {
                for place in [lines[*at].block, around(*at)] {
                    *together.entry(place).or_default() += 1;
                }
            }
            bare.retain(|(at, prices)| {
                // `Olives 4 | Bread 4.5 | Whitebait 7` is a list by itself, and so is what each of a heading's dishes costs.
                let is_list = prices.len() >= 3 && numbers_of_parts(&lines[*at].text).is_some();
                let text = &lines[*at].text;
                let is_sizes = prices.len() >= 2
                    && prices.first().is_some_and(|first| {
                        let size = &text[..first.at.start];
                        size.contains(char::is_alphabetic) && crate::naming::is_measure(size)
                    });
                if is_list || is_sizes || is_headed(*at) {
                    return true;
                }
                [lines[*at].block, around(*at)].iter().any(|place| {
                    let all = page.lines.inside(&page.tree, *place);
                    let numbers = together.get(place).copied().unwrap_or(0);
                    let is_list = matches!(page.tree.name(*place), "ul" | "ol");
                    numbers >= 3 && 2 * numbers >= all.len()
                        || numbers == 2 && (all.len() == 2 || all.len() == 3 && is_list)
                })
            });
        }
    }
    let mut in_columns: BTreeMap<usize, Vec<Price>> = BTreeMap::new();
    for (at, price) in columns {
        in_columns.entry(at).or_default().push(price);
    }
    // Among prices with a sign, whole numbers on lines of their own that grow, or begin anew, count the dishes.
    let is_count = |at: usize| lines[at].text.bytes().all(|byte| byte.is_ascii_digit());
    let signed = tags.iter().filter(|tags| !tags.is_empty()).count();
    let alone: BTreeMap<usize, u32> = bare
        .iter()
        .map(|(at, _)| *at)
        .chain(in_columns.keys().copied())
        .filter(|&at| is_count(at))
        .filter_map(|at| Some((at, lines[at].text.parse().ok()?)))
        .collect();
    let counts: Vec<u32> = alone.into_values().collect();
    let are_counts = (2..=signed).contains(&counts.len())
        && counts.windows(2).all(|two| two[0] < two[1] || two[1] == 1);
    // `Sides 4.5 each`, over a list of names, where the sign is left out elsewhere too.
    let has_bare = !bare.is_empty() || !in_columns.is_empty();
    let is_over_all = |at: usize| lines[at].level > 0 && FOR_ALL.are_in(&lines[at].folded);
    let headed: Vec<(usize, Vec<Price>)> = (0..lines.len())
        .filter(|&at| has_bare && page.topic == Topic::Menu && is_free(at) && is_over_all(at))
        .filter_map(|at| {
            let number = NUMBER_FOR_ALL.captures(&lines[at].text)?.get(1)?;
            let amount = money::bare_amount(number.as_str())?;
            let price = Price { amount, currency: money::Currency::Unsaid, at: number.range() };
            Some((at, vec![price]))
        })
        .collect();
    for (at, prices) in bare.into_iter().chain(in_columns).chain(headed) {
        if tags[at].is_empty() && !(are_counts && is_count(at)) {
            tags[at] = prices;
        }
    }
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
        let amount = money::bare_amount(number.as_str()).filter(|_| letters >= 3)?;
        let at = start + number.start()..start + number.end();
        prices.push(Price { amount, currency: money::Currency::Unsaid, at });
    }
    (2..=NUMBERS_MAX).contains(&prices.len()).then_some(prices)
}

/// The number at the end of a line, and those before it that only bars, commas and sizes stand between: `small 4 / large 5.50`.
fn numbers_at_end(text: &str, last: std::ops::Range<usize>) -> Vec<Price> {
    let price = |at: std::ops::Range<usize>| {
        let amount = money::bare_amount(&text[at.clone()])?;
        Some(Price { amount, currency: money::Currency::Unsaid, at })
    };
    let mut found: Vec<Price> = price(last.clone()).into_iter().collect();
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
        let Some((number, price)) = number.and_then(|at| Some((at, price(at.range())?))) else {
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
        let amount = money::bare_amount(number)?;
        let rest = &piece.trim()[number.len()..];
        if !crate::naming::is_measure(rest) || VOLUME.begin(rest.trim()) || amount.len() > 6 {
            return None;
        }
        let at = start..start + number.len();
        prices.push(Price { amount, currency: money::Currency::Unsaid, at });
    }
    (2..=NUMBERS_MAX).contains(&prices.len()).then_some(prices)
}

/// Numbers in elements of their own that look alike, at the end of their lines: `<b>Bacon</b> <i>6</i>`, again and again.
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
        let caught = PIECE_OF_NUMBER.captures(&line.text[last.at.clone()]);
        let number = caught.and_then(|caught| {
            let number = caught.get(1)?;
            let at = last.at.start + number.start()..last.at.start + number.end();
            Some((money::bare_amount(number.as_str())?, at))
        });
        match number {
            Some((amount, place)) => {
                let price = Price { amount, currency: money::Currency::Unsaid, at: place };
                numbers.push((at, price));
            }
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

/// `6`, `4.8`, `+2`, `5 each`.
static PIECE_OF_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*\+?\s?(\d{1,3}(?:[.,]\d{1,2})?)(?:\s(?:each|ea|pp|p\.p\.|per person|je|cad\.?|p\.?st\.?))?\s*$")
        .expect("a constant pattern")
});

/// Compounds that end in a deposit: `Schlüsseldepot`.
static DEPOSIT_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[a-z](?:depot|kaution|pfand|anzahlung|borg|depositum|deposition)\b")
        .expect("a constant pattern")
});

static BRACKETS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\([^()]{0,60}\)").expect("a constant pattern"));

words! { SMALLER: "half, half portion, small, large, kids, child, halbe, halbe portion, klein, kleine, kleine portion, gross, petit, petite, demi, grand, media, media racion, pequena, mezza, mezza porzione, piccola, meia, meia dose, half, halve portie, kleintje, mala, pol porcji, liten, halv, lille" }

words! { IN_BRACKETS: "about, around, approx, approx., roughly, some, ca, ca., circa, etwa, ungefahr, rund, environ, autour de, unos, unas, aprox, aprox., ongeveer, okolo, supplement, with, mit, avec, con, met, aufpreis, zuschlag, supl, supl., suppl, suppl., suplemento, supplemento, toeslag, doplata, tillagg, tillaeg, priplatek" }

words! { VOLUME: "ks, szt, pc, pz, ud, uds, piece, pieces, stuck, g, gr, kg, ml, cl, dl, l, oz, lb, lbs, cm, mm, m, min, mins, h, pcs, stk, st" }

words! { PRICE_CLASS: "price, prices, preis, preise, prix, tarif, precio, prezzo, prijs, cena, pris, preco, amount, cost" }

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
fn is_last(words: &crate::plain::Words, folded: &str) -> bool {
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

/// `Espresso 2,40`, or the amount alone.
static ENDS_IN_DECIMALS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:.*\p{L}.*?(?:[\s…_·-]|\.\.))?(?P<n>\d{1,3}[.,]\d{2})$")
        .expect("a constant pattern")
});

/// An hour of the day, to the quarter.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[01]?\d|2[0-3])[.:](?:00|15|30|45)$").expect("a constant pattern")
});

/// What leads to a time.
static FROM_OR_UNTIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)(?:from|until|till|til|to|at|ab|bis|um|des|a partir de|jusqu'a|dalle|fino alle|desde|desde las|hasta|hasta las|vanaf|tot|od|do|fra|fran|kl|kl\.|das|ate)\s*$").expect("a constant pattern")
});

words! { MEAL: "breakfast, brunch, lunch, dinner, supper, tea, afternoon tea, kitchen, fruhstuck, mittagessen, mittagstisch, mittag, abendessen, kuche, petit dejeuner, dejeuner, diner, desayuno, desayunos, comida, comidas, almuerzo, cena, cenas, colazione, pranzo, aperitivo, ontbijt, avondeten, sniadanie, obiad, kolacja, frukost, middag, frokost, aftensmad, snidane, obed, vecere, almoco, jantar, lounas" }

/// `Burger 14`, `Burger 14.5`, `Burger 14.50`.
static ENDS_IN_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:.*\p{L}.*?(?:[\s…_·-]|\.\.))?(?P<n>\d{1,3}(?:[.,]\d{1,2})?)$")
        .expect("a constant pattern")
});

/// `Sides 4.5 each`, `Sides, all 4.5`
static NUMBER_FOR_ALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\p{L}[\s,:–—-]+(\d{1,3}(?:[.,]\d{1,2})?)(?:\s\p{L}{1,10}\.?)?$")
        .expect("a constant pattern")
});

/// The number that a text ends in.
static LAST_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s…_·-])(?P<n>\d{1,3}(?:[.,]\d{1,2})?)\s*$").expect("a constant pattern")
});

/// The word that a text ends in.
static LAST_SIZE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\s\p{L}{3,10}\s*$").expect("a constant pattern"));

/// A number in the middle that something else follows.
static NUMBER_BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\p{L}\s\d{1,3}(?:[.,]\d{1,2})?\s?(?:[/+|·;]|[,.])\s").expect("a constant pattern")
});

/// The volume that a text ends in: `0,4 l`.
static LAST_VOLUME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\s\d{1,3}(?:[.,/]\d{1,3})?\s?(?:l|cl|dl|ml|oz|g|gr|kg|cm)\s*$")
        .expect("a constant pattern")
});

/// More numbers of one line are not read.
const NUMBERS_MAX: usize = 6;

words! {
/// Before an old price.
OLD: "neuf, neuwert, neupreis, new price, nuevo:, was, rrp, statt, instead of, avant, antes, prima, invece di, zamiast, fore, fruher, vorher, uvp, msrp, normally, ancien prix, au lieu de, en lugar de, w promocji z, byla, puvodne, puvodni cena, for:, rekommenderat pris, regulier, eerder, pvp, precio anterior, statt:, anstatt, anstelle von, compare at, barre, in place of, worth, valued at, wert, im wert von, d'une valeur de, por valor de, con valor de, del valore di, ter waarde van, w wartosci, o wartosci, v hodnote, till ett varde av, til en vaerdi af, no valor de, de:" }

words! {
/// A sentence with one of these before its price names no price of a thing.
NO_PRICE: "late pick-up, late pickup, late collection, late return, late returns, late drop-off, lost card, lost ticket, lost keys, overdue, returned cheque, verspatet*, spatabholung, verlorene, verlust der, retard, perte de, ritardo, atraso, te laat, forsinket, mahnung, bearbeitungsgebuhr bei, strafgebuhr, penalty, penalites, penalty fee, fine of, reimbursement, zuruckerstattet, refundable, remboursable, payments of, instalments of, installments of, klarna, paypal, raten zu, en 3 fois, en 4 fois, rate da, plazos de, late fee, late payment, paid late, zu spat, te laat, sen betalning, forsent, for sent, en retard, in ritardo, com atraso, paminnelse*, reminder fee, mahngebuhr, lost key, verlust, verloren*, perda, perte, perdita, smarrimento, boete, bote, mora, pfand, pant, depot, cauzione, caucao, ausfallgebuhr, ausfall, missed appointment*, bokningsavgift, buchungsgebuhr, booking fee, frais de dossier, pedidos, bestellungen, commandes, ordini, bestellingen, zamowien*, bestallningar, objednavek, highest price, hoogste prijs, hochste preis, hochster preis, prix le plus eleve, precio mas alto, prezzo massimo, hogsta pris, najwyzsza cena, deposit, deposits, anzahlung, kaution, caution, acompte, arrhes, caparra, acconto, fianza, senal, voorschot, forskud, handpenning, anticipo, zadatek, zadatku, zaliczka, kaucja, kaucji, depositum, deposition, zaloha, kauce, borg, aanbetaling, sinal de, save, saves, saved, sparen, gespart, economisez, ahorra, ahorre, risparmi, bespaar, oszczedz, discount, rabatt, remise, descuento, sconto, korting, rabat, sleva, desconto, minimum, minimum spend, minimum order, min. order, mindestbestellwert, mindestumsatz, mindestverzehr, minimo, ordine minimo, pedido minimo, minimumbestelling, minimalne zamowienie, orders over, ab einem, ab einkauf, bestellwert, warenwert, einkaufswert, a partir d'un, free delivery, free shipping, shipping, versand, versandkosten*, versandkostenfrei, lieferung, liefergebuhr, delivery, livraison, frais de port, envio, envios, gastos de envio, spedizione, spedizioni, verzending, verzendkosten, bezorgkosten, wysylka, dostawa, frakt, fragt, doprava, doprave, frete, postage, p&p, pan y servicio, pan y cubierto, servicio de mesa, servicio al tavolo, coperto, cover charge, gratuity, service charge, corkage, cards accepted, card payment*, kartenzahlung, ec-karte, cb a partir, carte bancaire, bonifico, tarjeta a partir, pagos con tarjeta, platba kartou, preisgeld, raffle, gewonnen, gewinn, donation, donations, donated, spende, spenden, raised, turnover, umsatz, chiffre d'affaires, fatturato, revenue, stammkapital, capital social, au capital, excess, selbstbehalt, selbstbeteiligung, insured up to, bussgeld, strafe, amende, multa, late fee, cancellation, cancellations, absage, absagen, storno, stornogebuhr, annulation, no-show, no show, salary, gehalt, lohn, salaire, cleaning charge, kurtaxe, taxe de sejour, city tax, tourist tax, tassa di soggiorno, ortstaxe, toeristenbelasting, refund, cashback, guthaben, im schnitt, durchschnittlich, on average, spent, payments over, payments under, hundesteuer, for example, beispiel, par exemple, por ejemplo, ad esempio, z.b., e.g., np., competitor*, elsewhere, anderswo, ailleurs, previously, not ours, vous economisez, members saved, mitglieder sparen, choisissez le montant, choose an amount, el importe lo eliges" }

words! {
/// Right before a number, these make it a threshold.
THRESHOLD: "nad, ponad, over de, a partir d'un achat de, over, above, uber, plus de, dela de, oltre, boven, powyzej, mas de, acima de, more than, mehr als, up to, bis zu, jusqu'a, hasta, fino a, az do, max, under, unter, moins de, menos de, meno di, ponizej, dès, worth" }

words! { NO_PRICE_AFTER: "supplement, suplemento, supplemento, toeslag, doplata, tillagg, tillaeg, priplatek, extra charge, boete, borg, pfand, depot, cauzione, caucao, bokningsavgift, ausfallgebuhr, zuschlag, korting, off, discount, rabatt, de remise, de reduction, descuento, sconto, korting, rabat, slevy, aufpreis, zuschlag, surcharge, deposit, anzahlung, kaution, preisgeld, prize, minimum, mindestbestellwert, cheaper, less, gunstiger, guenstiger, moins cher, saved, gespart, geschenkt, turnover, umsatz, raised, donated, gespendet, in the raffle, sparen, von uns, fine, aufschlag, trinkgeld, tip, parken, parking, worth of, guthaben, credit, d'achat, d'achats, de compra, di spesa, bestellwert, warenwert, einkaufswert, einkauf, versand, versandkosten, shipping, delivery fee, lieferkosten, porto, spend, billiger" }

words! { NO_PRICE_BELOW: "liefergebiet, liefergebiete, liefergebieten, lieferzone, lieferzonen, lieferbedingungen, liefergebuhr, liefergebuhren, mindestbestellwert, mindestbestellwerte, minimum order, minimum orders, minimum de commande, pedido minimo, ordine minimo, zonas de reparto, zona de reparto, gastos de reparto, zone di consegna, consegna a domicilio, consegne a domicilio, bezorggebied, bezorggebieden, bezorgkosten, dowoz, rozvoz, leveringsomrade, leveringsomrader, utkorning, zonas de entrega, taxa de entrega, shipping, delivery, deliveries, versand, versandkosten, lieferung, lieferkosten, livraison, livraisons, envio, envios, gastos de envio, spedizione, spedizioni, verzending, bezorging, bezorgen, wysylka, dostawa, frakt, fragt, doprava, entregas, frete, old fee*, old price*, old rate*, old menu, old tariff*, no longer valid, no longer offered, no longer available, previous prices, last year, alte preise, alte preisliste, nicht mehr gultig, anciens tarifs, ancien tarif, anciens prix, precios antiguos, vecchi prezzi, vecchio listino, oude prijzen, stary cennik, gamla priser, gamle priser, stary cenik, precos antigos, expired, deposits, cancellation, cancellations, stornierung, terms, conditions, bonus" }

/// Quotation marks around fewer words are those of a name.
const QUOTED_WORDS: usize = 4;

/// How far a word that changes a price's meaning may stand before it.
const NEAR_CHARS: usize = 26;
