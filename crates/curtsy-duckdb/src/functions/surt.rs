//! `surt(url)`: the key under which web archives file a URL.

use curtsy_core::url::{SurtOptions, surt};

use crate::duck::{Fault, Scalar};

/// NULL for what has no such key.
pub(crate) struct Surt;

impl Scalar for Surt {
    const NAME: &'static str = "surt";
    const ARGUMENTS: usize = 1;
    type Out = String;
    type Memory = ();

    fn call((): &mut (), arguments: &[&str]) -> Result<Option<String>, Fault> {
        Ok(surt(arguments[0], &SurtOptions::default()).ok())
    }
}
