//! The engine's own loop over a ledger with readable tables: they show what a worker meets, each
//! page in the transaction of its exchange.

mod place;

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_core::host::{Approach, Friction, Problem, RequestKind};
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::{
    Batch, Boxed, Cache, Clock, Connected, Document, Fetch, Fetched, Head, Line, Mono, Outside,
    Permit, Reader, Reading, Request, Sent, Sink, SinkError, Source, UrlRecord, Worker,
    WorkerSettings, World,
};
use curtsy_store::{LedgerPlace, MachineStore, Options, ReadableTables, StoreHandle, SystemClock};
use rusqlite::Connection;

use place::{Folder, now};

/// A site without a network: `/robots.txt` is missing, `/admin` is refused, everything else is a
/// page.
struct Site;

struct SiteLine {
    body: Fetched,
    clock: Passing,
}

impl Fetch for Site {
    type Line = SiteLine;
    type Route = ();

    fn standing(&self, _: &Approach, _: Mono) -> Option<SiteLine> {
        None
    }

    async fn route(&self, _: &Approach) -> Result<(), Problem> {
        Ok(())
    }

    async fn connect(&self, approach: &Approach, (): ()) -> Result<Connected<SiteLine>, Problem> {
        let body = Fetched { body: approach.url.path_and_query().to_owned().into() };
        Ok(Connected { line: SiteLine { body, clock: Passing }, took: Duration::ZERO })
    }
}

impl Line for SiteLine {
    fn peer(&self) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, 7).into()
    }

    async fn send(&mut self, permit: Permit, _: &Request, written: &Cell<Option<Mono>>) -> Sent {
        let sent = self.clock.mono();
        if sent > permit.until() {
            return Sent::NotSent;
        }
        written.set(Some(sent));
        let status = match &self.body.body[..] {
            b"/robots.txt" => 404,
            b"/admin" => 403,
            _ => 200,
        };
        let content_type = Some("text/html".to_owned());
        let head = Arc::new(Head { status, content_type, ..Head::default() });
        Sent::Answered { sent, first_byte: sent, head }
    }

    async fn body(&mut self) -> Reading {
        Reading::Whole(self.body.clone())
    }
}

/// This machine's clock. A future that waits for it is polled again and again.
#[derive(Clone, Copy)]
struct Passing;

impl Clock for Passing {
    fn mono(&self) -> Mono {
        thread_local!(static BEGIN: Instant = Instant::now());
        Mono(BEGIN.with(Instant::elapsed).as_micros() as u64)
    }

    async fn sleep_until(&self, until: Mono) {
        std::future::poll_fn(|cx| {
            if self.mono() >= until {
                return std::task::Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }
}

struct Here(StoreHandle<SystemClock>);

impl World for Here {
    type Store = StoreHandle<SystemClock>;
    type Fetch = Site;
    type Clock = Passing;

    fn store(&self) -> &StoreHandle<SystemClock> {
        &self.0
    }
    fn fetch(&self) -> &Site {
        &Site
    }
    fn clock(&self) -> &Passing {
        &Passing
    }
}

/// Seeds, and rows that are accepted and dropped.
struct Desk(RefCell<Vec<UrlRecord>>);

fn done<T: 'static>(value: T) -> Boxed<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Source for Desk {
    fn next(&self, _: usize) -> Boxed<'_, Vec<UrlRecord>> {
        done(self.0.take())
    }
    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        done(())
    }
    fn rewind(&self, _: u64) -> Boxed<'_, ()> {
        done(())
    }
}

impl Sink for Desk {
    fn write<'a>(&'a self, _: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        done(Ok(()))
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

/// A policy in which risk counts, without its waits.
fn policy() -> Policy {
    let mut policy = Policy::preset(Preset::Survey);
    policy.identity.contact = Some("me@example.org".to_owned());
    (policy.pace.delay_min, policy.pace.delay_max) =
        (Duration::from_millis(20), Duration::from_millis(20));
    policy.risk.delay = [Duration::ZERO; 3];
    policy.backoff.curve.base = Duration::ZERO;
    policy.backoff.curve.cap = Duration::ZERO;
    assert!(policy.risk.active);
    policy
}

/// Runs a worker that requests pages of `a.test` in this order, until nothing is left.
fn crawl(place: &LedgerPlace, paths: &[&str]) -> MachineStore {
    let policy = policy();
    let shows = ReadableTables::RiskAndPages(policy.risk.clone());
    let options = Options { shows, ..Options::default() };
    let crawl = MachineStore::open_passing(place, options).unwrap();
    crawl.begin_run().unwrap();
    for path in paths {
        let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
        let desk = Desk(RefCell::new(vec![UrlRecord::page(url, 0)]));
        let store = crawl.handle();
        let cache = store.cache();
        let outside = Outside {
            source: &desk,
            sinks: vec![&desk],
            cache: &cache,
            reader: &desk,
            listener: &(),
        };
        let settings = WorkerSettings { worker: 1, until_empty: true, ..WorkerSettings::default() };
        let agent = policy.user_agent().unwrap();
        let policy = Arc::new(policy.clone());
        let worker = Worker::new(Here(store), policy, agent, outside, settings, Default::default());
        now(worker.run());
    }
    crawl
}

#[test]
fn the_tables_show_what_a_worker_meets() {
    let folder = Folder::new("worker");
    let crawl = crawl(&folder.ledger().into(), &["/admin", "/page"]);
    let db = Connection::open(folder.ledger()).unwrap();
    let sql = "SELECT risk_score, friction_events ->> '$[0].signal', friction_events ->> '$[0].points',
        json_array_length(friction_events), last_fetch_at IS NOT NULL FROM domain_risk WHERE hostname = 'a.test'";
    let risk = db.query_row(sql, [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    assert_eq!(risk, Ok((20, "403:a.test/admin".to_owned(), 20, 1, true)));
    let state = crawl.state(&HostKey::parse("a.test").unwrap()).unwrap();
    assert_eq!(state.risk_score(&policy(), crawl.now()), 20);
    let sql = "SELECT url, content, status_code FROM url_fetch_cache";
    let page = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(page, Ok(("http://a.test/page".to_owned(), "/page".to_owned(), 200)));
    let key = CrawlUrl::parse("http://a.test/page").unwrap().key();
    assert!(now(crawl.handle().cache().get(key)).is_some());
}

/// Postgres knows which transaction wrote a row.
#[cfg(feature = "postgres")]
#[test]
fn a_page_is_written_by_the_transaction_of_its_exchange() {
    let server = curtsy_testkit::services::Postgres::start();
    let url = server.database();
    drop(crawl(&LedgerPlace::Postgres(url.clone()), &["/admin", "/page"]));
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let sql = "SELECT (p.xmin = r.xmin) AND (p.xmin = h.xmin), r.risk_score, p.url
        FROM url_fetch_cache p JOIN domain_risk r USING (hostname) JOIN curtsy_hosts h ON h.host = r.hostname";
    let row = client.query_one(sql, &[]).unwrap();
    let (same, score, page): (bool, i32, String) = (row.get(0), row.get(1), row.get(2));
    assert_eq!((same, score, page.as_str()), (true, 20, "http://a.test/page"));
}
