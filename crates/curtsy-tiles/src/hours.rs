//! Reads weekdays and times from lines, in any order and language.
//!
//! Whether a line is about the business's own hours is for the caller. This module returns the
//! times, and how many words it did not understand.

use crate::clock::{ClockTime, Half, HoursToken, tokens};

/// An interval on a weekday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    /// 0 is Monday.
    pub(crate) day: u8,
    /// Minutes since midnight.
    pub(crate) opens: u16,
    /// Minutes since midnight; before `opens` if it is on the next day.
    pub(crate) closes: u16,
}

/// The opening hours that a line states.
#[derive(Clone, Debug, Default)]
pub(crate) struct HoursReading {
    /// The intervals.
    pub(crate) intervals: Vec<Interval>,
    /// Weekdays that the next line may have times for.
    pub(crate) waiting: WaitingDays,
    /// Words that were not understood before the first day or time.
    pub(crate) strange_before: usize,
    /// All words that were not understood.
    pub(crate) strange: usize,
    /// It says that it is about opening.
    pub(crate) says_open: bool,
    /// It has a weekday of its own.
    pub(crate) has_days: bool,
    /// Days that it says are closed.
    pub(crate) closed: u8,
    /// It speaks of every day, or of weekdays: a day may be taken away from that later.
    pub(crate) says_daily: bool,
}

/// Weekdays at the end of a line, whose hours follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingDays {
    /// One bit for each day.
    pub(crate) days: u8,
    /// They have times already; the next line may have more, as the second cell of a row has.
    pub(crate) given: bool,
}

/// Reads a line. `waiting` are the weekdays that the line before ended with.
pub(crate) fn read(text: &str, language: &str, waiting: WaitingDays) -> HoursReading {
    let tokens = tokens(text, language);
    let mut reader = HoursReader {
        days: waiting.days,
        collecting: waiting.days != 0 && !waiting.given,
        ..HoursReader::default()
    };
    let has_own_days =
        tokens.iter().any(|token| matches!(token, HoursToken::Day(_) | HoursToken::Days(_)));
    let first = tokens
        .iter()
        .position(|token| {
            matches!(
                token,
                HoursToken::Day(_) | HoursToken::Days(_) | HoursToken::Time(_) | HoursToken::AllDay
            )
        })
        .unwrap_or(tokens.len());
    let strange =
        |tokens: &[HoursToken]| tokens.iter().filter(|token| **token == HoursToken::Other).count();
    reader.reversed = is_reversed(&tokens) && !reader.collecting;
    let mut at = 0;
    while at < tokens.len() {
        at += reader.step(&tokens[at..]);
    }
    reader.flush();
    // `Mon & Tue: gone fishing`: the times on the next line are those of other days.
    let last_day =
        tokens.iter().rposition(|token| matches!(token, HoursToken::Day(_) | HoursToken::Days(_)));
    if let Some(last) = last_day
        && reader.intervals.is_empty()
        && strange(&tokens[last..]) >= STRANGE_MAX
    {
        reader.days = 0;
        reader.collecting = false;
    }
    // `Thu & Fri: 7am till late`: the days have had their time, though it has no end.
    if reader.intervals.is_empty()
        && tokens.iter().any(|token| matches!(token, HoursToken::Time(_)))
    {
        reader.days = 0;
        reader.collecting = false;
    }
    HoursReading {
        intervals: reader.intervals,
        waiting: WaitingDays { days: reader.days, given: !reader.collecting },
        strange_before: strange(&tokens[..first]),
        strange: strange(&tokens),
        says_open: tokens.contains(&HoursToken::Open),
        has_days: has_own_days,
        closed: reader.closed,
        says_daily: tokens.iter().any(|token| matches!(token, HoursToken::Days(_))),
    }
}

/// Times come before their days: `9am–5pm Monday to Friday`.
fn is_reversed(tokens: &[HoursToken]) -> bool {
    let place = |wanted: fn(&HoursToken) -> bool| tokens.iter().position(wanted);
    let last = |wanted: fn(&HoursToken) -> bool| tokens.iter().rposition(wanted);
    let is_time = |token: &HoursToken| matches!(token, HoursToken::Time(_) | HoursToken::AllDay);
    let is_day = |token: &HoursToken| matches!(token, HoursToken::Day(_) | HoursToken::Days(_));
    match (place(is_time), place(is_day), last(is_time), last(is_day)) {
        (Some(first_time), Some(first_day), Some(last_time), Some(last_day)) => {
            first_time < first_day && last_time < last_day
        }
        _ => false,
    }
}

/// Reads a list of tokens as opening hours.
#[derive(Default)]
struct HoursReader {
    intervals: Vec<Interval>,
    /// The days that times are for.
    days: u8,
    /// Whether more days may join them: times end that.
    collecting: bool,
    /// Days that are said to be closed.
    closed: u8,
    /// The next days are taken away.
    except: bool,
    /// The next days are closed.
    closing: bool,
    late: bool,
    reversed: bool,
    /// Times whose days come after them.
    pending: Vec<(u16, u16)>,
    /// Where the last group of times was put: its first interval, and days.
    last_times: Vec<(u16, u16)>,
}

impl HoursReader {
    /// Takes in the next tokens, and says how many.
    fn step(&mut self, tokens: &[HoursToken]) -> usize {
        match &tokens[0] {
            HoursToken::Day(day) => {
                let range_to = match tokens.get(1..3) {
                    Some([HoursToken::To | HoursToken::Until, HoursToken::Day(last)]) => {
                        Some((*last, 3))
                    }
                    _ => match tokens.get(1..4) {
                        Some(
                            [
                                HoursToken::To | HoursToken::Until,
                                HoursToken::Filler,
                                HoursToken::Day(last),
                            ],
                        ) => Some((*last, 4)),
                        _ => None,
                    },
                };
                match range_to {
                    Some((last, used)) => {
                        self.add(range(*day, last));
                        used
                    }
                    None => {
                        self.add(1 << day);
                        1
                    }
                }
            }
            HoursToken::Days(days) => {
                self.add(*days);
                1
            }
            HoursToken::Except => {
                self.except = true;
                1
            }
            HoursToken::Closed => {
                if self.collecting && !self.except {
                    self.close(self.days);
                    self.days = 0;
                    self.collecting = false;
                } else {
                    self.closing = true;
                }
                1
            }
            HoursToken::AllDay => {
                self.put(0, 24 * 60);
                1
            }
            HoursToken::Time(_) => self.times(tokens),
            HoursToken::Until | HoursToken::To => {
                // `Friday to 10 pm`, after times of other days.
                let ends =
                    tokens[0] == HoursToken::Until || self.collecting && !self.intervals.is_empty();
                if let Some(HoursToken::Time(end)) =
                    tokens.get(1).filter(|_| self.days != 0 && ends)
                {
                    self.until(*end);
                    return 2;
                }
                1
            }
            HoursToken::Late => {
                self.late = true;
                1
            }
            HoursToken::Stop => {
                self.closing = false;
                self.except = false;
                1
            }
            _ => 1,
        }
    }

    fn add(&mut self, days: u8) {
        if self.closing {
            self.days &= !days;
            self.close(days);
            return;
        }
        if self.except {
            self.days &= !days;
            self.intervals.retain(|interval| days & (1 << interval.day) == 0);
            return;
        }
        if self.reversed {
            for (opens, closes) in self.pending.clone() {
                self.emit(days, opens, closes);
            }
            return;
        }
        if !self.collecting {
            self.days = 0;
            self.last_times.clear();
        }
        self.days |= days;
        self.collecting = true;
    }

    /// These days are closed, whatever was said of every day before.
    fn close(&mut self, days: u8) {
        self.closed |= days;
        self.intervals.retain(|interval| days & (1 << interval.day) == 0);
    }

    /// A range of times, if that is what comes.
    fn times(&mut self, tokens: &[HoursToken]) -> usize {
        let HoursToken::Time(start) = tokens[0] else { return 1 };
        // Small words may stand on both sides: `8:30 in the morning until 5`.
        let fillers = |from: usize| {
            tokens
                .iter()
                .skip(from)
                .take(FILLERS_MAX)
                .take_while(|token| **token == HoursToken::Filler)
                .count()
        };
        let to = 1 + fillers(1);
        if !matches!(tokens.get(to), Some(HoursToken::To | HoursToken::Until)) {
            return 1;
        }
        let last = to + 1 + fillers(to + 1);
        let Some(HoursToken::Time(end)) = tokens.get(last) else { return 1 };
        let (end, used) = (*end, last + 1);
        // `1–2`, `7-10` alone are no times: one of them has to look like a time, or weekdays
        // precede.
        if !(start.sure || end.sure || self.days != 0 || self.reversed) {
            return used;
        }
        if let Some((opens, closes)) =
            settle(start, end, self.last_times.last().map(|last| last.1), self.late)
        {
            self.put(opens, closes);
        }
        used
    }

    /// An end without a beginning: it replaces the end on these days, or the beginning is that of
    /// the last days.
    fn until(&mut self, end: ClockTime) {
        let days = self.days;
        let known =
            self.intervals.iter().rev().find(|interval| days & (1 << interval.day) != 0).copied();
        let model = known.or(self.intervals.last().copied());
        let Some(model) = model else { return };
        let start = ClockTime { minutes: model.opens, half: None, sure: true };
        let Some((opens, closes)) = settle(start, end, None, false) else { return };
        let own: Vec<u8> = self
            .intervals
            .iter()
            .filter(|interval| days & (1 << interval.day) != 0)
            .map(|interval| interval.day)
            .collect();
        for day in own {
            if let Some(interval) =
                self.intervals.iter_mut().rev().find(|interval| interval.day == day)
            {
                interval.closes = closes;
            }
        }
        if known.is_none() {
            self.emit(days, opens, closes);
        }
        self.collecting = false;
    }

    fn put(&mut self, opens: u16, closes: u16) {
        self.late = false;
        self.last_times.push((opens, closes));
        if self.reversed {
            if !self.collecting {
                self.pending.clear();
            }
            self.collecting = true;
            self.pending.push((opens, closes));
            return;
        }
        self.emit(self.days, opens, closes);
        self.collecting = false;
    }

    fn emit(&mut self, days: u8, opens: u16, closes: u16) {
        for day in 0..7 {
            let interval = Interval { day, opens, closes };
            if days & (1 << day) != 0 && !self.intervals.contains(&interval) {
                self.intervals.push(interval);
            }
        }
        if self.reversed {
            self.collecting = false;
        }
    }

    fn flush(&mut self) {
        if self.reversed {
            self.collecting = false;
            self.days = 0;
        }
    }
}

/// From this many unknown words on, the text after a weekday says something else of the day.
const STRANGE_MAX: usize = 2;
/// More small words between two times are none of a range.
const FILLERS_MAX: usize = 4;

/// The days from one to another, over the weekend if need be.
fn range(first: u8, last: u8) -> u8 {
    let mut days = 0;
    let mut day = first;
    loop {
        days |= 1 << day;
        if day == last {
            return days;
        }
        day = (day + 1) % 7;
    }
}

/// Returns both ends on a clock of 24 hours. `previous` is the end of the interval before:
/// `11.30–1.30 and 4.30–8.30`.
fn settle(
    start: ClockTime,
    end: ClockTime,
    previous: Option<u16>,
    late: bool,
) -> Option<(u16, u16)> {
    const HALF_DAY: u16 = 12 * 60;
    let on_24 = |clock: ClockTime| match clock.half {
        Some(Half::Am) if clock.minutes < HALF_DAY => Some(clock.minutes),
        Some(Half::Am) if clock.minutes < HALF_DAY + 60 => Some(clock.minutes - HALF_DAY),
        Some(Half::Pm) if clock.minutes < HALF_DAY => Some(clock.minutes + HALF_DAY),
        Some(_) => Some(clock.minutes),
        None => None,
    };
    let (opens, mut closes) = match (on_24(start), on_24(end)) {
        (Some(opens), Some(closes)) => (opens, closes),
        (Some(opens), None) => (
            opens,
            if end.minutes <= opens && end.minutes + HALF_DAY > opens && end.minutes <= HALF_DAY {
                end.minutes + HALF_DAY
            } else {
                end.minutes
            },
        ),
        (None, Some(closes)) => {
            let same_half = end.half == Some(Half::Pm)
                && start.minutes < HALF_DAY
                && start.minutes + HALF_DAY < closes
                && start.minutes < 7 * 60;
            (if same_half { start.minutes + HALF_DAY } else { start.minutes }, closes)
        }
        (None, None) => {
            let (mut opens, mut closes) = (start.minutes, end.minutes);
            // Without marks, hours up to twelve may be those of a clock's face.
            let face =
                (60..=HALF_DAY + 59).contains(&opens) && (60..=HALF_DAY + 59).contains(&closes);
            if face
                && (previous
                    .is_some_and(|previous| opens < previous && opens + HALF_DAY >= previous)
                    || (late && opens < HALF_DAY))
            {
                opens += HALF_DAY;
            }
            if closes <= opens && closes + HALF_DAY > opens && face {
                closes += HALF_DAY;
            }
            (opens, closes)
        }
    };
    if closes == 0 {
        closes = 24 * 60;
    }
    (opens < 24 * 60 && closes <= 24 * 60 && opens != closes).then_some((opens, closes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &str) {
        const NAMES: [&str; 7] = ["mo", "tu", "we", "th", "fr", "sa", "su"];
        let mut waiting = WaitingDays::default();
        let mut all = Vec::new();
        for line in lines.split('\n') {
            let reading = read(line, "", waiting);
            waiting = reading.waiting;
            all.extend(reading.intervals);
        }
        let time = |minutes: u16| format!("{}:{:02}", minutes / 60, minutes % 60);
        let found: Vec<String> = all
            .iter()
            .map(|i| format!("{} {}-{}", NAMES[usize::from(i.day)], time(i.opens), time(i.closes)))
            .collect();
        assert_eq!(found.join(", "), expected, "{lines}");
    }

    #[test]
    fn days_then_times() {
        check("Sa 6:00 - 13:00 Uhr", "sa 6:00-13:00");
        check(
            "Mo, Di, Do\n9.00 – 12.00 Uhr\n15.30 – 18.30 Uhr",
            "mo 9:00-12:00, tu 9:00-12:00, th 9:00-12:00, mo 15:30-18:30, tu 15:30-18:30, th 15:30-18:30",
        );
        check(
            "Vendredi et samedi : 12h–14h et 19h–22h",
            "fr 12:00-14:00, sa 12:00-14:00, fr 19:00-22:00, sa 19:00-22:00",
        );
        check("Du jeudi au vendredi : 9h30–18h30", "th 9:30-18:30, fr 9:30-18:30");
        check("Wed, Thu 11a–8p", "we 11:00-20:00, th 11:00-20:00");
        check("Sat: 9am – noon", "sa 9:00-12:00");
        check("Fri 18:00–02:00", "fr 18:00-2:00");
        check("Sun 10am-midnight", "su 10:00-24:00");
        check("So geschlossen", "");
        check("Thu & Fri: 7am 'til late\nWeekends: 8am – 4pm", "sa 8:00-16:00, su 8:00-16:00");
    }

    #[test]
    fn hours_of_a_clocks_face() {
        check("Tues 11.30 - 1.30 and 4.30 - 8.30", "tu 11:30-13:30, tu 16:30-20:30");
        check("Fri & Sat 11.30 till 9", "fr 11:30-21:00, sa 11:30-21:00");
        check("Mon 9-5", "mo 9:00-17:00");
        check("Mon 1–5pm", "mo 13:00-17:00");
        check("Lunch Wed 12–3, dinner Wed 6–9.30", "we 12:00-15:00, we 18:00-21:30");
        check("Mon 0900 - 1700", "mo 9:00-17:00");
    }

    #[test]
    fn sentences() {
        check(
            "täglich außer Di. 17–23 Uhr",
            "mo 17:00-23:00, we 17:00-23:00, th 17:00-23:00, fr 17:00-23:00, sa 17:00-23:00, su 17:00-23:00",
        );
        check(
            "Daily 11 am to 9 pm, Friday and Saturday to 10 pm",
            "mo 11:00-21:00, tu 11:00-21:00, we 11:00-21:00, th 11:00-21:00, fr 11:00-22:00, sa 11:00-22:00, su 11:00-21:00",
        );
        check("Wednesday from 8:30 in the morning until 5 in the afternoon", "we 8:30-17:00");
        check("Viernes de 12:30 a 01:00", "fr 12:30-1:00");
        check("Mon 9am to 5.30pm, Sat till noon", "mo 9:00-17:30, sa 9:00-12:00");
        check("Jeudi : 9h30–18h30, nocturne le jeudi jusqu’à 20h", "th 9:30-20:00");
        check("9am–5pm Monday and Tuesday", "mo 9:00-17:00, tu 9:00-17:00");
        check("Closed Sunday and Monday", "");
        check("Mon–Tue 10–6, closed Mondays", "tu 10:00-18:00");
        check("Montag bis Mittwoch 9–12 Uhr, Dienstag Ruhetag", "mo 9:00-12:00, we 9:00-12:00");
        check("la domenica solo a pranzo, dalle 12.00 alle 15.00", "su 12:00-15:00");
    }
}
