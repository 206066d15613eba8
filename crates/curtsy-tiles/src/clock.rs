//! Splits texts about opening hours into tokens: weekdays, times and small words of Europe's
//! languages.
//!
//! A text becomes a row of [`HoursToken`]s; `hours` reads their meaning together.

use std::sync::LazyLock;

use regex::Regex;

use crate::plain::fold;
use crate::words::{
    AMBIGUOUS_DAY, AND, CLOSED, FILLER, FRIDAY, LATE, MONDAY, OPEN, SATURDAY, SUNDAY, THURSDAY, TO,
    TUESDAY, WEDNESDAY, Words, patterns,
};

/// A token of a text about opening hours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HoursToken {
    /// A weekday: 0 is Monday.
    Day(u8),
    /// Several at once: every day, weekdays, weekend. One bit for each.
    Days(u8),
    /// A time, in minutes.
    Time(ClockTime),
    /// `-`, `to`, `bis`: between two days or two times.
    To,
    /// `until`, `jusqu'à`: an end without a beginning.
    Until,
    /// `and`, `,`, `&`.
    And,
    /// `except`, `außer`.
    Except,
    /// `closed`.
    Closed,
    /// `open`, `opening hours`: says that it is about hours.
    Open,
    /// `all day`, `24 hours`.
    AllDay,
    /// The end of a sentence or of a thought.
    Stop,
    /// A word that may stand among hours and says nothing: `from`, `lunch`, `Uhr`.
    Filler,
    /// The second half of a day: `evening`, `dinner`, `pm` hours without a mark.
    Late,
    /// Any other word.
    Other,
}

/// A time of day, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClockTime {
    /// Minutes since midnight, as written: `8.30pm` has 510 and `Half::Pm`.
    pub(crate) minutes: u16,
    /// Which half of the day, if it is said.
    pub(crate) half: Option<Half>,
    /// Written so that it can only be a time: `9:30`, `9am`, `9 Uhr`.
    pub(crate) sure: bool,
}

/// A half of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Before noon.
    Am,
    /// After noon.
    Pm,
}

/// Returns the tokens of a text. The language (`de`) decides about weekdays that it shares with
/// others: `ma`, `do`, `so`.
pub(crate) fn tokens(text: &str, language: &str) -> Vec<HoursToken> {
    let folded = DOTTED_HALF.replace_all(&fold(text), "$1$2").into_owned();
    let mut tokens: Vec<HoursToken> = Vec::new();
    let mut rest = folded.as_str();
    let mut after_number = false;
    while !rest.is_empty() && tokens.len() < TOKENS_MAX {
        if let Some((token, length)) = time(rest).or_else(|| phrase(rest)) {
            // `15 hours` is a span.
            let is_span = token == HoursToken::Open
                && (matches!(tokens.last(), Some(HoursToken::Time(clock)) if !clock.sure)
                    || after_number);
            after_number = false;
            tokens.push(if is_span { HoursToken::Other } else { token });
            rest = &rest[length..];
            continue;
        }
        let c = rest.chars().next().unwrap_or(' ');
        if c.is_alphanumeric() {
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '\'')
                .unwrap_or(rest.len())
                .max(c.len_utf8());
            let (word_here, after) = rest.split_at(length);
            let token = match day_of_language(word_here, language)
                .map_or_else(|| word(word_here), HoursToken::Day)
            {
                HoursToken::Day(_)
                    if AMBIGUOUS_DAY.are(word_here) && !is_day_here(tokens.as_slice(), after) =>
                {
                    other_meaning(word_here)
                }
                token => token,
            };
            after_number = word_here.bytes().all(|byte| byte.is_ascii_digit());
            tokens.push(token);
            rest = after;
            // `Mo.`, `Di.`: a dot right after a short weekday ends no sentence.
            if matches!(tokens.last(), Some(HoursToken::Day(_) | HoursToken::Filler)) && length <= 5
            {
                rest = rest.strip_prefix('.').unwrap_or(rest);
            }
            continue;
        }
        match c {
            '-' | '~' | '→' => tokens.push(HoursToken::To),
            ',' | '&' | '+' | '/' => tokens.push(HoursToken::And),
            '.' | ';' | '!' | '?' | '|' => tokens.push(HoursToken::Stop),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    tokens
}

/// A time at the beginning of a folded text, and how long it is.
fn time(text: &str) -> Option<(HoursToken, usize)> {
    if let Some(caught) = MILITARY.captures(text) {
        let number = |at: usize| caught[at].parse::<u16>().ok();
        return Some((
            HoursToken::Time(ClockTime {
                minutes: number(1)? * 60 + number(2)?,
                half: None,
                sure: true,
            }),
            4,
        ));
    }
    let caught = TIME.captures(text)?;
    let all = caught.get(0)?;
    let hour: u16 = caught.name("h")?.as_str().parse().ok()?;
    let minutes: u16 = match caught.name("m").or(caught.name("m2")) {
        Some(minutes) => minutes.as_str().parse().ok()?,
        None => 0,
    };
    if hour > 24 || minutes > 59 || (hour == 24 && minutes > 0) {
        return None;
    }
    let half = match caught
        .name("half")
        .or(caught.name("half2"))
        .map(|half| half.as_str().as_bytes()[0])
    {
        Some(b'a') => Some(Half::Am),
        Some(b'p') => Some(Half::Pm),
        Some(b'n') if hour == 12 => Some(Half::Pm),
        // `01:00` is on a clock of 24 hours.
        None if hour < 6 && caught["h"].len() == 2 => Some(Half::Am),
        _ => None,
    };
    if hour > 12 && caught.name("half2").is_some() {
        return None;
    }
    let sure = half.is_some() || caught.name("m").is_some() || caught.name("unit").is_some();
    // Not the start of something else: `12.10.2023`, `5%`, `30 km`, `14. Juli`.
    let after = &text[all.end()..];
    if after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '%' | '€' | '°'))
        || DATE_GOES_ON.is_match(after)
    {
        return None;
    }
    if caught.name("m").is_none() && !sure && NO_TIME_AFTER.is_match(after) {
        return None;
    }
    // `17.5.` and `3.50` are no times: the pattern requires two digits of minutes.
    Some((HoursToken::Time(ClockTime { minutes: hour * 60 + minutes, half, sure }), all.end()))
}

/// The phrase at the beginning of a folded text, and its length.
fn phrase(text: &str) -> Option<(HoursToken, usize)> {
    PHRASES.iter().find_map(|(words, token)| Some((token.clone(), words.find(text)?.end())))
}

fn word(word: &str) -> HoursToken {
    if let Some(day) = day(word) {
        return HoursToken::Day(day);
    }
    for (list, token) in [
        (&*TO, HoursToken::To),
        (&*AND, HoursToken::And),
        (&*CLOSED, HoursToken::Closed),
        (&*OPEN, HoursToken::Open),
        (&*LATE, HoursToken::Late),
        (&*FILLER, HoursToken::Filler),
    ] {
        if list.are(word) {
            return token;
        }
    }
    HoursToken::Other
}

/// Whether an ambiguous word is the weekday here: `Mo–Do`, but not `9 do 17`.
fn is_day_here(before: &[HoursToken], after: &str) -> bool {
    let goes_on = after.trim_start();
    let next_fits = goes_on.is_empty()
        || goes_on.starts_with(|c: char| c.is_ascii_digit() || "-:,&/.|(".contains(c))
        || CLOSED.begin(goes_on)
        || is_and_day(goes_on)
        || TO.begin(goes_on)
        || goes_on.starts_with("t/m");
    match before {
        [] | [.., HoursToken::Stop | HoursToken::Closed | HoursToken::Except] => next_fits,
        [.., HoursToken::Day(_), HoursToken::To | HoursToken::And] => true,
        [.., HoursToken::Day(_) | HoursToken::Time(_)] => false,
        _ => next_fits,
    }
}

/// `und Do`: another weekday follows.
fn is_and_day(folded: &str) -> bool {
    let mut words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| AND.are(word))
        && words.next().is_some_and(|word| day(word).is_some())
}

/// Short weekdays as one language has them.
fn day_of_language(word: &str, language: &str) -> Option<u8> {
    let days: [&str; 7] = match language {
        "fr" => ["lu", "ma", "me", "je", "ve", "sa", "di"],
        "es" => ["lu", "ma", "mi", "ju", "vi", "sa", "do"],
        "it" => ["lu", "ma", "me", "gi", "ve", "sa", "do"],
        "cs" | "sk" => ["po", "ut", "st", "ct", "pa", "so", "ne"],
        "da" | "nb" | "no" | "sv" => ["ma", "ti", "on", "to", "fr", "lo", "so"],
        _ => return None,
    };
    days.iter().position(|day| *day == word).map(|day| day as u8)
}

fn other_meaning(word: &str) -> HoursToken {
    match word {
        "to" | "do" => HoursToken::To,
        _ => HoursToken::Filler,
    }
}

/// The weekday of a folded word: 0 is Monday.
pub(crate) fn day(word: &str) -> Option<u8> {
    let word = word.strip_suffix("'s").unwrap_or(word);
    DAYS.iter().position(|names| names.are(word)).map(|day| day as u8)
}

static DAYS: [&LazyLock<Words>; 7] =
    [&MONDAY, &TUESDAY, &WEDNESDAY, &THURSDAY, &FRIDAY, &SATURDAY, &SUNDAY];

/// The phrases of `data/hours.txt`.
static PHRASES: LazyLock<Vec<(Regex, HoursToken)>> = LazyLock::new(|| {
    let token = |name: &str| {
        let time = |minutes, half| HoursToken::Time(ClockTime { minutes, half, sure: true });
        Some(match name.split_once(' ').unwrap_or((name, "")) {
            ("noon", _) => time(12 * 60, Some(Half::Pm)),
            ("midnight", _) => time(24 * 60, None),
            ("all", _) => HoursToken::AllDay,
            ("days", days) if days.len() == 1 => HoursToken::Day(days.parse().ok()?),
            ("days", days) => HoursToken::Days(days.bytes().map(|day| 1 << (day - b'0')).sum()),
            ("to", _) => HoursToken::To,
            ("until", _) => HoursToken::Until,
            ("except", _) => HoursToken::Except,
            ("open", _) => HoursToken::Open,
            ("closed", _) => HoursToken::Closed,
            _ => return None,
        })
    };
    let lines = include_str!("../data/hours.txt").lines();
    let phrases =
        lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
    let read = phrases.map(|(name, pattern)| {
        let pattern = Regex::new(&format!(r"^(?:{pattern})(?:\b)")).expect("a constant pattern");
        (pattern, token(name).expect("a token has this name"))
    });
    read.collect()
});

patterns! {
    /// `9`, `9.30`, `09:30`, `9h30`, `9 Uhr`, `17u30`, `9am`, `11a`, `12 noon`.
    TIME: r"^(?:kl\.? ?|at )?(?P<h>\d{1,2})(?:(?:[:.]|(?P<unit0>[hu]))(?P<m>[0-5]\d)(?:[:.]00)?|(?: ?(?P<unit>uhr|h|hs|hrs|uur|u|hod|godz|tim|klo)\b\.?(?: ?(?P<m2>[0-5]\d)\b)?))?(?:(?: ?(?P<half>am|pm|noon)|(?P<half2>a|p))\b)?(?: ?(?:uhr|h|hs|hrs|uur|u|hod|godz|o'clock)\b\.?)?";
    /// `0900-1700`, and the second of the two.
    MILITARY: r"^([01]\d|2[0-4])([0-5]\d)(?: ?(?:-|to|hrs|h\b)|$)";
    /// `a.m.`, `p.m.` and `a. m.`: to one form.
    DOTTED_HALF: r"\b([ap])\. ?(m)\b\.?";
    DATE_GOES_ON: r"^(?:\.\d|/\d|\.? ?(?:jan|feb|mar[sz]|apr|ma[iy]\b|jun|jul|aug|sep|o[ck]t|nov|de[cz]|gen|mag|giu|lug|ago|set|ott|dic))";
    NO_TIME_AFTER: r"^(?:st\b|nd\b|rd\b|th\b|\.\s*[a-z]| ?(?:km|min|minut|year|jahr|ans|people|person|pers|euro|eur|chf|kr|zl|kc|%|days|tage|weeks|free|dishes|hours|stunden|heures|ore|month|monat))";
}

/// The most tokens of one line that are read.
const TOKENS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_DAYS: u8 = 0b111_1111;

    fn times(text: &str) -> Vec<(u16, Option<Half>)> {
        tokens(text, "")
            .into_iter()
            .filter_map(|token| match token {
                HoursToken::Time(clock) => Some((clock.minutes, clock.half)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn times_in_many_forms() {
        for text in [
            "9:30", "09.30", "9h30", "9.30 Uhr", "kl. 9.30", "9u30", "9 h 30", "9:30 Uhr",
            "09:30:00",
        ] {
            assert_eq!(times(text), [(570, None)], "{text}");
        }
        assert_eq!(
            times("9am, 9 a.m., 11p, 12 noon, midnight"),
            [
                (540, Some(Half::Am)),
                (540, Some(Half::Am)),
                (660, Some(Half::Pm)),
                (720, Some(Half::Pm)),
                (1440, None)
            ]
        );
        assert_eq!(times("12.10.2023, 30 km, 14 July, 5%"), []);
    }

    #[test]
    fn days_and_what_stands_between_them() {
        assert_eq!(tokens("Mo-Fr", "de"), [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]);
        assert_eq!(
            tokens("lundi au vendredi", "fr"),
            [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]
        );
        assert_eq!(
            tokens("täglich außer Di.", ""),
            [HoursToken::Days(ALL_DAYS), HoursToken::Except, HoursToken::Day(1)]
        );
        assert_eq!(tokens("So geschlossen", "de"), [HoursToken::Day(6), HoursToken::Closed]);
        assert_eq!(tokens("Pá–So", "cs"), [HoursToken::Day(4), HoursToken::To, HoursToken::Day(5)]);
        assert_eq!(tokens("Ma-Sa", "fr"), [HoursToken::Day(1), HoursToken::To, HoursToken::Day(5)]);
        assert_eq!(tokens("Ma-vr", "nl"), [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]);
    }
}
