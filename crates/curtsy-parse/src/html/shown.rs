//! Lists what a page shows to its reader: texts and images, tag by tag.

use curtsy_core::url::CrawlUrl;

use super::mention::{MarkupPiece, each_tag, readable};
use super::name::{A, IMG};
use crate::charset::Charset;

/// A part of what a page shows, as written in its markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'t> {
    /// A run of text between two tags.
    Text {
        /// The text, with character references as written.
        text: &'t str,
        /// Whether it is in a link.
        in_link: bool,
    },
    /// The reference of an image.
    Image(&'t str),
}

/// Calls `tell` with every text and image of a page, in the order of the page. The title, scripts,
/// style sheets, templates and comments are left out.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::html::{Shown, shown};
/// let url = CrawlUrl::parse("http://example.org/").unwrap();
/// let mut texts = Vec::new();
/// shown(&url, None, b"<p>one <a href=/b>two</a><script>three</script>", |shown| {
///     if let Shown::Text { text, in_link } = shown {
///         texts.push((text.to_owned(), in_link));
///     }
/// });
/// assert_eq!(texts, [("one ".to_owned(), false), ("two".to_owned(), true)]);
/// ```
pub fn shown(
    url: &CrawlUrl,
    content_type: Option<&str>,
    body: &[u8],
    mut tell: impl FnMut(Shown<'_>),
) {
    let body = readable(body);
    let charset = Charset::of(body, content_type, Some(url.host().as_str()));
    let text = charset.decode(body);
    let mut in_link = false;
    each_tag(&text, |tag| match tag {
        MarkupPiece::Start { name: A, tokens } => in_link = tokens.attribute("href").is_some(),
        MarkupPiece::End { name: A } => in_link = false,
        MarkupPiece::Start { name: IMG, tokens } => {
            if let Some(src) = tokens.attribute("src") {
                tell(Shown::Image(src.of(&text)));
            }
        }
        MarkupPiece::Text(text) => tell(Shown::Text { text, in_link }),
        MarkupPiece::Start { .. } | MarkupPiece::End { .. } => {}
    });
}
