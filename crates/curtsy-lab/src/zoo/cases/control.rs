//! Hosts that behave: who fails here need not look at the others.

use super::super::case::Expectation::Page;
use super::super::case::{ZooCase, ZooProtocol};
use crate::certificate::CertificateFault;

pub(super) fn cases() -> Vec<ZooCase> {
    let case = |name, does| ZooCase::new(name, does, Page(200));
    vec![
        case("good", "Behaves, in HTTP/1.1"),
        case("good-tls", "Behaves, over TLS").speaks(ZooProtocol::Tls(CertificateFault::None)),
        case("good-http2", "Behaves, in HTTP/2").speaks(ZooProtocol::Http2),
    ]
}
