//! What a case of the zoo is: a name, what its server does, and what a polite crawler makes of it.

use std::sync::Arc;
use std::time::Duration;

use super::script::ZooScript;
use crate::certificate::CertificateFault;

/// One misbehaviour, on a host of its own.
#[derive(Clone)]
pub struct ZooCase {
    /// Its name: letters, digits and hyphens.
    pub name: &'static str,
    /// What kind of misbehaviour it is.
    pub group: CaseGroup,
    /// What the server does, in one line.
    pub does: &'static str,
    /// What a polite crawler makes of the home page.
    pub expect: Expectation,
    /// By which of the crawler's limits an exchange with it ends at the latest.
    pub deadline: Deadline,
    /// The most requests that a crawl of the host may make, robots.txt and sitemaps included.
    pub requests_max: u32,
    /// What is as good.
    pub or: Option<Expectation>,
    /// Why this is expected, where it could be thought otherwise.
    pub because: &'static str,
    pub(super) speaks: ZooProtocol,
    /// What is said when a connection has been made, before any request.
    pub(super) opens: Option<fn() -> ZooScript>,
    pub(super) answers: Answers,
}

/// What a case answers; `None` is what a good host answers.
pub(super) type Answers = Arc<dyn Fn(&ZooRequest<'_>) -> Option<ZooScript> + Send + Sync>;

/// What a connection is spoken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZooProtocol {
    /// HTTP/1.1 without TLS.
    Plain,
    /// HTTP/1.1 over TLS.
    Tls(CertificateFault),
    /// HTTP/2 over TLS.
    Http2,
    /// Bytes of the case's own on the port where TLS is expected.
    Raw,
}

impl ZooProtocol {
    /// Whether its URL begins with `https`.
    pub(super) fn tls(self) -> bool {
        self != ZooProtocol::Plain
    }
}

/// A request, as a case sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZooRequest<'a> {
    /// Path and query.
    pub(super) path: &'a str,
    /// How often the host was asked for it before.
    pub(super) before: u32,
    /// The host as the client names it: `http://127.66.0.1:8080`.
    pub(super) base: &'a str,
    /// The same of a host that behaves.
    pub(super) elsewhere: &'a str,
    /// The stream, where HTTP/2 is spoken.
    pub(super) stream: u32,
}

impl ZooRequest<'_> {
    /// Returns the number of a page in a chain: 0 for the `first` path, otherwise the number after
    /// `prefix`.
    pub(super) fn hop(&self, first: &str, prefix: &str) -> Option<u32> {
        match self.path == first {
            true => Some(0),
            false => self.path.strip_prefix(prefix)?.parse().ok(),
        }
    }
}

curtsy_core::word_enum! {
    /// What kind of misbehaviour.
    pub enum CaseGroup {
        /// A host that behaves, for comparison.
        Control = "control",
        /// Bodies that are packed to burst, or spoilt.
        Coding = "coding",
        /// Connections that are slow, silent, or cut.
        Time = "time",
        /// Heads that are no heads, or too much of one.
        Head = "head",
        /// Lies about where an answer ends.
        Length = "length",
        /// Certificates and handshakes.
        Tls = "tls",
        /// HTTP/2 frames.
        Http2 = "http2",
        /// Pages that are not what they seem.
        Content = "content",
        /// Redirects.
        Redirect = "redirect",
        /// robots.txt.
        Robots = "robots",
        /// Sitemaps.
        Sitemap = "sitemap",
        /// Sites without end.
        Maze = "maze",
        /// Bot walls and requests to wait.
        Refusal = "refusal",
    }
}

curtsy_core::word_enum! {
    /// By which limit an exchange ends at the latest.
    pub enum Deadline {
        /// A limit on bytes or form: as soon as it is seen.
        AtOnce = "at once",
        /// The time for the first byte.
        FirstByte = "first byte",
        /// The time for the TLS handshake.
        Handshake = "handshake",
        /// The least speed.
        Speed = "speed",
        /// The time for the whole exchange.
        Whole = "whole",
    }
}

/// What a polite crawler makes of a case's home page, in the words of our rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// An answer with this status, and no `error`.
    Page(u16),
    /// No page, with this `error`, dead or to be tried again.
    Error(&'static str),
    /// No page: robots.txt could not be had, with this `error` or status, and nothing else was
    /// asked for.
    NoRobots(&'static str),
    /// Refused by robots.txt, as it was read.
    Forbidden,
    /// No page: told to wait for so long at least.
    Wait(u16, Duration),
    /// The page, and a sitemap that could not be had, with this `error`.
    Sitemap(&'static str),
    /// No page yet: the host is parked.
    Parked,
    /// No page: a bot wall.
    Wall,
    /// No page: a redirect that leads nowhere.
    LostRedirect,
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expectation::Page(status @ 200..400) => write!(f, "`fetched`, {status}"),
            Expectation::Page(status) => write!(f, "status {status}"),
            Expectation::Error(error) => write!(f, "`{error}`"),
            Expectation::NoRobots(error) => {
                write!(f, "robots.txt `{error}`: nothing else is asked")
            }
            Expectation::Forbidden => write!(f, "`refused` by `robots`"),
            Expectation::Wait(status, wait) => write!(f, "{status}: waits {} s", wait.as_secs()),
            Expectation::Sitemap(error) => write!(f, "`fetched`, 200; the sitemap `{error}`"),
            Expectation::Parked => write!(f, "waits: the host is parked"),
            Expectation::Wall => write!(f, "`challenge`"),
            Expectation::LostRedirect => write!(f, "`lost_redirect`"),
        }
    }
}

impl ZooCase {
    /// A case that behaves so far, spoken to in plain HTTP.
    /// The table of all cases knows its group.
    pub(super) fn new(name: &'static str, does: &'static str, expect: Expectation) -> ZooCase {
        ZooCase {
            name,
            group: CaseGroup::Control,
            does,
            expect,
            deadline: Deadline::AtOnce,
            requests_max: REQUESTS_MAX,
            or: None,
            because: "",
            speaks: ZooProtocol::Plain,
            opens: None,
            answers: Arc::new(|_| None),
        }
    }

    /// By which limit an exchange ends.
    pub(super) fn by(self, deadline: Deadline) -> ZooCase {
        ZooCase { deadline, ..self }
    }

    /// The most requests.
    pub(super) fn requests(self, requests_max: u32) -> ZooCase {
        ZooCase { requests_max, ..self }
    }

    /// Why this is expected.
    pub(super) fn because(self, because: &'static str) -> ZooCase {
        ZooCase { because, ..self }
    }

    /// What is as good.
    pub(super) fn or(self, or: Expectation) -> ZooCase {
        ZooCase { or: Some(or), ..self }
    }

    /// In what it speaks.
    pub(super) fn speaks(self, speaks: ZooProtocol) -> ZooCase {
        ZooCase { speaks, ..self }
    }

    /// What is said before any request.
    pub(super) fn opens(self, opens: fn() -> ZooScript) -> ZooCase {
        ZooCase { opens: Some(opens), ..self }
    }

    /// What is answered to everything that it knows.
    pub(super) fn answers(
        self,
        answers: impl Fn(&ZooRequest<'_>) -> Option<ZooScript> + Send + Sync + 'static,
    ) -> ZooCase {
        ZooCase { answers: Arc::new(answers), ..self }
    }

    /// Returns the case with its answer to one path. The answers to other paths stay.
    pub(super) fn at(
        self,
        path: &'static str,
        script: impl Fn(&ZooRequest<'_>) -> ZooScript + Send + Sync + 'static,
    ) -> ZooCase {
        let others = Arc::clone(&self.answers);
        self.answers(move |asked| match asked.path == path {
            true => Some(script(asked)),
            false => others(asked),
        })
    }

    /// Returns the case with its answer to the home page.
    pub(super) fn home(
        self,
        home: impl Fn(&ZooRequest<'_>) -> ZooScript + Send + Sync + 'static,
    ) -> ZooCase {
        self.at("/", home)
    }

    /// Returns the case with its answer to robots.txt.
    pub(super) fn robots(
        self,
        robots: impl Fn(&ZooRequest<'_>) -> ZooScript + Send + Sync + 'static,
    ) -> ZooCase {
        self.at("/robots.txt", robots)
    }
}

impl std::fmt::Debug for ZooCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Case({}: {})", self.name, self.does)
    }
}

/// robots.txt, two places for a sitemap, and the home page.
const REQUESTS_MAX: u32 = 4;
