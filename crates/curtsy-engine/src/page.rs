//! A fetched page: reading it and keeping it.

use std::future::Future;
use std::pin::Pin;

use curtsy_core::host::Friction;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};

use crate::Head;

/// A future of a trait object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A body that was read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes, decoded.
    pub body: Vec<u8>,
}

/// Reads a document: what it links to, and whether it is friction.
pub trait Reader {
    /// The links of a page, in order; bounded.
    fn links(&self, url: &CrawlUrl, head: &Head, page: &Fetched) -> Vec<CrawlUrl>;
    /// Whether the answer is a challenge or otherwise unusual.
    fn friction(&self, head: &Head, page: &Fetched) -> Option<Friction>;
}

/// What is kept of a page for the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// Fresh until then.
    pub fresh_until: Time,
    /// Its ETag.
    pub etag: Option<String>,
    /// Its Last-Modified.
    pub last_modified: Option<String>,
}

/// Pages for the next time. Losing it costs requests, nothing else.
pub trait Cache {
    /// What is kept of a page.
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>>;
    /// The page itself, if it is kept.
    fn body(&self, key: UrlKey) -> Boxed<'_, Option<Fetched>>;
    /// Keeps a page.
    fn put(&self, key: UrlKey, page: CachedPage, body: Option<Fetched>) -> Boxed<'_, ()>;
}
