//! Content codings: gzip, deflate, br and zstd, step by step.
//!
//! A step returns at most [`STEP`] bytes. A few bytes that decode to gigabytes are stopped after
//! the step that passes the limit, and memory is reserved between steps. A coding that ends early
//! is [`CodingFault::Cut`]: a truncated body is never a page.

mod brotli;
pub(crate) mod gzip;
mod inflate;
pub(crate) mod zstd;

use std::cell::RefCell;

use curtsy_core::headers::Coding;

use brotli::Brotli;
use gzip::Gzip;
use inflate::Deflate;
use zstd::Zstd;

/// The largest number of bytes that a step returns.
pub const STEP: usize = 64 * 1024;

/// Decodes one body.
pub(crate) enum Decoder {
    /// Not encoded.
    Plain,
    /// gzip, of many members.
    Gzip(Gzip),
    /// zlib, or raw deflate.
    Deflate(Deflate),
    /// Brotli.
    Brotli(Brotli),
    /// Zstandard, of many frames.
    Zstd(Zstd),
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DecodeStep {
    /// Bytes taken.
    pub(crate) taken: usize,
    /// Bytes given.
    pub(crate) given: usize,
}

/// Why a body cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingFault {
    /// It is not valid.
    Bad,
    /// It needs more memory than a page should.
    TooLarge,
    /// It is truncated.
    Cut,
}

impl Decoder {
    pub(crate) fn new(coding: Option<Coding>) -> Decoder {
        match coding {
            None | Some(Coding::Compress) => Decoder::Plain,
            Some(Coding::Gzip) => Decoder::Gzip(Gzip::new()),
            Some(Coding::Deflate) => Decoder::Deflate(Deflate::new()),
            Some(Coding::Br) => Decoder::Brotli(Brotli::new()),
            Some(Coding::Zstd) => Decoder::Zstd(Zstd::new()),
        }
    }

    /// Decodes a part of `input` and appends it to `out`. A step that takes nothing and returns
    /// nothing needs more input.
    pub(crate) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        match self {
            Decoder::Plain => {
                let n = input.len().min(STEP);
                out.extend_from_slice(&input[..n]);
                Ok(DecodeStep { taken: n, given: n })
            }
            Decoder::Gzip(gzip) => gzip.step(input, out),
            Decoder::Deflate(deflate) => deflate.step(input, out),
            Decoder::Brotli(brotli) => brotli.step(input, out),
            Decoder::Zstd(zstd) => zstd.step(input, out),
        }
    }

    /// Checks that the body may end here. An empty body is valid in every coding.
    pub(crate) fn end(&self) -> Result<(), CodingFault> {
        let whole = match self {
            Decoder::Plain => true,
            Decoder::Gzip(gzip) => gzip.is_whole(),
            Decoder::Deflate(deflate) => deflate.is_whole(),
            Decoder::Brotli(brotli) => brotli.is_whole(),
            Decoder::Zstd(zstd) => zstd.is_whole(),
        };
        if whole { Ok(()) } else { Err(CodingFault::Cut) }
    }
}

/// A decoded body, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackedBody {
    /// At most [`STEP`] past the limit.
    pub bytes: Vec<u8>,
    /// Whether it is complete; [`CodingFault::TooLarge`] past the limit.
    pub end: Result<(), CodingFault>,
}

/// Decodes a body that arrives in pieces, step by step as a line does, and stops past `bytes_max`.
/// Unlike a line, it reserves no memory and has no timeouts: this is for tests of the decoders.
pub fn unpack(coding: Coding, packed: &[u8], piece: usize, bytes_max: usize) -> UnpackedBody {
    let mut decoder = Decoder::new(Some(coding));
    let mut bytes = Vec::new();
    for piece in packed.chunks(piece.max(1)) {
        let mut rest = piece;
        loop {
            let before = bytes.len();
            let step = match decoder.step(rest, &mut bytes) {
                Ok(step) => step,
                Err(fault) => return UnpackedBody { bytes, end: Err(fault) },
            };
            debug_assert_eq!(bytes.len() - before, step.given);
            debug_assert!(step.given <= STEP, "a step is bounded");
            rest = &rest[step.taken..];
            if bytes.len() > bytes_max {
                return UnpackedBody { bytes, end: Err(CodingFault::TooLarge) };
            }
            if step == DecodeStep::default() {
                debug_assert!(rest.is_empty(), "{} bytes neither taken nor refused", rest.len());
                break;
            }
        }
    }
    UnpackedBody { bytes, end: decoder.end() }
}

/// Lets `decode` fill a buffer of one step, and appends the result to `out`. A step costs what it
/// returns, not what it could return.
fn into_vec(
    out: &mut Vec<u8>,
    decode: impl FnOnce(&mut [u8]) -> Result<DecodeStep, CodingFault>,
) -> Result<DecodeStep, CodingFault> {
    thread_local! {
        static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; STEP].into());
    }
    ROOM.with_borrow_mut(|room| {
        let step = decode(room)?;
        out.extend_from_slice(&room[..step.given]);
        Ok(step)
    })
}

#[cfg(test)]
mod tests;
