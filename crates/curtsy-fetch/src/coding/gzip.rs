//! `gzip` (RFC 1952) with any number of members. Bytes after the last member are dropped, as `gzip`
//! does.

use flate2::Crc;

use super::inflate::Inflate;
use super::{CodingFault, DecodeStep};

/// A gzip file.
pub(crate) struct Gzip {
    at: GzipState,
    /// Members that were read completely.
    members: u32,
}

/// The position in a member.
enum GzipState {
    /// In the ten bytes that begin a member, with those read.
    Start(Vec<u8>),
    /// The length of the extra field.
    ExtraLength(u8, Vec<u8>),
    /// The extra field or the header's checksum, with so many bytes to go.
    Skip(u8, u16),
    /// A text that ends with a zero: name or comment.
    Text(u8),
    /// The data.
    Data(Box<(Inflate, Crc)>),
    /// The eight bytes that end a member, as far as they are here.
    End(Box<Crc>, Vec<u8>),
    /// After the last member.
    Rest,
}

impl Gzip {
    pub(super) fn new() -> Gzip {
        Gzip { at: GzipState::Start(Vec::new()), members: 0 }
    }

    pub(super) fn is_whole(&self) -> bool {
        match &self.at {
            // A single byte after a member may be padding.
            GzipState::Start(begun) => begun.is_empty() || self.members > 0 && begun.len() < 2,
            GzipState::Rest => true,
            _ => false,
        }
    }

    pub(super) fn step(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<DecodeStep, CodingFault> {
        if input.is_empty() && !matches!(self.at, GzipState::Data(_)) {
            return Ok(DecodeStep::default());
        }
        let took = |taken| DecodeStep { taken, given: 0 };
        match &mut self.at {
            GzipState::Start(begun) => {
                let taken = fill(begun, input, START.len());
                let fits = begun.iter().zip(START).all(|(byte, want)| *byte == want || want == 0);
                match fits {
                    false if self.members > 0 => self.at = GzipState::Rest,
                    false => return Err(CodingFault::Bad),
                    true if begun.len() == START.len() => self.at = after_start(begun[3])?,
                    true => {}
                }
                Ok(took(taken))
            }
            GzipState::ExtraLength(flags, length) => {
                let taken = fill(length, input, 2);
                if let [low, high] = length[..] {
                    self.at = match u16::from_le_bytes([low, high]) {
                        0 => after_extra(*flags),
                        bytes => GzipState::Skip(*flags, bytes),
                    };
                }
                Ok(took(taken))
            }
            GzipState::Skip(flags, left) => {
                let n = input.len().min(usize::from(*left));
                *left -= n as u16;
                if *left == 0 {
                    self.at = after_extra(*flags);
                }
                Ok(took(n))
            }
            GzipState::Text(flags) => {
                let zero = input.iter().position(|byte| *byte == 0);
                if zero.is_some() {
                    self.at = after_extra(*flags);
                }
                Ok(took(zero.map_or(input.len(), |at| at + 1)))
            }
            GzipState::Data(data) => {
                let (inflate, crc) = &mut **data;
                let step = inflate.step_to_end(input, out)?;
                crc.update(&out[out.len() - step.given..]);
                if inflate.ended {
                    let crc = std::mem::replace(crc, Crc::new());
                    self.at = GzipState::End(Box::new(crc), Vec::new());
                }
                Ok(step)
            }
            GzipState::End(crc, sums) => {
                let taken = fill(sums, input, 8);
                if let [a, b, c, d, e, f, g, h] = sums[..] {
                    let sum = u32::from_le_bytes([a, b, c, d]);
                    let length = u32::from_le_bytes([e, f, g, h]);
                    if (sum, length) != (crc.sum(), crc.amount()) {
                        return Err(CodingFault::Bad);
                    }
                    self.members += 1;
                    if self.members > MEMBERS_MAX {
                        return Err(CodingFault::TooLarge);
                    }
                    self.at = GzipState::Start(Vec::new());
                }
                Ok(took(taken))
            }
            GzipState::Rest => Ok(took(input.len())),
        }
    }
}

fn after_start(flags: u8) -> Result<GzipState, CodingFault> {
    match flags {
        // RFC 1952 §2.3.1.2: reserved bits must be zero.
        f if f & 0xe0 != 0 => Err(CodingFault::Bad),
        f if f & EXTRA != 0 => Ok(GzipState::ExtraLength(f & !EXTRA, Vec::new())),
        f => Ok(after_extra(f)),
    }
}

/// Each part that was read removes its flag.
fn after_extra(flags: u8) -> GzipState {
    if flags & NAME != 0 {
        GzipState::Text(flags & !NAME)
    } else if flags & COMMENT != 0 {
        GzipState::Text(flags & !COMMENT)
    } else if flags & HEADER_SUM != 0 {
        GzipState::Skip(flags & !HEADER_SUM, 2)
    } else {
        GzipState::Data(Box::new((Inflate::new(false), Crc::new())))
    }
}

/// Takes from `input` until `into` has `want` bytes.
fn fill(into: &mut Vec<u8>, input: &[u8], want: usize) -> usize {
    let n = input.len().min(want - into.len());
    into.extend_from_slice(&input[..n]);
    n
}

/// Identification and method. Zero stands for any byte: flags, time, extra flags, system.
const START: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0];
/// An empty member costs as much work as a page. Half a million of them fit into the limit on
/// compressed bytes, and took two seconds.
pub(crate) const MEMBERS_MAX: u32 = 1_024;
const HEADER_SUM: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
