//! Requests of a process that was killed.
//!
//! A lease normally runs until the deadline of its request, since nobody can know whether the
//! server still works on it. When the process behind a lease is known to be dead, the operating
//! system has closed its connections, and the server ends the request as soon as it notices. Such a
//! lease ends after a few of the host's usual latencies instead.

use std::time::Duration;

use super::{HostState, LeaseId};
use crate::time::Time;

/// The least time in which a server notices a closed connection.
const NOTICE_MIN: Duration = Duration::from_secs(2);
/// The same in usual latencies of the host: a server often notices only when it writes its
/// response.
const NOTICE_ANSWERS: u32 = 8;

impl HostState {
    /// Returns the state with shorter leases where `is_dead` says that the lease's process is dead,
    /// seen at `since` at the latest. Returns `None` if no lease changes. On a host without a known
    /// latency, leases keep their full length.
    pub fn without_killed(
        &self,
        is_dead: impl Fn(LeaseId) -> bool,
        since: Time,
    ) -> Option<HostState> {
        if self.latency.seen == 0 {
            return None;
        }
        let answer = Duration::from_millis(self.latency.ms.max(self.latency.usual_ms).into());
        let notice = NOTICE_MIN.max(answer * NOTICE_ANSWERS);
        let ends = |send_by: Time| send_by.max(since) + notice;
        let shorter = |lease: &super::Lease| ends(lease.send_by) < lease.until && is_dead(lease.id);
        if !self.leases.iter().any(shorter) {
            return None;
        }
        let mut state = self.clone();
        for lease in state.leases.iter_mut().filter(|lease| shorter(lease)) {
            lease.until = ends(lease.send_by);
        }
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Latency, Lease, RequestKind};
    use super::*;
    use crate::url::UrlKey;

    const WORKER: u64 = 7 << 40;

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn host(latency_ms: u16) -> HostState {
        let lease = |id| Lease {
            id,
            kind: RequestKind::Page,
            probe: false,
            url: UrlKey::from_u128(1),
            turn: 1,
            generation: 0,
            send_by: at(1_000),
            until: at(31_000),
        };
        HostState {
            leases: vec![lease(LeaseId::of(WORKER, 3)), lease(LeaseId::of(WORKER + (1 << 40), 3))],
            latency: Latency { ms: latency_ms, usual_ms: latency_ms, seen: 1 },
            ..HostState::default()
        }
    }

    fn ends(state: &HostState, since: u64) -> Vec<u64> {
        let shorter = state.without_killed(|id| id.is_of(WORKER), at(since));
        let leases = shorter.unwrap_or_else(|| state.clone()).leases;
        leases.iter().map(|lease| lease.until.micros() / 1_000).collect()
    }

    #[test]
    fn a_lease_of_a_killed_process_ends_soon_and_others_stay() {
        assert_eq!(ends(&host(100), 5_000), [7_000, 31_000]);
        // A grant whose request could still have been sent counts from then.
        assert_eq!(ends(&host(100), 0), [3_000, 31_000]);
    }

    #[test]
    fn a_slow_host_is_given_the_time_of_eight_answers() {
        assert_eq!(ends(&host(1_000), 5_000), [13_000, 31_000]);
        assert_eq!(ends(&host(4_000), 5_000), [31_000, 31_000]);
    }

    #[test]
    fn a_host_that_never_answered_keeps_its_leases() {
        let unknown = HostState { latency: Latency::default(), ..host(100) };
        assert_eq!(ends(&unknown, 5_000), [31_000, 31_000]);
    }
}
