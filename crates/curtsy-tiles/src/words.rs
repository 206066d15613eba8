//! Word lists: `data/words.txt` holds the words and phrases, and a [`Words`] finds them in texts.
//!
//! [`lists`] reads the files in `data`: lines of `NAME: entry, entry, …`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// A list of folded words and phrases to look for. An entry that ends in `*` matches longer words.
pub(crate) struct Words {
    inside: Regex,
    whole: Regex,
    start: Regex,
}

impl Words {
    /// Compiles a list. Entries match whole words only.
    pub(crate) fn new<'e>(entries: impl IntoIterator<Item = &'e str>) -> Words {
        let pattern = |entry: &str| match entry.strip_suffix('*') {
            Some(stem) => format!("{}[a-z0-9]*", regex::escape(stem)),
            None => regex::escape(entry),
        };
        let any = entries.into_iter().map(pattern).collect::<Vec<_>>().join("|");
        let made = |pattern: String| Regex::new(&pattern).expect("entries are escaped");
        Words {
            inside: made(format!("(?:^|[^a-z0-9])(?:{any})(?:$|[^a-z0-9])")),
            whole: made(format!("^(?:{any})$")),
            start: made(format!("^(?:{any})(?:$|[^a-z0-9])")),
        }
    }

    /// Whether a folded text contains an entry.
    pub(crate) fn are_in(&self, folded: &str) -> bool {
        self.inside.is_match(folded)
    }

    /// The position of the first entry in a folded text.
    pub(crate) fn find(&self, folded: &str) -> Option<usize> {
        self.inside.find(folded).map(|found| found.start())
    }

    /// Whether a folded text begins with an entry.
    pub(crate) fn begin(&self, folded: &str) -> bool {
        self.start.is_match(folded)
    }

    /// Whether a folded text is one of the entries.
    pub(crate) fn are(&self, folded: &str) -> bool {
        self.whole.is_match(folded)
    }
}

/// The lists of a data file, by name. Indented lines continue the line above; lines that start with
/// `#` are comments.
pub(crate) fn lists(file: &'static str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let (own, entries) =
            line.split_once(": ").filter(|_| !line.starts_with(' ')).unwrap_or((name, line));
        name = own;
        let entries = entries.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        lists.entry(name).or_default().extend(entries);
    }
    lists.remove("");
    lists
}

static LISTS: LazyLock<BTreeMap<&str, Vec<&str>>> =
    LazyLock::new(|| lists(include_str!("../data/words.txt")));

/// Declares the lists of `data/words.txt`. Each is compiled on first use.
macro_rules! words {
    ($($name:ident)*) => {
        $(pub(crate) static $name: LazyLock<Words> =
            LazyLock::new(|| Words::new(LISTS[stringify!($name)].iter().copied()));)*

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Declares regular expressions. Each is compiled on first use.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident: $pattern:expr;)*) => {
        $($(#[$doc])* pub(crate) static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new(&$pattern).expect("a constant pattern"));)*
    };
}
pub(crate) use patterns;

words! {
    MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY AMBIGUOUS_DAY LEADS_TO TOWN_SMALL
    FRONT_PATH PUBLIC_MAIL GOES_ON PHONE FAX REGISTER STREET PART_OF_HOUSE OLD_HOUSE BUILDING PO_BOX
    NO_STREET NO_TOWN COUNTY ABBREVIATIONS MAKERS NEIGHBOURS NOT_US THE_OTHER OUR_VOICE CALL LABELS
    HOURS NOT_HOURS TRAFFIC MONTHS BREAK HOLIDAYS SPARE TO AND CLOSED OPEN LATE FILLER TERMS IMPRINT
    NEWS FAQ CONTACT MENU SHOP PRICING SERVICES ABOUT OTHER_MATTER OPTION_CLASS DELIVERY_HEAD
    AREA_HEAD MINIMUM_HEAD PRICE_HEAD BILLED PER_PIECE PRICE_NOTE OTHER_NUMBERS GENERIC_HEAD
    SIZE_HEAD SMALLER IN_BRACKETS VOLUME PRICE_CLASS MEAL OLD NO_PRICE THRESHOLD NO_PRICE_AFTER
    NO_PRICE_BELOW DIETS NO_NAME NO_NAME_ALONE LABEL_ONLY PROSE_WORDS MEASURES AGES SEASONS OR
    SHOP_CLASS STARTERS_OR_TICKETS FEE VOUCHER GOODS_TRADE SERVICE_TRADE COURSES COURSE_ALONE BASKET
    GOODS TAUGHT PRICED_SERVICE EATERY FOOD PER ALL_PRICES HOURLY RECURRING NOT_DISH SET_MENU
    FOR_ALL EVENTS NOT_SERVICES INVITATION COMMON GENERIC_NAME FENCE_ELEMENT TITLE_CLASS
    HIDING_CLASS KEPT_ATTRIBUTE FAQ_CLASS FRACTION_CLASS OLD_PRICE_CLASS DESCRIPTION_CLASS
    NAME_CLASS NAV_CLASS FOOTER_CLASS QUOTE_CLASS POST_CLASS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::fold;

    #[test]
    fn every_list_of_the_file_is_declared_folded_and_without_duplicates() {
        assert!(LISTS.keys().eq(NAMES.iter().collect::<std::collections::BTreeSet<_>>()));
        for (name, entries) in &*LISTS {
            for (at, entry) in entries.iter().enumerate() {
                assert_eq!(*entry, fold(entry), "{name}: a text is folded before it is compared");
                assert!(!entries[..at].contains(entry), "{name}: `{entry}` is there twice");
            }
        }
    }

    #[test]
    fn words_are_whole_words() {
        let words = Words::new(["fax", "tele*", "no answer"]);
        assert!(words.are_in("a fax: 1") && words.are_in("telefax") && words.are_in("(no answer)"));
        assert!(!words.are_in("faxes") && !words.are_in("stele"));
        assert!(
            words.begin("fax 1")
                && !words.begin("a fax")
                && words.are("telefon")
                && !words.are("fax 1")
        );
        let nested = Words::new(["price", "price now"]);
        assert!(nested.are("price now") && nested.are("price"));
    }
}
