//! The limits of a crawl's way from page to page, from the constants that it goes by.

use curtsy_core::limits::{Bound, Limit};

use crate::discover::{self, TrapLimits};
use crate::{WorkerSettings, chain, memo, orders, outbox, pages, rules_cache};

/// The limits of this crate: what is offered, where it leads, what looks like a trap, and what a
/// worker has in memory.
pub fn limits() -> Vec<Limit> {
    [offers(), traps(), memory()].concat()
}

fn limit(name: &'static str, what: &'static str, bound: Bound, outcome: &'static str) -> Limit {
    Limit { name, what, bound, outcome, hit: None }
}

fn count(count: usize) -> Bound {
    Bound::Count(count as u64)
}

fn offers() -> Vec<Limit> {
    vec![
        limit(
            "offer.traps",
            "links of one page that get a row because they look like traps",
            count(pages::TRAPS_MAX),
            "the rest is counted in `links_cut`; the report and `why` say so",
        ),
        limit(
            "offer.entries",
            "pages of one sitemap that are offered",
            count(pages::ENTRIES_MAX),
            "the rest is counted",
        ),
        limit(
            "robots.hops",
            "redirects of a robots.txt",
            Bound::Count(chain::HOPS_MAX.into()),
            "counts as a missing robots.txt (404)",
        ),
        limit(
            "sitemaps.named",
            "sitemaps of one robots.txt",
            count(discover::NAMED_MAX),
            "the rest is not fetched",
        ),
        limit(
            "sitemaps.nesting",
            "indexes above a sitemap",
            Bound::Count(discover::NESTING_MAX.into()),
            "not fetched",
        ),
        limit("filters.patterns", "patterns of a crawl", count(discover::PATTERNS_MAX), "refused"),
        limit(
            "filters.pattern_bytes",
            "one pattern of a crawl",
            Bound::Bytes(discover::PATTERN_BYTES_MAX as u64),
            "refused",
        ),
    ]
}

fn traps() -> Vec<Limit> {
    let traps = TrapLimits::default();
    let skipped = "skipped as a trap; the URL's row says so";
    let trap = |name, what, max: u64| limit(name, what, Bound::Count(max), skipped);
    vec![
        limit(
            "trap.url_bytes",
            "a URL in a link of a page",
            Bound::Bytes(traps.url_bytes_max.into()),
            skipped,
        ),
        trap("trap.segments", "segments of a path", traps.segments_max.into()),
        trap("trap.repeats", "repetitions of one segment in a path", traps.repeats_max.into()),
        trap("trap.sessions", "URLs that differ only in a session", traps.sessions_max.into()),
        trap("trap.calendar", "URLs that differ only in a date", traps.calendar_max.into()),
        trap("trap.queries", "queries of one path", traps.queries_max.into()),
        trap(
            "trap.lookups",
            "queries of one path that look like searches",
            traps.lookups_max.into(),
        ),
        trap(
            "trap.lookups_depth",
            "links from a seed to such a query",
            traps.lookups_depth_max.into(),
        ),
        limit(
            "trap.sitemaps",
            "sitemaps of one host that indexes list",
            Bound::Count(traps.sitemaps_max.into()),
            "not fetched",
        ),
        limit(
            "trap.shapes",
            "shapes of URLs that are remembered",
            Bound::Count(traps.shapes_max.into()),
            "the oldest are forgotten",
        ),
    ]
}

fn memory() -> Vec<Limit> {
    let settings = WorkerSettings::default();
    vec![
        limit(
            "rows.batch_bytes",
            "bytes of bodies that are written to the sinks together",
            Bound::Bytes(settings.flush_bytes as u64),
            "the rest is in the next batch",
        ),
        limit(
            "rows.batches",
            "batches that wait while one is written",
            count(outbox::SINK_BATCHES),
            "fetching stops until the sinks are faster",
        ),
        limit(
            "rows.patience",
            "how long the write of one batch may take",
            Bound::Within(outbox::SINK_PATIENCE),
            "fetching stops until the write ends",
        ),
        limit(
            "rows.steps",
            "requests on the way to a row, such as redirects, that wait for a sink",
            count(outbox::STEPS_MAX),
            "the oldest are not written",
        ),
        limit(
            "worker.rules",
            "robots.txt files in a worker's memory",
            count(rules_cache::RULES_MAX),
            "one of them is removed, and read from the store when it is needed",
        ),
        limit(
            "worker.hosts",
            "host states that a worker remembers in case the store loses them",
            count(memo::HOSTS_MAX),
            "states without a wait are forgotten first, then any",
        ),
        limit(
            "worker.urls",
            "URLs with failed tries that a worker remembers in case the store loses them",
            count(memo::URLS_MAX),
            "the oldest are forgotten",
        ),
        limit(
            "orders.lifted",
            "lifted stop orders that are remembered",
            count(orders::LIFTED_MAX),
            "the oldest are forgotten",
        ),
    ]
}
