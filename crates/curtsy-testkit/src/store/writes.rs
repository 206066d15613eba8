//! Host states, versions, robots.txt files and time.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_engine::{Commit, Committed, RobotsFile};

use super::{Rig, StoreTrial, host, page, plain};

pub(super) async fn what_is_committed_is_loaded_by_every_worker<R: Rig>(trial: &StoreTrial<R>) {
    let (one, other) = (trial.worker(), trial.worker());
    let a = host("a.test");
    let wrote = one.change(&a, |state| state.latency.ms = 17).await;
    let seen = other.load(&a).await;
    assert_eq!((seen.state.latency.ms, seen.version), (17, wrote.version));
    other.change(&a, |state| state.latency.ms = 18).await;
    assert_eq!(one.load(&a).await.state.latency.ms, 18);
    assert_eq!(one.load(&host("b.test")).await.state.latency.ms, 0, "another host is another");
}

pub(super) async fn every_write_of_a_state_has_a_new_version<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let a = host("a.test");
    let mut seen = vec![worker.load(&a).await.version];
    for n in 1..20 {
        let view = worker.change(&a, |state| state.latency.ms = n).await;
        assert!(!seen.contains(&view.version), "version {} comes again", view.version);
        seen.push(view.version);
    }
}

pub(super) async fn a_commit_of_the_schedule_alone_keeps_the_version<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let a = host("a.test");
    let view = worker.change(&a, |state| state.latency.ms = 5).await;
    match worker.commit(plain(&view)).await {
        Committed::Done(receipt) => assert_eq!(receipt.version, view.version),
        other => panic!("it is done: {other:?}"),
    }
    assert_eq!(worker.load(&a).await.version, view.version);
}

pub(super) async fn a_commit_on_an_old_version_is_stale_and_writes_nothing<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let (one, other) = (trial.worker(), trial.worker());
    let a = host("a.test");
    let record = page("http://a.test/1");
    one.offer(vec![record.clone()]).await;
    let old = one.load(&a).await;
    let newer = other.change(&a, |state| state.latency.ms = 7).await;
    let mut state = HostState::clone(&old.state);
    state.latency.ms = 99;
    let urls = vec![super::settled(&record)];
    let late = Commit { state: Some(state.into()), urls, ..plain(&old) };
    match one.commit(late).await {
        Committed::Stale(view) => {
            assert_eq!((view.state.latency.ms, view.version), (7, newer.version));
        }
        other => panic!("somebody wrote first: {other:?}"),
    }
    let view = one.load(&a).await;
    assert_eq!((view.state.latency.ms, view.version), (7, newer.version));
    assert_eq!(one.take(0).await.queued, 1, "all or nothing");
}

pub(super) async fn a_commit_of_another_epoch_is_stale<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let view = worker.load(&host("a.test")).await;
    let commit = Commit { epoch: view.epoch.id + 1, ..plain(&view) };
    assert!(matches!(worker.commit(commit).await, Committed::Stale(_)));
}

pub(super) async fn a_host_that_nobody_wrote_has_version_zero<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let view = worker.load(&host("a.test")).await;
    assert_eq!((view.version, view.state), (0, Default::default()));
    assert!(!view.stopped);
    assert_eq!(
        (view.epoch.floor, view.epoch.quiet_until),
        (None, None),
        "a newcomer waits for nothing"
    );
}

pub(super) async fn robots_files_are_kept_by_their_hash<R: Rig>(trial: &StoreTrial<R>) {
    let (one, other) = (trial.worker(), trial.worker());
    let file = RobotsFile {
        text: b"User-agent: *\nDisallow: /\xff\n".to_vec(),
        etag: Some("\"r1\"".into()),
        last_modified: None,
    };
    let id = file.id();
    assert_eq!(one.robots(id).await, None);
    let view = one.load(&host("a.test")).await;
    let robots = vec![(id, Arc::new(file.clone()))];
    one.done(Commit { robots: robots.clone(), ..plain(&view) }).await;
    // The same file of another host is the same file.
    let view = one.load(&host("b.test")).await;
    one.done(Commit { robots, ..plain(&view) }).await;
    assert_eq!(other.robots(id).await.as_deref(), Some(&file));
    assert_eq!(other.robots(RobotsId([7; 16])).await, None);
}

pub(super) async fn time_never_goes_back<R: Rig>(trial: &StoreTrial<R>) {
    let workers = [trial.worker(), trial.worker()];
    let mut latest = Time::START;
    for n in 0..50 {
        let worker = &workers[n % 2];
        let now = match n % 3 {
            0 => worker.take(0).await.now,
            1 => worker.load(&host("a.test")).await.now,
            _ => worker.change(&host("a.test"), |state| state.turn += 1).await.now,
        };
        assert!(now >= latest, "{now:?} comes after {latest:?}");
        latest = now;
        trial.pass(Duration::from_millis(n as u64 * 37)).await;
    }
}

pub(super) async fn time_passes_as_the_worker_clocks_do<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    for span in [Duration::from_millis(1), Duration::from_secs(1), Duration::from_secs(86_000)] {
        let (from, before) = (trial.universe.now(), worker.take(0).await.now);
        trial.pass(span).await;
        let (after, to) = (worker.take(0).await.now, trial.universe.now());
        assert!(after - before >= span, "a wait that is over is over");
        assert!(after - before <= Duration::from_micros(to - from), "and no time is made up");
    }
}
