//! Reads the robots rules of `X-Robots-Tag` and of `meta` elements, which share one grammar.
//!
//! There is no standard, only the descriptions of the large crawlers. This reader takes the politer
//! reading:
//!
//! - rules add up: over lines, over elements, over general rules and those under our name; the
//!   stricter of two wins;
//! - a name and a colon apply to what follows, up to the next name: `otherbot: noindex, curtsy:
//!   nofollow`. The whole name is compared, without case; `*` and `robots` mean every crawler;
//! - rules may be separated by white space or semicolons as well as by commas;
//! - an unreadable date drops its `unavailable_after` only.
//!
//! Rules without a meaning for a crawler (`noai`, `noimageai`) are kept by name in
//! [`RobotsRules::other`]. The caller keeps the raw text as evidence.

use super::{OWS, any_date};
use crate::time::Time;

/// The robots rules for us on one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsRules {
    /// Search results must not show the page.
    pub noindex: bool,
    /// The links of the page must not be followed.
    pub nofollow: bool,
    /// No copy of the page may be offered.
    pub noarchive: bool,
    /// No text of the page may be quoted.
    pub nosnippet: bool,
    /// The images of the page must not be indexed.
    pub noimageindex: bool,
    /// No translation may be offered.
    pub notranslate: bool,
    /// The page may be indexed where it is embedded, even with `noindex`.
    pub indexifembedded: bool,
    /// From this time on the page counts as `noindex`, in Unix seconds.
    pub unavailable_after: Option<i64>,
    /// The number of characters that may be quoted; -1 is no limit.
    pub max_snippet: Option<i64>,
    /// The seconds of video that may be shown; -1 is no limit.
    pub max_video_preview: Option<i64>,
    /// The largest image that may be shown.
    pub max_image_preview: Option<ImagePreview>,
    /// All other rules, in lower case, each once.
    pub other: Vec<String>,
}

crate::word_enum! {
    /// The size of an image in search results, the strictest first.
    pub enum ImagePreview {
        /// None at all.
        None = "none",
        /// A small one.
        Standard = "standard",
        /// A large one.
        Large = "large",
    }
}

impl RobotsRules {
    /// Adds one `X-Robots-Tag` line. `agent` is our product token; `now` determines the century of
    /// a date with two digits.
    ///
    /// ```
    /// use curtsy_core::{headers::RobotsRules, time::Time};
    /// let now = Time::from_secs(1_715_000_000);
    /// let mut rules = RobotsRules::default();
    /// rules.add_header("noarchive, otherbot: noindex, Curtsy: nofollow", "curtsy", now);
    /// assert!(rules.noarchive && rules.nofollow && !rules.noindex);
    /// ```
    pub fn add_header(&mut self, line: &str, agent: &str, now: Time) {
        let now = i64::try_from(now.secs()).unwrap_or(i64::MAX);
        let mut rest = line;
        let mut ours = true;
        for _ in 0..RULES_MAX {
            rest = rest.trim_start_matches([' ', '\t', ',', ';']);
            if rest.is_empty() {
                return;
            }
            let item = &rest[..rest.find(',').unwrap_or(rest.len())];
            let Some((name, value)) = item.split_once(':') else {
                if ours {
                    item.split([' ', '\t', ';']).for_each(|word| self.add_word(word));
                }
                rest = &rest[item.len()..];
                continue;
            };
            // Words may precede a name without a comma: `noindex curtsy: nofollow`.
            let (before, name) = match name.trim_matches(OWS).rsplit_once([' ', '\t', ';']) {
                Some((before, name)) => (before, name),
                None => ("", name.trim_matches(OWS)),
            };
            if ours {
                before.split([' ', '\t', ';']).for_each(|word| self.add_word(word));
            }
            let after = &rest[item.len() - value.len()..];
            let name = name.to_ascii_lowercase();
            if name == "unavailable_after" {
                let (date, length) = leading_date(after, now);
                if ours && let Some(date) = date {
                    self.unavailable_after =
                        Some(self.unavailable_after.map_or(date, |d| d.min(date)));
                }
                rest = &after[length..];
            } else if name.starts_with("max-") {
                if ours {
                    self.add_limit(&name, value.trim_matches(OWS));
                }
                rest = &after[value.len()..];
            } else {
                ours = matches!(name.as_str(), "" | "*" | "robots")
                    || name.eq_ignore_ascii_case(agent);
                rest = after;
            }
        }
    }

    /// Adds one `meta` element by its `name` and `content`. `robots` is for every crawler, our own
    /// name for us.
    pub fn add_meta(&mut self, name: &str, content: &str, agent: &str, now: Time) {
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent) {
            self.add_header(content, agent, now);
        }
    }

    /// Returns whether the page counts as `noindex` because its time is over.
    pub fn expired(&self, now: Time) -> bool {
        let now = i64::try_from(now.secs()).unwrap_or(i64::MAX);
        self.unavailable_after.is_some_and(|after| after < now)
    }

    fn add_word(&mut self, word: &str) {
        match word.to_ascii_lowercase().as_str() {
            // These are the defaults.
            "" | "all" | "index" | "follow" | "archive" | "snippet" => {}
            "noindex" => self.noindex = true,
            "nofollow" => self.nofollow = true,
            "none" => (self.noindex, self.nofollow) = (true, true),
            // `nocache` is Bing's name for the same rule.
            "noarchive" | "nocache" => self.noarchive = true,
            "nosnippet" => self.nosnippet = true,
            "noimageindex" => self.noimageindex = true,
            "notranslate" => self.notranslate = true,
            "indexifembedded" => self.indexifembedded = true,
            other => self.keep(other),
        }
    }

    fn add_limit(&mut self, name: &str, value: &str) {
        let value = value.to_ascii_lowercase();
        let preview = match value.as_str() {
            "none" => Some(ImagePreview::None),
            "standard" => Some(ImagePreview::Standard),
            "large" => Some(ImagePreview::Large),
            _ => None,
        };
        let number = value.parse::<i64>().ok().filter(|&n| n >= -1 && !value.starts_with('+'));
        match (name, preview, number) {
            ("max-image-preview", Some(size), _) => {
                self.max_image_preview = Some(self.max_image_preview.map_or(size, |s| s.min(size)));
            }
            ("max-snippet", _, Some(n)) => self.max_snippet = Some(stricter(self.max_snippet, n)),
            ("max-video-preview", _, Some(n)) => {
                self.max_video_preview = Some(stricter(self.max_video_preview, n));
            }
            ("max-image-preview" | "max-snippet" | "max-video-preview", ..) => {}
            _ => self.keep(&format!("{name}: {value}")),
        }
    }

    fn keep(&mut self, rule: &str) {
        let rule: String = rule.chars().take(OTHER_CHARS_MAX).collect();
        if self.other.len() < OTHERS_MAX && !self.other.contains(&rule) {
            self.other.push(rule);
        }
    }
}

/// Returns the smaller limit, where -1 means none.
fn stricter(old: Option<i64>, new: i64) -> i64 {
    match old {
        Some(old) if new == -1 || (0..new).contains(&old) => old,
        _ => new,
    }
}

/// Reads a date at the start of a text, in which commas may be part of the date, and returns it
/// with its length. Without a date, the length is that of the text up to the first comma.
fn leading_date(text: &str, now: i64) -> (Option<i64>, usize) {
    let commas = text.match_indices(',').map(|(at, _)| at).chain([text.len()]);
    let mut first = None;
    for end in commas.take(DATE_COMMAS_MAX) {
        first.get_or_insert(end);
        if let Some(date) = any_date(text[..end].trim_matches(OWS), now) {
            return (Some(date), end);
        }
    }
    (None, first.unwrap_or(text.len()))
}

/// Limit of the rules and names of one line.
pub(crate) const RULES_MAX: usize = 256;
/// Limit of the unknown rules that are kept.
const OTHERS_MAX: usize = 32;
/// The length to which unknown rules are cut.
const OTHER_CHARS_MAX: usize = 64;
/// Limit of the parts of a date between commas.
const DATE_COMMAS_MAX: usize = 4;
