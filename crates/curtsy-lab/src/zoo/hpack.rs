//! Reads the header blocks of requests (HPACK, RFC 7541): enough to know what is asked for, and by
//! whom.

/// Headers that were sent before on a connection, and may be named by a number.
#[derive(Default)]
pub(super) struct HpackTable {
    recent: Vec<(String, String)>,
}

impl HpackTable {
    /// The headers of a block; what can't be read ends it.
    pub(super) fn read(&mut self, mut block: &[u8]) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        while let Some(&first) = block.first() {
            match self.field(first, &mut block) {
                Some(Some(header)) => headers.push(header),
                Some(None) => {}
                None => break,
            }
        }
        headers
    }

    /// One field (RFC 7541 §6): `Some(None)` is a change of the table's size.
    fn field(&mut self, first: u8, block: &mut &[u8]) -> Option<Option<(String, String)>> {
        if first & 0x80 != 0 {
            let index = number(block, 7)?;
            return Some(Some(self.at(index)?));
        }
        if first & 0xe0 == 0x20 {
            number(block, 5)?;
            return Some(None);
        }
        let keep = first & 0x40 != 0;
        let name = match number(block, if keep { 6 } else { 4 })? {
            0 => text(block)?,
            index => self.at(index)?.0,
        };
        let header = (name, text(block)?);
        if keep {
            self.recent.insert(0, header.clone());
            self.recent.truncate(RECENT_MAX);
        }
        Some(Some(header))
    }

    fn at(&self, index: usize) -> Option<(String, String)> {
        let index = index.checked_sub(1)?;
        if index >= STATIC_ENTRIES {
            return self.recent.get(index - STATIC_ENTRIES).cloned();
        }
        let line = STATIC.lines().nth(index)?;
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        Some((name.to_owned(), value.to_owned()))
    }
}

/// RFC 7541 §5.1.
fn number(block: &mut &[u8], prefix: u32) -> Option<usize> {
    let (&first, mut rest) = block.split_first()?;
    let most = (1usize << prefix) - 1;
    let mut value = usize::from(first) & most;
    if value == most {
        for place in 0..4 {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            value += usize::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    Some(value)
}

/// RFC 7541 §5.2.
fn text(block: &mut &[u8]) -> Option<String> {
    let packed = block.first()? & 0x80 != 0;
    let length = number(block, 7)?;
    let bytes = block.get(..length)?;
    *block = &block[length..];
    let bytes = if packed { unpacked(bytes) } else { bytes.to_vec() };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The code is canonical: signs of one length have codes in their own order, so the lengths say
/// everything.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut code, mut length, mut first, mut signs) = (0u32, 0u8, 0u32, 0u32);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        length += 1;
        first = (first + signs) << 1;
        code = code << 1 | u32::from(bit);
        signs = LENGTHS.iter().filter(|&&of| of == length).count() as u32;
        if code.wrapping_sub(first) < signs {
            let nth = (code - first) as usize;
            let sign = LENGTHS.iter().enumerate().filter(|(_, of)| **of == length).nth(nth);
            out.extend(sign.map(|(sign, _)| sign as u8));
            (code, length, first, signs) = (0, 0, 0, 0);
        } else if length >= 30 {
            break;
        }
    }
    out
}

/// Entries that are kept; ours are few, and a test server forgets nothing that it was told.
const RECENT_MAX: usize = 64;

/// How many bits each byte takes (RFC 7541, appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// The static table: a name and a value on each line (RFC 7541, appendix A).
const STATIC: &str = include_str!("hpack_static.txt");
const STATIC_ENTRIES: usize = 61;

#[cfg(test)]
mod tests {
    use super::*;

    fn from_hex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn the_static_table_is_complete() {
        assert_eq!(STATIC.lines().count(), STATIC_ENTRIES);
        assert_eq!(STATIC.lines().last(), Some("www-authenticate"));
    }

    /// RFC 7541, appendix C.4: three requests on one connection.
    #[test]
    fn requests_are_read_as_the_rfc_reads_them() {
        let mut table = HpackTable::default();
        let mut read = |hex: &str| {
            let headers = table.read(&from_hex(hex));
            headers.into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ")
        };
        let first = ":method=GET :scheme=http :path=/ :authority=www.example.com";
        assert_eq!(read("828684418cf1e3c2e5f23a6ba0ab90f4ff"), first);
        assert_eq!(read("828684be5886a8eb10649cbf"), format!("{first} cache-control=no-cache"));
        assert_eq!(
            read("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"),
            ":method=GET :scheme=https :path=/index.html :authority=www.example.com custom-key=custom-value"
        );
    }
}
