//! `deflate`: zlib (RFC 9110 §8.4.1.2), or raw deflate, which some servers send under that name.

use flate2::{Decompress, FlushDecompress, Status};

use super::{CodingFault, DecodeStep, into_vec};

/// The first two bytes distinguish the two.
pub(crate) enum Deflate {
    /// The first byte, once there is one.
    Undecided(Option<u8>),
    /// Under way.
    Under(Inflate),
}

impl Deflate {
    pub(super) fn new() -> Deflate {
        Deflate::Undecided(None)
    }

    pub(super) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        match self {
            Deflate::Under(inflate) => inflate.step(input, out),
            Deflate::Undecided(first) => {
                let (cmf, flags) = match (*first, input) {
                    (None, [cmf, flags, ..]) => (*cmf, *flags),
                    (Some(cmf), [flags, ..]) => (cmf, *flags),
                    (None, [cmf]) => {
                        *first = Some(*cmf);
                        return Ok(DecodeStep { taken: 1, given: 0 });
                    }
                    (_, []) => return Ok(DecodeStep::default()),
                };
                // RFC 1950 §2.2: method 8, and the pair a multiple of 31.
                let zlib = cmf & 0x0f == 8 && u16::from_be_bytes([cmf, flags]) % 31 == 0;
                let mut inflate = Inflate::new(zlib);
                if first.is_some() {
                    // The first byte alone decodes to nothing.
                    inflate.step(&[cmf], out)?;
                }
                *self = Deflate::Under(inflate);
                self.step(input, out)
            }
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        match self {
            Deflate::Undecided(first) => first.is_none(),
            Deflate::Under(inflate) => inflate.ended,
        }
    }
}

/// One deflate stream.
pub(crate) struct Inflate {
    inner: Decompress,
    /// Whether the last block was read.
    pub(super) ended: bool,
}

impl Inflate {
    pub(super) fn new(zlib: bool) -> Inflate {
        Inflate { inner: Decompress::new(zlib), ended: false }
    }

    /// Drops what follows the end of the stream.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        if self.ended {
            return Ok(DecodeStep { taken: input.len(), given: 0 });
        }
        self.step_to_end(input, out)
    }

    /// Leaves what follows the end of the stream.
    pub(super) fn step_to_end(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        let Inflate { inner, ended } = self;
        into_vec(out, |room| {
            let (taken, given) = (inner.total_in(), inner.total_out());
            let status = inner
                .decompress(input, room, FlushDecompress::None)
                .map_err(|_| CodingFault::Bad)?;
            *ended = status == Status::StreamEnd;
            Ok(DecodeStep {
                taken: (inner.total_in() - taken) as usize,
                given: (inner.total_out() - given) as usize,
            })
        })
    }
}
