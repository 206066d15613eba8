//! The scripts: what is done in Redis in one step.

use std::sync::OnceLock;

/// A script and its name in Redis.
#[derive(Debug)]
pub struct Script {
    /// Its whole text.
    pub text: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    const fn new(text: &'static str) -> Script {
        Script { text, hash: OnceLock::new() }
    }

    /// The SHA-1 of its text, by which Redis knows it.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.text).get_hash().to_owned())
    }
}

/// A script that Redis refuses as a whole when it has no room: a half of it is never written.
macro_rules! script {
    ($vis:vis $name:ident, $doc:literal, $($part:literal),+) => {
        script!(as "#!lua\n", $vis $name, $doc, $($part),+);
    };
    (as $first:literal, $vis:vis $name:ident, $doc:literal, $($part:literal),+) => {
        #[doc = $doc]
        $vis static $name: Script =
            Script::new(concat!($first, $(include_str!(concat!("scripts/", $part, ".lua"))),+));
    };
}

/// One that a full Redis runs too, since it makes room or takes next to none: what an operator says must be heard, and what life of the server
/// this is must be known.
macro_rules! script_when_full {
    ($($rest:tt)+) => {
        script!(as "#!lua flags=allow-oom\n", $($rest)+);
    };
}

script!(pub(super) RIGHTS, "Asks what a user may do.", "rights");
script_when_full!(pub ARRIVE, "A worker has a new connection.", "arrive");
script!(pub(super) STEP, "Takes a step of the clock out.", "step");
script!(pub(super) TAKE, "Hands out hosts.", "top", "frontier", "take");
script!(pub(super) LOAD, "Reads a host.", "top", "load");
script!(pub(super) COMMIT, "Writes what hangs together.", "top", "frontier", "commit");
script!(pub(super) OFFER, "Adds URLs.", "top", "frontier", "offer");
script!(pub(super) SETTLE, "Records what became of URLs.", "top", "frontier", "settle");
script!(pub(super) RECALL, "Reads what is known of URLs that failed.", "top", "recall");
script!(pub(super) REMIND, "Writes what is remembered of URLs that failed.", "top", "frontier", "remind");
script_when_full!(pub(super) ORDER, "Writes stop orders.", "top", "frontier", "order");
script!(pub(super) ROBOTS, "Reads a robots.txt.", "top", "robots");
script!(pub(super) CLAIM, "Claims entries of the queue.", "claim");
script!(pub(super) LEAVE, "A worker leaves its claims.", "leave");
script!(pub(super) LETTER, "Puts letters on a list.", "letter");
script_when_full!(pub(super) UNLETTER, "Takes letters off a list.", "unletter");
script!(pub(super) PEEK, "Reads letters.", "peek");
script!(pub(super) PAGE, "Reads a page.", "look", "page");
script!(pub(super) PAGES, "Looks for many pages.", "look", "pages");
script!(pub(super) KEEP, "Keeps a page.", "keep");
script!(pub(super) PRESENT, "Asks which contents are there.", "present");
script_when_full!(pub(super) FLOW, "Gives an order to all workers.", "flow");
script_when_full!(pub(super) STOPS, "Reads stop orders.", "orders");
script!(pub(super) STATUS, "Asks how the fleet does.", "status");
script!(pub(super) LEASE, "Takes or renews the schedulers' lease.", "lease");
script!(pub(super) LEASE_END, "Gives up the schedulers' lease.", "lease_end");
script!(pub(super) SCHEDULE_LOOK, "Reads when seeds were last due.", "schedule_look");
script!(pub(super) SCHEDULE, "Queues seeds that are due.", "schedule");

/// Those of whoever keeps pages.
pub(super) static OF_PAGES: [&Script; 4] = [&PAGE, &PAGES, &KEEP, &PRESENT];

/// Those of workers.
pub(super) static OF_WORKERS: [&Script; 19] = [
    &ARRIVE, &STEP, &TAKE, &LOAD, &COMMIT, &OFFER, &SETTLE, &RECALL, &REMIND, &ORDER, &ROBOTS,
    &CLAIM, &LEAVE, &LETTER, &STATUS, &PAGE, &PAGES, &KEEP, &PRESENT,
];

/// Those of schedulers, and of who gives orders and looks through letters.
pub(super) static OF_OTHERS: [&Script; 8] =
    [&UNLETTER, &PEEK, &FLOW, &STOPS, &LEASE, &LEASE_END, &SCHEDULE_LOOK, &SCHEDULE];
