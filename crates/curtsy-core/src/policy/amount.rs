//! Reads and writes spans, sizes, growths and jitter.
//!
//! A span is `200ms`, `3s`, `15m`, `24h`, `30d`, or parts in falling order (`1h30m`). A single part
//! may have decimals (`1.5s`). A number without a unit is refused, because `30` could be seconds or
//! minutes; only `0` needs no unit. Every written value is read back as the same value, to the
//! microsecond.

use std::time::Duration;

use super::Growth;

/// Reads a span, or returns `None` if the text is none.
pub fn read_span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u64 = 0;
    let mut unit_before = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let unit = unit_micros(unit)?;
        let only_part = rest.len() == text.len() && tail.is_empty();
        if unit >= unit_before || (number.contains('.') && !only_part) {
            return None;
        }
        total = total.checked_add(decimal(number, unit)?)?;
        unit_before = unit;
        rest = tail;
    }
    (unit_before != u64::MAX).then(|| Duration::from_micros(total))
}

/// Writes a span in its usual spelling: `24h`, not `1d`; `1200ms`, not `1s200ms`.
pub fn write_span(span: Duration) -> String {
    let micros = crate::time::micros(span);
    if !micros.is_multiple_of(MILLI) {
        return format!("{micros}us");
    }
    if !micros.is_multiple_of(SECOND) {
        return format!("{}ms", micros / MILLI);
    }
    if micros >= 2 * DAY && micros.is_multiple_of(DAY) {
        return format!("{}d", micros / DAY);
    }
    let mut text = String::new();
    let mut rest = micros;
    for (unit, name) in [(HOUR, "h"), (MINUTE, "m"), (SECOND, "s")] {
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reads `200ms..500ms`, or one span for both ends.
pub fn read_range(text: &str) -> Option<(Duration, Duration)> {
    let (low, high) = match text.split_once("..") {
        Some((low, high)) => (read_span(low)?, read_span(high)?),
        None => (read_span(text)?, read_span(text)?),
    };
    (low <= high).then_some((low, high))
}

/// Writes both ends, or one span if they are equal.
pub fn write_range((low, high): (Duration, Duration)) -> String {
    if low == high { write_span(low) } else { format!("{}..{}", write_span(low), write_span(high)) }
}

/// Reads a decimal number of seconds without a unit (`3600`, `3.0`), as in the inherited variables
/// of the presets.
pub(super) fn read_seconds(text: &str) -> Option<Duration> {
    decimal(text, SECOND).map(Duration::from_micros)
}

/// Reads a size: bytes in `B`, `KiB`, `MiB` or `GiB`.
pub fn read_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Writes a size in the largest unit that divides it.
pub fn write_size(bytes: u64) -> String {
    let (name, unit) = SIZES
        .iter()
        .find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit))
        .unwrap_or(&("B", 1));
    format!("{}{name}", bytes / unit)
}

/// Reads `x2`, `x1.5` or `fibonacci`.
pub(super) fn read_growth(text: &str) -> Option<Growth> {
    if text == "fibonacci" {
        return Some(Growth::Fibonacci);
    }
    read_factor(text.strip_prefix('x')?).map(Growth::Times)
}

/// Reads a plain decimal factor.
pub(super) fn read_factor(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

/// Writes `x2` or `fibonacci`.
pub(super) fn write_growth(growth: Growth) -> String {
    match growth {
        Growth::Times(factor) => format!("x{factor}"),
        Growth::Fibonacci => "fibonacci".to_owned(),
    }
}

/// Reads `10..20%`, `10%` or `none`.
pub(super) fn read_jitter(text: &str) -> Option<(u8, u8)> {
    if text == "none" {
        return Some((0, 0));
    }
    let text = text.strip_suffix('%')?;
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (read_digits(low)?, read_digits(high)?);
    (low <= high && high > 0).then_some((low, high))
}

/// Writes `10..20%`, `10%` or `none`.
pub(super) fn write_jitter((low, high): (u8, u8)) -> String {
    match (low, high) {
        (0, 0) => "none".to_owned(),
        (low, high) if low == high => format!("{low}%"),
        (low, high) => format!("{low}..{high}%"),
    }
}

fn read_digits(text: &str) -> Option<u8> {
    // `parse` alone would also accept `+5`.
    (text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn unit_micros(unit: &str) -> Option<u64> {
    Some(match unit {
        "us" => 1,
        "ms" => MILLI,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
}

/// Returns `number` × `unit` in whole microseconds, or `None` if that is not a whole number.
fn decimal(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 12 {
        return None;
    }
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = fraction.parse::<u128>().ok()? * u128::from(unit);
    if !part.is_multiple_of(scale) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    whole.checked_add(u64::try_from(part / scale).ok()?)
}

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn span(text: &str, micros: u64, written: &str) {
        let read = read_span(text).unwrap_or_else(|| panic!("`{text}` is a span"));
        assert_eq!(read, Duration::from_micros(micros), "`{text}`");
        assert_eq!(write_span(read), written);
        assert_eq!(read_span(written), Some(read), "what is written is read back");
    }

    #[test]
    fn spans_are_written_the_way_people_say_them() {
        span("3s", 3 * SECOND, "3s");
        span("200ms", 200 * MILLI, "200ms");
        span("1200ms", 1200 * MILLI, "1200ms");
        span("1.2s", 1200 * MILLI, "1200ms");
        span("1h30m", 90 * MINUTE, "1h30m");
        span("90m", 90 * MINUTE, "1h30m");
        span("24h", DAY, "24h");
        span("1d", DAY, "24h");
        span("30d", 30 * DAY, "30d");
        span("0s", 0, "0s");
        span("0", 0, "0s");
        span("5us", 5, "5us");
        span("300s", 300 * SECOND, "5m");
    }

    #[test]
    fn what_is_not_a_span_is_refused() {
        for text in ["", "3", "s", "3 s", "3S", "-3s", "+3s", "3s4h", "3s3s", "1.5h30m", "..", "3x"]
        {
            assert_eq!(read_span(text), None, "`{text}`");
        }
        assert_eq!(read_span("0.0000001s"), None, "less than a microsecond");
        assert_eq!(read_span("99999999999999999999d"), None, "too long for the clock");
        assert_eq!(read_span("213503983d"), None, "the product is too long for the clock");
    }

    #[test]
    fn ranges_sizes_growths_and_jitter_read_back() {
        assert_eq!(read_range("500ms..200ms"), None, "the lower end comes first");
        for text in ["200ms..500ms", "3s"] {
            assert_eq!(write_range(read_range(text).unwrap()), text);
        }
        for text in ["10MiB", "0B", "1025B", "3KiB", "2GiB"] {
            assert_eq!(write_size(read_size(text).unwrap()), text);
        }
        for text in ["10", "MiB", "10MB", "10 MiB", "-1B", "99999999999999GiB"] {
            assert_eq!(read_size(text), None, "`{text}`");
        }
        for text in ["x2", "x1.5", "fibonacci"] {
            assert_eq!(write_growth(read_growth(text).unwrap()), text);
        }
        for text in ["2", "x", "x-1", "xNaN", "xinf", "x1e5", "x1.5.2"] {
            assert_eq!(read_growth(text), None, "`{text}`");
        }
        for text in ["none", "10%", "10..20%", "0..20%"] {
            assert_eq!(write_jitter(read_jitter(text).unwrap()), text);
        }
        for text in ["10", "20..10%", "+5%", "0%", "300%", "%"] {
            assert_eq!(read_jitter(text), None, "`{text}`");
        }
    }

    #[test]
    fn seconds_without_a_unit_may_have_decimals() {
        assert_eq!(read_seconds("3.0"), Some(Duration::from_secs(3)));
        assert_eq!(read_seconds("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(read_seconds("3s"), None);
        assert_eq!(read_seconds("-1"), None);
    }
}
