//! robots.txt, read by the matcher that decides and by a naive one: both must agree, and the
//! deciding line must exist.

use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::naive::naive_decide;
use curtsy_core::robots::{CRAWL_DELAY_MAX, ROBOTS_BYTES_MAX, Robots};
use curtsy_core::url::CrawlUrl;

use crate::{FuzzTarget, first_line};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "robots",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/robots.dict"),
};

/// The first line is the requested path.
fn run(data: &[u8]) {
    let (path, text) = first_line(data);
    let path = String::from_utf8_lossy(path).into_owned();
    let robots = Robots::parse(text);
    assert!(robots.text().len() <= ROBOTS_BYTES_MAX);
    let again = Robots::parse(robots.text());
    let address = CrawlUrl::parse(&format!("http://h/{path}")).ok();
    let paths = [path.as_str(), address.as_ref().map_or("/", |url| url.path_and_query())];
    for product in ["curtsy", "Google-Bot", "x"] {
        let rules = robots.for_agent(product, AgentMatch::Rfc);
        assert!(rules.crawl_delay().is_none_or(|delay| delay <= CRAWL_DELAY_MAX));
        let rules_again = again.for_agent(product, AgentMatch::Rfc);
        for path in paths {
            let answer = rules.decide(path);
            assert_eq!(
                answer.allowed,
                naive_decide(text, product, path),
                "`{path}` to `{product}`"
            );
            assert_eq!(answer, rules_again.decide(path), "what counts is read to the same again");
            let line = answer.rule.map(|rule| robots.line_text(rule.line));
            assert!(line.is_none_or(|line| line.is_some_and(|text| !text.is_empty())));
        }
        let _ = robots.for_agent(product, AgentMatch::Loose).decide(paths[0]);
    }
    for (line, value) in robots.sitemaps() {
        assert!(robots.line_text(line).is_some(), "`{value}` has its line");
    }
}

const SEEDS: &[&[u8]] = &[
    b"/private/x?y=1\nUser-agent: *\nDisallow: /private/\nAllow: /private/press*.pdf$\nCrawl-delay: 1.5\nSitemap: /s.xml\n",
    b"/a/b/c\nUser-agent: curtsy\nUser-agent: google-bot\nDisallow: /a*b*c$\nDisallow: /%61/\n\nUser-agent: *\nDisallow: /\n",
    b"/\xc3\xa9?%2a$\n\xef\xbb\xbfuser agent : Curtsy/2.0 # c\rdisalow /\xc3\xa9\rallow: /%C3%A9?*\r\nContent-Signal: ai-train=no\n",
    b"/robots.txt\nUser-agent: *\nDisallow: /\n",
    b"/aaaaaaaaaaaaaaaaab\nuser-agent:*\nallow:/*a*a*a*a*b$\ndisallow:/a\ndisallow:/aaaa*\nallow:/aaaaa$\n",
    b"/x\n<!doctype html><p>User-agent: *\nDisallow: /\0x\nDisallow:\nNoindex: /\n",
];
