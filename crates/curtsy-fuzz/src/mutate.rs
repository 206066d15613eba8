//! Changes stored inputs a little, in the same way for the same seed.

use crate::FuzzTarget;

/// Generates inputs for a target from the stored ones.
pub struct Mutator<'a> {
    kept: &'a [Vec<u8>],
    keywords: Vec<Vec<u8>>,
    state: u64,
}

impl<'a> Mutator<'a> {
    /// Returns a generator with a seed.
    pub fn new(target: &'a FuzzTarget, kept: &'a [Vec<u8>], seed: u64) -> Mutator<'a> {
        Mutator { kept, keywords: target.keywords(), state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    /// Returns the next input.
    pub fn next_bytes(&mut self) -> Vec<u8> {
        let mut bytes = self.any_kept();
        for _ in 0..=self.below(5) {
            self.change(&mut bytes);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below((bytes.len() - at).min(32) + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let again = bytes[at..end].repeat(1 + self.below(20));
                bytes.splice(at..at, again);
            }
            4 => {
                let other = self.any_kept();
                let from = self.below(other.len() + 1);
                let piece = other[from..].iter().take(64).copied();
                bytes.splice(at..end, piece);
            }
            5 => bytes.truncate(at),
            6 => bytes.insert(at, ODD[self.below(ODD.len())]),
            _ if !self.keywords.is_empty() => {
                let keyword = self.below(self.keywords.len());
                bytes.splice(at..end, self.keywords[keyword].iter().copied());
            }
            _ => bytes.insert(at, self.below(256) as u8),
        }
    }

    fn any_kept(&mut self) -> Vec<u8> {
        match self.kept.len() {
            0 => Vec::new(),
            many => self.kept[self.below(many)].clone(),
        }
    }

    /// Returns a number below `bound` (xorshift64*), which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let drawn = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (drawn as usize) % bound
    }
}

/// Longer inputs find nothing that shorter ones do not, and take longer.
const BYTES_MAX: usize = 4_096;
const ODD: &[u8] = &[0, b'\t', b'\n', b'\r', b' ', b'"', b'%', b'&', b'<', 0x7f, 0x80, 0xc3, 0xff];
