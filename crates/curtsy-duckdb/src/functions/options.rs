//! `crawl_options()`: the options of every crawl, and what each is for.

use crate::duck::{Bind, Chunk, Fault, TableFunction, Type};
use crate::order::{Named, OPTIONS};

/// `crawl_options()`.
pub(crate) struct CrawlOptions;

impl TableFunction for CrawlOptions {
    const NAME: &'static str = "crawl_options";
    type Bound = ();
    type Running = std::slice::Iter<'static, Named>;

    fn positional() -> Vec<Type> {
        Vec::new()
    }

    fn bind(bind: &mut Bind<'_>) -> Result<(), Fault> {
        bind.column("name", Type::Varchar);
        bind.column("description", Type::Varchar);
        Ok(())
    }

    fn start((): &()) -> Result<Self::Running, Fault> {
        Ok(OPTIONS.iter())
    }

    fn fill((): &(), options: &mut Self::Running, out: &mut Chunk<'_>) -> Result<(), Fault> {
        let mut line = 0;
        while line < out.capacity()
            && let Some(Named(name, about)) = options.next()
        {
            out.text(0, line, name);
            out.text(1, line, about);
            line += 1;
        }
        out.set_len(line);
        Ok(())
    }
}
