//! `curtsy judge`.

use super::{check, curtsy, curtsy_with};

const GOOD: &str = "../../../../examples/access.jsonl";

#[test]
fn a_polite_log_ends_with_0() {
    check("judge-polite", &curtsy(&["judge", GOOD]));
}

#[test]
fn a_rude_log_ends_with_1_and_shows_the_lines() {
    check("judge-rude", &curtsy(&["judge", "logs/rude.jsonl"]));
    let run = curtsy(&["judge", "logs/rude.jsonl", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (run.code, &json["clean"], &json["unreadable"]),
        (Some(1), &false.into(), &1.into())
    );
}

#[test]
fn a_combined_log_says_what_it_can_not_show() {
    let arguments = [
        "judge",
        "logs/combined.log",
        "--host",
        "example.org",
        "--robots",
        "example.org=logs/robots.txt",
    ];
    check("judge-combined", &curtsy(&arguments));
}

#[test]
fn the_policy_says_what_was_promised() {
    let ends = |policy: &str| curtsy(&["judge", GOOD, "--policy", policy]).code;
    assert_eq!(ends("audit"), Some(0));
    // Two seconds were promised, three were kept.
    assert_eq!(ends("policies/mine.toml"), Some(0));
    assert_eq!(ends("policies/mistakes.toml"), Some(1), "a policy that is refused");
    assert_eq!(ends("polite"), Some(2));
}

#[test]
fn the_product_is_held_to_what_was_named() {
    assert_eq!(curtsy(&["judge", GOOD, "--agent", "curtsy"]).code, Some(0));
    let other = curtsy(&["judge", GOOD, "--agent", "OttoBot/1.0"]);
    assert_eq!(other.code, Some(1));
    assert!(other.out.starts_with("P0 on example.org"), "{}", other.out);
}

#[test]
fn a_plan_makes_idling_show_and_a_fault_list_is_read_whole() {
    let plan = r#"{"host":"example.org","from":1700000000000000,"to":1700000008000000}"#;
    let run = curtsy_with(&["judge", GOOD, "--plan", "-", "--json"], &[], plan);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_ne!(json["rules"][16]["judged"], 0, "{}", run.out);
    let run = curtsy_with(&["judge", GOOD, "--faults", "-"], &[], "{\"fault\":\"sunspots\"}");
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(
        run.err.contains("could not read the faults") && run.err.contains("line 1"),
        "{}",
        run.err
    );
}

#[test]
fn what_is_no_log_ends_with_2() {
    check("judge-no-log", &curtsy(&["judge", "policies/fast.toml"]));
    assert_eq!(curtsy(&["judge", "nowhere.log"]).code, Some(2));
    assert_eq!(curtsy_with(&["judge", "-"], &[], "").code, Some(2), "an empty log proves nothing");
}
