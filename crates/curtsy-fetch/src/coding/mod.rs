//! Content codings: gzip, deflate, br and zstd, a step at a time.
//!
//! A step takes some bytes in and gives at most [`STEP`] out, so a few bytes that burst into gigabytes are stopped after the step that passes
//! the limit, and memory is asked for between steps. A coding that ends too early is [`Fault::Cut`]: a cut body is never a page.

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

/// The most that one step gives out.
pub const STEP: usize = 64 * 1024;

/// Unpacks one body.
pub(crate) enum Decoder {
    /// Not packed.
    Plain,
    /// gzip, of many members.
    Gzip(Gzip),
    /// zlib, or bare deflate as some servers have it.
    Deflate(Deflate),
    /// Brotli.
    Brotli(Brotli),
    /// Zstandard, of many frames.
    Zstd(Zstd),
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Bytes taken.
    pub(crate) taken: usize,
    /// Bytes given.
    pub(crate) given: usize,
}

/// Why a body can't be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not what its coding says.
    Bad,
    /// It asks for more memory than a page needs.
    TooLarge,
    /// It ends before its end.
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

    /// Unpacks some of `input` to the end of `out`: a step of nothing taken and nothing given needs more input.
    pub(crate) fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, Fault> {
        match self {
            Decoder::Plain => {
                let n = input.len().min(STEP);
                out.extend_from_slice(&input[..n]);
                Ok(Step { taken: n, given: n })
            }
            Decoder::Gzip(gzip) => gzip.step(input, out),
            Decoder::Deflate(deflate) => deflate.step(input, out),
            Decoder::Brotli(brotli) => brotli.step(input, out),
            Decoder::Zstd(zstd) => zstd.step(input, out),
        }
    }

    /// Says whether the body may end here. A body of no bytes at all is empty in every coding.
    pub(crate) fn end(&self) -> Result<(), Fault> {
        let whole = match self {
            Decoder::Plain => true,
            Decoder::Gzip(gzip) => gzip.is_whole(),
            Decoder::Deflate(deflate) => deflate.is_whole(),
            Decoder::Brotli(brotli) => brotli.is_whole(),
            Decoder::Zstd(zstd) => zstd.is_whole(),
        };
        if whole { Ok(()) } else { Err(Fault::Cut) }
    }
}

/// What came out of a body, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// At most [`STEP`] past the limit.
    pub bytes: Vec<u8>,
    /// Whole, or what is wrong with it; [`Fault::TooLarge`] past the limit.
    pub end: Result<(), Fault>,
}

/// Unpacks a body that comes in pieces of so many bytes, step by step as a line does, and stops past `bytes_max`. A line asks for memory
/// and looks at its clock in between; this is the same without them, for whoever throws bytes at the decoders.
pub fn unpack(coding: Coding, packed: &[u8], piece: usize, bytes_max: usize) -> Unpacked {
    let mut decoder = Decoder::new(Some(coding));
    let mut bytes = Vec::new();
    for piece in packed.chunks(piece.max(1)) {
        let mut rest = piece;
        loop {
            let before = bytes.len();
            let step = match decoder.step(rest, &mut bytes) {
                Ok(step) => step,
                Err(fault) => return Unpacked { bytes, end: Err(fault) },
            };
            debug_assert_eq!(bytes.len() - before, step.given);
            debug_assert!(step.given <= STEP, "a step is bounded");
            rest = &rest[step.taken..];
            if bytes.len() > bytes_max {
                return Unpacked { bytes, end: Err(Fault::TooLarge) };
            }
            if step == Step::default() {
                debug_assert!(rest.is_empty(), "{} bytes neither taken nor refused", rest.len());
                break;
            }
        }
    }
    Unpacked { bytes, end: decoder.end() }
}

/// Lets `decode` fill a room of one step, and moves what it gave to the end of `out`: a step costs what it gives, not what it could give.
fn into_vec(
    out: &mut Vec<u8>,
    decode: impl FnOnce(&mut [u8]) -> Result<Step, Fault>,
) -> Result<Step, Fault> {
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
