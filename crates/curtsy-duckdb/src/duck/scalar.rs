//! Functions of one row's texts.

use std::ffi::c_void;

use libduckdb_sys as ffi;

use super::fault::{c_text, caught};
use super::rows::text_at;
use super::types::LogicalType;
use super::{Connection, Fault, Type};

/// A function of texts. NULL in gives NULL out.
pub(crate) trait Scalar: 'static {
    const NAME: &'static str;
    const ARGUMENTS: usize;
    type Out: Out;
    /// What is kept from row to row, for one batch.
    type Memory: Default;

    /// The answer for one row; `None` is NULL.
    fn call(memory: &mut Self::Memory, arguments: &[&str]) -> Result<Option<Self::Out>, Fault>;
}

/// What a function of texts gives: text or a truth.
pub(crate) trait Out {
    const TYPE: Type;

    /// Writes it into a row.
    ///
    /// # Safety
    ///
    /// `vector` is one of `TYPE`, has this row, and `data` is its data.
    unsafe fn write(&self, vector: ffi::duckdb_vector, data: *mut c_void, row: usize);
}

impl Out for String {
    const TYPE: Type = Type::Varchar;

    unsafe fn write(&self, vector: ffi::duckdb_vector, _: *mut c_void, row: usize) {
        let (text, length) = (self.as_ptr().cast(), self.len() as u64);
        // SAFETY: the caller says so; the text is copied.
        unsafe { ffi::duckdb_vector_assign_string_element_len(vector, row as u64, text, length) }
    }
}

impl Out for bool {
    const TYPE: Type = Type::Boolean;

    unsafe fn write(&self, _: ffi::duckdb_vector, data: *mut c_void, row: usize) {
        // SAFETY: the caller says so.
        unsafe { data.cast::<bool>().add(row).write(*self) }
    }
}

pub(super) fn register<F: Scalar>(connection: &Connection) -> Result<(), Fault> {
    let name = c_text(F::NAME);
    let text = LogicalType::of(Type::Varchar);
    let out = LogicalType::of(F::Out::TYPE);
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
    // SAFETY: DuckDB gives a chunk of as many columns of text as were declared, flat, and a vector of the declared type with as many rows.
    let called = caught(|| unsafe { answer::<F>(input, output) });
    if let Err(fault) = called {
        // SAFETY: DuckDB waits for answers; the text is copied.
        unsafe { ffi::duckdb_scalar_function_set_error(info, fault.c_text().as_ptr()) }
    }
}

/// # Safety
///
/// `input` has `F::ARGUMENTS` flat columns of text, and `output` is of `F::Out::TYPE` and has as many rows.
unsafe fn answer<F: Scalar>(
    input: ffi::duckdb_data_chunk,
    output: ffi::duckdb_vector,
) -> Result<(), Fault> {
    // SAFETY: the caller says so. Texts are read as long as the input is there; a mask that is writable has a bit for each row.
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
