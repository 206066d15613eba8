//! The first five minutes: a seed on one's own machine, a second try, a second site.

use crate::harness::{Served, Town, number};

const FETCHED: &str = "SELECT count(*) FROM pages WHERE decision = 'fetched' AND http_status = 200";

/// A site of three pages in a folder.
fn three_pages(town: &Town) -> Served {
    let site = town.path("site");
    std::fs::create_dir(&site).unwrap();
    let page = |name: &str, text: &str| std::fs::write(site.join(name), text).unwrap();
    page("index.html", "<title>home</title><a href=a.html>a</a>");
    page("a.html", "<title>a</title><a href=b.html>b</a>");
    page("b.html", "<title>b</title>");
    Served::folder(&site)
}

#[test]
fn your_own_machine_is_crawled_without_a_flag() {
    let town = Town::empty();
    let site = three_pages(&town);
    let port = site.port;
    for (n, seed) in [
        format!("http://localhost:{port}/"),
        format!("http://127.0.0.1:{port}/"),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("http://docs.localhost:{port}/"),
    ]
    .iter()
    .enumerate()
    {
        let into = format!("{n}.db");
        town.run(&["crawl", seed, "--delay", "0s", "--into", &into]).ends(0);
        assert_eq!(number(&town.db(&into), FETCHED), 3, "{seed}");
    }
    // A list is data: what it names has to be allowed.
    std::fs::write(town.path("seeds.txt"), format!("http://localhost:{port}/\n")).unwrap();
    let ran = town.run(&["crawl", "--from", "seeds.txt", "--into", "list.db"]).ends(4);
    assert!(ran.err.contains("`--allow-net 127.0.0.0/8` allows it"), "{}", ran.err);
    // `plan` and `sitemap list` take the same way.
    let home = format!("localhost:{port}");
    let plan = town.run(&["plan", &home, "--delay", "0s"]).ends(0);
    assert!(plan.out.contains("no sitemap lists pages of localhost"), "{}", plan.out);
}

#[test]
fn a_password_in_a_seed_is_refused_with_the_reason() {
    let town = Town::empty();
    let ran = town.run(&["crawl", "https://me:s3cret@example.org/", "--contact", "a@b.test"]);
    let ran = ran.ends(2);
    assert!(ran.err.contains("a user name or a password"), "{}", ran.err);
    assert!(ran.err.contains("`header`"), "{}", ran.err);
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
}
