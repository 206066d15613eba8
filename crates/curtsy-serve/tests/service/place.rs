//! A service for a test: its own store, port and sites, ended with the test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use curtsy_core::policy::{FlagValue, Layers, Policy, Preset, Reach};
use curtsy_crawl::RouteChoices;
use curtsy_serve::{Bounds, ServeError, ServeSpec, start};
use curtsy_store::LedgerPlace;
use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::client::{Answer, send};

/// How long anything may take that a test waits for; nothing that is tested depends on it.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(300);

/// The name of a run that there is not.
pub(crate) const NO_RUN: &str = "00000000000000000000000000000000";

/// The token of every test's service.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A folder that goes with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("curtsy-serve-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub(crate) fn store(&self) -> LedgerPlace {
        LedgerPlace::File(self.0.join("service.db"))
    }

    /// The store as anybody may open it while the service works.
    pub(crate) fn database(&self) -> Connection {
        let db = Connection::open(self.0.join("service.db")).unwrap();
        db.busy_timeout(Duration::from_secs(10)).unwrap();
        db
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What can't be removed is not what is tested.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a service is told in a test: sites on loopback, no checks by themselves, and delays that a
/// test can wait for.
pub(crate) fn spec(store: LedgerPlace) -> ServeSpec {
    spec_with(store, &[])
}

/// The same with other fields of the policy: what is said later counts.
pub(crate) fn spec_with(store: LedgerPlace, fields: &[(&'static str, &'static str)]) -> ServeSpec {
    let usual = [
        ("identity.contact", "tests@localhost"),
        ("patience", "5s"),
        ("pace.delay", "60ms"),
        ("risk.delay", "60ms,90ms,120ms"),
    ];
    let usual = usual.iter().filter(|(key, _)| !fields.iter().any(|(other, _)| key == other));
    let fields = usual.chain(fields);
    let flags: Vec<FlagValue<'_>> =
        fields.map(|(key, value)| FlagValue { flag: "test", key, value }).collect();
    let layers = Layers { preset: Some(Preset::Survey), flags: &flags, ..Layers::default() };
    let way = RouteChoices {
        allow_net: vec!["127.0.0.0/8".parse().unwrap()],
        pins: vec!["*.test=127.0.0.1".parse().unwrap()],
        ..RouteChoices::default()
    };
    ServeSpec {
        bind: "127.0.0.1:0".parse().unwrap(),
        names: vec!["ingest.example".to_owned()],
        store,
        settled: layers.settle(Reach::AllowedNet).unwrap(),
        way,
        token: Some(TOKEN.to_owned()),
        check_every: None,
        bounds: Bounds::default(),
        example: None,
        breaks: None,
    }
}

/// A service that runs.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) sign_in: String,
    pub(crate) resumed: usize,
    /// The token, if it was made at this start.
    pub(crate) new_token: Option<String>,
    pub(crate) policy: Policy,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Service {
    pub(crate) fn start(spec: ServeSpec) -> Service {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let policy = spec.settled.policy.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let serving = start(spec).await?;
                let told = (
                    serving.address,
                    serving.sign_in.clone(),
                    serving.resumed,
                    serving.new_token.clone(),
                );
                tell.send(told).expect("the test waits");
                serving.serve(async { drop(stopped.await) }).await
            })
        });
        let Ok((address, sign_in, resumed, new_token)) = told.recv() else {
            panic!("the service did not start: {:?}", thread.join())
        };
        Service {
            address,
            sign_in,
            resumed,
            new_token,
            policy,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// A service in another process.
    pub(crate) fn elsewhere(address: SocketAddr, resumed: usize, policy: Policy) -> Service {
        Service {
            address,
            sign_in: String::new(),
            resumed,
            new_token: None,
            policy,
            stop: None,
            thread: None,
        }
    }

    /// Ends it and waits until it has.
    pub(crate) fn end(&mut self) {
        if let (Some(stop), Some(thread)) = (self.stop.take(), self.thread.take()) {
            // It may have ended by itself.
            let _ = stop.send(());
            thread.join().expect("no panic").expect("no error");
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        send(self.address, "GET", target, &[self.host()], b"")
    }

    /// A changing call with the token.
    pub(crate) fn post(&self, target: &str, body: &serde_json::Value) -> Answer {
        self.post_with(target, body, &[])
    }

    pub(crate) fn post_with(
        &self,
        target: &str,
        body: &serde_json::Value,
        more: &[&str],
    ) -> Answer {
        let more = [&["Content-Type: application/json"], more].concat();
        self.post_bytes(target, body.to_string().as_bytes(), &more)
    }

    /// A changing call with the token and whatever is to be sent.
    pub(crate) fn post_bytes(&self, target: &str, body: &[u8], more: &[&str]) -> Answer {
        let mut headers = vec![self.host(), format!("Authorization: Bearer {TOKEN}")];
        headers.extend(more.iter().map(|line| (*line).to_owned()));
        send(self.address, "POST", target, &headers, body)
    }

    /// Ingests a site and gives the answer's body.
    #[track_caller]
    pub(crate) fn ingest(&self, slug: &str, order: &Value) -> Value {
        self.post(&format!("/api/orbit/{slug}/ingest"), order).ends(200).json()
    }

    /// Begins a run and gives where it can be read.
    #[track_caller]
    pub(crate) fn begin(&self, slug: &str, order: &Value) -> String {
        let target = format!("/api/orbit/{slug}/ingest");
        let answer = self.post_with(&target, order, &["Prefer: respond-async"]).ends(202);
        answer.header("location").expect("where the run is").to_owned()
    }

    /// Waits until a run is as it should be, and gives how it is then.
    #[track_caller]
    pub(crate) fn wait(&self, run: &str, is: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + WAIT_MAX;
        loop {
            let answer = self.get(run).ends(200).json();
            if is(&answer) {
                return answer;
            }
            assert!(Instant::now() < until, "{answer:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a run has ended, and gives it.
    #[track_caller]
    pub(crate) fn wait_for_end(&self, run: &str) -> Value {
        self.wait(run, |answer| !answer["run"]["completedAt"].is_null())["run"].clone()
    }

    /// How many runs an orbit has.
    pub(crate) fn run_count(&self, slug: &str) -> usize {
        self.get(&format!("/api/orbit/{slug}/runs")).json()["runs"]
            .as_array()
            .expect("a list")
            .len()
    }

    /// Every path of the API with one of these methods, as its description has it, with names put
    /// in.
    pub(crate) fn described(&self, methods: &[&str]) -> Vec<String> {
        let document = self.get("/openapi.json").ends(200).json();
        let paths = document["paths"].as_object().expect("paths").iter();
        let wanted =
            paths.filter(|(_, path)| methods.iter().any(|method| path.get(*method).is_some()));
        let named = wanted.map(|(path, _)| {
            path.replace("{slug}", "shop")
                .replace("{trace_id}", NO_RUN)
                .replace("{hostname}", "shop.test")
        });
        named.collect()
    }

    /// What is kept of an answered run.
    #[track_caller]
    pub(crate) fn evidence(&self, slug: &str, answer: &Value) -> Value {
        let trace = answer["evidence"]["traceId"].as_str().expect("a trace");
        self.get(&format!("/api/orbit/{slug}/runs/{trace}/evidence")).ends(200).json()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A test that has failed already says why.
            let _ = thread.join();
        }
    }
}
