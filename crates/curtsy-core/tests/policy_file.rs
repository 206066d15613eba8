//! A policy file is refused with the key, the value, and the allowed values.

use curtsy_core::policy::{Policy, PolicyError};
use std::time::Duration;

#[track_caller]
fn refused(file: &str, expected: &str) {
    let error: PolicyError = Policy::parse(file).expect_err("this file is refused");
    assert_eq!(error.to_string(), expected, "\n{file}");
}

#[test]
fn an_empty_file_is_careful() {
    let policy = Policy::parse("").unwrap();
    assert_eq!(policy.preset.name(), "careful");
}

#[test]
fn fields_replace_the_preset_one_by_one() {
    let policy = Policy::parse(
        "preset = 'careful'\npatience = 'forever'\n[backoff]\ncurve = { cap = '1h' }\n[budget]\npages = 1_000",
    )
    .unwrap();
    assert_eq!(policy.patience, None);
    assert_eq!(policy.backoff.curve.cap, Duration::from_secs(3600));
    assert_eq!(policy.backoff.curve.base, Duration::from_secs(900), "the rest of the curve stays");
    assert_eq!(policy.budget.pages, Some(1000));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    refused(
        "[robots]\ntll = '1h'",
        "line 2, column 1: `robots.tll` is not a field of a policy\nhint: did you mean `robots.ttl`?",
    );
    refused(
        "delay = '3s'",
        "line 1, column 1: `delay` is not a field of a policy\nhint: did you mean `pace.delay`?",
    );
    refused(
        "[robot]\nttl = '1h'",
        "line 1, column 2: `robot` is not a field of a policy\nhint: did you mean `robots`?",
    );
    refused(
        "[breaker]\nenabled = false",
        "line 2, column 1: `breaker.enabled` is not a field of a policy\n\
         hint: `[breaker]` has `failures`, `curve.base`, `curve.growth`, `curve.cap`, `curve.jitter`",
    );
    refused(
        "javascript = true",
        "line 1, column 1: `javascript` is not a field of a policy\n\
         hint: `curtsy policy show` prints every field with its meaning",
    );
    refused(
        "[host.\"example.org\"]\ndealy = '0s'",
        "line 2, column 1: `host.\"example.org\".dealy` is not a field of a host\nhint: did you mean `delay`?",
    );
}

#[test]
fn what_keeps_the_manners_has_no_switch() {
    for key in [
        "robots.enabled",
        "robots.obey",
        "robots.ignore",
        "guard.enabled",
        "backoff.retry_after",
        "identity.anonymous",
    ] {
        let (section, name) = key.split_once('.').unwrap();
        let error = Policy::parse(&format!("[{section}]\n{name} = false")).unwrap_err();
        assert!(error.to_string().contains("is not a field of a policy"), "{error}");
    }
}

#[test]
fn values_are_refused_with_what_would_do() {
    refused(
        "preset = 'polite'",
        "line 1, column 10: `preset` is `'polite'`, expected `careful`, `audit`, `warehouse`, `fleet` or `survey`",
    );
    refused(
        "[robots]\nttl = 3600",
        "line 2, column 7: `robots.ttl` is `3600`, expected a span such as `200ms`, `3s`, `15m` or `1h30m`, from `1s` to `24h`\nhint: did you mean `3600s`?",
    );
    refused(
        "[robots]\nttl = \"2d\"",
        "line 2, column 7: `robots.ttl` is `\"2d\"`, expected a span such as `200ms`, `3s`, `15m` or `1h30m`, from `1s` to `24h`",
    );
    refused(
        "[robots]\nunreachable = \"ignore\"",
        "line 2, column 15: `robots.unreachable` is `\"ignore\"`, expected `deny` or `allow`",
    );
    refused(
        "[slots]\nper_host = 0",
        "line 2, column 12: `slots.per_host` is `0`, expected a whole number from 1 to 64",
    );
    refused(
        "[slots]\nper_host = \"2\"",
        "line 2, column 12: `slots.per_host` is `\"2\"`, expected a whole number from 1 to 64",
    );
    refused(
        "[budget]\npages = -1",
        "line 2, column 9: `budget.pages` is `-1`, expected a whole number from 1 to 1000000000000, or `none`",
    );
    refused(
        "[pace]\nadaptive = \"yes\"",
        "line 2, column 12: `pace.adaptive` is `\"yes\"`, expected `true` or `false`",
    );
    refused(
        "[pace]\ndelay = \"5s..2s\"",
        "line 2, column 9: `pace.delay` is `\"5s..2s\"`, expected a span such as `3s`, or a range such as `200ms..500ms`, up to `24h`",
    );
    refused(
        "[body]\ndecoded_max = \"10MB\"",
        "line 2, column 15: `body.decoded_max` is `\"10MB\"`, expected a size in `B`, `KiB`, `MiB` or `GiB` such as `10MiB`, from `1KiB` to `4GiB`",
    );
    refused(
        "[body]\naccept = [\"text\"]",
        "line 2, column 10: `body.accept` is `[\"text\"]`, expected a list of media types such as `text/html` or `text/*`, at most 64",
    );
    refused(
        "[backoff.curve]\ngrowth = \"x0.5\"",
        "line 2, column 10: `backoff.curve.growth` is `\"x0.5\"`, expected `fibonacci`, or a factor from `x1` to `x100` such as `x2`",
    );
    refused(
        "[retry.curve]\njitter = \"-10%\"",
        "line 2, column 10: `retry.curve.jitter` is `\"-10%\"`, expected `none`, or a part of the wait such as `10%` or `10..20%`, up to `100%`",
    );
    refused(
        "[risk]\ndelay = [\"2s\", \"1s\", \"3s\"]",
        "line 2, column 9: `risk.delay` is `[\"2s\", \"1s\", \"3s\"]`, expected three spans, none shorter than the one before, such as `800ms`, `1200ms`, `2s`, up to `1h`",
    );
    refused(
        "[identity]\nproduct = \"Mozilla/5.0 (compatible)\"",
        "line 2, column 11: `identity.product` is `\"Mozilla/5.0 (compatible)\"`, expected `product/version` such as `curtsy/1.0`, the product in letters, `-` and `_`",
    );
    refused(
        "[identity]\ncontact = \"somebody\"",
        "line 2, column 11: `identity.contact` is `\"somebody\"`, expected a mail address or an http(s) page such as `me@example.org`, or `none`",
    );
    refused(
        "robots = \"off\"",
        "line 1, column 10: `robots` is `\"off\"`, expected a section `[robots]` with `ttl`, `deny_ttl`, `unreachable`, `forbidden`, `agent_match`, `keep`, `chain_deadline`",
    );
}

#[test]
fn all_mistakes_of_a_file_come_at_once_in_its_order() {
    refused(
        "[slots]\nper_host = 99\n[pace]\nadaptive = 1\n[cache]\nmood = 'http'",
        "line 2, column 12: `slots.per_host` is `99`, expected a whole number from 1 to 64\n\
         line 4, column 12: `pace.adaptive` is `1`, expected `true` or `false`\n\
         line 6, column 1: `cache.mood` is not a field of a policy\n\
         hint: did you mean `cache.mode`?",
    );
}

#[test]
fn what_is_not_toml_says_where() {
    let error = Policy::parse("preset = careful\n").unwrap_err().to_string();
    assert!(error.starts_with("line 1, column 10: not TOML: "), "{error}");
    let error = Policy::parse("[robots]\nttl = '1h'\nttl = '2h'\n").unwrap_err().to_string();
    assert!(error.starts_with("line 3, column 1: not TOML: "), "{error}");
}

#[test]
fn fields_that_contradict_each_other_are_refused() {
    refused(
        "[backoff.curve]\nbase = '2h'\ncap = '1h'",
        "line 3, column 7: `backoff.curve.cap` is `1h`, expected at least `backoff.curve.base`, which is `2h`",
    );
    refused(
        "[retry.curve]\nbase = '20m'",
        "line 2, column 8: `retry.curve.cap` is `5m`, expected at least `retry.curve.base`, which is `20m`",
    );
    refused(
        "[body]\ndecoded_max = '1GiB'",
        "line 2, column 15: `slots.body_memory` is `64MiB`, expected at least `body.decoded_max`, which is `1GiB`",
    );
    refused(
        "preset = 'audit'\nmode = 'light'",
        "line 2, column 8: `mode` is `light`, but the preset `audit` has no modes\n\
         hint: choose the preset `survey`, or leave the mode out",
    );
}

#[test]
fn a_public_host_is_not_asked_faster_than_every_200_ms_unless_named() {
    refused(
        "[pace]\ndelay = '100ms..1s'",
        "line 2, column 9: `pace.delay` is `100ms..1s`, expected at least `200ms` for public addresses\n\
         hint: for your own site write `[host.\"example.org\"]` and `delay = \"100ms..1s\"`; inside `--allow-net` any delay goes",
    );
    let policy = Policy::parse("[host.\"example.org\"]\ndelay = \"0s\"\nslots = 8").unwrap();
    let own = policy.for_host("example.org");
    assert_eq!((own.pace.delay_min, own.slots.per_host), (Duration::ZERO, 8));
    assert_eq!(*policy.for_host("example.com"), policy);
}

#[test]
fn a_host_section_names_a_canonical_host() {
    refused(
        "[host.\"Example.ORG\"]\ndelay = '1s'",
        "line 1, column 7: `host.\"Example.ORG\"` is not the host's canonical name, expected `example.org`\n\
         hint: write `[host.\"example.org\"]`",
    );
    refused(
        "[host.\"http://example.org\"]\ndelay = '1s'",
        "line 1, column 7: `host.\"http://example.org\"` does not name a host, expected a name or an address without scheme, port and path\n\
         hint: write `[host.\"example.org\"]`, with the name in quotes",
    );
    refused(
        "[host]\ndelay = '1s'",
        "line 2, column 9: `host.\"delay\"` is `'1s'`, expected a section with `delay`, `slots`, `adaptive`, `retries`, `traps`, \
         `header`, `basic_auth`, `cookie`, `origin`, `plain_http`",
    );
}

const OWN: &str = r#"
[host."staging.example.org"]
header = { Authorization = { env = "STAGING_TOKEN" }, X-Preview = { file = "/run/secrets/preview" } }
cookie = { env = "STAGING_COOKIE" }
origin = "https://staging.example.org:8443"
[host."other.example.org"]
basic_auth = { user = "it's \"me\"", password = { file = "/run/secrets/pass word" } }
"#;

#[test]
fn credentials_name_their_places_and_survive_being_written() {
    let policy = Policy::parse(OWN).unwrap();
    let own = policy.own_hosts();
    let at: Vec<String> = own.iter().map(|own| own.at.to_string()).collect();
    assert_eq!(at, ["https://other.example.org", "https://staging.example.org:8443"]);
    assert_eq!(own[1].headers.len(), 2);
    assert_eq!(Policy::parse(&policy.to_toml()), Ok(policy.clone()));
    assert!(policy.has_credentials("staging.example.org") && !policy.has_credentials("a.test"));
    let differ = policy.diff(&Policy::parse("").unwrap());
    assert!(differ.iter().any(|d| d.key == "host.\"staging.example.org\".cookie"), "{differ:?}");
}

#[test]
fn a_secret_in_the_policy_itself_is_refused_and_not_repeated() {
    for text in [
        "[host.\"a.test\"]\ncookie = 'tulip'",
        "[host.\"a.test\"]\ncookie = { value = 'tulip' }",
        "[host.\"a.test\"]\nheader = { X-A = 'tulip' }",
        "[host.\"a.test\"]\nheader = 'tulip'",
        "[host.\"a.test\"]\nbasic_auth = { user = 'me', password = 'tulip' }",
        "[host.\"a.test\"]\nbasic_auth = 'me:tulip'",
        "[host.\"a.test\"]\ncookie = { env = 'A' }\norigin = 'https://me:tulip@a.test'",
        "[host]\ncookie = 'tulip'",
    ] {
        let error = Policy::parse(text).unwrap_err().to_string();
        assert!(!error.contains("tulip"), "{error}");
    }
}

#[test]
fn credentials_are_checked_before_anybody_uses_them() {
    let check = |section: &str, said: &str| {
        let text = format!("[host.\"a.test\"]\n{section}");
        let error = Policy::parse(&text).expect_err(section).to_string();
        assert!(error.contains(said), "{section}: {error}");
    };
    for header in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Upgrade",
        "TE",
        "Trailer",
        "Proxy-Authorization",
        "User-Agent",
        "From",
        "Keep-Alive",
        "Accept-Encoding",
        "If-None-Match",
        "Range",
        "'a b'",
        "'a:'",
        "''",
        "\"a\\nb\"",
    ] {
        check(
            &format!("header = {{ {header} = {{ env = 'A' }} }}"),
            "not those of framing, identity",
        );
    }
    let many: Vec<String> = (0..17).map(|n| format!("X-{n} = {{ env = 'A' }}")).collect();
    check(&format!("header = {{ {} }}", many.join(", ")), "up to 16 headers");
    check("header = { X-A = { env = 'A' }, x-a = { env = 'B' } }", "up to 16 headers");
    check("cookie = { env = '1A' }", "never the value itself");
    check("cookie = { file = 'relative' }", "never the value itself");
    check("cookie = { env = 'A', file = '/b' }", "never the value itself");
    check("basic_auth = { user = 'a:b', password = { env = 'A' } }", "never the value itself");
    check(
        "basic_auth = { user = 'a', password = { env = 'A' } }\nheader = { authorization = { env = 'A' } }",
        "is there twice",
    );
    check("cookie = { env = 'A' }\nheader = { COOKIE = { env = 'A' } }", "is there twice");
    check("cookie = { env = 'A' }\norigin = 'https://b.test'", "is not an origin of this host");
    check("cookie = { env = 'A' }\norigin = 'https://a.test/x'", "scheme, host and port");
    check(
        "cookie = { env = 'A' }\norigin = 'http://a.test'",
        "sends credentials without encryption",
    );
    check("origin = 'https://a.test'", "has no effect without");
    check("plain_http = true", "has no effect without");
    let fine = "cookie = { env = 'A' }\norigin = 'http://a.test'\nplain_http = true";
    let own = Policy::parse(&format!("[host.\"a.test\"]\n{fine}")).unwrap().own_hosts();
    assert_eq!(own[0].at.to_string(), "http://a.test");
    for host in ["127.0.0.7", "localhost", "a.localhost", "[::1]"] {
        let text =
            format!("[host.\"{host}\"]\ncookie = {{ env = 'A' }}\norigin = 'http://{host}:8080'");
        assert_eq!(Policy::parse(&text).unwrap().own_hosts().len(), 1, "{host}");
    }
}

#[test]
fn a_host_section_leaves_the_budget_of_the_job() {
    let section = "preset = 'audit'\n[host.\"a.test\"]\nretries = 0\nadaptive = true";
    let policy = Policy::parse(section).unwrap();
    let host = policy.for_host("a.test");
    assert!(host.host.is_empty(), "the copy for one host carries no sections");
    assert_eq!(host.budget.pages, Some(200));
    assert_eq!((host.retry.max, host.pace.adaptive), (0, true));
}

#[test]
fn a_value_that_breaks_lines_is_shown_on_one() {
    let error = Policy::parse("preset = \"\"\"\nx\u{7}\"\"\"").unwrap_err().to_string();
    assert!(!error.contains('\u{7}'), "{error}");
    let error = Policy::parse(&format!("preset = '{}'", "x".repeat(5000))).unwrap_err().to_string();
    assert!(error.len() < 300, "{error}");
}

#[test]
fn a_file_larger_than_any_policy_is_refused_unread() {
    refused(&"#".repeat((1 << 20) + 1), "the file has 1048577 bytes, expected at most 1048576");
}

/// A host may have any of these in its name by the URL standard; TOML has no key over several
/// lines.
#[test]
fn a_section_is_written_whatever_quotes_its_host_has() {
    for name in ["plain.example", "it's.example", r#"a\"b.example"#, r#"*f\"`*gf'rg"#] {
        let policy = Policy::parse(&format!("[host.\"{name}\"]\nslots = 2")).unwrap();
        assert_eq!(Policy::parse(&policy.to_toml()), Ok(policy), "{name}");
    }
}
