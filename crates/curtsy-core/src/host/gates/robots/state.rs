//! What is known about one authority's robots.txt, and what it allows now.
//!
//! A fetched text applies for its TTL, counted so that the server would agree: pages stop before
//! `asked_at` + TTL, and the next request for robots.txt starts after `asked_by` + TTL. A text that
//! could not be fetched is requested again after the deny-TTL, with waits that never shrink.
//! Meanwhile nothing may be fetched (RFC 9309 §2.3.1.4). If the policy allows everything instead,
//! the last good copy is obeyed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Confidence, RobotsReason};
use crate::host::{AUTHORITIES_MAX, Finding, HostState, MARGIN_MIN, Verdict};
use crate::policy::{RobotsPolicy, Unreachable};
use crate::robots::RobotsClass;
use crate::time::Time;
use crate::url::{Authority, CrawlUrl, Scheme};

/// How much earlier than its TTL a text stops to apply. It covers the way of both requests to the
/// server.
const TTL_GUARD: Duration = Duration::from_millis(100);

/// The name of a stored robots.txt: a hash of its text and validators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RobotsId(pub [u8; 16]);

impl std::fmt::Debug for RobotsId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// What is known about one authority's robots.txt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RobotsState {
    /// The authority's scheme. The host is that of the state.
    pub scheme: Scheme,
    /// The authority's port.
    pub port: u16,
    /// The meaning of the last answer.
    pub standing: RobotsStanding,
    /// The last good text.
    pub file: Option<RobotsId>,
    /// The earliest moment at which the last request can have been answered.
    pub asked_at: Time,
    /// The latest moment at which the last request can have reached the server.
    pub asked_by: Time,
    /// When the last good text was last confirmed.
    pub good_at: Option<Time>,
    /// The Crawl-delay for us, in microseconds; zero means none. It is kept while robots.txt is
    /// unreachable.
    pub crawl_delay_micros: u64,
    /// Since when robots.txt could not be fetched, if that is so now.
    pub failing_since: Option<Time>,
    /// The wait after the last failure, which the next wait is never shorter than.
    pub last_wait: Duration,
}

/// The meaning of the last answer for robots.txt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RobotsStanding {
    /// A text with rules.
    Rules,
    /// No robots.txt: no rules.
    Absent,
    /// Refused, and the policy treats that as a refusal of everything.
    Refused,
    /// Could not be fetched. The time is that of the next try.
    Unreachable(Time),
    /// Redirected. The chain is followed on other hosts.
    Chasing(Box<Chase>),
}

/// A chain of robots.txt redirects in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chase {
    /// The target of the last redirect.
    pub to: CrawlUrl,
    /// When the chain counts as failed.
    pub deadline: Time,
}

/// News about an authority's robots.txt.
#[derive(Clone, Debug, PartialEq)]
pub enum RobotsNews {
    /// An answer, or the final failure.
    Answer {
        /// The meaning of the answer.
        class: RobotsClass,
        /// The text with its Crawl-delay for us, if there is one.
        file: Option<(RobotsId, Option<Duration>)>,
        /// The Retry-After of the answer.
        told: Option<Duration>,
    },
    /// 304: the stored text is still good.
    NotModified,
    /// It was redirected.
    Moved(Chase),
}

impl RobotsNews {
    fn is_unreachable(&self) -> bool {
        matches!(self, RobotsNews::Answer { class: RobotsClass::Unreachable, .. })
    }
}

impl RobotsState {
    /// Returns whether the site has said what applies: rules, or none.
    fn is_settled(&self) -> bool {
        use RobotsStanding::{Absent, Refused, Rules};
        matches!(self.standing, Rules | Absent | Refused)
    }

    /// Returns whether this is the state of that authority.
    pub fn is_of(&self, authority: &Authority) -> bool {
        self.scheme == authority.scheme && self.port == authority.port
    }

    /// Returns when robots.txt must be requested again.
    pub fn due(&self, policy: &RobotsPolicy) -> Time {
        match &self.standing {
            RobotsStanding::Rules | RobotsStanding::Absent | RobotsStanding::Refused => {
                self.asked_by + policy.ttl
            }
            RobotsStanding::Unreachable(retry) => *retry,
            RobotsStanding::Chasing(chase) => chase.deadline + policy.deny_ttl,
        }
    }

    /// Returns the last moment at which a page may start under this answer.
    pub fn good_until(&self, policy: &RobotsPolicy) -> Time {
        match &self.standing {
            RobotsStanding::Rules | RobotsStanding::Absent | RobotsStanding::Refused => {
                (self.asked_at + policy.ttl).back(TTL_GUARD)
            }
            _ => self.due(policy).back(TTL_GUARD),
        }
    }

    /// Returns the text that rules at `now`, with its confidence.
    pub fn ruling(&self, policy: &RobotsPolicy, now: Time) -> Option<(RobotsId, Confidence)> {
        match &self.standing {
            RobotsStanding::Rules => self.file.map(|f| (f, Confidence::Current)),
            RobotsStanding::Absent | RobotsStanding::Refused => None,
            // The target of the redirect may say something else, so requests wait for it.
            RobotsStanding::Chasing(chase) if now < chase.deadline => None,
            // RFC 9309 §2.3.1.4: unreachable means that everything is forbidden, whatever an older
            // copy said.
            _ if policy.unreachable == Unreachable::Deny => None,
            RobotsStanding::Unreachable(_) | RobotsStanding::Chasing(_) => {
                let kept = self.good_at.is_some_and(|good| good + policy.keep > now);
                let kept = kept && self.was_asked(policy, now);
                self.file.filter(|_| kept).map(|f| (f, Confidence::LastGood))
            }
        }
    }

    /// Returns whether the server has seen a request for robots.txt within the TTL. An attempt
    /// without a connection does not count: otherwise the server's log would show a page before any
    /// robots.txt.
    fn was_asked(&self, policy: &RobotsPolicy, now: Time) -> bool {
        // An attempt counts until the next one is due, which is no sooner than the deny-TTL.
        self.asked_at + policy.ttl.max(policy.deny_ttl) > now
    }

    /// Returns the finding of an answer without a text.
    pub(in crate::host) fn without_text(&self, policy: &RobotsPolicy, now: Time) -> Finding {
        match &self.standing {
            RobotsStanding::Rules | RobotsStanding::Absent => Finding::go(RobotsReason::Absent),
            RobotsStanding::Refused => Finding::never(RobotsReason::Refused),
            RobotsStanding::Chasing(chase) if now < chase.deadline => {
                Finding::new(Verdict::NotBefore(chase.deadline), RobotsReason::Asked)
            }
            RobotsStanding::Unreachable(_) | RobotsStanding::Chasing(_) => {
                // RFC 9309 §2.3.1.4: after a reasonably long time (30 days) it may count as
                // unavailable.
                if self.failing_since.is_some_and(|since| since + policy.keep <= now) {
                    return Finding::go(RobotsReason::Absent);
                }
                match policy.unreachable {
                    Unreachable::Allow if self.was_asked(policy, now) => {
                        Finding::go(RobotsReason::UnreachableAllowed)
                    }
                    _ => Finding::new(
                        Verdict::NotBefore(self.due(policy)),
                        RobotsReason::Unreachable,
                    ),
                }
            }
        }
    }

    /// Applies news. `asked` bounds the time of the request, if one reached the server; `at` is its
    /// end.
    fn learn(
        &mut self,
        news: RobotsNews,
        policy: &RobotsPolicy,
        asked: Option<(Time, Time)>,
        at: Time,
    ) {
        match asked {
            Some(asked) => (self.asked_at, self.asked_by) = asked,
            // A failed connection that was begun before this answer was known says nothing about
            // it.
            None if news.is_unreachable() && self.is_settled() && at < self.good_until(policy) => {
                return;
            }
            None => {}
        }
        match news {
            RobotsNews::NotModified => {
                self.standing = RobotsStanding::Rules;
                self.settle_good(at);
            }
            RobotsNews::Moved(chase) => self.standing = RobotsStanding::Chasing(Box::new(chase)),
            RobotsNews::Answer { class, file, told } => match class {
                RobotsClass::Rules => {
                    self.standing = RobotsStanding::Rules;
                    let (file, delay) = file.unzip();
                    self.file = file;
                    self.crawl_delay_micros = delay.flatten().map_or(0, crate::time::micros);
                    self.settle_good(at);
                }
                RobotsClass::NoRules | RobotsClass::Denied => {
                    self.standing = match class {
                        RobotsClass::NoRules => RobotsStanding::Absent,
                        _ => RobotsStanding::Refused,
                    };
                    self.file = None;
                    self.crawl_delay_micros = 0;
                    self.settle_good(at);
                }
                RobotsClass::Unreachable => {
                    self.failing_since.get_or_insert(at);
                    self.last_wait =
                        policy.deny_ttl.max(told.unwrap_or_default()).max(self.last_wait);
                    self.standing = RobotsStanding::Unreachable(at + self.last_wait + MARGIN_MIN);
                }
            },
        }
    }

    /// Returns whether this state comes from a later request than the other, or from the end of the
    /// other's redirect chain.
    pub(in crate::host) fn is_newer_than(&self, other: &RobotsState) -> bool {
        let ended = |state: &RobotsState| !matches!(state.standing, RobotsStanding::Chasing(_));
        (self.asked_by, ended(self)) > (other.asked_by, ended(other))
    }

    /// Takes over the other state's last good copy if it is newer and robots.txt is unreachable
    /// here. An answer that there is no robots.txt counts as a copy.
    pub(in crate::host) fn keep_good(&mut self, other: &RobotsState) {
        let gone =
            matches!(self.standing, RobotsStanding::Unreachable(_) | RobotsStanding::Chasing(_));
        if gone && other.good_at > self.good_at {
            self.file = other.file;
            self.good_at = other.good_at;
            self.crawl_delay_micros = other.crawl_delay_micros;
        }
    }

    fn settle_good(&mut self, at: Time) {
        self.good_at = Some(at);
        self.failing_since = None;
        self.last_wait = Duration::ZERO;
    }
}

impl HostState {
    /// Returns the robots state of an authority of this host.
    pub fn robots_of(&self, authority: &Authority) -> Option<&RobotsState> {
        self.all_robots().find(|r| r.is_of(authority))
    }

    /// Returns the Crawl-delay for us in an authority's robots.txt.
    pub fn crawl_delay_of(&self, authority: &Authority) -> Option<Duration> {
        let micros = self.robots_of(authority)?.crawl_delay_micros;
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    /// Returns every authority's robots state.
    pub fn all_robots(&self) -> impl Iterator<Item = &RobotsState> {
        self.robots.iter().chain(&self.more_robots)
    }

    /// Returns whether the authority is known or there is room for it.
    pub(in crate::host) fn has_room_for(&self, authority: &Authority) -> bool {
        self.robots_of(authority).is_some() || self.all_robots().count() < AUTHORITIES_MAX
    }

    /// Applies news about an authority of this host. `asked` bounds when the server saw the
    /// request, if it did.
    pub fn learn_robots(
        &mut self,
        authority: &Authority,
        news: RobotsNews,
        policy: &RobotsPolicy,
        asked: Option<(Time, Time)>,
        at: Time,
    ) {
        if self.robots_of(authority).is_none() {
            self.add_robots(RobotsState {
                scheme: authority.scheme,
                port: authority.port,
                standing: RobotsStanding::Unreachable(at),
                file: None,
                asked_at: Time::START,
                asked_by: Time::START,
                good_at: None,
                crawl_delay_micros: 0,
                failing_since: None,
                last_wait: Duration::ZERO,
            });
        }
        if let Some(known) = self.robots_mut(authority.scheme, authority.port) {
            known.learn(news, policy, asked, at);
        }
    }

    pub(in crate::host) fn robots_mut(
        &mut self,
        scheme: Scheme,
        port: u16,
    ) -> Option<&mut RobotsState> {
        let all = self.robots.iter_mut().chain(&mut self.more_robots);
        all.into_iter().find(|r| r.scheme == scheme && r.port == port)
    }

    pub(in crate::host) fn add_robots(&mut self, state: RobotsState) {
        if self.robots.is_none() {
            self.robots = Some(state);
        } else if self.more_robots.len() + 1 < AUTHORITIES_MAX {
            let mut more = std::mem::take(&mut self.more_robots).into_vec();
            more.push(state);
            self.more_robots = more.into_boxed_slice();
        }
    }
}
