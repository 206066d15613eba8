//! The limits of a crawl's way from page to page, from the constants that it goes by.

use curtsy_core::limits::Limit;

use crate::discover::{self, TrapLimits};
use crate::{WorkerSettings, chain, memo, orders, outbox, pages, rules_cache};

/// The limits of this crate: what is offered, where it leads, what looks like a trap, and what a
/// worker has in memory.
pub fn limits() -> Vec<Limit> {
    let traps = TrapLimits::default();
    let settings = WorkerSettings::default();
    vec![
        Limit::count("offer.traps", pages::TRAPS_MAX),
        Limit::count("offer.entries", pages::ENTRIES_MAX),
        Limit::count("robots.hops", chain::HOPS_MAX),
        Limit::count("sitemaps.named", discover::NAMED_MAX),
        Limit::count("sitemaps.first", discover::FIRST_MAX),
        Limit::count("sitemaps.nesting", discover::NESTING_MAX),
        Limit::count("filters.patterns", discover::PATTERNS_MAX),
        Limit::bytes("filters.pattern_bytes", discover::PATTERN_BYTES_MAX),
        Limit::bytes("trap.url_bytes", traps.url_bytes_max),
        Limit::count("trap.segments", traps.segments_max),
        Limit::count("trap.repeats", traps.repeats_max),
        Limit::count("trap.sessions", traps.sessions_max),
        Limit::count("trap.calendar", traps.calendar_max),
        Limit::count("trap.queries", traps.queries_max),
        Limit::count("trap.lookups", traps.lookups_max),
        Limit::count("trap.lookups_depth", traps.lookups_depth_max),
        Limit::count("trap.sitemaps", traps.sitemaps_max),
        Limit::count("trap.shapes", traps.shapes_max),
        Limit::bytes("rows.batch_bytes", settings.flush_bytes),
        Limit::count("rows.batches", outbox::SINK_BATCHES),
        Limit::within("rows.patience", outbox::SINK_PATIENCE),
        Limit::count("rows.steps", outbox::STEPS_MAX),
        Limit::count("worker.rules", rules_cache::RULES_MAX),
        Limit::count("worker.hosts", memo::HOSTS_MAX),
        Limit::count("worker.urls", memo::URLS_MAX),
        Limit::count("orders.lifted", orders::LIFTED_MAX),
    ]
}
