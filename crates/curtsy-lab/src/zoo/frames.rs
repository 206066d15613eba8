//! HTTP/2 by raw frames (RFC 9113): what a client sends is taken apart, what is sent back is
//! written by hand.

use super::case::ZooRequest;
use super::hpack::HpackTable;
use super::http;
use super::script::ZooScript;

/// One side of an HTTP/2 connection, as far as a test server wants to know it.
#[derive(Default)]
pub(super) struct Http2Frames {
    table: HpackTable,
    begun: bool,
}

/// What a client said.
#[derive(Debug, PartialEq)]
pub(super) enum HeardFrame {
    /// It greets: settings are due.
    Greeting,
    /// A request: its stream and headers.
    Request(u32, Vec<(String, String)>),
    /// It gave a stream up.
    Reset(u32),
    /// Something that needs no answer.
    Other,
    /// This is no HTTP/2.
    Nonsense,
}

impl Http2Frames {
    /// What the first bytes are, and how many; none if more must come.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<(HeardFrame, usize)> {
        if !self.begun {
            let seen = bytes.len().min(PREFACE.len());
            if bytes[..seen] != PREFACE[..seen] {
                return Some((HeardFrame::Nonsense, bytes.len()));
            }
            self.begun = seen == PREFACE.len();
            return self.begun.then_some((HeardFrame::Greeting, seen));
        }
        let head = bytes.first_chunk::<9>()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & (u32::MAX >> 1);
        let payload = bytes.get(9..9 + length)?;
        let heard = match kind {
            HEADERS => HeardFrame::Request(stream, self.table.read(fragment(payload, flags))),
            RST_STREAM => HeardFrame::Reset(stream),
            _ => HeardFrame::Other,
        };
        Some((heard, 9 + length))
    }
}

/// The header block of a HEADERS frame, without padding and priority (RFC 9113 §6.2).
fn fragment(payload: &[u8], flags: u8) -> &[u8] {
    let (mut block, mut padding) = (payload, 0);
    if flags & 0x8 != 0
        && let Some((&length, rest)) = block.split_first()
    {
        (block, padding) = (rest, usize::from(length));
    }
    if flags & 0x20 != 0 {
        block = block.get(5..).unwrap_or_default();
    }
    block.get(..block.len().saturating_sub(padding)).unwrap_or_default()
}

/// A frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head[..], payload].concat()
}

/// Our settings: none, so the defaults hold.
pub(super) fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

/// A header that is spelt out, kept by nobody.
pub(super) fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let mut out = Vec::new();
        match text.len() {
            short @ 0..127 => out.push(short as u8),
            long => {
                out.push(127);
                let mut rest = long - 127;
                while rest >= 128 {
                    out.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                out.push(rest as u8);
            }
        }
        out.extend_from_slice(text.as_bytes());
        out
    };
    [vec![0], text(name), text(value)].concat()
}

/// The block of an ordinary answer's headers.
pub(super) fn block(status: u16) -> Vec<u8> {
    [field(":status", &status.to_string()), field("content-type", "text/html")].concat()
}

/// A whole answer.
pub(super) fn answer(stream: u32, status: u16, content_type: &str, body: &str) -> ZooScript {
    let headers =
        [field(":status", &status.to_string()), field("content-type", content_type)].concat();
    let bytes = [
        frame(HEADERS, END_HEADERS, stream, &headers),
        frame(DATA, END_STREAM, stream, body.as_bytes()),
    ];
    ZooScript::say(bytes.concat()).status(status)
}

/// What a host says that behaves.
pub(super) fn good(asked: &ZooRequest<'_>) -> ZooScript {
    match asked.path {
        "/robots.txt" => answer(asked.stream, 200, "text/plain", http::GOOD_ROBOTS),
        "/" => answer(asked.stream, 200, "text/html", &http::page("A page")),
        _ => answer(asked.stream, 404, "text/html", &http::page("Not here")),
    }
}

/// RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
