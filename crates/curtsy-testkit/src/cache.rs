//! The contract of every cache of pages.

use std::sync::Arc;

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Cache, CachedPage, Document, Fetched, Head, Page, Row, UrlRecord};

use crate::sink::{at_url, with_page};
use crate::{block_on, checks};

/// A cache under test. Each check has a rig of its own.
pub trait CacheRig {
    /// Opens the cache, or opens it again.
    fn open(&self) -> Box<dyn Cache + '_>;
    /// Whether pages are still there when the cache was opened again.
    fn is_durable(&self) -> bool {
        true
    }
    /// Writes the row of a page that was put just now, if the cache needs that for durability.
    fn write(&self, _row: Row) {}
}

/// Runs every check, each over a cache of its own, and panics with the names of those that fail.
pub fn keep_the_contract<R: CacheRig>(make: impl Fn() -> R) {
    crate::keep(checks![make:
        an_unknown_page_is_not_there,
        a_page_that_was_put_is_returned,
        a_page_is_found_by_its_url_and_not_by_the_id_of_the_record,
        a_newer_response_replaces_the_older,
        a_confirmation_changes_the_freshness_and_keeps_the_body,
        announced_lookups_return_the_same_pages,
        a_put_after_an_announced_lookup_is_seen,
        any_text_is_returned_as_it_was_put,
        pages_outlive_the_cache,
    ]);
}

fn an_unknown_page_is_not_there<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    assert_eq!(known(&*cache, &record(1)), None);
    assert_eq!(body(&*cache, &record(1)), None);
    put(rig, &*cache, &record(2), &fresh(60), "two");
    assert_eq!(known(&*cache, &record(1)), None);
}

fn a_page_that_was_put_is_returned<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    for n in 0..40 {
        put(rig, &*cache, &record(n), &fresh(n), &format!("page {n}"));
    }
    for n in 0..40 {
        assert_eq!(known(&*cache, &record(n)), Some(fresh(n)));
        let found = block_on(cache.page(record(n).url.key()));
        let (head, page) = found.expect("the page is cached");
        assert_eq!((head.status, &page.body[..]), (200, format!("page {n}").as_bytes()));
        assert_eq!(head.etag, fresh(n).etag);
        assert_eq!(head.content_type.as_deref(), Some(HTML));
    }
}

fn a_page_is_found_by_its_url_and_not_by_the_id_of_the_record<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    // A redirect: the record keeps the identity of the URL that was queued.
    let moved = UrlRecord { url: record(2).url, hop: 1, ..record(1) };
    put(rig, &*cache, &moved, &fresh(60), "moved");
    assert_eq!(known(&*cache, &record(1)), None);
    assert_eq!(known(&*cache, &record(2)), Some(fresh(60)));
}

fn a_newer_response_replaces_the_older<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    put(rig, &*cache, &record(1), &fresh(60), "old");
    put(rig, &*cache, &record(1), &fresh(90), "new");
    assert_eq!(known(&*cache, &record(1)), Some(fresh(90)));
    assert_eq!(body(&*cache, &record(1)).as_deref(), Some("new"));
}

fn a_confirmation_changes_the_freshness_and_keeps_the_body<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    put(rig, &*cache, &record(1), &fresh(60), "body");
    let confirmed = CachedPage { fresh_until: fresh(90).fresh_until, ..fresh(60) };
    block_on(cache.put(&record(1), confirmed.clone(), None));
    assert_eq!(known(&*cache, &record(1)), Some(confirmed));
    assert_eq!(body(&*cache, &record(1)).as_deref(), Some("body"));
}

fn announced_lookups_return_the_same_pages<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    put(rig, &*cache, &record(1), &fresh(60), "one");
    block_on(cache.look_ahead(&[record(1).url.key(), record(2).url.key()]));
    for _ in 0..2 {
        assert_eq!(known(&*cache, &record(1)), Some(fresh(60)));
        assert_eq!(known(&*cache, &record(2)), None);
    }
    block_on(cache.look_ahead(&[]));
}

fn a_put_after_an_announced_lookup_is_seen<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    block_on(cache.look_ahead(&[record(1).url.key()]));
    put(rig, &*cache, &record(1), &fresh(60), "one");
    assert_eq!(known(&*cache, &record(1)), Some(fresh(60)));
}

fn any_text_is_returned_as_it_was_put<R: CacheRig>(rig: &R) {
    let cache = rig.open();
    let long = "long \u{1f980} ".repeat(10_000);
    let texts = ["", "a, \"b\"; 'c'\t\\ \u{7f} é\r\n\n\r\u{2028} end ", &long];
    for (n, text) in texts.iter().enumerate() {
        put(rig, &*cache, &record(n as u64), &fresh(60), text);
        assert!(body(&*cache, &record(n as u64)).as_deref() == Some(*text), "text {n} is the same");
    }
}

fn pages_outlive_the_cache<R: CacheRig>(rig: &R) {
    put(rig, &*rig.open(), &record(1), &fresh(60), "one");
    let found = rig.is_durable().then(|| "one".to_owned());
    let cache = rig.open();
    assert_eq!(body(&*cache, &record(1)), found);
    assert_eq!(known(&*cache, &record(1)), found.map(|_| fresh(60)));
}

fn record(n: u64) -> UrlRecord {
    let url = CrawlUrl::parse(&format!("http://a.test/{n}")).expect("a URL of ours");
    UrlRecord::page(url, 0)
}

/// A page with validators that is fresh for so many seconds of a time far ahead.
fn fresh(seconds: u64) -> CachedPage {
    CachedPage {
        fresh_until: Time::from_secs(4_000_000_000 + seconds),
        etag: Some(format!("\"{seconds}\"")),
        last_modified: None,
    }
}

fn put<R: CacheRig>(rig: &R, cache: &dyn Cache, record: &UrlRecord, page: &CachedPage, text: &str) {
    let head = Arc::new(Head {
        status: 200,
        content_type: Some(HTML.into()),
        etag: page.etag.clone(),
        ..Head::default()
    });
    let fetched = Fetched { body: text.to_owned().into() };
    block_on(cache.put(record, page.clone(), Some((&head, &fetched))));
    let row = Row { id: record.id, url: record.origin.clone(), ..at_url(record.url.clone()) };
    let row = with_page(row, Head::clone(&head), Document::default(), text.as_bytes());
    let content = row.page.as_deref().cloned().expect("it has a page");
    let kept = Some(page.clone());
    rig.write(Row { page: Some(Arc::new(Page { kept, ..content })), ..row });
}

/// A cache that keeps text decodes it, so the charset must be known.
const HTML: &str = "text/html; charset=utf-8";

fn known(cache: &dyn Cache, record: &UrlRecord) -> Option<CachedPage> {
    block_on(cache.get(record.url.key()))
}

fn body(cache: &dyn Cache, record: &UrlRecord) -> Option<String> {
    let (_, page) = block_on(cache.page(record.url.key()))?;
    Some(String::from_utf8(page.body.to_vec()).expect("it was text"))
}
