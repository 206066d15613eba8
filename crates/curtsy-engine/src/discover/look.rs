//! Classifies a URL by its look: ordinary, long, repetitive, or one of a shape that may have
//! endlessly many.
//!
//! A *shape* is the URL without its session, its date or its query. `traps` counts the different
//! URLs of one shape. Each part of a query has one kind, so that the counts multiply as little as
//! possible: a session ID, a date, the number of a page in a list (limited by its own value), and
//! the rest.
//!
//! These are not traps: an ID in the path (`/product/12345`), a date before a title
//! (`/2024/05/01/title`), a list with a thousand pages.

use std::borrow::Cow;

use curtsy_core::host::{TrapReason, TrapShape};
use curtsy_core::url::CrawlUrl;
use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::parameter::{self, ParameterKind};
use super::{TrapLimits, date};

/// The look of a URL.
pub(super) enum Appearance {
    /// Ordinary.
    Plain,
    /// A trap by itself.
    Trap(TrapReason),
    /// One of a shape that may have many.
    Shapes(Shapes),
}

/// The shapes of a URL, each by its hash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shapes {
    /// Without the session.
    pub(super) session: Option<u64>,
    /// Without the date.
    pub(super) calendar: Option<u64>,
    /// Without the query.
    pub(super) query: Option<QueryShape>,
}

/// A query with its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueryShape {
    /// The path.
    pub(super) path: u64,
    /// Whether the query is a single parameter that is no page number.
    pub(super) single: bool,
    /// Name and value of each parameter that may look something up.
    pub(super) pairs: Pairs,
}

/// A few hashes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    count: usize,
    hashes: [u64; PAIRS_MAX],
}

impl Pairs {
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.hashes[..self.count]
    }

    fn push(&mut self, hash: u64) {
        if let Some(place) = self.hashes.get_mut(self.count) {
            *place = hash;
            self.count += 1;
        }
    }
}

/// Classifies a URL.
pub(super) fn at(url: &CrawlUrl, limits: &TrapLimits) -> Appearance {
    if let Some(reason) = too_long(url, limits) {
        return Appearance::Trap(reason);
    }
    let (path, query) = parts(url);
    if repeats(path, limits.repeats_max) {
        return Appearance::Trap(reason(TrapShape::Repetition, limits.repeats_max));
    }
    match shapes(url, path, query) {
        Shapes { session: None, calendar: None, query: None } => Appearance::Plain,
        shapes => Appearance::Shapes(shapes),
    }
}

/// Returns the trap of a URL that is longer or deeper than the limits.
pub(super) fn too_long(url: &CrawlUrl, limits: &TrapLimits) -> Option<TrapReason> {
    if url.as_str().len() > limits.url_bytes_max as usize {
        return Some(reason(TrapShape::Length, limits.url_bytes_max));
    }
    let segments = segments_of(parts(url).0);
    (segments > limits.segments_max as usize)
        .then(|| reason(TrapShape::Length, limits.segments_max))
}

fn reason(trap: TrapShape, limit: u32) -> TrapReason {
    TrapReason { trap, limit }
}

/// Returns the shapes of a URL.
pub(super) fn shapes_of(url: &CrawlUrl) -> Shapes {
    let (path, query) = parts(url);
    shapes(url, path, query)
}

fn parts(url: &CrawlUrl) -> (&str, &str) {
    let target = url.path_and_query();
    let at = memchr(b'?', target.as_bytes());
    at.map_or((target, ""), |at| (&target[..at], &target[at + 1..]))
}

/// Returns the number of parts of a path, without the slashes at its ends.
fn segments_of(path: &str) -> usize {
    let inner = inner(path);
    inner.iter().filter(|&&b| b == b'/').count() + 1
}

fn inner(path: &str) -> &[u8] {
    let path = path.as_bytes();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns whether one part of the path comes too often. A repeated sequence has repeated parts, so
/// parts are enough. A number or a single character may come more often: `/0/0/0/1`, `/01/01/`.
fn repeats(path: &str, max: u32) -> bool {
    if segments_of(path) <= max as usize {
        return false;
    }
    let mut rest = inner(path).split(|&b| b == b'/').take(SEGMENTS_MAX);
    while let Some(part) = rest.next() {
        let may = !part.is_empty() && (part.len() == 1 || part.iter().all(u8::is_ascii_digit));
        let max = if may { max.saturating_mul(2) } else { max };
        if rest.clone().filter(|other| *other == part).count() >= max as usize {
            return true;
        }
    }
    false
}

fn shapes(url: &CrawlUrl, path: &str, query: &str) -> Shapes {
    let mut shapes = Shapes::default();
    let path = parameter::path_without_session(path);
    let mut has_session = matches!(path, Cow::Owned(_));
    let date = date::at_end_of_path(&path);
    if query.is_empty() && !has_session && date.is_none() {
        return shapes;
    }
    let site = hash(url.host().as_str(), SITE_SEED);
    let mut pairs = Pairs::default();
    let mut dates = false;
    // The number of parameters that are no session, no date and no list, and of those among them
    // that are no page numbers.
    let (mut rest, mut others) = (0, 0);
    // The query without its session, and without its dates too. Page numbers stay.
    let (mut bare, mut undated) = (site, site);
    for parameter in parameter::of(query).take(PARAMETERS_MAX) {
        let pair = hash(parameter, PAIR_SEED);
        match parameter::kind(parameter) {
            ParameterKind::Session => {
                has_session = true;
                continue;
            }
            ParameterKind::Date => {
                dates = true;
                bare = mix(bare, pair);
                continue;
            }
            ParameterKind::Page => {}
            ParameterKind::FarPage => rest += 1,
            ParameterKind::Other => {
                (rest, others) = (rest + 1, others + 1);
                pairs.push(pair);
            }
        }
        (bare, undated) = (mix(bare, pair), mix(undated, pair));
    }
    if has_session {
        shapes.session = Some(mix(hash(&path, SESSION_SEED), bare));
    }
    if let Some((from, to)) = date {
        let around = mix(hash(&path[..from], DATE_SEED), hash(&path[to..], DATE_SEED));
        shapes.calendar = Some(mix(around, undated));
    } else if dates {
        shapes.calendar = Some(mix(hash(&path, DATE_SEED), undated));
    }
    if rest > 0 {
        let single = rest == 1 && others == 1;
        shapes.query = Some(QueryShape { path: mix(site, hash(&path, QUERY_SEED)), single, pairs });
    }
    shapes
}

fn hash(text: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), seed)
}

fn mix(a: u64, b: u64) -> u64 {
    xxh3_64_with_seed(&b.to_le_bytes(), a)
}

/// Limit of the parts of a path that are compared with each other.
const SEGMENTS_MAX: usize = 64;
/// Limit of the parameters of a query that may look something up.
const PAIRS_MAX: usize = 8;
/// Limit of the parameters that are read.
const PARAMETERS_MAX: usize = 32;

const SITE_SEED: u64 = 0;
const PAIR_SEED: u64 = 1;
const SESSION_SEED: u64 = 2;
const DATE_SEED: u64 = 3;
const QUERY_SEED: u64 = 4;

#[cfg(test)]
mod tests {
    use super::{Appearance, Shapes, at};
    use crate::discover::TrapLimits;
    use curtsy_core::host::TrapReason;
    use curtsy_core::url::CrawlUrl;

    fn look(target: &str) -> Appearance {
        let url = CrawlUrl::parse(&format!("http://a.org{target}")).unwrap();
        at(&url, &TrapLimits::default())
    }

    fn check(target: &str, expected: &str) {
        let said = match look(target) {
            Appearance::Plain => "plain".to_owned(),
            Appearance::Trap(TrapReason { trap, limit }) => format!("{trap:?} {limit}"),
            Appearance::Shapes(Shapes { session, calendar, query }) => {
                let query = query.map(|query| match query.single {
                    true => "look-up".to_owned(),
                    false => format!("query of {}", query.pairs.as_slice().len()),
                });
                let named = [
                    session.map(|_| "session".to_owned()),
                    calendar.map(|_| "calendar".to_owned()),
                    query,
                ];
                named.into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(said, expected, "{target}");
    }

    /// Two URLs of one shape, as far as sessions and calendars go.
    fn same(one: &str, other: &str, expected: bool) {
        let shape = |target: &str| match look(target) {
            Appearance::Shapes(Shapes { session, calendar, .. }) => (session, calendar),
            _ => panic!("{target} has no shape"),
        };
        assert_eq!(shape(one) == shape(other), expected, "{one} {other}");
    }

    #[test]
    fn ordinary_addresses() {
        for target in [
            "/",
            "/a",
            "/a/b/c.html",
            "/product/12345",
            "/p/3f2a9c0d11e8",
            "/2024/",
            "/a?page=500",
            "/a?offset=4000",
        ] {
            check(target, "plain");
        }
        check("/2024/05/01/article-title", "plain");
        check("/2024/05/article-title/", "plain");
        check("/2024-05-01-article-title", "plain");
        check("/news/2024/05/01/article-title.html", "plain");
        check("/product/20240501-chair", "plain");
        check("/2024/05/a", "plain");
        check("/a?", "plain");
        check("/a?&", "plain");
    }

    #[test]
    fn long_and_deep_addresses() {
        check(&format!("/{}", "x".repeat(2_070)), "plain");
        check(&format!("/{}", "x".repeat(2_071)), "Length 2083");
        let deep = |segments: usize| (0..segments).map(|n| format!("/s{n}")).collect::<String>();
        check(&deep(32), "plain");
        check(&deep(33), "Length 32");
    }

    #[test]
    fn repetitive_addresses() {
        check("/ab/ab/ab", "plain");
        check("/ab/ab/ab/ab", "Repetition 3");
        check("/ab/c/ab/d/ab/e/ab", "Repetition 3");
        check("/news/list/news/list/news/list/news/list", "Repetition 3");
        check("/blog/www.a.org/x/www.a.org/y/www.a.org/z/www.a.org/", "Repetition 3");
        check("/0/0/0/0/0/1", "plain");
        check("/1/1/1/1/1/1/1", "Repetition 3");
        check("/a////b", "plain");
        check("/a/////b", "Repetition 3");
        check("/a?x=ab/ab/ab/ab/ab", "look-up");
    }

    #[test]
    fn sessions() {
        check("/a?PHPSESSID=1", "session");
        check("/a;jsessionid=0A1B2C?b=1", "session, look-up");
        check("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "session");
        check("/a?sid=0123456789abcdef", "session");
        check("/a?sid=12", "look-up");
        check("/a?session=introduction-to-rust", "look-up");
        check("/a?ASPSESSIONIDQQ=X", "session");
        check("/a;v=2", "plain");
        check("/(S)/a", "plain");
        same("/a;jsessionid=1?b=1", "/a;jsessionid=2?b=1", true);
        same("/a;jsessionid=1?b=1", "/a;jsessionid=1?b=2", false);
        same("/a?b=1&phpsessid=1", "/a?b=1&phpsessid=2", true);
        same("/a?phpsessid=1", "/b?phpsessid=1", false);
        same("/(S(1a2b))/a", "/(S(3c4d))/a", true);
    }

    #[test]
    fn calendars() {
        for target in [
            "/2024/05",
            "/2024/05/01/",
            "/cal/2024/5/1",
            "/events/2024-05-01/",
            "/events/month/2024-05",
            "/events/2024-05/list/",
            "/2024/05/page/2",
            "/cal/20240501",
            "/cal/2024-W07",
            "/cal/01.05.2024",
            "/archive/2024/may/",
            "/archive/2024/Sep/30",
            "/cal?date=2024-05-01",
            "/cal?month=5&year=2024",
            "/cal?date=1714521600",
            "/cal?d=2024-05-01T10:00",
            "/cal?date=05%2F01%2F2024",
        ] {
            check(target, "calendar");
        }
        check("/cal?date=2024-05-01&view=day", "calendar, look-up");
        check("/a?year=old", "look-up");
        check("/a?id=20240501", "look-up");
        check("/a/20241501", "plain");
        check("/a/2024/13", "plain");
        check("/a/2024/05/32", "calendar");
        same("/cal/2024/05/01", "/cal/2031/12/31", true);
        same("/cal/2024/05/01", "/kal/2024/05/01", false);
        same("/cal/2024/05", "/cal/2024/05/list", false);
        same("/cal?date=2024-05-01&room=1", "/cal?date=2024-05-02&room=1", true);
        same("/cal?date=2024-05-01&room=1", "/cal?date=2024-05-01&room=2", false);
    }

    #[test]
    fn queries() {
        check("/a?id=5", "look-up");
        check("/a?id=5&page=3", "look-up");
        check("/a?color=red&size=m", "query of 2");
        check("/a?color=red&size=m&page=2", "query of 2");
        check("/a?page=5000", "query of 0");
        check("/a?page=99999999999999999999999", "query of 0");
        check("/a?offset=100001&q=x", "query of 1");
        check("/a?page=two", "look-up");
        check("/a?word", "look-up");
    }
}
