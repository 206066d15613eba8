//! The limits of what is kept of hosts and URLs, from the constants that the stores go by.

use curtsy_core::limits::{Bound, Limit};
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
        limit(
            "file.log_bytes",
            "the write-ahead log of a file, after its content was merged",
            Bound::Bytes(LOG_BYTES_MAX.unsigned_abs()),
            "truncated to this size",
        ),
        limit(
            "file.gathered_bytes",
            "pages of one transaction that wait in memory for the write to the log",
            Bound::Bytes(GATHERED_MAX as u64),
            "the pages are written, and the transaction continues",
        ),
        limit(
            "file.busy",
            "checks for a file that another process writes, 100 µs to 2 ms apart",
            Bound::Count(BUSY_STEPS_MAX.unsigned_abs().into()),
            "the write fails, and is tried again later",
        ),
        limit(
            "file.opens",
            "tries to open a file that another process is opening",
            Bound::Count(OPEN_TRIES_MAX.into()),
            "the program says so and ends",
        ),
        limit(
            "hosts.kept",
            "hosts of the ledger in memory",
            count(kept::KEPT_MAX),
            "the memory is cleared, and hosts are read again",
        ),
        limit(
            "hosts.hold",
            "the time without news from a host that was handed out",
            Bound::Within(HOLD),
            "it is handed out again",
        ),
        limit(
            "hosts.old",
            "an unused robots.txt, and a lifted stop order",
            Bound::Within(ledger::OLD),
            "deleted",
        ),
        limit(
            "cache.bytes",
            "the page cache that all crawls of a user share (`--cache-max`)",
            Bound::Bytes(shared::SHARED_BYTES),
            "the oldest pages are removed; the report says so once, `curtsy cache show` says how many",
        ),
        limit(
            "cache.segments",
            "parts of the page cache; a page that is larger than a part is not stored",
            Bound::Count(shared::SEGMENTS),
            "the oldest part is removed",
        ),
        limit(
            "cache.segment_pages",
            "pages in one part of the page cache",
            Bound::Count(shared::SEGMENT_PAGES),
            "the next part begins",
        ),
        limit(
            "hosts.friction_events",
            "friction signals of a host that its row shows",
            Bound::Count(shows::FRICTION_EVENTS_MAX.unsigned_abs().into()),
            "only the newest are shown",
        ),
        limit(
            "frontier.window",
            "URLs of one host in memory",
            count(queue::WINDOW_MAX),
            "the rest stays in the file",
        ),
        limit(
            "frontier.visit",
            "URLs that are handed out with a host",
            count(hosts::URLS_PER_VISIT),
            "the host is taken again",
        ),
        limit(
            "cache.content_bytes",
            "the text of a page in the service's cache",
            bytes(pages::CONTENT_BYTES_MAX),
            "not stored: the page is fetched again",
        ),
        limit(
            "cache.waiting",
            "pages that wait to be stored with the next commit",
            count(handle::PAGES_MAX),
            "further pages are not stored",
        ),
        limit(
            "cache.ahead",
            "cached pages that are looked up in advance",
            count(pages::AHEAD_MAX),
            "looked up again, one by one",
        ),
        limit(
            "cache.stale",
            "how long a page that went stale stays in the cache",
            Bound::Within(shows::STALE_FOR),
            "deleted when the ledger is opened",
        ),
    ]
}

#[cfg(feature = "postgres")]
fn in_postgres() -> Vec<Limit> {
    use crate::postgres::link;
    let waits = "nothing is sent to any site until Postgres answers";
    vec![
        limit(
            "postgres.connect",
            "connecting to Postgres",
            Bound::Within(link::CONNECT_WITHIN),
            waits,
        ),
        limit(
            "postgres.statement",
            "a statement, or a wait for a lock",
            Bound::Within(link::STATEMENT_WITHIN),
            waits,
        ),
        limit("postgres.answer", "an answer", Bound::Within(link::ANSWER_WITHIN), waits),
        limit(
            "postgres.idle",
            "a transaction whose process has stopped",
            Bound::Within(link::IDLE_WITHIN),
            "Postgres ends it",
        ),
        limit(
            "postgres.migration",
            "an upgrade of the tables",
            Bound::Within(link::MIGRATE_WITHIN),
            "the program says so and ends",
        ),
    ]
}

#[cfg(feature = "redis")]
fn in_redis() -> Vec<Limit> {
    use crate::redis::{self, LinkOptions, letters, memory_file, pages, queue, schedule};
    vec![
        limit(
            "redis.answer",
            "an answer of Redis",
            Bound::Within(LinkOptions::default().timeout),
            "the command may have been executed or not: it is repeated, and nothing is sent to sites meanwhile",
        ),
        limit(
            "redis.rounds",
            "attempts in a row that fail because another worker changed the state",
            count(redis::ROUNDS_MAX),
            "treated as a Redis error: tried again later",
        ),
        limit(
            "redis.visit",
            "URLs that are handed out with a host",
            count(redis::URLS_PER_VISIT),
            "the host is taken again",
        ),
        limit(
            "redis.ahead",
            "cached pages that are looked up in advance",
            count(pages::AHEAD_MAX),
            "looked up again",
        ),
        limit(
            "queue.gone",
            "the silence of a worker that holds entries of the queue",
            Bound::Within(queue::GONE),
            "other workers take the entries",
        ),
        limit(
            "queue.shown_chars",
            "characters of the reason with a rejected entry",
            count(queue::SHOWN_MAX),
            "truncated; the entry itself is stored in full",
        ),
        limit(
            "letters.at_once",
            "dead letters that are written or read at once",
            count(letters::AT_ONCE),
            "the rest is in the next batch",
        ),
        limit(
            "schedule.searched",
            "entries of a queue that are searched for a seed that still waits",
            count(schedule::SEARCHED_MAX),
            "the seed may be queued once more",
        ),
        limit(
            "memory.files",
            "workers that share one state folder",
            count(memory_file::WORKERS_MAX),
            "the next one is refused",
        ),
    ]
}

fn limit(name: &'static str, what: &'static str, bound: Bound, outcome: &'static str) -> Limit {
    Limit { name, what, bound, outcome, hit: None }
}

fn bytes(bytes: usize) -> Bound {
    Bound::Bytes(bytes as u64)
}

fn count(count: usize) -> Bound {
    Bound::Count(count as u64)
}
