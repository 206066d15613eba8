//! A URL's record as a row and as bytes.
//!
//! The record of a page before its first try is its URL, key and depth. Everything else is in one
//! small blob.

use curtsy_core::host::{LeaseId, Outcome, Tries};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{CheckBy, UrlRecord, Want};
use serde::{Deserialize, Serialize};

use crate::ledger::{number, time};

/// An error in data that this program has not written like this.
pub(crate) type Damaged = Box<dyn std::error::Error + Send + Sync>;

/// A URL's position in its host's queue: ready time, rank, worth with depth, and number in the order
/// of arrival.
pub(crate) type QueuePlace = (i64, u8, u32, u64);

/// The first position.
pub(crate) const FIRST: QueuePlace = (0, 0, 0, 0);
/// After every position.
pub(crate) const LAST: QueuePlace = (i64::MAX, u8::MAX, u32::MAX, u64::MAX);

/// Returns the position of a record with this number.
pub(crate) fn place(record: &UrlRecord, number_: u64) -> QueuePlace {
    (record.ready.map_or(0, number), record.rank(), worth_and_depth(record), number_)
}

/// Returns worth and depth as one number, which orders URLs by worth, then by depth.
///
/// Worth 0 gives the depth alone. Rows and journals from before there was a worth hold the depth in
/// the same place, so they are read as they are.
pub(crate) fn worth_and_depth(record: &UrlRecord) -> u32 {
    u32::from(record.worth) << u16::BITS | u32::from(record.depth)
}

/// The fields of a record besides URL, key, worth, depth and ready time.
#[derive(Serialize, Deserialize)]
struct More<'a> {
    #[serde(borrow)]
    origin: Option<&'a str>,
    hop: u8,
    #[serde(borrow)]
    want: Wanted<'a>,
    tries: Tries,
    last: Option<Outcome>,
    charged: bool,
    claim: Option<LeaseId>,
    slot_since: Option<Time>,
}

#[derive(Serialize, Deserialize)]
enum Wanted<'a> {
    Page,
    Sitemap,
    RobotsHop(&'a str, Time),
    /// A page whose answer a worker holds.
    PageHeld,
    /// A sitemap whose answer a worker holds.
    SitemapHeld,
    /// A hop whose answer a worker holds.
    RobotsHopHeld(&'a str, Time),
    /// The rules of robots.txt. They have no answer that a worker could hold.
    Rules,
    /// Whether the URL exists, and by which method this is checked.
    Check,
    CheckHeld,
    CheckByGet,
    CheckByGetHeld,
}

impl Wanted<'_> {
    fn is_held(&self) -> bool {
        matches!(
            self,
            Wanted::PageHeld
                | Wanted::SitemapHeld
                | Wanted::RobotsHopHeld(..)
                | Wanted::CheckHeld
                | Wanted::CheckByGetHeld
        )
    }
}

/// Whether a record with these bytes has an answer that a worker holds, or waits without any try.
pub(crate) fn is_untried_or_held(more: &[u8]) -> bool {
    postcard::from_bytes::<More<'_>>(more).is_ok_and(|more| {
        let untried = more.tries == Tries::default() && !matches!(more.want, Wanted::RobotsHop(..));
        more.want.is_held() || untried
    })
}

/// Returns the fields besides URL, key, worth, depth and ready time; `None` if all are the default.
pub(crate) fn more(record: &UrlRecord) -> Option<Vec<u8>> {
    let plain = record.hop == 0
        && record.want == Want::Page
        && record.tries == Tries::default()
        && record.last.is_none()
        && !record.charged
        && record.claim.is_none()
        && record.slot_since.is_none()
        && !record.held
        && record.origin == record.url;
    if plain {
        return None;
    }
    let owner;
    let more = More {
        origin: (record.origin != record.url).then(|| record.origin.as_str()),
        hop: record.hop,
        want: match (&record.want, record.held) {
            (Want::Page, false) => Wanted::Page,
            (Want::Page, true) => Wanted::PageHeld,
            (Want::Sitemap, false) => Wanted::Sitemap,
            (Want::Sitemap, true) => Wanted::SitemapHeld,
            (Want::Rules, _) => Wanted::Rules,
            (Want::Check { by: CheckBy::Head }, false) => Wanted::Check,
            (Want::Check { by: CheckBy::Head }, true) => Wanted::CheckHeld,
            (Want::Check { by: CheckBy::Get }, false) => Wanted::CheckByGet,
            (Want::Check { by: CheckBy::Get }, true) => Wanted::CheckByGetHeld,
            (Want::RobotsHop { owner: authority, deadline }, held) => {
                owner = authority.to_string();
                match held {
                    false => Wanted::RobotsHop(&owner, *deadline),
                    true => Wanted::RobotsHopHeld(&owner, *deadline),
                }
            }
        },
        tries: record.tries,
        last: record.last,
        charged: record.charged,
        claim: record.claim,
        slot_since: record.slot_since,
    };
    let bytes = postcard::to_extend(&more, Vec::with_capacity(48));
    Some(bytes.expect("a record holds nothing that postcard can't write"))
}

/// Returns a record from its parts.
pub(crate) fn record(
    key: u128,
    url: &str,
    ready: i64,
    worth_and_depth: u32,
    more: Option<&[u8]>,
) -> Result<UrlRecord, Damaged> {
    let url = CrawlUrl::parse(url)?;
    let depth = (worth_and_depth & u32::from(u16::MAX)) as u16;
    let mut record = UrlRecord {
        id: UrlKey::from_u128(key),
        worth: u8::try_from(worth_and_depth >> u16::BITS)?,
        ready: (ready != 0).then(|| time(ready)),
        ..UrlRecord::page(url, depth)
    };
    if let Some(bytes) = more {
        let more: More<'_> = postcard::from_bytes(bytes)?;
        if let Some(origin) = more.origin {
            record.origin = CrawlUrl::parse(origin)?;
        }
        record.hop = more.hop;
        record.held = more.want.is_held();
        record.want = match more.want {
            Wanted::Page | Wanted::PageHeld => Want::Page,
            Wanted::Sitemap | Wanted::SitemapHeld => Want::Sitemap,
            Wanted::Rules => Want::Rules,
            Wanted::Check | Wanted::CheckHeld => Want::Check { by: CheckBy::Head },
            Wanted::CheckByGet | Wanted::CheckByGetHeld => Want::Check { by: CheckBy::Get },
            Wanted::RobotsHop(owner, deadline) | Wanted::RobotsHopHeld(owner, deadline) => {
                Want::RobotsHop { owner: owner.parse()?, deadline }
            }
        };
        record.tries = more.tries;
        record.last = more.last;
        record.charged = more.charged;
        record.claim = more.claim;
        record.slot_since = more.slot_since;
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn check(record_: UrlRecord) {
        let bytes = more(&record_);
        let (key, ready) = (record_.id.as_u128(), record_.ready.map_or(0, number));
        let order = worth_and_depth(&record_);
        let again = record(key, record_.url.as_str(), ready, order, bytes.as_deref());
        assert_eq!(again.unwrap(), record_);
    }

    #[test]
    fn every_record_comes_back_as_it_was() {
        let url = CrawlUrl::parse("https://example.org/a?b=c").unwrap();
        let page = UrlRecord::page(url.clone(), 3);
        assert_eq!(more(&page), None, "most records are nothing but their URL");
        check(page.clone());
        check(UrlRecord { worth: 1, ..page.clone() });
        check(UrlRecord { worth: u8::MAX, depth: u16::MAX, ..page.clone() });
        check(UrlRecord { held: true, ..page.clone() });
        check(UrlRecord { held: true, want: Want::Sitemap, ..page.clone() });
        for by in [CheckBy::Head, CheckBy::Get] {
            check(UrlRecord { want: Want::Check { by }, ..page.clone() });
            check(UrlRecord { held: true, want: Want::Check { by }, ..page.clone() });
        }
        check(UrlRecord { ready: Some(Time::NEVER), want: Want::Sitemap, ..page.clone() });
        check(UrlRecord {
            origin: CrawlUrl::parse("http://example.net/").unwrap(),
            hop: 2,
            want: Want::RobotsHop { owner: url.authority(), deadline: Time::from_secs(7) },
            tries: Tries { counted: 2, doubt: Some(Time::from_secs(5)), open: true },
            last: Some(Outcome::Answered {
                status: 503,
                retry_after: Some(Duration::from_secs(9)),
                friction: None,
            }),
            ready: Some(Time::from_secs(11)),
            charged: true,
            claim: Some(LeaseId(u64::MAX)),
            slot_since: Some(Time::from_secs(1)),
            ..page
        });
    }
}
