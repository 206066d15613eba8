//! Planted faults: what a crawler could do wrong, done at the seams that the simulation owns.
//!
//! No production code knows of this. A fault tampers with what a worker reads from or writes to its
//! store (`plant`), with its requests on their way out ([`Tamper`]), or with its policy, while the
//! judge is told the true one. A judge that lets one pass is not worth much.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::policy::{CacheMode, OnForbidden, Policy, Unreachable};
use curtsy_judge::Rule;

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident => [$($rule:ident),+];)+) => {
        /// A planted fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Sabotage {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Sabotage {
            /// All of them.
            pub const ALL: &'static [Sabotage] = &[$(Sabotage::$name,)+];

            /// The rules that it breaks: the judge must name one of them.
            pub fn breaks(self) -> &'static [Rule] {
                match self {
                    $(Sabotage::$name => &[$(Rule::$rule),+],)+
                }
            }

            /// What is wrong, in a line.
            pub fn what(self) -> &'static str {
                match self {
                    $(Sabotage::$name => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

faults! {
    /// No limiter: nobody knows of the last start
    LimiterOff => [P4];
    /// A burst of two: every second look forgets the last start
    BurstOfTwo => [P4];
    /// Counts from the send, not from the latest moment at which it can have arrived
    CountsFromSend => [P4];
    /// The delay is a tenth shorter than promised
    ShortDelay => [P4, P17];
    /// Crawl-delay is ignored
    CrawlDelayIgnored => [P4, P17];
    /// Crawl-delay is cut to whole seconds
    CrawlDelayCut => [P4, P17];
    /// Goes on by itself while the store is away
    LocalFallback => [P4];
    /// Sleeps on a granted permit, past its deadline
    SleepsOnPermit => [P4];
    /// Writes when the line stands, before the turn
    WritesAtOnce => [P4];
    /// Asks `HEAD /` on each new connection and pays for none
    UnpaidProbe => [P4];
    /// Sends each request twice
    Twice => [P4, P10, P11];
    /// Takes another spelling of a host for another host
    HostAliases => [P4];
    /// Follows redirects without asking anybody
    FollowsRedirects => [P4, P14];
    /// Leases of pages are forgotten
    LeasesForgotten => [P5];
    /// One slot more than promised
    SlotsPlusOne => [P5];
    /// Leases leak: a slot is never given back
    LeasesLeak => [P16];
    /// No cap for an address
    AddressCapIgnored => [P6];
    /// Retry-After is ignored
    RetryAfterIgnored => [P7];
    /// A Retry-After that is a date is ignored
    DatesIgnored => [P7];
    /// The Retry-After of a 503 is ignored
    BusyIgnored => [P7];
    /// A wait is at most 60 s, whatever was asked
    WaitCapped => [P7];
    /// Jitter shortens a wait by a tenth
    JitterShortens => [P7];
    /// A success clears a block
    SuccessClearsBlock => [P7];
    /// Waits do not grow with further refusals
    NoGrowth => [P7, P8];
    /// A 403 is no refusal, although the policy backs off
    ForbiddenIsNothing => [P7, P8];
    /// Retries without end
    RetriesWithoutEnd => [P9];
    /// Retries at once
    RetriesAtOnce => [P9];
    /// More retries than promised
    MoreRetries => [P9];
    /// Forgets that a page has been fetched, and keeps none
    PagesForgotten => [P10];
    /// Leaves validators out
    NoValidators => [P10, P11];
    /// The breaker never opens
    BreakerNeverOpens => [P15];
    /// The breaker opens late
    BreakerOpensLate => [P15];
    /// The breaker waits half as long
    BreakerHalved => [P15];
    /// A robots.txt is used ten times as long as its TTL
    RobotsTtlTenfold => [P1];
    /// robots.txt is forgotten between two visits
    RobotsForgotten => [P11];
    /// The text of robots.txt is ignored
    RobotsIgnored => [P2];
    /// robots.txt is matched with another product
    OtherProduct => [P2];
    /// Rules with a wildcard are not understood
    WildcardsIgnored => [P2];
    /// An unreachable robots.txt counts as absent
    UnreachableIsAbsent => [P1, P3];
    /// An unreachable robots.txt allows, in a preset that denies
    FailsOpen => [P1, P3];
    /// An unreachable robots.txt is asked for again too soon
    AsksAgainTooSoon => [P3];
    /// Stop orders are not heard
    StopIgnored => [P12];
    /// The page budget is not charged
    BudgetIgnored => [P12];
    /// Sends a cookie
    Cookie => [P0];
    /// Sends credentials
    Credentials => [P0];
    /// Uses a second product token
    SecondProduct => [P0];
    /// Names no contact
    NoContact => [P0];
    /// Asks with POST
    Post => [P0];
    /// Takes what a proxy answers for the site's answer
    ProxyIsSite => [P1];
    /// Dials again at once: the last dial is forgotten
    DialsForgotten => [P17];
    /// Does not book its dials, so two workers dial at once
    DialsUnbooked => [P17];
    /// Dials three connections at once and uses the first
    ParallelDials => [P17];
    /// Dials a second time if a handshake takes longer than 250 ms
    HappyEyeballs => [P17];
    /// Dials three times at once after a reset
    RedialsAfterReset => [P17];
    /// Dials a host in the breaker's wait, to see whether it is up
    DialsInBreakersWait => [P17];
    /// Reconnects twice for a request that an idle connection lost
    ReconnectsTwice => [P17];
}

impl Sabotage {
    /// The policy that the workers get instead of the promised one.
    pub(crate) fn policy(self, promised: &Policy) -> Policy {
        let mut policy = promised.clone();
        match self {
            Sabotage::ShortDelay => {
                policy.pace.delay_min = policy.pace.delay_min * 9 / 10;
                policy.pace.delay_max = policy.pace.delay_max * 9 / 10;
            }
            Sabotage::SlotsPlusOne => policy.slots.per_host += 1,
            Sabotage::FailsOpen => policy.robots.unreachable = Unreachable::Allow,
            Sabotage::AsksAgainTooSoon => policy.robots.deny_ttl = Duration::from_secs(20),
            Sabotage::ForbiddenIsNothing => policy.backoff.forbidden = OnForbidden::Permanent,
            Sabotage::PagesForgotten => policy.cache.mode = CacheMode::Off,
            Sabotage::MoreRetries => policy.retry.max += 5,
            Sabotage::BreakerOpensLate => policy.breaker.failures = 20,
            _ => {}
        }
        policy
    }

    /// What it changes about requests.
    pub(crate) fn tamper(self, mark: Mark) -> Tamper {
        Tamper {
            cookie: self == Sabotage::Cookie,
            authorization: self == Sabotage::Credentials,
            no_contact: self == Sabotage::NoContact,
            no_validators: self == Sabotage::NoValidators,
            sleeps_on_permit: self == Sabotage::SleepsOnPermit,
            twice: self == Sabotage::Twice,
            aliases: self == Sabotage::HostAliases,
            second_product: self == Sabotage::SecondProduct,
            follows_redirects: self == Sabotage::FollowsRedirects,
            unpaid_probe: self == Sabotage::UnpaidProbe,
            writes_at_once: self == Sabotage::WritesAtOnce,
            post: self == Sabotage::Post,
            proxy_is_site: self == Sabotage::ProxyIsSite,
            dials: match self {
                Sabotage::ParallelDials => Some(ExtraDials::AtOnce),
                Sabotage::HappyEyeballs => Some(ExtraDials::IfSlow),
                Sabotage::RedialsAfterReset => Some(ExtraDials::AfterReset),
                Sabotage::ReconnectsTwice => Some(ExtraDials::AfterLoss),
                _ => None,
            },
            misreads: match self {
                Sabotage::RobotsIgnored => Some(Misread::Robots),
                Sabotage::OtherProduct => Some(Misread::OtherProduct),
                Sabotage::WildcardsIgnored => Some(Misread::Wildcards),
                Sabotage::DatesIgnored => Some(Misread::RetryDates),
                Sabotage::BusyIgnored => Some(Misread::RetryOf503),
                _ => None,
            },
            mark,
        }
    }

    /// Whether hosts are looked at more often than honest workers would.
    pub(crate) fn looks_often(self) -> bool {
        matches!(
            self,
            Sabotage::LimiterOff
                | Sabotage::BurstOfTwo
                | Sabotage::CrawlDelayIgnored
                | Sabotage::CrawlDelayCut
                | Sabotage::BreakerNeverOpens
                | Sabotage::RobotsTtlTenfold
                | Sabotage::UnreachableIsAbsent
                | Sabotage::LeasesForgotten
                | Sabotage::DialsForgotten
                | Sabotage::DialsInBreakersWait
        )
    }
}

/// When a fault first had an effect: the number of requests that the servers had read by then.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    first: Rc<Cell<Option<u64>>>,
    requests: Rc<Cell<u64>>,
}

impl Mark {
    /// Notes an effect.
    pub fn set(&self) {
        if self.first.get().is_none() {
            self.first.set(Some(self.requests.get()));
        }
    }

    /// Counts a request.
    pub fn count(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// Requests since the first effect.
    pub fn since(&self) -> Option<u64> {
        self.first.get().map(|first| self.requests.get() - first)
    }
}

/// What a saboteur changes about a worker's requests. An honest worker's is the default.
#[derive(Clone, Debug, Default)]
pub struct Tamper {
    /// Sends a cookie.
    pub cookie: bool,
    /// Leaves validators out.
    pub no_validators: bool,
    /// Sleeps on a permit and writes although its time has passed.
    pub sleeps_on_permit: bool,
    /// Sends credentials.
    pub authorization: bool,
    /// Names no contact.
    pub no_contact: bool,
    /// Sends every request twice.
    pub twice: bool,
    /// Takes another spelling of the host for another host, which is asked as well.
    pub aliases: bool,
    /// Another product token now and then.
    pub second_product: bool,
    /// Follows redirects without asking anybody.
    pub follows_redirects: bool,
    /// Asks `HEAD /` before each connection.
    pub unpaid_probe: bool,
    /// Writes as soon as the line stands, before the turn.
    pub writes_at_once: bool,
    /// Asks with POST.
    pub post: bool,
    /// Takes what a proxy answers for the site's answer.
    pub proxy_is_site: bool,
    /// When it dials more often than it is allowed to.
    pub dials: Option<ExtraDials>,
    /// What of an answer it does not understand.
    pub misreads: Option<Misread>,
    /// When it first had an effect.
    pub mark: Mark,
}

/// When a saboteur dials more often than it is allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraDials {
    /// Dials three connections at once.
    AtOnce,
    /// Dials again if a handshake takes longer than 250 ms.
    IfSlow,
    /// Dials three times after a reset.
    AfterReset,
    /// Dials twice after an idle connection was lost.
    AfterLoss,
}

/// What of an answer a saboteur does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misread {
    /// Takes every robots.txt as empty.
    Robots,
    /// Takes the robots.txt group of our product for another's.
    OtherProduct,
    /// Leaves out robots.txt rules with a wildcard.
    Wildcards,
    /// Leaves out a Retry-After that is a date.
    RetryDates,
    /// Leaves out the Retry-After of a 503.
    RetryOf503,
}

impl Tamper {
    /// A Retry-After as it is understood.
    pub(crate) fn retry_after(&self, status: u16, text: Option<String>) -> Option<String> {
        let lost = match self.misreads {
            Some(Misread::RetryDates) => text.as_ref().is_some_and(|t| t.ends_with("GMT")),
            Some(Misread::RetryOf503) => status == 503 && text.is_some(),
            _ => false,
        };
        if lost {
            self.mark.set();
        }
        text.filter(|_| !lost)
    }

    /// A robots.txt as it is understood.
    pub(crate) fn robots(&self, body: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(body);
        let other = match self.misreads {
            Some(Misread::Robots) => String::new(),
            Some(Misread::OtherProduct) => text.replace("curtsy", "other"),
            Some(Misread::Wildcards) => {
                let plain = |line: &&str| !(line.starts_with("Disallow") && line.contains('*'));
                text.split_inclusive('\n').filter(plain).collect()
            }
            _ => return body.to_vec(),
        };
        if other != text {
            self.mark.set();
        }
        other.into_bytes()
    }

    /// Whether every request shows it.
    pub(crate) fn shows_at_once(&self) -> bool {
        let headers = self.cookie || self.authorization || self.no_contact || self.post;
        let sending = self.sleeps_on_permit || self.twice || self.aliases || self.writes_at_once;
        headers || sending || self.second_product || self.unpaid_probe
    }
}
