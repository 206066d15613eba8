//! Content codings: at most one step past the limit, the same result for any pieces, and encoded
//! data is decoded to the original.

use std::io::Write;

use curtsy_core::headers::Coding;
use curtsy_fetch::coding::{CodingFault, STEP, unpack};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::{FuzzTarget, choice};

pub(crate) const TARGET: FuzzTarget =
    FuzzTarget { name: "coding", run, seeds: SEEDS, dictionary: "" };

/// The first byte chooses the coding, the second the size of the pieces.
fn run(data: &[u8]) {
    let (coding, rest) = choice(data);
    let (piece, packed) = choice(rest);
    let coding = CODINGS[coding % CODINGS.len()];
    let whole = unpack(coding, packed, packed.len(), BYTES_MAX);
    assert!(whole.bytes.len() <= BYTES_MAX + STEP, "{} bytes", whole.bytes.len());
    let pieces = unpack(coding, packed, piece, BYTES_MAX);
    assert!(pieces.bytes.len() <= BYTES_MAX + STEP);
    assert_eq!(whole.end.is_ok(), pieces.end.is_ok(), "{:?} or {:?}", whole.end, pieces.end);
    if whole.end.is_ok() {
        assert!(whole.bytes == pieces.bytes, "the same however it comes");
        let cut = unpack(coding, packed, packed.len(), 16);
        assert!(cut.bytes.len() <= 16 + STEP);
        assert_eq!(cut.end == Err(CodingFault::TooLarge), whole.bytes.len() > 16, "{:?}", cut.end);
    }
    // Encoding is slower than decoding, so it is tested only sometimes.
    if packed.len() < 512 && piece.is_multiple_of(16) {
        there_and_back(packed, piece);
    }
}

fn there_and_back(plain: &[u8], piece: usize) {
    let fast = Compression::fast();
    let mut packed = vec![(Coding::Zstd, compress_to_vec(plain, CompressionLevel::Fastest))];
    let mut gzip = GzEncoder::new(Vec::new(), fast);
    let mut zlib = ZlibEncoder::new(Vec::new(), fast);
    let mut bare = DeflateEncoder::new(Vec::new(), fast);
    let written = [gzip.write_all(plain), zlib.write_all(plain), bare.write_all(plain)];
    assert!(written.iter().all(Result::is_ok), "a vector takes everything");
    packed.extend(gzip.finish().map(|bytes| (Coding::Gzip, bytes)));
    packed.extend(zlib.finish().map(|bytes| (Coding::Deflate, bytes)));
    packed.extend(bare.finish().map(|bytes| (Coding::Deflate, bytes)));
    for (coding, packed) in packed {
        let back = unpack(coding, &packed, piece, BYTES_MAX);
        assert_eq!((back.end, &*back.bytes), (Ok(()), plain), "{coding:?}");
        if !plain.is_empty() {
            let cut = unpack(coding, &packed[..packed.len() - 1], piece, BYTES_MAX);
            assert!(cut.end.is_err(), "{coding:?}: a cut body is never whole");
        }
    }
}

const CODINGS: &[Coding] = &[Coding::Gzip, Coding::Deflate, Coding::Br, Coding::Zstd];
/// The limit is low, since decoding takes most of the time: a bomb is one at any limit.
const BYTES_MAX: usize = 32 * 1024;

const SEEDS: &[&[u8]] = &[
    b"\x00\x03\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd1\x00",
    b"\x00\x00\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\x03\x03\x00abcname\0comment\0\xaa\xbb\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    b"\x01\x05\x78\x01\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27",
    b"\x01\x10\x4b\x4c\x4a\x06\x00",
    b"\x02\x07\x1b\x4c\x00\x00\x44\xdd\x96\xea\xe8\x87\x77\x39\x4f\xdd\xeb\x11\x51\x70\x88\x45\xd8\x80\x03\xb7\xc4\x92\xc0\x16\x82\xfb\xa0\x2c\x8f\x46\x7f\x67\xc0\x3a\x52\xb8\x68\x2b\x3b\xe2\x23\xee\x79\x7b\x16\x34\xd8\x4c\xe9",
    b"\x02\x00\xcb\xff\xff\x3f\x00\x24\x00\xe2\xb1\x40\x72\xef\xff\xf8\xff\xff\x07\x80\x04\x40\x1c\x16\x80\xee\xfd\x1f\xff\xff\xff\x00\x90\x00\x88\xc3\x02\xd0\xbd\xff\xe3\xff\xff\x1f\x00\x12\x00\x71\x58\x00\xba\xf7\x7f\x03",
    b"\x03\x04\x28\xb5\x2f\xfd\x00\x50\x03\x00\x10\x00\x02\x00\x10\x00",
    b"\x03\x00\x5f\x2a\x4d\x18\x03\x00\x00\x00\x09\x09\x09\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00abc",
];
