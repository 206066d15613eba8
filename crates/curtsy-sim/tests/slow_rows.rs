//! A worker whose rows are slow to be kept: it fetches no more than can be kept, and loses no time beyond that.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::policy::{Policy, Preset};
use curtsy_core::url::{CrawlUrl, Scheme};
use curtsy_engine::memory::{Control, Options};
use curtsy_engine::{Batch, Boxed, Outside, Settings, Sink, SinkError, Worker};
use curtsy_sim::executor::{Executor, Stepped, Universe};
use curtsy_sim::net::{SimFetch, Web};
use curtsy_sim::outside::{SimCache, SimReader, SimSink, SimSource};
use curtsy_sim::web::{HostModel, Mood, Oddity, RobotsAnswer, SECOND, address};
use curtsy_sim::{Chance, Life, SimClock, SimWorld, Tamper};

const DELAY: Duration = Duration::from_millis(100);

/// Takes its time for each batch, however few rows it has.
struct Slow {
    universe: Rc<Universe>,
    takes: u64,
    kept: SimSink,
}

impl Sink for Slow {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.universe.sleep_until(self.universe.now() + self.takes).await;
            self.kept.write(batch).await
        })
    }
}

fn host() -> HostModel {
    HostModel {
        name: "h0.test".into(),
        ip: address(0),
        authorities: vec![(Scheme::Http, 80)],
        handshake: (1_000, 1_000),
        think: (1_000, 1_000),
        way: (100, 100),
        late: 0,
        skew: 0,
        keep_alive: 60 * SECOND,
        robots: vec![(0, RobotsAnswer::Status(404))],
        moods: vec![(0, Mood::Polite)],
        pages: 1_000,
        links: false,
        oddity: Oddity::None,
        seed: 1,
    }
}

/// How long a worker takes for so many pages of one host at 100 ms, if a batch of rows takes so long.
fn crawled_in(pages: u32, batch_takes: u64) -> Duration {
    const START: u64 = 1_800_000_000 * SECOND;
    let universe = Universe::new(START);
    let web = Web::new(Rc::clone(&universe), vec![host()]);
    let control = {
        let universe = Rc::clone(&universe);
        Control::new(Options::default(), move || universe.now())
    };
    let source = SimSource::new(Rc::clone(&universe));
    for page in 1..=pages {
        source.add(CrawlUrl::parse(&format!("http://h0.test/p/{page}")).unwrap());
    }
    let sink =
        Slow { universe: Rc::clone(&universe), takes: batch_takes, kept: SimSink::default() };
    let cache = SimCache::default();
    let outside = Outside {
        source: &source,
        sinks: vec![&sink],
        cache: &cache,
        reader: &SimReader,
        listener: &(),
    };
    let mut policy = Policy::preset(Preset::Careful);
    (policy.pace.delay_min, policy.pace.delay_max) = (DELAY, DELAY);
    policy.pace.adaptive = false;
    let life = Life::new(Rc::clone(&universe), 0, "t/1");
    let clock = SimClock(Rc::clone(&life));
    let fetch = SimFetch::new(web, Rc::clone(&life), Chance::new(1), Tamper::default());
    let world = SimWorld { store: control.handle(clock.clone()), fetch, clock, life };
    let settings = Settings { worker: 1, flush_rows: 5, until_empty: true, ..Settings::default() };
    let worker =
        Worker::new(world, Arc::new(policy), "t/1".into(), outside, settings, Rc::default());
    let ended = std::cell::Cell::new(None);
    let mut executor = Executor::new(Rc::clone(&universe), Chance::new(2));
    executor.spawn(async {
        worker.run().await;
        ended.set(Some(universe.now()));
    });
    while ended.get().is_none() {
        let stepped = executor.step(START + 3_600 * SECOND);
        assert!(!matches!(stepped, Stepped::Limit), "it does not end");
    }
    assert_eq!(sink.kept.len(), pages as usize, "every page has its row");
    Duration::from_micros(ended.get().unwrap() - START)
}

/// A visit that kept its host ended without a word when rows fell behind just then: the host was left alone for the 10 s of its hold, again and again.
#[test]
fn a_host_is_gone_on_with_as_soon_as_rows_are_kept_again() {
    // The first batch goes out with what is there; each of the others takes what came meanwhile, and no more than two batches wait.
    let slow = crawled_in(50, 3 * SECOND / 2);
    assert!(slow < Duration::from_secs(10), "less than one hold: {slow:?}");
    let quick = crawled_in(50, 1_000);
    assert!(quick < Duration::from_millis(5_600), "{quick:?}");
}
