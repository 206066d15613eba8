//! `zstd` (RFC 8878), of any number of frames, with a window of 8 MiB at most (RFC 9659 §3).
//!
//! The decoder takes whole blocks, so a block is gathered first (128 KiB at most), and they go in one by one: a block gives 128 KiB
//! at most, however few bytes it takes.

use std::io::Read;

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{Fault, Step, into_vec};

/// A Zstandard stream.
pub(crate) struct Zstd {
    decoder: Box<FrameDecoder>,
    at: At,
    /// Whether a check sum follows the frame's last block.
    summed: bool,
    /// What is gathered of the next part.
    part: Vec<u8>,
    /// Frames, and blocks that hold nothing.
    hollow: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before a frame.
    Start,
    /// In a frame that is skipped, with so many bytes to go.
    Skip(u32),
    /// Before a block.
    Block,
    /// A frame is read, and perhaps not all of it is given out.
    Drain,
}

impl Zstd {
    pub(super) fn new() -> Zstd {
        let mut decoder = Box::new(FrameDecoder::new());
        decoder.set_max_window_size(WINDOW_MAX);
        Zstd { decoder, at: At::Start, summed: false, part: Vec::new(), hollow: 0 }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.at == At::Start && self.part.is_empty()
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, Fault> {
        if self.decoder.can_collect() > 0 {
            let decoder = &mut self.decoder;
            return into_vec(out, |room| {
                let given = decoder.read(room).map_err(|_| Fault::Bad)?;
                Ok(Step { taken: 0, given })
            });
        }
        if self.at == At::Drain {
            let told = self.decoder.get_checksum_from_data();
            if self.summed && told != self.decoder.get_calculated_checksum() {
                return Err(Fault::Bad);
            }
            self.at = At::Start;
        }
        let taken = match self.at {
            At::Start | At::Drain => self.start(input)?,
            At::Block => self.block(input)?,
            At::Skip(left) => {
                let n = input.len().min(left as usize);
                self.skip(left - n as u32);
                n
            }
        };
        Ok(Step { taken, given: 0 })
    }

    /// The header of a frame: four bytes say which kind, the fifth how long it is.
    fn start(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let Some(mut taken) = self.gather(input, 5) else {
            return Ok(input.len());
        };
        // RFC 8878 §3.1.2: sixteen magic numbers begin a frame that carries nothing.
        let skippable = self.part[0] & 0xf0 == 0x50 && self.part[1..4] == [0x2a, 0x4d, 0x18];
        let bytes = if skippable { 8 } else { header_bytes(self.part[4]) };
        match self.gather(&input[taken..], bytes) {
            Some(more) => taken += more,
            None => return Ok(input.len()),
        }
        self.count()?;
        if skippable {
            let length = <[u8; 4]>::try_from(&self.part[4..8]).map_err(|_| Fault::Bad)?;
            self.skip(u32::from_le_bytes(length));
        } else {
            self.decoder.reset(&self.part[..]).map_err(|error| match error {
                FrameDecoderError::WindowSizeTooBig { .. } => Fault::TooLarge,
                _ => Fault::Bad,
            })?;
            self.summed = self.part[4] & 4 != 0;
            self.at = At::Block;
        }
        self.part.clear();
        Ok(taken)
    }

    /// One block: three bytes say its kind and length, and whether it is the last.
    fn block(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let Some(taken) = self.gather(input, 3) else {
            return Ok(input.len());
        };
        let header = u32::from_le_bytes([self.part[0], self.part[1], self.part[2], 0]);
        let last = header & 1 == 1;
        let content = match header >> 1 & 3 {
            // A run of one byte.
            1 => 1,
            _ => (header >> 3) as usize,
        };
        if content > BLOCK_MAX {
            return Err(Fault::Bad);
        }
        if content == 0 {
            self.count()?;
        }
        let sum = if last && self.summed { 4 } else { 0 };
        let Some(more) = self.gather(&input[taken..], 3 + content + sum) else {
            return Ok(input.len());
        };
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(&self.part[..], one).map_err(|_| Fault::Bad)?;
        self.part.clear();
        if last {
            self.at = At::Drain;
        }
        Ok(taken + more)
    }

    /// One more of what costs work and gives nothing.
    fn count(&mut self) -> Result<(), Fault> {
        self.hollow += 1;
        if self.hollow > HOLLOW_MAX { Err(Fault::TooLarge) } else { Ok(()) }
    }

    fn skip(&mut self, left: u32) {
        self.at = if left == 0 { At::Start } else { At::Skip(left) };
    }

    /// Gathers `want` bytes, those of before included: how many of `input` that took, or none if it was not enough.
    fn gather(&mut self, input: &[u8], want: usize) -> Option<usize> {
        let n = input.len().min(want.saturating_sub(self.part.len()));
        self.part.extend_from_slice(&input[..n]);
        (self.part.len() >= want).then_some(n)
    }
}

/// The length of a frame's header by its descriptor (RFC 8878 §3.1.1.1.1), magic number and descriptor included.
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
/// A million empty frames fit into the limit on packed bytes, and took most of a second.
pub(crate) const HOLLOW_MAX: u32 = 16_384;
const BLOCK_MAX: usize = 128 * 1024;
