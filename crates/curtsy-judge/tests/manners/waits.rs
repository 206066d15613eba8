//! Demanded waits, refusals, and hosts that are down: P7, P8, P15.

use crate::notation::check;

#[test]
fn p7_waits_when_told_to() {
    let told = "0s robots ok | 3s GET /a 429 ra=60 took=1s";
    check("careful", &format!("{told} | 64s GET /b 200"), "clean");
    check("careful", &format!("{told} | 63.999s GET /b 200"), "P7");
    let busy = "0s robots ok | 3s GET /a 503 ra=60 took=1s";
    check("careful", &format!("{busy} | 64s GET /b 200"), "clean");
    check("careful", &format!("{busy} | 63.999s GET /b 200"), "P7");
    // One may have been on its way; a second one not.
    let fast = "0s robots ok | 100ms GET /a 429 ra=60";
    check("careful delay=100ms", &format!("{fast} | 200ms GET /b 200"), "clean");
    let second = format!("{fast} | 200ms GET /b 200 | 300ms GET /c 200");
    check("careful delay=100ms", &second, "P7");
    check("careful delay=100ms", &format!("{fast} | 351ms GET /b 200"), "P7");
    // Dates are measured against the server's own.
    let date = "0s robots ok | 3s GET /a 429 ra=Sun,_06_Nov_1994_08:50:37_GMT date=Sun,_06_Nov_1994_08:49:37_GMT";
    check("careful", &format!("{date} | 63s GET /b 200"), "clean");
    check("careful", &format!("{date} | 62s GET /b 200"), "P7");
    // Robots.txt and other authorities of the host wait as well.
    check("careful", &format!("{told} | 30s robots ok https"), "P7");
    check("careful", &format!("{told} | 30s robots ok host=b.test"), "clean");
    // A longer wait told earlier is not shortened by one told later.
    let both = "0s robots ok | 1s GET /a 429 ra=100 took=5s | 2s GET /b 429 ra=10 took=5s";
    check("careful delay=1s slots=2", &format!("{both} | 50s GET /c 200"), "P7");
    check("careful delay=1s slots=2", &format!("{both} | 107s GET /c 200"), "clean");
}

#[test]
fn p7_without_a_value_follows_the_promised_curve() {
    let once = "0s robots ok | 3s GET /a 429";
    check("careful ttl=1d", &format!("{once} | 15m+3s GET /b 200"), "clean");
    check("careful ttl=1d", &format!("{once} | 15m+2s GET /b 200"), "P7");
    let junk = "0s robots ok | 3s GET /a 429 ra=soon | 60s GET /b 200";
    check("careful", junk, "P7");
    let twice = format!("{once} | 20m GET /b 429");
    check("careful ttl=1d", &format!("{twice} | 50m GET /c 200"), "clean");
    check("careful ttl=1d", &format!("{twice} | 49m GET /c 200"), "P7");
    // A success after the wait ends the row; one before it does not.
    let reset = format!("{once} | 15m+3s GET /b 200 | 16m GET /c 429 | 31m GET /d 200");
    check("careful ttl=1d", &reset, "clean");
    let early = "0s robots ok | 100ms GET /a 429 | 200ms GET /b 200 | 15m+100ms GET /c 429 | 30m+100ms GET /d 200";
    check("careful delay=100ms ttl=1d", early, "P7");
    // Two in flight together are one refusal.
    let pair = "0s robots ok | 1s GET /a 429 took=3s | 2s GET /b 429 took=3s | 7s GET /c 200";
    check("fleet delay=1s slots=2", pair, "clean");
    check(
        "warehouse",
        "0s robots ok | 1s GET /a 429 | 2s GET /b 429 | 3s GET /c 429 | 5s GET /d 200",
        "clean",
    );
    check(
        "warehouse",
        "0s robots ok | 1s GET /a 429 | 2s GET /b 429 | 3s GET /c 429 | 4s GET /d 200",
        "P7",
    );
    // 503 without a value is an outage, not a request to wait.
    check("careful", "0s robots ok | 3s GET /a 503 | 6s GET /b 200", "clean");
}

#[test]
fn p8_waits_no_less_after_each_refusal() {
    let long = "0s robots ok | 3s GET /a 429 ra=600 | 603s GET /b 429 ra=10";
    check("careful", &format!("{long} | 613s GET /c 200"), "P8");
    check("careful", &format!("{long} | 1203s GET /c 200"), "clean");
    // A 403 counts where the crawler promised to back off.
    let forbidden = "0s robots ok | 3s GET /a 403";
    check("careful", &format!("{forbidden} | 6s GET /b 200"), "P8");
    check("careful", &format!("{forbidden} | 15m+3s GET /b 200"), "clean");
    check("fleet", &format!("{forbidden} | 6s GET /b 200"), "clean");
    // Robots.txt itself may be refused without a word about the rest.
    check("careful", "0s robots 403 | 3s GET /a 200", "clean");
}

#[test]
fn p15_probes_a_host_that_is_down_ever_more_slowly() {
    let down = "0s robots ok | 3s GET /a 502 | 6s GET /b none | 9s GET /c 504 | 12s GET /d 522 | 15s GET /e 503";
    check(
        "careful",
        &format!("{down} | 45s HEAD / 503 | 105s HEAD / 503 | 225s HEAD / 200 | 228s GET /f 200"),
        "clean",
    );
    check("careful", &format!("{down} | 18s GET /f 200"), "P15");
    check("careful", &format!("{down} | 45s HEAD / 503 | 104s HEAD / 503"), "P15");
    check("careful slots=2", &format!("{down} | 45s HEAD / 503 took=9s | 48s HEAD / 503"), "P15");
    // What was in flight when the fifth one failed is fair, and does not lengthen the gap.
    let flying = down.replace("15s GET /e 503", "13s GET /e 503 took=5s | 16s GET /f 503 took=9s");
    check("careful delay=1s slots=2", &format!("{flying} | 48s HEAD / 200"), "clean");
    // 500s in a row count as well; any other answer begins anew.
    let errors = "0s robots ok | 3s GET /a 500 | 6s GET /b 500 | 9s GET /c 500 | 12s GET /d 500 | 15s GET /e 500";
    check("careful", &format!("{errors} | 18s GET /f 200"), "P15");
    check("careful", &errors.replace("/c 500", "/c 404"), "clean");
    check("careful", &format!("{} | 18s GET /f 502", errors.replace("/c 500", "/c 404")), "clean");
    // Told to wait is not down.
    let told = down.replace("/c 504", "/c 503 ra=3");
    check("careful", &format!("{told} | 18s GET /f 200"), "clean");
}
