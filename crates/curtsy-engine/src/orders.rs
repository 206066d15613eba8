//! Stop orders: hosts that people excluded from crawling.
//!
//! A store that lost its orders gets them back from the workers, which remember them. A lifted
//! order must not come back that way, so a lift is an order too, and of two orders for a host the
//! newer one holds.

use std::collections::BTreeMap;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

/// Lifts that are remembered. The oldest are forgotten: at worst an order comes back and must be
/// lifted again.
pub const LIFTED_MAX: usize = 1024;

/// One order for one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The host.
    pub host: HostKey,
    /// Whether the host may not be requested; otherwise the earlier order is lifted.
    pub stopped: bool,
    /// The store's time when it was given.
    pub at: Time,
}

/// The newest order for each host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders(BTreeMap<HostKey, (Time, bool)>);

impl Orders {
    /// Whether the host may not be requested.
    pub fn is_stopped(&self, host: &HostKey) -> bool {
        self.0.get(host).is_some_and(|(_, stopped)| *stopped)
    }

    /// Returns the newest order for a host.
    pub fn of(&self, host: &HostKey) -> Option<Order> {
        self.0.get(host).map(|known| order(host, known))
    }

    /// Returns an order that is given now. It is newer than the known one even if the clock went
    /// back.
    pub fn next(&self, host: &HostKey, stopped: bool, now: Time) -> Order {
        let known = self.0.get(host).map(|(at, _)| Time::from_micros(at.micros() + 1));
        Order { host: host.clone(), stopped, at: known.max(Some(now)).unwrap_or(now) }
    }

    /// Takes over an order if it is newer than the known one. Returns whether it is.
    pub fn hear(&mut self, order: &Order) -> bool {
        if self.0.get(&order.host).is_some_and(|(at, _)| *at >= order.at) {
            return false;
        }
        self.0.insert(order.host.clone(), (order.at, order.stopped));
        let lifted = self.0.iter().filter(|(_, (_, stopped))| !stopped);
        if !order.stopped
            && lifted.clone().count() > LIFTED_MAX
            && let Some(oldest) =
                lifted.min_by_key(|(_, (at, _))| *at).map(|(host, _)| host.clone())
        {
            self.0.remove(&oldest);
        }
        true
    }

    /// Restores an earlier order of a host, as if the later ones had not been given.
    pub(crate) fn put_back(&mut self, host: &HostKey, old: Option<Order>) {
        match old {
            Some(old) => drop(self.0.insert(old.host, (old.at, old.stopped))),
            None => drop(self.0.remove(host)),
        }
    }

    /// Returns the newest order for each host, with lifts.
    pub fn iter(&self) -> impl Iterator<Item = Order> + '_ {
        self.0.iter().map(|(host, known)| order(host, known))
    }

    /// Whether no order was ever given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn order(host: &HostKey, &(at, stopped): &(Time, bool)) -> Order {
    Order { host: host.clone(), stopped, at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(host: &str, stopped: bool, secs: u64) -> Order {
        Order { host: HostKey::parse(host).unwrap(), stopped, at: Time::from_secs(secs) }
    }

    #[test]
    fn of_two_orders_the_newer_one_holds() {
        let (stop, lift) = (given("a.test", true, 1), given("a.test", false, 2));
        for heard in [[&stop, &lift], [&lift, &stop]] {
            let mut orders = Orders::default();
            for order in heard {
                orders.hear(order);
            }
            assert!(!orders.is_stopped(&stop.host));
        }
        let mut orders = Orders::default();
        orders.hear(&lift);
        assert!(orders.hear(&given("a.test", true, 3)));
        assert!(orders.is_stopped(&stop.host));
    }

    #[test]
    fn an_order_is_newer_than_the_one_before_even_by_a_clock_that_went_back() {
        let mut orders = Orders::default();
        orders.hear(&given("a.test", true, 9));
        let lift = orders.next(&HostKey::parse("a.test").unwrap(), false, Time::from_secs(5));
        assert!(orders.hear(&lift));
    }

    #[test]
    fn lifts_are_bounded_and_orders_in_force_are_kept() {
        let mut orders = Orders::default();
        orders.hear(&given("stopped.test", true, 0));
        for n in 0..2 * LIFTED_MAX as u64 {
            orders.hear(&given(&format!("h{n}.test"), false, n + 1));
        }
        assert_eq!(orders.iter().count(), LIFTED_MAX + 1);
        assert!(orders.is_stopped(&HostKey::parse("stopped.test").unwrap()));
    }
}
