//! What differs from country to country, from `data/countries.txt`.

use std::sync::LazyLock;

use crate::words::Words;

/// The facts about a country that matter for its businesses.
pub(crate) struct Country {
    /// ISO 3166.
    pub(crate) code: &'static str,
    /// The calling code without `+`.
    pub(crate) calling: &'static str,
    /// The digits before a national number that are left out abroad, or nothing.
    pub(crate) trunk: &'static str,
    /// Digits of a national number without the trunk prefix: least and most.
    pub(crate) digits: (usize, usize),
    /// The possible first digits of a national number, or nothing for any.
    pub(crate) first: &'static str,
    /// ISO 4217.
    pub(crate) currency: &'static str,
    /// Folded names of the country.
    pub(crate) names: Vec<&'static str>,
    /// Codes of languages that point to this country alone.
    languages: Vec<&'static str>,
    /// Words that businesses of the country write, and how much a line with one of them counts.
    pub(crate) hints: Option<(Words, f32)>,
}

pub(crate) static COUNTRIES: LazyLock<Vec<Country>> = LazyLock::new(|| {
    let lines = include_str!("../data/countries.txt").lines();
    let read = lines.filter(|line| !line.starts_with('#')).map(Country::read);
    read.collect::<Option<_>>().expect("a test reads the countries")
});

impl Country {
    fn read(line: &'static str) -> Option<Country> {
        let mut columns = line.split('|').map(str::trim);
        let mut next = || columns.next();
        let list = |text: &'static str| text.split(", ").filter(|entry| !entry.is_empty());
        let country = Country {
            code: next()?,
            calling: next()?,
            trunk: next()?,
            digits: (next()?.parse().ok()?, next()?.parse().ok()?),
            first: next()?,
            currency: next()?,
            names: list(next()?).collect(),
            languages: list(next()?).collect(),
            hints: None,
        };
        let weight = next()?.parse().ok();
        Some(Country {
            hints: weight.zip(next()).map(|(weight, hints)| (Words::new(list(hints)), weight)),
            ..country
        })
    }

    /// The country of an ISO code.
    pub(crate) fn by_code(code: &str) -> Option<&'static Country> {
        COUNTRIES.iter().find(|country| country.code.eq_ignore_ascii_case(code))
    }

    /// The country of a folded name or code, as addresses write it.
    pub(crate) fn by_name(folded: &str) -> Option<&'static Country> {
        COUNTRIES
            .iter()
            .find(|country| country.names.contains(&folded))
            .or_else(|| Country::by_code(folded))
    }

    /// The country that a language alone points to: Polish is spoken in Poland, English anywhere.
    pub(crate) fn by_language(language: &str) -> Option<&'static Country> {
        COUNTRIES.iter().find(|country| country.languages.contains(&language))
    }

    /// The countries of a calling code; North America shares one.
    pub(crate) fn by_calling(digits: &str) -> Option<&'static Country> {
        COUNTRIES
            .iter()
            .filter(|country| digits.starts_with(country.calling))
            .max_by_key(|country| country.calling.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_are_read_and_have_one_line_each() {
        for (at, country) in COUNTRIES.iter().enumerate() {
            assert_eq!((country.code.len(), country.currency.len()), (2, 3), "{}", country.code);
            assert!(COUNTRIES[..at].iter().all(|other| other.code != country.code));
        }
        assert_eq!(Country::by_name("osterreich").map(|country| country.code), Some("AT"));
    }
}
