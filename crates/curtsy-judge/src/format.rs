//! The formats of access logs, and how a line shows which one it has.

use std::fmt;
use std::time::Duration;

use crate::judge::LogDetail;

/// A format of access logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogFormat {
    /// JSON lines with this project's field names, or with the names of nginx's variables.
    Json,
    /// The JSON lines of Caddy's access log.
    Caddy,
    /// The combined or common format of nginx and Apache, with or without the virtual host in
    /// front.
    Combined,
    /// The W3C extended format, as IIS writes it.
    W3c,
    /// The standard log of CloudFront.
    CloudFront,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [LogFormat; 5] = [
        LogFormat::Json,
        LogFormat::Caddy,
        LogFormat::Combined,
        LogFormat::W3c,
        LogFormat::CloudFront,
    ];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::Json => "json",
            LogFormat::Caddy => "caddy",
            LogFormat::Combined => "combined",
            LogFormat::W3c => "w3c",
            LogFormat::CloudFront => "cloudfront",
        }
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<LogFormat> {
        LogFormat::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The detail of a log with times in whole seconds and without headers of responses.
pub(crate) const SECONDS: LogDetail =
    LogDetail { resolution: Duration::from_secs(1), ends: false, headers: false };

/// How long a response may have taken if the log does not say, in microseconds.
///
/// nginx stamps a line of the combined format at the end of the response, Apache at the start of
/// the request, and the line does not show which of them wrote it. So a request may have begun this
/// much before its stamp.
pub(crate) const ANSWER_MAX: u64 = 10_000_000;
