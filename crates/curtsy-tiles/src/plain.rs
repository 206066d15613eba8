//! Plain text: the words of a page as a reader sees them, safe to show and to store.
//!
//! White space is collapsed. Control characters, direction marks and icon fonts are removed.

/// The words as a reader sees them, at most `chars_max` long; a cut text ends in `…`.
pub(crate) fn plain(text: &str, chars_max: usize) -> String {
    let mut plain = String::with_capacity(text.len().min(4 * chars_max));
    let mut count = 0;
    let mut space = false;
    for c in text.chars() {
        if c.is_whitespace() || c == '\u{2800}' {
            space = count > 0;
            continue;
        }
        if is_unseen(c) {
            continue;
        }
        if count + usize::from(space) >= chars_max {
            plain.pop();
            plain.push('…');
            break;
        }
        if space {
            plain.push(' ');
            count += 1;
            space = false;
        }
        plain.push(c);
        count += 1;
    }
    plain
}

/// Control and zero-width characters, direction marks, private use (icon fonts), byte order marks.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Returns a text for comparing: lower case, no accents, one form of quotes and dashes. Byte
/// positions differ from those of the text.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            folded.push(c.to_ascii_lowercase());
            continue;
        }
        match c {
            '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2007}' => folded.push(' '),
            '‘' | '’' | 'ʼ' | '´' | '`' | '′' => folded.push('\''),
            '“' | '”' | '„' | '«' | '»' | '‟' => folded.push('"'),
            '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => folded.push('-'),
            'ß' => folded.push_str("ss"),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            _ => {
                for lower in c.to_lowercase() {
                    folded.push(without_accent(lower));
                }
            }
        }
    }
    folded
}

fn without_accent(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' | 'ð' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ģ' | 'ğ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'į' | 'ı' => 'i',
        'ł' | 'ľ' | 'ļ' | 'ĺ' => 'l',
        'ñ' | 'ń' | 'ň' | 'ņ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' | 'ŕ' => 'r',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ť' | 'ţ' | 'ț' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        // What only a combining mark is left of.
        '\u{300}'..='\u{36f}' => '\'',
        other => other,
    }
}

/// What two names are compared by: folded letters and digits, one space between words.
pub(crate) fn identity(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_collapsed_and_tricks_are_left_out() {
        assert_eq!(plain(" a\u{a0}\n\t b\0c\u{202e}d\u{e090} ", 99), "a bcd");
        assert_eq!(plain("abcdef", 4), "abc…");
    }

    #[test]
    fn folding_forgets_case_and_accents() {
        assert_eq!(fold("Größe – l’ÉTÉ Łódź"), "grosse - l'ete lodz");
        assert_eq!(identity("  Café-Bar, „Süd“ "), "cafe bar sud");
    }
}
