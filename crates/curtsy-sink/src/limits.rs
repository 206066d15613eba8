//! The limits of rows on their way out, from the constants that the sinks go by.

use curtsy_core::limits::{Bound, Limit};

use crate::sqlite::{Options, write};
use crate::{lines, record, rules};

/// The limits of this crate: rows and pages before they are written; events if Kafka is built in.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    let sink = Options::default();
    vec![
        limit(
            "rows.pages_held",
            "pages in memory whose rows are not written yet",
            count(sink.pages_held),
            "the oldest goes, which costs a request at most",
        ),
        limit("rows.bytes_held", "bytes of their bodies", bytes(sink.bytes_held), "the same"),
        limit(
            "rows.sitemap_urls",
            "URLs of a sitemap that are written in one transaction",
            count(write::SITEMAP_URLS_MAX),
            "the rest follows in others",
        ),
        limit(
            "rows.remembered",
            "rows of JSON lines or CSV of which it is known that they are written",
            count(lines::REMEMBERED),
            "the oldest are forgotten: told again, they are written twice",
        ),
        limit(
            "rows.rules",
            "lines of robots.txt whose text is remembered",
            count(rules::RULES_MAX),
            "all are looked up again",
        ),
        limit(
            "rows.date_skew",
            "how far a server's `Date` may be from our clock",
            Bound::Within(record::DATE_SKEW_MAX),
            "our own time is in the row",
        ),
        #[cfg(feature = "kafka")]
        limit(
            "events.told",
            "how long an event may be on its way to the brokers",
            Bound::Within(crate::kafka::TOLD_WITHIN),
            "its batch comes again; nothing more is fetched meanwhile",
        ),
        #[cfg(feature = "kafka")]
        limit(
            "events.topic",
            "how long brokers may take to say what they know of the topic",
            Bound::Within(crate::kafka::TOPIC_WITHIN),
            "a new worker says so; nothing is fetched until they are there",
        ),
    ]
}
