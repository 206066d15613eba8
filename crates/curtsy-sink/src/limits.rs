//! The limits of rows on their way out, from the constants that the sinks go by.

use curtsy_core::limits::Limit;

use crate::sqlite::{SqliteOptions, write};
use crate::{lines, record, rules};

/// The limits of this crate: rows and pages before they are written; events if Kafka is built in.
pub fn limits() -> Vec<Limit> {
    let sink = SqliteOptions::default();
    vec![
        Limit::count("rows.pages_held", sink.pages_held),
        Limit::bytes("rows.bytes_held", sink.bytes_held),
        Limit::count("rows.sitemap_urls", write::SITEMAP_URLS_MAX),
        Limit::count("rows.remembered", lines::REMEMBERED),
        Limit::count("rows.rules", rules::RULES_MAX),
        Limit::within("rows.date_skew", record::DATE_SKEW_MAX),
        #[cfg(feature = "kafka")]
        Limit::within("events.told", crate::kafka::TOLD_WITHIN),
        #[cfg(feature = "kafka")]
        Limit::within("events.topic", crate::kafka::TOPIC_WITHIN),
    ]
}
