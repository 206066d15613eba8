//! A scripted answer: to which requests, what it says, and how it arrives.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::scene::{BYTES_MAX, maybe_span, span};
use curtsy_sim::web::Told;

/// One scripted answer.
///
/// ```
/// use curtsy_lab::sites::Answer;
/// let busy = Answer::to("/busy").first(2).status(429).retry_after_seconds(1);
/// assert_eq!(busy.times, Some(2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Path and query that it answers; with `*` at the end, all that begin so.
    pub path: String,
    /// To the first so many requests only.
    pub times: Option<u32>,
    /// To so many of a hundred requests only.
    pub percent: Option<u8>,
    /// Not before this time after the host's first request.
    #[serde(deserialize_with = "maybe_span")]
    pub from: Option<Duration>,
    /// Not from this time on.
    #[serde(deserialize_with = "maybe_span")]
    pub until: Option<Duration>,
    /// The status; 200 if nothing is said.
    pub status: Option<u16>,
    /// The `Location`.
    pub location: Option<String>,
    /// The `Retry-After`: `2`, `date+2` or `junk`.
    #[serde(deserialize_with = "told")]
    pub retry_after: Option<Told>,
    /// The `ETag`; who knows it gets a 304.
    pub etag: Option<String>,
    /// The `Last-Modified`; who knows it, or a later time, gets a 304.
    pub last_modified: Option<String>,
    /// The `Cache-Control`.
    pub cache_control: Option<String>,
    /// More header lines: `X-Robots-Tag: noindex`.
    pub headers: Vec<String>,
    /// The `Content-Type`; else what fits the body.
    pub content_type: Option<String>,
    /// The charset in which the body is written, and named unless `content_type` is given.
    pub charset: Option<String>,
    /// What it says.
    pub body: Body,
    /// How it is packed.
    pub coding: Coding,
    /// How its end is told.
    pub framing: Framing,
    /// How long the first byte takes.
    #[serde(deserialize_with = "span")]
    pub first_byte: Duration,
    /// The body comes in pieces of so many bytes …
    pub piece_bytes: Option<u32>,
    /// … with this wait before each.
    #[serde(deserialize_with = "span")]
    pub piece_wait: Duration,
    /// How it ends.
    pub ending: Ending,
    /// Held back until whoever serves the sites opens the gate of this name.
    pub gate: Option<String>,
}

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// What the host would say to that path without a script; with a status that is not a success,
    /// a short text.
    #[default]
    Own,
    /// Nothing.
    Nothing,
    /// This text, as plain text.
    Text(String),
    /// This text, as HTML.
    Html(String),
    /// These bytes, in hexadecimal.
    Hex(String),
    /// So many bytes that are no text.
    Bytes(u32),
    /// A page made of these parts.
    Page(PageParts),
    /// A bot wall's page.
    Wall,
}

/// The parts of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageParts {
    /// Its title; else its path.
    pub title: String,
    /// More elements of its head, as they are: `<meta name="robots" content="noindex">`.
    pub head: String,
    /// Where it links to.
    pub links: Vec<String>,
    /// How long it is at least.
    pub bytes: u32,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// Not at all.
    #[default]
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// deflate as it should be: zlib (RFC 1950).
    Deflate,
    /// deflate as some servers send it: raw (RFC 1951).
    RawDeflate,
    /// Brotli (RFC 7932), stored.
    Br,
    /// Zstandard (RFC 8878), stored.
    Zstd,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// `Content-Length`.
    #[default]
    Length,
    /// Chunks.
    Chunked,
    /// The connection closes.
    Close,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All of it is sent.
    #[default]
    Whole,
    /// The connection closes in the middle of the body.
    Truncated,
    /// The connection is reset in the middle of the body.
    TruncatedByReset,
    /// The connection is reset and nothing was sent.
    Reset,
    /// The connection closes and nothing was sent.
    Empty,
    /// Nothing is sent, for 60 s.
    Hang,
}

impl Answer {
    /// An answer to this path.
    pub fn to(path: &str) -> Answer {
        Answer { path: path.to_owned(), ..Answer::default() }
    }

    /// To everything.
    pub fn to_all() -> Answer {
        Answer::to("*")
    }

    /// A bot wall in Cloudflare's manner.
    pub fn wall(path: &str) -> Answer {
        let headers =
            ["Server: cloudflare", "CF-RAY: 8c0ffee0ba5e0001-LHR", "CF-Mitigated: challenge"];
        let headers = headers.map(str::to_owned).to_vec();
        Answer { headers, body: Body::Wall, ..Answer::to(path).status(403) }
    }

    /// A redirect.
    pub fn moved(path: &str, status: u16, to: &str) -> Answer {
        Answer { location: Some(to.to_owned()), ..Answer::to(path).status(status) }
    }

    /// A page made of a title, more of its head, and links.
    pub fn page(path: &str, title: &str, head: &str, links: &[&str]) -> Answer {
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        let (title, head) = (title.to_owned(), head.to_owned());
        let parts = PageParts { title, head, links, bytes: 0 };
        Answer { body: Body::Page(parts), ..Answer::to(path) }
    }

    /// To the first so many requests only.
    pub fn first(self, times: u32) -> Answer {
        Answer { times: Some(times), ..self }
    }

    /// In this time after the host's first request only.
    pub fn between_ms(self, from: u64, until: u64) -> Answer {
        let [from, until] = [from, until].map(|ms| Some(Duration::from_millis(ms)));
        Answer { from, until, ..self }
    }

    /// From this time after the host's first request on.
    pub fn after_ms(self, from: u64) -> Answer {
        Answer { from: Some(Duration::from_millis(from)), ..self }
    }

    /// With this status.
    pub fn status(self, status: u16) -> Answer {
        Answer { status: Some(status), ..self }
    }

    /// With a Retry-After in seconds.
    pub fn retry_after_seconds(self, seconds: u64) -> Answer {
        Answer { retry_after: Some(Told::Seconds(seconds)), ..self }
    }

    /// With a Retry-After that is a date so many seconds ahead.
    pub fn retry_after_date(self, seconds: u64) -> Answer {
        Answer { retry_after: Some(Told::Date(seconds)), ..self }
    }

    /// With one more header line.
    pub fn header(mut self, line: &str) -> Answer {
        self.headers.push(line.to_owned());
        self
    }

    /// With this body.
    pub fn body(self, body: Body) -> Answer {
        Answer { body, ..self }
    }

    /// Packed in this way.
    pub fn coding(self, coding: Coding) -> Answer {
        Answer { coding, ..self }
    }

    /// With this end.
    pub fn ending(self, ending: Ending) -> Answer {
        Answer { ending, ..self }
    }

    /// Held back until the gate of this name is opened ([`Sites::open`](super::Sites::open)).
    pub fn behind(self, gate: &str) -> Answer {
        Answer { gate: Some(gate.to_owned()), ..self }
    }

    /// Whether it answers this path and query.
    pub(super) fn fits(&self, target: &str) -> bool {
        match self.path.strip_suffix('*') {
            Some(start) => target.starts_with(start),
            None => self.path == target,
        }
    }

    /// Refuses what would break the frame of an HTTP answer, or memory.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let single_line = |text: &String| !text.contains(['\r', '\n', '\0']);
        if !(self.path.starts_with('/') || self.path == "*") {
            return Err("`path` begins with `/`, or is `*`");
        }
        if self.status.is_some_and(|status| !(200..600).contains(&status)) {
            return Err("`status` is 200 to 599");
        }
        let named = [&self.location, &self.etag, &self.last_modified, &self.cache_control];
        let more = [&self.content_type, &self.charset];
        if !named.into_iter().chain(more).flatten().chain(&self.headers).all(single_line) {
            return Err("a header is one line");
        }
        let framing = ["content-length:", "transfer-encoding:", "connection:"];
        for line in &self.headers {
            let line = line.to_ascii_lowercase();
            if !line.contains(':') {
                return Err("a line of `headers` is `Name: value`");
            }
            if framing.iter().any(|name| line.starts_with(name)) {
                return Err("the length and the end are `framing`'s and `ending`'s");
            }
        }
        match &self.body {
            Body::Bytes(bytes) if *bytes > BYTES_MAX => {
                return Err("`body.bytes` is at most 64 MiB");
            }
            Body::Page(parts) if parts.bytes > BYTES_MAX => {
                return Err("`body.page.bytes` is at most 64 MiB");
            }
            Body::Hex(text) if bytes_of_hex(text).is_none() => {
                return Err("`body.hex` is of pairs of hexadecimal digits");
            }
            _ => {}
        }
        if self.piece_bytes == Some(0) {
            return Err("`piece_bytes` is at least 1");
        }
        Ok(())
    }
}

pub(super) fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

fn told<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Told>, D::Error> {
    let text = String::deserialize(from)?;
    let told = match text.strip_prefix("date+") {
        Some(seconds) => seconds.parse().map(Told::Date).ok(),
        None if text == "junk" => Some(Told::Junk),
        None => text.parse().map(Told::Seconds).ok(),
    };
    let wrong = || format!("`{text}` is not `2` (seconds), `date+2` or `junk`");
    told.map(Some).ok_or_else(|| serde::de::Error::custom(wrong()))
}
