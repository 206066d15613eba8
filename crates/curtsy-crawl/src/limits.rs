//! The limits of a crawl as a whole, from the constants that it goes by.

use curtsy_core::limits::Limit;

use crate::{run, sharing, shown, sitemaps, stream, tally, work};

/// The limits of this crate: rows that are written together, what is listed and counted by name.
pub fn limits() -> Vec<Limit> {
    vec![
        Limit::count("crawl.visits", work::VISITS_MAX),
        Limit::count("crawl.rows", run::FLUSH_ROWS),
        Limit::count("crawl.anew", run::ANEW_MAX),
        Limit::count("crawl.pinned", sharing::PINNED_MAX),
        Limit::count("crawl.names", tally::NAMES_MAX),
        Limit::count("crawl.reasons", tally::REASONS_MAX),
        Limit::count("crawl.left", stream::LEFT_MAX),
        Limit::count("crawl.listed", sitemaps::LISTED_MAX),
        Limit::count("shown.url_chars", shown::SHOWN_MAX),
    ]
}
