//! Judges the start of an exchange, and applies its end.

use std::sync::Arc;

use crate::answer::{RobotsMeaning, Says, answer_of};
use crate::bench::{Earlier, SeenExchange};
use crate::exchange::Exchange;
use crate::hops::{Chain, HopOfPage};
use crate::host_name::canonical_host;
use crate::judge::Judge;
use crate::location::{JudgedUrl, resolve, url_key};
use crate::manners::micros;
use crate::repeat::RepeatContext;
use crate::rule::Rule;

/// An exchange that has started and not yet ended.
pub(crate) struct PendingExchange {
    host: usize,
    authority: usize,
    key: u128,
    kind: PendingKind,
    seen: Arc<SeenExchange>,
}

/// The kind of a request.
pub(crate) enum PendingKind {
    Robots,
    RobotsHop(Box<Chain>),
    /// A GET of a page, and the number of its redirect hop.
    Page(u8),
    /// HEAD, or a request that P0 has already refused.
    Other,
}

impl Judge {
    pub(crate) fn starts(&mut self, h: usize, a: usize, seen: Arc<SeenExchange>) {
        let x = &seen.x;
        let host = &mut self.hosts[h];
        let name = Arc::clone(&host.name);
        let (bench, manners) = (&mut self.bench, &self.manners);
        self.identity.starts(x, &name, bench);
        host.heeds_stop(x, bench);
        let in_reach = match x.local {
            Some(local) if self.detail.ends => {
                let in_flight = self.addresses.entry(local).or_insert(0);
                *in_flight += 1;
                host.keeps_address(x, *in_flight, manners.address_slots, bench)
            }
            _ => true,
        };
        if !in_reach {
            host.live.disturbed = true;
        }
        if self.detail.ends {
            host.keeps_slots(x, bench);
        }
        host.is_live(&seen, &self.detail, manners, bench);
        let product = self.identity.product.as_deref().unwrap_or("*");
        host.authorities[a].read_given(product, &mut self.matchers);
        let mut kept = host.keeps_distance(&seen, bench);
        kept &= host.told.starts(x, &name, bench);
        host.down.starts(&seen, &name, bench);

        let get = &*x.method == "GET";
        let key = url_key(x.scheme, &name, x.port, &x.target);
        let chain = if get { self.hops.take_robots(key, x.start) } else { None };
        let robots = get && &*x.target == "/robots.txt";
        let (kind, hop) = if let Some(chain) = chain {
            if robots {
                host.authorities[a].hop_starts(x.start);
            }
            let hops = chain.hops;
            (PendingKind::RobotsHop(Box::new(chain)), Some(hops))
        } else if robots {
            host.authorities[a].robots_starts(&seen, &name, manners, bench);
            (PendingKind::Robots, None)
        } else {
            let authority = &host.authorities[a];
            // A request before the start of the log counts for one TTL.
            let ttl = micros(manners.robots_ttl);
            let midway = self.midway && x.start <= self.begin.saturating_add(ttl);
            kept &= authority.page_starts(x, &name, midway, manners, &mut self.matchers, bench);
            let hop = if get && manners.held_to.includes(Rule::P14) {
                self.hops.take_page(key, x.start, manners.redirects_max)
            } else {
                HopOfPage::No
            };
            if get && manners.held_to.includes(Rule::P9) {
                let around = RepeatContext {
                    host: &name,
                    good_end: host.good_end,
                    retries: host.retries,
                    hop: hop != HopOfPage::No,
                };
                self.repeats.starts(key, x, &around, manners, bench);
                if self.budget.active && hop == HopOfPage::No && !authority.is_sitemap(&x.target) {
                    self.budget.starts(key, x, host, bench);
                }
            }
            match hop {
                HopOfPage::Nth(n) => (PendingKind::Page(n), Some(n)),
                _ if get => (PendingKind::Page(0), None),
                _ => (PendingKind::Other, None),
            }
        };
        if let Some(hop) = hop {
            bench.judged(Rule::P14);
            if !kept {
                bench.broken(Rule::P14, &name, Earlier::Nothing, x, || {
                    format!("hop {hop} of a redirect broke the manners of its own host")
                });
            } else if manners.redirects_max.is_some_and(|most| hop > most) {
                bench.broken(Rule::P14, &name, Earlier::Nothing, x, || {
                    format!(
                        "hop {hop} of a redirect, {} were promised",
                        manners.redirects_max.unwrap_or(0)
                    )
                });
            }
        }
        host.started(&seen, manners, &bench.faults);
        let pending = PendingExchange { host: h, authority: a, key, kind, seen };
        self.pending.insert((pending.seen.x.end, pending.seen.number), pending);
    }

    pub(crate) fn settle_until(&mut self, now: u64) {
        while let Some(first) = self.pending.first_entry().filter(|first| first.key().0 <= now) {
            let pending = first.remove();
            self.ended(pending);
        }
    }

    fn ended(&mut self, pending: PendingExchange) {
        let PendingExchange { host: h, authority: a, key, kind, seen } = pending;
        let x = &seen.x;
        if let Some(local) = x.local
            && self.detail.ends
            && let Some(in_flight) = self.addresses.get_mut(&local)
        {
            *in_flight -= 1;
            if *in_flight == 0 {
                self.addresses.remove(&local);
            }
        }
        // The crawler may not have waited for a response that took this long.
        let heard = x.end - x.start <= micros(self.manners.heard_within);
        if self.bench.faults.broke_off(x) {
            self.lost(h, a, &kind, &seen);
            return;
        }
        let host = &mut self.hosts[h];
        host.freed(x.end);
        if matches!(x.status, Some(200..=399)) && x.complete {
            // A success that died with its worker does not show the crawler that the host is up.
            if !self.bench.faults.cut_off(x) {
                host.good_end = x.end;
            }
            host.live.answered_in(x.end - x.start);
        }
        let about_robots = matches!(kind, PendingKind::Robots | PendingKind::RobotsHop(_));
        if self.detail.headers {
            if heard {
                host.told.ended(&seen, about_robots, &self.manners, &mut self.bench);
            } else if matches!(x.status, Some(429 | 503)) {
                self.bench.not_judged(Rule::P7);
            }
            host.down.ended(&seen, &self.manners, &self.bench);
        } else if x.status != Some(503) {
            // Without its headers a 503 may or may not demand a wait.
            host.down.ended(&seen, &self.manners, &self.bench);
        }
        match kind {
            PendingKind::Robots => {
                self.robots_ended(h, a, key, None, &seen, heard);
                self.end_waiting_chains(key, &seen);
            }
            PendingKind::RobotsHop(chain) => {
                self.overheard(h, a, key, &seen);
                if self.bench.faults.cut_off(x) {
                    // Another worker repeats the request. It may or may not know of the first.
                    let again = Chain { known: true, ..(*chain).clone() };
                    self.hops.expect_robots(key, again, x.end);
                }
                if !chain.known {
                    self.chain_ended(*chain, key, (h, a), &seen, heard);
                }
                self.end_waiting_chains(key, &seen);
            }
            PendingKind::Page(hop) => {
                if self.detail.headers && self.manners.held_to.includes(Rule::P9) {
                    self.repeats.ended(key, &seen, &self.manners);
                }
                if self.manners.held_to.includes(Rule::P14) {
                    self.page_redirects(h, hop, x);
                }
            }
            PendingKind::Other => {}
        }
        let x = &seen.x;
        let host = &mut self.hosts[h];
        // A crawler may wait longer after a refusal than the site demands.
        if matches!(x.status, Some(403 | 429 | 503))
            || host.must_wait(x.end, &self.manners, &self.bench.faults)
        {
            host.disturb(x.end);
        }
    }

    /// Handles a response that broke off because the crawler's own network was down.
    fn lost(&mut self, h: usize, a: usize, kind: &PendingKind, seen: &Arc<SeenExchange>) {
        self.hosts[h].freed(seen.x.end);
        self.hosts[h].disturb(seen.x.end);
        self.hosts[h].down.lost(seen);
        match kind {
            PendingKind::Robots => self.hosts[h].authorities[a].robots_lost(seen),
            PendingKind::RobotsHop(chain) => {
                self.hosts[chain.host].authorities[chain.authority].robots_lost(&chain.first);
            }
            PendingKind::Page(_) | PendingKind::Other => {}
        }
    }

    /// Handles the end of a request for robots.txt, or of a hop of its redirects. `h` and `a` are
    /// the host and the authority that it decides for.
    fn robots_ended(
        &mut self,
        h: usize,
        a: usize,
        key: u128,
        chain: Option<Chain>,
        seen: &Arc<SeenExchange>,
        heard: bool,
    ) {
        let product = self.identity.product.as_deref().unwrap_or("*");
        let given = self.hosts[h].authorities[a].given.clone();
        let mut answer =
            answer_of(&seen.x, given.as_ref(), product, &self.manners, &mut self.matchers);
        let late = !heard && seen.x.complete;
        // The last hop of a chain may have died with a killed worker.
        let doubtful = late || chain.is_some() && self.bench.faults.cut_off(&seen.x);
        if late {
            answer = RobotsMeaning::Says(Says::Unknown);
        }
        if let RobotsMeaning::Redirect = answer {
            let chain = chain.clone().unwrap_or_else(|| self.chain_from(h, a, key, seen));
            match self.robots_redirects(chain, seen) {
                Some(ended) => answer = ended,
                None => return,
            }
        }
        let first = chain.map_or_else(|| Arc::clone(seen), |chain| chain.first);
        let host = &mut self.hosts[h];
        let name = Arc::clone(&host.name);
        host.authorities[a].robots_ended(
            &first,
            seen,
            answer,
            &name,
            &self.manners,
            &mut self.bench,
        );
        if doubtful {
            host.authorities[a].robots_perhaps_heard();
        }
        if host.must_wait(seen.x.end, &self.manners, &self.bench.faults) {
            host.disturb(seen.x.end);
        }
    }

    /// Expects the hop of a robots redirect, or returns the meaning of a redirect that leads
    /// nowhere.
    fn robots_redirects(
        &mut self,
        mut chain: Chain,
        seen: &Arc<SeenExchange>,
    ) -> Option<RobotsMeaning> {
        let x = &seen.x;
        let name = self.by_spelling.get(&x.host).map(|&h| Arc::clone(&self.hosts[h].name));
        let name = name.unwrap_or_else(|| canonical_host(&x.host).into());
        let next = x
            .location
            .as_deref()
            .and_then(|location| resolve(location, x.scheme, &name, x.port, &x.target));
        let Some(next) = next else { return Some(RobotsMeaning::Redirect) };
        let key = next.key();
        chain.hops += 1;
        if chain.hops > ROBOTS_HOPS || chain.visited.contains(&key) {
            return Some(RobotsMeaning::Says(Says::Everything));
        }
        chain.visited.push(key);
        // A crawler that knows the target's robots.txt may use that. The log does not show what it
        // knows, and since when.
        chain.known = self.may_be_known(&next);
        let shows = self.by_name.contains_key(next.host.as_str()) && !chain.known;
        let owner = &mut self.hosts[chain.host].authorities[chain.authority];
        owner.chain_opens(chain.deadline, shows, seen);
        self.hosts[chain.host].disturb(x.end);
        self.hops.expect_robots(key, chain, x.end);
        None
    }

    /// Returns a chain of robots redirects that begins with this exchange.
    fn chain_from(&self, h: usize, a: usize, key: u128, seen: &Arc<SeenExchange>) -> Chain {
        Chain {
            host: h,
            authority: a,
            first: Arc::clone(seen),
            hops: 0,
            visited: vec![key],
            deadline: seen.x.end.saturating_add(micros(self.manners.robots_chain)),
            known: false,
        }
    }

    /// Ends the chains that lead to this robots.txt: one request answers them all, and whether a
    /// crawler uses it for the others is not visible.
    fn end_waiting_chains(&mut self, key: u128, seen: &Arc<SeenExchange>) {
        for chain in self.hops.waiting_for(key, seen.x.end) {
            let owner = &mut self.hosts[chain.host].authorities[chain.authority];
            owner.chain_opens(chain.deadline, false, seen);
        }
    }

    /// Handles the end of a chain's hop at the authority `at`. A 304 there is about that
    /// authority's text, not the owner's.
    fn chain_ended(
        &mut self,
        chain: Chain,
        key: u128,
        at: (usize, usize),
        seen: &Arc<SeenExchange>,
        heard: bool,
    ) {
        let (h, a) = (chain.host, chain.authority);
        if seen.x.status != Some(304) || !heard {
            return self.robots_ended(h, a, key, Some(chain), seen, heard);
        }
        let says = self.hosts[at.0].authorities[at.1].good_says();
        let host = &mut self.hosts[h];
        let name = Arc::clone(&host.name);
        host.authorities[a].robots_ended(
            &chain.first,
            seen,
            RobotsMeaning::Says(says.unwrap_or(Says::Unknown)),
            &name,
            &self.manners,
            &mut self.bench,
        );
    }

    /// Returns whether a redirect leads to a robots.txt that was requested before.
    fn may_be_known(&self, next: &JudgedUrl) -> bool {
        let host = self.by_name.get(next.host.as_str()).map(|&h| &self.hosts[h]);
        next.target == "/robots.txt"
            && host.is_some_and(|host| {
                let mut known = host.authorities.iter();
                known.any(|a| {
                    a.scheme == next.scheme && a.port == next.port && a.attempted_at().is_some()
                })
            })
    }

    /// Handles a hop of another authority's robots redirect that has shown this authority's
    /// robots.txt, which may be used.
    fn overheard(&mut self, h: usize, a: usize, key: u128, seen: &Arc<SeenExchange>) {
        let authority = &self.hosts[h].authorities[a];
        // A crawler that knows it already need not use it, unless that knowledge is lost.
        let lost = |end| self.bench.faults.store_lost(end, seen.x.start);
        let unheard = authority.last_try().is_some_and(|by| self.bench.faults.cut_off(&by.x));
        let knows = authority.has_word(seen.x.start, seen.x.end, &self.manners)
            && !authority.answered_at().is_some_and(lost)
            && !unheard;
        if &*seen.x.target != "/robots.txt" || knows {
            return;
        }
        let product = self.identity.product.as_deref().unwrap_or("*");
        let given = authority.given.as_ref();
        let mut answer = answer_of(&seen.x, given, product, &self.manners, &mut self.matchers);
        if let RobotsMeaning::Redirect = answer {
            let own = self.chain_from(h, a, key, seen);
            match self.robots_redirects(own, seen) {
                Some(ended) => answer = ended,
                None => return,
            }
        }
        let authority = &mut self.hosts[h].authorities[a];
        match answer {
            RobotsMeaning::Says(says) => authority.overheard(seen, says),
            RobotsMeaning::Unchanged => authority.confirmed(seen),
            _ => authority.attempted(seen),
        }
    }

    fn page_redirects(&mut self, h: usize, hop: u8, x: &Exchange) {
        let Some(location) = x.location.as_deref() else { return };
        if !matches!(x.status, Some(301 | 302 | 303 | 307 | 308)) {
            return;
        }
        let name = Arc::clone(&self.hosts[h].name);
        if let Some(next) = resolve(location, x.scheme, &name, x.port, &x.target) {
            if hop == 0 {
                self.hops.asked_itself(url_key(x.scheme, &name, x.port, &x.target), x.end);
            }
            self.hops.expect_page(next.key(), hop.saturating_add(1), x.end);
        }
    }
}

/// RFC 9309 §2.3.1.2: at least five consecutive redirects are followed.
const ROBOTS_HOPS: u8 = 5;
