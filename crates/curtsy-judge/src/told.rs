//! P7 and P8: after a refusal the host gets no requests for a while, and longer after each further
//! one.
//!
//! A 429, or a 503 with a Retry-After, demands a wait of every worker. A start within δ may have
//! been in flight already, so one is allowed. A 429 without a value demands the crawler's own
//! promised curve, by the refusals in a row; a 403 does too if the crawler promised that. Within a
//! row no wait is shorter than the one before.

use std::sync::Arc;

use crate::answer::told_to_wait;
use crate::bench::{Bench, DELTA, Earlier, SeenExchange, span};
use crate::exchange::Exchange;
use crate::manners::{HeldTo, Manners};
use crate::rule::Rule;

/// The waits in force on one host.
#[derive(Default)]
pub(crate) struct WaitsInForce {
    waits: Vec<WaitInForce>,
    /// Refusals in a row.
    streak: u32,
    /// The longest wait of this row.
    need: u64,
    last_end: u64,
    /// When the last wait of the row ends.
    until: u64,
}

/// A wait that a response or a fault caused.
struct WaitInForce {
    by: Arc<SeenExchange>,
    /// P7 for a wait that the site demanded, P8 for a 403.
    rule: Rule,
    due: u64,
    need: u64,
    /// Whether a start that was in flight has been seen.
    one_on_its_way: bool,
}

impl WaitsInForce {
    /// Returns whether any wait applies at `at`.
    pub(crate) fn waiting(&self, at: u64) -> bool {
        self.waits.iter().any(|wait| at < wait.until())
    }

    /// Judges a start on the host. Returns whether it kept the waits.
    pub(crate) fn starts(&mut self, x: &Exchange, host: &str, bench: &mut Bench) -> bool {
        if self.waits.is_empty() {
            return true;
        }
        self.waits.retain(|wait| x.start < wait.until());
        let mut kept = true;
        for wait in &mut self.waits {
            let end = wait.by.x.end;
            let after = x.start.saturating_sub(end);
            let (rule, wanted) = if !bench.late(x.at_earliest(), end.saturating_add(DELTA)) {
                let first = !std::mem::replace(&mut wait.one_on_its_way, true);
                // How many requests a crawler without promises has in flight is unknown.
                if first || wait.rule == Rule::P8 || bench.held_to == HeldTo::Wishes {
                    continue;
                }
                (Rule::P7, wait.due)
            } else if bench.early(x.start, end.saturating_add(wait.due)) {
                (wait.rule, wait.due)
            } else if bench.early(x.start, end.saturating_add(wait.need)) {
                (Rule::P8, wait.need)
            } else {
                continue;
            };
            if bench.faults.wait_lost(end, x.start) || bench.faults.told_late(end, x.start) {
                bench.excused(rule);
                continue;
            }
            kept &= !bench.charge(rule, host, Earlier::Seen(&wait.by), x, || {
                format!(
                    "started {} after a {} ended, {} were due",
                    span(after),
                    wait.by.x.status.unwrap_or(0),
                    span(wanted)
                )
            });
        }
        kept
    }

    /// Handles the end of an exchange on the host. `robots` says that it was for robots.txt, where
    /// a 403 is no refusal.
    pub(crate) fn ended(
        &mut self,
        seen: &Arc<SeenExchange>,
        robots: bool,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let x = &seen.x;
        let Some(status) = x.status else { return };
        let told = match status {
            429 | 503 => told_to_wait(x),
            _ => None,
        };
        let refused = status == 429 || (status == 403 && manners.backs_off_on_403 && !robots);
        if !refused {
            match told {
                Some(wait) if status == 503 => self.add(seen, Rule::P7, wait, wait, bench),
                // Only a start after the wait shows that the site has changed its mind.
                _ if status != 503 && x.start >= self.until => (self.streak, self.need) = (0, 0),
                _ => {}
            }
            return;
        }
        if bench.faults.store_lost(self.last_end, x.start) {
            (self.streak, self.need) = (0, 0);
        }
        // Two refusals of requests in flight together count once. So do two refusals if the crawler
        // could not know of the first when it started the second.
        let another = x.start > self.last_end.saturating_add(DELTA)
            && !bench.faults.told_late(self.last_end, x.start);
        // A refusal that died with a killed worker counts, but the crawler may not know of it when
        // the next one arrives.
        let counts = !bench.faults.cut_off(x);
        if counts && (self.streak == 0 || another) {
            self.streak = self.streak.saturating_add(1);
        }
        let due = told.unwrap_or_else(|| manners.backoff.wait(self.streak.max(1)));
        if due == 0 && bench.held_to == HeldTo::Wishes {
            return; // the site did not say how long
        }
        let need = if another && counts { self.need.max(due) } else { due };
        if counts {
            self.need = self.need.max(due);
            self.until = self.until.max(x.end.saturating_add(need));
        }
        if self.streak > 1 {
            bench.judged(Rule::P8);
        }
        self.last_end = self.last_end.max(x.end);
        let rule = if status == 429 { Rule::P7 } else { Rule::P8 };
        self.add(seen, rule, due, need, bench);
    }

    fn add(
        &mut self,
        seen: &Arc<SeenExchange>,
        rule: Rule,
        due: u64,
        need: u64,
        bench: &mut Bench,
    ) {
        if rule == Rule::P7 || self.streak <= 1 {
            bench.judged(rule);
        }
        if self.waits.len() >= WAITS_MAX {
            // The wait that ends first demands least.
            let first = (0..self.waits.len()).min_by_key(|&i| self.waits[i].until());
            self.waits.swap_remove(first.unwrap_or(0));
        }
        let by = Arc::clone(seen);
        self.waits.push(WaitInForce { by, rule, due, need, one_on_its_way: false });
    }
}

impl WaitInForce {
    fn until(&self) -> u64 {
        self.by.x.end.saturating_add(self.need.max(self.due).max(1))
    }
}

/// Limit of the waits of one host.
const WAITS_MAX: usize = 16;
