//! `surt(url)`: the key under which web archives file a URL.

use curtsy_core::url::{SurtOptions, surt};

use crate::duck::{Scalar, SqlError};

/// Returns NULL for a URL without such a key.
pub(crate) struct Surt;

impl Scalar for Surt {
    const NAME: &'static str = "surt";
    const ARGUMENTS: usize = 1;
    type Output = String;
    type Memory = ();

    fn call((): &mut (), arguments: &[&str]) -> Result<Option<String>, SqlError> {
        Ok(surt(arguments[0], &SurtOptions::default()).ok())
    }
}
