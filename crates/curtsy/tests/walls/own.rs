//! The user's own machine: a host of it that the user names is open at that port under that name. Nothing else is.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::entrances::{endings, names};
use crate::namespace::{RESOLVER, World, inside, is_a_sites};
use crate::resolver::Said;
use crate::sites::{Answer, Request};

/// Everything else on this machine, and what is as close: other ports, other spellings, other names of the same socket, private networks.
const SHUT: [&str; 14] = [
    "http://localhost/",
    "http://localhost:65535/",
    "https://localhost/",
    "http://127.0.0.1:8080/",
    "http://127.0.0.1/",
    "http://127.0.0.2:8080/",
    "http://[::1]:8080/",
    "http://other.localhost:8080/",
    "http://loop.test:8080/",
    "http://here.localhost.loop.test:8080/",
    "http://10.0.0.1:8080/",
    "http://169.254.169.254/",
    "http://a.in.test:8080/",
    "http://5.5.5.5:8080/",
];

/// Names that lead to this machine without being `localhost`.
fn with_loops(name: &str, nth: usize) -> Said {
    match name.ends_with("loop.test") {
        true => Said::At(vec![Ipv4Addr::LOCALHOST.into()]),
        false => names(name, nth),
    }
}

/// What was dialled on this machine and in private networks.
fn inward(world: &World) -> BTreeSet<SocketAddr> {
    let outside = |ip: IpAddr| is_a_sites(ip) || ip == RESOLVER;
    world.wire.dialled().into_iter().filter(|to| !outside(to.ip())).collect()
}

/// Links, redirects, sitemaps and a robots.txt elsewhere, to everything that is shut.
fn site(request: &Request) -> Answer {
    let shut = |around: &dyn Fn(&str) -> String| -> String {
        SHUT.iter().map(|url| around(&format!("{url}shut"))).collect()
    };
    let public = request.host == "open.pub.test";
    match request.target.as_str() {
        "/robots.txt" if request.host == "moved.localhost" => {
            Answer::moved(302, "http://localhost/robots.txt")
        }
        "/robots.txt" => Answer::text(shut(&|url| format!("Sitemap: {url}.xml\n"))),
        "/" if public => Answer::page(shut(&|url| format!("<a href=\"{url}\">x</a>"))),
        "/" => Answer::page(
            shut(&|url| format!("<a href=\"{url}\">x</a>"))
                + &(0..SHUT.len()).map(|n| format!("<a href=/r{n}>x</a>")).collect::<String>()
                + "<a href=http://open.pub.test/>x</a><a href=/last>x</a>",
        ),
        "/last" => Answer::page("the last page"),
        target => match target.strip_prefix("/r").and_then(|n| n.parse::<usize>().ok()) {
            Some(n) => Answer::moved(302, &format!("{}moved", SHUT[n])),
            None => Answer::page("a page that must not be asked for"),
        },
    }
}

#[test]
fn a_host_that_the_user_names_opens_one_port_under_one_name() {
    let name = "own::a_host_that_the_user_names_opens_one_port_under_one_name";
    inside(name, with_loops, site, |world| {
        for (n, (seed, at)) in [
            ("http://localhost:8080/", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("http://127.0.0.3:8080/", "127.0.0.3:8080"),
            ("http://mine.localhost:8080/", "127.0.0.1:8080"),
            ("http://[::ffff:127.0.0.4]:8080/", "127.0.0.4:8080"),
        ]
        .into_iter()
        .enumerate()
        {
            let before = inward(world);
            let into = format!("{n}.db");
            let args = [seed, "--scope", "everywhere", "--delay", "200ms", "--into", &into];
            world.crawl(&args).ends(0);
            let opened: Vec<_> = inward(world).difference(&before).copied().collect();
            let at: SocketAddr = at.parse().unwrap();
            let expected = if before.contains(&at) { vec![] } else { vec![at] };
            assert_eq!(opened, expected, "{seed}");
            let db = world.db(&into);
            let ended = endings(&db, "kind = 'page'");
            assert_eq!(ended["dead - guard"], 2 * SHUT.len(), "{seed}: {ended:?}");
            let read = "SELECT count(*) FROM pages WHERE url LIKE '%/last' AND http_status = 200";
            let read: u32 = db.query_row(read, [], |row| row.get(0)).unwrap();
            assert_eq!(read, 1, "{seed}");
        }
        let asked = world.sites.heard();
        assert!(asked.iter().all(|request| !request.target.contains("shut")), "{asked:?}");
        assert!(asked.iter().all(|request| !request.target.contains("moved")), "{asked:?}");
    });
}

#[test]
fn what_the_user_did_not_write_out_opens_nothing() {
    let name = "own::what_the_user_did_not_write_out_opens_nothing";
    inside(name, with_loops, site, |world| {
        // A name that leads here, however it is written; other addresses of this machine; a list from anywhere.
        for (n, seed) in [
            "http://loop.test:8080/",
            "http://localhost.loop.test:8080/",
            "http://5.5.5.5:8080/",
            "http://0.0.0.0:8080/",
            "http://10.0.0.1:8080/",
            "http://a.in.test:8080/",
        ]
        .into_iter()
        .enumerate()
        {
            let into = format!("{n}.db");
            let ran = world.crawl(&[seed, "--into", &into]).ends(4);
            assert_eq!(endings(&world.db(&into), "true")["dead - guard"], 1, "{}", ran.said);
        }
        world.write("seeds.txt", "http://localhost:8080/\nhttp://127.0.0.1:8080/\n");
        world.crawl(&["--from", "seeds.txt", "--into", "list.db"]).ends(4);
        assert_eq!(endings(&world.db("list.db"), "true")["dead - guard"], 2);
        assert_eq!(inward(world), BTreeSet::new());
        assert_eq!(world.sites.heard().len(), 0);
    });
}

/// A robots.txt that is elsewhere may not be fetched from another port of this machine.
#[test]
fn robots_of_a_named_host_lead_nowhere_else() {
    let name = "own::robots_of_a_named_host_lead_nowhere_else";
    inside(name, with_loops, site, |world| {
        world.crawl(&["http://moved.localhost:8080/", "--patience", "0s", "--into", "a.db"]);
        assert_eq!(inward(world), BTreeSet::from(["127.0.0.1:8080".parse().unwrap()]));
        assert_eq!(world.sites.heard().len(), 1);
    });
}

#[test]
fn a_private_address_names_the_flag_that_allows_it() {
    let name = "own::a_private_address_names_the_flag_that_allows_it";
    let page = |_: &Request| Answer::page("a page");
    inside(name, names, page, |world| {
        for (n, (seed, address)) in
            [("http://10.0.0.1:8080/", "10.0.0.1"), ("http://a.in.test:8080/", "10.0.0.1")]
                .into_iter()
                .enumerate()
        {
            let into = format!("{n}.db");
            let ran = world.run(&["crawl", seed, "--contact", "a@b.test", "--into", &into]).ends(4);
            let why = world.run(&["why", seed, "--in", &into]).ends(0);
            for said in [ran.said, why.said] {
                assert!(said.contains("`--allow-net 10.0.0.0/8` allows it"), "{said}");
                assert!(said.contains(address), "{said}");
            }
            // What it says helps.
            let args = [seed, "--allow-net", "10.0.0.0/8", "--delay", "0s", "--no-sitemaps"];
            world.crawl(&[&args[..], &["--into", &format!("{n}.allowed.db")]].concat()).ends(0);
        }
    });
}

/// A short delay is for one's own machines: `--allow-net`, or a seed on this machine, lifted the floor for everybody else too.
#[test]
fn the_pace_of_ones_own_machine_is_not_for_public_hosts() {
    let name = "own::the_pace_of_ones_own_machine_is_not_for_public_hosts";
    let pages = |request: &Request| match request.target.as_str() {
        "/" => Answer::page(
            (0..5)
                .map(|n| format!("<a href=http://open.pub.test/{n}>x</a><a href=/{n}>x</a>"))
                .collect::<String>(),
        ),
        _ => Answer::page("a page"),
    };
    inside(name, with_loops, pages, |world| {
        for (n, net) in [&[][..], &["--allow-net", "127.0.0.0/8"]].into_iter().enumerate() {
            let into = format!("{n}.db");
            let args = ["http://localhost:8080/", "--scope", "everywhere", "--delay", "0s"];
            let heard = world.sites.heard().len();
            world.crawl(&[&args[..], net, &["--no-cache", "--into", &into]].concat()).ends(0);
            let heard = &world.sites.heard()[heard..];
            let public: Vec<_> = heard.iter().filter(|r| r.host == "open.pub.test").collect();
            // The second crawl has its robots.txt from the ledger.
            let expected = if n == 0 { 6 } else { 5 };
            assert_eq!(public.len(), expected, "{net:?}: robots.txt and five pages");
            for pair in public.windows(2) {
                let gap = pair[1].when - pair[0].when;
                assert!(gap.as_millis() >= 200, "{net:?}: {gap:?}");
            }
        }
    });
}
