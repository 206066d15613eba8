//! Reads a crawl's file for `why`, `links` and `plan`, also while a crawl writes it.
//!
//! The results are plain data; the callers make the words for people. Nothing here writes. A file
//! that is being written is read as of its last batch.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use curtsy_core::evidence::{self, read_timestamp};
use curtsy_core::host::{Findings, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, HostKey, UrlKey};
use curtsy_engine::UrlRecord;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::schema;
use crate::sqlite::write::id;
use crate::standing::{LinkStanding, RowEnd};
use curtsy_file::OpenError;

/// Declares a row: its fields, each with the SQL expression that it is read from.
macro_rules! sql_row {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])* pub $field:ident: $type:ty = $sql:literal,)*
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $name {
            /// The expressions of a `SELECT` whose rows `read` reads.
            fn select() -> String {
                [$($sql),*].join(", ")
            }

            fn read(row: &Row<'_>) -> Result<$name, rusqlite::Error> {
                let mut column = 0..;
                Ok($name { $($field: ReadColumn::read(row, column.next().unwrap_or(0))?,)* })
            }
        }
    };
}

/// A crawl's file, open for reading.
#[derive(Debug)]
pub struct PagesFile {
    path: PathBuf,
    pub(crate) db: Connection,
}

sql_row! {
/// A URL's row, without its body.
#[derive(Clone, Debug)]
pub struct PageRow {
    /// The URL as it was queued.
    pub url: String = "url",
    /// The URL after all redirects.
    pub final_url: String = "final_url",
    /// Redirects followed.
    pub redirect_count: u8 = "redirect_count",
    /// Its last outcome.
    pub decision: String = "decision",
    /// The gate that refused it.
    pub gate: Option<String> = "gate",
    /// Why there is no page, in words.
    pub reason: Option<String> = "reason",
    /// When its last outcome was decided.
    pub decided_at: Option<Time> = "decided_at",
    /// The status of its last response.
    pub http_status: Option<u16> = "http_status",
    /// Why there is no page, where the status does not say.
    pub error: Option<String> = "error",
    /// A page or a sitemap.
    pub kind: String = "kind",
    /// Number of links from a seed.
    pub depth: u16 = "depth",
    /// Number of failed tries.
    pub tries: u8 = "tries",
    /// When its content was fetched, by the local clock.
    pub fetched_at: Option<Time> = "fetched_at",
    /// It is not refetched before this time.
    pub fresh_until: Option<Time> = "fresh_until",
    /// `Content-Type`.
    pub content_type: Option<String> = "content_type",
    /// SHA-256 of the body.
    pub content_hash: Option<String> = "content_hash",
    /// Bytes of the body.
    pub body_bytes: Option<u64> = "body_bytes",
    /// Its title.
    pub title: Option<String> = "title",
    /// Number of its links.
    pub links_count: Option<u64> = "links_count",
    /// Number of its links that were not read; none in files of version 1.
    pub links_cut: Option<u64> = "links_cut",
    /// The line of robots.txt that decided.
    pub robots_rule: Option<String> = "robots_rule",
    /// The run that decided, as in [`CrawlRunRow::number`].
    pub run: Option<i64> = "run",
    /// The target of a redirect that was not followed.
    pub location: Option<String> = "headers ->> '$.location'",
    /// `own` or `login`.
    pub access: Option<String> = "access",
    /// Where the content came from, as in the column `source`.
    pub source: Option<String> = "source",
}
}

sql_row! {
/// A decision or a request.
#[derive(Clone, Debug)]
pub struct DecisionRow {
    /// Its time.
    pub at: Option<Time> = "at",
    /// What was requested: `page`, `robots`, `robots_hop`, `sitemap`, `probe`.
    pub kind: String = "kind",
    /// The outcome of the URL, or what followed: `decide`, `retry`, `follow`.
    pub decision: String = "decision",
    /// The run, as in [`CrawlRunRow::number`].
    pub run: Option<i64> = "run",
    /// The URL that was requested or decided.
    pub url: String = "url",
    /// Its host.
    pub host: String = "host",
    /// The status of the response.
    pub http_status: Option<u16> = "http_status",
    /// Why there was no usable response.
    pub error: Option<String> = "error",
    /// `challenge` or `unusual`.
    pub friction: Option<String> = "friction",
    /// The wait that the response asked for.
    pub retry_after: Option<Duration> = "retry_after_ms",
    /// The gate that refused it, or that had the longest wait.
    pub gate: Option<String> = "gate",
    /// It is not retried before this time.
    pub not_before: Option<Time> = "not_before",
    /// The target of a redirect.
    pub follows: Option<String> = "follows",
    /// The delay between two request starts on the host.
    pub delay: Option<Duration> = "delay_ms",
    /// What set the delay.
    pub delay_by: Option<String> = "delay_by",
    /// The robots.txt that decided.
    pub robots_file: Option<RobotsId> = "robots_file",
    /// Its line.
    pub robots_line: Option<u32> = "robots_line",
    /// The finding of every gate.
    pub findings: Findings = "findings",
    /// Why there is no page, in words.
    pub reason: Option<String> = "reason",
    /// The line of robots.txt that decided.
    pub robots_rule: Option<String> = "robots_rule",
    /// The site's Crawl-delay for this crawler.
    pub crawl_delay: Option<Duration> = "crawl_delay_ms",
}
}

sql_row! {
/// A run.
#[derive(Clone, Debug)]
pub struct CrawlRunRow {
    /// Its number in this file.
    pub number: i64 = "number",
    /// Its trace id.
    pub trace_id: String = "trace_id",
    /// When it began.
    pub started_at: Option<Time> = "started_at",
    /// When it ended; none if it is running, or was killed.
    pub ended_at: Option<Time> = "ended_at",
    /// The command.
    pub command: String = "command",
    /// The policy in TOML.
    pub policy: String = "policy",
    /// Its hash.
    pub policy_hash: String = "policy_hash",
    /// Its outcome.
    pub outcome: Option<String> = "outcome",
    /// Its report, as JSON.
    pub figures: Option<String> = "figures",
    /// Its evidence (`nm_ingest`), as JSON.
    pub evidence: Option<String> = "evidence",
    /// Whether it began the crawl anew, at its seeds.
    pub anew: bool = "anew",
}
}

/// The row of a URL, as the target of a link.
#[derive(Clone, Debug)]
pub struct TargetRow<'r> {
    /// The URL.
    pub url: CrawlUrl,
    /// Its host.
    pub host: &'r str,
    /// The URL after all redirects.
    pub final_url: &'r str,
    /// Whether it is an HTML page.
    pub is_page: bool,
    /// Whether its body is kept.
    pub has_text: bool,
    /// Whether the current crawl found it. A file also keeps rows that only an earlier crawl found.
    pub is_current: bool,
    end: RowEnd<'r>,
}

impl TargetRow<'_> {
    /// Returns whether the URL exists. `external` is true for a host that was not crawled.
    pub fn standing(&self, external: bool) -> LinkStanding {
        LinkStanding::of(&RowEnd { external, ..self.end.clone() })
    }
}

/// A page with links.
pub struct LinkingPage<'r> {
    /// The URL as it was queued.
    pub url: &'r str,
    /// The URL after all redirects.
    pub final_url: &'r str,
    /// The target of its `meta` refresh.
    pub refresh: Option<&'r str>,
    /// `Content-Type`.
    pub content_type: Option<&'r str>,
    /// Its body, if it is stored.
    pub body: Option<&'r [u8]>,
    links: Option<&'r str>,
    nofollow: Option<&'r str>,
    frames: Option<&'r str>,
}

impl LinkingPage<'_> {
    /// Returns its links.
    pub fn links(&self) -> Vec<CrawlUrl> {
        urls(self.links)
    }

    /// Returns the URLs of its frames.
    pub fn frames(&self) -> Vec<CrawlUrl> {
        urls(self.frames)
    }

    /// Returns its links that are marked `nofollow`.
    pub fn nofollow(&self) -> Vec<CrawlUrl> {
        urls(self.nofollow)
    }
}

/// Reads a column of URLs. A value of another program is skipped.
fn urls(json: Option<&str>) -> Vec<CrawlUrl> {
    let texts: Vec<String> =
        json.map(serde_json::from_str).and_then(Result::ok).unwrap_or_default();
    texts.iter().filter_map(|text| CrawlUrl::parse(text).ok()).collect()
}

/// Where a crawl found a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFrom {
    /// The page that links to it, or the sitemap that lists it.
    pub url: String,
    /// Number of links from a seed to that page.
    pub depth: u64,
    /// Whether the link is marked `nofollow`.
    pub nofollow: bool,
    /// Whether it is a sitemap.
    pub is_sitemap: bool,
}

sql_row! {
/// The number of URLs with one outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The outcome.
    pub decision: String = "decision",
    /// The gate that refused them.
    pub gate: Option<String> = "gate",
    /// The class of their status: 2 for 2xx.
    pub status_class: Option<u8> = "http_status / 100",
    /// Their error.
    pub error: Option<String> = "error",
    /// Number of URLs.
    pub urls: u64 = "count(*)",
    /// Bytes of their bodies.
    pub bytes: u64 = "coalesce(sum(body_bytes), 0)",
}
}

sql_row! {
/// A host, by its rows.
#[derive(Clone, Debug)]
pub struct CrawlHostRow {
    /// Its name.
    pub host: String = "host",
    /// URLs with a row.
    pub pages: u64 = "pages",
    /// URLs that were fetched or are fresh.
    pub fetched: u64 = "fetched",
    /// URLs that were refused.
    pub refused: u64 = "refused",
    /// URLs that failed.
    pub failed: u64 = "failed",
    /// Time of the last decision.
    pub last_at: Option<Time> = "last_at",
    /// The delay between two request starts.
    pub delay: Option<Duration> = "delay_ms",
    /// What set the delay.
    pub delay_by: Option<String> = "delay_by",
    /// When its last URL is retried.
    pub not_before: Option<Time> = "not_before",
}
}

/// A page that a sitemap lists.
#[derive(Clone, Debug, PartialEq)]
pub struct SitemapUrl {
    /// The page.
    pub url: String,
    /// The sitemap.
    pub sitemap: String,
    /// The last change, by the sitemap.
    pub lastmod: Option<Time>,
    /// The change frequency, by the sitemap.
    pub changefreq: Option<String>,
    /// The priority, from 0 to 1.
    pub priority: Option<f64>,
}

impl PagesFile {
    /// Opens a crawl's file to read it.
    pub fn open(path: &Path) -> Result<PagesFile, OpenError> {
        let db = schema::open_to_read(path)?;
        Ok(PagesFile { path: path.to_owned(), db })
    }

    /// Returns the row of a URL.
    pub fn row(&self, url: &CrawlUrl) -> Result<Option<PageRow>, OpenError> {
        self.row_of(url.key())
    }

    /// Returns the row of a sitemap. A page with the same URL has another row.
    pub fn sitemap_row(&self, url: &CrawlUrl) -> Result<Option<PageRow>, OpenError> {
        self.row_of(UrlRecord::sitemap(url.clone()).id)
    }

    fn row_of(&self, key: UrlKey) -> Result<Option<PageRow>, OpenError> {
        let sql = format!("SELECT {} FROM pages WHERE id = ?1", PageRow::select());
        Ok(self.all(&sql, &[&&id(key)[..]], PageRow::read)?.into_iter().next())
    }

    /// Returns the body of a URL.
    pub fn body(&self, url: &CrawlUrl) -> Result<Option<Vec<u8>>, OpenError> {
        let key = id(url.key());
        let sql = "SELECT body FROM pages WHERE id = ?1";
        let found = self.db.query_row(sql, [&key[..]], |row| row.get(0)).optional();
        found.map(Option::flatten).map_err(|e| self.unreadable(e))
    }

    /// Returns all decisions and requests for a URL, in order.
    pub fn decisions(&self, url: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        self.decisions_of(url.key())
    }

    /// Returns the same for a sitemap.
    pub fn sitemap_decisions(&self, url: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        self.decisions_of(UrlRecord::sitemap(url.clone()).id)
    }

    /// Returns all requests for a robots.txt, in order. Reads the whole history.
    pub fn robots_requests(&self, robots: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {} FROM history
                WHERE url = ?1 AND kind IN ('robots', 'robots_hop') ORDER BY at",
            DecisionRow::select()
        );
        self.all(&sql, &[&robots.as_str()], DecisionRow::read)
    }

    /// Returns the number of an authority's pages that robots.txt refused, and the number of
    /// others.
    pub fn ruled_by_robots(&self, authority: &Authority) -> Result<(u64, u64), OpenError> {
        let sql = "SELECT coalesce(sum(refused), 0), coalesce(sum(NOT refused), 0) FROM (
            SELECT decision = 'refused' AND gate = 'robots' AS refused
            FROM pages WHERE kind = 'page' AND substr(final_url, 1, length(?1)) = ?1)";
        let root = authority.root();
        let counts = |row: &Row<'_>| Ok((count(row, 0)?, count(row, 1)?));
        self.db.query_row(sql, [root.as_str()], counts).map_err(|e| self.unreadable(e))
    }

    /// Returns the number of URLs in a sitemap.
    pub fn listed_by(&self, sitemap: &str) -> Result<u64, OpenError> {
        let sql = "SELECT count(*) FROM sitemap_urls WHERE sitemap = ?1";
        self.db.query_row(sql, [sitemap], |row| count(row, 0)).map_err(|e| self.unreadable(e))
    }

    fn decisions_of(&self, key: UrlKey) -> Result<Vec<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {} FROM decisions WHERE id = ?1
                ORDER BY at, decision NOT IN ('decide', 'retry', 'follow')",
            DecisionRow::select()
        );
        self.all(&sql, &[&&id(key)[..]], DecisionRow::read)
    }

    /// Returns the page nearest to a seed that links to a URL, else a sitemap that lists it.
    pub fn linked_from(&self, url: &CrawlUrl) -> Result<Option<LinkedFrom>, OpenError> {
        // A search for the text is much cheaper than reading the links of every page.
        let pages = "SELECT p.url, p.depth, EXISTS
                (SELECT 1 FROM json_each(p.links_nofollow) WHERE value = ?1)
            FROM pages p WHERE p.kind = 'page' AND (
                (instr(p.links, ?1) > 0 AND EXISTS (SELECT 1 FROM json_each(p.links) WHERE value = ?1))
                OR (instr(p.frames, ?1) > 0 AND EXISTS (SELECT 1 FROM json_each(p.frames) WHERE value = ?1))
                OR p.refresh = ?1)
            ORDER BY 3, p.depth, p.number LIMIT 1";
        let found = self.all(pages, &[&url.as_str()], |row| {
            let (url, depth, nofollow) = (row.get(0)?, row.get::<_, u32>(1)?, row.get(2)?);
            Ok(LinkedFrom { url, depth: depth.into(), nofollow, is_sitemap: false })
        })?;
        if let Some(found) = found.into_iter().next() {
            return Ok(Some(found));
        }
        let sitemaps = "SELECT sitemap FROM sitemap_urls WHERE url = ?1 LIMIT 1";
        let found = self.all(sitemaps, &[&url.as_str()], |row| {
            Ok(LinkedFrom { url: row.get(0)?, depth: 0, nofollow: false, is_sitemap: true })
        })?;
        Ok(found.into_iter().next())
    }

    /// Returns the last request to a host that was refused or failed, or whose response asked for a
    /// wait.
    pub fn last_setback(&self, host: &HostKey) -> Result<Option<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {} FROM decisions WHERE host = ?1
                AND (http_status IN (403, 429) OR http_status >= 500 OR error IS NOT NULL)
                AND coalesce(error, '') NOT IN ('slot_timeout', 'not_sent', 'unheard', 'lost_redirect')
                ORDER BY at DESC LIMIT 1",
            DecisionRow::select()
        );
        Ok(self.all(&sql, &[&host.as_str()], DecisionRow::read)?.into_iter().next())
    }

    /// Returns all runs, in order.
    pub fn runs(&self) -> Result<Vec<CrawlRunRow>, OpenError> {
        let sql = format!("SELECT {} FROM runs ORDER BY number", CrawlRunRow::select());
        self.all(&sql, &[], CrawlRunRow::read)
    }

    /// Calls `each` with every URL that has a row, as the target of a link.
    pub fn targets(&self, mut each: impl FnMut(TargetRow<'_>)) -> Result<(), OpenError> {
        let current = self.current()?;
        let sql = format!(
            "SELECT url, host, final_url, links_count IS NOT NULL, body_bytes IS NOT NULL,
            decision, gate, http_status, error, retry_after_ms IS NOT NULL, {current} FROM pages
            WHERE kind <> 'sitemap'"
        );
        self.each(&sql, |row| {
            // A row of another program is skipped.
            let Ok(url) = CrawlUrl::parse(row.get_ref(0)?.as_str()?) else { return Ok(()) };
            each(TargetRow {
                url,
                host: row.get_ref(1)?.as_str()?,
                final_url: row.get_ref(2)?.as_str()?,
                is_page: row.get(3)?,
                has_text: row.get(4)?,
                is_current: row.get(10)?,
                end: RowEnd {
                    decision: row.get_ref(5)?.as_str()?,
                    gate: row.get_ref(6)?.as_str_or_null()?,
                    http_status: row.get(7)?,
                    error: row.get_ref(8)?.as_str_or_null()?,
                    told_to_wait: row.get(9)?,
                    external: false,
                },
            });
            Ok(())
        })
    }

    /// Returns the hosts whose pages were read for links.
    pub fn linking_hosts(&self) -> Result<HashSet<String>, OpenError> {
        let sql = "SELECT DISTINCT host FROM pages WHERE links_count IS NOT NULL
            UNION SELECT DISTINCT host FROM pages WHERE depth = 0";
        Ok(self.all(sql, &[], |row| row.get(0))?.into_iter().collect())
    }

    /// Calls `each` with every page of the current crawl that was read for links, in order of
    /// arrival.
    pub fn linking(&self, mut each: impl FnMut(LinkingPage<'_>)) -> Result<(), OpenError> {
        let current = self.current()?;
        let sql = format!(
            "SELECT url, final_url, refresh, content_type, links, links_nofollow, frames, body
            FROM pages WHERE links_count IS NOT NULL AND {current} ORDER BY number"
        );
        self.each(&sql, |row| {
            each(LinkingPage {
                url: row.get_ref(0)?.as_str()?,
                final_url: row.get_ref(1)?.as_str()?,
                refresh: row.get_ref(2)?.as_str_or_null()?,
                content_type: row.get_ref(3)?.as_str_or_null()?,
                links: row.get_ref(4)?.as_str_or_null()?,
                nofollow: row.get_ref(5)?.as_str_or_null()?,
                frames: row.get_ref(6)?.as_str_or_null()?,
                body: row.get_ref(7)?.as_blob_or_null()?,
            });
            Ok(())
        })
    }

    /// Calls `read` with a page's final URL, `Content-Type` and body, if the body is stored.
    pub fn text_of(
        &self,
        key: UrlKey,
        read: impl FnOnce(&str, Option<&str>, &[u8]),
    ) -> Result<(), OpenError> {
        let sql = "SELECT final_url, content_type, body FROM pages
            WHERE id = ?1 AND body IS NOT NULL";
        let mut read = Some(read);
        self.each_of(sql, &[&&id(key)[..]], |row| {
            let (url, kind) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str_or_null()?);
            let body = row.get_ref(2)?.as_blob()?;
            read.take().into_iter().for_each(|read| read(url, kind, body));
            Ok(())
        })
    }

    /// Returns the URLs whose redirects in their last run are all permanent (301, 308).
    pub fn moved_for_good(&self) -> Result<HashSet<UrlKey>, OpenError> {
        let sql = "SELECT p.url FROM pages p JOIN history h ON h.id = p.id AND h.run IS p.run
            WHERE p.redirect_count > 0 AND h.decision = 'follow' AND h.kind = 'page'
                AND h.follows <> h.url
            GROUP BY p.id HAVING min(coalesce(h.http_status IN (301, 308), 0)) = 1";
        let mut keys = HashSet::new();
        self.each(sql, |row| {
            keys.extend(CrawlUrl::parse(row.get_ref(0)?.as_str()?).ok().map(|url| url.key()));
            Ok(())
        })?;
        Ok(keys)
    }

    /// Returns the number of links that were not read, of all pages.
    pub fn links_cut(&self) -> Result<u64, OpenError> {
        let sql = "SELECT coalesce(sum(links_cut), 0) FROM pages";
        let cut = self.db.query_row(sql, [], |row| count(row, 0));
        cut.map_err(|e| self.unreadable(e))
    }

    /// Returns the number of URLs for each outcome, the most frequent first.
    pub fn summary(&self) -> Result<Vec<Count>, OpenError> {
        let order = "GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4";
        self.all(&format!("SELECT {} FROM pages {order}", Count::select()), &[], Count::read)
    }

    /// Returns all hosts, by name.
    pub fn hosts(&self) -> Result<Vec<CrawlHostRow>, OpenError> {
        let sql = format!("SELECT {} FROM hosts ORDER BY host", CrawlHostRow::select());
        self.all(&sql, &[], CrawlHostRow::read)
    }

    /// Returns the SQL condition for rows of the current crawl: of the last run, or among the known
    /// URLs, which a crawl that begins anew forgets.
    fn current(&self) -> Result<&'static str, OpenError> {
        Ok(match self.has_table("known")? {
            true => "(run IS (SELECT max(number) FROM runs) OR id IN (SELECT key FROM known))",
            false => "1",
        })
    }

    /// Whether the file has a table of the crawl's frontier.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool, OpenError> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found = self.db.query_row(sql, [name], |row| row.get::<_, i64>(0));
        found.map(|count| count > 0).map_err(|e| self.unreadable(e))
    }

    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        read: fn(&Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<T>, OpenError> {
        let mut rows = Vec::new();
        self.each_of(sql, values, |row| {
            rows.push(read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    pub(crate) fn each(
        &self,
        sql: &str,
        take: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), OpenError> {
        self.each_of(sql, &[], take)
    }

    fn each_of(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        mut take: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), OpenError> {
        let mut read = || {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok::<(), rusqlite::Error>(())
        };
        read().map_err(|e| self.unreadable(e))
    }

    pub(crate) fn unreadable(
        &self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> OpenError {
        OpenError::Unreadable { path: self.path.clone(), source: source.into() }
    }
}

/// A type that a column is read as.
trait ReadColumn: Sized {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error>;
}

macro_rules! column_values {
    ($($type:ty)*) => {
        $(impl ReadColumn for $type {
            fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
                row.get(column)
            }
        })*
    };
}
column_values!(bool i64 u8 u16 String Option<i64> Option<u8> Option<u16> Option<u32> Option<String>);

impl ReadColumn for Option<Time> {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        Ok(row.get_ref(column)?.as_str_or_null()?.and_then(read_timestamp))
    }
}

/// A negative number is none.
impl ReadColumn for Option<u64> {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        Ok(row.get::<_, Option<i64>>(column)?.and_then(|number| u64::try_from(number).ok()))
    }
}

/// NULL is zero.
impl ReadColumn for u64 {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        Ok(Option::<u64>::read(row, column)?.unwrap_or(0))
    }
}

/// A column in milliseconds.
impl ReadColumn for Option<Duration> {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        Ok(Option::<u64>::read(row, column)?.map(Duration::from_millis))
    }
}

impl ReadColumn for Option<RobotsId> {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        Ok(row.get::<_, Option<[u8; 16]>>(column)?.map(RobotsId))
    }
}

impl ReadColumn for Findings {
    fn read(row: &Row<'_>, column: usize) -> Result<Self, rusqlite::Error> {
        let decoded = evidence::decode(row.get_ref(column)?.as_blob()?);
        decoded.map_err(|e| rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, e.into()))
    }
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    u64::read(row, column)
}
