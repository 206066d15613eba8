//! The limits of a crawl's way from page to page, from the constants that it goes by.

use curtsy_core::limit_table;
use curtsy_core::limits::{Bound, Limit};

use crate::discover::{self, TrapLimits};
use crate::{WorkerSettings, chain, memo, orders, outbox, pages, rules_cache};

/// The limits of this crate: what is offered, where it leads, what looks like a trap, and what a
/// worker has in memory.
pub fn limits() -> Vec<Limit> {
    [offers(), traps(), memory()].concat()
}

fn offers() -> Vec<Limit> {
    limit_table! {
        "offer.traps", Bound::count(pages::TRAPS_MAX),
            "links of one page that get a row because they look like traps" =>
            "the rest is counted in `links_cut`; the report and `why` say so";
        "offer.entries", Bound::count(pages::ENTRIES_MAX),
            "pages of one sitemap that are offered" => "the rest is counted";
        "robots.hops", Bound::Count(chain::HOPS_MAX.into()),
            "redirects of a robots.txt" => "counts as a missing robots.txt (404)";
        "sitemaps.named", Bound::count(discover::NAMED_MAX),
            "sitemaps of one robots.txt" => "the rest is not fetched";
        "sitemaps.nesting", Bound::Count(discover::NESTING_MAX.into()),
            "indexes above a sitemap" => "not fetched";
        "filters.patterns", Bound::count(discover::PATTERNS_MAX),
            "patterns of a crawl" => "refused";
        "filters.pattern_bytes", Bound::Bytes(discover::PATTERN_BYTES_MAX as u64),
            "one pattern of a crawl" => "refused";
    }
}

fn traps() -> Vec<Limit> {
    let traps = TrapLimits::default();
    let skipped = "skipped as a trap; the URL's row says so";
    limit_table! {
        "trap.url_bytes", Bound::Bytes(traps.url_bytes_max.into()),
            "a URL in a link of a page" => skipped;
        "trap.segments", Bound::Count(traps.segments_max.into()),
            "segments of a path" => skipped;
        "trap.repeats", Bound::Count(traps.repeats_max.into()),
            "repetitions of one segment in a path" => skipped;
        "trap.sessions", Bound::Count(traps.sessions_max.into()),
            "URLs that differ only in a session" => skipped;
        "trap.calendar", Bound::Count(traps.calendar_max.into()),
            "URLs that differ only in a date" => skipped;
        "trap.queries", Bound::Count(traps.queries_max.into()),
            "queries of one path" => skipped;
        "trap.lookups", Bound::Count(traps.lookups_max.into()),
            "queries of one path that look like searches" => skipped;
        "trap.lookups_depth", Bound::Count(traps.lookups_depth_max.into()),
            "links from a seed to such a query" => skipped;
        "trap.sitemaps", Bound::Count(traps.sitemaps_max.into()),
            "sitemaps of one host that indexes list" => "not fetched";
        "trap.shapes", Bound::Count(traps.shapes_max.into()),
            "shapes of URLs that are remembered" => "the oldest are forgotten";
    }
}

fn memory() -> Vec<Limit> {
    let settings = WorkerSettings::default();
    limit_table! {
        "rows.batch_bytes", Bound::Bytes(settings.flush_bytes as u64),
            "bytes of bodies that are written to the sinks together" =>
            "the rest is in the next batch";
        "rows.batches", Bound::count(outbox::SINK_BATCHES),
            "batches that wait while one is written" => "fetching stops until the sinks are faster";
        "rows.patience", Bound::Within(outbox::SINK_PATIENCE),
            "how long the write of one batch may take" => "fetching stops until the write ends";
        "rows.steps", Bound::count(outbox::STEPS_MAX),
            "requests on the way to a row, such as redirects, that wait for a sink" =>
            "the oldest are not written";
        "worker.rules", Bound::count(rules_cache::RULES_MAX),
            "robots.txt files in a worker's memory" =>
            "one of them is removed, and read from the store when it is needed";
        "worker.hosts", Bound::count(memo::HOSTS_MAX),
            "host states that a worker remembers in case the store loses them" =>
            "states without a wait are forgotten first, then any";
        "worker.urls", Bound::count(memo::URLS_MAX),
            "URLs with failed tries that a worker remembers in case the store loses them" =>
            "the oldest are forgotten";
        "orders.lifted", Bound::count(orders::LIFTED_MAX),
            "lifted stop orders that are remembered" => "the oldest are forgotten";
    }
}
