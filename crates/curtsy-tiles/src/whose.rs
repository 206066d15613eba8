//! Decides whether a number or an address in a text belongs to the business.
//!
//! The words before it decide. A label (`Tel.`), the business's name or its own voice (`call us`)
//! speak for the business; another name, an agency, an authority, a quotation or news against it.

use crate::plain::fold;
use crate::site::{SitePage, SitePages};
use crate::topic::Topic;
use crate::words::{
    ABBREVIATIONS, CALL, LABELS, MAKERS, NEIGHBOURS, NOT_US, OTHER_MATTER, OUR_VOICE, THE_OTHER,
    patterns,
};

/// Who a fact belongs to, as far as its surroundings say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The business: it stands in a place for its contacts, after a label or its name.
    Business,
    /// Nobody says: a name or words that are not understood stand before it.
    Unclear,
    /// Somebody else.
    Other,
}

/// Decides about a text in a line by the texts `before` and `after` it.
pub(crate) fn owner(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    line: usize,
    before: &str,
    after: &str,
) -> Owner {
    let own = &page.lines.all[line];
    if own.part.quote || own.part.form || (own.part.post && !own.part.footer) {
        return Owner::Other;
    }
    let in_frame = own.part.footer || own.part.header;
    if matches!(page.topic, Topic::News | Topic::Terms) && !in_frame {
        return Owner::Other;
    }
    for heading in page.headings(line) {
        let folded = &page.lines.all[heading].folded;
        if OTHER_MATTER.are_in(folded) || (MAKERS.are_in(folded) && !site.is_named_in(folded)) {
            return Owner::Other;
        }
    }
    // Lines above in the same paragraph say whose the whole is: `Hosting:`, then a name, then this.
    let start = page.lines.paragraph_start(line);
    for above in &page.lines.all[start..line] {
        if is_others(&above.folded) && !site.is_named_in(&above.folded) {
            return Owner::Other;
        }
    }
    // The maker of the site precedes the number, in any clause: `Site: Grackle Digital · 512 555
    // 0111`.
    if MADE_BY.find(before).is_some_and(|found| !site.is_named_in(&fold(&before[found.start()..])))
    {
        return Owner::Other;
    }
    // What happens on a day, at somebody's.
    if own.text.chars().count() > 60 && crate::payable::DATE.is_match(&own.folded) && !in_frame {
        return Owner::Other;
    }
    let clause = last_clause(before);
    let folded = fold(clause);
    let folded_after = fold(first_clause(after));
    if is_others(&folded) && !site.is_named_in(&folded)
        || MAKERS.are_in(&folded)
        || NOT_US.are_in(&folded)
        || NOT_US.are_in(&folded_after)
        || THE_OTHER.are_in(&folded)
    {
        return Owner::Other;
    }
    if leads_elsewhere(site, page, line) {
        return Owner::Other;
    }
    strangers(site, clause, &folded)
}

/// Whether the line has a link to another site before all else: what follows is about that site.
fn leads_elsewhere(site: &SitePages<'_>, page: &SitePage<'_>, line: usize) -> bool {
    let own = &page.lines.all[line];
    let links = own
        .pieces
        .iter()
        // A link whose text is a number leads to the owner of that number.
        .filter(|piece| own.text[piece.at.clone()].chars().any(char::is_alphabetic))
        .filter_map(|piece| piece.style.link)
        .filter_map(|link| page.tree.attribute(link, "href"));
    links.filter(|href| href.starts_with("http://") || href.starts_with("https://")).any(|href| {
        let host = href
            .split("//")
            .nth(1)
            .unwrap_or_default()
            .split(['/', '?', '#'])
            .next()
            .unwrap_or_default();
        let host = host.trim_start_matches("www.");
        host != site.domain && !MAPS.iter().any(|maps| host.contains(maps))
    })
}

/// By the words before it that are neither labels nor the business's own.
fn strangers(site: &SitePages<'_>, clause: &str, folded: &str) -> Owner {
    let is_known = |word: &str| {
        let word = fold(word);
        word.len() < 2
            || word.chars().any(|c| c.is_ascii_digit())
            || LABELS.are(&word)
            || CALL.are(&word)
            || site.name_words.contains(&word)
    };
    let words: Vec<&str> = clause
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .collect();
    let strange: Vec<&str> = words.iter().copied().filter(|word| !is_known(word)).collect();
    if strange.is_empty() || site.is_named_in(folded) {
        return Owner::Business;
    }
    if LEGAL_FORM.is_match(clause) || OUR_SOMEBODY.is_match(clause) {
        return Owner::Other;
    }
    let is_name = |word: &&&str| word.chars().next().is_some_and(char::is_uppercase);
    let names = strange.iter().filter(is_name).count();
    // A name before brackets owns what is in them.
    if names >= 2 && clause.contains('(') {
        return Owner::Other;
    }
    if OUR_VOICE.are_in(folded) {
        return Owner::Business;
    }
    // `Direct line`, `Atelier`: a few words, none of them a name.
    let names_inside = words.iter().skip(1).filter(is_name).filter(|word| !is_known(word)).count();
    if words.len() <= 4 && names_inside == 0 && !clause.contains('(') {
        return Owner::Business;
    }
    // `Workshop:`, `Killarney office:`, `Call Tamsin on`: a word or two that lead to it.
    let is_label = strange.len() <= 2
        && names_inside < 2
        && (clause.trim_end().ends_with([':', '–', '-', '('])
            || LABELS.are_in(folded)
            || CALL.are_in(folded));
    if is_label && !clause.trim_end().ends_with('(') {
        return Owner::Business;
    }
    if CALL.are_in(folded) && names <= 1 { Owner::Business } else { Owner::Unclear }
}

/// What stands before in the same thought: since the last sentence, bar or bullet.
pub(crate) fn last_clause(before: &str) -> &str {
    let mut start = 0;
    let chars: Vec<(usize, char)> = before.char_indices().collect();
    for (number, &(at, c)) in chars.iter().enumerate() {
        let next_is_space = chars.get(number + 1).is_none_or(|(_, next)| next.is_whitespace());
        let ends = match c {
            '|' | '•' | '·' | '\n' => true,
            '!' | '?' | ';' => next_is_space,
            // `Tel.`, `St.`, `Dr.` end no sentence: the word before has to be longer, or a number.
            '.' => {
                next_is_space && !goes_on_small(&before[at + 1..]) && ends_sentence(&before[..at])
            }
            _ => false,
        };
        if ends && number + 1 < chars.len() {
            start = at + c.len_utf8();
        }
    }
    &before[start..]
}

/// What stands after in the same thought.
pub(crate) fn first_clause(after: &str) -> &str {
    let next_is_space = |at: usize| after[at + 1..].chars().next().is_none_or(char::is_whitespace);
    let end = after.char_indices().find(|&(at, c)| {
        matches!(c, '|' | '•' | '·' | '\n' | ';' | '!' | '?')
            || (c == '.'
                && next_is_space(at)
                && !goes_on_small(&after[at + 1..])
                && ends_sentence(&after[..at]))
    });
    end.map_or(after, |(at, _)| &after[..at])
}

/// A dot before a small letter ends no sentence: `40 kr. pr. dag`.
fn goes_on_small(rest: &str) -> bool {
    rest.trim_start().chars().next().is_some_and(char::is_lowercase)
}

fn ends_sentence(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let folded = fold(word);
    if ABBREVIATIONS.are(&folded) || folded.ends_with("str") {
        return false;
    }
    let is_word =
        letters >= 4 || (letters >= 2 && word.chars().next().is_some_and(char::is_lowercase));
    is_word || word.ends_with([')', '"', '”', '»']) || word.ends_with(|c: char| c.is_ascii_digit())
}

patterns! {
    /// Who made the site, after a colon: a name, not an address on the web.
    MADE_BY: r"(?:^|[^\p{L}])(?i:site|website|web|webseite|sito|sito web|sitio|strona|webbplats|hjemmeside|theme|tema|thema|design)\s?:\s?\p{Lu}[\p{L}&' ]*(?:$|[^\p{L}&' .]|\s*\.\s)";
    /// `Our accountants are Sums & Co`: somebody who works for the business.
    OUR_SOMEBODY: r"(?i:our|my|unsere?|notre|nos|nuestr[oa]s?|nostr[oaie]|onze|vår[at]?|vores|nasz[ea]?|noss[oa]s?|náš|naše)\s[\p{L}-]+\s(?:is|are|ist|sind|est|sont|es|son|è|sono|zijn|är|er|jest|są|é|são|je|jsou)\s\p{Lu}";
    /// The end of another firm's name.
    LEGAL_FORM: r"\p{Lu}[\p{L}&'-]+\s(?:GmbH|AG|KG|OHG|UG|Ltd|LLC|LLP|Inc|Corp|plc|SARL|SAS|SA|EURL|S\.?r\.?l|S\.?p\.?A|SL|S\.L|Lda|B\.?V|N\.?V|AB|ApS|A/S|AS|s\.?r\.?o|sp\. z|Oy)(?:$|[^\p{L}])";
}

/// Whether a folded text speaks of somebody else.
pub(crate) fn is_others(folded: &str) -> bool {
    MAKERS.are_in(folded) || NEIGHBOURS.are_in(folded)
}

/// Maps are about the place itself.
const MAPS: [&str; 6] = ["google.", "goo.gl", "openstreetmap", "apple.com", "wa.me", "whatsapp"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_end_with_sentences_and_bars() {
        assert_eq!(last_clause("© 2021 Mèche Rebelle. Tél. "), " Tél. ");
        assert_eq!(
            last_clause("NIP 956 | Wykonanie strony: PikselArt, tel. "),
            " Wykonanie strony: PikselArt, tel. "
        );
        assert_eq!(last_clause("Dr. Brook, St. Pauli, Tel. "), "Dr. Brook, St. Pauli, Tel. ");
        assert_eq!(first_clause(" or write. Then wait."), " or write");
    }
}
