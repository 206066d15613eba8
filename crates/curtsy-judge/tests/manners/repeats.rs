//! Retries and freshness: P9, P10.

use crate::notation::check;

#[test]
fn p9_retries_seldom_and_ever_more_slowly() {
    let first = "0s robots ok | 3s GET /a 500";
    check(
        "careful",
        &format!("{first} | 6s GET /a 500 | 10s GET /a 500 | 18s GET /a 200"),
        "clean",
    );
    check("careful delay=1s", &format!("{first} | 4.9s GET /a 200"), "P9");
    check("careful", &format!("{first} | 6s GET /a 500 | 9s GET /a 200"), "P9");
    let four = "6s GET /a 500 | 10s GET /a 408 | 18s GET /a 425 | 34s GET /a 200";
    check("careful", &format!("{first} | {four}"), "P9");
    check("careful retries=4", &format!("{first} | {four}"), "clean");
    check("careful", "0s robots ok | 3s GET /a 200 cut | 6s GET /a 200", "clean");
    check("careful retries=0", "0s robots ok | 3s GET /a 200 cut | 6s GET /a 200", "P9");
    // A final answer is final.
    check("careful", "0s robots ok | 3s GET /a 404 | 60s GET /a 404", "P9");
    check("careful", "0s robots ok | 3s GET /a 404 | 20m GET /a 404", "clean");
    check("careful", "0s robots ok | 3s GET /a 404 | 6s GET /b 404", "clean");
    check(
        "careful",
        "0s robots ok | 3s GET /a 404 | 6s GET /b 301 loc=/a | 9s GET /a 404",
        "clean",
    );
    // Half a 404 is no final answer, and a site that was slow says nothing about the URL.
    check("careful", "0s robots ok | 3s GET /a 404 cut | 6s GET /a 404", "clean");
    let slow = "0s robots ok | 3s GET /a 200 cut took=11s | 14s GET /a 200";
    check("careful delay=0s", slow, "clean");
    // A failure of the site counts, but only those of the URL climb the curve.
    let mixed = "0s robots ok | 3s GET /a 502 | 6s GET /b 200 | 9s GET /a 500 | 12s GET /a 200";
    check("careful", mixed, "clean");
    // A host that is down, or told us to wait, is not the URL's failure: not unless it answered in
    // between.
    let down = "0s robots ok | 3s GET /a 503 | 6s GET /a 503 | 9s GET /a 503 | 12s GET /a 503";
    check("careful retries=1", &format!("{down} | 15s GET /b 200"), "clean");
    let up = "0s robots ok | 3s GET /a 502 | 6s GET /b 200 | 9s GET /a 502 | 12s GET /c 200 | 15s GET /a 502";
    check("careful retries=1", up, "P9");
    check("careful retries=2", up, "clean");
}

#[test]
fn p10_does_not_ask_for_what_is_fresh() {
    let page = "0s robots ok | 3s GET /a 200 cc=max-age=60";
    check("careful", &format!("{page} | 63s GET /a 200"), "clean");
    check("careful", &format!("{page} | 62s GET /a 200"), "P10");
    check("careful cache=off", &format!("{page} | 62s GET /a 200"), "clean");
    check("careful cache=validators", &format!("{page} | 62s GET /a 200"), "clean");
    check("careful", "0s robots ok | 3s GET /a 200 | 15m+2s GET /a 200", "P10");
    check("careful", "0s robots ok | 3s GET /a 200 | 15m+3s GET /a 200", "clean");
    check("careful", "0s robots ok | 3s GET /a 200 cc=no-cache | 6s GET /a 200", "clean");
    check("careful cache=fixed", &format!("{page} | 5m GET /a 200"), "P10");
    // Validators, once known.
    let tagged = "0s robots ok | 3s GET /a 200 cc=max-age=60 etag=1";
    check("careful", &format!("{tagged} | 70s GET /a 304 inm=1"), "clean");
    check("careful", &format!("{tagged} | 70s GET /a 200"), "P10");
    check("careful", &format!("{tagged} | 70s GET /a 304 inm=1 | 100s GET /a 200 inm=1"), "P10");
    check("careful", &format!("{tagged} | 70s GET /a 304 inm=1 | 140s GET /a 304 inm=1"), "clean");
    let dated = "0s robots ok | 3s GET /a 200 cc=max-age=60 lm=x";
    check("careful", &format!("{dated} | 70s GET /a 200 ims=x"), "clean");
    check("careful", &format!("{dated} | 70s GET /a 200"), "P10");
    // Age counts from the request, and from a Date that is cut to the second (RFC 9111 §4.2.3).
    let dated = "0s robots ok | 3s GET /a 200 took=2s cc=max-age=60 date=x";
    check("careful", &format!("{dated} | 62s GET /a 200"), "clean");
    check("careful", &format!("{dated} | 61s GET /a 200"), "P10");
    // An answer that took longer than a client waits was perhaps not heard.
    check("careful", "0s robots ok | 3s GET /a 200 took=11s | 15s GET /a 200", "clean");
}
