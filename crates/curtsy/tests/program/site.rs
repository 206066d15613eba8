//! `curtsy site`: serves, says where, and ends when it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{curtsy, folder};

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .arg("site")
        .args(arguments)
        .env_clear()
        .current_dir(folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// The line that says that the sites can be asked.
fn ready(child: &mut Child) -> Value {
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("stdout is piped");
    BufReader::new(out).read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[expect(clippy::disallowed_methods, reason = "a test's client, on loopback")]
fn get(address: &str, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the site accepts");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bot/1.0 (+mailto:me@example.org)\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("the site reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the site answers");
    text
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("curtsy-site-{}-{name}", std::process::id()))
}

#[test]
fn sites_are_served_until_stdin_closes_and_the_judge_reads_their_log() {
    let log = temporary("log.jsonl");
    let shown = log.to_str().unwrap();
    let mut child = start(&["--moods", "demo", "--json", "--until-stdin-closes", "--log", shown]);
    let sites = ready(&mut child);
    assert_eq!(sites["hosts"].as_array().map(Vec::len), Some(3));
    let host = &sites["hosts"][0];
    assert_eq!(host["name"], "demo.localhost");
    let address = host["address"].as_str().unwrap();
    assert!(get(address, "demo.localhost", "/robots.txt").contains("Crawl-delay: 0.2"));
    assert!(get(address, "shop.demo.localhost", "/").contains("Page 0 of shop.demo.localhost"));
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(
        told.contains("stopped after 2 connections") && told.contains("hint: curtsy judge"),
        "{told}"
    );
    // The shop's page was asked for without its robots.txt.
    let judged = curtsy(&["judge", shown, "--policy", "careful", "--json"]);
    assert_eq!(judged.code, Some(1), "{}", judged.err);
    let report: Value = serde_json::from_str(&judged.out).unwrap();
    assert_eq!(report["exchanges"], 2);
    std::fs::remove_file(log).unwrap();
}

#[test]
fn sites_end_on_sigterm_with_a_whole_log() {
    let log = temporary("term.jsonl");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/site.toml");
    let mut child = start(&[file, "--json", "--log", log.to_str().unwrap()]);
    let sites = ready(&mut child);
    let host = &sites["hosts"][1];
    let address = host["address"].as_str().unwrap();
    assert!(host["url"].as_str().unwrap().starts_with("http://shop.test:"));
    get(address, address, "/p/3");
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let text = std::fs::read_to_string(&log).unwrap();
    let lines = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!((lines("{\"accept\":"), lines("{\"start\":")), (1, 1), "{text}");
    assert!(text.contains("\"target\":\"/p/3\""), "{text}");
    std::fs::remove_file(log).unwrap();
}

#[test]
fn sites_without_json_print_their_addresses() {
    let ca = temporary("ca.pem");
    let arguments =
        ["--hosts", "2", "--tls", "--until-stdin-closes", "--ca-out", ca.to_str().unwrap()];
    let mut child = start(&arguments);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("https://127.0.0.2:"));
    assert!(lines.next().unwrap().ends_with("  h1.test"));
    assert_eq!(lines.next().unwrap(), "ready: 2 hosts, Ctrl-C ends it");
    assert!(std::fs::read_to_string(&ca).unwrap().contains("BEGIN CERTIFICATE"));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    std::fs::remove_file(ca).unwrap();
}

#[test]
fn what_can_not_be_served_is_refused() {
    let wrong = temporary("wrong.toml");
    std::fs::write(&wrong, "[[host]]\nname = 'a.test'\naddress = '192.0.2.1'\n").unwrap();
    let run = curtsy(&["site", wrong.to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(
        run.err.contains("`a.test` is at 192.0.2.1, which is not loopback\nhint: "),
        "{}",
        run.err
    );
    let run = curtsy(&["site", "no-such.toml"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("could not read the description `no-such.toml`"), "{}", run.err);
    let run = curtsy(&["site", "--ca-out", wrong.to_str().unwrap()]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("hint: add `--tls`"), "{}", run.err);
    let run = curtsy(&["site", "--log", "/no/such/folder/log.jsonl"]);
    assert!(run.err.contains("could not write the log `/no/such/folder/log.jsonl`"), "{}", run.err);
    std::fs::remove_file(wrong).unwrap();
}

#[test]
fn worlds_are_chosen_by_name_and_say_which_of_their_pages_deserve_to_be_read() {
    let pages = temporary("pages.json");
    let shown = pages.to_str().unwrap();
    let names = "calendar-months,deep-folders";
    let mut child =
        start(&["--worlds", names, "--pages-out", shown, "--json", "--until-stdin-closes"]);
    let sites = ready(&mut child);
    let address = sites["hosts"][0]["address"].as_str().unwrap();
    let month = get(address, "calendar-months.localhost", "/calendar/2140/02/");
    assert!(month.contains("/calendar/2140/03/"), "{month}");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let worlds: Value = serde_json::from_str(&std::fs::read_to_string(&pages).unwrap()).unwrap();
    assert_eq!(worlds[0]["nature"], "endless");
    assert_eq!(worlds[0]["honest"].as_array().map(Vec::len), Some(35));
    assert_eq!(worlds[1]["pages"], worlds[1]["honest"].as_array().map_or(0, Vec::len));
    std::fs::remove_file(pages).unwrap();
    let unknown = curtsy(&["site", "--worlds", "atlantis"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("no world `atlantis`"), "{}", unknown.err);
}
