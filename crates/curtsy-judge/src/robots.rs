//! P1, P2, P3 and P11: whether an authority's robots.txt was requested first, seldom, and obeyed.
//!
//! An authority is scheme, host and port. Its rules are known from the responses in the log: a 2xx
//! is its text, a 4xx other than 429 means no rules, anything else (5xx, 429, no or half a
//! response) is unreachable. A change reaches the crawler's workers within δ; in that time both the
//! old and the new rules count.

use std::sync::Arc;

use crate::answer::{RobotsMeaning, Says, allows, told_to_wait};
use crate::bench::{Bench, DELTA, Earlier, SeenExchange, span};
use crate::exchange::{Exchange, LogScheme};
use crate::faults::Faults;
use crate::manners::{Access, HeldTo, Manners, micros};
use crate::matchers::Matchers;
use crate::rule::Rule;

/// What is known about one authority's robots.txt.
#[derive(Default)]
pub(crate) struct JudgedAuthority {
    pub(crate) scheme: LogScheme,
    pub(crate) port: u16,
    /// The rules now, and the rules before.
    now: Option<Word>,
    before: Option<Word>,
    /// The last attempt that ended, with any result.
    attempt: Option<(u64, Arc<SeenExchange>)>,
    /// When a complete response last ended.
    answered: Option<u64>,
    /// The last request with a complete response. P11 counts from its start.
    asked: Option<RobotsRequest>,
    /// The requests in flight.
    in_flight: Vec<Arc<SeenExchange>>,
    /// A request that began while another one was in flight.
    double: Option<Arc<SeenExchange>>,
    /// A hop of another authority's robots redirect that requested this file. It may have been this
    /// authority's own request.
    hop: Option<u64>,
    /// The last good copy, which is obeyed while robots.txt is unreachable.
    good: Option<Good>,
    unreachable: Option<UnreachableSpan>,
    /// A redirect whose end is not known yet.
    chain: Option<OpenChain>,
    delay: CrawlDelay,
    /// A text that was given with the log, for logs without bodies.
    pub(crate) given: Option<Arc<[u8]>>,
    given_says: Option<Says>,
}

struct Word {
    says: Says,
    since: u64,
    by: Arc<SeenExchange>,
}

/// A request for robots.txt.
struct RobotsRequest {
    start: u64,
    by: Arc<SeenExchange>,
}

struct Good {
    ended: u64,
    says: Says,
    by: Arc<SeenExchange>,
    /// Whether a repetition can have a validator: not if the text came from the end of a redirect
    /// chain.
    etag: bool,
    last_modified: bool,
}

impl Good {
    /// Returns a copy that the crawler may have, of which the log shows nothing.
    fn unknown(seen: &Arc<SeenExchange>) -> Good {
        Good {
            ended: seen.x.end,
            says: Says::Unknown,
            by: Arc::clone(seen),
            etag: false,
            last_modified: false,
        }
    }
}

/// A span in which robots.txt was unreachable.
struct UnreachableSpan {
    since: u64,
    ended: u64,
    /// The wait that is due, which is never less than the one before.
    need: u64,
    by: Arc<SeenExchange>,
}

struct OpenChain {
    since: u64,
    deadline: u64,
    /// Whether following the chain would show: not if it leads out of this log, or to a robots.txt
    /// that the crawler may know already.
    shows: bool,
}

#[derive(Default)]
struct CrawlDelay {
    now: u64,
    before: u64,
    since: u64,
    by: Option<Arc<SeenExchange>>,
}

impl JudgedAuthority {
    pub(crate) fn new(scheme: LogScheme, port: u16) -> JudgedAuthority {
        JudgedAuthority { scheme, port, ..JudgedAuthority::default() }
    }

    /// Returns the Crawl-delay in force at `at`, and the exchange that delivered it. Within δ the
    /// smaller of two delays counts.
    pub(crate) fn crawl_delay(
        &self,
        x: &Exchange,
        bench: &Bench,
    ) -> (u64, Option<&Arc<SeenExchange>>) {
        let delay = &self.delay;
        let fresh = !bench.late(x.at_earliest(), delay.since.saturating_add(DELTA))
            || delay.now > delay.before && bench.faults.told_late(delay.since, x.start);
        let value = if fresh { delay.now.min(delay.before) } else { delay.now };
        if bench.held_to == HeldTo::Promises {
            return (value, delay.by.as_ref());
        }
        // A robots.txt that the caller gave applies all along, also to crawlers that never
        // requested it. One that the log shows applies from the end of its response, when the
        // crawler knows it.
        let given = self.given_says.as_ref().and_then(Says::crawl_delay);
        match (given, &self.now) {
            (Some(given), None | Some(Word { says: Says::Unknown, .. })) => (given, None),
            (Some(_), Some(_)) => (delay.now, None),
            (None, _) if bench.late(x.at_earliest(), delay.since) => (delay.now, None),
            (None, _) => (delay.now.min(delay.before), None),
        }
    }

    /// Returns the largest Crawl-delay that may have applied since `since`, by which liveness is
    /// judged.
    pub(crate) fn crawl_delay_at_most(&self, since: u64) -> u64 {
        if matches!(self.now, Some(Word { says: Says::Unknown, .. })) {
            // The text is not visible, so neither is its Crawl-delay.
            return u64::MAX;
        }
        let before = if self.delay.since >= since { self.delay.before } else { 0 };
        // A text that was only overheard demands nothing, but slows down a crawler that uses it.
        let heard = |word: &Word| word.says.crawl_delay().unwrap_or(0);
        let now = self.now.as_ref();
        let earlier = self.before.as_ref().filter(|_| now.is_some_and(|w| w.since >= since));
        self.delay.now.max(before).max(now.map_or(0, heard)).max(earlier.map_or(0, heard))
    }

    /// Returns whether this authority allows no request but that for robots.txt now.
    pub(crate) fn closed(&self, at: u64, manners: &Manners, faults: &Faults) -> bool {
        // The good copy may have been lost with the store.
        let good = self.good_copy(at, manners).filter(|good| !faults.store_lost(good.ended, at));
        self.unreachable.is_some() && good.is_none()
            || matches!(self.now, Some(Word { says: Says::Nothing, .. }))
            || self.chain.as_ref().is_some_and(|chain| at <= chain.deadline)
    }

    /// Reads the text that was given with the log, once the product is known.
    pub(crate) fn read_given(&mut self, product: &str, matchers: &mut Matchers) {
        if let (Some(text), None) = (&self.given, &self.given_says) {
            self.given_says = Some(Says::Text(matchers.read(text, product)));
        }
    }

    /// P1, P2 and P3: judges the start of a request for anything but robots.txt.
    pub(crate) fn page_starts(
        &self,
        x: &Exchange,
        host: &str,
        midway: bool,
        manners: &Manners,
        matchers: &mut Matchers,
        bench: &mut Bench,
    ) -> bool {
        let mut kept = true;
        let ttl = micros(manners.robots_ttl);
        let in_time = |end: u64| !bench.late(x.at_earliest(), end.saturating_add(ttl));
        // A failed attempt is repeated after the deny-TTL, and counts until then.
        let tried_for = ttl.max(micros(manners.deny_ttl));
        let tried = |end: u64| !bench.late(x.at_earliest(), end.saturating_add(tried_for));
        let last_word = self.good_copy(x.start, manners).is_some()
            || self.unreachable.as_ref().is_some_and(|u| self.given_up(u, x.start, manners));
        let allow = manners.unreachable == Access::Allow;
        let attempted = self.attempt.as_ref().is_some_and(|(end, _)| tried(*end));
        let asked_first = self.answered.is_some_and(in_time)
            || attempted && (allow || last_word)
            || self
                .chain
                .as_ref()
                .is_some_and(|c| in_time(c.since) && (allow || !c.shows || x.start > c.deadline));
        let before_the_log = midway && self.attempt.is_none();
        if asked_first {
            bench.judged(Rule::P1);
        } else if before_the_log {
            bench.not_judged(Rule::P1);
        } else if attempted && self.word_lost(x.start, bench) {
            bench.excused(Rule::P1);
        } else if (allow || last_word)
            && bench.faults.network_down(x.start.saturating_sub(ttl), x.start)
        {
            // The attempt may have been made without reaching the server.
            bench.excused(Rule::P1);
        } else {
            bench.judged(Rule::P1);
            let earlier =
                self.attempt.as_ref().map_or(Earlier::Nothing, |(_, by)| Earlier::Seen(by));
            // A robots.txt that nobody received is no excuse: without one the crawler knows no
            // rules.
            kept = false;
            bench.broken(Rule::P1, host, earlier, x, || match &self.attempt {
                None => "asked before any robots.txt of this authority".to_owned(),
                Some((end, _)) => format!(
                    "asked {} after the last robots.txt ended, without a complete one within its TTL of {}",
                    span(x.start.saturating_sub(*end)),
                    span(ttl)
                ),
            });
        }
        kept & self.obeyed(x, host, manners, matchers, bench)
    }

    fn obeyed(
        &self,
        x: &Exchange,
        host: &str,
        manners: &Manners,
        matchers: &mut Matchers,
        bench: &mut Bench,
    ) -> bool {
        if self.chain.as_ref().is_some_and(|chain| !chain.shows) {
            // The text is elsewhere, and how the crawler knows it is not visible.
            bench.not_judged(Rule::P2);
            return true;
        }
        // Within δ after a change the older rules count too.
        if let (Some(now), Some(before)) = (&self.now, &self.before)
            && (!bench.late(x.at_earliest(), now.since.saturating_add(DELTA))
                || bench.faults.told_late(now.since, x.start))
            && allows(&before.says, x, matchers).is_some_and(|allowed| allowed)
        {
            bench.judged(Rule::P2);
            return true;
        }
        if let Some(unreachable) = &self.unreachable
            && self.good_copy(x.start, manners).is_none()
        {
            if manners.unreachable == Access::Allow || self.given_up(unreachable, x.start, manners)
            {
                return true;
            }
            if self.word_lost(x.start, bench) {
                bench.excused(Rule::P3);
                return true;
            }
            bench.judged(Rule::P3);
            bench.broken(Rule::P3, host, Earlier::Seen(&unreachable.by), x, || {
                format!(
                    "asked for a page {} after robots.txt could not be had",
                    span(x.start.saturating_sub(unreachable.ended))
                )
            });
            return false;
        }
        let (says, earlier) = match (&self.now, &self.given_says) {
            (Some(word), _) if !matches!(word.says, Says::Unknown) => {
                (&word.says, Earlier::Seen(&word.by))
            }
            (_, Some(says)) => (says, Earlier::Nothing),
            (Some(word), None) => (&word.says, Earlier::Nothing),
            (None, None) => {
                if bench.held_to == HeldTo::Wishes {
                    bench.not_judged(Rule::P2);
                }
                return true; // P1's matter
            }
        };
        let Some(allowed) = allows(says, x, matchers) else {
            bench.not_judged(Rule::P2);
            return true;
        };
        bench.judged(Rule::P2);
        if allowed {
            return true;
        }
        let what = || match says {
            Says::Text(text) => {
                format!("robots.txt forbids `{}`: {}", x.target, matchers.line(text, &x.target))
            }
            _ => "robots.txt was refused with 401 or 403, which this crawler takes as a no".into(),
        };
        if let Says::Text(text) = says {
            bench.disobeyed(|| matchers.line(text, &x.target));
        }
        if self.unreachable.is_some() {
            // Only a killed worker may have received the last good copy.
            return !bench.charge(Rule::P2, host, earlier, x, what);
        }
        bench.broken(Rule::P2, host, earlier, x, what);
        false
    }

    /// P11 and P3: judges the start of a request for this authority's own robots.txt.
    pub(crate) fn robots_starts(
        &mut self,
        seen: &Arc<SeenExchange>,
        host: &str,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let x = &seen.x;
        bench.judged(Rule::P11);
        if let Some(asked) = &self.asked {
            let again = asked.start.saturating_add(micros(manners.robots_ttl));
            if bench.early(x.start, again) {
                if bench.faults.store_lost(asked.start, x.start) {
                    bench.excused(Rule::P11);
                } else {
                    bench.charge(Rule::P11, host, Earlier::Seen(&asked.by), x, || {
                        format!(
                            "asked for robots.txt again after {}, inside its TTL of {}",
                            span(x.start - asked.start),
                            span(micros(manners.robots_ttl))
                        )
                    });
                }
            }
        }
        if let Some(unreachable) = &self.unreachable {
            bench.judged(Rule::P3);
            let until = unreachable.ended.saturating_add(unreachable.need);
            if bench.early(x.start, until) {
                let faults = &bench.faults;
                let ended = unreachable.ended;
                if faults.wait_lost(ended, x.start) || faults.told_late(ended, x.start) {
                    bench.excused(Rule::P3);
                } else {
                    bench.charge(Rule::P3, host, Earlier::Seen(&unreachable.by), x, || {
                        format!(
                            "asked for robots.txt again {} after it could not be had; {} were due",
                            span(x.start.saturating_sub(unreachable.ended)),
                            span(unreachable.need)
                        )
                    });
                }
            }
        } else if let Some(good) = &self.good {
            self.validator_sent(good, x, host, manners, bench);
        }
        // A request without an end (a chain that was not followed) is not in flight for ever.
        let since = x.start.saturating_sub(HOP_NEAR);
        self.in_flight.retain(|other| other.x.start >= since || other.x.end > x.start);
        if !self.in_flight.is_empty() {
            self.double = Some(Arc::clone(seen));
        }
        if self.in_flight.len() < IN_FLIGHT_MAX {
            self.in_flight.push(Arc::clone(seen));
        }
    }

    fn validator_sent(
        &self,
        good: &Good,
        x: &Exchange,
        host: &str,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let current = self.now.as_ref().is_some_and(|word| word.by.number == good.by.number);
        let remembered = x.start <= good.ended.saturating_add(micros(manners.keep_last_good));
        let missing = match (good.etag, good.last_modified) {
            (true, _) => x.if_none_match.is_none().then_some("If-None-Match"),
            (false, true) => x.if_modified_since.is_none().then_some("If-Modified-Since"),
            (false, false) => None,
        };
        let Some(header) = missing.filter(|_| current && remembered) else { return };
        if bench.faults.store_lost(good.ended, x.start) {
            bench.excused(Rule::P11);
            return;
        }
        bench.charge(Rule::P11, host, Earlier::Seen(&good.by), x, || {
            format!(
                "asked for robots.txt again without `{header}`, though the answer had a validator"
            )
        });
    }

    /// A hop of another authority's robots redirect requests this file. P11 can't know for which
    /// authority the request is.
    pub(crate) fn hop_starts(&mut self, start: u64) {
        self.hop = Some(start);
    }

    /// Handles a request for robots.txt without a result.
    pub(crate) fn robots_lost(&mut self, first: &Arc<SeenExchange>) {
        self.in_flight.retain(|other| other.number != first.number);
        self.chain = None;
    }

    /// Returns the last exchange about this robots.txt.
    pub(crate) fn last_try(&self) -> Option<&SeenExchange> {
        self.attempt.as_ref().map(|(_, by)| &**by)
    }

    /// Handles a response that came so late that it may not have been received: another request
    /// soon is allowed.
    pub(crate) fn robots_perhaps_heard(&mut self) {
        self.asked = None;
    }

    /// Handles a result that another authority's redirect has shown: it may be used, but nobody has
    /// to know it.
    pub(crate) fn overheard(&mut self, seen: &Arc<SeenExchange>, says: Says) {
        let end = seen.x.end;
        self.answered = Some(end);
        self.unreachable = None;
        self.attempt = Some((end, Arc::clone(seen)));
        // The log does not show which of the two is the crawler's last good copy.
        self.good = Some(Good::unknown(seen));
        // A crawler that received it may use it. One that did not must not be held to a longer
        // delay.
        if let Some(delay) = says.crawl_delay()
            && delay < self.delay.now
        {
            self.new_delay(delay, seen);
        }
        self.before = self.now.replace(Word { says, since: end, by: Arc::clone(seen) });
    }

    /// Handles a redirect of another authority that has shown that the text is unchanged.
    pub(crate) fn confirmed(&mut self, seen: &Arc<SeenExchange>) {
        self.answered = Some(seen.x.end);
        self.attempt = Some((seen.x.end, Arc::clone(seen)));
        self.unreachable = None;
    }

    /// Returns when a complete response last ended.
    pub(crate) fn answered_at(&self) -> Option<u64> {
        self.answered
    }

    /// Returns when the last attempt ended.
    pub(crate) fn attempted_at(&self) -> Option<u64> {
        self.attempt.as_ref().map(|(end, _)| *end)
    }

    /// Returns the rules of the last good copy.
    pub(crate) fn good_says(&self) -> Option<Says> {
        self.good.as_ref().map(|good| good.says.clone())
    }

    /// Handles a redirect of another authority that failed here: an attempt that nobody has to
    /// know.
    pub(crate) fn attempted(&mut self, seen: &Arc<SeenExchange>) {
        self.attempt = Some((seen.x.end, Arc::clone(seen)));
    }

    /// Returns whether a target is a sitemap of robots.txt, or looks like one.
    pub(crate) fn is_sitemap(&self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target).to_ascii_lowercase();
        // The children of an index are named in its body, which a log does not have.
        let kind = path.strip_suffix(".gz").unwrap_or(&path).rsplit_once('.').map(|(_, end)| end);
        let looks =
            path.contains("sitemap") || matches!(kind, Some("xml" | "txt" | "rss" | "atom"));
        looks
            || match &self.now {
                Some(Word { says: Says::Text(text), .. }) => {
                    text.sitemaps.iter().any(|sitemap| sitemap == target)
                }
                _ => false,
            }
    }

    /// Returns whether the rules are still within their TTL. It counts from the end of the
    /// response, and for an authority that may request robots.txt again at `start`, from the start
    /// of the request (P11), which a redirect puts well before that end.
    pub(crate) fn has_word(&self, start: u64, end: u64, manners: &Manners) -> bool {
        let ttl = micros(manners.robots_ttl);
        let may_ask = self.asked.as_ref().is_some_and(|a| a.start.saturating_add(ttl) <= start);
        self.unreachable.is_none()
            && !may_ask
            && self.answered.is_some_and(|answered| end <= answered.saturating_add(ttl))
    }

    /// Handles the end of a request for robots.txt, or of the last hop of its redirects.
    ///
    /// `first` is the request to this authority, `last` the exchange that ended the chain. Without
    /// redirects both are the same.
    pub(crate) fn robots_ended(
        &mut self,
        first: &Arc<SeenExchange>,
        last: &Arc<SeenExchange>,
        answer: RobotsMeaning,
        host: &str,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        self.in_flight.retain(|other| other.number != first.number);
        self.chain = None;
        let end = last.x.end;
        self.attempt = Some((end, Arc::clone(last)));
        let says = match answer {
            RobotsMeaning::Unreachable => {
                self.unreachable_again(last, manners);
                return;
            }
            RobotsMeaning::Redirect => Says::Unknown,
            RobotsMeaning::Unchanged => match &self.good {
                Some(good) => good.says.clone(),
                None => Says::Unknown,
            },
            RobotsMeaning::Says(says) => says,
        };
        self.unreachable = None;
        self.answered = Some(end);
        self.asked_and_answered(first, host, bench);
        if let Some(delay) = says.crawl_delay()
            && delay != self.delay.now
        {
            self.new_delay(delay, last);
        }
        if matches!(says, Says::Text(_)) {
            let own = first.number == last.number;
            let validator = |value: &Option<Arc<str>>, known: bool| {
                own && (value.is_some() || (last.x.status == Some(304) && known))
            };
            let (etag, modified) =
                self.good.as_ref().map_or((false, false), |good| (good.etag, good.last_modified));
            self.good = Some(Good {
                ended: end,
                says: says.clone(),
                by: Arc::clone(last),
                etag: validator(&last.x.etag, etag),
                last_modified: validator(&last.x.last_modified, modified),
            });
        } else if !matches!(says, Says::Unknown) {
            self.good = None;
        }
        self.before = self.now.replace(Word { says, since: end, by: Arc::clone(last) });
    }

    fn new_delay(&mut self, delay: u64, by: &Arc<SeenExchange>) {
        self.delay = CrawlDelay {
            now: delay,
            before: self.delay.now,
            since: by.x.end,
            by: Some(Arc::clone(by)),
        };
    }

    /// Handles a redirect of robots.txt: nothing is known until the chain ends.
    ///
    /// Its next hop may fail before it reaches a server, which no log shows. The redirect itself
    /// counts as an attempt.
    pub(crate) fn chain_opens(&mut self, deadline: u64, shows: bool, seen: &Arc<SeenExchange>) {
        self.attempt = Some((seen.x.end, Arc::clone(seen)));
        if !shows {
            // From now on neither the rules nor the Crawl-delay are known, nor which copy is the
            // crawler's last good one.
            self.new_delay(0, seen);
            self.unreachable = None;
            self.good = Some(Good::unknown(seen));
            self.before = self.now.replace(Word {
                says: Says::Unknown,
                since: seen.x.end,
                by: Arc::clone(seen),
            });
        }
        self.chain = Some(OpenChain { since: seen.x.end, deadline, shows });
    }

    fn asked_and_answered(&mut self, first: &Arc<SeenExchange>, host: &str, bench: &mut Bench) {
        // The pair is charged when the request that began first is answered, whichever of the two
        // ends first.
        if let Some(double) = &self.double
            && double.number > first.number
        {
            if bench.faults.store_lost(first.x.start, double.x.start) {
                bench.excused(Rule::P11);
            } else {
                bench.charge(Rule::P11, host, Earlier::Seen(first), &double.x, || {
                    "asked for robots.txt while another request for it was in flight".to_owned()
                });
            }
            self.double = None;
        }
        // Of a hop and an own request shortly after, either may be the authority's own. The earlier
        // one demands less.
        let start = match self.hop.take() {
            Some(hop) if first.x.start.saturating_sub(hop) <= HOP_NEAR => hop,
            _ => first.x.start,
        };
        self.asked = Some(RobotsRequest { start, by: Arc::clone(first) });
    }

    fn unreachable_again(&mut self, by: &Arc<SeenExchange>, manners: &Manners) {
        let x = &by.x;
        let told = told(x);
        let wait = micros(manners.deny_ttl).max(told);
        let (since, need) = match &self.unreachable {
            Some(before) => (before.since, before.need.max(wait)),
            None => (x.end, wait),
        };
        if self.unreachable.is_none() {
            // While robots.txt is unreachable the last good copy rules. The rules before count for
            // δ more.
            let (says, source) = match &self.good {
                Some(good) => (good.says.clone(), &good.by),
                None => (Says::Unknown, by),
            };
            self.before = self.now.replace(Word { says, since: x.end, by: Arc::clone(source) });
        }
        self.unreachable = Some(UnreachableSpan { since, ended: x.end, need, by: Arc::clone(by) });
    }

    /// Returns whether the last response may be known to nobody any more: then the crawler may use
    /// an older copy as its last good one.
    fn word_lost(&self, at: u64, bench: &Bench) -> bool {
        self.answered.is_some_and(|end| bench.faults.wait_lost(end, at))
    }

    /// Returns the last good copy, if it rules. A crawler that must not continue without robots.txt
    /// must not continue with an old one either (RFC 9309 §2.3.1.4).
    fn good_copy(&self, at: u64, manners: &Manners) -> Option<&Good> {
        if manners.unreachable == Access::Deny {
            return None;
        }
        let keep = micros(manners.keep_last_good);
        self.good.as_ref().filter(|good| at <= good.ended.saturating_add(keep))
    }

    /// Returns whether robots.txt was unreachable for 30 days and counts as none.
    fn given_up(&self, unreachable: &UnreachableSpan, at: u64, manners: &Manners) -> bool {
        at >= unreachable.since.saturating_add(micros(manners.keep_last_good))
    }
}

/// How far apart a hop and an own request may be and still be confused.
const HOP_NEAR: u64 = 120_000_000;
/// Limit of the requests in flight for one robots.txt. P11 is broken long before.
const IN_FLIGHT_MAX: usize = 64;

/// Returns the wait that an answer without a robots.txt demands.
fn told(x: &Exchange) -> u64 {
    // Only 429 and 503 demand a wait. Retry-After has no agreed meaning with another status.
    match x.status {
        Some(429 | 503) => told_to_wait(x).unwrap_or(0),
        _ => 0,
    }
}
