//! Wrong settings, services that are not there, and workers that are ended.

use curtsy_lab::sites::Scene;
use curtsy_testkit::services::{Redis, free_port};
use rdkafka::types::RDKafkaRespErr;

use crate::fleet::Fleet;

/// A worker that can't begin says why and what to do, and ends with 2.
#[track_caller]
pub(crate) fn refused(command: &mut std::process::Command, says: &[&str]) {
    let ran = command.output().unwrap();
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{text}");
    for says in says {
        assert!(text.contains(says), "`{says}` is not in: {text}");
    }
}

#[test]
fn a_worker_that_cannot_begin_says_why_and_what_to_do() {
    let fleet = Fleet::new(Scene::plain(1, 3, 2, 500));
    let worker = || fleet.worker(&["--until-empty"]);
    refused(worker().env_remove("PAGE_FETCHER_CONTACT"), &["no contact", "PAGE_FETCHER_CONTACT"]);
    refused(
        worker().env("PAGE_FETCHER_MAX_RETRIES", "many"),
        &["PAGE_FETCHER_MAX_RETRIES", "many"],
    );
    refused(worker().env("PAGE_FETCHER_LISTEN", "here"), &["`here`", "127.0.0.1:9100"]);
    refused(worker().env("PAGE_FETCHER_FOLLOW", "perhaps"), &["PAGE_FETCHER_FOLLOW", "perhaps"]);
    refused(worker().env("PAGE_FETCHER_REDIS_URL", "nonsense"), &["Redis"]);
    let nobody = format!("redis://user:s3cret@127.0.0.1:{}", free_port());
    let mut away = worker();
    refused(away.env("PAGE_FETCHER_REDIS_URL", &nobody), &["no answer", "PAGE_FETCHER_REDIS_URL"]);
    let said = away.output().unwrap().stderr;
    assert!(!String::from_utf8_lossy(&said).contains("s3cret"), "a password is not repeated");
    let unknown = RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    fleet.kafka.topic_error("gone", unknown).unwrap();
    refused(
        worker().env("PAGE_FETCHER_WEBPAGE_LOG_TOPIC", "gone"),
        &["`gone` does not exist", "PAGE_FETCHER_WEBPAGE_LOG_TOPIC"],
    );
    refused(worker().args(["--kafka-set", "no.such=1"]), &["no.such"]);
}

/// What fails would be queued again, and asked for again, for ever.
#[test]
fn a_list_of_letters_that_is_also_the_queue_is_refused() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    for variable in ["PAGE_FETCHER_DLQ_QUEUE", "PAGE_FETCHER_REJECTED_QUEUE"] {
        for list in ["crawler_queue", "crawler_queue:high", "crawler_queue:low"] {
            let mut worker = fleet.worker(&["--until-empty"]);
            refused(worker.env(variable, list), &[variable, list, "PAGE_FETCHER_INPUT_QUEUE"]);
        }
    }
}

#[test]
fn a_redis_with_a_password_is_named_as_that() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let set = ["SET", "requirepass", "secret"];
    let _: () = redis::cmd("CONFIG").arg(&set).query(&mut fleet.connection()).unwrap();
    let says = ["wants a user and a password", "redis://USER:PASSWORD@HOST:PORT"];
    refused(&mut fleet.worker(&["--until-empty"]), &says);
}

#[test]
fn a_variable_that_sets_nothing_is_named() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let mut worker = fleet.worker(&["--until-empty"]);
    let ran = worker.env("PAGE_FETCHER_FOOBAR", "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("`PAGE_FETCHER_FOOBAR` sets nothing"), "{said}");
}

/// "the worker refuses to start unless the Redis that holds host states is `noeviction`"
#[test]
fn a_redis_that_evicts_is_refused_for_host_states_and_taken_for_pages() {
    let evicts = ["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"];
    let fleet = Fleet::over(Scene::plain(1, 3, 2, 500), Redis::with(&evicts));
    refused(&mut fleet.worker(&["--until-empty"]), &["volatile-ttl", "noeviction"]);
    let hosts = Redis::forgetful();
    let url = fleet.town.url(0, "/p/1");
    let mut db = redis::Client::open(hosts.url()).unwrap().get_connection().unwrap();
    let _: () = redis::Commands::rpush(&mut db, "crawler_queue", &url).unwrap();
    let mut worker = fleet.worker(&["--until-empty", "--delay", "0s"]);
    worker.env("PAGE_FETCHER_CACHE_REDIS_URL", fleet.redis.url());
    worker.env("PAGE_FETCHER_REDIS_URL", hosts.url());
    let ran = worker.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let events = fleet.events();
    let key = events[0]["cache_key"].as_str().unwrap();
    let there: bool = redis::Commands::exists(&mut fleet.connection(), key).unwrap();
    assert!(there, "pages are in the Redis that is for them");
}
