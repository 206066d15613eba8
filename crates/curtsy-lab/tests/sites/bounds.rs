//! That nothing a client or a description does goes beyond its bounds.

use curtsy_lab::StartError;
use curtsy_lab::sites::{Answer, Ending, Host, Scene, SceneError, Sites, SitesSettings, Window};

use super::client::{Client, serve};

#[test]
fn requests_that_can_not_be_answered_are_refused_and_logged() {
    let sites = serve([Host::named("a.test")]);
    let long = format!("GET / HTTP/1.1\r\nHost: a.test\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        (long.as_str(), 431),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
    ] {
        let mut client = Client::of(&sites, 0);
        client.send(request);
        assert_eq!(client.reply().unwrap().status, status);
        assert!(!client.ends_by_reset());
        let log = sites.log();
        let last = log.last().unwrap();
        assert_eq!((last.status, &*last.method), (Some(status), "UNREADABLE"));
    }
}

#[test]
fn too_many_connections_are_turned_away() {
    let scene = Scene::plain(1, 2, 1, 100);
    let settings = SitesSettings { connections_max: 3, ..SitesSettings::default() };
    let sites = Sites::start(scene, settings).unwrap();
    let mut clients: Vec<Client> = (0..3).map(|_| Client::of(&sites, 0)).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").status, 200);
    }
    let mut fourth = Client::of(&sites, 0);
    assert_eq!(fourth.reply(), None);
    assert_eq!(sites.health().turned_away, 1);
    // One leaves, and another is let in.
    clients.pop();
    loop {
        let mut next = Client::of(&sites, 0);
        next.send("GET / HTTP/1.1\r\nHost: h0.test\r\n\r\n");
        if next.reply().is_some() {
            break;
        }
    }
}

#[test]
fn the_log_in_memory_is_bounded_and_says_so() {
    let settings = SitesSettings { log_in_memory_max: 2, ..SitesSettings::default() };
    let sites = Sites::start(Scene::plain(1, 2, 1, 100), settings).unwrap();
    let mut client = Client::of(&sites, 0);
    for _ in 0..5 {
        client.get("/");
    }
    assert_eq!((sites.log().len(), sites.health().forgotten), (2, 3));
}

#[test]
fn two_thousand_connections_at_once_are_served() {
    let sites = Sites::start(Scene::plain(50, 20, 3, 1_000), SitesSettings::default()).unwrap();
    let mut clients: Vec<Client> = (0..2_000).map(|n| Client::of(&sites, n % 50)).collect();
    for client in &mut clients {
        client.request("/p/7", "");
    }
    for client in &mut clients {
        assert_eq!(client.reply().unwrap().body.len(), 1_000);
    }
    let log = sites.log();
    assert_eq!(log.len(), 2_000);
    let addresses: std::collections::HashSet<_> = log.iter().map(|line| line.local).collect();
    assert_eq!(addresses.len(), 50);
}

#[test]
fn a_host_that_refuses_is_closed_and_opens_again() {
    let mut host = Host::named("a.test").pages(2, 1, 100);
    host.refuse = vec![Window::ms(20, 200)];
    let sites = serve([host]);
    let mut client = Client::of(&sites, 0);
    client.get("/");
    assert!(client.ends_by_reset());
    #[expect(clippy::disallowed_methods, reason = "a test's client")]
    let refused = std::net::TcpStream::connect(sites.hosts()[0].address).is_err();
    assert!(refused || sites.log().len() == 1);
    loop {
        #[expect(clippy::disallowed_methods, reason = "a test's client")]
        if std::net::TcpStream::connect(sites.hosts()[0].address).is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(Client::of(&sites, 0).get("/").status, 200);
}

#[test]
fn an_end_while_clients_wait_leaves_nobody_waiting() {
    let sites = serve([Host::named("a.test").says(Answer::to("/").ending(Ending::Hang))]);
    let mut client = Client::of(&sites, 0);
    client.request("/", "");
    drop(sites);
    assert_eq!(client.reply(), None);
}

#[track_caller]
fn refused(text: &str, part: &str) {
    let error = Scene::read(text).unwrap_err();
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn descriptions_are_refused_with_what_would_do() {
    refused("", "has 0");
    refused("[[host]]\nnmae = 'a'\n", "unknown field `nmae`");
    refused("[[host]]\naddress = '10.0.0.1'\n", "not loopback\nhint: ");
    refused("[[host]]\naddress = '0.0.0.0'\n", "not loopback");
    refused(
        "[[host]]\nname = 'a.test'\naddress = '127.0.0.1'\n[[host]]\nname = 'A.test'\naddress = '127.0.0.1'\n",
        "twice at 127.0.0.1",
    );
    refused("[[host]]\nname = 'a b'\n", "`name` of host `a b`");
    refused("[[host]]\nthink = { min = '3s', max = '1s' }\n", "`min` is more than `max`");
    refused("[[host]]\nthink = { min = '3' }\n", "is not a span");
    refused("[[host]]\npages = { bytes = 4000000000 }\n", "at most 64 MiB");
    refused("[[host]]\n[[host.answer]]\npath = 'x'\n", "`path` begins with `/`");
    refused("[[host]]\n[[host.answer]]\npath = '/'\nstatus = 99\n", "`status` is 200 to 599");
    refused("[[host]]\n[[host.answer]]\npath = '/'\nretry_after = 'soon'\n", "`date+2`");
    refused(
        "[[host]]\n[[host.answer]]\npath = '/'\nheaders = ['a: b\\r\\nc: d', 'x']\n",
        "`Name: value`",
    );
    refused(
        "[[host]]\n[[host.answer]]\npath = '/'\nheaders = [\"a: b\\r\\nc: d\"]\n",
        "a header is one line",
    );
    refused(
        "[[host]]\n[[host.answer]]\npath = '/'\nheaders = ['Content-Length: 4']\n",
        "`framing`",
    );
    refused("[[host]]\n[[host.answer]]\npath = '/'\nbody = { hex = 'abc' }\n", "pairs");
    refused("port = 8080\ntls_port = 8080\n[[host]]\n", "are both 8080");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let first = serve([Host::named("a.test")]);
    let scene = Scene { port: first.port(), ..Scene::plain(1, 1, 1, 1) };
    let error = Sites::start(scene, SitesSettings::default()).err().unwrap();
    assert!(matches!(error, StartError::Listen { .. }), "{error}");
    let scene =
        Scene { hosts: vec![Host::named("a.test").at([8, 8, 8, 8].into())], ..Scene::default() };
    let error = Sites::start(scene, SitesSettings::default()).err().unwrap();
    assert!(matches!(error, StartError::Scene(SceneError::NotLoopback { .. })), "{error}");
}
