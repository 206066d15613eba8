//! What the log says, and that the judge can read it.

use std::net::IpAddr;
use std::time::Duration;

use curtsy_judge::{
    ConnectionChange, ConnectionEvent, Exchange, Judge, LogEntry, LogScheme, Manners, Rule,
    read_log,
};
use curtsy_lab::sites::{Answer, Deaf, Ending, Host, Scene, Sites, SitesSettings};

use super::client::{Client, serve};

/// The log, once it has so many lines: what a client broke off ends when the server notices.
pub(crate) fn log_of(sites: &Sites, lines: usize) -> Vec<Exchange> {
    loop {
        let log = sites.log();
        if log.len() >= lines {
            return log;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_line_says_what_was_asked_and_answered() {
    let answer = Answer {
        cache_control: Some("no-store".to_owned()),
        etag: Some("\"e\"".to_owned()),
        ..Answer::moved("/x?y=1", 302, "/z").retry_after_seconds(4)
    };
    let sites = serve([Host::named("a.test"), Host::named("b.test").says(answer)]);
    let mut client = Client::of(&sites, 1);
    client.get_with(
        "/x?y=1",
        "User-Agent: bot/1.0 (+mailto:me@example.org)\r\nfrom: me@example.org\r\nCookie: a=b\r\nAuthorization: Basic eA==\r\n\
         If-None-Match: \"f\"\r\nIf-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
    );
    let log = sites.log();
    let [line] = &log[..] else { panic!("one line: {log:?}") };
    let mine = client.stream.local_addr().unwrap();
    let asked = client.stream.peer_addr().unwrap();
    assert_eq!(
        (line.peer, line.local, line.port),
        (Some(mine.ip()), Some(asked.ip()), asked.port())
    );
    assert_eq!((line.scheme, &*line.host, &*line.method), (LogScheme::Http, "b.test", "GET"));
    assert_eq!((&*line.target, line.status, line.complete), ("/x?y=1", Some(302), true));
    assert_eq!(line.user_agent.as_deref(), Some("bot/1.0 (+mailto:me@example.org)"));
    assert_eq!(line.from.as_deref(), Some("me@example.org"));
    assert_eq!(line.if_none_match.as_deref(), Some("\"f\""));
    assert_eq!(line.if_modified_since.as_deref(), Some("Thu, 01 Jan 2026 00:00:00 GMT"));
    assert!(line.cookie && line.authorization);
    assert_eq!((line.location.as_deref(), line.retry_after.as_deref()), (Some("/z"), Some("4")));
    assert_eq!(
        (line.cache_control.as_deref(), line.etag.as_deref()),
        (Some("no-store"), Some("\"e\""))
    );
    assert!(line.date.is_some() && line.start <= line.end && line.start > 1_600_000_000_000_000);
}

#[test]
fn hosts_are_told_apart_by_address_and_by_name() {
    let here = std::net::Ipv4Addr::new(127, 9, 9, 9);
    let hosts =
        [Host::named("a.test").at(here), Host::named("b.test").at(here), Host::named("c.test")];
    let sites = serve(hosts.map(|host| host.pages(2, 1, 100)));
    let mut client = Client::of(&sites, 0);
    let mut title = |host: &str| {
        client.send(&format!("GET /p/1 HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let reply = client.reply().unwrap();
        let text = reply.text();
        text.split("<title>")
            .nth(1)
            .and_then(|rest| rest.split('<').next())
            .unwrap_or(&text)
            .to_owned()
    };
    assert_eq!(title("a.test"), "Page 1 of a.test");
    assert_eq!(title("B.TEST.:8080"), "Page 1 of b.test");
    assert_eq!(title("127.9.9.9"), "Page 1 of a.test");
    assert_eq!(title("localhost:1"), "Page 1 of a.test");
    // It lives elsewhere; the connection closes.
    assert_eq!(title("c.test"), "421 Misdirected Request\n");
    let log = sites.log();
    assert_eq!((&*log[1].host, log[1].port), ("B.TEST.", 8080));
    assert_eq!(log[2].port, sites.port());
}

#[test]
fn connections_are_kept_and_counted() {
    let mut brief = Host::named("b.test").pages(3, 2, 100);
    brief.close_after = Some(2);
    let sites = serve([Host::named("a.test").pages(3, 2, 100), brief]);
    let mut first = Client::of(&sites, 0);
    let mut second = Client::of(&sites, 0);
    first.get("/");
    second.get("/p/1");
    first.get("/p/2");
    let conns: Vec<u64> = sites.log().iter().map(|line| line.conn).collect();
    assert!(conns[0] == conns[2] && conns[0] != conns[1], "{conns:?}");
    let mut third = Client::of(&sites, 1);
    assert_eq!(third.get("/").header("Connection"), None);
    assert_eq!(third.get("/").header("Connection"), Some("close"));
    assert!(!third.ends_by_reset());
    assert_eq!(first.get_with("/", "Connection: close\r\n").header("Connection"), Some("close"));
    assert!(!first.ends_by_reset());
    assert_eq!(sites.health().accepted, 3);
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    let slow = Answer { first_byte: Duration::from_millis(5), ..Answer::to("/p/1") };
    let sites = serve([Host::named("a.test").pages(4, 2, 300).says(slow)]);
    let mut client = Client::of(&sites, 0);
    let line = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
    client.send(&[line("/p/1"), line("/p/2"), line("/p/3")].concat());
    for page in 1..4 {
        assert!(client.reply().unwrap().text().contains(&format!("<title>Page {page} ")));
    }
    assert_eq!(sites.log().len(), 3);
}

#[test]
fn a_request_counts_from_its_first_byte() {
    let sites = serve([Host::named("a.test").pages(2, 1, 100)]);
    let mut slow = Client::of(&sites, 0);
    slow.send("GET / HT");
    // Until this is answered the server has had the time to read the first part.
    let mut quick = Client::of(&sites, 0);
    for _ in 0..20 {
        quick.get("/p/1");
    }
    slow.send("TP/1.1\r\nHost: a.test\r\n\r\n");
    slow.reply().unwrap();
    let log = sites.log();
    let of_slow = log.iter().find(|line| &*line.target == "/").unwrap();
    let last = log.iter().rfind(|line| &*line.target == "/p/1").unwrap();
    assert!(of_slow.start < last.start && last.end <= of_slow.end);
}

#[test]
fn head_has_no_body_and_other_methods_are_refused() {
    let sites = serve([Host::named("a.test").pages(2, 1, 900)]);
    let mut client = Client::of(&sites, 0);
    client.send("HEAD /p/1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!(client.reply_of(true).unwrap().header("Content-Length"), Some("900"));
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(client.reply().unwrap().status, 405);
    let log = sites.log();
    let methods: Vec<&str> = log.iter().map(|line| &*line.method).collect();
    assert_eq!(methods, ["HEAD", "POST"]);
}

#[test]
fn a_deaf_host_marks_what_it_reads_late() {
    let mut host = Host::named("a.test").pages(2, 1, 100);
    host.deaf = Some(Deaf { percent: 100, lasts: Duration::from_millis(40) });
    let sites = serve([host, Host::named("b.test")]);
    let mut client = Client::of(&sites, 0);
    client.get("/");
    client.get("/p/1");
    let log = sites.log();
    assert!(log.iter().all(|line| line.read_late), "{log:?}");
    // The log's start is when it was read, not when it came.
    assert!(log[1].start - log[0].end >= 40_000);
}

#[test]
fn the_judge_reads_the_file() {
    let folder = std::env::temp_dir().join(format!("curtsy-loopback-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("log.jsonl");
    let host = Host::named("a.test").pages(5, 2, 300).robots("User-agent: *\nDisallow: /p/2\n");
    let scene = Scene { hosts: vec![host], ..Scene::default() };
    let settings = SitesSettings { log: Some(path.clone()), ..SitesSettings::default() };
    let sites = Sites::start(scene, settings).unwrap();
    let mut client = Client::of(&sites, 0);
    for path in ["/robots.txt", "/", "/p/1", "/p/2"] {
        client.get_with(path, "User-Agent: bot/1.0 (+mailto:me@example.org)\r\n");
    }
    let left = sites.stop().unwrap();
    let text = std::fs::read(&path).unwrap();
    let (mut lines, mut connections) = (Vec::new(), Vec::new());
    for line in read_log(&text[..]) {
        match line.unwrap() {
            LogEntry::Exchange(exchange) => lines.push(exchange),
            LogEntry::Connection(event) => connections.push(event),
        }
    }
    assert_eq!((&lines, &connections), (&left.log, &left.connections));
    assert_eq!(connections[0].change, ConnectionChange::Accepted);
    assert_eq!((connections[0].conn, connections[0].host.as_deref()), (1, Some("a.test")));
    assert!(connections[0].at <= lines[0].start && lines[0].conn == 1);
    assert_eq!(lines[0].robots_body.as_deref(), Some(&b"User-agent: *\nDisallow: /p/2\n"[..]));
    let mut judge = Judge::new(Manners { delay_min: Duration::ZERO, ..Manners::default() });
    judge.read([&text[..]]);
    let report = judge.finish();
    assert_eq!((report.exchanges, report.unreadable), (4, 0));
    let broken: Vec<Rule> = report.first.iter().map(|violation| violation.rule).collect();
    assert_eq!(broken, [Rule::P2]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_under_way_at_the_end_is_in_the_log_too() {
    let slow = Answer { first_byte: Duration::from_secs(3600), ..Answer::to("/") };
    let sites = serve([Host::named("a.test").says(slow)]);
    let mut client = Client::of(&sites, 0);
    client.request("/", "");
    Client::of(&sites, 0).get("/robots.txt");
    let left = sites.stop().unwrap();
    // The first may not have been read by then; if it was, it was broken off.
    assert!(left.log.iter().all(|line| (&*line.target == "/robots.txt") == line.complete));
    assert_eq!(client.reply(), None);
}

/// The connections of a site, once so many were accepted or closed.
fn connections_of(sites: &Sites, events: usize) -> Vec<ConnectionEvent> {
    loop {
        let connections = sites.connections();
        if connections.len() >= events {
            return connections;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_connection_is_logged_when_it_is_accepted_and_when_it_is_closed() {
    use ConnectionChange::{Accepted, ClosedByClient, ClosedByServer};
    let reset = Answer { ending: Ending::Reset, ..Answer::to("/reset") };
    let sites = serve([Host::named("a.test").says(reset)]);
    let mut client = Client::of(&sites, 0);
    let mine = client.stream.local_addr().unwrap();
    let changes = |connections: &[ConnectionEvent]| -> Vec<(u64, ConnectionChange)> {
        connections.iter().map(|event| (event.conn, event.change)).collect()
    };
    // It is in the log before its first request is.
    let connections = connections_of(&sites, 1);
    assert_eq!(changes(&connections), [(1, Accepted)]);
    let event = &connections[0];
    assert_eq!(
        (event.peer, event.local),
        (Some(mine.ip()), Some(IpAddr::V4(*sites.hosts()[0].address.ip())))
    );
    assert_eq!((event.port, event.host.as_deref()), (sites.port(), Some("a.test")));
    client.get("/");
    drop(client);
    let mut client = Client::of(&sites, 0);
    client.request("/reset", "");
    assert!(client.ends_by_reset());
    let connections = connections_of(&sites, 4);
    let expected = [(1, Accepted), (1, ClosedByClient), (2, Accepted), (2, ClosedByServer)];
    let mut found = changes(&connections);
    found.sort_by_key(|(conn, _)| *conn);
    assert_eq!(found, expected);
    let log = sites.log();
    assert_eq!(log.iter().map(|line| line.conn).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_host_closes_what_is_idle_and_what_it_does_not_want() {
    let mut idle = Host::named("a.test");
    idle.idle_max = Some(Duration::from_millis(50));
    let shut = Host { shut_percent: 100, ..Host::named("b.test") };
    let sites = serve([idle, shut]);
    let mut client = Client::of(&sites, 0);
    client.get("/");
    let connections = connections_of(&sites, 2);
    assert_eq!(connections[1].change, ConnectionChange::ClosedByServer);
    let idle_for = connections[1].at - sites.log()[0].end;
    assert!(idle_for >= 50_000, "{idle_for}");
    let unread = Client::of(&sites, 1);
    let connections = connections_of(&sites, 4);
    assert_eq!(connections[3].change, ConnectionChange::ClosedByServer);
    drop(unread);
    assert_eq!(sites.log().len(), 1, "nothing was read");
}
