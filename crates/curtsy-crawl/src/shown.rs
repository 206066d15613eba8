//! Texts of others, as they are shown on a terminal and in a log.

/// What a site wrote, safe on a terminal: control characters are shown, not obeyed.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe
}

/// An address as somebody typed it, without the user and password that may be in it.
pub fn without_login(text: &str) -> String {
    let scheme = text.find("://").map_or("", |at| &text[..at]);
    let start = if scheme.is_empty() { 0 } else { scheme.len() + "://".len() };
    // Only pages have an `@` behind their host; elsewhere it is in a password that was to be encoded.
    let end = match scheme {
        "" | "http" | "https" => text[start..].find(['/', '?', '#']),
        _ => None,
    };
    let end = end.map_or(text.len(), |at| start + at);
    match text[start..end].rfind('@') {
        Some(at) => printable(&format!("{}…{}", &text[..start], &text[start + at..])),
        None => printable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown_wherever_it_stands() {
        for (typed, shown) in [
            ("redis://u:s3/cr?et@h:1/0", "redis://…@h:1/0"),
            ("redis://h:1/0", "redis://h:1/0"),
            ("https://u:s3cret@h/a", "https://…@h/a"),
            ("https://h/@somebody", "https://h/@somebody"),
            ("u:s3cret@h", "…@h"),
            ("://", "://"),
        ] {
            assert_eq!(without_login(typed), shown);
        }
    }
}
