//! FleetLog lines: one JSON object a line, metadata only. No bodies, no query values, no passwords.

use std::cell::RefCell;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use curtsy_crawl::is_bidi;
use serde_json::{Map, Value};

/// The longest field of a line, in bytes.
pub(crate) const FIELD_MAX: usize = 2048;

/// Where a worker's lines go.
pub struct FleetLog(RefCell<Box<dyn Write>>);

impl FleetLog {
    /// Lines to standard error.
    pub fn to_stderr() -> FleetLog {
        FleetLog(RefCell::new(Box::new(std::io::stderr())))
    }

    /// A line of ordinary business.
    pub fn info(&self, event: &str, message: &str, fields: &[(&str, Value)]) {
        self.line("info", event, message, fields);
    }

    /// A line about something that somebody should look at.
    pub fn warn(&self, event: &str, message: &str, fields: &[(&str, Value)]) {
        self.line("warning", event, message, fields);
    }

    fn line(&self, level: &str, event: &str, message: &str, fields: &[(&str, Value)]) {
        let mut line = Map::new();
        line.insert("time".into(), timestamp(wall()).into());
        line.insert("level".into(), level.into());
        line.insert("event".into(), event.into());
        line.insert("message".into(), plain(message).into());
        for (name, value) in fields {
            line.insert((*name).to_owned(), cleaned(value));
        }
        // A log that can't be written must not stop the work.
        let _ = writeln!(self.0.borrow_mut(), "{}", Value::Object(line));
    }
}

/// What is wrong and what to do, as fields of a line.
pub(super) fn trouble(why: &str) -> Vec<(&'static str, Value)> {
    let (what, hint) = why.split_once("\nhint: ").unwrap_or((why, ""));
    let mut fields = vec![("why", what.into())];
    if !hint.is_empty() {
        fields.push(("hint", hint.into()));
    }
    fields
}

/// A value with only plain texts in it.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => plain(text).into(),
        Value::Array(values) => values.iter().map(cleaned).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (plain(name), cleaned(value))).collect()
        }
        value => value.clone(),
    }
}

/// A text of one line, with nothing in it that moves a terminal's cursor, and not too long.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let c = if c.is_control() || is_bidi(c) { ' ' } else { c };
        if out.len() + c.len_utf8() > FIELD_MAX {
            break;
        }
        out.push(c);
    }
    out
}

/// The time of this machine's clock: for people to read, nothing is decided by it.
pub(super) fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct SharedBytes(Rc<RefCell<Vec<u8>>>);

    impl Write for SharedBytes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_record_is_one_line_whatever_is_in_it() {
        let kept = SharedBytes::default();
        let log = FleetLog(RefCell::new(Box::new(kept.clone())));
        log.warn("e", "a\r\n\x1b[31m\u{202e}b", &[("host", "x\ny".into()), ("n", 3.into())]);
        log.info("e", &"z".repeat(100_000), &[]);
        let text = String::from_utf8(kept.0.borrow().clone()).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["message"], "a   [31m b");
        assert_eq!((&lines[0]["host"], &lines[0]["n"]), (&"x y".into(), &3.into()));
        assert!(text.len() < 2 * FIELD_MAX + 500 && !text.contains('\x1b'));
    }

    /// Any text at all, hostile ones more often than not.
    fn text(next: &mut impl FnMut() -> u64) -> String {
        const PARTS: [&str; 12] = [
            "\r\n",
            "\x1b[2J",
            "\u{202e}",
            "\u{2028}",
            "\0",
            "\u{85}",
            "\"}\n{\"a\":\"",
            "\\",
            "a",
            "=1+1",
            "\u{1f600}",
            "\u{7f}",
        ];
        let length = if next().is_multiple_of(50) { 3_000 } else { next() % 12 };
        let part = |_| match next() % 3 {
            0 => char::from_u32((next() % 0x11_0000) as u32).unwrap_or('?').to_string(),
            _ => PARTS[(next() % 12) as usize].to_owned(),
        };
        (0..length).map(part).collect()
    }

    fn fuzz(records: usize) {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let kept = SharedBytes::default();
        let log = FleetLog(RefCell::new(Box::new(kept.clone())));
        for _ in 0..records {
            kept.0.borrow_mut().clear();
            let (message, host, why) = (text(&mut next), text(&mut next), text(&mut next));
            let nested = serde_json::json!([host, {"why": why}]);
            log.info("e", &message, &[("host", host.into()), ("all", nested)]);
            let line = String::from_utf8(kept.0.borrow().clone()).unwrap();
            let body = line.strip_suffix('\n').unwrap();
            assert!(!body.chars().any(|c| c.is_control() || is_bidi(c)), "{line:?}");
            let read: Value = serde_json::from_str(body).unwrap();
            let short = |value: &Value| value.as_str().unwrap().len() <= FIELD_MAX;
            assert!(short(&read["message"]) && short(&read["host"]));
            assert!(short(&read["all"][0]) && short(&read["all"][1]["why"]));
        }
    }

    #[test]
    fn no_text_breaks_out_of_its_line() {
        fuzz(20_000);
    }

    #[test]
    #[ignore = "a million records: ./chaos clean"]
    fn no_text_of_a_million_breaks_out_of_its_line() {
        fuzz(1_000_000);
    }
}
