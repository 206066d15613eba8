//! The head of an answer as lines: its status, then `name: value`. A value of a header has no line end in it.

use std::fmt::Write;

use curtsy_engine::Head;

/// The line of an answer that came from an address which is not public. No header has such a name.
const INSIDE: &str = ":inside: yes";

/// Writes a head.
pub(super) fn write(head: &Head, out: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", head.status);
    if head.inside {
        out.push_str(INSIDE);
        out.push('\n');
    }
    let single = [
        ("location", &head.location),
        ("date", &head.date),
        ("expires", &head.expires),
        ("age", &head.age),
        ("etag", &head.etag),
        ("last-modified", &head.last_modified),
        ("content-type", &head.content_type),
        ("content-language", &head.content_language),
    ];
    let many = [
        ("retry-after", &head.retry_after),
        ("cache-control", &head.cache_control),
        ("x-robots-tag", &head.x_robots_tag),
        ("link", &head.link),
    ];
    let mut line = |name: &str, value: &str| {
        if !value.contains('\n') {
            out.extend([name, ": ", value, "\n"]);
        }
    };
    for (name, value) in single {
        value.iter().for_each(|value| line(name, value));
    }
    for (name, values) in many {
        values.iter().for_each(|value| line(name, value));
    }
    head.others.iter().for_each(|(name, value)| line(name, value));
}

/// Reads a head; none if it is not one.
pub(super) fn read(text: &str) -> Option<Head> {
    let mut lines = text.lines();
    let mut head = Head { status: lines.next()?.parse().ok()?, ..Head::default() };
    for line in lines {
        if line == INSIDE {
            head.inside = true;
            continue;
        }
        let (name, value) = line.split_once(": ")?;
        let value = value.to_owned();
        match name {
            "location" => head.location = Some(value),
            "date" => head.date = Some(value),
            "expires" => head.expires = Some(value),
            "age" => head.age = Some(value),
            "etag" => head.etag = Some(value),
            "last-modified" => head.last_modified = Some(value),
            "content-type" => head.content_type = Some(value),
            "content-language" => head.content_language = Some(value),
            "retry-after" => head.retry_after.push(value),
            "cache-control" => head.cache_control.push(value),
            "x-robots-tag" => head.x_robots_tag.push(value),
            "link" => head.link.push(value),
            other => head.others.push((other.to_owned(), value)),
        }
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
