//! Which addresses are dialled: pins, names, literals, mixed lookups. A refusal opens no
//! connection.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use curtsy_fetch::{Lookup, Outlet, Resolve};
use curtsy_testkit::services::left_out;

use crate::client::{Client, run, settings};
use crate::site::{Site, ok};

/// A resolver that answers from a list, in turn, and counts.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Scripted> {
        let read = |answer: &&[&str]| answer.iter().map(|a| a.parse().unwrap()).collect();
        let answers = Mutex::new(answers.iter().rev().map(read).collect());
        Arc::new(Scripted { answers, asked: AtomicUsize::new(0) })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Scripted {
    fn lookup<'a>(&'a self, _: &'a str) -> Lookup<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.lock().unwrap().pop();
        Box::pin(
            async move { answer.filter(|a| !a.is_empty()).ok_or(io::ErrorKind::NotFound.into()) },
        )
    }
}

fn client(resolver: &Arc<Scripted>, allow: &str) -> Client {
    let mut settings = settings();
    settings.allow_net =
        allow.split(' ').filter(|a| !a.is_empty()).map(|a| a.parse().unwrap()).collect();
    Client::of(&Outlet::with_resolver(&settings, Arc::clone(resolver) as Arc<dyn Resolve>).unwrap())
}

#[test]
fn loopback_is_refused_unless_it_is_allowed() {
    let site = Site::saying(ok("", "page"));
    let port = site.address.port();
    run(async {
        let nobody = Scripted::new(&[]);
        let client = client(&nobody, "");
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0177.0.0.1",
            "0x7f.1",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "0.0.0.0",
            "[::1]",
            "[::]",
        ] {
            let got = client.get(&format!("http://{host}:{port}/")).await;
            assert_eq!(got.said, "no line: Guard", "{host}");
        }
        assert_eq!(client.fetch.counts().refused, 10);
        assert_eq!(nobody.asked(), 0, "a literal is not looked up");
    });
    assert_eq!(site.accepted(), 0, "nothing was dialled");
    let got = run(async { Client::new().get(&format!("http://0x7f.1:{port}/")).await });
    assert_eq!(got.said, "200 page");
}

#[test]
fn a_name_with_any_forbidden_address_is_refused_as_a_whole() {
    let site = Site::saying(ok("", "page"));
    let url = format!("http://shop.test:{}/", site.address.port());
    run(async {
        for answer in
            [&["127.0.0.1", "10.0.0.1"], &["10.0.0.1", "127.0.0.1"], &["127.0.0.1", "::1"]]
        {
            let resolver = Scripted::new(&[answer]);
            assert_eq!(client(&resolver, "127.0.0.0/8").get(&url).await.said, "no line: Guard");
        }
    });
    assert_eq!(site.accepted(), 0);
}

/// Thousands of addresses. The forbidden one is far behind the last that would be tried.
#[test]
fn a_long_answer_is_judged_to_its_end() {
    let many: Vec<String> =
        (0..4_000_u32).map(|n| format!("127.1.{}.{}", n >> 8, n & 255)).collect();
    let mut answer: Vec<&str> = many.iter().map(String::as_str).collect();
    answer.push("10.0.0.1");
    run(async {
        let resolver = Scripted::new(&[&answer]);
        let got = client(&resolver, "127.0.0.0/8").get("http://shop.test/").await;
        assert_eq!(got.said, "no line: Guard");
    });
}

#[test]
fn one_lookup_is_judged_and_dialled() {
    let site = Site::saying_once(ok("Connection: close\r\n", "page"));
    let url = format!("http://shop.test:{}/", site.address.port());
    run(async {
        // Public at the first lookup, private at the second: there is no second lookup before the
        // dial.
        let resolver = Scripted::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
        let client = client(&resolver, "127.0.0.0/8");
        for _ in 0..3 {
            assert_eq!(client.get(&url).await.said, "200 page");
        }
        assert_eq!(resolver.asked(), 1, "an answer is kept");
    });
}

#[test]
fn a_name_that_does_not_resolve_is_asked_for_once() {
    run(async {
        let resolver = Scripted::new(&[&[]]);
        let client = client(&resolver, "");
        for _ in 0..3 {
            assert_eq!(client.get("http://nobody.test/").await.said, "no line: Dns");
        }
        assert_eq!(resolver.asked(), 1);
    });
}

#[test]
fn addresses_are_tried_in_order() {
    let site = Site::saying(ok("", "page"));
    run(async {
        // No server listens on the first address.
        let resolver = Scripted::new(&[&["127.0.0.77", "127.0.0.1"]]);
        let client = client(&resolver, "127.0.0.0/8");
        let got = client.get(&format!("http://shop.test:{}/", site.address.port())).await;
        assert_eq!(got.said, "200 page");
    });
}

#[test]
fn a_pin_beats_the_resolver_and_not_the_guard() {
    let site = Site::saying(ok("", "page"));
    let port = site.address.port();
    run(async {
        let resolver = Scripted::new(&[&["10.0.0.1"]]);
        let mut settings = settings();
        settings.pins =
            vec!["*.test=127.0.0.1".parse().unwrap(), "inside.example=10.0.0.1".parse().unwrap()];
        let outlet = Outlet::with_resolver(&settings, Arc::clone(&resolver) as Arc<dyn Resolve>);
        let client = Client::of(&outlet.unwrap());
        assert_eq!(client.get(&format!("http://a.test:{port}/")).await.said, "200 page");
        let inside = client.get(&format!("http://inside.example:{port}/")).await;
        assert_eq!(inside.said, "no line: Guard");
        assert_eq!(resolver.asked(), 0);
    });
    assert!(site.heard()[0].contains(&format!("host: a.test:{port}\r\n")));
}

#[test]
fn our_own_address_is_refused_even_if_it_is_public() {
    // An address of this machine on its network, if it has one.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    #[allow(clippy::disallowed_methods, reason = "asks for a route, sends nothing")]
    if socket.connect("198.51.100.1:9").is_err() {
        return left_out("this machine has no address besides loopback");
    }
    let own = socket.local_addr().unwrap().ip();
    let got =
        run(async { client(&Scripted::new(&[]), "").get(&format!("http://{own}:81/")).await });
    assert_eq!(got.said, "no line: Guard");
}

#[test]
fn ports_of_other_servers_are_refused_in_allowed_networks_too() {
    run(async {
        let nobody = Scripted::new(&[]);
        let client = client(&nobody, "127.0.0.0/8");
        for port in [22, 25, 6379, 11211] {
            for host in ["127.0.0.1", "8.8.8.8", "mail.test"] {
                let got = client.get(&format!("http://{host}:{port}/")).await;
                assert_eq!(got.said, "no line: Port", "{host}:{port}");
            }
        }
        assert_eq!(client.fetch.counts().refused, 12);
        assert_eq!(nobody.asked(), 0, "no name is looked up for a port that is not dialled");
    });
}

#[test]
fn nobody_listens() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let got = run(async { Client::new().get(&format!("http://127.0.0.1:{port}/")).await });
    assert_eq!(got.said, "no line: Connect");
}
