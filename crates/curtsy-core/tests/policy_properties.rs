//! Properties of every policy.

use std::time::Duration;

use curtsy_core::policy::{
    AgentMatch, Backoff, BasicAuth, BodyPolicy, Breaker, Budget, CachePolicy, Curve, FIELDS, Field,
    HostOverride, Identity, Layers, Pace, Policy, Preset, Reach, Retry, Risk, RobotsPolicy, Secret,
    Slots, Timeouts, TrapDetection, TrapPolicy, ValueKind, write_range, write_size, write_span,
};
use proptest::prelude::*;

/// Returns texts that the kind accepts.
fn fitting(kind: ValueKind) -> BoxedStrategy<String> {
    let spans = |min: Duration, max: Duration| {
        (min.as_micros() as u64..=max.as_micros() as u64).prop_map(Duration::from_micros)
    };
    let or = |texts: BoxedStrategy<String>, absent: Option<&'static str>| match absent {
        Some(word) => prop_oneof![texts, Just(word.to_owned())].boxed(),
        None => texts,
    };
    match kind {
        ValueKind::Span { min, max, absent } => {
            or(spans(min, max).prop_map(write_span).boxed(), absent)
        }
        ValueKind::Range { max } => {
            (spans(Duration::from_millis(200), max / 2), spans(Duration::ZERO, max / 2))
                .prop_map(|(low, more)| write_range((low, low + more)))
                .boxed()
        }
        ValueKind::ThreeSpans { max } => proptest::collection::vec(spans(Duration::ZERO, max), 3)
            .prop_map(|mut spans| {
                spans.sort();
                spans.into_iter().map(write_span).collect::<Vec<_>>().join(",")
            })
            .boxed(),
        ValueKind::Count { min, max, absent } => {
            or((min..=max).prop_map(|count| count.to_string()).boxed(), absent)
        }
        ValueKind::Size { min, max } => (min..=max).prop_map(write_size).boxed(),
        ValueKind::Switch => any::<bool>().prop_map(|on| on.to_string()).boxed(),
        ValueKind::Word(words) => proptest::sample::select(words).prop_map(str::to_owned).boxed(),
        ValueKind::Growth => prop_oneof![
            Just("fibonacci".to_owned()),
            (1.0f64..100.0).prop_map(|factor| format!("x{factor}"))
        ]
        .boxed(),
        ValueKind::Jitter => (0u8..=50, 0u8..=50)
            .prop_map(|(low, more)| match (low, low + more) {
                (_, 0) => "none".to_owned(),
                (low, high) => format!("{low}..{high}%"),
            })
            .boxed(),
        ValueKind::Product => "[A-Za-z][A-Za-z_-]{0,12}/[0-9A-Za-z.+_-]{1,8}".boxed(),
        ValueKind::Contact => or("[a-z.]{1,8}@[a-z]{1,8}\\.org".boxed(), Some("none")),
        ValueKind::MediaTypes => {
            proptest::collection::vec("[a-z]{1,6}/(\\*|[a-z0-9.+-]{1,6})", 0..4)
                .prop_map(|types| types.join(","))
                .boxed()
        }
        ValueKind::Secret | ValueKind::Headers | ValueKind::BasicAuth | ValueKind::Origin => {
            unreachable!("hosts have these, in their sections")
        }
    }
}

/// Returns a preset with some fields changed. Caps follow their bases, since a file in which they
/// do not is refused.
fn policies() -> impl Strategy<Value = Policy> {
    let change = (0..FIELDS.len()).prop_flat_map(|i| (Just(i), fitting(FIELDS[i].kind)));
    let changes = proptest::collection::vec(change, 0..6);
    let hosts = proptest::collection::btree_map("[a-z]{1,8}\\.test", host_sections(), 0..3);
    (proptest::sample::select(Preset::ALL), changes, hosts).prop_map(|(preset, changes, hosts)| {
        let mut policy = Policy::preset(preset);
        for (index, text) in changes {
            let field: &Field = &FIELDS[index];
            let flag =
                curtsy_core::policy::FlagValue { flag: "--set", key: field.key, value: &text };
            let file = policy.to_toml();
            let layers = Layers { file: Some(&file), flags: &[flag], ..Layers::default() };
            match layers.settle(Reach::Public) {
                Ok(settled) => policy = settled.policy,
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains("expected at least"), "{} = {text}: {error}", field.key);
                }
            }
        }
        policy.host = hosts;
        policy
    })
}

fn secrets() -> impl Strategy<Value = Secret> {
    prop_oneof!["[A-Z_]{1,8}".prop_map(Secret::Env), "/[ -~]{0,20}".prop_map(Secret::File)]
}

fn host_sections() -> impl Strategy<Value = HostOverride> {
    let delay = proptest::option::of((0u64..1_000_000, 0u64..1_000_000));
    use proptest::option::of;
    let headers = proptest::collection::btree_map("X-[a-z]{1,8}", secrets(), 0..5);
    let login = of(("[a-z '\"\\\\]{1,8}", secrets()));
    let traps = of(proptest::sample::select(TrapDetection::ALL));
    (delay, of(1u8..64), any::<Option<bool>>(), of(0u8..20), traps, headers, login, of(secrets()))
        .prop_map(|(delay, slots, adaptive, retries, traps, headers, login, cookie)| HostOverride {
            headers: Some(Vec::from_iter(headers)).filter(|headers| !headers.is_empty()),
            basic_auth: login.map(|(user, password)| BasicAuth { user, password }),
            cookie,
            origin: None,
            plain_http: None,
            delay: delay
                .map(|(low, more)| (Duration::from_micros(low), Duration::from_micros(low + more))),
            slots,
            adaptive,
            retries,
            traps,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_policy_reads_back_as_itself(policy in policies()) {
        let text = policy.to_toml();
        let read = Policy::parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&policy), "\n{}", text);
        prop_assert_eq!(read.unwrap().hash(), policy.hash());
    }

    #[test]
    fn policies_that_differ_have_different_hashes(a in policies(), b in policies()) {
        let same = a == b;
        prop_assert_eq!(same, a.hash() == b.hash());
        if a.preset == b.preset {
            prop_assert_eq!(same, a.diff(&b).is_empty());
        }
    }

    #[test]
    fn any_text_is_a_policy_or_an_error_that_says_something(text in "\\PC*") {
        if let Err(error) = Policy::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_lines_of_known_words_are_a_policy_or_an_error_with_its_place(
        lines in proptest::collection::vec(
            "(\\[|\\[\\[)?(robots|pace|host|slots|x)?(\\.)?(ttl|delay|curve|per_host|\"a\\.b\")?\\]?( = )?('1h'|\\{|\\}|3|true|'\n')?",
            0..8)
    ) {
        let text = lines.join("\n");
        if let Err(error) = Policy::parse(&text) {
            prop_assert!(error.faults.iter().all(|fault| fault.at.is_some()), "{}", error);
        }
    }

    #[test]
    fn every_kind_reads_what_it_writes(index in 0..FIELDS.len(), seed in any::<u64>()) {
        let kind = FIELDS[index].kind;
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            ProptestConfig::default(),
            proptest::test_runner::TestRng::from_seed(
                proptest::test_runner::RngAlgorithm::ChaCha,
                &std::array::from_fn::<u8, 32, _>(|i| seed.to_le_bytes()[i % 8]),
            ),
        );
        let text = fitting(kind).new_tree(&mut runner).unwrap().current();
        let value = kind.read_text(&text).unwrap_or_else(|| panic!("{}: {text}", FIELDS[index].key));
        prop_assert_eq!(kind.read_text(&kind.write_text(&value)), Some(value));
    }
}

#[test]
fn one_changed_field_changes_the_hash() {
    let careful = Policy::preset(Preset::Careful);
    let mut seen = vec![careful.hash()];
    for preset in Preset::ALL.iter().skip(1) {
        seen.push(Policy::preset(*preset).hash());
    }
    let mut contact = careful.clone();
    contact.identity.contact = Some("me@example.org".to_owned());
    seen.push(contact.hash());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6);
    assert_eq!(careful.hash_hex().len(), 32);
}

#[test]
fn a_host_section_that_sets_nothing_is_a_difference() {
    let careful = Policy::preset(Preset::Careful);
    let mut named = careful.clone();
    named.host.insert("a.test".to_owned(), HostOverride::default());
    assert_ne!(careful.hash(), named.hash());
    let found = careful.diff(&named);
    let said: Vec<_> = found.iter().map(|d| (&*d.key, &*d.left, &*d.right)).collect();
    assert_eq!(said, [("host.\"a.test\"", "unset", "set")]);
}

/// A new field of the struct does not compile here until it is counted, and the count is wrong
/// until the field is in the list.
#[test]
fn every_field_of_the_struct_is_in_the_list() {
    macro_rules! count {
        ($($name:ident),+ $(,)?) => { [$({ let _ = &$name; 1usize }),+].len() };
    }
    let curve = |curve: Curve| {
        let Curve { base, growth, cap, jitter_percent } = curve;
        count!(base, growth, cap, jitter_percent)
    };
    let Policy {
        preset: _,
        mode: _,
        identity: Identity { product, contact },
        robots:
            RobotsPolicy { ttl, deny_ttl, unreachable, forbidden, agent_match, keep, chain_deadline },
        pace: Pace { delay_min, delay_max: _, adaptive, adaptive_max, crawl_delay_park },
        slots: Slots { per_host, wait, per_address, total_connections, body_memory },
        backoff: Backoff { curve: backoff, forbidden: on_forbidden },
        retry: Retry { max, curve: retry },
        breaker: Breaker { failures, curve: breaker },
        risk: Risk { active, early_stop, daily_percent, delay },
        cache: CachePolicy { mode, ttl: cache_ttl, stale_while_revalidate, noindex },
        budget: Budget { pages, time, depth, warn_percent },
        traps,
        body: BodyPolicy { decoded_max, accept, reject, keep: keep_body, redirects_max },
        timeout: Timeouts { connect, tls, first_byte, whole },
        patience,
        host: _,
    } = Policy::preset(Preset::Careful);
    let TrapPolicy {
        detect,
        vain_max,
        vain_host_max,
        pages_max,
        depth_max: trap_depth,
        rows_max,
        url_bytes_max,
        segments_max,
        sessions_max,
    } = traps;
    let counted = count!(product, contact)
        + count!(ttl, deny_ttl, unreachable, forbidden, agent_match, keep, chain_deadline)
        + count!(delay_min, adaptive, adaptive_max, crawl_delay_park)
        + count!(per_host, wait, per_address, total_connections, body_memory)
        + count!(on_forbidden, max, failures)
        + curve(backoff)
        + curve(retry)
        + curve(breaker)
        + count!(active, early_stop, daily_percent, delay)
        + count!(mode, cache_ttl, stale_while_revalidate, noindex)
        + count!(pages, time, depth, warn_percent)
        + count!(detect, vain_max, vain_host_max, pages_max, trap_depth, rows_max)
        + count!(url_bytes_max, segments_max, sessions_max)
        + count!(decoded_max, accept, reject, keep_body, redirects_max)
        + count!(connect, tls, first_byte, whole, patience);
    assert_eq!(counted, FIELDS.len());
    assert_eq!(AgentMatch::WORDS.len(), AgentMatch::ALL.len());
}
