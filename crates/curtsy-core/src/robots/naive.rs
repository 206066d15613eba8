//! A second robots.txt matcher, as plain as possible.
//!
//! It shares nothing with the matcher that decides: the file is read again for each path, line by
//! line, and patterns are compared octet by octet. It is slow on purpose. The judge uses both, and
//! a difference is a bug in one of them.

/// Returns whether a robots.txt lets the crawler with this product token fetch `path`.
pub fn naive_decide(text: &[u8], product: &str, path: &str) -> bool {
    if path == "/robots.txt" {
        return true;
    }
    let product = product.split(['/', ' ']).next().unwrap_or_default();
    let path = letters_of(if path.is_empty() { b"/" } else { path.as_bytes() }, Side::Path);
    let lines = lines(text);
    let named = lines
        .iter()
        .any(|(key, value)| *key == Key::Agent && agent_token(value).eq_ignore_ascii_case(product));
    let product_named = named && !product.is_empty();

    let mut in_group = false;
    let mut group_has_rules = false;
    let mut longest_allow = 0;
    let mut longest_disallow = 0;
    for (key, value) in &lines {
        if *key == Key::Agent {
            if group_has_rules {
                in_group = false;
                group_has_rules = false;
            }
            if product_named {
                in_group |= agent_token(value).eq_ignore_ascii_case(product);
            } else {
                in_group |= is_everyone(value);
            }
            continue;
        }
        group_has_rules = true;
        if !in_group || value.is_empty() || !matches(&letters_of(value, Side::Pattern), &path) {
            continue;
        }
        let length = value.len() + 2 * value.iter().filter(|b| !b.is_ascii()).count();
        match key {
            Key::Allow => longest_allow = longest_allow.max(length),
            _ => longest_disallow = longest_disallow.max(length),
        }
    }
    longest_allow >= longest_disallow
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Agent,
    Allow,
    Disallow,
}

/// Returns the lines that matter for a verdict.
fn lines(text: &[u8]) -> Vec<(Key, Vec<u8>)> {
    let mut text = text.to_vec();
    if text.len() > 500 * 1024 {
        let next = text[500 * 1024];
        text.truncate(500 * 1024);
        if next != b'\n' && next != b'\r' {
            while !text.is_empty() && !text.ends_with(b"\n") && !text.ends_with(b"\r") {
                text.pop();
            }
        }
    }
    for mark in [0xEF, 0xBB, 0xBF] {
        if text.first() != Some(&mark) {
            break;
        }
        text.remove(0);
    }
    text.split(|b| *b == b'\n' || *b == b'\r').filter_map(line).collect()
}

fn line(line: &[u8]) -> Option<(Key, Vec<u8>)> {
    let line = &line[..line.len().min(16_663)];
    let line = line.split(|b| *b == 0).next()?;
    let line = line.split(|b| *b == b'#').next()?;
    let line = strip(line);
    let (key, value) = match line.iter().position(|b| *b == b':') {
        Some(colon) => (strip(&line[..colon]), strip(&line[colon + 1..])),
        None => {
            let mut words = line.split(|b| *b == b' ' || *b == b'\t').filter(|w| !w.is_empty());
            let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else {
                return None;
            };
            (strip(key), strip(value))
        }
    };
    let key = String::from_utf8_lossy(key).to_ascii_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| key.starts_with(name));
    let key = if is(&["user-agent", "useragent", "user agent"]) {
        Key::Agent
    } else if is(&["allow"]) {
        Key::Allow
    } else if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        Key::Disallow
    } else {
        return None;
    };
    Some((key, value.to_vec()))
}

fn strip(mut text: &[u8]) -> &[u8] {
    let blank = |b: &u8| [b' ', b'\t', b'\n', 0x0B, 0x0C, b'\r'].contains(b);
    while text.first().is_some_and(blank) {
        text = &text[1..];
    }
    while text.last().is_some_and(blank) {
        text = &text[..text.len() - 1];
    }
    text
}

fn agent_token(value: &[u8]) -> String {
    value
        .iter()
        .map(|b| char::from(*b))
        .take_while(|c| c.is_ascii_alphabetic() || *c == '-' || *c == '_')
        .collect()
}

fn is_everyone(value: &[u8]) -> bool {
    value == b"*" || value.starts_with(b"*") && strip(&value[..2]).len() == 1
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Pattern,
    Path,
}

/// One octet of a pattern or a path after RFC 9309 §2.2.2.
#[derive(Clone, Copy, PartialEq)]
enum PatternLetter {
    Octet(u8),
    AnyRun,
    PathEnd,
}

fn letters_of(text: &[u8], side: Side) -> Vec<PatternLetter> {
    let mut letters = Vec::new();
    let mut i = 0;
    while i < text.len() {
        let escape = text.get(i..i + 3).filter(|t| t[0] == b'%').and_then(|t| {
            let digits = std::str::from_utf8(&t[1..]).ok()?;
            let both = digits.chars().all(|c| c.is_ascii_hexdigit());
            both.then(|| u8::from_str_radix(digits, 16).ok())?
        });
        if let Some(octet) = escape {
            let open = octet.is_ascii_alphanumeric() || b"-._~*$".contains(&octet);
            if open {
                letters.push(PatternLetter::Octet(octet));
            } else {
                letters.extend(format!("%{octet:02X}").bytes().map(PatternLetter::Octet));
            }
            i += 3;
            continue;
        }
        match text[i] {
            b'*' if side == Side::Pattern => letters.push(PatternLetter::AnyRun),
            b'$' if side == Side::Pattern && i + 1 == text.len() => {
                letters.push(PatternLetter::PathEnd)
            }
            octet if octet.is_ascii() => letters.push(PatternLetter::Octet(octet)),
            octet => letters.extend(format!("%{octet:02X}").bytes().map(PatternLetter::Octet)),
        }
        i += 1;
    }
    letters
}

/// Returns whether a pattern matches from the start of a path. For each octet of the pattern it
/// keeps every place that the match can have reached.
fn matches(pattern: &[PatternLetter], path: &[PatternLetter]) -> bool {
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for letter in pattern {
        let mut after = vec![false; path.len() + 1];
        match letter {
            PatternLetter::AnyRun => {
                let mut any = false;
                for (place, before) in reached.iter().enumerate() {
                    any |= before;
                    after[place] = any;
                }
            }
            PatternLetter::PathEnd => after[path.len()] = reached[path.len()],
            letter => {
                for place in 0..path.len() {
                    after[place + 1] = reached[place] && path[place] == *letter;
                }
            }
        }
        reached = after;
    }
    reached.contains(&true)
}
