//! A crawl on one machine, from seed to row: what every face on one machine has in common.
//!
//! A face reads its input into a [`JobSpec`]. [`run`] crawls into a file. A crawl that was stopped
//! or killed resumes when the same command is run again. [`stream`] hands every row to the face;
//! only the ledger of hosts keeps something of such a crawl. Nothing here decides about a request:
//! scope belongs to the reader, manners to the core. This crate opens and closes things in the
//! right order.

mod attend;
mod choice;
mod compare;
mod error;
mod explain;
mod feed;
mod kinds;
mod limits;
mod looked_for;
mod one;
mod plan;
mod report;
mod run;
mod sharing;
mod shown;
mod sitemaps;
mod speak;
mod spec;
mod stream;
mod tally;
mod waits;
mod watch;
mod way;
mod work;

pub use choice::PolicyChoice;
pub use compare::Compared;
pub use error::{CrawlError, SpecError};
pub use explain::{Explained, explain, explain_job, pace, would_do};
pub use kinds::PageKind;
pub use limits::limits;
pub use looked_for::{LookedFor, UrlLeftOut, left_out};
pub use one::{OnePage, get};
pub use plan::SitePlan;
pub use report::{BudgetEnd, CrawlReport, LeftPart, ReasonCount, RunEnding};
pub use run::{robots_texts, run};
pub use sharing::PageSharing;
pub use shown::{is_bidi, printable, shown_time, shown_url, without_login};
pub use sitemaps::list_sitemaps;
pub use speak::{Dialable, dialable, known as known_scheme, spoken};
pub use spec::{
    Begin, FileSpec, JobOrder, JobSpec, Prelude, RowsTarget, SeedsAre, file_named_after,
    ledger_file, other_scheme, seed, state_dir,
};
pub use stream::{EachBatch, Keeper, LeftPage, NoCache, Streaming, stream};
pub use waits::Wait;
pub use watch::{Progress, Unwatched, Waiting, Watch};
pub use way::{RouteChoices, network};
