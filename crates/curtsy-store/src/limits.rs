//! The limits of what is kept of hosts and URLs, from the constants that the stores go by.

use curtsy_core::limits::Limit;
use curtsy_file::{BUSY_STEPS_MAX, GATHERED_MAX, LOG_BYTES_MAX, OPEN_TRIES_MAX};

use crate::crawl::{hosts, queue};
use crate::{HOLD, handle, kept, ledger, pages, shared, shows};

/// The limits of this crate: files, the ledger, the frontier and pages; Postgres and Redis if they
/// are built in.
pub fn limits() -> Vec<Limit> {
    let lists = [
        on_this_machine(),
        #[cfg(feature = "postgres")]
        in_postgres(),
        #[cfg(feature = "redis")]
        in_redis(),
    ];
    lists.concat()
}

fn on_this_machine() -> Vec<Limit> {
    vec![
        Limit::bytes("file.log_bytes", LOG_BYTES_MAX),
        Limit::bytes("file.gathered_bytes", GATHERED_MAX),
        Limit::count("file.busy", BUSY_STEPS_MAX),
        Limit::count("file.opens", OPEN_TRIES_MAX),
        Limit::count("hosts.kept", kept::KEPT_MAX),
        Limit::within("hosts.hold", HOLD),
        Limit::within("hosts.old", ledger::OLD),
        Limit::bytes("cache.bytes", shared::SHARED_BYTES),
        Limit::count("cache.segments", shared::SEGMENTS),
        Limit::count("cache.segment_pages", shared::SEGMENT_PAGES),
        Limit::count("hosts.friction_events", shows::FRICTION_EVENTS_MAX),
        Limit::count("frontier.window", queue::WINDOW_MAX),
        Limit::count("frontier.visit", hosts::URLS_PER_VISIT),
        Limit::bytes("cache.content_bytes", pages::CONTENT_BYTES_MAX),
        Limit::count("cache.waiting", handle::PAGES_MAX),
        Limit::count("cache.ahead", pages::AHEAD_MAX),
        Limit::within("cache.stale", shows::STALE_FOR),
    ]
}

#[cfg(feature = "postgres")]
fn in_postgres() -> Vec<Limit> {
    use crate::postgres::link;
    vec![
        Limit::within("postgres.connect", link::CONNECT_WITHIN),
        Limit::within("postgres.statement", link::STATEMENT_WITHIN),
        Limit::within("postgres.answer", link::ANSWER_WITHIN),
        Limit::within("postgres.idle", link::IDLE_WITHIN),
        Limit::within("postgres.migration", link::MIGRATE_WITHIN),
    ]
}

#[cfg(feature = "redis")]
fn in_redis() -> Vec<Limit> {
    use crate::redis::{self, LinkOptions, letters, memory_file, pages, queue, schedule};
    vec![
        Limit::within("redis.answer", LinkOptions::default().timeout),
        Limit::count("redis.rounds", redis::ROUNDS_MAX),
        Limit::count("redis.visit", redis::URLS_PER_VISIT),
        Limit::count("redis.ahead", pages::AHEAD_MAX),
        Limit::within("queue.gone", queue::GONE),
        Limit::count("queue.shown_chars", queue::SHOWN_MAX),
        Limit::count("letters.at_once", letters::AT_ONCE),
        Limit::count("schedule.searched", schedule::SEARCHED_MAX),
        Limit::count("memory.files", memory_file::WORKERS_MAX),
    ]
}
