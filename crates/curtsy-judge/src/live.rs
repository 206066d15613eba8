//! P16: while work waits and nothing forbids requests, the allowed pace is used.
//!
//! The plan says when work was waiting for a host. A gap between two starts counts if work waited
//! all through it, without a wait, an outage, a full slot or a fault in it. It may be as long as
//! the largest delay that the crawler's promise allows, and a little longer: the upper end of its
//! range or the Crawl-delay, times the factor of slow responses.

use crate::host::LateGap;
use crate::manners::{Manners, micros};

/// A span in which URLs of a host were waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPlan {
    /// The host, in any spelling.
    pub host: String,
    /// Since when, in microseconds of the server's clock.
    pub from: u64,
    /// Until when.
    pub to: u64,
}

/// The activity of one host.
#[derive(Default)]
pub(crate) struct HostActivity {
    /// Spans of waiting work, by their beginnings; an open one ends at `u64::MAX`.
    spans: Vec<(u64, u64)>,
    /// Whether something forbade starts at some time since the last one.
    pub(crate) disturbed: bool,
    /// When that began, or was last seen.
    pub(crate) disturbed_at: u64,
    /// When a slot was last freed while all were taken.
    pub(crate) freed: u64,
    latency_min: Option<u64>,
    latency_max: u64,
    pub(crate) gaps: u64,
    pub(crate) late: u64,
    /// The first gap that was too long.
    pub(crate) first_late: Option<LateGap>,
    /// The number of late gaps with a new connection nearby.
    pub(crate) handshakes: u64,
    /// The connections that were used last.
    conns: [Option<u64>; CONNS],
    /// The ends of the last late gaps.
    late_ends: [Option<u64>; CONNS],
}

/// Limit of the connections and late gaps that are remembered for a host.
const CONNS: usize = 4;
/// How long a handshake may delay a start: a log shows the first request of a connection, not the
/// dial.
pub(crate) const HANDSHAKE: u64 = 5_000_000;

impl HostActivity {
    pub(crate) fn plan(&mut self, from: u64, to: u64) {
        let place = self.spans.partition_point(|&(start, _)| start <= from);
        // A span that touches the one before extends it.
        if let Some(before) = place.checked_sub(1).map(|i| &mut self.spans[i])
            && before.1 >= from
        {
            before.1 = before.1.max(to);
            return;
        }
        self.spans.insert(place, (from, to));
    }

    /// Ends the open span.
    pub(crate) fn plan_ends(&mut self, at: u64) {
        if let Some(last) = self.spans.last_mut()
            && last.1 == u64::MAX
        {
            last.1 = at.max(last.0);
        }
    }

    pub(crate) fn planned(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Returns the span that contains this moment.
    pub(crate) fn span_at(&self, at: u64) -> Option<(u64, u64)> {
        let place = self.spans.partition_point(|&(start, _)| start <= at);
        place.checked_sub(1).map(|i| self.spans[i]).filter(|&(_, end)| at <= end)
    }

    pub(crate) fn last_span(&self) -> Option<(u64, u64)> {
        self.spans.last().copied()
    }

    /// Removes spans that ended before `at`.
    pub(crate) fn forget_spans_before(&mut self, at: u64) {
        let over = self.spans.iter().take_while(|&&(_, end)| end < at).count();
        if over > 16 {
            self.spans.drain(..over);
        }
    }

    pub(crate) fn answered_in(&mut self, latency: u64) {
        self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
        self.latency_max = self.latency_max.max(latency);
    }

    /// Records a gap that was too long.
    pub(crate) fn is_late(&mut self, end: u64) {
        self.late += 1;
        self.late_ends.rotate_right(1);
        self.late_ends[0] = Some(end);
    }

    /// Records a request on this connection. If it is the connection's first, late gaps just before
    /// it were during its handshake. They count in the whole log, where handshakes are few among
    /// many gaps, and not against this host alone, where two or three are many.
    pub(crate) fn used(&mut self, conn: u64, at: u64) {
        if let Some(place) = self.conns.iter().position(|known| *known == Some(conn)) {
            self.conns[..=place].rotate_right(1);
            return;
        }
        self.conns.rotate_right(1);
        self.conns[0] = Some(conn);
        for end in &mut self.late_ends {
            self.handshakes += u64::from(end.take_if(|end| at - *end <= HANDSHAKE).is_some());
        }
    }

    /// Returns the number of late gaps that count against the host alone.
    pub(crate) fn late_by_itself(&self) -> u64 {
        self.late - self.handshakes
    }

    /// Returns the longest allowed gap, in microseconds.
    pub(crate) fn longest(&self, delay_max: u64, crawl_delay: u64, manners: &Manners) -> u64 {
        let base = delay_max.max(crawl_delay);
        let delay = match (manners.adaptive, self.latency_min) {
            (Some(most), Some(least)) => {
                let factor = self.latency_max as f64 / least.max(1) as f64;
                ((base as f64 * factor.max(1.0)) as u64).min(micros(most)).max(base)
            }
            _ => base,
        };
        delay.saturating_add((delay / 50).max(50_000))
    }
}
