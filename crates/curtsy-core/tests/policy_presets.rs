//! The five presets hold what the requirement says, value by value.

use curtsy_core::policy::{FIELDS, Field, Mode, Policy, Preset};

/// One row of the requirement's table: a field and its value in careful, audit, warehouse, fleet,
/// survey.
#[track_caller]
fn check(key: &str, values: [&str; 5]) {
    let field = Field::find(key).unwrap_or_else(|| panic!("`{key}` is a field"));
    for (preset, value) in Preset::ALL.iter().zip(values) {
        assert_eq!(field.text(&Policy::preset(*preset)), value, "{key} of {}", preset.name());
    }
}

#[track_caller]
fn check_all(key: &str, value: &str) {
    check(key, [value; 5]);
}

#[test]
fn who_we_say_we_are() {
    let ours = concat!("curtsy/", env!("CARGO_PKG_VERSION"));
    check("identity.product", [ours, "AEO-Audit/1.0", ours, "OttoBot/1.0", ours]);
    check_all("identity.contact", "none");
    assert_eq!(Policy::preset(Preset::Audit).product_token(), "AEO-Audit");
}

#[test]
fn robots() {
    check("robots.ttl", ["1h", "1h", "24h", "24h", "24h"]);
    check_all("robots.deny_ttl", "5m");
    check("robots.unreachable", ["deny", "allow", "deny", "allow", "deny"]);
    check_all("robots.forbidden", "allow");
    check_all("robots.agent_match", "rfc");
    check_all("robots.keep", "30d");
    check_all("robots.chain_deadline", "1m");
}

#[test]
fn pace_and_slots() {
    check("pace.delay", ["3s", "200ms..500ms", "1s", "1s", "1s"]);
    check("pace.adaptive", ["true", "false", "true", "false", "false"]);
    check_all("pace.adaptive_max", "30s");
    check_all("pace.crawl_delay_park", "5m");
    check("slots.per_host", ["1", "2", "2", "1", "1"]);
    check("slots.wait", ["none", "10s", "none", "none", "none"]);
    check_all("slots.per_address", "16");
    check_all("slots.total_connections", "256");
    check_all("slots.body_memory", "64MiB");
    check("patience", ["10m", "10m", "10m", "forever", "10m"]);
}

#[test]
fn waits_that_we_invent() {
    check("backoff.curve.base", ["15m", "1s", "1s", "2s", "1s"]);
    check("backoff.curve.growth", ["x2", "fibonacci", "fibonacci", "x2", "fibonacci"]);
    check("backoff.curve.cap", ["24h", "10m", "10m", "5m", "10m"]);
    check("backoff.curve.jitter", ["10..20%", "none", "none", "none", "none"]);
    let permanent = "permanent";
    check("backoff.forbidden", ["back-off", permanent, permanent, permanent, permanent]);
    check("retry.max", ["3", "2", "5", "3", "1"]);
    check("retry.curve.base", ["2s", "1s", "1s", "2s", "1s"]);
    check("retry.curve.growth", ["x2", "fibonacci", "fibonacci", "x2", "fibonacci"]);
    check("retry.curve.cap", ["5m", "10m", "10m", "5m", "10m"]);
    check_all("retry.curve.jitter", "none");
    check_all("breaker.failures", "5");
    check_all("breaker.curve.base", "30s");
    check_all("breaker.curve.growth", "x2");
    check_all("breaker.curve.cap", "5m");
    check_all("breaker.curve.jitter", "none");
}

#[test]
fn risk_cache_and_budget() {
    check("risk.active", ["false", "false", "false", "false", "true"]);
    check_all("risk.early_stop", "3");
    check_all("risk.daily_percent", "90");
    check_all("risk.delay", "800ms,1200ms,2s");
    check("cache.mode", ["http", "off", "validators", "fixed", "fixed"]);
    check("cache.ttl", ["15m", "0s", "0s", "1h", "24h"]);
    check("cache.stale_while_revalidate", ["true", "false", "false", "false", "false"]);
    check("cache.noindex", ["mark", "mark", "drop-body", "mark", "unused"]);
    check("budget.pages", ["none", "200", "10000", "none", "25"]);
    check("budget.time", ["none", "1h", "none", "none", "none"]);
    check("budget.depth", ["none", "none", "10", "none", "none"]);
    check_all("budget.warn_percent", "80");
}

#[test]
fn answers_and_time_outs() {
    check_all("body.decoded_max", "10MiB");
    check_all("body.accept", "");
    check_all("body.reject", "");
    check_all("body.redirects_max", "5");
    check_all("body.keep", "true");
    check_all("timeout.connect", "5s");
    check_all("timeout.tls", "5s");
    check_all("timeout.first_byte", "10s");
    check_all("timeout.whole", "30s");
}

#[test]
fn a_preset_file_says_every_field_itself() {
    for preset in Preset::ALL {
        let file = preset.source();
        assert!(file.starts_with(&format!("# {}: ", preset.name())));
        let table: toml::Table = file.parse().expect("presets are TOML");
        for field in FIELDS.iter().filter(|field| !field.key.starts_with("identity.")) {
            let mut value = Some(&toml::Value::Table(table.clone())).cloned();
            for part in field.key.split('.') {
                value = value.and_then(|value| value.get(part).cloned());
            }
            assert!(value.is_some(), "{} of {}", field.key, preset.name());
        }
        assert_eq!(Policy::parse(file).as_ref(), Ok(&Policy::preset(*preset)));
    }
}

#[test]
fn each_value_of_a_preset_says_where_it_comes_from() {
    for preset in Preset::ALL {
        let mut line_before = "";
        for line in preset.source().lines() {
            let says =
                line.contains(" = ") && !line.starts_with('#') && !line.starts_with("preset =");
            assert!(
                !says || line.contains("# ") || line_before.starts_with("# "),
                "{}: {line}",
                preset.name()
            );
            line_before = line;
        }
    }
}

#[test]
fn the_modes_of_a_survey() {
    let survey = Policy::preset(Preset::Survey);
    assert_eq!(survey.mode, Some(Mode::Standard));
    assert_eq!(survey.clone().with_mode(Mode::Standard), survey, "the file has the default mode");
    for (mode, pages, delay_ms) in
        [(Mode::Light, 12, 800), (Mode::Standard, 25, 1000), (Mode::UserAssisted, 50, 1000)]
    {
        let policy = survey.clone().with_mode(mode);
        assert_eq!(policy.mode, Some(mode));
        assert_eq!(policy.budget.pages, Some(pages));
        assert_eq!(policy.pace.delay_min.as_millis(), delay_ms);
        assert_eq!(policy.pace.delay_max, policy.pace.delay_min);
    }
    assert!(Mode::Light.is_automated() && Mode::Standard.is_automated());
    assert!(!Mode::UserAssisted.is_automated());
}

#[test]
fn a_mode_leaves_what_somebody_chose() {
    let file = "preset = 'survey'\n[pace]\ndelay = '5s'\n[budget]\npages = 3";
    let policy = Policy::parse(file).unwrap().with_mode(Mode::UserAssisted);
    assert_eq!((policy.pace.delay_min.as_secs(), policy.budget.pages), (5, Some(3)));
}

#[test]
fn names_lead_to_presets_and_back() {
    for preset in Preset::ALL {
        assert_eq!(Preset::parse(preset.name()), Some(*preset));
    }
    assert_eq!(Preset::parse("Careful"), None);
}
