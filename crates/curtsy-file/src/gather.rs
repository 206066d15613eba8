//! Collects the writes to a write-ahead log until a transaction is complete.
//!
//! SQLite writes each page of a transaction with two system calls: a header of 24 bytes with the
//! page's number, then the page. This module makes one write of them for the transaction, or for
//! each [`GATHERED_MAX`] bytes of a large one. These calls are a quarter of the cost of a row.
//!
//! The invariant: **when SQLite's last write of a transaction returns, the operating system has all
//! of its pages.** Right after that write SQLite makes the transaction visible to other
//! connections. The header of the last page shows that it is the last: its bytes 4 to 8 are the
//! size of the database, and 0 in all other headers. An error is returned by the write that ends
//! the transaction.

/// The header of a page in the log.
const HEADER_BYTES: usize = 24;

/// Bytes of a log's writes that wait in memory, at most.
pub const GATHERED_MAX: usize = 512 * 1024;

/// Bytes that wait for a write to one place of the file.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    from: i64,
    bytes: Vec<u8>,
    /// Whether the last header was that of the last page of a transaction.
    ending: bool,
    /// The place of the last read, if nothing was written since.
    read_at: Option<i64>,
}

impl Gather {
    /// Takes a write, and calls `put` with the bytes that must not wait.
    pub(crate) fn write<E>(
        &mut self,
        bytes: &[u8],
        at: i64,
        mut put: impl FnMut(&[u8], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        let rewritten = self.read_at.take() == Some(at);
        let header = bytes.len() == HEADER_BYTES;
        let whole = !header && self.ending;
        self.ending = header && bytes[4..8] != [0; 4];
        if !self.continues(at) {
            self.flush(&mut put)?;
        }
        // These do not wait: the head of the file; a header that is rewritten with a new checksum,
        // because perhaps no page follows; bytes for which there is no memory.
        if at == 0 || rewritten || self.bytes.try_reserve(bytes.len()).is_err() {
            self.flush(&mut put)?;
            return put(bytes, at);
        }
        if self.bytes.is_empty() {
            self.from = at;
        }
        self.bytes.extend_from_slice(bytes);
        if whole || self.bytes.len() >= GATHERED_MAX {
            self.flush(&mut put)?;
        }
        Ok(())
    }

    /// Whether a write to this place continues the bytes that wait.
    fn continues(&self, at: i64) -> bool {
        i64::try_from(self.bytes.len()).is_ok_and(|waiting| self.from + waiting == at)
    }

    /// Writes the bytes that wait. After an error they are dropped: the transaction has failed.
    pub(crate) fn flush<E>(
        &mut self,
        mut put: impl FnMut(&[u8], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let done = put(&self.bytes, self.from);
        self.bytes.clear();
        done
    }

    /// Notes a read. The caller has flushed before it.
    pub(crate) fn read(&mut self, at: i64) {
        self.read_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log with pages of 100 bytes, and the writes that reached the file.
    #[derive(Default)]
    struct TestLog {
        gather: Gather,
        calls: Vec<(i64, usize)>,
        full: bool,
    }

    impl TestLog {
        fn write(&mut self, bytes: &[u8], at: i64) -> Result<(), &'static str> {
            let (calls, full) = (&mut self.calls, self.full);
            self.gather.write(bytes, at, |bytes, at| {
                calls.push((at, bytes.len()));
                if full { Err("no space") } else { Ok(()) }
            })
        }

        fn frame(&mut self, number: i64, ends: bool) -> Result<(), &'static str> {
            let at = 32 + (number - 1) * 124;
            let mut header = [0; HEADER_BYTES];
            header[7] = u8::from(ends);
            self.write(&header, at)?;
            self.write(&[7; 100], at + 24)
        }
    }

    #[test]
    fn a_transaction_is_one_call_and_waits_for_nothing_after_its_last_page() {
        let mut log = TestLog::default();
        for number in 1..=3 {
            log.frame(number, number == 3).unwrap();
            assert_eq!(log.calls.is_empty(), number < 3);
        }
        assert_eq!(log.calls, [(32, 372)]);
        log.frame(4, true).unwrap();
        assert_eq!(log.calls[1..], [(404, 124)]);
    }

    #[test]
    fn the_head_of_the_file_and_headers_that_are_made_anew_do_not_wait() {
        let mut log = TestLog::default();
        log.write(&[1; 32], 0).unwrap();
        assert_eq!(log.calls, [(0, 32)]);
        log.frame(1, true).unwrap();
        log.gather.read(32);
        let mut header = [0; HEADER_BYTES];
        header[7] = 1;
        log.write(&header, 32).unwrap();
        assert_eq!(log.calls[2..], [(32, 24)]);
    }

    #[test]
    fn a_page_after_a_header_that_did_not_wait_does_not_wait_either() {
        let mut log = TestLog::default();
        // SQLite recovers a log by reading to its end. The next page is written there.
        log.gather.read(32);
        log.frame(1, true).unwrap();
        assert_eq!(log.calls, [(32, 24), (56, 100)]);
    }

    #[test]
    fn a_page_that_is_written_over_does_not_wait_with_what_comes_elsewhere() {
        let mut log = TestLog::default();
        log.frame(1, false).unwrap();
        log.frame(2, false).unwrap();
        // The first page again, in the same transaction.
        log.write(&[8; 100], 56).unwrap();
        log.frame(3, true).unwrap();
        assert_eq!(log.calls, [(32, 248), (56, 100), (280, 124)]);
    }

    #[test]
    fn an_error_reaches_the_call_that_ends_the_transaction_and_nothing_is_written_later() {
        let mut log = TestLog { full: true, ..TestLog::default() };
        log.frame(1, false).unwrap();
        assert_eq!(log.frame(2, true), Err("no space"));
        log.full = false;
        log.frame(1, true).unwrap();
        assert_eq!(log.calls, [(32, 248), (32, 124)]);
    }

    #[test]
    fn a_large_transaction_is_written_in_parts() {
        let mut log = TestLog::default();
        let page = vec![0; 65_536];
        for number in 0..20_i64 {
            let at = 32 + number * (24 + 65_536);
            log.write(&[0; HEADER_BYTES], at).unwrap();
            log.write(&page, at + 24).unwrap();
        }
        let part = 8 * (24 + 65_536);
        let starts: Vec<i64> = log.calls.iter().map(|call| call.0).collect();
        assert_eq!(starts, [32, 32 + part]);
    }
}
