//! `curtsy policy`.

use super::{check, curtsy, curtsy_with};

#[test]
fn every_preset_is_shown_as_a_file() {
    for preset in ["careful", "audit", "warehouse", "fleet", "survey"] {
        let run = curtsy(&["policy", "show", preset]);
        // The hash holds the version of the program.
        let run = super::Run { out: run.out.split_once('\n').unwrap().1.to_owned(), ..run };
        check(&format!("policy-show-{preset}"), &run);
        let again = curtsy_with(&["policy", "check", "/dev/stdin"], &[], &run.out);
        assert_eq!(again.code, Some(0), "{}", again.err);
    }
}

#[test]
fn show_says_where_each_value_came_from() {
    let variables = [("CURTSY_ROBOTS_TTL", "6h"), ("CURTSY_ROBOT_KEEP", "1d")];
    let arguments =
        ["policy", "show", "policies/mine.toml", "--origin", "--set", "slots.per_host=1"];
    let run = curtsy_with(&arguments, &variables, "");
    let run = super::Run { out: run.out.split_once('\n').unwrap().1.to_owned(), ..run };
    check("policy-show-origin", &run);
}

#[test]
fn show_as_json_has_values_and_hash() {
    let run = curtsy(&["policy", "show", "survey", "--mode", "light", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["preset"], "survey");
    assert_eq!(json["mode"], "light");
    assert_eq!(
        json["fields"]["budget.pages"],
        serde_json::json!({ "value": 12, "origin": "mode light" })
    );
    assert_eq!(json["fields"]["pace.delay"]["value"], "800ms");
    assert_eq!(json["fields"]["budget.time"]["value"], serde_json::Value::Null);
    assert_eq!(json["hash"].as_str().map(str::len), Some(32));
}

#[test]
fn diff_shows_what_two_policies_do_not_share() {
    check("policy-diff", &curtsy(&["policy", "diff", "audit", "fleet"]));
    check("policy-diff-file", &curtsy(&["policy", "diff", "warehouse", "policies/mine.toml"]));
    let json = curtsy(&["policy", "diff", "careful", "careful", "--json"]);
    assert_eq!((json.code, json.out.as_str()), (Some(0), "[]\n"));
    let equal = curtsy(&["policy", "diff", "careful", "careful"]);
    let said = "careful and careful are equal: no field differs\n";
    assert_eq!((equal.code, equal.out.as_str()), (Some(0), said));
}

#[test]
fn check_says_everything_that_is_wrong() {
    check("policy-check-mistakes", &curtsy(&["policy", "check", "policies/mistakes.toml"]));
    check("policy-check-json", &curtsy(&["policy", "check", "policies/mistakes.toml", "--json"]));
    let fine = curtsy(&["policy", "check", "policies/mine.toml"]);
    assert_eq!(fine.code, Some(0), "{}", fine.err);
    assert!(
        fine.out.contains("fine, preset warehouse with 2 fields and 1 host of its own"),
        "{}",
        fine.out
    );
}

#[test]
fn a_delay_below_200_ms_is_for_allowed_nets_only() {
    check("policy-check-fast", &curtsy(&["policy", "check", "policies/fast.toml"]));
    assert_eq!(curtsy(&["policy", "check", "policies/fast.toml", "--allow-net"]).code, Some(0));
}

#[test]
fn what_is_neither_preset_nor_file_ends_with_2() {
    check("policy-unknown", &curtsy(&["policy", "show", "polite"]));
    let run = curtsy(&["policy", "check", "policies/nowhere.toml"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
}

/// A file that can't be used ends with 2 everywhere. Only `check` is asked whether it can be used:
/// its answer is no, which is 1.
#[test]
fn a_policy_with_mistakes_ends_with_2_where_it_is_needed() {
    let mistakes = "policies/mistakes.toml";
    for arguments in [&["show", mistakes] as &[&str], &["diff", "careful", mistakes]] {
        let run = curtsy(&[&["policy"], arguments].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.err.starts_with("error: policies/mistakes.toml: line "), "{}", run.err);
    }
    let run = curtsy(&["policy", "show", "careful", "--set", "pace.delay=5"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.starts_with("error: flag `--set`: `pace.delay`"), "{}", run.err);
    assert_eq!(curtsy(&["policy", "check", mistakes]).code, Some(1));
}

/// A section without `origin` sends its password to https on port 443, and a staging site is elsewhere.
#[test]
fn check_says_where_credentials_are_sent() {
    let text = "[host.\"staging.localhost\"]\nbasic_auth = { user = \"me\", password = { env = \"PASSWORD\" } }\n";
    let run = curtsy_with(&["policy", "check", "/dev/stdin"], &[], text);
    let expected = "credentials are sent to https://staging.localhost only\n";
    assert!(run.out.ends_with(expected), "{} {}", run.out, run.err);
}

#[test]
fn check_of_a_preset_points_at_show() {
    let run = curtsy(&["policy", "check", "careful"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    let said =
        "error: `careful` is a preset, not a file\nhint: `curtsy policy show careful` shows it\n";
    assert_eq!(run.err, said);
}
