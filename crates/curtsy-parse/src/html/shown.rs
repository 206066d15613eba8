//! Lists what a page shows to its reader: texts and images, tag by tag.

use curtsy_core::url::CrawlUrl;

use super::mention::{MarkupPiece, each_tag, readable};
use super::name::{A, IMG};
use super::token::TextSpan;
use crate::charset::Charset;

/// A part of what a page shows, as written in its markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'t> {
    /// A run of text between two tags.
    Text {
        /// The text, with character references as written.
        text: &'t str,
        /// The reference of the link around it, or `""`.
        href: &'t str,
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
///     if let Shown::Text { text, href } = shown {
///         texts.push(format!("{text}|{href}"));
///     }
/// });
/// assert_eq!(texts, ["one |", "two|/b"]);
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
    let mut href = "";
    each_tag(&text, |tag| match tag {
        MarkupPiece::Start { name: A, tokens } => {
            href = tokens.attribute("href").map_or("", |span: TextSpan| span.of(&text));
        }
        MarkupPiece::End { name: A } => href = "",
        MarkupPiece::Start { name: IMG, tokens } => {
            if let Some(src) = tokens.attribute("src") {
                tell(Shown::Image(src.of(&text)));
            }
        }
        MarkupPiece::Text(text) => tell(Shown::Text { text, href }),
        MarkupPiece::Start { .. } | MarkupPiece::End { .. } => {}
    });
}
