//! Grants: what every worker sees, and what a cap or an order refuses.

use std::net::IpAddr;
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_engine::{AddressClaim, Commit, Committed, Grant, Refusal, UrlRecord, View};

use super::{Rig, StoreTrial, becomes, grant, host, page, plain, refused};

const SECOND: Duration = Duration::from_secs(1);
const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

pub(super) async fn a_grant_is_seen_by_every_other_worker<R: Rig>(trial: &StoreTrial<R>) {
    let (one, other) = (trial.worker(), trial.worker());
    let (a, b) = (page("http://a.test/1"), page("http://a.test/2"));
    one.offer(vec![a.clone(), b.clone()]).await;
    let view = one.load(&host("a.test")).await;
    let (first, second) = (trial.lease(), trial.lease());
    one.done(grant(&view, &a, first)).await;
    match other.commit(grant(&view, &b, second)).await {
        Committed::Stale(newer) => {
            assert!(newer.state.lease(first).is_some(), "the first is there");
            assert!(newer.state.lease(second).is_none(), "the second is not");
        }
        result => panic!("never two grants on one version: {result:?}"),
    }
}

pub(super) async fn a_repeated_grant_shows_its_lease<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, view) = trial.queued().await;
    let lease = trial.lease();
    let commit = grant(&view, &a, lease);
    if let Committed::Done(saved) = worker.commit(commit.clone()).await {
        let written = worker.load(&host("a.test")).await;
        let leases: Vec<_> = written.state.leases.iter().map(|lease| lease.id).collect();
        assert_eq!((saved.version, leases), (written.version, vec![lease]));
    }
    match worker.commit(commit).await {
        Committed::Stale(newer) => {
            assert_eq!(newer.host, host("a.test"));
            assert!(newer.state.lease(lease).is_some(), "the first commit was written");
        }
        other => panic!("an answer that was lost is asked for again: {other:?}"),
    }
}

/// A grant that is charged to the job.
fn charged(view: &View, record: &UrlRecord, lease: curtsy_core::host::LeaseId, cap: u64) -> Commit {
    let commit = grant(view, record, lease);
    let wanted = commit.grant.clone().expect("a grant");
    let record_ = UrlRecord { charged: true, claim: Some(lease), ..record.clone() };
    Commit {
        grant: Some(Grant { charge: Some(cap), ..wanted }),
        urls: vec![becomes(record, record_)],
        ..commit
    }
}

pub(super) async fn a_page_is_charged_once_and_the_cap_holds<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let records: Vec<_> = (0..3).map(|n| page(&format!("http://a.test/{n}"))).collect();
    worker.offer(records.clone()).await;
    for (n, record) in records.iter().enumerate() {
        let view = worker.load(&host("a.test")).await;
        assert_eq!(view.job.pages, n.min(2) as u64);
        let commit = charged(&view, record, trial.lease(), 2);
        match worker.commit(commit.clone()).await {
            Committed::Refused(Refusal::Budget) => assert_eq!(n, 2),
            Committed::Done(_) | Committed::Stale(_) => assert!(n < 2, "the cap is 2"),
            other => panic!("done or refused: {other:?}"),
        }
    }
    assert_eq!(worker.load(&host("b.test")).await.job.pages, 2);
}

pub(super) async fn a_refused_grant_writes_nothing<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, view) = trial.queued().await;
    refused(worker.commit(charged(&view, &a, trial.lease(), 0)).await, Refusal::Budget);
    let after = worker.load(&host("a.test")).await;
    assert_eq!((after.version, after.state), (view.version, view.state));
    assert_eq!(after.job.pages, 0);
    assert_eq!(worker.visit(&host("a.test")).await.urls, [a]);
}

pub(super) async fn a_stop_order_refuses_and_its_end_lets_go<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    trial.rig.stop(&host("a.test"), true);
    let view = worker.load(&host("a.test")).await;
    assert!(view.stopped);
    assert!(!worker.load(&host("b.test")).await.stopped);
    refused(worker.commit(grant(&view, &a, trial.lease())).await, Refusal::Stopped);
    // What is no grant may be written, and the host is parked.
    worker.done(Commit { not_before: Time::NEVER, ..plain(&view) }).await;
    trial.pass(SECOND * 20).await;
    assert!(worker.visit_within(&host("a.test"), SECOND * 20).await.is_none());
    trial.rig.stop(&host("a.test"), false);
    let visit = worker.visit(&host("a.test")).await;
    assert!(!visit.view.stopped);
    worker.done(grant(&visit.view, &a, trial.lease())).await;
}

pub(super) async fn a_stop_order_has_everybody_decide_again<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let view = worker.change(&host("a.test"), |state| state.turn = 1).await;
    trial.rig.stop(&host("a.test"), true);
    let parked = Commit { not_before: Time::NEVER, ..plain(&view) };
    assert!(matches!(worker.commit(parked).await, Committed::Stale(v) if v.stopped));
    let view = worker.load(&host("a.test")).await;
    trial.rig.stop(&host("a.test"), false);
    let parked = Commit { not_before: Time::NEVER, ..plain(&view) };
    assert!(matches!(worker.commit(parked).await, Committed::Stale(v) if !v.stopped));
}

/// A grant that takes one of two slots of an address, for a minute.
fn at_address(view: &View, record: &UrlRecord, lease: curtsy_core::host::LeaseId) -> Commit {
    let commit = grant(view, record, lease);
    let wanted = commit.grant.clone().expect("a grant");
    let until = view.now + SECOND * 60;
    let address = Some(AddressClaim { address: ADDRESS, cap: 2, until });
    Commit { grant: Some(Grant { address, ..wanted }), ..commit }
}

pub(super) async fn slots_of_an_address_are_capped_and_given_back<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let names = ["a.test", "b.test", "c.test"];
    let records = names.map(|name| page(&format!("http://{name}/")));
    worker.offer(records.to_vec()).await;
    let mut leases = Vec::new();
    for (name, record) in names.iter().zip(&records).take(2) {
        let lease = trial.lease();
        leases.push(lease);
        let view = worker.load(&host(name)).await;
        worker.done(at_address(&view, record, lease)).await;
    }
    let view = worker.load(&host("c.test")).await;
    let refused = worker.commit(at_address(&view, &records[2], trial.lease())).await;
    match refused {
        Committed::Refused(Refusal::Address(until)) => {
            assert!(until > view.now, "it is looked at again later");
            assert!(until <= view.now + SECOND * 60, "but not after the first has run out");
        }
        other => panic!("both slots are taken: {other:?}"),
    }
    let view = worker.load(&host("a.test")).await;
    let release = Some((ADDRESS, leases[0]));
    worker.done(Commit { release, ..plain(&view) }).await;
    let view = worker.load(&host("c.test")).await;
    worker.done(at_address(&view, &records[2], trial.lease())).await;
}

pub(super) async fn slots_of_an_address_run_out<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let records: Vec<_> = (0..3).map(|n| page(&format!("http://h{n}.test/"))).collect();
    worker.offer(records.clone()).await;
    for record in &records[..2] {
        let view = worker.load(record.host()).await;
        worker.done(at_address(&view, record, trial.lease())).await;
    }
    trial.pass(SECOND * 61).await;
    let view = worker.load(records[2].host()).await;
    worker.done(at_address(&view, &records[2], trial.lease())).await;
}
