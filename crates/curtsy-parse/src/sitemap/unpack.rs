//! Decompresses a sitemap, by its first bytes, not by its name, with a limit on the output.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

pub(super) struct UnpackedSitemap<'b> {
    pub(super) bytes: Cow<'b, [u8]>,
    /// There was more than the limit.
    pub(super) cut: bool,
    /// The compressed data breaks off, or has something else after it.
    pub(super) damaged: bool,
}

/// Decompresses gzip, also if it was applied twice. The readable part of a damaged file counts.
pub(super) fn unpack(body: &[u8], bytes_max: usize) -> UnpackedSitemap<'_> {
    let mut unpacked = UnpackedSitemap { bytes: Cow::Borrowed(body), cut: false, damaged: false };
    for _ in 0..LAYERS_MAX {
        if !unpacked.bytes.starts_with(MAGIC) {
            break;
        }
        let mut bytes = Vec::new();
        let decoder = MultiGzDecoder::new(&*unpacked.bytes);
        // One more byte than the limit shows whether there is more.
        unpacked.damaged |= decoder.take(bytes_max as u64 + 1).read_to_end(&mut bytes).is_err();
        unpacked.bytes = Cow::Owned(bytes);
    }
    if unpacked.bytes.len() > bytes_max {
        unpacked.cut = true;
        match &mut unpacked.bytes {
            Cow::Borrowed(bytes) => *bytes = &bytes[..bytes_max],
            Cow::Owned(bytes) => bytes.truncate(bytes_max),
        }
    }
    unpacked
}

/// Returns the content of a compressed file, if it is complete and not longer than this.
pub fn unpacked(body: &[u8], bytes_max: usize) -> Option<Cow<'_, [u8]>> {
    let unpacked = unpack(body, bytes_max);
    (!unpacked.cut && !unpacked.damaged).then_some(unpacked.bytes)
}

const MAGIC: &[u8] = &[0x1f, 0x8b];
/// Limit of the layers of compression.
pub(crate) const LAYERS_MAX: usize = 3;
