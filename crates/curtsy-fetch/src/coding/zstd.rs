//! `zstd` (RFC 8878) with any number of frames and a window of at most 8 MiB (RFC 9659 §3).
//!
//! The decoder takes complete blocks, so each block (at most 128 KiB) is collected first. A block
//! decodes to at most 128 KiB.

use std::io::Read;

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{CodingFault, DecodeStep, into_vec};

/// A Zstandard stream.
pub(crate) struct Zstd {
    decoder: Box<FrameDecoder>,
    at: ZstdState,
    /// Whether a checksum follows the frame's last block.
    summed: bool,
    /// The size of the content that the frame's header declares.
    declared: Option<u64>,
    /// The bytes of the frame's content that were returned.
    given: u64,
    /// The collected bytes of the next part.
    part: Vec<u8>,
    /// The number of frames, and of blocks that decode to nothing.
    hollow: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZstdState {
    /// Before a frame.
    Start,
    /// In a frame that is skipped, with so many bytes to go.
    Skip(u32),
    /// Before a block.
    Block,
    /// A frame was read, but perhaps not returned completely.
    Drain,
}

impl Zstd {
    pub(super) fn new() -> Zstd {
        let mut decoder = Box::new(FrameDecoder::new());
        decoder.set_max_window_size(WINDOW_MAX);
        Zstd {
            decoder,
            at: ZstdState::Start,
            summed: false,
            declared: None,
            given: 0,
            part: Vec::new(),
            hollow: 0,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.at == ZstdState::Start && self.part.is_empty()
    }

    pub(super) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        if self.decoder.can_collect() > 0 {
            let decoder = &mut self.decoder;
            let step = into_vec(out, |room| {
                let given = decoder.read(room).map_err(|_| CodingFault::Bad)?;
                Ok(DecodeStep { taken: 0, given })
            })?;
            self.given += step.given as u64;
            return match self.declared.is_some_and(|declared| self.given > declared) {
                true => Err(CodingFault::Bad),
                false => Ok(step),
            };
        }
        if self.at == ZstdState::Drain {
            let told = self.decoder.get_checksum_from_data();
            if self.summed && told != self.decoder.get_calculated_checksum() {
                return Err(CodingFault::Bad);
            }
            // The reference decoder refuses such a frame too, and with it curl and browsers.
            if self.declared.is_some_and(|declared| self.given != declared) {
                return Err(CodingFault::Bad);
            }
            self.at = ZstdState::Start;
        }
        let taken = match self.at {
            ZstdState::Start | ZstdState::Drain => self.start(input)?,
            ZstdState::Block => self.block(input)?,
            ZstdState::Skip(left) => {
                let n = input.len().min(left as usize);
                self.skip(left - n as u32);
                n
            }
        };
        Ok(DecodeStep { taken, given: 0 })
    }

    /// Reads the header of a frame: four bytes for its kind, the fifth for its length.
    fn start(&mut self, input: &[u8]) -> Result<usize, CodingFault> {
        let Some(mut taken) = self.gather(input, 5) else { return Ok(input.len()) };
        // RFC 8878 §3.1.2: sixteen magic numbers begin a skippable frame.
        let skippable = self.part[0] & 0xf0 == 0x50 && self.part[1..4] == [0x2a, 0x4d, 0x18];
        let bytes = if skippable { 8 } else { header_bytes(self.part[4]) };
        match self.gather(&input[taken..], bytes) {
            Some(more) => taken += more,
            None => return Ok(input.len()),
        }
        self.count()?;
        if skippable {
            let length = <[u8; 4]>::try_from(&self.part[4..8]).map_err(|_| CodingFault::Bad)?;
            self.skip(u32::from_le_bytes(length));
        } else {
            self.decoder.reset(&self.part[..]).map_err(|error| match error {
                FrameDecoderError::WindowSizeTooBig { .. } => CodingFault::TooLarge,
                _ => CodingFault::Bad,
            })?;
            self.summed = self.part[4] & 4 != 0;
            (self.declared, self.given) = (content_size(&self.part), 0);
            self.at = ZstdState::Block;
        }
        self.part.clear();
        Ok(taken)
    }

    /// Reads a block: three bytes have its kind, its length, and whether it is the last.
    fn block(&mut self, input: &[u8]) -> Result<usize, CodingFault> {
        let Some(taken) = self.gather(input, 3) else { return Ok(input.len()) };
        let header = u32::from_le_bytes([self.part[0], self.part[1], self.part[2], 0]);
        let last = header & 1 == 1;
        let content = match header >> 1 & 3 {
            // A run of one byte.
            1 => 1,
            _ => (header >> 3) as usize,
        };
        if content > BLOCK_MAX {
            return Err(CodingFault::Bad);
        }
        if content == 0 {
            self.count()?;
        }
        let sum = if last && self.summed { 4 } else { 0 };
        let Some(more) = self.gather(&input[taken..], 3 + content + sum) else {
            return Ok(input.len());
        };
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(&self.part[..], one).map_err(|_| CodingFault::Bad)?;
        self.part.clear();
        if last {
            self.at = ZstdState::Drain;
        }
        Ok(taken + more)
    }

    /// Counts something that costs work and decodes to nothing.
    fn count(&mut self) -> Result<(), CodingFault> {
        self.hollow += 1;
        if self.hollow > HOLLOW_MAX { Err(CodingFault::TooLarge) } else { Ok(()) }
    }

    fn skip(&mut self, left: u32) {
        self.at = if left == 0 { ZstdState::Start } else { ZstdState::Skip(left) };
    }

    /// Collects bytes until there are `want`. Returns the number of bytes taken, or none if `input`
    /// is too short.
    fn gather(&mut self, input: &[u8], want: usize) -> Option<usize> {
        let n = input.len().min(want.saturating_sub(self.part.len()));
        self.part.extend_from_slice(&input[..n]);
        (self.part.len() >= want).then_some(n)
    }
}

/// Returns the size of the content that a frame's header declares (RFC 8878 §3.1.1.1.4): the
/// header's last field.
fn content_size(header: &[u8]) -> Option<u64> {
    let before = header_bytes(header[4] & 0x23) - usize::from(header[4] & 0x20 != 0);
    let field = &header[before..];
    let mut size = [0; 8];
    size[..field.len()].copy_from_slice(field);
    // Two bytes begin where one byte ends.
    let offset = if field.len() == 2 { 256 } else { 0 };
    (!field.is_empty()).then(|| u64::from_le_bytes(size).saturating_add(offset))
}

/// Returns the length of a frame's header by its descriptor (RFC 8878 §3.1.1.1.1), with magic
/// number and descriptor.
fn header_bytes(descriptor: u8) -> usize {
    let single = descriptor & 0x20 != 0;
    let content = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    5 + usize::from(!single) + dictionary + content
}

pub(crate) const WINDOW_MAX: u64 = 8 * 1024 * 1024;
/// A million empty frames fit into the limit on compressed bytes, and took most of a second.
pub(crate) const HOLLOW_MAX: u32 = 16_384;
const BLOCK_MAX: usize = 128 * 1024;
