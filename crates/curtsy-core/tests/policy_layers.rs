//! Flags override the environment, which overrides files, which override the preset, and the origin
//! of each value shows.

use curtsy_core::policy::{
    FIELDS, FlagValue, INHERITED, Layers, Mode, Policy, Preset, Reach, SettledPolicy, Variables,
};

fn variables(text: &str) -> Variables {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[track_caller]
fn settle(file: &str, environment: &str, flags: &[FlagValue<'_>]) -> SettledPolicy {
    let environment = variables(environment);
    let layers =
        Layers { file: Some(file), environment: Some(&environment), flags, ..Layers::default() };
    layers.settle(Reach::Public).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks the value of one field and its origin in a file, an environment and a flag.
#[track_caller]
fn check(file: &str, environment: &str, flag: Option<(&str, &str, &str)>, key: &str, says: &str) {
    let flags: Vec<_> =
        flag.iter().map(|&(flag, key, value)| FlagValue { flag, key, value }).collect();
    let settled = settle(file, environment, &flags);
    let field = FIELDS.iter().find(|field| field.key == key).unwrap();
    let got = format!("{} ({})", field.text(&settled.policy), settled.origin[key]);
    assert_eq!(got, says);
}

#[track_caller]
fn refused(preset: Preset, environment: &str, expected: &str) {
    let environment = variables(environment);
    let layers =
        Layers { preset: Some(preset), environment: Some(&environment), ..Layers::default() };
    let error = layers.settle(Reach::Public).expect_err("this environment is refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn flag_beats_environment_beats_file_beats_preset() {
    let file = "# ours\n[pace]\ndelay = '7s'";
    let flag = Some(("--delay", "pace.delay", "9s"));
    check("", "", None, "pace.delay", "3s (preset careful)");
    check(file, "", None, "pace.delay", "7s (file, line 3)");
    check(file, "CURTSY_PACE_DELAY=8s", None, "pace.delay", "8s (variable CURTSY_PACE_DELAY)");
    check(file, "CURTSY_PACE_DELAY=8s", flag, "pace.delay", "9s (flag --delay)");
}

#[test]
fn the_strongest_layer_chooses_preset_and_mode() {
    let environment = variables("CURTSY_PRESET=survey CURTSY_MODE=light");
    let mut layers = Layers {
        file: Some("preset = 'audit'"),
        environment: Some(&environment),
        ..Layers::default()
    };
    let settled = layers.settle(Reach::Public).unwrap();
    assert_eq!((settled.policy.preset, settled.policy.mode), (Preset::Survey, Some(Mode::Light)));
    assert_eq!(settled.origin["budget.pages"].to_string(), "mode light");
    assert_eq!(settled.origin["slots.per_host"].to_string(), "preset survey");

    layers.mode = Some(Mode::UserAssisted);
    assert_eq!(layers.settle(Reach::Public).unwrap().policy.budget.pages, Some(50));

    layers.preset = Some(Preset::Fleet);
    let error = layers.settle(Reach::Public).unwrap_err().to_string();
    assert!(
        error.starts_with("flag `--mode`: `mode` is `user-assisted`, but the preset `fleet`"),
        "{error}"
    );
}

#[test]
fn a_mode_by_flag_is_weaker_than_a_field_in_the_file() {
    // The mode chooses what the preset starts from; whoever wrote a delay meant it.
    let layers = Layers {
        file: Some("preset = 'survey'\n[pace]\ndelay = '1s'"),
        mode: Some(Mode::Light),
        ..Layers::default()
    };
    let policy = layers.settle(Reach::Public).unwrap().policy;
    assert_eq!((policy.pace.delay_min.as_millis(), policy.budget.pages), (1000, Some(12)));
}

#[test]
fn each_field_has_a_variable_of_its_own() {
    let mut names: Vec<_> = FIELDS.iter().map(|field| field.variable()).collect();
    assert!(names.contains(&"CURTSY_ROBOTS_TTL".to_owned()));
    assert!(names.contains(&"CURTSY_CONTACT".to_owned()));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), FIELDS.len());
    let careful = Policy::preset(Preset::Careful);
    for preset in [Preset::Audit, Preset::Warehouse, Preset::Fleet] {
        // Every field of another preset, through the environment, onto careful.
        let other = Policy::preset(preset);
        let all = FIELDS.iter().map(|field| (field.variable(), field.text(&other)));
        let environment: Variables = all.filter(|(_, value)| !value.is_empty()).collect();
        let layers = Layers { environment: Some(&environment), ..Layers::default() };
        let got = layers.settle(Reach::Public).unwrap().policy;
        assert_eq!(got, Policy { preset: careful.preset, ..other });
    }
}

#[test]
fn variables_of_the_careful_system() {
    let all = "ROBOTS_TTL_SECONDS=7200 ROBOTS_DENY_TTL_SECONDS=60 ROBOTS_DEFAULT_DELAY_SECONDS=4.5 \
               FETCH_CACHE_TTL_SEC=60";
    let p = settle("", all, &[]).policy;
    assert_eq!(p.robots.ttl.as_secs(), 7200);
    assert_eq!(p.robots.deny_ttl.as_secs(), 60);
    assert_eq!((p.pace.delay_min.as_millis(), p.pace.delay_max.as_millis()), (4500, 4500));
    assert_eq!(p.cache.ttl.as_secs(), 60);
}

#[test]
fn of_the_two_robots_ttls_the_first_wins_and_a_difference_is_told() {
    let both = settle("", "ROBOTS_TTL_SECONDS=3600 ROBOTS_CACHE_TTL_SEC=86400", &[]);
    assert_eq!(both.policy.robots.ttl.as_secs(), 3600);
    assert_eq!(
        both.warnings,
        [
            "`ROBOTS_TTL_SECONDS` wins over `ROBOTS_CACHE_TTL_SEC`: they set `robots.ttl` differently"
        ]
    );
    let same = settle("", "ROBOTS_TTL_SECONDS=600 ROBOTS_CACHE_TTL_SEC=600", &[]);
    assert!(same.warnings.is_empty());
    let second = settle("", "ROBOTS_CACHE_TTL_SEC=600", &[]);
    assert_eq!(second.policy.robots.ttl.as_secs(), 600);
}

#[test]
fn ours_win_over_inherited_ones_and_a_difference_is_told() {
    let settled = settle("", "ROBOTS_TTL_SECONDS=7200 CURTSY_ROBOTS_TTL=1h", &[]);
    assert_eq!(settled.policy.robots.ttl.as_secs(), 3600);
    assert_eq!(
        settled.warnings,
        ["`CURTSY_ROBOTS_TTL` wins over `ROBOTS_TTL_SECONDS`: they set `robots.ttl` differently"]
    );
}

#[test]
fn variables_of_the_audit_system() {
    let all = "MAX_PAGES=50 MAX_SCAN_TIME_MINUTES=5 USER_AGENT=Probe/2.1";
    let p = settle("preset = 'audit'", all, &[]).policy;
    assert_eq!(p.budget.pages, Some(50));
    assert_eq!(p.budget.time.map(|t| t.as_secs()), Some(300));
    assert_eq!(p.identity.product, "Probe/2.1");
}

#[test]
fn variables_of_the_fleet_system() {
    let all = "PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS=20.5 PAGE_FETCHER_MAX_RETRIES=4 \
        PAGE_FETCHER_RETRY_BACKOFF_BASE_SECONDS=3.0 PAGE_FETCHER_USER_AGENT=Fetch/9 PAGE_FETCHER_MAX_REDIRECTS=2 \
        PAGE_FETCHER_CACHE_TTL_SECONDS=120 PAGE_FETCHER_RATE_LIMIT_PER_SECOND=0.5 \
        PAGE_FETCHER_CIRCUIT_BREAKER_FAILURE_THRESHOLD=7 PAGE_FETCHER_CIRCUIT_BREAKER_INITIAL_BACKOFF_SECONDS=10 \
        PAGE_FETCHER_CIRCUIT_BREAKER_MAX_BACKOFF_SECONDS=100 PAGE_FETCHER_CIRCUIT_BREAKER_BACKOFF_MULTIPLIER=1.5 \
        PAGE_FETCHER_ROBOTS_TXT_CACHE_TTL_SECONDS=43200 page_fetcher_contact=ops@example.org \
        PAGE_FETCHER_REDIS_URL=redis://localhost:6379";
    let settled = settle("preset = 'fleet'", all, &[]);
    let expected = Policy::parse(
        "preset = 'fleet'\n\
         [identity]\nproduct = 'Fetch/9'\ncontact = 'ops@example.org'\n\
         [robots]\nttl = '12h'\n[pace]\ndelay = '2s'\n\
         [backoff]\ncurve = { base = '3s' }\n[retry]\nmax = 4\ncurve = { base = '3s' }\n\
         [breaker]\nfailures = 7\ncurve = { base = '10s', growth = 'x1.5', cap = '100s' }\n\
         [cache]\nttl = '2m'\n[body]\nredirects_max = 2\n[timeout]\nwhole = '20500ms'",
    );
    assert_eq!(Ok(settled.policy), expected);
    assert!(settled.warnings.is_empty(), "{:?}", settled.warnings);
}

#[test]
fn inherited_variables_are_read_only_by_their_preset() {
    for variable in INHERITED {
        for preset in Preset::ALL.iter().filter(|preset| **preset != variable.preset) {
            let environment = variables(&format!("{}=nonsense", variable.name));
            let layers = Layers {
                preset: Some(*preset),
                environment: Some(&environment),
                ..Layers::default()
            };
            let policy = layers.settle(Reach::Public).unwrap().policy;
            assert_eq!(policy, Policy::preset(*preset), "{} in {}", variable.name, preset.name());
        }
        for key in variable.keys {
            assert!(FIELDS.iter().any(|field| field.key == *key), "{key}");
        }
    }
}

#[test]
fn a_variable_that_will_not_do_is_named() {
    refused(
        Preset::Careful,
        "CURTSY_ROBOTS_TTL=soon",
        "variable `CURTSY_ROBOTS_TTL`: `robots.ttl` is `soon`, expected a span such as `200ms`, `3s`, `15m` or `1h30m`, from `1s` to `24h`",
    );
    refused(
        Preset::Audit,
        "MAX_PAGES=many",
        "variable `MAX_PAGES`: `MAX_PAGES` is `many`, expected a whole number that gives `budget.pages` a whole number from 1 to 1000000000000, or `none`",
    );
    refused(
        Preset::Careful,
        "CURTSY_PRESET=polite CURTSY_MODE=fast",
        "variable `CURTSY_PRESET`: `preset` is `polite`, expected `careful`, `audit`, `warehouse`, `fleet` or `survey`\n\
         variable `CURTSY_MODE`: `mode` is `fast`, expected `light`, `standard` or `user-assisted`",
    );
    refused(
        Preset::Careful,
        "ROBOTS_DEFAULT_DELAY_SECONDS=0.05",
        "variable `ROBOTS_DEFAULT_DELAY_SECONDS`: `pace.delay` is `50ms`, expected at least `200ms` for public addresses\n\
         hint: for your own site write `[host.\"example.org\"]` and `delay = \"50ms\"`; inside `--allow-net` any delay goes",
    );
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_near_miss_is_told() {
    let mut environment = variables("CURTSY_ROBOT_TTL=1h CURTSY_CONFORMANCE=/data");
    environment.insert("CURTSY_PACE_DELAY".to_owned(), "  ".to_owned());
    let layers = Layers { environment: Some(&environment), ..Layers::default() };
    let settled = layers.settle(Reach::Public).unwrap();
    assert_eq!(settled.policy, Policy::preset(Preset::Careful));
    assert_eq!(
        settled.warnings,
        ["`CURTSY_ROBOT_TTL` sets nothing; did you mean `CURTSY_ROBOTS_TTL`?"]
    );
}

#[test]
fn a_flag_that_will_not_do_is_named() {
    let flags = [
        FlagValue { flag: "--delay", key: "pace.delay", value: "fast" },
        FlagValue { flag: "--set", key: "pace.dely", value: "1s" },
    ];
    let error = Layers { flags: &flags, ..Layers::default() }.settle(Reach::Public).unwrap_err();
    assert_eq!(
        error.to_string(),
        "flag `--delay`: `pace.delay` is `fast`, expected a span such as `3s`, or a range such as `200ms..500ms`, up to `24h`\n\
         flag `--set`: `pace.dely` is not a field of a policy\nhint: did you mean `pace.delay`?"
    );
}

#[test]
fn inside_an_allowed_net_any_delay_goes() {
    let flags = [FlagValue { flag: "--delay", key: "pace.delay", value: "0s" }];
    let layers = Layers { flags: &flags, ..Layers::default() };
    assert!(layers.settle(Reach::Public).is_err());
    let policy = layers.settle(Reach::AllowedNet).unwrap().policy;
    assert!(policy.check_delay(Some("example.org"), Reach::Public).is_err());
    assert!(policy.check_delay(Some("example.org"), Reach::AllowedNet).is_ok());
}

#[test]
fn without_a_contact_the_user_agent_says_what_to_set_and_why() {
    let error = Policy::preset(Preset::Careful).user_agent().unwrap_err().to_string();
    for part in ["reach a person", "hint: ", "--contact", "CURTSY_CONTACT", "[identity]"] {
        assert!(error.contains(part), "{error}");
    }
}
