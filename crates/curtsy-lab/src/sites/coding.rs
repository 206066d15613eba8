//! How bodies are packed, and in which charset they are written.
//!
//! Brotli and Zstandard are stored, not compressed: both formats have blocks for that, every
//! decoder must read them, and a test server needs no compressor.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::answer::Coding;

impl Coding {
    /// Its name in `Content-Encoding`.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Coding::Identity => None,
            Coding::Gzip => Some("gzip"),
            Coding::Deflate | Coding::RawDeflate => Some("deflate"),
            Coding::Br => Some("br"),
            Coding::Zstd => Some("zstd"),
        }
    }

    /// The packed body.
    pub(super) fn pack(self, body: Vec<u8>) -> Vec<u8> {
        let level = Compression::default();
        // Writing into memory doesn't fail.
        match self {
            Coding::Identity => body,
            Coding::Gzip => {
                let mut packer = GzEncoder::new(Vec::new(), level);
                packer.write_all(&body).and_then(|()| packer.finish()).unwrap_or_default()
            }
            Coding::Deflate => {
                let mut packer = ZlibEncoder::new(Vec::new(), level);
                packer.write_all(&body).and_then(|()| packer.finish()).unwrap_or_default()
            }
            Coding::RawDeflate => {
                let mut packer = DeflateEncoder::new(Vec::new(), level);
                packer.write_all(&body).and_then(|()| packer.finish()).unwrap_or_default()
            }
            Coding::Br => brotli_stored(&body),
            Coding::Zstd => zstd_stored(&body),
        }
    }
}

/// RFC 7932 §9.2: a window of 64 KiB (one zero bit), then uncompressed meta-blocks, then an empty
/// last one.
fn brotli_stored(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 16);
    let mut first = true;
    for block in body.chunks(1 << 16) {
        // ISLAST 0, MNIBBLES 0 (four nibbles), MLEN - 1 in 16 bits, ISUNCOMPRESSED 1; then to the
        // next byte.
        let length = block.len() as u32 - 1;
        let (bits, width) = (length << 3 | 1 << 19, 20);
        // The first byte of the stream begins with the window's bit.
        let (bits, width) = if first { (bits << 1, width + 1) } else { (bits, width) };
        first = false;
        out.extend_from_slice(&bits.to_le_bytes()[..usize::div_ceil(width, 8)]);
        out.extend_from_slice(block);
    }
    // ISLAST 1, ISLASTEMPTY 1.
    out.push(if first { 0b110 } else { 0b11 });
    out
}

/// RFC 8878 §3.1.1: a single segment with its size in eight bytes, then raw blocks.
fn zstd_stored(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 32);
    out.extend_from_slice(&0xFD2F_B528u32.to_le_bytes());
    out.push(0b1110_0000);
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let mut rest = body;
    loop {
        let (block, after) = rest.split_at(rest.len().min(ZSTD_BLOCK_BYTES));
        rest = after;
        let header = (block.len() as u32) << 3 | u32::from(rest.is_empty());
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
        if rest.is_empty() {
            return out;
        }
    }
}

/// The text in a charset: any that the web knows; what it lacks is written as a character
/// reference.
pub(super) fn in_charset(text: &str, charset: &str) -> Vec<u8> {
    match charset.to_ascii_lowercase().as_str() {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        label => match encoding_rs::Encoding::for_label(label.as_bytes()) {
            Some(encoding) => encoding.encode(text).0.into_owned(),
            None => text.as_bytes().to_vec(),
        },
    }
}

const ZSTD_BLOCK_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn bodies() -> [Vec<u8>; 4] {
        let long: Vec<u8> = (0..200_000u32).map(|n| ((n * 31) >> 3) as u8).collect();
        [Vec::new(), b"a".to_vec(), b"page".to_vec(), long]
    }

    #[test]
    fn loopback_codings_are_read_back_by_independent_decoders() {
        for body in bodies() {
            let mut plain = Vec::new();
            let packed = Coding::Br.pack(body.clone());
            brotli_decompressor::Decompressor::new(&packed[..], 4096)
                .read_to_end(&mut plain)
                .unwrap();
            assert_eq!(plain, body);
            let mut plain = Vec::new();
            let packed = Coding::Zstd.pack(body.clone());
            let mut reader = ruzstd::decoding::StreamingDecoder::new(&packed[..]).unwrap();
            reader.read_to_end(&mut plain).unwrap();
            assert_eq!(plain, body);
            let mut plain = Vec::new();
            let packed = Coding::RawDeflate.pack(body.clone());
            flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
            assert_eq!(plain, body);
        }
    }

    #[test]
    fn loopback_charsets_are_written() {
        assert_eq!(in_charset("é€", "windows-1252"), b"\xe9\x80");
        assert_eq!(in_charset("日", "shift_jis"), b"\x93\xfa");
        assert_eq!(in_charset("é", "utf-16be"), b"\x00\xe9");
        assert_eq!(in_charset("é", "nonsense"), "é".as_bytes());
    }
}
