//! A callback reaches what its own guard allows, and nothing else.

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::url::CrawlUrl;
use curtsy_fetch::{Callback, FetchSettings, NamedHost};

use crate::client::{run, settings};
use crate::site::{Site, ok};

fn post(settings: &FetchSettings, url: &str, json: &[u8]) -> Result<u16, Problem> {
    let (callback, url) = (Callback::new(settings).unwrap(), CrawlUrl::parse(url).unwrap());
    run(async { callback.deliver(&url, "curtsy/0.1 (+me@example.org)", json).await })
}

#[test]
fn a_callback_is_posted_to_an_address_that_is_allowed() {
    let site = Site::saying(ok("", "thanks"));
    assert_eq!(post(&settings(), &site.url("/done"), b"{}"), Ok(200));
    assert_eq!(site.heard().len(), 1);
}

#[test]
fn a_callback_to_an_address_that_is_not_public_is_refused() {
    let site = Site::saying(ok("", "page"));
    let mut public = FetchSettings::of(&Policy::preset(Preset::Careful));
    public.pins = vec!["hook.test=10.0.0.1".parse().unwrap()];
    for url in [
        &site.url("/done"),
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "https://hook.test/",
    ] {
        assert_eq!(post(&public, url, b"{}"), Err(Problem::Guard), "{url}");
    }
    assert_eq!(site.accepted(), 0);
}

/// A user may name a site of this machine for a crawl. The address of a callback has another
/// source.
#[test]
fn a_host_that_a_crawl_was_given_by_name_is_closed_to_callbacks() {
    let site = Site::saying(ok("", "page"));
    let url = CrawlUrl::parse(&site.url("/")).unwrap();
    let mut named = FetchSettings::of(&Policy::preset(Preset::Careful));
    named.named = vec![NamedHost { host: url.host().clone(), port: url.port() }];
    assert_eq!(post(&named, url.as_str(), b"{}"), Err(Problem::Guard));
    assert_eq!(site.accepted(), 0);
}

#[test]
fn a_message_over_the_bound_is_not_sent() {
    let site = Site::saying(ok("", "page"));
    let long = vec![b' '; 1024 * 1024 + 1];
    let refused = post(&settings(), &site.url("/done"), &long);
    assert_eq!(refused, Err(Problem::OverLimit(Hit::Body)));
    assert_eq!(site.accepted(), 0);
}
