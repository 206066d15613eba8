//! What is a page about? By its path, its headings and its title.

use crate::plain::fold;
use crate::words::{
    ABOUT, CONTACT, FAQ, FRONT_PATH, IMPRINT, MENU, NEWS, PRICING, SERVICES, SHOP, TERMS, Words,
    patterns,
};

/// What a page is about, as far as it matters for which facts may stand on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The front page.
    Home,
    /// How to reach the business.
    Contact,
    /// Who is responsible for the site: imprint, legal notice.
    Imprint,
    /// Privacy, terms: other people's addresses, conditions, fees that nobody asks for.
    Terms,
    /// News, blog, press, events, jobs, reviews, links: facts of others and of other times.
    News,
    /// Food and drinks.
    Menu,
    /// What things cost.
    Pricing,
    /// Goods.
    Shop,
    /// What the business does.
    Services,
    /// Questions and answers.
    Faq,
    /// Who the business is.
    About,
    /// Something else.
    Other,
}

/// Decides about a page. `path` is as in its URL, `title` and `heading` as a reader sees them.
pub(crate) fn topic(path: &str, title: &str, heading: &str) -> Topic {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let words_of_path = fold(&path.replace(['/', '-', '_', '.'], " "));
    let trimmed = path.trim_matches('/').to_ascii_lowercase();
    let is_front = trimmed.is_empty() || FRONT_PATH.are(&trimmed);
    if is_front {
        return Topic::Home;
    }
    // A post's path has its date.
    if DATED.is_match(path) {
        return Topic::News;
    }
    // The site's own name is in most titles: what comes first in it says more.
    let title = title.split(['|', '–', '—', '·', '«', '»']).next().unwrap_or(title);
    for text in [words_of_path.trim(), &fold(heading), &fold(title)] {
        if let Some((_, topic)) = table().into_iter().find(|(words, _)| words.are_in(text)) {
            return topic;
        }
    }
    Topic::Other
}

fn table() -> [(&'static Words, Topic); 10] {
    [
        (&TERMS, Topic::Terms),
        (&IMPRINT, Topic::Imprint),
        (&NEWS, Topic::News),
        (&FAQ, Topic::Faq),
        (&CONTACT, Topic::Contact),
        (&MENU, Topic::Menu),
        (&SHOP, Topic::Shop),
        (&PRICING, Topic::Pricing),
        (&SERVICES, Topic::Services),
        (&ABOUT, Topic::About),
    ]
}

patterns! {
    DATED: r"/(?:19|20)\d\d/(?:\d\d?/|[a-z])";
}

/// The language of a folded text by its small words, if there are enough of them.
pub(crate) fn language(folded: &str) -> Option<&'static str> {
    let mut counts = [0usize; SMALL_WORDS.len()];
    for word in folded.split(|c: char| !c.is_alphabetic()).take(LANGUAGE_WORDS_MAX) {
        for (count, (_, words)) in counts.iter_mut().zip(SMALL_WORDS) {
            *count += usize::from(words.contains(&word));
        }
    }
    let (best, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    (*count >= 5).then_some(SMALL_WORDS[best].0)
}

#[rustfmt::skip]
const SMALL_WORDS: [(&str, &[&str]); 13] = [
    ("en", &["the", "and", "of", "with", "our", "for", "you", "your", "is", "are", "from", "we"]),
    ("de", &["und", "der", "die", "das", "mit", "fur", "wir", "ist", "bei", "von", "sie", "ihr", "uhr"]),
    ("fr", &["et", "le", "les", "des", "vous", "nous", "du", "avec", "pour", "est", "votre", "sur", "une"]),
    ("es", &["y", "el", "los", "las", "con", "para", "por", "una", "nuestro", "su", "del", "nuestra", "es"]),
    ("it", &["il", "di", "e", "per", "con", "della", "che", "gli", "alla", "sono", "dal", "nostro", "nel"]),
    ("nl", &["de", "het", "een", "en", "van", "voor", "met", "wij", "ons", "onze", "bij", "uw", "zijn"]),
    ("pt", &["e", "o", "os", "das", "dos", "com", "para", "uma", "nosso", "nossa", "por", "ao", "nao"]),
    ("pl", &["i", "w", "na", "z", "do", "oraz", "sie", "dla", "nasze", "jest", "od", "lub", "nie"]),
    ("sv", &["och", "att", "vi", "med", "for", "av", "ar", "till", "som", "pa", "din", "hos", "eller"]),
    ("da", &["og", "at", "vi", "med", "for", "af", "er", "til", "som", "pa", "din", "hos", "eller"]),
    ("nb", &["og", "vi", "med", "for", "av", "er", "til", "som", "pa", "din", "hos", "eller", "ikke"]),
    ("cs", &["a", "v", "na", "se", "pro", "je", "nase", "nas", "jsme", "od", "nebo", "vam", "ve"]),
    ("fi", &["ja", "on", "tai", "ovat", "meidan", "sekä", "myos", "kanssa", "mukaan", "avoinna", "teille", "olemme", "me"]),
];

/// More words of a page are not looked at to know its language.
const LANGUAGE_WORDS_MAX: usize = 3_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_path_heading_and_title() {
        let check = |path: &str, title: &str, heading: &str, expected: Topic| {
            assert_eq!(topic(path, title, heading), expected, "{path} {title} {heading}")
        };
        check("/", "Menu of the day", "", Topic::Home);
        check("/la-carta/", "", "", Topic::Menu);
        check("/impressum.html", "", "", Topic::Imprint);
        check("/mentions-legales", "", "", Topic::Imprint);
        check("/p/3", "", "Häufige Fragen", Topic::Faq);
        check("/x", "Kontakt – Praxis", "Willkommen", Topic::Contact);
        check("/x", "x", "x", Topic::Other);
    }

    #[test]
    fn languages_by_small_words() {
        assert_eq!(
            language("wir sind fur sie da und das mit der besten laune von allen"),
            Some("de")
        );
        assert_eq!(language("a b c"), None);
    }
}
