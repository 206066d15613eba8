//! Settings of the extension.

use std::ptr;

use libduckdb_sys as ffi;

use super::argument::{DuckValue, typed};
use super::error::c_text;
use super::{Argument, DuckConnection, SqlError, Type};

/// A setting that `SET` changes, for one session unless it is `SET GLOBAL`.
pub(crate) struct Setting {
    /// Must not be the name of a setting of DuckDB itself: that setting would be replaced.
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) default: Argument,
    pub(crate) description: &'static str,
}

pub(super) fn register(connection: &DuckConnection, setting: &Setting) -> Result<(), SqlError> {
    let name = c_text(setting.name);
    // SAFETY: the connection is open; each object is freed here, after it was copied.
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

/// Returns the value of a setting in a session; none if the setting does not exist.
///
/// # Safety
///
/// `context` is the context of a session.
pub(super) unsafe fn read(context: ffi::duckdb_client_context, name: &str) -> Option<Argument> {
    let name = c_text(name);
    // SAFETY: the caller says so; the value is ours.
    let value = unsafe {
        ffi::duckdb_client_context_get_config_option(context, name.as_ptr(), ptr::null_mut())
    };
    DuckValue::owned(value).map(|value| value.read())
}
