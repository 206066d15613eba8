//! Sites on loopback, what they saw, and what the judge says of it.

use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use curtsy_core::policy::Policy;
use curtsy_judge::{CrawlerFault, Exchange, InStartOrder, Judge};
use curtsy_lab::sites::{Answer as Said, Host, Scene, Sitemap, Sites, SitesSettings};
use curtsy_sim::manners_of;

/// A small business: seven pages, a sitemap, and a page that robots.txt forbids.
pub(crate) fn business(name: &str) -> Host {
    let mut host = bare(name)
        .robots("User-agent: *\nDisallow: /private/\nAllow: /\n")
        .sitemap(sitemap(&["/about", "/services", "/contact", "/menu"]))
        .links_to("/private/books");
    for path in ["/about", "/services", "/contact", "/menu", "/faq", "/news"] {
        host = host.says(Said::page(path, &path[1..], "", &[]));
    }
    host
}

/// A host with a home page, which its sitemap names, and rules that allow everything.
pub(crate) fn plain(name: &str) -> Host {
    bare(name).sitemap(sitemap(&["/"]))
}

/// The same without a sitemap.
pub(crate) fn bare(name: &str) -> Host {
    Host::named(name).robots("User-agent: *\nAllow: /\n").at(Ipv4Addr::LOCALHOST)
}

/// A sitemap where everybody looks for one.
pub(crate) fn sitemap(paths: &[&str]) -> Sitemap {
    let locs = paths.iter().map(|path| (*path).to_owned()).collect();
    Sitemap { path: "/sitemap.xml".to_owned(), locs, ..Sitemap::default() }
}

pub(crate) fn serve(hosts: Vec<Host>) -> Sites {
    Sites::start(Scene { seed: 3, hosts, ..Scene::default() }, SitesSettings::default()).unwrap()
}

/// The address of a page.
pub(crate) fn page(sites: &Sites, host: &str, path: &str) -> String {
    format!("http://{host}:{}{path}", sites.port())
}

/// What a host saw, in order.
pub(crate) fn seen(sites: &Sites, host: &str) -> Vec<Exchange> {
    let mut log = sites.log();
    log.retain(|exchange| exchange.host.split(':').next() == Some(host));
    log.sort_by_key(|exchange| exchange.start);
    log
}

/// What lay between requests, in microseconds. What a site read late, for its own fault, says
/// nothing.
pub(crate) fn gaps(log: &[Exchange]) -> Vec<u64> {
    let in_time = log.windows(2).filter(|pair| !pair[0].read_late && !pair[1].read_late);
    in_time.map(|pair| pair[1].start - pair[0].start).collect()
}

/// What a host was asked for, in order.
pub(crate) fn asked(sites: &Sites, host: &str) -> Vec<String> {
    seen(sites, host).iter().map(|exchange| exchange.target.to_string()).collect()
}

/// Fails with the judge's words if a log shows that manners were broken.
#[track_caller]
pub(crate) fn assert_judged(log: Vec<Exchange>, policy: &Policy, faults: &[CrawlerFault]) {
    // Each run has a budget of its own; the log is of several.
    let manners = curtsy_judge::Manners { pages: None, ..manners_of(policy) };
    let mut judge = Judge::new(manners).with_faults(faults.to_vec());
    let mut order = InStartOrder::new(Duration::from_secs(300));
    for exchange in log {
        order.push(exchange);
    }
    while let Some(exchange) = order.drain() {
        judge.see(exchange);
    }
    let report = judge.finish();
    if !report.clean() {
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        panic!("{}", String::from_utf8_lossy(&text));
    }
}

/// Now, as the sites' log has it.
pub(crate) fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}
