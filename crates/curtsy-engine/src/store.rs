//! The interface of a store: it keeps host states and the frontier, compares versions and caps, and
//! supplies the time. It has no rule of politeness.
//!
//! `take` never removes a host. It hands the host out and lets it fall due again by itself, so a
//! worker that dies gives it back. The hold only avoids races; safety comes from the version that
//! every write compares.

use std::net::IpAddr;
use std::sync::Arc;

use curtsy_core::host::{AskKind, HostState, JobView, LeaseId, Outcome, RobotsId, Tries};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, HostKey, UrlKey};

use crate::{Order, Orders};

/// Host states and frontier. One handle belongs to one worker and one job.
pub trait Store {
    /// Adds URLs that are not known yet.
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError>;

    /// Writes back what a worker remembers of URLs that failed. Records in the queue take over the
    /// worse values (see [`UrlRecord::restore`]), and so do records that are queued later in this
    /// epoch.
    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError>;

    /// Writes back the stop orders that a worker remembers. Orders that are newer than those of the
    /// store apply.
    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError>;

    /// Hands out hosts that are due, at most `hosts` of them.
    async fn take(&self, hosts: usize) -> Result<Taken, StoreError>;

    /// Returns every waiting host with some of its URLs, or `None` if there are more than `hosts`
    /// of them, if one is due, or if the store cannot tell, as with many workers.
    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let _ = hosts;
        Ok(None)
    }

    /// Returns a host's state without its queue.
    async fn load(&self, host: &HostKey) -> Result<View, StoreError>;

    /// Writes a commit in one step, if version, epoch, caps and stop list still match.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Records the fates of URLs whose rows are written. A change is skipped if the URL has another
    /// claim by now.
    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError>;

    /// Returns a robots.txt by its hash.
    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError>;
}

/// An error on our side. The state of the store is unknown unless the store says that it refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// No answer: the write may have happened or not.
    #[error("store gave no answer to `{0}`: it may have been done or not")]
    Unknown(&'static str),
    /// The write certainly did not happen.
    #[error("store refused `{0}`: {1}")]
    Refused(&'static str, String),
}

/// A robots.txt as it was served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsFile {
    /// The bytes, cut to the limit.
    pub text: Vec<u8>,
    /// The ETag, which the next request for it sends.
    pub etag: Option<String>,
    /// The Last-Modified, which the next request for it sends.
    pub last_modified: Option<String>,
}

impl RobotsFile {
    /// Returns the ID of the file: a hash of text and validators, so that one host's validators are
    /// never sent to another.
    pub fn id(&self) -> RobotsId {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        for part in [&self.etag, &self.last_modified] {
            let part = part.as_deref().unwrap_or_default();
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(&self.text);
        let digest = hash.finalize();
        RobotsId(digest[..16].try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// A URL in the frontier.
#[derive(Clone, Debug, PartialEq)]
pub struct UrlRecord {
    /// The URL as it was offered, which identifies it through all redirects.
    pub id: UrlKey,
    /// The same URL in full.
    pub origin: CrawlUrl,
    /// The URL to request now.
    pub url: CrawlUrl,
    /// The number of redirects so far.
    pub hop: u8,
    /// The number of links from a seed.
    pub depth: u16,
    /// How far back the URL goes in its host's queue among URLs of the same rank: 0 is first. The
    /// first offer of a URL sets the value; a later offer of the same URL does not move it, since a
    /// store would have to search the whole queue of the host for it.
    pub worth: u8,
    /// The purpose of the request.
    pub want: Want,
    /// The tries that count.
    pub tries: Tries,
    /// The outcome of the last try, if it failed.
    pub last: Option<Outcome>,
    /// The earliest time of the next request: a retry's wait, or the hold of a worker that has the
    /// response.
    pub ready: Option<Time>,
    /// Whether the job's budget was charged for the URL.
    pub charged: bool,
    /// The number of the last write. A write or a grant with an older number is stale.
    pub claim: Option<LeaseId>,
    /// When the URL began to wait for a slot.
    pub slot_since: Option<Time>,
    /// Whether a worker has the response and keeps the URL from others. If a store knows that the
    /// worker is gone, this wait is over.
    pub held: bool,
    /// The queue entry, if the URL may be requested again. A URL without one is requested once and
    /// stays known.
    pub wish: Option<Arc<Wish>>,
}

/// A request from outside for a URL, which may be repeated: each time is a wish of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The URL exactly as it was requested.
    pub spelt: String,
    /// The number among all wishes.
    pub number: u64,
    /// The urgency.
    pub priority: Priority,
}

/// The urgency of a wish, among those for the same host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before the others.
    High,
    /// In the order of arrival.
    #[default]
    Normal,
    /// When nothing else is left.
    Low,
}

/// Distinguishes the URL of a wish from the same URL as a link.
const WISH_MARK: u128 = 0x77_69_73_68 << 96;

/// The purpose of a URL's request.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// The content.
    Page,
    /// Whether the URL exists, for a report on links. Its content is not kept, and its links are
    /// not followed.
    Check {
        /// The method.
        by: CheckBy,
    },
    /// The URLs of a sitemap.
    Sitemap,
    /// Another authority's robots.txt, which was redirected here.
    RobotsHop {
        /// That authority.
        owner: Authority,
        /// When the chain counts as failed.
        deadline: Time,
    },
    /// The rules of robots.txt for the URL.
    Rules,
}

/// The method of a request that checks whether a URL exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckBy {
    /// `HEAD`, which costs the site least.
    Head,
    /// `GET` without its body, for servers that answer `HEAD` with "not found" or "not allowed".
    Get,
}

impl UrlRecord {
    /// Returns a record that checks whether a URL exists.
    pub fn check(url: CrawlUrl, depth: u16) -> UrlRecord {
        UrlRecord { want: Want::Check { by: CheckBy::Head }, ..UrlRecord::page(url, depth) }
    }

    /// Returns a record that asks for the robots.txt rules of a URL.
    pub fn rules(url: CrawlUrl) -> UrlRecord {
        UrlRecord { want: Want::Rules, ..UrlRecord::page(url, 0) }
    }

    /// Returns the record of a page, as it is offered.
    pub fn page(url: CrawlUrl, depth: u16) -> UrlRecord {
        UrlRecord {
            id: url.key(),
            origin: url.clone(),
            url,
            hop: 0,
            depth,
            worth: 0,
            want: Want::Page,
            tries: Tries::default(),
            last: None,
            ready: None,
            charged: false,
            claim: None,
            slot_since: None,
            held: false,
            wish: None,
        }
    }

    /// Returns the record as not yet requested, for its next hop or for another method.
    pub(crate) fn untried(&self) -> UrlRecord {
        UrlRecord {
            tries: Tries::default(),
            last: None,
            ready: None,
            claim: None,
            slot_since: None,
            held: false,
            ..self.clone()
        }
    }

    /// Returns the record of a wish. Each spelling is a URL of its own, since each is answered
    /// separately.
    pub fn wished(url: CrawlUrl, wish: Wish) -> UrlRecord {
        let id = UrlKey::from_u128(UrlKey::of(&wish.spelt).as_u128() ^ WISH_MARK);
        UrlRecord { id, wish: Some(Arc::new(wish)), ..UrlRecord::page(url, 0) }
    }

    /// Merges another record of the same URL by the worse values: tries, waits, and whether it was
    /// charged. Of two values of `worth` the smaller one wins, so the URL comes earlier.
    pub fn restore(&mut self, remembered: &UrlRecord) {
        if remembered.tries.counted > self.tries.counted {
            self.tries.counted = remembered.tries.counted;
            self.last = remembered.last;
        }
        self.tries.doubt = self.tries.doubt.max(remembered.tries.doubt);
        self.ready = self.ready.max(remembered.ready);
        self.charged |= remembered.charged;
        self.worth = self.worth.min(remembered.worth);
    }

    /// Returns the order among URLs that are ready: a hop of a robots.txt first, since others wait
    /// for it, then sitemaps and urgent URLs, then pages. URLs of the same rank are ordered by
    /// [`worth`](UrlRecord::worth).
    pub fn rank(&self) -> u8 {
        match self.want {
            Want::RobotsHop { .. } => 0,
            Want::Sitemap | Want::Rules => 1,
            Want::Check { .. } => 3,
            Want::Page => match self.wish.as_ref().map(|wish| wish.priority) {
                Some(Priority::High) => 1,
                Some(Priority::Normal) | None => 2,
                Some(Priority::Low) => 3,
            },
        }
    }

    /// Returns the host of the URL to request.
    pub fn host(&self) -> &HostKey {
        self.url.host()
    }

    /// Returns the core's kind of the request.
    pub fn kind(&self) -> AskKind {
        match self.want {
            Want::Page => AskKind::Page,
            Want::Check { .. } => AskKind::Check,
            Want::Sitemap => AskKind::Sitemap,
            Want::RobotsHop { .. } => AskKind::RobotsHop,
            Want::Rules => AskKind::Rules,
        }
    }
}

/// The result of an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// The number of new URLs.
    pub new: usize,
    /// The number of known URLs.
    pub known: usize,
}

/// A host's state in the store.
#[derive(Clone, Debug)]
pub struct View {
    /// The host.
    pub host: HostKey,
    /// The state. A change creates a new one.
    pub state: Arc<HostState>,
    /// The state's version, which a write must name.
    pub version: u64,
    /// The store's time.
    pub now: Time,
    /// Whether a stop order is in force.
    pub stopped: bool,
    /// The store's epoch.
    pub epoch: Epoch,
    /// The job.
    pub job: JobView,
}

/// A part of the store's life in which nothing written was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The number.
    pub id: u64,
    /// If set, every host counts as started at this time, since starts may have been lost.
    pub floor: Option<Time>,
    /// Nothing is granted before this time, since earlier requests may still run.
    pub quiet_until: Option<Time>,
    /// Whether the epoch began empty: then the frontier is gone too and sources offer again.
    pub emptied: bool,
}

/// A host that was handed out, with some of its URLs, the ready ones first.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The state of the host.
    pub view: View,
    /// Up to 32 of its URLs.
    pub urls: Vec<UrlRecord>,
}

/// The result of `take`.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Hosts that are due.
    pub visits: Vec<Visit>,
    /// The store's time.
    pub now: Time,
    /// When the next host falls due, if that is known.
    pub next_due: Option<Time>,
    /// The store's epoch.
    pub epoch: Epoch,
    /// The number of URLs that are not settled.
    pub queued: u64,
    /// The newest stop order of each host, which the worker remembers.
    pub orders: Arc<Orders>,
}

/// A write that happens as a whole or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The host.
    pub host: HostKey,
    /// The version that the writer has read.
    pub version: u64,
    /// The epoch that the writer has read.
    pub epoch: u64,
    /// The host's new state, or `None` if only its schedule changes.
    pub state: Option<Arc<HostState>>,
    /// The host is not handed out before this time, nor before its first URL is ready.
    pub not_before: Time,
    /// The further conditions of a grant.
    pub grant: Option<Grant>,
    /// An address slot to give back.
    pub release: Option<(IpAddr, LeaseId)>,
    /// robots.txt files to store.
    pub robots: Vec<(RobotsId, Arc<RobotsFile>)>,
    /// Changes of URLs.
    pub urls: Vec<UrlWrite>,
    /// The exchange that the commit records, if something was sent, for stores that show it to
    /// people.
    pub exchanged: Option<Exchanged>,
}

/// An exchange as people see it. No decision depends on it: those use the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// The latest moment at which our first byte can have left.
    pub sent: Time,
    /// The friction that it added to the host's risk.
    pub friction: Option<FrictionEvent>,
}

/// Friction as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrictionEvent {
    /// The kind and the place: `403:example.com/admin`.
    pub signal: String,
    /// The points that it added to the risk score.
    pub points: u8,
}

/// The conditions of a grant besides the version: counters that the store only compares.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The lease.
    pub lease: LeaseId,
    /// The URL to request, with the claim that the writer knows. It must still be in the queue
    /// under that claim.
    pub url: Option<(UrlKey, Option<LeaseId>)>,
    /// The page to charge to the job, with the job's cap.
    pub charge: Option<u64>,
    /// The address slot to take.
    pub address: Option<AddressClaim>,
}

/// A slot of an address: a named lease with a deadline, so that it cannot leak.
#[derive(Clone, Copy, Debug)]
pub struct AddressClaim {
    /// The address.
    pub address: IpAddr,
    /// Limit of the requests in flight to the address.
    pub cap: u16,
    /// When the slot counts as free without further news.
    pub until: Time,
}

/// A change of one URL.
#[derive(Clone, Debug)]
pub struct UrlWrite {
    /// The host of the queue that has the URL; `None` if the URL is new.
    pub from: Option<HostKey>,
    /// The key of the URL.
    pub id: UrlKey,
    /// The claim that the writer knows. If the URL has another by now, this change is skipped.
    pub claim: Option<LeaseId>,
    /// The new record; `None` if the URL is settled.
    pub to: Option<UrlRecord>,
}

/// The result of a commit.
#[derive(Clone, Debug)]
pub enum Committed {
    /// Written. Every worker sees it from now on.
    Done(Saved),
    /// Another writer was first: decide again on this state.
    Stale(View),
    /// A cap or a stop order forbids it. Nothing was written.
    Refused(Refusal),
}

/// The store's answer to a written commit. It opens no permit: see [`commit`](crate::commit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The new version of the host's state.
    pub version: u64,
    /// The store's time of the write.
    pub now: Time,
}

/// Why a grant was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All slots of the address are taken, until this time at the latest.
    Address(Time),
    /// The job's pages are used up.
    Budget,
    /// A stop order is in force.
    Stopped,
    /// Another worker has the URL, or has finished it.
    Gone,
}
