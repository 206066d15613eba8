//! Schedulers: what is due is queued once, whoever of them runs, and workers fetch what sitemaps list.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};

use curtsy_core::time::Time;
use curtsy_lab::sites::{Host, Scene, Sitemap, SitemapKind};
use curtsy_store::redis::schedule::{Became, Leadership, Push, Schedule, Seat, Turn};
use curtsy_store::redis::{ClientKind, LinkOptions, RedisLink};
use curtsy_testkit::services::{Redis, free_port};
use redis::Commands;
use serde_json::Value;

use crate::fleet::{Fleet, Running};

/// How long a scheduler may take for what a test waits for.
const SOON: Duration = Duration::from_secs(60);
/// The moments of seeds.
const MOMENTS: &str = "curtsy:schedule";
/// Who leads.
const LEADER: &str = "curtsy:schedule:leader";
/// Where seeds may be queued.
const LISTS: [&str; 3] = ["crawler_queue:high", "crawler_queue", "crawler_queue:low"];
const HOUR: i64 = 3_600_000_000;

/// A fleet whose scheduler has a file of its own.
struct Desk {
    fleet: Fleet,
}

impl Desk {
    fn new(seeds: &str) -> Desk {
        let fleet = Fleet::over(Scene::plain(1, 2, 1, 200), Redis::forgetful());
        Desk { fleet }.with(seeds)
    }

    /// The same with other seeds.
    fn with(self, seeds: &str) -> Desk {
        std::fs::write(self.fleet.town.path("seeds.yaml"), format!("seeds:\n{seeds}")).unwrap();
        self
    }

    /// So many pages, each due so often.
    fn pages(count: usize, every: &str) -> Desk {
        let seed = |n| format!("  - {{url: 'https://a.test/{n}', every: {every}}}\n");
        Desk::new(&(0..count).map(seed).collect::<String>())
    }

    fn report(&self, how: &str) -> Report {
        let ran = self.fleet.run(&["schedule", "seeds.yaml", how, "--json"]).ends(0);
        Report(serde_json::from_str(&ran.out).unwrap())
    }

    fn once(&self) -> Report {
        self.report("--once")
    }

    /// A scheduler that runs until it is killed, and writes its own log.
    fn start(&self, log: &str) -> Running {
        let file = std::fs::File::create(self.fleet.town.path(log)).unwrap();
        let mut program = self.fleet.program(&["schedule", "seeds.yaml"]);
        Running(program.stdout(Stdio::null()).stderr(file).spawn().unwrap())
    }

    /// The lines of a log with this event.
    fn lines(&self, log: &str, event: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.fleet.town.path(log)).unwrap_or_default();
        // The last line of somebody who was killed may be cut off.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    }

    /// Takes everything that is queued, as workers do.
    fn pop(&self) -> Vec<String> {
        let mut db = self.fleet.connection();
        let mut all = Vec::new();
        for list in LISTS {
            while let Some(entry) = db.lpop::<_, Option<String>>(list, None).unwrap() {
                all.push(entry);
            }
        }
        all
    }

    /// Has all seeds queued so much earlier than they were.
    fn as_if_earlier(&self, micros: i64) {
        let mut db = self.fleet.connection();
        let moments: BTreeMap<String, i64> = db.hgetall(MOMENTS).unwrap();
        for (seed, moment) in moments {
            let _: () = db.hset(MOMENTS, seed, moment - micros).unwrap();
        }
    }
}

struct Report(Value);

impl Report {
    /// What was done with each seed.
    fn does(&self) -> Vec<&str> {
        let seeds = self.0["seeds"].as_array().unwrap();
        seeds.iter().map(|seed| seed["does"].as_str().unwrap()).collect()
    }
}

#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !is() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const PAGE: &str = "  - {url: 'https://a.test/', every: 6h}\n";

#[test]
fn what_is_due_is_queued_once() {
    let desk = Desk::new(PAGE);
    assert_eq!(desk.once().does(), ["queued"]);
    assert_eq!(desk.pop(), ["https://a.test/"]);
    // It is not due again, though nothing waits.
    assert_eq!(desk.once().does(), ["nothing"]);
    assert!(desk.pop().is_empty());
    let there: bool = desk.fleet.connection().exists(LEADER).unwrap();
    assert!(!there, "the lease is given up");
    desk.as_if_earlier(5 * HOUR);
    assert_eq!(desk.once().does(), ["nothing"]);
    desk.as_if_earlier(HOUR);
    assert_eq!(desk.once().does(), ["queued"]);
    assert_eq!(desk.once().does(), ["nothing"]);
    assert_eq!(desk.pop(), ["https://a.test/"]);
}

/// "A moment that was missed while nobody ran is queued once, not once per missed moment."
#[test]
fn moments_that_were_missed_are_queued_once() {
    let desk = Desk::new(
        "  - {url: 'https://a.test/', every: 1h}\n  - {url: 'https://a.test/c', cron: '* * * * *'}\n",
    );
    assert_eq!(
        desk.once().does(),
        ["queued", "nothing"],
        "a cron line begins with its next moment"
    );
    desk.pop();
    desk.as_if_earlier(1000 * HOUR);
    let report = desk.once();
    assert_eq!(report.does(), ["queued", "queued"]);
    let due = report.0["seeds"][1]["due"].as_str().unwrap();
    assert!(due.ends_with(":00.000Z"), "{due}");
    assert_eq!(desk.pop(), ["https://a.test/", "https://a.test/c"]);
    assert_eq!(desk.once().does()[0], "nothing");
}

#[test]
fn what_still_waits_is_not_queued_again() {
    let desk = Desk::new(PAGE);
    desk.once();
    desk.as_if_earlier(7 * HOUR);
    assert_eq!(desk.report("--dry-run").does(), ["waits"]);
    assert_eq!(desk.once().does(), ["waits"]);
    assert_eq!(desk.once().does(), ["nothing"], "it was its turn");
    assert_eq!(desk.pop(), ["https://a.test/"]);
}

#[test]
fn priorities_are_lists_and_sitemaps_have_a_mark() {
    let desk = Desk::new(
        "  - {url: 'https://a.test/h', every: 1h, priority: high}
  - {url: 'https://a.test/n', every: 1h}
  - {sitemap: 'https://a.test/s.xml', every: 1h, priority: low}
  - {sitemap: 'https://a.test/t.xml', every: 1h, priority: low, limit: 20}
",
    );
    desk.once();
    let lists: Vec<Vec<String>> = LISTS.iter().map(|list| desk.fleet.list(list)).collect();
    assert_eq!(lists[0], ["https://a.test/h"]);
    assert_eq!(lists[1], ["https://a.test/n"]);
    assert_eq!(lists[2], ["sitemap:https://a.test/s.xml", "sitemap:20:https://a.test/t.xml"]);
}

#[test]
fn the_queue_is_the_one_that_the_file_or_the_environment_names() {
    let desk = Desk::new(PAGE);
    let mut program = desk.fleet.program(&["schedule", "seeds.yaml", "--once"]);
    program.env("PAGE_FETCHER_INPUT_QUEUE", "other").output().unwrap();
    assert_eq!(desk.fleet.list("other"), ["https://a.test/"]);
    let text = format!("queue: mine\nseeds:\n{}", PAGE.replace("a.test", "b.test"));
    std::fs::write(desk.fleet.town.path("seeds.yaml"), text).unwrap();
    program.output().unwrap();
    assert_eq!(desk.fleet.list("mine"), ["https://b.test/"]);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_changes_nothing() {
    let desk =
        Desk::new(&format!("{PAGE}  - {{sitemap: 'https://a.test/s.xml', cron: '15 3 29 2 *'}}\n"));
    let report = desk.report("--dry-run");
    assert_eq!(report.does(), ["queued", "nothing"]);
    let next = report.0["seeds"][1]["next"].as_str().unwrap();
    assert!(next.ends_with("-02-29T03:15:00.000Z"), "{next}");
    let keys: Vec<String> = desk.fleet.connection().keys("*").unwrap();
    assert!(keys.is_empty(), "{keys:?}");
    let ran = desk.fleet.run(&["schedule", "seeds.yaml", "--dry-run"]).ends(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("queued") && lines[0].ends_with("https://a.test/"), "{lines:?}");
    assert!(lines[1].ends_with("sitemap https://a.test/s.xml"), "{lines:?}");
    assert_eq!(ran.err.trim(), "1 of 2 seeds would be queued");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_key_before_anything_is_done() {
    let desk = Desk::new(&format!("{PAGE}  - {{url: 'https://a.test/b', every: often}}\n"));
    let refused = |says: &[&str]| {
        for how in [&["--once"][..], &["--dry-run"], &[]] {
            let args = [&["schedule", "seeds.yaml"], how].concat();
            let ran = desk.fleet.run(&args).ends(2);
            assert!(says.iter().all(|says| ran.err.contains(says)), "{says:?}: {}", ran.err);
        }
        let keys: Vec<String> = desk.fleet.connection().keys("*").unwrap();
        assert!(keys.is_empty(), "{keys:?}");
    };
    refused(&["`seeds[1].every` is `often`", "hint: ", "6h"]);
    std::fs::write(
        desk.fleet.town.path("seeds.yaml"),
        "seeds: [{url: 'https://a.test/', evry: 1h}]",
    )
    .unwrap();
    refused(&["evry", "every"]);
    std::fs::remove_file(desk.fleet.town.path("seeds.yaml")).unwrap();
    refused(&["`seeds.yaml`: could not be read"]);
}

#[test]
fn a_redis_that_is_not_there_is_told_without_its_password() {
    let desk = Desk::new(PAGE);
    let nobody = format!("redis://user:s3cret@127.0.0.1:{}", free_port());
    let ran = desk.fleet.run(&["schedule", "seeds.yaml", "--redis", &nobody]).ends(2);
    assert!(
        ran.err.contains("no answer") && ran.err.contains("PAGE_FETCHER_REDIS_URL"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
}

#[test]
fn several_that_look_once_at_the_same_time_queue_each_seed_once() {
    let desk = Desk::pages(120, "1h");
    let start = || {
        let mut program = desk.fleet.program(&["schedule", "seeds.yaml", "--once", "--json"]);
        program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(|_| start()).collect();
    let mut queued = 0;
    for child in all {
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(0));
        let report = Report(serde_json::from_slice(&ran.stdout).unwrap());
        queued += report.does().iter().filter(|does| **does == "queued").count();
    }
    assert_eq!(queued, 120);
    let popped = desk.pop();
    assert_eq!(popped.len(), 120);
    assert_eq!(popped.iter().collect::<BTreeSet<_>>().len(), 120);
}

/// One leads, the other waits; the leader is killed with `kill -9`; no moment comes twice, and none is lost.
#[test]
fn two_schedulers_queue_each_moment_once_and_one_takes_over_when_the_other_is_killed() {
    const SEEDS: usize = 5;
    let desk = Desk::pages(SEEDS, "1s");
    let logs = ["a.log", "b.log"];
    let mut both: Vec<Option<Running>> = logs.iter().map(|log| Some(desk.start(log))).collect();
    let mut popped = Vec::new();
    let said = |log: &str, event: &str| desk.lines(log, event).len();
    let mut see = |what: &str, is: &dyn Fn() -> bool| {
        until(what, || {
            popped.extend(desk.pop());
            is()
        });
    };
    see("one leads and one waits", &|| {
        logs.iter().map(|log| said(log, "leads")).sum::<usize>() == 1
            && logs.iter().map(|log| said(log, "waits")).sum::<usize>() == 1
    });
    let first = usize::from(said(logs[1], "leads") == 1);
    see("the leader queues", &|| said(logs[first], "queued") >= 2 * SEEDS);
    assert_eq!(said(logs[1 - first], "queued"), 0, "who waits queues nothing");
    let mut killed = both[first].take().unwrap();
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    let other = logs[1 - first];
    see("the other takes over", &|| {
        said(other, "leads") == 1 && said(other, "queued") >= 2 * SEEDS
    });
    assert_eq!(both[1 - first].take().unwrap().end(), Some(0));
    popped.extend(desk.pop());
    let there: bool = desk.fleet.connection().exists(LEADER).unwrap();
    assert!(!there, "who is told to end gives up the lease");

    let mut moments: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in logs.iter().flat_map(|log| desk.lines(log, "queued")) {
        let due = line["due"].as_str().unwrap().to_owned();
        moments.entry(line["seed"].as_u64().unwrap()).or_default().push(due);
    }
    let told: usize = moments.values().map(Vec::len).sum();
    // What the one that was killed had queued and not told yet is there too: one turn of all seeds at most.
    assert!((told..=told + SEEDS).contains(&popped.len()), "{told} told, {}", popped.len());
    for (seed, moments) in &moments {
        let different: BTreeSet<&String> = moments.iter().collect();
        assert_eq!(different.len(), moments.len(), "seed {seed}: {moments:?}");
    }
}

#[test]
fn a_leader_that_loses_its_lease_stops_and_gets_it_again() {
    let desk = Desk::pages(1, "1s");
    let scheduler = desk.start("a.log");
    until("it leads", || !desk.lines("a.log", "queued").is_empty());
    let mut db = desk.fleet.connection();
    let _: () = db.set(LEADER, "somebody else").unwrap();
    until("it stops", || !desk.lines("a.log", "lease_lost").is_empty());
    let before = desk.lines("a.log", "queued").len();
    desk.pop();
    desk.as_if_earlier(HOUR);
    let holder: String = db.get(LEADER).unwrap();
    assert_eq!(holder, "somebody else", "another's lease is left alone");
    assert!(desk.pop().is_empty());
    assert_eq!(desk.lines("a.log", "queued").len(), before);
    let _: () = db.del(LEADER).unwrap();
    until("it leads again", || desk.lines("a.log", "queued").len() > before);
    assert_eq!(desk.lines("a.log", "leads").len(), 2);
    assert_eq!(scheduler.end(), Some(0));
}

/// The script that queues compares lease and moment itself: whoever was away for long, or missed an answer, does no harm.
#[test]
fn nothing_is_queued_without_the_lease_or_on_old_knowledge() {
    let redis = Redis::forgetful();
    let mut db = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    let seat = Seat { name: "s".into(), list: "q".into(), entry: "https://a.test/".into() };
    let turn = |last: Option<u64>, moment| Turn {
        seat: &seat,
        last: last.map(Time::from_secs),
        moment: Time::from_secs(moment),
        push: Push::Queue,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = || LinkOptions { caller: ClientKind::Guest, ..LinkOptions::default() };
        let link = Rc::new(RedisLink::new(&redis.url(), options()).unwrap());
        let [a, b] = ["a", "b"].map(|name| Schedule::new(Rc::clone(&link), name.into()));
        let lasts = Duration::from_secs(60);
        assert_eq!(a.queue(&[turn(None, 1)]).await.unwrap(), [], "nobody leads");
        assert_eq!(a.lead(lasts).await.unwrap().0, Leadership::Taken);
        assert_eq!(b.lead(lasts).await.unwrap().0, Leadership::Other);
        assert_eq!(a.lead(lasts).await.unwrap().0, Leadership::Renewed);
        assert_eq!(a.queue(&[turn(None, 1)]).await.unwrap(), [Became::Queued]);
        let _: () = db.del("q").unwrap();
        // Its answer got lost, and it is asked for again.
        let known = [Became::Known(Some(Time::from_secs(1)))];
        assert_eq!(a.queue(&[turn(None, 1)]).await.unwrap(), known);
        assert_eq!(a.queue(&[turn(None, 2)]).await.unwrap(), known);
        b.give_up().await.unwrap();
        assert_eq!(
            b.lead(lasts).await.unwrap().0,
            Leadership::Other,
            "only the holder gives up a lease"
        );
        a.give_up().await.unwrap();
        assert_eq!(b.lead(lasts).await.unwrap().0, Leadership::Taken);
        assert_eq!(a.queue(&[turn(Some(1), 2)]).await.unwrap(), [], "it is another's");
        assert_eq!(db.llen::<_, u64>("q").unwrap(), 0);
        assert_eq!(b.queue(&[turn(Some(1), 2)]).await.unwrap(), [Became::Queued]);
    });
}

#[test]
fn a_scheduler_outlives_its_redis() {
    let mut desk = Desk::pages(1, "1s");
    let scheduler = desk.start("a.log");
    until("it leads", || !desk.lines("a.log", "queued").is_empty());
    desk.fleet.redis.kill();
    until("it says so", || !desk.lines("a.log", "redis_away").is_empty());
    desk.fleet.redis.run();
    let before = desk.lines("a.log", "queued").len();
    until("it goes on", || desk.lines("a.log", "queued").len() > before);
    assert_eq!(scheduler.end(), Some(0));
}

/// The scheduler fetches nothing: a worker reads the sitemap, by its manners, and tells of the pages.
#[test]
fn a_sitemap_leads_to_events_of_its_pages_and_to_none_of_its_own() {
    let sitemap = |path: &str, pages| Sitemap { path: path.into(), pages, ..Sitemap::default() };
    let index = Sitemap {
        kind: SitemapKind::Index,
        locs: vec!["/a.xml".into(), "/b.xml".into(), "http://other.test:{port}/c.xml".into()],
        ..sitemap("/index.xml", None)
    };
    let elsewhere = vec!["http://other.test:{port}/p/1".into(), "/closed".into()];
    let host = Host::named("h0.test")
        .pages(20, 2, 300)
        .robots("User-agent: *\nDisallow: /closed\n")
        .sitemap(index)
        .sitemap(Sitemap { locs: elsewhere, ..sitemap("/a.xml", Some((1, 4))) })
        .sitemap(Sitemap { gz: true, ..sitemap("/b.xml", Some((4, 6))) })
        .sitemap(sitemap("/bound.xml", Some((10, 19))));
    let scene = Scene { seed: 1, hosts: vec![host], ..Scene::default() };
    let fleet = Fleet::over(scene, Redis::forgetful());
    let seed = |path: &str, rest: &str| {
        format!("  - {{sitemap: '{}', every: 1h, priority: low{rest}}}\n", fleet.town.url(0, path))
    };
    let seeds =
        [seed("/index.xml", ""), seed("/bound.xml", ", limit: 3"), seed("/missing.xml", "")]
            .concat();
    let mut desk = Desk { fleet }.with(&seeds);
    let work = |desk: &Desk| {
        let ran = desk.fleet.worker(&["--until-empty", "--delay", "0s"]).output().unwrap();
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{text}");
        text
    };
    assert_eq!(desk.once().does(), ["queued", "queued", "queued"]);
    let said = work(&desk);

    let pages = [1, 2, 3, 4, 5, 10, 11, 12].map(|n| desk.fleet.town.url(0, &format!("/p/{n}")));
    let wanted: BTreeSet<String> = pages.into_iter().collect();
    // What is told again has the name of the first.
    let told = |desk: &Desk| -> BTreeSet<(String, String)> {
        let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
        desk.fleet.events().iter().map(|e| (text(e, "url"), text(e, "event_id"))).collect()
    };
    let first = told(&desk);
    assert_eq!(first.iter().map(|(url, _)| url.clone()).collect::<BTreeSet<_>>(), wanted);
    assert_eq!(first.len(), wanted.len(), "{first:?}");
    for list in ["page_fetcher_dlq", "page_fetcher_rejected"] {
        assert!(desk.fleet.list(list).is_empty(), "{list}");
    }
    assert!(said.contains("\"sitemap_failed\"") && said.contains("HTTP 404"), "{said}");

    // With the next moment its pages are told of again.
    desk.as_if_earlier(HOUR);
    assert_eq!(desk.once().does(), ["queued", "queued", "queued"]);
    work(&desk);
    let second = told(&desk);
    assert_eq!(second.len(), 2 * wanted.len());
    assert!(second.is_superset(&first));
    let asked = desk.fleet.town.close();
    let paths: BTreeSet<&str> = asked.iter().map(|x| &*x.target).collect();
    assert!(!paths.contains("/closed") && paths.contains("/b.xml"), "{paths:?}");
}
