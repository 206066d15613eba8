//! The limits of what is kept of hosts and URLs, from the constants that the stores go by.

use curtsy_core::limits::{Bound, Limit};
use curtsy_file::{BUSY_STEPS_MAX, LOG_BYTES_MAX, OPEN_TRIES_MAX};

use crate::crawl::{hosts, queue};
use crate::{HOLD, handle, kept, ledger, pages, shared, shows};

/// The limits of this crate: files, the ledger, the frontier and pages; Postgres and Redis if they are built in.
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
            "the write-ahead log of a file, when it begins anew",
            Bound::Bytes(LOG_BYTES_MAX.unsigned_abs()),
            "cut to this",
        ),
        limit(
            "file.busy",
            "looks at a file that another process writes, 100 µs to 2 ms apart",
            Bound::Count(BUSY_STEPS_MAX.unsigned_abs().into()),
            "the write is refused, and is tried again later",
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
            "all are read again",
        ),
        limit(
            "hosts.hold",
            "a host that was handed out and of which nothing is heard",
            Bound::Within(HOLD),
            "it is handed out again",
        ),
        limit(
            "hosts.old",
            "a robots.txt that nobody asked for, and an order that was lifted",
            Bound::Within(ledger::OLD),
            "thrown away",
        ),
        limit(
            "cache.bytes",
            "the page cache that all crawls of a user share (`--cache-max`)",
            Bound::Bytes(shared::SHARED_BYTES),
            "its oldest pages make room; the report says so once, `curtsy cache show` how many",
        ),
        limit(
            "cache.segments",
            "parts of the page cache, of which the oldest goes as a whole; a page that is larger than a part is not kept",
            Bound::Count(shared::SEGMENTS),
            "the oldest is removed",
        ),
        limit(
            "cache.segment_pages",
            "pages in one part of the page cache",
            Bound::Count(shared::SEGMENT_PAGES),
            "the next part is begun",
        ),
        limit(
            "hosts.friction_events",
            "friction signals of a host that its row shows",
            Bound::Count(shows::FRICTION_EVENTS_MAX.unsigned_abs().into()),
            "the last ones are shown",
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
            "not kept: the page is asked for again",
        ),
        limit(
            "cache.waiting",
            "pages that wait for their commit",
            count(handle::PAGES_MAX),
            "these are not kept",
        ),
        limit(
            "cache.ahead",
            "pages that are looked for ahead",
            count(pages::AHEAD_MAX),
            "looked for again, one by one",
        ),
        limit(
            "cache.stale",
            "how long a page that went stale stays in the cache",
            Bound::Within(shows::STALE_FOR),
            "thrown away when the ledger is opened",
        ),
    ]
}

#[cfg(feature = "postgres")]
fn in_postgres() -> Vec<Limit> {
    use crate::postgres::link;
    let waits = "nothing is sent to any site until it answers";
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
            "bringing tables up to date",
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
            "what was asked may be done or not: it is asked again, and nothing is sent meanwhile",
        ),
        limit(
            "redis.rounds",
            "questions in a row whose answer another worker made old",
            count(redis::ROUNDS_MAX),
            "as a Redis that refuses: asked again later",
        ),
        limit(
            "redis.visit",
            "URLs that are handed out with a host",
            count(redis::URLS_PER_VISIT),
            "the host is taken again",
        ),
        limit(
            "redis.ahead",
            "pages that are looked for ahead",
            count(pages::AHEAD_MAX),
            "looked for again",
        ),
        limit(
            "queue.gone",
            "how long a worker may be silent that has entries of the queue",
            Bound::Within(queue::GONE),
            "the others have them",
        ),
        limit(
            "queue.shown_chars",
            "characters of the reason with a rejected entry",
            count(queue::SHOWN_MAX),
            "cut; the entry itself is whole",
        ),
        limit(
            "letters.at_once",
            "dead letters that are put or read at once",
            count(letters::AT_ONCE),
            "the rest follows",
        ),
        limit(
            "schedule.searched",
            "entries of a queue among which a seed that still waits is looked for",
            count(schedule::SEARCHED_MAX),
            "it may be queued once more",
        ),
        limit(
            "memory.files",
            "workers with one folder of state",
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
