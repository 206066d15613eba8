//! Blocks of four texts in turns, with the processor's instructions for SHA-256.
//!
//! Two of these do four of the 64 rounds; the next two of the same text need their result, those of another text do not.

#![allow(unsafe_code)]

use crate::{Block, LANES, State};

/// That this processor has the instructions.
#[derive(Clone, Copy)]
pub(crate) struct Four(());

#[cfg(not(target_arch = "x86_64"))]
impl Four {
    /// No other processor has been tried.
    pub(crate) fn here() -> Option<Four> {
        None
    }

    pub(crate) fn compress(self, states: &mut [State; LANES], blocks: [&[Block]; LANES]) {
        for (state, blocks) in states.iter_mut().zip(blocks) {
            sha2::block_api::compress256(state, blocks);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Four {
    pub(crate) fn here() -> Option<Four> {
        let has = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        has.then_some(Four(()))
    }

    /// Takes as many blocks of each text as the shortest of them has.
    pub(crate) fn compress(self, states: &mut [State; LANES], blocks: [&[Block]; LANES]) {
        // SAFETY: there is a `Four` only where the processor has the instructions.
        unsafe { x86::compress(states, blocks) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_blend_epi16, _mm_loadu_si128, _mm_set_epi64x,
        _mm_setzero_si128, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32,
        _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_storeu_si128,
    };

    use crate::{Block, LANES, State};

    /// The constants of the rounds (FIPS 180-4 §4.2.2), four at a time.
    #[rustfmt::skip]
    const ROUNDS: [[u32; 4]; 16] = [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5], [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3], [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc], [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7], [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13], [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3], [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5], [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208], [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ];

    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    pub(super) fn compress(states: &mut [State; LANES], blocks: [&[Block]; LANES]) {
        let zero = _mm_setzero_si128();
        // The instructions have the eight words of a state as two times four, in an order of their own.
        let (mut abef, mut cdgh) = ([zero; LANES], [zero; LANES]);
        for lane in 0..LANES {
            let [dcba, hgfe] = halves(&states[lane]).map(|half| load(&half));
            let (cdab, efgh) = (_mm_shuffle_epi32(dcba, 0xb1), _mm_shuffle_epi32(hgfe, 0x1b));
            abef[lane] = _mm_alignr_epi8(cdab, efgh, 8);
            cdgh[lane] = _mm_blend_epi16(efgh, cdab, 0xf0);
        }
        let [a, b, c, d] = blocks;
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            let before = (abef, cdgh);
            let mut words = [a, b, c, d].map(|block| read(block));
            for (round, constants) in ROUNDS.iter().enumerate() {
                let (constants, at) = (load(constants), round % 4);
                for lane in 0..LANES {
                    let words = &mut words[lane];
                    if round >= 4 {
                        let next = |by: usize| words[(at + by) % 4];
                        let sum = _mm_add_epi32(
                            _mm_sha256msg1_epu32(next(0), next(1)),
                            _mm_alignr_epi8(next(3), next(2), 4),
                        );
                        words[at] = _mm_sha256msg2_epu32(sum, next(3));
                    }
                    let four = _mm_add_epi32(words[at], constants);
                    cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], four);
                    let last = _mm_shuffle_epi32(four, 0x0e);
                    abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], last);
                }
            }
            for lane in 0..LANES {
                abef[lane] = _mm_add_epi32(abef[lane], before.0[lane]);
                cdgh[lane] = _mm_add_epi32(cdgh[lane], before.1[lane]);
            }
        }
        for lane in 0..LANES {
            let (feba, dchg) =
                (_mm_shuffle_epi32(abef[lane], 0x1b), _mm_shuffle_epi32(cdgh[lane], 0xb1));
            let dcba = store(_mm_blend_epi16(feba, dchg, 0xf0));
            let hgfe = store(_mm_alignr_epi8(dchg, feba, 8));
            states[lane][..4].copy_from_slice(&dcba);
            states[lane][4..].copy_from_slice(&hgfe);
        }
    }

    fn halves([a, b, c, d, e, f, g, h]: &State) -> [[u32; 4]; 2] {
        [[*a, *b, *c, *d], [*e, *f, *g, *h]]
    }

    #[target_feature(enable = "sse2")]
    fn load(words: &[u32; 4]) -> __m128i {
        // SAFETY: sixteen bytes, and any address will do.
        unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "sse2")]
    fn store(words: __m128i) -> [u32; 4] {
        let mut out = [0; 4];
        // SAFETY: as above.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), words) };
        out
    }

    /// The sixteen words of a block, whose first byte is the largest.
    #[target_feature(enable = "sse2,ssse3")]
    fn read(block: &Block) -> [__m128i; 4] {
        let turned = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let mut words = [_mm_setzero_si128(); 4];
        for (words, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
            // SAFETY: sixteen bytes, and any address will do.
            let four = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
            *words = _mm_shuffle_epi8(four, turned);
        }
        words
    }
}
