//! Finds postal addresses: a postal code in a form of some country, the town beside it and the
//! street before it.
//!
//! Whose address it is, is for the caller: it gets what stands before the street.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::plain::fold;
use crate::words::{
    BUILDING, COUNTY, LEADS_TO, NO_STREET, NO_TOWN, OLD_HOUSE, PART_OF_HOUSE, PO_BOX, STREET,
    TOWN_SMALL, patterns,
};

/// A postal address in a text of one or more lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostalPlace {
    /// Street and number as written.
    pub(crate) street: String,
    /// As written.
    pub(crate) postal_code: Option<String>,
    /// The town.
    pub(crate) locality: String,
    /// State or province, where it is part of the manner.
    pub(crate) region: Option<String>,
    /// The country, if the manner is that of one country only.
    pub(crate) country: Option<&'static str>,
    /// Where it is in the text, from the street on.
    pub(crate) at: Range<usize>,
}

/// Returns all addresses of a text. Some forms are only tried on a site of their country.
pub(crate) fn places(text: &str, country: Option<&str>) -> Vec<PostalPlace> {
    let segments = segments(text);
    let mut found: Vec<PostalPlace> = Vec::new();
    for manner in POSTCODES.iter().filter(|manner| {
        // Where codes have letters or dashes, digits alone are none.
        let is_foreign = manner.country.is_none()
            && country.is_some_and(|country| {
                ["GB", "IE", "CA", "NL", "PL", "PT", "BR", "US"].contains(&country)
            });
        let is_local = ["NZ", "SG"].contains(&manner.country.unwrap_or_default());
        !is_foreign && (!is_local || manner.country == country)
    }) {
        for caught in manner.pattern.captures_iter(text).take(PLACES_MAX) {
            let at = caught.get(0).expect("group 0 is the match").range();
            if found.iter().any(|place| place.at.start < at.end && at.start < place.at.end) {
                continue;
            }
            found.extend(place(text, &segments, manner, &caught));
        }
    }
    found.sort_by_key(|place| place.at.start);
    found
}

/// Reads an address without a postal code: lines with a street and number, a town, and perhaps a
/// county or country.
pub(crate) fn place_without_code(text: &str) -> Option<PostalPlace> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let at = lines
        .iter()
        .position(|line| is_street(line) && line.chars().any(|c| c.is_ascii_digit()))?;
    let town = lines.get(at + 1).filter(|line| {
        !line.contains(|c: char| c.is_ascii_digit() || c == '@' || c == ':')
            && line.split_whitespace().count() <= 3
    })?;
    let town = town.split(',').next().unwrap_or(town);
    let start = text.find(lines[at])?;
    let locality = clean_town(town)?;
    Some(PostalPlace {
        street: own_street(lines[at]).to_owned(),
        postal_code: None,
        locality,
        region: None,
        country: None,
        at: start..start + lines[at].len(),
    })
}

/// The format of a country's postal codes.
struct PostcodeFormat {
    /// Groups `code`, `town` (after the code, or before it in the same segment) and `region`.
    pattern: Regex,
    country: Option<&'static str>,
    order: PostcodeOrder,
}

/// The order of postal code and town.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PostcodeOrder {
    /// `81541 München`.
    CodeTown,
    /// `Leeds LS5 3QX`, `Tucson, AZ 85713`.
    TownCode,
}

fn place(
    text: &str,
    segments: &[Range<usize>],
    manner: &PostcodeFormat,
    caught: &Captures<'_>,
) -> Option<PostalPlace> {
    let code = caught.name("code")?;
    let all = caught.get(0)?;
    // The end of a telephone number is no postal code.
    if NUMBER_BEFORE.is_match(&text[..code.start()]) {
        return None;
    }
    let here = segments
        .iter()
        .position(|segment| segment.start <= code.start() && code.end() <= segment.end)?;
    let region = caught.name("region").map(|region| region.as_str().trim().to_owned());
    // What is before the code in its own segment.
    let own_before = text[segments[here].start..code.start()].trim_end();
    let (town, street_end, last) = match manner.order {
        PostcodeOrder::CodeTown => {
            let town = caught.name("town")?.as_str();
            let before = own_before
                .strip_suffix("D-")
                .or(own_before.strip_suffix("A-"))
                .unwrap_or(own_before)
                .trim_end_matches([' ', ':', '(']);
            (town, segments[here].start + before.len(), here)
        }
        PostcodeOrder::TownCode => {
            let before = match &region {
                Some(region) => {
                    own_before.strip_suffix(region.as_str()).unwrap_or(own_before).trim_end()
                }
                None => own_before,
            };
            // `CEP 80020-000`: the code has a label.
            let before = before
                .strip_suffix("CEP")
                .map_or(before, |rest| rest.trim_end_matches([' ', '-', '–', ',']));
            if before.chars().any(char::is_alphabetic) {
                (before.trim_end(), segments[here].start, here)
            } else {
                let mut at = here.checked_sub(1)?;
                // Counties and states stand between the town and the code.
                while at > 0
                    && (COUNTY.are_in(&fold(&text[segments[at].clone()]))
                        || is_region_code(&text[segments[at].clone()]))
                {
                    at -= 1;
                }
                (text[segments[at].clone()].trim(), segments[at].start, at)
            }
        }
    };
    let (street, street_at, town) =
        street_before(text, segments, last, street_end, town, manner.order)?;
    let locality = clean_town(&town)?;
    let postal_code = Some(code.as_str().trim().to_owned());
    Some(PostalPlace {
        street,
        postal_code,
        locality,
        region,
        country: manner.country,
        at: street_at..all.end(),
    })
}

/// Returns the street before a segment's town, and the town, since a street may have been taken for
/// it.
fn street_before(
    text: &str,
    segments: &[Range<usize>],
    last: usize,
    end: usize,
    town: &str,
    order: PostcodeOrder,
) -> Option<(String, usize, String)> {
    let mut town = town.to_owned();
    // `Tegernseer Gasse 41 81541 München`: the street is in the same segment.
    if order == PostcodeOrder::CodeTown && end > segments[last].start {
        let own = text[segments[last].start..end].trim();
        if is_street(own) {
            let own = own_street(own);
            let start = end - text[segments[last].start..end].trim_end().len().min(own.len());
            let start = text[segments[last].start..end]
                .rfind(own)
                .map_or(start, |at| segments[last].start + at);
            return Some((own.to_owned(), start, town));
        }
    }
    let mut first = last.checked_sub(1)?;
    let segment = |at: usize| text[segments[at].clone()].trim();
    // `Amble` between street and `Northumberland`, `Centro` between street and town: at most two
    // steps.
    let mut skipped = 0;
    while !is_street(segment(first)) {
        if skipped == 2
            || first == 0
            || segment(first).chars().count() > 40
            || segment(first).contains(['@', ':'])
        {
            return None;
        }
        if order == PostcodeOrder::TownCode && skipped == 0 && COUNTY.are_in(&fold(&town)) {
            town = segment(first).to_owned();
        }
        first -= 1;
        skipped += 1;
    }
    // `Unit 7, Railway Arches`: a part of a house leads to the house.
    let part = fold(segment(first));
    let is_part = skipped == 1 && PART_OF_HOUSE.begin(&part) && is_short(segment(first));
    let leads = is_part
        && is_house_name(segment(first + 1))
        && segment(first + 1) != town
        && !text[segments[first].start..segments[first + 1].end].contains('\n');
    // `bajo`, `Hinterhaus`: part of the street, though it has no number.
    let mut street_last = first + usize::from(leads);
    while street_last + 1 < last
        && (PART_OF_HOUSE.are(&fold(segment(street_last + 1)))
            || FLOOR.is_match(segment(street_last + 1)))
    {
        street_last += 1;
    }
    // A number of its own, a suite or a house name before the street belong to it.
    while first > 0 && belongs_before(segment(first - 1), segment(first)) {
        first -= 1;
    }
    // `Unit 4, Canal Mills, 12 Wharf Street`: the part of a house belongs to the street.
    if first >= 2 {
        let part = segment(first - 2);
        let is_part = PART_OF_HOUSE.begin(&fold(part))
            && is_short(part)
            && part.chars().any(|c| c.is_ascii_digit())
            && is_house_name(segment(first - 1));
        if is_part && !text[segments[first - 2].start..segments[first].start].contains('\n') {
            first -= 2;
        }
    }
    // A street without a number has a house with a name: `The Old Dairy, Mill Lane`.
    let has_number =
        (first..=street_last).any(|at| segment(at).chars().any(|c| c.is_ascii_digit()));
    if !has_number
        && first > 0
        && is_house_name(segment(first - 1))
        && (!text[segments[first - 1].start..segments[first].start].contains('\n')
            || OLD_HOUSE.begin(&fold(segment(first - 1))))
    {
        first -= 1;
    }
    let same_line = !text[segments[first].start..segments[street_last].end].contains('\n');
    let street = if same_line {
        text[segments[first].start..segments[street_last].end].trim().to_owned()
    } else {
        (first..=street_last).map(segment).collect::<Vec<_>>().join(", ")
    };
    // What is in brackets is part of a sentence about somebody.
    let is_inside = street.find('(').is_some_and(|open| open > 0 && !street[open..].contains(')'));
    (street.chars().count() <= STREET_CHARS_MAX && !is_inside).then(|| {
        // What leads to the street is not part of the address.
        let own = own_street(&street);
        let lead = if same_line { street.len() - own.len() } else { 0 };
        (own.to_owned(), segments[first].start + lead, town)
    })
}

/// Removes the words before an address: `Adresse: Weg 1`, `we are at 12 Mill Lane`.
fn own_street(street: &str) -> &str {
    let street = match street.rsplit_once(':') {
        Some((label, rest)) if label.chars().count() < 40 => rest.trim(),
        _ => street,
    };
    // `a wall in Sheffield. 20 Forge Lane`
    let street = match street.rsplit_once(". ") {
        Some((_, rest)) if AFTER_SENTENCE.is_match(rest) => rest,
        _ => street,
    };
    // The last word that leads to it, and an article after that: `in der Hauptstr. 5`.
    let mut start = 0;
    let mut from = 0;
    for word in street.split_inclusive(' ') {
        from += word.len();
        let folded = fold(word.trim());
        let leads = LEADS_TO.are(&folded)
            || (start > 0
                && from - word.len() == start
                && word.chars().next().is_some_and(char::is_lowercase));
        if leads && from < street.len() {
            start = from;
        }
    }
    &street[start..]
}

/// Whether a segment is part of the street that the next one continues.
fn belongs_before(segment: &str, next: &str) -> bool {
    let folded = fold(segment);
    let is_number = HOUSE_NUMBER.is_match(segment);
    let next_is_number = HOUSE_NUMBER.is_match(next) || PART_OF_HOUSE.are_in(&fold(next));
    if is_number {
        return true;
    }
    (next_is_number
        && (STREET.are_in(&folded)
            || STREET_END.is_match(&folded)
            || segment.chars().any(|c| c.is_ascii_digit()))
        && is_short(segment))
        || (PART_OF_HOUSE.are_in(&folded)
            && is_short(segment)
            && segment.chars().any(|c| c.is_ascii_digit()))
        || FLOOR.is_match(segment)
        || (BUILDING.are_in(&folded) && is_short(segment) && !segment.contains(':'))
}

fn is_house_name(segment: &str) -> bool {
    segment.chars().next().is_some_and(char::is_uppercase)
        && segment.split_whitespace().count() <= 4
        && segment.chars().count() <= 35
        && !segment.contains([':', '@', '©'])
}

fn is_short(segment: &str) -> bool {
    segment.chars().count() <= 45
}

/// Whether a segment reads like a street: a street's word, or a name with a number.
fn is_street(segment: &str) -> bool {
    let segment = own_street(segment);
    let count = segment.chars().count();
    if !(1..=STREET_CHARS_MAX).contains(&count) || segment.contains('@') {
        return false;
    }
    let folded = fold(segment);
    if MAIL_BOX.is_match(&folded) {
        return true;
    }
    if PO_BOX.are_in(&folded) || NO_STREET.are_in(&folded) {
        return false;
    }
    let has_number = segment.chars().any(|c| c.is_ascii_digit());
    let has_word = STREET.are_in(&folded) || STREET_END.is_match(&folded);
    let has_name = segment.chars().filter(|c| c.is_alphabetic()).count() >= 3;
    let digits = segment.chars().filter(char::is_ascii_digit).count();
    // A long row of digits is a telephone number or a register's.
    (has_word && has_name && digits <= 6)
        || (has_number && digits <= 5 && has_name && NAME_AND_NUMBER.is_match(segment))
        || (HOUSE_NUMBER.is_match(segment) || PART_OF_HOUSE.are_in(&folded) && has_number)
            && count <= 30
}

fn is_region_code(segment: &str) -> bool {
    let segment = segment.trim();
    segment.len() == 2 && segment.bytes().all(|b| b.is_ascii_uppercase())
}

/// The town without what follows it: a province in brackets, a country, a sentence.
fn clean_town(town: &str) -> Option<String> {
    let town = town.split(['(', '|', '\n', ';', '[']).next().unwrap_or(town);
    let town = TOWN_END.split(town).next().unwrap_or(town);
    let mut kept: Vec<&str> = Vec::new();
    for word in town.split_whitespace() {
        let begins = word.chars().next().unwrap_or(' ');
        let folded = fold(word);
        let is_small = TOWN_SMALL.are(&folded);
        if !(begins.is_uppercase()
            || is_small
            || begins == '\''
            || begins == '’'
            || (begins.is_ascii_digit() && !kept.is_empty() && word.len() <= 2))
            || kept.len() == 6
        {
            break;
        }
        kept.push(word);
        if word.ends_with('.') && word.chars().count() > 4 {
            break;
        }
    }
    while kept.last().is_some_and(|word| TOWN_SMALL.are(&fold(word))) {
        kept.pop();
    }
    let town = kept.join(" ");
    let town = town.trim_matches(['.', ',', '-', '–', ' ', ':']);
    let letters = town.chars().filter(|c| c.is_alphabetic()).count();
    (letters >= 2 && !NO_TOWN.are_in(&fold(town))).then(|| town.to_owned())
}

/// Pieces between commas, dashes with space around them, dots in the middle, and line ends.
fn segments(text: &str) -> Vec<Range<usize>> {
    let mut segments = Vec::new();
    let mut start = 0;
    for gap in GAP.find_iter(text) {
        if gap.start() > start {
            segments.push(start..gap.start());
        }
        start = gap.end();
    }
    if start < text.len() {
        segments.push(start..text.len());
    }
    segments
}

patterns! {
    GAP: r"\s*[,\n|•·;]\s*|\s+[-–—/]\s+|\.\s+[A-Z][a-zà-ü]{3,}\s[a-zà-ü]";
    NUMBER_BEFORE: r"\d{3}[ .\-/]{1,3}$|\d[./-]$";
    TOWN_END: r"\s[-–—/·]\s?|/[A-Z]{2}\b|,|\.\s|\.$|:|\s\d{3,}";
    HOUSE_NUMBER: r"^(?:n[°ºo]\.?\s?|nr\.?\s?)?\d{1,5}(?:\s?[-/–]\s?\d{1,4})?\s?(?:[a-zA-Z]|bis|ter|quater)?$";
    /// `2º B`, `3. OG`, `1st floor`, `2nd floor`.
    FLOOR: r"^(?i:\d{1,2}\s?[º°ª.]{1,2}\s?[a-z]{0,6}\.?|\d{1,2}(?:st|nd|rd|th|er|e|ème)?\s(?:floor|étage|piso|andar|og|stock|piano|sal|tr)\.?|(?:ground|first|second|third|top)\sfloor)$";
    NAME_AND_NUMBER: r"^(?:\d{1,5}\s?[a-zA-Z]?(?:[-–/]\d{1,4})?(?:\s(?:bis|ter))?\s+\p{Lu}.*|\p{Lu}.*\s(?:n[°º.]?\s?)?\d{1,5}(?:\s?[-–/]\s?\d{1,4})?\s?[a-zA-Z]{0,2}\.?)$";
    /// A number and a name: a street after the end of a sentence.
    AFTER_SENTENCE: r"^\d{1,5}\s\p{Lu}\p{Ll}{2,}\s\p{Lu}";
    /// A box for mail that stands where a street would.
    MAIL_BOX: r"^p\.?\s?o\.? box \d{1,6}$";
    /// Words that end in the kind of street.
    STREET_END: r"[a-z](?:strasse|str\.|str|gasse|weg|platz|allee|ufer|damm|ring|straat|laan|plein|gracht|kade|weg|gatan|gata|vagen|vag|torget|gade|vej|vejen|veien|gaten|katu|tie|kuja|singel|dijk|steeg|brink|hof)\b";
}

static POSTCODES: LazyLock<Vec<PostcodeFormat>> = LazyLock::new(|| {
    let lines = include_str!("../data/postcodes.txt").lines();
    let formats = lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let mut parts = line.splitn(3, ' ');
        let country = parts.next().filter(|country| *country != "-");
        let order = match parts.next()? {
            "town-code" => PostcodeOrder::TownCode,
            "code-town" => PostcodeOrder::CodeTown,
            _ => return None,
        };
        Some(PostcodeFormat { pattern: Regex::new(parts.next()?).ok()?, country, order })
    });
    formats.collect::<Option<_>>().expect("a constant file")
});

/// The most addresses of one text that are looked at.
const PLACES_MAX: usize = 40;
/// Longer texts are no streets.
const STREET_CHARS_MAX: usize = 70;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found: Vec<String> = places(text, None)
            .into_iter()
            .map(|place| {
                format!(
                    "{} | {} | {}",
                    place.street,
                    place.postal_code.unwrap_or_default(),
                    place.locality
                )
            })
            .collect();
        assert_eq!(found.join("; "), expected, "{text}");
    }

    #[test]
    fn code_before_town() {
        check(
            "Tegernseer Gasse 41\n81541 München\nTel. 089",
            "Tegernseer Gasse 41 | 81541 | München",
        );
        check(
            "Vicolo dei Pescatori 7, 24065 Lovere (BG)",
            "Vicolo dei Pescatori 7 | 24065 | Lovere",
        );
        check(
            "Crêperie – 14 bis, rue du Petit Bosser – 29100 Douarnenez – Tél. 02",
            "14 bis, rue du Petit Bosser | 29100 | Douarnenez",
        );
        check("ul. Piernikowa 18/2\n87-100 Toruń", "ul. Piernikowa 18/2 | 87-100 | Toruń");
        check(
            "Praxis Brook, Am Kalkofen 7a, 48155 Münster. Buslinie 8",
            "Am Kalkofen 7a | 48155 | Münster",
        );
        check("C/ Mayor, 5, 28013 Madrid", "C/ Mayor, 5 | 28013 | Madrid");
        check("Kerkstraat 5, 1234 AB Haarlem", "Kerkstraat 5 | 1234 AB | Haarlem");
        check("Dlouhá 5, 110 00 Praha 1", "Dlouhá 5 | 110 00 | Praha 1");
        check("Storgatan 5\n123 45 Lund", "Storgatan 5 | 123 45 | Lund");
        check("Bahnhofstrasse 3, CH-3600 Thun", "Bahnhofstrasse 3 | 3600 | Thun");
        check("Weg 3 3600 Thun", "Weg 3 | 3600 | Thun");
        check("Besuchen Sie uns in der Hauptstr. 5, 12345 Berlin", "Hauptstr. 5 | 12345 | Berlin");
        check(
            "Sie finden uns An der alten Mühle 3, 12345 Berlin",
            "An der alten Mühle 3 | 12345 | Berlin",
        );
    }

    #[test]
    fn town_before_code() {
        check("48 Abbey Foundry Road\nLeeds\nLS5 3QX", "48 Abbey Foundry Road | LS5 3QX | Leeds");
        check(
            "19 Leazes Quay\nAmble\nNorthumberland\nNE65 0AA",
            "19 Leazes Quay | NE65 0AA | Amble",
        );
        check(
            "Unit 5, The Bobbin Works, Feeder Road, Bristol BS2 0TX",
            "Unit 5, The Bobbin Works, Feeder Road | BS2 0TX | Bristol",
        );
        check(
            "9022 N Javelina Trail, Suite 140\nTucson, AZ 85704",
            "9022 N Javelina Trail, Suite 140 | 85704 | Tucson",
        );
        check(
            "14 Muckross Lane\nKillarney\nCo. Kerry\nV93 X0Y1",
            "14 Muckross Lane | V93 X0Y1 | Killarney",
        );
        check("You will find us at 12 Mill Lane, York YO1 9ZZ", "12 Mill Lane | YO1 9ZZ | York");
        check("12 King St, Fremantle WA 6160", "12 King St | 6160 | Fremantle");
    }

    #[test]
    fn without_a_code() {
        let place = place_without_code("3 Airport Road\nFarranfore\nCo. Kerry\n").unwrap();
        assert_eq!(
            (place.street.as_str(), place.locality.as_str()),
            ("3 Airport Road", "Farranfore")
        );
        assert_eq!(place_without_code("Write to us\nany time"), None);
    }

    #[test]
    fn codes_without_a_street_are_no_addresses() {
        check("Marco T., 25121 Brescia", "");
        check("Postfach 12, 80333 München", "");
        check("Seit 2004 Kunden", "");
    }
}
