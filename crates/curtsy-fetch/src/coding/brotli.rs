//! `br` (RFC 7932). The window is at most 16 MiB; larger windows of other uses are refused.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{CodingFault, DecodeStep, into_vec};

type BrotliDecoder = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A brotli stream.
pub(crate) struct Brotli {
    state: Box<BrotliDecoder>,
    total: usize,
    begun: bool,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Brotli {
        let alloc = StandardAlloc::default;
        let state = Box::new(BrotliState::new_strict(alloc(), alloc(), alloc()));
        Brotli { state, total: 0, begun: false, ended: false }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.ended || !self.begun
    }

    pub(super) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        if self.ended {
            return Ok(DecodeStep { taken: input.len(), given: 0 });
        }
        self.begun |= !input.is_empty();
        let Brotli { state, total, ended, .. } = self;
        into_vec(out, |room| {
            let (mut left, mut taken, mut free, mut given) = (input.len(), 0, room.len(), 0);
            let result = BrotliDecompressStream(
                &mut left, &mut taken, input, &mut free, &mut given, room, total, state,
            );
            match result {
                BrotliResult::ResultFailure => return Err(CodingFault::Bad),
                BrotliResult::ResultSuccess => *ended = true,
                BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
            }
            Ok(DecodeStep { taken, given })
        })
    }
}
