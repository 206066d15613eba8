//! Segments: plain files with the pages one after another. What lies where is the index's matter.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use curtsy_engine::Head;
use curtsy_file::OpenError;

use super::index::Entry;
use super::{Pending, head};

/// Written at once, if there is so much; memory beyond it is given back.
const BUFFER_BYTES: usize = 1 << 20;

/// A segment that this process alone writes to.
pub(super) struct Writing {
    file: File,
    segment: u64,
    end: u64,
    pages: u64,
    buffer: Vec<u8>,
}

impl Writing {
    /// Begins a new segment.
    pub(super) fn begin(folder: &Path, segment: u64) -> io::Result<Writing> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create_new(true).mode(0o600).open(path_of(folder, segment))?;
        // Nobody else knows of it yet.
        file.try_lock()?;
        Ok(Writing { file, segment, end: 0, pages: 0, buffer: Vec::new() })
    }

    /// Goes on with a segment, unless another process writes to it.
    pub(super) fn take_over(folder: &Path, segment: u64, pages: u64) -> Option<Writing> {
        let file = OpenOptions::new().write(true).open(path_of(folder, segment)).ok()?;
        file.try_lock().ok()?;
        // What a process that was killed wrote last is in no index: it is left where it is.
        let end = file.metadata().ok()?.len();
        Some(Writing { file, segment, end, pages, buffer: Vec::new() })
    }

    pub(super) fn is_full(&self, (bytes, pages): (u64, u64)) -> bool {
        self.end >= bytes || self.pages >= pages
    }

    /// Appends pages; tells where they are.
    pub(super) fn append(&mut self, pages: &[Pending]) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(pages.len());
        let (mut at, mut text) = (self.end, String::new());
        for page in pages {
            text.clear();
            head::write(&page.head, &mut text);
            self.buffer.extend_from_slice(text.as_bytes());
            self.buffer.extend_from_slice(&page.body);
            let (head_len, body_len) = (text.len() as u32, page.body.len() as u32);
            entries.push(Entry {
                key: page.key,
                at: page.at,
                segment: self.segment,
                offset: at,
                head_len,
                body_len,
                head_sum: crc32fast::hash(text.as_bytes()),
                body_sum: crc32fast::hash(&page.body),
                host: page.host,
                variant: page.variant,
            });
            at += u64::from(head_len) + u64::from(body_len);
        }
        let written = self.file.write_all_at(&self.buffer, self.end);
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES);
        written?;
        self.end = at;
        self.pages += entries.len() as u64;
        Ok(entries)
    }
}

/// A segment that is read.
pub(super) struct Reading(File);

impl Reading {
    /// Opens a segment, if it is still there.
    pub(super) fn open(folder: &Path, segment: u64) -> Option<Reading> {
        File::open(path_of(folder, segment)).ok().map(Reading)
    }

    /// The head of a page, if it is whole.
    pub(super) fn head(&self, entry: &Entry) -> Option<Head> {
        let bytes = self.read(entry.offset, entry.head_len, entry.head_sum)?;
        head::read(std::str::from_utf8(&bytes).ok()?)
    }

    /// The body of a page, if it is whole.
    pub(super) fn body(&self, entry: &Entry) -> Option<Bytes> {
        let offset = entry.offset + u64::from(entry.head_len);
        self.read(offset, entry.body_len, entry.body_sum).map(Bytes::from)
    }

    fn read(&self, offset: u64, len: u32, sum: u32) -> Option<Vec<u8>> {
        // The length is from a file that may be broken: no memory is asked for that the segment does not have.
        let end = self.0.metadata().ok()?.len();
        if offset.checked_add(u64::from(len))? > end {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        self.0.read_exact_at(&mut bytes, offset).ok()?;
        (crc32fast::hash(&bytes) == sum).then_some(bytes)
    }
}

/// Overwrites a page with zeros. If that fails, it is in no index any more all the same.
pub(super) fn overwrite(folder: &Path, entry: &Entry) {
    if let Ok(file) = OpenOptions::new().write(true).open(path_of(folder, entry.segment)) {
        let zeros = vec![0; (entry.head_len + entry.body_len) as usize];
        let _ = file.write_all_at(&zeros, entry.offset);
    }
}

/// Removes a segment. Whoever has it open reads on.
pub(super) fn remove(folder: &Path, segment: u64) {
    // It is gone already, or its room is lost until the cache is begun anew.
    let _ = std::fs::remove_file(path_of(folder, segment));
}

/// The bytes of a segment.
pub(super) fn bytes_of(folder: &Path, segment: u64) -> u64 {
    std::fs::metadata(path_of(folder, segment)).map_or(0, |found| found.len())
}

/// The bytes of everything in a folder.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Makes the folder, for its owner alone.
pub(super) fn make_folder(folder: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.and_then(|()| std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)))
        .map_err(|e| OpenError::io(folder, e))
}

/// Removes everything in the folder that is ours.
pub(super) fn empty_folder(folder: &Path) -> Result<(), OpenError> {
    let files = std::fs::read_dir(folder).map_err(|e| OpenError::io(folder, e))?;
    for file in files.flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".pages") || name.starts_with(super::index::NAME) {
            std::fs::remove_file(file.path()).map_err(|e| OpenError::io(folder, e))?;
        }
    }
    Ok(())
}

fn path_of(folder: &Path, segment: u64) -> PathBuf {
    folder.join(format!("{segment}.pages"))
}
