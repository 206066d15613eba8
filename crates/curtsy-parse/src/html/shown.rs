//! Lists what a page shows to its reader: texts and images.
//!
//! This scan is for comparing pages with each other, not for reading them: it goes from one `<` to
//! the next without the rules of HTML, several times as fast as the tokenizer. Odd markup gives odd
//! texts, but the same ones each time.

use memchr::{memchr, memmem};

/// A part of what a page shows, as written in its markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownPart<'t> {
    /// A run of text between two tags, outside links.
    Text(&'t [u8]),
    /// The reference of an image.
    Image(&'t [u8]),
}

/// Calls `tell` with every text and image of a page, in the order of the page. The texts of links,
/// scripts and style sheets, the title and comments are left out.
///
/// ```
/// use curtsy_parse::html::{ShownPart, shown};
/// let mut found = String::new();
/// let page = b"<p>one <a href=/b>two</a><img src='c.png'><script>four</script><!-- five -->six";
/// shown(page, |shown| match shown {
///     ShownPart::Text(text) => found.push_str(std::str::from_utf8(text).unwrap()),
///     ShownPart::Image(src) => found.push_str(std::str::from_utf8(src).unwrap()),
/// });
/// assert_eq!(found, "one c.pngsix");
/// ```
pub fn shown(body: &[u8], mut tell: impl FnMut(ShownPart<'_>)) {
    let mut rest = body;
    let mut in_link = false;
    while !rest.is_empty() {
        let Some(start) = memchr(b'<', rest) else {
            if !in_link {
                tell(ShownPart::Text(rest));
            }
            return;
        };
        if start > 0 && !in_link {
            tell(ShownPart::Text(&rest[..start]));
        }
        rest = &rest[start + 1..];
        if rest.starts_with(b"!--") {
            rest = memmem::find(rest, b"-->").map_or(&[], |end| &rest[end + 3..]);
            continue;
        }
        let end = memchr(b'>', rest).unwrap_or(rest.len());
        let tag = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let name_end = tag.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'/');
        let name = &tag[..name_end.unwrap_or(tag.len())];
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        if is(b"a") {
            in_link = true;
        } else if is(b"/a") {
            in_link = false;
        } else if is(b"img") {
            if let Some(src) = attribute(tag, b"src=") {
                tell(ShownPart::Image(src));
            }
        } else if let Some(raw) = RAW.iter().find(|raw| is(raw)) {
            rest = after_end_of(rest, raw);
        }
    }
}

/// Returns the value of an attribute, by its name with the equals sign.
fn attribute<'t>(tag: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let value = &tag[memmem::find(tag, name)? + name.len()..];
    let (value, end) = match value.first()? {
        quote @ (b'"' | b'\'') => (&value[1..], memchr(*quote, &value[1..])),
        _ => (value, value.iter().position(u8::is_ascii_whitespace)),
    };
    Some(&value[..end.unwrap_or(value.len())])
}

/// Returns what follows the end tag of an element without markup inside.
fn after_end_of<'t>(rest: &'t [u8], name: &[u8]) -> &'t [u8] {
    let mut at = 0;
    while let Some(found) = memmem::find(&rest[at..], b"</") {
        at += found + 2;
        let is_end = rest.get(at..at + name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name));
        if is_end {
            return memchr(b'>', &rest[at..]).map_or(&[], |end| &rest[at + end + 1..]);
        }
    }
    &[]
}

/// Elements whose content is no markup and is not shown.
const RAW: [&[u8]; 4] = [b"script", b"style", b"title", b"template"];

#[cfg(test)]
mod tests {
    use super::{ShownPart, shown};

    #[test]
    fn odd_markup_ends() {
        for page in ["<", "<a", "<a href=x>y", "<script>", "<!--", "<img src=", "<img src='x", "</"]
        {
            let mut count = 0;
            shown(page.as_bytes(), |_| count += 1);
            assert!(count <= 1, "{page}");
        }
        let mut texts = Vec::new();
        shown(b"<STYLE>a</b></Style >x<img\nsrc=y z>", |shown| texts.push(format!("{shown:?}")));
        let expected =
            [ShownPart::Text(b"x"), ShownPart::Image(b"y")].map(|shown| format!("{shown:?}"));
        assert_eq!(texts, expected);
    }
}
