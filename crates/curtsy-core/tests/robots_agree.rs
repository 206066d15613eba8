//! The matcher that decides and the naive one agree on random input, and neither panics.
//!
//! There are three sources: small alphabets, with many matching rules; large rule sets, for which
//! the matcher prepares the path; and bytes, made by damaging the files in `robots_corpus`.
//! proptest stores a failed case beside this file. Files that are worth keeping belong in the
//! corpus.

use std::fs;
use std::path::Path;

use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::naive::naive_decide;
use curtsy_core::robots::{Robots, RuleKind};
use proptest::prelude::*;
use proptest::sample::Index;

/// Uses both matchers for every path, and checks that the deciding rule exists.
fn check(text: &[u8], product: &str, paths: &[String]) -> Result<(), TestCaseError> {
    let robots = Robots::parse(text);
    let rules = robots.for_agent(product, AgentMatch::Rfc);
    for path in paths {
        let answer = rules.decide(path);
        let naive = naive_decide(text, product, path);
        prop_assert_eq!(answer.allowed, naive, "{} in {}", path, text.escape_ascii());
        if let Some(rule) = answer.rule {
            let line = robots.line_text(rule.line);
            let line = line.as_deref().unwrap_or_default().to_ascii_lowercase();
            let key = if rule.kind == RuleKind::Allow { "a" } else { "d" };
            prop_assert!(line.starts_with(key), "line {} of {}", rule.line, text.escape_ascii());
        }
    }
    // Nothing of this may panic, whatever it says.
    let _ = (
        robots.sitemaps().count(),
        robots.unknown_lines(),
        robots.looks_like_html(),
        rules.crawl_delay(),
    );
    let _ = robots.for_agent(product, AgentMatch::Loose).decide("/");
    Ok(())
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "(Disallow|Allow): /?[ab/*]{0,8}[$]?",
        2 => "(Disallow|Allow):[ ]?/[ab*%$46é]{0,6}",
        2 => "User-agent: (ab|AB|ab/1|abc|a|[*]|[*] x|)",
        1 => "[ \t]{0,2}(Crawl-delay|Sitemap|Host|Disalow|useragent|Allow)[ :]{1,2}[ab/*#]{0,4}",
        1 => "[ab:# \t\r]{0,6}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![4 => "/[ab/]{0,12}", 1 => "/[ab/*$%46é?]{0,12}", 1 => "[ab/]{0,3}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn small_alphabets(lines in prop::collection::vec(line(), 0..12), paths in prop::collection::vec(path(), 1..6)) {
        check(format!("User-agent: *\n{}", lines.join("\n")).as_bytes(), "ab", &paths)?;
        check(lines.join("\r\n").as_bytes(), "ab", &paths)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn many_steps(
        path in "/(aab|aab|ab|b|a|c){200,300}",
        // Steps times path must be large enough for the matcher to prepare the path. Steps are
        // parts of it, in any order.
        rules in prop::collection::vec(prop::collection::vec((any::<Index>(), 1..30_usize), 1..5), 350..450),
        ends in prop::collection::vec(any::<Index>(), 50),
        allowed in prop::collection::vec(any::<Index>(), 0..20),
    ) {
        let part = |(at, len): &(Index, usize)| {
            let at = at.index(path.len());
            format!("*{}", &path[at..(at + len).min(path.len())])
        };
        let mut rules: Vec<String> = rules.iter().map(|parts| parts.iter().map(part).collect()).collect();
        for end in ends {
            let at = end.index(rules.len());
            rules[at].push('$');
        }
        let other = path.replacen("aab", "ab", 20);
        check_rule_by_rule(&rules, &allowed, &[path, other])?;
    }

    #[test]
    fn few_steps(
        rules in prop::collection::vec("/?[ab*]{1,9}[$]?", 1..80),
        allowed in prop::collection::vec(any::<Index>(), 0..20),
        paths in prop::collection::vec("/(aab|ab|b|a|c){0,30}", 1..6),
    ) {
        check_rule_by_rule(&rules, &allowed, &paths)?;
    }
}

/// Finds the deciding line by using the naive matcher for each rule alone.
fn check_rule_by_rule(
    rules: &[String],
    allowed: &[Index],
    paths: &[String],
) -> Result<(), TestCaseError> {
    let allowed: Vec<_> = allowed.iter().map(|index| index.index(rules.len())).collect();
    let key = |at: usize| {
        if allowed.contains(&at) { "Allow" } else { "Disallow" }
    };
    let lines: Vec<_> =
        rules.iter().enumerate().map(|(at, rule)| format!("{}: {rule}", key(at))).collect();
    let text = format!("User-agent: *\n{}", lines.join("\n"));
    let agent = Robots::parse(text.as_bytes()).for_agent("ab", AgentMatch::Rfc);
    for path in paths {
        let matching = (0..rules.len()).filter(|&at| {
            !naive_decide(format!("User-agent: *\nDisallow: {}", rules[at]).as_bytes(), "ab", path)
        });
        let best =
            matching.max_by_key(|&at| (rules[at].len(), key(at) == "Allow", std::cmp::Reverse(at)));
        let line = agent.decide(path).rule.map(|rule| rule.line as usize);
        prop_assert_eq!(line, best.map(|at| at + 2), "{} in {}", path, text);
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Damage {
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, usize),
    Repeat(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"\n\r\0#:*$%/ \tuad".to_vec())];
    prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Damage::Put(at, byte)),
        (any::<Index>(), prop::collection::vec(byte, 1..6))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, len)| Damage::Cut(at, len)),
        (any::<Index>(), 1..60_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the corpus is files")]
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/robots_corpus");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn damaged_files(
        file in prop::sample::select(corpus()),
        damages in prop::collection::vec(damage(), 0..12),
        paths in prop::collection::vec("/[a-d/.%*$?=é]{0,20}", 1..4),
    ) {
        let mut text = file;
        for damage in damages {
            let within = |at: Index| at.index(text.len() + 1).min(text.len());
            match damage {
                Damage::Put(at, byte) => {
                    let at = within(at);
                    text.splice(at..(at + 1).min(text.len()), [byte]);
                }
                Damage::Insert(at, bytes) => {
                    let at = within(at);
                    text.splice(at..at, bytes);
                }
                Damage::Cut(at, len) => {
                    let at = within(at);
                    text.drain(at..(at + len).min(text.len()));
                }
                Damage::Repeat(at, len) => {
                    let at = within(at);
                    let again = text[at..(at + len).min(text.len())].to_vec();
                    text.splice(at..at, again);
                }
            }
        }
        let mut paths = paths;
        paths.extend(["/".to_owned(), "/robots.txt".to_owned(), "/private/a.pdf".to_owned()]);
        check(&text, "curtsy", &paths)?;
    }
}

#[test]
fn the_corpus_as_it_is() {
    let paths =
        ["/", "/private/a.pdf", "/a", "/wp-admin/admin-ajax.php", "/%7Ekim", "/käfer/x?y=1&z", ""];
    let paths = paths.map(str::to_owned);
    for file in corpus() {
        check(&file, "curtsy", &paths).unwrap();
        check(&file, "*", &paths).unwrap();
        check(&file, "", &paths).unwrap();
    }
}
