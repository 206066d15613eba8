//! The facts of a page's elements, by our reader and by html5ever.

use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::node::Element;
use scraper::{Html, HtmlTreeSink, Node};

use curtsy_parse::html::Markup;

/// The facts of the elements, by kind, in the order of the tree.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    links: Vec<(String, String)>,
    frames: Vec<String>,
    base: Option<String>,
    title: Option<String>,
    canonicals: Vec<String>,
    refreshes: Vec<String>,
    named: Vec<(String, String)>,
}

pub(crate) fn ours(page: &str) -> Seen {
    let markup = Markup::read(page);
    assert!(markup.complete, "no page of this size is cut");
    let owned = |list: &[std::borrow::Cow<'_, str>]| {
        list.iter().map(|text| text.clone().into_owned()).collect::<Vec<_>>()
    };
    Seen {
        links: markup
            .links
            .iter()
            .map(|link| (link.href.clone().into_owned(), link.rel.clone().into_owned()))
            .collect(),
        frames: owned(&markup.frames),
        base: markup.base.as_deref().map(str::to_owned),
        title: markup.title.clone(),
        canonicals: owned(&markup.canonicals),
        refreshes: owned(&markup.refreshes),
        named: markup
            .directives
            .iter()
            .map(|d| (d.name.clone().into_owned(), d.content.clone().into_owned()))
            .collect(),
    }
}

pub(crate) fn theirs(page: &str) -> Seen {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let sink = HtmlTreeSink::new(Html::new_document());
    let html = driver::parse_document(sink, options).one(page);
    let mut seen = Seen::default();
    for node in html.tree.root().descendants() {
        let Node::Element(element) = node.value() else {
            continue;
        };
        let in_template = node.ancestors().any(|parent| {
            matches!(parent.value(), Node::Element(e) if e.name() == "template" && is_html(e))
        });
        if in_template {
            continue;
        }
        let value = |name: &str| element.attr(name).map(str::to_owned);
        match (element.name(), is_html(element)) {
            ("a" | "area", _) => {
                if let Some(href) = value("href") {
                    seen.links.push((href, value("rel").unwrap_or_default()));
                }
            }
            ("base", true) if seen.base.is_none() => seen.base = value("href"),
            ("iframe" | "frame", true) => {
                seen.frames.extend(value("src").filter(|src| !src.is_empty()));
            }
            ("title", true) if seen.title.is_none() => {
                let text: String = node
                    .children()
                    .filter_map(|child| child.value().as_text())
                    .map(|text| &**text)
                    .collect();
                let words: Vec<&str> =
                    text.split([' ', '\t', '\n', '\r', '\x0c']).filter(|w| !w.is_empty()).collect();
                seen.title = Some(words.join(" "));
            }
            ("link", true) => {
                let rel = value("rel").unwrap_or_default().to_ascii_lowercase();
                if rel.split([' ', '\t', '\n', '\r', '\x0c']).any(|word| word == "canonical") {
                    seen.canonicals.extend(value("href"));
                }
            }
            ("meta", true) => {
                if let Some(content) = value("content") {
                    let refresh =
                        value("http-equiv").is_some_and(|it| it.eq_ignore_ascii_case("refresh"));
                    seen.refreshes.extend(refresh.then(|| content.clone()));
                    seen.named.extend(value("name").map(|name| (name, content)));
                }
            }
            _ => {}
        }
    }
    seen
}

/// Returns whether html5ever 0.40.1 deviates from the standard. It looks for `table`, `tbody` and
/// `tfoot` instead of `tbody`, `thead` and `tfoot` ("in table body"), which shows if there is no
/// table around them. It treats no SVG or MathML element as "special".
pub(crate) fn is_misread_by_them(page: &str) -> bool {
    page.contains("<template>") && page.contains("<thead>")
        || page.contains("<svg>") && page.contains("<title>")
}

fn is_html(element: &Element) -> bool {
    &*element.name.ns == "http://www.w3.org/1999/xhtml"
}
