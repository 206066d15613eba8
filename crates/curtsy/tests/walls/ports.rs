//! Ports on which something else than HTTP is spoken: refused wherever they are named.

use crate::entrances::{endings, names};
use crate::namespace::inside;
use crate::sites::{Answer, Request};

const PORTS: [u16; 16] =
    [1, 21, 22, 23, 25, 53, 110, 143, 445, 587, 3306, 5432, 6000, 6379, 11211, 27017];

#[test]
fn ports_of_other_servers() {
    // They are named by seeds, redirects, links, sitemaps and robots.txt; somebody listens on 6379 and would answer.
    let site = |request: &Request| {
        let named = |around: &dyn Fn(String) -> String| -> String {
            PORTS.iter().map(|p| around(format!("http://open.pub.test:{p}/l"))).collect()
        };
        match (request.host.as_str(), request.target.as_str()) {
            ("ports.pub.test", "/robots.txt") => {
                Answer::text(named(&|url| format!("Sitemap: {url}\n")))
            }
            ("ports.pub.test", "/") => Answer::page(named(&|url| format!("<a href={url}>x</a>"))),
            ("ports.pub.test", path) => Answer::moved(
                302,
                &format!("http://open.pub.test:{}/r", path.trim_start_matches('/')),
            ),
            ("moved.pub.test", "/robots.txt") => {
                Answer::moved(302, "http://open.pub.test:6379/robots.txt")
            }
            _ => Answer::page("a page"),
        }
    };
    inside("ports::ports_of_other_servers", names, site, |world| {
        let hosts = ["ports.pub.test", "open.pub.test", "moved.pub.test"];
        let hosts: String =
            hosts.iter().map(|h| format!("[host.\"{h}\"]\ndelay = '0s'\n")).collect();
        world.write("policy.toml", &format!("preset = 'careful'\npatience = '0s'\n{hosts}"));
        let mut seeds =
            vec!["http://ports.pub.test/".to_owned(), "http://moved.pub.test/".to_owned()];
        for port in PORTS {
            seeds.push(format!("http://open.pub.test:{port}/"));
            seeds.push(format!("https://open.pub.test:{port}/"));
            seeds.push(format!("http://ports.pub.test/{port}"));
            // Where an address is refused as well, either word will do.
            seeds.push(format!("http://127.0.0.1:{port}/"));
        }
        world.write("seeds.txt", &seeds.join("\n"));
        let args = ["--from", "seeds.txt", "--policy", "policy.toml", "--scope", "everywhere"];
        world.crawl(&args);
        let dialled = world.wire.dialled();
        assert!(dialled.iter().all(|to| to.port() == 80 || to.port() == 53), "{dialled:?}");
        let db = world.db("crawl.db");
        let ended = endings(&db, "kind = 'page'");
        // Four kinds of seeds, and the links of one page.
        assert_eq!(ended["dead - port"], 5 * PORTS.len(), "{ended:?}");
        assert_eq!(endings(&db, "kind = 'sitemap'")["dead - port"], PORTS.len());
        eprintln!(
            "ports: {} of other servers, {} dials, rows {ended:?}",
            PORTS.len(),
            dialled.len()
        );

        // An allowed network does not open them.
        let args = ["http://10.0.0.1:6379/", "--allow-net", "10.0.0.0/8", "--into", "allowed.db"];
        world.crawl(&args).ends(4);
        assert_eq!(endings(&world.db("allowed.db"), "true")["dead - port"], 1);
        assert_eq!(world.wire.dialled().len(), dialled.len());
    });
}
