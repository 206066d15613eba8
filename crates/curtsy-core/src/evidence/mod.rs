//! Decisions in the form that a person, a database or an auditor reads.
//!
//! A decision keeps only numbers ([`crate::host::Finding`]). Here they become sentences, the two
//! JSON records about robots.txt, the report of a run, and the bytes that are stored with a row.
//! Nothing here decides anything, and no page text gets in: the only foreign text is the deciding
//! line of a robots.txt and the requested URL.

mod compact;
mod ingest;
pub(crate) mod robots;
mod sentence;
mod timestamp;
mod webpage;

pub use compact::{FindingsError, decode, encode};
pub(crate) use compact::{FindingsReader, FindingsWriter};
pub use ingest::{
    DiscoverySource, FRICTION_SIGNALS_MAX, Ingest, POLICY_VERSION, RunEvidence, RunFigures,
    RunOutcome, friction_signal, mode_name,
};
pub use robots::{
    RobotsContent, RobotsEvidence, RobotsMetadata, RobotsType, Seconds, Sureness, rule_text,
};
pub(crate) use sentence::counted;
pub use sentence::{SLOT_TIMEOUT_TEXT, SentenceContext, circuit_open, sentence, span_text};
pub use timestamp::{read_timestamp, timestamp, timestamp_micros};
pub use webpage::{Webpage, WebpageEvent, cache_key, event_id, event_key};
