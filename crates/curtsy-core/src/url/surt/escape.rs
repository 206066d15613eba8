//! Percent escapes: decoded until none is left, then written once.

/// Decodes every `%XX`, also those that appear by decoding others (`%2541` is `%41` is `A`).
///
/// One pass with a stack does the same as repeated passes: two `%XX` never overlap, so the order
/// makes no difference.
pub(super) fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        out.push(byte);
        while let [.., b'%', high, low] = out[..]
            && let (Some(high), Some(low)) = (hex(high), hex(low))
        {
            out.truncate(out.len() - 3);
            out.push(high << 4 | low);
        }
    }
    out
}

/// Escapes what a line of an index cannot have, and the two characters that would be misread.
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 8);
    for &byte in bytes {
        if byte <= b' ' || byte >= 0x7f || byte == b'#' || byte == b'%' {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        } else {
            out.push(byte as char);
        }
    }
    out
}

fn hex(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";
