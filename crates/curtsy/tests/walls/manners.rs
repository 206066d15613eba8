//! Many names for one server: whatever it is called, it is asked at one pace, and an address is not asked by everybody at once.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::corpus::{around, hosts_v4};
use crate::entrances::{endings, names};
use crate::namespace::inside;
use crate::resolver::Said;
use crate::sites::{Answer, Request};

fn page(request: &Request) -> Answer {
    if request.target == "/robots.txt" { Answer::status(404) } else { Answer::page("a page") }
}

#[test]
fn one_server_in_every_spelling_is_asked_at_one_pace() {
    const DELAY: Duration = Duration::from_millis(200);
    let name = "manners::one_server_in_every_spelling_is_asked_at_one_pace";
    inside(name, names, page, |world| {
        let site = Ipv4Addr::new(20, 0, 0, 7);
        let hosts = hosts_v4(site).into_iter().map(|(_, host)| format!("http://{host}/PATH"));
        let around = around(&site.to_string()).into_iter().map(|(_, url)| url);
        let spellings: Vec<String> = hosts.chain(around).collect();
        let numbered =
            spellings.iter().enumerate().map(|(n, s)| s.replace("PATH", &format!("p{n}")));
        // Those that mean this very server over http.
        let own = |url: &String| {
            curtsy_crawl::seed(url).is_ok_and(|url| {
                url.ip() == Some(site.into()) && url.as_str().starts_with("http://20.0.0.7/")
            })
        };
        let seeds: Vec<String> = numbered.filter(own).collect();
        world.write("seeds.txt", &seeds.join("\n"));
        let args =
            ["--from", "seeds.txt", "--delay", "200ms", "--no-sitemaps", "--patience", "20s"];
        world.crawl(&args).ends(0);
        let asked = world.sites.heard();
        // The judge looks at each gap elsewhere; a second pace would halve the whole. One gap is left for a server that reads late.
        let span = asked[asked.len() - 1].when - asked[0].when;
        eprintln!("one pace: {} spellings, {} requests in {span:?}", seeds.len(), asked.len());
        assert!(seeds.len() >= 30, "{seeds:?}");
        assert!(span >= DELAY * (asked.len() as u32 - 2), "{span:?}");
        let robots = asked.iter().filter(|request| request.target == "/robots.txt").count();
        assert_eq!(robots, 1, "one server, one robots.txt");
        world.assert_walls_held();
    });
}

#[test]
fn many_names_on_one_address_are_not_asked_at_once() {
    const NAMES: usize = 400;
    let everywhere = |_: &str, _: usize| Said::At(vec![IpAddr::V4(Ipv4Addr::new(20, 0, 0, 9))]);
    let slow = |request: &Request| Answer { think: Duration::from_millis(20), ..page(request) };
    let name = "manners::many_names_on_one_address_are_not_asked_at_once";
    inside(name, everywhere, slow, |world| {
        let seeds: Vec<String> = (0..NAMES).map(|n| format!("http://n{n}.many.test/")).collect();
        world.write("seeds.txt", &seeds.join("\n"));
        let args =
            ["--from", "seeds.txt", "--delay", "200ms", "--no-sitemaps", "--patience", "30s"];
        world.crawl(&args).ends(0);
        assert_eq!(endings(&world.db("crawl.db"), "true")["fetched 200 -"], NAMES);
        let most = world.sites.at_once();
        eprintln!("one address: {NAMES} names, {most} requests at once at most");
        // The preset's cap for an address.
        assert!(most <= 16 && most > 4, "{most}");
    });
}
