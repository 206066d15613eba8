//! Errors as users of DuckDB read them.

use std::any::Any;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

/// The text of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlError(pub(crate) String);

impl SqlError {
    /// Returns the text as a C string.
    pub(super) fn c_text(&self) -> CString {
        c_text(&self.0)
    }

    /// Copies an error message of DuckDB. An empty message is replaced by `otherwise`.
    ///
    /// # Safety
    ///
    /// `text` is null or a C string.
    pub(super) unsafe fn said(text: *const c_char, otherwise: &str) -> SqlError {
        // SAFETY: the caller says so.
        match unsafe { said(text) } {
            Some(text) if !text.is_empty() => SqlError(text),
            _ => SqlError(otherwise.to_owned()),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SqlError {}

impl From<String> for SqlError {
    fn from(text: String) -> SqlError {
        SqlError(text)
    }
}

impl From<&str> for SqlError {
    fn from(text: &str) -> SqlError {
        SqlError(text.to_owned())
    }
}

/// Runs the body of a callback. A panic becomes an error, because it must not unwind into DuckDB.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => {
            let fault =
                SqlError(format!("curtsy has a bug, please report it: {}", text_of(&*panic)));
            // Dropping the payload of a panic may panic again.
            std::mem::forget(panic);
            Err(fault)
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let fixed = panic.downcast_ref::<&str>().copied();
    fixed.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

/// Converts a text to a C string. A zero byte, which would end it early, becomes a visible
/// character.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{2400}")).expect("there is no zero byte any more")
}

/// Copies a C string, if there is one.
///
/// # Safety
///
/// `text` is null or a C string.
pub(super) unsafe fn said(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so it is a C string.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_callback_is_an_error_of_the_query() {
        let fault = caught::<()>(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(fault.0, "curtsy has a bug, please report it: number 7");
        let fault = caught::<()>(|| panic!("plain")).unwrap_err();
        assert_eq!(fault.0, "curtsy has a bug, please report it: plain");
        let fault = caught::<()>(|| std::panic::panic_any(7)).unwrap_err();
        assert_eq!(fault.0, "curtsy has a bug, please report it: a panic");
    }

    #[test]
    fn errors_and_answers_pass_through() {
        assert_eq!(caught(|| Ok(7)), Ok(7));
        assert_eq!(caught::<()>(|| Err("no".into())), Err(SqlError("no".to_owned())));
    }

    #[test]
    fn a_zero_byte_does_not_end_a_text() {
        assert_eq!(c_text("a\0b").to_str().unwrap(), "a\u{2400}b");
    }
}
