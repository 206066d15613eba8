//! `curtsy robots`.

use super::{check, curtsy, curtsy_with};

const FILE: &str = "../../../../examples/robots.txt";

#[test]
fn test_says_which_line_decided() {
    let urls = [
        "https://example.org/private/diary",
        "https://example.org/private/press/1",
        "/robots.txt",
        "/",
    ];
    let arguments = [&["robots", "test", FILE][..], &urls].concat();
    check("robots-test", &curtsy(&arguments));
    check("robots-test-json", &curtsy(&["robots", "test", FILE, "/x?session=1", "--json"]));
}

#[test]
fn test_answers_for_the_agent_that_asks() {
    let ends = |agent: &str, more: &[&str]| {
        let arguments = [&["robots", "test", FILE, "/page", "--agent", agent][..], more].concat();
        curtsy(&arguments).code
    };
    assert_eq!(ends("curtsy", &[]), Some(0));
    assert_eq!(ends("OttoBot/1.0", &[]), Some(1));
    assert_eq!(ends("OttoBotNews", &[]), Some(0));
    assert_eq!(ends("OttoBotNews", &["--loose"]), Some(1));
    assert_eq!(ends("Otto Bot", &[]), Some(2), "not a product token");
}

#[test]
fn show_prints_what_the_file_says_to_us() {
    check("robots-show", &curtsy(&["robots", "show", FILE]));
    let run = curtsy(&["robots", "show", FILE, "--agent", "OttoBot", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (&json["group"], &json["crawl_delay_seconds"]),
        (&"named".into(), &serde_json::Value::Null)
    );
}

#[test]
fn a_file_of_any_bytes_is_a_robots_txt_and_can_not_talk_to_the_terminal() {
    let hostile = "User-agent: *\nDisallow: /\u{1b}]0;owned\u{7}\nSitemap: \u{1b}[31m\n";
    let run = curtsy_with(&["robots", "show", "-"], &[], hostile);
    assert_eq!(run.code, Some(0));
    assert!(!run.out.contains('\u{1b}'), "{:?}", run.out);
    let run = curtsy_with(&["robots", "test", "-", "/%1B]0;owned%07"], &[], hostile);
    assert!(!run.out.contains('\u{1b}'), "{:?}", run.out);
}

#[test]
fn what_is_not_a_url_ends_with_2() {
    check("robots-not-a-url", &curtsy(&["robots", "test", FILE, "ftp://example.org/"]));
    assert_eq!(curtsy(&["robots", "test", FILE, "example.org/x"]).code, Some(2));
    assert_eq!(curtsy(&["robots", "test", "nowhere.txt", "/"]).code, Some(2));
}
