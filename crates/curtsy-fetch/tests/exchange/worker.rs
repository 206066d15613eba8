//! The engine's loop over real lines: robots.txt first, then pages, a redirect, a refusal and a
//! truncated page.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Friction, RequestKind};
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::memory::{Control, MemoryStore, Options};
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Clock, Document, Fetched, Head, Outside, Reader, Sink,
    SinkError, Source, UrlRecord, Worker, WorkerSettings, World,
};
use curtsy_fetch::{HttpFetch, TokioClock};

use crate::client::{Client, run};
use crate::site::{Site, answer, ok};

struct Here {
    store: MemoryStore<TokioClock>,
    fetch: HttpFetch,
    clock: TokioClock,
}

impl World for Here {
    type Store = MemoryStore<TokioClock>;
    type Fetch = HttpFetch;
    type Clock = TokioClock;

    fn store(&self) -> &Self::Store {
        &self.store
    }
    fn fetch(&self) -> &HttpFetch {
        &self.fetch
    }
    fn clock(&self) -> &TokioClock {
        &self.clock
    }
}

/// Seeds, rows, and nothing kept or read.
#[derive(Default)]
struct Desk {
    seeds: RefCell<Vec<UrlRecord>>,
    rows: RefCell<BTreeMap<String, String>>,
}

fn done<T: 'static>(value: T) -> Boxed<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Source for Desk {
    fn next(&self, _: usize) -> Boxed<'_, Vec<UrlRecord>> {
        done(self.seeds.take())
    }
    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        done(())
    }
    fn rewind(&self, _: u64) -> Boxed<'_, ()> {
        done(())
    }
}

impl Sink for Desk {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        for row in &batch.rows {
            let path = row.url.path_and_query().to_owned();
            self.rows.borrow_mut().insert(path, format!("{:?}", row.ending));
        }
        done(Ok(()))
    }
}

impl Cache for Desk {
    fn get(&self, _: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        done(None)
    }
    fn page(&self, _: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        done(None)
    }
    fn put(
        &self,
        _: &UrlRecord,
        _: CachedPage,
        _: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        done(())
    }
}

impl Reader for Desk {
    fn read(&self, _: &UrlRecord, _: &Head, _: &Fetched, _: Time) -> Document {
        Document::default()
    }
    fn friction(&self, _: RequestKind, _: &Head, _: &Fetched) -> Option<Friction> {
        None
    }
}

#[test]
fn a_worker_crawls_a_site() {
    let site = Site::new(|talk| {
        while let Some(head) = talk.hear() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let said = match path.as_str() {
                "/robots.txt" => ok("", "User-agent: *\nDisallow: /private\n"),
                "/moved" => answer("301 Moved", "Location: /found\r\n", "go there"),
                "/bomb" => ok("Content-Encoding: gzip\r\n", "no gzip"),
                _ => ok("Content-Type: text/html\r\n", "<p>page</p>"),
            };
            talk.say(said);
        }
    });
    let mut policy = Policy::preset(Preset::Careful);
    policy.identity.contact = Some("me@example.org".to_owned());
    policy.pace.adaptive = false;
    (policy.pace.delay_min, policy.pace.delay_max) =
        (Duration::from_millis(20), Duration::from_millis(20));
    let desk = Desk::default();
    for path in ["/", "/a", "/moved", "/private/b", "/bomb"] {
        let url = CrawlUrl::parse(&site.url(path)).unwrap();
        desk.seeds.borrow_mut().push(UrlRecord::page(url, 0));
    }
    let counts = run(async {
        let Client { fetch, clock } = Client::new();
        let options = Options { quiet: Duration::ZERO, ..Options::default() };
        let raw = TokioClock::new();
        let control = Control::new(options, move || 1_704_067_200_000_000 + raw.mono().0);
        let world = Here { store: control.handle(clock), fetch, clock };
        let outside = Outside {
            source: &desk,
            sinks: vec![&desk],
            cache: &desk,
            reader: &desk,
            listener: &(),
        };
        let settings = WorkerSettings {
            worker: 1,
            until_empty: true,
            idle_poll: Duration::from_millis(50),
            ..WorkerSettings::default()
        };
        let agent = policy.user_agent().unwrap();
        let worker = Worker::new(world, Arc::new(policy), agent, outside, settings, Rc::default());
        worker.run().await;
        worker.counts()
    });
    let rows = desk.rows.borrow();
    let ending = |path: &str| rows[path].split(['(', ' ']).next().unwrap().to_owned();
    assert_eq!(rows.len(), 5, "{rows:?}");
    for (path, expected) in
        [("/", "Fetched"), ("/a", "Fetched"), ("/moved", "Fetched"), ("/bomb", "Dead")]
    {
        assert_eq!(ending(path), expected, "{path}: {rows:?}");
    }
    assert_eq!(rows["/private/b"], "Refused(Robots)");
    assert_eq!(rows["/bomb"], "Dead(Failed(Coding))");
    let asked: Vec<String> = site.heard();
    assert!(asked[0].starts_with("GET /robots.txt "), "robots.txt comes first");
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|head| !head.contains("/private")));
    assert_eq!(counts.sent.iter().sum::<u64>(), 6);
}
