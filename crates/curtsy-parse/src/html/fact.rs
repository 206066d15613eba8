//! Which tags is a page asked about? The tags that say something, and the places in the text where they say it.

use super::entity;
use super::name::{A, AREA, BASE, FRAME, IFRAME, LINK, META, Name};
use super::token::{Span, Tokens};

/// What one element says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact {
    Link {
        href: Span,
        rel: Option<Span>,
    },
    Frame {
        src: Span,
    },
    Base {
        href: Span,
    },
    Canonical {
        href: Span,
    },
    Meta {
        refresh: bool,
        name: Option<Span>,
        content: Span,
    },
    /// The contents of a `title`.
    Title {
        text: Span,
    },
}

/// Of an HTML element.
pub(super) fn of_html(name: Name, tokens: &Tokens<'_>) -> Option<Fact> {
    match name {
        A | AREA => of_foreign(name, tokens),
        BASE => Some(Fact::Base { href: tokens.attribute("href")? }),
        IFRAME | FRAME => {
            let src = tokens.attribute("src").filter(|src| !src.is_empty())?;
            Some(Fact::Frame { src })
        }
        LINK => {
            let rel = entity::in_attribute(tokens.attribute("rel")?.of(tokens.text()));
            let mut words = rel.split(WHITE);
            words.any(|word| word.eq_ignore_ascii_case("canonical")).then_some(())?;
            Some(Fact::Canonical { href: tokens.attribute("href")? })
        }
        META => {
            let content = tokens.attribute("content")?;
            let is_refresh = |span: Span| {
                entity::in_attribute(span.of(tokens.text())).eq_ignore_ascii_case("refresh")
            };
            let refresh = tokens.attribute("http-equiv").is_some_and(is_refresh);
            let name = tokens.attribute("name");
            (refresh || name.is_some()).then_some(Fact::Meta { refresh, name, content })
        }
        _ => None,
    }
}

/// Of an SVG or MathML element.
pub(super) fn of_foreign(name: Name, tokens: &Tokens<'_>) -> Option<Fact> {
    match name {
        A | AREA => {
            Some(Fact::Link { href: tokens.attribute("href")?, rel: tokens.attribute("rel") })
        }
        _ => None,
    }
}

/// ASCII white space of the standard.
pub(super) const WHITE: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];
