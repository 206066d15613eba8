//! Hosts that behave: who fails here need not look at the others.

use super::super::case::{Case, Expect, Group, Speaks};
use crate::certificate::Fault;

pub(super) fn cases() -> Vec<Case> {
    let case = |name, does| Case::new(Group::Control, name, does, Expect::Page(200));
    vec![
        case("good", "Behaves, in HTTP/1.1"),
        case("good-tls", "Behaves, over TLS").speaks(Speaks::Tls(Fault::None)),
        case("good-http2", "Behaves, in HTTP/2").speaks(Speaks::Http2),
    ]
}
