//! Crashes, losses, and responses that were not received: P13.

use crate::notation::{check, check_excused};

#[test]
fn p13_excuses_what_the_fault_list_names_and_no_more() {
    // A request in flight at a kill may be repeated once.
    let cut = "0s robots ok | 3s GET /a 200 took=1s | 3.5s kill=1";
    check_excused("careful", &format!("{cut} | 9s GET /a 200"), "clean", "P10");
    check_excused("careful", &format!("{cut} | 9s GET /a 200 | 12s GET /a 200"), "P10", "P10");
    let none = "0s robots ok | 3s GET /a 200 took=1s | 3.5s kill=0";
    check("careful", &format!("{none} | 9s GET /a 200"), "P10 P13");
    let heard = "0s robots ok | 3s GET /a 200 took=1s | 5s kill=1";
    check("careful", &format!("{heard} | 9s GET /a 200"), "P10");
    // So may robots.txt; and a wait that nobody heard of can't be kept.
    check_excused("careful", "0s robots ok took=1s | 0.5s kill=1 | 9s robots ok", "clean", "P11");
    let unheard = "0s robots ok | 3s GET /a 429 ra=60 took=1s | 3.5s worker-lost=1";
    check_excused("careful", &format!("{unheard} | 9s GET /b 200 | 12s GET /c 200"), "clean", "P7");
    check("careful", "0s robots ok | 3s GET /a 429 ra=60 | 4s kill=1 | 9s GET /b 200", "P7");
    // A lost store has to ask again, once; a wait is lost only if its worker died too.
    let lost = "0s robots ok body=Crawl-delay:60 etag=1 | 5s store-loss";
    check_excused("careful", &format!("{lost} | 40s robots ok etag=1"), "clean", "P4 P11");
    check_excused("careful", &format!("{lost} | 60s robots ok | 120s robots ok"), "P11", "P11");
    check("careful", "0s robots ok | 3s GET /a 429 ra=60 | 5s store-loss | 9s GET /b 200", "P7");
    let both = "0s robots ok | 3s GET /a 429 ra=60 | 5s kill=0 | 5s store-loss | 9s GET /b 200";
    check_excused("careful", both, "clean", "P7");
    // The pace holds across everything.
    check("careful", "0s robots ok | 1s kill=9 | 1s store-loss | 2s robots ok", "P4");
}

#[test]
fn what_may_not_have_been_heard_is_not_held_against_anybody() {
    check("careful", "0s robots ok took=11s body=Disallow:/x | 14s GET /x 200", "clean");
    check("careful", "0s robots ok took=11s | 5m+11s robots ok", "clean");
    check("careful", "0s robots ok | 3s GET /a 429 ra=60 took=11s | 20s GET /b 200", "clean");
    // What broke off with the crawler's own network counts for nothing.
    let down = "0s net-down=9s | 1s robots none took=2s";
    check("careful", &format!("{down} | 12s robots ok | 15s GET /a 200"), "clean");
    check("careful", &format!("{down} | 12s GET /a 200"), "P1");
    let five: String = (1..=5).map(|i| format!(" | {}s GET /{i} none", 3 * i)).collect();
    check("careful", &format!("0s robots ok | 1s net-down=20s{five} | 18s GET /6 200"), "clean");
}

#[test]
fn what_died_with_a_worker_is_made_once_more() {
    // A hop of a robots redirect.
    let cut = "0s robots 301 loc=http://b.test/r.txt | 1s GET /r.txt 200 took=1s host=b.test";
    let again = "31s GET /r.txt 200 host=b.test";
    check("careful", &format!("{cut} | 1.5s kill=1 | {again}"), "clean");
    check("careful", &format!("{cut} | {again}"), "P1");
    // A good answer that nobody heard of does not make the failures before it the URL's own.
    let fails = "0s robots ok | 3s GET /a 503 | 6s GET /b 200 took=1s";
    let then = "60s GET /a 503 | 90s GET /c 200 | 120s GET /a 503";
    check("careful retries=1", &format!("{fails} | 6.5s kill=1 | {then}"), "clean");
    check("careful retries=1", &format!("{fails} | {then}"), "P9");
    // A refusal that nobody heard of does not keep the answer after it from ending the row.
    let row = "0s robots ok | 3s GET /a 403 | 1000s GET /b 403 took=1s";
    let then = "1030s GET /c 200 | 1033s GET /d 403";
    check("careful", &format!("{row} | 1000.5s kill=1 | {then} | 2000s GET /e 200"), "clean");
    check("careful", &format!("{row} | 1000.5s kill=1 | {then} | 1900s GET /e 200"), "P8");
    // A failure that only a lost worker knew is gone with the store, and the next try is the first.
    let lost = "4s worker-lost=0 | 5s store-loss";
    let fails = "0s robots ok | 3s GET /a 500";
    let then = "60s GET /a 500 | 90s GET /a 500";
    check("careful retries=1", &format!("{fails} | {lost} | {then}"), "clean");
    check("careful retries=1", &format!("{fails} | {lost} | {then} | 120s GET /a 500"), "P9");
    check("careful retries=1", &format!("{fails} | 5s store-loss | {then}"), "P9");
    // And so is one whose answer went on for a moment after its worker was lost.
    let fails = "0s robots ok | 3s GET /a 500 took=1.2s";
    check("careful retries=1", &format!("{fails} | {lost} | {then}"), "clean");
    check(
        "careful retries=1",
        &format!("{fails} | 2s worker-lost=0 | 5s store-loss | {then}"),
        "P9",
    );
    // So is a final answer; and one that could not be told is unknown as long as that lasts.
    let gone = "0s robots ok | 3s GET /a 404";
    check("careful", &format!("{gone} | {lost} | 60s GET /a 404"), "clean");
    check("careful", &format!("{gone} | 5s store-loss | 60s GET /a 404"), "P9");
    check("careful", &format!("2s pause=59s | {gone} | 60s GET /a 404"), "clean");
    check("careful", &format!("2s pause=30s | {gone} | 60s GET /a 404"), "P9");
    // A good answer that was told late does not make a failure the URL's own: whoever asked again
    // could not know of it.
    let fails = "0s robots ok | 3s GET /a 503 | 6s GET /b 200 | 9s GET /a 503";
    let then = "20s GET /c 200 | 23s GET /a 503";
    check("careful retries=1", &format!("{fails} | {then}"), "P9");
    check("careful retries=1", &format!("5s pause=10s | {fails} | {then}"), "clean");
    check("careful retries=1", &format!("5s pause=2s | {fails} | {then}"), "P9");
}
