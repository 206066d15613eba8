//! The files of a test, and its clocks.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod crawls;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use curtsy_core::host::{HostState, Lease, LeaseId, RequestKind};
use curtsy_core::url::UrlKey;
use curtsy_engine::{Commit, View};
use curtsy_sim::executor::Universe;
use curtsy_sim::{Outcome, Spec};
use curtsy_store::MachineClock;

/// A folder that is removed with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-store-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join("hosts.db")
    }

    pub(crate) fn crawl(&self) -> PathBuf {
        self.0.join("crawl.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error of the removal is not what is tested.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A machine in virtual time.
#[derive(Clone)]
pub(crate) struct Virtual(pub(crate) Rc<Universe>);

impl MachineClock for Virtual {
    fn monotonic(&self) -> u64 {
        self.0.now() - 1_700_000_000_000_000
    }

    fn since_boot(&self) -> u64 {
        self.monotonic()
    }

    fn wall(&self) -> u64 {
        self.0.now()
    }

    fn boot(&self) -> String {
        "virtual".into()
    }

    fn server(&self) -> Option<u64> {
        Some(self.0.now())
    }
}

/// The answer of a call that does not wait.
pub(crate) fn now<T>(call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(answer) = call.as_mut().poll(&mut cx) {
            return answer;
        }
    }
}

/// Panics with the judge's text if a simulated fleet broke its manners or lost something. Returns
/// its requests.
#[track_caller]
pub(crate) fn lived(spec: &Spec, outcome: &Outcome) -> u64 {
    if !outcome.clean() {
        let mut report = Vec::new();
        outcome.report.print(&mut report).unwrap();
        let report = String::from_utf8_lossy(&report);
        panic!("seed {}, step {}: lost {:?}\n{report}", spec.seed, outcome.steps, outcome.lost);
    }
    outcome.requests
}

/// A commit that changes only the schedule.
pub(crate) fn plain(view: &View) -> Commit {
    Commit {
        host: view.host.clone(),
        version: view.version,
        epoch: view.epoch.id,
        state: None,
        not_before: view.now,
        grant: None,
        release: None,
        robots: Vec::new(),
        urls: Vec::new(),
        exchanged: None,
    }
}

/// A commit that only books a turn of a host under a lease.
pub(crate) fn turn(view: &View, lease: LeaseId) -> Commit {
    let mut state = HostState::clone(&view.state);
    state.turn += 1;
    state.leases = vec![Lease {
        id: lease,
        kind: RequestKind::Page,
        probe: false,
        url: UrlKey::of("http://a.test/"),
        turn: state.turn,
        generation: 0,
        send_by: view.now,
        until: view.now + Duration::from_secs(30),
    }];
    Commit { state: Some(state.into()), ..plain(view) }
}
