//! What do a page's JSON-LD blocks say? Objects, with small mistakes of their authors repaired.
//!
//! A block that is still invalid is skipped. The parser bounds depth (128), [`BLOCK_BYTES_MAX`] the
//! size.

use serde_json::Value;

use crate::tree::PageTree;

/// The values of all JSON-LD blocks that can be read.
pub(crate) fn blocks(tree: &PageTree) -> Vec<Value> {
    let is_jsonld = |at: &usize| {
        let kind = tree.attribute(*at, "type").unwrap_or_default();
        kind.trim().get(..19).is_some_and(|start| start.eq_ignore_ascii_case("application/ld+json"))
    };
    let scripts = tree.all("script").filter(|&at| !in_template(tree, at)).filter(is_jsonld);
    scripts
        .take(BLOCKS_MAX)
        .map(|at| tree.raw_text(at))
        .filter(|text| text.len() <= BLOCK_BYTES_MAX)
        .filter_map(|text| read(&text))
        .collect()
}

/// Demo data of a theme is in templates.
fn in_template(tree: &PageTree, at: usize) -> bool {
    tree.around(at).any(|around| tree.name(around) == "template")
}

fn read(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let text =
        text.strip_prefix("<!--").and_then(|inner| inner.strip_suffix("-->")).unwrap_or(text);
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&repaired(text)).ok())
}

/// Removes comments, CDATA marks, trailing commas and semicolons; escapes line breaks in strings.
fn repaired(text: &str) -> String {
    let text = text.replace("<![CDATA[", "").replace("]]>", "");
    let text = if !text.contains('"') && text.contains("&quot;") {
        text.replace("&quot;", "\"").replace("&amp;", "&")
    } else {
        text
    };
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        if in_string {
            match c {
                '\\' => {
                    out.push(c);
                    out.extend(chars.next());
                }
                '\n' => out.push_str("\\n"),
                '\r' => {}
                '\t' => out.push(' '),
                _ => {
                    in_string = c != '"';
                    out.push(c);
                }
            }
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ('}' | ']', _) => {
                let kept = out.trim_end().trim_end_matches(',').len();
                out.truncate(kept);
                out.push(c);
            }
            (';', _) => {}
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// The most blocks of a page that are read.
pub(crate) const BLOCKS_MAX: usize = 50;
/// Longer blocks are not read.
pub(crate) const BLOCK_BYTES_MAX: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: &[Value]) {
        let html = format!("<script type='application/ld+json; charset=utf-8'>{text}</script>");
        assert_eq!(blocks(&PageTree::parse(&html)), expected, "{text}");
    }

    #[test]
    fn blocks_are_read_with_small_mistakes() {
        check(r#"{"a": [1, 2]}"#, &[json!({"a": [1, 2]})]);
        check(
            "{\"a\": [1, 2,], // yes\n \"b\": \"x//y\", /* no, */ }",
            &[json!({"a": [1, 2], "b": "x//y"})],
        );
        check("<!-- {\"a\": \"line\nbreak\"} -->", &[json!({"a": "line\nbreak"})]);
        check("{\"a\": 1};", &[json!({"a": 1})]);
        check("{&quot;a&quot;: 1}", &[json!({"a": 1})]);
        check("{\"a\": ", &[]);
    }

    #[test]
    fn depth_and_size_are_bounded() {
        check(&"[".repeat(100_000), &[]);
        check(&format!("\"{}\"", "x".repeat(BLOCK_BYTES_MAX)), &[]);
    }
}
