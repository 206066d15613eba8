//! Certificates and handshakes.

use std::time::Duration;

use super::super::case::{Case, Deadline, Expect, Group, Speaks};
use super::super::script::{Script, Step};
use crate::certificate::Fault;

pub(super) fn cases() -> Vec<Case> {
    let case = |name, does, error| Case::new(Group::Tls, name, does, Expect::NoRobots(error));
    let with = |name, does, error, fault| case(name, does, error).speaks(Speaks::Tls(fault));
    let raw = |name, does, error, opens| case(name, does, error).speaks(Speaks::Raw).opens(opens);
    vec![
        with("tls-expired", "Has a certificate of 2019", "tls_expired", Fault::Expired),
        with("tls-not-yet", "Has a certificate of the year 3000", "tls_expired", Fault::NotYet),
        with("tls-other-name", "Has a certificate for another host", "tls_name", Fault::OtherName),
        with(
            "tls-self-signed",
            "Has signed its certificate itself",
            "tls_issuer",
            Fault::SelfSigned,
        ),
        with(
            "tls-unknown-issuer",
            "Has a certificate of an authority that nobody knows",
            "tls_issuer",
            Fault::UnknownIssuer,
        ),
        with(
            "tls-other-key",
            "Signs the handshake with a key that is not its certificate's",
            "tls",
            Fault::OtherKey,
        ),
        raw("tls-garbage", "Answers the handshake with noise", "tls", || {
            Script::say(*b"\x00\xff\x13\x37 this is no record \xfe\xed").silence()
        }),
        raw("tls-plain-http", "Speaks plain HTTP on the port for TLS", "tls", || {
            Script::say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").close()
        }),
        raw("tls-old", "Answers with a ServerHello of TLS 1.0", "tls", || {
            Script::say(server_hello([3, 1], [0x00, 0x2f])).silence()
        }),
        raw("tls-alert", "Answers with a fatal alert: no such version", "tls", || {
            Script::say(record(21, &[2, 70])).close()
        }),
        raw("tls-unknown-suite", "Chooses a cipher suite that nobody offered", "tls", || {
            Script::say(server_hello([3, 3], [0xca, 0xfe])).silence()
        }),
        raw("tls-huge-record", "Begins with a record of 64 KiB", "tls", || {
            Script::say([vec![22, 3, 3, 0xff, 0xff], vec![2; 0xffff]].concat()).silence()
        }),
        raw("tls-cut", "Cuts the handshake in the middle of its ServerHello", "tls", || {
            let hello = server_hello([3, 3], [0x13, 0x01]);
            Script::say(&hello[..hello.len() / 2]).close()
        }),
        raw("tls-reset", "Resets the connection in the handshake", "tls", || {
            Script::new().then(Step::Wait(Duration::from_millis(50))).reset()
        }),
        raw("tls-silence", "Accepts and never shakes hands", "connect_timeout", || {
            Script::new().silence()
        })
        .by(Deadline::Handshake),
        raw("tls-drip", "Shakes hands a byte every 300 ms", "connect_timeout", || {
            let hello = server_hello([3, 3], [0x13, 0x01]);
            Script::new().then(Step::Drip(hello.into(), Duration::from_millis(300))).silence()
        })
        .by(Deadline::Handshake),
        raw("tls-empty-records", "Sends empty records without end", "tls", || {
            Script::new().endless(record(22, &[]).repeat(1_000))
        })
        .by(Deadline::Handshake),
        raw("tls-alerts", "Sends warnings without end", "tls", || {
            Script::new().endless(record(21, &[1, 112]).repeat(1_000))
        })
        .by(Deadline::Handshake),
    ]
}

/// A record of TLS.
fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[kind, 3, 3], &length[..], payload].concat()
}

/// A ServerHello without extensions.
fn server_hello(version: [u8; 2], suite: [u8; 2]) -> Vec<u8> {
    let body = [&version[..], &[7; 32], &[0], &suite, &[0]].concat();
    let length = (body.len() as u32).to_be_bytes();
    record(22, &[&[2], &length[1..], &body[..]].concat())
}
