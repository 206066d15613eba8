//! The scripts that Redis runs.

use std::sync::OnceLock;

/// A script.
#[derive(Debug)]
pub struct RedisScript {
    /// Its text.
    pub text: &'static str,
    hash: OnceLock<String>,
}

impl RedisScript {
    const fn new(text: &'static str) -> RedisScript {
        RedisScript { text, hash: OnceLock::new() }
    }

    /// Returns the SHA-1 of its text, which is its name in Redis.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.text).get_hash().to_owned())
    }
}

/// Declares a script that a full Redis refuses as a whole, so that no half of it is written.
macro_rules! script {
    ($vis:vis $name:ident, $doc:literal, $($part:literal),+) => {
        script!(as "#!lua\n", $vis $name, $doc, $($part),+);
    };
    (as $first:literal, $vis:vis $name:ident, $doc:literal, $($part:literal),+) => {
        #[doc = $doc]
        $vis static $name: RedisScript =
            RedisScript::new(concat!($first, $(include_str!(concat!("scripts/", $part, ".lua"))),+));
    };
}

/// Declares a script that a full Redis runs too, because it frees memory or needs very little:
/// orders of an operator, and the check for a restart.
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

/// The scripts of clients that keep pages.
pub(super) static OF_PAGES: [&RedisScript; 4] = [&PAGE, &PAGES, &KEEP, &PRESENT];

/// The scripts of workers.
pub(super) static OF_WORKERS: [&RedisScript; 19] = [
    &ARRIVE, &STEP, &TAKE, &LOAD, &COMMIT, &OFFER, &SETTLE, &RECALL, &REMIND, &ORDER, &ROBOTS,
    &CLAIM, &LEAVE, &LETTER, &STATUS, &PAGE, &PAGES, &KEEP, &PRESENT,
];

/// The scripts of schedulers and operators.
pub(super) static OF_OTHERS: [&RedisScript; 8] =
    [&UNLETTER, &PEEK, &FLOW, &STOPS, &LEASE, &LEASE_END, &SCHEDULE_LOOK, &SCHEDULE];
