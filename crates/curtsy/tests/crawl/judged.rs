//! Crawls of many hosts with moods of their own, judged by the hosts' own log.
//!
//! Real time and real sockets. The delays are those of the presets, scaled down by a policy file; everything else is as the preset has it.

use std::time::Duration;

use curtsy_core::evidence::decode;
use curtsy_core::host::Verdict;
use curtsy_core::time::Time;
use curtsy_judge::Exchange;
use curtsy_lab::sites::{Range, Scene};
use rusqlite::Connection;

use crate::harness::{SCALED, Town, assert_clean, judge, number, policy, texts};

/// Hosts with mixed moods, each at its own address.
const HOSTS: u32 = 36;

fn check(preset: &str, scaled: &str) {
    let mut town = Town::new(Scene::mixed(HOSTS));
    let seeds = town.seeds();
    std::fs::write(town.path("p.toml"), format!("preset = '{preset}'\n{scaled}")).unwrap();
    let args =
        ["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--patience", "5s", "--quiet"];
    let ran = town.crawl(&args);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?} {}", ran.code, ran.err);
    let db = town.db("crawl.db");
    let hosts = "SELECT count(DISTINCT host) FROM pages WHERE decision = 'fetched'";
    assert!(number(&db, hosts) >= 25, "{} hosts\n{}", number(&db, hosts), ran.err);
    assert_findings_decide(&db);
    let policy = policy(&town.path("p.toml"));
    let log = town.close();
    assert!(log.len() > 200, "{} exchanges", log.len());
    assert_clean(&judge(log, &policy, &[]));
}

/// What is kept of every decision leads to the same decision again.
fn assert_findings_decide(db: &Connection) {
    let at = "CAST(strftime('%s', at) AS INTEGER) * 1000000 + CAST(substr(at, 21, 6) AS INTEGER)";
    // What failed before it was sent was on its way to a turn that had not come yet.
    let sql = format!(
        "SELECT url, decision, gate, findings, {at} FROM decisions WHERE http_status IS NOT NULL OR decision = 'refused'"
    );
    let mut rows = db.prepare(&sql).unwrap();
    let mut rows = rows.query([]).unwrap();
    let mut decided = 0;
    while let Some(row) = rows.next().unwrap() {
        let (url, decision): (String, String) = (row.get_unwrap(0), row.get_unwrap(1));
        let gate: Option<String> = row.get_unwrap(2);
        let findings = decode(row.get_ref_unwrap(3).as_blob().unwrap()).unwrap();
        let (verdict, worst) = findings.worst();
        match decision.as_str() {
            "refused" => {
                let refused = (verdict, Some(worst.name()));
                assert_eq!(refused, (Verdict::Never, gate.as_deref()), "{url}: {findings:?}");
            }
            "fetched" | "confirmed" | "retry" | "follow" => {
                // Its turn had come when it was through.
                let now = Time::from_micros(row.get_unwrap::<_, i64>(4) as u64);
                let open = matches!(verdict, Verdict::Go | Verdict::NotBefore(_))
                    && verdict <= Verdict::NotBefore(now);
                assert!(open, "{url}, {decision} at {now:?}: {findings:?}");
            }
            _ => continue,
        }
        decided += 1;
    }
    assert!(decided > 200, "{decided} decisions");
}

#[test]
fn careful_keeps_its_manners() {
    check("careful", &format!("[pace]\ndelay = '150ms'\n{SCALED}"));
}

#[test]
fn audit_keeps_its_manners() {
    check("audit", &format!("[pace]\ndelay = '60ms..150ms'\n{SCALED}"));
}

#[test]
fn warehouse_keeps_its_manners() {
    check("warehouse", &format!("[pace]\ndelay = '100ms'\n{SCALED}"));
}

#[test]
fn survey_keeps_its_manners() {
    // Twenty-five pages are few for thirty-six hosts.
    check("survey", &format!("[budget]\npages = 500\n{SCALED}"));
}

#[test]
fn two_crawls_at_once_have_one_pace() {
    let mut town = Town::new(Scene::plain(12, 40, 5, 500));
    std::fs::write(town.path("p.toml"), "preset = 'warehouse'\n[pace]\ndelay = '100ms'\n").unwrap();
    // Each has pages of its own on the same hosts: what one has fetched, the other need not ask for.
    for half in 0..2 {
        let pages = (0..12).flat_map(|host| (1..30).map(move |page| (host, page)));
        let mine = pages.filter(|(_, page)| page % 2 == half);
        let seeds: Vec<_> =
            mine.map(|(host, page)| town.url(host, &format!("/p/{page}"))).collect();
        std::fs::write(town.path(&format!("{half}.txt")), seeds.join("\n")).unwrap();
    }
    let args = |from, into| {
        ["--from", from, "--policy", "p.toml", "--no-links", "--no-sitemaps", "--into", into]
    };
    let mut other = town.start_crawl(&args("1.txt", "other.db"));
    town.crawl(&args("0.txt", "crawl.db")).ends(0);
    assert!(other.wait().unwrap().success());
    let fetched = "SELECT count(*) FROM pages WHERE decision = 'fetched'";
    assert_eq!(
        number(&town.db("crawl.db"), fetched) + number(&town.db("other.db"), fetched),
        12 * 29
    );
    let policy = policy(&town.path("p.toml"));
    assert_clean(&judge(town.close(), &policy, &[]));
}

/// "After 10 s without a slot the finding `slot_timeout` is recorded and the URL goes back to the queue": here after 300 ms, with two
/// crawls that share a host's two slots.
#[test]
fn a_url_that_waits_too_long_for_a_slot_says_so() {
    let mut scene = Scene::plain(1, 9, 3, 500);
    let slow = Duration::from_secs(2);
    scene.hosts[0].think = Range { min: slow, max: slow };
    let mut town = Town::new(scene);
    let settings = "preset = 'audit'\n[pace]\ndelay = '0s'\n[slots]\nwait = '300ms'\n";
    std::fs::write(town.path("p.toml"), settings).unwrap();
    for half in 0..2 {
        let seeds: Vec<_> =
            (0..4).map(|n| town.url(0, &format!("/p/{}", 2 * n + half + 1))).collect();
        std::fs::write(town.path(&format!("{half}.txt")), seeds.join("\n")).unwrap();
    }
    let args = |from, into| {
        ["--from", from, "--policy", "p.toml", "--no-links", "--no-sitemaps", "--into", into]
    };
    let mut other = town.start_crawl(&args("1.txt", "other.db"));
    town.crawl(&args("0.txt", "crawl.db")).ends(0);
    assert!(other.wait().unwrap().success());
    let dbs = [town.db("crawl.db"), town.db("other.db")];
    let waited = "SELECT url FROM decisions WHERE error = 'slot_timeout' AND gate = 'slots'";
    let (at, waited) = dbs
        .iter()
        .enumerate()
        .find_map(|(at, db)| texts(db, waited).into_iter().next().map(|url| (at, url)))
        .expect("one of eight waited longer than 300 ms");
    let file = ["crawl.db", "other.db"][at];
    let why = town.run(&["why", &waited, "--in", file]).ends(0);
    assert!(why.out.contains("Timeout waiting for host concurrency slot"), "{}", why.out);
    let fetched = "SELECT count(*) FROM pages WHERE decision = 'fetched'";
    assert_eq!(dbs.iter().map(|db| number(db, fetched)).sum::<i64>(), 8);
    let policy = policy(&town.path("p.toml"));
    assert_clean(&judge(town.close(), &policy, &[]));
}

/// As many requests as were open at once.
fn most_at_once(log: &[Exchange]) -> usize {
    let open_at = |at: u64| log.iter().filter(|x| x.start <= at && at < x.end).count();
    log.iter().map(|x| open_at(x.start)).max().unwrap_or(0)
}

#[test]
fn an_address_of_ones_own_is_counted_when_the_user_says_so() {
    let crawl = |think: &str, more: &[&str]| {
        let hosts = (0..20).map(|i| {
            let think = format!("think = {{ min = '{think}', max = '{think}' }}");
            format!(
                "[[host]]\nname = 'h{i}.test'\naddress = '127.0.0.1'\n{think}\npages.count = 1\n"
            )
        });
        let mut town = Town::new(Scene::read(&hosts.collect::<String>()).unwrap());
        let served = town.sites.as_ref().unwrap().hosts();
        let seeds: Vec<String> = served.iter().map(|host| host.url.clone()).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let way = [
            "--resolve",
            "*.test=127.0.0.1",
            "--policy",
            "warehouse",
            "--delay",
            "0s",
            "--no-sitemaps",
        ];
        town.crawl(&[&seeds[..], &way, more].concat()).ends(0);
        let log = town.close();
        assert!(log.iter().filter(|x| &*x.target == "/").count() == 20);
        most_at_once(&log)
    };
    let most = crawl("100ms", &["--set", "slots.per_address=3"]);
    assert!((1..=3).contains(&most), "{most} at once");
    // The preset's sixteen are for other people's machines. All twenty are asked while the first still thinks.
    let most = crawl("3s", &[]);
    assert!(most > 16, "{most} at once");
}
