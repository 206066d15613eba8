//! When does a worker give URLs up that it could still wait for?
//!
//! A host that can't be reached (its name does not resolve, nobody listens, no TLS session can be made) may be back at any time, so its URLs
//! wait like others while there is other work. When nothing else is left, waiting for it only keeps the user waiting: its URLs end with
//! that reason, and another run tries them again.
//!
//! A failure of our own side that no wait mends (a proxy that wants a password) ends the work at once. Nothing is given up then.

use curtsy_core::host::{Class, Outcome, Problem};

use crate::grant::ask_of;
use crate::worker::Event;
use crate::{Ending, Store, Visit, Want, Worker, World};

/// Hosts among which it is looked whether all of them can't be reached.
const HOSTS_MAX: usize = 10_000;

impl<W: World> Worker<'_, W> {
    /// Gives up what is left if every host that has work left could not be reached in this job.
    pub(crate) async fn give_up_unreached(&self) -> Event {
        let Ok(Some(waiting)) = self.world.store().waiting(HOSTS_MAX).await else {
            return Event::GaveUp { urls: 0 };
        };
        let reached = |visit: &Visit| visit.view.state.never_reached(&visit.view.job).is_none();
        if waiting.is_empty() || waiting.iter().any(reached) {
            return Event::GaveUp { urls: 0 };
        }
        let mut urls = 0;
        for visit in waiting {
            urls += self.give_up_host(&visit).await;
        }
        Event::GaveUp { urls }
    }

    /// Ends URLs of a host with the reason why it could not be reached.
    async fn give_up_host(&self, visit: &Visit) -> usize {
        let view = &visit.view;
        let Some(problem) = view.state.never_reached(&view.job) else {
            return 0;
        };
        let policy = self.policy_of(&view.host);
        for record in &visit.urls {
            if let Want::RobotsHop { .. } = record.want {
                self.give_up_hop(view, record).await;
                continue;
            }
            let scene = self.scene(&policy, view, view.now, None);
            let ask = ask_of(record, None, &view.state, &policy);
            let findings = view.state.admit(&ask, &scene).findings;
            let ending = Ending::Dead(Outcome::Failed(problem));
            self.end(self.ended(view, record, ending, findings, view.now));
        }
        visit.urls.len()
    }

    /// Notes a failure of our own side. One that no wait mends ends the work, if the work is to end at all.
    pub(crate) fn note_own_fault(&self, outcome: &Outcome) {
        let Outcome::Failed(problem) = outcome else { return };
        if outcome.class() != Class::Ours || !self.settings.until_empty {
            return;
        }
        // A proxy that let something through before may be back soon; one that never did is wrongly set.
        let never_worked = !self.health.borrow().has_succeeded();
        if matches!(problem, Problem::ProxyLogin | Problem::OwnLogin) || never_worked {
            self.own_fault.set(Some(*problem));
            self.stop_switch().set(true);
        }
    }
}
