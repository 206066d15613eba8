//! A worker whose rows are slow to be kept: it fetches no more than can be kept, and loses no time
//! beyond that.

use std::time::Duration;

use curtsy_core::policy::Preset;
use curtsy_sim::web::SECOND;

use crate::crawl::{Crawl, host};

const DELAY: Duration = Duration::from_millis(100);

/// How long a worker takes for so many pages of one host at 100 ms, if a batch of rows takes so
/// long.
fn crawled_in(pages: usize, batch_takes: u64) -> Duration {
    let mut crawl = Crawl::new(Preset::Careful, vec![host(0)], &[]);
    crawl.urls = (1..=pages).map(|page| format!("http://h0.test/p/{page}")).collect();
    (crawl.policy.pace.delay_min, crawl.policy.pace.delay_max) = (DELAY, DELAY);
    crawl.settings.flush_rows = 5;
    crawl.batch_takes = batch_takes;
    let ended = crawl.live();
    assert_eq!(ended.rows, pages, "every page has its row");
    ended.after
}

/// A visit that kept its host ended without a word when rows fell behind just then: the host was
/// left alone for the 10 s of its hold, again and again.
#[test]
fn a_host_is_gone_on_with_as_soon_as_rows_are_kept_again() {
    // The first batch goes out with what is there; each of the others takes what came meanwhile,
    // and no more than two batches wait.
    let slow = crawled_in(50, 3 * SECOND / 2);
    assert!(slow < Duration::from_secs(10), "less than one hold: {slow:?}");
    let quick = crawled_in(50, 1_000);
    assert!(quick < Duration::from_millis(5_600), "{quick:?}");
}
