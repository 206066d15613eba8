//! Lists of URLs that came to nothing, each with its reason beside it: `page_fetcher_dlq` and `page_fetcher_rejected`.
//!
//! The lists hold plain URLs, as their consumers expect; the reasons are in a hash of the same name with `:reasons`, as JSON.

use std::rc::Rc;

use super::link::{Wire, WireError, by_hash};
use super::reply::Reply;
use super::script::{LETTER, PEEK, UNLETTER};

/// Letters that are put or read at once.
pub(crate) const AT_ONCE: usize = 500;

/// One list of letters.
pub struct Letters<W> {
    wire: Rc<W>,
    list: String,
}

/// A URL that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The entry as it was queued.
    pub entry: Vec<u8>,
    /// The beginning of its reason, the same whenever the same is told again.
    pub mark: String,
    /// The rest of its reason.
    pub reason: String,
}

/// What a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// How many there are in all.
    pub total: u64,
    /// Entries and their reasons.
    pub letters: Vec<(Vec<u8>, String)>,
}

impl<W: Wire> Letters<W> {
    /// A list by its name.
    pub fn new(wire: Rc<W>, list: impl Into<String>) -> Letters<W> {
        Letters { wire, list: list.into() }
    }

    /// Puts letters on the list; tells how many were not there.
    pub async fn put(&self, letters: &[Letter]) -> Result<u64, WireError> {
        let mut new = 0;
        for some in letters.chunks(AT_ONCE) {
            let mut command = by_hash(&LETTER);
            command.arg(&self.list);
            for letter in some {
                command.arg(&letter.entry).arg(&letter.mark).arg(&letter.reason);
            }
            let mut reply = reply(self.wire.run(&LETTER, &command).await?)?;
            new += reply.number().map_err(strange)?;
        }
        Ok(new)
    }

    /// Letters of the list, from the oldest.
    pub async fn read(&self, first: u64, count: usize) -> Result<Listed, WireError> {
        let mut command = by_hash(&PEEK);
        command.arg(&self.list).arg(first).arg(count.min(AT_ONCE));
        let mut reply = reply(self.wire.run(&PEEK, &command).await?)?;
        let mut listed = Listed { total: reply.number().map_err(strange)?, letters: Vec::new() };
        let mut entries = reply.list().map_err(strange)?;
        let mut reasons = reply.list().map_err(strange)?;
        while !entries.is_over() {
            let (entry, reason) = (entries.bytes().map_err(strange)?, reasons.bytes());
            let reason = String::from_utf8_lossy(&reason.map_err(strange)?).into_owned();
            listed.letters.push((entry, reason));
        }
        Ok(listed)
    }

    /// Takes letters off the list and, if a queue is named, puts them there; without entries all of them. Tells how many.
    pub async fn take_off(&self, entries: &[Vec<u8>], to: Option<&str>) -> Result<u64, WireError> {
        let mut gone = 0;
        loop {
            let mut command = by_hash(&UNLETTER);
            command.arg(&self.list).arg(to.unwrap_or_default());
            for entry in entries {
                command.arg(entry);
            }
            let mut reply = reply(self.wire.run(&UNLETTER, &command).await?)?;
            let some = reply.number().map_err(strange)?;
            gone += some;
            let left = reply.number().map_err(strange)?;
            if !entries.is_empty() || some == 0 || left == 0 {
                return Ok(gone);
            }
        }
    }
}

/// The parts of an answer behind its name.
pub(super) fn reply(value: redis::Value) -> Result<Reply, WireError> {
    let mut reply = Reply::new(value).map_err(strange)?;
    reply.text().map_err(strange)?;
    Ok(reply)
}

pub(super) fn strange(error: super::reply::Strange) -> WireError {
    WireError::NotDone(error.to_string())
}
