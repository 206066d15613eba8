//! The page cache of a user and a machine: pages that any crawl fetched, for all crawls.
//!
//! It is a folder beside the ledger whose clock its times use. Pages are appended to *segments*,
//! plain files. A process locks the segment that it writes to. The positions of the pages are in an
//! SQLite file, one row for each batch of pages. Every process has these rows in memory and reads
//! those that others add. So keeping a page costs one write and no search, and a missing page is
//! found missing without a read.
//!
//! Invariants:
//! - **A page is in its segment before it is in the index**, and in both before its lease is
//!   released: a worker that waited for it finds it.
//! - **What is read is checked**: a page that was cut, overwritten or evicted counts as missing,
//!   which costs a request.
//! - **It is bounded**: a segment has a size, and the oldest segment is evicted when a new one has
//!   no room.
//! - **Its errors end no crawl**: a damaged index is created anew, and what can't be written is not
//!   kept. Both are reported.
//!
//! Nothing is synced to the disk. After a power failure the checks find what is damaged.

mod head;
mod index;
mod segment;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::Head;
use curtsy_file::{OpenError, trouble};

use index::{PageIndex, PagePosition, host_mark};
use segment::{SegmentReader, SegmentWriter};

/// The default size of the page cache in bytes.
pub const SHARED_BYTES: u64 = 1 << 30;
/// The smallest size of the page cache: one page fits into a segment.
pub const SHARED_BYTES_MIN: u64 = 1 << 20;
/// The number of segments. The oldest is evicted as a whole.
pub(crate) const SEGMENTS: u64 = 32;
/// Pages of a segment, at most. Each takes 64 bytes of the index, in memory too.
pub(crate) const SEGMENT_PAGES: u64 = 16_384;
/// Bytes of pages that wait for the next flush, at most.
const PENDING_BYTES_MAX: usize = 8 << 20;

/// The page cache of a user and a machine. Clones are the same cache.
#[derive(Clone)]
pub struct SharedPages(Arc<Mutex<PageCacheState>>);

struct PageCacheState {
    index: PageIndex,
    folder: PathBuf,
    bytes_max: u64,
    writing: Option<SegmentWriter>,
    reading: HashMap<u64, SegmentReader>,
    pending: Vec<PendingPage>,
    pending_bytes: usize,
    evicted: u64,
    /// Why the cache is no longer used.
    trouble: Option<String>,
}

/// A page that waits for the next flush.
struct PendingPage {
    key: UrlKey,
    host: u32,
    at: Time,
    variant: u64,
    head: Arc<Head>,
    body: Bytes,
}

/// A page without its body.
#[derive(Clone, Debug)]
pub struct SharedPage {
    /// When its answer arrived or was last confirmed.
    pub at: Time,
    /// The head of the answer.
    pub head: Arc<Head>,
    /// A hash of the request headers by which the answer varies.
    pub variant: u64,
    host: u32,
}

impl SharedPage {
    /// Whether it may be a page of this host. True for its own host, and rarely for another.
    pub fn may_be_of(&self, host: &HostKey) -> bool {
        self.host == host_mark(host)
    }
}

/// The size of a page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedSize {
    /// Pages in the cache.
    pub pages: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Pages that were ever evicted.
    pub evicted: u64,
}

impl SharedPages {
    /// Returns the folder of the page cache of a ledger.
    ///
    /// ```
    /// use {curtsy_store::SharedPages, std::path::Path};
    /// assert_eq!(SharedPages::beside(Path::new("/s/hosts.db")), Path::new("/s/hosts.db-pages"));
    /// ```
    pub fn beside(ledger: &Path) -> PathBuf {
        let mut name = ledger.as_os_str().to_owned();
        name.push("-pages");
        PathBuf::from(name)
    }

    /// Opens or creates a page cache of at most `bytes_max` bytes. A damaged one is created anew,
    /// which the second value reports.
    pub fn open(folder: &Path, bytes_max: u64) -> Result<(SharedPages, Option<String>), OpenError> {
        segment::make_folder(folder)?;
        let (index, said) = match PageIndex::open(folder) {
            Ok(index) => (index, None),
            Err(
                error @ (OpenError::Damaged { .. }
                | OpenError::NotDatabase { .. }
                | OpenError::OtherDatabase { .. }),
            ) => {
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default();
                let said = format!(
                    "the page cache in `{}` was damaged and is begun anew: {why}",
                    folder.display()
                );
                segment::empty_folder(folder)?;
                (PageIndex::open(folder)?, Some(said))
            }
            Err(error) => return Err(error),
        };
        let inner = PageCacheState {
            index,
            folder: folder.to_owned(),
            bytes_max: bytes_max.max(SHARED_BYTES_MIN),
            writing: None,
            reading: HashMap::new(),
            pending: Vec::new(),
            pending_bytes: 0,
            evicted: 0,
            trouble: None,
        };
        Ok((SharedPages(Arc::new(Mutex::new(inner))), said))
    }

    /// Reads the changes of other processes.
    pub fn refresh(&self) {
        self.lock().doing(|inner| inner.index.refresh());
    }

    /// Returns a page without its body, as of the last [`refresh`](Self::refresh).
    pub fn look(&self, key: UrlKey) -> Option<SharedPage> {
        self.lock().look(key)
    }

    /// Returns a page, if it is complete.
    pub fn page(&self, key: UrlKey) -> Option<(SharedPage, Bytes)> {
        self.lock().page(key)
    }

    /// Keeps a page with the next [`flush`](Self::flush).
    pub fn put(&self, url: &CrawlUrl, at: Time, variant: u64, head: &Arc<Head>, body: &Bytes) {
        let (key, host) = (url.key(), host_mark(url.host()));
        let (head, body) = (Arc::clone(head), body.clone());
        self.lock().put(PendingPage { key, host, at, variant, head, body });
    }

    /// Notes that a kept page was confirmed.
    pub fn confirm(&self, key: UrlKey, at: Time) {
        self.lock().doing(|inner| inner.index.confirm(key, at));
    }

    /// Writes the pages that were put, so that others see them. Call this before a lease is
    /// released.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Forgets pages by their keys and overwrites their bytes. Returns the number of pages.
    pub fn forget(&self, wanted: impl Fn(UrlKey) -> bool) -> usize {
        self.lock().forget(|key, _| wanted(key))
    }

    /// Forgets every page of a host.
    pub fn forget_host(&self, host: &HostKey) -> usize {
        let mark = host_mark(host);
        self.lock().forget(|_, found| found == mark)
    }

    /// Forgets everything. Returns the number of pages.
    pub fn clear(&self) -> Result<u64, OpenError> {
        let mut inner = self.lock();
        let pages = inner.index.pages();
        let (done, folder) = (inner.index.clear(), inner.folder.clone());
        let segments = done.map_err(|e| OpenError::sqlite(&folder, e))?;
        (inner.writing, inner.reading, inner.pending) = (None, HashMap::new(), Vec::new());
        inner.pending_bytes = 0;
        segments.into_iter().for_each(|segment| segment::remove(&folder, segment));
        Ok(pages)
    }

    /// Returns the size of the cache.
    pub fn size(&self) -> Result<SharedSize, OpenError> {
        let mut inner = self.lock();
        let folder = inner.folder.clone();
        inner.index.refresh().map_err(|e| OpenError::sqlite(&folder, e))?;
        let evicted = inner.index.evicted().map_err(|e| OpenError::sqlite(&folder, e))?;
        Ok(SharedSize { pages: inner.index.pages(), bytes: segment::bytes_in(&folder), evicted })
    }

    /// Returns the number of pages that this process has evicted.
    pub fn evicted(&self) -> u64 {
        self.lock().evicted
    }

    /// Returns why nothing is kept any more.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, PageCacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageCacheState {
    fn look(&mut self, key: UrlKey) -> Option<SharedPage> {
        if self.trouble.is_some() {
            return None;
        }
        let entry = self.index.get(key)?;
        let head = self.segment(entry.segment)?.head(&entry);
        let Some(head) = head else {
            self.index.leave_out(key);
            return None;
        };
        let PagePosition { at, variant, host, .. } = entry;
        Some(SharedPage { at, head: Arc::new(head), variant, host })
    }

    fn page(&mut self, key: UrlKey) -> Option<(SharedPage, Bytes)> {
        let found = self.look(key)?;
        let entry = self.index.get(key)?;
        let Some(body) = self.segment(entry.segment)?.body(&entry) else {
            self.index.leave_out(key);
            return None;
        };
        Some((found, body))
    }

    /// Returns a segment to read. A missing segment has no pages.
    fn segment(&mut self, segment: u64) -> Option<&SegmentReader> {
        if !self.reading.contains_key(&segment) {
            match SegmentReader::open(&self.folder, segment) {
                Some(reading) => drop(self.reading.insert(segment, reading)),
                None => self.index.leave_out_segment(segment),
            }
        }
        self.reading.get(&segment)
    }

    fn put(&mut self, page: PendingPage) {
        if self.trouble.is_some() || page.body.len() as u64 >= self.segment_bytes() {
            return;
        }
        self.pending_bytes += page.body.len();
        self.pending.push(page);
        if self.pending_bytes > PENDING_BYTES_MAX {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.pending_bytes = 0;
        let pages = std::mem::take(&mut self.pending);
        self.doing(|inner| inner.write(&pages));
    }

    fn write(&mut self, pages: &[PendingPage]) -> Result<(), rusqlite::Error> {
        let full = (self.segment_bytes(), SEGMENT_PAGES);
        if self.writing.as_ref().is_some_and(|writing| writing.is_full(full)) {
            self.writing = None;
        }
        if self.writing.is_none() {
            self.writing = Some(self.next_segment()?);
        }
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let entries = match writing.append(pages) {
            Ok(entries) => entries,
            Err(error) => {
                self.trouble = Some(unwritten(&self.folder, &error));
                return Ok(());
            }
        };
        if !self.index.add(&entries)? {
            // The segment was evicted with its pages.
            self.writing = None;
        }
        Ok(())
    }

    /// Returns a segment for this process: the newest one with room that no other process writes
    /// to, or a new one. Evicts the oldest segments if there are too many.
    fn next_segment(&mut self) -> Result<SegmentWriter, rusqlite::Error> {
        let full = (self.segment_bytes(), SEGMENT_PAGES);
        let segments = self.index.segments()?;
        for (segment, pages) in segments.iter().rev().take(4) {
            if let Some(writing) = SegmentWriter::take_over(&self.folder, *segment, *pages)
                && !writing.is_full(full)
            {
                return Ok(writing);
            }
        }
        let bytes = |segment: &u64| segment::bytes_of(&self.folder, *segment).max(full.0);
        let mut room: u64 = segments.iter().map(|(segment, _)| bytes(segment)).sum();
        for (segment, pages) in &segments {
            if room + full.0 <= self.bytes_max {
                break;
            }
            room -= bytes(segment);
            self.index.evict(*segment, *pages)?;
            self.reading.remove(segment);
            segment::remove(&self.folder, *segment);
            self.evicted += pages;
        }
        let segment = self.index.begin_segment()?;
        SegmentWriter::begin(&self.folder, segment).map_err(|error| {
            rusqlite::Error::ToSqlConversionFailure(unwritten(&self.folder, &error).into())
        })
    }

    fn segment_bytes(&self) -> u64 {
        self.bytes_max / SEGMENTS
    }

    fn forget(&mut self, wanted: impl Fn(UrlKey, u32) -> bool) -> usize {
        let mut forgotten = 0;
        self.doing(|inner| {
            inner.index.refresh()?;
            let entries = inner.index.forget(wanted)?;
            forgotten = entries.len();
            for entry in entries {
                segment::overwrite(&inner.folder, &entry);
            }
            Ok(())
        });
        forgotten
    }

    /// Runs a job on the index. After an error this process no longer uses the cache.
    fn doing(&mut self, what: impl FnOnce(&mut PageCacheState) -> Result<(), rusqlite::Error>) {
        if self.trouble.is_none()
            && let Err(error) = what(self)
        {
            self.give_up(&error);
        }
    }

    fn give_up(&mut self, error: &rusqlite::Error) {
        let why = match error {
            rusqlite::Error::ToSqlConversionFailure(said) => said.to_string(),
            error => trouble(&index::path(&self.folder), error),
        };
        self.trouble = Some(why);
        (self.pending, self.pending_bytes, self.writing) = (Vec::new(), 0, None);
    }
}

fn unwritten(folder: &Path, error: &std::io::Error) -> String {
    format!("can't write to `{}`: {error}", folder.display())
}
