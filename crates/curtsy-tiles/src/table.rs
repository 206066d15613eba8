//! What do tables of prices say? Rows with a name and prices, rows that head a section, columns that are periods or plans.

use std::sync::LazyLock;

use regex::Regex;

use crate::dishes::FOR_ALL;
use crate::entry::AGES;
use crate::money::{self, Currency, Period, Price};
use crate::naming::{clean_name, is_measure, is_name};
use crate::plain::{fold, plain, words};
use crate::priced::{ITEMS_MAX, PriceFinder, PricedItem, section};
use crate::tile::Via;

/// Reads all tables of a page that are lists of prices; their lines are then spoken for.
pub(crate) fn find(finder: &mut PriceFinder<'_, '_>) {
    let tree = &finder.page.tree;
    let tables: Vec<usize> = tree.all("table").filter(|&at| !tree.node(at).hidden).collect();
    for table in tables.into_iter().take(TABLES_MAX) {
        let is_inner =
            !finder.page.tree.inside(table).any(|at| finder.page.tree.name(at) == "table");
        if is_inner {
            read(finder, table);
        }
    }
}

/// A cell of a table.
#[derive(Clone)]
struct TableCell {
    /// Its lines' numbers.
    lines: std::ops::Range<usize>,
    text: String,
    head: bool,
    /// Whether the whole cell is bold.
    strong: bool,
    /// How many columns it takes.
    columns: usize,
    /// It goes on from a row above.
    from_above: bool,
    /// Prices, if it is nothing but them.
    prices: Vec<(Price, Period)>,
    /// The numbers that it is, without a currency, and the period beside each.
    numbers: Vec<(String, Period)>,
}

impl TableCell {
    fn has_letters(&self) -> bool {
        self.text.chars().filter(|c| c.is_alphabetic()).count() >= 2
    }

    fn is_heading(&self) -> bool {
        self.text.is_empty() || self.head || self.strong
    }
}

fn read(finder: &mut PriceFinder<'_, '_>, table: usize) {
    let page = finder.page;
    let tree = &page.tree;
    let rows: Vec<usize> = tree
        .inside(table)
        .filter(|&at| tree.name(at) == "tr" && !tree.node(at).hidden)
        .take(ROWS_MAX)
        .collect();
    let mut grid = grid(finder, &rows);
    // A table for layout has cells with much in them.
    let is_layout = grid.iter().flatten().any(|cell| {
        cell.lines.len() > CELL_LINES_MAX
            || cell.text.chars().count() > CELL_CHARS_MAX
            || page.lines.all[cell.lines.clone()]
                .iter()
                .any(|line| (1..=6).contains(&line.level) && cell.lines.len() > 2)
    });
    if is_layout {
        return;
    }
    let Some(delivered) = delivery_columns(&grid) else {
        for line in page.lines.inside(tree, table) {
            finder.used[line] = true;
        }
        return;
    };
    for row in &mut grid {
        for (at, cell) in row.iter_mut().enumerate().filter(|(at, _)| delivered.contains(at)) {
            debug_assert!(at > 0, "the first column is none of fees");
            cell.prices.clear();
            cell.numbers.clear();
        }
    }
    let caption = tree.inside(table).find(|&at| tree.name(at) == "caption");
    let caption = caption.map(|at| fold(&page.text(at))).unwrap_or_default();
    take_bare_numbers(finder, &mut grid, &caption);
    let is_priced = |row: &[TableCell]| row.iter().any(|cell| !cell.prices.is_empty());
    let priced_rows = grid.iter().filter(|row| is_priced(row)).count();
    if priced_rows == 0 {
        return;
    }
    let names = name_column(&grid);
    let measured = measured(finder, table, &grid, names);
    let items_before = finder.items.len();
    let mut heads: Vec<String> = Vec::new();
    // What all rows of heads since the last prices say of a column.
    let mut over: Vec<String> = Vec::new();
    let mut own_section: Option<String> = None;
    let mut after_prices = false;
    let mut last_named: Option<TableCell> = None;
    // `Wraps, all £7.20`: the price of the rows below.
    let mut for_all: Vec<(Price, Period)> = Vec::new();
    for row in &grid {
        let filled: Vec<&TableCell> = row.iter().filter(|cell| !cell.text.is_empty()).collect();
        let distinct = filled.iter().filter(|cell| cell.lines != filled[0].lines).count();
        if is_priced(row) {
            for_all.clear();
        }
        if let [first, ..] = filled.as_slice()
            && distinct == 0
            && let Some((name, prices)) = price_for_all(first)
        {
            own_section = Some(name);
            for_all = prices;
            continue;
        }
        if !is_priced(row) {
            last_named = None;
            match filled.as_slice() {
                [] => {}
                [first, ..] if distinct == 0 && !for_all.is_empty() && !first.strong => {
                    for line in first.lines.clone() {
                        let name = clean_name(&page.lines.all[line].text);
                        if is_name(&name) {
                            let prices = for_all.clone();
                            push(finder, line, name, None, prices, own_section.clone());
                        }
                    }
                }
                [first, ..] if distinct == 0 => {
                    if first.text.chars().count() <= 80 {
                        own_section = Some(first.text.trim_end_matches(':').to_owned());
                    }
                }
                [first, rest @ ..] => {
                    let are_sizes = rest
                        .iter()
                        .all(|cell| is_measure(&cell.text) || SIZE_HEAD.are(&fold(&cell.text)));
                    // The same heads again, over another section.
                    let are_same = row.len() == heads.len()
                        && row.iter().zip(&heads).skip(1).all(|(cell, head)| cell.text == *head);
                    if row.iter().all(TableCell::is_heading)
                        || are_same
                        || heads.is_empty() && !after_prices
                        || are_sizes
                            && heads.iter().skip(1).all(|head| is_measure(head))
                            && rest.iter().any(|cell| cell.text.chars().any(char::is_alphanumeric))
                    {
                        if std::mem::take(&mut after_prices) {
                            over.clear();
                        }
                        heads = row.iter().map(|cell| head_of(finder, cell)).collect();
                        over.resize(over.len().max(row.len()), String::new());
                        for (all, cell) in over.iter_mut().zip(row) {
                            all.push(' ');
                            all.push_str(&fold(&cell.text));
                        }
                        if first.has_letters()
                            && !rest.iter().any(|cell| AGES.are(&fold(&cell.text)))
                            && !GENERIC_HEAD.are_in(&fold(&first.text))
                            && !PRICE_HEAD.are_in(&fold(&first.text))
                            && !row.first().is_none_or(|cell| cell.text.is_empty())
                            && rest.iter().all(|cell| {
                                SIZE_HEAD.are_in(&fold(&cell.text))
                                    || (cell.text.chars().count() <= 10
                                        && !PRICE_HEAD.are_in(&fold(&cell.text)))
                            })
                        {
                            own_section = Some(first.text.clone());
                        }
                    } else if priced_rows >= 2
                        && let Some(named) = row.get(names).filter(|cell| cell.has_letters())
                    {
                        // `Turbot | market price`
                        let (name, description) = name_of(finder, named);
                        if is_name(&name) {
                            let line = named.lines.start;
                            push(finder, line, name, description, Vec::new(), own_section.clone());
                        }
                    }
                }
            }
            continue;
        }
        // Plans side by side, each with its price in the head.
        let is_head =
            |cell: &&TableCell| !cell.prices.is_empty() && cell.has_letters() && cell.is_heading();
        if !after_prices
            && row.iter().filter(is_head).count() >= 2
            && row.iter().all(TableCell::is_heading)
        {
            for cell in row.iter().filter(is_head) {
                let first = &page.lines.all[cell.lines.start];
                let end = first.prices.first().map_or(first.text.len(), |price| price.at.start);
                let name = clean_name(&first.text[..end]);
                if is_name(&name) {
                    push(finder, cell.lines.start, name, None, cell.prices.clone(), None);
                }
            }
            heads = row.iter().map(|cell| head_of(finder, cell)).collect();
            continue;
        }
        after_prices = true;
        if is_transposed(row, &heads) {
            let label = fold(&row[0].text);
            for (cell, head) in row.iter().zip(&heads).skip(1) {
                let name = clean_name(head);
                if cell.prices.is_empty() || !is_name(&name) {
                    continue;
                }
                let prices = cell
                    .prices
                    .iter()
                    .take(1)
                    .map(|(price, period)| {
                        (
                            price.clone(),
                            if *period == Period::Once {
                                head_period(&label).unwrap_or(Period::Once)
                            } else {
                                *period
                            },
                        )
                    })
                    .collect();
                push(finder, cell.lines.start, name, None, prices, None);
            }
            continue;
        }
        if read_pairs(finder, row, own_section.as_ref()) {
            continue;
        }
        let can_name = |cell: &&TableCell| cell.prices.is_empty() && cell.has_letters();
        let is_more = |cell: &&TableCell| can_name(cell) && !is_measure(&cell.text);
        // A row without a name is another size of the item above.
        let above =
            last_named.clone().filter(|_| row.get(names).is_none_or(|cell| cell.text.is_empty()));
        let named = row.get(names).filter(can_name).or_else(|| row.iter().find(is_more)).cloned();
        let Some(named) = named.or(above) else { continue };
        let named = &named;
        last_named = Some(named.clone());
        let (name, description) = match &measured {
            Some(heading) => (heading.clone(), Some(named.text.clone())),
            None => name_of(finder, named),
        };
        if !is_name(&name) || is_days(finder, &name) {
            continue;
        }
        let in_row = row
            .iter()
            .filter(|cell| cell.prices.is_empty())
            .find_map(|cell| money::period_alone(&fold(&cell.text)));
        // `Prices in euro per night`, over the names or over the table.
        let of_table = || {
            let head = over.get(names).map(String::as_str).unwrap_or_default();
            let says = |text: &str| PRICE_HEAD.are_in(text).then(|| money::period(text)).flatten();
            says(head).or_else(|| says(&caption))
        };
        let mut prices: Vec<(Price, Period)> = Vec::new();
        let mut last = 0..0;
        for (place, cell) in row.iter().enumerate() {
            if cell.lines == last {
                continue;
            }
            last = cell.lines.clone();
            let by_head = over.get(place).and_then(|head| head_period(head));
            for (price, period) in &cell.prices {
                let said = Some(*period).filter(|period| *period != Period::Once);
                let period = said.or(by_head).or(in_row).or_else(of_table);
                prices.push((price.clone(), period.unwrap_or(Period::Once)));
            }
        }
        let between: Vec<&str> = row
            .iter()
            .filter(|cell| {
                cell.prices.is_empty() && cell.lines != named.lines && !cell.text.is_empty()
            })
            .map(|cell| cell.text.as_str())
            .collect();
        let description = description.or(Some(between.join(", ")).filter(|text| !text.is_empty()));
        let line = named.lines.start;
        push(finder, line, name, description, prices, own_section.clone());
    }
    // A table for layout names nothing beside its prices.
    if finder.items.len() == items_before {
        return;
    }
    for line in page.lines.inside(tree, table) {
        finder.used[line] = true;
    }
}

/// `Wraps, all £7.20`, `Sides - all 3.95`: what the rows below are, and what each of them costs.
fn price_for_all(cell: &TableCell) -> Option<(String, Vec<(Price, Period)>)> {
    let (before, last) = cell.text.rsplit_once(' ')?;
    let amount = || {
        let amount = money::bare_amount(last).filter(|_| DECIMALS.is_match(last))?;
        Some((Price { amount, currency: Currency::Unsaid, at: 0..0 }, Period::Once))
    };
    let price = match cell.prices.as_slice() {
        [price] => price.clone(),
        [] => amount()?,
        _ => return None,
    };
    let end = FOR_ALL.find(&fold(before)).filter(|_| before.is_ascii())?;
    let name = clean_name(&before[..end]);
    is_name(&name).then(|| (name, vec![price]))
}

/// A table's cells, each in every row and column that it takes.
fn grid(finder: &PriceFinder<'_, '_>, rows: &[usize]) -> Vec<Vec<TableCell>> {
    let tree = &finder.page.tree;
    let span = |cell: usize, name: &str| {
        tree.attribute(cell, name).and_then(|span| span.trim().parse::<usize>().ok()).unwrap_or(1)
    };
    let mut grid: Vec<Vec<TableCell>> = Vec::new();
    // Cells of rows above that go on, by column: how many rows are left.
    let mut open: Vec<Option<(usize, TableCell)>> = Vec::new();
    for &row in rows {
        let mut own: Vec<TableCell> = Vec::new();
        let go_on = |own: &mut Vec<TableCell>, open: &mut Vec<Option<(usize, TableCell)>>| {
            while let Some(slot) = open.get_mut(own.len())
                && let Some((left, cell)) = slot
            {
                own.push(TableCell { from_above: true, ..cell.clone() });
                *left -= 1;
                if *left == 0 {
                    *slot = None;
                }
            }
        };
        let cells = tree
            .children(row)
            .filter(|&at| matches!(tree.name(at), "td" | "th") && !tree.node(at).hidden)
            .take(COLUMNS_MAX);
        for at in cells {
            go_on(&mut own, &mut open);
            let columns = span(at, "colspan").clamp(1, COLUMNS_MAX);
            let down = span(at, "rowspan").clamp(1, SPAN_MAX);
            let cell = TableCell { columns, ..read_cell(finder, at) };
            for _ in 0..columns {
                if own.len() >= COLUMNS_MAX {
                    break;
                }
                if down > 1 {
                    open.resize(open.len().max(own.len() + 1), None);
                    open[own.len()] = Some((down - 1, cell.clone()));
                }
                own.push(cell.clone());
            }
        }
        go_on(&mut own, &mut open);
        grid.push(own);
    }
    grid
}

/// The columns that say from which sum on, and for what fee, something is delivered; none if all of the table is about that.
fn delivery_columns(grid: &[Vec<TableCell>]) -> Option<Vec<usize>> {
    let Some(heads) = grid.first().filter(|row| row.iter().all(|cell| cell.prices.is_empty()))
    else {
        return Some(Vec::new());
    };
    let is_about = |cell: &TableCell| {
        cell.text.chars().count() <= 40 && DELIVERY_HEAD.are_in(&fold(&cell.text))
    };
    // `Area | Minimum | Fee`
    let is_by_area = heads.first().is_some_and(|cell| AREA_HEAD.are(&fold(&cell.text)))
        && heads.iter().any(|cell| is_about(cell) || MINIMUM_HEAD.begin(&fold(&cell.text)));
    if is_by_area {
        return None;
    }
    let columns: Vec<usize> = (0..heads.len()).filter(|&at| is_about(&heads[at])).collect();
    let has_other = grid[1..].iter().any(|row| {
        let mut others = row.iter().enumerate().filter(|(at, _)| !columns.contains(at));
        others.any(|(_, cell)| !cell.prices.is_empty() || !cell.numbers.is_empty())
    });
    (columns.is_empty() || has_other && !columns.contains(&0)).then_some(columns)
}

/// Bare numbers become prices in columns of them whose head names a price, or where a note does for all; decimals also without that.
fn take_bare_numbers(finder: &PriceFinder<'_, '_>, grid: &mut [Vec<TableCell>], caption: &str) {
    let page = finder.page;
    let width = grid.iter().map(Vec::len).max().unwrap_or(0);
    let has_signs = grid.iter().flatten().any(|cell| !cell.prices.is_empty());
    let names_price = |cell: &TableCell| {
        let folded = fold(&cell.text);
        cell.numbers.is_empty()
            && cell.prices.is_empty()
            && (PRICE_HEAD.are_in(&folded)
                || cell.text.contains(['€', '£', '$'])
                    && !cell.text.contains(|c: char| c.is_ascii_digit()))
    };
    let first_row = grid.iter().find(|row| row.len() > 1).map(Vec::as_slice).unwrap_or_default();
    let noted = PRICE_NOTE.are_in(caption)
        || PRICE_HEAD.are_in(caption)
        || first_row.first().is_some_and(|cell| PRICE_NOTE.are_in(&fold(&cell.text)))
        || page.lines.all.iter().any(|line| PRICE_NOTE.are_in(&line.folded));
    // Plans side by side have numbers of all kinds below their prices.
    let is_comparison = grid.iter().enumerate().any(|(at, row)| {
        let signed = row.iter().skip(1).filter(|cell| !cell.prices.is_empty()).count();
        let label = row.first().map(|cell| fold(&cell.text)).unwrap_or_default();
        signed >= 2 && labels_price(&label) && (at > 0 || row.iter().all(TableCell::is_heading))
    });
    if is_comparison {
        return;
    }
    for column in 0..width {
        // A name that takes several columns stands in the first of them.
        let is_first = |row: &&Vec<TableCell>| {
            column == 0
                || row.get(column - 1).is_none_or(|before| {
                    row.get(column).is_none_or(|cell| {
                        before.lines != cell.lines || cell.columns < 2 || cell.lines.is_empty()
                    })
                })
        };
        let cells = || grid.iter().filter(is_first).filter_map(|row| row.get(column));
        let by_head =
            column > 0 && cells().take_while(|cell| cell.numbers.is_empty()).any(names_price);
        let is_filled = |cell: &&TableCell| {
            cell.text.chars().any(char::is_alphanumeric)
                && !cell.is_heading()
                && cell.columns <= width / 2 + 1
                || !cell.numbers.is_empty()
        };
        let filled = cells().filter(is_filled).count();
        let numbers = cells().filter(|cell| !cell.numbers.is_empty()).count();
        let has_cents =
            |cell: &&TableCell| cell.numbers.iter().any(|(amount, _)| DECIMALS.is_match(amount));
        let decimals = cells().filter(has_cents).count();
        let signed = cells().filter(|cell| !cell.prices.is_empty() && !cell.head).count();
        let is_mostly = 3 * (numbers + signed) >= 2 * filled && numbers > 0 && column > 0;
        let is_sized = || {
            let mut heads = cells().take_while(|cell| cell.numbers.is_empty());
            heads.any(|cell| cell.has_letters() && is_measure(&cell.text))
                && page.lines.all.iter().any(|line| !line.prices.is_empty())
        };
        // `ABV`, `kcal`, `serves`: numbers of other kinds.
        let counts_else = cells()
            .take_while(|cell| cell.numbers.is_empty())
            .any(|cell| OTHER_NUMBERS.are(fold(&cell.text).trim_end_matches(['.', ':', ' '])));
        let is_price = is_mostly
            && !counts_else
            && (by_head
                || numbers > 1 && !has_signs && is_sized()
                || signed >= numbers
                || 2 * decimals >= numbers && (decimals > 1 || noted)
                || !has_signs && (noted || page.topic == crate::topic::Topic::Menu));
        if !is_price {
            continue;
        }
        for cell in grid.iter_mut().filter_map(|row| row.get_mut(column)) {
            if !cell.prices.is_empty() {
                continue;
            }
            for (amount, period) in cell.numbers.clone() {
                let price = Price { amount, currency: Currency::Unsaid, at: 0..0 };
                cell.prices.push((price, period));
            }
        }
    }
}

/// The column that names what a row's prices are for: the first of words that are neither weekdays nor measures, nor mostly the same.
fn name_column(grid: &[Vec<TableCell>]) -> usize {
    let width = grid.iter().map(Vec::len).max().unwrap_or(0);
    let priced = || grid.iter().filter(|row| row.iter().any(|cell| !cell.prices.is_empty()));
    let rows = priced().count();
    let mut first = None;
    for column in 0..width {
        let cells: Vec<&TableCell> = priced()
            .filter_map(|row| row.get(column))
            .filter(|cell| cell.prices.is_empty() && cell.has_letters())
            .collect();
        if 2 * cells.len() < rows {
            continue;
        }
        first = first.or(Some(column));
        let is_odd = |cell: &&&TableCell| {
            is_measure(&cell.text)
                || crate::clock::day(fold(&cell.text).trim_end_matches('.')).is_some()
        };
        let odd = cells.iter().filter(is_odd).count();
        let mut texts: Vec<&str> = cells.iter().map(|cell| cell.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let above = cells.iter().filter(|cell| cell.from_above).count();
        if 2 * odd < cells.len() && (above == 0 && 2 * texts.len() > cells.len()) {
            return column;
        }
    }
    first.unwrap_or(0)
}

/// What the sizes of a table are sizes of, if its rows name nothing else: the heading right over it.
fn measured(
    finder: &PriceFinder<'_, '_>,
    table: usize,
    grid: &[Vec<TableCell>],
    names: usize,
) -> Option<String> {
    let lines = &finder.page.lines;
    let first = lines.inside(&finder.page.tree, table).start;
    let heading =
        lines.all.get(first)?.heading.filter(|heading| {
            (2..=6).contains(&lines.all[*heading].level) && first - heading <= 3
        })?;
    let mut rows = grid
        .iter()
        .filter(|row| row.iter().any(|cell| !cell.prices.is_empty()))
        .filter_map(|row| row.get(names));
    let is_size = |cell: &TableCell| {
        let name = cell.text.split('(').next().unwrap_or_default();
        cell.has_letters() && is_measure(name)
    };
    let name = clean_name(&lines.all[heading].text);
    (rows.clone().count() >= 2 && rows.all(is_size) && is_name(&name)).then_some(name)
}

/// A row with two or more names, each with a price after it.
fn read_pairs(
    finder: &mut PriceFinder<'_, '_>,
    row: &[TableCell],
    own_section: Option<&String>,
) -> bool {
    let filled: Vec<&TableCell> = row.iter().filter(|cell| !cell.text.is_empty()).collect();
    let alternates = filled.len() >= 4
        && filled.len().is_multiple_of(2)
        && filled.chunks(2).all(|two| {
            // `Squid | 4.50 | – | 9.00`: a dash is no name.
            two[0].prices.is_empty() && two[0].has_letters() && !two[1].prices.is_empty()
        });
    if !alternates {
        return false;
    }
    for two in filled.chunks(2) {
        let (name, description) = name_of(finder, two[0]);
        if is_name(&name) {
            push(
                finder,
                two[0].lines.start,
                name,
                description,
                two[1].prices.clone(),
                own_section.cloned(),
            );
        }
    }
    true
}

fn push(
    finder: &mut PriceFinder<'_, '_>,
    line: usize,
    name: String,
    description: Option<String>,
    prices: Vec<(Price, Period)>,
    own_section: Option<String>,
) {
    let section =
        own_section.or_else(|| section(finder.page, line, &name)).map(|text| plain(&text, 120));
    let text = prices
        .first()
        .map_or_else(|| name.clone(), |(price, _)| format!("{name} {}", price.amount));
    let description = description.map(|text| plain(&text, 300));
    if finder.items.len() >= ITEMS_MAX {
        return;
    }
    finder.items.push(PricedItem {
        name,
        description,
        prices,
        section,
        line,
        line_last: line,
        via: Via::Table,
        text,
    });
}

fn read_cell(finder: &PriceFinder<'_, '_>, cell: usize) -> TableCell {
    let page = finder.page;
    let lines = page.lines.inside(&page.tree, cell);
    let own = &page.lines.all[lines.clone()];
    let text =
        own.iter().map(|line| line.unstruck(0..line.text.len())).collect::<Vec<_>>().join(" ");
    let text = plain(&text, 400);
    let mut prices = Vec::new();
    for line in lines.clone() {
        let tags = &finder.tags[line];
        let own = &page.lines.all[line].text;
        let rest: String = rest_of(own, &page.lines.all[line].prices);
        if !tags.is_empty()
            && rest.chars().filter(|c| c.is_alphabetic()).count() <= REST_LETTERS_MAX
        {
            prices.extend(finder.with_periods(line, tags));
        }
    }
    let head = page.tree.name(cell) == "th";
    // A sum that is part of a name is no price: `Sale up to £300,000`.
    let numbers = if prices.is_empty() && lines.len() == 1 && !head {
        numbers_of(text.trim_start_matches(['+', ' ']))
    } else {
        Vec::new()
    };
    let strong = !lines.is_empty() && own.iter().all(|line| line.is_all(|style| style.strong));
    TableCell { lines, text, head, strong, columns: 1, from_above: false, prices, numbers }
}

/// Whether a name is nothing but days: what stands beside it are hours.
fn is_days(finder: &PriceFinder<'_, '_>, name: &str) -> bool {
    let language = finder.page.language();
    let read = crate::hours::read(name, language, crate::hours::WaitingDays::default());
    read.has_days && read.strange == 0
}

/// The numbers of a cell that is nothing but them: `4.50`, `24.00 per year`, `1 pc. 4.00 / 2 pcs. 7.00`.
fn numbers_of(text: &str) -> Vec<(String, Period)> {
    let sized: Option<Vec<_>> = text.split('/').map(number_of_size).collect();
    if let Some(sized) = sized.filter(|sized| sized.len() > 1 || text.starts_with("add ")) {
        return sized;
    }
    money::bare_amount(text)
        .or_else(|| text.split('/').next().and_then(money::bare_amount))
        .map(|amount| (amount, Period::Once))
        .or_else(|| number_and_measure(text))
        .into_iter()
        .collect()
}

/// `2 pcs. 7.00`: an amount to the cent after nothing but a size.
fn number_of_size(part: &str) -> Option<(String, Period)> {
    let (size, number) = part.trim().rsplit_once(' ').unwrap_or(("", part.trim()));
    let size = size.strip_prefix("add").unwrap_or(size);
    let amount = money::bare_amount(number).filter(|_| DECIMALS.is_match(number))?;
    is_measure(size).then_some((amount, Period::Once))
}

/// `24.00 per year`: a number and nothing but a measure after it.
fn number_and_measure(text: &str) -> Option<(String, Period)> {
    let (number, measure) = text.split_once(' ')?;
    let amount = money::bare_amount(number).filter(|_| DECIMALS.is_match(number))?;
    let letters = measure.chars().filter(|c| c.is_alphabetic()).count();
    let folded = fold(measure);
    let period = money::period_alone(&folded);
    (letters > 0 && is_measure(measure) && (period.is_some() || PER_PIECE.begin(&folded)))
        .then(|| (amount, period.unwrap_or(Period::Once)))
}

/// A text without its prices and the small words beside them.
fn rest_of(text: &str, prices: &[Price]) -> String {
    let mut rest = String::new();
    let mut from = 0;
    for price in prices {
        rest.push_str(&text[from..price.at.start]);
        from = price.at.end;
    }
    rest.push_str(&text[from..]);
    rest
}

/// Plans side by side: the first cell says "price", the heads name the plans.
fn is_transposed(row: &[TableCell], heads: &[String]) -> bool {
    let priced = row.iter().skip(1).filter(|cell| !cell.prices.is_empty()).count();
    let named = heads.iter().skip(1).filter(|head| head.chars().any(char::is_alphabetic)).count();
    let label = row.first().map(|cell| fold(&cell.text)).unwrap_or_default();
    let heads_are_names = heads.iter().skip(1).all(|head| {
        head_period(&fold(head)).is_none()
            && !SIZE_HEAD.are_in(&fold(head))
            && !GENERIC_HEAD.are_in(&fold(head))
            && !is_measure(head)
            && !AGES.are(&fold(head))
    });
    priced >= 2 && named >= 2 && heads_are_names && labels_price(&label)
}

/// Whether a row's first cell says that prices follow, and no more: `Price`, `Monthly`, nothing.
fn labels_price(label: &str) -> bool {
    let is_period = || is_measure(label) || BILLED.begin(label);
    label.is_empty() || PRICE_HEAD.are_in(label) || head_period(label).is_some() && is_period()
}

fn head_period(folded: &str) -> Option<Period> {
    money::period(folded).or_else(|| money::period(&format!("/{}", folded.trim())))
}

/// A head without what is said in small print beside it.
fn head_of(finder: &PriceFinder<'_, '_>, cell: &TableCell) -> String {
    let Some(first) = finder.page.lines.all[cell.lines.clone()].first() else {
        return cell.text.clone();
    };
    match first.pieces.iter().find(|piece| piece.style.aside) {
        Some(aside) if aside.at.start > 2 => first.text[..aside.at.start].trim().to_owned(),
        _ => cell.text.clone(),
    }
}

/// The name in a cell, and what is said below it.
fn name_of(finder: &PriceFinder<'_, '_>, cell: &TableCell) -> (String, Option<String>) {
    let lines = &finder.page.lines.all[cell.lines.clone()];
    let Some(first) = lines.first() else { return (clean_name(&cell.text), None) };
    let rest = lines[1..].iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
    match first.lead() {
        Some(lead) => {
            let after = first.text[first.text.find(lead).unwrap_or(0) + lead.len()..].trim();
            (
                clean_name(lead),
                Some(format!("{after} {rest}").trim().to_owned()).filter(|text| !text.is_empty()),
            )
        }
        None => {
            // Words in small print at the end of the line are no part of the name.
            let end = first
                .pieces
                .iter()
                .take_while(|piece| !piece.style.aside)
                .last()
                .map_or(first.text.len(), |piece| piece.at.end);
            (clean_name(&first.text[..end]), Some(rest).filter(|text| !text.is_empty()))
        }
    }
}

static DECIMALS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\d{1,4}[.,]\d\d$").expect("a constant pattern"));

words! {
/// Heads of columns of minimum orders and fees for delivery.
DELIVERY_HEAD: "delivery area, delivery areas, delivery zone, delivery fee, delivery charge, delivery, minimum order, min. order, min order, minimum spend, liefergebiet, lieferzone, lieferkosten, liefergebuhr, lieferung, anfahrtskosten, mindestbestellwert, mindestbestellung, mbw, zone de livraison, livraison, frais de livraison, minimum de commande, commande minimum, zona de reparto, reparto, gastos de envio, pedido minimo, zona di consegna, consegna, costo consegna, ordine minimo, minimo d'ordine, bezorggebied, bezorgkosten, bezorging, minimumbestelling, minimale bestelling, dostawa, koszt dostawy, minimalne zamowienie, leverans, levering, leveringsgebyr, minstekjop, minimum ordre, doprava, rozvoz, minimalni objednavka, entrega, taxa de entrega, shipping, versand, versandkosten" }
words! { AREA_HEAD: "area, areas, zone, zones, postcode, postcodes, zip, zip code, town, district, where, stadtteil, ort, orte, ortsteil, bezirk, plz, gebiet, quartier, commune, code postal, zona, zonas, barrio, comune, quartiere, cap, wijk, plaats, gebied, dzielnica, strefa, omrade, stadsdel, bydel, ctvrt, bairro" }
words! { MINIMUM_HEAD: "minimum, min, min., mindest*, minimo, minimale, minimalne, minimalni" }
words! { PRICE_HEAD: "price, prices, fee, fees, cost, rate, rates, charges, tariffs, preis, preise, prix, tarif, tarifs, tarife, precio, precios, prezzo, prezzi, prijs, prijzen, cena, ceny, pris, priser, preco, precos, hinta, eur, euro, chf, pln, zl, kc, gbp, usd, kr, sek, nok, dkk, brl, tariffa, tarifa, monthly, amount, betrag, kosten, charge" }
words! { BILLED: "billed, paid, per, pro, par, por, if, when, bei, zahlung, facturation, pago, fatturazione, bij, betalt" }
words! { PER_PIECE: "once, each, per, pro, par, por, je, pr, pr., pp, p.p, einmalig, st, stk, pc, szt, za" }
words! { PRICE_NOTE: "prices in euro, prices in*, preise in euro, preise in eur, preise in chf, preise in*, alle preise in*, all prices in*, prix en euros, prix en*, precios en euros, precios en*, prezzi in euro, prezzi in*, prijzen in euro, prijzen in*, ceny w zl, ceny w zlotych, ceny w pln, ceny v kc, ceny jsou v kc, priser i kr*, priser i kronor, priser i danske*, ceny podane w*, ceny uvedeny v*, precos em*" }
words! { OTHER_NUMBERS: "abv, abv %, alc, alc %, % alc, alk, alk %, alkohol, alcohol, %, % vol, vol, vol %, vol. %, ibu, ebc, plato, kcal, kj, calories, cal, serves, persons, people, personen, pers, persone, personas, personnes, pieces, stuck, size, weight, gewicht, poids, peso, waga, vekt, year, vintage, jahrgang, millesime, annata, anada, stammwurze" }
words! { GENERIC_HEAD: "nr, no, nummer, numero, articulo, articulos, articolo, article, articles, artykul, artigo, vare, varor, zbozi, producto, produit, produkt, prodotto, produto, treatment, treatments, service, services, item, name, product, plan, leistung, leistungen, behandlung, artikel, bezeichnung, prestation, prestations, soin, designation, servicio, concepto, tratamiento, servizio, trattamento, prodotto, dienst, behandeling, omschrijving, usluga, zabieg, nazwa, behandling, tjanst, ydelse, sluzba, ukon, nazev, palvelu, course, kurs, cours, room, zimmer, chambre, ticket, what, was, description, type, car, vehicle, class, category, feature, features, duration, time, dauer, duree, zeit, min, minutes, seats, length, price, preis, prix, precio, prezzo, prijs, cena, pris, fee" }
words! { SIZE_HEAD: "small, large, medium, regular, klein, gross, mittel, petit, grand, moyen, pequeno, grande, mediano, piccolo, media, kleine, groot, mala, duza, srednia, liten, stor, mellan, lille, velka, half, whole, glass, bottle, glas, flasche, verre, bouteille, copa, botella, calice, bottiglia, fles, bolee, pint, single, double, cl, ml, l, oz, pinte, demi, 1/2, takeaway, eat in, portion, piece, stuck, media racion, racion, tapa" }

/// More rows of a table are not read.
pub(crate) const ROWS_MAX: usize = 600;
/// A cell goes on in no more rows.
const SPAN_MAX: usize = 60;
/// More cells of a row are not read.
pub(crate) const COLUMNS_MAX: usize = 30;
/// A cell of a list of prices has no more lines.
const CELL_LINES_MAX: usize = 6;
/// A cell of a list of prices is no longer.
const CELL_CHARS_MAX: usize = 260;
/// A cell that is a price has no more letters beside it: `from`, `per person`.
const REST_LETTERS_MAX: usize = 24;
/// More tables of a page are not read.
pub(crate) const TABLES_MAX: usize = 200;
