//! A folder, sites, and stock DuckDB with the extension.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use curtsy_core::policy::{Layers, Policy, Reach};
use curtsy_judge::{CrawlerFault, Exchange, InStartOrder, Judge};
use curtsy_lab::sites::{Scene, Sites, SitesSettings};
use curtsy_sim::manners_of;
use serde_json::{Value as Json, json};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A timeout longer than any statement here: a process without an answer by then hangs.
const HANGS: Duration = Duration::from_secs(60);

/// The release with the statement, and the one before it.
pub(crate) const NEW: &str = "2.0.0";
pub(crate) const OLD: &str = "1.5.6";

/// A fast and polite policy: the rules of the requirements, with a short delay.
pub(crate) const QUICK: &str = "preset = 'warehouse'\n[pace]\ndelay = '20ms'\nadaptive = false\n";

/// A folder that is removed at the end, with sites beside it.
pub(crate) struct Town {
    pub(crate) folder: PathBuf,
    pub(crate) sites: Option<Sites>,
}

impl Town {
    /// Sites, and a policy as a file; without one, the defaults of `warehouse`.
    pub(crate) fn new(scene: Scene, policy: &str) -> Town {
        let mut town = Town::empty(policy);
        town.sites = Some(Sites::start(scene, SitesSettings::default()).unwrap());
        town
    }

    /// A folder without sites.
    pub(crate) fn empty(policy: &str) -> Town {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("curtsy-sql-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let policy = if policy.is_empty() { "preset = 'warehouse'\n" } else { policy };
        std::fs::write(folder.join("p.toml"), policy).unwrap();
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

    /// Returns the generated pages of a host without its home page, as a SQL list.
    pub(crate) fn pages(&self, host: usize, from: u32, to: u32) -> String {
        list((from..to).map(|n| self.url(host, &format!("/p/{n}"))))
    }

    /// Returns the log of the sites so far.
    pub(crate) fn log(&self) -> Vec<Exchange> {
        self.sites.as_ref().unwrap().log()
    }

    /// Returns the requested paths of a host so far, in order.
    pub(crate) fn asked(&self, host: usize) -> Vec<String> {
        let address = self.sites.as_ref().unwrap().hosts()[host].address;
        let of = |x: &&Exchange| x.local == Some((*address.ip()).into());
        self.log().iter().filter(of).map(|x| x.target.to_string()).collect()
    }

    /// Waits until the sites have seen something.
    #[track_caller]
    pub(crate) fn wait_until(&self, seen: impl Fn(&[Exchange]) -> bool) {
        let until = Instant::now() + HANGS;
        while !seen(&self.log()) {
            assert!(Instant::now() < until, "it did not come: {:?}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the sites and returns their log.
    pub(crate) fn close(&mut self) -> Vec<Exchange> {
        self.sites.take().unwrap().stop().unwrap().log
    }

    /// Closes the sites and judges their log.
    #[track_caller]
    pub(crate) fn assert_clean(&mut self) -> Vec<Exchange> {
        self.assert_clean_but(&[])
    }

    /// Does the same, with the events that happened to the crawler.
    #[track_caller]
    pub(crate) fn assert_clean_but(&mut self, faults: &[CrawlerFault]) -> Vec<Exchange> {
        let log = self.close();
        let policy = policy(&self.path("p.toml"));
        judge(&log, &policy, faults);
        log
    }

    /// DuckDB in a process of its own, with an empty database in memory.
    pub(crate) fn duck(&self) -> Duck {
        self.duck_on(":memory:")
    }

    /// The same, with a file.
    pub(crate) fn duck_on(&self, database: &str) -> Duck {
        let duck = self.duck_of(NEW);
        duck.open(self, database);
        duck
    }

    /// Starts a process with this release of DuckDB, and opens nothing.
    pub(crate) fn duck_of(&self, release: &str) -> Duck {
        let mut command = Command::new(python(release));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql/drive.py"));
        Duck::start(self.dressed(command))
    }

    /// Returns a command in this folder, with a ledger of its own and none of the user's settings.
    pub(crate) fn dressed(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("XDG_STATE_HOME", self.path("state"));
        command.env("CURTSY_EXTENSION", extension()).env_remove("CURTSY_CONTACT");
        command.env_remove("http_proxy").env_remove("HTTP_PROXY");
        command
    }

    /// Returns the settings that permit a session to crawl this machine.
    pub(crate) fn settings(&self) -> String {
        let policy = self.path("p.toml");
        format!(
            "SET curtsy_allow_net = '127.0.0.0/8'; SET curtsy_policy = '{}'",
            policy.to_str().unwrap()
        )
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.sites.take();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folder of cargo's output.
pub(crate) fn target() -> PathBuf {
    // target/debug/deps/sql-…
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().to_owned()
}

fn there(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is not there\nhint: run ./test, which makes it", path.display());
    path
}

pub(crate) fn extension() -> PathBuf {
    there(target().join("curtsy.duckdb_extension"))
}

/// Returns the program beside the extension.
pub(crate) fn program() -> PathBuf {
    there(target().join("curtsy"))
}

/// Returns a file of a release's virtual environment.
pub(crate) fn venv(release: &str, file: &str) -> PathBuf {
    let target = target();
    there(target.parent().unwrap().join(format!("venv/duckdb-{release}/bin/{file}")))
}

pub(crate) fn python(release: &str) -> PathBuf {
    venv(release, "python")
}

/// Returns texts as a SQL list.
pub(crate) fn list(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let texts = texts.into_iter().map(|text| quoted(text.as_ref()));
    format!("[{}]", texts.collect::<Vec<_>>().join(", "))
}

/// Returns a text as a SQL literal.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A process with DuckDB in it; `a` is its first connection.
pub(crate) struct Duck {
    child: Child,
    first: Seat,
}

/// A connection.
#[derive(Clone)]
pub(crate) struct Seat {
    name: String,
    wire: Arc<Wire>,
}

/// The input of the process, and the statements that wait for results.
struct Wire {
    stdin: Mutex<ChildStdin>,
    waiting: Arc<Mutex<HashMap<u64, Sender<Json>>>>,
    next: AtomicU64,
}

/// The result of a statement.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) columns: Vec<String>,
    pub(crate) types: Vec<String>,
    pub(crate) rows: Vec<Vec<Json>>,
}

/// A running statement.
pub(crate) struct Pending(Receiver<Json>);

impl Pending {
    /// Waits for its result, or DuckDB's error.
    #[track_caller]
    pub(crate) fn wait(self) -> Result<Answered, String> {
        let answer = self.0.recv_timeout(HANGS).expect("DuckDB hangs, or its process has crashed");
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let texts = |name: &str| {
            let texts = answer[name].as_array().cloned().unwrap_or_default();
            texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let rows = answer["rows"].as_array().cloned().unwrap_or_default();
        let rows = rows.into_iter().map(|row| row.as_array().unwrap().clone()).collect();
        Ok(Answered { columns: texts("columns"), types: texts("types"), rows })
    }
}

impl Duck {
    fn start(mut command: Command) -> Duck {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let waiting: Arc<Mutex<HashMap<u64, Sender<Json>>>> = Arc::default();
        let (told, stdout) = (Arc::clone(&waiting), child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let answer: Json = serde_json::from_str(&line).unwrap();
                let waits = told.lock().unwrap().remove(&answer["n"].as_u64().unwrap());
                // The test may not wait for the result any more.
                let _ = waits.map(|waits| waits.send(answer));
            }
            // The process has ended: dropping the senders ends every wait.
            told.lock().unwrap().clear();
        });
        std::thread::spawn(move || {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            #[allow(clippy::print_stderr, reason = "the test's own record")]
            if !said.is_empty() {
                eprintln!("DuckDB's process said: {said}");
            }
        });
        let stdin = Mutex::new(child.stdin.take().unwrap());
        let wire = Arc::new(Wire { stdin, waiting, next: AtomicU64::new(1) });
        Duck { child, first: Seat { name: "a".to_owned(), wire } }
    }

    /// Opens a database in the town's folder, ready to crawl.
    #[track_caller]
    pub(crate) fn open(&self, town: &Town, database: &str) {
        self.try_open(database).unwrap();
        self.run(&town.settings());
    }

    /// Opens a database, or returns DuckDB's error.
    #[track_caller]
    pub(crate) fn try_open(&self, database: &str) -> Result<(), String> {
        self.tell(json!({ "open": database })).wait().map(drop)
    }

    /// Another connection of the same database, ready to crawl.
    #[track_caller]
    pub(crate) fn beside(&self, name: &str, town: &Town) -> Seat {
        let seat = Seat { name: name.to_owned(), wire: Arc::clone(&self.wire) };
        seat.tell(json!({ "beside": self.name })).wait().unwrap();
        seat.run(&town.settings());
        seat
    }

    /// Counts the entries of a folder of the process in /proc: `fd`, `task`.
    pub(crate) fn proc(&self, what: &str) -> Vec<PathBuf> {
        let folder = format!("/proc/{}/{what}", self.child.id());
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Counts the threads of crawls.
    pub(crate) fn crawlers(&self) -> usize {
        let names = self.proc("task").into_iter();
        let names = names.filter_map(|task| std::fs::read_to_string(task.join("comm")).ok());
        names.filter(|name| name.trim() == "crawl").count()
    }

    /// Kills the process and returns the time.
    pub(crate) fn kill(mut self) -> u64 {
        let at = micros();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        at
    }
}

impl Deref for Duck {
    type Target = Seat;

    fn deref(&self) -> &Seat {
        &self.first
    }
}

impl Drop for Duck {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Seat {
    fn tell(&self, mut order: Json) -> Pending {
        let n = self.wire.next.fetch_add(1, Ordering::Relaxed);
        order["n"] = n.into();
        order["seat"] = self.name.as_str().into();
        let (sender, receiver) = channel();
        self.wire.waiting.lock().unwrap().insert(n, sender);
        self.write(&order);
        Pending(receiver)
    }

    fn write(&self, order: &Json) {
        let mut stdin = self.wire.stdin.lock().unwrap();
        writeln!(stdin, "{order}").unwrap();
        stdin.flush().unwrap();
    }

    /// Starts a statement.
    pub(crate) fn start(&self, sql: &str) -> Pending {
        self.tell(json!({ "sql": sql }))
    }

    /// Runs a statement and takes only its first rows.
    pub(crate) fn first_rows(&self, sql: &str, rows: usize) -> Pending {
        self.tell(json!({ "sql": sql, "rows": rows }))
    }

    /// Runs a statement.
    #[track_caller]
    pub(crate) fn run(&self, sql: &str) -> Answered {
        match self.start(sql).wait() {
            Ok(answered) => answered,
            Err(error) => panic!("{sql}\n{error}"),
        }
    }

    /// Its rows.
    #[track_caller]
    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<Json>> {
        self.run(sql).rows
    }

    /// The first value of its first row.
    #[track_caller]
    pub(crate) fn one(&self, sql: &str) -> Json {
        self.rows(sql)[0][0].clone()
    }

    /// The same, as a number.
    #[track_caller]
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.one(sql).as_i64().unwrap()
    }

    /// One column of texts.
    #[track_caller]
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        let rows = self.rows(sql).into_iter();
        rows.map(|row| row[0].as_str().unwrap_or("NULL").to_owned()).collect()
    }

    /// Returns the error of a statement that must fail.
    #[track_caller]
    pub(crate) fn refused(&self, sql: &str) -> String {
        match self.start(sql).wait() {
            Ok(answered) => panic!("{sql}\nran, and should not have: {answered:?}"),
            Err(error) => error,
        }
    }

    /// Checks the error, and the hint in it.
    #[track_caller]
    pub(crate) fn refused_with(&self, sql: &str, words: &[&str]) {
        let error = self.refused(sql);
        for word in words {
            assert!(error.contains(word), "{sql}\nno `{word}` in: {error}");
        }
    }

    /// Runs `CRAWL (these URLs) INTO pages WITH (…)` and returns its result by column.
    #[track_caller]
    pub(crate) fn crawl(&self, urls: &str, options: &str) -> HashMap<String, Json> {
        let answered = self.run(&crawl_sql(urls, options));
        answered.columns.into_iter().zip(answered.rows[0].iter().cloned()).collect()
    }

    /// Interrupts the running statement, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.write(&json!({ "interrupt": self.name }));
    }

    /// Returns the progress of the running statement in percent; negative if it is unknown.
    #[track_caller]
    pub(crate) fn progress(&self) -> f64 {
        self.tell(json!({ "progress": self.name })).wait().unwrap().rows[0][0].as_f64().unwrap()
    }

    #[track_caller]
    pub(crate) fn close(&self) {
        self.tell(json!({ "close": true })).wait().unwrap();
    }
}

/// The statement for a list of URLs.
pub(crate) fn crawl_sql(urls: &str, options: &str) -> String {
    let with = if options.is_empty() { String::new() } else { format!(" WITH ({options})") };
    format!("CRAWL (SELECT unnest({urls})) INTO pages{with}")
}

/// Reads a policy as the program reads a file.
pub(crate) fn policy(path: &Path) -> Policy {
    let text = std::fs::read_to_string(path).unwrap();
    let layers = Layers { file: Some(&text), ..Layers::default() };
    layers.settle(Reach::AllowedNet).unwrap().policy
}

/// Fails with the judge's findings, if there are any.
#[track_caller]
pub(crate) fn judge(log: &[Exchange], policy: &Policy, faults: &[CrawlerFault]) {
    let mut manners = manners_of(policy);
    manners.product = None;
    let mut judge = Judge::new(manners);
    for fault in faults {
        judge.fault(fault.clone());
    }
    let mut order = InStartOrder::new(Duration::from_secs(300));
    for exchange in log {
        order.push(exchange.clone());
    }
    while let Some(exchange) = order.drain() {
        judge.see(exchange);
    }
    let report = judge.finish();
    if !report.clean() {
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        panic!("{}", String::from_utf8_lossy(&text));
    }
}

/// Returns the times between the starts of these requests, in milliseconds.
pub(crate) fn gaps<'l>(log: impl IntoIterator<Item = &'l Exchange>) -> Vec<f64> {
    let starts: Vec<u64> = log.into_iter().map(|x| x.start).collect();
    starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0).collect()
}

/// Returns the largest number of concurrent requests.
pub(crate) fn most_at_once(log: &[Exchange]) -> usize {
    let open_at = |at: u64| log.iter().filter(|x| x.start <= at && at < x.end).count();
    log.iter().map(|x| open_at(x.start)).max().unwrap_or(0)
}

/// Returns the requests that may be repeated after a kill: those in flight, and those whose
/// response came in the last 100 ms.
pub(crate) fn open_at(log: &[Exchange], at: u64) -> u32 {
    log.iter().filter(|x| x.start <= at && x.end + 100_000 >= at).count() as u32
}

/// Returns the time in the clock of the sites' log.
pub(crate) fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}
