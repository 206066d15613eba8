//! Header values that decide, read as pure functions.
//!
//! A value comes from the network, so nothing here panics, everything has a bound, and unreadable
//! values are `None`: then the policy's own wait counts. If a header has two possible readings, the
//! politer one is taken: the longest Retry-After of several, the stricter of two robots rules.
//!
//! Moments in headers are whole seconds since the Unix epoch by the server's clock (`i64`: a date
//! may be before 1970). Spans are `Duration`. Differences are taken from the server's own `Date` if
//! it is known, so a wrong clock there does no harm here.
//!
//! Not here: anything that needs a document or a decoder (HTML `meta` elements, character sets).

mod cache;
mod content_type;
mod date;
mod etag;
mod retry_after;
mod robots_rules;

pub(crate) use cache::DIRECTIVES_MAX as CACHE_DIRECTIVES_MAX;
pub use cache::{Basis, CacheControl, CacheHeaders, CacheKind, Delta, Freshness, freshness};
pub use content_type::{Coding, ContentType, codings};
pub use date::{any_date, http_date};
pub use etag::ETag;
pub(crate) use retry_after::LINES_MAX as RETRY_AFTER_LINES_MAX;
pub use retry_after::retry_after;
pub(crate) use robots_rules::RULES_MAX as ROBOTS_RULES_MAX;
pub use robots_rules::{ImagePreview, RobotsRules};

/// White space around a field value (RFC 9110 §5.6.3).
const OWS: [char; 2] = [' ', '\t'];
