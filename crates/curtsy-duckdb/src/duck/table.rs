//! Table functions.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use libduckdb_sys as ffi;

use super::argument::Value;
use super::fault::{c_text, caught};
use super::pulse::Pulse;
use super::types::LogicalType;
use super::{Argument, Caller, Chunk, Connection, Fault, Type, settings};

/// A function that gives rows.
pub(crate) trait TableFunction: 'static {
    const NAME: &'static str;
    /// What a call means. DuckDB may ask for it and never run it, and may run it more than once: nothing has happened yet.
    type Bound: Send + Sync + 'static;
    /// One run of it. Dropped when DuckDB wants no more rows, which may be before the end.
    type Running: Send + 'static;

    fn positional() -> Vec<Type>;

    fn named() -> Vec<(&'static str, Type)> {
        Vec::new()
    }

    /// Reads the arguments and says which columns there will be.
    fn bind(bind: &mut Bind<'_>) -> Result<Self::Bound, Fault>;

    fn start(bound: &Self::Bound) -> Result<Self::Running, Fault>;

    /// Writes some rows; none is the end, unless `Chunk::not_yet` was said. One thread at a time. DuckDB looks for an interrupt only between
    /// calls, so none should take long.
    fn fill(
        bound: &Self::Bound,
        running: &mut Self::Running,
        out: &mut Chunk<'_>,
    ) -> Result<(), Fault>;
}

/// A call that is being read.
pub(crate) struct Bind<'a> {
    info: ffi::duckdb_bind_info,
    context: Context,
    pulse: &'a Arc<Pulse>,
}

impl Bind<'_> {
    /// A positional argument; NULL if it is not there.
    pub(crate) fn argument(&self, index: usize) -> Argument {
        // SAFETY: the call is being read; the value is ours.
        let value = unsafe { ffi::duckdb_bind_get_parameter(self.info, index as u64) };
        Value::owned(value).map_or(Argument::Null, |value| value.read())
    }

    /// A named argument, if it was given.
    pub(crate) fn named(&self, name: &str) -> Option<Argument> {
        let name = c_text(name);
        // SAFETY: the call is being read; the value is ours.
        let value = unsafe { ffi::duckdb_bind_get_named_parameter(self.info, name.as_ptr()) };
        Value::owned(value).map(|value| value.read())
    }

    /// Adds a column to the rows.
    pub(crate) fn column(&mut self, name: &str, ty: Type) {
        assert!(ty != Type::Any, "no column has the type of a parameter");
        let (name, ty) = (c_text(name), LogicalType::of(ty));
        // SAFETY: the call is being read; name and type are copied.
        unsafe { ffi::duckdb_bind_add_result_column(self.info, name.as_ptr(), ty.0) }
    }

    /// What a setting is for the caller; `None` if there is no such setting.
    pub(crate) fn setting(&self, name: &str) -> Option<Argument> {
        // SAFETY: the caller's session lasts at least as long as its call.
        unsafe { settings::read(self.context.0, name) }
    }

    /// Whoever called.
    pub(crate) fn caller(&self) -> Caller {
        // SAFETY: as above.
        unsafe { Caller::of(self.context.0, Arc::clone(self.pulse)) }
    }
}

/// The caller's session, while its call is read.
struct Context(ffi::duckdb_client_context);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_client_context(&mut self.0) }
    }
}

/// What DuckDB keeps for us between reading a call and its end. The pulse comes first: the shim knows no more of this.
#[repr(C)]
struct Held<B> {
    pulse: Arc<Pulse>,
    bound: B,
}

pub(super) fn register<F: TableFunction>(connection: &Connection) -> Result<(), Fault> {
    let name = c_text(F::NAME);
    // SAFETY: the connection is open; names and types are copied, and the function is freed here. The callbacks fit `F`.
    unsafe {
        let mut function = ffi::duckdb_create_table_function();
        ffi::duckdb_table_function_set_name(function, name.as_ptr());
        for ty in F::positional() {
            ffi::duckdb_table_function_add_parameter(function, LogicalType::of(ty).0);
        }
        for (name, ty) in F::named() {
            let (name, ty) = (c_text(name), LogicalType::of(ty));
            ffi::duckdb_table_function_add_named_parameter(function, name.as_ptr(), ty.0);
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
        let bound = F::bind(&mut bind)?;
        drop(bind);
        Ok(Held { pulse, bound })
    });
    // SAFETY: DuckDB reads a call; it keeps what it gets and frees it once. An error's text is copied.
    unsafe {
        match held {
            Ok(held) => {
                let held = Box::into_raw(Box::new(held)).cast();
                ffi::duckdb_bind_set_bind_data(info, held, Some(free::<Held<F::Bound>>));
            }
            Err(fault) => ffi::duckdb_bind_set_error(info, fault.c_text().as_ptr()),
        }
    }
}

unsafe extern "C" fn start<F: TableFunction>(info: ffi::duckdb_init_info) {
    let running = caught(|| {
        // SAFETY: `bind::<F>` made it, and it lives as long as the plan.
        let held = unsafe { &*ffi::duckdb_init_get_bind_data(info).cast::<Held<F::Bound>>() };
        F::start(&held.bound)
    });
    // SAFETY: DuckDB begins a run; it keeps what it gets and frees it once. An error's text is copied.
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
        // SAFETY: `bind::<F>` and `start::<F>` made them, and they live as long as the run. The chunk is empty and ours until this returns.
        let (held, running, mut out) = unsafe {
            let held = &*ffi::duckdb_function_get_bind_data(info).cast::<Held<F::Bound>>();
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

/// Drops what DuckDB kept for us.
unsafe extern "C" fn free<T>(kept: *mut c_void) {
    // SAFETY: it came out of a `Box<T>`, and DuckDB frees it once.
    let kept = unsafe { Box::from_raw(kept.cast::<T>()) };
    // A panic has nobody to tell, and may not go on.
    let _ = caught(|| {
        drop(kept);
        Ok(())
    });
}
