//! The table that a crawl fills: made if it is not there, read for what it holds, written in batches.
//!
//! A page has one row. A new one is appended; one that is there is changed in place by what the crawl brings: an answer replaces it,
//! the word of the site that nothing changed (304) makes it fresh, and what brought no answer takes none away. Columns that are not ours
//! are left alone.

use std::collections::{BTreeSet, HashSet};
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_crawl::Left;
use curtsy_engine::Row;
use curtsy_sink::{Facts, Group, News, Rules};

use crate::crawling::{Held, HeldPage};
use crate::duck::{
    Argument, Chunk, Connection, Fault, OwnedChunk, Target as TableName, Type, quoted,
};
use crate::table::{COLUMNS, Page, write};
use crate::tray::Insert;

/// The table of what sitemaps list, beside the table of pages.
const LISTED: &str = "curtsy_sitemap_urls";
/// Its columns.
const LISTED_COLUMNS: [(&str, Type); 6] = [
    ("url", Type::Varchar),
    ("sitemap", Type::Varchar),
    ("lastmod", Type::Timestamp),
    ("changefreq", Type::Varchar),
    ("priority", Type::Double),
    ("seen_at", Type::Timestamp),
];
/// How often a batch is tried that another crawl is in the way of, and how soon again.
const TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(10);
/// Tables of changes so far: they lie with the temporary tables of the session, whose other crawls have their own.
static STAGES: AtomicU64 = AtomicU64::new(0);

/// A table of pages.
pub(crate) struct Target {
    name: TableName,
    db: Connection,
    /// How new rows are written, once there are any.
    insert: Option<Insert>,
    /// Which of our columns it has, by their places in [`COLUMNS`].
    columns: Vec<usize>,
    /// Pages that have a row.
    rows: HashSet<UrlKey>,
    /// Those of them that this crawl has told of.
    fresh: HashSet<UrlKey>,
    chunk: OwnedChunk,
    /// Where rows lie that change others, once there are any.
    stage: Option<String>,
    /// Whether the table of what sitemaps list is there.
    listed: bool,
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(stage) = &self.stage {
            // At the latest it goes with its session.
            let _ = self.db.run(&format!("DROP TABLE IF EXISTS temp.main.{stage}"));
        }
    }
}

/// Rows that are written together.
#[derive(Default)]
struct Batch<'r> {
    /// Sitemaps that were read.
    sitemaps: Vec<&'r Row>,
    /// Pages that had no row.
    new: Vec<Arc<Row>>,
    /// Pages that had one, and what is brought to it.
    changed: Vec<(News, &'r Row)>,
}

/// How many rows a batch brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// New ones.
    pub(crate) inserted: u64,
    /// Rows that were changed.
    pub(crate) updated: u64,
}

impl AddAssign for Written {
    fn add_assign(&mut self, more: Written) {
        self.inserted += more.inserted;
        self.updated += more.updated;
    }
}

impl Target {
    /// Opens a table, or makes it with our columns.
    pub(crate) fn open(name: TableName, db: Connection) -> Result<Target, Fault> {
        let shown = name.quoted();
        if name.is_read_only {
            return Err(Fault::from(format!(
                "the database of {shown} can't be written: it is attached read-only"
            )));
        }
        if name.is_view {
            return Err(Fault::from(format!("{shown} is a view\nhint: crawl into a table")));
        }
        if !name.exists {
            let columns: Vec<String> = (0..COLUMNS.len())
                .map(|at| match COLUMNS[at].0 {
                    // DuckDB would pack the same bodies anew with each of its checkpoints, which takes more than the whole crawl.
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
        Ok(Target {
            name,
            db,
            insert: None,
            columns,
            rows: HashSet::new(),
            fresh: HashSet::new(),
            chunk,
            stage: None,
            listed: false,
        })
    }

    /// What the table holds: pages that need not be asked for, and pages that may have changed.
    pub(crate) fn held(&mut self, update_stale: bool) -> Result<(Vec<UrlKey>, Held), Fault> {
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
        let (mut known, mut held) = (Vec::new(), Held::new());
        let mut found = self.db.query(&sql)?;
        while let Some(batch) = found.next()? {
            for line in 0..batch.len() {
                let Some(url) = batch.text(0, line)?.and_then(|url| CrawlUrl::parse(url).ok())
                else {
                    continue;
                };
                let key = url.key();
                self.rows.insert(key);
                let status = batch.value(1, line)?.as_integer();
                // A page that failed in a way that may pass is asked for again.
                let ended = match status {
                    Some(status) => status < 500 && status != 429,
                    None => !knows_status,
                };
                if update_stale {
                    let text = |value: Argument| value.as_text().map(str::to_owned);
                    let at = match batch.value(2, line)? {
                        Argument::Timestamp(micros) => u64::try_from(micros).ok(),
                        _ => None,
                    };
                    if ended && status.is_none_or(|status| (200..300).contains(&status)) {
                        held.insert(
                            key,
                            HeldPage {
                                crawl_time: at.map(Time::from_micros),
                                etag: text(batch.value(3, line)?),
                                last_modified: text(batch.value(4, line)?),
                            },
                        );
                    }
                } else if ended {
                    known.push(key);
                }
            }
        }
        Ok((known, held))
    }

    /// The URLs that the table holds on these hosts, for a crawl that asks again for what may have changed.
    pub(crate) fn urls_on(&self, hosts: &HashSet<String>) -> Result<Vec<CrawlUrl>, Fault> {
        let mut urls = Vec::new();
        let mut found = self.db.query(&format!("SELECT url FROM {}", self.name.quoted()))?;
        while let Some(batch) = found.next()? {
            for line in 0..batch.len() {
                let url = batch.text(0, line)?.and_then(|url| CrawlUrl::parse(url).ok());
                urls.extend(url.filter(|url| hosts.contains(url.host().as_str())));
            }
        }
        Ok(urls)
    }

    /// Writes a batch as one transaction.
    pub(crate) fn write(&mut self, rows: &[Arc<Row>], rules: &mut Rules) -> Result<Written, Fault> {
        let pages = || rows.iter().filter(|row| row.kind == AskKind::Page).map(|row| row.id);
        let new: HashSet<UrlKey> = pages().filter(|id| !self.rows.contains(id)).collect();
        let told: HashSet<UrlKey> = pages().filter(|id| !self.fresh.contains(id)).collect();
        let (stage, listed) = (self.stage.clone(), self.listed);
        patiently(|| {
            let written = self.write_once(rows, rules);
            if written.is_err() {
                // None of it was written.
                self.rows.retain(|id| !new.contains(id));
                self.fresh.retain(|id| !told.contains(id));
                (self.stage, self.listed) = (stage.clone(), listed);
            }
            written
        })
    }

    fn write_once(&mut self, rows: &[Arc<Row>], rules: &mut Rules) -> Result<Written, Fault> {
        let batch = self.sort(rows);
        if batch.sitemaps.is_empty() && batch.changed.is_empty() {
            // What is left is one statement: a transaction by itself.
            return self.write_all(batch, rules);
        }
        self.db.run("BEGIN TRANSACTION")?;
        match self.write_all(batch, rules) {
            Ok(written) => {
                self.db.run("COMMIT")?;
                Ok(written)
            }
            Err(fault) => {
                // The first error is the one to tell.
                let _ = self.db.run("ROLLBACK");
                Err(fault)
            }
        }
    }

    /// Sorts rows by what is done with them.
    fn sort<'r>(&mut self, rows: &'r [Arc<Row>]) -> Batch<'r> {
        let mut batch = Batch::default();
        for row in rows {
            match row.kind {
                AskKind::Sitemap => batch.sitemaps.push(row),
                AskKind::Page if self.rows.insert(row.id) => {
                    self.fresh.insert(row.id);
                    batch.new.push(Arc::clone(row));
                }
                AskKind::Page => match Facts::of(row).news {
                    News::Cached => {}
                    // A refusal may be told by each worker that comes to it: once is enough.
                    News::Nothing if !self.fresh.insert(row.id) => {}
                    news => batch.changed.push((news, row)),
                },
                AskKind::RobotsHop | AskKind::Rules | AskKind::Check => {}
            }
        }
        batch
    }

    fn write_all(&mut self, batch: Batch<'_>, rules: &mut Rules) -> Result<Written, Fault> {
        let Batch { sitemaps, new, changed } = batch;
        let written = Written { inserted: new.len() as u64, updated: changed.len() as u64 };
        for row in sitemaps {
            self.write_listed(row)?;
        }
        if !new.is_empty() {
            self.insert(new, rules)?;
        }
        for news in [News::Answer, News::Confirmed, News::Failed, News::Nothing] {
            let mut of = changed.iter().filter(|(brings, _)| *brings == news).peekable();
            if of.peek().is_some() {
                let stage = self.stage()?;
                self.append(of.map(|(_, row)| Page::Row(row)), rules, Some(&stage))?;
                self.update(news, &stage)?;
            }
        }
        Ok(written)
    }

    fn insert(&mut self, rows: Vec<Arc<Row>>, rules: &mut Rules) -> Result<(), Fault> {
        let insert = match &mut self.insert {
            Some(insert) => insert,
            none => none.insert(Insert::prepare(&self.db, &self.name.quoted(), &self.columns)?),
        };
        insert.run(rows, rules)
    }

    /// Writes rows for texts that are no URLs, once each.
    pub(crate) fn write_malformed(&mut self, texts: &[String]) -> Result<Written, Fault> {
        let mut new: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
        if new.is_empty() {
            return Ok(Written::default());
        }
        let list = new.iter().map(|text| quoted_text(text)).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT url FROM {} WHERE url IN ({list})", self.name.quoted());
        let mut found = self.db.query(&sql)?;
        while let Some(batch) = found.next()? {
            for line in 0..batch.len() {
                batch.text(0, line)?.map(|text| new.remove(text));
            }
        }
        let mut rules = Rules::new(None);
        self.append(new.iter().map(|text| Page::Malformed(text)), &mut rules, None)?;
        Ok(Written { inserted: new.len() as u64, updated: 0 })
    }

    /// Writes rows for pages that must wait too long. Those that have one keep their content.
    pub(crate) fn write_left(&mut self, left: &[Left]) -> Result<Written, Fault> {
        let (mut new, mut there) = (Vec::new(), Vec::new());
        for page in left {
            match self.rows.insert(page.url.key()) {
                true => new.push(page),
                false => there.push(page),
            }
        }
        let mut rules = Rules::new(None);
        self.append(new.iter().map(|page| Page::Left(page)), &mut rules, None)?;
        if !there.is_empty() {
            let stage = self.stage()?;
            self.append(there.iter().map(|page| Page::Left(page)), &mut rules, Some(&stage))?;
            self.update(News::Nothing, &stage)?;
        }
        Ok(Written { inserted: new.len() as u64, updated: there.len() as u64 })
    }

    /// What the pages that the table holds link to.
    pub(crate) fn links(&self) -> Result<Vec<CrawlUrl>, Fault> {
        if !self.columns.iter().any(|at| COLUMNS[*at].0 == "links") {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT DISTINCT unnest(links) FROM {}", self.name.quoted());
        let mut urls = Vec::new();
        let mut found = self.db.query(&sql)?;
        while let Some(batch) = found.next()? {
            for line in 0..batch.len() {
                urls.extend(batch.text(0, line)?.and_then(|url| CrawlUrl::parse(url).ok()));
            }
        }
        Ok(urls)
    }

    fn append<'p>(
        &mut self,
        pages: impl Iterator<Item = Page<'p>>,
        rules: &mut Rules,
        stage: Option<&str>,
    ) -> Result<(), Fault> {
        let names: Vec<&str> = self.columns.iter().map(|at| COLUMNS[*at].0).collect();
        let mut pages = pages.peekable();
        while pages.peek().is_some() {
            let mut out = self.chunk.reset();
            let mut line = 0;
            while line < out.capacity()
                && let Some(page) = pages.next()
            {
                write(&mut out, line, &self.columns, &page, rules);
                line += 1;
            }
            out.set_len(line);
            let TableName { catalog, schema, table, .. } = &self.name;
            let (catalog, schema, table) = match stage {
                Some(stage) => ("temp", "main", stage),
                None => (catalog.as_str(), schema.as_str(), table.as_str()),
            };
            self.db.append(Some(catalog), Some(schema), table, &names, &self.chunk)?;
        }
        Ok(())
    }

    /// Where rows lie that change others.
    fn stage(&mut self) -> Result<String, Fault> {
        if let Some(stage) = &self.stage {
            return Ok(stage.clone());
        }
        let stage = format!("curtsy_changes_{}", STAGES.fetch_add(1, Ordering::Relaxed));
        let columns: Vec<String> = self.columns.iter().map(|at| column_sql(*at)).collect();
        self.db.run(&format!("CREATE TEMP TABLE {stage} ({})", columns.join(", ")))?;
        self.stage = Some(stage.clone());
        Ok(stage)
    }

    /// Brings what is staged into the rows that are there.
    fn update(&self, news: News, stage: &str) -> Result<(), Fault> {
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

    /// What a sitemap lists, for the next time and for whoever asks.
    fn write_listed(&mut self, row: &Row) -> Result<(), Fault> {
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
        let most = chunk.reset().capacity();
        for entries in sitemap.entries.chunks(most) {
            let mut out = chunk.reset();
            for (line, entry) in entries.iter().enumerate() {
                out.text(0, line, entry.url.as_str());
                out.text(1, line, from);
                let modified = entry.modified_ms.map(|ms| ms.saturating_mul(1000));
                out.or_null(2, line, modified, Chunk::timestamp);
                out.or_null(3, line, entry.change.map(|change| change.name()), Chunk::text);
                out.or_null(4, line, entry.priority.map(f64::from), Chunk::double);
                out.timestamp(5, line, seen_at);
            }
            out.set_len(entries.len());
            self.db.append(Some(catalog), Some(schema), LISTED, &names, &chunk)?;
        }
        Ok(())
    }
}

/// Does it again while another crawl of the same database is in the way: its transactions are short.
fn patiently<T>(mut work: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    let mut tries = 1;
    loop {
        match work() {
            // "Catalog write-write conflict", "Conflict on tuple deletion", "Transaction conflict".
            Err(fault) if tries < TRIES && fault.0.to_lowercase().contains("conflict") => {
                std::thread::sleep(TRY_AGAIN);
                tries += 1;
            }
            done => return done,
        }
    }
}

/// Which of our columns a table has. A column of one of our names and another type is not ours.
fn columns_of(db: &Connection, name: &TableName) -> Result<Vec<usize>, Fault> {
    let sql = format!(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = {} AND schema_name = {} AND table_name = {}",
        quoted_text(&name.catalog),
        quoted_text(&name.schema),
        quoted_text(&name.table),
    );
    let (mut columns, mut wrong) = (Vec::new(), Vec::new());
    let mut found = db.query(&sql)?;
    while let Some(batch) = found.next()? {
        for line in 0..batch.len() {
            let (Some(column), Some(kind)) = (batch.text(0, line)?, batch.text(1, line)?) else {
                continue;
            };
            if let Some(at) = COLUMNS.iter().position(|(ours, _)| ours.eq_ignore_ascii_case(column))
            {
                match COLUMNS[at].1.sql() == kind {
                    true => columns.push(at),
                    false => wrong
                        .push(format!("`{column}` is {kind}, expected {}", COLUMNS[at].1.sql())),
                }
            }
        }
    }
    columns.sort_unstable();
    let shown = name.quoted();
    if !wrong.is_empty() {
        return Err(Fault::from(format!(
            "{shown} can't hold what a crawl finds: {}\nhint: crawl into a new table, or change the type with ALTER TABLE",
            wrong.join(", ")
        )));
    }
    if columns.first() != Some(&0) {
        return Err(Fault::from(format!(
            "{shown} has no column `url VARCHAR`, so it is no table of pages\nhint: crawl into a new table"
        )));
    }
    Ok(columns)
}

fn column_sql(at: usize) -> String {
    format!("{} {}", COLUMNS[at].0, COLUMNS[at].1.sql())
}

/// What becomes of a column of a row that is there.
fn change(at: usize, news: News) -> Option<String> {
    let name = COLUMNS[at].0;
    let group = curtsy_sink::COLUMNS.iter().find(|column| column.name == name)?.group;
    let new = || Some(format!("{name} = n.{name}"));
    let unless_null = || Some(format!("{name} = coalesce(n.{name}, t.{name})"));
    match (news, group) {
        (_, Group::Url) => None,
        (_, Group::Decision) | (News::Answer, _) => new(),
        (News::Failed, Group::Outcome) => new(),
        (News::Nothing, Group::Outcome) if name == "error" => new(),
        (News::Confirmed, Group::Fresh) => unless_null(),
        (News::Confirmed, _) if matches!(name, "crawl_time" | "fetched_at") => new(),
        (News::Confirmed, _) if name == "error" => Some("error = NULL".to_owned()),
        _ => None,
    }
}

/// A text as SQL has it.
pub(crate) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
