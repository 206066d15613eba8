//! What users of DuckDB see: functions, settings, and the target of the CRAWL statement.

mod crawl;
mod into;
mod listing;
mod options;
mod plan;
mod robots_allowed;
mod robots_check;
mod settings;
mod sitemap;
mod surt;
mod url_host;
mod why;

use crate::duck::{LoadedDatabase, SqlError, TableFunction};
use crate::tray::TrayRows;

/// Adds all settings and functions to a database.
pub(crate) fn register(database: &LoadedDatabase) -> Result<(), SqlError> {
    for setting in settings::all() {
        database.setting(&setting)?;
    }
    database.scalar::<surt::Surt>()?;
    database.scalar::<url_host::UrlHost>()?;
    database.scalar::<robots_allowed::RobotsAllowed>()?;
    database.table::<TrayRows>()?;
    database.table::<why::CrawlWhy>()?;
    database.table::<options::OptionsFunction>()?;
    let with_progress = [
        table::<crawl::CrawlFunction>(database)?,
        table::<into::CrawlInto>(database)?,
        table::<into::Statement>(database)?,
        table::<sitemap::SitemapFunction>(database)?,
        table::<robots_check::RobotsCheck>(database)?,
        table::<plan::CrawlPlan>(database)?,
    ];
    database.statement(&with_progress);
    Ok(())
}

fn table<F: TableFunction>(database: &LoadedDatabase) -> Result<&'static str, SqlError> {
    database.table::<F>().map(|()| F::NAME)
}
