//! Properties of every text that is parsed as a URL, a host or an archive key.

mod mutate;

use curtsy_core::url::{Authority, CrawlUrl, HostKey, SurtOptions, UrlKey, surt};
use proptest::prelude::*;

proptest! {
    #![proptest_config(mutate::config())]

    #[test]
    fn a_url_is_stable_once_it_is_read(text in mutate::near(URLS)) {
        let Ok(url) = CrawlUrl::parse(&text) else { return Ok(()) };
        let spelling = url.as_str();
        let again = CrawlUrl::parse(spelling).expect("its own spelling is a URL");
        prop_assert_eq!(again.as_str(), spelling);
        prop_assert_eq!(again.host(), url.host());
        prop_assert_eq!(url.join(spelling).unwrap(), url.clone());

        prop_assert!(spelling.len() <= CrawlUrl::BYTES_MAX && spelling.is_ascii());
        prop_assert!(!spelling.contains(['#', ' ', '\t', '\n']));
        prop_assert!(url.path_and_query().starts_with('/'));
        let authority = url.authority();
        prop_assert_eq!(format!("{authority}{}", url.path_and_query()), spelling, "nothing between");
        prop_assert_eq!(authority.robots_url().authority(), authority.clone());
        prop_assert_eq!(authority.to_string().parse::<Authority>(), Ok(authority));
        prop_assert_eq!(url.key().to_string().parse::<UrlKey>(), Ok(url.key()));
        prop_assert_eq!(url.ip().map(HostKey::from), url.ip().map(|_| url.host().clone()));
        prop_assert!(!url.surt().is_empty());
    }

    #[test]
    fn a_reference_gives_a_url_or_none(base in mutate::near(URLS), reference in mutate::near(URLS)) {
        let Ok(base) = CrawlUrl::parse(&base) else { return Ok(()) };
        let Ok(url) = base.join(&reference) else { return Ok(()) };
        prop_assert_eq!(CrawlUrl::parse(url.as_str()), Ok(url));
    }

    #[test]
    fn a_host_is_stable_once_it_is_read(text in mutate::near(HOSTS)) {
        let Ok(host) = HostKey::parse(&text) else { return Ok(()) };
        prop_assert_eq!(HostKey::parse(host.as_str()), Ok(host.clone()));
        let url = CrawlUrl::parse(&format!("http://{host}/")).expect("a key is a host");
        prop_assert_eq!(url.host(), &host);
        prop_assert_eq!(url.as_str(), format!("http://{host}/"));
        let upper = host.as_str().to_ascii_uppercase();
        prop_assert_eq!(HostKey::parse(&upper), Ok(host.clone()));
        if host.ip().is_none() {
            prop_assert_eq!(HostKey::parse(&format!("{upper}.")), Ok(host));
        }
    }

    #[test]
    fn a_key_is_one_line_of_an_index(text in mutate::near(URLS), bits in any::<u8>()) {
        let options = SurtOptions {
            with_scheme: bits & 1 != 0,
            trailing_comma: bits & 2 != 0,
            reverse_ipaddr: bits & 4 != 0,
            host_massage: bits & 8 != 0,
            query_lowercase: bits & 16 != 0,
        };
        if let Ok(key) = surt(&text, &options)
            && !text.starts_with("filedesc")
        {
            prop_assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{key:?}");
        }
    }
}

const URLS: &str = include_str!("corpus/urls.jsonl");
const HOSTS: &str = include_str!("corpus/hosts.jsonl");
