//! What a host says to a request: its script first, then its robots.txt, sitemaps, traps and pages.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::answer::{Answer, Body, Ending, Framing, bytes_of_hex};
use super::head::{ResponseHead, is_known, reason, retry_after, write_head};
use super::scene::{Host, Range};
use super::{coding, page, sitemap};
use curtsy_sim::Chance;

/// A host on the stage: its script, and how far it has come.
pub(super) struct HostStage {
    pub(super) host: Host,
    /// How often each scripted answer was given.
    given: Vec<u32>,
    /// When it was asked for the first time.
    since: Option<u64>,
    chance: Chance,
    seed: u64,
    /// The body is made here first: the head wants its length.
    body: Vec<u8>,
    sitemaps: Vec<MadeSitemap>,
}

/// A sitemap as it is sent to clients that name the host in this way.
struct MadeSitemap {
    index: usize,
    base: String,
    bytes: Vec<u8>,
}

/// What is asked.
pub(super) struct SiteRequest<'a> {
    pub(super) path: &'a str,
    pub(super) head_only: bool,
    pub(super) if_none_match: Option<&'a str>,
    pub(super) if_modified_since: Option<&'a str>,
    /// How the client names this server: `http://shop.test:8080`.
    pub(super) base: &'a dyn std::fmt::Display,
    /// Whether the connection closes afterwards.
    pub(super) close: bool,
    /// Now, in microseconds, and as an HTTP-date.
    pub(super) now: u64,
    pub(super) date: &'a str,
}

/// What is said: the bytes are in the caller's buffer, here is what the log wants to know and how
/// they are to be sent.
#[derive(Debug)]
pub(super) struct SiteResponse {
    pub(super) status: Option<u16>,
    pub(super) location: Option<Arc<str>>,
    pub(super) retry_after: Option<Arc<str>>,
    pub(super) cache_control: Option<Arc<str>>,
    pub(super) etag: Option<Arc<str>>,
    pub(super) last_modified: Option<Arc<str>>,
    pub(super) robots_body: Option<Arc<[u8]>>,
    /// The gate behind which it is held.
    pub(super) gate: Option<Arc<str>>,
    pub(super) delivery: SendPlan,
}

/// How an answer's bytes are to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendPlan {
    /// The wait before the first byte.
    pub(super) first_byte: Duration,
    /// The head goes at once; then pieces of so many bytes, each after a wait.
    pub(super) head_bytes: usize,
    pub(super) piece: Option<(usize, Duration)>,
    /// How many bytes are sent at all.
    pub(super) send: usize,
    /// What comes then.
    pub(super) then: AfterSend,
    /// Whether that was the whole answer.
    pub(super) whole: bool,
}

/// What comes after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterSend {
    /// The next request.
    Next,
    /// The connection closes.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing, for a long time; then it closes.
    Hang,
}

impl HostStage {
    pub(super) fn new(host: Host, seed: u64) -> HostStage {
        let given = vec![0; host.answers.len()];
        HostStage {
            host,
            given,
            since: None,
            chance: Chance::new(seed),
            seed,
            body: Vec::new(),
            sitemaps: Vec::new(),
        }
    }

    /// Notes the first request; says whether it was this one.
    pub(super) fn begins(&mut self, now: u64) -> bool {
        let first = self.since.is_none();
        self.since.get_or_insert(now);
        first
    }

    /// Draws a wait.
    pub(super) fn wait(&mut self, range: Range) -> Duration {
        if range.max.is_zero() {
            return Duration::ZERO;
        }
        let micros = |span: Duration| span.as_micros() as u64;
        Duration::from_micros(self.chance.between(micros(range.min), micros(range.max)))
    }

    /// Draws whether a connection is closed as soon as it is accepted.
    pub(super) fn shuts(&mut self) -> bool {
        self.host.shut_percent > 0 && self.chance.percent(self.host.shut_percent.into())
    }

    /// Draws whether this request is read late, and by how much.
    pub(super) fn deaf(&mut self) -> Option<Duration> {
        let deaf = self.host.deaf?;
        self.chance.percent(deaf.percent.into()).then_some(deaf.lasts)
    }

    /// Writes the answer.
    pub(super) fn say(&mut self, asked: &SiteRequest<'_>, out: &mut Vec<u8>) -> SiteResponse {
        let think = self.host.think;
        let think = self.wait(think);
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let scripted = self.scripted(asked);
        let mut said = match scripted {
            Some(index) => self.play(index, asked, body, out),
            None => self.own_answer(asked, body, out),
        };
        said.delivery.first_byte += think;
        said
    }

    /// The scripted answer that fits, and is now used once more.
    fn scripted(&mut self, asked: &SiteRequest<'_>) -> Option<usize> {
        let elapsed =
            Duration::from_micros(asked.now - self.since.unwrap_or(asked.now).min(asked.now));
        for (index, answer) in self.host.answers.iter().enumerate() {
            let in_time = answer.from.is_none_or(|from| elapsed >= from)
                && answer.until.is_none_or(|until| elapsed < until);
            if !in_time
                || !answer.fits(asked.path)
                || answer.times.is_some_and(|times| self.given[index] >= times)
                || answer.percent.is_some_and(|share| !self.chance.percent(share.into()))
            {
                continue;
            }
            self.given[index] = self.given[index].saturating_add(1);
            return Some(index);
        }
        None
    }

    /// What the host says without a script.
    fn own_answer(
        &mut self,
        asked: &SiteRequest<'_>,
        mut body: Vec<u8>,
        out: &mut Vec<u8>,
    ) -> SiteResponse {
        if let Some(world) = self.host.world {
            let answer = world.answer(asked.path);
            let head = ResponseHead {
                status: answer.status,
                content_type: answer.content_type.into(),
                location: answer.location.map(Arc::from),
                ..ResponseHead::default()
            };
            body.extend_from_slice(answer.body.as_bytes());
            return self.finish(asked, head, body, Framing::Length, Ending::Whole, out);
        }
        let mut head =
            ResponseHead { status: 404, content_type: TEXT.into(), ..ResponseHead::default() };
        if let Some(content_type) = self.own_body(asked, &mut body) {
            head = ResponseHead {
                status: 200,
                content_type: content_type.into(),
                ..ResponseHead::default()
            };
            if let Some(number) = page::number_of(asked.path) {
                let pages = &self.host.pages;
                if pages.etag {
                    head.etag = Some(format!("\"{:x}-{number}\"", self.seed).into());
                }
                head.cache_control = pages.max_age.map(|age| format!("max-age={age}").into());
                if is_known(asked, &head) {
                    head.status = 304;
                    body.clear();
                }
            }
        } else {
            body.extend_from_slice(b"not found\n");
        }
        self.finish(asked, head, body, Framing::Length, Ending::Whole, out)
    }

    /// Writes what this path is without a script, and says of which type it is; `None` if there is
    /// nothing.
    fn own_body(&mut self, asked: &SiteRequest<'_>, body: &mut Vec<u8>) -> Option<&'static str> {
        if let Some(number) = page::number_of(asked.path) {
            if number >= self.host.pages.count {
                return None;
            }
            page::generated(&self.host.pages, number, &self.host.name, self.seed, body);
            return Some(HTML);
        }
        if asked.path == "/robots.txt" {
            body.extend_from_slice(based(self.host.robots.as_deref()?, asked).as_bytes());
            return Some(TEXT);
        }
        if let Some(index) = self.host.sitemaps.iter().position(|it| it.path == asked.path) {
            return Some(self.sitemap(index, asked, body));
        }
        let traps = &self.host.traps;
        let trapped =
            traps.iter().any(|trap| page::of_trap(trap, asked.path, &mut self.chance, body));
        trapped.then_some(HTML)
    }

    /// Writes a sitemap: made once for each name that clients use, since a long one would keep the
    /// loop from reading.
    fn sitemap(
        &mut self,
        index: usize,
        asked: &SiteRequest<'_>,
        body: &mut Vec<u8>,
    ) -> &'static str {
        let sitemap = &self.host.sitemaps[index];
        let base = asked.base.to_string();
        let known = self.sitemaps.iter().position(|made| made.index == index && made.base == base);
        let known = known.unwrap_or_else(|| {
            if self.sitemaps.len() >= SITEMAPS_KEPT {
                self.sitemaps.clear();
            }
            let mut bytes = Vec::new();
            sitemap::write(sitemap, &base, &mut bytes);
            self.sitemaps.push(MadeSitemap { index, base, bytes });
            self.sitemaps.len() - 1
        });
        body.extend_from_slice(&self.sitemaps[known].bytes);
        sitemap::content_type(sitemap)
    }

    /// Plays a scripted answer.
    fn play(
        &mut self,
        index: usize,
        asked: &SiteRequest<'_>,
        mut body: Vec<u8>,
        out: &mut Vec<u8>,
    ) -> SiteResponse {
        let answer = self.host.answers[index].clone();
        let status = answer.status.unwrap_or(200);
        let own_type = self.scripted_body(&answer, status, asked, &mut body);
        let text = |value: &Option<String>| value.as_deref().map(Arc::from);
        let mut head = ResponseHead {
            status,
            content_type: own_type.into(),
            location: answer.location.as_deref().map(|to| based(to, asked).into()),
            retry_after: answer.retry_after.and_then(|told| retry_after(told, asked.now)),
            etag: text(&answer.etag),
            last_modified: text(&answer.last_modified),
            cache_control: text(&answer.cache_control),
            headers: answer.headers.clone(),
            coding: None,
        };
        if let Some(charset) = &answer.charset {
            body = coding::in_charset(&String::from_utf8_lossy(&body), charset);
            let bare = own_type.split(';').next().unwrap_or(own_type);
            head.content_type = format!("{bare}; charset={charset}");
        }
        if let Some(content_type) = &answer.content_type {
            head.content_type.clone_from(content_type);
        }
        if status == 200 && is_known(asked, &head) {
            head.status = 304;
            body.clear();
        } else if !body.is_empty() {
            head.coding = answer.coding.name();
        }
        let robots_body =
            (asked.path.ends_with("/robots.txt") && !body.is_empty()).then(|| Arc::from(&*body));
        if head.coding.is_some() {
            body = answer.coding.pack(body);
        }
        let mut said = self.finish(asked, head, body, answer.framing, answer.ending, out);
        said.robots_body = robots_body;
        said.gate = text(&answer.gate);
        said.delivery.first_byte = answer.first_byte;
        said.delivery.piece = answer.piece_bytes.map(|bytes| (bytes as usize, answer.piece_wait));
        said
    }

    fn scripted_body(
        &mut self,
        answer: &Answer,
        status: u16,
        asked: &SiteRequest<'_>,
        body: &mut Vec<u8>,
    ) -> &'static str {
        match &answer.body {
            Body::Own if (200..300).contains(&status) => {
                if let Some(content_type) = self.own_body(asked, body) {
                    return content_type;
                }
                page::of_parts(&Default::default(), asked.path, body);
                HTML
            }
            Body::Own => {
                let _ = writeln!(body, "{} {}", status, reason(status));
                TEXT
            }
            Body::Nothing => TEXT,
            Body::Text(text) => {
                body.extend_from_slice(text.as_bytes());
                TEXT
            }
            Body::Html(text) => {
                body.extend_from_slice(text.as_bytes());
                HTML
            }
            Body::Hex(text) => {
                body.extend_from_slice(&bytes_of_hex(text).unwrap_or_default());
                "application/octet-stream"
            }
            Body::Bytes(bytes) => {
                body.resize(*bytes as usize, 0);
                "application/octet-stream"
            }
            Body::Page(parts) => {
                page::of_parts(parts, asked.path, body);
                HTML
            }
            Body::Wall => {
                page::wall(body);
                HTML
            }
        }
    }

    /// Writes head and body, framed, and says how they are to be sent.
    fn finish(
        &mut self,
        asked: &SiteRequest<'_>,
        head: ResponseHead,
        body: Vec<u8>,
        framing: Framing,
        ending: Ending,
        out: &mut Vec<u8>,
    ) -> SiteResponse {
        let close = asked.close || framing == Framing::Close;
        let bodyless = matches!(head.status, 204 | 304);
        write_head(&head, asked, (!bodyless).then_some((framing, body.len())), close, out);
        let head_bytes = out.len();
        if !asked.head_only && !bodyless {
            match framing {
                Framing::Length | Framing::Close => out.extend_from_slice(&body),
                Framing::Chunked => {
                    for chunk in body.chunks(CHUNK_BYTES) {
                        let _ = write!(out, "{:x}\r\n", chunk.len());
                        out.extend_from_slice(chunk);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"0\r\n\r\n");
                }
            }
        }
        let half = head_bytes + (out.len() - head_bytes) / 2;
        let after = if close { AfterSend::Close } else { AfterSend::Next };
        let (send, then, whole) = match ending {
            Ending::Whole => (out.len(), after, true),
            Ending::Truncated => (half, AfterSend::Close, false),
            Ending::TruncatedByReset => (half, AfterSend::Reset, false),
            Ending::Reset => (0, AfterSend::Reset, false),
            Ending::Empty => (0, AfterSend::Close, false),
            Ending::Hang => (0, AfterSend::Hang, false),
        };
        let robots_body =
            (asked.path == "/robots.txt" && head.status == 200).then(|| Arc::from(&*body));
        self.body = if body.capacity() > BODY_KEPT_BYTES { Vec::new() } else { body };
        SiteResponse {
            // What was never sent was never said.
            status: (send > 0).then_some(head.status),
            location: head.location,
            retry_after: head.retry_after,
            cache_control: head.cache_control,
            etag: head.etag,
            last_modified: head.last_modified,
            robots_body,
            gate: None,
            delivery: SendPlan {
                first_byte: Duration::ZERO,
                head_bytes,
                piece: None,
                send,
                then,
                whole,
            },
        }
    }
}

/// A refusal by the server itself, not by a host: the request can't be read, or nobody goes by that
/// name.
pub(super) fn refusal(status: u16, date: &str, out: &mut Vec<u8>) -> SiteResponse {
    let text = format!("{status} {}\n", reason(status));
    let _ = write!(
        out,
        "HTTP/1.1 {status} {}\r\nDate: {date}\r\nContent-Type: {TEXT}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        reason(status),
        text.len()
    );
    SiteResponse {
        status: Some(status),
        location: None,
        retry_after: None,
        cache_control: None,
        etag: None,
        last_modified: None,
        robots_body: None,
        gate: None,
        delivery: SendPlan {
            first_byte: Duration::ZERO,
            head_bytes: out.len(),
            piece: None,
            send: out.len(),
            then: AfterSend::Close,
            whole: true,
        },
    }
}

/// The text with the name by which the client knows this host in it.
fn based<'t>(text: &'t str, asked: &SiteRequest<'_>) -> Cow<'t, str> {
    match text.contains("{base}") {
        true => text.replace("{base}", &asked.base.to_string()).into(),
        false => text.into(),
    }
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const CHUNK_BYTES: usize = 4096;
const SITEMAPS_KEPT: usize = 64;
const BODY_KEPT_BYTES: usize = 1 << 20;
