//! Reused lines, lines that the server closed while idle, and the limit on lines.

use std::time::Duration;

use curtsy_engine::{Clock, Connected, Line, Mono};

use crate::client::{Client, approach, request, run};
use crate::site::{Site, ok};

#[test]
fn a_line_is_used_again_after_a_whole_body() {
    let site = Site::saying(ok("", "page"));
    run(async {
        let client = Client::new();
        for n in 0..5 {
            assert_eq!(client.get(&site.url(&format!("/{n}"))).await.said, "200 page");
            assert_eq!(client.fetch.idle(), 1);
        }
        let counts = client.fetch.counts();
        assert_eq!((counts.dialled, counts.reused), (1, 4));
        assert!(counts.bytes_in > 5 * 40 && counts.bytes_out > 5 * 100);
    });
    assert_eq!((site.accepted(), site.heard().len()), (1, 5));
}

#[test]
fn a_line_is_not_used_again_after_a_fault_or_a_close() {
    for answer in [
        ok("Connection: close\r\n", "page"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\npage".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbad\r\n".to_vec(),
    ] {
        let site = Site::saying(answer);
        run(async {
            let client = Client::new();
            client.get(&site.url("/")).await;
            assert_eq!(client.fetch.idle(), 0);
            client.get(&site.url("/")).await;
        });
        assert_eq!(site.accepted(), 2);
    }
}

#[test]
fn what_follows_a_body_unasked_is_never_another_answer() {
    let poisoned = [ok("", "page"), ok("", "poison")].concat();
    let site = Site::saying(poisoned);
    run(async {
        let client = Client::new();
        for _ in 0..3 {
            assert_eq!(client.get(&site.url("/")).await.said, "200 page");
        }
    });
    assert_eq!(site.accepted(), 3);
}

#[test]
fn poison_that_comes_later_is_no_answer_either() {
    let site = Site::new(|talk| {
        while talk.hear().is_some() {
            talk.say(ok("", "page"));
            std::thread::sleep(Duration::from_millis(30));
            talk.say(ok("", "poison"));
        }
    });
    run(async {
        let client = Client::new();
        for _ in 0..3 {
            assert_eq!(client.get(&site.url("/")).await.said, "200 page");
            tokio::time::sleep(Duration::from_millis(80)).await;
        }
    });
    assert_eq!(site.accepted(), 3);
}

#[test]
fn a_line_that_the_server_closed_is_not_handed_out() {
    let site = Site::saying_once(ok("", "page"));
    run(async {
        let client = Client::new();
        for _ in 0..3 {
            assert_eq!(client.get(&site.url("/")).await.said, "200 page");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(client.fetch.counts().unsent, 0, "no turn was lost");
    });
    assert_eq!(site.accepted(), 3);
}

/// Many servers close an idle line after five seconds. A line that is needed later is dialled in
/// time.
#[test]
fn a_line_is_not_trusted_to_stand_until_a_turn_that_is_far_away() {
    for (headers, turn_in, dialled) in [
        ("", 3, 1),
        ("", 6, 2),
        ("Keep-Alive: timeout=20\r\n", 6, 1),
        ("Keep-Alive: timeout=2\r\n", 3, 2),
    ] {
        let site = Site::saying(ok(headers, "page"));
        run(async {
            let client = Client::new();
            client.get(&site.url("/")).await;
            let (ticket, _) = approach(&site.url("/"));
            let turn = client.clock.mono() + Duration::from_secs(turn_in);
            let line = client.line(&ticket, turn).await;
            assert!(line.is_ok());
            assert_eq!(client.fetch.counts().dialled, dialled, "{headers:?} in {turn_in} s");
        });
    }
}

/// Nothing runs between the response and the next request: only the socket shows that it was
/// closed.
#[test]
fn a_line_that_was_closed_behind_its_answer_is_not_handed_out() {
    let site = Site::saying_once(ok("", "page"));
    run(async {
        let client = Client::new();
        for _ in 0..3 {
            assert_eq!(client.get(&site.url("/")).await.said, "200 page");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(client.fetch.counts().unsent, 0, "no turn was lost");
    });
    assert_eq!(site.accepted(), 3);
}

#[test]
fn a_line_that_dies_while_it_waits_for_its_turn_sends_nothing() {
    let site = Site::new(|talk| {
        if talk.connection > 0 {
            talk.hear();
            talk.say(ok("", "page"));
        }
    });
    run(async {
        let client = Client::new();
        let (ticket, booked) = approach(&site.url("/"));
        let Ok(Connected { mut line, .. }) = client.line(&ticket, Mono(0)).await else {
            panic!("it was accepted");
        };
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(client.send(&mut line, booked, &request()).await.said, "not sent");
        drop(line);
        assert_eq!(client.get(&site.url("/")).await.said, "200 page");
    });
    assert_eq!(site.heard().len(), 1);
}

#[test]
fn a_line_that_was_not_used_is_kept() {
    let site = Site::saying(ok("", "page"));
    run(async {
        let client = Client::new();
        let (ticket, _) = approach(&site.url("/"));
        drop(client.line(&ticket, Mono(0)).await);
        assert_eq!(client.fetch.idle(), 1);
        assert_eq!(client.get(&site.url("/")).await.said, "200 page");
    });
    assert_eq!(site.accepted(), 1);
}

#[test]
fn a_body_that_nobody_reads_costs_its_line_unless_it_is_short() {
    for (bytes, accepted) in [(10, 1), (60_000, 1), (300_000, 2)] {
        let site = Site::saying(ok("", vec![b'x'; bytes]));
        run(async {
            let client = Client::new();
            let (ticket, booked) = approach(&site.url("/"));
            let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
            let written = std::cell::Cell::new(None);
            let permit = client.permit(booked, Duration::from_secs(3_600));
            line.send(permit, &request(), &written).await;
            line.discard().await;
            drop(line);
            client.get(&site.url("/")).await;
        });
        assert_eq!(site.accepted(), accepted, "{bytes}");
    }
}

#[test]
fn the_oldest_idle_line_gives_way_at_the_cap() {
    let sites: Vec<Site> = (0..4).map(|_| Site::saying(ok("", "page"))).collect();
    run(async {
        let client = Client::with(|s| s.connections_max = 2);
        for site in &sites {
            assert_eq!(client.get(&site.url("/")).await.said, "200 page");
        }
        assert_eq!(client.fetch.idle(), 2);
        client.get(&sites[3].url("/")).await;
        client.get(&sites[2].url("/")).await;
        client.get(&sites[0].url("/")).await;
    });
    let accepted: Vec<usize> = sites.iter().map(Site::accepted).collect();
    assert_eq!(accepted, [2, 1, 1, 1]);
}

#[test]
fn at_the_cap_a_dial_waits_for_a_place() {
    let site = Site::new(|talk| {
        while talk.hear().is_some() {
            std::thread::sleep(Duration::from_millis(30));
            talk.say(ok("", "page"));
        }
    });
    run(async {
        let client = Client::with(|s| {
            s.connections_max = 2;
            s.idle_per_authority = 8;
            s.timeouts.whole = Duration::from_secs(20);
        });
        let urls: Vec<String> = (0..8).map(|n| site.url(&format!("/{n}"))).collect();
        for got in futures_util::future::join_all(urls.iter().map(|u| client.get(u))).await {
            assert_eq!(got.said, "200 page");
        }
    });
    assert_eq!(site.heard().len(), 8);
}

#[test]
fn a_server_that_says_how_long_it_keeps_a_line_is_believed() {
    let site = Site::saying(ok("Keep-Alive: timeout=0, max=5\r\n", "page"));
    run(async {
        let client = Client::new();
        client.get(&site.url("/")).await;
        client.get(&site.url("/")).await;
    });
    assert_eq!(site.accepted(), 2);
}
