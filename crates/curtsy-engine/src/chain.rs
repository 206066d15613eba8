//! robots.txt that is elsewhere: its redirects are followed from host to host.
//!
//! A hop is a URL of its own in the target host's queue. It pays for its turn there and passes the
//! guard there, but is not checked against that host's rules, because two hosts could lock each
//! other. A hop to another authority's robots.txt is that authority's own request and answers both.
//! More than five hops, or a loop, count as a 404. The chain has one deadline (RFC 9309 §2.3.1.2).

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Chase, HostState, Outcome, RequestKind, RobotsNews, RobotsStanding, Tries,
};
use curtsy_core::policy::RobotsPolicy;
use curtsy_core::robots::{RobotsClass, RobotsReply, class_of};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, UrlKey};
use curtsy_parse::login::leads_to_login;

use crate::answer;
use crate::exchange::{ExchangeResult, NewRobotsFile};
use crate::outbox::FinishedUrl;
use crate::rules_cache::RulesCache;
use crate::visit::{HostVisit, PlannedRequest};
use crate::{Commit, Committed, Fetched, Head, RobotsFile, UrlRecord, View, Want, Worker, World};

/// Hops of one robots.txt (RFC 9309 §2.3.1.2: at least five).
pub(crate) const HOPS_MAX: u8 = 5;
/// robots.txt is read up to here, with room for the line that the limit cuts.
const TEXT_MAX: usize = 512 * 1024;
/// How long before a chain's deadline a hop is given up: it must not reach its server after it.
const HOP_SLACK: Duration = Duration::from_millis(500);
/// Distinguishes the records of hops from those of pages.
const HOP_MARK: u128 = 0x726f_626f_7473_2e74_7874_2068_6f70_2e2e;

const NO_RULES: RobotsNews = no_file(RobotsClass::NoRules);
const UNREACHABLE: RobotsNews = no_file(RobotsClass::Unreachable);

const fn no_file(class: RobotsClass) -> RobotsNews {
    RobotsNews::Answer { class, file: None, told: None }
}

/// Whether a hop needs a request.
pub(crate) enum HopState {
    /// It needs a request of its own.
    NeedsRequest,
    /// It is settled without one.
    Settled,
    /// It waits for a chain that is being followed already.
    Waits,
}

/// Returns what a response to a request for a robots.txt says, and the file to write. `known` says
/// whether an earlier file is known, which a 304 confirms.
pub(crate) fn read_robots(
    url: &CrawlUrl,
    policy: &RobotsPolicy,
    rules: &RulesCache,
    result: &ExchangeResult,
    known: bool,
    deadline: Time,
) -> (RobotsNews, NewRobotsFile) {
    let Outcome::Answered { status, retry_after, .. } = result.outcome else {
        return (UNREACHABLE, None);
    };
    let head = result.head.as_ref();
    if status == 304 && known {
        return (RobotsNews::NotModified, None);
    }
    if answer::is_redirect(status) {
        let to = head.and_then(|h| h.location.as_deref()).and_then(|l| url.join(l).ok());
        let news = match to.filter(|to| to != url) {
            // A login instead of rules counts as a 401.
            Some(to) if leads_to_login(url, &to) => {
                no_file(class_of(RobotsReply::Status(401), policy.forbidden))
            }
            Some(to) => RobotsNews::Moved(Chase { to, deadline }),
            None => NO_RULES,
        };
        return (news, None);
    }
    let class = class_of(RobotsReply::Status(status), policy.forbidden);
    let (head, page) = match (class, head, &result.page) {
        (RobotsClass::Rules, Some(head), Some(page)) => (head, page),
        _ => return (RobotsNews::Answer { class, file: None, told: retry_after }, None),
    };
    let file = Arc::new(robots_file(head, page));
    let id = file.id();
    let delay = rules.insert(id, Arc::clone(&file), policy.agent_match).crawl_delay();
    let news = RobotsNews::Answer { class, file: Some((id, delay)), told: retry_after };
    (news, Some((id, file)))
}

/// Returns the first hop of a robots.txt that was redirected.
pub(crate) fn first_hop(
    planned: &PlannedRequest,
    news: Option<&RobotsNews>,
) -> Option<Box<UrlRecord>> {
    let Some(RobotsNews::Moved(chase)) = news else {
        return None;
    };
    if planned.approach.kind != RequestKind::Robots {
        return None;
    }
    let owner = planned.approach.authority();
    let origin = owner.robots_url();
    let id = UrlKey::from_u128(origin.key().as_u128() ^ HOP_MARK);
    let want = Want::RobotsHop { owner, deadline: chase.deadline };
    let page = UrlRecord::page(chase.to.clone(), 0);
    Some(Box::new(UrlRecord { id, origin, hop: 1, want, ..page }))
}

/// Returns the next hop, if this one was redirected again and may be followed.
pub(crate) fn next_hop(record: &UrlRecord, result: &ExchangeResult) -> Option<UrlRecord> {
    let head = result.head.as_ref().filter(|h| answer::is_redirect(h.status))?;
    let to = record.url.join(head.location.as_deref()?).ok()?;
    let looped = to == record.origin || to == record.url;
    if record.hop >= HOPS_MAX || looped || leads_to_login(&record.url, &to) {
        return None;
    }
    Some(UrlRecord {
        url: to,
        hop: record.hop + 1,
        tries: Tries::default(),
        ready: None,
        claim: None,
        ..record.clone()
    })
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Settles a hop that needs no request of its own: it is too late, a loop, or leads to a
    /// robots.txt that is known.
    pub(crate) async fn hop_without_request(&self, record: &UrlRecord) -> HopState {
        let Want::RobotsHop { owner, deadline } = &record.want else {
            return HopState::NeedsRequest;
        };
        let (state, policy) = (&self.view.state, &self.policy.robots);
        let now = self.earliest_now();
        let authority = record.url.authority();
        let lead = state.lead(&self.scene(now, None));
        let late = now + lead + HOP_SLACK >= *deadline;
        let own = record.url == authority.robots_url();
        let known = state.robots_of(&authority).filter(|_| own);
        let known = known.filter(|known| now < known.good_until(policy));
        let mut file: NewRobotsFile = None;
        if let Some(id) = known.and_then(|known| known.file) {
            // Written with the owner's state: the store may have lost it, and this worker may be
            // the last to have it.
            file = self.worker.robots_file(id).await.map(|file| (id, file));
        }
        // What is known counts even after the deadline: a site that has responded is not asked
        // again.
        let news = match known.map(|known| (known, &known.standing)) {
            _ if own && authority == *owner => NO_RULES,
            Some((known, RobotsStanding::Rules)) if file.is_some() => {
                let delay = Duration::from_micros(known.crawl_delay_micros);
                let delay = Some(delay).filter(|d| !d.is_zero());
                let file = file.as_ref().map(|(id, _)| (*id, delay));
                RobotsNews::Answer { class: RobotsClass::Rules, file, told: None }
            }
            Some((_, RobotsStanding::Absent)) => NO_RULES,
            Some((_, RobotsStanding::Refused)) => no_file(RobotsClass::Denied),
            // The target host's wait holds for its redirects, too.
            Some((_, RobotsStanding::Unreachable(until))) => RobotsNews::Answer {
                class: RobotsClass::Unreachable,
                file: None,
                told: Some(*until - now),
            },
            Some((_, RobotsStanding::Chasing(chase))) if chase.to == record.origin => NO_RULES,
            _ if late => UNREACHABLE,
            // Redirected again, and followed already.
            Some((_, RobotsStanding::Chasing(_))) => return HopState::Waits,
            _ => return HopState::NeedsRequest,
        };
        self.worker.end_chain(&self.view, record, owner, news, file).await;
        HopState::Settled
    }

    /// Ends a hop that had its own request.
    pub(crate) async fn end_hop(&self, record: &UrlRecord, result: &ExchangeResult) {
        let Want::RobotsHop { owner, deadline } = &record.want else {
            return;
        };
        let (policy, rules) = (&self.policy.robots, &self.worker.rules);
        let (news, file) = read_robots(&record.url, policy, rules, result, false, *deadline);
        let news = match news {
            // Not followed further: too many hops, or a loop.
            RobotsNews::Moved(_) => NO_RULES,
            news => news,
        };
        self.worker.end_chain(&self.view, record, owner, news, file).await;
    }
}

impl<W: World> Worker<'_, W> {
    /// Ends a hop that may not be requested: its owner's robots.txt is unreachable.
    pub(crate) async fn give_up_hop(&self, view: &View, record: &UrlRecord) {
        if let Want::RobotsHop { owner, .. } = &record.want {
            self.end_chain(view, record, owner, UNREACHABLE, None).await;
        }
    }

    /// Writes the news to the owner of a chain, and ends the hop.
    async fn end_chain(
        &self,
        view: &View,
        record: &UrlRecord,
        owner: &Authority,
        news: RobotsNews,
        file: NewRobotsFile,
    ) {
        self.write_to_owner(owner, news, file).await;
        self.finish_url(FinishedUrl::without_row(view, record));
    }

    /// Writes the news to the authority whose robots.txt it is, if that still waits for it.
    async fn write_to_owner(&self, owner: &Authority, news: RobotsNews, file: NewRobotsFile) {
        let policy = self.policies.of(&owner.host);
        let mut view = self.load(&owner.host).await;
        loop {
            let standing = view.state.robots_of(owner).map(|waiting| &waiting.standing);
            if !matches!(standing, Some(RobotsStanding::Chasing(_))) {
                return;
            }
            let mut state = HostState::clone(&view.state);
            state.learn_robots(owner, news.clone(), &policy.robots, None, view.now);
            let state = Arc::new(state);
            let due = self.due(&view, &state);
            let commit = Commit {
                robots: file.iter().cloned().collect(),
                ..Commit::of_state(&view, Some(Arc::clone(&state)), due)
            };
            match self.commit_known(&commit).await.committed {
                Committed::Done(saved) => {
                    let mut memory = self.memory.borrow_mut();
                    return memory.remember(&owner.host, &state, saved.now);
                }
                Committed::Stale(newer) => view = newer,
                Committed::Refused(_) => return,
            }
        }
    }
}

fn robots_file(head: &Head, page: &Fetched) -> RobotsFile {
    let text = page.body[..page.body.len().min(TEXT_MAX)].to_vec();
    RobotsFile { text, etag: head.etag.clone(), last_modified: head.last_modified.clone() }
}
