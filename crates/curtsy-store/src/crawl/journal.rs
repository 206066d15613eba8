//! The journal: what changed since the tables were last brought up to date.
//!
//! Most URLs change three times and are gone: granted, answered, settled. Written as rows that is three times a page of the file for
//! each; written as a journal it is a few hundred bytes, side by side with those of other hosts. The tables follow in large, sorted steps.

use curtsy_engine::UrlRecord;
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::record::{self, Place};

/// One change.
#[derive(Serialize, Deserialize)]
pub(crate) enum Change<'a> {
    /// A host that is new in the frontier.
    Host {
        /// Its number.
        host: i64,
        /// Its name.
        name: &'a str,
    },
    /// A URL as it is now.
    Put {
        /// The number of its host.
        host: i64,
        /// Its own.
        number: u64,
        /// Where it stands in the table, if it does.
        row: Option<Place>,
        /// Whether it is known from now on.
        new: bool,
        /// Its key.
        key: [u8; 16],
        /// The URL.
        url: &'a str,
        /// When it is ready.
        ready: i64,
        /// Its rank.
        rank: u8,
        /// Its depth.
        depth: u16,
        /// The rest.
        #[serde(borrow)]
        more: Option<&'a [u8]>,
    },
    /// A URL that is no longer in a host's queue.
    Gone {
        /// The number of its host.
        host: i64,
        /// Its own.
        number: u64,
        /// Where it stood in the table, if it did.
        row: Option<Place>,
    },
    /// So many pages were charged to the job.
    Pages(u64),
}

/// Changes that are not written yet.
#[derive(Default)]
pub(crate) struct Journal {
    bytes: Vec<u8>,
    /// Changes since the tables were brought up to date, written or not.
    pub(crate) since_merge: usize,
}

impl Journal {
    pub(crate) fn host(&mut self, host: i64, name: &str) {
        self.push(&Change::Host { host, name });
    }

    pub(crate) fn put(
        &mut self,
        host: i64,
        number: u64,
        row: Option<Place>,
        new: bool,
        url: &UrlRecord,
    ) {
        let more = record::more(url);
        let (ready, rank, depth, _) = record::place(url, number);
        let key = url.id.as_u128().to_be_bytes();
        let (url, more) = (url.url.as_str(), more.as_deref());
        self.push(&Change::Put { host, number, row, new, key, url, ready, rank, depth, more });
    }

    pub(crate) fn gone(&mut self, host: i64, number: u64, row: Option<Place>) {
        self.push(&Change::Gone { host, number, row });
    }

    pub(crate) fn pages(&mut self, pages: u64) {
        self.push(&Change::Pages(pages));
    }

    fn push(&mut self, change: &Change<'_>) {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(change, bytes)
            .expect("a change holds nothing that postcard can't write");
        self.since_merge += 1;
    }

    /// What is not written yet.
    pub(crate) fn unwritten(&self) -> &[u8] {
        &self.bytes
    }

    /// It is written.
    pub(crate) fn written(&mut self) {
        self.bytes.clear();
    }

    /// The tables are up to date, with what was not written too.
    pub(crate) fn merged(&mut self) {
        self.bytes.clear();
        self.since_merge = 0;
    }
}

/// The changes in an entry of the journal, in order.
pub(crate) fn changes(
    mut bytes: &[u8],
    mut each: impl FnMut(Change<'_>) -> Result<(), rusqlite::Error>,
) -> Result<(), rusqlite::Error> {
    while !bytes.is_empty() {
        let (change, rest) = postcard::take_from_bytes(bytes).map_err(damaged)?;
        each(change)?;
        bytes = rest;
    }
    Ok(())
}
