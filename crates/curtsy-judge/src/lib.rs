//! Reads a server's access log and reports which manners a crawler broke.
//!
//! The manners are eighteen rules, P0 to P17 ([`Rule`]): identity, robots.txt, pace, parallel
//! requests, connections, the reaction to refusals and outages, and all of this across crashes. The
//! judge sees only what the server saw. It knows only the promises of the crawler ([`Manners`]). Of
//! this project's core it uses only the robots matchers, of which the second must agree with the
//! first.
//!
//! It is fair to any crawler: a rule is charged only if the log proves the violation, and what the
//! log does not show is counted as not judged. There is no other tolerance; a signal may take 250
//! ms to reach every worker.
//!
//! [`read_log`] reads entries from the lines of a log ([`LogFormat`]), [`InStartOrder`] sorts
//! them by their starts, [`Judge::see`] judges them, and [`Judge::finish`] returns the
//! [`JudgeReport`]. A [`Docket`] has a judge for each agent of a mixed log. There is no clock, no
//! file and no network here.

mod absolute;
mod agent;
mod answer;
mod attribution;
mod bench;
mod budget;
mod caddy;
mod combined;
mod connection;
mod connections;
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
pub use connection::{ConnectionAgent, ConnectionChange, ConnectionEvent, LogEntry};
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
