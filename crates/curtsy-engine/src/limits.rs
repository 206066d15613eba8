//! The limits of a crawl's way from page to page, from the constants that it goes by.

use curtsy_core::limits::{Bound, Limit};

use crate::discover::{self, TrapLimits};
use crate::{Settings, becomes, chain, flush, memo, orders, worker};

/// The limits of this crate: what is offered, where it leads, what looks like a trap, and what a worker has in memory.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let count = |count: usize| Bound::Count(count as u64);
    let (traps, settings) = (TrapLimits::default(), Settings::default());
    let trap = "passed by as a trap, with a row that says so";
    vec![
        limit(
            "offer.traps",
            "links of one page that get a row because they look like traps",
            count(becomes::TRAPS_MAX),
            "the rest is counted in `links_cut`; the report and `why` say so",
        ),
        limit(
            "offer.entries",
            "pages of one sitemap that are offered",
            count(becomes::ENTRIES_MAX),
            "the rest is counted",
        ),
        limit(
            "robots.hops",
            "redirects of a robots.txt",
            Bound::Count(chain::HOPS_MAX.into()),
            "as a robots.txt that is not there (404)",
        ),
        limit(
            "sitemaps.named",
            "sitemaps of one robots.txt",
            count(discover::NAMED_MAX),
            "the rest is not asked for",
        ),
        limit(
            "sitemaps.nesting",
            "indexes above a sitemap",
            Bound::Count(discover::NESTING_MAX.into()),
            "not asked for",
        ),
        limit("filters.patterns", "patterns of a crawl", count(discover::PATTERNS_MAX), "refused"),
        limit(
            "filters.pattern_bytes",
            "one of them",
            Bound::Bytes(discover::PATTERN_BYTES_MAX as u64),
            "refused",
        ),
        limit(
            "trap.url_bytes",
            "a URL that a page leads to",
            Bound::Bytes(traps.url_bytes_max.into()),
            trap,
        ),
        limit("trap.segments", "parts of a path", Bound::Count(traps.segments_max.into()), trap),
        limit(
            "trap.repeats",
            "times that one part comes in a path",
            Bound::Count(traps.repeats_max.into()),
            trap,
        ),
        limit(
            "trap.sessions",
            "URLs that differ only in a session",
            Bound::Count(traps.sessions_max.into()),
            trap,
        ),
        limit(
            "trap.calendar",
            "URLs that differ only in a date",
            Bound::Count(traps.calendar_max.into()),
            trap,
        ),
        limit("trap.queries", "queries of one path", Bound::Count(traps.queries_max.into()), trap),
        limit(
            "trap.lookups",
            "queries of one path that look something up",
            Bound::Count(traps.lookups_max.into()),
            trap,
        ),
        limit(
            "trap.lookups_depth",
            "and how far from a seed",
            Bound::Count(traps.lookups_depth_max.into()),
            trap,
        ),
        limit(
            "trap.sitemaps",
            "sitemaps of one host that indexes name",
            Bound::Count(traps.sitemaps_max.into()),
            "not asked for",
        ),
        limit(
            "trap.shapes",
            "shapes of URLs that are remembered",
            Bound::Count(traps.shapes_max.into()),
            "the oldest are forgotten",
        ),
        limit(
            "rows.batch_bytes",
            "bytes of bodies that go to the sinks together",
            Bound::Bytes(settings.flush_bytes as u64),
            "the rest follows",
        ),
        limit(
            "rows.batches",
            "batches that wait behind one that is on its way",
            count(worker::SINK_BATCHES),
            "nothing more is fetched",
        ),
        limit(
            "rows.patience",
            "how long one may be on its way",
            Bound::Within(worker::SINK_PATIENCE),
            "nothing more is fetched",
        ),
        limit(
            "rows.steps",
            "requests on the way to a row that wait for a sink",
            count(flush::STEPS_MAX),
            "the oldest are left out",
        ),
        limit(
            "worker.rules",
            "robots.txt files that a worker has in memory",
            count(worker::RULES_MAX),
            "one of them is read again when it is needed",
        ),
        limit(
            "worker.hosts",
            "host states that a worker remembers for a store that loses its own",
            count(memo::HOSTS_MAX),
            "those that wait for nothing are forgotten, then any",
        ),
        limit(
            "worker.urls",
            "URLs with failed tries that it remembers",
            count(memo::URLS_MAX),
            "the oldest are forgotten",
        ),
        limit(
            "orders.lifted",
            "stop orders that were lifted and are remembered",
            count(orders::LIFTED_MAX),
            "the oldest are forgotten",
        ),
    ]
}
