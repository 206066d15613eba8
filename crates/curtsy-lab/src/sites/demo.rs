//! The scene that `curtsy demo` crawls: a small town's site with everything that a crawler meets, and no wait longer than a second or two.
//!
//! Three hosts at 127.0.0.1, told apart by their names. The wall is a host of its own: a careful crawler stays away from a host that
//! refused it, for longer than a demonstration lasts.

use std::net::Ipv4Addr;

use super::answer::{Answer, Body};
use super::scene::{Host, Scene, Sitemap, SitemapKind, TrapKind};

impl Scene {
    /// The demonstration: `demo.localhost`, `shop.demo.localhost` and `members.demo.localhost`, about 40 pages.
    pub fn demo() -> Scene {
        let hosts = vec![demo(), shop(), members()];
        let hosts = hosts.into_iter().map(|host| host.at(Ipv4Addr::LOCALHOST));
        Scene { seed: 1, hosts: hosts.collect(), ..Scene::default() }
    }
}

fn demo() -> Host {
    let index = Sitemap {
        path: "/sitemap_index.xml".to_owned(),
        kind: SitemapKind::Index,
        locs: vec!["/sitemap-pages.xml.gz".to_owned(), "/sitemap-news.xml".to_owned()],
        ..Sitemap::default()
    };
    let pages = Sitemap {
        path: "/sitemap-pages.xml.gz".to_owned(),
        locs: vec!["/only-in-the-sitemap".to_owned()],
        pages: Some((0, 12)),
        gz: true,
        ..Sitemap::default()
    };
    let news = Sitemap {
        path: "/sitemap-news.xml".to_owned(),
        kind: SitemapKind::Rss,
        locs: vec!["/news".to_owned()],
        ..Sitemap::default()
    };
    Host::named("demo.localhost")
        .pages(20, 4, 2_000)
        .robots(
            "# Welcome. Take your time.\n\
             User-agent: *\n\
             Crawl-delay: 0.2\n\
             Disallow: /private/\n\
             Allow: /private/open\n\
             \n\
             Sitemap: {base}/sitemap_index.xml\n",
        )
        .sitemap(index)
        .sitemap(pages)
        .sitemap(news)
        .says_unlinked(Answer::page("/only-in-the-sitemap", "Nobody links here", "", &[]))
        .says(Answer::page("/news", "News", "", &["/p/1"]))
        .links_to("/private/diary")
        .says(Answer::page("/private/open", "An open page in a closed part", "", &[]))
        .says(Answer::to("/busy").first(1).status(429).retry_after_seconds(1))
        .says(Answer::page("/busy", "Busy no more", "", &[]))
        .says(Answer::to("/shaky").first(1).status(503))
        .says(Answer::page("/shaky", "Up again", "", &[]))
        .says(Answer::moved("/old", 301, "/p/3"))
        .says(Answer::moved("/offers", 302, "http://shop.demo.localhost:{port}/"))
        .says(Answer::page("/drafts", "Drafts", NOINDEX, &["/p/2"]))
        .says(Answer::page("/print", "Printable", "<link rel=\"canonical\" href=\"/p/1\">\n", &[]))
        .links_to("/missing")
        .says(Answer {
            content_type: Some("application/pdf".to_owned()),
            ..Answer::to("/menu.pdf")
                .body(Body::Text("%PDF-1.4\n% not much of a menu\n".to_owned()))
        })
        .links_to("http://shop.demo.localhost:{port}/")
        .links_to("http://members.demo.localhost:{port}/")
        .trap("/calendar/", TrapKind::Calendar)
}

fn shop() -> Host {
    Host::named("shop.demo.localhost")
        .pages(8, 3, 1_500)
        .robots("User-agent: *\nCrawl-delay: 0.3\nDisallow: /basket\n")
        .links_to("/basket")
        .links_to("http://demo.localhost:{port}/")
}

fn members() -> Host {
    Host::named("members.demo.localhost")
        .robots("User-agent: *\nAllow: /\n")
        .says(Answer::wall("/"))
}

const NOINDEX: &str = "<meta name=\"robots\" content=\"noindex\">\n";
