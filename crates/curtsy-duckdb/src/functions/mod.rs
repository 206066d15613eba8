//! What DuckDB's users see: functions, settings, and what the CRAWL statement calls.

mod crawl;
mod into;
mod options;
mod plan;
mod robots_allowed;
mod robots_check;
mod settings;
mod sitemap;
mod surt;
mod url_host;
mod why;

use crate::duck::{Database, Fault, TableFunction, Type};
use crate::order::{Named, OPTIONS};
use crate::tray::Rows;

/// Adds all of it to a database.
pub(crate) fn register(database: &Database) -> Result<(), Fault> {
    for setting in settings::all() {
        database.setting(&setting)?;
    }
    database.scalar::<surt::Surt>()?;
    database.scalar::<url_host::UrlHost>()?;
    database.scalar::<robots_allowed::RobotsAllowed>()?;
    database.table::<crawl::Crawl>()?;
    database.table::<into::CrawlInto>()?;
    database.table::<into::Statement>()?;
    database.table::<Rows>()?;
    database.table::<sitemap::Sitemap>()?;
    database.table::<robots_check::RobotsCheck>()?;
    database.table::<plan::CrawlPlan>()?;
    database.table::<why::CrawlWhy>()?;
    database.table::<options::CrawlOptions>()?;
    database.statement(&[
        crawl::Crawl::NAME,
        into::CrawlInto::NAME,
        into::Statement::NAME,
        sitemap::Sitemap::NAME,
        robots_check::RobotsCheck::NAME,
        plan::CrawlPlan::NAME,
    ]);
    Ok(())
}

/// The options of a crawl as named parameters. Their types are ours to check: DuckDB would not say what is expected.
fn options() -> Vec<(&'static str, Type)> {
    OPTIONS.iter().map(|Named(name, _)| (*name, Type::Any)).collect()
}
