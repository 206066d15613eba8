//! Robots.txt is requested first and seldom, obeyed, and everything waits if it is unreachable: P1,
//! P2, P3, P11.

use crate::notation::check;

#[test]
fn p1_asks_for_robots_first() {
    check("careful", "0s GET /a 200", "P1");
    check("careful", "0s robots ok took=100ms | 1h+100ms GET /a 200", "clean");
    check("careful", "0s robots ok | 1h+1us GET /a 200", "P1");
    check("careful", "0s robots ok | 1h robots ok | 1h+3s GET /a 200", "clean");
    check("careful", "0s robots 404 | 3s GET /a 200", "clean");
    // Each authority has its own.
    check("careful", "0s robots ok | 3s GET /a 200 https", "P1");
    check("careful", "0s robots ok | 3s GET /a 200 port=8080", "P1");
    // One in flight is none yet.
    check("careful slots=2", "0s robots ok took=5s | 3s GET /a 200", "P1");
    // An attempt is enough where the preset says so.
    check("careful allow", "0s robots 500 | 3s GET /a 200", "clean");
    check("careful allow", "0s GET /a 200", "P1");
    check("careful", "0s HEAD /robots.txt 200 | 3s GET /a 200", "P1");
}

#[test]
fn p2_obeys_what_was_served() {
    check("careful", "0s robots ok body=Disallow:/x | 3s GET /a 200", "clean");
    check("careful", "0s robots ok body=Disallow:/x | 3s GET /x/y 200", "P2");
    check("careful", "0s robots ok body=Disallow:/x;Allow:/x/y | 3s GET /x/y 200", "clean");
    check("careful", "0s robots ok body=Disallow:/ | 3s HEAD / 200", "P2");
    // The newer word counts, after the time for it to get round.
    let changed = "0s robots ok | 1h robots ok body=Disallow:/x took=2900ms";
    check("careful", &format!("{changed} | 1h+3.15s GET /x 200"), "clean");
    check("careful", &format!("{changed} | 1h+3.151s GET /x 200"), "P2");
    let opened = "0s robots ok body=Disallow:/x | 1h robots ok | 1h+3s GET /x 200";
    check("careful", opened, "clean");
    // A 304 says: as before.
    let same = "0s robots ok body=Disallow:/x etag=1 | 1h robots 304 inm=1";
    check("careful", &format!("{same} | 1h+3s GET /x 200"), "P2");
    check("careful", &format!("{same} | 1h+3s GET /y 200"), "clean");
    // While nothing better can be had, the last good copy speaks only where everything would be
    // allowed without it.
    let gone = "0s robots ok body=Disallow:/x | 1h robots 500";
    check("careful", &format!("{gone} | 1h+3s GET /y 200"), "P1 P3");
    check("careful", &format!("{gone} | 1h+3s GET /x 200"), "P1 P3");
    check("careful allow", &format!("{gone} | 1h+3s GET /y 200"), "clean");
    check("careful allow", &format!("{gone} | 1h+3s GET /x 200"), "P2");
    // 401 and 403 are as 404, unless promised otherwise.
    check("careful", "0s robots 403 | 3s GET /x 200", "clean");
    check("careful forbidden-deny", "0s robots 403 | 3s GET /x 200", "P2");
}

#[test]
fn p2_judges_redirect_targets_too() {
    let log = "0s robots ok body=Disallow:/x | 3s GET /a 301 loc=/x | 6s GET /x 200";
    check("careful", log, "P2 P14");
}

#[test]
fn p3_stays_away_while_robots_is_unreachable() {
    check("careful", "0s robots 503 | 5m robots ok | 5m+3s GET /a 200", "clean");
    check("careful", "0s robots 500 | 3s GET /a 200", "P1 P3");
    check("careful", "0s robots ok cut | 3s GET /a 200", "P1 P3");
    check("careful", "0s robots none | 3s GET /a 200", "P1 P3");
    check("careful", "0s robots 500 | 299.999s robots ok", "P3");
    check("careful", "0s robots 500 | 300s robots ok", "clean");
    // Retry-After is longer, and the next wait is no shorter.
    check("careful", "0s robots 503 ra=600 | 300s robots ok", "P3 P7");
    let streak = "0s robots 503 ra=600 | 600s robots 500";
    check("careful", &format!("{streak} | 900s robots ok"), "P3");
    check("careful", &format!("{streak} | 1200s robots ok"), "clean");
    // A success ends the row.
    let again = "0s robots 503 ra=600 | 600s robots ok | 2h robots 500 | 2h+300s robots ok";
    check("careful", again, "clean");
    // Asked again after the same time where pages are allowed.
    check("careful allow", "0s robots 500 | 100s robots ok", "P3");
    // After 30 days it counts as none.
    check("careful", "0s robots 500 | 30d robots 500 | 30d+3s GET /a 200", "clean");
    check("careful", "0s robots 500 | 29d robots 500 | 29d+3s GET /a 200", "P1 P3");
}

#[test]
fn p11_asks_for_robots_once_per_ttl() {
    check("careful", "0s robots ok took=1s | 1h robots ok", "clean");
    check("careful", "0s robots ok took=1s | 3599s robots ok", "P11");
    check("careful", "0s robots 404 | 10m robots 404", "P11");
    check("careful", "0s robots ok | 3s robots ok https | 6s robots ok port=81", "clean");
    check("careful slots=2", "0s robots ok took=5s | 3s robots ok", "P11");
    check("careful", "0s robots ok etag=1 | 1h robots 304 inm=1", "clean");
    check("careful", "0s robots ok etag=1 | 1h robots ok", "P11");
    check("careful", "0s robots ok lm=1 | 1h robots ok ims=1", "clean");
    check("careful", "0s robots ok lm=1 | 1h robots ok", "P11");
    check("careful", "0s robots ok etag=1 | 1h robots 304 inm=1 | 2h robots ok", "P11");
}

#[test]
fn robots_redirects_speak_for_the_first_authority() {
    let start = "0s robots 301 loc=http://b.test/r.txt";
    let rules = format!("{start} | 1s GET /r.txt 200 host=b.test body=Disallow:/x;Crawl-delay:5");
    // The hop is exempt from b's robots; its rules are a's.
    check("careful", &format!("{rules} | 5s GET /y 200"), "clean");
    check("careful", &format!("{rules} | 5s GET /x 200"), "P2");
    check("careful", &format!("{rules} | 4s GET /y 200"), "P4");
    check(
        "careful",
        &format!("{rules} | 6s robots ok host=b.test | 9s GET /x 200 host=b.test"),
        "clean",
    );
    // The hop pays for its turn.
    check("careful", "0s robots 301 loc=/r.txt | 1s GET /r.txt 404", "P4 P14");
    // A page before the chain has ended.
    check("careful", "0s robots 301 loc=/r.txt | 3s GET /y 200", "P1");
    // Without a redirect the same request is a page like any other.
    check("careful", "0s GET /r.txt 200 host=b.test", "P1");
    // A chain that ends unreachable is unreachable.
    let broken = "0s robots 301 loc=/r.txt | 3s GET /r.txt 500";
    check("careful", &format!("{broken} | 6s GET /y 200"), "P1 P3");
    check("careful", &format!("{broken} | 303s robots ok"), "clean");
    // A loop is as a 404.
    check("careful", "0s robots 301 loc=/robots.txt | 3s GET /y 200", "clean");
    // One that leads to another's robots.txt is not that one's own request.
    let shared = "0s robots 301 loc=http://b.test/robots.txt | 1s robots ok host=b.test";
    check(
        "careful",
        &format!("{shared} | 4s robots ok host=b.test | 7s GET /y 200 host=b.test"),
        "clean",
    );
    check(
        "careful",
        &format!("{shared} | 4s robots ok host=b.test | 7s robots ok host=b.test"),
        "P11",
    );
    check("careful", &format!("{shared} | 3s GET /y 200"), "clean");
    // Of two chains to one place the first may have been given up shortly before its deadline: then
    // the hop is the other's.
    let two = "0s robots 301 loc=http://c.test/r.txt | 40s robots 301 loc=http://c.test/r.txt host=b.test";
    let again = |s: u32| format!("{two} | {s}s GET /r.txt 404 host=c.test | 400s robots ok");
    check("careful", &again(45), "P11");
    check("careful", &again(59), "clean");
    // One that is due again is its authority's own request too: a TTL runs from the start of a
    // request, whenever the chain behind it has ended.
    let moved = "robots 301 loc=http://c.test/r.txt host=b.test";
    let hop = "GET /r.txt 200 host=c.test";
    let first = format!("0s {moved} | 1s robots ok host=c.test body=Disallow:/ | 9s {hop}");
    let led = |s: u32| format!("{first} | {s}s robots 301 loc=http://b.test/robots.txt");
    check("careful", &format!("{} | 3601s {moved} | 3603s {hop}", led(3600)), "clean");
    check("careful", &format!("{} | 3591s {moved} | 3593s {hop}", led(3590)), "P2");
}
