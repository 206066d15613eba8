//! Separates the tags and scripts of a response from its text, so that a quoted sign of a bot wall
//! does not count as a real one.

use memchr::{memchr, memmem};

/// The parts of a response, in lower case. A response that is no HTML (JSON, plain text) is both
/// markup and text.
pub(super) struct Anatomy {
    pub(super) title: String,
    /// Tags with their attributes, scripts, comments.
    pub(super) markup: String,
    /// The visible text, with entities decoded.
    pub(super) text: String,
    /// The number of characters of the text that are not white space.
    pub(super) text_chars: usize,
}

impl Anatomy {
    pub(super) fn of(body: &[u8]) -> Anatomy {
        let lower = String::from_utf8_lossy(body).to_ascii_lowercase();
        let mut anatomy = Anatomy {
            title: String::new(),
            markup: String::new(),
            text: String::new(),
            text_chars: 0,
        };
        if !lower.trim_start().starts_with('<') {
            anatomy.text = lower.clone();
            anatomy.markup = lower;
        } else {
            anatomy.take_apart(&lower);
            anatomy.text = htmlize::unescape(anatomy.text.as_str()).into_owned();
            anatomy.title = htmlize::unescape(anatomy.title.as_str()).into_owned();
        }
        anatomy.text_chars = anatomy.text.chars().filter(|c| !c.is_whitespace()).count();
        anatomy
    }

    fn take_apart(&mut self, mut rest: &str) {
        while let Some(start) = memchr(b'<', rest.as_bytes()) {
            let (text, tag) = rest.split_at(start);
            self.text.push_str(text);
            if tag.starts_with("<!--") {
                let end = memmem::find(tag.as_bytes(), b"-->").map_or(tag.len(), |at| at + 3);
                self.markup.push_str(&tag[..end]);
                rest = &tag[end..];
                continue;
            }
            // A `<` that begins no tag is text.
            if !tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!')) {
                self.text.push('<');
                rest = &tag[1..];
                continue;
            }
            let end = memchr(b'>', tag.as_bytes()).map_or(tag.len(), |at| at + 1);
            let (tag, after) = tag.split_at(end);
            self.markup.push_str(tag);
            self.text.push(' ');
            rest = match contents(tag) {
                None => after,
                Some((name, keep)) => {
                    let close = format!("</{name}");
                    let end = memmem::find(after.as_bytes(), close.as_bytes());
                    let (inside, after) = after.split_at(end.unwrap_or(after.len()));
                    match keep {
                        KeptText::Markup => self.markup.push_str(inside),
                        KeptText::Title if self.title.is_empty() => self.title.push_str(inside),
                        KeptText::Title | KeptText::Nothing => {}
                    }
                    after
                }
            };
        }
        self.text.push_str(rest);
    }
}

/// What is kept of an element's content.
enum KeptText {
    Markup,
    Title,
    Nothing,
}

/// Elements whose content is not visible text.
fn contents(tag: &str) -> Option<(&'static str, KeptText)> {
    let all = [
        ("script", KeptText::Markup),
        ("title", KeptText::Title),
        ("style", KeptText::Nothing),
        ("noscript", KeptText::Nothing),
        ("template", KeptText::Nothing),
        ("textarea", KeptText::Nothing),
    ];
    all.into_iter().find(|(name, _)| {
        tag[1..].strip_prefix(name).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/')
        })
    })
}
