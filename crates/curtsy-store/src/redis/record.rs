//! A URL's record as bytes: a head that scripts compare, then the rest.
//!
//! Scripts see three things of a record: its place in the queue, which they make themselves, its
//! claim, and whether it stays known after its end.

use std::sync::Arc;

use curtsy_core::host::LeaseId;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Priority, UrlRecord, Wish};
use serde::{Deserialize, Serialize};

use crate::ledger::number;
use crate::record::{Damaged, more, record};

/// Rank, worth, depth and number, which scripts put before the bytes of this module.
const PLACE_BYTES: usize = 11;
/// The claim, and whether the URL stays known.
const HEAD_BYTES: usize = 10;

#[derive(Serialize, Deserialize)]
struct RecordRest<'a> {
    url: &'a str,
    depth: u16,
    ready: i64,
    more: Option<&'a [u8]>,
    wish: Option<(&'a str, u64, u8)>,
}

/// Returns a claim as scripts compare it.
pub(super) fn claim(claim: Option<LeaseId>) -> [u8; 9] {
    let mut bytes = [0; 9];
    if let Some(LeaseId(id)) = claim {
        bytes[0] = 1;
        bytes[1..].copy_from_slice(&id.to_be_bytes());
    }
    bytes
}

/// Returns the beginning of a record's place: its rank, worth and depth. The other 7 bytes are the
/// number.
///
/// Places from before there was a worth have no byte for it and a number of 8 bytes, the first of
/// which is 0. They are as long. Those of depth 0 are the same as with a worth of 0.
pub(super) fn rank(record: &UrlRecord) -> [u8; 4] {
    let [high, low] = record.depth.to_be_bytes();
    [record.rank(), record.worth, high, low]
}

/// Returns a URL's identity as a key.
pub(super) fn id(key: UrlKey) -> [u8; 16] {
    key.as_u128().to_be_bytes()
}

/// Returns the bytes of a record, without its place.
pub(super) fn blob(record: &UrlRecord) -> Vec<u8> {
    let more = more(record);
    let rest = RecordRest {
        url: record.url.as_str(),
        depth: record.depth,
        ready: record.ready.map_or(0, number),
        more: more.as_deref(),
        wish: record.wish.as_deref().map(|w| (w.spelt.as_str(), w.number, w.priority as u8)),
    };
    let mut bytes = Vec::with_capacity(128);
    bytes.extend(claim(record.claim));
    bytes.push(u8::from(record.wish.is_none()));
    let mut bytes = postcard::to_extend(&rest, bytes)
        .expect("a record holds nothing that postcard can't write");
    // At the end, where workers from before there was a worth do not look.
    bytes.extend((record.worth != 0).then_some(record.worth));
    bytes
}

/// Returns a record from the bytes of a queue.
pub(super) fn queued(id: &[u8], bytes: &[u8]) -> Result<UrlRecord, Damaged> {
    unplaced(id, bytes.get(PLACE_BYTES..).ok_or("a record is cut off")?)
}

/// Returns a record from bytes without a place.
pub(super) fn unplaced(id: &[u8], bytes: &[u8]) -> Result<UrlRecord, Damaged> {
    let (rest, worth): (RecordRest<'_>, &[u8]) =
        postcard::take_from_bytes(bytes.get(HEAD_BYTES..).ok_or("a record is cut off")?)?;
    let key = u128::from_be_bytes(id.try_into()?);
    let mut record = record(key, rest.url, rest.ready, rest.depth.into(), rest.more)?;
    record.worth = worth.first().copied().unwrap_or(0);
    record.wish = rest.wish.map(|(spelt, number, priority)| {
        Arc::new(Wish { spelt: spelt.to_owned(), number, priority: priority_of(priority) })
    });
    Ok(record)
}

/// Returns the priority with this number, which is also that of its queue.
pub(super) fn priority_of(number: u8) -> Priority {
    match number {
        0 => Priority::High,
        1 => Priority::Normal,
        _ => Priority::Low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::url::CrawlUrl;

    #[test]
    fn every_record_comes_back_as_it_was() {
        let url = CrawlUrl::parse("https://example.org/a?b=c").unwrap();
        let page = UrlRecord::page(url.clone(), 3);
        let wish =
            Wish { spelt: "HTTPS://example.org/a?b=c".into(), number: 7, priority: Priority::Low };
        let wished = UrlRecord { claim: Some(LeaseId(9)), ..UrlRecord::wished(url, wish) };
        assert_ne!(page.id, wished.id, "a wish is not kept from coming by a link that was known");
        let later = UrlRecord { worth: 200, ..wished.clone() };
        for record in [page, wished, later] {
            let mut bytes = vec![0; PLACE_BYTES];
            bytes.extend(blob(&record));
            assert_eq!(queued(&id(record.id), &bytes).unwrap(), record);
            assert!(queued(&id(record.id), &bytes[..18]).is_err());
        }
    }

    #[test]
    fn a_record_from_before_there_was_a_worth_is_read_as_it_was() {
        let url = CrawlUrl::parse("https://example.org/a").unwrap();
        let record = UrlRecord::page(url, 3);
        // `RecordRest` in postcard's bytes: the URL with its length, depth, ready, more, wish.
        let mut bytes = vec![2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9];
        bytes.extend([0; 9]);
        bytes.push(1);
        bytes.push(21);
        bytes.extend(b"https://example.org/a");
        bytes.extend([3, 0, 0, 0]);
        assert_eq!(queued(&id(record.id), &bytes).unwrap(), record);
        assert_eq!(blob(&record), bytes[PLACE_BYTES..], "and is written as it was");
    }
}
