//! What the web did, in the classes that decide what follows.
//!
//! A time-out or a 503 is a value here, never an error of ours.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::chance::{Purpose, draw};
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
    /// Over a limit of ours: body, headers, encodings.
    OverLimit,
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
            | Problem::FirstByteTimeout
            | Problem::WholeTimeout => Class::SiteWide,
            Problem::Truncated | Problem::Malformed => Class::UrlPassing,
            Problem::TooSlow
            | Problem::OverLimit
            | Problem::ContentType
            | Problem::Guard
            | Problem::Port
            | Problem::Coding => Class::UrlSpecific,
        }
    }

    /// Whether it was refused on this side before anybody was asked. That says nothing about the host, and asking again changes nothing.
    pub fn is_refusal(self) -> bool {
        matches!(self, Problem::Guard | Problem::Port)
    }

    /// Whether our own network could be the cause.
    pub fn may_be_ours(self) -> bool {
        self.class() == Class::SiteWide
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

/// The tries of a URL that count against it.
///
/// While a whole host is down or tells us to wait, its URLs stay queued and nothing counts against them. A try that failed with its
/// host is in doubt: if the host answers others before the next try, the failure was the URL's own after all. So retries stay
/// bounded, and no outage uses them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// Tries that count.
    pub counted: u8,
    /// When the last try failed together with its host.
    pub doubt: Option<Time>,
    /// A try was granted, and what came of it is not known: if nothing more is heard, it counts.
    pub open: bool,
}

impl Tries {
    /// The tries that count now that the host gave its last ordinary answer at `last_ok`.
    pub fn settled(self, last_ok: Option<Time>) -> u8 {
        let own = self.doubt.is_some_and(|failed| last_ok > Some(failed));
        self.counted.saturating_add(u8::from(own)).saturating_add(u8::from(self.open))
    }

    /// The tries once another is granted: one that was never heard of again counts.
    pub fn opened(self) -> Tries {
        Tries { counted: self.counted.saturating_add(u8::from(self.open)), open: true, ..self }
    }

    /// Whether none is left.
    pub fn spent(self, last_ok: Option<Time>, policy: &Policy) -> bool {
        self.settled(last_ok) > policy.retry.max
    }
}

/// Decides what becomes of a URL whose request came to `outcome`, after `counted` tries that counted before.
pub fn fate(outcome: &Outcome, policy: &Policy, seed: u64, counted: u8, now: Time) -> Fate {
    let tries = |counted, doubt| Tries { counted, doubt, open: false };
    let tries = match outcome.class() {
        Class::Good => return Fate::Done,
        Class::UrlSpecific => return Fate::Dead,
        Class::Nothing => {
            return Fate::Retry { at: now, tries: tries(counted, None) };
        }
        Class::SiteWide | Class::ToldToWait => tries(counted, Some(now)),
        Class::UrlPassing | Class::Ambiguous if counted >= policy.retry.max => return Fate::Dead,
        Class::UrlPassing | Class::Ambiguous => tries(counted + 1, None),
    };
    let n = u32::from(counted);
    let wait = policy.retry.curve.wait(n, draw(seed, n, Purpose::Retry));
    Fate::Retry { at: now + wait + super::MARGIN_MIN, tries }
}
