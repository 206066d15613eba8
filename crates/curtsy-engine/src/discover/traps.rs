//! Counts the different URLs of each shape, by their hashes. A URL that was taken passes again, and
//! the order of the URLs makes no difference.
//!
//! The queries of a path have two budgets. The first few hundred are taken, whatever they look
//! like. After that a query must look something up, by a single parameter or by a value that is new
//! for the path, and not too far from a seed. New combinations of known values
//! (`?color=red&size=m&sort=price`) are the filters of a known list. So a shop with 50,000 `?id=`
//! is taken completely, and its filters are not.
//!
//! Shapes and hashes are limited: there are two generations, and a shape that was not met during a
//! whole generation is forgotten.

use std::collections::hash_map::Entry;

use curtsy_core::host::{TrapReason, TrapShape};
use curtsy_core::url::{CrawlUrl, UrlKey};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::TrapLimits;
use super::hashes::{ByHash, Folding, Hashes, HashesSet};
use super::look::{self, QueryShape, Shapes};

/// The URLs that were taken, by shape.
#[derive(Debug)]
pub(super) struct Traps {
    limits: TrapLimits,
    /// A shape with more URLs than this is vast.
    vast_min: usize,
    young: ByHash<Shape>,
    old: ByHash<Shape>,
    /// The number of hashes in the young generation.
    hashes: usize,
    /// Traps whose reason was recorded.
    told: HashesSet,
    folding: Folding,
}

/// The URLs of one shape that were taken.
#[derive(Debug, Default)]
struct Shape {
    urls: Hashes,
    /// The names and values in their queries.
    pairs: Hashes,
    /// Whether the site itself names more URLs of this shape than are remembered: any may be one of
    /// them.
    vast: bool,
}

impl Shape {
    /// Returns whether another URL would be one too many.
    fn is_full_for(&self, url: u64, limit: u32) -> bool {
        !self.vast && self.urls.len() >= limit as usize && !self.urls.contains(url)
    }

    fn hashes(&self) -> usize {
        self.urls.len() + self.pairs.len()
    }
}

impl Traps {
    pub(super) fn new(limits: TrapLimits) -> Traps {
        let TrapLimits { sessions_max, calendar_max, queries_max, lookups_max, .. } = limits;
        let most = sessions_max.max(calendar_max).max(queries_max).max(lookups_max);
        let vast_min = (most.max(limits.sitemaps_max) as usize).saturating_mul(VAST_FACTOR);
        let folding = Folding::new();
        Traps {
            limits,
            vast_min,
            young: ByHash::with_hasher(folding),
            old: ByHash::with_hasher(folding),
            hashes: 0,
            told: HashesSet::with_hasher(folding),
            folding,
        }
    }

    /// Adds a URL to its shapes, or returns the reason of the shape that is full.
    pub(super) fn refuse(
        &mut self,
        shapes: &Shapes,
        key: UrlKey,
        depth: u16,
    ) -> Option<TrapReason> {
        let url = short(key);
        let limits = self.limits;
        let simple = [
            (shapes.session, TrapShape::Session, limits.sessions_max),
            (shapes.calendar, TrapShape::Calendar, limits.calendar_max),
        ];
        // All shapes are checked before any counts the URL: a refused URL counts nowhere.
        for (shape, trap, limit) in simple {
            if shape.is_some_and(|shape| self.shape(shape).is_full_for(url, limit)) {
                return Some(TrapReason { trap, limit });
            }
        }
        if let Some(query) = &shapes.query
            && let Some(limit) = self.over_queries(query, url, depth)
        {
            return Some(TrapReason { trap: TrapShape::Queries, limit });
        }
        self.take(shapes, url);
        None
    }

    /// Counts a URL that was taken without a check.
    pub(super) fn note(&mut self, url: &CrawlUrl, key: UrlKey) {
        self.take(&look::shapes_of(url), short(key));
    }

    /// Returns whether a sitemap is within the limit of its host.
    pub(super) fn admit_sitemap(&mut self, url: &CrawlUrl) -> bool {
        let shape = xxh3_64_with_seed(url.host().as_str().as_bytes(), SITEMAP_SEED);
        let (limit, hash) = (self.limits.sitemaps_max, short(url.key()));
        let is_full = self.shape(shape).is_full_for(hash, limit);
        if !is_full {
            self.add(shape, hash, &[]);
        }
        !is_full
    }

    /// Returns whether a trap was not recorded yet: a link in every page's menu needs one row, not
    /// thousands.
    pub(super) fn tell(&mut self, key: UrlKey) -> bool {
        if self.told.len() >= TOLD_MAX {
            self.told.clear();
        }
        self.told.insert(short(key))
    }

    /// Returns the limit that a path's queries have reached, if this one is beyond it.
    fn over_queries(&mut self, query: &QueryShape, url: u64, depth: u16) -> Option<u32> {
        let TrapLimits { queries_max, lookups_max, lookups_depth_max, .. } = self.limits;
        let shape = self.shape(query.path);
        if !shape.is_full_for(url, queries_max) {
            return None;
        }
        let is_new = |pair: &u64| !shape.pairs.contains(*pair);
        let looks_up = query.single || query.pairs.as_slice().iter().any(is_new);
        if !looks_up || depth > lookups_depth_max {
            return Some(queries_max);
        }
        shape.is_full_for(url, lookups_max).then_some(lookups_max)
    }

    fn take(&mut self, shapes: &Shapes, url: u64) {
        for shape in [shapes.session, shapes.calendar].into_iter().flatten() {
            self.add(shape, url, &[]);
        }
        if let Some(query) = &shapes.query {
            // The value of a single parameter is new if its URL is.
            let pairs = if query.single { &[] } else { query.pairs.as_slice() };
            self.add(query.path, url, pairs);
        }
    }

    fn add(&mut self, shape: u64, url: u64, pairs: &[u64]) {
        let TrapLimits { lookups_max, .. } = self.limits;
        let (folding, vast_min) = (self.folding, self.vast_min);
        let shape = self.shape(shape);
        if shape.vast {
            return;
        }
        let before = shape.hashes();
        shape.urls.insert(url, folding);
        for pair in pairs {
            if shape.pairs.len() < lookups_max as usize {
                shape.pairs.insert(*pair, folding);
            }
        }
        if shape.urls.len() > vast_min {
            // Links alone never come so far.
            *shape = Shape { vast: true, ..Shape::default() };
        }
        let after = shape.hashes();
        self.hashes = self.hashes + after - before;
    }

    /// Returns a shape, moved to the young generation.
    fn shape(&mut self, key: u64) -> &mut Shape {
        let full = self.young.len() >= (self.limits.shapes_max as usize).div_ceil(2)
            || self.hashes >= HASHES_MAX / 2;
        if full && !self.young.contains_key(&key) {
            let young = ByHash::with_hasher(self.folding);
            let mut before =
                std::mem::replace(&mut self.old, std::mem::replace(&mut self.young, young));
            self.hashes = 0;
            // The shape may be among those that would be forgotten.
            self.old.extend(before.remove_entry(&key));
        }
        match self.young.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let known = self.old.remove(&key).unwrap_or_default();
                self.hashes += known.hashes();
                entry.insert(known)
            }
        }
    }
}

fn short(key: UrlKey) -> u64 {
    // Half of a good hash is a good hash.
    key.as_u128() as u64
}

/// The approximate limit of the hashes: the last shape may add its own.
const HASHES_MAX: usize = 1 << 20;
/// A shape with this many times the URLs that links may add is vast.
const VAST_FACTOR: usize = 4;
const TOLD_MAX: usize = 1 << 16;
const SITEMAP_SEED: u64 = 5;

#[cfg(test)]
mod tests {
    use super::Traps;
    use crate::discover::TrapLimits;
    use crate::discover::look::{self, Appearance};
    use curtsy_core::host::TrapReason;
    use curtsy_core::url::CrawlUrl;
    use proptest::prelude::*;

    fn url(target: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://a.org{target}")).unwrap()
    }

    fn ask(traps: &mut Traps, url: &CrawlUrl, depth: u16) -> Option<TrapReason> {
        match look::at(url, &traps.limits) {
            Appearance::Plain => None,
            Appearance::Trap(reason) => Some(reason),
            Appearance::Shapes(shapes) => traps.refuse(&shapes, url.key(), depth),
        }
    }

    /// How many of these are taken, and why the first of the others is not.
    fn check(depth: u16, targets: impl Iterator<Item = String>, taken: usize, expected: &str) {
        let mut traps = Traps::new(TrapLimits::default());
        let urls: Vec<CrawlUrl> = targets.map(|target| url(&target)).collect();
        let reasons: Vec<_> = urls.iter().map(|url| ask(&mut traps, url, depth)).collect();
        let said = match reasons.iter().flatten().next() {
            Some(TrapReason { trap, limit }) => format!("{trap:?} {limit}"),
            other => other.map(|other| format!("{other:?}")).unwrap_or_default(),
        };
        let first = urls[0].as_str();
        let count = reasons.iter().filter(|reason| reason.is_none()).count();
        assert_eq!((count, said.as_str()), (taken, expected), "{first}");
        // What was taken is taken again, what was not is not.
        for (url, reason) in urls.iter().zip(&reasons) {
            assert_eq!(ask(&mut traps, url, depth), *reason, "{url}");
        }
    }

    #[test]
    fn sites_as_they_are() {
        check(3, (0..60_000).map(|n| format!("/product/{n}")), 60_000, "");
        check(3, (0..20_000).map(|n| format!("/product.php?id={n}")), 20_000, "");
        check(
            3,
            (0..20_000).map(|n| format!("/t.php?f={}&t={n}&page={}", n % 30, n % 7)),
            20_000,
            "",
        );
        check(500, (1..=500).map(|n| format!("/list?page={n}")), 500, "");
        check(
            9,
            (0..20_000).map(|n| format!("/2024/{:02}/{:02}/title-{n}", n % 12 + 1, n % 28 + 1)),
            20_000,
            "",
        );
        check(3, (0..240).map(|n| format!("/{}/{:02}/", 2000 + n / 12, n % 12 + 1)), 240, "");
        check(3, (0..5_000).map(|n| format!("/shop/chair-{n}?color={}", n % 9)), 5_000, "");
    }

    #[test]
    fn traps_as_they_are() {
        let day =
            |n: u32| format!("/cal/{}/{:02}/{:02}", 2000 + n / 336, n / 28 % 12 + 1, n % 28 + 1);
        check(9, (0..3_000).map(day), 366, "Calendar 366");
        check(
            9,
            (0..1_000).map(|n| format!("/cal?year={}&month={}", 1990 + n / 12, n % 12 + 1)),
            366,
            "Calendar 366",
        );
        let filter = |n: u32| {
            format!(
                "/list?color={}&size={}&sort={}&brand={}",
                n % 9,
                n / 9 % 9,
                n / 81 % 9,
                n / 729 % 9
            )
        };
        // Each of the 13 values that come up later is taken once.
        check(3, (0..6_000).map(filter), 313, "Queries 300");
        check(21, (0..1_000).map(|n| format!("/next?n={n}")), 300, "Queries 300");
        check(3, (0..60_000).map(|n| format!("/next?n={n}")), 50_000, "Queries 50000");
        check(3, (1..3_000).map(|n| format!("/list?page={n}")), 1_300, "Queries 300");
        check(3, (0..10).map(|n| format!("/a;jsessionid={n}")), 1, "Session 1");
        check(3, (0..10).map(|n| format!("/a{}", "/ab".repeat(n))), 4, "Repetition 3");
    }

    #[test]
    fn what_a_site_names_itself_passes_as_a_link_too() {
        let mut traps = Traps::new(TrapLimits { queries_max: 2, ..TrapLimits::default() });
        let named: Vec<CrawlUrl> =
            (0..9).map(|n| url(&format!("/a?b={}&c={}", n / 3, n % 3))).collect();
        named.iter().for_each(|url| traps.note(url, url.key()));
        assert!(named.iter().all(|url| ask(&mut traps, url, 99).is_none()));
        assert!(ask(&mut traps, &url("/a?c=1&b=1"), 1).is_some());
        // More than is remembered: any may be one of them.
        let limits = TrapLimits {
            lookups_max: 5,
            sitemaps_max: 5,
            calendar_max: 5,
            queries_max: 5,
            ..TrapLimits::default()
        };
        let mut traps = Traps::new(limits);
        (0..21).map(|n| url(&format!("/a?b={n}"))).for_each(|url| traps.note(&url, url.key()));
        assert_eq!((traps.hashes, ask(&mut traps, &url("/a?b=99"), 99)), (0, None));
    }

    #[test]
    fn a_full_memory_forgets_what_was_not_met_for_longest() {
        let mut traps = Traps::new(TrapLimits { shapes_max: 4, ..TrapLimits::default() });
        let session = |page: u32, name: u32| url(&format!("/{page}?sessionid={name}"));
        for page in 0..20 {
            assert_eq!(ask(&mut traps, &session(page, 0), 1), None);
            assert!(ask(&mut traps, &session(0, 1), 1).is_some(), "met again and again: {page}");
            assert!(traps.young.len() + traps.old.len() <= 4);
        }
        assert_eq!(ask(&mut traps, &session(2, 1), 1), None, "long forgotten");
    }

    /// Targets with the parts that matter, few enough to meet.
    fn target() -> impl Strategy<Value = String> {
        let part = prop::sample::select(
            "a|b|2024|05|2024-05-01|1|x;sid=0123456789abcdef0|(S(1))||%C3%A9"
                .split('|')
                .collect::<Vec<_>>(),
        );
        let parameter = prop::sample::select(
            "a=1|a=2|b=1|b=2|c|page=3|page=9999|date=2024-05-01|year=2024|sid=0123456789abcdef|phpsessid=2||=".split('|').collect::<Vec<_>>(),
        );
        let parts = (prop::collection::vec(part, 0..5), prop::collection::vec(parameter, 0..4));
        parts.prop_map(|(path, query)| match query.is_empty() {
            true => format!("/{}", path.join("/")),
            false => format!("/{}?{}", path.join("/"), query.join("&")),
        })
    }

    fn small() -> TrapLimits {
        TrapLimits { calendar_max: 3, queries_max: 3, lookups_max: 6, ..TrapLimits::default() }
    }

    proptest! {
        #[test]
        fn known_again_in_any_order_the_decisions_are_the_same(
            first in prop::collection::vec((target(), 0_u16..40), 0..60),
            then in prop::collection::vec((target(), 0_u16..40), 0..60),
            turn in 0_usize..60,
        ) {
            let mut lived = Traps::new(small());
            let mut taken: Vec<CrawlUrl> = Vec::new();
            for (target, depth) in &first {
                let url = url(target);
                if ask(&mut lived, &url, *depth).is_none() {
                    taken.push(url);
                }
            }
            let middle = turn % taken.len().max(1);
            taken.rotate_left(middle);
            let mut resumed = Traps::new(small());
            taken.iter().for_each(|url| resumed.note(url, url.key()));
            for url in &taken {
                prop_assert_eq!(ask(&mut resumed, url, 99), None, "{}", url);
            }
            for (target, depth) in &then {
                let url = url(target);
                prop_assert_eq!(ask(&mut lived, &url, *depth), ask(&mut resumed, &url, *depth), "{}", target);
            }
        }

        #[test]
        fn memory_is_bounded(targets in prop::collection::vec("/[a-c/]{0,6}(\\?[a-d]=[0-9&=a-d]{0,8})?", 0..300)) {
            let mut traps = Traps::new(TrapLimits { shapes_max: 5, ..small() });
            for target in &targets {
                let url = url(target);
                ask(&mut traps, &url, 1);
                traps.note(&url, url.key());
                prop_assert!(traps.young.len() + traps.old.len() <= 6);
                let young: usize = traps.young.values().map(super::Shape::hashes).sum();
                prop_assert_eq!(young, traps.hashes);
            }
        }

        #[test]
        fn no_address_is_too_strange(text in "\\PC{0,80}", query in "[a-z0-9=&;()%./-]{0,60}") {
            for text in [format!("http://a.org/{text}"), format!("http://a.org/{query}?{query}")] {
                if let Ok(url) = CrawlUrl::parse(&text) {
                    let mut traps = Traps::new(small());
                    prop_assert_eq!(ask(&mut traps, &url, 1).is_none(), ask(&mut traps, &url, 1).is_none());
                    crate::discover::tracking::stripped(&url);
                }
            }
        }
    }
}
