//! Is it a page from the time before standards? A doctype that asks for "quirks mode" (HTML standard §13.2.6.4.1).
//!
//! It matters in one place only: in quirks mode a table stays inside the paragraph that it stands in.

/// Judges what stands between `<!doctype` and `>`.
pub(super) fn is_quirky(inside: &str) -> bool {
    let rest = inside.trim_start_matches(WHITE);
    let (name, rest) = rest.split_at(rest.find(WHITE).unwrap_or(rest.len()));
    if !name.eq_ignore_ascii_case("html") {
        return true;
    }
    let rest = rest.trim_start_matches(WHITE);
    if rest.is_empty() {
        return false;
    }
    let (public, system) = match keyword(rest) {
        Some(("public", rest)) => {
            let Some((public, rest)) = quoted(rest) else {
                return true;
            };
            let rest = rest.trim_start_matches(WHITE);
            match (rest.is_empty(), quoted(rest)) {
                (true, _) => (Some(public), None),
                (false, Some((system, _))) => (Some(public), Some(system)),
                (false, None) => return true,
            }
        }
        Some((_, rest)) => match quoted(rest) {
            Some((system, _)) => (None, Some(system)),
            None => return true,
        },
        None => return true,
    };
    system.is_some_and(|system| system.eq_ignore_ascii_case(QUIRKY_SYSTEM))
        || public
            .is_some_and(|public| is_quirky_public(&public.to_ascii_lowercase(), system.is_some()))
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
    if owned == "w3o//dtd w3 html strict 3.0//en//" {
        return true;
    }
    let Some((owner, rest)) = owned.split_once("//dtd ") else {
        return false;
    };
    let has_start = |titles: &[&str]| {
        titles
            .iter()
            .any(|title| rest.strip_prefix(title).is_some_and(|rest| rest.starts_with("//")))
    };
    let late = ["html 4.01 frameset", "html 4.01 transitional"];
    owner == "w3c" && !has_system && has_start(&late)
        || QUIRKY_PUBLIC.iter().any(|(name, titles)| *name == owner && has_start(titles))
}

const WHITE: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];

const QUIRKY_SYSTEM: &str = "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd";

/// Owners, and the beginnings of the names of their document types.
const QUIRKY_PUBLIC: &[(&str, &[&str])] = &[
    ("advasoft ltd", &["html 3.0 aswedit + extensions"]),
    ("as", &["html 3.0 aswedit + extensions"]),
    (
        "ietf",
        &[
            "html 2.0 level 1",
            "html 2.0 level 2",
            "html 2.0 strict level 1",
            "html 2.0 strict level 2",
            "html 2.0 strict",
            "html 2.0",
            "html 2.1e",
            "html 3.0",
            "html 3.2 final",
            "html 3.2",
            "html 3",
            "html level 0",
            "html level 1",
            "html level 2",
            "html level 3",
            "html strict level 0",
            "html strict level 1",
            "html strict level 2",
            "html strict level 3",
            "html strict",
            "html",
        ],
    ),
    ("metrius", &["metrius presentational"]),
    (
        "microsoft",
        &[
            "internet explorer 2.0 html strict",
            "internet explorer 2.0 html",
            "internet explorer 2.0 tables",
            "internet explorer 3.0 html strict",
            "internet explorer 3.0 html",
            "internet explorer 3.0 tables",
        ],
    ),
    ("netscape comm. corp.", &["html", "strict html"]),
    ("o'reilly and associates", &["html 2.0", "html extended 1.0", "html extended relaxed 1.0"]),
    ("softquad software", &["hotmetal pro 6.0::19990601::extensions to html 4.0"]),
    ("softquad", &["hotmetal pro 4.0::19971010::extensions to html 4.0"]),
    ("spyglass", &["html 2.0 extended"]),
    ("sq", &["html 2.0 hotmetal + extensions"]),
    ("sun microsystems corp.", &["hotjava html", "hotjava strict html"]),
    (
        "w3c",
        &[
            "html 3 1995-03-24",
            "html 3.2 draft",
            "html 3.2 final",
            "html 3.2",
            "html 3.2s draft",
            "html 4.0 frameset",
            "html 4.0 transitional",
            "html experimental 19960712",
            "html experimental 970421",
            "w3 html",
        ],
    ),
    ("w3o", &["w3 html 3.0"]),
    ("webtechs", &["mozilla html 2.0", "mozilla html"]),
];
