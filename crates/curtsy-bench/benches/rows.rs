//! What a row costs, in CPU time: pages of 10 KB with 25 links, in batches of 100, into each kind
//! of file.
//!
//! The rows are made before; what is measured is `Sink::write` until the batch is kept, threads
//! included, and for SQLite the moving of its log into the file as well. Looking a page up is
//! measured beside it: of a URL that is not held, and of one that is.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::hint::black_box;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use bytes::Bytes;
use cpu_time::ProcessTime;
use curtsy_core::host::{
    AskKind, Confidence, DelayBy, Finding, Findings, Gate, Outcome, PaceReason, Reason, RobotsId,
    RobotsReason, Verdict,
};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Cache, CachedPage, Document, Ending, Head, Page, Row, Sink};
use curtsy_parse::html;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, SqliteOptions, SqliteSink};
use sha2::{Digest, Sha256};

const ROWS: usize = 10_000;
const BATCH: usize = 100;
const LINKS: usize = 25;
const BODY: usize = 10_000;
const ROUNDS: usize = 7;

fn main() {
    let full = batches(LINKS, BODY);
    if std::env::args().any(|argument| argument == "sqlite") {
        // For a profiler.
        (0..ROUNDS).for_each(|_| println!("{:.1}", first(&full)));
        return;
    }
    let bare = batches(0, 0);
    println!("CPU µs a row, {ROWS} rows in batches of {BATCH}; median of {ROUNDS}");
    let mut costs: [(&str, Vec<f64>); 6] = [
        ("SQLite, 10 KB and 25 links", Vec::new()),
        ("SQLite, no body and no links", Vec::new()),
        ("SQLite, told again", Vec::new()),
        ("JSON lines, 10 KB and 25 links", Vec::new()),
        ("CSV, 10 KB and 25 links", Vec::new()),
        ("SHA-256 of 10 KB, part of each", Vec::new()),
    ];
    let mut looks = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (first, again, missing, held) = sqlite(&full);
        costs[0].1.push(first);
        costs[1].1.push(sqlite(&bare).0);
        costs[2].1.push(again);
        costs[3].1.push(lines(&full, |path| {
            JsonlSink::open(path, FileOptions::default()).expect("a new file")
        }));
        costs[4].1.push(lines(&full, |path| {
            CsvSink::open(path, FileOptions::default()).expect("a new file")
        }));
        costs[5].1.push(hash(&full));
        looks.0.push(missing);
        looks.1.push(held);
    }
    for (what, costs) in &mut costs {
        println!("{what:<38} {:>7.1}", median(costs));
    }
    println!("{:<38} {:>7.2}", "looking up a URL that is not held", median(&mut looks.0));
    println!("{:<38} {:>7.2}", "looking up one that is", median(&mut looks.1));
}

fn sqlite(batches: &[Batch]) -> (f64, f64, f64, f64) {
    let folder = Folder::new();
    let sink =
        SqliteSink::open(&folder.0.join("crawl.db"), SqliteOptions::default()).expect("a new file");
    let first = cost(|| batches.iter().for_each(|batch| keep(&sink, batch)));
    let again = cost(|| batches.iter().for_each(|batch| keep(&sink, batch)));
    let urls = || batches.iter().flat_map(|batch| &batch.rows).map(|row| &row.url);
    let other: Vec<_> = urls().map(|url| url.join("?other").expect("a URL").key()).collect();
    let held: Vec<_> = urls().map(CrawlUrl::key).collect();
    let missing = cost(|| {
        for key in &other {
            assert!(block(sink.get(*key)).is_none());
        }
    });
    let held = cost(|| {
        for key in &held {
            assert!(black_box(block(sink.get(*key))).is_some());
        }
    });
    (first, again, missing, held)
}

/// CPU µs for each row of a new file.
fn first(batches: &[Batch]) -> f64 {
    let folder = Folder::new();
    let sink =
        SqliteSink::open(&folder.0.join("crawl.db"), SqliteOptions::default()).expect("a new file");
    cost(|| batches.iter().for_each(|batch| keep(&sink, batch)))
}

fn lines<S: Sink>(batches: &[Batch], open: impl FnOnce(&Path) -> S) -> f64 {
    let folder = Folder::new();
    let sink = open(&folder.0.join("pages"));
    cost(|| batches.iter().for_each(|batch| keep(&sink, batch)))
}

fn hash(batches: &[Batch]) -> f64 {
    let pages = || batches.iter().flat_map(|batch| &batch.rows).filter_map(|row| row.page.as_ref());
    cost(|| {
        for body in pages().filter_map(|page| page.body.as_ref()) {
            black_box(Sha256::digest(body));
        }
    })
}

fn keep(sink: &dyn Sink, batch: &Batch) {
    block(sink.write(batch)).expect("there is room");
}

/// CPU µs a row.
fn cost(run: impl FnOnce()) -> f64 {
    let start = ProcessTime::now();
    run();
    start.elapsed().as_nanos() as f64 / 1000.0 / ROWS as f64
}

fn median(costs: &mut [f64]) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

fn batches(links: usize, bytes: usize) -> Vec<Batch> {
    let rows: Vec<Row> = (0..ROWS).map(|n| row(n, links, bytes)).collect();
    rows.chunks(BATCH).map(|rows| Batch::of_rows(rows.to_vec())).collect()
}

fn row(n: usize, links: usize, bytes: usize) -> Row {
    let host = n % 50;
    let url = format!("http://www.host-{host}.example/garden/chairs/{n}.html");
    let url = CrawlUrl::parse(&url).expect("a URL of ours");
    let mut text = format!("<!doctype html><title>Chair number {n}</title>");
    for link in 0..links {
        text.push_str(&format!("<a href='/garden/chairs/{}.html'>chair</a> ", n * 7 + link));
    }
    while text.len() < bytes {
        text.push_str("<p>A chair of oak, oiled twice, for gardens in which it rains. ");
        text.push_str(&(n * text.len()).to_string());
    }
    let at = Time::from_micros(1_798_761_600_000_000 + n as u64 * 1_371);
    let content_type = Some("text/html; charset=utf-8".to_owned());
    let html = html::HtmlPage::read(
        &url,
        content_type.as_deref(),
        text.as_bytes(),
        &html::PageLimits::default(),
    );
    let head = Head {
        status: 200,
        content_type,
        date: Some("Fri, 01 Jan 2027 00:00:00 GMT".into()),
        etag: Some(format!("\"{n:x}-5f2c\"")),
        last_modified: Some("Thu, 31 Dec 2026 10:00:00 GMT".into()),
        cache_control: vec!["max-age=600".into()],
        others: vec![
            ("server".into(), "nginx/1.24.0".into()),
            ("content-length".into(), text.len().to_string()),
            ("vary".into(), "Accept-Encoding".into()),
        ],
        ..Head::default()
    };
    let kept = CachedPage {
        fresh_until: at + Duration::from_secs(600),
        etag: head.etag.clone(),
        last_modified: head.last_modified.clone(),
    };
    let mut findings = Findings::CLEAR;
    let file = RobotsId([host as u8; 16]);
    let allows =
        Reason::Robots(RobotsReason::Allows { file, line: Some(3), standing: Confidence::Current });
    findings.set(Gate::Robots, Finding::new(Verdict::Go, allows));
    let delay = Reason::Pace(PaceReason::Delay { micros: 1_000_000, by: DelayBy::Policy });
    findings.set(Gate::Pace, Finding::new(Verdict::Go, delay));
    let outcome = Outcome::Answered { status: 200, retry_after: None, friction: None };
    Row {
        id: url.key(),
        final_url: url.clone(),
        url,
        wish: None,
        redirects: 0,
        depth: 3,
        kind: AskKind::Page,
        tries: 0,
        ending: Ending::Fetched(outcome),
        findings,
        crawl_delay: None,
        at,
        page: Some(Arc::new(Page {
            head: Arc::new(head),
            body: Some(Bytes::from(text)),
            document: Document { html: Some(html), ..Document::default() },
            kept: Some(kept),
            peer: Some(IpAddr::from([127, 0, 0, 1])),
            latency: Some(Duration::from_micros(4_321)),
            source: curtsy_engine::PageSource::Network,
        })),
    }
}

/// The answer of a future that another thread may have to make.
fn block<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Unpark>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A folder that goes with the measurement.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("curtsy-bench-rows-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
