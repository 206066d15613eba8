//! Settings of our own.

use std::ptr;

use libduckdb_sys as ffi;

use super::argument::{Value, typed};
use super::fault::c_text;
use super::{Argument, Connection, Fault, Type};

/// A setting that `SET` takes, for one session unless `SET GLOBAL` says otherwise.
pub(crate) struct Setting {
    /// Never the name of one of DuckDB's own: those would be replaced.
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) default: Argument,
    pub(crate) description: &'static str,
}

pub(super) fn register(connection: &Connection, setting: &Setting) -> Result<(), Fault> {
    let name = c_text(setting.name);
    // SAFETY: the connection is open; each thing that is made is freed here, after it was copied.
    unsafe {
        let mut context = ptr::null_mut();
        ffi::duckdb_connection_get_client_context(connection.0.0, &mut context);
        let known = read(context, setting.name);
        ffi::duckdb_destroy_client_context(&mut context);
        if known.is_some() {
            return Ok(());
        }
        let (ty, default) = typed(setting.ty, &setting.default);
        let mut option = ffi::duckdb_create_config_option();
        ffi::duckdb_config_option_set_name(option, name.as_ptr());
        ffi::duckdb_config_option_set_type(option, ty.0);
        ffi::duckdb_config_option_set_default_value(option, default.raw());
        ffi::duckdb_config_option_set_default_scope(
            option,
            ffi::duckdb_config_option_scope_DUCKDB_CONFIG_OPTION_SCOPE_SESSION,
        );
        ffi::duckdb_config_option_set_description(option, c_text(setting.description).as_ptr());
        let state = ffi::duckdb_register_config_option(connection.0.0, option);
        ffi::duckdb_destroy_config_option(&mut option);
        match state == ffi::DuckDBSuccess {
            true => Ok(()),
            false => Err(format!("the setting {} could not be added", setting.name).into()),
        }
    }
}

/// What a setting is in a session; `None` if there is no such setting.
///
/// # Safety
///
/// `context` is a session's.
pub(super) unsafe fn read(context: ffi::duckdb_client_context, name: &str) -> Option<Argument> {
    let name = c_text(name);
    // SAFETY: the caller says so; the value is ours.
    let value = unsafe {
        ffi::duckdb_client_context_get_config_option(context, name.as_ptr(), ptr::null_mut())
    };
    Value::owned(value).map(|value| value.read())
}
