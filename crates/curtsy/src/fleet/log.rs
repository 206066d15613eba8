//! Log lines: one JSON object a line, metadata only. No bodies, no query values, no passwords.

use std::cell::RefCell;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use serde_json::{Map, Value};

/// The longest field of a line, in characters.
const FIELD_MAX: usize = 2048;

/// Where a worker's lines go.
pub struct Log(RefCell<Box<dyn Write>>);

impl Log {
    /// Lines to standard error.
    pub fn to_stderr() -> Log {
        Log(RefCell::new(Box::new(std::io::stderr())))
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
            let value = match value {
                Value::String(text) => plain(text).into(),
                value => value.clone(),
            };
            line.insert((*name).to_owned(), value);
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

/// A text of one line, with nothing in it that moves a terminal's cursor, and not too long.
fn plain(text: &str) -> String {
    let text = text.chars().take(FIELD_MAX);
    text.map(|c| if c.is_control() || is_bidi(c) { ' ' } else { c }).collect()
}

/// Characters that turn the direction of what follows them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Write for Kept {
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
        let kept = Kept::default();
        let log = Log(RefCell::new(Box::new(kept.clone())));
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
}
