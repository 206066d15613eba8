//! Requests through a proxy: a tunnel for https, the whole URL for http, and the guard.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use curtsy_fetch::{FetchSettings, Outlet, Proxies};
use curtsy_testkit::services::left_out;

use crate::client::{Client, run, settings};
use crate::guard::Scripted;
use crate::secure::{Ca, SecureSite};
use crate::site::{Site, Talk, answer, ok};

/// A proxy that demands a login, opens tunnels to one server, and answers plain requests itself.
fn proxy(tunnel_to: Option<SocketAddr>) -> Site {
    Site::new(move |talk| {
        while let Some(head) = talk.hear() {
            // `user:pass`
            if !head.to_lowercase().contains("proxy-authorization: basic dxnlcjpwyxnz\r\n") {
                talk.say(answer("407 Who are you", "", ""));
            } else if head.starts_with("CONNECT") {
                talk.say("HTTP/1.1 200 Go on\r\nVia: proxy\r\n\r\n");
                return pass(talk, tunnel_to.unwrap());
            } else {
                talk.say(ok("", "by the proxy"));
            }
        }
    })
}

#[allow(clippy::disallowed_methods, reason = "the proxy's own side")]
fn pass(talk: &mut Talk, to: SocketAddr) {
    let mut there = TcpStream::connect(to).unwrap();
    let (mut back_from, mut back_to) =
        (there.try_clone().unwrap(), talk.stream.try_clone().unwrap());
    std::thread::spawn(move || copy(&mut back_from, &mut back_to));
    copy(&mut talk.stream, &mut there);
}

fn copy(from: &mut TcpStream, to: &mut TcpStream) {
    let mut some = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut some) {
        if to.write_all(&some[..n]).is_err() {
            return;
        }
    }
}

fn through(proxy: &Site, login: &str) -> impl FnOnce(&mut FetchSettings) {
    let url = format!("http://{login}{}", proxy.address);
    move |settings| {
        settings.proxies = Proxies::all(url.parse().unwrap());
        // The proxy is on loopback; a site may not be.
        settings.allow_net = Vec::new();
    }
}

#[test]
fn a_plain_request_goes_to_the_proxy_with_its_whole_url() {
    let proxy = proxy(None);
    run(async {
        let client = Client::with(through(&proxy, "user:pass@"));
        // A public address: nothing is looked up, and only the proxy is dialled.
        assert_eq!(client.get("http://192.0.1.7/a?b").await.said, "200 by the proxy");
        let stranger = Client::with(through(&proxy, ""));
        assert_eq!(stranger.get("http://192.0.1.7/").await.said, "sent, ProxyLogin");
    });
    assert!(
        proxy.heard()[0].starts_with("GET http://192.0.1.7/a?b HTTP/1.1\r\nhost: 192.0.1.7\r\n")
    );
}

#[test]
fn https_goes_through_a_tunnel_and_the_login_stays_outside() {
    let ca = Ca::new();
    let site = SecureSite::saying(ca.server(&["shop.test"], &[]), ok("", "page"));
    let proxy = proxy(Some(site.address));
    let pem = ca.pem.clone();
    run(async {
        let client = Client::with(|settings| {
            through(&proxy, "user:pass@")(settings);
            settings.ca_pem = pem;
            settings.pins = vec!["shop.test=192.0.1.7".parse().unwrap()];
        });
        assert_eq!(client.get("https://shop.test/").await.said, "200 page");
        assert_eq!(client.get("https://shop.test/").await.said, "200 page");
        let stranger = Client::with(through(&proxy, "user:wrong@"));
        assert_eq!(stranger.get("https://192.0.1.7/").await.said, "no line: ProxyLogin");
    });
    assert_eq!(site.heard().len(), 2);
    assert!(site.heard().iter().all(|head| !head.to_lowercase().contains("proxy-")));
    assert!(proxy.heard()[0].starts_with("CONNECT shop.test:443 HTTP/1.1\r\n"));
}

#[test]
fn what_can_be_seen_of_the_target_is_judged_before_the_proxy_is_asked() {
    let proxy = proxy(None);
    run(async {
        let client = Client::with(|settings| {
            through(&proxy, "user:pass@")(settings);
            settings.pins = vec!["inside.test=10.0.0.1".parse().unwrap()];
        });
        for inside in ["http://127.0.0.1/", "https://169.254.169.254/", "http://inside.test/"] {
            assert_eq!(client.get(inside).await.said, "no line: Guard", "{inside}");
        }
    });
    assert_eq!(proxy.accepted(), 0);
}

/// The proxy resolves a name that does not resolve here, unless the name is never public.
#[test]
fn names_that_are_never_public_are_not_asked_of_a_proxy() {
    let proxy = proxy(None);
    let mut settings = settings();
    through(&proxy, "user:pass@")(&mut settings);
    let outlet = Outlet::with_resolver(&settings, Scripted::new(&[])).unwrap();
    run(async {
        let client = Client::of(&outlet);
        for name in ["any.localhost", "printer.local", "metadata.google.internal", "a.home.arpa"] {
            let got = client.get(&format!("http://{name}/")).await;
            assert_eq!(got.said, "no line: Guard", "{name}");
        }
        assert_eq!(proxy.accepted(), 0);
        let got = client.get("http://nobody.is-not-local.invalid/").await;
        assert_eq!(got.said, "200 by the proxy");
    });
}

/// An address of this machine on its network, which the proxy would dial.
#[test]
fn our_own_address_is_refused_behind_a_proxy_too() {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    #[allow(clippy::disallowed_methods, reason = "asks for a route, sends nothing")]
    if socket.connect("198.51.100.1:9").is_err() {
        return left_out("this machine has no address besides loopback");
    }
    let own = socket.local_addr().unwrap().ip();
    let proxy = proxy(None);
    let client = Client::with(through(&proxy, "user:pass@"));
    let got = run(async { client.get(&format!("http://{own}/")).await });
    assert_eq!(got.said, "no line: Guard");
    assert_eq!(proxy.accepted(), 0);
}

#[test]
fn a_proxy_that_is_not_there_or_goes_on_and_on() {
    let gone = "http://127.0.0.1:1".parse().unwrap();
    let client = Client::with(|settings| settings.proxies = Proxies::all(gone));
    assert_eq!(run(async { client.get("http://192.0.1.7/").await.said }), "no line: Proxy");
    let endless = Site::new(|talk| {
        talk.hear();
        while talk.say("HTTP/1.1 200 OK, and ") {}
    });
    let client = Client::with(through(&endless, ""));
    assert_eq!(
        run(async { client.get("https://192.0.1.7/").await.said }),
        "no line: OverLimit(Proxy)"
    );
}
