//! P9 and P10: a URL is retried seldom and ever more slowly, and not requested while its response
//! is fresh.
//!
//! There is one record for each URL (scheme, host, port, target) that was requested with GET, in a
//! map of bounded size. A repetition is judged by the last response:
//! - a failure of the URL itself (408, 425, 500, 501, 505, other 5xx, half a response): a retry.
//!   Counted, and paced by the curve;
//! - a failure of the whole site, or a demand to wait: a retry only if the host has given a good
//!   answer since. Otherwise the host was down, and the gap belongs to P7 or P15;
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

/// The records of the requested URLs.
pub(crate) struct Repeats {
    records: Generations<RepeatRecord>,
}

/// The requests for one URL.
struct RepeatRecord {
    last: Brief,
    class: RepeatClass,
    /// Retries made in this row.
    retries: u8,
    /// The number of those that followed a failure of the URL itself, which climb the curve.
    own: u8,
    etag: bool,
    last_modified: bool,
    /// How long the response said it was fresh. It stays for a 304 that does not say.
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

/// What decides about a repetition, besides its own record.
pub(crate) struct RepeatContext<'a> {
    pub(crate) host: &'a str,
    /// When the host last gave a good answer.
    pub(crate) good_end: u64,
    /// The number of retries that were promised for the host.
    pub(crate) retries: u8,
    /// Whether a redirect leads to this URL.
    pub(crate) hop: bool,
}

impl Repeats {
    pub(crate) fn new(max: usize) -> Repeats {
        Repeats { records: Generations::new(max) }
    }

    /// Returns the number of URLs whose history was dropped while it could still matter.
    pub(crate) fn forgotten(&self) -> u64 {
        self.records.forgotten
    }

    /// Judges the start of a GET.
    pub(crate) fn starts(
        &mut self,
        key: u128,
        x: &Exchange,
        around: &RepeatContext<'_>,
        manners: &Manners,
        bench: &mut Bench,
    ) {
        let Some(record) = self.records.get_mut(key) else { return };
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
                    // Only a worker that died with the store may have known the tries so far,
                    // including the last one. Then this is the first try.
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
                    // Nobody received the response to the try before, so it does not count.
                    record.retries -= 1;
                    record.own = record.own.saturating_sub(1);
                }
            }
        }
    }

    /// Records the end of a GET.
    pub(crate) fn ended(&mut self, key: u128, seen: &SeenExchange, manners: &Manners) {
        let x = &seen.x;
        let last = Brief::of(seen);
        let slow = x.end.saturating_sub(x.start) > micros(manners.heard_within);
        // The crawler may not have received a response that took this long: nothing follows from
        // it.
        if slow && x.complete {
            self.records.remove(key);
            return;
        }
        let class = match x.status {
            // The client may have given up, which says that the site is slow and nothing about the
            // URL.
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

    /// Marks the known response as fresh again, after a 304.
    fn revalidated(&mut self, key: u128, last: Brief, x: &Exchange, manners: &Manners) {
        let Some(record) = self.records.get_mut(key) else { return };
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

/// Returns how long the response says it is fresh. Age counts from the request (RFC 9111 §4.2.3),
/// and from a `Date` that is cut to the second.
fn stated(x: &Exchange) -> Option<u64> {
    let stated = x.cache_control.as_deref().and_then(header::freshness)?;
    Some(stated.saturating_sub(if x.date.is_some() { DATE_CUT } else { 0 }))
}

/// Returns the time after which another try begins a new row.
fn row_ends_after(manners: &Manners) -> u64 {
    micros(manners.retry.cap).saturating_mul(2).clamp(HOUR, 2 * 24 * HOUR)
}

const DATE_CUT: u64 = 1_000_000;
const HOUR: u64 = 3_600_000_000;
