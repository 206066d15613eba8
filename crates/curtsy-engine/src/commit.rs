//! Writes to the store that carry a host's state.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::HostState;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

use crate::stamp::{Stamp, StampedView};
use crate::visit::HostVisit;
use crate::worker::STORE_RETRY;
use crate::{
    Commit, CommitReply, Committed, Saved, Store, StoreError, UrlWrite, View, Worker, World,
};

/// The most commits that give a host back. On a host that is that busy, others write when it is
/// due.
const RELEASE_TRIES: u32 = 3;
/// The first pause before a commit is repeated.
const COMMIT_RETRY: Duration = Duration::from_millis(50);

impl Commit {
    /// A commit that writes a state and a due time, and nothing else.
    pub(crate) fn of_state(view: &View, state: Option<Arc<HostState>>, not_before: Time) -> Commit {
        Commit {
            host: view.host.clone(),
            version: view.version,
            epoch: view.epoch.id,
            not_before,
            state,
            grant: None,
            release: None,
            robots: Vec::new(),
            urls: Vec::new(),
            exchanged: None,
        }
    }
}

impl<W: World> Worker<'_, W> {
    /// Tries a commit once.
    pub(crate) async fn try_commit(&self, commit: &Commit) -> Result<CommitReply, StoreError> {
        crate::commit(self.world.store(), self.world.clock(), commit).await
    }

    /// Commits until the store's answer is known. After a success the worker wakes when the host is
    /// due, because other workers may not know.
    pub(crate) async fn commit_known(&self, commit: &Commit) -> CommitReply {
        let mut pause = COMMIT_RETRY;
        loop {
            match self.try_commit(commit).await {
                Ok(reply) => {
                    if let Committed::Done(_) = reply.committed {
                        self.wake_by(reply.stamp.not_before(commit.not_before));
                    }
                    return reply;
                }
                Err(StoreError::Unknown(_) | StoreError::Refused(..)) => {
                    self.pause(pause).await;
                    pause = (pause * 2).min(STORE_RETRY);
                }
            }
        }
    }

    /// Gives a host back to the store, with changes of its URLs. States that others wrote meanwhile
    /// may make it due later.
    pub(crate) async fn release(
        &self,
        StampedView { mut view, mut stamp }: StampedView,
        not_before: Time,
        urls: Vec<UrlWrite>,
    ) {
        let mut not_before = self.due_within_budget(&view.host, not_before, view.now);
        for _ in 0..RELEASE_TRIES {
            let commit = Commit { urls: urls.clone(), ..Commit::of_state(&view, None, not_before) };
            // If this commit fails, the host falls due again by itself.
            let Ok(reply) = self.try_commit(&commit).await else { break };
            match reply.committed {
                Committed::Stale(newer) => {
                    (view, stamp) = (newer, reply.stamp);
                    self.counts.borrow_mut().stale += 1;
                    not_before = not_before.max(self.likely_due(&view));
                }
                Committed::Done(_) => {
                    self.owe_as_written(&urls);
                    break;
                }
                Committed::Refused(_) => break,
            }
        }
        self.wake_by(stamp.not_before(not_before));
    }

    /// Changes a host's state outside of a visit, until the change is written.
    pub(crate) async fn change(&self, host: &HostKey, change: impl Fn(&View) -> HostState) {
        let mut view = self.load(host).await;
        loop {
            let state = change(&view);
            if state == *view.state {
                return;
            }
            let due = self.due(&view, &state);
            let commit = Commit {
                robots: self.rules.files_of(&state),
                ..Commit::of_state(&view, Some(Arc::new(state)), due)
            };
            match self.world.store().commit(commit).await {
                Ok(Committed::Stale(newer)) => view = newer,
                Ok(_) => return,
                Err(_) => {
                    self.pause(STORE_RETRY).await;
                    view = self.load(host).await;
                }
            }
        }
    }

    /// Reads a host's state. Repeats until the store answers.
    pub(crate) async fn load(&self, host: &HostKey) -> View {
        self.until_answered(async |store| store.load(host).await).await
    }
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Commits a new state that grants nothing. Returns `false` if another worker wrote first: then
    /// the visit has that worker's state.
    pub(crate) async fn write(&mut self, commit: Commit) -> bool {
        let CommitReply { committed, stamp, .. } = self.worker.commit_known(&commit).await;
        match committed {
            Committed::Done(saved) => {
                let state = commit.state.expect("a visit writes its host's state");
                self.wrote(state, saved, stamp);
                true
            }
            Committed::Stale(view) => {
                self.adopt(view, stamp);
                false
            }
            Committed::Refused(_) => unreachable!("only grants are refused"),
        }
    }

    /// Takes over the state that this visit has just written, and remembers it in case the store
    /// loses it.
    pub(crate) fn wrote(&mut self, state: Arc<HostState>, saved: Saved, stamp: Stamp) {
        let mut memory = self.worker.memory.borrow_mut();
        memory.remember(&self.view.host, &state, saved.now);
        (self.view.state, self.view.version, self.view.now) = (state, saved.version, saved.now);
        self.stamp = stamp;
    }

    /// Takes over a newer state that another worker wrote.
    pub(crate) fn adopt(&mut self, view: View, stamp: Stamp) {
        self.worker.counts.borrow_mut().stale += 1;
        (self.view, self.stamp) = (view, stamp);
    }
}
