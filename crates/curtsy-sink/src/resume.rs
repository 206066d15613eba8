//! What a resumed crawl, or a report on a running one, reads in the crawl's file: held and known
//! pages, URLs whose failure may be over, and queued URLs.

use std::collections::HashMap;
use std::path::Path;

use curtsy_core::evidence::{self, timestamp_micros};
use curtsy_core::host::{Gate, Reason};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl};
use curtsy_engine::UrlRecord;
use curtsy_file::OpenError;

use crate::read::{PagesFile, count};

/// A URL that failed because of our own side or its settings.
#[derive(Clone, Debug)]
pub struct Unreached {
    /// The URL as it was queued.
    pub record: UrlRecord,
    /// Whether it is a page, not a sitemap or a check.
    pub is_page: bool,
    /// Whether no connection was made for it, also not after a redirect.
    pub nobody_asked: bool,
}

impl PagesFile {
    /// Calls `each` with every page, its final URL and its depth: what a reader must know when a
    /// crawl is resumed. Links that looked like traps are left out.
    pub fn known(&self, mut each: impl FnMut(CrawlUrl, CrawlUrl, u16)) -> Result<(), OpenError> {
        let sql = "SELECT url, coalesce(final_url, url), depth FROM pages
            WHERE kind = 'page' AND NOT (decision = 'refused' AND gate IN ('budget', 'trap'))";
        self.each(sql, |row| {
            let urls = (
                CrawlUrl::parse(row.get_ref(0)?.as_str()?),
                CrawlUrl::parse(row.get_ref(1)?.as_str()?),
            );
            // A row of another program is skipped.
            if let (Ok(url), Ok(last)) = urls {
                each(url, last, row.get(2)?);
            }
            Ok(())
        })
    }

    /// Returns the URLs that a budget of pages or time refused. A larger budget may allow them.
    pub fn over_budget(&self) -> Result<Vec<UrlRecord>, OpenError> {
        let sql = "SELECT p.url, p.depth, d.findings, p.kind FROM pages p
            JOIN decisions d ON d.id = p.id AND d.at = p.decided_at
            WHERE p.decision = 'refused' AND p.gate = 'budget' AND d.decision = 'refused'";
        let mut found = Vec::new();
        self.each(sql, |row| {
            let url = CrawlUrl::parse(row.get_ref(0)?.as_str()?);
            let findings = evidence::decode(row.get_ref(2)?.as_blob()?);
            // A row of another program is skipped.
            if let (Ok(url), Ok(findings)) = (url, findings)
                // In version 0.1.0 the budget gate refused traps.
                && matches!(findings.of(Gate::Budget).reason, Reason::Budget(_))
            {
                let depth = row.get(1)?;
                found.push(match row.get_ref(3)?.as_str()? {
                    "check" => UrlRecord::check(url, depth),
                    _ => UrlRecord::page(url, depth),
                });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the URLs that failed because of our own side or its settings, as far as a row can
    /// tell: guard, name lookup, TLS, connection.
    pub fn unreached(&self) -> Result<Vec<Unreached>, OpenError> {
        let sql = "SELECT url, depth, kind, redirect_count = 0 AND error IN
            ('guard', 'dns', 'connect', 'tls', 'tls_expired', 'tls_name', 'tls_issuer', 'proxy',
             'proxy_refused')
            FROM pages WHERE decision = 'dead' AND error IN
            ('guard', 'dns', 'tls', 'tls_expired', 'tls_name', 'tls_issuer', 'proxy',
             'proxy_refused', 'connect', 'connect_timeout')";
        let mut found = Vec::new();
        self.each(sql, |row| {
            // A row of another program is skipped.
            if let Ok(url) = CrawlUrl::parse(row.get_ref(0)?.as_str()?) {
                let (depth, nobody_asked) = (row.get(1)?, row.get(3)?);
                let (record, is_page) = match row.get_ref(2)?.as_str()? {
                    "sitemap" => (UrlRecord::sitemap(url), false),
                    "check" => (UrlRecord::check(url, depth), false),
                    _ => (UrlRecord::page(url, depth), true),
                };
                found.push(Unreached { record, is_page, nobody_asked });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether any site ever answered the crawl. False for a file that cannot be read or has no
    /// rows.
    pub fn was_answered(file: &Path) -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM decisions WHERE http_status IS NOT NULL)
            OR EXISTS (SELECT 1 FROM pages WHERE decision IN ('fetched', 'confirmed', 'cached'))";
        let found = PagesFile::open(file).ok();
        let found = found.and_then(|it| it.db.query_row(sql, [], |row| row.get(0)).ok());
        found == Some(true)
    }

    /// Whether the last run of the crawl was completed. False for a file that cannot be read.
    pub fn is_complete(file: &Path) -> bool {
        let runs = PagesFile::open(file).and_then(|it| it.runs());
        let last = runs.ok().and_then(|mut runs| runs.pop());
        last.is_some_and(|run| run.outcome.as_deref() == Some("complete"))
    }

    /// Returns the number of held pages that no run since then has decided.
    pub fn held_before(&self, since: Time) -> Result<u64, OpenError> {
        let sql = "SELECT count(*) FROM pages WHERE kind = 'page' AND decided_at < ?1
            AND decision IN ('fetched', 'confirmed', 'cached') AND http_status < 400";
        let since = timestamp_micros(since);
        self.db.query_row(sql, [since], |row| count(row, 0)).map_err(|e| self.unreadable(e))
    }

    /// Returns the number of held pages: fetched, confirmed or fresh.
    pub fn held(&self) -> Result<u64, OpenError> {
        let sql = "SELECT count(*) FROM pages
            WHERE kind = 'page' AND decision IN ('fetched', 'confirmed', 'cached')";
        self.db.query_row(sql, [], |row| count(row, 0)).map_err(|e| self.unreadable(e))
    }

    /// Whether the frontier has changes that are not in its tables: a crawl is running, or was
    /// killed.
    pub fn is_at_work(&self) -> Result<bool, OpenError> {
        if !self.has_table("journal")? {
            return Ok(false);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM journal)";
        self.db.query_row(sql, [], |row| row.get(0)).map_err(|e| self.unreadable(e))
    }

    /// Returns the URLs in the crawl's frontier, each with the last error of its server if the
    /// server is unreachable.
    pub fn queued(&self) -> Result<Vec<(CrawlUrl, Option<String>)>, OpenError> {
        if !self.has_table("frontier")? {
            return Ok(Vec::new());
        }
        let mut last: HashMap<Authority, Option<String>> = HashMap::new();
        let sql = "SELECT url, error FROM decisions WHERE host IN
            (SELECT host FROM frontier_hosts WHERE id IN (SELECT host FROM frontier)) ORDER BY at";
        self.each(sql, |row| {
            if let Ok(url) = CrawlUrl::parse(row.get_ref(0)?.as_str()?) {
                last.insert(url.authority(), row.get(1)?);
            }
            Ok(())
        })?;
        let mut queued = Vec::new();
        self.each("SELECT url FROM frontier", |row| {
            if let Ok(url) = CrawlUrl::parse(row.get_ref(0)?.as_str()?) {
                let error = last.get(&url.authority()).cloned().flatten();
                queued.push((url, error.filter(|error| SILENT.split(' ').any(|it| it == error))));
            }
            Ok(())
        })?;
        Ok(queued)
    }
}

/// Errors of an unreachable server.
const SILENT: &str = "dns connect reset connect_timeout tls tls_expired tls_name tls_issuer \
    first_byte_timeout whole_timeout";
