//! A fleet of the test's own: Redis, brokers, workers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use curtsy_lab::sites::Scene;
use curtsy_testkit::services::Redis;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use redis::Commands;
use serde_json::Value;

use crate::harness::{Ran, Town};

/// How long a fleet may take for what a test asks of it.
const DONE_WITHIN: Duration = Duration::from_secs(240);

pub(crate) struct Fleet {
    pub(crate) town: Town,
    pub(crate) redis: Redis,
    pub(crate) kafka: MockCluster<'static, DefaultProducerContext>,
    /// Where workers look for Redis: there, or at what stands before it.
    pub(crate) redis_url: String,
    /// The brokers that workers tell: the mock ones, or others.
    pub(crate) brokers: String,
    /// Who reads what they were told.
    pub(crate) consumer: Consumer,
}

/// A consumer that shares no code with us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consumer {
    Kcat,
    /// For brokers that `kcat` is too old for.
    Confluent,
}

impl Fleet {
    pub(crate) fn new(scene: Scene) -> Fleet {
        Fleet::over(scene, Redis::durable())
    }

    pub(crate) fn over(scene: Scene, redis: Redis) -> Fleet {
        let kafka = MockCluster::new(1).unwrap();
        kafka.create_topic("webpage_log", 4, 1).unwrap();
        Fleet {
            town: Town::new(scene),
            redis_url: redis.url(),
            redis,
            brokers: kafka.bootstrap_servers(),
            kafka,
            consumer: Consumer::Kcat,
        }
    }

    /// The program with this fleet's settings.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = self.town.program(args);
        command
            .env("PAGE_FETCHER_REDIS_URL", &self.redis_url)
            .env("PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS", &self.brokers)
            .env("PAGE_FETCHER_CONTACT", "fleet@example.org")
            .env("PAGE_FETCHER_LISTEN", "none");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.program(args).output().unwrap())
    }

    /// A worker for sites on this machine.
    pub(crate) fn worker(&self, args: &[&str]) -> Command {
        self.program(&[&["worker", "--new", "--allow-net", "127.0.0.0/8"], args].concat())
    }

    /// A worker that runs until it is killed.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        self.start_with(args, &[])
    }

    /// The same with further variables.
    pub(crate) fn start_with(&self, args: &[&str], variables: &[(&str, String)]) -> Running {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.town.path("workers.log"))
            .unwrap();
        let mut command = self.worker(args);
        command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Running(child)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.town.path("workers.log")).unwrap_or_default()
    }

    /// How many requests the hosts have seen.
    pub(crate) fn asked(&self) -> usize {
        self.town.sites.as_ref().unwrap().log().len()
    }

    pub(crate) fn connection(&self) -> redis::Connection {
        redis::Client::open(self.redis.url()).unwrap().get_connection().unwrap()
    }

    /// Queues URLs as any producer does.
    pub(crate) fn push<S: AsRef<[u8]>>(&self, urls: &[S]) {
        let urls: Vec<&[u8]> = urls.iter().map(AsRef::as_ref).collect();
        let _: () = self.connection().rpush("crawler_queue", urls).unwrap();
    }

    /// The URLs of so many pages of each of the first hosts.
    pub(crate) fn pages(&self, hosts: u32, pages: u32) -> Vec<String> {
        (0..hosts as usize)
            .flat_map(|host| (1..=pages).map(move |page| (host, page)))
            .map(|(host, page)| self.town.url(host, &format!("/p/{page}")))
            .collect()
    }

    /// How many URLs are listed or queued.
    pub(crate) fn waiting(&self) -> u64 {
        let (listed, queued, _) = self.held_by_redis();
        listed + queued
    }

    /// Whether nothing is listed, claimed or queued.
    pub(crate) fn is_settled(&self) -> bool {
        self.held_by_redis() == (0, 0, 0)
    }

    /// How many URLs are listed and queued, and how many workers have claims: all of one moment, since they go from one to the other.
    fn held_by_redis(&self) -> (u64, u64, usize) {
        let mut all = redis::pipe();
        all.atomic().llen("crawler_queue").hget("curtsy:store", "queued").keys("curtsy:claims:*");
        let (listed, queued, claims): (u64, Option<u64>, Vec<String>) =
            all.query(&mut self.connection()).unwrap();
        (listed, queued.unwrap_or(0), claims.len())
    }

    /// Waits until every URL is settled.
    #[track_caller]
    pub(crate) fn settle(&self) {
        let end = Instant::now() + DONE_WITHIN;
        loop {
            if self.is_settled() {
                return;
            }
            let (waiting, log) = (self.waiting(), self.log());
            assert!(Instant::now() < end, "not done, {waiting} wait:\n{}", tail(&log));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.connection().lrange(name, 0, -1).unwrap()
    }

    /// Has a consumer of its own kind check every event and find its page; gives how many there were.
    #[track_caller]
    pub(crate) fn check_events(&self) -> usize {
        let schema =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/webpage_event.schema.json");
        let said = self.consume(&[&self.redis.port.to_string(), schema]);
        said.trim().parse().unwrap()
    }

    /// Every event, as a consumer that shares no code with us reads it.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.consume(&[]);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    fn consume(&self, checks: &[&str]) -> String {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet");
        let python = std::env::var("CURTSY_PYTHON").unwrap_or("/usr/bin/python3".into());
        let mut command = match (self.consumer, checks) {
            // Those who only want the texts need no Python.
            (Consumer::Kcat, []) => Command::new("kcat"),
            _ => Command::new(python),
        };
        match (self.consumer, checks) {
            (Consumer::Kcat, []) => {
                command.args(["-C", "-b", &self.brokers, "-t", "webpage_log"]);
                command.args(["-o", "beginning", "-e", "-q"])
            }
            (Consumer::Kcat, _) => command.arg(here.join("consume.py")).arg(&self.brokers),
            (Consumer::Confluent, _) => {
                command.arg(here.join("consume_confluent.py")).arg(&self.brokers)
            }
        };
        let read = command.args(checks).env("PYTHONDONTWRITEBYTECODE", "1").output();
        let read = read.expect("`kcat` and Python are installed (`./test` does that)");
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        String::from_utf8(read.stdout).unwrap()
    }
}

/// A worker that is killed with its test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a worker counts, as it tells it.
pub(crate) fn metrics(address: &str) -> BTreeMap<String, f64> {
    let text = curtsy::fleet::ask(&format!("http://{address}/metrics")).unwrap().1;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let values = lines.map(|line| line.rsplit_once(' ').unwrap());
    values.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// Waits for something that is bound to come.
#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + DONE_WITHIN;
    while !is() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(3000);
    text.get(from..).unwrap_or(text)
}
