//! The pages of a fleet: contents under the names that consumers use, and metadata for the cache.
//!
//! The key of a content is `webpage:` and the SHA-256 of the URL as it was queued. The content is
//! decoded and otherwise unchanged. The key of the metadata comes from the URL at which the page
//! was found, so a later redirect to that URL finds it. Both expire.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::evidence::cache_key;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Batch, Boxed, Cache, CachedPage, Fetched, Head, Sink, SinkError, UrlRecord};

use super::letters::reply;
use super::link::{Wire, WireError, by_hash};
use super::reply::{Reply, Strange, micros};
use super::script::{KEEP, PAGE, PAGES, PRESENT};

/// Pages that are read ahead, at most.
pub(crate) const AHEAD_MAX: usize = 65_536;

/// Pages in Redis.
pub struct FleetPages<W> {
    wire: Rc<W>,
    /// How long a page is kept.
    ttl: Duration,
    /// Hits and misses.
    counts: Cell<(u64, u64)>,
    /// Pages that were read ahead. Each is used once; later calls read it again.
    ahead: RefCell<HashMap<UrlKey, Option<CachedPage>>>,
}

impl<W: Wire> FleetPages<W> {
    /// Returns the pages of a fleet, each kept for `ttl`.
    pub fn new(wire: Rc<W>, ttl: Duration) -> FleetPages<W> {
        FleetPages { wire, ttl, counts: Cell::new((0, 0)), ahead: RefCell::default() }
    }

    /// Returns the number of hits and of misses.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        self.counts.get()
    }

    fn ttl_ms(&self) -> u64 {
        (self.ttl.as_millis() as u64).max(1)
    }

    async fn look_up(
        &self,
        key: UrlKey,
        with_content: bool,
    ) -> Result<Option<FoundPage>, WireError> {
        let mut command = by_hash(&PAGE);
        command.arg(key.to_string()).arg(u8::from(with_content));
        let value = self.wire.run(&PAGE, &command).await?;
        let mut answer = Reply::new(value)?;
        match answer.text()?.as_str() {
            "page" => Ok(Some(FoundPage::read(&mut answer, with_content)?)),
            _ => Ok(None),
        }
    }

    async fn look_for_all(&self, keys: &[UrlKey]) -> Result<(), WireError> {
        let mut command = by_hash(&PAGES);
        for key in keys {
            command.arg(key.to_string());
        }
        let mut answer = reply(self.wire.run(&PAGES, &command).await?)?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let mut one = answer.list()?;
            let page = match one.text()?.as_str() {
                "page" => Some(FoundPage::read(&mut one, false)?.page),
                _ => None,
            };
            found.push((*key, page));
        }
        let mut ahead = self.ahead.borrow_mut();
        if ahead.len() >= AHEAD_MAX {
            // Reading again costs a round trip.
            ahead.clear();
        }
        ahead.extend(found);
        Ok(())
    }

    async fn keep(&self, kept: &KeptPage<'_>) -> Result<(), WireError> {
        let mut command = by_hash(&KEEP);
        command.arg(kept.key.to_string()).arg(&kept.name).arg(self.ttl_ms());
        command.arg(micros(kept.page.fresh_until));
        for value in [&kept.page.etag, &kept.page.last_modified] {
            command.arg(value.as_ref().map(|value| format!("={value}")).unwrap_or_default());
        }
        let (kind, body) = kept.answer.unwrap_or_default();
        command.arg(kind).arg(u8::from(kept.answer.is_some())).arg(body);
        self.wire.run(&KEEP, &command).await.map(|_| ())
    }

    /// Ensures that every page of a batch has a content under the name in its event.
    async fn have(&self, batch: &Batch) -> Result<(), WireError> {
        let pages: Vec<_> =
            batch.rows.iter().filter_map(|row| row.webpage().map(|page| (row, page))).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = pages.iter().map(|(_, page)| cache_key(page.url)).collect();
        let mut command = by_hash(&PRESENT);
        command.arg(self.ttl_ms()).arg(&names);
        let mut missing = reply(self.wire.run(&PRESENT, &command).await?)?;
        let mut missing = missing.list()?;
        while !missing.is_over() {
            let at = missing.number()? as usize - 1;
            let (row, page) = pages.get(at).ok_or(Strange)?;
            let fresh = row.page.as_ref().and_then(|page| page.kept.clone());
            let page_kept = fresh.unwrap_or(CachedPage {
                fresh_until: Time::START,
                etag: None,
                last_modified: None,
            });
            self.keep(&KeptPage {
                key: row.final_url.key(),
                name: names[at].clone(),
                page: &page_kept,
                answer: Some((page.content_type.unwrap_or_default(), page.body)),
            })
            .await?;
        }
        Ok(())
    }
}

/// A page to be written.
struct KeptPage<'a> {
    key: UrlKey,
    name: String,
    page: &'a CachedPage,
    answer: Option<(&'a str, &'a [u8])>,
}

/// A page that was read.
struct FoundPage {
    page: CachedPage,
    content_type: Option<String>,
    body: Bytes,
}

impl FoundPage {
    fn read(answer: &mut Reply, with_content: bool) -> Result<FoundPage, Strange> {
        let fresh_until = answer.time()?;
        let mut value = || answer.text().map(|text| text.strip_prefix('=').map(str::to_owned));
        let (etag, last_modified) = (value()?, value()?);
        let kind = answer.text()?;
        let body = if with_content { answer.bytes()?.into() } else { Bytes::new() };
        Ok(FoundPage {
            page: CachedPage { fresh_until, etag, last_modified },
            content_type: (!kind.is_empty()).then_some(kind),
            body,
        })
    }
}

impl<W: Wire> Cache for FleetPages<W> {
    fn look_ahead(&self, keys: &[UrlKey]) -> Boxed<'_, ()> {
        let keys = keys.to_vec();
        Box::pin(async move {
            // Pages that were not read ahead are read when they are needed.
            let _ = self.look_for_all(&keys).await;
        })
    }

    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        Box::pin(async move {
            let ahead = self.ahead.borrow_mut().remove(&key);
            let found = match ahead {
                Some(found) => found,
                // If the cache can't be read, the page is requested.
                None => self.look_up(key, false).await.ok().flatten().map(|found| found.page),
            };
            let (hits, misses) = self.counts.get();
            self.counts.set(match found {
                Some(_) => (hits + 1, misses),
                None => (hits, misses + 1),
            });
            found
        })
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        Box::pin(async move {
            let found = self.look_up(key, true).await.ok().flatten()?;
            let head = Head {
                status: 200,
                etag: found.page.etag,
                last_modified: found.page.last_modified,
                content_type: found.content_type,
                ..Head::default()
            };
            Some((Arc::new(head), Fetched { body: found.body }))
        })
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        let (key, spelt) =
            (asked.url.key(), asked.wish.as_ref().map(|wish| cache_key(&wish.spelt)));
        let name = spelt.unwrap_or_else(|| cache_key(asked.origin.as_str()));
        self.ahead.borrow_mut().remove(&key);
        let answer = answer
            .map(|(head, page)| (head.content_type.clone().unwrap_or_default(), page.body.clone()));
        Box::pin(async move {
            let answer = answer.as_ref().map(|(kind, body)| (kind.as_str(), &body[..]));
            // If this fails, the row's sink writes the page.
            let _ = self.keep(&KeptPage { key, name, page: &page, answer }).await;
        })
    }
}

impl<W: Wire> Sink for FleetPages<W> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.have(batch)
                .await
                .map_err(|e| SinkError { rows: batch.rows.len(), why: format!("pages: {e}") })
        })
    }
}
