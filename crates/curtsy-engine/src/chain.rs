//! robots.txt that is elsewhere: following its redirects from host to host.
//!
//! A hop is a URL of its own in the target host's queue: it pays for its turn there and meets the guard there, but is not checked
//! against that host's rules, since two hosts could lock each other. A hop to another authority's robots.txt is that authority's own
//! request and answers both. More than five hops, or a loop, count as a 404; the chain has one deadline (RFC 9309 §2.3.1.2).

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Chase, HostState, Kind, Outcome, RobotsNews, RobotsStanding, Tries};
use curtsy_core::policy::Policy;
use curtsy_core::robots::{RobotsClass, RobotsReply, class_of};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, UrlKey};
use curtsy_parse::login::leads_to_login;

use crate::answer;
use crate::exchange::{Brought, Kept};
use crate::flush::Ended;
use crate::visit::{Asked, Seen};
use crate::{
    Commit, Committed, Fetched, Head, RobotsFile, UrlRecord, UrlWrite, View, Want, Worker, World,
};

/// Hops of one robots.txt (RFC 9309 §2.3.1.2: at least five).
pub(crate) const HOPS_MAX: u8 = 5;
/// robots.txt is read up to here, with room for the line that the limit cuts.
const TEXT_MAX: usize = 512 * 1024;
/// How long before a chain's deadline a hop is given up: it must not reach its server after it.
const HOP_SLACK: Duration = Duration::from_millis(500);
/// Keeps the records of hops apart from those of pages.
const HOP_MARK: u128 = 0x726f_626f_7473_2e74_7874_2068_6f70_2e2e;

const NO_RULES: RobotsNews =
    RobotsNews::Answer { class: RobotsClass::NoRules, file: None, told: None };
const UNREACHABLE: RobotsNews =
    RobotsNews::Answer { class: RobotsClass::Unreachable, file: None, told: None };

/// What a hop needs.
pub(crate) enum Hop {
    /// A request of its own.
    NeedsRequest,
    /// Nothing more.
    Settled,
    /// What somebody else is finding out.
    Waits,
}

impl<W: World> Worker<'_, W> {
    /// What an answer to a request for a robots.txt says, and the text to keep.
    pub(crate) fn read_robots(
        &self,
        url: &CrawlUrl,
        policy: &Policy,
        brought: &Brought,
        held: bool,
        deadline: Time,
    ) -> (RobotsNews, Kept) {
        let Outcome::Answered { status, retry_after, .. } = brought.outcome else {
            return (UNREACHABLE, None);
        };
        let head = brought.head.as_ref();
        if status == 304 && held {
            return (RobotsNews::NotModified, None);
        }
        if answer::is_redirect(status) {
            let to = head.and_then(|h| h.location.as_deref()).and_then(|l| url.join(l).ok());
            return match to.filter(|to| to != url) {
                // A login instead of rules: as a 401.
                Some(to) if leads_to_login(url, &to) => {
                    let class = class_of(RobotsReply::Status(401), policy.robots.forbidden);
                    (RobotsNews::Answer { class, file: None, told: None }, None)
                }
                Some(to) => (RobotsNews::Moved(Chase { to, deadline }), None),
                None => (NO_RULES, None),
            };
        }
        let class = class_of(RobotsReply::Status(status), policy.robots.forbidden);
        let kept = match (class, head, &brought.page) {
            (RobotsClass::Rules, Some(head), Some(page)) => Some(robots_file(head, page)),
            _ => None,
        };
        let kept = kept.map(|file| {
            let (id, file) = (file.id(), Arc::new(file));
            let rules = self.keep_rules(id, Arc::clone(&file), policy.robots.agent_match);
            ((id, rules.crawl_delay()), (id, file))
        });
        let (file, kept) = kept.unzip();
        (RobotsNews::Answer { class, file, told: retry_after }, kept)
    }

    /// The first hop of a robots.txt that is elsewhere.
    pub(crate) fn first_hop(
        &self,
        asked: &Asked<'_>,
        news: Option<&RobotsNews>,
    ) -> Option<Box<UrlRecord>> {
        let Some(RobotsNews::Moved(chase)) = news else {
            return None;
        };
        if asked.approach.kind != Kind::Robots {
            return None;
        }
        let owner = asked.approach.authority();
        let origin = owner.robots_url();
        let id = UrlKey::from_u128(origin.key().as_u128() ^ HOP_MARK);
        let want = Want::RobotsHop { owner, deadline: chase.deadline };
        let page = UrlRecord::page(chase.to.clone(), 0);
        Some(Box::new(UrlRecord { id, origin, hop: 1, want, ..page }))
    }

    /// The next hop, if this one was redirected again and may be followed.
    pub(crate) fn next_hop(&self, record: &UrlRecord, brought: &Brought) -> Option<UrlRecord> {
        let head = brought.head.as_ref().filter(|h| answer::is_redirect(h.status))?;
        let to = record.url.join(head.location.as_deref()?).ok()?;
        if leads_to_login(&record.url, &to) {
            return None;
        }
        self.hop_to(record, to)
    }

    fn hop_to(&self, record: &UrlRecord, to: CrawlUrl) -> Option<UrlRecord> {
        let looped = to == record.origin || to == record.url;
        (record.hop < HOPS_MAX && !looped).then(|| UrlRecord {
            url: to,
            hop: record.hop + 1,
            tries: Tries::default(),
            ready: None,
            claim: None,
            ..record.clone()
        })
    }

    /// Settles a hop that needs no request of its own: too late, a loop, or to a robots.txt that is known.
    pub(crate) async fn hop_without_request(
        &self,
        seen: &Seen,
        policy: &Policy,
        record: &UrlRecord,
    ) -> Hop {
        let Want::RobotsHop { owner, deadline } = &record.want else {
            return Hop::NeedsRequest;
        };
        let now = seen.stamp.earliest(self.clock_now());
        let authority = record.url.authority();
        let mut kept: Kept = None;
        let lead = seen.view.state.lead(&self.scene(policy, &seen.view, now, None));
        let soon = now + lead + HOP_SLACK;
        let late = soon >= *deadline;
        let own = record.url == authority.robots_url();
        let known = seen.view.state.robots_of(&authority).filter(|_| own);
        let known = known.filter(|known| now < known.good_until(&policy.robots));
        if let Some(id) = known.and_then(|known| known.file) {
            // Kept with the owner's state: the store may have lost it, and this worker may be the last to have it.
            kept = self.robots_file(id).await.map(|file| (id, file));
        }
        // What was found out counts, even if nobody had the time to look at it before the deadline: a site that has answered is not asked again.
        let news = match known.map(|known| (known, &known.standing)) {
            _ if own && authority == *owner => NO_RULES,
            Some((known, RobotsStanding::Rules)) if kept.is_some() => {
                let delay = Duration::from_micros(known.crawl_delay_micros);
                let delay = Some(delay).filter(|d| !d.is_zero());
                let file = kept.as_ref().map(|(id, _)| (*id, delay));
                RobotsNews::Answer { class: RobotsClass::Rules, file, told: None }
            }
            Some((_, RobotsStanding::Absent)) => NO_RULES,
            Some((_, RobotsStanding::Refused)) => {
                RobotsNews::Answer { class: RobotsClass::Denied, file: None, told: None }
            }
            // What its host was told to wait holds for whoever is sent there.
            Some((_, RobotsStanding::Unreachable(until))) => RobotsNews::Answer {
                class: RobotsClass::Unreachable,
                file: None,
                told: Some(*until - now),
            },
            Some((_, RobotsStanding::Chasing(chase))) if chase.to == record.origin => NO_RULES,
            _ if late => UNREACHABLE,
            // Elsewhere again, and being followed there.
            Some((_, RobotsStanding::Chasing(_))) => return Hop::Waits,
            _ => return Hop::NeedsRequest,
        };
        self.tell_owner(owner, news, kept).await;
        self.end(self.moved(&seen.view, record, None));
        Hop::Settled
    }

    /// The end of a hop that had its own request.
    pub(crate) async fn end_hop(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
        record: &UrlRecord,
        brought: &Brought,
    ) {
        let Want::RobotsHop { owner, deadline } = &record.want else {
            return;
        };
        let (news, kept) = self.read_robots(&record.url, asked.policy, brought, false, *deadline);
        let news = match news {
            // Not followed any further: too many, or a loop.
            RobotsNews::Moved(_) => NO_RULES,
            news => news,
        };
        self.tell_owner(owner, news, kept).await;
        self.end(self.moved(&seen.view, record, None));
    }

    /// A hop that may not be asked for: for its owner that is a robots.txt which can't be had.
    pub(crate) async fn give_up_hop(&self, view: &View, record: &UrlRecord) {
        let Want::RobotsHop { owner, .. } = &record.want else {
            return;
        };
        self.tell_owner(owner, UNREACHABLE, None).await;
        self.end(self.moved(view, record, None));
    }

    fn moved(&self, view: &View, record: &UrlRecord, to: Option<UrlRecord>) -> Ended {
        let from = Some(view.host.clone());
        let write = UrlWrite { from, id: record.id, claim: record.claim, to };
        Ended { row: None, write: Some(write), before: None, record: record.clone() }
    }

    /// Brings the news to the authority whose robots.txt it is, if that still waits for it.
    async fn tell_owner(&self, owner: &Authority, news: RobotsNews, kept: Kept) {
        let policy = self.policy_of(&owner.host);
        let mut view = self.load(&owner.host).await;
        loop {
            let Some(waiting) = view.state.robots_of(owner) else {
                return;
            };
            if !matches!(waiting.standing, RobotsStanding::Chasing(_)) {
                return;
            }
            let mut state = HostState::clone(&view.state);
            state.learn_robots(owner, news.clone(), &policy.robots, None, view.now);
            let state = Arc::new(state);
            let due = self.scene_due(&view, &state);
            let commit = Commit {
                robots: kept.iter().cloned().collect(),
                ..self.plain_commit(&view, &state, due)
            };
            match self.commit_known(&commit).await.0 {
                Committed::Done(saved) => return self.remember(&owner.host, &state, saved.now),
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
