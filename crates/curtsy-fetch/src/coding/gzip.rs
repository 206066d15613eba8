//! `gzip` (RFC 1952), of any number of members: a file that was appended to is one page, not the first part of one.
//!
//! What follows the last member and is no member is dropped, as `gzip` itself does.

use flate2::Crc;

use super::inflate::Inflate;
use super::{Fault, Step};

/// A gzip file.
pub(crate) struct Gzip {
    at: At,
    /// Members that were read to their end.
    members: u32,
}

/// Where in a member we are.
enum At {
    /// The ten bytes that begin a member, as far as they are here.
    Start(Vec<u8>),
    /// The length of the extra field.
    ExtraLength(u8, Vec<u8>),
    /// The extra field, with so many bytes to go.
    Extra(u8, u16),
    /// A text that ends with a zero: name or comment.
    Text(u8),
    /// The check sum of the header, with so many bytes to go.
    HeaderSum(u8),
    /// The data.
    Data(Box<(Inflate, Crc)>),
    /// The eight bytes that end a member, as far as they are here.
    End(Box<Crc>, Vec<u8>),
    /// Behind the last member.
    Rest,
}

impl Gzip {
    pub(super) fn new() -> Gzip {
        Gzip { at: At::Start(Vec::new()), members: 0 }
    }

    pub(super) fn is_whole(&self) -> bool {
        match &self.at {
            // One byte behind a member can't be told from padding.
            At::Start(begun) => begun.is_empty() || self.members > 0 && begun.len() < 2,
            At::Rest => true,
            _ => false,
        }
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, Fault> {
        if input.is_empty() && !matches!(self.at, At::Data(_)) {
            return Ok(Step::default());
        }
        let took = |taken| Step { taken, given: 0 };
        match &mut self.at {
            At::Start(begun) => {
                let taken = fill(begun, input, START.len());
                let fits = begun.iter().zip(START).all(|(byte, want)| *byte == want || want == 0);
                match fits {
                    false if self.members > 0 => self.at = At::Rest,
                    false => return Err(Fault::Bad),
                    true if begun.len() == START.len() => self.at = after_start(begun[3])?,
                    true => {}
                }
                Ok(took(taken))
            }
            At::ExtraLength(flags, length) => {
                let taken = fill(length, input, 2);
                if let [low, high] = length[..] {
                    self.at = match u16::from_le_bytes([low, high]) {
                        0 => after_extra(*flags),
                        bytes => At::Extra(*flags, bytes),
                    };
                }
                Ok(took(taken))
            }
            At::Extra(flags, left) => {
                let n = input.len().min(usize::from(*left));
                *left -= n as u16;
                if *left == 0 {
                    self.at = after_extra(*flags);
                }
                Ok(took(n))
            }
            At::Text(flags) => {
                let zero = input.iter().position(|byte| *byte == 0);
                if zero.is_some() {
                    self.at = after_extra(*flags);
                }
                Ok(took(zero.map_or(input.len(), |at| at + 1)))
            }
            At::HeaderSum(left) => {
                let n = input.len().min(usize::from(*left));
                *left -= n as u8;
                if *left == 0 {
                    self.at = data();
                }
                Ok(took(n))
            }
            At::Data(data) => {
                let (inflate, crc) = &mut **data;
                let step = inflate.step_to_end(input, out)?;
                crc.update(&out[out.len() - step.given..]);
                if inflate.ended {
                    let crc = std::mem::replace(crc, Crc::new());
                    self.at = At::End(Box::new(crc), Vec::new());
                }
                Ok(step)
            }
            At::End(crc, sums) => {
                let taken = fill(sums, input, 8);
                if let [a, b, c, d, e, f, g, h] = sums[..] {
                    let sum = u32::from_le_bytes([a, b, c, d]);
                    let length = u32::from_le_bytes([e, f, g, h]);
                    if (sum, length) != (crc.sum(), crc.amount()) {
                        return Err(Fault::Bad);
                    }
                    self.members += 1;
                    if self.members > MEMBERS_MAX {
                        return Err(Fault::TooLarge);
                    }
                    self.at = At::Start(Vec::new());
                }
                Ok(took(taken))
            }
            At::Rest => Ok(took(input.len())),
        }
    }
}

fn after_start(flags: u8) -> Result<At, Fault> {
    match flags {
        // RFC 1952 §2.3.1.2: reserved bits must be zero.
        f if f & 0xe0 != 0 => Err(Fault::Bad),
        f if f & EXTRA != 0 => Ok(At::ExtraLength(f & !EXTRA, Vec::new())),
        f => Ok(after_extra(f)),
    }
}

/// Each part that is done takes its flag with it.
fn after_extra(flags: u8) -> At {
    if flags & NAME != 0 {
        At::Text(flags & !NAME)
    } else if flags & COMMENT != 0 {
        At::Text(flags & !COMMENT)
    } else if flags & HEADER_SUM != 0 {
        At::HeaderSum(2)
    } else {
        data()
    }
}

fn data() -> At {
    At::Data(Box::new((Inflate::new(false), Crc::new())))
}

/// Takes from `input` until `into` has `want` bytes.
fn fill(into: &mut Vec<u8>, input: &[u8], want: usize) -> usize {
    let n = input.len().min(want - into.len());
    into.extend_from_slice(&input[..n]);
    n
}

/// Identification and method; zero is any byte: flags, time, extra flags, system.
const START: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0];
/// A member that holds nothing costs as much as one that holds a page: half a million of them fit into the limit on packed bytes, and took two seconds.
pub(crate) const MEMBERS_MAX: u32 = 1_024;
const HEADER_SUM: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
