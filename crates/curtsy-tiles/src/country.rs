//! What differs from country to country: calling codes and the lengths of numbers, currencies, and the words that name a country.

/// A country as far as facts of its businesses are concerned.
#[derive(Debug)]
pub(crate) struct Country {
    /// ISO 3166.
    pub(crate) code: &'static str,
    /// The calling code without `+`.
    pub(crate) calling: &'static str,
    /// What is dialled before a national number and dropped abroad; empty if nothing is.
    pub(crate) trunk: &'static str,
    /// Digits of a national number without the trunk prefix: least and most.
    pub(crate) digits: (usize, usize),
    /// What such a number may begin with; empty for anything.
    pub(crate) first: &'static str,
    /// ISO 4217.
    pub(crate) currency: &'static str,
    /// Folded names that a page may call it by.
    pub(crate) names: &'static [&'static str],
    /// Codes of languages that point to it first.
    pub(crate) languages: &'static [&'static str],
}

impl Country {
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

#[rustfmt::skip]
pub(crate) static COUNTRIES: &[Country] = &[
    Country { code: "US", calling: "1", trunk: "1", digits: (10, 10), first: "23456789", currency: "USD", names: &["usa", "united states", "u.s.a.", "united states of america"], languages: &[] },
    Country { code: "CA", calling: "1", trunk: "1", digits: (10, 10), first: "23456789", currency: "CAD", names: &["canada"], languages: &[] },
    Country { code: "GB", calling: "44", trunk: "0", digits: (9, 10), first: "123578", currency: "GBP", names: &["uk", "united kingdom", "england", "scotland", "wales", "northern ireland", "great britain"], languages: &[] },
    Country { code: "IE", calling: "353", trunk: "0", digits: (7, 10), first: "1245678 9", currency: "EUR", names: &["ireland", "republic of ireland"], languages: &["ga"] },
    Country { code: "DE", calling: "49", trunk: "0", digits: (6, 12), first: "", currency: "EUR", names: &["deutschland", "germany", "allemagne", "d"], languages: &["de"] },
    Country { code: "AT", calling: "43", trunk: "0", digits: (5, 12), first: "", currency: "EUR", names: &["osterreich", "austria", "a"], languages: &[] },
    Country { code: "CH", calling: "41", trunk: "0", digits: (9, 9), first: "", currency: "CHF", names: &["schweiz", "suisse", "svizzera", "switzerland"], languages: &[] },
    Country { code: "FR", calling: "33", trunk: "0", digits: (9, 9), first: "123456789", currency: "EUR", names: &["france", "frankreich"], languages: &["fr"] },
    Country { code: "BE", calling: "32", trunk: "0", digits: (8, 9), first: "", currency: "EUR", names: &["belgie", "belgique", "belgium"], languages: &[] },
    Country { code: "NL", calling: "31", trunk: "0", digits: (9, 9), first: "", currency: "EUR", names: &["nederland", "netherlands", "the netherlands"], languages: &["nl"] },
    Country { code: "LU", calling: "352", trunk: "", digits: (6, 9), first: "", currency: "EUR", names: &["luxembourg", "luxemburg"], languages: &["lb"] },
    Country { code: "ES", calling: "34", trunk: "", digits: (9, 9), first: "6789", currency: "EUR", names: &["espana", "spain"], languages: &["es", "ca", "eu", "gl"] },
    Country { code: "PT", calling: "351", trunk: "", digits: (9, 9), first: "236789", currency: "EUR", names: &["portugal"], languages: &["pt"] },
    Country { code: "IT", calling: "39", trunk: "", digits: (6, 11), first: "038", currency: "EUR", names: &["italia", "italy"], languages: &["it"] },
    Country { code: "PL", calling: "48", trunk: "", digits: (9, 9), first: "", currency: "PLN", names: &["polska", "poland"], languages: &["pl"] },
    Country { code: "CZ", calling: "420", trunk: "", digits: (9, 9), first: "23456789", currency: "CZK", names: &["ceska republika", "czech republic", "czechia", "cesko"], languages: &["cs"] },
    Country { code: "SK", calling: "421", trunk: "0", digits: (9, 9), first: "", currency: "EUR", names: &["slovensko", "slovakia"], languages: &["sk"] },
    Country { code: "HU", calling: "36", trunk: "06", digits: (8, 9), first: "", currency: "HUF", names: &["magyarorszag", "hungary"], languages: &["hu"] },
    Country { code: "RO", calling: "40", trunk: "0", digits: (9, 9), first: "", currency: "RON", names: &["romania"], languages: &["ro"] },
    Country { code: "GR", calling: "30", trunk: "", digits: (10, 10), first: "26", currency: "EUR", names: &["greece", "ellada"], languages: &["el"] },
    Country { code: "HR", calling: "385", trunk: "0", digits: (8, 9), first: "", currency: "EUR", names: &["hrvatska", "croatia"], languages: &["hr"] },
    Country { code: "SI", calling: "386", trunk: "0", digits: (8, 8), first: "", currency: "EUR", names: &["slovenija", "slovenia"], languages: &["sl"] },
    Country { code: "BG", calling: "359", trunk: "0", digits: (8, 9), first: "", currency: "BGN", names: &["bulgaria"], languages: &["bg"] },
    Country { code: "DK", calling: "45", trunk: "", digits: (8, 8), first: "23456789", currency: "DKK", names: &["danmark", "denmark"], languages: &["da"] },
    Country { code: "NO", calling: "47", trunk: "", digits: (8, 8), first: "2345689 7", currency: "NOK", names: &["norge", "norway"], languages: &["nb", "no", "nn"] },
    Country { code: "SE", calling: "46", trunk: "0", digits: (7, 9), first: "", currency: "SEK", names: &["sverige", "sweden"], languages: &["sv"] },
    Country { code: "FI", calling: "358", trunk: "0", digits: (5, 11), first: "", currency: "EUR", names: &["suomi", "finland"], languages: &["fi"] },
    Country { code: "IS", calling: "354", trunk: "", digits: (7, 7), first: "", currency: "ISK", names: &["iceland", "island"], languages: &["is"] },
    Country { code: "EE", calling: "372", trunk: "", digits: (7, 8), first: "", currency: "EUR", names: &["eesti", "estonia"], languages: &["et"] },
    Country { code: "LV", calling: "371", trunk: "", digits: (8, 8), first: "", currency: "EUR", names: &["latvija", "latvia"], languages: &["lv"] },
    Country { code: "LT", calling: "370", trunk: "0", digits: (8, 8), first: "", currency: "EUR", names: &["lietuva", "lithuania"], languages: &["lt"] },
    Country { code: "TR", calling: "90", trunk: "0", digits: (10, 10), first: "", currency: "TRY", names: &["turkiye", "turkey"], languages: &["tr"] },
    Country { code: "AU", calling: "61", trunk: "0", digits: (9, 9), first: "23478", currency: "AUD", names: &["australia"], languages: &[] },
    Country { code: "NZ", calling: "64", trunk: "0", digits: (8, 10), first: "", currency: "NZD", names: &["new zealand", "aotearoa"], languages: &["mi"] },
    Country { code: "ZA", calling: "27", trunk: "0", digits: (9, 9), first: "", currency: "ZAR", names: &["south africa"], languages: &["af"] },
    Country { code: "IN", calling: "91", trunk: "", digits: (10, 10), first: "", currency: "INR", names: &["india"], languages: &["hi"] },
    Country { code: "BR", calling: "55", trunk: "", digits: (10, 11), first: "", currency: "BRL", names: &["brasil", "brazil"], languages: &[] },
    Country { code: "MX", calling: "52", trunk: "", digits: (10, 10), first: "", currency: "MXN", names: &["mexico"], languages: &[] },
    Country { code: "AR", calling: "54", trunk: "", digits: (10, 11), first: "", currency: "ARS", names: &["argentina"], languages: &[] },
    Country { code: "CL", calling: "56", trunk: "", digits: (9, 9), first: "", currency: "CLP", names: &["chile"], languages: &[] },
    Country { code: "JP", calling: "81", trunk: "0", digits: (9, 10), first: "", currency: "JPY", names: &["japan"], languages: &["ja"] },
    Country { code: "SG", calling: "65", trunk: "", digits: (8, 8), first: "3689", currency: "SGD", names: &["singapore"], languages: &[] },
    Country { code: "HK", calling: "852", trunk: "", digits: (8, 8), first: "", currency: "HKD", names: &["hong kong"], languages: &[] },
];
