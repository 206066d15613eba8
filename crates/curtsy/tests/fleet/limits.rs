//! Limits that end an exchange, counted by their names: hosts of the zoo, each of which hits another one.

use std::io::{Read, Write};
use std::net::TcpListener;

use curtsy_core::limits::Hit;
use curtsy_lab::sites::Scene;
use curtsy_lab::zoo::{Zoo, ZooSettings, cases};
use curtsy_testkit::services::free_port;

use crate::fleet::{Fleet, metrics, until};

/// A case of the zoo, and the limit that it hits.
const CASES: [(&str, Hit); 9] = [
    ("tls-silence", Hit::Connect),
    ("accept-silence", Hit::FirstByte),
    ("body-just-fast-enough", Hit::Whole),
    ("body-drip", Hit::Speed),
    ("header-flood", Hit::Head),
    ("interim-many", Hit::Interim),
    ("endless-tiny-chunks", Hit::Around),
    ("endless-chunked", Hit::Body),
    ("codings-stacked", Hit::Coding),
];

/// How often a worker says that this limit was hit.
fn hits(address: &str, hit: Hit) -> f64 {
    let name = format!("page_fetcher_limit_hits_total{{limit=\"{}\"}}", hit.name());
    metrics(address)[&name]
}

fn is_ready(address: &str) -> bool {
    curtsy::fleet::ask(&format!("http://{address}/readyz")).is_ok_and(|(status, _)| status == 200)
}

#[test]
fn each_limit_that_ends_an_exchange_is_counted_by_its_name() {
    let mut chosen = cases();
    chosen.retain(|case| CASES.iter().any(|(name, _)| *name == case.name));
    assert_eq!(chosen.len(), CASES.len());
    let zoo = Zoo::open(chosen, ZooSettings::default()).unwrap();
    let fleet = Fleet::new(Scene::plain(1, 1, 1, 500));
    std::fs::write(fleet.town.path("ca.pem"), zoo.ca_pem()).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let manners = ["--delay", "0s", "--set", "timeout.whole=20s", "--set", "retry.max=0"];
    let way = ["--ca-file", "ca.pem", "--listen", &address];
    let _worker = fleet.start(&[&manners[..], &way].concat());
    until("readiness", || is_ready(&address));
    fleet.push(&zoo.hosts().iter().map(|host| &host.url).collect::<Vec<_>>());
    for (name, hit) in CASES {
        until(name, || hits(&address, hit) >= 1.0);
    }
    for hit in [Hit::Head, Hit::Interim, Hit::Around, Hit::Body, Hit::Coding] {
        assert!(
            hits(&address, hit) < 2.0,
            "`{}` is one case's, and it is not tried again",
            hit.name()
        );
    }
    let _ = zoo.close();
}

#[test]
fn a_proxy_that_goes_on_and_on_is_counted_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            while stream.write_all(b"HTTP/1.1 200 OK, and ").is_ok() {}
        }
    });
    let fleet = Fleet::new(Scene::plain(1, 1, 1, 500));
    let address = format!("127.0.0.1:{}", free_port());
    let _worker = fleet.start(&["--delay", "0s", "--proxy", &proxy, "--listen", &address]);
    until("readiness", || is_ready(&address));
    fleet.push(&["https://192.0.1.7/"]);
    until("the proxy", || hits(&address, Hit::Proxy) >= 1.0);
}
