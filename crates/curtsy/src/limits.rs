//! The limits of the program, from the constants that it goes by.

use curtsy_core::limits::{Bound, Limit};

use crate::cli::NOTE_MAX;
use crate::linkcheck::FRAGMENTS_MAX;

/// Returns the limits of this crate: output on a terminal, reports on links, and a fleet's workers
/// and schedulers if they are built in.
pub fn limits() -> Vec<Limit> {
    let lists = [
        on_terminals(),
        #[cfg(feature = "fleet")]
        of_workers(),
        #[cfg(feature = "fleet")]
        of_schedulers(),
    ];
    lists.concat()
}

fn on_terminals() -> Vec<Limit> {
    vec![
        limit(
            "shown.note_chars",
            "characters of a note on the terminal",
            count(NOTE_MAX),
            "truncated; control characters are shown, not executed",
        ),
        limit(
            "links.fragments",
            "different fragments that a report on links looks up",
            count(FRAGMENTS_MAX),
            "the rest is counted as not checked",
        ),
    ]
}

#[cfg(feature = "fleet")]
fn of_workers() -> Vec<Limit> {
    use crate::fleet::{listen, log, reader, run};
    vec![
        limit(
            "worker.rows",
            "rows that a worker writes together",
            count(run::FLUSH_ROWS),
            "the rest is in the next batch",
        ),
        limit(
            "worker.end",
            "the time for open requests when a worker is stopped",
            Bound::Within(run::ENDS_WITHIN),
            "the URLs are left to other workers",
        ),
        limit(
            "worker.log_field_bytes",
            "a field of a line in a worker's log",
            Bound::Bytes(log::FIELD_MAX as u64),
            "truncated; control characters are replaced by spaces",
        ),
        limit(
            "worker.askers",
            "open requests for health and metrics",
            count(listen::ASKERS_MAX),
            "the next one waits",
        ),
        limit(
            "worker.asking",
            "the time for one of these requests",
            Bound::Within(listen::WITHIN),
            "the connection is closed",
        ),
        limit(
            "worker.request_bytes",
            "the size of one of these requests",
            Bound::Bytes(listen::REQUEST_BYTES_MAX as u64),
            "the connection is closed",
        ),
        limit(
            "worker.sitemap_urls",
            "URLs of a queued sitemap and its nested sitemaps, unless its entry has a limit",
            Bound::Count(reader::LISTED_MAX.into()),
            "the rest is counted in the log",
        ),
        limit(
            "worker.sitemap_nesting",
            "nested sitemap indexes below a queued one",
            Bound::Count(reader::NESTING_MAX.into()),
            "not fetched",
        ),
    ]
}

#[cfg(feature = "fleet")]
fn of_schedulers() -> Vec<Limit> {
    use crate::schedule::file;
    let refused = "the file is refused; the message names the allowed values";
    let (shortest, longest) = file::EVERY;
    vec![
        limit("seeds.file_bytes", "a file of seeds", Bound::Bytes(file::FILE_BYTES_MAX), refused),
        limit("seeds.count", "seeds in one file", count(file::SEEDS_MAX), refused),
        limit("seeds.every_min", "the shortest span of `every`", Bound::Within(shortest), refused),
        limit("seeds.every_max", "the longest span of `every`", Bound::Within(longest), refused),
        limit(
            "seeds.sitemap_urls",
            "the value of `limit` for a sitemap",
            Bound::Count(file::LIMIT_MAX.into()),
            refused,
        ),
        limit(
            "seeds.queue_bytes",
            "the name of a queue",
            Bound::Bytes(file::QUEUE_BYTES_MAX as u64),
            refused,
        ),
    ]
}

fn limit(name: &'static str, what: &'static str, bound: Bound, outcome: &'static str) -> Limit {
    Limit { name, what, bound, outcome, hit: None }
}

fn count(count: usize) -> Bound {
    Bound::Count(count as u64)
}
