//! A crawl on one machine, from seed to row.
//!
//! A face reads its input into a [`JobSpec`]; [`run`] opens what the crawl needs, lets the engine work, and answers with a
//! [`Report`]. Nothing here decides about a request: scope is the reader's, manners are the core's. What is here is the order in which
//! things are opened and ended, so that a crawl that was stopped or killed goes on when the same command is given again.

mod error;
mod feed;
mod report;
mod run;
mod spec;
mod tally;
mod watch;

pub use error::CrawlError;
pub use report::{Ended, Report};
pub use run::run;
pub use spec::{JobSpec, SeedsAre, Target, state_dir};
pub use watch::{Progress, Waiting, Watch};
