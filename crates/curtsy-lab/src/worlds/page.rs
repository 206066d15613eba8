//! A page of a world: what it says, and the site's frame around it.

use std::fmt::Write;

use super::target::WorldTarget;
use super::text::WorldText;

/// What a world says to a request.
pub(super) enum WorldReply {
    /// A page, in the site's frame.
    Page(WorldPage),
    /// A redirect to this target of the same site.
    To(u16, String),
    /// There is nothing: a 404.
    Missing,
}

/// The part of a page that is its own.
pub(super) struct WorldPage {
    title: String,
    lang: &'static str,
    main: String,
    relink: Option<Relink>,
}

/// Says where a link leads instead.
type Relink = Box<dyn Fn(&str) -> String>;

impl From<WorldPage> for WorldReply {
    fn from(page: WorldPage) -> WorldReply {
        WorldReply::Page(page)
    }
}

impl WorldPage {
    /// A page with this title, which is its heading too.
    pub(super) fn new(title: impl AsRef<str>) -> WorldPage {
        let title = escaped(title.as_ref());
        let main = format!("<h1>{title}</h1>\n");
        WorldPage { title, lang: "en", main, relink: None }
    }

    pub(super) fn lang(mut self, lang: &'static str) -> WorldPage {
        self.lang = lang;
        self
    }

    pub(super) fn heading(mut self, text: impl AsRef<str>) -> WorldPage {
        let _ = writeln!(self.main, "<h2>{}</h2>", escaped(text.as_ref()));
        self
    }

    /// A paragraph.
    pub(super) fn text(mut self, text: impl AsRef<str>) -> WorldPage {
        let _ = writeln!(self.main, "<p>{}</p>", escaped(text.as_ref()));
        self
    }

    /// So many paragraphs of the text's own, each of about so many words.
    pub(super) fn texts(mut self, by: &mut WorldText, paragraphs: u32, words: u32) -> WorldPage {
        for _ in 0..paragraphs {
            let text = by.text(words);
            let _ = writeln!(self.main, "<p>{text}</p>");
        }
        self
    }

    /// A list of links: where to, and what they say.
    pub(super) fn links<H, L>(mut self, links: impl IntoIterator<Item = (H, L)>) -> WorldPage
    where
        H: AsRef<str>,
        L: AsRef<str>,
    {
        self.main.push_str("<ul>\n");
        for (href, label) in links {
            self.main.push_str("<li>");
            anchor(&mut self.main, href.as_ref(), label.as_ref());
            self.main.push_str("</li>\n");
        }
        self.main.push_str("</ul>\n");
        self
    }

    /// One link in a line of its own.
    pub(super) fn link(mut self, href: impl AsRef<str>, label: impl AsRef<str>) -> WorldPage {
        self.main.push_str("<p>");
        anchor(&mut self.main, href.as_ref(), label.as_ref());
        self.main.push_str("</p>\n");
        self
    }

    /// A table of two columns.
    pub(super) fn table<K, V>(mut self, rows: impl IntoIterator<Item = (K, V)>) -> WorldPage
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        self.main.push_str("<table>\n");
        for (key, value) in rows {
            let (key, value) = (escaped(key.as_ref()), escaped(value.as_ref()));
            let _ = writeln!(self.main, "<tr><th>{key}</th><td>{value}</td></tr>");
        }
        self.main.push_str("</table>\n");
        self
    }

    /// Rewrites every link of the page, also those of the frame.
    pub(super) fn relinked(mut self, relink: impl Fn(&str) -> String + 'static) -> WorldPage {
        self.relink = Some(Box::new(relink));
        self
    }

    /// Text in which line breaks count.
    pub(super) fn pre(mut self, text: impl AsRef<str>) -> WorldPage {
        let _ = writeln!(self.main, "<pre>{}</pre>", escaped(text.as_ref()));
        self
    }
}

/// What all pages of a site share.
pub(super) struct SiteFrame {
    /// The site's name.
    pub(super) title: &'static str,
    /// The navigation: where to, and what it says.
    pub(super) nav: &'static [(&'static str, &'static str)],
}

impl SiteFrame {
    /// Writes the whole page.
    pub(super) fn render(&self, page: &WorldPage, asked: &WorldTarget<'_>) -> String {
        let mut out = String::with_capacity(page.main.len() + 2_048);
        let WorldPage { title, lang, main, relink } = page;
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} - {}</title>\n</head>\n<body class=\"site\">\n<header>\n",
            self.title
        );
        anchor(&mut out, "/", self.title);
        out.push_str("\n<nav><ul>\n");
        for (href, label) in self.nav {
            out.push_str("<li class=\"menu-item\">");
            anchor(&mut out, href, label);
            out.push_str("</li>\n");
        }
        let _ = write!(out, "</ul></nav>\n</header>\n<main>\n{main}</main>\n<footer>\n");
        let mut text = WorldText::of(asked.world, "footer");
        let _ = write!(
            out,
            "<p>{}</p>\n<p>© {} · All rights reserved</p>\n</footer>\n</body>\n</html>\n",
            text.text(30),
            self.title
        );
        match relink {
            Some(relink) => relinked(&out, relink),
            None => out,
        }
    }
}

/// Rewrites the links of a page.
fn relinked(body: &str, relink: &Relink) -> String {
    let mut parts = body.split("<a href=\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (href, rest) = part.split_once('"').unwrap_or((part, ""));
        let href = escaped(&relink(&unescaped(href)));
        let _ = write!(out, "<a href=\"{href}\"{rest}");
    }
    out
}

/// Returns what stands between the frame's parts.
#[cfg(test)]
pub(super) fn main_part(body: &str) -> &str {
    let from = body.find("<main>").map_or(0, |at| at + "<main>".len());
    &body[from..body.find("</main>").unwrap_or(body.len())]
}

fn anchor(out: &mut String, href: &str, label: &str) {
    let _ = write!(out, "<a href=\"{}\">{}</a>", escaped(href), escaped(label));
}

fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '&' | '<' | '>' | '"');
    if !text.contains(special) {
        return text.to_owned();
    }
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Undoes [`escaped`].
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}
