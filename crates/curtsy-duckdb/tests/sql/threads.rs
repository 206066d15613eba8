//! Multi-threading.

use curtsy_lab::sites::{Range, Scene};

use crate::harness::{Duck, QUICK, Town, crawl_sql, list, most_at_once};

/// Enough pages for 32 threads.
const HOSTS: usize = 64;

/// Counts the threads of a running crawl.
fn crawlers(town: &Town, duck: &Duck, options: &str) -> usize {
    let before = town.log().len();
    let urls = (1..40).flat_map(|n| (0..HOSTS).map(move |host| (host, n)));
    let urls = list(urls.map(|(host, n)| town.url(host, &format!("/p/{n}"))));
    let crawl = duck.start(&crawl_sql(&urls, options));
    town.wait_until(|log| log.len() > before + HOSTS);
    let found = duck.crawlers();
    duck.interrupt();
    assert!(crawl.wait().unwrap_err().contains("INTERRUPT"));
    found
}

/// "Default thread count: DuckDB's `threads` setting", "Capped at 32 threads maximum, minimum 1",
/// "Configurable via `threads` parameter in WITH clause".
#[test]
fn threads_are_duckdbs_unless_the_statement_says_otherwise() {
    let slowly = QUICK.replace("20ms", "200ms");
    let town = Town::new(Scene::plain(HOSTS as u32, 40, 3, 500), &slowly);
    let duck = town.duck();
    duck.run("SET threads = 3");
    assert_eq!(duck.number("SELECT current_setting('threads')"), 3);
    assert_eq!(crawlers(&town, &duck, ""), 3);
    assert_eq!(crawlers(&town, &duck, "threads 5"), 5);
    assert_eq!(crawlers(&town, &duck, "threads = 0"), 1);
    assert_eq!(crawlers(&town, &duck, "threads 1000"), 32);
    duck.run("SET threads = 40");
    assert_eq!(crawlers(&town, &duck, ""), 32);
    assert_eq!(duck.crawlers(), 0, "none is left behind");
}

/// "Global connection limit via `max_total_connections`".
#[test]
fn connections_of_all_hosts_together_are_limited() {
    let mut scene = Scene::plain(8, 4, 2, 500);
    scene.hosts.iter_mut().for_each(|host| host.think = Range::ms(80, 80));
    let mut town = Town::new(scene, QUICK);
    let pages = |n: u32| list((0..8).map(|host| town.url(host, &format!("/p/{n}"))));
    let duck = town.duck();
    duck.crawl(&pages(1), "threads 8, max_total_connections 2");
    let few = town.log();
    assert_eq!(most_at_once(&few), 2, "never more, and both are used");
    duck.crawl(&pages(2), "threads 8");
    let many = town.log();
    assert!(most_at_once(&many[few.len()..]) > 2);
    town.assert_clean();
}

/// "Per-domain parallelism limit via `max_parallel_per_domain`".
#[test]
fn requests_in_flight_on_one_host_are_limited() {
    let mut scene = Scene::plain(1, 80, 2, 500);
    scene.hosts[0].think = Range::ms(150, 150);
    let delay =
        "preset = 'warehouse'\n[pace]\ndelay = '5ms'\nadaptive = false\n[slots]\nper_host = 4\n";
    let mut town = Town::new(scene, delay);
    let duck = town.duck();
    let mut seen = 0;
    for (limit, from, to) in [(1, 1, 11), (2, 11, 31), (4, 31, 71)] {
        let options = format!("threads 8, max_parallel_per_domain {limit}");
        duck.crawl(&town.pages(0, from, to), &options);
        let log = town.log();
        assert_eq!(most_at_once(&log[seen..]), limit, "of {limit}");
        seen = log.len();
    }
    town.assert_clean();
}
