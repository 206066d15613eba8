//! `curtsy sim`.

use super::curtsy;

const SHORT: [&str; 5] = ["sim", "--days=2", "--hosts=6", "--workers=3", "--hours=2"];

#[test]
fn a_short_run_ends_with_0_and_counts_everything() {
    let run = curtsy(&SHORT);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    for part in ["\nP0   says who it is", "\nP16  ", "\nfault  ", "\nFetched  "] {
        assert!(run.out.contains(part), "{}", run.out);
    }
    let last = run.out.lines().last().unwrap();
    assert!(last.starts_with("clean: 2 days from seed 1, "), "{last}");
    assert!(last.ends_with(" requests, 0 violations, 0 URLs lost"), "{last}");
    assert!(run.err.contains("2 of 2 days, 0 failed, "), "{}", run.err);
}

#[test]
fn the_same_seeds_give_the_same_data_with_any_number_of_jobs() {
    let one = curtsy(&[&SHORT[..], &["--jobs", "1"]].concat());
    let two = curtsy(&[&SHORT[..], &["--jobs", "2"]].concat());
    assert_eq!(one.out, two.out);
}

#[test]
fn a_run_as_json_has_the_judge_and_every_count() {
    let run = curtsy(&[&SHORT[..], &["--json", "--preset", "fleet"]].concat());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (&json["clean"], &json["days"], &json["lost"], &json["presets"]["fleet"]),
        (&true.into(), &2.into(), &0.into(), &2.into())
    );
    assert_eq!(json["judge"]["exchanges"], json["requests"]);
    assert_eq!(json["judge"]["rules"].as_array().map(Vec::len), Some(18));
    assert!(json["faults"].is_object() && json["endings"]["Fetched"].is_u64());
}

#[test]
fn a_single_day_shows_what_a_host_saw() {
    let one = ["sim", "--days=1", "--no-faults", "--trace", "h2.test"];
    let run = curtsy(&[&one, &SHORT[2..]].concat());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("\"host\":\"h2.test\""), "{}", run.out);
    assert!(!run.out.contains("\"host\":\"h1.test\""), "{}", run.out);
}

#[test]
fn a_run_of_nothing_is_a_wrong_argument() {
    for wrong in [["--days", "0"], ["--workers", "0"], ["--preset", "polite"], ["--mode", "x"]] {
        let run = curtsy(&[&["sim"][..], &wrong].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{wrong:?}");
    }
}
