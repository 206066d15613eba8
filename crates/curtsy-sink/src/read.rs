//! What a crawl's file says: for `why`, `links` and `plan`, also while a crawl writes it.
//!
//! Plain data comes out; words for people are made by whoever prints it. Nothing here writes, and a file that is being written is read
//! as it was at its last batch.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use curtsy_core::evidence::{self, read_timestamp};
use curtsy_core::host::{Findings, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, HostKey, UrlKey};
use curtsy_engine::UrlRecord;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::schema;
use crate::sqlite::write::id;
use crate::standing::{RowEnd, Standing};
use curtsy_file::OpenError;

/// A crawl's file, open for reading.
#[derive(Debug)]
pub struct PagesFile {
    path: PathBuf,
    pub(crate) db: Connection,
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
    /// Why there is no page, in words.
    pub reason: Option<String>,
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
    /// How many of its links were not read, if that is known: not in files of the first version.
    pub links_cut: Option<u64>,
    /// The line of robots.txt that decided.
    pub robots_rule: Option<String>,
    /// The run that decided, as in [`RunRow::number`].
    pub run: Option<i64>,
    /// Where the site sent its visitor, if that was not followed.
    pub location: Option<String>,
    /// `own` or `login`.
    pub access: Option<String>,
    /// Where the content of the page comes from, as in the column `source`.
    pub source: Option<String>,
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
    /// Why it brought no page, in words.
    pub reason: Option<String>,
    /// The line of robots.txt that decided.
    pub robots_rule: Option<String>,
    /// The site's Crawl-delay for us.
    pub crawl_delay: Option<Duration>,
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

/// A URL's row, as far as a link to it asks.
#[derive(Clone, Debug)]
pub struct TargetRow<'r> {
    /// The URL.
    pub url: CrawlUrl,
    /// Its host.
    pub host: &'r str,
    /// Where it was found.
    pub final_url: &'r str,
    /// Whether it is an HTML page.
    pub is_page: bool,
    /// Whether its body is kept.
    pub has_text: bool,
    /// Whether it belongs to the crawl as it is now: a file keeps rows of what an earlier crawl found and this one did not.
    pub is_current: bool,
    end: RowEnd<'r>,
}

impl TargetRow<'_> {
    /// Whether it is there; `external` if it is on a host that was not crawled.
    pub fn standing(&self, external: bool) -> Standing {
        Standing::of(&RowEnd { external, ..self.end.clone() })
    }
}

/// A page that links to others.
pub struct LinkingPage<'r> {
    /// The URL as it was offered.
    pub url: &'r str,
    /// Where it was found.
    pub final_url: &'r str,
    /// Where it sends its readers by itself.
    pub refresh: Option<&'r str>,
    /// `Content-Type`.
    pub content_type: Option<&'r str>,
    /// Its body, if it is kept.
    pub body: Option<&'r [u8]>,
    links: Option<&'r str>,
    nofollow: Option<&'r str>,
    frames: Option<&'r str>,
}

impl LinkingPage<'_> {
    /// What it links to.
    pub fn links(&self) -> Vec<CrawlUrl> {
        urls(self.links)
    }

    /// What it shows in frames.
    pub fn frames(&self) -> Vec<CrawlUrl> {
        urls(self.frames)
    }

    /// What of its links says `nofollow`.
    pub fn nofollow(&self) -> Vec<CrawlUrl> {
        urls(self.nofollow)
    }
}

/// A column of URLs. What another program put there is passed over.
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
    /// Links between a seed and that page.
    pub depth: u64,
    /// Whether the link says nofollow.
    pub nofollow: bool,
    /// Whether it is a sitemap.
    pub is_sitemap: bool,
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

    /// The row of a URL.
    pub fn row(&self, url: &CrawlUrl) -> Result<Option<PageRow>, OpenError> {
        self.row_of(url.key())
    }

    /// The row of a URL that was asked for as a sitemap. The same URL as a page has a row of its own.
    pub fn sitemap_row(&self, url: &CrawlUrl) -> Result<Option<PageRow>, OpenError> {
        self.row_of(UrlRecord::sitemap(url.clone()).id)
    }

    fn row_of(&self, key: UrlKey) -> Result<Option<PageRow>, OpenError> {
        let sql = format!("SELECT {PAGE_ROW} FROM pages WHERE id = ?1");
        let key = id(key);
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
        self.decisions_of(url.key())
    }

    /// The same for a URL that was asked for as a sitemap.
    pub fn sitemap_decisions(&self, url: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        self.decisions_of(UrlRecord::sitemap(url.clone()).id)
    }

    /// Requests for a robots.txt, on behalf of whichever URL they were made, in their order. Reads the whole history.
    pub fn robots_requests(&self, robots: &CrawlUrl) -> Result<Vec<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {DECISION_ROW} FROM history
                WHERE url = ?1 AND kind IN ('robots', 'robots_hop') ORDER BY at"
        );
        self.all(&sql, &[&robots.as_str()], decision_row)?.into_iter().collect()
    }

    /// How many pages of an authority its robots.txt refused, and how many others have a row.
    pub fn ruled_by_robots(&self, authority: &Authority) -> Result<(u64, u64), OpenError> {
        let sql = "SELECT coalesce(sum(refused), 0), coalesce(sum(NOT refused), 0) FROM (
            SELECT decision = 'refused' AND gate = 'robots' AS refused
            FROM pages WHERE kind = 'page' AND substr(final_url, 1, length(?1)) = ?1)";
        let root = authority.root();
        let counts =
            |row: &Row<'_>| Ok((row.get::<_, u32>(0)?.into(), row.get::<_, u32>(1)?.into()));
        self.db.query_row(sql, [root.as_str()], counts).map_err(|e| self.unreadable(e))
    }

    /// How many pages a sitemap lists.
    pub fn listed_by(&self, sitemap: &str) -> Result<u64, OpenError> {
        let sql = "SELECT count(*) FROM sitemap_urls WHERE sitemap = ?1";
        let listed = self.db.query_row(sql, [sitemap], |row| row.get::<_, u32>(0));
        listed.map(u64::from).map_err(|e| self.unreadable(e))
    }

    fn decisions_of(&self, key: UrlKey) -> Result<Vec<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {DECISION_ROW} FROM decisions WHERE id = ?1
                ORDER BY at, decision NOT IN ('decide', 'retry', 'follow')"
        );
        let key = id(key);
        self.all(&sql, &[&&key[..]], decision_row)?.into_iter().collect()
    }

    /// The page nearest to a seed that links to a URL, or else a sitemap that lists it.
    pub fn linked_from(&self, url: &CrawlUrl) -> Result<Option<LinkedFrom>, OpenError> {
        // To look for the text first is much cheaper than to read the links of every page.
        let pages = "SELECT p.url, p.depth, EXISTS
                (SELECT 1 FROM json_each(p.links_nofollow) WHERE value = ?1)
            FROM pages p WHERE p.kind = 'page' AND (
                (instr(p.links, ?1) > 0 AND EXISTS (SELECT 1 FROM json_each(p.links) WHERE value = ?1))
                OR (instr(p.frames, ?1) > 0 AND EXISTS (SELECT 1 FROM json_each(p.frames) WHERE value = ?1))
                OR p.refresh = ?1)
            ORDER BY 3, p.depth, p.number LIMIT 1";
        let found = self.all(pages, &[&url.as_str()], |_, row| {
            let (url, depth, nofollow) = (row.get(0)?, row.get::<_, u32>(1)?, row.get(2)?);
            Ok(LinkedFrom { url, depth: depth.into(), nofollow, is_sitemap: false })
        })?;
        if let Some(found) = found.into_iter().next() {
            return Ok(Some(found));
        }
        let sitemaps = "SELECT sitemap FROM sitemap_urls WHERE url = ?1 LIMIT 1";
        let found = self.all(sitemaps, &[&url.as_str()], |_, row| {
            Ok(LinkedFrom { url: row.get(0)?, depth: 0, nofollow: false, is_sitemap: true })
        })?;
        Ok(found.into_iter().next())
    }

    /// The last request to a host after which it was left alone: one that was refused, or told us to wait, or failed.
    pub fn last_setback(&self, host: &HostKey) -> Result<Option<DecisionRow>, OpenError> {
        let sql = format!(
            "SELECT {DECISION_ROW} FROM decisions WHERE host = ?1
                AND (http_status IN (403, 429) OR http_status >= 500 OR error IS NOT NULL)
                AND coalesce(error, '') NOT IN ('slot_timeout', 'not_sent', 'unheard', 'lost_redirect')
                ORDER BY at DESC LIMIT 1"
        );
        self.all(&sql, &[&host.as_str()], decision_row)?.into_iter().next().transpose()
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

    /// Every URL with a row, as far as a link to it asks.
    pub fn targets(&self, mut each: impl FnMut(TargetRow<'_>)) -> Result<(), OpenError> {
        let current = self.current()?;
        let sql = format!(
            "SELECT url, host, final_url, links_count IS NOT NULL, body_bytes IS NOT NULL,
            decision, gate, http_status, error, retry_after_ms IS NOT NULL, {current} FROM pages
            WHERE kind <> 'sitemap'"
        );
        self.each(&sql, |row| {
            // What another program put there is passed over.
            let Ok(url) = CrawlUrl::parse(row.get_ref(0)?.as_str()?) else {
                return Ok(());
            };
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

    /// Hosts whose pages were read for links.
    pub fn linking_hosts(&self) -> Result<HashSet<String>, OpenError> {
        let sql = "SELECT DISTINCT host FROM pages WHERE links_count IS NOT NULL
            UNION SELECT DISTINCT host FROM pages WHERE depth = 0";
        Ok(self.all(sql, &[], |_, row| row.get(0))?.into_iter().collect())
    }

    /// Every page of the crawl as it is now that was read for links, in the order in which they came.
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

    /// The address at which a page was found, its `Content-Type` and its body, if that is kept.
    pub fn text_of(
        &self,
        key: UrlKey,
        read: impl FnOnce(&str, Option<&str>, &[u8]),
    ) -> Result<(), OpenError> {
        let sql = "SELECT final_url, content_type, body FROM pages
            WHERE id = ?1 AND body IS NOT NULL";
        let look = || {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query([&id(key)[..]])?;
            if let Some(row) = rows.next()? {
                let (url, kind) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str_or_null()?);
                read(url, kind, row.get_ref(2)?.as_blob()?);
            }
            Ok::<(), rusqlite::Error>(())
        };
        look().map_err(|e| self.unreadable(e))
    }

    /// URLs whose every redirect in their last run says that it is for good (301, 308).
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

    /// How many links of all pages were not read.
    pub fn links_cut(&self) -> Result<u64, OpenError> {
        let sql = "SELECT coalesce(sum(links_cut), 0) FROM pages";
        let cut = self.db.query_row(sql, [], |row| count(row, 0));
        cut.map_err(|e| self.unreadable(e))
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

    /// The condition for rows of the crawl as it is now: of the last run, or known to the crawl, which forgets what it knows when it begins
    /// anew.
    fn current(&self) -> Result<&'static str, OpenError> {
        Ok(match self.has_table("known")? {
            true => "(run IS (SELECT max(number) FROM runs) OR id IN (SELECT key FROM known))",
            false => "1",
        })
    }

    /// Whether the crawl's frontier, which lies in the same file, has a table.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool, OpenError> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found = self.db.query_row(sql, [name], |row| row.get::<_, i64>(0));
        found.map(|count| count > 0).map_err(|e| self.unreadable(e))
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

    pub(crate) fn each(
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

    pub(crate) fn unreadable(
        &self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> OpenError {
        OpenError::Unreadable { path: self.path.clone(), source: source.into() }
    }
}

const PAGE_ROW: &str = "url, final_url, redirect_count, decision, gate, decided_at, http_status, error,
    kind, depth, tries, fetched_at, fresh_until, content_type, content_hash, body_bytes, title, links_count,
    robots_rule, run, reason, links_cut, headers ->> '$.location', access, source";

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
        reason: row.get(20)?,
        links_cut: number(row, 21)?,
        location: row.get(22)?,
        access: row.get(23)?,
        source: row.get(24)?,
    })
}

const DECISION_ROW: &str = "at, kind, decision, run, url, host, http_status, error, friction,
    retry_after_ms, gate, not_before, follows, delay_ms, delay_by, robots_file, robots_line, findings,
    reason, robots_rule, crawl_delay_ms";

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
        reason: row.get(18)?,
        robots_rule: row.get(19)?,
        crawl_delay: millis(row, 20)?,
    }))
}

fn time(row: &Row<'_>, column: usize) -> Result<Option<Time>, rusqlite::Error> {
    Ok(row.get_ref(column)?.as_str_or_null()?.and_then(read_timestamp))
}

fn number(row: &Row<'_>, column: usize) -> Result<Option<u64>, rusqlite::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|number| u64::try_from(number).ok()))
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    Ok(number(row, column)?.unwrap_or(0))
}

fn millis(row: &Row<'_>, column: usize) -> Result<Option<Duration>, rusqlite::Error> {
    Ok(number(row, column)?.map(Duration::from_millis))
}
