//! Lists the references of a page with their texts, and the named places in it, for a link checker.
//!
//! [`mentions`] and [`places`] read a page tag by tag, without the tree. A crawl reads its links
//! from the tree ([`HtmlPage`](super::HtmlPage)). These functions find where in the text such a
//! link is, its words, and its fragment. The content of `template` elements, scripts, style sheets
//! and comments is ignored here too.
//!
//! Addresses in style sheets (`url(…)`) and in scripts are not read.

use std::borrow::Cow;

use curtsy_core::url::{CrawlUrl, UrlError};

use super::address::CrawlAddresses;
use super::entity;
use super::fact::WHITE;
use super::name::{
    A, AREA, AUDIO, BASE, BODY, EMBED, ElementName, FRAME, IFRAME, IMAGE, IMG, INPUT, LINK, OBJECT,
    SCRIPT, SOURCE, TEMPLATE, TRACK, USE, VIDEO,
};
use super::token::{HtmlToken, TextSpan, Tokens};
use crate::charset::Charset;

curtsy_core::word_enum! {
    /// The purpose of a reference.
    pub enum Use {
        /// A link that a reader follows: `a` and `area`.
        Link = "link",
        /// A page inside the page: `iframe` and `frame`.
        Frame = "frame",
        /// Another document: `link` with `next`, `alternate` and the like, `object`, `embed`.
        Related = "related",
        /// `img`, `srcset`, `input type=image`, `video poster`, `image` and `use` in SVG, `body
        /// background`.
        Image = "image",
        /// `script`.
        Script = "script",
        /// `link` with `stylesheet`.
        Style = "style",
        /// `video`, `audio`, `source`, `track`.
        Media = "media",
        /// `link` with `icon`, `manifest`, `preload` and the like.
        Icon = "icon",
    }
}

impl Use {
    /// Returns whether a browser loads the target with the page.
    pub const fn is_asset(self) -> bool {
        matches!(self, Use::Image | Use::Script | Use::Style | Use::Media | Use::Icon)
    }
}

/// One reference of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention<'t> {
    /// The purpose.
    pub used: Use,
    /// The target, or the reference itself if that is no URL at all. References that cannot be
    /// crawled (`mailto:`) are left out.
    pub target: Result<CrawlUrl, Cow<'t, str>>,
    /// The fragment, as written.
    pub fragment: Option<Cow<'t, str>>,
    /// The words of a link, or the alternative text of an image, with white space collapsed, cut to
    /// 80 characters.
    pub text: String,
}

/// Calls `tell` with every reference of a page, in the order of the page.
pub fn mentions(
    url: &CrawlUrl,
    content_type: Option<&str>,
    body: &[u8],
    mut tell: impl FnMut(Mention<'_>),
) {
    let body = readable(body);
    let charset = Charset::of(body, content_type, Some(url.host().as_str()));
    let text = charset.decode(body);
    let mut base = None;
    each_tag(&text, |tag| {
        if let MarkupPiece::Start { name: BASE, tokens } = tag
            && base.is_none()
        {
            base = tokens.attribute("href").map(|href| entity::in_attribute(href.of(&text)));
        }
    });
    let addresses = CrawlAddresses::new(url, base.as_deref(), charset.encoding);
    let mention = |used, reference: Cow<'_, str>, text: &str| {
        let target = match addresses.resolve(&reference) {
            Ok(url) => Ok(url),
            Err(UrlError::Syntax(_)) => Err(()),
            Err(_) => return None,
        };
        let fragment =
            reference.split_once('#').map(|(_, fragment)| fragment.trim_end().to_owned());
        Some(Mention {
            used,
            target: target.map_err(|()| Cow::Owned(reference.into_owned())),
            fragment: fragment.map(Cow::Owned),
            text: words(text),
        })
    };
    // The link whose words are being read.
    let mut open: Option<(Cow<'_, str>, String)> = None;
    each_tag(&text, |tag| {
        let mut found: Vec<(Use, Cow<'_, str>, String)> = Vec::new();
        match tag {
            MarkupPiece::Start { name, tokens } => {
                let value = |name: &str| {
                    tokens
                        .attribute(name)
                        .map(|span: TextSpan| entity::in_attribute(span.of(&text)))
                };
                if name == A {
                    found.extend(open.take().map(|(href, text)| (Use::Link, href, text)));
                    open = value("href").map(|href| (href, String::new()));
                } else {
                    let alt = value("alt").or_else(|| value("title")).unwrap_or_default();
                    if let Some((_, text)) = open.as_mut().filter(|_| matches!(name, IMG)) {
                        add_words(text, &alt);
                    }
                    of_element(name, &value, |used, reference| {
                        found.push((used, reference, alt.clone().into_owned()));
                    });
                }
            }
            MarkupPiece::End { name: A } => {
                found.extend(open.take().map(|(href, text)| (Use::Link, href, text)));
            }
            MarkupPiece::End { .. } => {}
            MarkupPiece::Text(run) => {
                if let Some((_, text)) = &mut open {
                    add_words(text, &entity::in_text(run));
                }
            }
        }
        for (used, reference, text) in found {
            if let Some(mention) = mention(used, reference, &text) {
                tell(mention);
            }
        }
    });
    if let Some((href, text)) = open
        && let Some(mention) = mention(Use::Link, href, &text)
    {
        tell(mention);
    }
}

/// Calls `tell` with every name that a fragment can point to: the `id` of any element, and the
/// `name` of an `a`.
pub fn places(url: &CrawlUrl, content_type: Option<&str>, body: &[u8], mut tell: impl FnMut(&str)) {
    let body = readable(body);
    let text = Charset::of(body, content_type, Some(url.host().as_str())).decode(body);
    each_tag(&text, |tag| {
        if let MarkupPiece::Start { name, tokens } = tag {
            let id = tokens.attribute("id");
            let named = tokens.attribute("name").filter(|_| name == A);
            for span in id.into_iter().chain(named) {
                tell(&entity::in_attribute(span.of(&text)));
            }
        }
    });
}

/// Finds the references of an element other than `a`.
fn of_element<'t>(
    name: ElementName,
    value: &impl Fn(&str) -> Option<Cow<'t, str>>,
    mut tell: impl FnMut(Use, Cow<'t, str>),
) {
    let filled = |name: &str| value(name).filter(|reference| !reference.trim().is_empty());
    let mut one = |used, attribute: &str| {
        if let Some(reference) = filled(attribute) {
            tell(used, reference);
        }
    };
    match name {
        AREA => one(Use::Link, "href"),
        IFRAME | FRAME => one(Use::Frame, "src"),
        IMG => one(Use::Image, "src"),
        // In SVG. Elsewhere `image` is another name for `img`.
        IMAGE | USE => {
            for reference in ["src", "href", "xlink:href"].into_iter().filter_map(filled) {
                // `#x` is a part of this page.
                if !reference.starts_with('#') {
                    tell(Use::Image, reference);
                }
            }
        }
        BODY => one(Use::Image, "background"),
        SCRIPT => one(Use::Script, "src"),
        AUDIO | TRACK => one(Use::Media, "src"),
        VIDEO => {
            one(Use::Media, "src");
            one(Use::Image, "poster");
        }
        SOURCE => one(Use::Media, "src"),
        OBJECT => one(Use::Related, "data"),
        EMBED => one(Use::Related, "src"),
        INPUT if value("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")) => {
            one(Use::Image, "src");
        }
        LINK => {
            // Older pages use `rev`.
            let rel = value("rel").or_else(|| value("rev")).unwrap_or_default();
            let rel = rel.to_ascii_lowercase();
            let has = |words: &[&str]| rel.split(WHITE).any(|word| words.contains(&word));
            if has(&["stylesheet"]) {
                one(Use::Style, "href");
            } else if has(&ICONS) {
                one(Use::Icon, "href");
            } else if !rel.is_empty() && !has(&HINTS) {
                one(Use::Related, "href");
            }
        }
        _ => {}
    }
    let list = match name {
        IMG | SOURCE => filled("srcset"),
        LINK => filled("imagesrcset"),
        _ => None,
    };
    if let Some(list) = list {
        for address in candidates(&list) {
            tell(Use::Image, Cow::Owned(address.to_owned()));
        }
    }
}

/// Returns the addresses of a `srcset` by the standard's steps: each up to white space, followed by
/// its descriptor.
fn candidates(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| WHITE.contains(&c) || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(WHITE).unwrap_or(rest.len());
        let (address, behind) = rest.split_at(end);
        rest = match address.ends_with(',') {
            true => behind,
            false => behind.split_once(',').map_or("", |(_, rest)| rest),
        };
        Some(address.trim_end_matches(','))
    })
}

/// A tag or a text of a page.
enum MarkupPiece<'a, 't> {
    Start { name: ElementName, tokens: &'a Tokens<'t> },
    End { name: ElementName },
    Text(&'t str),
}

/// Calls `tell` with the tags of a page and the text between them, without templates and elements
/// of text only.
fn each_tag<'t>(text: &'t str, mut tell: impl FnMut(MarkupPiece<'_, 't>)) {
    let mut tokens = Tokens::new(text);
    let mut templates = 0_usize;
    while let Some(token) = tokens.next(false) {
        match token {
            HtmlToken::Start { name: TEMPLATE, .. } => templates += 1,
            HtmlToken::End { name: TEMPLATE } => templates = templates.saturating_sub(1),
            HtmlToken::Start { name, .. } => {
                if templates == 0 {
                    tell(MarkupPiece::Start { name, tokens: &tokens });
                }
                if name == SCRIPT {
                    tokens.script_contents();
                } else if let Some(raw) = name.raw_text() {
                    tokens.raw_contents(raw);
                }
            }
            HtmlToken::End { name } if templates == 0 => tell(MarkupPiece::End { name }),
            HtmlToken::Characters(_) if templates == 0 => {
                tell(MarkupPiece::Text(tokens.last_run()))
            }
            HtmlToken::End { .. } | HtmlToken::Characters(_) | HtmlToken::Doctype { .. } => {}
        }
    }
}

fn add_words(text: &mut String, more: &str) {
    if text.len() < TEXT_BYTES_MAX {
        text.push(' ');
        text.push_str(&more[..more.floor_char_boundary(TEXT_BYTES_MAX)]);
    }
}

fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn readable(body: &[u8]) -> &[u8] {
    &body[..body.len().min(super::PageLimits::default().body_bytes_max)]
}

/// Relations of `link` elements that a browser loads with the page, other than style sheets.
const ICONS: [&str; 8] = [
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "prefetch",
];
/// Relations of `link` elements that name a server, an interface or the page itself.
const HINTS: [&str; 7] =
    ["preconnect", "dns-prefetch", "canonical", "pingback", "webmention", "shortlink", "profile"];
/// Limit of the characters of a link's text that are shown.
const TEXT_CHARS_MAX: usize = 80;
/// Limit of the bytes of a link's text that are collected.
const TEXT_BYTES_MAX: usize = 1_024;
