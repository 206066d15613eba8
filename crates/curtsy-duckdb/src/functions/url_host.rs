//! `url_host(url)`: the host by which a crawl paces itself.

use curtsy_core::url::CrawlUrl;

use crate::duck::{Scalar, SqlError};

/// Returns NULL for a URL that cannot be crawled.
pub(crate) struct UrlHost;

impl Scalar for UrlHost {
    const NAME: &'static str = "url_host";
    const ARGUMENTS: usize = 1;
    type Output = String;
    type Memory = ();

    fn call((): &mut (), arguments: &[&str]) -> Result<Option<String>, SqlError> {
        let url = CrawlUrl::parse(arguments[0]).ok();
        Ok(url.map(|url| url.host().as_str().to_owned()))
    }
}
