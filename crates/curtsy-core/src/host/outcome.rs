//! What the web did, in the classes that decide what follows.
//!
//! A time-out or a 503 is a value here, never an error of ours.

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
    /// An answer, read to its end (or as far as it is wanted).
    Answered {
        /// Its status.
        status: u16,
        /// The Retry-After that came with it, as a span.
        retry_after: Option<Duration>,
        /// What the answer asks of us besides, or lacks.
        friction: Option<Friction>,
    },
    /// No answer that can be used.
    Failed(Problem),
    /// The permit was too late or the line was gone: nothing was sent.
    NotSent,
}

/// Why there is no answer that can be used.
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
    /// The answer can't be read as HTTP.
    Malformed,
    /// The body ended early.
    Truncated,
    /// The body came too slowly.
    TooSlow,
    /// There was more than this limit on size allows. A stored problem does not say which limit it
    /// was: files of earlier versions have no place for that, and no decision depends on it.
    OverLimit(#[serde(skip)] Hit),
    /// A content type that is not wanted.
    ContentType,
    /// An address that may not be dialled.
    Guard,
    /// The certificate has expired or is not valid yet.
    TlsExpired,
    /// The certificate is for another name.
    TlsName,
    /// The certificate is from nobody whom we believe.
    TlsIssuer,
    /// The body is packed in a way that can't be unpacked.
    Coding,
    /// A port on which something else than HTTP is spoken.
    Port,
    /// The proxy that the user named could not be reached.
    Proxy,
    /// The proxy wants a user and a password (407), or the network a login (511).
    ProxyLogin,
    /// No TLS is spoken there.
    TlsAbsent,
    /// The site refused the credentials that the user named for it, and with them its robots.txt.
    OwnLogin,
    /// The proxy answered in the site's place: it can't reach the site, or refuses it.
    ProxyRefused,
}

/// A friction signal in an answer that its status does not show.
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
    /// A failure of this URL alone, for good.
    UrlSpecific,
    /// A failure of this URL that may pass.
    UrlPassing,
    /// The host is in trouble.
    SiteWide,
    /// The host, or only this URL: retried, and counted by the breaker while in a row.
    Ambiguous,
    /// The host told us to wait: never counted by the breaker.
    ToldToWait,
    /// Our own side failed: nothing is held against the host or the URL.
    Ours,
    /// Nothing happened.
    Nothing,
}

impl Outcome {
    /// The class of seed 003, as the merged requirement has it.
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

    /// The status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match *self {
            Outcome::Answered { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Whether the answer asks for a login by its status. That is an outcome of its own: nothing that a retry or a dead letter helps.
    pub fn asks_for_login(&self) -> bool {
        matches!(*self, Outcome::Answered { status: 401, friction, .. } if friction != Some(Friction::Challenge))
    }

    /// Whether the host answered in an ordinary way: what resets streaks. A 404 does, a challenge does not.
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

    /// What it adds to the risk score (seed 004), if it is friction.
    pub fn friction_points(&self) -> Option<u8> {
        let Outcome::Answered { status, friction, .. } = *self else {
            return None;
        };
        match (status, friction) {
            (_, Some(Friction::Challenge)) => Some(25),
            (403, _) => Some(20),
            (429, _) => Some(30),
            (503, _) => Some(15),
            (_, Some(Friction::Unusual)) => Some(10),
            _ => None,
        }
    }

    /// What the answer to a request of this kind says of its host. A 501 to `HEAD` speaks of the method, as a 405 does: the host is there.
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

    /// Whether the host backs off because of it.
    pub(super) fn refuses(&self, policy: &Policy) -> bool {
        self.class() == Class::ToldToWait
            || self.status() == Some(403) && policy.backoff.forbidden == OnForbidden::BackOff
    }
}

impl Problem {
    /// The class of a failure.
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

    /// Whether it was refused on this side before anybody was asked. That says nothing about the host, and asking again changes nothing.
    pub fn is_refusal(self) -> bool {
        matches!(self, Problem::Guard | Problem::Port)
    }

    /// Whether our own network could be the cause.
    pub fn may_be_ours(self) -> bool {
        matches!(self.class(), Class::SiteWide | Class::Ours)
    }

    /// Whether the host could not be reached at all: its name does not resolve, nobody listens, or no TLS session can be made.
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

/// What becomes of a URL after a request for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fate {
    /// It has its row.
    Done,
    /// It is tried again.
    Retry {
        /// Not before this.
        at: Time,
        /// The tries that count.
        tries: Tries,
    },
    /// A failure that stays: it has its row, and a dead letter.
    Dead,
}

/// The failed tries of a URL.
///
/// A URL is asked at most `1 + retry.max` times. A try that failed as a whole host fails is in doubt until the host has answered something
/// else. Before its last try, and before it is given up, a URL in doubt waits for such an answer ([`Tries::needs_word`]). So retries stay
/// bounded, and no outage takes a URL's last try or gives it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// Tries that failed.
    pub counted: u8,
    /// When the last try failed, if it failed as a whole host fails.
    pub doubt: Option<Time>,
    /// A try was granted, and what came of it is not known: if nothing more is heard, it counts.
    pub open: bool,
}

impl Tries {
    /// The tries in the light of what the host did since: did it answer anything else?
    pub fn settled(self, host: &HostState) -> Tries {
        let counted = self.counted.saturating_add(u8::from(self.open));
        match self.doubt {
            Some(failed) if host.last_ok > Some(failed) => Tries { counted, ..Tries::default() },
            doubt => Tries { counted, doubt, open: false },
        }
    }

    /// The tries once another is granted: one that was never heard of again counts.
    pub fn opened(self) -> Tries {
        Tries { counted: self.counted.saturating_add(u8::from(self.open)), open: true, ..self }
    }

    /// Whether none is left, and the failures were the URL's own.
    pub fn spent(self, host: &HostState, policy: &Policy) -> bool {
        let settled = self.settled(host);
        settled.counted > policy.retry.max && settled.doubt.is_none()
    }

    /// Whether the host must answer something else before this URL is asked again or given up.
    pub fn needs_word(self, host: &HostState, policy: &Policy) -> bool {
        let settled = self.settled(host);
        settled.counted >= policy.retry.max && settled.doubt.is_some()
    }
}

/// Decides what becomes of a URL whose request came to `outcome`, after the tries `before` it.
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
