//! The meaning of an answer for robots.txt (RFC 9309 §2.3.1) and of a Retry-After.

use std::sync::Arc;

use crate::exchange::Exchange;
use crate::header;
use crate::manners::{Access, Manners};
use crate::matchers::{Matchers, Text};

/// The rules of a robots.txt.
#[derive(Clone)]
pub(crate) enum Says {
    Everything,
    Nothing,
    Text(Arc<Text>),
    /// The log does not have them.
    Unknown,
}

impl Says {
    /// Returns the Crawl-delay, if it is known.
    pub(crate) fn crawl_delay(&self) -> Option<u64> {
        match self {
            Says::Text(text) => Some(text.crawl_delay),
            Says::Everything | Says::Nothing => Some(0),
            Says::Unknown => None,
        }
    }
}

/// The meaning of a response to a request for robots.txt.
pub(crate) enum RobotsMeaning {
    Says(Says),
    /// 304: the rules are unchanged.
    Unchanged,
    Unreachable,
    Redirect,
}

/// Returns the meaning of an answer to `GET /robots.txt`, or to the last hop of its redirects.
pub(crate) fn answer_of(
    x: &Exchange,
    given: Option<&Arc<[u8]>>,
    product: &str,
    manners: &Manners,
    matchers: &mut Matchers,
) -> RobotsMeaning {
    // A crawler may hang up after the 500 KiB that it must read (RFC 9309 §2.5).
    let enough = x.robots_body.as_ref().is_some_and(|body| body.len() >= BODY_ENOUGH);
    let Some(status) = x.status.filter(|_| x.complete || enough) else {
        return RobotsMeaning::Unreachable;
    };
    match status {
        200..=299 => match x.robots_body.as_ref().or(given) {
            Some(body) => RobotsMeaning::Says(Says::Text(matchers.read(body, product))),
            None if status == 204 => RobotsMeaning::Says(Says::Everything),
            None => RobotsMeaning::Says(Says::Unknown),
        },
        304 => RobotsMeaning::Unchanged,
        300..=399 => RobotsMeaning::Redirect,
        401 | 403 if manners.forbidden == Access::Deny => RobotsMeaning::Says(Says::Nothing),
        429 => RobotsMeaning::Unreachable,
        400..=499 => RobotsMeaning::Says(Says::Everything),
        _ => RobotsMeaning::Unreachable,
    }
}

/// Returns the wait that an answer demands, if it does.
pub(crate) fn told_to_wait(x: &Exchange) -> Option<u64> {
    header::retry_after(x.retry_after.as_deref()?, x.date.as_deref(), x.end)
}

pub(crate) fn allows(says: &Says, x: &Exchange, matchers: &mut Matchers) -> Option<bool> {
    match says {
        Says::Everything => Some(true),
        Says::Nothing => Some(&*x.target == "/robots.txt"),
        Says::Text(text) => Some(matchers.allows(text, &x.target)),
        Says::Unknown => None,
    }
}

/// How much of a robots.txt a crawler must read.
const BODY_ENOUGH: usize = 512_000;
