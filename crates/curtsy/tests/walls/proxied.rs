//! The same corpus through a proxy that would reach everything: what can be seen from here is judged before the proxy is asked.

use crate::corpus::{Spelling, spellings};
use crate::entrances::{endings, names, policy};
use crate::namespace::{PROXY, inside};
use crate::sites::{Answer, Request};

#[test]
fn through_a_proxy() {
    let site = |request: &Request| match request.target.as_str() {
        target if target.ends_with("/robots.txt") => Answer::status(404),
        _ => Answer::page("by the proxy"),
    };
    inside("proxied::through_a_proxy", names, site, |world| {
        policy(world, "careful", &["open.pub.test"]);
        let corpus = spellings();
        let read = |spelling: &&Spelling| curtsy_crawl::seed(&spelling.url).is_ok();
        let mut seeds: Vec<&str> = corpus.iter().filter(read).map(|s| s.url.as_str()).collect();
        seeds.push("http://open.pub.test/");
        seeds.push("http://nowhere.local/");
        seeds.push("http://elsewhere.test/");
        world.write("seeds.txt", &seeds.join("\n"));
        let proxy = format!("http://me:secret@{PROXY}:3128");
        let args = ["--from", "seeds.txt", "--policy", "policy.toml", "--no-sitemaps"];
        world.crawl(&[&args[..], &["--proxy", &proxy]].concat()).ends(0);
        world.assert_walls_held();
        let asked = world.sites.heard();
        assert!(asked.iter().all(|request| request.at.ip() == PROXY), "only the proxy is dialled");
        let mut hosts: Vec<_> = asked.iter().map(|request| request.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let ended = endings(&world.db("crawl.db"), "true");
        eprintln!(
            "behind a proxy: {} spellings, {} requests, rows {ended:?}",
            seeds.len(),
            asked.len()
        );
        // A public site, and a name that only the proxy could know.
        assert_eq!(hosts, ["elsewhere.test", "open.pub.test"]);
        assert_eq!(ended["fetched 200 -"], 2);
    });
}
