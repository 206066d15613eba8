//! The journal of changes since the last merge into the tables.
//!
//! Most URLs change three times before they are removed: granted, answered, settled. As rows, that
//! would write three pages of the file for each URL. In the journal it is a few hundred bytes, next
//! to those of other hosts. The tables are updated later, in large sorted steps.

use curtsy_engine::UrlRecord;
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::record::{self, QueuePlace};

#[derive(Serialize, Deserialize)]
pub(crate) enum JournalChange<'a> {
    /// A new host in the frontier.
    Host {
        /// The host's number in the table.
        host: i64,
        name: &'a str,
    },
    /// A new or changed URL.
    Put {
        host: i64,
        /// The URL's number in the order of arrival.
        number: u64,
        /// Its place in the table, if it has one.
        row: Option<QueuePlace>,
        /// Whether the URL becomes known.
        new: bool,
        key: [u8; 16],
        url: &'a str,
        ready: i64,
        rank: u8,
        /// Worth and depth, as [`record::worth_and_depth`] returns them.
        order: u32,
        /// The other fields, as `more` encodes them.
        #[serde(borrow)]
        more: Option<&'a [u8]>,
    },
    /// A URL that has left a host's queue.
    Gone {
        host: i64,
        number: u64,
        /// Its place in the table, if it had one.
        row: Option<QueuePlace>,
    },
    /// The number of pages charged to the job.
    Pages(u64),
}

/// Changes since the last merge.
#[derive(Default)]
pub(crate) struct FrontierJournal {
    bytes: Vec<u8>,
    /// The number of changes since the last merge, written or not.
    pub(crate) since_merge: usize,
}

impl FrontierJournal {
    pub(crate) fn host(&mut self, host: i64, name: &str) {
        self.push(&JournalChange::Host { host, name });
    }

    pub(crate) fn put(
        &mut self,
        host: i64,
        number: u64,
        row: Option<QueuePlace>,
        new: bool,
        url: &UrlRecord,
    ) {
        let more = record::more(url);
        let (ready, rank, order, _) = record::place(url, number);
        let key = url.id.as_u128().to_be_bytes();
        let (url, more) = (url.url.as_str(), more.as_deref());
        self.push(&JournalChange::Put {
            host,
            number,
            row,
            new,
            key,
            url,
            ready,
            rank,
            order,
            more,
        });
    }

    pub(crate) fn gone(&mut self, host: i64, number: u64, row: Option<QueuePlace>) {
        self.push(&JournalChange::Gone { host, number, row });
    }

    pub(crate) fn pages(&mut self, pages: u64) {
        self.push(&JournalChange::Pages(pages));
    }

    fn push(&mut self, change: &JournalChange<'_>) {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(change, bytes)
            .expect("a change holds nothing that postcard can't write");
        self.since_merge += 1;
    }

    /// Returns the changes that are not in the file yet.
    pub(crate) fn unwritten(&self) -> &[u8] {
        &self.bytes
    }

    /// Notes that all changes are in the file.
    pub(crate) fn written(&mut self) {
        self.bytes.clear();
    }

    /// Notes that all changes are in the tables.
    pub(crate) fn merged(&mut self) {
        self.bytes.clear();
        self.since_merge = 0;
    }
}

/// Calls `each` for the changes in a row of the journal, in order.
pub(crate) fn changes(
    mut bytes: &[u8],
    mut each: impl FnMut(JournalChange<'_>) -> Result<(), rusqlite::Error>,
) -> Result<(), rusqlite::Error> {
    while !bytes.is_empty() {
        let (change, rest) = postcard::take_from_bytes(bytes).map_err(damaged)?;
        each(change)?;
        bytes = rest;
    }
    Ok(())
}
