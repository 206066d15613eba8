//! `crawl_options()`: the options of every crawl, each with a description.

use crate::duck::{Bind, Chunk, NamedParameter, SqlError, TableFunction, Type};
use crate::order::OPTIONS;

/// `crawl_options()`.
pub(crate) struct OptionsFunction;

impl TableFunction for OptionsFunction {
    const NAME: &'static str = "crawl_options";
    const COLUMNS: &'static [(&'static str, Type)] =
        &[("name", Type::Varchar), ("description", Type::Varchar)];
    type Bound = ();
    type Running = std::slice::Iter<'static, NamedParameter>;

    fn bind(_: &mut Bind<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn start((): &()) -> Result<Self::Running, SqlError> {
        Ok(OPTIONS.iter())
    }

    fn fill((): &(), options: &mut Self::Running, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        out.fill(options, |out, line, NamedParameter(name, about)| {
            out.text(0, line, name);
            out.text(1, line, about);
        });
        Ok(())
    }
}
