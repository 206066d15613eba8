//! Is our own network down?
//!
//! When our own network or resolver is down, every host looks broken. Faults on several hosts
//! within a short time, without any success, are our own: everything pauses, and the failures are
//! not counted against the hosts.
//!
//! A number of faults in a row is not enough: between two responses of healthy hosts any number of
//! broken hosts may fail, and a few hostile ones could stop a crawl for as long as they like.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use curtsy_core::url::HostKey;

use crate::Mono;

/// Faults on this many hosts…
const HOSTS: usize = 5;
/// …within this time and without a success are our own.
const WITHIN: Duration = Duration::from_secs(10);
/// The first pause. Each further pause is twice as long.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The state of our own network, judged by recent successes and faults.
#[derive(Debug, Default)]
pub(crate) struct NetworkHealth {
    /// Faults since the last success.
    faults: VecDeque<(Mono, HostKey)>,
    last_success: Option<Mono>,
    pauses: u32,
    paused_until: Option<Mono>,
}

impl NetworkHealth {
    /// Returns when new work may begin again, if it may not now.
    pub(crate) fn paused_until(&self, now: Mono) -> Option<Mono> {
        self.paused_until.filter(|until| *until > now)
    }

    /// Whether any site has responded so far.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.last_success.is_some()
    }

    /// Notes a response of a site, whatever its status: the network works.
    pub(crate) fn success(&mut self, now: Mono) {
        self.last_success = Some(now);
        self.faults.clear();
        self.pauses = 0;
        self.paused_until = None;
    }

    /// Notes a fault that may be our own, or is `known` to be. If it is our own, returns the hosts
    /// to forgive, with the number of faults of each.
    pub(crate) fn fault(
        &mut self,
        host: &HostKey,
        now: Mono,
        known: bool,
    ) -> Option<BTreeMap<HostKey, u8>> {
        while self.faults.front().is_some_and(|(at, _)| now - *at > WITHIN) {
            self.faults.pop_front();
        }
        self.faults.push_back((now, host.clone()));
        if self.last_success.is_some_and(|at| now - at < WITHIN) {
            return None;
        }
        let mut by_host: BTreeMap<HostKey, u8> = BTreeMap::new();
        for (_, host) in &self.faults {
            let count = by_host.entry(host.clone()).or_default();
            *count = count.saturating_add(1);
        }
        // After a pause one further fault is enough: nothing has succeeded since.
        if by_host.len() < HOSTS && self.pauses == 0 && !known {
            return None;
        }
        self.faults.clear();
        let pause = (PAUSE * 2_u32.saturating_pow(self.pauses)).min(PAUSE_MAX);
        self.pauses = (self.pauses + 1).min(8);
        self.paused_until = Some(now + pause);
        Some(by_host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: usize) -> HostKey {
        HostKey::parse(&format!("h{n}.test")).unwrap()
    }

    fn at(secs: u64) -> Mono {
        Mono(secs * 1_000_000)
    }

    #[test]
    fn five_hosts_in_ten_seconds_are_our_own_trouble() {
        let mut health = NetworkHealth::default();
        for n in 0..4 {
            assert_eq!(health.fault(&host(n), at(n as u64), false), None);
        }
        let forgiven = health.fault(&host(4), at(4), false).expect("the fifth host");
        assert_eq!(forgiven.len(), 5);
        assert_eq!(health.paused_until(at(5)), Some(at(9)));
        assert_eq!(health.paused_until(at(9)), None);
    }

    #[test]
    fn a_success_in_between_blames_the_hosts() {
        let mut health = NetworkHealth::default();
        for n in 0..4 {
            health.fault(&host(n), at(0), false);
        }
        health.success(at(0));
        assert_eq!(health.fault(&host(4), at(1), false), None);
    }

    /// Found in the zoo: five hosts that fail between two answers of healthy ones paused
    /// everything.
    #[test]
    fn faults_in_a_row_are_the_hosts_own_while_others_answer() {
        let mut health = NetworkHealth::default();
        health.success(at(100));
        for n in 0..50 {
            assert_eq!(health.fault(&host(n), at(101), false), None);
        }
        assert_eq!(health.paused_until(at(101)), None);
        let forgiven =
            health.fault(&host(50), at(110), false).expect("nobody has answered for ten seconds");
        assert_eq!(forgiven.len(), 51, "and all of it is taken back");
    }

    #[test]
    fn old_faults_do_not_count() {
        let mut health = NetworkHealth::default();
        for n in 0..9 {
            assert_eq!(health.fault(&host(n), at(11 * n as u64), false), None);
        }
    }

    /// Found by an operator: with three hosts behind a proxy that wants a password, the proxy got
    /// three requests a second.
    #[test]
    fn one_fault_that_is_known_to_be_ours_pauses_everything() {
        let mut health = NetworkHealth::default();
        assert!(health.fault(&host(0), at(0), true).is_some());
        assert_eq!(health.paused_until(at(1)), Some(at(5)));
    }
}
