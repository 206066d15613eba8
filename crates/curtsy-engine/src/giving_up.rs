//! When does a worker give up URLs that it could still wait for?
//!
//! A host may be unreachable: its name does not resolve, nothing listens, or no TLS session can be
//! made. It may be back at any time, so its URLs wait while there is other work. When nothing else
//! is left, waiting only delays the end of the crawl: the URLs end with that reason, and another
//! run tries them again.
//!
//! A failure on our own side that waiting does not mend (a proxy that wants a password) ends the
//! work at once, and gives up nothing.

use curtsy_core::host::{Class, Outcome, Problem};

use crate::grant::ask_of;
use crate::outbox::FinishedUrl;
use crate::run::Event;
use crate::{Ending, Store, Visit, Want, Worker, World};

/// The most hosts that are read to learn whether all of them are unreachable.
const HOSTS_MAX: usize = 10_000;

impl<W: World> Worker<'_, W> {
    /// Gives up what is left, if no host with work left could be reached in this job.
    pub(crate) async fn give_up_unreached(&self) -> Event {
        let waiting = self.world.store().waiting(HOSTS_MAX).await.ok().flatten();
        let waiting = waiting.unwrap_or_default();
        let reached = |visit: &Visit| visit.view.state.never_reached(&visit.view.job).is_none();
        let mut urls = 0;
        if !waiting.iter().any(reached) {
            for visit in waiting {
                urls += self.give_up_host(&visit).await;
            }
        }
        Event::GaveUp { urls }
    }

    /// Ends the URLs of a host with the reason why it could not be reached. Returns their number.
    async fn give_up_host(&self, visit: &Visit) -> usize {
        let view = &visit.view;
        let Some(problem) = view.state.never_reached(&view.job) else {
            return 0;
        };
        let policy = self.policies.of(&view.host);
        for record in &visit.urls {
            if let Want::RobotsHop { .. } = record.want {
                self.give_up_hop(view, record).await;
                continue;
            }
            let scene = self.scene(&policy, view, view.now, None);
            let ask = ask_of(record, None, &view.state, &policy);
            let findings = view.state.admit(&ask, &scene).findings;
            let ending = Ending::Dead(Outcome::Failed(problem));
            self.finish_url(FinishedUrl::new(view, record, ending, findings, view.now));
        }
        visit.urls.len()
    }

    /// Notes a failure on our own side. If waiting does not mend it, the work ends, provided that
    /// it is to end at all.
    pub(crate) fn note_own_fault(&self, outcome: &Outcome) {
        let Outcome::Failed(problem) = outcome else { return };
        if outcome.class() != Class::Ours || !self.settings.until_empty {
            return;
        }
        // A proxy that has worked before may work again soon; one that never did is misconfigured.
        let never_worked = !self.health.borrow().has_succeeded();
        if matches!(problem, Problem::ProxyLogin | Problem::OwnLogin) || never_worked {
            self.finish.stop_by_own_fault(*problem);
        }
    }
}
