//! P12: the promised number of pages.
//!
//! A page is a URL that is requested with GET. It counts once, also after retries. Robots.txt,
//! redirect hops, probes with HEAD and URLs that look like sitemaps are no pages. Stop orders are
//! in [`crate::host`].

use std::collections::HashSet;

use crate::bench::{Bench, Earlier};
use crate::exchange::Exchange;
use crate::generations::HashedKeys;
use crate::host::JudgedHost;
use crate::manners::Manners;
use crate::rule::Rule;

/// The pages of the whole log.
pub(crate) struct PageBudget {
    max: Option<u64>,
    /// False if no budget was promised. Then nothing is kept.
    pub(crate) active: bool,
    pages: HashSet<u128, HashedKeys>,
}

impl PageBudget {
    pub(crate) fn new(manners: &Manners) -> PageBudget {
        let active =
            manners.pages.is_some() || manners.hosts.values().any(|own| own.pages.is_some());
        PageBudget { max: manners.pages, active, pages: HashSet::default() }
    }

    /// Counts a page at the start of its GET.
    pub(crate) fn starts(
        &mut self,
        key: u128,
        x: &Exchange,
        host: &mut JudgedHost,
        bench: &mut Bench,
    ) {
        if self.pages.len() >= PAGES_MAX {
            bench.not_judged(Rule::P12);
            return;
        }
        bench.judged(Rule::P12);
        if !self.pages.insert(key) {
            return;
        }
        host.pages += 1;
        let all = self.pages.len() as u64;
        let over = match (self.max, host.pages_max) {
            (Some(max), _) if all > max => Some((all, max, "the log")),
            (_, Some(max)) if host.pages > max => Some((host.pages, max, "the host")),
            _ => None,
        };
        if let Some((pages, max, of)) = over {
            bench.broken(Rule::P12, &host.name, Earlier::Nothing, x, || {
                format!("page {pages} of {of}, {max} were promised")
            });
        }
    }
}

/// Budgets of more than a million pages are not judged. Each page takes 16 bytes.
const PAGES_MAX: usize = 1 << 20;
