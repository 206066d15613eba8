//! Offers, the queue of a host, and when a host is handed out.

use std::collections::BTreeSet;
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_engine::{Commit, UrlRecord, Want};

use super::{HOLD, Rig, StoreTrial, becomes, host, ids, page, plain, settled};

const SECOND: Duration = Duration::from_secs(1);

pub(super) async fn a_new_url_is_added_and_a_known_one_is_not<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let a = page("http://a.test/1");
    let first = worker.offer(vec![a.clone(), page("http://a.test/2"), a.clone()]).await;
    let second = worker.offer(vec![a.clone(), page("http://a.test/3")]).await;
    if worker.is_straight() {
        assert_eq!((first.new, first.known), (2, 1));
        assert_eq!((second.new, second.known), (1, 1));
    }
    assert_eq!(worker.take(0).await.queued, 3);
    let visit = worker.visit(&host("a.test")).await;
    assert_eq!(ids(&visit), ["http://a.test/1", "http://a.test/2", "http://a.test/3"]);
    assert_eq!(visit.urls[0], a, "it comes as it was offered");
}

pub(super) async fn a_settled_url_stays_known<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, a, _) = trial.queued().await;
    worker.settle(vec![settled(&a)]).await;
    assert_eq!(worker.take(0).await.queued, 0);
    let again = worker.offer(vec![a]).await;
    assert_eq!((again.new, again.known), (0, 1));
    assert_eq!(worker.take(8).await.queued, 0);
    assert!(worker.visit_within(&host("a.test"), HOLD * 2).await.is_none());
}

pub(super) async fn take_does_not_remove_a_host<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, ..) = trial.queued().await;
    for _ in 0..3 {
        let visit = worker.visit_within(&host("a.test"), HOLD * 8).await;
        assert_eq!(ids(&visit.expect("it falls due again by itself")), ["http://a.test/1"]);
    }
    assert_eq!(worker.take(0).await.queued, 1);
}

pub(super) async fn a_host_that_is_held_is_not_handed_out_again<R: Rig>(trial: &StoreTrial<R>) {
    let (one, other) = (trial.worker(), trial.worker());
    one.offer(vec![page("http://a.test/1")]).await;
    one.visit(&host("a.test")).await;
    assert!(other.visit_within(&host("a.test"), HOLD - SECOND).await.is_none());
    // New URLs don't end a hold either.
    one.visit_within(&host("a.test"), HOLD * 8).await.expect("the hold runs out");
    one.offer(vec![page("http://a.test/2")]).await;
    assert!(other.visit_within(&host("a.test"), HOLD - SECOND * 2).await.is_none());
}

pub(super) async fn take_hands_out_no_more_than_it_is_asked_for<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    worker.offer((0..9).map(|n| page(&format!("http://h{n}.test/"))).collect()).await;
    assert!(worker.take(0).await.visits.is_empty());
    assert!(worker.take(4).await.visits.len() <= 4);
    if worker.is_straight() {
        assert_eq!(worker.take(4).await.visits.len(), 4);
        assert_eq!(worker.take(4).await.visits.len(), 1);
    }
}

pub(super) async fn hosts_come_in_the_order_in_which_they_fall_due<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let names = ["c.test", "a.test", "b.test"];
    worker.offer(names.iter().map(|n| page(&format!("http://{n}/"))).collect()).await;
    for (n, name) in names.iter().enumerate() {
        let view = worker.load(&host(name)).await;
        let not_before = view.now + SECOND * (100 + n as u32);
        worker.done(Commit { not_before, ..plain(&view) }).await;
    }
    trial.pass(SECOND * 200).await;
    let mut order = Vec::new();
    while order.len() < 3 {
        let taken = worker.take(1).await;
        order.extend(taken.visits.iter().map(|v| v.view.host.to_string()));
        if taken.visits.is_empty() {
            trial.pass(SECOND).await;
        }
    }
    if worker.is_straight() {
        assert_eq!(order, names);
    }
}

pub(super) async fn a_host_is_not_handed_out_before_its_time<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, ..) = trial.queued().await;
    let visit = worker.visit(&host("a.test")).await;
    let not_before = visit.view.now + SECOND * 120;
    worker.done(Commit { not_before, ..plain(&visit.view) }).await;
    let visit = worker.visit_within(&host("a.test"), SECOND * 300).await;
    assert!(visit.expect("its time comes").view.now >= not_before);
}

pub(super) async fn a_host_is_not_handed_out_before_its_first_url_is_ready<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let (worker, a, _) = trial.queued().await;
    let visit = worker.visit(&host("a.test")).await;
    let ready = Some(visit.view.now + SECOND * 60);
    let urls = vec![becomes(&a, UrlRecord { ready, claim: Some(trial.lease()), ..a.clone() })];
    worker.done(Commit { urls, ..plain(&visit.view) }).await;
    let visit = worker.visit_within(&host("a.test"), SECOND * 300).await;
    assert!(Some(visit.expect("it is ready at last").view.now) >= ready);
}

pub(super) async fn a_url_that_comes_later_waits_for_its_host<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let view = worker.load(&host("a.test")).await;
    let not_before = view.now + SECOND * 60;
    let state = Some(view.state.clone());
    worker.done(Commit { not_before, state, ..plain(&view) }).await;
    worker.offer(vec![page("http://a.test/1")]).await;
    let visit = worker.visit_within(&host("a.test"), SECOND * 300).await;
    assert!(visit.expect("its time comes").view.now >= not_before);
}

pub(super) async fn what_is_ready_goes_first_then_ranks_then_arrival<R: Rig>(
    trial: &StoreTrial<R>,
) {
    let worker = trial.worker();
    let owner = page("http://b.test/").url.authority();
    let hop = UrlRecord {
        want: Want::RobotsHop { owner, deadline: Time::NEVER },
        ..page("http://a.test/hop")
    };
    let late = UrlRecord { ready: Some(Time::NEVER), ..page("http://a.test/late") };
    let sitemap = UrlRecord { want: Want::Sitemap, ..page("http://a.test/map") };
    let records = vec![late, page("http://a.test/1"), page("http://a.test/2"), sitemap, hop];
    worker.offer(records).await;
    let visit = worker.visit(&host("a.test")).await;
    let order = ["hop", "map", "1", "2", "late"].map(|end| format!("http://a.test/{end}"));
    assert_eq!(ids(&visit), order);
}

pub(super) async fn urls_of_a_rank_go_by_worth_then_arrival<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    let of = |worth, name: &str| UrlRecord { worth, ..page(&format!("http://a.test/{name}")) };
    let last = of(u8::MAX, "last");
    let map = UrlRecord { want: Want::Sitemap, ..of(9, "map") };
    worker.offer(vec![last, of(7, "7"), of(0, "0"), of(7, "7-too"), of(1, "1"), map]).await;
    // The first offer counts.
    worker.offer(vec![of(0, "7-too"), of(255, "0"), of(0, "0-too")]).await;
    let order = ["map", "0", "0-too", "1", "7", "7-too", "last"];
    let order = order.map(|end| format!("http://a.test/{end}"));
    let visit = worker.visit(&host("a.test")).await;
    assert_eq!(ids(&visit), order);
    let worths: Vec<u8> = visit.urls.iter().map(|url| url.worth).collect();
    assert_eq!(worths, [9, 0, 0, 1, 7, 7, 255], "it comes as it was offered");
    // A change of the URL leaves it in its place, and another worth moves it.
    let (first, moved) = (&visit.urls[1], &visit.urls[5]);
    let claimed = UrlRecord { claim: Some(trial.lease()), ..first.clone() };
    let moved = becomes(moved, UrlRecord { worth: 0, ..moved.clone() });
    let urls = vec![becomes(first, claimed), moved];
    worker.done(Commit { urls, ..plain(&visit.view) }).await;
    let order = ["map", "0", "7-too", "0-too", "1", "7", "last"];
    let order = order.map(|end| format!("http://a.test/{end}"));
    let visit = worker.visit(&host("a.test")).await;
    assert_eq!(ids(&visit), order);
    let urls = visit.urls.iter().map(settled).collect();
    worker.done(Commit { urls, ..plain(&visit.view) }).await;
    assert_eq!(worker.take(0).await.queued, 0);
}

pub(super) async fn what_is_worth_more_overtakes_a_long_queue<R: Rig>(trial: &StoreTrial<R>) {
    const LONG: usize = 400;
    let mut worker = trial.worker();
    let of = |worth: u8| (0..LONG).map(move |n| format!("http://a.test/{worth}/{n}"));
    let mut seen = Vec::new();
    for worth in [3, 1, 2] {
        let records: Vec<UrlRecord> =
            of(worth).map(|url| UrlRecord { worth, ..page(&url) }).collect();
        for some in records.chunks(150) {
            worker.offer(some.to_vec()).await;
        }
        if worth == 3 {
            // The first are in memory from now on, wherever else the queue is.
            let visit = worker.visit(&host("a.test")).await;
            seen.extend(ids(&visit));
            let urls = visit.urls.iter().map(settled).collect();
            worker.done(Commit { urls, ..plain(&visit.view) }).await;
        }
    }
    let done = seen.len();
    while seen.len() < 3 * LONG {
        let visit = worker.visit(&host("a.test")).await;
        assert!(!visit.urls.is_empty());
        seen.extend(ids(&visit));
        let urls = visit.urls.iter().map(settled).collect();
        worker.done(Commit { urls, ..plain(&visit.view) }).await;
        if seen.len() == done + visit.urls.len() {
            drop(worker);
            trial.rig.reopen();
            worker = trial.worker();
        }
    }
    let later: Vec<String> = of(3).collect();
    let all = later[..done].iter().cloned().chain(of(1)).chain(of(2));
    let all: Vec<String> = all.chain(later[done..].iter().cloned()).collect();
    assert_eq!(seen, all);
    assert_eq!(worker.take(8).await.queued, 0);
}

pub(super) async fn a_hop_of_robots_txt_has_its_host_looked_at_once<R: Rig>(trial: &StoreTrial<R>) {
    let (worker, ..) = trial.queued().await;
    let visit = worker.visit(&host("a.test")).await;
    let not_before = visit.view.now + SECOND * 600;
    worker.done(Commit { not_before, ..plain(&visit.view) }).await;
    let owner = page("http://b.test/").url.authority();
    let want = Want::RobotsHop { owner, deadline: Time::NEVER };
    worker.offer(vec![UrlRecord { want, ..page("http://a.test/hop") }]).await;
    let visit = worker.visit(&host("a.test")).await;
    assert!(visit.view.now < not_before, "others wait for it");
    worker.done(Commit { not_before, ..plain(&visit.view) }).await;
    assert!(worker.visit_within(&host("a.test"), SECOND * 60).await.is_none(), "only once");
}

pub(super) async fn a_long_queue_keeps_its_order_and_loses_nothing<R: Rig>(trial: &StoreTrial<R>) {
    const LONG: usize = 1500;
    let worker = trial.worker();
    let all: Vec<String> = (0..LONG).map(|n| format!("http://a.test/{n}")).collect();
    for some in all.chunks(500) {
        worker.offer(some.iter().map(|url| page(url)).collect()).await;
    }
    let mut seen = Vec::new();
    while seen.len() < LONG {
        assert_eq!(worker.take(0).await.queued, (LONG - seen.len()) as u64);
        let visit = worker.visit(&host("a.test")).await;
        assert!(visit.urls.len() <= 32, "a visit has 32 URLs at most");
        assert!(!visit.urls.is_empty());
        seen.extend(ids(&visit));
        let urls = visit.urls.iter().map(settled).collect();
        worker.done(Commit { urls, ..plain(&visit.view) }).await;
    }
    assert_eq!(seen, all);
    assert_eq!(worker.take(8).await.queued, 0);
}

pub(super) async fn many_hosts_all_have_their_visit<R: Rig>(trial: &StoreTrial<R>) {
    const MANY: usize = 700;
    let worker = trial.worker();
    for n in 0..MANY {
        worker.offer(vec![page(&format!("http://h{n}.test/"))]).await;
    }
    let mut left: BTreeSet<String> = (0..MANY).map(|n| format!("h{n}.test")).collect();
    while !left.is_empty() {
        let taken = worker.take(50).await;
        for visit in &taken.visits {
            left.remove(visit.view.host.as_str());
            let urls = visit.urls.iter().map(settled).collect();
            worker.done(Commit { urls, ..plain(&visit.view) }).await;
        }
        if taken.visits.is_empty() {
            trial.pass(SECOND).await;
        }
    }
    assert_eq!(worker.take(8).await.queued, 0);
}

pub(super) async fn the_next_due_time_is_told<R: Rig>(trial: &StoreTrial<R>) {
    let worker = trial.worker();
    assert_eq!(worker.take(8).await.next_due, None);
    worker.offer(vec![page("http://a.test/1")]).await;
    let visit = worker.visit(&host("a.test")).await;
    let not_before = visit.view.now + SECOND * 50;
    worker.done(Commit { not_before, ..plain(&visit.view) }).await;
    assert_eq!(worker.take(8).await.next_due, Some(not_before));
}
