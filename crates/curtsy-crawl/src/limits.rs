//! The limits of a crawl as a whole, from the constants that it goes by.

use curtsy_core::limits::{Bound, Limit};

use crate::{run, sharing, shown, sitemaps, stream, survey, tally, work};

/// The limits of this crate: rows that are written together, what is listed, sampled and counted by name.
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
            "the rest follows",
        ),
        limit(
            "crawl.anew",
            "hosts that a run with other settings tries anew at once",
            count(run::ANEW_MAX),
            "the others are tried when they fall due",
        ),
        limit(
            "crawl.pinned",
            "pages of the page cache in memory whose confirmation is waited for",
            count(sharing::PINNED_MAX),
            "they are read again",
        ),
        limit(
            "crawl.names",
            "hosts, and friction signals, that a report has by name",
            count(tally::NAMES_MAX),
            "the others are left out",
        ),
        limit(
            "crawl.reasons",
            "reasons for missing pages that a report counts apart",
            count(tally::REASONS_MAX),
            "the others are counted as `other reasons`",
        ),
        limit(
            "crawl.left",
            "pages that a stream tells to be left, with the reason",
            count(stream::LEFT_MAX),
            "the others are left out",
        ),
        limit(
            "crawl.listed",
            "URLs that `sitemap list` and `plan` read",
            count(sitemaps::LISTED_MAX),
            "the rest is left out",
        ),
        limit(
            "shown.url_chars",
            "characters of a URL of others in a message",
            count(shown::SHOWN_MAX),
            "cut, with `…`",
        ),
        limit(
            "survey.candidates",
            "found URLs among which a sample is chosen",
            count(survey::CANDIDATES_MAX),
            "the rest is not looked at",
        ),
        limit(
            "survey.sitemaps",
            "queued URLs among which sitemaps are looked for that must come first",
            count(survey::LEFT_MAX),
            "the sample does not wait for the others",
        ),
        limit(
            "survey.forbidden",
            "pages in a plan that robots.txt forbids",
            count(survey::FORBIDDEN_MAX),
            "the others are left out",
        ),
    ]
}
