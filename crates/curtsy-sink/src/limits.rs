//! The limits of rows on their way out, from the constants that the sinks go by.

use curtsy_core::limits::{Bound, Limit};

use crate::sqlite::{SqliteOptions, write};
use crate::{lines, record, rules};

/// The limits of this crate: rows and pages before they are written; events if Kafka is built in.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    let sink = SqliteOptions::default();
    vec![
        limit(
            "rows.pages_held",
            "pages in memory whose rows are not written yet",
            count(sink.pages_held),
            "the oldest is dropped, which costs at most one request",
        ),
        limit(
            "rows.bytes_held",
            "bytes of the bodies of these pages",
            bytes(sink.bytes_held),
            "the oldest is dropped, which costs at most one request",
        ),
        limit(
            "rows.sitemap_urls",
            "URLs of a sitemap that are written in one transaction",
            count(write::SITEMAP_URLS_MAX),
            "the rest is in the next transaction",
        ),
        limit(
            "rows.remembered",
            "rows of JSON lines or CSV that are remembered as written",
            count(lines::REMEMBERED),
            "the oldest are forgotten; if such a row comes again, it is written twice",
        ),
        limit(
            "rows.rules",
            "remembered lines of robots.txt",
            count(rules::RULES_MAX),
            "all are read again",
        ),
        limit(
            "rows.date_skew",
            "the difference between a server's `Date` and our clock",
            Bound::Within(record::DATE_SKEW_MAX),
            "the row has our own time",
        ),
        #[cfg(feature = "kafka")]
        limit(
            "events.told",
            "the delivery of an event to the brokers",
            Bound::Within(crate::kafka::TOLD_WITHIN),
            "its batch is sent again; fetching stops meanwhile",
        ),
        #[cfg(feature = "kafka")]
        limit(
            "events.topic",
            "how long brokers may take to describe the topic",
            Bound::Within(crate::kafka::TOPIC_WITHIN),
            "a new worker reports it; nothing is fetched until the brokers answer",
        ),
    ]
}
