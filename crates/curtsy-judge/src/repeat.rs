//! P9 and P10: a URL is retried seldom and ever more slowly, and not asked for at all while its answer is fresh.
//!
//! One record per URL (scheme, host, port, target) that was asked for with GET, in a map of bounded size. A repeat is judged by
//! what the last try was answered:
//! - a failure of the URL itself (408, 425, 500, 501, 505, other 5xx, half an answer): a retry. Counted, and paced by the curve;
//! - a failure of the whole site, or told to wait: a retry only if the host has given a good answer since, else the host was
//!   simply down, and the gap is P7's or P15's matter;
//! - a final 4xx: not to be repeated for `settled_for`, unless a redirect leads there again;
//! - a complete 200: not to be repeated while fresh, and then with its validator.

use crate::answer::told_to_wait;
use crate::bench::{Bench, Brief, DELTA, Earlier, SeenExchange, span};
use crate::down::HostHealth;
use crate::exchange::Exchange;
use crate::generations::Generations;
use crate::header;
use crate::manners::{CachePromise, Manners, micros};
use crate::rule::Rule;

/// What is remembered of the URLs that were asked for.
pub(crate) struct Repeats {
    records: Generations<RepeatRecord>,
}

/// The requests for one URL.
struct RepeatRecord {
    last: Brief,
    class: RepeatClass,
    /// Retries made in this row.
    retries: u8,
    /// Those among them that followed a failure of the URL itself: they climb the curve.
    own: u8,
    etag: bool,
    last_modified: bool,
    /// How long the answer said it was fresh; kept for a 304 that does not say.
    fresh_for: u64,
    /// Until when the record can matter.
    matters_until: u64,
}

/// The class of an exchange for the rules on repeats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RepeatClass {
    /// 200, complete.
    Done,
    /// The URL's own failure.
    Failed,
    /// The site's failure, or a demand to wait.
    Site,
    /// A final 4xx.
    Settled,
}

/// What decides about a repeat, besides its own record.
pub(crate) struct RepeatContext<'a> {
    pub(crate) host: &'a str,
    /// When the host last gave a good answer.
    pub(crate) good_end: u64,
    /// Retries that were promised for the host.
    pub(crate) retries: u8,
    /// A redirect leads to this URL.
    pub(crate) hop: bool,
}

impl Repeats {
    pub(crate) fn new(max: usize) -> Repeats {
        Repeats { records: Generations::new(max) }
    }

    /// URLs whose history was given up while it could still matter.
    pub(crate) fn forgotten(&self) -> u64 {
        self.records.forgotten
    }

    /// A GET of the URL starts.
    pub(crate) fn starts(
        &mut self,
        key: u128,
        x: &Exchange,
        around: &RepeatContext<'_>,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let Some(record) = self.records.get_mut(key) else {
            return;
        };
        let gap = x.start.saturating_sub(record.last.end);
        match record.class {
            RepeatClass::Done => waste(record, x, gap, around.host, manners, bench),
            RepeatClass::Settled if around.hop => {}
            RepeatClass::Settled => {
                bench.judged(Rule::P9);
                let end = record.last.end;
                if !bench.early(x.start, end.saturating_add(micros(manners.settled_for))) {
                    // Long enough ago.
                } else if bench.faults.wait_lost(end, x.start)
                    || bench.faults.told_late(end, x.start)
                {
                    bench.excused(Rule::P9);
                } else {
                    bench.charge(Rule::P9, around.host, Earlier::Brief(&record.last), x, || {
                        let status = record.last.status.unwrap_or(0);
                        format!("asked again {} after a {status}, which is final", span(gap))
                    });
                }
            }
            RepeatClass::Failed | RepeatClass::Site if around.hop => {}
            // The worker that started this request may not have known of a success just before, or
            // of one that a slow store had not delivered yet.
            RepeatClass::Site
                if around.good_end <= record.last.end
                    || x.start <= around.good_end.saturating_add(DELTA)
                    || bench.faults.told_late(around.good_end, x.start) => {}
            RepeatClass::Failed | RepeatClass::Site => {
                if gap > row_ends_after(manners) {
                    (record.retries, record.own) = (0, 0);
                    return;
                }
                if bench.faults.wait_lost(record.last.start, x.start) {
                    // The tries so far were perhaps known only to a worker that died with the store, the last of them in its hands: then this is the first.
                    (record.retries, record.own) = (0, 0);
                    bench.excused(Rule::P9);
                    return;
                }
                bench.judged(Rule::P9);
                record.retries = record.retries.saturating_add(1);
                record.own =
                    record.own.saturating_add(u8::from(record.class == RepeatClass::Failed));
                let tries = record.retries;
                let due = manners.retry.wait(u32::from(record.own));
                let charged = if tries > around.retries {
                    Some(format!("retry {tries} of a URL, {} were promised", around.retries))
                } else if record.class == RepeatClass::Failed
                    && bench.early(x.start, record.last.end.saturating_add(due))
                {
                    Some(format!("retry {tries} came after {}, {} were due", span(gap), span(due)))
                } else {
                    None
                };
                if let Some(what) = charged
                    && !bench
                        .charge(Rule::P9, around.host, Earlier::Brief(&record.last), x, || what)
                {
                    // Nobody heard of the try before: it was none.
                    record.retries -= 1;
                    record.own = record.own.saturating_sub(1);
                }
            }
        }
    }

    /// A GET of the URL has ended.
    pub(crate) fn ended(&mut self, key: u128, seen: &SeenExchange, manners: &Manners) {
        let x = &seen.x;
        let last = Brief::of(seen);
        let slow = x.end.saturating_sub(x.start) > micros(manners.heard_within);
        // What took that long was perhaps not heard: nothing follows from it.
        if slow && x.complete {
            self.records.remove(key);
            return;
        }
        let class = match x.status {
            // The client may have run out of patience, which says that the site is slow and nothing about the URL.
            _ if slow => RepeatClass::Site,
            Some(304) => {
                self.revalidated(key, last, x, manners);
                return;
            }
            Some(200) if x.complete => RepeatClass::Done,
            Some(429) => RepeatClass::Site,
            Some(503) if told_to_wait(x).is_some() => RepeatClass::Site,
            Some(408 | 425) => RepeatClass::Failed,
            Some(400..=499) if x.complete => RepeatClass::Settled,
            _ if HostHealth::of(x) == HostHealth::SiteWide => RepeatClass::Site,
            Some(500..=599) => RepeatClass::Failed,
            Some(_) if !x.complete => RepeatClass::Failed,
            _ => {
                self.records.remove(key);
                return;
            }
        };
        let fresh_for = match (class, manners.cache_mode) {
            (RepeatClass::Done, CachePromise::Http) => {
                stated(x).unwrap_or(micros(manners.fresh_for))
            }
            (RepeatClass::Done, CachePromise::Fixed) => micros(manners.fresh_for),
            _ => 0,
        };
        let validators =
            matches!(manners.cache_mode, CachePromise::Http | CachePromise::Validators);
        let etag = class == RepeatClass::Done && validators && x.etag.is_some();
        let last_modified = class == RepeatClass::Done && validators && x.last_modified.is_some();
        let horizon = match class {
            RepeatClass::Done if etag || last_modified => {
                fresh_for.max(micros(manners.validators_for))
            }
            RepeatClass::Done => fresh_for,
            RepeatClass::Settled => micros(manners.settled_for),
            RepeatClass::Failed | RepeatClass::Site => row_ends_after(manners),
        };
        if horizon == 0 {
            self.records.remove(key);
            return;
        }
        let (retries, own) = match (self.records.get(key), class) {
            (Some(before), RepeatClass::Failed | RepeatClass::Site)
                if matches!(before.class, RepeatClass::Failed | RepeatClass::Site) =>
            {
                (before.retries, before.own)
            }
            _ => (0, 0),
        };
        let matters_until = x.end.saturating_add(horizon);
        let record = RepeatRecord {
            last,
            class,
            retries,
            own,
            etag,
            last_modified,
            fresh_for,
            matters_until,
        };
        self.records.put(key, record, |record| record.matters_until > x.start);
    }

    /// A 304 makes the known answer fresh again.
    fn revalidated(&mut self, key: u128, last: Brief, x: &Exchange, manners: &Manners) {
        let Some(record) = self.records.get_mut(key) else {
            return;
        };
        if record.class != RepeatClass::Done {
            return;
        }
        if manners.cache_mode == CachePromise::Http {
            record.fresh_for = stated(x).unwrap_or(record.fresh_for);
        }
        record.last = last;
        let horizon = record.fresh_for.max(micros(manners.validators_for));
        record.matters_until = x.end.saturating_add(horizon);
    }
}

fn waste(
    record: &RepeatRecord,
    x: &Exchange,
    gap: u64,
    host: &str,
    manners: &Manners,
    bench: &mut Bench,
) {
    bench.judged(Rule::P10);
    if bench.early(x.start, record.last.start.saturating_add(record.fresh_for)) {
        bench.charge(Rule::P10, host, Earlier::Brief(&record.last), x, || {
            format!("asked again after {}, fresh for {}", span(gap), span(record.fresh_for))
        });
        return;
    }
    let missing = match (record.etag, record.last_modified) {
        (true, _) => x.if_none_match.is_none().then_some("If-None-Match"),
        (false, true) => x.if_modified_since.is_none().then_some("If-Modified-Since"),
        (false, false) => None,
    };
    if let Some(header) = missing
        && gap <= micros(manners.validators_for)
    {
        bench.charge(Rule::P10, host, Earlier::Brief(&record.last), x, || {
            format!("asked again without `{header}`, though the answer had a validator")
        });
    }
}

/// How long the answer says it is fresh. Age counts from the request (RFC 9111 §4.2.3), and from a `Date` that is cut to the second.
fn stated(x: &Exchange) -> Option<u64> {
    let stated = x.cache_control.as_deref().and_then(header::freshness)?;
    Some(stated.saturating_sub(if x.date.is_some() { DATE_CUT } else { 0 }))
}

/// A try this long after the last one opens a new row: nobody is pressed by it.
fn row_ends_after(manners: &Manners) -> u64 {
    micros(manners.retry.cap).saturating_mul(2).clamp(HOUR, 2 * 24 * HOUR)
}

const DATE_CUT: u64 = 1_000_000;
const HOUR: u64 = 3_600_000_000;
