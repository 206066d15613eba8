//! Table functions.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use libduckdb_sys as ffi;

use super::argument::DuckValue;
use super::error::{c_text, caught};
use super::pulse::Pulse;
use super::types::LogicalType;
use super::{Argument, CallerSession, Chunk, DuckConnection, SqlError, Type, settings};

/// A function that returns rows.
pub(crate) trait TableFunction: 'static {
    const NAME: &'static str;
    /// The types of the arguments without a name.
    const POSITIONAL: &'static [Type] = &[];
    const NAMED: &'static [NamedParameter] = &[];
    /// The columns that every call has; `bind` may add more.
    const COLUMNS: &'static [(&'static str, Type)] = &[];
    /// A call. DuckDB may bind a call and never run it, or run it more than once, so binding has no
    /// effects.
    type Bound: Send + Sync + 'static;
    /// One run of a call. Dropped when DuckDB needs no more rows, which may be before the end.
    type Running: Send + 'static;

    /// Reads the arguments.
    fn bind(bind: &mut Bind<'_>) -> Result<Self::Bound, SqlError>;

    fn start(bound: &Self::Bound) -> Result<Self::Running, SqlError>;

    /// Writes some rows; none means the end, unless `Chunk::not_yet` was called. Runs on one thread
    /// at a time. DuckDB checks for an interrupt only between calls, so a call should be short.
    fn fill(
        bound: &Self::Bound,
        running: &mut Self::Running,
        out: &mut Chunk<'_>,
    ) -> Result<(), SqlError>;
}

/// A named parameter: its name and its description. Its type is `ANY` and checked by the function:
/// an error of DuckDB would not name the expected type.
pub(crate) struct NamedParameter(pub(crate) &'static str, pub(crate) &'static str);

/// A call that is being bound.
pub(crate) struct Bind<'a> {
    info: ffi::duckdb_bind_info,
    context: Context,
    pulse: &'a Arc<Pulse>,
}

impl Bind<'_> {
    /// Returns a positional argument; NULL if it is missing.
    pub(crate) fn argument(&self, index: usize) -> Argument {
        // SAFETY: the call is being read; the value is ours.
        let value = unsafe { ffi::duckdb_bind_get_parameter(self.info, index as u64) };
        DuckValue::owned(value).map_or(Argument::Null, |value| value.read())
    }

    /// Returns a named argument, if it was given.
    pub(crate) fn named(&self, name: &str) -> Option<Argument> {
        let name = c_text(name);
        // SAFETY: the call is being read; the value is ours.
        let value = unsafe { ffi::duckdb_bind_get_named_parameter(self.info, name.as_ptr()) };
        DuckValue::owned(value).map(|value| value.read())
    }

    /// Adds a column to the rows.
    pub(crate) fn column(&mut self, name: &str, ty: Type) {
        assert!(ty != Type::Any, "no column has the type of a parameter");
        let (name, ty) = (c_text(name), LogicalType::of(ty));
        // SAFETY: the call is being read; name and type are copied.
        unsafe { ffi::duckdb_bind_add_result_column(self.info, name.as_ptr(), ty.0) }
    }

    /// Returns the caller's value of a setting; none if the setting does not exist.
    pub(crate) fn setting(&self, name: &str) -> Option<Argument> {
        // SAFETY: the caller's session lasts at least as long as its call.
        unsafe { settings::read(self.context.0, name) }
    }

    /// Returns the caller's session.
    pub(crate) fn caller(&self) -> CallerSession {
        // SAFETY: as above.
        unsafe { CallerSession::of(self.context.0, Arc::clone(self.pulse)) }
    }
}

/// The caller's session while its call is bound.
struct Context(ffi::duckdb_client_context);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_client_context(&mut self.0) }
    }
}

/// The data that DuckDB keeps for a call. The pulse is first: the shim knows only that.
#[repr(C)]
struct BindData<B> {
    pulse: Arc<Pulse>,
    bound: B,
}

pub(super) fn register<F: TableFunction>(connection: &DuckConnection) -> Result<(), SqlError> {
    let name = c_text(F::NAME);
    // SAFETY: the connection is open; names and types are copied, and the function is freed here.
    // The callbacks fit `F`.
    unsafe {
        let mut function = ffi::duckdb_create_table_function();
        ffi::duckdb_table_function_set_name(function, name.as_ptr());
        for ty in F::POSITIONAL {
            ffi::duckdb_table_function_add_parameter(function, LogicalType::of(*ty).0);
        }
        let any = LogicalType::of(Type::Any);
        for NamedParameter(name, _) in F::NAMED {
            let name = c_text(name);
            ffi::duckdb_table_function_add_named_parameter(function, name.as_ptr(), any.0);
        }
        ffi::duckdb_table_function_set_bind(function, Some(bind::<F>));
        ffi::duckdb_table_function_set_init(function, Some(start::<F>));
        ffi::duckdb_table_function_set_function(function, Some(fill::<F>));
        let state = ffi::duckdb_register_table_function(connection.0.0, function);
        ffi::duckdb_destroy_table_function(&mut function);
        match state == ffi::DuckDBSuccess {
            true => Ok(()),
            false => Err(format!("the function {} could not be added", F::NAME).into()),
        }
    }
}

unsafe extern "C" fn bind<F: TableFunction>(info: ffi::duckdb_bind_info) {
    let held = caught(|| {
        let mut context = ptr::null_mut();
        // SAFETY: DuckDB reads a call; the handle is ours.
        unsafe { ffi::duckdb_table_function_get_client_context(info, &mut context) };
        let pulse = Pulse::new();
        let mut bind = Bind { info, context: Context(context), pulse: &pulse };
        F::COLUMNS.iter().for_each(|(name, ty)| bind.column(name, *ty));
        let bound = F::bind(&mut bind)?;
        drop(bind);
        Ok(BindData { pulse, bound })
    });
    // SAFETY: DuckDB binds a call. It keeps the data and frees it once; the text of an error is
    // copied.
    unsafe {
        match held {
            Ok(held) => {
                let held = Box::into_raw(Box::new(held)).cast();
                ffi::duckdb_bind_set_bind_data(info, held, Some(free::<BindData<F::Bound>>));
            }
            Err(fault) => ffi::duckdb_bind_set_error(info, fault.c_text().as_ptr()),
        }
    }
}

unsafe extern "C" fn start<F: TableFunction>(info: ffi::duckdb_init_info) {
    let running = caught(|| {
        // SAFETY: `bind::<F>` made it, and it lives as long as the plan.
        let held = unsafe { &*ffi::duckdb_init_get_bind_data(info).cast::<BindData<F::Bound>>() };
        F::start(&held.bound)
    });
    // SAFETY: DuckDB starts a run. It keeps the data and frees it once; the text of an error is
    // copied.
    unsafe {
        ffi::duckdb_init_set_max_threads(info, 1);
        match running {
            Ok(running) => {
                let running = Box::into_raw(Box::new(Mutex::new(running))).cast();
                ffi::duckdb_init_set_init_data(info, running, Some(free::<Mutex<F::Running>>));
            }
            Err(fault) => ffi::duckdb_init_set_error(info, fault.c_text().as_ptr()),
        }
    }
}

unsafe extern "C" fn fill<F: TableFunction>(
    info: ffi::duckdb_function_info,
    out: ffi::duckdb_data_chunk,
) {
    let filled = caught(|| {
        // SAFETY: `bind::<F>` and `start::<F>` made them, and they live as long as the run. The
        // chunk is empty and ours until this returns.
        let (held, running, mut out) = unsafe {
            let held = &*ffi::duckdb_function_get_bind_data(info).cast::<BindData<F::Bound>>();
            let running = &*ffi::duckdb_function_get_init_data(info).cast::<Mutex<F::Running>>();
            (held, running, Chunk::over(out))
        };
        let mut running = running.lock().map_err(|_| "the function failed before")?;
        loop {
            F::fill(&held.bound, &mut running, &mut out)?;
            match out.take_wait() {
                Some(wait) if out.len() == 0 && held.pulse.wait(wait) => {}
                _ => return Ok(()),
            }
        }
    });
    if let Err(fault) = filled {
        // SAFETY: DuckDB waits for rows; the text is copied.
        unsafe { ffi::duckdb_function_set_error(info, fault.c_text().as_ptr()) }
    }
}

/// Drops data that DuckDB kept.
unsafe extern "C" fn free<T>(kept: *mut c_void) {
    // SAFETY: the pointer is from a `Box<T>`, and DuckDB frees it once.
    let kept = unsafe { Box::from_raw(kept.cast::<T>()) };
    // Nobody could receive the error of a panic.
    let _ = caught(|| {
        drop(kept);
        Ok(())
    });
}
