//! A row as values with types: the columns of the SQL face.

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
use crate::record::{News, crawl_time, fetched_at, news, status};
use crate::words::{self, Said};

/// What a row says. The columns are those of [`COLUMNS`](crate::COLUMNS) with the same names.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The row.
    pub row: &'a Row,
    /// What it brings to one that may be there already.
    pub news: News,
    /// The answer's status.
    pub http_status: Option<u16>,
    /// Why there is no page where the status does not tell.
    pub error: Option<&'static str>,
    /// How it ended.
    pub decision: &'static str,
    /// Who set the wait in force.
    pub delay_by: Option<&'static str>,
    /// The span that two starts on the host keep, in milliseconds.
    pub delay_ms: Option<i64>,
    /// The robots.txt that decided, and which of its lines.
    pub robots: Option<(RobotsId, Option<u32>)>,
    /// How sure it is what robots.txt says, if it had a say.
    pub robots_confidence: Option<Sureness>,
    /// When it was fetched: the server's word if it can be believed.
    pub crawl_time: Option<Time>,
    /// When it was fetched, by our clock.
    pub fetched_at: Option<Time>,
    /// `ETag`.
    pub etag: Option<&'a str>,
    /// `Last-Modified`.
    pub last_modified: Option<&'a str>,
}

impl<'a> Facts<'a> {
    /// What a row says.
    pub fn of(row: &'a Row) -> Facts<'a> {
        let page = row.page.as_deref();
        let said = Said::by(&row.findings);
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

    /// Why there is no page, in words; none if there is one. `body_max` is the policy's limit on bodies.
    pub fn reason(&self, body_max: Option<u64>) -> Option<String> {
        Cause::of_row(self.row, body_max).map(|cause| cause.to_string())
    }

    /// The bytes of the answer, decoded from their packing.
    pub fn body(&self) -> Option<&'a [u8]> {
        self.row.page.as_deref()?.body.as_deref()
    }

    /// The same as text, if it is text: decoded from the encoding in which it was written.
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

    /// `Content-Type`, as it was sent.
    pub fn content_type(&self) -> Option<&'a str> {
        self.row.page.as_deref()?.head.content_type.as_deref()
    }

    /// SHA-256 of the body, in hexadecimal digits.
    pub fn content_hash(&self) -> Option<String> {
        self.body().map(|body| HEXLOWER.encode(&Sha256::digest(body)))
    }

    /// The page's title.
    pub fn title(&self) -> Option<&'a str> {
        self.row.page.as_deref()?.document.html.as_ref()?.title.as_deref()
    }

    /// What the page links to; none if it is not a page that links.
    pub fn links(&self) -> Option<impl Iterator<Item = &'a CrawlUrl>> {
        let html = self.row.page.as_deref()?.document.html.as_ref()?;
        Some(html.links.iter().map(|link| &link.url))
    }
}
