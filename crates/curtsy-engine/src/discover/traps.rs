//! How many URLs of one shape are taken? Different URLs are counted, by their hashes, so that one that was taken passes again, and
//! the order in which they are told makes no difference.
//!
//! A path's queries have two budgets. Whatever they look like, the first few hundred are taken. After that a query must look something
//! up: by a single parameter, or by a value that the path has not seen yet, and not too far from a seed. What only combines known
//! values anew (`?color=red&size=m&sort=price`) is a filter of a list that is known. So a shop with 50,000 `?id=` is taken whole, and
//! its filters are not.
//!
//! Shapes and hashes are bounded: there are two generations, and what was not met while a whole generation came up is forgotten.

use std::collections::{HashMap, HashSet};

use curtsy_core::host::{Reason, Trap};
use curtsy_core::url::{CrawlUrl, UrlKey};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::TrapLimits;
use super::look::{self, QueryShape, Shapes};

/// What has been taken, by shape.
#[derive(Debug)]
pub(super) struct Traps {
    limits: TrapLimits,
    /// A shape with more URLs than this is vast.
    vast_min: usize,
    young: HashMap<u64, Shape>,
    old: HashMap<u64, Shape>,
    /// Hashes in the young generation.
    hashes: usize,
    /// Traps whose reason was told.
    told: HashSet<u64>,
}

/// URLs of one shape that were taken.
#[derive(Debug, Default)]
struct Shape {
    urls: HashSet<u64>,
    /// Names and values in their queries.
    pairs: HashSet<u64>,
    /// The site itself names more URLs of this shape than are remembered: any may be one of them.
    vast: bool,
}

impl Shape {
    /// Whether another URL would be one too many.
    fn is_full_for(&self, url: u64, limit: u32) -> bool {
        !self.vast && self.urls.len() >= limit as usize && !self.urls.contains(&url)
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
        Traps {
            limits,
            vast_min,
            young: HashMap::new(),
            old: HashMap::new(),
            hashes: 0,
            told: HashSet::new(),
        }
    }

    /// Takes a URL into its shapes, or says which of them has enough.
    pub(super) fn refuse(&mut self, shapes: &Shapes, key: UrlKey, depth: u16) -> Option<Reason> {
        let url = short(key);
        let limits = self.limits;
        let simple = [
            (shapes.session, Trap::Session, limits.sessions_max),
            (shapes.calendar, Trap::Calendar, limits.calendar_max),
        ];
        // All are asked before any is told: a URL that is refused counts nowhere.
        for (shape, trap, limit) in simple {
            if shape.is_some_and(|shape| self.shape(shape).is_full_for(url, limit)) {
                return Some(Reason::Trap { trap, limit });
            }
        }
        if let Some(query) = &shapes.query
            && let Some(limit) = self.over_queries(query, url, depth)
        {
            return Some(Reason::Trap { trap: Trap::Queries, limit });
        }
        self.take(shapes, url);
        None
    }

    /// Notes a URL that was taken without asking.
    pub(super) fn note(&mut self, url: &CrawlUrl, key: UrlKey) {
        self.take(&look::shapes_of(url), short(key));
    }

    /// Whether a sitemap is among those that are taken of its host.
    pub(super) fn admit_sitemap(&mut self, url: &CrawlUrl) -> bool {
        let shape = xxh3_64_with_seed(url.host().as_str().as_bytes(), SITEMAP_SEED);
        let (limit, hash) = (self.limits.sitemaps_max, short(url.key()));
        let is_full = self.shape(shape).is_full_for(hash, limit);
        if !is_full {
            self.add(shape, hash, &[]);
        }
        !is_full
    }

    /// Whether a trap has not been told yet: a link in every page's menu needs one row, not thousands.
    pub(super) fn tell(&mut self, key: UrlKey) -> bool {
        if self.told.len() >= TOLD_MAX {
            self.told.clear();
        }
        self.told.insert(short(key))
    }

    /// The limit that a path's queries have reached, if this one is beyond it.
    fn over_queries(&mut self, query: &QueryShape, url: u64, depth: u16) -> Option<u32> {
        let TrapLimits { queries_max, lookups_max, lookups_depth_max, .. } = self.limits;
        let shape = self.shape(query.path);
        if !shape.is_full_for(url, queries_max) {
            return None;
        }
        let is_new = |pair: &u64| !shape.pairs.contains(pair);
        let looks_up = query.single || query.pairs.iter().any(is_new);
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
            // The value of a single parameter is new as long as its URL is.
            let pairs = if query.single { &[] } else { query.pairs.as_slice() };
            self.add(query.path, url, pairs);
        }
    }

    fn add(&mut self, shape: u64, url: u64, pairs: &[u64]) {
        self.shape(shape);
        let Some(shape) = self.young.get_mut(&shape) else {
            return;
        };
        if shape.vast {
            return;
        }
        let before = shape.hashes();
        shape.urls.insert(url);
        if shape.pairs.len() < self.limits.lookups_max as usize {
            shape.pairs.extend(pairs);
        }
        self.hashes += shape.hashes() - before;
        if shape.urls.len() > self.vast_min {
            // Links alone never come so far.
            self.hashes -= shape.hashes();
            *shape = Shape { vast: true, ..Shape::default() };
        }
    }

    /// A shape, brought among the young.
    fn shape(&mut self, shape: u64) -> &Shape {
        if !self.young.contains_key(&shape) {
            let known = self.old.remove(&shape).unwrap_or_default();
            let full = self.young.len() >= (self.limits.shapes_max as usize).div_ceil(2)
                || self.hashes >= HASHES_MAX / 2;
            if full {
                self.old = std::mem::take(&mut self.young);
                self.hashes = 0;
            }
            self.hashes += known.hashes();
            self.young.insert(shape, known);
        }
        &self.young[&shape]
    }
}

fn short(key: UrlKey) -> u64 {
    // Half of a good hash is a good hash.
    key.as_u128() as u64
}

/// Hashes that are remembered, about: the last shape may bring its own with it.
const HASHES_MAX: usize = 1 << 20;
/// A shape is vast when it has so many times what links may bring.
const VAST_FACTOR: usize = 4;
const TOLD_MAX: usize = 1 << 16;
const SITEMAP_SEED: u64 = 5;
