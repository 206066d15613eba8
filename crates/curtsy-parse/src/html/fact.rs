//! The tags with facts about a page, and the places of their values in the text.

use super::entity;
use super::name::{A, AREA, BASE, ElementName, FRAME, IFRAME, LINK, META};
use super::token::{TextSpan, Tokens};

/// The fact of one element.
#[derive(Clone, Copy, Debug)]
pub(super) enum ElementFact {
    Link {
        href: TextSpan,
        rel: Option<TextSpan>,
    },
    Frame {
        src: TextSpan,
    },
    Base {
        href: TextSpan,
    },
    Canonical {
        href: TextSpan,
    },
    Meta {
        refresh: bool,
        name: Option<TextSpan>,
        content: TextSpan,
    },
    /// The content of a `title`.
    Title {
        text: TextSpan,
    },
}

/// Returns the fact of an HTML element.
pub(super) fn of_html(name: ElementName, tokens: &Tokens<'_>) -> Option<ElementFact> {
    match name {
        A | AREA => of_foreign(name, tokens),
        BASE => Some(ElementFact::Base { href: tokens.attribute("href")? }),
        IFRAME | FRAME => {
            let src = tokens.attribute("src").filter(|src| !src.is_empty())?;
            Some(ElementFact::Frame { src })
        }
        LINK => {
            let rel = entity::in_attribute(tokens.attribute("rel")?.of(tokens.text()));
            let mut words = rel.split(WHITE);
            words.any(|word| word.eq_ignore_ascii_case("canonical")).then_some(())?;
            Some(ElementFact::Canonical { href: tokens.attribute("href")? })
        }
        META => {
            let content = tokens.attribute("content")?;
            let is_refresh = |span: TextSpan| {
                entity::in_attribute(span.of(tokens.text())).eq_ignore_ascii_case("refresh")
            };
            let refresh = tokens.attribute("http-equiv").is_some_and(is_refresh);
            let name = tokens.attribute("name");
            (refresh || name.is_some()).then_some(ElementFact::Meta { refresh, name, content })
        }
        _ => None,
    }
}

/// Returns the fact of an SVG or MathML element.
pub(super) fn of_foreign(name: ElementName, tokens: &Tokens<'_>) -> Option<ElementFact> {
    match name {
        A | AREA => Some(ElementFact::Link {
            href: tokens.attribute("href")?,
            rel: tokens.attribute("rel"),
        }),
        _ => None,
    }
}

/// ASCII white space of the standard.
pub(super) const WHITE: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];
