//! Classifies a URL by its look: ordinary, long, or one with a session ID.

use curtsy_core::host::{TrapReason, TrapShape};
use curtsy_core::policy::TrapPolicy;
use curtsy_core::url::CrawlUrl;
use xxhash_rust::xxh3::xxh3_64;

use super::session;

/// The look of a URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Appearance {
    /// Ordinary.
    Plain,
    /// A trap by itself.
    Trap(TrapReason),
    /// A URL with a session ID, with the hash of the URL without it.
    Session(u64),
}

/// Classifies a URL.
pub(super) fn at(url: &CrawlUrl, limits: &TrapPolicy) -> Appearance {
    if let Some(reason) = too_long(url, limits) {
        return Appearance::Trap(reason);
    }
    match session::without(url.path(), url.query()) {
        None => Appearance::Plain,
        Some(bare) => {
            Appearance::Session(xxh3_64(format!("{}{bare}", url.host().as_str()).as_bytes()))
        }
    }
}

/// Returns the trap of a URL that is longer or deeper than the limits.
pub(super) fn too_long(url: &CrawlUrl, limits: &TrapPolicy) -> Option<TrapReason> {
    if url.as_str().len() > limits.url_bytes_max as usize {
        return Some(too_much(limits.url_bytes_max));
    }
    let segments = segments_of(url.path());
    (segments > limits.segments_max as usize).then(|| too_much(limits.segments_max))
}

fn too_much(limit: u32) -> TrapReason {
    TrapReason::Looks { trap: TrapShape::Length, limit }
}

/// Returns the number of parts of a path, without the slashes at its ends.
fn segments_of(path: &str) -> usize {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.bytes().filter(|&b| b == b'/').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{Appearance, at};
    use curtsy_core::host::TrapReason;
    use curtsy_core::policy::TrapPolicy;
    use curtsy_core::url::CrawlUrl;

    fn look(target: &str) -> Appearance {
        let url = CrawlUrl::parse(&format!("http://a.org{target}")).unwrap();
        at(&url, &TrapPolicy::default())
    }

    fn check(target: &str, expected: &str) {
        let said = match look(target) {
            Appearance::Plain => "plain".to_owned(),
            Appearance::Trap(TrapReason::Looks { trap, limit }) => format!("{trap:?} {limit}"),
            Appearance::Trap(other) => panic!("{other:?}"),
            Appearance::Session(_) => "session".to_owned(),
        };
        assert_eq!(said, expected, "{target}");
    }

    #[test]
    fn ordinary_urls() {
        for target in [
            "/",
            "/a/b/c.html",
            "/product/12345",
            "/p/3f2a9c0d11e8",
            "/2024/05/01/article-title",
            "/cal/2024/5/1",
            "/cal?date=2024-05-01&view=day",
            "/a?color=red&size=m&page=2",
            "/a?",
            "/a?&",
            "/ab/ab/ab/ab/ab",
        ] {
            check(target, "plain");
        }
    }

    #[test]
    fn long_and_deep_urls() {
        check(&format!("/{}", "x".repeat(2_070)), "plain");
        check(&format!("/{}", "x".repeat(2_071)), "Length 2083");
        let deep = |segments: usize| (0..segments).map(|n| format!("/s{n}")).collect::<String>();
        check(&deep(32), "plain");
        check(&deep(33), "Length 32");
    }

    #[test]
    fn sessions() {
        check("/a?PHPSESSID=1", "session");
        check("/a;jsessionid=0A1B2C?b=1", "session");
        check("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "session");
        let same = |one: &str, other: &str, expected: bool| {
            assert_eq!(look(one) == look(other), expected, "{one} {other}");
        };
        same("/a;jsessionid=1?b=1", "/a;jsessionid=2?b=1", true);
        same("/a;jsessionid=1?b=1", "/a;jsessionid=1?b=2", false);
        same("/a?b=1&phpsessid=1", "/a?b=1&phpsessid=2", true);
        same("/a?phpsessid=1", "/b?phpsessid=1", false);
        same("/(S(1a2b))/a", "/(S(3c4d))/a", true);
    }
}
