//! One exchange with a site, in the steps that politeness needs.
//!
//! `route` finds the addresses and a place for one more connection, and sends nothing to the site.
//! `connect` dials: its first packet leaves when it is called, so connections can be kept apart.
//! Neither holds a slot. `send` takes a permit, checks its moment, and writes the first byte in one
//! synchronous step. The head comes before the body, since every worker must know of a refusal at
//! once.

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Approach, Problem};
use curtsy_core::url::CrawlUrl;

use crate::{Fetched, Mono, Permit};

/// The only connection to sites.
pub trait Fetch {
    /// A connection that stands.
    type Line: Line;
    /// Everything that a new connection needs, found before the dial.
    type Route;

    /// Returns an idle line, if its server will still keep it when the turn comes, at `turn`.
    fn standing(&self, approach: &Approach, turn: Mono) -> Option<Self::Line>;

    /// Returns why no connection would be made for a URL, if our own side refuses it: its port, or
    /// the address that its name has now. Sends nothing to the site.
    async fn refuses(&self, url: &CrawlUrl) -> Option<Problem> {
        let _ = url;
        None
    }

    /// Finds the route to a site: its addresses, checked by the guard, and a place among the
    /// connections.
    async fn route(&self, approach: &Approach) -> Result<Self::Route, Problem>;

    /// Dials a new line for an approach at once (TCP, TLS), or returns a failure, which is observed
    /// like any other.
    async fn connect(
        &self,
        approach: &Approach,
        route: Self::Route,
    ) -> Result<Connected<Self::Line>, Problem>;
}

/// A line, and the time that it took.
#[derive(Debug)]
pub struct Connected<L> {
    /// The line.
    pub line: L,
    /// The time from the dial until the line was ready.
    pub took: Duration,
}

/// A connection that stands.
pub trait Line {
    /// Returns the address of the server.
    fn peer(&self) -> IpAddr;

    /// Returns whether requests in flight to that address are counted, which does not apply to the
    /// user's own machines.
    fn is_counted(&self) -> bool {
        true
    }

    /// Returns whether the address is public, not in the user's own networks.
    fn is_public(&self) -> bool {
        true
    }

    /// Sends one request, to the URL of the permit, and waits for the head of the response. The
    /// line sends nothing if the time of [`Permit::until`] has passed, or if the permit is for
    /// another authority. The check and the first write are one step without a pause in between;
    /// right after it, the line records the time in `written`.
    async fn send(
        &mut self,
        permit: Permit,
        request: &Request,
        written: &Cell<Option<Mono>>,
    ) -> Sent;

    /// Reads the rest of the response, or returns why it is not wanted, which may follow from the
    /// head.
    async fn body(&mut self) -> Reading;

    /// Leaves the rest of the response unread. A line may read a little further to remain usable.
    async fn discard(&mut self) {}
}

/// The parts of a request besides its URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`.
    pub method: &'static str,
    /// The user agent.
    pub user_agent: String,
    /// The ETag of the cached page.
    pub if_none_match: Option<String>,
    /// The Last-Modified of the cached page.
    pub if_modified_since: Option<String>,
}

/// The result of a request, up to the head.
#[derive(Clone, Debug)]
pub enum Sent {
    /// The permit was too late or for another authority. No byte was written.
    NotSent,
    /// The server had closed the line. No byte was written.
    Gone,
    /// Written, but no head came.
    Failed {
        /// When the first byte had certainly left.
        sent: Mono,
        /// The failure.
        problem: Problem,
    },
    /// The head.
    Answered {
        /// When the first byte had certainly left.
        sent: Mono,
        /// When the first byte of the response had arrived.
        first_byte: Mono,
        /// The head itself.
        head: Arc<Head>,
    },
}

/// The head of a response: the headers that decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// `Location`.
    pub location: Option<String>,
    /// `Retry-After`, every line of it.
    pub retry_after: Vec<String>,
    /// `Date`.
    pub date: Option<String>,
    /// `Cache-Control`, every line of it.
    pub cache_control: Vec<String>,
    /// `Expires`.
    pub expires: Option<String>,
    /// `Age`.
    pub age: Option<String>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `X-Robots-Tag`, every line of it.
    pub x_robots_tag: Vec<String>,
    /// `Link`, every line of it.
    pub link: Vec<String>,
    /// The other headers with their names in lower case, as many as there is room for, without
    /// cookies.
    pub others: Vec<(String, String)>,
    /// Whether the request had credentials of the policy for this host: then the response is for
    /// this crawl alone.
    pub own: bool,
    /// Whether the answer came from an address that is not public: other crawls may use it only if
    /// they may dial that address too.
    pub inside: bool,
}

/// The rest of an answer.
#[derive(Clone, Debug)]
pub enum Reading {
    /// Read to its end.
    Whole(Fetched),
    /// Not to be used.
    Failed(Problem),
}
