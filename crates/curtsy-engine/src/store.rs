//! What is asked of a store: keep host states and the frontier, compare versions and caps, tell the
//! time. No rule of politeness.
//!
//! `take` never removes a host: it hands it out and lets it fall due again by itself, so a worker
//! that dies gives it back. The hold only avoids races; safety comes from the version that every
//! write compares.

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

    /// Tells again what a worker remembers of URLs that failed. Those in the queue take over what
    /// is worse (see [`UrlRecord::restore`]), and so do those that come into it later in this
    /// epoch.
    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError>;

    /// Tells again which orders a worker has heard. Those that are newer than what the store has
    /// are in force.
    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError>;

    /// Hands out hosts that are due, at most `hosts` of them.
    async fn take(&self, hosts: usize) -> Result<Taken, StoreError>;

    /// Reads every host that waits, with some of its URLs: `None` if there are more than `hosts` of
    /// them, if one is due, or if the store can't tell, as one that many workers share.
    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let _ = hosts;
        Ok(None)
    }

    /// Reads a host's state, the queue apart.
    async fn load(&self, host: &HostKey) -> Result<View, StoreError>;

    /// Writes what hangs together in one step, if version, epoch, caps and stop list still hold.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Records what became of URLs whose rows are kept. A write whose claim is no longer the URL's
    /// own is left out.
    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError>;

    /// A robots.txt by its hash.
    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError>;
}

/// We could not do our part. What the store did is unknown unless it says that it refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// No answer: it may have been done or not.
    #[error("store gave no answer to `{0}`: it may have been done or not")]
    Unknown(&'static str),
    /// Surely not done.
    #[error("store refused `{0}`: {1}")]
    Refused(&'static str, String),
}

/// A robots.txt as it was served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsFile {
    /// Its bytes, cut to the limit.
    pub text: Vec<u8>,
    /// Its ETag, sent back when it is asked for again.
    pub etag: Option<String>,
    /// Its Last-Modified, likewise.
    pub last_modified: Option<String>,
}

impl RobotsFile {
    /// The file's name: a hash of text and validators, so that one host's validators are never sent
    /// to another.
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
    /// The URL as it was offered: its identity through all hops.
    pub id: UrlKey,
    /// The same, to print.
    pub origin: CrawlUrl,
    /// Where it is to be asked for now.
    pub url: CrawlUrl,
    /// Redirects followed so far.
    pub hop: u8,
    /// Links followed from a seed.
    pub depth: u16,
    /// What for.
    pub want: Want,
    /// Tries that count.
    pub tries: Tries,
    /// What its last try came to, if it failed.
    pub last: Option<Outcome>,
    /// Not before this: a retry's wait, or the hold of a worker that has its answer in hand.
    pub ready: Option<Time>,
    /// Whether the job has paid for it.
    pub charged: bool,
    /// The name of the last write to it: a write or a grant that knows of an older one is stale.
    pub claim: Option<LeaseId>,
    /// When it began to wait for a slot.
    pub slot_since: Option<Time>,
    /// A worker has its answer in hand and keeps it from others. If a store knows that the worker
    /// is gone, this wait is over.
    pub held: bool,
    /// Whose wish it is, if it is one that may come again. A URL without is asked for once and
    /// stays known.
    pub wish: Option<Arc<Wish>>,
}

/// Somebody outside asked for a URL, and may ask for it again: each time is a wish of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The URL as it was asked for, to the letter.
    pub spelt: String,
    /// Which one of all wishes it is.
    pub number: u64,
    /// How urgent it is.
    pub priority: Priority,
}

/// How urgent a wish is, among those for the same host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before the others.
    High,
    /// In its turn.
    #[default]
    Normal,
    /// When nothing else is to be done.
    Low,
}

/// Tells a URL that somebody asked for from the same one as a link.
const WISH_MARK: u128 = 0x77_69_73_68 << 96;

/// What a URL is wanted for.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Its content.
    Page,
    /// Whether it is there: for a report on links. Nothing of its content is kept, and it leads
    /// nowhere.
    Check {
        /// How it is asked.
        by: CheckBy,
    },
    /// The URLs that it lists.
    Sitemap,
    /// Another authority's robots.txt was redirected here.
    RobotsHop {
        /// Whose.
        owner: Authority,
        /// When the chain counts as failed.
        deadline: Time,
    },
    /// What robots.txt says of it.
    Rules,
}

/// How it is asked whether a URL is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckBy {
    /// By `HEAD`, which costs the site least.
    Head,
    /// By `GET`, without its body: servers that have no `HEAD` for a page say that it is not there
    /// or not allowed.
    Get,
}

impl UrlRecord {
    /// The question whether a URL is there, as it is offered.
    pub fn check(url: CrawlUrl, depth: u16) -> UrlRecord {
        UrlRecord { want: Want::Check { by: CheckBy::Head }, ..UrlRecord::page(url, depth) }
    }

    /// The question what robots.txt says of a URL, as it is offered.
    pub fn rules(url: CrawlUrl) -> UrlRecord {
        UrlRecord { want: Want::Rules, ..UrlRecord::page(url, 0) }
    }

    /// A page as it is offered.
    pub fn page(url: CrawlUrl, depth: u16) -> UrlRecord {
        UrlRecord {
            id: url.key(),
            origin: url.clone(),
            url,
            hop: 0,
            depth,
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

    /// The same URL as one that was not asked for yet: for its next hop, or for another method.
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

    /// A page that somebody asks for. Each spelling is a URL of its own, since each is answered by
    /// itself.
    pub fn wished(url: CrawlUrl, wish: Wish) -> UrlRecord {
        let id = UrlKey::from_u128(UrlKey::of(&wish.spelt).as_u128() ^ WISH_MARK);
        UrlRecord { id, wish: Some(Arc::new(wish)), ..UrlRecord::page(url, 0) }
    }

    /// Takes over from another record of the same URL what is worse: tries, waits, and that it is
    /// paid for.
    pub fn restore(&mut self, remembered: &UrlRecord) {
        if remembered.tries.counted > self.tries.counted {
            self.tries.counted = remembered.tries.counted;
            self.last = remembered.last;
        }
        self.tries.doubt = self.tries.doubt.max(remembered.tries.doubt);
        self.ready = self.ready.max(remembered.ready);
        self.charged |= remembered.charged;
    }

    /// What goes first among URLs that are ready: a hop of a robots.txt, which others wait for;
    /// then sitemaps and what is urgent, then pages.
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

    /// The host that it is asked of.
    pub fn host(&self) -> &HostKey {
        self.url.host()
    }

    /// What the core calls its kind.
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

/// What became of an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// URLs that were new.
    pub new: usize,
    /// URLs that were known.
    pub known: usize,
}

/// A host's state as the store has it.
#[derive(Clone, Debug)]
pub struct View {
    /// The host.
    pub host: HostKey,
    /// Its state. Whoever changes it makes a new one.
    pub state: Arc<HostState>,
    /// The state's version; a write must name it.
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

/// A stretch of the store's life in which nothing written was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Its number.
    pub id: u64,
    /// Every host counts as started then, since starts may have been lost.
    pub floor: Option<Time>,
    /// Nothing is granted before this, since old requests may still run.
    pub quiet_until: Option<Time>,
    /// Whether it began with nothing: then the frontier is gone too and sources offer again.
    pub emptied: bool,
}

/// A host that is handed out, with some of its URLs, those that are ready first.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Its state.
    pub view: View,
    /// Up to 32 of its URLs.
    pub urls: Vec<UrlRecord>,
}

/// What `take` gives.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Hosts that are due.
    pub visits: Vec<Visit>,
    /// The store's time.
    pub now: Time,
    /// When the next host falls due, if one is known.
    pub next_due: Option<Time>,
    /// The store's epoch.
    pub epoch: Epoch,
    /// URLs that are not settled.
    pub queued: u64,
    /// The newest order for each host, for the worker to remember.
    pub orders: Arc<Orders>,
}

/// A write that happens as a whole or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The host.
    pub host: HostKey,
    /// The version that the writer has seen.
    pub version: u64,
    /// The epoch that the writer has seen.
    pub epoch: u64,
    /// The host's new state, or none if only its schedule changes.
    pub state: Option<Arc<HostState>>,
    /// The host is not handed out before this, nor before its first URL is ready.
    pub not_before: Time,
    /// What a grant needs besides.
    pub grant: Option<Grant>,
    /// An address slot that is given back.
    pub release: Option<(IpAddr, LeaseId)>,
    /// robots.txt files to keep.
    pub robots: Vec<(RobotsId, Arc<RobotsFile>)>,
    /// Changes of URLs.
    pub urls: Vec<UrlWrite>,
    /// The exchange that it takes in, if it takes in one that was sent: for stores that show it to
    /// people.
    pub exchanged: Option<Exchanged>,
}

/// An exchange as people are shown it. It decides nothing: what does is in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// The latest moment at which our first byte can have left.
    pub sent: Time,
    /// The friction that it added to the host's risk.
    pub friction: Option<FrictionEvent>,
}

/// Friction as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrictionEvent {
    /// What was met, and where: `403:example.com/admin`.
    pub signal: String,
    /// What it added to the risk score.
    pub points: u8,
}

/// What a grant's commit checks besides the version: counters that the store compares without
/// knowing why.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The lease.
    pub lease: LeaseId,
    /// The URL that is asked for, with the claim that the writer knows of: it must still be in the
    /// queue under that claim.
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
    /// Requests in flight there, at most.
    pub cap: u16,
    /// When the slot counts as free even if nothing more is heard.
    pub until: Time,
}

/// A change of one URL.
#[derive(Clone, Debug)]
pub struct UrlWrite {
    /// The host whose queue it is in; none if it is new.
    pub from: Option<HostKey>,
    /// Its identity.
    pub id: UrlKey,
    /// The claim that the writer knows of: if the URL has another by now, this change is left out.
    pub claim: Option<LeaseId>,
    /// What it becomes; none if it is settled.
    pub to: Option<UrlRecord>,
}

/// What became of a commit.
#[derive(Clone, Debug)]
pub enum Committed {
    /// Written, and seen by every worker from now on.
    Done(Saved),
    /// Somebody else wrote first: decide again on this.
    Stale(View),
    /// A cap or an order is against it. Nothing was written.
    Refused(Refusal),
}

/// What a store says of a commit that it has written. It opens no permit: see
/// [`commit`](crate::commit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The version that the host's state has now.
    pub version: u64,
    /// The store's time of the write.
    pub now: Time,
}

/// Why a grant was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All slots of the address are taken, until then at the latest.
    Address(Time),
    /// The job's pages are used up.
    Budget,
    /// A stop order is in force.
    Stopped,
    /// Somebody else has the URL, or had it.
    Gone,
}
