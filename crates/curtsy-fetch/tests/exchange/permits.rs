//! A permit that is late at the write sends nothing.

use std::cell::Cell;
use std::time::Duration;

use curtsy_engine::{Connected, Line, Mono, Sent};

use crate::client::{Client, approach, request, run};
use crate::site::{Site, ok};

#[test]
fn a_late_permit_sends_nothing() {
    let site = Site::saying(ok("", "page"));
    run(async {
        let client = Client::new();
        let (ticket, booked) = approach(&site.url("/"));
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        let (written, permit) = (Cell::new(None), client.permit(booked, Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        let sent = line.send(permit, &request(), &written).await;
        assert!(matches!(sent, Sent::NotSent));
        assert_eq!((written.get(), client.fetch.counts().unsent), (None, 1));
        drop(line);
        assert_eq!(client.fetch.counts().bytes_out, 0, "not a byte");
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!((site.accepted(), site.heard().len()), (1, 0));
}

/// The thread is blocked between the call and its first poll, as in a debugger or on a busy
/// machine.
#[test]
fn a_permit_that_runs_out_while_the_thread_stands_still_sends_nothing() {
    let site = Site::saying(ok("", "page"));
    run(async {
        let client = Client::new();
        let (ticket, booked) = approach(&site.url("/"));
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        let (written, asked) = (Cell::new(None), request());
        let permit = client.permit(booked, Duration::from_millis(5));
        let sending = line.send(permit, &asked, &written);
        std::thread::sleep(Duration::from_millis(20));
        assert!(matches!(sending.await, Sent::NotSent));
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!(site.heard().len(), 0);
}

#[test]
fn a_permit_for_another_authority_is_none_for_this_line() {
    let (here, there) = (Site::saying(ok("", "here")), Site::saying(ok("", "there")));
    run(async {
        let client = Client::new();
        let (ticket, _) = approach(&here.url("/"));
        let (_, booked) = approach(&there.url("/"));
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        let (written, permit) = (Cell::new(None), client.permit(booked, Duration::from_secs(1)));
        let sent = line.send(permit, &request(), &written).await;
        assert!(matches!(sent, Sent::NotSent), "{sent:?}");
        assert_eq!((written.get(), client.fetch.counts().unsent), (None, 1));
        drop(line);
        assert_eq!(client.fetch.counts().bytes_out, 0, "not a byte");
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!((here.heard().len(), there.heard().len()), (0, 0));
}

#[test]
fn one_line_sends_one_request() {
    let site = Site::saying(ok("", "page"));
    run(async {
        let client = Client::new();
        let (ticket, first) = approach(&site.url("/"));
        let (_, second) = approach(&site.url("/"));
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        assert_eq!(client.send(&mut line, first, &request()).await.said, "200 page");
        assert_eq!(client.send(&mut line, second, &request()).await.said, "not sent");
    });
    assert_eq!(site.heard().len(), 1);
}
