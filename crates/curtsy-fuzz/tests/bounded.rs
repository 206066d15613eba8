//! Runs every target on the stored inputs and on twenty thousand similar ones: what `./fuzz` does
//! for hours, in seconds and always the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use curtsy_fuzz::{FuzzTarget, Mutator, TARGETS, kept};

/// Inputs for each target, unless `CURTSY_FUZZ_RUNS` sets another number.
const RUNS: u64 = 20_000;

fn check(name: &str) {
    let target = FuzzTarget::find(name).unwrap_or_else(|| panic!("no target is called `{name}`"));
    let kept = kept(target);
    for kept in &kept {
        run(target, &kept.name, &kept.bytes);
    }
    let bytes: Vec<Vec<u8>> = kept.into_iter().map(|kept| kept.bytes).collect();
    assert!(!bytes.is_empty(), "`{name}` has something to begin with");
    let mut mutator = Mutator::new(target, &bytes, 1);
    for n in 0..runs() {
        run(target, &format!("number {n}"), &mutator.next_bytes());
    }
}

/// Reports the failing input. `printf` can write it to a file in `crates/curtsy-fuzz/found`.
fn run(target: &FuzzTarget, which: &str, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
        panic!("`{}` fails on {which}: b\"{}\"", target.name, bytes.escape_ascii());
    }
}

fn runs() -> u64 {
    static RUNS_ASKED: OnceLock<u64> = OnceLock::new();
    *RUNS_ASKED.get_or_init(|| {
        let asked = std::env::var("CURTSY_FUZZ_RUNS").ok();
        asked.map_or(RUNS, |text| text.parse().expect("CURTSY_FUZZ_RUNS is a number"))
    })
}

macro_rules! bounded {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )+

        #[test]
        fn every_target_has_its_bounded_run() {
            let mut run = vec![$($name),+];
            let mut all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            run.sort_unstable();
            all.sort_unstable();
            assert_eq!(run, all);
        }
    };
}

bounded! {
    any_header_is_read: "headers",
    any_url_is_read_to_itself: "url",
    any_robots_txt_is_read_as_by_a_naive_matcher: "robots",
    any_page_is_read_within_its_limits: "html",
    any_soup_is_read_as_by_html5ever: "agree",
    any_sitemap_is_read_within_its_limits: "sitemap",
    any_answer_is_searched_for_a_wall: "challenge",
    any_policy_that_is_taken_is_written_to_itself: "policy",
    any_coding_is_unpacked_within_its_limit: "coding",
    any_answer_is_an_exchange_of_its_own: "exchange",
}
