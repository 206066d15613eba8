//! The head of an answer as lines: its status, then `name: value`. The value of a header has no
//! line end.

use std::fmt::Write;

use curtsy_engine::Head;

/// The line of an answer from an address that is not public. No header has this name.
const INSIDE: &str = ":inside: yes";

pub(super) fn write(head: &Head, out: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", head.status);
    if head.inside {
        out.push_str(INSIDE);
        out.push('\n');
    }
    for (name, value) in head.fields() {
        if !value.contains('\n') {
            out.extend([name, ": ", value, "\n"]);
        }
    }
}

/// Reads a head; `None` if the text is not one.
pub(super) fn read(text: &str) -> Option<Head> {
    let mut lines = text.lines();
    let mut head = Head { status: lines.next()?.parse().ok()?, ..Head::default() };
    for line in lines {
        if line == INSIDE {
            head.inside = true;
            continue;
        }
        let (name, value) = line.split_once(": ")?;
        head.add(name, value.to_owned());
    }
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_as_it_was() {
        let text = |text: &str| Some(text.to_owned());
        let head = Head {
            status: 200,
            etag: text("\"a: b\""),
            content_type: text("text/html; charset=latin1"),
            cache_control: vec!["max-age=60".into(), "public".into()],
            others: vec![("vary".into(), "a".into()), ("vary".into(), String::new())],
            inside: true,
            ..Head::default()
        };
        let mut written = String::new();
        write(&head, &mut written);
        assert_eq!(read(&written), Some(head));
        assert_eq!(read("no status\n"), None);
    }
}
