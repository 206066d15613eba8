//! Identity, budget, and redirects: P0, P12, P14.

use crate::notation::check;

#[test]
fn p0_says_who_asks() {
    check("careful", "0s robots ok | 3s GET /a 200 | 6s HEAD / 405", "clean");
    check("careful", "0s robots ok | 3s POST /a 200", "P0");
    check("careful", "0s robots ok no-ua", "P0");
    check("careful", "0s robots ok ua=curl/8", "P0");
    check("careful", "0s robots ok ua=a/1_(+me@x.test) | 3s GET /a 200 ua=b/1_(+me@x.test)", "P0");
    check(
        "careful",
        "0s robots ok ua=a/1_(+me@x.test) | 3s GET /a 200 ua=a/2_(+me@x.test)",
        "clean",
    );
    check("careful product=other/2", "0s robots ok", "P0");
    check("careful", "0s robots ok cookie", "P0");
    check("careful", "0s robots ok auth", "P0");
    check("careful", "0s robots ok | 3s GET /a#top 200", "P0");
    check("careful", "0s robots ok | 3s GET http://me:pw@a.test/a 200", "P0");
}

#[test]
fn p12_keeps_budgets_and_stop_orders() {
    let log = "0s robots ok | 3s GET /a 500 | 6s GET /a 200 | 9s GET /b 200";
    check("careful pages=2", log, "clean");
    check("careful pages=1", log, "P12");
    let uncounted = "0s robots ok | 3s GET /sitemap.xml 200 | 6s GET /a 301 loc=/b | 9s GET /b 200 | 12s HEAD / 200";
    check("careful pages=1", uncounted, "clean");
    let own =
        "0s robots ok host=own.test | 1s GET /a 200 host=own.test | 2s GET /b 200 host=own.test";
    check("careful own-site", own, "clean");
    check("careful own-site", &format!("{own} | 3s GET /c 200 host=own.test"), "P12");
    let stopped = "0s robots ok | 2s stop host=A.test";
    check("careful", &format!("{stopped} | 3s GET /a 200"), "clean");
    check("careful", &format!("{stopped} | 3.1s GET /a 200"), "P12");
    check("careful", &format!("{stopped} | 9s lift | 9s GET /a 200"), "clean");
    check("careful", &format!("{stopped} | 9s robots ok host=b.test"), "clean");
    // An order that is given twice is one order, and lifted once.
    check("careful", &format!("{stopped} | 5s stop | 9s lift | 9s GET /a 200"), "clean");
    check("careful", &format!("{stopped} | 5s lift | 9s stop | 11s GET /a 200"), "P12");
}

#[test]
fn p14_a_hop_is_a_request_on_its_own_host() {
    let start = "0s robots ok | 3s GET /a 302 loc=http://b.test/x";
    check(
        "careful",
        &format!("{start} | 4s robots ok host=b.test | 7s GET /x 200 host=b.test"),
        "clean",
    );
    check("careful", &format!("{start} | 4s GET /x 200 host=b.test"), "P1 P14");
    check("careful", "0s robots ok | 3s GET /a 302 loc=/b | 4s GET /b 200", "P4 P14");
    // Each of the two may be asked for on its own account, and then be followed five times.
    let round = |n: u32| -> String {
        let hop = |i: u32| format!(" | {}s GET /{} 302 loc=/{}", 3 * i + 3, i % 2, (i + 1) % 2);
        (0..n).map(hop).collect()
    };
    check("careful", &format!("0s robots ok{}", round(12)), "clean");
    check("careful", &format!("0s robots ok{}", round(13)), "P14");
    let chain: String =
        (0..7).map(|i| format!(" | {}s GET /h{i} 302 loc=/h{}", 3 * i + 3, i + 1)).collect();
    check("careful", &format!("0s robots ok{chain}"), "P14");
    let short: String = chain.split(" | ").take(7).collect::<Vec<_>>().join(" | ");
    check("careful", &format!("0s robots ok{short}"), "clean");
}
