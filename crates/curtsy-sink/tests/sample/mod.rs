//! Rows for tests, and folders for their files.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::host::{AskKind, Findings, Outcome};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{CachedPage, Document, Ending, Head, Page, Row};
use curtsy_parse::html;

/// The time at which the tests begin.
pub(crate) const START: Time = Time::from_secs(1_798_761_600);

/// Returns a fetched row, `secs` after the start.
pub(crate) fn row(url: &str, secs: u64, page: Option<Page>) -> Row {
    let url = CrawlUrl::parse(url).unwrap();
    let outcome = Outcome::Answered { status: 200, retry_after: None, friction: None };
    Row {
        id: url.key(),
        final_url: url.clone(),
        url,
        wish: None,
        redirects: 0,
        depth: 1,
        kind: AskKind::Page,
        tries: 0,
        ending: Ending::Fetched(outcome),
        findings: Findings::CLEAR,
        crawl_delay: None,
        at: START + Duration::from_secs(secs),
        page: page.map(Arc::new),
    }
}

/// Returns a page with this body, at `http://a.test/`.
pub(crate) fn page_of(body: &str) -> Page {
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let head = Head {
        status: 200,
        content_type: Some("text/html; charset=utf-8".into()),
        etag: Some("\"e\"".into()),
        cache_control: vec!["max-age=60".into(), "public".into()],
        others: vec![("server".into(), "a \"test\"".into()), ("x-a".into(), "1".into())],
        ..Head::default()
    };
    let html = html::HtmlPage::read(
        &url,
        head.content_type.as_deref(),
        body.as_bytes(),
        &html::PageLimits::default(),
    );
    let kept = CachedPage {
        fresh_until: START + Duration::from_micros(3_600_000_001),
        etag: head.etag.clone(),
        last_modified: None,
    };
    Page {
        head: Arc::new(head),
        body: Some(Bytes::copy_from_slice(body.as_bytes())),
        document: Document { html: Some(html), ..Document::default() },
        kept: Some(kept),
        peer: Some([127, 0, 0, 1].into()),
        latency: Some(Duration::from_micros(1_234)),
        source: curtsy_engine::PageSource::Network,
    }
}

/// Waits for a future that another thread may complete.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Unpark>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-sink-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure to remove it is not tested.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads the records of a CSV file as objects, without empty unquoted fields.
pub(crate) fn csv_records(text: &str) -> Vec<serde_json::Value> {
    let mut records: Vec<Vec<Option<String>>> = vec![Vec::new()];
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        let mut field = String::new();
        let quoted = chars.next_if_eq(&'"').is_some();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
                '"' if quoted => break,
                _ => field.push(c),
            }
            if !quoted && matches!(chars.peek(), Some(',' | '\r' | '\n') | None) {
                break;
            }
            if !quoted && field == "," {
                break;
            }
        }
        // An empty field leaves its comma or line end in `field`.
        let empty = !quoted && matches!(field.as_str(), "," | "\r");
        let end = if empty { field.chars().next() } else { chars.next() };
        let value = (quoted || !empty).then_some(field);
        records.last_mut().unwrap().push(value);
        match end {
            Some(',') => {}
            Some('\r') => {
                assert_eq!(chars.next(), Some('\n'), "records end with CRLF");
                records.push(Vec::new());
            }
            other => panic!("a field ends with {other:?}"),
        }
    }
    records.pop();
    let names = records.remove(0);
    let objects = records.into_iter().map(|record| {
        assert_eq!(record.len(), names.len(), "every record has every field");
        let members = names.iter().zip(record).filter_map(|(name, value)| {
            Some((name.clone().unwrap(), serde_json::Value::String(value?)))
        });
        serde_json::Value::Object(members.collect())
    });
    objects.collect()
}

pub(crate) fn from_base64(text: &str) -> Vec<u8> {
    data_encoding::BASE64.decode(text.as_bytes()).unwrap()
}
