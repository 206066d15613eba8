//! The outcomes of requests, in the classes that decide what follows.
//!
//! A timeout or a 503 is a value here, never an error of ours.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{HostState, RequestKind};
use crate::chance::{Purpose, draw};
use crate::limits::Hit;
use crate::policy::{OnForbidden, Policy};
use crate::time::Time;

/// The end of one request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// A response, read to its end or as far as it is wanted.
    Answered {
        /// The status.
        status: u16,
        /// The Retry-After of the response, as a span.
        retry_after: Option<Duration>,
        /// A friction signal of the response.
        friction: Option<Friction>,
    },
    /// No usable response.
    Failed(Problem),
    /// Nothing was sent: the permit was too late or the connection was gone.
    NotSent,
}

/// Why there is no usable response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Problem {
    /// The name does not resolve.
    Dns,
    /// The connection was refused or could not be made.
    Connect,
    /// The connection was reset.
    Reset,
    /// Connecting took too long.
    ConnectTimeout,
    /// The TLS handshake failed.
    Tls,
    /// No first byte in time.
    FirstByteTimeout,
    /// The exchange took too long.
    WholeTimeout,
    /// The response is not readable as HTTP.
    Malformed,
    /// The body ended early, or the server sent a part of it (206), for which nobody had asked.
    Truncated,
    /// The body came too slowly.
    TooSlow,
    /// A limit on size was exceeded. A stored problem does not say which one: files of earlier
    /// versions have no place for it, and no decision depends on it.
    OverLimit(#[serde(skip)] Hit),
    /// A content type that is not wanted.
    ContentType,
    /// An address that may not be dialled.
    Guard,
    /// The certificate has expired or is not valid yet.
    TlsExpired,
    /// The certificate is for another name.
    TlsName,
    /// The certificate's issuer is not trusted.
    TlsIssuer,
    /// The body's coding cannot be decoded.
    Coding,
    /// A port on which another protocol than HTTP is spoken.
    Port,
    /// The proxy that the user named could not be reached.
    Proxy,
    /// The proxy wants a user and a password (407), or the network a login (511).
    ProxyLogin,
    /// The server does not speak TLS.
    TlsAbsent,
    /// The site refused the user's own credentials, and with them its robots.txt.
    OwnLogin,
    /// The proxy answered instead of the site: it cannot reach the site, or refuses to.
    ProxyRefused,
}

/// A friction signal that the status does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Friction {
    /// The site asks the client to prove itself.
    Challenge,
    /// Empty or unusual.
    Unusual,
}

/// What an outcome says about the host and the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// An ordinary answer.
    Good,
    /// A permanent failure of this URL only.
    UrlSpecific,
    /// A temporary failure of this URL.
    UrlPassing,
    /// The host is in trouble.
    SiteWide,
    /// A failure of the host or of this URL only: retried, and counted by the breaker while in a
    /// row.
    Ambiguous,
    /// The host demanded a wait. The breaker never counts it.
    ToldToWait,
    /// Our own side failed. Nothing is held against the host or the URL.
    Ours,
    /// Nothing happened.
    Nothing,
}

impl Outcome {
    /// Returns the class, by the merged requirement of seed 003.
    pub fn class(&self) -> Class {
        match *self {
            Outcome::NotSent => Class::Nothing,
            Outcome::Failed(problem) => problem.class(),
            Outcome::Answered { status, retry_after, friction } => match status {
                429 => Class::ToldToWait,
                503 if retry_after.is_some() => Class::ToldToWait,
                502..=504 | 520..=529 => Class::SiteWide,
                500..=599 => Class::Ambiguous,
                408 | 425 => Class::UrlPassing,
                400..=499 => Class::UrlSpecific,
                _ if friction == Some(Friction::Challenge) => Class::UrlSpecific,
                _ => Class::Good,
            },
        }
    }

    /// Returns the status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        match *self {
            Outcome::Answered { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns whether the status demands a login. This is an outcome of its own: neither a retry
    /// nor a dead letter helps.
    pub fn asks_for_login(&self) -> bool {
        matches!(*self, Outcome::Answered { status: 401, friction, .. } if friction != Some(Friction::Challenge))
    }

    /// Returns whether the response is ordinary and ends streaks. A 404 is, a challenge is not.
    pub fn is_ordinary(&self) -> bool {
        match *self {
            Outcome::Answered { status, friction, .. } => {
                matches!(self.class(), Class::Good | Class::UrlSpecific | Class::UrlPassing)
                    && status != 403
                    && friction != Some(Friction::Challenge)
            }
            _ => false,
        }
    }

    /// Returns what the outcome adds to the risk score (seed 004), if it is friction.
    pub fn friction_points(&self) -> Option<u8> {
        let Outcome::Answered { status, friction, .. } = *self else { return None };
        match (status, friction) {
            (_, Some(Friction::Challenge)) => Some(25),
            (403, _) => Some(20),
            (429, _) => Some(30),
            (503, _) => Some(15),
            (_, Some(Friction::Unusual)) => Some(10),
            _ => None,
        }
    }

    /// Returns what the response to this kind of request says about the host. A 501 to `HEAD` is
    /// about the method, like a 405: the host is up.
    pub(super) fn said_by_host(&self, kind: RequestKind) -> Outcome {
        match *self {
            Outcome::Answered { status: 501, retry_after, friction }
                if kind == RequestKind::Probe =>
            {
                Outcome::Answered { status: 405, retry_after, friction }
            }
            other => other,
        }
    }

    /// Returns whether the host backs off after this outcome.
    pub(super) fn refuses(&self, policy: &Policy) -> bool {
        self.class() == Class::ToldToWait
            || self.status() == Some(403) && policy.backoff.forbidden == OnForbidden::BackOff
    }
}

impl Problem {
    /// Returns the class of the failure.
    pub fn class(self) -> Class {
        match self {
            Problem::Dns
            | Problem::Connect
            | Problem::Reset
            | Problem::ConnectTimeout
            | Problem::Tls
            | Problem::TlsExpired
            | Problem::TlsName
            | Problem::TlsIssuer
            | Problem::TlsAbsent
            | Problem::FirstByteTimeout
            | Problem::WholeTimeout => Class::SiteWide,
            Problem::Truncated | Problem::Malformed => Class::UrlPassing,
            Problem::TooSlow
            | Problem::OverLimit(_)
            | Problem::ContentType
            | Problem::Guard
            | Problem::Port
            | Problem::Coding => Class::UrlSpecific,
            Problem::Proxy | Problem::ProxyLogin | Problem::ProxyRefused | Problem::OwnLogin => {
                Class::Ours
            }
        }
    }

    /// Returns whether our side refused the request before any server was asked. That says nothing
    /// about the host, and a retry changes nothing.
    pub fn is_refusal(self) -> bool {
        matches!(self, Problem::Guard | Problem::Port)
    }

    /// Returns whether our own network could be the cause.
    pub fn may_be_ours(self) -> bool {
        matches!(self.class(), Class::SiteWide | Class::Ours)
    }

    /// Returns whether no connection to the host was possible: the name does not resolve, no server
    /// listens, or no TLS session can be made.
    pub fn is_unreached(self) -> bool {
        matches!(
            self,
            Problem::Dns
                | Problem::Connect
                | Problem::Tls
                | Problem::TlsExpired
                | Problem::TlsName
                | Problem::TlsIssuer
                | Problem::TlsAbsent
        )
    }
}

/// The fate of a URL after a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fate {
    /// The URL has its row.
    Done,
    /// The URL is tried again.
    Retry {
        /// The earliest time of the next try.
        at: Time,
        /// The tries that count.
        tries: Tries,
    },
    /// A permanent failure: the URL has its row, and a dead letter.
    Dead,
}

/// The failed tries of a URL.
///
/// A URL is requested at most `1 + retry.max` times. A try that failed in the way a whole host
/// fails is in doubt until the host has answered another request. Before its last try, and before
/// it is given up, a URL in doubt waits for such an answer ([`Tries::needs_word`]). Retries are
/// therefore bounded, and no outage uses up a URL's last try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// The number of failed tries.
    pub counted: u8,
    /// When the last try failed, if it failed in the way a whole host fails.
    pub doubt: Option<Time>,
    /// Whether a try was granted and its result is not known. Without further news it counts as
    /// failed.
    pub open: bool,
}

impl Tries {
    /// Returns the tries in view of the host's state: an answer to another request settles the
    /// doubt.
    pub fn settled(self, host: &HostState) -> Tries {
        let counted = self.counted.saturating_add(u8::from(self.open));
        match self.doubt {
            Some(failed) if host.last_ok > Some(failed) => Tries { counted, ..Tries::default() },
            doubt => Tries { counted, doubt, open: false },
        }
    }

    /// Returns the tries after another grant. A try without a known result counts as failed.
    pub fn opened(self) -> Tries {
        Tries { counted: self.counted.saturating_add(u8::from(self.open)), open: true, ..self }
    }

    /// Returns whether no try is left and the failures were the URL's own.
    pub fn spent(self, host: &HostState, policy: &Policy) -> bool {
        let settled = self.settled(host);
        settled.counted > policy.retry.max && settled.doubt.is_none()
    }

    /// Returns whether the host must answer another request before this URL is requested again or
    /// given up.
    pub fn needs_word(self, host: &HostState, policy: &Policy) -> bool {
        let settled = self.settled(host);
        settled.counted >= policy.retry.max && settled.doubt.is_some()
    }
}

/// Returns the fate of a URL whose request had this `outcome`, after the tries `before` it.
pub fn fate(outcome: &Outcome, before: Tries, policy: &Policy, seed: u64, now: Time) -> Fate {
    let class = outcome.class();
    match class {
        Class::Good => return Fate::Done,
        Class::UrlSpecific => return Fate::Dead,
        Class::Nothing => return Fate::Retry { at: now, tries: before },
        _ => {}
    }
    let n = u32::from(before.counted);
    let wait = policy.retry.curve.wait(n, draw(seed, n, Purpose::Retry));
    let at = now + wait + super::MARGIN_MIN;
    if class == Class::Ours {
        return Fate::Retry { at, tries: Tries { open: false, ..before } };
    }
    let doubt = (class == Class::SiteWide).then_some(now);
    let tries = Tries { counted: before.counted.saturating_add(1), doubt, open: false };
    match tries.counted > policy.retry.max && doubt.is_none() {
        true => Fate::Dead,
        false => Fate::Retry { at, tries },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_problem_has_the_bytes_that_earlier_versions_wrote() {
        let over = Outcome::Failed(Problem::OverLimit(Hit::Head));
        let bytes = postcard::to_extend(&over, Vec::new()).unwrap();
        assert_eq!(bytes, [1, 10]);
        let read: Outcome = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(read, Outcome::Failed(Problem::OverLimit(Hit::Body)));
        let next = Outcome::Failed(Problem::ContentType);
        assert_eq!(postcard::to_extend(&next, Vec::new()).unwrap(), [1, 11]);
    }
}
