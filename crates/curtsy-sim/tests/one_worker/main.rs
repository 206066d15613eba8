//! One worker in virtual time, with an end: when it ends, why, and what it did until then, to the
//! microsecond.

mod crawl;
mod ends;
mod slow_rows;
