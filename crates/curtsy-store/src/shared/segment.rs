//! Segments: plain files that contain pages one after another. The index knows the positions.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use curtsy_engine::Head;
use curtsy_file::OpenError;

use super::index::PagePosition;
use super::{PendingPage, head};

/// The capacity of the buffer that is kept between writes.
const BUFFER_BYTES: usize = 1 << 20;

/// A segment that only this process writes to.
pub(super) struct SegmentWriter {
    file: File,
    segment: u64,
    end: u64,
    pages: u64,
    buffer: Vec<u8>,
}

impl SegmentWriter {
    pub(super) fn begin(folder: &Path, segment: u64) -> io::Result<SegmentWriter> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create_new(true).mode(0o600).open(path_of(folder, segment))?;
        // No other process knows the file yet.
        file.try_lock()?;
        Ok(SegmentWriter { file, segment, end: 0, pages: 0, buffer: Vec::new() })
    }

    /// Continues a segment, unless another process writes to it.
    pub(super) fn take_over(folder: &Path, segment: u64, pages: u64) -> Option<SegmentWriter> {
        let file = OpenOptions::new().write(true).open(path_of(folder, segment)).ok()?;
        file.try_lock().ok()?;
        // Bytes of a killed process that are in no index stay where they are.
        let end = file.metadata().ok()?.len();
        Some(SegmentWriter { file, segment, end, pages, buffer: Vec::new() })
    }

    pub(super) fn is_full(&self, (bytes, pages): (u64, u64)) -> bool {
        self.end >= bytes || self.pages >= pages
    }

    /// Appends pages and returns their positions.
    pub(super) fn append(&mut self, pages: &[PendingPage]) -> io::Result<Vec<PagePosition>> {
        let mut entries = Vec::with_capacity(pages.len());
        let (mut at, mut text) = (self.end, String::new());
        for page in pages {
            text.clear();
            head::write(&page.head, &mut text);
            self.buffer.extend_from_slice(text.as_bytes());
            self.buffer.extend_from_slice(&page.body);
            let (head_len, body_len) = (text.len() as u32, page.body.len() as u32);
            entries.push(PagePosition {
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

pub(super) struct SegmentReader(File);

impl SegmentReader {
    /// Opens a segment; `None` if it is gone.
    pub(super) fn open(folder: &Path, segment: u64) -> Option<SegmentReader> {
        File::open(path_of(folder, segment)).ok().map(SegmentReader)
    }

    /// Returns the head of a page, if it is complete.
    pub(super) fn head(&self, entry: &PagePosition) -> Option<Head> {
        let bytes = self.read(entry.offset, entry.head_len, entry.head_sum)?;
        head::read(std::str::from_utf8(&bytes).ok()?)
    }

    /// Returns the body of a page, if it is complete.
    pub(super) fn body(&self, entry: &PagePosition) -> Option<Bytes> {
        let offset = entry.offset + u64::from(entry.head_len);
        self.read(offset, entry.body_len, entry.body_sum).map(Bytes::from)
    }

    fn read(&self, offset: u64, len: u32, sum: u32) -> Option<Vec<u8>> {
        // The length comes from a file that may be damaged. A page is never longer than its
        // segment.
        let end = self.0.metadata().ok()?.len();
        if offset.checked_add(u64::from(len))? > end {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        self.0.read_exact_at(&mut bytes, offset).ok()?;
        (crc32fast::hash(&bytes) == sum).then_some(bytes)
    }
}

/// Overwrites a page with zeros. If that fails, the page is still in no index.
pub(super) fn overwrite(folder: &Path, entry: &PagePosition) {
    if let Ok(file) = OpenOptions::new().write(true).open(path_of(folder, entry.segment)) {
        let zeros = vec![0; (entry.head_len + entry.body_len) as usize];
        let _ = file.write_all_at(&zeros, entry.offset);
    }
}

/// Removes a segment. A process that has it open can continue to read.
pub(super) fn remove(folder: &Path, segment: u64) {
    // If this fails, the file is gone already, or its bytes are lost until the cache is created
    // anew.
    let _ = std::fs::remove_file(path_of(folder, segment));
}

pub(super) fn bytes_of(folder: &Path, segment: u64) -> u64 {
    std::fs::metadata(path_of(folder, segment)).map_or(0, |found| found.len())
}

pub(super) fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Creates the folder, for its owner alone.
pub(super) fn make_folder(folder: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.and_then(|()| std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)))
        .map_err(|e| OpenError::io(folder, e))
}

/// Removes our files from the folder.
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
