//! Fifty runs at once, and people who look at pages meanwhile.
//!
//! `./bench serve` prints how long pages took then, by the server's own clock.

use std::sync::atomic::{AtomicBool, Ordering};

use curtsy_lab::sites::Sites;
use serde_json::json;

use crate::place::{Folder, Service, spec_with};
use crate::sites::{page, plain, serve};

const RUNS: usize = 50;
/// People who look at one page after the other.
const VIEWERS: usize = 2;

fn host(n: usize) -> String {
    format!("h{n}.test")
}

fn sites() -> Sites {
    serve((0..RUNS).map(|n| plain(&host(n)).pages(20, 10, 4_000)).collect())
}

/// Begins all runs, has pages looked at until all have ended, and gives how many were.
fn crowd(service: &Service, sites: &Sites, mode: &str) -> usize {
    let over = AtomicBool::new(false);
    let runs: Vec<String> = (0..RUNS)
        .map(|n| {
            service.begin(
                &format!("orbit-{n}"),
                &json!({"url": page(sites, &host(n), "/"), "mode": mode}),
            )
        })
        .collect();
    std::thread::scope(|threads| {
        let (over, runs) = (&over, &runs);
        let look = |viewer: usize| {
            let mut seen = 0;
            while !over.load(Ordering::Relaxed) {
                let run = &runs[(seen * VIEWERS + viewer) % RUNS];
                let run_page = run.strip_prefix("/api").expect("a run of the API");
                let orbit_page = format!("/orbit/orbit-{viewer}/import?tab=history");
                let host_page = format!("/domains/{}", host(seen % RUNS));
                for target in [
                    "/",
                    run_page,
                    &orbit_page,
                    "/orbit/orbit-0/import",
                    &host_page,
                    "/admin/orbits/health",
                ] {
                    let answer = service.get(target);
                    // Nothing is known of a host before its run has asked it.
                    assert!(
                        answer.status == 200 || (answer.status == 404 && target == host_page),
                        "{target}: {}",
                        answer.body
                    );
                    seen += 1;
                }
            }
            seen
        };
        let viewers: Vec<_> =
            (0..VIEWERS).map(|viewer| threads.spawn(move || look(viewer))).collect();
        for run in runs {
            let ended = service.wait_for_end(run);
            assert_eq!(ended["outcome"], "success", "{ended}");
        }
        over.store(true, Ordering::Relaxed);
        viewers.into_iter().map(|viewer| viewer.join().expect("every page was shown")).sum()
    })
}

#[test]
fn fifty_runs_at_once_end_well_and_pages_are_shown_meanwhile() {
    let folder = Folder::new();
    let sites = sites();
    let service = Service::start(spec_with(folder.store(), &[("patience", "60s")]));
    assert!(crowd(&service, &sites, "light") > 0);
    let metrics = service.get("/metrics").ends(200).body;
    assert!(metrics.contains("curtsy_serve_runs 0\n"), "{metrics}");
}

/// The upper end of the bucket in which a share of the answers lies, in milliseconds.
fn within_ms(metrics: &str, share: f64) -> f64 {
    let buckets: Vec<(f64, f64)> = metrics
        .lines()
        .filter_map(|line| {
            line.strip_prefix("curtsy_serve_answer_seconds_bucket{of=\"page\",le=\"")?
                .split_once("\"} ")
        })
        .map(|(max, count)| (max.parse().unwrap_or(f64::INFINITY), count.parse().expect("a count")))
        .collect();
    let all = buckets.last().expect("buckets").1;
    let found = buckets.iter().find(|(_, count)| *count >= share * all);
    found.map_or(f64::INFINITY, |(max, _)| max * 1000.0)
}

#[test]
#[ignore = "a benchmark: `./bench serve`"]
#[allow(clippy::print_stdout, reason = "figures are what it is run for")]
fn how_long_pages_take_while_fifty_runs_are_at_work() {
    let folder = Folder::new();
    let sites = sites();
    // The pace of the mode: twelve pages in some ten seconds.
    let service = Service::start(spec_with(
        folder.store(),
        &[("patience", "60s"), ("pace.delay", "800ms"), ("risk.delay", "800ms,1200ms,2000ms")],
    ));
    let pages = crowd(&service, &sites, "light");
    let metrics = service.get("/metrics").ends(200).body;
    println!(
        "{RUNS} runs at once, {pages} pages looked at; from the request read to the answer made:"
    );
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        println!("  {name}  at most {:>5} ms", within_ms(&metrics, share));
    }
}
