//! Certificates and handshakes.

use std::time::Duration;

use super::super::case::Expectation::NoRobots;
use super::super::case::{Deadline, ZooCase, ZooProtocol};
use super::super::script::{ScriptStep, ZooScript};
use crate::certificate::CertificateFault;

pub(super) fn cases() -> Vec<ZooCase> {
    let case = |name, does, error| ZooCase::new(name, does, NoRobots(error));
    let with = |name, does, error, fault| case(name, does, error).speaks(ZooProtocol::Tls(fault));
    let raw =
        |name, does, error, opens| case(name, does, error).speaks(ZooProtocol::Raw).opens(opens);
    vec![
        with("tls-expired", "Has a certificate of 2019", "tls_expired", CertificateFault::Expired),
        with(
            "tls-not-yet",
            "Has a certificate of the year 3000",
            "tls_expired",
            CertificateFault::NotYet,
        ),
        with(
            "tls-other-name",
            "Has a certificate for another host",
            "tls_name",
            CertificateFault::OtherName,
        ),
        with(
            "tls-self-signed",
            "Has signed its certificate itself",
            "tls_issuer",
            CertificateFault::SelfSigned,
        ),
        with(
            "tls-unknown-issuer",
            "Has a certificate of an authority that nobody knows",
            "tls_issuer",
            CertificateFault::UnknownIssuer,
        ),
        with(
            "tls-other-key",
            "Signs the handshake with a key that is not its certificate's",
            "tls",
            CertificateFault::OtherKey,
        ),
        raw("tls-garbage", "Answers the handshake with noise", "tls", || {
            ZooScript::say(*b"\x00\xff\x13\x37 this is no record \xfe\xed").silence()
        }),
        raw("tls-plain-http", "Speaks plain HTTP on the port for TLS", "tls", || {
            ZooScript::say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").close()
        }),
        raw("tls-old", "Answers with a ServerHello of TLS 1.0", "tls", || {
            ZooScript::say(server_hello([3, 1], [0x00, 0x2f])).silence()
        }),
        raw("tls-alert", "Answers with a fatal alert: no such version", "tls", || {
            ZooScript::say(record(21, &[2, 70])).close()
        }),
        raw("tls-unknown-suite", "Chooses a cipher suite that nobody offered", "tls", || {
            ZooScript::say(server_hello([3, 3], [0xca, 0xfe])).silence()
        }),
        raw("tls-huge-record", "Begins with a record of 64 KiB", "tls", || {
            ZooScript::say([vec![22, 3, 3, 0xff, 0xff], vec![2; 0xffff]].concat()).silence()
        }),
        raw("tls-cut", "Cuts the handshake in the middle of its ServerHello", "tls", || {
            let hello = server_hello([3, 3], [0x13, 0x01]);
            ZooScript::say(&hello[..hello.len() / 2]).close()
        }),
        raw("tls-reset", "Resets the connection in the handshake", "tls", || {
            ZooScript::new().then(ScriptStep::Wait(Duration::from_millis(50))).reset()
        }),
        raw("tls-silence", "Accepts and never shakes hands", "connect_timeout", || {
            ZooScript::new().silence()
        })
        .by(Deadline::Handshake),
        raw("tls-drip", "Shakes hands a byte every 300 ms", "connect_timeout", || {
            let hello = server_hello([3, 3], [0x13, 0x01]);
            ZooScript::new()
                .then(ScriptStep::Drip(hello.into(), Duration::from_millis(300)))
                .silence()
        })
        .by(Deadline::Handshake),
        raw("tls-empty-records", "Sends empty records without end", "tls", || {
            ZooScript::new().endless(record(22, &[]).repeat(1_000))
        })
        .by(Deadline::Handshake),
        raw("tls-alerts", "Sends warnings without end", "tls", || {
            ZooScript::new().endless(record(21, &[1, 112]).repeat(1_000))
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
