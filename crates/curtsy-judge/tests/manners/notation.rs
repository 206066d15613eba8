//! A log in one line: `0s robots ok | 3s GET /a 200 | 5.9s GET /b 200`.
//!
//! An entry is a time, the request, the status (`none`: no response) and options (`took=2s`,
//! `ra=60`, `host=b.test`, `cut`, …). Some entries are no exchanges: `stop`, `lift`, `kill=2`,
//! `worker-lost=1`, `store-loss`, `pause=5s`, `work`, `no-work`, `end`, and `accept=1` and `close=1`
//! for the connection that exchanges name with `conn=1`.

use std::time::Duration;

use curtsy_judge::{
    Access, CachePromise, ConnectionChange, ConnectionEvent, CrawlerFault, Exchange, HostManners,
    Judge, JudgeReport, LogDetail, LogScheme, Manners, Rule, WaitCurve, WaitGrowth,
};

pub(crate) const AGENT: &str = "curtsy/0.1 (+me@example.org)";

/// Judges the log and compares the broken rules: `clean`, or their names in order.
#[track_caller]
pub(crate) fn check(promise: &str, log: &str, broken: &str) {
    let report = judged(promise, log);
    let found = broken_rules(&report);
    assert_eq!(found, broken, "{promise}: {log}\n{}", printed(&report));
}

/// Does the same as `check`, and compares the excused rules too.
#[track_caller]
pub(crate) fn check_excused(promise: &str, log: &str, broken: &str, excused: &str) {
    let report = judged(promise, log);
    let found: Vec<String> = Rule::ALL
        .iter()
        .filter(|&&rule| rule != Rule::P13 && report.rule(rule).excused > 0)
        .map(Rule::to_string)
        .collect();
    assert_eq!(found.join(" "), excused, "{promise}: {log}\n{}", printed(&report));
    assert_eq!(broken_rules(&report), broken, "{promise}: {log}\n{}", printed(&report));
}

pub(crate) fn judged(promise: &str, log: &str) -> JudgeReport {
    let mut judge = Judge::new(manners(promise));
    if promise.contains("coarse") {
        judge.detail(LogDetail { resolution: Duration::from_secs(1), ends: false, headers: false });
    }
    for entry in log.split('|') {
        tell(&mut judge, entry);
    }
    judge.finish()
}

pub(crate) fn printed(report: &JudgeReport) -> String {
    let mut out = Vec::new();
    report.print(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn broken_rules(report: &JudgeReport) -> String {
    let broken: Vec<String> = Rule::ALL
        .iter()
        .filter(|&&rule| report.rule(rule).violations > 0)
        .map(Rule::to_string)
        .collect();
    if broken.is_empty() { "clean".to_owned() } else { broken.join(" ") }
}

fn tell(judge: &mut Judge, entry: &str) {
    let mut words = entry.split_whitespace();
    let at = time(words.next().expect("a time"));
    let what = words.next().expect("what happened");
    let mut rest: Vec<&str> = words.collect();
    let host = take(&mut rest, "host=").unwrap_or("a.test");
    let (name, value) = what.split_once('=').unwrap_or((what, "0"));
    let in_flight = value.parse().unwrap_or(0);
    match name {
        "stop" => judge.stop_order(host, at),
        "lift" => judge.stop_lifted(host, at),
        "kill" => judge.fault(CrawlerFault::Kill { at, in_flight }),
        "worker-lost" => judge.fault(CrawlerFault::WorkerLost { at, in_flight }),
        "store-loss" => judge.fault(CrawlerFault::StoreLoss { at }),
        "pause" => judge.fault(CrawlerFault::Pause { from: at, to: at + time(value) }),
        "net-down" => judge.fault(CrawlerFault::NetworkDown { from: at, to: at + time(value) }),
        "accept" | "close" | "leave" => {
            let change = match name {
                "accept" => ConnectionChange::Accepted,
                "close" => ConnectionChange::ClosedByServer,
                _ => ConnectionChange::ClosedByClient,
            };
            judge.see(ConnectionEvent {
                at,
                change,
                conn: value.parse().expect("the number of a connection"),
                port: 80,
                host: (host != "?").then(|| host.into()),
                read_late: rest.contains(&"late"),
                ..ConnectionEvent::default()
            });
        }
        "work" => judge.work_waiting(host, at),
        "end" => judge.log_goes_on_to(at),
        "no-work" => judge.work_gone(host, at),
        _ => judge.see(exchange(at, what, host, rest)),
    }
}

fn exchange(at: u64, what: &str, host: &str, mut rest: Vec<&str>) -> Exchange {
    let (method, target) = match what {
        "robots" => ("GET", "/robots.txt"),
        method => (method, rest.remove(0)),
    };
    let status = match rest.remove(0) {
        "ok" => Some(200),
        "none" => None,
        status => Some(status.parse().unwrap_or_else(|_| panic!("status `{status}`"))),
    };
    let mut x = Exchange::get(at, host, target, status.unwrap_or(0));
    x.status = status;
    x.complete = status.is_some();
    x.method = method.into();
    x.user_agent = Some(AGENT.into());
    if what == "robots" && status == Some(200) {
        x.robots_body = Some(Vec::new().into());
    }
    for option in rest {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let text = || Some(value.into());
        match name {
            "took" => x.end = at + time(value),
            "ra" => x.retry_after = Some(value.replace('_', " ").into()),
            "date" => x.date = Some(value.replace('_', " ").into()),
            "cc" => x.cache_control = text(),
            "etag" => x.etag = text(),
            "lm" => x.last_modified = text(),
            "inm" => x.if_none_match = text(),
            "ims" => x.if_modified_since = text(),
            "loc" => x.location = text(),
            "body" => {
                let rules = value.replace(';', "\n");
                x.robots_body = Some(format!("User-agent: *\n{rules}\n").into_bytes().into());
            }
            "cut" => x.complete = false,
            "late" => x.read_late = true,
            "cookie" => x.cookie = true,
            "auth" => x.authorization = true,
            "local" => x.local = Some(value.parse().unwrap()),
            "conn" => x.conn = value.parse().unwrap(),
            "https" => (x.scheme, x.port) = (LogScheme::Https, 443),
            "port" => x.port = value.parse().unwrap(),
            "ua" => x.user_agent = Some(value.replace('_', " ").into()),
            "no-ua" => x.user_agent = None,
            _ => panic!("option `{option}`"),
        }
    }
    x
}

/// Reads `careful slots=2 delay=1s…`: a preset, and the values that differ.
pub(crate) fn manners(promise: &str) -> Manners {
    let mut manners = Manners::default();
    let curve =
        |base: &str, growth, cap: &str| WaitCurve { base: span(base), growth, cap: span(cap) };
    for word in promise.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "careful" | "coarse" => {}
            "fleet" => {
                manners.backoff = curve("2s", WaitGrowth::Times(2.0), "300s");
                manners.backs_off_on_403 = false;
                manners.unreachable = Access::Allow;
                manners.robots_ttl = span("1d");
                manners.adaptive = None;
                (manners.delay_min, manners.delay_max) = (span("1s"), span("1s"));
            }
            "warehouse" => {
                manners.backoff = curve("1s", WaitGrowth::Fibonacci, "600s");
                manners.backs_off_on_403 = false;
                manners.slots = 2;
                (manners.delay_min, manners.delay_max) = (span("1s"), span("1s"));
            }
            "delay" => (manners.delay_min, manners.delay_max) = (span(value), span(value)),
            "delay-max" => manners.delay_max = span(value),
            "slots" => manners.slots = value.parse().unwrap(),
            "address" => manners.address_slots = Some(value.parse().unwrap()),
            "allow" => manners.unreachable = Access::Allow,
            "forbidden-deny" => manners.forbidden = Access::Deny,
            "ttl" => manners.robots_ttl = span(value),
            "retries" => manners.retries = value.parse().unwrap(),
            "pages" => manners.pages = Some(value.parse().unwrap()),
            "product" => manners.product = Some(value.to_owned()),
            "not-adaptive" => manners.adaptive = None,
            "cache" => {
                manners.cache_mode = match value {
                    "off" => CachePromise::Off,
                    "validators" => CachePromise::Validators,
                    "fixed" => CachePromise::Fixed,
                    _ => CachePromise::Http,
                }
            }
            "own-site" => {
                let own = HostManners {
                    delay: Some((Duration::ZERO, Duration::ZERO)),
                    slots: Some(4),
                    pages: Some(2),
                    ..HostManners::default()
                };
                manners.hosts.insert("Own.test.".to_owned(), own);
            }
            _ => panic!("promise `{word}`"),
        }
    }
    manners
}

fn take<'a>(words: &mut Vec<&'a str>, prefix: &str) -> Option<&'a str> {
    let place = words.iter().position(|word| word.starts_with(prefix))?;
    words.remove(place).strip_prefix(prefix)
}

fn span(text: &str) -> Duration {
    Duration::from_micros(time(text))
}

/// Returns `3s`, `5.9s`, `250ms`, `15m`, `1h+3s` in microseconds.
pub(crate) fn time(text: &str) -> u64 {
    text.split('+')
        .map(|part| {
            let unit = part.find(|c: char| c.is_ascii_alphabetic()).expect("a unit");
            let factor = match &part[unit..] {
                "us" => 1.0,
                "ms" => 1e3,
                "s" => 1e6,
                "m" => 60e6,
                "h" => 3600e6,
                "d" => 86_400e6,
                unit => panic!("unit `{unit}`"),
            };
            (part[..unit].parse::<f64>().expect("a number") * factor).round() as u64
        })
        .sum()
}
