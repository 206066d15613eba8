//! What a crawl's file says: for `why`, `links` and `plan`, also while a crawl writes it.
//!
//! Plain data comes out; words for people are made by whoever prints it. Nothing here writes, and a file that is being written is read
//! as it was at its last batch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use curtsy_core::evidence;
use curtsy_core::host::{Findings, Gate, Reason, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::moment;
use crate::sqlite::schema;
use crate::sqlite::write::id;
use curtsy_file::OpenError;

/// A crawl's file, open for reading.
#[derive(Debug)]
pub struct PagesFile {
    path: PathBuf,
    db: Connection,
}

/// A URL's row, without its body.
#[derive(Clone, Debug)]
pub struct PageRow {
    /// The URL as it was offered.
    pub url: String,
    /// Where it was found.
    pub final_url: String,
    /// Redirects followed.
    pub redirect_count: u8,
    /// How it ended last.
    pub decision: String,
    /// Which gate refused it.
    pub gate: Option<String>,
    /// When it ended last.
    pub decided_at: Option<Time>,
    /// The status of its last answer.
    pub http_status: Option<u16>,
    /// Why there is no page, where the status does not tell.
    pub error: Option<String>,
    /// A page or a sitemap.
    pub kind: String,
    /// Links followed from a seed.
    pub depth: u16,
    /// Tries that failed before.
    pub tries: u8,
    /// When its content was fetched, by our clock.
    pub fetched_at: Option<Time>,
    /// Not asked for again before this.
    pub fresh_until: Option<Time>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// SHA-256 of the body.
    pub content_hash: Option<String>,
    /// Bytes of the body.
    pub body_bytes: Option<u64>,
    /// Its title.
    pub title: Option<String>,
    /// What it links to.
    pub links_count: Option<u64>,
    /// The line of robots.txt that decided.
    pub robots_rule: Option<String>,
    /// The run that decided, as in [`RunRow::number`].
    pub run: Option<i64>,
    /// Where the site sent its visitor, if that was not followed.
    pub location: Option<String>,
    /// `own` or `login`.
    pub access: Option<String>,
}

/// One decision or request.
#[derive(Clone, Debug)]
pub struct DecisionRow {
    /// When.
    pub at: Option<Time>,
    /// What was asked for: `page`, `robots`, `robots_hop`, `sitemap`, `probe`.
    pub kind: String,
    /// How the URL ended, or what followed: `decide`, `retry`, `follow`.
    pub decision: String,
    /// The run, as in [`RunRow::number`].
    pub run: Option<i64>,
    /// What was asked for or decided about.
    pub url: String,
    /// Its host.
    pub host: String,
    /// The answer's status.
    pub http_status: Option<u16>,
    /// Why there was no answer that can be used.
    pub error: Option<String>,
    /// `challenge` or `unusual`.
    pub friction: Option<String>,
    /// How long the answer asked us to wait.
    pub retry_after: Option<Duration>,
    /// The gate that refused, or that made it wait longest.
    pub gate: Option<String>,
    /// Not tried again before this.
    pub not_before: Option<Time>,
    /// Where it was followed to.
    pub follows: Option<String>,
    /// The span between two starts on the host.
    pub delay: Option<Duration>,
    /// Who set it.
    pub delay_by: Option<String>,
    /// The robots.txt that decided.
    pub robots_file: Option<RobotsId>,
    /// Its line.
    pub robots_line: Option<u32>,
    /// What every gate found.
    pub findings: Findings,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its number in this file.
    pub number: i64,
    /// Its own name.
    pub trace_id: String,
    /// When it began.
    pub started_at: Option<Time>,
    /// When it ended; none if it goes on, or was killed.
    pub ended_at: Option<Time>,
    /// What was ordered.
    pub command: String,
    /// The policy in TOML.
    pub policy: String,
    /// Its hash.
    pub policy_hash: String,
    /// How it ended.
    pub outcome: Option<String>,
    /// What it counted, as JSON.
    pub figures: Option<String>,
    /// Its report (`nm_ingest`), as JSON.
    pub evidence: Option<String>,
}

/// A link to a page that can't be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// The page that links.
    pub from_url: String,
    /// What it links to.
    pub to_url: String,
    /// `link`, `frame` or `refresh`.
    pub kind: &'static str,
    /// The status of the target, if it answered.
    pub http_status: Option<u16>,
    /// What is wrong with it, where the status does not tell.
    pub error: Option<String>,
}

/// How many URLs ended in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// How they ended.
    pub decision: String,
    /// Which gate refused them.
    pub gate: Option<String>,
    /// The class of their status: 2 for 2xx.
    pub status_class: Option<u8>,
    /// What was wrong with them.
    pub error: Option<String>,
    /// How many.
    pub urls: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// A host, as far as its rows tell.
#[derive(Clone, Debug)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// URLs with a row.
    pub pages: u64,
    /// Those that were fetched or are fresh.
    pub fetched: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Those that failed.
    pub failed: u64,
    /// The last decision.
    pub last_at: Option<Time>,
    /// The span between two starts.
    pub delay: Option<Duration>,
    /// Who set it.
    pub delay_by: Option<String>,
    /// Until when its last URL waits.
    pub not_before: Option<Time>,
}

/// A page that a sitemap lists.
#[derive(Clone, Debug, PartialEq)]
pub struct SitemapUrl {
    /// The page.
    pub url: String,
    /// The sitemap.
    pub sitemap: String,
    /// When it changed, as the site says.
    pub lastmod: Option<Time>,
    /// How often it changes, as the site says.
    pub changefreq: Option<String>,
    /// From 0 to 1.
    pub priority: Option<f64>,
}

impl PagesFile {
    /// Opens a file that a crawl wrote or writes.
    pub fn open(path: &Path) -> Result<PagesFile, OpenError> {
        let db = schema::open_to_read(path)?;
        Ok(PagesFile { path: path.to_owned(), db })
    }

    /// Where the content of a page comes from, as in the column `source`; none if there is none, or if an older program wrote the file.
    pub fn source(&self, url: &CrawlUrl) -> Result<Option<String>, OpenError> {
        let is_there = "SELECT 1 FROM pragma_table_info('pages') WHERE name = 'source'";
        let known = self.db.prepare(is_there).and_then(|mut sql| sql.exists([]));
        if !known.map_err(|e| self.unreadable(e))? {
            return Ok(None);
        }
        let sql = "SELECT source FROM pages WHERE id = ?1";
        let found = self.db.query_row(sql, [&id(url.key())[..]], |row| row.get(0)).optional();
        found.map(Option::flatten).map_err(|e| self.unreadable(e))
    }

    /// The row of a URL.
    pub fn row(&self, url: &CrawlUrl) -> Result<Option<PageRow>, OpenError> {
        // Files of the first version don't have this column.
        let access = "SELECT count(*) FROM pragma_table_info('pages') WHERE name = 'access'";
        let access: i64 =
            self.db.query_row(access, [], |row| row.get(0)).map_err(|e| self.unreadable(e))?;
        let access = if access > 0 { "access" } else { "NULL" };
        let sql = format!("SELECT {PAGE_ROW}, {access} FROM pages WHERE id = ?1");
        let key = id(url.key());
        let found = self
            .db
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([&key[..]], page_row).optional());
        found.map_err(|e| self.unreadable(e))
    }

    /// The body of a URL's page.
    pub fn body(&self, url: &CrawlUrl) -> Result<Option<Vec<u8>>, OpenError> {
        let key = id(url.key());
        let sql = "SELECT body FROM pages WHERE id = ?1";
        let found = self.db.query_row(sql, [&key[..]], |row| row.get(0)).optional();
        found.map(Option::flatten).map_err(|e| self.unreadable(e))
    }

    /// Everything that was decided about a URL and asked for on its behalf, in its order.
    pub fn decisions(&self, url: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {DECISION_ROW} FROM decisions WHERE id = ?1
                ORDER BY at, decision NOT IN ('decide', 'retry', 'follow')"
        );
        let key = id(url.key());
        self.all(&sql, &[&&key[..]], decision_row)?.into_iter().collect()
    }

    /// All runs, in their order.
    pub fn runs(&self) -> Result<Vec<RunRow>, OpenError> {
        let sql = "SELECT number, trace_id, started_at, ended_at, command, policy, policy_hash,
            outcome, figures, evidence FROM runs ORDER BY number";
        self.all(sql, &[], |_, row| {
            Ok(RunRow {
                number: row.get(0)?,
                trace_id: row.get(1)?,
                started_at: time(row, 2)?,
                ended_at: time(row, 3)?,
                command: row.get(4)?,
                policy: row.get(5)?,
                policy_hash: row.get(6)?,
                outcome: row.get(7)?,
                figures: row.get(8)?,
                evidence: row.get(9)?,
            })
        })
    }

    /// Every page that was taken up, with where it was found in the end and how far from a seed: what a reader has to know again when a
    /// crawl goes on. Links that looked like traps are left out.
    pub fn known(&self, mut each: impl FnMut(CrawlUrl, CrawlUrl, u16)) -> Result<(), OpenError> {
        let sql = "SELECT url, coalesce(final_url, url), depth FROM pages
            WHERE kind = 'page' AND NOT (decision = 'refused' AND gate = 'budget')";
        self.each(sql, |row| {
            let urls = (
                CrawlUrl::parse(row.get_ref(0)?.as_str()?),
                CrawlUrl::parse(row.get_ref(1)?.as_str()?),
            );
            // What another program put there is passed over.
            if let (Ok(url), Ok(last)) = urls {
                each(url, last, row.get(2)?);
            }
            Ok(())
        })
    }

    /// Pages that a budget of pages or time kept from being asked for, with how far from a seed they are: a larger one may take them.
    pub fn over_budget(&self) -> Result<Vec<(CrawlUrl, u16)>, OpenError> {
        let sql = "SELECT p.url, p.depth, d.findings FROM pages p
            JOIN decisions d ON d.id = p.id AND d.at = p.decided_at
            WHERE p.decision = 'refused' AND p.gate = 'budget' AND d.decision = 'refused'";
        let mut found = Vec::new();
        self.each(sql, |row| {
            let url = CrawlUrl::parse(row.get_ref(0)?.as_str()?);
            let findings = evidence::decode(row.get_ref(2)?.as_blob()?);
            // What another program put there is passed over.
            if let (Ok(url), Ok(findings)) = (url, findings)
                && matches!(
                    findings.of(Gate::Budget).reason,
                    Reason::PageLimit { .. } | Reason::TimeLimit
                )
            {
                found.push((url, row.get(1)?));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Links to pages that answered with an error or not at all, in the order of the pages; `max` of them, and how many there are.
    pub fn broken_links(&self, max: usize) -> Result<(Vec<BrokenLink>, u64), OpenError> {
        let broken = "decision IN ('dead', 'lost_redirect', 'fetched', 'unheard')
            AND (http_status >= 400 OR error IS NOT NULL)";
        self.links_to(broken, max)
    }

    /// Links to pages for which the site wants a login. They are not broken, and nobody here knows what they lead to.
    pub fn links_behind_login(&self, max: usize) -> Result<(Vec<BrokenLink>, u64), OpenError> {
        self.links_to("decision = 'login_wall'", max)
    }

    fn links_to(&self, which: &str, max: usize) -> Result<(Vec<BrokenLink>, u64), OpenError> {
        let sql = &format!("SELECT url, http_status, error FROM pages WHERE {which}");
        let broken: HashMap<String, (Option<u16>, Option<String>)> = self
            .all(sql, &[], |_, row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
            .into_iter()
            .collect();
        if broken.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let (mut found, mut count) = (Vec::new(), 0);
        let sql = "SELECT url, links, frames, refresh FROM pages
            WHERE links IS NOT NULL OR refresh IS NOT NULL ORDER BY number";
        self.each(sql, |row| {
            let mut note = |to: &str, kind| {
                if let Some((http_status, error)) = broken.get(to) {
                    count += 1;
                    if found.len() < max {
                        found.push(BrokenLink {
                            from_url: row.get(0)?,
                            to_url: to.to_owned(),
                            kind,
                            http_status: *http_status,
                            error: error.clone(),
                        });
                    }
                }
                Ok::<(), rusqlite::Error>(())
            };
            for (column, kind) in [(1, "link"), (2, "frame")] {
                let Some(json) = row.get_ref(column)?.as_str_or_null()? else {
                    continue;
                };
                // What another program put there is passed over.
                let urls: Vec<String> = serde_json::from_str(json).unwrap_or_default();
                for url in urls {
                    note(&url, kind)?;
                }
            }
            match row.get_ref(3)?.as_str_or_null()? {
                Some(refresh) => note(refresh, "refresh"),
                None => Ok(()),
            }
        })?;
        Ok((found, count))
    }

    /// How many URLs ended in which way, the most frequent first.
    pub fn summary(&self) -> Result<Vec<Count>, OpenError> {
        let sql = "SELECT decision, gate, http_status / 100, error, count(*), coalesce(sum(body_bytes), 0)
            FROM pages GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4";
        self.all(sql, &[], |_, row| {
            Ok(Count {
                decision: row.get(0)?,
                gate: row.get(1)?,
                status_class: row.get(2)?,
                error: row.get(3)?,
                urls: count(row, 4)?,
                bytes: count(row, 5)?,
            })
        })
    }

    /// All hosts, by name.
    pub fn hosts(&self) -> Result<Vec<HostRow>, OpenError> {
        let sql =
            "SELECT host, pages, fetched, refused, failed, last_at, delay_ms, delay_by, not_before
            FROM hosts ORDER BY host";
        self.all(sql, &[], |_, row| {
            Ok(HostRow {
                host: row.get(0)?,
                pages: count(row, 1)?,
                fetched: count(row, 2)?,
                refused: count(row, 3)?,
                failed: count(row, 4)?,
                last_at: time(row, 5)?,
                delay: millis(row, 6)?,
                delay_by: row.get(7)?,
                not_before: time(row, 8)?,
            })
        })
    }
    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        read: fn(&PagesFile, &Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<T>, OpenError> {
        let read = || {
            let mut statement = self.db.prepare_cached(sql)?;
            let rows = statement.query_map(values, |row| read(self, row))?;
            rows.collect::<Result<Vec<T>, rusqlite::Error>>()
        };
        read().map_err(|e| self.unreadable(e))
    }

    fn each(
        &self,
        sql: &str,
        mut take: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), OpenError> {
        let mut read = || {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok::<(), rusqlite::Error>(())
        };
        read().map_err(|e| self.unreadable(e))
    }

    fn unreadable(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> OpenError {
        OpenError::Unreadable { path: self.path.clone(), source: source.into() }
    }
}

const PAGE_ROW: &str = "url, final_url, redirect_count, decision, gate, decided_at, http_status, error,
    kind, depth, tries, fetched_at, fresh_until, content_type, content_hash, body_bytes, title, links_count,
    robots_rule, run, headers ->> '$.location'";

fn page_row(row: &Row<'_>) -> Result<PageRow, rusqlite::Error> {
    Ok(PageRow {
        url: row.get(0)?,
        final_url: row.get(1)?,
        redirect_count: row.get(2)?,
        decision: row.get(3)?,
        gate: row.get(4)?,
        decided_at: time(row, 5)?,
        http_status: row.get(6)?,
        error: row.get(7)?,
        kind: row.get(8)?,
        depth: row.get(9)?,
        tries: row.get(10)?,
        fetched_at: time(row, 11)?,
        fresh_until: time(row, 12)?,
        content_type: row.get(13)?,
        content_hash: row.get(14)?,
        body_bytes: number(row, 15)?,
        title: row.get(16)?,
        links_count: number(row, 17)?,
        robots_rule: row.get(18)?,
        run: row.get(19)?,
        location: row.get(20)?,
        access: row.get(21)?,
    })
}

const DECISION_ROW: &str = "at, kind, decision, run, url, host, http_status, error, friction,
    retry_after_ms, gate, not_before, follows, delay_ms, delay_by, robots_file, robots_line, findings";

fn decision_row(
    file: &PagesFile,
    row: &Row<'_>,
) -> Result<Result<DecisionRow, OpenError>, rusqlite::Error> {
    let findings = match evidence::decode(row.get_ref(17)?.as_blob()?) {
        Ok(findings) => findings,
        Err(error) => return Ok(Err(file.unreadable(error))),
    };
    Ok(Ok(DecisionRow {
        at: time(row, 0)?,
        kind: row.get(1)?,
        decision: row.get(2)?,
        run: row.get(3)?,
        url: row.get(4)?,
        host: row.get(5)?,
        http_status: row.get(6)?,
        error: row.get(7)?,
        friction: row.get(8)?,
        retry_after: millis(row, 9)?,
        gate: row.get(10)?,
        not_before: time(row, 11)?,
        follows: row.get(12)?,
        delay: millis(row, 13)?,
        delay_by: row.get(14)?,
        robots_file: row.get::<_, Option<[u8; 16]>>(15)?.map(RobotsId),
        robots_line: row.get(16)?,
        findings,
    }))
}

fn time(row: &Row<'_>, column: usize) -> Result<Option<Time>, rusqlite::Error> {
    Ok(row.get_ref(column)?.as_str_or_null()?.and_then(moment::read))
}

fn number(row: &Row<'_>, column: usize) -> Result<Option<u64>, rusqlite::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|number| u64::try_from(number).ok()))
}

fn count(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    Ok(number(row, column)?.unwrap_or(0))
}

fn millis(row: &Row<'_>, column: usize) -> Result<Option<Duration>, rusqlite::Error> {
    Ok(number(row, column)?.map(Duration::from_millis))
}
