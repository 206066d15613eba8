//! A fleet of the test's own: Redis, brokers, workers.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use curtsy_sim::loopback::Scene;
use curtsy_sim::services::Redis;
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
}

impl Fleet {
    pub(crate) fn new(scene: Scene) -> Fleet {
        Fleet::over(scene, Redis::durable())
    }

    pub(crate) fn over(scene: Scene, redis: Redis) -> Fleet {
        let kafka = MockCluster::new(1).unwrap();
        kafka.create_topic("webpage_log", 4, 1).unwrap();
        Fleet { town: Town::new(scene), redis, kafka }
    }

    /// The program with this fleet's settings.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = self.town.program(args);
        command
            .env("PAGE_FETCHER_REDIS_URL", self.redis.url())
            .env("PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS", self.kafka.bootstrap_servers())
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

    pub(crate) fn connection(&self) -> redis::Connection {
        redis::Client::open(self.redis.url()).unwrap().get_connection().unwrap()
    }

    /// Queues URLs as any producer does.
    pub(crate) fn push<S: AsRef<[u8]>>(&self, urls: &[S]) {
        let urls: Vec<&[u8]> = urls.iter().map(AsRef::as_ref).collect();
        let _: () = self.connection().rpush("crawler_queue", urls).unwrap();
    }

    /// How many URLs are listed or queued.
    pub(crate) fn waiting(&self) -> u64 {
        let mut db = self.connection();
        let listed: u64 = db.llen("crawler_queue").unwrap();
        let queued: Option<u64> = db.hget("curtsy:store", "queued").unwrap();
        listed + queued.unwrap_or(0)
    }

    /// Whether nothing is listed, claimed or queued.
    pub(crate) fn is_settled(&self) -> bool {
        let claims: Vec<String> = self.connection().keys("curtsy:claims:*").unwrap();
        claims.is_empty() && self.waiting() == 0
    }

    /// Waits until every URL is settled.
    #[track_caller]
    pub(crate) fn settle(&self) {
        let end = Instant::now() + DONE_WITHIN;
        loop {
            if self.is_settled() {
                return;
            }
            assert!(Instant::now() < end, "not done:\n{}", tail(&self.log()));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.connection().lrange(name, 0, -1).unwrap()
    }

    /// Has a consumer of its own kind check every event and find its page; gives how many there were.
    #[track_caller]
    pub(crate) fn check_events(&self) -> usize {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = std::env::var("CURTSY_PYTHON").unwrap_or("/usr/bin/python3".into());
        let ran = Command::new(python)
            .arg(here.join("tests/fleet/consume.py"))
            .args([self.kafka.bootstrap_servers(), self.redis.port.to_string()])
            .arg(here.join("../../docs/webpage_event.schema.json"))
            .output()
            .expect("Python is installed (`./test` does that)");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().parse().unwrap()
    }

    /// Every event, as a consumer that shares no code with us reads it.
    pub(crate) fn events(&self) -> Vec<Value> {
        let brokers = self.kafka.bootstrap_servers();
        let read = Command::new("kcat")
            .args(["-C", "-b", &brokers, "-t", "webpage_log", "-o", "beginning", "-e", "-q"])
            .output()
            .expect("`kcat` is installed (`./test` does that)");
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        let text = String::from_utf8(read.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(3000);
    text.get(from..).unwrap_or(text)
}
