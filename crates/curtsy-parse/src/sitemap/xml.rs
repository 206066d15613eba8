//! Reads the elements of a sitemap or a feed, in one walk over the events of a lenient XML reader.
//!
//! Elements count by name and by place: `loc` is an address only as a child of `url`, which is a
//! child of the root. Names count without their prefix if the prefix means the root's own
//! namespace, whatever that is; `image:loc` is never a page. An end that does not match closes what
//! it can.

use std::borrow::Cow;

use curtsy_core::url::CrawlUrl;

use super::events::{Attributes, XmlEvent, XmlEvents, same};
use super::{
    ChangeFrequency, Child, ListedPage, SitemapFinds, SitemapKind, SitemapProblem, date, trimmed,
};

pub(super) fn read(text: &str, found: &mut SitemapFinds<'_>) -> SitemapKind {
    let mut walk = Walk::new(found);
    let mut events = XmlEvents::new(text);
    while let Some(event) = events.next() {
        match event {
            XmlEvent::Start { name, attributes, empty } => {
                let part = walk.start(name, attributes);
                if empty {
                    walk.end(name);
                } else if part.is_some_and(XmlElement::may_be_leaf)
                    && let Some(text) = events.leaf(name)
                {
                    walk.text(text);
                    walk.close_last();
                }
            }
            XmlEvent::End { name } => walk.end(name),
            XmlEvent::Text(text) => walk.text(text),
            XmlEvent::CData(text) => walk.push(text),
            XmlEvent::Doctype => walk.refused = true,
            XmlEvent::Broken => walk.found.warn(0, SitemapProblem::Broken),
        }
        if walk.is_over() {
            break;
        }
        if walk.field().is_none() {
            events.skip_white();
        }
    }
    walk.finish()
}

/// An open element.
struct OpenXmlElement<'t> {
    /// The name with its prefix, which the end tag must repeat.
    name: &'t str,
    part: XmlElement,
}

/// An element that the reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XmlElement {
    Root,
    /// The `channel` of RSS, which has items in some versions.
    Channel,
    /// `url`, `sitemap`, `item`, `entry`.
    Record,
    /// A record of the wrong kind for this document.
    Misplaced,
    Address,
    /// The `guid` of an RSS item, which may be its address.
    Id,
    Modified,
    /// Counts if there is no time of modification.
    Published,
    Change,
    Priority,
    Other,
}

struct Walk<'t, 'f, 'a> {
    found: &'f mut SitemapFinds<'a>,
    kind: SitemapKind,
    refused: bool,
    open: Vec<OpenXmlElement<'t>>,
    /// The number of open elements that are too deep to be read.
    beyond: usize,
    /// Prefixes, with their colon, that mean the root's namespace.
    prefixes: Vec<String>,
    record: SitemapRecord,
}

/// The record that is being read. The next record reuses the memory of its texts.
#[derive(Default)]
struct SitemapRecord {
    texts: [String; FIELDS],
    /// Which of them are given, and which is being given.
    given: [bool; FIELDS],
    writing: Option<usize>,
    alternates: Vec<(String, String)>,
}

impl SitemapRecord {
    fn clear(&mut self) {
        (self.given, self.writing) = ([false; FIELDS], None);
        self.alternates.clear();
    }

    /// Begins a field. Of two fields with the same name the first counts.
    fn begin(&mut self, field: usize) {
        self.writing = (!self.given[field]).then_some(field);
        if !self.given[field] {
            self.texts[field].clear();
        }
    }

    fn end(&mut self, field: usize) {
        self.given[field] = true;
        self.writing = None;
    }

    /// Returns the text of a field that is not empty.
    fn text(&self, part: XmlElement) -> Option<&str> {
        let field = part.field()?;
        let text = trimmed(&self.texts[field]);
        (self.given[field] && !text.is_empty()).then_some(text)
    }
}

impl XmlElement {
    /// Returns whether it may be read at once if it has only text.
    fn may_be_leaf(self) -> bool {
        self == XmlElement::Other || self.field().is_some()
    }

    /// Returns its index among the fields of a record.
    fn field(self) -> Option<usize> {
        Some(match self {
            XmlElement::Address => 0,
            XmlElement::Id => 1,
            XmlElement::Modified => 2,
            XmlElement::Published => 3,
            XmlElement::Change => 4,
            XmlElement::Priority => 5,
            XmlElement::Root
            | XmlElement::Channel
            | XmlElement::Record
            | XmlElement::Misplaced
            | XmlElement::Other => {
                return None;
            }
        })
    }
}

impl<'t, 'f, 'a> Walk<'t, 'f, 'a> {
    fn new(found: &'f mut SitemapFinds<'a>) -> Walk<'t, 'f, 'a> {
        Walk {
            found,
            kind: SitemapKind::None,
            refused: false,
            open: Vec::new(),
            beyond: 0,
            prefixes: Vec::new(),
            record: SitemapRecord::default(),
        }
    }

    /// Returns whether the rest of the document does not matter: its root is unknown, or it is
    /// refused and its kind is known.
    fn is_over(&self) -> bool {
        match self.open.first() {
            Some(_) => self.kind == SitemapKind::None || self.refused,
            None => false,
        }
    }

    /// Opens an element and returns its kind, unless it is too deep to be read.
    fn start(&mut self, full: &'t str, attributes: Attributes<'_>) -> Option<XmlElement> {
        if self.open.len() >= DEPTH_MAX {
            self.beyond += 1;
            return None;
        }
        let part = match self.open.last().map(|open| open.part) {
            None => {
                if self.kind != SitemapKind::None {
                    // A second root: not well-formed, and ignored.
                    XmlElement::Other
                } else {
                    self.root(full, attributes);
                    XmlElement::Root
                }
            }
            Some(parent) => self.part(parent, full, attributes),
        };
        match part {
            XmlElement::Record => {
                self.found.records = self.found.records.saturating_add(1);
                self.record.clear();
            }
            XmlElement::Misplaced => {
                self.found.records = self.found.records.saturating_add(1);
                self.found.warn(self.found.records, SitemapProblem::Misplaced);
            }
            part => {
                if let Some(field) = part.field() {
                    self.record.begin(field);
                }
            }
        }
        self.open.push(OpenXmlElement { name: full, part });
        Some(part)
    }

    fn root(&mut self, full: &str, attributes: Attributes<'_>) {
        let (prefix, name) = split(full);
        self.kind = match name {
            "urlset" => SitemapKind::UrlSet,
            "sitemapindex" => SitemapKind::Index,
            "rss" | "RDF" => SitemapKind::Rss,
            "feed" => SitemapKind::Atom,
            _ => SitemapKind::None,
        };
        if name == "RDF" {
            // RSS 1.0: the root belongs to RDF, everything else to the default namespace.
            self.prefixes.push(String::new());
            return;
        }
        let mut declared: Vec<(String, &str)> = Vec::new();
        for (key, value) in attributes.iter().take(ATTRIBUTES_MAX) {
            if key == "xmlns" {
                declared.push((String::new(), value));
            } else if let Some(name) = key.strip_prefix("xmlns:") {
                declared.push((format!("{name}:"), value));
            }
        }
        let own = declared.iter().find(|(name, _)| name == prefix).map(|(_, uri)| *uri);
        self.prefixes.push(prefix.to_owned());
        let same = declared.into_iter().filter(|(_, uri)| Some(*uri) == own);
        self.prefixes.extend(same.map(|(name, _)| name));
    }

    fn part(&mut self, parent: XmlElement, full: &str, tag: Attributes<'_>) -> XmlElement {
        let (prefix, name) = split(full);
        let ours = self.prefixes.iter().any(|own| same(own.as_bytes(), prefix.as_bytes()));
        match (self.kind, parent, name) {
            (SitemapKind::Rss, XmlElement::Record, "date") if prefix == "dc:" => {
                XmlElement::Modified
            }
            (SitemapKind::UrlSet, XmlElement::Record, "link") if !ours => {
                self.alternate(tag);
                XmlElement::Other
            }
            _ if !ours => XmlElement::Other,
            (SitemapKind::UrlSet, XmlElement::Root, "url") => XmlElement::Record,
            (SitemapKind::Index, XmlElement::Root, "sitemap") => XmlElement::Record,
            (SitemapKind::UrlSet, XmlElement::Root, "sitemap")
            | (SitemapKind::Index, XmlElement::Root, "url") => XmlElement::Misplaced,
            (SitemapKind::UrlSet | SitemapKind::Index, XmlElement::Record, name) => match name {
                "loc" => XmlElement::Address,
                "lastmod" => XmlElement::Modified,
                "changefreq" => XmlElement::Change,
                "priority" => XmlElement::Priority,
                _ => XmlElement::Other,
            },
            (SitemapKind::Rss, XmlElement::Root, "channel") => XmlElement::Channel,
            (SitemapKind::Rss, XmlElement::Root | XmlElement::Channel, "item") => {
                XmlElement::Record
            }
            (SitemapKind::Rss, XmlElement::Record, name) => match name {
                "link" => XmlElement::Address,
                "guid" if attribute(tag, "isPermaLink").is_none_or(|it| it != "false") => {
                    XmlElement::Id
                }
                "pubDate" => XmlElement::Published,
                _ => XmlElement::Other,
            },
            (SitemapKind::Atom, XmlElement::Root, "entry") => XmlElement::Record,
            (SitemapKind::Atom, XmlElement::Record, "link") => {
                self.atom_link(tag);
                XmlElement::Other
            }
            (SitemapKind::Atom, XmlElement::Record, "updated") => XmlElement::Modified,
            (SitemapKind::Atom, XmlElement::Record, "published") => XmlElement::Published,
            _ => XmlElement::Other,
        }
    }

    /// Reads an `xhtml:link` with a language.
    fn alternate(&mut self, tag: Attributes<'_>) {
        let is_alternate = attribute(tag, "rel").is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("alternate"))
        });
        if is_alternate
            && self.record.alternates.len() < self.found.limits.alternates_max
            && let (Some(language), Some(href)) =
                (attribute(tag, "hreflang"), attribute(tag, "href"))
        {
            self.record.alternates.push((language, href));
        }
    }

    /// Reads the link of an Atom entry to its page: without `rel`, or with `alternate` (RFC 4287
    /// §4.2.7.2).
    fn atom_link(&mut self, tag: Attributes<'_>) {
        let is_page = attribute(tag, "rel").is_none_or(|rel| {
            matches!(rel.trim(), "alternate" | "http://www.iana.org/assignments/relation/alternate")
        });
        if is_page
            && !self.record.given[0]
            && let Some(href) = attribute(tag, "href")
        {
            self.record.texts[0] = href;
            self.record.given[0] = true;
        }
    }

    /// Returns the field that text belongs to here.
    fn field(&mut self) -> Option<&mut String> {
        let field = self.open.last()?.part.field()?;
        (self.record.writing == Some(field)).then(|| &mut self.record.texts[field])
    }

    /// Adds text without entities.
    fn push(&mut self, text: &str) {
        if let Some(field) = self.field() {
            push(field, text);
        }
    }

    /// Adds text with entities. A bare `&` stays, and so does the start of an unknown name.
    fn text(&mut self, mut text: &str) {
        let Some(field) = self.field() else { return };
        while let Some(at) = memchr::memchr(b'&', text.as_bytes()) {
            push(field, &text[..at]);
            let after = &text[at + 1..];
            let end = after.bytes().take(REFERENCE_BYTES_MAX).position(|b| b == b';');
            let name = end.map(|end| &after[..end]);
            match name.filter(|it| it.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#')) {
                Some(name) => {
                    push(field, &character(name));
                    text = &after[name.len() + 1..];
                }
                None => {
                    push(field, "&");
                    text = after;
                }
            }
        }
        push(field, text);
    }

    fn end(&mut self, full: &str) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        // An end without a start closes nothing.
        let Some(at) =
            self.open.iter().rposition(|open| same(open.name.as_bytes(), full.as_bytes()))
        else {
            return;
        };
        while self.open.len() > at {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        let Some(open) = self.open.pop() else { return };
        match open.part {
            XmlElement::Record => self.take_record(),
            part => {
                if let Some(field) = part.field() {
                    self.record.end(field);
                }
            }
        }
    }

    fn take_record(&mut self) {
        let (record, found) = (&mut self.record, &mut *self.found);
        let number = found.records;
        let address = record.text(XmlElement::Address).or(record.text(XmlElement::Id));
        let Some(url) = found.address(address.unwrap_or_default()) else { return };
        let dates = [XmlElement::Modified, XmlElement::Published].map(|part| record.text(part));
        let mut read = dates.into_iter().flatten().map(|text| date::modified_ms(text, found.now));
        // A text that is no date hides neither the other date nor anything else of the record.
        let modified_ms = read.clone().flatten().next();
        if read.next() == Some(None) {
            found.warn(number, SitemapProblem::BadDate);
        }
        if self.kind == SitemapKind::Index {
            found.add_sitemap(Child { url, modified_ms });
            return;
        }
        let (change, priority) =
            (record.text(XmlElement::Change), record.text(XmlElement::Priority));
        let entry = ListedPage {
            url,
            modified_ms,
            change: change.and_then(ChangeFrequency::read),
            priority: priority.and_then(read_priority),
            alternates: alternates(found, &record.alternates),
        };
        if change.is_some() && entry.change.is_none()
            || priority.is_some() && entry.priority.is_none()
        {
            found.warn(number, SitemapProblem::BadHint);
        }
        found.add(entry);
    }

    /// Closes what is still open at the end of the text. The text of a field whose end is missing
    /// there may have been cut in its middle: half an address is another page, or none.
    fn finish(mut self) -> SitemapKind {
        if self.refused {
            self.found.warn(0, SitemapProblem::Doctype);
            self.found.entries.clear();
            self.found.sitemaps.clear();
        } else if self.kind != SitemapKind::None && !self.open.is_empty() {
            self.found.warn(0, SitemapProblem::Broken);
            while self.open.last().is_some_and(|open| open.part != XmlElement::Record) {
                self.open.pop();
            }
            while !self.open.is_empty() {
                self.close_last();
            }
        }
        self.kind
    }
}

fn alternates(found: &SitemapFinds<'_>, written: &[(String, String)]) -> Vec<(String, CrawlUrl)> {
    let url = |(language, href): &(String, String)| {
        Some((language.clone(), found.base.join(href.trim()).ok()?))
    };
    written.iter().filter_map(url).collect()
}

fn push(field: &mut String, text: &str) {
    if field.len() + text.len() <= FIELD_BYTES_MAX {
        field.push_str(text);
    }
}

/// Returns the text of a reference, by its name without `&` and `;`.
fn character(name: &str) -> Cow<'static, str> {
    Cow::Borrowed(match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        // Numbers, and names that only HTML has. Anything else stays as written.
        name => return Cow::Owned(htmlize::unescape(format!("&{name};")).into_owned()),
    })
}

/// Returns a number from 0 to 1.
fn read_priority(text: &str) -> Option<f32> {
    text.parse().ok().filter(|priority| (0.0..=1.0).contains(priority))
}

/// Returns the prefix with its colon, and the name.
fn split(full: &str) -> (&str, &str) {
    full.split_at(full.bytes().position(|b| b == b':').map_or(0, |colon| colon + 1))
}

/// Returns an attribute with its entities decoded: those of HTML, and often a bare `&`.
fn attribute(tag: Attributes<'_>, wanted: &str) -> Option<String> {
    let (_, value) = tag.iter().take(ATTRIBUTES_MAX).find(|(name, _)| *name == wanted)?;
    Some(htmlize::unescape_attribute(value).into_owned())
}

/// The number of fields of a record.
const FIELDS: usize = 6;
/// Limit of the nesting of elements.
pub(crate) const DEPTH_MAX: usize = 64;
/// Limit of the attributes of one element.
const ATTRIBUTES_MAX: usize = 64;
/// Limit of the length of a field.
const FIELD_BYTES_MAX: usize = CrawlUrl::TEXT_BYTES_MAX;
/// Longer than the longest name of a character.
const REFERENCE_BYTES_MAX: usize = 40;
