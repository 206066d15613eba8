//! Tests of each coding: complete, in pieces, truncated, damaged, and as a bomb.

use std::io::Write;
use std::sync::LazyLock;

use curtsy_core::headers::Coding;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::{CodingFault, STEP, UnpackedBody};

/// Decodes a body that arrives in pieces of `piece` bytes, and stops past `cap`.
fn unpack(coding: Coding, packed: &[u8], piece: usize, cap: usize) -> Result<Vec<u8>, CodingFault> {
    let UnpackedBody { bytes, end } = super::unpack(coding, packed, piece, cap);
    assert!(bytes.len() <= cap + STEP);
    end.map(|()| bytes)
}

fn page() -> Vec<u8> {
    (0..40_000u32)
        .flat_map(|n| format!("<p>{}</p>", n.wrapping_mul(2_654_435_761) >> 12).into_bytes())
        .collect()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn bare(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(plain, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Encodes with stored blocks of brotli (RFC 7932 §9.2): a window of 16 bits, then blocks of up to
/// 64 KiB.
fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut out = ReferenceBitWriter::default();
    out.put(0, 1);
    for block in plain.chunks(65_536) {
        out.put(0, 1); // not the last
        out.put(0, 2); // four nibbles of length
        out.put(block.len() as u32 - 1, 16);
        out.put(1, 1); // stored
        out.align();
        out.bytes.extend_from_slice(block);
    }
    out.put(3, 2); // last, and empty
    out.align();
    out.bytes
}

#[derive(Default)]
struct ReferenceBitWriter {
    bytes: Vec<u8>,
    used: u32,
}

impl ReferenceBitWriter {
    fn put(&mut self, value: u32, bits: u32) {
        for n in 0..bits {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> n & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    fn align(&mut self) {
        self.used = 0;
    }
}

fn every_coding(plain: &[u8]) -> [(&'static str, Coding, Vec<u8>); 5] {
    [
        ("gzip", Coding::Gzip, gzip(plain)),
        ("zlib", Coding::Deflate, zlib(plain)),
        ("bare deflate", Coding::Deflate, bare(plain)),
        ("br", Coding::Br, brotli(plain)),
        ("zstd", Coding::Zstd, zstd(plain)),
    ]
}

#[test]
fn each_coding_comes_out_as_it_went_in_however_it_is_cut_into_pieces() {
    let page = page();
    for (name, coding, packed) in every_coding(&page) {
        for piece in [1, 7, 1_000, 65_536, usize::MAX] {
            let piece = piece.min(packed.len());
            let out = unpack(coding, &packed, piece, usize::MAX - STEP);
            assert!(out.as_deref() == Ok(&page[..]), "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn an_empty_body_is_empty_in_every_coding() {
    for (name, coding, packed) in every_coding(b"") {
        assert_eq!(unpack(coding, &[], 1, 1), Ok(vec![]), "{name}, no bytes at all");
        assert_eq!(unpack(coding, &packed, 1, 1), Ok(vec![]), "{name}");
    }
}

#[test]
fn a_body_that_is_cut_anywhere_is_never_whole() {
    let page = &page()[..3_000];
    for (name, coding, packed) in every_coding(page) {
        for end in 1..packed.len() {
            let out = unpack(coding, &packed[..end], 64, usize::MAX - STEP);
            assert!(out.is_err(), "{name} cut at {end} of {}", packed.len());
        }
    }
}

#[test]
fn a_spoilt_body_is_refused_or_at_least_no_panic() {
    let page = page();
    for (name, coding, packed) in every_coding(&page[..20_000]) {
        let summed = matches!(coding, Coding::Gzip) || name == "zlib";
        for at in (0..packed.len()).step_by(97) {
            let mut spoilt = packed.clone();
            spoilt[at] ^= 0x55;
            let out = unpack(coding, &spoilt, 4_096, 1 << 20);
            // Some bytes of a gzip header have no effect.
            if summed && at >= 10 {
                assert!(out.is_err(), "{name} spoilt at {at}");
            }
        }
    }
}

proptest! {
    /// Random bytes, and pages with changed bytes, end with an error or some bytes.
    #[test]
    fn whatever_the_bytes_are_unpacking_ends(
        junk in prop::collection::vec(any::<u8>(), 0..300),
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        piece in 1usize..400,
    ) {
        for (_, coding, packed) in every_coding(&PAGE[..3_000]) {
            let _ = unpack(coding, &junk, piece, 1 << 20);
            let mut spoilt = packed.clone();
            for (index, byte) in &at {
                let index = index.index(spoilt.len());
                spoilt[index] = *byte;
            }
            let _ = unpack(coding, &spoilt, piece, 1 << 20);
            spoilt.extend_from_slice(&junk);
            let _ = unpack(coding, &spoilt, piece, 1 << 20);
        }
    }
}

static PAGE: LazyLock<Vec<u8>> = LazyLock::new(page);

#[test]
fn a_gzip_file_of_many_members_is_one_body() {
    let page = page();
    let mut packed: Vec<u8> = page.chunks(9_999).flat_map(gzip).collect();
    assert!(unpack(Coding::Gzip, &packed, 1_000, usize::MAX - STEP).as_deref() == Ok(&page[..]));
    let whole = packed.len();
    packed.extend_from_slice(b"\0\0\0\0 padding");
    assert!(unpack(Coding::Gzip, &packed, 1_000, usize::MAX - STEP).as_deref() == Ok(&page[..]));
    packed.truncate(whole);
    packed.extend_from_slice(&gzip(b"more")[..12]);
    assert_eq!(unpack(Coding::Gzip, &packed, 1_000, usize::MAX - STEP), Err(CodingFault::Cut));
}

#[test]
fn gzip_headers_may_carry_extras() {
    let plain = gzip(b"page");
    let mut packed = plain[..10].to_vec();
    packed[3] = 2 | 4 | 8 | 16;
    packed.extend_from_slice(&[3, 0, 1, 2, 3]);
    packed.extend_from_slice(b"name\0comment\0\xaa\xbb");
    packed.extend_from_slice(&plain[10..]);
    for piece in [1, 3, 100] {
        assert_eq!(unpack(Coding::Gzip, &packed, piece, 100), Ok(b"page".to_vec()));
    }
    packed[3] = 0x80;
    assert_eq!(unpack(Coding::Gzip, &packed, 100, 100), Err(CodingFault::Bad));
}

#[test]
fn zstd_frames_follow_each_other_and_some_carry_nothing() {
    let page = page();
    let mut packed = zstd(&page[..1_000]);
    packed.extend_from_slice(&[0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
    packed.extend_from_slice(&zstd(&page[1_000..]));
    for piece in [1, 500, 1 << 20] {
        assert!(unpack(Coding::Zstd, &packed, piece, 1 << 30).as_deref() == Ok(&page[..]));
    }
}

#[test]
fn a_zstd_frame_whose_declared_size_is_a_lie_is_refused() {
    // Both frames are what `zstd` 1.5.4 makes: one declares its size in a byte, one in two.
    let text = "a page that is packed by zstd: a page, packed, that is packed by zstd";
    let of_text = from_hex(
        "28b52ffd20456d010014026120706167652074686174206973207061636b6564206279207a7374643a202c2c03004b55d9e9ee02534e",
    );
    let of_zeros = from_hex("28b52ffd602c004d00001000000100272ac002");
    let zeros = [0; 300];
    for (frame, plain) in [(of_text, text.as_bytes()), (of_zeros, &zeros[..])] {
        for piece in [1, 7, 100] {
            let check = |lie: u8, expected: Result<&[u8], CodingFault>| {
                let mut frame = frame.clone();
                frame[5] = frame[5].wrapping_add(lie);
                let out = unpack(Coding::Zstd, &frame, piece, 1 << 20);
                assert_eq!(out.as_deref().map_err(|fault| *fault), expected, "{lie} {piece}");
                // What follows does not make it true.
                let out = unpack(Coding::Zstd, &frame.repeat(2), piece, 1 << 20);
                assert_eq!(out.is_ok(), expected.is_ok());
            };
            check(0, Ok(plain));
            for lie in [1, 9, 100, 255, 250] {
                check(lie, Err(CodingFault::Bad));
            }
        }
    }
    // Four and eight bytes, around a stored block of three.
    for (descriptor, zeros) in [(0xa0, 3), (0xe0, 7)] {
        for (size, is_true) in [(3, true), (2, false), (4, false), (0, false)] {
            let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, descriptor, size];
            frame.extend(std::iter::repeat_n(0, zeros));
            frame.extend_from_slice(&[0x19, 0, 0, b'a', b'b', b'c']);
            let out = unpack(Coding::Zstd, &frame, 100, 100);
            let expected = if is_true { Ok(b"abc".to_vec()) } else { Err(CodingFault::Bad) };
            assert_eq!(out, expected, "{size} in {zeros} bytes");
        }
    }
}

/// Makes a frame with a window, of runs of zeros: four bytes for each 128 KiB.
fn zstd_bomb(window_log: u8, runs: usize) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, (window_log - 10) << 3];
    for n in 0..runs {
        let last = u32::from(n + 1 == runs);
        let header = last | 1 << 1 | (128 * 1024) << 3;
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.push(0);
    }
    out
}

#[test]
fn a_zstd_window_above_8_mib_is_refused() {
    assert!(unpack(Coding::Zstd, &zstd_bomb(23, 2), 100, 1 << 30).is_ok());
    assert_eq!(unpack(Coding::Zstd, &zstd_bomb(24, 2), 100, 1 << 30), Err(CodingFault::TooLarge));
}

#[test]
fn a_bomb_is_stopped_within_a_step_of_the_limit() {
    let cap = 10 << 20;
    let zeros = vec![0; 64 << 20];
    let bombs = [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Deflate, zlib(&zeros)),
        (Coding::Zstd, zstd_bomb(20, 4_096)),
        (Coding::Br, brotli_bomb()),
    ];
    for (coding, packed) in bombs {
        assert_eq!(unpack(coding, &packed, 16_384, cap), Err(CodingFault::TooLarge), "{coding:?}");
    }
}

#[test]
fn brotli_as_others_pack_it() {
    let page = "<p>a small page, packed by brotli: a small page, packed by brotli, packed</p>";
    let packed = from_hex(
        "1b4c000044dd96eae88777394fddeb1151708845d88003b7c492c01682fba02c8f467f67c03a52b8682b3be223ee797b1634d84ce9",
    );
    for piece in [1, 10, 100] {
        let out = unpack(Coding::Br, &packed, piece, 1 << 20);
        assert_eq!(out.as_deref(), Ok(page.as_bytes()));
    }
}

/// 32 MiB of zeros, packed by the reference encoder at level 9.
fn brotli_bomb() -> Vec<u8> {
    from_hex(
        "cbffff3f002400e2b14072effff8ffff078004401c1680eefd1fffffff00900088c302d0bdffe3ffff1f001200715800baf77f03",
    )
}

fn from_hex(text: &str) -> Vec<u8> {
    data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap()
}
