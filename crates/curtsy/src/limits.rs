//! The limits of the program, from the constants that it goes by.

use curtsy_core::limits::Limit;

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
    vec![Limit::count("shown.note_chars", NOTE_MAX), Limit::count("links.fragments", FRAGMENTS_MAX)]
}

#[cfg(feature = "fleet")]
fn of_workers() -> Vec<Limit> {
    use crate::fleet::{listen, log, reader, run};
    vec![
        Limit::count("worker.rows", run::FLUSH_ROWS),
        Limit::within("worker.end", run::ENDS_WITHIN),
        Limit::bytes("worker.log_field_bytes", log::FIELD_MAX),
        Limit::count("worker.askers", listen::ASKERS_MAX),
        Limit::within("worker.asking", listen::WITHIN),
        Limit::bytes("worker.request_bytes", listen::REQUEST_BYTES_MAX),
        Limit::count("worker.sitemap_urls", reader::LISTED_MAX),
        Limit::count("worker.sitemap_nesting", reader::NESTING_MAX),
    ]
}

#[cfg(feature = "fleet")]
fn of_schedulers() -> Vec<Limit> {
    use crate::schedule::file;
    let (shortest, longest) = file::EVERY;
    vec![
        Limit::bytes("seeds.file_bytes", file::FILE_BYTES_MAX),
        Limit::count("seeds.count", file::SEEDS_MAX),
        Limit::within("seeds.every_min", shortest),
        Limit::within("seeds.every_max", longest),
        Limit::count("seeds.sitemap_urls", file::LIMIT_MAX),
        Limit::bytes("seeds.queue_bytes", file::QUEUE_BYTES_MAX),
    ]
}
