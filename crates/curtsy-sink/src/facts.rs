//! A row as typed values: the columns of the SQL face.

use curtsy_core::evidence::Sureness;
use curtsy_core::host::{Gate, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::Row;
use curtsy_parse::charset::Charset;
use curtsy_parse::content_type::BodyKind;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

use crate::reason::Cause;
use crate::record::{RowChange, crawl_time, fetched_at, news, status};
use crate::words::{self, FindingColumns};

/// The values of a row. The fields have the names of the columns in [`COLUMNS`](crate::COLUMNS).
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The row.
    pub row: &'a Row,
    /// How the row changes an existing row of its URL.
    pub news: RowChange,
    /// The status of the response.
    pub http_status: Option<u16>,
    /// Why there is no page, where the status does not say.
    pub error: Option<&'static str>,
    /// The outcome of the URL.
    pub decision: &'static str,
    /// What set the wait in force.
    pub delay_by: Option<&'static str>,
    /// The delay between two request starts on the host, in milliseconds.
    pub delay_ms: Option<i64>,
    /// The robots.txt that decided, and the line.
    pub robots: Option<(RobotsId, Option<u32>)>,
    /// The confidence in robots.txt, if it was consulted.
    pub robots_confidence: Option<Sureness>,
    /// When the page was fetched: the server's time if it is plausible.
    pub crawl_time: Option<Time>,
    /// When the page was fetched, by the local clock.
    pub fetched_at: Option<Time>,
    /// `ETag`.
    pub etag: Option<&'a str>,
    /// `Last-Modified`.
    pub last_modified: Option<&'a str>,
}

impl<'a> Facts<'a> {
    /// Returns the values of a row.
    pub fn of(row: &'a Row) -> Facts<'a> {
        let page = row.page.as_deref();
        let said = FindingColumns::of(&row.findings);
        let kept = page.and_then(|page| page.kept.as_ref());
        let head = page.map(|page| &page.head);
        let etag = kept.and_then(|kept| kept.etag.as_deref());
        let modified = kept.and_then(|kept| kept.last_modified.as_deref());
        Facts {
            row,
            news: news(&row.ending, page),
            http_status: status(&row.ending, page),
            error: words::error(&row.ending),
            decision: words::ending(&row.ending),
            delay_by: said.delay_by,
            delay_ms: said.delay_ms,
            robots: said.robots,
            robots_confidence: Sureness::of(row.findings.of(Gate::Robots)),
            crawl_time: page.map(|page| crawl_time(&page.head, fetched_at(page, row.at))),
            fetched_at: page.map(|page| fetched_at(page, row.at)),
            etag: etag.or(head.and_then(|head| head.etag.as_deref())),
            last_modified: modified.or(head.and_then(|head| head.last_modified.as_deref())),
        }
    }

    /// Returns why there is no page, in words; none if there is one. `body_max` is the policy's
    /// limit on bodies.
    pub fn reason(&self, body_max: Option<u64>) -> Option<String> {
        Cause::of_row(self.row, body_max).map(|cause| cause.to_string())
    }

    /// Returns the decompressed body.
    pub fn body(&self) -> Option<&'a [u8]> {
        self.row.page.as_deref()?.body.as_deref()
    }

    /// Returns the body as text if it is text, decoded from its encoding.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let (page, body) = (self.row.page.as_deref()?, self.body()?);
        if let Some(html) = &page.document.html {
            return Some(html.charset.decode(body));
        }
        let content_type = page.head.content_type.as_deref();
        let is_text = content_type.is_some_and(|kind| kind.trim_start().starts_with("text/"))
            || matches!(BodyKind::of(content_type, body), BodyKind::Feed);
        match std::str::from_utf8(body) {
            Ok(text) if !text.contains('\0') => Some(Cow::Borrowed(text)),
            _ if is_text => Some(Charset::of(body, content_type, None).decode(body)),
            _ => None,
        }
    }

    /// Returns the `Content-Type` as it was sent.
    pub fn content_type(&self) -> Option<&'a str> {
        self.row.page.as_deref()?.head.content_type.as_deref()
    }

    /// Returns the SHA-256 of the body, in hexadecimal.
    pub fn content_hash(&self) -> Option<String> {
        self.body().map(|body| HEXLOWER.encode(&Sha256::digest(body)))
    }

    /// Returns the page's title.
    pub fn title(&self) -> Option<&'a str> {
        self.row.page.as_deref()?.document.html.as_ref()?.title.as_deref()
    }

    /// Returns the links of the page; none if it is not HTML.
    pub fn links(&self) -> Option<impl Iterator<Item = &'a CrawlUrl>> {
        let html = self.row.page.as_deref()?.document.html.as_ref()?;
        Some(html.links.iter().map(|link| &link.url))
    }
}
