//! Whether a page shows anything that no page of its host has shown before.
//!
//! Each run of text between two tags is hashed without its numbers and without the words of the
//! page's own URL: calendars, counters and pages that repeat what was requested differ in these
//! only. A known sentence with another name in it is not new either. The words of links promise something about other pages, and don't count either. A page is new if runs with a few words are new. So long common
//! parts don't matter, and a short text of its own is enough. Many numbers count as a text too: a
//! table of measurements has no words.

use curtsy_core::url::CrawlUrl;
use curtsy_parse::content_type::BodyKind;
use curtsy_parse::html::{ShownPart, shown};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::generations::HashGenerations;

/// Words in new runs that make a page new.
const NEW_WORDS: u32 = 3;
/// Words of a run that are compared.
const RUN_WORDS_MAX: usize = 48;
/// Words of a phrase.
const PHRASE_WORDS: usize = 4;
/// Runs of a page that are read.
const RUNS_MAX: u32 = 4_000;
/// Numbers, other than those of calendars and clocks, that make a text.
const NUMBERS_MANY: u32 = 16;
/// Numbers that may distinguish one variant of a thing from another.
const NUMBERS_FEW: u32 = 2;
/// Words of a URL that are compared.
const URL_WORDS_MAX: usize = 64;
/// Bytes of other documents than pages that are compared.
const BODY_BYTES_MAX: usize = 1 << 16;

/// What a page shows that is new on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageNews {
    /// Words, or many numbers.
    Text,
    /// A few numbers: the sizes and the price of another variant, or only a counter.
    Numbers,
    Nothing,
}

/// Adds what a page shows to the texts of its host. Returns what is new.
pub(super) fn news_of(
    texts: &mut HashGenerations,
    url: &CrawlUrl,
    content_type: Option<&str>,
    title: Option<&str>,
    body: &[u8],
) -> PageNews {
    let host = xxh3_64_with_seed(url.host().as_str().as_bytes(), TEXT_SEED);
    if BodyKind::of(content_type, body) != BodyKind::Html {
        let read = &body[..body.len().min(BODY_BYTES_MAX)];
        return match !read.is_empty() && texts.insert(xxh3_64_with_seed(read, host)) {
            true => PageNews::Text,
            false => PageNews::Nothing,
        };
    }
    let mut own = Vec::new();
    words(url.path_and_query().as_bytes(), |word| {
        if own.len() < URL_WORDS_MAX {
            own.push(word.hash());
        }
    });
    let mut page = PageTexts {
        texts,
        host,
        own,
        run: Vec::new(),
        new_words: 0,
        runs: 0,
        numbers: 0,
        figures: host,
    };
    if let Some(title) = title {
        page.run(title.as_bytes());
    }
    shown(body, |shown| match shown {
        ShownPart::Text(text) => page.run(text),
        ShownPart::Image(src) => page.image(src),
    });
    page.news()
}

/// What one page shows.
struct PageTexts<'t> {
    texts: &'t mut HashGenerations,
    host: u64,
    /// Words that do not count: those of the page's URL.
    own: Vec<u64>,
    /// The words of a run; kept for its memory.
    run: Vec<u64>,
    new_words: u32,
    runs: u32,
    numbers: u32,
    /// The hash of all numbers.
    figures: u64,
}

impl PageTexts<'_> {
    fn run(&mut self, text: &[u8]) {
        if self.runs >= RUNS_MAX {
            return;
        }
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        words(text, |word| {
            if self.own.contains(&word.hash()) {
                return;
            }
            match word {
                TextWord::Letters(hash) if run.len() < RUN_WORDS_MAX => run.push(hash),
                TextWord::Letters(_) => {}
                TextWord::Number { text, hash } if is_figure(text) => {
                    self.numbers += 1;
                    self.figures = mix(self.figures, hash);
                }
                TextWord::Number { .. } => {}
            }
        });
        if !run.is_empty() {
            self.runs += 1;
            self.new_words += self.new_words_of(&run);
        }
        self.run = run;
    }

    /// Returns how many words of a run count as new: all, if the run and most of its phrases are.
    /// A known sentence with another name in it has too few new phrases.
    fn new_words_of(&mut self, run: &[u64]) -> u32 {
        let host = self.host;
        let hash = |words: &[u64]| words.iter().fold(host, |hash, word| mix(hash, *word));
        if !self.texts.insert(hash(run)) {
            return 0;
        }
        let phrases = run.windows(PHRASE_WORDS);
        let count = phrases.len();
        let new = phrases.filter(|phrase| self.texts.insert(hash(phrase))).count();
        let is_new = run.len() <= PHRASE_WORDS || new * 5 >= count * 3;
        if is_new { run.len() as u32 } else { 0 }
    }

    fn image(&mut self, src: &[u8]) {
        let path = src.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
        if self.runs < RUNS_MAX && !path.is_empty() {
            self.runs += 1;
            let hash = xxh3_64_with_seed(path, self.host);
            self.new_words += u32::from(self.texts.insert(hash));
        }
    }

    fn news(self) -> PageNews {
        let has_figures = self.numbers >= NUMBERS_FEW && self.texts.insert(self.figures);
        if self.new_words >= NEW_WORDS || has_figures && self.numbers >= NUMBERS_MANY {
            PageNews::Text
        } else if has_figures {
            PageNews::Numbers
        } else {
            PageNews::Nothing
        }
    }
}

/// A word of a text.
#[derive(Clone, Copy)]
enum TextWord<'t> {
    Letters(u64),
    /// A word with a digit.
    Number {
        text: &'t [u8],
        hash: u64,
    },
}

impl TextWord<'_> {
    fn hash(self) -> u64 {
        match self {
            TextWord::Letters(hash) | TextWord::Number { hash, .. } => hash,
        }
    }
}

/// Calls `tell` with each word. Letters are compared without case, and every byte beyond ASCII is a
/// letter.
fn words<'t>(bytes: &'t [u8], mut tell: impl FnMut(TextWord<'t>)) {
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let (start, mut hash, mut digits) = (at, FNV_START, false);
        while let Some(&byte) = bytes.get(at) {
            // `3.2` and `1,024` are one number.
            let joins = matches!(byte, b'.' | b',')
                && bytes[at - 1].is_ascii_digit()
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            let goes_on = is_word(byte) || at > start && joins;
            if !goes_on {
                break;
            }
            digits |= byte.is_ascii_digit();
            hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(FNV_PRIME);
            at += 1;
        }
        tell(match digits {
            false => TextWord::Letters(hash),
            true => TextWord::Number { text: &bytes[start..at], hash },
        });
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Returns whether a number is more than a day, a month, a minute or a year. A number that begins
/// with a zero is probably a part of a date.
fn is_figure(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    if let Some(at) = text.iter().position(|b| matches!(b, b'.' | b',')) {
        let (whole, part) = (&text[..at], &text[at + 1..]);
        return digits(part) && (whole == b"0" || !whole.starts_with(b"0"));
    }
    let number = |n: u32, b: &u8| n.saturating_mul(10).saturating_add(u32::from(b - b'0'));
    digits(text) && !text.starts_with(b"0") && {
        let n = text.iter().fold(0, number);
        n > 59 && !(1_900..=2_100).contains(&n)
    }
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b).wrapping_mul(FNV_PRIME).rotate_left(23)
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const TEXT_SEED: u64 = 6;

#[cfg(test)]
mod tests {
    use super::{PageNews, news_of};
    use crate::discover::hashes::Folding;
    use crate::discover::worth::generations::HashGenerations;
    use curtsy_core::url::CrawlUrl;

    /// Which of these pages, each at its own path, show something new: `+`, `#` or `-`.
    fn check(pages: &[(&str, &str)], expected: &str) {
        let mut texts = HashGenerations::new(1_000, Folding::new());
        let said: String = pages
            .iter()
            .map(|(path, body)| {
                let url = CrawlUrl::parse(&format!("http://a.org{path}")).unwrap();
                let html = format!("<html><body><h1>Our house</h1>{body}</body></html>");
                match news_of(&mut texts, &url, Some("text/html"), None, html.as_bytes()) {
                    PageNews::Text => '+',
                    PageNews::Numbers => '#',
                    PageNews::Nothing => '-',
                }
            })
            .collect();
        assert_eq!(said, expected, "{pages:?}");
    }

    #[test]
    fn numbers_dates_and_echoes_are_nothing_new() {
        check(&[("/1", "<p>page one of us, 1"), ("/2", "<p>page one of us, 2")], "+-");
        check(&[("/kiwi", "<p>no page of name kiwi"), ("/plum", "<p>no page of name plum")], "+-");
        check(
            &[
                ("/a", "<p>it is empty <a href=/zonk>zonk</a>"),
                ("/b", "<p>it is empty <a href=/plim>plim</a> <a href=/plom>plom</a>"),
            ],
            "+-",
        );
        check(
            &[("/a", "<p>made at 12:31 in 0.042 s"), ("/b", "<p>made at 12:32 in 0.571 s")],
            "+-",
        );
        check(&[("/a", "<p>one two three"), ("/b", "<b>one two three</b>")], "+-");
        let edited =
            |name: &str| format!("<p>This is a revision of this page, as edited by {name}.");
        check(&[("/a", &edited("Ann Lee")), ("/b", &edited("Bo Kent"))], "+-");
    }

    #[test]
    fn a_short_text_of_its_own_is_enough() {
        check(
            &[("/1", "<p>a blue vase"), ("/2", "<p>a red vase"), ("/3", "<p>a blue vase")],
            "++-",
        );
        check(&[("/1", "<img src=1.png>"), ("/2", "<img src=2.png>")], "+-");
        let part = |n: u32| format!("<p>a part of size {n} x 71 x 98, price {n}.50");
        check(&[("/1", &part(61)), ("/2", &part(62)), ("/3", &part(61))], "+#-");
        let table =
            |n: u32| (0..20).map(|k| format!("<td>{}.{k}", n * 100 + k)).collect::<String>();
        check(&[("/1", &table(1)), ("/2", &table(2)), ("/3", &table(1))], "++-");
    }
}
