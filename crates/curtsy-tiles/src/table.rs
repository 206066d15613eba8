//! Reads tables of prices: rows with names and prices, rows that head a section, columns of periods
//! or plans.

use crate::money::{self, Currency, Period, Price};
use crate::naming::{clean_name, is_measure, is_name};
use crate::plain::{fold, plain};
use crate::priced::{ITEMS_MAX, PriceFinder, PricedItem, section};
use crate::site::SitePage;
use crate::tile::Via;
use crate::words::{
    AGES, AREA_HEAD, BILLED, DELIVERY_HEAD, FOR_ALL, GENERIC_HEAD, MINIMUM_HEAD, OTHER_NUMBERS,
    PER_PIECE, PRICE_HEAD, PRICE_NOTE, SIZE_HEAD, patterns,
};

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
    if is_layout(page, &grid) {
        return;
    }
    let Some(fees) = delivery_columns(&grid) else {
        finder.used[page.lines.inside(tree, table)].fill(true);
        return;
    };
    for row in &mut grid {
        for (_, cell) in row.iter_mut().enumerate().filter(|(at, _)| fees.contains(at)) {
            cell.prices.clear();
            cell.numbers.clear();
        }
    }
    let caption = tree.inside(table).find(|&at| tree.name(at) == "caption");
    let caption = caption.map(|at| fold(&page.text(at))).unwrap_or_default();
    take_bare_numbers(finder, &mut grid, &caption);
    let priced_rows = grid.iter().filter(|row| is_priced(row)).count();
    if priced_rows == 0 {
        return;
    }
    let names = name_column(&grid);
    let items_before = finder.items.len();
    let mut reader = RowReader {
        names,
        sized: sized_heading(finder, table, &grid, names),
        has_unpriced_names: priced_rows >= 2,
        finder,
        caption,
        heads: Vec::new(),
        all_heads: Vec::new(),
        section: None,
        after_prices: false,
        last_named: None,
        common_price: Vec::new(),
    };
    grid.iter().for_each(|row| reader.row(row));
    // A table that gave no item is layout: its lines may still be read as text.
    if finder.items.len() > items_before {
        finder.used[page.lines.inside(tree, table)].fill(true);
    }
}

/// Whether a table only arranges a page: such tables have cells with much text in them.
fn is_layout(page: &SitePage<'_>, grid: &[Vec<TableCell>]) -> bool {
    let has_heading = |cell: &TableCell| {
        let mut lines = page.lines.all[cell.lines.clone()].iter();
        lines.any(|line| (1..=6).contains(&line.level)) && cell.lines.len() > 2
    };
    grid.iter().flatten().any(|cell| {
        cell.lines.len() > CELL_LINES_MAX
            || cell.text.chars().count() > CELL_CHARS_MAX
            || has_heading(cell)
    })
}

fn is_priced(row: &[TableCell]) -> bool {
    row.iter().any(|cell| !cell.prices.is_empty())
}

/// Reads the rows of a table from top to bottom.
struct RowReader<'r, 'f, 'p> {
    finder: &'r mut PriceFinder<'f, 'p>,
    /// The column that names what the prices are for.
    names: usize,
    /// The heading over the table, if the rows only name its sizes.
    sized: Option<String>,
    /// Whether a row without a price among the others names an item.
    has_unpriced_names: bool,
    caption: String,
    /// The last row of heads, one text for each column.
    heads: Vec<String>,
    /// The folded texts of all rows of heads since the last prices, joined for each column.
    all_heads: Vec<String>,
    /// The section that a row of the table has named.
    section: Option<String>,
    /// Whether a row with prices has been read since the last row of heads.
    after_prices: bool,
    /// The cell that named the last priced row.
    last_named: Option<TableCell>,
    /// `Wraps, all £7.20`: the price of each row below.
    common_price: Vec<(Price, Period)>,
}

impl RowReader<'_, '_, '_> {
    fn row(&mut self, row: &[TableCell]) {
        let filled: Vec<&TableCell> = row.iter().filter(|cell| !cell.text.is_empty()).collect();
        let only =
            filled.first().filter(|first| filled.iter().all(|cell| cell.lines == first.lines));
        if is_priced(row) {
            self.common_price.clear();
        }
        if let Some((name, prices)) = only.and_then(|only| price_for_all(only)) {
            self.section = Some(name);
            self.common_price = prices;
        } else if is_priced(row) {
            self.priced_row(row);
        } else {
            self.last_named = None;
            match (only, filled.as_slice()) {
                (Some(only), _) => self.single_cell(only),
                (None, [first, rest @ ..]) => self.unpriced_row(row, first, rest),
                (None, []) => {}
            }
        }
    }

    /// A row of one text without a price: items at the common price, or a section.
    fn single_cell(&mut self, cell: &TableCell) {
        if !self.common_price.is_empty() && !cell.strong {
            for line in cell.lines.clone() {
                let name = clean_name(&self.finder.page.lines.all[line].text);
                self.push(line, name, None, self.common_price.clone());
            }
        } else if cell.text.chars().count() <= 80 {
            self.section = Some(cell.text.trim_end_matches(':').to_owned());
        }
    }

    /// A row of several texts without a price: heads, or an item such as `Turbot | market price`.
    fn unpriced_row(&mut self, row: &[TableCell], first: &TableCell, rest: &[&TableCell]) {
        if self.is_row_of_heads(row, rest) {
            if std::mem::take(&mut self.after_prices) {
                self.all_heads.clear();
            }
            self.heads = row.iter().map(|cell| head_of(self.finder, cell)).collect();
            self.all_heads.resize(self.all_heads.len().max(row.len()), String::new());
            for (all, cell) in self.all_heads.iter_mut().zip(row) {
                all.push(' ');
                all.push_str(&fold(&cell.text));
            }
            let is_leftmost = row.first().is_some_and(|cell| !cell.text.is_empty());
            if is_leftmost && names_section(first, rest) {
                self.section = Some(first.text.clone());
            }
        } else if self.has_unpriced_names
            && let Some(named) = row.get(self.names).filter(|cell| cell.has_letters())
        {
            let (name, description) = name_of(self.finder, named);
            self.push(named.lines.start, name, description, Vec::new());
        }
    }

    fn is_row_of_heads(&self, row: &[TableCell], rest: &[&TableCell]) -> bool {
        // The same heads again, over another section.
        let are_same = row.len() == self.heads.len()
            && row.iter().zip(&self.heads).skip(1).all(|(cell, head)| cell.text == *head);
        let is_size =
            |cell: &&TableCell| is_measure(&cell.text) || SIZE_HEAD.are(&fold(&cell.text));
        let are_sizes = rest.iter().all(is_size)
            && self.heads.iter().skip(1).all(|head| is_measure(head))
            && rest.iter().any(|cell| cell.text.chars().any(char::is_alphanumeric));
        row.iter().all(TableCell::is_heading)
            || are_same
            || self.heads.is_empty() && !self.after_prices
            || are_sizes
    }

    fn priced_row(&mut self, row: &[TableCell]) {
        if !self.after_prices && self.plans_in_heads(row) {
            self.heads = row.iter().map(|cell| head_of(self.finder, cell)).collect();
            return;
        }
        self.after_prices = true;
        if is_transposed(row, &self.heads) {
            self.prices_of_plans(row);
        } else if !self.pairs(row) {
            self.named_row(row);
        }
    }

    /// Plans side by side, each with its price in the head.
    fn plans_in_heads(&mut self, row: &[TableCell]) -> bool {
        let is_plan =
            |cell: &&TableCell| !cell.prices.is_empty() && cell.has_letters() && cell.is_heading();
        if row.iter().filter(is_plan).count() < 2 || !row.iter().all(TableCell::is_heading) {
            return false;
        }
        for cell in row.iter().filter(is_plan) {
            let first = &self.finder.page.lines.all[cell.lines.start];
            let end = first.prices.first().map_or(first.text.len(), |price| price.at.start);
            let name = clean_name(&first.text[..end]);
            push(self.finder, cell.lines.start, name, None, cell.prices.clone(), None);
        }
        true
    }

    /// `Price | £9 | £19` below the names of plans.
    fn prices_of_plans(&mut self, row: &[TableCell]) {
        let of_row = head_period(&fold(&row[0].text)).unwrap_or(Period::Once);
        for (cell, head) in row.iter().zip(&self.heads).skip(1) {
            let Some((price, period)) = cell.prices.first().cloned() else { continue };
            let period = if period == Period::Once { of_row } else { period };
            let price = vec![(price, period)];
            push(self.finder, cell.lines.start, clean_name(head), None, price, None);
        }
    }

    /// A row with two or more names, each with a price after it.
    fn pairs(&mut self, row: &[TableCell]) -> bool {
        let filled: Vec<&TableCell> = row.iter().filter(|cell| !cell.text.is_empty()).collect();
        let alternates = filled.len() >= 4
            && filled.len().is_multiple_of(2)
            && filled.chunks(2).all(|two| {
                // `Squid | 4.50 | – | 9.00`: a dash is no name.
                two[0].prices.is_empty() && two[0].has_letters() && !two[1].prices.is_empty()
            });
        for two in filled.chunks(2).filter(|_| alternates) {
            let (name, description) = name_of(self.finder, two[0]);
            self.push(two[0].lines.start, name, description, two[1].prices.clone());
        }
        alternates
    }

    /// A name and its prices. A row without a name is another size of the item above.
    fn named_row(&mut self, row: &[TableCell]) {
        let can_name = |cell: &&TableCell| cell.prices.is_empty() && cell.has_letters();
        let is_more = |cell: &&TableCell| can_name(cell) && !is_measure(&cell.text);
        let own = row.get(self.names);
        let above =
            || self.last_named.clone().filter(|_| own.is_none_or(|cell| cell.text.is_empty()));
        let named = own.filter(can_name).or_else(|| row.iter().find(is_more)).cloned();
        let Some(named) = named.or_else(above) else { return };
        self.last_named = Some(named.clone());
        let (name, description) = match &self.sized {
            Some(heading) => (heading.clone(), Some(named.text.clone())),
            None => name_of(self.finder, &named),
        };
        if !is_name(&name) || is_days(self.finder, &name) {
            return;
        }
        let between: Vec<&str> = row
            .iter()
            .filter(|cell| cell.prices.is_empty() && cell.lines != named.lines)
            .map(|cell| cell.text.as_str())
            .filter(|text| !text.is_empty())
            .collect();
        let description = description.or(Some(between.join(", ")).filter(|text| !text.is_empty()));
        self.push(named.lines.start, name, description, self.prices_of_row(row));
    }

    /// The prices of a row, each with the period that its cell, column, row or table states.
    fn prices_of_row(&self, row: &[TableCell]) -> Vec<(Price, Period)> {
        let mut without_price = row.iter().filter(|cell| cell.prices.is_empty());
        let of_row = without_price.find_map(|cell| money::period_alone(&fold(&cell.text)));
        let mut prices: Vec<(Price, Period)> = Vec::new();
        let mut last = 0..0;
        for (place, cell) in row.iter().enumerate() {
            if cell.lines == last {
                continue;
            }
            last = cell.lines.clone();
            let of_column = self.all_heads.get(place).and_then(|head| head_period(head));
            for (price, period) in &cell.prices {
                let own = Some(*period).filter(|period| *period != Period::Once);
                let period = own.or(of_column).or(of_row).or_else(|| self.period_of_table());
                prices.push((price.clone(), period.unwrap_or(Period::Once)));
            }
        }
        prices
    }

    /// `Prices in euro per night`, over the names or over the table.
    fn period_of_table(&self) -> Option<Period> {
        let head = self.all_heads.get(self.names).map(String::as_str).unwrap_or_default();
        let stated = |text: &str| PRICE_HEAD.are_in(text).then(|| money::period(text)).flatten();
        stated(head).or_else(|| stated(&self.caption))
    }

    fn push(
        &mut self,
        line: usize,
        name: String,
        description: Option<String>,
        prices: Vec<(Price, Period)>,
    ) {
        push(self.finder, line, name, description, prices, self.section.clone());
    }
}

/// Whether the first of a row's heads names a section: `Starters | small | large`.
fn names_section(first: &TableCell, rest: &[&TableCell]) -> bool {
    let own = fold(&first.text);
    first.has_letters()
        && !GENERIC_HEAD.are_in(&own)
        && !PRICE_HEAD.are_in(&own)
        && rest.iter().all(|cell| {
            let folded = fold(&cell.text);
            let is_short = cell.text.chars().count() <= 10 && !PRICE_HEAD.are_in(&folded);
            !AGES.are(&folded) && (SIZE_HEAD.are_in(&folded) || is_short)
        })
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

/// The columns of minimum orders and fees for delivery; `None` if the whole table is about
/// delivery.
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

/// Makes prices of bare numbers in columns whose head names a price, if a note says so, or of
/// decimals.
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

/// The column of names: the first of words that are no weekdays or measures, and mostly different.
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

/// The heading right over a table whose rows name only sizes of what the heading names.
fn sized_heading(
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

fn push(
    finder: &mut PriceFinder<'_, '_>,
    line: usize,
    name: String,
    description: Option<String>,
    prices: Vec<(Price, Period)>,
    own_section: Option<String>,
) {
    if finder.items.len() >= ITEMS_MAX || !is_name(&name) {
        return;
    }
    let section =
        own_section.or_else(|| section(finder.page, line, &name)).map(|text| plain(&text, 120));
    let text = prices
        .first()
        .map_or_else(|| name.clone(), |(price, _)| format!("{name} {}", price.amount));
    let description = description.map(|text| plain(&text, 300));
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

/// The numbers of a cell without other text: `4.50`, `24.00 per year`, `1 pc. 4.00 / 2 pcs. 7.00`.
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

patterns! {
    DECIMALS: r"^\d{1,4}[.,]\d\d$";
}

/// The most rows of a table that are read.
pub(crate) const ROWS_MAX: usize = 600;
/// A cell goes on in no more rows.
const SPAN_MAX: usize = 60;
/// The most cells of a row that are read.
pub(crate) const COLUMNS_MAX: usize = 30;
/// The most lines of a cell of a list of prices.
const CELL_LINES_MAX: usize = 6;
/// A cell of a list of prices is no longer.
const CELL_CHARS_MAX: usize = 260;
/// A cell that is a price has no more letters beside it: `from`, `per person`.
const REST_LETTERS_MAX: usize = 24;
/// The most tables of a page that are read.
pub(crate) const TABLES_MAX: usize = 200;
