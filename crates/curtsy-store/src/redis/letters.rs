//! Lists of URLs that failed or were rejected, with their reasons: `page_fetcher_dlq` and
//! `page_fetcher_rejected`.
//!
//! The lists hold plain URLs, as their consumers expect. The reasons are JSON in a hash with the
//! list's name and `:reasons`.

use std::rc::Rc;

use super::link::{Wire, WireError, by_hash};
use super::reply::Reply;
use super::script::{LETTER, PEEK, UNLETTER};

/// Letters that are written or read at once.
pub(crate) const AT_ONCE: usize = 500;

/// A list of letters.
pub struct Letters<W> {
    wire: Rc<W>,
    list: String,
}

/// A URL that failed or was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The entry as it was queued.
    pub entry: Vec<u8>,
    /// The beginning of its reason. It is the same if the same letter is put again.
    pub mark: String,
    /// The rest of its reason.
    pub reason: String,
}

/// Letters that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The number of letters on the list.
    pub total: u64,
    /// Entries with their reasons.
    pub letters: Vec<(Vec<u8>, String)>,
}

impl<W: Wire> Letters<W> {
    /// Returns the list with this name.
    pub fn new(wire: Rc<W>, list: impl Into<String>) -> Letters<W> {
        Letters { wire, list: list.into() }
    }

    /// Puts letters on the list. Returns how many were new.
    pub async fn put(&self, letters: &[Letter]) -> Result<u64, WireError> {
        let mut new = 0;
        for some in letters.chunks(AT_ONCE) {
            let mut command = by_hash(&LETTER);
            command.arg(&self.list);
            for letter in some {
                command.arg(&letter.entry).arg(&letter.mark).arg(&letter.reason);
            }
            let mut reply = reply(self.wire.run(&LETTER, &command).await?)?;
            new += reply.number()?;
        }
        Ok(new)
    }

    /// Reads letters, the oldest first.
    pub async fn read(&self, first: u64, count: usize) -> Result<Listed, WireError> {
        let mut command = by_hash(&PEEK);
        command.arg(&self.list).arg(first).arg(count.min(AT_ONCE));
        let mut reply = reply(self.wire.run(&PEEK, &command).await?)?;
        let mut listed = Listed { total: reply.number()?, letters: Vec::new() };
        let mut entries = reply.list()?;
        let mut reasons = reply.list()?;
        while !entries.is_over() {
            let (entry, reason) = (entries.bytes()?, reasons.bytes());
            let reason = String::from_utf8_lossy(&reason?).into_owned();
            listed.letters.push((entry, reason));
        }
        Ok(listed)
    }

    /// Removes letters from the list, and puts them into the queue `to` if it is given. Without
    /// `entries` removes all. Returns the number of letters.
    pub async fn take_off(&self, entries: &[Vec<u8>], to: Option<&str>) -> Result<u64, WireError> {
        let mut gone = 0;
        loop {
            let mut command = by_hash(&UNLETTER);
            command.arg(&self.list).arg(to.unwrap_or_default());
            for entry in entries {
                command.arg(entry);
            }
            let mut reply = reply(self.wire.run(&UNLETTER, &command).await?)?;
            let some = reply.number()?;
            gone += some;
            let left = reply.number()?;
            if !entries.is_empty() || some == 0 || left == 0 {
                return Ok(gone);
            }
        }
    }
}

/// Returns the parts of an answer after its name.
pub(super) fn reply(value: redis::Value) -> Result<Reply, WireError> {
    let mut reply = Reply::new(value)?;
    reply.text()?;
    Ok(reply)
}
