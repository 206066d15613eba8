//! Worlds: web sites that are computed page by page, to measure how a crawler tells pages that
//! deserve to be read from pages without an end.
//!
//! A world is a name and a pure function from a request's path and query to an answer. It has no
//! state and no clock, so a world of any size takes no memory, and every run sees the same pages.
//!
//! An *honest* world is a large site whose pages all deserve to be read. An *endless* world is a
//! site of a few dozen pages that also yields URLs without an end, in one way that real software
//! does. Both come in two folders: worlds that may be looked at while rules are developed, and
//! worlds that are only measured against, so that rules are not written for the examples that
//! judge them.
//!
//! [`Host::world`](crate::sites::Host) serves a world over a socket.

mod endless;
mod fixed;
mod honest;
mod page;
mod target;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::OnceLock;

use fixed::FixedPages;
use page::{SiteFrame, WorldPage, WorldReply};
use target::WorldTarget;

/// A web site that is computed page by page.
pub struct WebWorld {
    /// Its name: a label of a host name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// Whether it ends.
    pub nature: WorldNature,
    /// Who may look at it.
    pub purpose: WorldPurpose,
    frame: SiteFrame,
    /// The pages of an endless world that deserve to be read.
    patterns: &'static [&'static str],
    fixed: OnceLock<FixedPages>,
    decorate: fn(&WorldTarget<'_>, WorldPage) -> WorldPage,
    reply: fn(&WorldTarget<'_>) -> WorldReply,
}

/// Whether a world ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldNature {
    /// It yields URLs without an end.
    Endless,
    /// It has so many pages, and all of them deserve to be read.
    Honest {
        /// How many, with the home page and the lists.
        pages: u32,
    },
}

/// Who may look at a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldPurpose {
    /// Rules may be developed with it.
    Development,
    /// Rules are only measured against it.
    MeasuredOnly,
}

/// The answer of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldAnswer {
    /// The status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The `Location` of a redirect.
    pub location: Option<String>,
    /// The body.
    pub body: String,
}

impl WebWorld {
    /// A world without an end: `patterns` are its honest pages, `reply` answers everything else.
    const fn endless(
        purpose: WorldPurpose,
        (name, about): (&'static str, &'static str),
        frame: SiteFrame,
        patterns: &'static [&'static str],
        reply: fn(&WorldTarget<'_>) -> WorldReply,
    ) -> WebWorld {
        WebWorld {
            name,
            about,
            nature: WorldNature::Endless,
            purpose,
            frame,
            patterns,
            fixed: OnceLock::new(),
            decorate: |_, page| page,
            reply,
        }
    }

    /// A world of so many pages, all of which deserve to be read.
    const fn honest(
        purpose: WorldPurpose,
        (name, about): (&'static str, &'static str),
        pages: u32,
        frame: SiteFrame,
        reply: fn(&WorldTarget<'_>) -> WorldReply,
    ) -> WebWorld {
        let mut world = WebWorld::endless(purpose, (name, about), frame, &[], reply);
        world.nature = WorldNature::Honest { pages };
        world
    }

    /// With more on each of its honest pages.
    const fn decorated(
        mut self,
        decorate: fn(&WorldTarget<'_>, WorldPage) -> WorldPage,
    ) -> WebWorld {
        self.decorate = decorate;
        self
    }

    /// Answers a request for this path and query.
    pub fn answer(&self, path_and_query: &str) -> WorldAnswer {
        let asked = WorldTarget::new(self.name, path_and_query, self.fixed());
        let reply = match self.fixed().page(&asked) {
            Some(page) => WorldReply::Page((self.decorate)(&asked, page)),
            None if asked.path == "/robots.txt" || asked.path == "/sitemap.xml" => {
                WorldReply::Missing
            }
            None => (self.reply)(&asked),
        };
        let (status, page) = match reply {
            WorldReply::Page(page) => (200, page),
            WorldReply::Missing => {
                (404, WorldPage::new("Not found").text("There is no page at this address."))
            }
            WorldReply::To(status, location) => {
                let (content_type, body) = ("text/plain; charset=utf-8", "moved\n".to_owned());
                return WorldAnswer { status, content_type, location: Some(location), body };
            }
        };
        let body = self.frame.render(&page, &asked);
        WorldAnswer { status, content_type: "text/html; charset=utf-8", location: None, body }
    }

    /// Returns the targets of the pages that deserve to be read: of an honest world all pages, as a
    /// walk from its home page finds them.
    pub fn honest_targets(&self) -> Vec<String> {
        match self.nature {
            WorldNature::Endless => self.fixed().targets().to_vec(),
            WorldNature::Honest { pages } => self.walk(pages as usize + 1),
        }
    }

    /// Returns the targets that a breadth-first walk of the links and redirects from the home page
    /// finds, at most so many.
    pub fn walk(&self, targets_max: usize) -> Vec<String> {
        self.walk_with(targets_max, |_, _| ())
    }

    /// Walks as [`WebWorld::walk`] does, and shows each page on the way.
    fn walk_with(
        &self,
        targets_max: usize,
        mut see: impl FnMut(&str, &WorldAnswer),
    ) -> Vec<String> {
        let mut known = HashSet::from(["/".to_owned()]);
        let mut found = vec!["/".to_owned()];
        let mut waiting = VecDeque::from(["/".to_owned()]);
        while let Some(target) = waiting.pop_front() {
            let answer = self.answer(&target);
            see(&target, &answer);
            for link in links(&answer, &target) {
                if found.len() >= targets_max {
                    return found;
                }
                if known.insert(link.clone()) {
                    found.push(link.clone());
                    waiting.push_back(link);
                }
            }
        }
        found
    }

    fn fixed(&self) -> &FixedPages {
        self.fixed.get_or_init(|| FixedPages::new(self.frame.title, self.patterns))
    }
}

impl fmt::Debug for WebWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebWorld").field(&self.name).finish()
    }
}

impl PartialEq for WebWorld {
    fn eq(&self, other: &WebWorld) -> bool {
        self.name == other.name
    }
}

/// All worlds: endless ones first.
pub fn worlds() -> Vec<&'static WebWorld> {
    endless::worlds().chain(honest::worlds()).collect()
}

/// The links of an answer, resolved as a browser does: dot segments are removed, fragments are
/// dropped.
fn links(answer: &WorldAnswer, target: &str) -> Vec<String> {
    let base = target.split('?').next().unwrap_or(target);
    let hrefs = answer.body.split("<a href=\"").skip(1);
    let hrefs = hrefs.filter_map(|rest| rest.split('"').next());
    let hrefs = hrefs.map(page::unescaped);
    hrefs.chain(answer.location.clone()).map(|href| resolved(base, &href)).collect()
}

/// Resolves a link that names no other host (RFC 3986 §5.2).
fn resolved(base: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or(href);
    let (path, query) = match href.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (href, None),
    };
    let joined = match path {
        "" => base.to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{}/{path}", base.rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = joined.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    let path = format!("/{}", kept.join("/"));
    query.map_or(path.clone(), |query| format!("{path}?{query}"))
}
