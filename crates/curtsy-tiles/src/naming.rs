//! The names of priced items. Names are separated from the text beside them, and distinguished from
//! sentences and labels.

use crate::plain::{fold, identity, plain};
use crate::whose;
use crate::words::{DIETS, LABEL_ONLY, MEASURES, NO_NAME, NO_NAME_ALONE, PROSE_WORDS, patterns};

/// A name without words that stand in for a price: `Turbot market price`.
pub(crate) fn without_stand_in(text: &str) -> &str {
    let folded = fold(text);
    match STAND_IN.find(&folded) {
        Some(found) if folded.chars().count() == text.chars().count() => {
            let keep = folded[..found.start()].chars().count();
            let cut = text.char_indices().nth(keep).map_or(text.len(), |(at, _)| at);
            if keep > 2 { &text[..cut] } else { text }
        }
        _ => text,
    }
}

/// A name without leaders, labels of prices, allergens, numbers in front and marks behind.
pub(crate) fn clean_name(text: &str) -> String {
    let mut text = text.trim();
    loop {
        let before = text;
        if LABEL_ONLY.are(&identity(text)) {
            return String::new();
        }
        text = text
            .trim_end_matches(|c: char| c.is_whitespace() || ".…·:-–—_=|*†‡,;(/+~•→".contains(c));
        // `.de` is a name.
        if !TOP_LEVEL.is_match(text) {
            text = text
                .trim_start_matches(|c: char| c.is_whitespace() || "·•-–—*|:,;.…/+→✓✔".contains(c));
        }
        text = text.trim_matches(is_picture).trim();
        text = without_lead(text);
        if let Some(found) = ALLERGENS.find(text).filter(|found| !is_part_of_name(found.as_str())) {
            text = &text[..found.start()];
        }
        if let Some(found) = SUPPLEMENT.find(text) {
            text = &text[..found.start()];
        }
        if let Some(found) = NUMBERING.find(text) {
            text = &text[found.end()..];
        }
        if text == before {
            break;
        }
    }
    if text.matches('(').count() > text.matches(')').count() {
        text = text.rsplit_once('(').map_or(text, |(head, _)| head.trim_end());
    }
    plain(text, 200)
}

/// Chillies, leaves and stars beside a name.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{1f300}'..='\u{1faff}')
}

/// `(v)`, `(vg)` and `(6)` are written as parts of names, unlike allergens.
fn is_part_of_name(note: &str) -> bool {
    let Some(inside) = note.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let marks = || inside.split([',', '/', '·', '.', '&', ' ']).filter(|mark| !mark.is_empty());
    marks().all(|mark| DIETS.are(&mark.to_ascii_lowercase()))
        || inside.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes a number in brackets at the end, for pages that number allergens like that.
pub(crate) fn without_note(name: &str) -> &str {
    NOTE.find(name).map_or(name, |found| &name[..found.start()])
}

/// The marks that a line explains, as a legend does: `(v) vegetarian, (n) nuts`.
pub(crate) fn explained_marks(text: &str) -> Vec<String> {
    let marks = LEGEND.captures_iter(text).take(MARKS_MAX);
    let marks: Vec<String> = marks.map(|caught| caught[1].to_lowercase()).collect();
    Some(marks).filter(|marks| marks.len() >= 2).unwrap_or_default()
}

/// A name without marks at its end that the page explains.
pub(crate) fn without_marks<'n>(name: &'n str, marks: &[String]) -> &'n str {
    let mut name = name;
    while let Some(open) = name.rfind('(').filter(|open| *open > 0)
        && let Some(mark) = name[open + 1..].strip_suffix(')')
        && marks.contains(&mark.to_lowercase())
    {
        name = name[..open].trim_end();
    }
    name
}

/// Whether a text has a list of numbers in brackets, as for notes and allergens: `(1, 3)`.
pub(crate) fn has_notes(text: &str) -> bool {
    NOTES.is_match(text)
}

/// A name without the small words that lead from it to a price: `from`, `costs`.
fn without_lead(text: &str) -> &str {
    let folded = fold(text);
    let Some(found) = TRAILING.find(&folded) else { return text };
    if text.chars().count() != folded.chars().count() {
        return text;
    }
    let keep = folded[..found.start()].chars().count();
    let cut = text.char_indices().nth(keep).map_or(text.len(), |(at, _)| at);
    // `Class A`, `Solo`: with a capital it is part of the name, unless it is a label.
    let lead = text[cut..].trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_capital = lead.chars().next().is_some_and(char::is_uppercase);
    if is_capital && !LABEL_ONLY.are(&identity(lead)) { text } else { &text[..cut] }
}

/// `Guided hike – 8 hours, lunch included`: what follows a dash describes, if it reads like it.
pub(crate) fn split_name(name: String) -> (String, Option<String>) {
    let Some((head, tail)) =
        [" – ", " — ", " - ", " | "].iter().find_map(|dash| name.split_once(dash))
    else {
        return (name, None);
    };
    let describes = tail.chars().next().is_some_and(char::is_lowercase)
        || tail.chars().count() > head.chars().count() + 8
        || tail.contains(',')
        || tail.chars().next().is_some_and(|c| c.is_ascii_digit());
    if describes && head.chars().filter(|c| c.is_alphabetic()).count() >= 3 {
        (head.trim().to_owned(), Some(tail.trim().to_owned()))
    } else {
        (name, None)
    }
}

/// Whether a text can be the name of a thing.
pub(crate) fn is_name(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let folded = fold(name);
    letters >= 2
        && name.chars().count() <= NAME_CHARS_MAX
        && !NO_NAME.are_in(&folded)
        && !LABEL_ONLY.are(&folded)
        && !NO_NAME_ALONE.are(&folded)
        && !name.contains('@')
        && !name.ends_with('?')
        && !name.contains("://")
}

/// Whether a text is an addition to a dish: `add bacon`, `roast potatoes, add gravy`.
pub(crate) fn is_addition(name: &str) -> bool {
    ADDITION.is_match(&fold(name))
}

/// Whether a text is nothing but days or times: `Saturdays at 2pm`.
pub(crate) fn is_time(name: &str, language: &str) -> bool {
    let read = crate::hours::read(name, language, crate::hours::WaitingDays::default());
    read.has_days && read.strange == 0 && name.chars().any(|c| c.is_ascii_digit())
}

/// Whether a text is only a measure, not a name: `35 min`, `per person`, `0,5 l`, `Large`.
pub(crate) fn is_measure(text: &str) -> bool {
    let folded = fold(text);
    let mut words = folded
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(MEASURE_WORDS_MAX + 1);
    text.chars().count() <= 60 && words.all(|word| MEASURES.are(word))
}

/// A name without the size at its end: `Picpoul 2022 — 175ml`, `Orange juice small`.
pub(crate) fn without_measure(name: &str) -> &str {
    let mut end = name.len();
    for (at, _) in name.char_indices().rev().filter(|(_, c)| c.is_whitespace()) {
        let tail = name[at..].trim_matches(|c: char| !c.is_alphanumeric());
        // A year is no size.
        let is_year = tail.len() == 4 && tail.bytes().all(|byte| byte.is_ascii_digit());
        if is_year || name[at..].contains(['%', '°']) || !is_measure(tail) {
            break;
        }
        end = at;
    }
    name[..end].trim_end_matches(|c: char| c.is_whitespace() || "–—-,:(/|".contains(c))
}

/// Whether words before a price are a sentence that leads to it, not a name.
pub(crate) fn is_prose(before: &str, after: &str) -> bool {
    let words = before.split_whitespace().count();
    let folded = fold(before);
    words > NAME_WORDS_MAX
        || PROSE_WORDS.are_in(&folded)
        || (words > 5 && is_sentence(after))
        || SENTENCE_END.is_match(after.trim()) && words > 4
}

/// Whether what follows goes on as a sentence would.
pub(crate) fn is_sentence(after: &str) -> bool {
    let clause = whose::first_clause(after);
    let words =
        clause.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    words > 6 || PROSE_WORDS.are_in(&fold(clause))
}

/// Whether what follows a price is beside the point: nothing, a unit, or a thought after a comma.
pub(crate) fn is_aside(after: &str) -> bool {
    let clause = whose::first_clause(after);
    let trimmed = clause.trim_start();
    trimmed.is_empty()
        || trimmed.starts_with([',', '(', '–', '—', '-', '/', ';'])
        || clause.split_whitespace().count() <= 5
}

patterns! {
    TRAILING: r"(?:^|[\s(:,])(?:prices?|prices start|prices starting|starting|start|starts|preise|tarifs?|from|starting at|starts at|ab|a partir de|des|desde|da|a partire da|od|fra|fran|vanaf|alkaen|nur|now|jetzt|just|ca\.?|approx\.?|fr\.?|f\.o\.m\.?|fr\.o\.m\.?|for|fur|pour|per|por|voor|zum preis von|at|je|de|price|preis|prix|precio|prezzo|prijs|cena|pris|preco|je|a|costs?|kostet|kosten|coute|cuesta|koster|kostar|kosztuje|is|ist|für|um|already|schon|jiz|uz|jen|kun|bara|endast|vain|solo|soltanto|slechts|tylko|apenas|so|all'|entre|between|zwischen|tra|von|to|bis|au prix de)$";
    /// What stands where a price would.
    STAND_IN: r"[\s,:(–-]+(?:voir ardoise|selon ardoise|voir l'ardoise|nach gewicht|nach grosse|by weight|see board|see the board|ask staff|market price|price of the day|daily price|day price|market|mp|m\.p\.|poa|tagespreis|nach tagespreis|zum tagespreis|auf anfrage|preis auf anfrage|selon arrivage|selon le marche|prix du jour|prix du marche|sur demande|sur devis|prezzo del giorno|al kg|s\.q\.|secondo mercato|su richiesta|s/m|segun mercado|precio segun mercado|a consultar|dagprijs|op aanvraag|dagspris|dagens pris|pa forespurgsel|cena dnia|cena na zapytanie|dle denni nabidky|na dotaz|preco do dia|preco ao kg|ao kg|sob consulta|on request|ask|ask us|please ask|tbc|gratis|offerte?s?|gratuite?|kostenlos|umsonst|geht aufs haus|aufs haus|on the house|zdarma|za darmo|gratuit[oa]|in omaggio|offert[oa]|ilmainen|preis siehe tafel|siehe tafel|sur ardoise|zie bord|zie krijtbord|see blackboard|laut tafel)\)?\s*$|\s?[:(–—-]\s*free\)?\s*$";
    ALLERGENS: r"(?:\s*(?:\((?:(?:Allergene?|alergeny|[Aa]llergens|alérgenos|allergènes):?\s?)?(?:[A-Za-z]|\d{1,2}|VG|GF|DF|vg|ve|gf|veg|vegan|Veg)(?:\s?[,/·.&]\s?(?:[A-Za-z]|\d{1,2}|VG|GF|DF|vg|ve|gf))*\)|\[[A-Za-z0-9, /]{1,16}\]|\s(?:VG|GF|DF|V|N|G)(?:[,/ ]+(?:GF|VG|DF|V))*))$|\s+\*+$|\s+[A-Z](?:\s?,\s?[A-Z])+$|\s+(?:\d{1,2},\s?)+\d{1,2}$|[⁴⁵⁶⁷⁸⁹]+$";
    ADDITION: r"\sadd$|(?:^|[,;.]\s)(?:add|ajoutez|anade|aggiungi|voeg toe|dodaj|pridejte|acrescente)\s";
    /// `Latte (with oat milk +0.50)`
    SUPPLEMENT: r"\s*\((?:[^()]{0,40}[^()0-9])?\+\s?[€£$]?\s?\d[^()]{0,12}\)$";
    /// `Soup (9)`
    NOTE: r"\s\(\d{1,2}\)$";
    /// `(v) vegetarian`, `(n): nuts`
    LEGEND: r"\((\p{L}{1,3})\)\s?[=:–-]?\s?(?:\p{L}+ )?\p{L}{3,}";
    /// `(1, 3, 7)`
    NOTES: r"\(\d{1,2}(?:\s?,\s?\d{1,2})+\)";
    NUMBERING: r"^(?:N[rº°]\.?\s?)?\d{1,3}[a-z]?[.)]\s+";
    TOP_LEVEL: r"^\.[a-z]{2,12}$";
    SENTENCE_END: r"^[.!]$";
}

/// The most marks of one line that are read.
const MARKS_MAX: usize = 20;

/// The most words of a measure.
const MEASURE_WORDS_MAX: usize = 10;

/// Longer texts are no names.
const NAME_CHARS_MAX: usize = 100;

/// Names have no more words.
const NAME_WORDS_MAX: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned() {
        let check = |text: &str, expected: &str| assert_eq!(clean_name(text), expected, "{text}");
        check("Torta di grano saraceno ................ ", "Torta di grano saraceno");
        check("Filetti di persico dorati *", "Filetti di persico dorati");
        check("Day pass: ", "Day pass");
        check("Sesja narzeczeńska ........ od ", "Sesja narzeczeńska");
        check("12. Pizza Margherita (A, G)", "Pizza Margherita");
        check("Brushing seul à partir de", "Brushing seul");
        check("Cours particulier (1 h) : ", "Cours particulier (1 h)");
        check("Lemon sole (when landed)", "Lemon sole (when landed)");
    }
}
