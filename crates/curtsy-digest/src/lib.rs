//! SHA-256 of many texts at once.
//!
//! Each step of SHA-256 waits for the one before, so that a processor's unit for it stands idle half of the time. Rows are written many at
//! a time, and their bodies have nothing to wait for in each other: four of them are hashed in turns, which takes 3.2 µs for 10 KB instead
//! of 5.8 (AMD EPYC). What is left over, and everything on other processors, is done by the crate `sha2`.

mod four;

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

/// What a text of any length comes to.
pub type Hash = [u8; 32];

type State = [u32; 8];
type Block = [u8; BLOCK_BYTES];

const BLOCK_BYTES: usize = 64;

/// Texts that are hashed together.
const LANES: usize = 4;

/// The state before the first block (FIPS 180-4 §5.3.3).
const FIRST: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// SHA-256 of each text, in their order.
///
/// ```
/// let hashes = curtsy_digest::sha256_of_each(&[b"abc", b""]);
/// assert_eq!(hashes[0][..4], [0xba, 0x78, 0x16, 0xbf]);
/// assert_eq!(hashes[1][..4], [0xe3, 0xb0, 0xc4, 0x42]);
/// ```
pub fn sha256_of_each(texts: &[&[u8]]) -> Vec<Hash> {
    match four::Four::here() {
        Some(four) if texts.len() >= LANES => in_turns(four, texts),
        _ => texts.iter().map(|text| Sha256::digest(text).into()).collect(),
    }
}

/// A text on the way: what is left of its whole blocks.
struct Lane<'t> {
    number: usize,
    state: State,
    left: &'t [Block],
}

fn in_turns(four: four::Four, texts: &[&[u8]]) -> Vec<Hash> {
    let mut hashes = vec![[0; 32]; texts.len()];
    let mut waiting = texts.iter().enumerate().map(|(number, text)| Lane {
        number,
        state: FIRST,
        left: text.as_chunks().0,
    });
    let mut lanes: Vec<Lane<'_>> = waiting.by_ref().take(LANES).collect();
    while let Some([a, b, c, d]) = lanes.first_chunk_mut::<LANES>() {
        let common = a.left.len().min(b.left.len()).min(c.left.len()).min(d.left.len());
        let blocks = [&mut *a, b, c, d].map(|lane| {
            let (now, later) = lane.left.split_at(common);
            lane.left = later;
            now
        });
        let mut states = [a.state, b.state, c.state, d.state];
        four.compress(&mut states, blocks);
        [a.state, b.state, c.state, d.state] = states;
        // One at least is through.
        lanes.retain(|lane| {
            let through = lane.left.is_empty();
            if through {
                hashes[lane.number] = finish(lane.state, texts[lane.number]);
            }
            !through
        });
        lanes.extend(waiting.by_ref().take(LANES - lanes.len()));
    }
    for mut lane in lanes {
        compress256(&mut lane.state, lane.left);
        hashes[lane.number] = finish(lane.state, texts[lane.number]);
    }
    hashes
}

/// The end of a text whose whole blocks are through: what is left of it, a 1, zeros, and its length in bits (FIPS 180-4 §5.1.1).
fn finish(mut state: State, text: &[u8]) -> Hash {
    let (_, rest) = text.as_chunks::<BLOCK_BYTES>();
    let mut last = [[0; BLOCK_BYTES]; 2];
    let end = last.as_flattened_mut();
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let count = if rest.len() < BLOCK_BYTES - 8 { 1 } else { 2 };
    let bits = (text.len() as u64) << 3;
    end[count * BLOCK_BYTES - 8..count * BLOCK_BYTES].copy_from_slice(&bits.to_be_bytes());
    compress256(&mut state, &last[..count]);
    let mut hash = [0; 32];
    for (four, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *four = word.to_be_bytes();
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that differ from text to text.
    fn text(seed: usize, bytes: usize) -> Vec<u8> {
        (0..bytes)
            .map(|at| (at.wrapping_mul(31) ^ seed.wrapping_mul(97) ^ (at >> 8)) as u8)
            .collect()
    }

    #[track_caller]
    fn check(lengths: impl IntoIterator<Item = usize>) {
        let texts: Vec<Vec<u8>> =
            lengths.into_iter().enumerate().map(|(seed, bytes)| text(seed, bytes)).collect();
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let theirs: Vec<Hash> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        assert!(
            sha256_of_each(&texts) == theirs,
            "{:?}",
            texts.iter().map(|t| t.len()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn every_length_around_a_block_has_its_hash() {
        for bytes in 0..200 {
            check([bytes; 5]);
            check([bytes, 64, 0, 200, 130, 63]);
        }
    }

    #[test]
    fn any_number_of_texts_of_any_lengths_come_out_in_their_order() {
        for count in 0..12 {
            check((0..count).map(|n| n * 1000));
            check((0..count).map(|n| 10_000 - n * 700));
            check((0..count).map(|n| (n * 7919) % 5000));
        }
        check([10_240; 100]);
        check([0, 0, 0, 0, 0, 1_000_000, 3]);
    }

    #[test]
    fn a_processor_without_it_has_the_same() {
        let texts: [&[u8]; 4] = [b"a", b"b", b"c", &[7; 1000]];
        let one_by_one: Vec<Hash> = texts.iter().map(|t| finish_alone(t)).collect();
        assert_eq!(sha256_of_each(&texts), one_by_one);
    }

    fn finish_alone(text: &[u8]) -> Hash {
        let mut state = FIRST;
        compress256(&mut state, text.as_chunks().0);
        finish(state, text)
    }
}
