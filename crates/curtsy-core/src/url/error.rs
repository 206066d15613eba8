//! The reasons why a text is not a URL that can be crawled.

use thiserror::Error;

/// The reason why a text is not a URL that can be crawled.
///
/// No variant has the text itself: it may have a password or query values, which must not get into
/// a log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Neither http nor https.
    #[error("scheme `{0}` can't be crawled\nhint: only `http` and `https` can")]
    Scheme(String),
    /// Longer than the limit.
    #[error("URL of {bytes} bytes is longer than {bytes_max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Not a URL by the WHATWG rules.
    #[error("not a URL: {0}")]
    Syntax(#[source] ::url::ParseError),
    /// No host at all.
    #[error("URL has no host")]
    NoHost,
    /// A name that the DNS cannot have, or that a resolver would not understand.
    #[error("host name {0}")]
    Host(&'static str),
    /// Not the 32 hexadecimal digits of a key.
    #[error("a URL key is 32 hexadecimal digits")]
    Key,
}
