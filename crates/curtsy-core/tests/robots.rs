//! robots.txt, clause by clause. Tests named after a section are about RFC 9309; house rules are
//! marked as such.

use std::time::Duration;

use curtsy_core::policy::{AgentMatch, Forbidden};
use curtsy_core::robots::naive::naive_decide;
use curtsy_core::robots::{
    AgentGroup, CRAWL_DELAY_MAX, ROBOTS_BYTES_MAX, Robots, RobotsClass, RobotsDecision,
    RobotsReply, RuleKind, UsageKind, class_of,
};

/// Decides for `curtsy` and compares with `allow`, `allow LINE` or `disallow LINE`. The naive
/// matcher must agree.
fn check(robots: impl AsRef<[u8]>, path: &str, expected: &str) {
    check_as("curtsy", robots, path, expected);
}

fn check_as(product: &str, robots: impl AsRef<[u8]>, path: &str, expected: &str) {
    let text = robots.as_ref();
    let answer = Robots::parse(text).for_agent(product, AgentMatch::Rfc).decide(path);
    let shown = String::from_utf8_lossy(text);
    assert_eq!(say(answer), expected, "{path} in {shown:?}");
    assert_eq!(naive_decide(text, product, path), answer.allowed, "naive: {path} in {shown:?}");
}

fn say(answer: RobotsDecision) -> String {
    let verdict = if answer.allowed { "allow" } else { "disallow" };
    match answer.rule {
        Some(rule) => {
            assert_eq!(answer.allowed, rule.kind == RuleKind::Allow);
            format!("{verdict} {}", rule.line)
        }
        None => verdict.to_owned(),
    }
}

/// Checks rules alone, in a group for every agent. Lines count from 1 all the same.
fn rules(rules: &str, path: &str, expected: &str) {
    check(format!("User-agent: *\n{rules}"), path, expected);
}

mod section_2_1_protocol {
    use super::*;

    #[test]
    fn an_empty_file_forbids_nothing() {
        check("", "/", "allow");
        check("\n\n\n", "/", "allow");
        check("\u{feff}", "/", "allow");
    }

    #[test]
    fn rules_outside_a_group_say_nothing() {
        check("Disallow: /\nUser-agent: curtsy\nDisallow: /x", "/y", "allow");
    }

    #[test]
    fn groups_end_where_the_next_agent_follows_a_rule() {
        let text = "User-agent: a\nUser-agent: curtsy\nDisallow: /1\nDisallow: /2\nUser-agent: b\nDisallow: /3\n";
        check(text, "/1", "disallow 3");
        check(text, "/2", "disallow 4");
        check(text, "/3", "allow");
        check_as("a", text, "/1", "disallow 3");
        check_as("b", text, "/3", "disallow 6");
    }

    #[test]
    fn blank_lines_and_comments_do_not_end_a_group() {
        check("User-agent: curtsy\n\n# hello\nDisallow: /x\n\nDisallow: /y", "/y", "disallow 6");
    }
}

mod section_2_2_1_user_agent {
    use super::*;

    #[test]
    fn the_product_token_is_compared_without_case() {
        check("User-agent: CURTSY\nDisallow: /", "/", "disallow 2");
        check_as("CuRtSy", "user-AGENT: curtsy\nDisallow: /", "/", "disallow 2");
    }

    #[test]
    fn a_version_behind_the_token_does_not_matter() {
        check("User-agent: curtsy/2.1\nDisallow: /", "/", "disallow 2");
        check("User-agent: curtsy 2.1 (x)\nDisallow: /", "/", "disallow 2");
        let rules = Robots::parse(b"User-agent: AEO-Audit\nDisallow: /")
            .for_agent("AEO-Audit/1.0", AgentMatch::Rfc);
        assert!(!rules.decide("/").allowed);
    }

    #[test]
    fn part_of_a_token_is_another_token() {
        check("User-agent: curtsybot\nDisallow: /", "/", "allow");
        check("User-agent: curt\nDisallow: /", "/", "allow");
        check("User-agent: curtsy-news\nDisallow: /", "/", "allow");
        check("User-agent: curtsy9\nDisallow: /", "/", "disallow 2");
        check_as("curtsy9", "User-agent: curtsy9\nDisallow: /", "/", "allow");
    }

    #[test]
    fn groups_for_the_same_agent_are_one() {
        let text = "User-agent: curtsy\nDisallow: /1\nUser-agent: b\nDisallow: /\nUser-agent: Curtsy\nAllow: /1/x\n";
        check(text, "/1", "disallow 2");
        check(text, "/1/x", "allow 6");
        check(text, "/2", "allow");
    }

    #[test]
    fn everyone_counts_only_if_we_are_not_named() {
        let text = "User-agent: *\nDisallow: /\nUser-agent: curtsy\nDisallow: /x\n";
        check(text, "/y", "allow");
        check_as("other", text, "/y", "disallow 2");
        check("User-agent: curtsy\nUser-agent: *\nDisallow: /", "/", "disallow 3");
        check(
            "User-agent: *\nDisallow: /1\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /2",
            "/2",
            "disallow 6",
        );
    }

    #[test]
    fn a_named_group_without_rules_forbids_nothing() {
        check("User-agent: *\nDisallow: /\n\nUser-agent: curtsy\n", "/", "allow");
        check("User-agent: *\nDisallow: /\n\nUser-agent: curtsy\nDisallow:\n", "/", "allow");
    }

    #[test]
    fn the_answer_says_which_group_was_asked() {
        let group = |text: &str| {
            Robots::parse(text.as_bytes()).for_agent("curtsy", AgentMatch::Rfc).group()
        };
        assert_eq!(group("User-agent: curtsy\nDisallow: /"), AgentGroup::Named);
        assert_eq!(group("User-agent: *\nDisallow: /"), AgentGroup::Star);
        assert_eq!(group("User-agent: * and more\nDisallow: /"), AgentGroup::Star);
        assert_eq!(group("User-agent: *bot\nDisallow: /"), AgentGroup::None);
        assert_eq!(group("User-agent: b\nDisallow: /"), AgentGroup::None);
        assert_eq!(group("Disallow: /"), AgentGroup::None);
    }
}

mod section_2_2_2_allow_and_disallow {
    use super::*;

    #[test]
    fn a_rule_matches_from_the_start_of_the_path() {
        rules("Disallow: /fish", "/fish", "disallow 2");
        rules("Disallow: /fish", "/fish.html?x", "disallow 2");
        rules("Disallow: /fish", "/catfish", "allow");
        rules("Disallow: /fish", "/Fish", "allow");
        rules("Disallow: fish", "/fish", "allow");
    }

    #[test]
    fn an_empty_path_is_the_root() {
        rules("Disallow: /", "", "disallow 2");
    }

    #[test]
    fn the_most_octets_win_whatever_the_order() {
        rules("Allow: /p\nDisallow: /", "/page", "allow 2");
        rules("Disallow: /page/x\nAllow: /page", "/page/x", "disallow 2");
        rules("Allow: /folder\nDisallow: /folder/*", "/folder/x", "disallow 3");
        rules("Allow: /$\nDisallow: /", "/", "allow 2");
        rules("Allow: /$\nDisallow: /", "/x", "disallow 3");
        rules("Allow: /x/page.\nDisallow: /*.html", "/x/page.html", "allow 2");
    }

    #[test]
    fn a_tie_goes_to_allow() {
        rules("Disallow: /folder\nAllow: /folder", "/folder", "allow 3");
        rules("Allow: /folder\nDisallow: /folder", "/folder", "allow 2");
        rules("Disallow: /*b\nAllow: /ab", "/ab", "allow 3");
    }

    #[test]
    fn of_equal_rules_the_first_line_is_named() {
        rules("Disallow: /x\nDisallow: /x\n", "/x", "disallow 2");
        rules("Disallow: /a*b\nDisallow: /*ab\n", "/ab", "disallow 2");
    }

    #[test]
    fn an_empty_rule_matches_nothing() {
        rules("Disallow:", "/", "allow");
        rules("Disallow: /\nAllow:", "/", "disallow 2");
        rules("Disallow: # all\n", "/", "allow");
    }

    #[test]
    fn robots_txt_itself_is_always_allowed() {
        rules("Disallow: /", "/robots.txt", "allow");
        rules("Disallow: /robots.txt", "/robots.txt", "allow");
        rules("Disallow: /robots.txt", "/robots.txt?x", "disallow 2");
        rules("Disallow: /", "/x/robots.txt", "disallow 2");
    }

    #[test]
    fn octets_outside_ascii_are_compared_as_escapes() {
        for rule in ["Disallow: /käfer", "Disallow: /k%C3%A4fer", "Disallow: /k%c3%a4fer"] {
            for path in ["/käfer", "/k%C3%A4fer", "/k%c3%A4fer"] {
                rules(rule, path, "disallow 2");
            }
        }
        check(b"User-agent: *\nDisallow: /\xFF", "/%FF", "disallow 2");
        rules("Disallow: /ä\nAllow: /*****", "/ä", "disallow 2");
    }

    #[test]
    fn escapes_of_unreserved_octets_are_opened() {
        rules("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", "disallow 2");
        rules("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7a", "disallow 2");
        rules("Disallow: /~kim", "/%7ekim", "disallow 2");
    }

    #[test]
    fn escapes_of_reserved_octets_are_kept() {
        rules("Disallow: /a%2Fb", "/a/b", "allow");
        rules("Disallow: /a%2Fb", "/a%2fb", "disallow 2");
        rules("Disallow: /a?b", "/a%3Fb", "allow");
    }

    #[test]
    fn half_an_escape_is_text() {
        rules("Disallow: /100%", "/100%", "disallow 2");
        rules("Disallow: /100%", "/100%25", "disallow 2");
        rules("Disallow: /%zz", "/%zz", "disallow 2");
        rules("Disallow: /%4", "/%4", "disallow 2");
        rules("Disallow: /%4", "/%41", "allow");
    }
}

mod section_2_2_3_special_characters {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        rules("Disallow: /*.php", "/a/b.php?x", "disallow 2");
        rules("Disallow: /a*b*c", "/a-b-b-c", "disallow 2");
        rules("Disallow: /a*b*c", "/acb", "allow");
        rules("Disallow: /a*b*c", "/abc", "disallow 2");
        rules("Disallow: *", "/x", "disallow 2");
        rules("Disallow: *x", "/ax", "disallow 2");
        rules("Disallow: /ab*ab", "/ab", "allow");
        rules("Disallow: /a***b", "/ab", "disallow 2");
    }

    #[test]
    fn a_dollar_at_the_end_ends_the_path() {
        rules("Disallow: /*.php$", "/a.php", "disallow 2");
        rules("Disallow: /*.php$", "/a.php?x", "allow");
        rules("Disallow: /*.php$", "/a.php.php", "disallow 2");
        rules("Disallow: /x$", "/x", "disallow 2");
        rules("Disallow: /x$", "/x/", "allow");
        rules("Disallow: /x*$", "/x/y", "disallow 2");
        rules("Disallow: /a*aa$", "/aa", "allow");
        rules("Disallow: $", "/", "allow");
    }

    #[test]
    fn a_dollar_elsewhere_is_text() {
        rules("Disallow: /x$y", "/x$y", "disallow 2");
        rules("Disallow: /x$y", "/x", "allow");
        rules("Disallow: /x$$", "/x$", "disallow 2");
        rules("Disallow: /x$*", "/x$/y", "disallow 2");
    }

    #[test]
    fn escaped_stars_and_dollars_are_text() {
        rules("Disallow: /s/%2A/", "/s/*/", "disallow 2");
        rules("Disallow: /s/%2a/", "/s/x/", "allow");
        rules("Disallow: /s%24", "/s$x", "disallow 2");
        rules("Disallow: /s/*/", "/s/%2A/", "disallow 2");
    }

    #[test]
    fn a_hash_starts_a_comment() {
        rules("Disallow: /x # not y", "/x", "disallow 2");
        rules("Disallow: /x#y", "/x", "disallow 2");
        rules("#Disallow: /x", "/x", "allow");
        rules("Disallow # : /x", "/x", "allow");
    }
}

mod section_2_2_4_other_records {
    use super::*;

    #[test]
    fn sitemaps_belong_to_no_group_and_end_none() {
        let text = b"Sitemap: https://a.example/1.xml\nUser-agent: a\nsite-map:/2.xml\nUser-agent: curtsy\nDisallow: /\n";
        let robots = Robots::parse(text);
        let found: Vec<_> = robots.sitemaps().map(|(line, url)| (line, url.into_owned())).collect();
        assert_eq!(found, [(1, "https://a.example/1.xml".to_owned()), (3, "/2.xml".to_owned())]);
        check_as("a", text, "/", "disallow 5");
    }

    #[test]
    fn unknown_lines_are_counted_and_end_nothing() {
        let text = b"User-agent: a\nHost: a.example\nUser-agent: b\nNoindex: /x\n???\n\n# c\nDisallow: /\n";
        assert_eq!(Robots::parse(text).unknown_lines(), 3);
        check_as("a", text, "/", "disallow 8");
    }
}

mod section_2_3_access {
    use super::*;

    fn class(reply: RobotsReply, expected: RobotsClass) {
        assert_eq!(class_of(reply, Forbidden::Allow), expected, "{reply:?}");
    }

    #[test]
    fn an_answer_with_a_body_is_the_rules() {
        class(RobotsReply::Status(200), RobotsClass::Rules);
        class(RobotsReply::Status(204), RobotsClass::Rules);
    }

    #[test]
    fn too_many_redirects_are_as_if_there_were_none() {
        class(RobotsReply::TooManyRedirects, RobotsClass::NoRules);
        class(RobotsReply::Status(302), RobotsClass::NoRules);
    }

    #[test]
    fn unavailable_forbids_nothing() {
        for status in [400, 401, 402, 403, 404, 405, 410, 418, 451, 499] {
            class(RobotsReply::Status(status), RobotsClass::NoRules);
        }
    }

    #[test]
    fn unreachable_is_not_the_same_as_unavailable() {
        for status in [429, 500, 501, 502, 503, 504, 520, 599, 0, 100, 999] {
            class(RobotsReply::Status(status), RobotsClass::Unreachable);
        }
        class(RobotsReply::Failed, RobotsClass::Unreachable);
    }

    #[test]
    fn house_rule_forbidden_may_be_taken_as_a_no() {
        for (status, expected) in [
            (401, RobotsClass::Denied),
            (403, RobotsClass::Denied),
            (404, RobotsClass::NoRules),
            (200, RobotsClass::Rules),
        ] {
            assert_eq!(
                class_of(RobotsReply::Status(status), Forbidden::Deny),
                expected,
                "{status}"
            );
        }
    }
}

mod section_2_5_limits {
    use super::*;

    fn long(before: usize, end: &str) -> Vec<u8> {
        let mut text = b"User-agent: *\nDisallow: /early\n".to_vec();
        while text.len() + 10 < before {
            text.extend_from_slice(b"#########\n");
        }
        text.resize(before - 1, b'#');
        text.push(b'\n');
        text.extend_from_slice(end.as_bytes());
        text
    }

    fn allowed(text: &[u8], path: &str) -> bool {
        let allowed = Robots::parse(text).for_agent("curtsy", AgentMatch::Rfc).decide(path).allowed;
        assert_eq!(naive_decide(text, "curtsy", path), allowed);
        allowed
    }

    #[test]
    fn the_first_500_kib_count() {
        let text = long(ROBOTS_BYTES_MAX, "Disallow: /late\n");
        assert!(Robots::parse(&text).truncated());
        assert!(!allowed(&text, "/early"));
        assert!(allowed(&text, "/late"));
        let fits = long(ROBOTS_BYTES_MAX - 16, "Disallow: /late\n");
        assert!(!Robots::parse(&fits).truncated());
        assert!(!allowed(&fits, "/late"));
    }

    #[test]
    fn a_line_that_is_cut_does_not_count() {
        // Cut after `Disallow: /l`, the rule would forbid far more than it says.
        let text = long(ROBOTS_BYTES_MAX - 12, "Disallow: /late\n");
        assert!(allowed(&text, "/late") && allowed(&text, "/l"));
        // Here the cut falls between the rule and its line end.
        let whole = long(ROBOTS_BYTES_MAX - 15, "Disallow: /late\nDisallow: /\n");
        assert!(!allowed(&whole, "/late"));
        assert!(allowed(&whole, "/x"));
    }

    #[test]
    fn a_file_without_a_line_end_is_no_file() {
        let text = [b"Disallow: /".to_vec(), vec![b'x'; ROBOTS_BYTES_MAX]].concat();
        assert!(allowed(&text, "/"));
    }

    #[test]
    fn a_line_counts_up_to_its_first_16663_octets() {
        let long = "x".repeat(20_000);
        rules(&format!("Disallow: /{long}"), &format!("/{}", "x".repeat(16_652)), "disallow 2");
        rules(&format!("Disallow: /{long}"), &format!("/{}", "x".repeat(16_651)), "allow");
        rules(&format!("Disallow: /a # {long}\nDisallow: /b"), "/b", "disallow 3");
    }
}

mod lenient_reading {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_passed_over_even_half_of_one() {
        check(b"\xEF\xBB\xBFUser-agent: *\nDisallow: /", "/", "disallow 2");
        check(b"\xEF\xBBUser-agent: *\nDisallow: /", "/", "disallow 2");
        check(b"\xEFUser-agent: *\nDisallow: /", "/", "disallow 2");
        check(b"\xBBUser-agent: *\nDisallow: /", "/", "allow");
    }

    #[test]
    fn line_ends_may_be_mixed() {
        check("User-agent: *\rDisallow: /a\r\nDisallow: /b\nDisallow: /c", "/c", "disallow 4");
        check("User-agent: *\r\n\r\nDisallow: /a", "/a", "disallow 3");
        check("User-agent: *\r\rDisallow: /a", "/a", "disallow 3");
        check("User-agent: *\n\rDisallow: /a", "/a", "disallow 3");
    }

    #[test]
    fn blanks_around_keys_and_values_do_not_matter() {
        rules("\t Disallow \t:\t /a b \t\u{b}", "/a b", "disallow 2");
        rules("\u{c}Disallow:/a", "/a", "disallow 2");
    }

    #[test]
    fn house_rule_common_misspellings_are_obeyed() {
        for key in ["Disalow", "Dissallow", "dissalow", "Diasllow", "DISALLAW", "Disallowed"] {
            rules(&format!("{key}: /x"), "/x", "disallow 2");
        }
        for key in ["useragent", "User agent", "User-agents"] {
            check(format!("{key}: *\nDisallow: /x"), "/x", "disallow 2");
        }
        rules("Desallow: /x", "/x", "allow");
        rules("Disallow: /\nAllowed: /x", "/x", "allow 3");
    }

    #[test]
    fn house_rule_two_words_need_no_colon() {
        check("User-agent *\nDisallow \t /x", "/x", "disallow 2");
        rules("Disallow /x y", "/x", "allow");
        rules("Disallow", "/x", "allow");
        check("User agent *\nDisallow: /", "/", "allow");
    }

    #[test]
    fn a_nul_ends_its_line() {
        check(b"User-agent: *\nDisallow: /x\0y\nDis\0allow: /z", "/xz", "disallow 2");
        check(b"User-agent: *\nDisallow: /x\0y\nDis\0allow: /z", "/z", "allow");
        check(b"\0\nUser-agent: *\0\nDisallow: /", "/", "disallow 3");
    }

    #[test]
    fn a_page_of_html_forbids_nothing_and_is_known_for_one() {
        let page = b"\xEF\xBB\xBF \n<!DOCTYPE HTML>\n<html><body>\nSorry: not here</body></html>";
        check(page, "/", "allow");
        assert!(Robots::parse(page).looks_like_html());
        assert!(!Robots::parse(b"User-agent: *\nDisallow: /<html>").looks_like_html());
    }
}

mod house_rules_for_loose_agents {
    use super::*;

    fn loose(product: &str, robots: &str, path: &str, expected: &str) {
        let answer =
            Robots::parse(robots.as_bytes()).for_agent(product, AgentMatch::Loose).decide(path);
        assert_eq!(say(answer), expected, "{product} at {path} in {robots:?}");
    }

    #[test]
    fn exact_comes_before_partial_before_everyone() {
        let text = "User-agent: *\nDisallow: /1\nUser-agent: audit\nDisallow: /2\nUser-agent: AEO-Audit\nDisallow: /3\n";
        loose("AEO-Audit/1.0", text, "/3", "disallow 6");
        loose("AEO-Audit/1.0", text, "/2", "allow");
        loose("My-Audit", text, "/2", "disallow 4");
        loose("My-Audit", text, "/1", "allow");
        loose("other", text, "/1", "disallow 2");
    }

    #[test]
    fn partial_goes_either_way_and_takes_the_whole_line() {
        loose("curtsy", "User-agent: Mozilla/5.0 (Curtsy; x)\nDisallow: /", "/", "disallow 2");
        loose("curtsybot", "User-agent: curtsy\nDisallow: /", "/", "disallow 2");
        loose("curtsy", "User-agent:\nDisallow: /", "/", "allow");
    }
}

mod house_rules_for_crawl_delay {
    use super::*;

    fn delay(robots: &str, expected: Option<&str>) {
        let rules = Robots::parse(robots.as_bytes()).for_agent("curtsy", AgentMatch::Rfc);
        assert_eq!(
            rules.crawl_delay().map(|d| format!("{d:?}")).as_deref(),
            expected,
            "{robots:?}"
        );
    }

    fn value(value: &str, expected: Option<&str>) {
        delay(&format!("User-agent: *\nCrawl-delay: {value}\nDisallow: /x"), expected);
    }

    #[test]
    fn fractions_count() {
        value("5", Some("5s"));
        value("0", Some("0ns"));
        value("0.5", Some("500ms"));
        value(".25", Some("250ms"));
        value("5.", Some("5s"));
        value("4.2", Some("4.2s"));
        value("+3", Some("3s"));
        value("0.0000001", Some("1µs"));
        value("1.0000001", Some("1.000001s"));
    }

    #[test]
    fn large_numbers_are_kept_and_absurd_ones_are_a_century() {
        value("1e3", Some("1000s"));
        value("1e9", Some("1000000000s"));
        let century = format!("{CRAWL_DELAY_MAX:?}");
        value("99999999999999999999", Some(&century));
        value("1e999", Some(&century));
        assert!(CRAWL_DELAY_MAX > Duration::from_secs(1_000_000_000));
    }

    #[test]
    fn what_is_no_number_says_nothing() {
        for junk in [
            "", "-1", "-0.5", "NaN", "inf", "10s", "1,5", "0x10", "1.2.3", "5;", "10 20", "\"5\"",
            "٥", "e", ".",
        ] {
            value(junk, None);
        }
        delay("User-agent: *\nCrawl-delay: 4\nCrawl-delay: soon", Some("4s"));
    }

    #[test]
    fn the_largest_of_the_groups_that_speak_to_us_counts() {
        delay("User-agent: curtsy\nCrawl-delay: 7\nCrawl-delay: 2", Some("7s"));
        delay(
            "User-agent: curtsy\nCrawl-delay: 2\nUser-agent: b\nDisallow: /\nUser-agent: curtsy\nCrawl-delay: 7",
            Some("7s"),
        );
        delay("User-agent: *\nCrawl-delay: 9\nUser-agent: curtsy\nDisallow: /x", None);
        delay("User-agent: *\nCrawl-delay: 9\nUser-agent: b\nDisallow: /x", Some("9s"));
        delay("Crawl-delay: 9\nUser-agent: *\nDisallow: /x", None);
    }

    #[test]
    fn a_delay_ends_a_list_of_agents_for_the_next_delay_but_not_for_rules() {
        let text =
            "User-agent: curtsy\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 9\nDisallow: /x";
        delay(text, Some("1s"));
        check(text, "/x", "disallow 5");
        delay("User-agent: b\nCrawl-delay: 9\nUser-agent: curtsy\nDisallow: /x", None);
    }

    #[test]
    fn a_few_spellings_are_known() {
        for line in
            ["crawl-delay : 3", "Crawldelay: 3", "Crawl delay: 3", "Crawl delay 3", "Crawl-delay 3"]
        {
            delay(&format!("User-agent: *\n{line}"), Some("3s"));
        }
        for line in ["crawl_delay: 3", "Crawl-delays: 3", "Crawl-delay"] {
            delay(&format!("User-agent: *\n{line}"), None);
        }
    }
}

mod house_rules_for_usage_lines {
    use super::*;

    fn usage(robots: &str) -> Vec<String> {
        let rules = Robots::parse(robots.as_bytes()).for_agent("curtsy", AgentMatch::Rfc);
        let say = |u: &curtsy_core::robots::UsageLine| {
            let kind = if u.kind == UsageKind::ContentUsage { "usage" } else { "signal" };
            format!("{} {kind} {:?} {}", u.line, u.path, u.value)
        };
        rules.usage().iter().map(say).collect()
    }

    #[test]
    fn content_usage_may_have_a_path() {
        let text = "User-agent: *\nContent-Usage: train-ai=n\nContent-usage: /ai/* \t train-ai=y, search=n # x\nAllow: /";
        assert_eq!(
            usage(text),
            ["2 usage None train-ai=n", "3 usage Some(\"/ai/*\") train-ai=y, search=n"]
        );
    }

    #[test]
    fn content_signal_is_kept_as_written() {
        assert_eq!(
            usage("User-agent: *\nContent-Signal: search=yes, ai-train=no"),
            ["2 signal None search=yes, ai-train=no"]
        );
    }

    #[test]
    fn they_speak_to_their_group_and_leave_rules_alone() {
        let text = "User-agent: curtsy\nContent-Signal: a=yes\nUser-agent: b\nContent-Signal: b=yes\nDisallow: /x\n";
        assert_eq!(usage(text), ["2 signal None a=yes"]);
        check(text, "/x", "disallow 5");
        assert!(usage("Content-Signal: a=yes\nUser-agent: *\nDisallow: /").is_empty());
    }
}

mod evidence {
    use super::*;

    #[test]
    fn a_line_number_leads_to_the_text() {
        let robots = Robots::parse(
            b"\xEF\xBB\xBFUser-agent: *\r\n\r\n  Disallow: /a # why\xFF\rDisallow: /b",
        );
        let text = |line| robots.line_text(line).map(|t| t.into_owned());
        assert_eq!(text(1).unwrap(), "User-agent: *");
        assert_eq!(text(2).unwrap(), "");
        assert_eq!(text(3).unwrap(), "Disallow: /a # why\u{fffd}");
        assert_eq!(text(4).unwrap(), "Disallow: /b");
        assert_eq!((text(0), text(5)), (None, None));
    }

    #[test]
    fn an_answer_is_small_and_everything_can_be_shared() {
        fn shared<T: Send + Sync + Clone + 'static>() {}
        shared::<Robots>();
        shared::<curtsy_core::robots::AgentRules>();
        assert!(size_of::<RobotsDecision>() <= 16);
    }
}
