//! A flag of `crawl`, a key of `curtsy.toml`, a line of the template and a word of the recorded
//! command are the same setting.

use curtsy_lab::sites::Scene;

use crate::harness::{Town, texts};

/// Flags that describe one run and no crawl: they are no keys of the settings file.
const OF_ONE_RUN: [&str; 8] =
    ["again", "add", "config", "force", "help", "json", "quiet", "resume"];

/// The long flags of a command that are settings, from its help.
fn settings(town: &Town, command: &[&str]) -> Vec<String> {
    let help = town.run(&[command, &["--help"]].concat()).ends(0).out;
    let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let names = flags.map(|rest| rest.split([' ', '\n']).next().unwrap_or_default().to_owned());
    names.filter(|name| !OF_ONE_RUN.contains(&name.as_str())).collect()
}

#[test]
fn every_flag_of_a_crawl_is_a_key_of_the_settings_file_and_in_its_template() {
    let town = Town::empty();
    town.run(&["init", "template.toml"]).ends(0);
    let template = std::fs::read_to_string(town.path("template.toml")).unwrap();
    let flags = settings(&town, &["crawl"]);
    assert!(flags.len() >= 28, "{flags:?}");
    let mut faults = Vec::new();
    for flag in &flags {
        let shows = |line: &str| {
            let line = line.trim_start_matches("# ");
            line.starts_with(&format!("{flag} = ")) || line.starts_with(&format!("[{flag}."))
        };
        if !template.lines().any(shows) {
            faults.push(format!("the template does not show `{flag}`"));
        }
        std::fs::write(town.path("curtsy.toml"), format!("{flag}x = 1\n")).unwrap();
        let said = town.run(&["policy", "show"]).ends(2).err;
        if !said.contains(&format!("did you mean `{flag}`?")) {
            faults.push(format!("a slip in `{flag}` is answered with: {said}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_record_of_a_run_has_every_flag_that_was_given() {
    let town = Town::new(Scene::plain(1, 2, 1, 500));
    std::fs::write(town.path("seeds.txt"), town.url(0, "/page")).unwrap();
    std::fs::write(town.path("own.toml"), "").unwrap();
    let url = town.url(0, "/");
    let values = [
        ("from", "seeds.txt"),
        ("policy", "survey"),
        ("mode", "light"),
        ("contact", "me@a.test"),
        ("user-agent", "OurBot/2.0"),
        ("delay", "0s"),
        ("slots", "2"),
        ("pages", "3"),
        ("time", "1m"),
        ("depth", "0"),
        ("patience", "0s"),
        ("set", "robots.ttl=2h"),
        ("scope", "host"),
        ("include", "/*"),
        ("exclude", "/no*"),
        ("allow-net", "127.0.0.0/8"),
        ("resolve", "a.test=127.0.0.1"),
        ("proxy", "http://me:tulip@127.0.0.1:1"),
        ("only", "html"),
        ("into", "rows.db"),
        ("ledger", "own.db"),
        ("cache-max", "500MiB"),
        ("config", "own.toml"),
    ];
    let switches = [
        "no-links",
        "no-sitemaps",
        "follow-nofollow",
        "no-traps",
        "assets",
        "external",
        "no-body",
        "no-cache",
    ];
    let mut args = vec!["crawl".to_owned(), url];
    args.extend(values.iter().flat_map(|(flag, value)| [format!("--{flag}"), (*value).to_owned()]));
    args.extend(switches.iter().map(|flag| format!("--{flag}")));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // No proxy answers; the run is in the record all the same.
    town.run(&args).ends(5);
    let command = texts(&town.db("rows.db"), "SELECT command FROM runs").remove(0);
    let given = values.iter().map(|(flag, _)| *flag).chain(switches);
    let is_there = |flag: &&str| format!("{command} ").contains(&format!(" --{flag} "));
    let missing: Vec<&str> = given.filter(|flag| !is_there(flag)).collect();
    assert!(missing.is_empty(), "{missing:?} are not in the record: {command}");
    let all = settings(&town, &["crawl"]);
    let untested = all.iter().filter(|flag| *flag != "ca-file" && !is_there(&flag.as_str()));
    assert_eq!(untested.collect::<Vec<_>>(), [""; 0], "flags that this test does not give");
    assert!(!command.contains("tulip"), "a password is in the record: {command}");
}

#[test]
fn a_variable_beats_the_settings_file_whatever_it_sets() {
    let town = Town::new(Scene::plain(1, 2, 1, 500));
    let settings = "allow-net = ['127.0.0.0/8']\ndelay = '0s'\nledger = 'of-file.db'\n";
    std::fs::write(town.path("curtsy.toml"), settings).unwrap();
    let mut crawl = town.program(&["crawl", &town.url(0, "/")]);
    assert!(crawl.env("CURTSY_LEDGER", "of-variable.db").output().unwrap().status.success());
    assert!(town.path("of-variable.db").exists(), "the variable was not read");
    assert!(!town.path("of-file.db").exists(), "the file beat the variable");
    let flag = ["crawl", &town.url(0, "/"), "--ledger", "of-flag.db", "--again"];
    let ran = town.program(&flag).env("CURTSY_LEDGER", "not-used.db").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(town.path("of-flag.db").exists() && !town.path("not-used.db").exists());
}
