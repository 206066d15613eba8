//! Functions of the texts of one row.

use std::ffi::c_void;

use libduckdb_sys as ffi;

use super::error::{c_text, caught};
use super::rows::text_at;
use super::types::LogicalType;
use super::{DuckConnection, SqlError, Type};

/// A function of texts. If an argument is NULL, the result is NULL.
pub(crate) trait Scalar: 'static {
    const NAME: &'static str;
    const ARGUMENTS: usize;
    type Output: ScalarOutput;
    /// State that is kept from row to row within a batch.
    type Memory: Default;

    /// Returns the result for one row; none is NULL.
    fn call(
        memory: &mut Self::Memory,
        arguments: &[&str],
    ) -> Result<Option<Self::Output>, SqlError>;
}

/// The result of a scalar function: text or boolean.
pub(crate) trait ScalarOutput {
    const TYPE: Type;

    /// Writes the value into a row.
    ///
    /// # Safety
    ///
    /// `vector` is of `TYPE` and has this row, and `data` is its data.
    unsafe fn write(&self, vector: ffi::duckdb_vector, data: *mut c_void, row: usize);
}

impl ScalarOutput for String {
    const TYPE: Type = Type::Varchar;

    unsafe fn write(&self, vector: ffi::duckdb_vector, _: *mut c_void, row: usize) {
        let (text, length) = (self.as_ptr().cast(), self.len() as u64);
        // SAFETY: the caller says so; the text is copied.
        unsafe { ffi::duckdb_vector_assign_string_element_len(vector, row as u64, text, length) }
    }
}

impl ScalarOutput for bool {
    const TYPE: Type = Type::Boolean;

    unsafe fn write(&self, _: ffi::duckdb_vector, data: *mut c_void, row: usize) {
        // SAFETY: the caller says so.
        unsafe { data.cast::<bool>().add(row).write(*self) }
    }
}

pub(super) fn register<F: Scalar>(connection: &DuckConnection) -> Result<(), SqlError> {
    let name = c_text(F::NAME);
    let text = LogicalType::of(Type::Varchar);
    let out = LogicalType::of(F::Output::TYPE);
    // SAFETY: the connection is open; name and types are copied, and the function is freed here.
    unsafe {
        let mut function = ffi::duckdb_create_scalar_function();
        ffi::duckdb_scalar_function_set_name(function, name.as_ptr());
        for _ in 0..F::ARGUMENTS {
            ffi::duckdb_scalar_function_add_parameter(function, text.0);
        }
        ffi::duckdb_scalar_function_set_return_type(function, out.0);
        ffi::duckdb_scalar_function_set_function(function, Some(call::<F>));
        let state = ffi::duckdb_register_scalar_function(connection.0.0, function);
        ffi::duckdb_destroy_scalar_function(&mut function);
        match state == ffi::DuckDBSuccess {
            true => Ok(()),
            false => Err(format!("the function {} could not be added", F::NAME).into()),
        }
    }
}

unsafe extern "C" fn call<F: Scalar>(
    info: ffi::duckdb_function_info,
    input: ffi::duckdb_data_chunk,
    output: ffi::duckdb_vector,
) {
    // SAFETY: DuckDB passes a chunk with the declared number of flat text columns, and a vector of
    // the declared type with as many rows.
    let called = caught(|| unsafe { answer::<F>(input, output) });
    if let Err(fault) = called {
        // SAFETY: DuckDB waits for answers; the text is copied.
        unsafe { ffi::duckdb_scalar_function_set_error(info, fault.c_text().as_ptr()) }
    }
}

/// # Safety
///
/// `input` has `F::ARGUMENTS` flat text columns, and `output` is of `F::Output::TYPE` and has as
/// many rows.
unsafe fn answer<F: Scalar>(
    input: ffi::duckdb_data_chunk,
    output: ffi::duckdb_vector,
) -> Result<(), SqlError> {
    // SAFETY: by the contract of this function. Texts are read while the input exists; a writable
    // mask has a bit for each row.
    unsafe {
        let columns: Vec<_> = (0..F::ARGUMENTS as u64)
            .map(|column| {
                let vector = ffi::duckdb_data_chunk_get_vector(input, column);
                let data = ffi::duckdb_vector_get_data(vector).cast_const();
                (data, ffi::duckdb_vector_get_validity(vector))
            })
            .collect();
        let data = ffi::duckdb_vector_get_data(output);
        let mut memory = F::Memory::default();
        let mut arguments = Vec::with_capacity(columns.len());
        for row in 0..ffi::duckdb_data_chunk_get_size(input) {
            arguments.clear();
            for &(data, validity) in &columns {
                if ffi::duckdb_validity_row_is_valid(validity, row) {
                    arguments.push(text_at(data, row as usize));
                }
            }
            let out = match arguments.len() == columns.len() {
                true => F::call(&mut memory, &arguments)?,
                false => None,
            };
            match out {
                Some(out) => out.write(output, data, row as usize),
                None => {
                    ffi::duckdb_vector_ensure_validity_writable(output);
                    let validity = ffi::duckdb_vector_get_validity(output);
                    ffi::duckdb_validity_set_row_invalid(validity, row);
                }
            }
        }
        Ok(())
    }
}
