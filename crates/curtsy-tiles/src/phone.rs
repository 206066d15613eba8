//! Which numbers of a text can be telephone numbers, and how are they dialled from abroad (E.164)?
//!
//! The caller decides whose number it is, and whether it is a fax.

use std::ops::Range;

use crate::country::Country;

/// Digits in a text that may be a telephone number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Digits {
    /// Where they stand.
    pub(crate) at: Range<usize>,
    /// Digits, with a leading `+` if there was one, without a trunk zero in brackets: `+44 (0)20`.
    pub(crate) dialled: String,
}

/// All runs of digits in a text that are as long as a telephone number and written like one.
pub(crate) fn candidates(text: &str) -> Vec<Digits> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() && found.len() < CANDIDATES_MAX {
        let begins = bytes[at].is_ascii_digit()
            || (matches!(bytes[at], b'+' | b'(')
                && bytes.get(at + 1).is_some_and(|next| next.is_ascii_digit() || *next == b'+'));
        if !begins {
            at += 1;
            continue;
        }
        let end = run_end(text, at);
        if let Some(digits) = read(text, at..end) {
            found.push(digits);
        }
        at = end.max(at + 1);
    }
    found
}

/// Returns the number with its calling code, if it is valid. A national number needs a country.
pub(crate) fn international(dialled: &str, country: Option<&Country>) -> Option<String> {
    let abroad = dialled
        .strip_prefix('+')
        .or_else(|| dialled.strip_prefix("00").filter(|rest| rest.len() > 8));
    if let Some(digits) = abroad {
        let country = Country::by_calling(digits)?;
        let national = &digits[country.calling.len()..];
        let national = match country.trunk {
            "0" => national.strip_prefix('0').unwrap_or(national),
            _ => national,
        };
        return fits(national, country).then(|| format!("+{}{national}", country.calling));
    }
    let country = country?;
    let national = match country.trunk {
        "" => dialled,
        // In North America the prefix is seldom written.
        "1" => dialled.strip_prefix('1').filter(|rest| rest.len() == 10).unwrap_or(dialled),
        trunk => match dialled.strip_prefix(trunk) {
            Some(national) => national,
            // Freephone numbers have no trunk prefix: `1800 915 045`, `1300 …` in Ireland and
            // Australia.
            None if is_free(dialled, country) => {
                return Some(format!("+{}{dialled}", country.calling));
            }
            None => return None,
        },
    };
    fits(national, country).then(|| format!("+{}{national}", country.calling))
}

fn is_free(dialled: &str, country: &Country) -> bool {
    let free = ["1800", "1850", "1890", "1300"].iter().any(|prefix| dialled.starts_with(prefix))
        && dialled.len() == 10;
    match country.code {
        "IE" | "AU" => {
            free || (country.code == "AU" && dialled.starts_with("13") && dialled.len() == 6)
        }
        _ => false,
    }
}

fn fits(national: &str, country: &Country) -> bool {
    let (least, most) = country.digits;
    let first = national.chars().next().unwrap_or(' ');
    let exchange_fits =
        country.calling != "1" || national.as_bytes().get(3).is_some_and(|digit| *digit >= b'2');
    (least..=most).contains(&national.len())
        && (country.first.is_empty() || country.first.contains(first))
        && exchange_fits
}

/// The end of a run of digits with at most three separators between two of them.
fn run_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut gap = 0;
    for (offset, c) in text[start..].char_indices() {
        if c.is_ascii_digit() {
            end = start + offset + 1;
            gap = 0;
        } else if offset == 0 && matches!(c, '+' | '(') || offset == 1 && c == '+' {
            continue;
        } else if matches!(
            c,
            ' ' | '.'
                | '-'
                | '/'
                | '('
                | ')'
                | '\u{a0}'
                | '‑'
                | '–'
                | '\u{2009}'
                | '\u{202f}'
                | '·'
        ) {
            gap += 1;
            if gap > 3 {
                break;
            }
        } else {
            break;
        }
    }
    end
}

fn read(text: &str, at: Range<usize>) -> Option<Digits> {
    let written = &text[at.clone()];
    let before = text[..at.start].chars().next_back();
    let after = text[at.end..].chars().next();
    // Part of a word, a longer code or an amount: `DE129…`, `x12`, `€ 12 500 000`.
    if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '€' | '$' | '£' | '#' | '_' | '@'))
        || after
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '€' | '$' | '£' | '%' | '_' | '@'))
    {
        return None;
    }
    let without_trunk = written
        .replace("(0)", if written.contains('+') || written.starts_with("00") { "" } else { "0" });
    let mut dialled: String = without_trunk.chars().filter(char::is_ascii_digit).collect();
    if !(DIGITS_MIN..=DIGITS_MAX).contains(&dialled.len()) || looks_like_time_or_date(written) {
        return None;
    }
    if written.starts_with('+') || written.starts_with("(+") {
        dialled.insert(0, '+');
    }
    Some(Digits { at, dialled })
}

/// `2019–2024`, `12.10.2023`, `10:00 - 18`, `22.07.`.
fn looks_like_time_or_date(written: &str) -> bool {
    let parts: Vec<&str> =
        written.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let is_year =
        |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    match parts.as_slice() {
        [first, second] => is_year(first) && is_year(second),
        [day, month, year] => {
            (is_year(year) && day.len() <= 2 && month.len() <= 2)
                || (is_year(day) && month.len() == 2 && year.len() == 2)
        }
        _ => false,
    }
}

/// Shorter runs are no numbers to call a business at.
const DIGITS_MIN: usize = 6;
/// E.164 has no longer ones; two more for `00`.
const DIGITS_MAX: usize = 17;
/// The most runs of one text that are looked at.
const CANDIDATES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(country: &str, text: &str, expected: &[&str]) {
        let country = Country::by_code(country);
        let found: Vec<String> = candidates(text)
            .iter()
            .filter_map(|digits| international(&digits.dialled, country))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_as_they_are_written_at_home() {
        check("DE", "Tel. 089 / 99998 - 412", &["+498999998412"]);
        check("GB", "(01632) 960 417", &["+441632960417"]);
        check("FR", "02.61.91.40.27", &["+33261914027"]);
        check("IT", "tel. 035 555 184, 347 555 0182", &["+39035555184", "+393475550182"]);
        check("US", "(520) 555-0137", &["+15205550137"]);
        check("US", "1-520-555-0137", &["+15205550137"]);
        check("PL", "601 555 014", &["+48601555014"]);
        check("IE", "020 912 3045 or 1800 915 045", &["+353209123045", "+3531800915045"]);
        check("ES", "912 345 678", &["+34912345678"]);
        check("NO", "22 33 44 55", &["+4722334455"]);
        check("SE", "08-123 456 78", &["+46812345678"]);
        check("BR", "(11) 95555-1234", &["+5511955551234"]);
    }

    #[test]
    fn numbers_as_they_are_dialled_from_abroad() {
        check("", "+44 (0)20 7946 0123", &["+442079460123"]);
        check("", "0049 89 99998412", &["+498999998412"]);
        check("", "+39 035 555184", &["+39035555184"]);
        check("", "(+351) 912 345 678", &["+351912345678"]);
    }

    #[test]
    fn other_digits_are_left_alone() {
        check("DE", "USt-IdNr. DE129999841, 2019–2024, 12.10.2023", &[]);
        check("US", "Permit 20215550142", &[]);
        check("GB", "£12 500 000", &[]);
        check("US", "10014", &[]);
    }
}
