//! Finds prices in texts: amounts, currencies and periods as people write them.
//!
//! A price needs a currency: a sign, a code or a word. A bare number is a price only if a table's
//! head, a note or other prices say so; the caller decides that ([`bare_amount`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::words::patterns;
use regex::Regex;

/// A price in a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Price {
    /// Decimal digits with a dot, no grouping: `1250`, `29.90`.
    pub(crate) amount: String,
    /// ISO 4217, or the sign itself where several countries share it (`$`, `kr`).
    pub(crate) currency: Currency,
    /// Where it stands: number, sign and the ends of a range.
    pub(crate) at: Range<usize>,
}

/// A currency as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Currency {
    /// A code of ISO 4217.
    Iso(&'static str),
    /// `$`: the country decides which dollar.
    Dollar,
    /// `kr`: the country decides which crown.
    Krone,
    /// None stood there.
    Unsaid,
}

/// How often a price is paid.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// Nothing recurring is said.
    Once,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A night.
    Night,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// Returns all prices of a text, in order. A range (`£650 – £780`) is one price, its lower end.
pub(crate) fn prices(text: &str) -> Vec<Price> {
    let mut found: Vec<Price> = Vec::new();
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return found;
    }
    let mut from = 0;
    while found.len() < PRICES_MAX {
        let Some(caught) = PATTERN.captures_at(text, from) else { break };
        let all = caught.get(0).expect("group 0 is the match");
        from = all.end().max(from + 1);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let Some(mut price) = read(text, &caught) else {
            // The number's other side may still have a sign: `0,5 l 3,20 €`.
            if let Some(number) = caught.name("n1").or(caught.name("n2")) {
                from = number.end().min(from);
            }
            continue;
        };
        from = from.max(price.at.end);
        join_range(text, found.last(), &mut price);
        if let Some(last) = found.last_mut()
            && price.at.start <= last.at.end
        {
            last.at.end = price.at.end;
            continue;
        }
        found.push(price);
    }
    found
}

/// The number that a text is, if it is nothing but one: `5,40`, `12.–`, `11.80`.
pub(crate) fn bare_amount(text: &str) -> Option<String> {
    let caught = BARE.captures(text.trim())?;
    amount(&caught[1])
}

fn read(text: &str, caught: &regex::Captures<'_>) -> Option<Price> {
    let number = caught.name("n1").or(caught.name("n2")).or(caught.name("n3"))?;
    let sign = caught.name("s1").or(caught.name("s2")).or(caught.name("s3"))?;
    let all = caught.get(0)?;
    let (start, end) = (number.start().min(sign.start()), all.end());
    // Part of a longer word or number: `A4`, `1.2.2024`, `x19`.
    let before = text[..start].chars().next_back();
    // `+$2` is what an extra costs, `+49` calls Germany.
    let is_dialled =
        before == Some('+') && caught.name("s1").is_none() && caught.name("s3").is_none();
    if is_dialled || before.is_some_and(|c| c.is_alphanumeric() || c == '#') {
        return None;
    }
    if before.is_some_and(|c| matches!(c, '.' | ','))
        && text[..start].chars().rev().nth(1).is_some_and(|c| c.is_ascii_digit())
    {
        return None;
    }
    // `3€80`: the sign is the point.
    let cents =
        text[end..].len() - text[end..].trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_point = caught.name("n2").is_some()
        && cents == 2
        && matches!(sign.as_str(), "€" | "£" | "$" | "Fr." | "kr" | "zł" | "CHF")
        && number.as_str().bytes().all(|byte| byte.is_ascii_digit())
        && !text[end + cents..].starts_with(|c: char| c.is_alphanumeric() || "€£$,.:".contains(c))
        && number.end() == sign.start();
    if is_point {
        let amount = amount(&format!("{}.{}", number.as_str(), &text[end..end + cents]))?;
        return Some(Price { amount, currency: currency(sign.as_str())?, at: start..end + cents });
    }
    // `£45pp`, `12€/h`: letters may follow a sign, not a word.
    let after = text[end..].chars().next();
    let is_sign = !sign.as_str().ends_with(char::is_alphabetic) || caught.name("n1").is_some();
    if after.is_some_and(|c| c.is_ascii_digit() || (c.is_alphanumeric() && !is_sign)) {
        return None;
    }
    // `2021 € 19,75`: the sign belongs to the number after it.
    if caught.name("n2").is_some()
        && SIGN_FIRST
            .captures(&text[sign.end()..])
            .is_some_and(|next| !next[1].starts_with(sign.as_str()))
    {
        return None;
    }
    // `11a–8p`, `5p–9:30p` are hours.
    if sign.as_str() == "p"
        && (before.is_some_and(|c| matches!(c, '-' | '–' | '—'))
            || text[end..].starts_with(".m")
            || text[end..].trim_start().starts_with(['-', '–', '—']))
    {
        return None;
    }
    // Thousands and millions are facts in a text, not prices: `£1.2m`, `$3 million`, `40k €`.
    if MANY.is_match(&text[end..]) {
        return None;
    }
    // `Fr.` is a franc or a Friday.
    if sign.as_str() == "Fr." && HOURS_FOLLOW.is_match(&text[end..]) {
        return None;
    }
    let written = number.as_str();
    let mut amount = amount(written)?;
    let currency = currency(caught.name("code").unwrap_or(sign).as_str())?;
    if matches!(sign.as_str(), "p" | "ct" | "Cent" | "cent" | "cents" | "c" | "¢") {
        if written.contains(['.', ',']) {
            return None;
        }
        amount = format!(
            "{}.{:02}",
            amount.parse::<u32>().ok()? / 100,
            amount.parse::<u32>().ok()? % 100
        );
    }
    Some(Price { amount, currency, at: start..end })
}

/// The first number of `58 à 85 €` has no sign of its own: the price starts there.
fn join_range(text: &str, last: Option<&Price>, price: &mut Price) {
    let floor = last.map_or(0, |last| last.at.end);
    let before = &text[floor..price.at.start];
    let touching = last.is_some() && RANGE_GAP.is_match(before);
    if touching {
        price.at.start = floor;
        return;
    }
    if let Some(caught) = RANGE_START.captures(before)
        && let Some(low) = amount(&caught[1])
        && low.parse::<f64>().ok() < price.amount.parse::<f64>().ok()
    {
        price.at.start = floor + caught.get(1).map_or(0, |number| number.start());
        price.amount = low;
    }
}

/// A written number as digits and a dot: `1.250` and `1,250` are grouped, `29.90` and `29,9` are
/// not.
fn amount(written: &str) -> Option<String> {
    let written = written.trim_end_matches(['-', '–', '—', ':', '.', ',', ' ', '\'']);
    let digits_after = |at: usize| written[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
    let mut point = None;
    if let Some(at) = written.rfind(['.', ',', ':'])
        && (digits_after(at) <= 2 && at + 1 + digits_after(at) == written.len())
    {
        point = Some(at);
    }
    let whole: String =
        written[..point.unwrap_or(written.len())].chars().filter(char::is_ascii_digit).collect();
    let whole = match whole.trim_start_matches('0') {
        "" => "0".to_owned(),
        trimmed => trimmed.to_owned(),
    };
    if whole.len() > WHOLE_DIGITS_MAX {
        return None;
    }
    Some(match point {
        Some(at) => format!("{whole}.{}", &written[at + 1..]),
        None => whole,
    })
}

fn currency(sign: &str) -> Option<Currency> {
    let folded: String = crate::plain::fold(sign).chars().filter(|c| !c.is_whitespace()).collect();
    match folded.trim_end_matches('.') {
        ",-" | ",--" | ":-" | ".-" => Some(Currency::Unsaid),
        sign => CURRENCIES.get(sign).copied(),
    }
}

/// The currencies of `data/currencies.txt`, by sign.
static CURRENCIES: LazyLock<BTreeMap<&str, Currency>> = LazyLock::new(|| {
    let lists = crate::words::lists(include_str!("../data/currencies.txt")).into_iter();
    let by_sign = lists.flat_map(|(name, signs)| {
        let currency = match name {
            "DOLLAR" => Currency::Dollar,
            "KRONE" => Currency::Krone,
            code => Currency::Iso(code),
        };
        signs.into_iter().map(move |sign| (sign, currency))
    });
    by_sign.collect()
});

/// The period that is said right after a price, or in the head of its column.
pub(crate) fn period(folded: &str) -> Option<Period> {
    if HALF_AN_HOUR.is_match(folded) {
        return None;
    }
    PERIODS.iter().find(|(words, _)| words.is_match(folded)).map(|(_, period)| *period)
}

/// The period that a text is, if it begins with one: `/ month`, `per person per night`, `monthly`.
pub(crate) fn period_alone(folded: &str) -> Option<Period> {
    PERIODS
        .iter()
        .find(|(words, _)| {
            words.find(folded).is_some_and(|found| {
                found.start() <= 12
                    && (found.start() == 0
                        || folded.starts_with("per ")
                        || folded.starts_with("pro "))
            })
        })
        .map(|(_, period)| *period)
}

static PERIODS: LazyLock<Vec<(Regex, Period)>> = LazyLock::new(|| {
    let row = |(units, adverbs, period): (&str, &str, Period)| {
        // `a`, `per`, `/` and their like before the unit; or an adverb.
        let pattern = format!(
            r"(?:(?:^|[^a-z])(?:per|pro|par|por|al|a|an|each|every|je|im|la|le|na|za|om|i|p\.|il|pr\.?|en|ogni|jede[nrs]?|cada|chaque|elke|iedere|kazdy|ao|om de)\s|[/|])\s?(?:l'|1 )?(?:{units})(?:$|[^a-z])|(?:^|[^a-z])(?:{adverbs})(?:$|[^a-z])"
        );
        (Regex::new(&pattern).expect("the table of periods is a pattern"), period)
    };
    PERIOD_WORDS.into_iter().map(row).collect()
});

/// Units (after `per`, `a`, `/`) and adverbs, folded.
const PERIOD_WORDS: [(&str, &str, Period); 6] = [
    (
        "month|mo|mth|monat|mois|mes|mese|maand|mnd|miesiac|mies|manad|man|maned|md|mdr|mesic|kk|kuukausi|mnth|manaden|maneden|miesiaca|mesice|bulan",
        r"monthly|month to month|month-to-month|monatlich|mensuels?|mensuelles?|mensual|mensile|mensili|mensal|mensais|maandelijks|miesiecznie|manadsvis|manedlig|mesicne|pcm|p/m|p\.m\.|mtl",
        Period::Month,
    ),
    (
        "year|yr|annum|jahr|an|ano|anno|jaar|jr|rok|ar|vuosi|annee|aret|roku",
        r"yearly|annually|annual|jahrlich|annuels?|annuelles?|anual|annuale|annui|jaarlijks|rocznie|arlig|arligen|rocne|p\.a\.|all'anno|l'annee|l'an",
        Period::Year,
    ),
    (
        "week|wk|woche|semaine|semana|settimana|tydzien|tyg|vecka|uge|uke|tyden|viikko|veckan|ugen|uken",
        r"weekly|wochentlich|hebdomadaire|semanal|settimanale|wekelijks|tygodniowo|pw|p\.w\.",
        Period::Week,
    ),
    (
        "night|nacht|nuit|noche|notte|noite|noc|doba|dobe|natt|nat|nuitee|nt|yo",
        r"nightly|p\.n|pppn|p\.p\.p\.n|ppn",
        Period::Night,
    ),
    (
        "day|full day|whole day|tag|ganzer tag|ganzen tag|jour|dia|giorno|dag|dagen|dzien|dygn|dygnet|dogn|dognet|den|paiva|journee",
        "daily|taglich",
        Period::Day,
    ),
    (
        "hour|hr|hrs|h|stunde|std|heure|hora|ora|uur|godzina|godzine|godz|timme|timmen|tim|time|timen|hod|hodina|hodinu|tunti",
        "hourly|p/h|ph|all'ora|l'ora|l'heure|stundlich",
        Period::Hour,
    ),
];

const SIGNS: &str = r"€|£|₹|₺|¥|₩|₪|₽|₴|₱|฿|US\$|AU\$|A\$|CA\$|C\$|NZ\$|HK\$|S\$|MX\$|R\$|\$CAD|\$CA|\$|EUR|Euros?|euros?|GBP|CHF|Fr\.|SFr\.?|PLN|zł|zl|CZK|Kč|BRL|USD|AUD|CAD|NZD|SEK|NOK|DKK|ISK|[Kk]r\.?|KR|INR|Rs\.?|HUF|Ft|RON|lei|лв\.?|BGN|TRY|TL|JPY|円|HKD|SGD|ZAR|MXN";
const NUMBER: &str = r"(?:\d{1,3}(?:[ \u{a0}\u{202f}\u{2009}.,'’]\d{3})+|\d{1,9})(?:[.,]\d{1,2}|:\d{2})?(?:[.,:]\s?[-–—]{1,2}|,=)?";

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"(?P<s1>{SIGNS})[ \u{{a0}}\u{{202f}}]?(?P<n1>{NUMBER})(?:\s(?P<code>USD|CAD|AUD|NZD|SGD|HKD|MXN|EUR|GBP)\b)?|(?P<n2>{NUMBER})[ \u{{a0}}\u{{202f}}]?(?P<s2>{SIGNS}|p|ct|Cent|cents|¢|pounds|dollars|reais|kroner|kronor|korun)|(?P<n3>\d{{1,3}}(?:[ \u{{a0}}.]\d{{3}})+|\d{{1,5}})(?P<s3>,--|,-|:-|,–|\.–|\.-)"
    );
    Regex::new(&pattern).expect("prices are a pattern")
});
patterns! {
    BARE: format!(r"^({NUMBER})$");
    /// A part of a period is none.
    HALF_AN_HOUR: r"half (?:an |a )?(?:hour|day)|halbe(?:n|r)? (?:stunde|tag)|demi[- ](?:heure|journee)|mezz'ora|mezza (?:ora|giornata)|media (?:hora|jornada)|meia (?:hora|diaria)|half uur|halve dag|halvtimme|halv (?:time|dag)|pol godziny";
    MANY: r"^\s?(?:k|K|m|M|mn|bn|Mio|Mrd|million|billion|Millionen|millions?|milioni|mln|tys|thousand)\b";
    SIGN_FIRST: format!(r"^\s?{NUMBER}\s?([^\d]{{0,3}})");
    HOURS_FOLLOW: r"^\s?(?:[-–—]\s?\d|Uhr|h\b|:\d)";
    RANGE_GAP: r"^\s*(?:-|–|—|to|bis|à|a|až|do|till|tot|al)\s*$";
    RANGE_START: r"(?:^|[\s(:])(\d{1,3}(?:[ .,\u{a0}]\d{3})*(?:[.,]\d{1,2})?)\s*(?:-|–|—|to|bis|à|a|až|do|till|tot|al|og|och)\s*$";
}

/// The most prices of one text that are read.
const PRICES_MAX: usize = 64;
/// Larger amounts are no prices.
const WHOLE_DIGITS_MAX: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = prices(text)
            .into_iter()
            .map(|price| format!("{} {}", price.amount, name(price.currency)))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    fn name(currency: Currency) -> &'static str {
        match currency {
            Currency::Iso(code) => code,
            Currency::Dollar => "$",
            Currency::Krone => "kr",
            Currency::Unsaid => "?",
        }
    }

    #[test]
    fn amounts_as_they_are_written_in_many_countries() {
        check("€ 11,00", &["11.00 EUR"]);
        check("1.234,50 €", &["1234.50 EUR"]);
        check("1.150,-", &["1150 ?"]);
        check("5p–9:30p", &[]);
        check("€ 1 250", &["1250 EUR"]);
        check("CHF 12.–", &["12 CHF"]);
        check("Fr. 12.50", &["12.50 CHF"]);
        check("kr 149:-", &["149 kr"]);
        check("149 kr", &["149 kr"]);
        check("149:-", &["149 ?"]);
        check("19,-", &["19 ?"]);
        check("19,- €", &["19 EUR"]);
        check("€ 19,-", &["19 EUR"]);
        check("R$ 39,90", &["39.90 BRL"]);
        check("£4.50", &["4.50 GBP"]);
        check("90p", &["0.90 GBP"]);
        check("12 zł", &["12 PLN"]);
        check("2\u{a0}900 zł", &["2900 PLN"]);
        check("1 290 Kč", &["1290 CZK"]);
        check("₹499", &["499 INR"]);
        check("A$15 or CA$ 12.50", &["15 AUD", "12.50 CAD"]);
        check("$1,290 / year", &["1290 $"]);
        check("29,95 Euro", &["29.95 EUR"]);
        check("$ 4", &["4 $"]);
        check("129.00 EUR", &["129.00 EUR"]);
        check("1'250.00 CHF", &["1250.00 CHF"]);
        check("4.25$", &["4.25 $"]);
        check("Morgon 2021 € 19,75", &["19.75 EUR"]);
        check("12 € 14 €", &["12 EUR", "14 EUR"]);
        check("Thu 11a–8p", &[]);
        check("£45pp", &["45 GBP"]);
        check("$16/guest", &["16 $"]);
    }

    #[test]
    fn a_range_is_its_lower_end() {
        check("£650 – £780", &["650 GBP"]);
        check("de 58 à 85 €", &["58 EUR"]);
        check("from £110", &["110 GBP"]);
        check("80–120 €", &["80 EUR"]);
        check("$3.50 / $6", &["3.50 $", "6 $"]);
    }

    #[test]
    fn what_only_looks_like_a_price_is_none() {
        check("turnover of £1.2m", &[]);
        check("over 5,000 customers", &[]);
        check("Fr. 9.00 - 18.00 Uhr", &[]);
        check("USt-IdNr. DE 129 999 841", &[]);
        check("0,5 l", &[]);
    }

    #[test]
    fn a_bare_number_is_read_where_it_is_known_to_be_a_price() {
        assert_eq!(bare_amount("5,40").as_deref(), Some("5.40"));
        assert_eq!(bare_amount("12.–").as_deref(), Some("12"));
        assert_eq!(bare_amount("1 250").as_deref(), Some("1250"));
        assert_eq!(bare_amount("40 min"), None);
    }

    #[test]
    fn periods_in_many_languages() {
        let check = |text: &str, expected: Option<Period>| {
            assert_eq!(period(&crate::plain::fold(text)), expected, "{text}")
        };
        check("/mo", Some(Period::Month));
        check(" per month", Some(Period::Month));
        check(" a month", Some(Period::Month));
        check("/ Monat", Some(Period::Month));
        check(" im Jahr", Some(Period::Year));
        check(" par an", Some(Period::Year));
        check(" per person per night", Some(Period::Night));
        check(" / godz.", Some(Period::Hour));
        check("/h", Some(Period::Hour));
        check(" l'heure", Some(Period::Hour));
        check(" per person", None);
        check(" per rental", None);
        check(" monatlich", Some(Period::Month));
        check(" / mån", Some(Period::Month));
        check(" za noc", Some(Period::Night));
        check(" la semaine", Some(Period::Week));
        check(" al giorno", Some(Period::Day));
    }
}
