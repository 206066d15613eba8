//! A user of Redis who may do just what a fleet needs, one who may not, and one who loses a right in the middle.

use curtsy_lab::sites::Scene;
use curtsy_store::redis::Rights;
use curtsy_testkit::services::Redis;
use redis::Commands;

use crate::fleet::{Fleet, until};
use crate::full::assert_once;
use crate::harness::micros;
use crate::trial::Trial;
use crate::trouble::refused;

const LISTS: [&str; 3] = ["crawler_queue", "page_fetcher_dlq", "page_fetcher_rejected"];

/// The line of `docs/internals/redis.md`, as it is.
fn documented() -> &'static str {
    let docs = include_str!("../../../../docs/internals/redis.md");
    let line = docs.lines().find(|line| line.starts_with("ACL SETUSER curtsy "));
    line.expect("docs/internals/redis.md has a line for administrators")
}

/// The same with a password.
fn line() -> String {
    documented().replace("PASSWORD", "s3cret")
}

/// Says something to a server as its administrator.
fn order(server: &Redis, line: &str) {
    let mut db = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query::<redis::Value>(&mut db).unwrap();
}

fn as_user(server: &Redis, password: &str) -> String {
    format!("redis://curtsy:{password}@127.0.0.1:{}/0", server.port)
}

#[test]
fn the_documented_line_is_what_a_fleet_needs() {
    assert_eq!(documented(), Rights::of_all(&LISTS).line("curtsy on >PASSWORD"));
}

/// Workers, a scheduler and orders with nothing but the documented rights; then each kind of right is taken away for a while.
#[test]
fn a_user_with_just_its_rights_does_everything_and_waits_while_one_is_missing() {
    let mut trial = Trial::new(31, 8, 60);
    order(&trial.fleet.redis, &line());
    trial.fleet.redis_url = as_user(&trial.fleet.redis, "s3cret");
    let workers = vec![trial.start(), trial.start()];
    until("the first pages", || trial.fleet.asked() > 40);

    let fleet = &trial.fleet;
    let seeds = "seeds:\n  - url: http://127.0.0.1:1/\n    every: 1h\n    priority: low\n";
    std::fs::write(fleet.town.path("seeds.yaml"), seeds).unwrap();
    fleet.run(&["fleet", "drain"]).ends(0);
    fleet.run(&["schedule", "seeds.yaml", "--once"]).ends(0);
    assert_eq!(fleet.list("crawler_queue:low").len(), 1);
    let _: () = fleet.connection().del("crawler_queue:low").unwrap();
    fleet.run(&["fleet", "resume"]).ends(0);
    let _: () = fleet.connection().rpush("page_fetcher_dlq", "http://a.test/").unwrap();
    assert!(fleet.run(&["dlq", "list"]).ends(0).out.contains("http://a.test/"));
    fleet.run(&["dlq", "purge"]).ends(0);
    fleet.run(&["stop", "a.test", "--redis", &fleet.redis_url]).ends(0);

    for (taken, says) in [
        ("ACL SETUSER curtsy -evalsha", "`EVALSHA`"),
        ("ACL SETUSER curtsy -zadd", "`ZADD`"),
        ("ACL SETUSER curtsy -rpush -hset", "`HSET`"),
        ("ACL SETUSER curtsy resetkeys ~curtsy:* ~rate_limit:*", "the keys `crawler_queue`"),
        ("ACL SETUSER curtsy -@all", "'eval'"),
        ("ACL DELUSER curtsy", "does not know this user"),
    ] {
        let from = micros();
        let read = trial.fleet.log().len();
        order(&trial.fleet.redis, taken);
        let said = |trial: &Trial, event: &str, says: &str| {
            let log = trial.fleet.log();
            log[read..].lines().any(|line| line.contains(event) && line.contains(says))
        };
        // Whoever has nothing to do need not notice that something may not be done.
        trial.until(says, |trial| said(trial, "\"redis_away\"", says));
        assert!(said(&trial, "\"redis_away\"", "\"hint\":\""), "{}", trial.fleet.log());
        order(&trial.fleet.redis, &line());
        trial.until("the worker's word", |trial| said(trial, "\"redis_back\"", ""));
        trial.redis_was_away(from);
        trial.work(300, 600);
    }
    assert!(!trial.fleet.log().contains("s3cret"), "a password is not repeated");
    trial.fleet.settle();
    assert_once(&trial.fleet.town.sites.as_ref().unwrap().log());
    trial.end("rights are taken away", workers);
}

#[test]
fn a_worker_that_lacks_a_right_names_it_before_anything_is_done() {
    let fleet = Fleet::new(Scene::plain(1, 3, 2, 500));
    fleet.push(&[fleet.town.url(0, "/p/1")]);
    let url = as_user(&fleet.redis, "s3cret");
    let worker = |variable: &str, url: &str| {
        let mut worker = fleet.worker(&["--until-empty"]);
        worker.env(variable, url);
        worker
    };
    let hosts = "PAGE_FETCHER_REDIS_URL";
    let lacks = |right: &str| {
        order(&fleet.redis, "ACL DELUSER curtsy");
        let line = line();
        let others: Vec<&str> = line.split(' ').filter(|word| *word != right).collect();
        order(&fleet.redis, &others.join(" "));
        worker(hosts, &url)
    };
    let give = "hint: as an administrator, `ACL SETUSER curtsy ~crawler_queue ";
    refused(&mut lacks("+eval"), &["'eval' command", give]);
    refused(&mut lacks("+info"), &["may not run `INFO`", give]);
    refused(&mut lacks("+time"), &["may not run `TIME`", give]);
    refused(&mut lacks("~rate_limit:*"), &["may not use the keys `rate_limit:*`", give]);
    refused(&mut lacks("~crawler_queue"), &["may not use the keys `crawler_queue`", give]);
    // So does one that lacks them where pages are.
    lacks("~webpage:*");
    let give = "hint: as an administrator, `ACL SETUSER curtsy ~curtsy:* ~webpage:* ";
    refused(
        &mut worker("PAGE_FETCHER_CACHE_REDIS_URL", &url),
        &["may not use the keys `webpage:*`", give],
    );
    assert_eq!(fleet.list("crawler_queue").len(), 1, "the queue is as it was");

    for wrong in ["s3cre", "s3/cr?et"] {
        let mut worker = worker(hosts, &as_user(&fleet.redis, wrong));
        refused(&mut worker, &["redis at `redis://", "hint: "]);
        let said = worker.output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!said.contains("s3"), "a password is not repeated: {said}");
    }
}
