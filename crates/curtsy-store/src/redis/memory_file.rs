//! A file with what a worker remembers. A wait that only the worker knew thus outlives both the
//! worker and a Redis that lost it.
//!
//! A folder has a file for each worker that runs on the machine at the same time. A worker takes
//! the first unlocked file and begins with the memory in it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use curtsy_core::host::HostState;
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::{Order, Orders, UrlRecord, WorkerMemory};
use serde::{Deserialize, Serialize};

use super::record::{blob, id, unplaced};

/// Workers on one machine, at most.
pub(crate) const WORKERS_MAX: usize = 1024;
/// The version of the file.
const VERSION: u32 = 1;

/// A worker's own file.
#[derive(Debug)]
pub struct MemoryFile {
    path: PathBuf,
    _locked: File,
    written: Vec<u8>,
}

#[derive(Serialize, Deserialize, Default)]
struct StoredMemory {
    version: u32,
    epoch: Option<u64>,
    hosts: Vec<(String, u64, Vec<u8>)>,
    urls: Vec<([u8; 16], Vec<u8>)>,
    orders: Vec<(String, bool, u64)>,
}

impl MemoryFile {
    /// Takes the first unlocked file of the folder, and returns the memory in it. A file that can't
    /// be read counts as empty, and the error is returned.
    pub fn open(
        folder: &Path,
    ) -> Result<(MemoryFile, WorkerMemory, Option<String>), std::io::Error> {
        std::fs::create_dir_all(folder)?;
        for number in 0..WORKERS_MAX {
            let lock = folder.join(format!("{number}.lock"));
            let lock = OpenOptions::new().create(true).truncate(false).write(true).open(lock)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let path = folder.join(format!("{number}.memory"));
            let mut bytes = Vec::new();
            match File::open(&path) {
                Ok(mut file) => drop(file.read_to_end(&mut bytes)?),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let (memory, fault) = match read(&bytes) {
                _ if bytes.is_empty() => (WorkerMemory::default(), None),
                Ok(memory) => (memory, None),
                Err(fault) => {
                    (WorkerMemory::default(), Some(format!("`{}`: {fault}", path.display())))
                }
            };
            let file = MemoryFile { path, _locked: lock, written: bytes };
            return Ok((file, memory, fault));
        }
        Err(std::io::Error::other(format!("{WORKERS_MAX} workers have files in the folder")))
    }

    /// Writes what is worth remembering, if it differs from the file.
    pub fn save(&mut self, memory: &WorkerMemory, now: Time) -> Result<(), std::io::Error> {
        let bytes = write(memory, now);
        if bytes == self.written {
            return Ok(());
        }
        // A partly written file must not replace the old one.
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        drop(file);
        std::fs::rename(&new, &self.path)?;
        self.written = bytes;
        Ok(())
    }
}

fn write(memory: &WorkerMemory, now: Time) -> Vec<u8> {
    let waits = |state: &HostState| {
        let waits = state.backoff.until.max(state.breaker.until);
        waits > Some(now) || state.leases.iter().any(|lease| lease.until > now)
    };
    let hosts = memory.hosts.iter().filter(|(_, (_, state))| waits(state));
    let stored = StoredMemory {
        version: VERSION,
        epoch: memory.epoch,
        hosts: hosts.map(|(h, (at, s))| (h.to_string(), at.micros(), s.encode())).collect(),
        urls: memory.urls.values().map(|record| (id(record.id), blob(record))).collect(),
        orders: memory
            .orders
            .iter()
            .map(|order| (order.host.to_string(), order.stopped, order.at.micros()))
            .collect(),
    };
    postcard::to_allocvec(&stored).expect("what is remembered is plain data")
}

fn read(bytes: &[u8]) -> Result<WorkerMemory, crate::record::Damaged> {
    let stored: StoredMemory = postcard::from_bytes(bytes)?;
    if stored.version != VERSION {
        return Err(format!("is of version {}, not {VERSION}", stored.version).into());
    }
    let mut memory = WorkerMemory::default();
    memory.epoch = stored.epoch;
    for (host, at, state) in stored.hosts {
        let (host, state) = (HostKey::parse(&host)?, HostState::decode(&state)?);
        memory.remember(&host, &state.into(), Time::from_micros(at));
    }
    for (id, bytes) in stored.urls {
        let record: UrlRecord = unplaced(&id, &bytes)?;
        debug_assert_eq!(record.id, UrlKey::from_u128(u128::from_be_bytes(id)));
        memory.remember_url(record);
    }
    let mut orders = Orders::default();
    for (host, stopped, at) in stored.orders {
        orders.hear(&Order { host: HostKey::parse(&host)?, stopped, at: Time::from_micros(at) });
    }
    memory.orders = Arc::new(orders);
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::url::CrawlUrl;

    #[test]
    fn waits_are_kept_for_one_next_worker() {
        let name = format!("curtsy-memory-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let (mut file, mut memory, fault) = MemoryFile::open(&folder).unwrap();
        assert!(fault.is_none() && memory.hosts.is_empty());
        let now = Time::from_secs(100);
        let mut waiting = HostState::default();
        waiting.backoff.until = Some(Time::from_secs(200));
        let (a, b) = (HostKey::parse("a.test").unwrap(), HostKey::parse("b.test").unwrap());
        let waiting = Arc::new(waiting);
        memory.remember(&a, &waiting, now);
        memory.remember(&b, &Arc::default(), now);
        memory.epoch = Some(7);
        memory.remember_url(UrlRecord::page(CrawlUrl::parse("http://a.test/1").unwrap(), 0));
        file.save(&memory, now).unwrap();
        let (other, theirs, _) = MemoryFile::open(&folder).unwrap();
        assert!(theirs.hosts.is_empty(), "the file is taken");
        drop((file, other));
        let (file, again, fault) = MemoryFile::open(&folder).unwrap();
        assert_eq!((fault, again.epoch, again.urls.len()), (None, Some(7), 1));
        assert_eq!(
            again.hosts.keys().collect::<Vec<_>>(),
            [&a],
            "who waits for nothing is left out"
        );
        assert_eq!(again.hosts[&a].1, waiting);
        std::fs::write(&file.path, b"\xff\xff\xff").unwrap();
        drop(file);
        let (_, none, fault) = MemoryFile::open(&folder).unwrap();
        assert!(none.hosts.is_empty() && fault.is_some_and(|fault| fault.contains("0.memory")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
