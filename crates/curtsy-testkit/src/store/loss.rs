//! What outlives a process, and what a store does that has lost everything.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Tries;
use curtsy_core::time::Time;
use curtsy_engine::{AddressClaim, Commit, Committed, Grant, Refusal, RobotsFile, UrlRecord};

use super::{HOLD, Rig, StoreTrial, becomes, grant, host, ids, page, plain, refused, settled};

const SECOND: Duration = Duration::from_secs(1);

pub(super) async fn an_emptied_store_begins_a_new_epoch<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    let before = worker.change(&host("a.test"), |state| state.turn = 5).await;
    trial.rig.empty();
    let after = worker.load(&host("a.test")).await;
    assert_ne!(after.epoch.id, before.epoch.id);
    assert!(after.epoch.floor >= Some(before.now), "every host counts as just started");
    assert!(after.epoch.emptied);
    assert_eq!(after.state.turn, 0);
    let quiet = after.epoch.quiet_until.expect("old requests may still run");
    assert!(quiet > after.now);
    assert!(matches!(worker.commit(plain(&before)).await, Committed::Stale(_)));
    worker.offer(vec![a]).await;
    assert_eq!(worker.take(0).await.queued, 1, "it is not known any more");
    let visit = worker.visit_within(&host("a.test"), SECOND * 200).await;
    assert!(visit.expect("in the end it is handed out").view.now >= quiet);
    assert!(worker.load(&host("a.test")).await.now >= before.now, "no time is lost");
}

pub(super) async fn what_is_remembered_is_taken_over_in_the_queue<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let (a, b) = (page("http://a.test/1"), page("http://a.test/2"));
    worker.offer(vec![a.clone(), UrlRecord { worth: 5, ..b.clone() }]).await;
    let tries = Tries { counted: 2, ..Tries::default() };
    worker.remind(vec![UrlRecord { tries, charged: true, worth: 4, ..a.clone() }]).await;
    worker.remind(vec![b.clone()]).await;
    // What is better is not taken over.
    worker.remind(vec![a.clone()]).await;
    let visit = worker.visit(&host("a.test")).await;
    assert_eq!(visit.urls, [UrlRecord { tries, charged: true, ..a }, b]);
}

pub(super) async fn what_is_remembered_is_taken_over_by_what_comes_later<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let a = page("http://a.test/1");
    let ready = Some(worker.take(0).await.now + SECOND * 60);
    let tries = Tries { counted: 1, ..Tries::default() };
    worker.remind(vec![UrlRecord { tries, ready, worth: 3, ..a.clone() }]).await;
    worker.remind(vec![UrlRecord { charged: true, worth: 2, ..a.clone() }]).await;
    assert_eq!(worker.take(0).await.queued, 0, "what is remembered is not thereby wanted");
    worker.offer(vec![UrlRecord { worth: 4, ..a.clone() }]).await;
    let visit = worker.visit_within(&host("a.test"), SECOND * 200).await.expect("it comes");
    assert!(Some(visit.view.now) >= ready);
    assert_eq!(visit.urls, [UrlRecord { tries, ready, charged: true, worth: 2, ..a }]);
}

pub(super) async fn orders_are_told_to_workers_and_taken_back_from_them<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let (a, b) = (page("http://a.test/1"), page("http://b.test/1"));
    trial.rig.stop(&host("a.test"), true);
    trial.rig.stop(&host("b.test"), true);
    trial.rig.stop(&host("b.test"), false);
    let heard: Vec<_> = worker.take(0).await.orders.iter().collect();
    let told: Vec<_> = heard.iter().map(|order| (order.host.as_str(), order.stopped)).collect();
    assert_eq!(told, [("a.test", true), ("b.test", false)]);
    trial.rig.empty();
    assert!(worker.take(0).await.orders.is_empty(), "they are lost with everything else");
    worker.offer(vec![a.clone(), b]).await;
    let before = worker.change(&host("a.test"), |state| state.turn = 1).await;
    worker.order(heard).await;
    let parked = Commit { not_before: before.now, ..plain(&before) };
    let told = worker.commit(parked).await;
    assert!(matches!(told, Committed::Stale(v) if v.stopped), "everybody decides again");
    let view = worker.load(&host("a.test")).await;
    refused(worker.commit(grant(&view, &a, trial.lease())).await, Refusal::Stopped);
    assert!(!worker.load(&host("b.test")).await.stopped);
}

pub(super) async fn an_older_order_does_not_undo_a_newer_one<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    trial.rig.stop(&host("a.test"), true);
    let stop: Vec<_> = worker.take(0).await.orders.iter().collect();
    trial.rig.stop(&host("a.test"), false);
    let lift: Vec<_> = worker.take(0).await.orders.iter().collect();
    worker.order(stop.clone()).await;
    assert!(!worker.load(&host("a.test")).await.stopped, "the lift is newer");
    // Nor after both are lost, whoever comes first; a host that was parked meanwhile is let go.
    trial.rig.empty();
    worker.offer(vec![a.clone()]).await;
    worker.order(stop.clone()).await;
    let view = worker.load(&host("a.test")).await;
    assert!(view.stopped);
    worker.done(Commit { not_before: Time::NEVER, ..plain(&view) }).await;
    worker.order(lift).await;
    worker.order(stop).await;
    let visit = worker.visit_within(&host("a.test"), SECOND * 200).await.expect("it is let go");
    assert!(!visit.view.stopped);
    worker.done(grant(&visit.view, &a, trial.lease())).await;
}

pub(super) async fn a_restart_keeps_states_and_versions<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let before = worker.change(&host("a.test"), |state| state.latency.ms = 77).await;
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    let worker = trial.worker();
    let after = worker.load(&host("a.test")).await;
    assert_eq!((after.version, after.state), (before.version, before.state));
    let again = worker.change(&host("a.test"), |state| state.latency.ms = 78).await;
    assert!(again.version > before.version);
}

pub(super) async fn a_restart_keeps_the_queue_with_its_claims<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let all: Vec<_> = (0..200).map(|n| page(&format!("http://a.test/{n}"))).collect();
    worker.offer(all.clone()).await;
    let view = worker.load(&host("a.test")).await;
    let lease = trial.lease();
    worker.done(grant(&view, &all[0], lease)).await;
    worker.settle(vec![settled(&all[1]), settled(&all[150])]).await;
    let moved = UrlRecord { url: page("http://b.test/3").url, hop: 1, ..all[3].clone() };
    worker.settle(vec![becomes(&all[3], moved.clone())]).await;
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    let worker = trial.worker();
    assert_eq!(worker.take(0).await.queued, 198);
    let mut seen = Vec::new();
    let mut first = true;
    while seen.len() < 197 {
        let visit = worker.visit(&host("a.test")).await;
        if std::mem::take(&mut first) {
            assert_eq!(visit.urls[0], UrlRecord { claim: Some(lease), ..all[0].clone() });
        }
        seen.extend(ids(&visit));
        let urls = visit.urls.iter().map(settled).collect();
        worker.done(Commit { urls, ..plain(&visit.view) }).await;
    }
    let left = (0..200).filter(|n| ![1, 3, 150].contains(n));
    assert_eq!(seen, left.map(|n| format!("http://a.test/{n}")).collect::<Vec<_>>());
    let visit = worker.visit_within(&host("b.test"), HOLD * 8).await.expect("it moved there");
    assert_eq!(visit.urls, [moved]);
}

pub(super) async fn a_restart_keeps_known_urls_and_charged_pages<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let (a, b) = (page("http://a.test/1"), page("http://a.test/2"));
    worker.offer(vec![a.clone(), b.clone()]).await;
    worker.settle(vec![settled(&b)]).await;
    let view = worker.load(&host("a.test")).await;
    let commit = grant(&view, &a, trial.lease());
    let wanted = commit.grant.clone().expect("a grant");
    worker.done(Commit { grant: Some(Grant { charge: Some(9), ..wanted }), ..commit }).await;
    let job = worker.load(&host("a.test")).await.job;
    assert_eq!(job.pages, 1);
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    let worker = trial.worker();
    let after = worker.load(&host("a.test")).await.job;
    assert_eq!((after.started_at, after.pages), (job.started_at, 1));
    let again = worker.offer(vec![a, b]).await;
    assert_eq!((again.new, again.known), (0, 2));
    assert_eq!(worker.take(0).await.queued, 1);
}

pub(super) async fn a_restart_keeps_stop_orders_slots_and_robots_files<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let records = ["a.test", "b.test"].map(|name| page(&format!("http://{name}/")));
    worker.offer(records.to_vec()).await;
    let at_address = |commit: Commit, until| {
        let wanted = commit.grant.clone().expect("a grant");
        let address = std::net::Ipv4Addr::new(192, 0, 2, 7).into();
        let address = Some(AddressClaim { address, cap: 1, until });
        Commit { grant: Some(Grant { address, ..wanted }), ..commit }
    };
    let view = worker.load(&host("a.test")).await;
    let until = view.now + SECOND * 600;
    let file = Arc::new(RobotsFile { text: b"#".to_vec(), etag: None, last_modified: None });
    let commit = at_address(grant(&view, &records[0], trial.lease()), until);
    worker.done(Commit { robots: vec![(file.id(), Arc::clone(&file))], ..commit }).await;
    trial.rig.stop(&host("c.test"), true);
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    let worker = trial.worker();
    assert!(worker.load(&host("c.test")).await.stopped);
    assert_eq!(worker.robots(file.id()).await, Some(file));
    let view = worker.load(&host("b.test")).await;
    let refused = worker.commit(at_address(grant(&view, &records[1], trial.lease()), until)).await;
    assert!(matches!(refused, Committed::Refused(Refusal::Address(_))), "{refused:?}");
}

pub(super) async fn a_restart_keeps_what_is_remembered<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let a = page("http://a.test/1");
    let tries = Tries { counted: 3, ..Tries::default() };
    worker.remind(vec![UrlRecord { tries, ..a.clone() }]).await;
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    let worker = trial.worker();
    worker.offer(vec![a.clone()]).await;
    assert_eq!(worker.visit(&host("a.test")).await.urls, [UrlRecord { tries, ..a }]);
}

pub(super) async fn a_restart_begins_no_epoch_and_takes_no_time_back<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let before = worker.change(&host("a.test"), |state| state.turn = 1).await;
    drop(worker);
    if !trial.rig.reopen() {
        return;
    }
    trial.pass(HOLD).await;
    let worker = trial.worker();
    let after = worker.load(&host("a.test")).await;
    assert_eq!(after.epoch, before.epoch);
    assert!(after.now - before.now >= HOLD, "what passes while nobody is there passes");
}
