//! The limits of a crawl as a whole, from the constants that it goes by.

use curtsy_core::limits::{Bound, Limit};

use crate::{run, sharing, shown, sitemaps, stream, tally, work};

/// The limits of this crate: rows that are written together, what is listed and counted by name.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let count = |count: usize| Bound::Count(count as u64);
    vec![
        limit(
            "crawl.visits",
            "visits at once, most of which wait for their turn",
            Bound::Count(work::VISITS_MAX.into()),
            "other hosts wait",
        ),
        limit(
            "crawl.rows",
            "rows of a crawl's file that are written together",
            count(run::FLUSH_ROWS),
            "the rest is in the next batch",
        ),
        limit(
            "crawl.anew",
            "hosts that a run with new settings tries again at once",
            count(run::ANEW_MAX),
            "the others are tried when they fall due",
        ),
        limit(
            "crawl.pinned",
            "cached pages in memory that wait for a confirmation",
            count(sharing::PINNED_MAX),
            "they are read again",
        ),
        limit(
            "crawl.names",
            "hosts, and friction signals, that a report lists by name",
            count(tally::NAMES_MAX),
            "the others are not listed",
        ),
        limit(
            "crawl.reasons",
            "reasons for missing pages that a report counts separately",
            count(tally::REASONS_MAX),
            "the others are counted as `other reasons`",
        ),
        limit(
            "crawl.left",
            "pages that a stream reports as left, with the reason",
            count(stream::LEFT_MAX),
            "the others are not reported",
        ),
        limit(
            "crawl.listed",
            "URLs that `sitemap list` and `plan` read",
            count(sitemaps::LISTED_MAX),
            "the rest is left out",
        ),
        limit(
            "shown.url_chars",
            "characters of a foreign URL in a message",
            count(shown::SHOWN_MAX),
            "truncated, with `…`",
        ),
    ]
}
