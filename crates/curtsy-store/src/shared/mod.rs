//! The page cache of a user and a machine: pages that any crawl fetched, for all of them.
//!
//! It lies in a folder beside the ledger whose clock its times are in. Pages are appended to *segments*, plain files of which each process
//! has one to itself while it writes (a lock says so). Where a page lies is in an SQLite file, one row for all pages that were written
//! together; every process has these rows in memory and reads those that others added. So keeping a page costs one write and no search,
//! and asking for one that is not there costs no read.
//!
//! What must stay true:
//! - **A page is in its segment before it is in the index**, and both before its lease is given back: whoever waited for it finds it.
//! - **What is read is checked**: a page that was cut, overwritten or thrown away is not there, and that costs a request.
//! - **It is bounded**: a segment has a size, and the oldest goes when a new one has no room.
//! - **Trouble with it ends nothing**: an index that is damaged is begun anew, and what can't be written is not kept. Both are told.
//!
//! Nothing is synced to the disk: after a power cut checks find what is broken.

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

use index::{Entry, Index, host_mark};
use segment::{Reading, Writing};

/// Bytes that the page cache has, unless somebody says otherwise.
pub const SHARED_BYTES: u64 = 1 << 30;
/// The least that can be said: a segment has room for a page then.
pub const SHARED_BYTES_MIN: u64 = 1 << 20;
/// Into how many segments the bytes are divided. The oldest goes as a whole.
pub(crate) const SEGMENTS: u64 = 32;
/// Pages of a segment: each takes 64 bytes of the index, in memory too.
pub(crate) const SEGMENT_PAGES: u64 = 16_384;
/// Pages that wait to be written, in bytes: more are written at once.
const PENDING_BYTES_MAX: usize = 8 << 20;

/// The page cache of a user and a machine. Clones are the same cache.
#[derive(Clone)]
pub struct SharedPages(Arc<Mutex<Inner>>);

struct Inner {
    index: Index,
    folder: PathBuf,
    bytes_max: u64,
    writing: Option<Writing>,
    reading: HashMap<u64, Reading>,
    pending: Vec<Pending>,
    pending_bytes: usize,
    evicted: u64,
    /// Why it is of no use any more.
    trouble: Option<String>,
}

/// A page that is about to be kept.
struct Pending {
    key: UrlKey,
    host: u32,
    at: Time,
    variant: u64,
    head: Arc<Head>,
    body: Bytes,
}

/// What is known of a page without its body.
#[derive(Clone, Debug)]
pub struct SharedPage {
    /// When its answer came, or was last confirmed.
    pub at: Time,
    /// The head of the answer.
    pub head: Arc<Head>,
    /// What the request said of what the answer varies by.
    pub variant: u64,
    host: u32,
}

impl SharedPage {
    /// Whether it may be a page of this host: always true of its own, and of another's hardly ever.
    pub fn may_be_of(&self, host: &HostKey) -> bool {
        self.host == host_mark(host)
    }
}

/// How large a page cache is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedSize {
    /// Pages that are kept.
    pub pages: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Pages that had to go for others, ever.
    pub evicted: u64,
}

impl SharedPages {
    /// The folder of the page cache that goes with a ledger.
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

    /// Opens or begins a page cache of at most so many bytes. One that is damaged is begun anew, which the second value says.
    pub fn open(folder: &Path, bytes_max: u64) -> Result<(SharedPages, Option<String>), OpenError> {
        segment::make_folder(folder)?;
        let (index, said) = match Index::open(folder) {
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
                (Index::open(folder)?, Some(said))
            }
            Err(error) => return Err(error),
        };
        let inner = Inner {
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

    /// Reads what others have added, or taken out.
    pub fn refresh(&self) {
        self.lock().doing(|inner| inner.index.refresh());
    }

    /// What is known of a page, whoever fetched it, as of the last [`refresh`](Self::refresh).
    pub fn look(&self, key: UrlKey) -> Option<SharedPage> {
        self.lock().look(key)
    }

    /// A page, if it is whole.
    pub fn page(&self, key: UrlKey) -> Option<(SharedPage, Bytes)> {
        self.lock().page(key)
    }

    /// Keeps a page when [`flush`](Self::flush) is called next.
    pub fn put(&self, url: &CrawlUrl, at: Time, variant: u64, head: &Arc<Head>, body: &Bytes) {
        let (key, host) = (url.key(), host_mark(url.host()));
        let (head, body) = (Arc::clone(head), body.clone());
        self.lock().put(Pending { key, host, at, variant, head, body });
    }

    /// A page that is kept was confirmed just now.
    pub fn confirm(&self, key: UrlKey, at: Time) {
        self.lock().doing(|inner| inner.index.confirm(key, at));
    }

    /// Writes what was put: others see it afterwards. To be called before a lease is given back.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Forgets pages by their keys, and returns how many: their bytes are overwritten.
    pub fn forget(&self, wanted: impl Fn(UrlKey) -> bool) -> usize {
        self.lock().forget(|key, _| wanted(key))
    }

    /// Forgets every page of a host.
    pub fn forget_host(&self, host: &HostKey) -> usize {
        let mark = host_mark(host);
        self.lock().forget(|_, found| found == mark)
    }

    /// Forgets everything; tells how many pages that were.
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

    /// How large it is.
    pub fn size(&self) -> Result<SharedSize, OpenError> {
        let mut inner = self.lock();
        let folder = inner.folder.clone();
        inner.index.refresh().map_err(|e| OpenError::sqlite(&folder, e))?;
        let evicted = inner.index.evicted().map_err(|e| OpenError::sqlite(&folder, e))?;
        Ok(SharedSize { pages: inner.index.pages(), bytes: segment::bytes_in(&folder), evicted })
    }

    /// Pages that this process threw away since the bound was reached.
    pub fn evicted(&self) -> u64 {
        self.lock().evicted
    }

    /// Why nothing is kept any more, if it is so.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
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
        let Entry { at, variant, host, .. } = entry;
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

    /// A segment to read; one that is gone has no pages any more.
    fn segment(&mut self, segment: u64) -> Option<&Reading> {
        if !self.reading.contains_key(&segment) {
            match Reading::open(&self.folder, segment) {
                Some(reading) => drop(self.reading.insert(segment, reading)),
                None => self.index.leave_out_segment(segment),
            }
        }
        self.reading.get(&segment)
    }

    fn put(&mut self, page: Pending) {
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

    fn write(&mut self, pages: &[Pending]) -> Result<(), rusqlite::Error> {
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
            // The segment was thrown away: its pages went with it.
            self.writing = None;
        }
        Ok(())
    }

    /// A segment for this process: the newest that has room and that nobody writes to, or a new one. The oldest go if there are too many.
    fn next_segment(&mut self) -> Result<Writing, rusqlite::Error> {
        let full = (self.segment_bytes(), SEGMENT_PAGES);
        let segments = self.index.segments()?;
        for (segment, pages) in segments.iter().rev().take(4) {
            if let Some(writing) = Writing::take_over(&self.folder, *segment, *pages)
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
        Writing::begin(&self.folder, segment).map_err(|error| {
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

    /// Does something with the index. If that fails, the cache is of no use any more in this process.
    fn doing(&mut self, what: impl FnOnce(&mut Inner) -> Result<(), rusqlite::Error>) {
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
