//! What is asked for, checked before anything is begun.

use curtsy_core::evidence::mode_name;
use curtsy_core::policy::Mode;
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::seed;

use crate::orbit::Slug;

/// Pages that a person may name (seed 004: "User-Assisted Mode (≤50 pages)").
pub(crate) const URLS_MAX: usize = 50;
/// Bytes of an address.
pub(crate) const URL_BYTES_MAX: usize = 2_083;

/// An order to ingest a site.
#[derive(Clone, Debug)]
pub(crate) struct IngestOrder {
    /// Whose it is.
    pub(crate) slug: Slug,
    /// The site.
    pub(crate) url: CrawlUrl,
    /// How thorough.
    pub(crate) mode: Mode,
    /// The pages that the user named; only in user-assisted mode.
    pub(crate) user_urls: Vec<CrawlUrl>,
    /// Who is told when the run has ended.
    pub(crate) callback: Option<CrawlUrl>,
}

/// An order that can't be carried out. The first line says what is wrong, the hint what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OrderError {
    #[error("`{field}`: {why}")]
    Url { field: &'static str, why: String },
    #[error("`mode` is `{0}`, which is none of `light`, `standard`, `user_assisted`")]
    Mode(String),
    #[error(
        "`userUrls` belongs to the mode `user_assisted`; the others choose pages by themselves"
    )]
    NotAssisted,
    #[error(
        "`userUrls` is empty: the mode `user_assisted` fetches just the pages that are named there"
    )]
    NoUrls,
    #[error("`userUrls` has {0} addresses, and {URLS_MAX} are the most")]
    TooMany(usize),
    #[error("there is nothing to import")]
    NothingBrought,
}

impl IngestOrder {
    /// Reads an order.
    pub(crate) fn read(
        slug: Slug,
        url: &str,
        mode: &str,
        user_urls: &[String],
    ) -> Result<IngestOrder, OrderError> {
        let mode = mode_of(mode).ok_or_else(|| OrderError::Mode(cut(mode)))?;
        match mode {
            Mode::UserAssisted if user_urls.is_empty() => return Err(OrderError::NoUrls),
            Mode::Light | Mode::Standard if !user_urls.is_empty() => {
                return Err(OrderError::NotAssisted);
            }
            _ => {}
        }
        if user_urls.len() > URLS_MAX {
            return Err(OrderError::TooMany(user_urls.len()));
        }
        let user_urls: Vec<CrawlUrl> =
            user_urls.iter().map(|url| address("userUrls", url)).collect::<Result<_, _>>()?;
        let url = match user_urls.first() {
            Some(first) if url.trim().is_empty() => first.clone(),
            _ => address("url", url)?,
        };
        Ok(IngestOrder { slug, url, mode, user_urls, callback: None })
    }

    /// The same with somebody who is told when the run has ended.
    pub(crate) fn calling_back(self, callback: Option<&str>) -> Result<IngestOrder, OrderError> {
        let callback = callback.map(|url| address("callback", url)).transpose()?;
        Ok(IngestOrder { callback, ..self })
    }

    /// Where the run begins.
    pub(crate) fn seeds(&self) -> Vec<CrawlUrl> {
        match self.mode {
            Mode::UserAssisted => self.user_urls.clone(),
            Mode::Light | Mode::Standard => vec![self.url.clone()],
        }
    }
}

/// An address that somebody wrote.
pub(super) fn address(field: &'static str, text: &str) -> Result<CrawlUrl, OrderError> {
    let text = text.trim();
    if text.len() > URL_BYTES_MAX {
        let why = format!("an address of {} bytes; {URL_BYTES_MAX} are the most", text.len());
        return Err(OrderError::Url { field, why });
    }
    seed(text).map_err(|error| OrderError::Url { field, why: error.to_string() })
}

/// The mode that a name means.
pub(crate) fn mode_of(name: &str) -> Option<Mode> {
    let modes = [Mode::Light, Mode::Standard, Mode::UserAssisted];
    modes.into_iter().find(|mode| mode_name(*mode) == name.replace('-', "_"))
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}
