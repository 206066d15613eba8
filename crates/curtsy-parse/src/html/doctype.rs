//! Recognises doctypes that select quirks mode (HTML standard §13.2.6.4.1).
//!
//! The mode matters in one place only: in quirks mode a table stays inside its paragraph.

use super::fact::WHITE;

/// Returns whether the text between `<!doctype` and `>` selects quirks mode.
pub(super) fn is_quirky(inside: &str) -> bool {
    identifiers(inside).is_none_or(|(public, system)| {
        system.is_some_and(|system| system.eq_ignore_ascii_case(QUIRKY_SYSTEM))
            || public.is_some_and(|id| is_quirky_public(&id.to_ascii_lowercase(), system.is_some()))
    })
}

/// Returns the public and the system identifier of an `html` doctype, or `None` if it is malformed.
fn identifiers(inside: &str) -> Option<(Option<&str>, Option<&str>)> {
    let rest = inside.trim_start_matches(WHITE);
    let (name, rest) = rest.split_at(rest.find(WHITE).unwrap_or(rest.len()));
    if !name.eq_ignore_ascii_case("html") {
        return None;
    }
    let rest = rest.trim_start_matches(WHITE);
    if rest.is_empty() {
        return Some((None, None));
    }
    let (word, rest) = keyword(rest)?;
    let (first, rest) = quoted(rest)?;
    match (word, rest.trim_start_matches(WHITE)) {
        ("system", _) => Some((None, Some(first))),
        (_, "") => Some((Some(first), None)),
        (_, rest) => Some((Some(first), Some(quoted(rest)?.0))),
    }
}

fn keyword(text: &str) -> Option<(&'static str, &str)> {
    ["public", "system"].into_iter().find_map(|word| {
        let (start, rest) = text.split_at_checked(word.len())?;
        start.eq_ignore_ascii_case(word).then_some((word, rest))
    })
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(WHITE);
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    text[1..].split_once(quote)
}

fn is_quirky_public(public: &str, has_system: bool) -> bool {
    let Some(owned) = public.strip_prefix("-//") else {
        return matches!(public, "-/w3c/dtd html 4.0 transitional/en" | "html");
    };
    let late = ["w3c//dtd html 4.01 frameset//", "w3c//dtd html 4.01 transitional//"];
    owned == "w3o//dtd w3 html strict 3.0//en//"
        || !has_system && late.iter().any(|start| owned.starts_with(start))
        || QUIRKY_PUBLIC_IDS.lines().any(|start| owned.starts_with(start))
}

const QUIRKY_SYSTEM: &str = "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd";

/// Beginnings of public identifiers, after `-//`, that select quirks mode.
const QUIRKY_PUBLIC_IDS: &str = include_str!("quirky_public_ids.txt");
