//! The delay, the slots, and the use of the pace: P4, P5, P6, P16.

use crate::notation::check;

#[test]
fn p4_leaves_the_delay_between_starts() {
    check("careful", "0s robots ok | 3s GET /a 200 | 6s GET /b 200", "clean");
    check("careful", "0s robots ok | 3s GET /a 200 | 5.999999s GET /b 200", "P4");
    check("careful", "0s robots ok | 2.9s GET /a 200", "P4");
    // Start to start, whatever the answer takes.
    check("careful", "0s robots ok | 3s GET /a 200 took=2s | 6s GET /b 200", "clean");
    // Crawl-delay, fractions included, from the δ after its answer on.
    let slow = "0s robots ok body=Crawl-delay:4.5";
    check("careful", &format!("{slow} | 4.5s GET /a 200 | 9s GET /b 200"), "clean");
    check("careful", &format!("{slow} | 4s GET /a 200"), "P4");
    check("careful", &format!("{slow} | 4.5s GET /a 200 | 8.9s GET /b 200"), "P4");
    let late = "0s robots ok body=Crawl-delay:10 took=2.8s";
    check("careful", &format!("{late} | 3.05s GET /a 200"), "clean");
    check("careful", &format!("{late} | 3.06s GET /a 200"), "P4");
    check("careful", "0s robots ok body=Crawl-delay:1 | 2s GET /a 200", "P4");
    // One pace for all spellings and authorities of a host; the largest Crawl-delay counts for all.
    check("careful", "0s robots ok | 2s robots ok host=A.TEST. https", "P4");
    let two = "0s robots ok body=Crawl-delay:10 | 10s robots ok https | 20s GET /a 200";
    check("careful", &format!("{two} | 23s GET /b 200 https"), "P4");
    check("careful", &format!("{two} | 30s GET /b 200 https"), "clean");
    // Two hosts have two.
    check("careful", "0s robots ok | 1s robots ok host=b.test", "clean");
    // What the test server read late is not judged.
    check("careful", "0s robots ok | 3s GET /a 200 late | 5s GET /b 200", "clean");
    check("careful own-site", "0s robots ok host=own.test | 0s GET /a 200 host=own.test", "clean");
}

#[test]
fn p5_and_p6_keep_to_the_slots() {
    check("careful", "0s robots ok took=3s | 3s GET /a 200", "clean");
    check("careful", "0s robots ok | 3s GET /a 200 took=4s | 6s GET /b 200", "P5");
    let two = "0s robots ok | 3s GET /a 200 took=9s | 6s GET /b 200 took=9s";
    check("careful slots=2", two, "clean");
    check("careful slots=2", &format!("{two} | 9s GET /c 200"), "P5");
    check("careful slots=2", &format!("{two} | 12s GET /c 200"), "clean");
    let shared = "0s robots ok local=10.0.0.1 took=1s | 0s robots ok host=b.test local=10.0.0.1";
    check("careful address=2", shared, "clean");
    check("careful address=1", shared, "P6");
    let apart = "0s robots ok local=10.0.0.1 took=1s | 0s robots ok host=b.test local=10.0.0.2";
    check("careful address=1", apart, "clean");
}

#[test]
fn p16_uses_the_pace_that_it_may_use() {
    let paced = |gap: f64| -> String {
        let starts = (1..=40).map(|i| format!(" | {:.3}s GET /{i} 200", 3.0 + gap * f64::from(i)));
        format!("0s work | 0s robots ok{}", starts.collect::<String>())
    };
    check("careful not-adaptive", &paced(3.05), "clean");
    check("careful not-adaptive", &paced(3.1), "P16");
    check("careful not-adaptive delay-max=4s", &paced(4.07), "clean");
    // No plan, no judgement.
    check("careful not-adaptive", &paced(30.0).replace("0s work | ", ""), "clean");
    // A wait in force is no idleness.
    let told = format!("{} | 126s GET /t 429 ra=600 | 750s GET /u 200", paced(3.0));
    check("careful not-adaptive", &told, "clean");
    // Nothing at all is.
    check("careful", "0s work | 0s robots ok host=b.test | 500s robots 404 host=c.test", "P16");
    let stops = format!("{} | 900s robots ok host=b.test", paced(3.0));
    check("careful not-adaptive", &stops, "P16");
    check("careful not-adaptive", &format!("{} | 900s end", paced(3.0)), "P16");
    check("careful not-adaptive", &stops.replace("| 900s", "| 123s no-work | 900s"), "clean");
    // Nor when the crawler was paused, and the fault list says so.
    let paused = stops.replace("| 900s", "| 123s pause=900s | 900s");
    check("careful not-adaptive", &paused, "clean");
    // A slow answer holds up the only slot.
    let slow: String = (1..=40).map(|i| format!(" | {}s GET /{i} 200 took=5s", 8 * i)).collect();
    check("careful not-adaptive", &format!("0s work | 5s robots ok{slow}"), "clean");
    // Slow answers may have slowed an adaptive crawler: four times as slow, four times the delay.
    let slowed: String = (3..=40)
        .map(|i| format!(" | {}s GET /{i} 200 took={}ms", 12 * i, if i == 20 { 400 } else { 100 }))
        .collect();
    let slowed = format!(
        "0s work | 0s robots ok took=100ms | 12s GET /1 200 took=400ms | 24s GET /2 200 took=100ms{slowed}"
    );
    check("careful", &slowed, "clean");
    check("careful not-adaptive", &slowed, "P16");
    // Whoever followed another's redirect to this robots.txt has heard its Crawl-delay, and may go
    // by it.
    let heard = |says: &str| -> String {
        let pages = (1..=40).map(|i| format!(" | {}s GET /{i} 200 host=b.test", 1 + 10 * i));
        let led = "0s robots 301 loc=http://b.test/robots.txt";
        let text = format!("1s work host=b.test | 1s robots ok body={says} host=b.test");
        format!("{led} | {text}{}", pages.collect::<String>())
    };
    check("careful not-adaptive", &heard("Crawl-delay:10"), "clean");
    check("careful not-adaptive", &heard("Crawl-delay:9"), "P16");
}

#[test]
fn p16_sets_handshakes_aside_for_one_host_and_not_for_the_log() {
    // Three gaps of forty are late; a second host is as it should be, for a log in which three are
    // few.
    let log = |second_line_at: u32, others: u32| -> String {
        let late = |i: u32| 3_000 * i + 700 * i.saturating_sub(10).min(3);
        let mut starts: Vec<(u32, String)> = (1..=40)
            .map(|i| {
                (late(i), format!("GET /{i} 200 conn={}", if i == second_line_at { 9 } else { 8 }))
            })
            .collect();
        starts
            .extend((1..=others).map(|i| (3_000 * i, format!("GET /{i} 200 host=b.test conn=7"))));
        starts.push((late(40) + 1, "no-work".into()));
        starts.sort();
        let work = if others > 0 {
            " | 0s work host=b.test | 0s robots ok host=b.test conn=7"
        } else {
            ""
        };
        let starts = starts.iter().map(|(ms, what)| format!(" | {ms}ms {what}"));
        format!("0s work | 0s robots ok conn=8{work}{}", starts.collect::<String>())
    };
    check("careful not-adaptive", &log(13, 400), "clean");
    check("careful not-adaptive", &log(14, 400), "clean");
    // A connection that came much later, or none, explains nothing.
    check("careful not-adaptive", &log(20, 400), "P16");
    check("careful not-adaptive", &log(0, 400), "P16");
    // Nor does it where late gaps are more than one in a hundred of all.
    check("careful not-adaptive", &log(13, 0), "P16");
}

#[test]
fn a_coarse_log_is_charged_only_with_what_is_sure() {
    check("careful coarse", "0s robots ok | 2s GET /a 200", "clean");
    check("careful coarse", "0s robots ok | 1s GET /a 200", "P4");
    check("careful coarse", "0s robots ok | 3s GET /a 429 | 6s GET /b 200", "clean");
    check("careful coarse", "0s GET /a 200", "P1");
    check("careful coarse", "0s robots ok body=Disallow:/x | 5s GET /x 200", "P2");
}
