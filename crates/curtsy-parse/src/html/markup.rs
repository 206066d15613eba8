//! Reads the facts of a page's elements, before any reference becomes a URL.

use std::borrow::Cow;

use super::fact::{ElementFact, WHITE};
use super::refresh::{Refresh, refresh};
use super::token::TextSpan;
use super::{entity, tree};

/// The facts of the elements of a page's finished tree, in their order.
///
/// ```
/// use curtsy_parse::html::Markup;
/// let markup = Markup::read("<title>A  b</title><p><a href=/x rel='Next ugc'>one<p>two");
/// assert_eq!(markup.title.as_deref(), Some("A b"));
/// // A link that is not closed goes on in the next paragraph, as a second element.
/// assert_eq!(markup.links.len(), 2);
/// assert_eq!(markup.links[0].rel().collect::<Vec<_>>(), ["next", "ugc"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup<'t> {
    /// The reference of the first `base` that has one.
    pub base: Option<Cow<'t, str>>,
    /// `a` and `area` with an `href`, including repetitions.
    pub links: Vec<LinkReference<'t>>,
    /// The `src` of each `iframe` and `frame` that has one.
    pub frames: Vec<Cow<'t, str>>,
    /// The `href` of each `link` with `canonical` in its `rel`.
    pub canonicals: Vec<Cow<'t, str>>,
    /// The `content` of each `meta` with `http-equiv=refresh`.
    pub refreshes: Vec<Cow<'t, str>>,
    /// The text of the first `title`, with white space collapsed; `""` if it is empty.
    pub title: Option<String>,
    /// Each `meta` with a name and a content.
    pub directives: Vec<Directive<'t>>,
    /// Whether the whole text was read. A page can be nested so deeply that reading it would take
    /// too long.
    pub complete: bool,
    /// Whether the page has a password field.
    pub password: bool,
}

/// A link as written in the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReference<'t> {
    /// The reference.
    pub href: Cow<'t, str>,
    /// The attribute as written; `""` if there is none.
    pub rel: Cow<'t, str>,
}

impl LinkReference<'_> {
    /// Returns the words of the attribute in lower case, including repetitions.
    pub fn rel(&self) -> impl Iterator<Item = String> {
        self.rel.split(WHITE).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
    }

    /// Returns whether the attribute has this word.
    pub fn has_rel(&self, wanted: &str) -> bool {
        !self.rel.is_empty() && self.rel.split(WHITE).any(|word| word.eq_ignore_ascii_case(wanted))
    }
}

/// A `meta` with a name and a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'t> {
    /// The name as written.
    pub name: Cow<'t, str>,
    /// The content.
    pub content: Cow<'t, str>,
}

impl<'t> Markup<'t> {
    /// Reads a page's text.
    pub fn read(text: &'t str) -> Markup<'t> {
        let value = |span: TextSpan| entity::in_attribute(span.of(text));
        let mut markup = Markup::default();
        let whole = tree::facts(text, |fact| match fact {
            ElementFact::Link { href, rel } => {
                if markup.links.is_empty() {
                    markup.links.reserve(LINKS_EXPECTED);
                }
                let rel = rel.map_or(Cow::Borrowed(""), value);
                markup.links.push(LinkReference { href: value(href), rel });
            }
            ElementFact::Frame { src } => markup.frames.push(value(src)),
            ElementFact::Base { href } if markup.base.is_none() => markup.base = Some(value(href)),
            ElementFact::Base { .. } => {}
            ElementFact::Canonical { href } => markup.canonicals.push(value(href)),
            ElementFact::Meta { refresh, name, content } => {
                if refresh {
                    markup.refreshes.push(value(content));
                }
                if let Some(name) = name {
                    let (name, content) = (value(name), value(content));
                    markup.directives.push(Directive { name, content });
                }
            }
            ElementFact::Title { text: span } if markup.title.is_none() => {
                markup.title = Some(collapsed(&entity::in_title(span.of(text))));
            }
            ElementFact::Title { .. } => {}
        });
        (markup.complete, markup.password) = (whole.complete, whole.password);
        markup
    }

    /// Returns the URL of the first canonical reference that has one.
    pub fn canonical<U>(&self, mut resolve: impl FnMut(&str) -> Option<U>) -> Option<U> {
        let mut named = self.canonicals.iter().filter(|href| !href.is_empty());
        named.find_map(|href| resolve(href))
    }

    /// Returns the target of the first refresh that counts. A refresh whose reference is no URL
    /// does not count.
    pub fn refresh<U>(&self, mut resolve: impl FnMut(&str) -> Option<U>) -> Option<U> {
        for content in &self.refreshes {
            match refresh(content) {
                None => {}
                Some(Refresh::Reload) => return None,
                Some(Refresh::To(reference)) => {
                    if let Some(url) = resolve(reference) {
                        return Some(url);
                    }
                }
            }
        }
        None
    }
}

fn collapsed(text: &str) -> String {
    let mut title = String::with_capacity(text.len());
    for word in text.split(WHITE).filter(|word| !word.is_empty()) {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    title
}

/// A page with a link usually has more.
const LINKS_EXPECTED: usize = 32;
