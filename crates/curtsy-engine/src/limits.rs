//! The limits of a crawl's way from page to page, from the constants that it goes by.

use curtsy_core::limits::Limit;
use curtsy_core::policy::TrapPolicy;

use crate::discover;
use crate::{WorkerSettings, chain, memo, orders, outbox, pages, rules_cache};

/// The limits of this crate: what is offered, where it leads, what looks like a trap, and what a
/// worker has in memory.
pub fn limits() -> Vec<Limit> {
    let traps = TrapPolicy::default();
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
        Limit::count("trap.sessions", traps.sessions_max),
        Limit::count("trap.vain", traps.vain_max),
        Limit::count("trap.vain_host", traps.vain_host_max),
        Limit::count("trap.pages", traps.pages_max),
        Limit::count("trap.depth", traps.depth_max),
        Limit::count("trap.rows", traps.rows_max),
        Limit::count("trap.sitemaps", discover::SITEMAPS_MAX),
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
