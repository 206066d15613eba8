//! `curtsy judge`.

use std::io::Write;

use serde_json::Value;

use super::{check, curtsy, curtsy_with, folder};

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
    assert_eq!(ends("policies/mistakes.toml"), Some(2), "a policy that is refused");
    assert_eq!(ends("polite"), Some(2));
}

/// Code 1 means that a crawler broke something: a script must not read it out of its own typing
/// error.
#[test]
fn a_wrong_argument_ends_with_2() {
    for wrong in [
        &["--delay", "5"] as &[&str],
        &["--delay", "soon", "--policy", "neutral"],
        &["--set", "pace.delay=5"],
        &["--set", "pace.dlay=5s", "--policy", "careful"],
        &["--set", "slots.per_host=many", "--policy", "careful"],
        &["--set", "pace.delay"],
        &["--policy", "policies/mistakes.toml"],
        &["--policy", "policies/nowhere.toml"],
        &["--from", "example.org"],
        &["--format", "xml"],
        &["--host", ""],
        &["--host", "https://example.org/"],
        &["--robots", "nowhere.txt"],
        &["--robots", "https://example.org/robots.txt"],
        &["--plan", "nowhere.jsonl"],
        &["--faults", "nowhere.jsonl"],
        &["--mail", "--json"],
    ] {
        let run = curtsy(&[&["judge", GOOD], wrong].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{wrong:?}: {}", run.err);
        assert!(run.err.contains("error"), "{wrong:?}: {}", run.err);
    }
    // The delay is the site owner's: no preset is to blame for it.
    let run = curtsy(&["judge", GOOD, "--delay", "5"]);
    assert!(run.err.starts_with("error: flag `--delay`: "), "{}", run.err);
    assert!(run.err.contains("hint: did you mean `5s`?"), "{}", run.err);
}

#[test]
fn a_policy_file_with_a_product_judges_the_lines_of_that_product() {
    let policy = folder().join("policies/mine.toml");
    let text = std::fs::read_to_string(policy).unwrap();
    assert!(!text.contains("product"), "this test needs a policy without one");
    let named = |product: &str| {
        let set = format!("identity.product={product}");
        curtsy(&["judge", GOOD, "--policy", "careful", "--set", &set])
    };
    assert_eq!(named("curtsy/9").code, Some(0));
    let other = named("OttoBot/1.0");
    assert_eq!((other.code, other.out.as_str()), (Some(2), ""));
    assert!(
        other.err.contains("5 lines of other agents, 0 of") && other.err.contains("curtsy"),
        "{}",
        other.err
    );
}

/// The report of a run with `--json`.
fn json(arguments: &[&str]) -> Value {
    json_with(arguments, "")
}

fn json_with(arguments: &[&str], input: &str) -> Value {
    let arguments = [&["judge"], arguments, &["--json"]].concat();
    let run = curtsy_with(&arguments, &[], input);
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{arguments:?}: {}", run.err))
}

/// How often each rule was broken: `P2 3, P4 1`.
fn broken(report: &Value) -> String {
    let rules = report["rules"].as_array().unwrap().iter().filter(|rule| rule["violations"] != 0);
    let rules =
        rules.map(|rule| format!("{} {}", rule["rule"].as_str().unwrap(), rule["violations"]));
    rules.collect::<Vec<_>>().join(", ")
}

const ASKS: [&str; 2] = ["--robots", "logs/asks.txt"];

#[test]
fn lines_of_other_agents_and_addresses_are_left_out_and_counted() {
    let [flag, file] = ASKS;
    let report = json(&["logs/mixed.log", "--agent", "goodbot", flag, file]);
    assert_eq!((&report["clean"], &report["exchanges"]), (&true.into(), &8.into()), "{report:#}");
    assert_eq!(report["agent"]["name"], "GoodBot");
    assert_eq!(report["lines_left_out"]["other_agents"], 27);
    // A part of the User-Agent, in any case.
    let report = json(&["logs/mixed.log", "--agent", "RUDE.EXAMPLE", flag, file]);
    assert_eq!(report["exchanges"], 23);
    assert_eq!(report["agent"]["addresses"], serde_json::json!(["198.51.100.7", "198.51.100.8"]));
    let report =
        json(&["logs/mixed.log", "--agent", "rudebot", "--from", "198.51.100.8", flag, file]);
    assert_eq!(
        (&report["exchanges"], &report["lines_left_out"]["other_addresses"]),
        (&10.into(), &13.into())
    );
    let report = json(&["logs/mixed.log", "--from", "192.0.2.0/24", flag, file]);
    assert_eq!((&report["agent"]["name"], &report["exchanges"]), (&"GoodBot".into(), &8.into()));
    let none = curtsy(&["judge", "logs/mixed.log", "--agent", "nobody"]);
    assert_eq!(none.code, Some(2));
    assert!(
        none.err.contains("no line was selected") && none.err.contains("GoodBot"),
        "{}",
        none.err
    );
    let wrong = curtsy(&["judge", "logs/mixed.log", "--from", "example.org"]);
    assert!(wrong.err.contains("expected an address or a network"), "{}", wrong.err);
}

#[test]
fn a_log_of_several_agents_gives_a_table() {
    let [flag, file] = ASKS;
    check("judge-mixed", &curtsy(&["judge", "logs/mixed.log", flag, file]));
    let all = json(&["logs/mixed.log", flag, file]);
    let agents = all["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["RudeBot", "GoodBot", "Wget", "browsers"]);
    assert_eq!(agents[3]["report"], Value::Null, "browsers are only counted");
    // Each agent by itself: the others' lines change nothing.
    for agent in &agents[..3] {
        let name = agent["name"].as_str().unwrap();
        let alone = json(&["logs/mixed.log", "--agent", name, flag, file]);
        assert_eq!(alone["rules"], agent["report"]["rules"], "{name}");
    }
    // A person who is chosen is judged like anybody else.
    let person = json(&["logs/mixed.log", "--agent", "firefox", flag, file]);
    assert_eq!(broken(&person), "P2 1");
}

#[test]
fn a_million_agents_need_no_more_memory_than_a_few() {
    let line = |second: u64, agent: &str, target: &str| {
        format!(
            "192.0.2.1 - - [10/Oct/2026:13:{:02}:{:02} +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n",
            second / 60 % 60,
            second % 60
        )
    };
    let mut log = String::new();
    for i in 0..20_000 {
        log.push_str(&line(i / 10, &format!("bot{i}/1.0"), "/private/"));
        if i % 100 == 0 {
            log.push_str(&line(i / 10, "Steady/1.0", "/"));
        }
    }
    let found = json_with(&["-", "--robots", "logs/asks.txt"], &log);
    let agents = found["agents"].as_array().unwrap();
    assert!(agents.len() <= 256, "{}", agents.len());
    let sum = |key: &str| agents.iter().map(|agent| agent[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("requests") + found["others"]["requests"].as_u64().unwrap(), 20_200);
    let given_up = found["others"]["agents"].as_u64().unwrap();
    assert_eq!(given_up + agents.len() as u64, 20_001, "nobody is lost");
    let steady = agents.iter().find(|agent| agent["name"] == "Steady").unwrap();
    assert_eq!(steady["requests"], 200, "who asks most stays");
    let of_rest = agents.iter().filter(|agent| agent["name"] != "Steady");
    let of_rest: u64 = of_rest.map(|agent| agent["report"]["violations"].as_u64().unwrap()).sum();
    assert_eq!(of_rest + found["others"]["violations"].as_u64().unwrap(), 20_000);
    let shown = curtsy_with(&["judge", "-", "--robots", "logs/asks.txt"], &[], &log);
    assert!(shown.out.contains("note: more than 256 agents: "), "{}", shown.out);
}

#[test]
fn an_agent_that_promised_nothing_is_held_to_what_the_site_asks_for() {
    let fast = ["203.0.113.9", "203.0.113.9"].map(|peer| {
        format!("{peer} - - [10/Oct/2026:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 9 \"-\" \"Some crawler\"\n")
    });
    let log = fast.concat();
    let ends = |more: &[&str]| curtsy_with(&[&["judge", "-"], more].concat(), &[], &log).code;
    assert_eq!(
        ends(&[]),
        Some(0),
        "no robots.txt was asked for, and no contact given: no wish was broken"
    );
    assert_eq!(ends(&["--policy", "careful"]), Some(1));
    // curtsy made promises, and is held to them.
    let own = log.replace("Some crawler", "curtsy/0.1.0 (+me@example.org)");
    assert_eq!(curtsy_with(&["judge", "-"], &[], &own).code, Some(1));
    assert_eq!(curtsy_with(&["judge", "-", "--policy", "neutral"], &[], &own).code, Some(0));
    let report = json_with(&["-"], &log);
    assert_eq!(
        (&report["agent"]["policy"], &report["held_to"]),
        (&"neutral".into(), &"wishes".into())
    );
}

#[test]
fn a_site_owner_may_ask_for_a_delay() {
    let exact = |agent: &str| {
        let line = |start: u64| {
            format!(
                "{{\"start\":{start},\"end\":{start},\"host\":\"a.test\",\"method\":\"GET\",\"target\":\"/{start}\",\"status\":200,\"user_agent\":\"{agent}\"}}\n"
            )
        };
        [line(0), line(900_000), line(2_000_000)].concat()
    };
    let log = exact("Some/1.0");
    assert_eq!(broken(&json_with(&["-"], &log)), "");
    assert_eq!(broken(&json_with(&["-", "--delay", "1s"], &log)), "P4 1");
    assert_eq!(broken(&json_with(&["-", "--set", "pace.delay=2s"], &log)), "P4 2");
    let refused = curtsy_with(&["judge", "-", "--set", "slots.per_host=2"], &[], &log);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--policy careful"), "{}", refused.err);
    let careful = ["-", "--policy", "careful", "--set", "pace.delay=1s", "--midway"];
    assert_eq!(broken(&json_with(&careful, &exact("some/1.0 (+me@example.org)"))), "P4 1");
}

#[test]
fn each_violation_shows_its_lines_as_they_stand_in_the_log() {
    let [flag, file] = ASKS;
    let report = json(&["logs/mixed.log", "--agent", "rudebot", flag, file]);
    let text = std::fs::read_to_string(folder().join("logs/mixed.log")).unwrap();
    let examples = report["examples"].as_array().unwrap();
    assert!(examples.iter().filter(|example| example["rule"] == "P2").count() == 3, "{report:#}");
    for example in examples {
        for line in [&example["earlier_line"], &example["later_line"]] {
            let Some(number) = line["line"].as_u64() else { continue };
            let stands = text.lines().nth(number as usize - 1).unwrap();
            assert_eq!((&line["text"], &line["file"]), (&stands.into(), &Value::Null));
        }
        assert_ne!(example["later_line"]["line"], Value::Null);
    }
    let shown = curtsy(&["judge", "logs/mixed.log", "--agent", "rudebot", flag, file]).out;
    let forbidden = text.lines().position(|line| line.contains("/private/0")).unwrap() + 1;
    assert!(
        shown.contains(&format!("\n  line {forbidden}: www.example.org:443 198.51.100.7 - - [")),
        "{shown}"
    );
}

#[test]
fn rotated_logs_are_one_log_in_the_order_of_time() {
    let [flag, file] = ASKS;
    let run = curtsy(&["judge", "logs/rotated.log", "logs/rotated.log.1", flag, file]);
    check("judge-rotated", &run);
    // Packed, and in another order, it is the same.
    let packed = std::env::temp_dir().join(format!("curtsy-judge-{}.log.1.gz", std::process::id()));
    let mut gz = flate2::write::GzEncoder::new(
        std::fs::File::create(&packed).unwrap(),
        flate2::Compression::fast(),
    );
    gz.write_all(&std::fs::read(folder().join("logs/rotated.log.1")).unwrap()).unwrap();
    gz.finish().unwrap();
    let again = json(&[packed.to_str().unwrap(), "logs/rotated.log", flag, file]);
    std::fs::remove_file(&packed).unwrap();
    assert_eq!(
        (broken(&again).as_str(), &again["out_of_order"]),
        ("P2 1, P4 1", &0.into()),
        "{again:#}"
    );
    let stdin = std::fs::read_to_string(folder().join("logs/rotated.log")).unwrap();
    let again = json_with(&["logs/rotated.log.1", "-", flag, file], &stdin);
    assert_eq!(broken(&again), "P2 1, P4 1");
}

/// `access.log` and a gzipped copy of it: every request would count twice, and two at once break
/// P4.
#[test]
fn a_log_that_is_given_twice_is_refused() {
    let packed = std::env::temp_dir().join(format!("curtsy-judge-{}.copy.gz", std::process::id()));
    let file = std::fs::File::create(&packed).unwrap();
    let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gz.write_all(&std::fs::read(folder().join("logs/rotated.log")).unwrap()).unwrap();
    gz.finish().unwrap();
    let run = curtsy(&["judge", "logs/rotated.log", packed.to_str().unwrap()]);
    std::fs::remove_file(&packed).unwrap();
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("are the same log"), "{}", run.err);
    assert!(run.err.contains("hint: give each log once"), "{}", run.err);
}

#[test]
fn a_policy_that_is_misspelt_is_told_of_neutral_too() {
    let run = curtsy(&["judge", GOOD, "--policy", "neutrl"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("`neutral`"), "{}", run.err);
}

#[test]
fn the_formats_of_other_servers_are_read() {
    let [flag, file] = ASKS;
    for (log, format, exchanges, found) in [
        // Gap of 1.5 s; 5 s after a Retry-After of 30 s; a forbidden page.
        ("logs/caddy.jsonl", "caddy", 7, "P2 1, P4 1, P7 1"),
        ("logs/nginx.jsonl", "json", 6, "P2 1, P4 1, P7 1"),
        // Six starts in one second, and the line of a forbidden page stands before all others.
        ("logs/cloudfront.log", "cloudfront", 10, "P2 1, P4 5"),
    ] {
        let report = json(&[log, flag, file]);
        assert_eq!(broken(&report), found, "{log}: {:#}", report["examples"]);
        assert_eq!(
            (&report["exchanges"], &report["formats"]),
            (&exchanges.into(), &serde_json::json!([format]))
        );
        assert_eq!(report["first"][0]["host"], "www.example.org", "{log}");
        assert_eq!(
            (&report["agent"]["name"], &report["out_of_order"]),
            (&"RudeBot".into(), &0.into())
        );
        assert_eq!(report["agent"]["user_agent"], "RudeBot/1.0 (+https://rude.example/)", "{log}");
        // Forced, it is the same; in another format nothing can be read.
        assert_eq!(broken(&json(&[log, "--format", format, flag, file])), found);
        let other = if format == "combined" { "json" } else { "combined" };
        assert_eq!(curtsy(&["judge", log, "--format", other]).code, Some(2));
    }
    let iis = json(&["logs/iis.log", "--host", "www.example.org", flag, file]);
    let agents = iis["agents"].as_array().unwrap();
    assert_eq!((iis["formats"][0].as_str(), &iis["unreadable"]), (Some("w3c"), &1.into()));
    assert_eq!(
        agents[1]["user_agent"],
        "Mozilla/5.0 (compatible; GoodBot/2.1; +https://good.example/bot)"
    );
    // One second lies between two pages, but the later one may have begun four seconds before its stamp.
    assert_eq!(
        (broken(&agents[0]["report"]).as_str(), broken(&agents[1]["report"]).as_str()),
        ("P4 7", "P2 1")
    );
    assert_eq!(agents[0]["report"]["first"][0]["host"], "www.example.org");
}

/// A client behind a proxy sends the whole URL as its target, and servers log it so. The host in
/// the target is the one that was asked, whatever the log's own field says.
#[test]
fn an_absolute_target_is_split_in_every_format() {
    let [flag, file] = ASKS;
    let site = "https://www.example.org/";
    for (log, from, to, host) in [
        ("logs/mixed.log", "GET /", format!("GET {site}"), "www.example.org:443 "),
        ("logs/nginx.jsonl", "GET /", format!("GET {site}"), "\"host\": \"www.example.org\""),
        (
            "logs/caddy.jsonl",
            "\"uri\":\"/",
            format!("\"uri\":\"{site}"),
            "\"host\":\"www.example.org\"",
        ),
        ("logs/cloudfront.log", ".net\t/", format!(".net\t{site}"), "\twww.example.org\t"),
        ("logs/iis.log", "GET /", format!("GET {site}"), ""),
    ] {
        let text = std::fs::read_to_string(folder().join(log)).unwrap();
        let sent = text.replace(from, &to).replace(host, &host.replace("www.example", "proxy"));
        assert!(sent.contains(&to) && (host.is_empty() || sent.contains("proxy.org")), "{sent}");
        let judge = |text: &str| {
            let one = ["-", "--agent", "rudebot", "--host", "www.example.org", flag, file];
            json_with(&one, text)
        };
        let (plain, absolute) = (judge(&text), judge(&sent));
        assert_eq!(absolute["rules"], plain["rules"], "{log}");
        assert_eq!(absolute["hosts"], 1, "{log}");
        assert_ne!(broken(&absolute), "", "{log}");
        let asked = |report: &Value| report["agent"]["robots_requests"].clone();
        assert_eq!(asked(&absolute), asked(&plain), "{log}");
    }
    let line = "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET http://py.test/robots.txt HTTP/1.1\" 200 5 \"-\" \"Wget/1.21\"\n";
    let shown = curtsy_with(&["judge", "-"], &[], line).out;
    assert!(!shown.contains("never asked for robots.txt"), "{shown}");
}

#[test]
fn times_in_whole_seconds_are_never_charged_for_their_coarseness() {
    let line = |second: u64, target: u64, tail: &str| {
        format!(
            "192.0.2.1 - - [10/Oct/2026:13:55:{second:02} +0000] \"GET /{target} HTTP/1.1\" 200 5 \"-\" \"Some/1.0\"{tail}\n"
        )
    };
    let p4 = |log: &[String], delay: &str| {
        json_with(&["-", "--delay", delay], &log.concat())["rules"][4]["violations"].as_u64()
    };
    // Two stamps a second apart may be 1.999 s apart; with `$request_time` the answer's length is known too.
    assert_eq!(p4(&[line(1, 0, " 0.001"), line(2, 1, " 0.001")], "2s"), Some(0));
    assert_eq!(p4(&[line(1, 0, " 0.001"), line(2, 1, " 0.001")], "2100ms"), Some(1));
    assert_eq!(
        p4(&[line(3, 0, " 2.500"), line(4, 1, " 0.001")], "3s"),
        Some(0),
        "started 0.5 s to 1.5 s, and 4 s to 5 s"
    );
    // nginx stamps the end: the first of two may have been a long answer.
    assert_eq!(p4(&[line(1, 0, ""), line(2, 1, "")], "3s"), Some(0));
    // But a run of them can't all be.
    let run: Vec<String> = (0..20).map(|i| line(10 + i / 4, i, "")).collect();
    assert_eq!(p4(&run, "1s"), Some(1));
    assert_eq!(p4(&run[..8], "1s"), Some(0));
    let shown = curtsy_with(&["judge", "-", "--delay", "1s"], &[], &run.concat()).out;
    let shown = shown.replace("\n  ", " ");
    assert!(
        shown.contains(
            "16 starts in 3 s by the log, and surely in less than 14 s; the delay is 1 s"
        ),
        "{shown}"
    );
    assert!(
        shown
            .contains("times are known to 1 s: P4 is charged only if some gap is surely too short"),
        "{shown}"
    );
    assert!(shown.contains("the log holds no headers of answers: P7 is not judged"), "{shown}");
}

#[test]
fn a_mail_says_who_when_what_and_shows_the_lines() {
    let [flag, file] = ASKS;
    let run = curtsy(&["judge", "logs/mixed.log", "--agent", "rudebot", flag, file, "--mail"]);
    check("judge-mail", &run);
    assert!(run.out.lines().all(|line| line.chars().count() <= 72), "{}", run.out);
    let polite = curtsy(&["judge", "logs/mixed.log", "--agent", "goodbot", flag, file, "--mail"]);
    assert_eq!((polite.code, polite.out.as_str()), (Some(0), ""));
    assert!(polite.err.contains("broke nothing"), "{}", polite.err);
    let many = curtsy(&["judge", "logs/mixed.log", flag, file, "--mail"]);
    assert_eq!(many.code, Some(2));
    assert!(many.err.contains("choose one with --agent"), "{}", many.err);
}

/// A mail about `localhost` would go to a stranger.
#[test]
fn a_mail_names_the_site() {
    let log = "203.0.113.9 - - [10/Oct/2026:13:55:36 +0000] \"GET /private/x HTTP/1.1\" 200 5 \"-\" \"RudeBot/1.0\"\n";
    let mail = |more: &[&str]| {
        let [flag, file] = ASKS;
        let args = [&["judge", "-", "--agent", "RudeBot", flag, file, "--mail"], more].concat();
        curtsy_with(&args, &[], log)
    };
    let unnamed = mail(&[]);
    assert_eq!(unnamed.code, Some(2), "{}", unnamed.out);
    assert!(unnamed.err.contains("name it with `--host example.org`"), "{}", unnamed.err);
    let named = mail(&["--host", "www.example.org"]);
    assert!(named.out.contains("Site:      www.example.org"), "{} {}", named.out, named.err);
}

#[test]
fn help_has_examples() {
    let run = curtsy(&["judge", "--help"]);
    for part in ["--agent GPTBot", "--mail", "--from 192.0.2.0/24", "Exit codes: 0"] {
        assert!(run.out.contains(part), "{}", run.out);
    }
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
    // Among several logs, one that can't be read is named; one that is only empty is none.
    let junk = curtsy_with(&["judge", GOOD, "-"], &[], "hello\n");
    assert_eq!(junk.code, Some(2));
    assert!(
        junk.err.contains("`-` holds no line that can be read") && junk.err.contains("cloudfront"),
        "{}",
        junk.err
    );
    assert_eq!(curtsy_with(&["judge", GOOD, "-"], &[], "\n").code, Some(0));
}

#[test]
fn a_pace_that_breaks_the_preset_points_at_the_flag_for_a_crawl_with_another_delay() {
    let hint = "hint: the delay is that of `careful`";
    let run = curtsy(&["judge", "logs/rude.jsonl"]);
    assert!(run.out.contains(hint) && run.out.contains("`--set pace.delay="), "{}", run.out);
    let run = curtsy(&["judge", "logs/rude.jsonl", "--set", "pace.delay=200ms"]);
    assert!(!run.out.contains("P4 on ") && !run.out.contains(hint), "{}", run.out);
}

/// A terminal of 80 columns breaks what is longer, and the numbers of a rule land on another line.
#[test]
fn reports_fit_80_columns() {
    let [flag, file] = ASKS;
    let long = "203.0.113.9 - - [10/Oct/2026:13:55:36 +0000] \"GET /private/x HTTP/1.1\" 200 9 \"-\" \"a-crawler-with-a-rather-long-name-that-fills-a-column/1.0 (+me@example.org)\"\n";
    let many = format!("{long}{}", long.replace("a-crawler", "another"));
    for (run, lines_joined) in [
        (curtsy(&["judge", GOOD]), "P16  uses the pace it may while work waits"),
        (
            curtsy(&["judge", "logs/rude.jsonl"]),
            "\"status\": 429, \"complete\": true, \"retry_after\"",
        ),
        (curtsy(&["judge", "logs/mixed.log", flag, file]), "RudeBot/1.0 (+https://rude.example/)"),
        (
            curtsy_with(&["judge", "-", flag, file], &[], &many),
            "\na-crawler-with-a-rather-long-name-that-fills-a-column\n",
        ),
    ] {
        for line in run.out.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        // Broken lines go on with an indent, and nothing of them is lost.
        let joined = run.out.replace("\n    ", " ");
        assert!(joined.contains(lines_joined) || run.out.contains(lines_joined), "{}", run.out);
    }
    let rule = curtsy(&["judge", GOOD]).out;
    let row = rule.lines().find(|line| line.starts_with("P0 ")).unwrap();
    assert!(row.ends_with("     5      0       0           0"), "{row}");
}

#[test]
fn one_is_not_a_plural() {
    let one = "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET /private/ HTTP/1.1\" 200 5 \"-\" \"Some/1.0\"\n";
    let shown = curtsy_with(&["judge", "-", "--robots", "logs/asks.txt"], &[], one).out;
    let last = "manners broken: 1 exchange, 1 host, 1 violation, 0 lines unreadable\n";
    assert!(shown.ends_with(last), "{shown}");
}

/// A rotated log begins long after the crawl did: its robots.txt is in the log of the day before.
#[test]
fn a_log_without_a_robots_txt_in_front_points_at_midway() {
    let line = |second: u64, target: &str| {
        format!(
            "192.0.2.1 - - [10/Oct/2026:13:55:{second:02} +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"curtsy/0.1.0 (+me@example.org)\" 0.001\n"
        )
    };
    let pages = [line(0, "/a"), line(10, "/b"), line(20, "/c")].concat();
    let run = |more: &[&str], log: &str| {
        curtsy_with(&[&["judge", "-", "--robots", "logs/asks.txt"], more].concat(), &[], log)
    };
    let hint = "hint: requests came before any robots.txt in the log (P1)";
    let found = run(&[], &pages);
    assert_eq!(found.code, Some(1));
    assert!(found.out.contains(hint) && found.out.contains("--midway"), "{}", found.out);
    let midway = run(&["--midway"], &pages);
    assert_eq!(midway.code, Some(0), "{}", midway.out);
    assert!(!midway.out.contains("--midway"), "{}", midway.out);
    // The same in the table of several agents, and if a robots.txt comes later in the log.
    let other = line(5, "/").replace("curtsy/0.1.0", "Other/1.0");
    assert!(run(&[], &format!("{pages}{other}")).out.contains(hint));
    assert!(run(&[], &format!("{pages}{}", line(30, "/robots.txt"))).out.contains(hint));
    // Without such requests there is nothing to hint at.
    let asked = [line(0, "/robots.txt"), line(10, "/b"), line(20, "/c")].concat();
    assert!(!run(&[], &asked).out.contains("--midway"));
}
