//! A URL's claim: the name of the last write to it. Whoever knows of an older one changes nothing.

use std::time::Duration;

use curtsy_core::host::{Outcome, Problem, Tries};
use curtsy_core::time::Time;
use curtsy_engine::{Commit, Committed, Refusal, UrlRecord, UrlWrite};

use super::{Rig, StoreTrial, becomes, grant, host, ids, page, plain, refused, settled};

pub(super) async fn a_url_that_somebody_else_has_is_gone<R: Rig>(trial: &StoreTrial<R>) {
    let ((one, a, view), other) = (trial.queued().await, trial.worker());
    one.done(grant(&view, &a, trial.lease())).await;
    let view = other.load(&host("a.test")).await;
    refused(other.commit(grant(&view, &a, trial.lease())).await, Refusal::Gone);
}

pub(super) async fn a_url_that_is_settled_is_gone<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    worker.settle(vec![settled(&a)]).await;
    let view = worker.load(&host("a.test")).await;
    for record in [a, page("http://a.test/never-offered")] {
        let refused = worker.commit(grant(&view, &record, trial.lease())).await;
        assert!(matches!(refused, Committed::Refused(Refusal::Gone)), "{refused:?}");
    }
}

pub(super) async fn a_grant_on_an_old_list_is_told_so_even_on_an_old_version<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let (one, other) = (trial.worker(), trial.worker());
    let a = page("http://a.test/1");
    one.offer(vec![a.clone()]).await;
    let old = other.load(&host("a.test")).await;
    one.done(grant(&old, &a, trial.lease())).await;
    refused(other.commit(grant(&old, &a, trial.lease())).await, Refusal::Gone);
}

pub(super) async fn a_write_with_an_old_claim_is_left_out<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, view) = trial.queued().await;
    let first = UrlRecord { claim: Some(trial.lease()), hop: 1, ..a.clone() };
    let urls = vec![becomes(&a, first.clone())];
    worker.done(Commit { urls, ..plain(&view) }).await;
    // Another one still knows the record without a claim.
    let second = UrlRecord { claim: Some(trial.lease()), hop: 2, ..a.clone() };
    let urls = vec![becomes(&a, second)];
    worker.done(Commit { urls, ..plain(&view) }).await;
    assert_eq!(worker.visit(&host("a.test")).await.urls, [first]);
}

pub(super) async fn a_settle_with_an_old_claim_is_left_out<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    let claimed = UrlRecord { claim: Some(trial.lease()), ..a.clone() };
    worker.settle(vec![becomes(&a, claimed.clone())]).await;
    worker.settle(vec![settled(&a)]).await;
    assert_eq!(worker.take(0).await.queued, 1);
    worker.settle(vec![settled(&claimed)]).await;
    assert_eq!(worker.take(0).await.queued, 0);
    // Nothing is made by a change of what is not there.
    worker.settle(vec![becomes(&claimed, claimed.clone())]).await;
    assert_eq!(worker.take(0).await.queued, 0);
}

pub(super) async fn a_redirect_moves_the_record_to_its_new_host<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, view) = trial.queued().await;
    let moved = UrlRecord { url: page("https://b.test/2").url, hop: 1, ..a.clone() };
    let urls = vec![becomes(&a, moved.clone())];
    worker.done(Commit { urls, ..plain(&view) }).await;
    assert_eq!(worker.take(0).await.queued, 1);
    let visit = worker.visit(&host("b.test")).await;
    assert_eq!(visit.urls, std::slice::from_ref(&moved));
    assert_eq!((moved.id, visit.urls[0].origin.clone()), (a.id, a.url.clone()));
    assert!(worker.visit_within(&host("a.test"), Duration::from_secs(20)).await.is_none());
    // Within a host it stays in its queue, under its identity.
    let within = UrlRecord { url: page("https://b.test/3").url, hop: 2, ..moved.clone() };
    let view = worker.load(&host("b.test")).await;
    let urls = vec![becomes(&moved, within)];
    worker.done(Commit { urls, ..plain(&view) }).await;
    assert_eq!(ids(&worker.visit(&host("b.test")).await), ["https://b.test/3"]);
    assert_eq!(worker.take(0).await.queued, 1);
}

pub(super) async fn a_moved_record_is_not_doubled<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let hop = page("http://a.test/robots.txt");
    let new = UrlWrite { from: None, id: hop.id, claim: None, to: Some(hop.clone()) };
    for _ in 0..2 {
        let view = worker.load(&host("b.test")).await;
        worker.done(Commit { urls: vec![new.clone()], ..plain(&view) }).await;
    }
    assert_eq!(worker.take(0).await.queued, 1);
    assert_eq!(worker.visit(&host("a.test")).await.urls, [hop]);
}

pub(super) async fn a_record_keeps_all_that_was_written_to_it<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    let ready = worker.load(&host("a.test")).await.now;
    let full = UrlRecord {
        hop: 3,
        worth: 200,
        tries: Tries { counted: 2, doubt: Some(Time::from_secs(9)), open: true },
        last: Some(Outcome::Failed(Problem::Truncated)),
        ready: Some(ready),
        charged: true,
        claim: Some(trial.lease()),
        slot_since: Some(Time::from_secs(7)),
        ..a.clone()
    };
    worker.settle(vec![becomes(&a, full.clone())]).await;
    assert_eq!(worker.visit(&host("a.test")).await.urls, [full]);
}
