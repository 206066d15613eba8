//! A folder, sites, and the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use curtsy_core::policy::{Layers, Policy, Reach};
use curtsy_judge::{CrawlerFault, Exchange, InStartOrder, Judge, JudgeReport, WorkPlan};
use curtsy_lab::sites::{Scene, Sites, SitesSettings};
use curtsy_sim::manners_of;
use rusqlite::Connection;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed at the end, with sites beside it.
pub(crate) struct Town {
    pub(crate) folder: PathBuf,
    pub(crate) sites: Option<Sites>,
}

/// The program: `CURTSY_PROGRAM` has it be another build of it, say the release one.
pub(crate) fn program() -> std::ffi::OsString {
    std::env::var_os("CURTSY_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_curtsy").into())
}

impl Town {
    pub(crate) fn new(scene: Scene) -> Town {
        let mut town = Town::empty();
        town.sites = Some(Sites::start(scene, SitesSettings::default()).unwrap());
        town
    }

    /// A folder without sites.
    pub(crate) fn empty() -> Town {
        let n = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-crawl-{}-{n}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Town { folder, sites: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The URL of a page of a host, by its address.
    pub(crate) fn url(&self, host: usize, path: &str) -> String {
        let hosts = self.sites.as_ref().unwrap().hosts();
        format!("{}{}", hosts[host].url_by_address.trim_end_matches('/'), path)
    }

    /// The homes of all hosts, in a file.
    pub(crate) fn seeds(&self) -> PathBuf {
        let path = self.path("seeds.txt");
        let hosts = self.sites.as_ref().unwrap().hosts().iter();
        let seeds: Vec<_> = hosts.map(|h| h.url_by_address.clone()).collect();
        std::fs::write(&path, seeds.join("\n")).unwrap();
        path
    }

    /// The program, in this folder, with a ledger of its own.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(&self.folder).env("XDG_STATE_HOME", self.path("state"));
        command.env_remove("CURTSY_CONTACT").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.program(args).output().unwrap())
    }

    /// A crawl of this machine, into `crawl.db` unless another file is named.
    pub(crate) fn crawl(&self, args: &[&str]) -> Ran {
        self.run(&crawl_args(args))
    }

    pub(crate) fn start_crawl(&self, args: &[&str]) -> Child {
        let args = crawl_args(args);
        self.program(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn db(&self, name: &str) -> Connection {
        Connection::open(self.path(name)).unwrap()
    }

    /// What the sites saw, once they are closed.
    pub(crate) fn close(&mut self) -> Vec<Exchange> {
        self.sites.take().unwrap().stop().unwrap().log
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.sites.take();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn crawl_args<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["crawl", "--allow-net", "127.0.0.0/8"];
    all.extend(args);
    if !args.contains(&"--into") {
        all.extend(["--into", "crawl.db"]);
    }
    all
}

/// A folder on this machine, served by Python's own server: nobody here wrote it.
pub(crate) struct Served {
    server: Child,
    pub(crate) port: u16,
}

impl Served {
    pub(crate) fn folder(folder: &Path) -> Served {
        Served::folder_at(folder, 0)
    }

    pub(crate) fn folder_at(folder: &Path, port: u16) -> Served {
        let port = port.to_string();
        let args = ["-u", "-m", "http.server", &port, "--bind", "127.0.0.1", "--directory"];
        let mut server = Command::new("python3");
        server.args(args).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = server.spawn().unwrap();
        // "Serving HTTP on 127.0.0.1 port 40123 (http://127.0.0.1:40123/) ..."
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let words: Vec<_> = line.split(' ').collect();
        let port = words.iter().position(|word| *word == "port").unwrap() + 1;
        Served { server, port: words[port].parse().unwrap() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// How the program ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// One number of a database.
pub(crate) fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// One column of texts, in order.
pub(crate) fn texts(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A policy as the program reads it from a file.
pub(crate) fn policy(path: &Path) -> Policy {
    let text = std::fs::read_to_string(path).unwrap();
    let layers = Layers { file: Some(&text), ..Layers::default() };
    layers.settle(Reach::AllowedNet).unwrap().policy
}

/// Waits of a policy file, scaled down so that a test lives through many of them.
pub(crate) const SCALED: &str = "
[robots]
deny_ttl = '3s'
[backoff.curve]
base = '500ms'
cap = '8s'
[retry.curve]
base = '300ms'
cap = '4s'
[breaker.curve]
base = '2s'
cap = '8s'
[timeout]
first_byte = '4s'
whole = '10s'
";

/// What the judge says of a log.
pub(crate) fn judge(log: Vec<Exchange>, policy: &Policy, faults: &[CrawlerFault]) -> JudgeReport {
    judge_planned(log, policy, faults, Vec::new())
}

/// The same, with what was waiting: then it looks at liveness too, which only a machine that has nothing else to do can promise.
pub(crate) fn judge_planned(
    log: Vec<Exchange>,
    policy: &Policy,
    faults: &[CrawlerFault],
    plan: Vec<WorkPlan>,
) -> JudgeReport {
    let mut manners = manners_of(policy);
    manners.product = None;
    let mut judge = Judge::new(manners).with_plan(plan);
    for fault in faults {
        judge.fault(fault.clone());
    }
    let mut order = InStartOrder::new(std::time::Duration::from_secs(300));
    for exchange in log {
        order.push(exchange);
    }
    while let Some(exchange) = order.drain() {
        judge.see(exchange);
    }
    judge.finish()
}

/// Fails with the judge's words.
#[track_caller]
pub(crate) fn assert_clean(report: &JudgeReport) {
    if !report.clean() {
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        panic!("{}", String::from_utf8_lossy(&text));
    }
}

/// Requests that a kill may repeat: those in flight, and those whose answer came in the last 100 ms.
const JUST_NOW: u64 = 100_000;

/// Requests that were in flight at a moment, or had just been answered.
pub(crate) fn open_at(log: &[Exchange], at: u64) -> u32 {
    let open = log.iter().filter(|x| x.start <= at && x.end + JUST_NOW >= at);
    open.count() as u32
}

/// Now, as the sites' log has it.
pub(crate) fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// A server of one thread, for what no HTTP server does: tells when it was connected to.
pub(crate) fn server(answer: &'static [u8]) -> (SocketAddr, Arc<Mutex<Vec<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            times.lock().unwrap().push(Instant::now());
            serve(stream, answer);
        }
    });
    (address, accepted)
}

fn serve(mut stream: TcpStream, answer: &[u8]) {
    if answer.is_empty() {
        return;
    }
    let mut bytes = [0; 4096];
    while let Ok(1..) = stream.read(&mut bytes) {
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

/// What a proxy says that wants a user and a password.
pub(crate) const LOGIN: &[u8] = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n";
/// What squid says of a page that it does not let through.
pub(crate) const BLOCKED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nServer: squid/5.7\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\nContent-Length: 0\r\n\r\n";
