//! The table that a crawl fills: created if it is missing, read for known pages, written in
//! batches.
//!
//! A page has one row. A new page is appended. An existing row is updated: a response replaces its
//! content, a 304 makes it fresh, and a failed refetch never deletes content. Columns that are not
//! ours do not change.

use std::collections::{BTreeSet, HashSet};
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_crawl::LeftPage;
use curtsy_engine::Row;
use curtsy_sink::{ColumnGroup, Facts, RowChange, Rules};

use crate::crawling::{HeldPage, HeldPages};
use crate::duck::{Argument, Chunk, DuckConnection, OwnedChunk, SqlError, TableName, Type, quoted};
use crate::table::{COLUMNS, PageLine, write};
use crate::tray::Insert;

/// The table of the URLs in sitemaps, beside the table of pages.
const LISTED: &str = "curtsy_sitemap_urls";
const LISTED_COLUMNS: [(&str, Type); 6] = [
    ("url", Type::Varchar),
    ("sitemap", Type::Varchar),
    ("lastmod", Type::Timestamp),
    ("changefreq", Type::Varchar),
    ("priority", Type::Double),
    ("seen_at", Type::Timestamp),
];
/// The tries of a batch that conflicts with another crawl, and the wait between two tries.
const TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(10);
/// The number of staging tables so far. They are temporary tables of the session, which may have
/// several crawls.
static STAGES: AtomicU64 = AtomicU64::new(0);

/// A table of pages.
pub(crate) struct PagesTable {
    name: TableName,
    db: DuckConnection,
    /// The INSERT of new rows, once there are any.
    insert: Option<Insert>,
    /// The columns of ours that the table has, as indexes in [`COLUMNS`].
    columns: Vec<usize>,
    /// Pages that have a row.
    rows: HashSet<UrlKey>,
    /// Pages whose row this crawl has written.
    fresh: HashSet<UrlKey>,
    chunk: OwnedChunk,
    /// The staging table for changed rows, once there are any.
    stage: Option<String>,
    /// Whether the table of the URLs in sitemaps exists.
    listed: bool,
}

impl Drop for PagesTable {
    fn drop(&mut self) {
        if let Some(stage) = &self.stage {
            // If this fails, the table ends with its session.
            let _ = self.db.run(&format!("DROP TABLE IF EXISTS temp.main.{stage}"));
        }
    }
}

/// Rows of one batch, by what is done with them.
#[derive(Default)]
struct SortedRows<'r> {
    sitemaps: Vec<&'r Row>,
    /// Pages without a row.
    new: Vec<Arc<Row>>,
    /// Pages with a row, and how the row changes.
    changed: Vec<(RowChange, &'r Row)>,
}

/// The numbers of rows that were written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
}

impl AddAssign for Written {
    fn add_assign(&mut self, more: Written) {
        self.inserted += more.inserted;
        self.updated += more.updated;
    }
}

impl PagesTable {
    /// Opens a table, or creates it with our columns.
    pub(crate) fn open(name: TableName, db: DuckConnection) -> Result<PagesTable, SqlError> {
        let shown = name.quoted();
        if name.is_read_only {
            return Err(SqlError::from(format!(
                "the database of {shown} can't be written: it is attached read-only"
            )));
        }
        if name.is_view {
            return Err(SqlError::from(format!("{shown} is a view\nhint: crawl into a table")));
        }
        if !name.exists {
            let columns: Vec<String> = (0..COLUMNS.len())
                .map(|at| match COLUMNS[at].0 {
                    // DuckDB would compress the same bodies again at each checkpoint, which takes
                    // longer than the whole crawl.
                    "body" => format!("{} USING COMPRESSION uncompressed", column_sql(at)),
                    _ => column_sql(at),
                })
                .collect();
            let sql = format!("CREATE TABLE IF NOT EXISTS {shown} ({})", columns.join(", "));
            patiently(|| db.run(&sql))?;
        }
        let columns = columns_of(&db, &name)?;
        let kinds: Vec<Type> = columns.iter().map(|at| COLUMNS[*at].1).collect();
        let chunk = OwnedChunk::new(&kinds)?;
        let (rows, fresh, insert, stage) = (HashSet::new(), HashSet::new(), None, None);
        Ok(PagesTable { name, db, insert, columns, rows, fresh, chunk, stage, listed: false })
    }

    /// Returns the pages that need not be requested, and the pages that may have changed.
    pub(crate) fn held(
        &mut self,
        update_stale: bool,
    ) -> Result<(Vec<UrlKey>, HeldPages), SqlError> {
        let has = |name: &str| self.columns.iter().any(|at| COLUMNS[*at].0 == name);
        let column = |name: &str| if has(name) { name.to_owned() } else { "NULL".to_owned() };
        let sql = format!(
            "SELECT url, {} AS status, {} AS at, {} AS etag, {} AS modified FROM {}",
            column("http_status"),
            column("crawl_time"),
            column("etag"),
            column("last_modified"),
            self.name.quoted(),
        );
        let knows_status = has("http_status");
        let (mut known, mut held) = (Vec::new(), HeldPages::new());
        let rows = &mut self.rows;
        self.db.for_each(&sql, |batch, line| {
            let Some(url) = url(batch.text(0, line)?) else { return Ok(()) };
            let key = url.key();
            rows.insert(key);
            let status = batch.value(1, line)?.as_integer();
            // A page whose failure may be temporary is requested again.
            let ended = match status {
                Some(status) => status < 500 && status != 429,
                None => !knows_status,
            };
            let is_good = status.is_none_or(|status| (200..300).contains(&status));
            if ended && !update_stale {
                known.push(key);
            } else if ended && is_good {
                let text = |value: Argument| value.as_text().map(str::to_owned);
                let at = match batch.value(2, line)? {
                    Argument::Timestamp(micros) => u64::try_from(micros).ok(),
                    _ => None,
                };
                let crawl_time = at.map(Time::from_micros);
                let etag = text(batch.value(3, line)?);
                let last_modified = text(batch.value(4, line)?);
                held.insert(key, HeldPage { crawl_time, etag, last_modified });
            }
            Ok(())
        })?;
        Ok((known, held))
    }

    /// Returns the URLs of the table on these hosts, for a crawl that refetches pages that may have
    /// changed.
    pub(crate) fn urls_on(&self, hosts: &HashSet<String>) -> Result<Vec<CrawlUrl>, SqlError> {
        let mut urls = Vec::new();
        self.db.for_each(&format!("SELECT url FROM {}", self.name.quoted()), |batch, line| {
            let url = url(batch.text(0, line)?);
            urls.extend(url.filter(|url| hosts.contains(url.host().as_str())));
            Ok(())
        })?;
        Ok(urls)
    }

    /// Writes a batch as one transaction.
    pub(crate) fn write(
        &mut self,
        rows: &[Arc<Row>],
        rules: &mut Rules,
    ) -> Result<Written, SqlError> {
        let pages = || rows.iter().filter(|row| row.kind == AskKind::Page).map(|row| row.id);
        let new: HashSet<UrlKey> = pages().filter(|id| !self.rows.contains(id)).collect();
        let told: HashSet<UrlKey> = pages().filter(|id| !self.fresh.contains(id)).collect();
        let (stage, listed) = (self.stage.clone(), self.listed);
        patiently(|| {
            let written = self.write_once(rows, rules);
            if written.is_err() {
                // Nothing of it was written.
                self.rows.retain(|id| !new.contains(id));
                self.fresh.retain(|id| !told.contains(id));
                (self.stage, self.listed) = (stage.clone(), listed);
            }
            written
        })
    }

    fn write_once(&mut self, rows: &[Arc<Row>], rules: &mut Rules) -> Result<Written, SqlError> {
        let batch = self.sort(rows);
        if batch.sitemaps.is_empty() && batch.changed.is_empty() {
            // The rest is one statement, which is a transaction of its own.
            return self.write_all(batch, rules);
        }
        self.db.run("BEGIN TRANSACTION")?;
        match self.write_all(batch, rules) {
            Ok(written) => {
                self.db.run("COMMIT")?;
                Ok(written)
            }
            Err(fault) => {
                // The first error is reported.
                let _ = self.db.run("ROLLBACK");
                Err(fault)
            }
        }
    }

    /// Sorts rows by what is done with them.
    fn sort<'r>(&mut self, rows: &'r [Arc<Row>]) -> SortedRows<'r> {
        let mut batch = SortedRows::default();
        for row in rows {
            match row.kind {
                AskKind::Sitemap => batch.sitemaps.push(row),
                AskKind::Page if self.rows.insert(row.id) => {
                    self.fresh.insert(row.id);
                    batch.new.push(Arc::clone(row));
                }
                AskKind::Page => match Facts::of(row).news {
                    RowChange::Cached => {}
                    // Several workers may report the same refusal: one row is enough.
                    RowChange::Nothing if !self.fresh.insert(row.id) => {}
                    news => batch.changed.push((news, row)),
                },
                AskKind::RobotsHop | AskKind::Rules | AskKind::Check => {}
            }
        }
        batch
    }

    fn write_all(&mut self, batch: SortedRows<'_>, rules: &mut Rules) -> Result<Written, SqlError> {
        let SortedRows { sitemaps, new, changed } = batch;
        let written = Written { inserted: new.len() as u64, updated: changed.len() as u64 };
        for row in sitemaps {
            self.write_listed(row)?;
        }
        if !new.is_empty() {
            self.insert(new, rules)?;
        }
        for news in [RowChange::Answer, RowChange::Confirmed, RowChange::Failed, RowChange::Nothing]
        {
            let mut of = changed.iter().filter(|(brings, _)| *brings == news).peekable();
            if of.peek().is_some() {
                let stage = self.stage()?;
                self.append(of.map(|(_, row)| PageLine::Row(row)), rules, Some(&stage))?;
                self.update(news, &stage)?;
            }
        }
        Ok(written)
    }

    fn insert(&mut self, rows: Vec<Arc<Row>>, rules: &mut Rules) -> Result<(), SqlError> {
        let insert = match &mut self.insert {
            Some(insert) => insert,
            none => none.insert(Insert::prepare(&self.db, &self.name.quoted(), &self.columns)?),
        };
        insert.run(rows, rules)
    }

    /// Writes a row for each text that is not a URL.
    pub(crate) fn write_malformed(&mut self, texts: &[String]) -> Result<Written, SqlError> {
        let mut new: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
        if new.is_empty() {
            return Ok(Written::default());
        }
        let list = new.iter().map(|text| quoted_text(text)).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT url FROM {} WHERE url IN ({list})", self.name.quoted());
        self.db.for_each(&sql, |batch, line| {
            batch.text(0, line)?.map(|text| new.remove(text));
            Ok(())
        })?;
        let mut rules = Rules::new(None);
        self.append(new.iter().map(|text| PageLine::Malformed(text)), &mut rules, None)?;
        Ok(Written { inserted: new.len() as u64, updated: 0 })
    }

    /// Writes rows for pages that must wait too long. An existing row keeps its content.
    pub(crate) fn write_left(&mut self, left: &[LeftPage]) -> Result<Written, SqlError> {
        let (mut new, mut there) = (Vec::new(), Vec::new());
        for page in left {
            if self.rows.insert(page.url.key()) { new.push(page) } else { there.push(page) }
        }
        let mut rules = Rules::new(None);
        self.append(new.iter().map(|page| PageLine::Left(page)), &mut rules, None)?;
        if !there.is_empty() {
            let stage = self.stage()?;
            self.append(there.iter().map(|page| PageLine::Left(page)), &mut rules, Some(&stage))?;
            self.update(RowChange::Nothing, &stage)?;
        }
        Ok(Written { inserted: new.len() as u64, updated: there.len() as u64 })
    }

    /// Returns the URLs that the table's pages link to.
    pub(crate) fn links(&self) -> Result<Vec<CrawlUrl>, SqlError> {
        if !self.columns.iter().any(|at| COLUMNS[*at].0 == "links") {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT DISTINCT unnest(links) FROM {}", self.name.quoted());
        let mut urls = Vec::new();
        self.db.for_each(&sql, |batch, line| {
            urls.extend(url(batch.text(0, line)?));
            Ok(())
        })?;
        Ok(urls)
    }

    fn append<'p>(
        &mut self,
        pages: impl Iterator<Item = PageLine<'p>>,
        rules: &mut Rules,
        stage: Option<&str>,
    ) -> Result<(), SqlError> {
        let names: Vec<&str> = self.columns.iter().map(|at| COLUMNS[*at].0).collect();
        let mut pages = pages.peekable();
        while pages.peek().is_some() {
            self.chunk.reset().fill(pages.by_ref(), |out, line, page| {
                write(out, line, &self.columns, &page, rules);
            });
            let TableName { catalog, schema, table, .. } = &self.name;
            let (catalog, schema, table) = match stage {
                Some(stage) => ("temp", "main", stage),
                None => (catalog.as_str(), schema.as_str(), table.as_str()),
            };
            self.db.append(Some(catalog), Some(schema), table, &names, &self.chunk)?;
        }
        Ok(())
    }

    /// Returns the staging table for changed rows.
    fn stage(&mut self) -> Result<String, SqlError> {
        if let Some(stage) = &self.stage {
            return Ok(stage.clone());
        }
        let stage = format!("curtsy_changes_{}", STAGES.fetch_add(1, Ordering::Relaxed));
        let columns: Vec<String> = self.columns.iter().map(|at| column_sql(*at)).collect();
        self.db.run(&format!("CREATE TEMP TABLE {stage} ({})", columns.join(", ")))?;
        self.stage = Some(stage.clone());
        Ok(stage)
    }

    /// Copies the staged values into the existing rows.
    fn update(&self, news: RowChange, stage: &str) -> Result<(), SqlError> {
        let set = self.columns.iter().filter_map(|at| change(*at, news));
        let set: Vec<String> = set.collect();
        if !set.is_empty() {
            let target = self.name.quoted();
            self.db.run(&format!(
                "UPDATE {target} AS t SET {} FROM temp.main.{stage} AS n WHERE t.url = n.url",
                set.join(", ")
            ))?;
        }
        self.db.run(&format!("DELETE FROM temp.main.{stage}"))
    }

    /// Writes the URLs that a sitemap lists.
    fn write_listed(&mut self, row: &Row) -> Result<(), SqlError> {
        let Some(sitemap) = row.page.as_deref().and_then(|page| page.document.sitemap.as_ref())
        else {
            return Ok(());
        };
        let TableName { catalog, schema, .. } = &self.name;
        let name = format!("{}.{}.{LISTED}", quoted(catalog), quoted(schema));
        if !self.listed {
            let columns = LISTED_COLUMNS.iter().map(|(c, kind)| format!("{c} {}", kind.sql()));
            let columns = columns.collect::<Vec<_>>().join(", ");
            self.db.run(&format!("CREATE TABLE IF NOT EXISTS {name} ({columns})"))?;
            self.listed = true;
        }
        let from = row.final_url.as_str();
        self.db.run(&format!("DELETE FROM {name} WHERE sitemap = {}", quoted_text(from)))?;
        let kinds: Vec<Type> = LISTED_COLUMNS.iter().map(|(_, kind)| *kind).collect();
        let names: Vec<&str> = LISTED_COLUMNS.iter().map(|(name, _)| *name).collect();
        let mut chunk = OwnedChunk::new(&kinds)?;
        let seen_at = i64::try_from(row.at.micros()).unwrap_or(i64::MAX);
        let mut entries = sitemap.entries.iter().peekable();
        while entries.peek().is_some() {
            chunk.reset().fill(entries.by_ref(), |out, line, entry| {
                out.text(0, line, entry.url.as_str());
                out.text(1, line, from);
                let modified = entry.modified_ms.map(|ms| ms.saturating_mul(1000));
                out.or_null(2, line, modified, Chunk::timestamp);
                out.or_null(3, line, entry.change.map(|change| change.name()), Chunk::text);
                out.or_null(4, line, entry.priority.map(f64::from), Chunk::double);
                out.timestamp(5, line, seen_at);
            });
            self.db.append(Some(catalog), Some(schema), LISTED, &names, &chunk)?;
        }
        Ok(())
    }
}

/// Repeats a transaction while it conflicts with another crawl of the same database: their
/// transactions are short.
fn patiently<T>(mut work: impl FnMut() -> Result<T, SqlError>) -> Result<T, SqlError> {
    let mut tries = 1;
    loop {
        match work() {
            // DuckDB's messages: "Catalog write-write conflict", "Conflict on tuple deletion",
            // "Transaction conflict".
            Err(fault) if tries < TRIES && fault.0.to_lowercase().contains("conflict") => {
                std::thread::sleep(TRY_AGAIN);
                tries += 1;
            }
            done => return done,
        }
    }
}

/// Returns the columns of ours that a table has. A column with our name and another type is an
/// error.
fn columns_of(db: &DuckConnection, name: &TableName) -> Result<Vec<usize>, SqlError> {
    let sql = format!(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = {} AND schema_name = {} AND table_name = {}",
        quoted_text(&name.catalog),
        quoted_text(&name.schema),
        quoted_text(&name.table),
    );
    let (mut columns, mut wrong) = (Vec::new(), Vec::new());
    db.for_each(&sql, |batch, line| {
        let (Some(column), Some(kind)) = (batch.text(0, line)?, batch.text(1, line)?) else {
            return Ok(());
        };
        if let Some(at) = COLUMNS.iter().position(|(ours, _)| ours.eq_ignore_ascii_case(column)) {
            let expected = COLUMNS[at].1.sql();
            match expected == kind {
                true => columns.push(at),
                false => wrong.push(format!("`{column}` is {kind}, expected {expected}")),
            }
        }
        Ok(())
    })?;
    columns.sort_unstable();
    let shown = name.quoted();
    if !wrong.is_empty() {
        return Err(SqlError::from(format!(
            "{shown} can't hold what a crawl finds: {}\nhint: crawl into a new table, or change the type with ALTER TABLE",
            wrong.join(", ")
        )));
    }
    if columns.first() != Some(&0) {
        return Err(SqlError::from(format!(
            "{shown} has no column `url VARCHAR`, so it is no table of pages\nhint: crawl into a new table"
        )));
    }
    Ok(columns)
}

fn url(text: Option<&str>) -> Option<CrawlUrl> {
    text.and_then(|text| CrawlUrl::parse(text).ok())
}

fn column_sql(at: usize) -> String {
    format!("{} {}", COLUMNS[at].0, COLUMNS[at].1.sql())
}

/// Returns the assignment that updates a column of an existing row.
fn change(at: usize, news: RowChange) -> Option<String> {
    let name = COLUMNS[at].0;
    let group = curtsy_sink::COLUMNS.iter().find(|column| column.name == name)?.group;
    let new = || Some(format!("{name} = n.{name}"));
    let unless_null = || Some(format!("{name} = coalesce(n.{name}, t.{name})"));
    match (news, group) {
        (_, ColumnGroup::Url) => None,
        (_, ColumnGroup::Decision) | (RowChange::Answer, _) => new(),
        (RowChange::Failed, ColumnGroup::Outcome) => new(),
        (RowChange::Nothing, ColumnGroup::Outcome) if name == "error" => new(),
        (RowChange::Confirmed, ColumnGroup::Fresh) => unless_null(),
        (RowChange::Confirmed, _) if matches!(name, "crawl_time" | "fetched_at") => new(),
        (RowChange::Confirmed, _) if name == "error" => Some("error = NULL".to_owned()),
        _ => None,
    }
}

/// Returns a text as a SQL literal.
pub(crate) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
