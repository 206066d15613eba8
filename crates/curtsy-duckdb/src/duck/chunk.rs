//! Rows for DuckDB: the result of a table function, or rows to append to a table.

use std::marker::PhantomData;
use std::time::Duration;

use libduckdb_sys as ffi;

use super::types::{LogicalType, id};
use super::{SqlError, Type};

/// A batch of rows to write into. Each write is checked against the column's type and the capacity,
/// and every cell must be written. A violation is a bug, and panics.
pub(crate) struct Chunk<'a> {
    raw: ffi::duckdb_data_chunk,
    columns: Vec<ChunkVector>,
    capacity: usize,
    len: usize,
    wait: Option<Duration>,
    borrowed: PhantomData<&'a mut ()>,
}

struct ChunkVector {
    raw: ffi::duckdb_vector,
    ty: ffi::duckdb_type,
    data: *mut std::ffi::c_void,
    /// Null until the first NULL is written.
    validity: *mut u64,
    /// A bit for each row that was written. The memory of other rows is not initialised.
    written: Vec<u64>,
    /// The capacity and the number of items of lists.
    room: usize,
    items: usize,
}

impl Chunk<'_> {
    /// # Safety
    ///
    /// `raw` is an empty chunk that outlives the result and that nobody else writes.
    pub(super) unsafe fn over<'a>(raw: ffi::duckdb_data_chunk) -> Chunk<'a> {
        // SAFETY: `raw` is a chunk; its vectors live as long as it does.
        let (capacity, count) =
            unsafe { (ffi::duckdb_vector_size(), ffi::duckdb_data_chunk_get_column_count(raw)) };
        let columns = (0..count).map(|column| {
            // SAFETY: the column is there; the type is ours to free; data is that of a flat vector.
            unsafe {
                let vector = ffi::duckdb_data_chunk_get_vector(raw, column);
                let ty = LogicalType(ffi::duckdb_vector_get_column_type(vector)).id();
                let data = ffi::duckdb_vector_get_data(vector);
                let written = vec![0; capacity.div_ceil(64) as usize];
                let validity = std::ptr::null_mut();
                ChunkVector { raw: vector, ty, data, validity, written, room: 0, items: 0 }
            }
        });
        let columns = columns.collect();
        Chunk {
            raw,
            columns,
            capacity: capacity as usize,
            len: 0,
            wait: None,
            borrowed: PhantomData,
        }
    }

    /// Returns the number of rows. For a table function, no rows means the end.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets the number of rows. All cells of these rows must be written.
    pub(crate) fn set_len(&mut self, rows: usize) {
        assert!(rows <= self.capacity, "a chunk has room for {} rows", self.capacity);
        for (column, vector) in self.columns.iter().enumerate() {
            assert!(vector.is_written(rows), "column {column} has a cell that was not written");
        }
        self.len = rows;
        // SAFETY: the chunk is there, and has that room.
        unsafe { ffi::duckdb_data_chunk_set_size(self.raw, rows as u64) }
    }

    /// Writes rows until the chunk is full or there are no more, and sets the number of rows.
    pub(crate) fn fill<T>(
        &mut self,
        rows: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, usize, T),
    ) {
        let mut len = 0;
        for row in rows.take(self.capacity) {
            write(self, len, row);
            len += 1;
        }
        self.set_len(len);
    }

    /// Reports that a table function has no rows yet, and should be called again after a while (a
    /// tenth of a second at most). With the shim, DuckDB gets its thread back meanwhile: it notices
    /// interrupts and draws its progress bar. Without the shim, the thread sleeps.
    pub(crate) fn not_yet(&mut self, wait: Duration) {
        self.wait = Some(wait);
    }

    pub(super) fn take_wait(&mut self) -> Option<Duration> {
        self.wait.take()
    }

    /// Writes a value or NULL: `out.or_null(0, line, title, Chunk::text)`.
    pub(crate) fn or_null<T>(
        &mut self,
        column: usize,
        row: usize,
        value: Option<T>,
        write: impl FnOnce(&mut Self, usize, usize, T),
    ) {
        match value {
            Some(value) => write(self, column, row, value),
            None => self.null(column, row),
        }
    }

    pub(crate) fn null(&mut self, column: usize, row: usize) {
        assert!(row < self.capacity, "row {row} is beyond the chunk");
        let vector = &mut self.columns[column];
        vector.written[row / 64] |= 1 << (row % 64);
        // SAFETY: the vector exists; a writable mask has a bit for each row of the capacity. An
        // entry that is read in spite of the mask is an empty list.
        unsafe {
            if vector.validity.is_null() {
                ffi::duckdb_vector_ensure_validity_writable(vector.raw);
                vector.validity = ffi::duckdb_vector_get_validity(vector.raw);
            }
            ffi::duckdb_validity_set_row_invalid(vector.validity, row as u64);
            if vector.ty == id::LIST {
                let empty = ffi::duckdb_list_entry { offset: vector.items as u64, length: 0 };
                vector.data.cast::<ffi::duckdb_list_entry>().add(row).write(empty);
            }
        }
    }

    pub(crate) fn boolean(&mut self, column: usize, row: usize, truth: bool) {
        self.put(column, row, id::BOOLEAN, truth);
    }

    pub(crate) fn integer(&mut self, column: usize, row: usize, number: i32) {
        self.put(column, row, id::INTEGER, number);
    }

    pub(crate) fn bigint(&mut self, column: usize, row: usize, number: i64) {
        self.put(column, row, id::BIGINT, number);
    }

    pub(crate) fn double(&mut self, column: usize, row: usize, number: f64) {
        self.put(column, row, id::DOUBLE, number);
    }

    /// Microseconds since 1970.
    pub(crate) fn timestamp(&mut self, column: usize, row: usize, micros: i64) {
        self.put(column, row, id::TIMESTAMP, micros);
    }

    pub(crate) fn text(&mut self, column: usize, row: usize, text: &str) {
        let vector = self.place(column, row, id::VARCHAR);
        // SAFETY: it is a vector of text with that row; the text is copied.
        unsafe { assign(vector.raw, row, text) }
    }

    /// A list of texts.
    pub(crate) fn texts<'t>(
        &mut self,
        column: usize,
        row: usize,
        texts: impl IntoIterator<Item = &'t str>,
    ) {
        let vector = self.place(column, row, id::LIST);
        let first = vector.items;
        for text in texts {
            vector.make_room();
            // SAFETY: the list's items are texts (`Type::Texts` is the only list), and there is
            // room for one more. The vector of items is fetched each time, because it may move when
            // it grows.
            unsafe { assign(ffi::duckdb_list_vector_get_child(vector.raw), vector.items, text) }
            vector.items += 1;
        }
        let length = (vector.items - first) as u64;
        let entry = ffi::duckdb_list_entry { offset: first as u64, length };
        // SAFETY: a vector of lists has an entry for each row of the capacity; the items up to here
        // are written.
        unsafe {
            ffi::duckdb_list_vector_set_size(vector.raw, vector.items as u64);
            vector.data.cast::<ffi::duckdb_list_entry>().add(row).write(entry);
        }
    }

    fn put<T: Copy>(&mut self, column: usize, row: usize, ty: ffi::duckdb_type, value: T) {
        let vector = self.place(column, row, ty);
        // SAFETY: a vector of this type has a `T` for each row of the capacity.
        unsafe { vector.data.cast::<T>().add(row).write(value) }
    }

    fn place(&mut self, column: usize, row: usize, ty: ffi::duckdb_type) -> &mut ChunkVector {
        assert!(row < self.capacity, "row {row} is beyond the chunk");
        let vector = &mut self.columns[column];
        assert!(vector.ty == ty, "column {column} has type {}, not {ty}", vector.ty);
        vector.written[row / 64] |= 1 << (row % 64);
        vector
    }
}

impl ChunkVector {
    /// Whether the first rows are all written.
    fn is_written(&self, rows: usize) -> bool {
        let rest = (1_u64 << (rows % 64)) - 1;
        let whole = self.written[..rows / 64].iter().all(|word| *word == u64::MAX);
        whole && self.written.get(rows / 64).is_none_or(|word| word & rest == rest)
    }

    /// Makes room for one more item of a list.
    fn make_room(&mut self) {
        if self.items < self.room {
            return;
        }
        let room = (2 * self.items).max(1024);
        // SAFETY: it is a vector of lists. The size is set first, because growing may keep only
        // that many items.
        unsafe {
            ffi::duckdb_list_vector_set_size(self.raw, self.items as u64);
            ffi::duckdb_list_vector_reserve(self.raw, room as u64);
        }
        self.room = room;
    }
}

/// # Safety
///
/// `vector` is a vector of text with room for `row`.
unsafe fn assign(vector: ffi::duckdb_vector, row: usize, text: &str) {
    let length = text.len() as u64;
    // SAFETY: by the contract of this function. The text is copied; a `str` needs no UTF-8 check.
    unsafe {
        ffi::duckdb_unsafe_vector_assign_string_element_len(
            vector,
            row as u64,
            text.as_ptr().cast(),
            length,
        );
    }
}

/// A chunk of our own, to append to a table.
pub(crate) struct OwnedChunk {
    pub(super) raw: ffi::duckdb_data_chunk,
}

// SAFETY: a chunk is memory that belongs to no thread, and `&OwnedChunk` only reads.
unsafe impl Send for OwnedChunk {}

impl OwnedChunk {
    pub(crate) fn new(types: &[Type]) -> Result<OwnedChunk, SqlError> {
        let types: Vec<LogicalType> = types.iter().copied().map(LogicalType::of).collect();
        let mut raw: Vec<ffi::duckdb_logical_type> = types.iter().map(|ty| ty.0).collect();
        // SAFETY: these are as many types; they are copied.
        let raw = unsafe { ffi::duckdb_create_data_chunk(raw.as_mut_ptr(), raw.len() as u64) };
        match raw.is_null() {
            true => Err("DuckDB made no chunk of rows".into()),
            false => Ok(OwnedChunk { raw }),
        }
    }

    /// Empties the chunk and returns it for writing.
    pub(crate) fn reset(&mut self) -> Chunk<'_> {
        // SAFETY: the chunk is ours, and `&mut self` excludes other users.
        unsafe {
            ffi::duckdb_data_chunk_reset(self.raw);
            Chunk::over(self.raw)
        }
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the chunk is ours.
        unsafe { ffi::duckdb_data_chunk_get_size(self.raw) as usize }
    }
}

impl Drop for OwnedChunk {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_data_chunk(&mut self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_was_left_out_is_seen() {
        use std::ptr::null_mut;
        let written = vec![u64::MAX, 0b111];
        let (raw, data, validity) = (null_mut(), null_mut(), null_mut());
        let vector = ChunkVector { raw, ty: 0, data, validity, written, room: 0, items: 0 };
        assert!(vector.is_written(0) && vector.is_written(64) && vector.is_written(67));
        assert!(!vector.is_written(68) && !vector.is_written(128));
    }
}
