//! Reads a server's access log and says which manners a crawler broke.
//!
//! The manners are seventeen rules, P0 to P16 ([`Rule`]): who asks, what robots.txt says, how fast, how many at once, what a
//! refusal or an outage asks for, and that none of it is forgotten in a crash. The judge sees only what the server saw. It
//! knows nothing of the crawler but what that promised ([`Manners`]), and of this project's own core it uses nothing but the
//! robots matcher, beside a second one that must agree.
//!
//! It is fair to any crawler: a rule is charged only where the log proves it, and what the log can't tell is counted as not
//! judged. No tolerance is given otherwise; a signal may take 250 ms to reach every worker.
//!
//! [`read_log`] reads exchanges from the lines of a log ([`LogFormat`]), [`InStartOrder`] puts them into the order of their
//! starts, [`Judge::see`] takes them in, and [`Judge::finish`] returns the [`JudgeReport`]. A [`Docket`] has a judge for each agent
//! of a log in which several are mixed. There is no clock, no file and no network here.

mod absolute;
mod agent;
mod answer;
mod bench;
mod budget;
mod caddy;
mod combined;
mod docket;
mod down;
mod exchange;
mod faults;
mod format;
mod generations;
mod header;
mod hops;
mod host;
mod host_name;
mod identity;
mod judge;
mod live;
mod location;
mod log;
mod manners;
mod matchers;
mod notes;
mod order;
mod repeat;
mod report;
mod robots;
mod rule;
mod told;
mod trial;
mod w3c;

pub use agent::{AgentKind, agent_of};
pub use docket::{AgentCase, Docket, Others, Verdicts};
pub use exchange::{Exchange, LogLine, LogScheme, write_line};
pub use faults::CrawlerFault;
pub use format::LogFormat;
pub use judge::{Judge, LogDetail};
pub use live::WorkPlan;
pub use log::{LogReader, Unreadable, read_log};
pub use manners::{Access, CachePromise, HeldTo, HostManners, Manners, WaitCurve, WaitGrowth};
pub use matchers::SecondMatcher;
pub use notes::{FaultNote, read_faults, read_plan};
pub use order::InStartOrder;
pub use report::{JudgeReport, RuleTally, Violation};
pub use rule::Rule;
