//! What a person brings by hand: a text, a page or a file. Nothing is fetched, and the run says so.

use std::time::Instant;

use curtsy_core::evidence::{RunEvidence, RunFigures};
use curtsy_core::policy::Mode;
use curtsy_core::url::CrawlUrl;
use curtsy_tiles::PageText;

use super::order::address;
use super::run::{RunAnswer, RunError, Runs, now_text};
use super::{IngestOrder, OrderError};
use crate::orbit::Slug;
use crate::records;
use crate::secret::new_name;

/// Where a text comes from that nobody gave an address of.
pub(crate) const NOWHERE: &str = "https://imported.invalid/";

/// What somebody brings.
pub(crate) struct Brought {
    slug: Slug,
    url: CrawlUrl,
    content_type: String,
    body: Vec<u8>,
}

impl Brought {
    /// Reads what is brought.
    pub(crate) fn read(
        slug: Slug,
        source: Option<&str>,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Brought, OrderError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(OrderError::NothingBrought);
        }
        let source = source.map(str::trim).filter(|source| !source.is_empty());
        let url = address("source", source.unwrap_or(NOWHERE))?;
        Ok(Brought { slug, url, content_type: content_type.to_owned(), body })
    }
}

impl Runs {
    /// Makes tiles of what somebody brings, as a run of its own.
    pub(crate) fn import(&self, brought: Brought) -> Result<RunAnswer, RunError> {
        let began = Instant::now();
        let Brought { slug, url, content_type, body } = brought;
        let page = PageText { url: &url, content_type: Some(&content_type), body: &body };
        let tiles = curtsy_tiles::extract(&[page]);
        let order = IngestOrder {
            slug,
            url: url.clone(),
            mode: Mode::UserAssisted,
            user_urls: Vec::new(),
            callback: None,
        };
        // One page was planned and is in hand: it needed no request.
        let figures = RunFigures {
            planned: 1,
            fresh: 1,
            used: 1,
            took: began.elapsed(),
            ..RunFigures::default()
        };
        let evidence = RunEvidence::new(new_name(), order.mode, figures);
        self.database().transact(|db| {
            records::begin(db, &order, &evidence.trace_id, &now_text())?;
            records::end(db, &evidence, &tiles, &now_text(), None)
        })?;
        Ok(RunAnswer { evidence, tiles, reason: None })
    }
}
