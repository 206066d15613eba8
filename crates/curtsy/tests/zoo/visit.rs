//! A crawl of the zoo, and what its rows say.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use curtsy_lab::zoo::{Zoo, ZooCase, ZooHost, ZooSettings};
use rusqlite::Connection;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A zoo that is open, with a folder beside it that is removed at the end.
pub(crate) struct Visit {
    pub(crate) folder: PathBuf,
    pub(crate) zoo: Option<Zoo>,
}

/// Times are a fifth of the default's, so that a visit is over soon; no URL is tried twice, no host is probed.
pub(crate) const HURRIED: &str = "
preset = 'careful'
patience = '12s'
[pace]
delay = '0s'
adaptive = false
[timeout]
connect = '3s'
tls = '3s'
first_byte = '3s'
whole = '6s'
[backoff]
forbidden = 'permanent'
[retry]
max = 0
[retry.curve]
base = '1h'
cap = '2h'
[breaker.curve]
base = '1h'
cap = '2h'
";

impl Visit {
    pub(crate) fn to(cases: Vec<ZooCase>) -> Visit {
        let n = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-zoo-{}-{n}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let zoo = Zoo::open(cases, ZooSettings::default()).unwrap();
        std::fs::write(folder.join("ca.pem"), zoo.ca_pem()).unwrap();
        let urls: Vec<_> = zoo.hosts().iter().map(|host| host.url.as_str()).collect();
        std::fs::write(folder.join("urls.txt"), urls.join("\n")).unwrap();
        std::fs::write(folder.join("p.toml"), HURRIED).unwrap();
        Visit { folder, zoo: Some(zoo) }
    }

    pub(crate) fn hosts(&self) -> &[ZooHost] {
        self.zoo.as_ref().unwrap().hosts()
    }

    /// The program, about to crawl the whole zoo into `zoo.db`.
    pub(crate) fn crawler(&self, more: &[&str]) -> Command {
        let program = std::env::var_os("CURTSY_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_curtsy").into());
        let mut command = Command::new(program);
        command
            .args(["crawl", "--allow-net", "127.66.0.0/16", "--ca-file", "ca.pem"])
            .args(["--policy", "p.toml", "--into", "zoo.db", "--quiet"])
            .args(more)
            .current_dir(&self.folder)
            .env("XDG_STATE_HOME", self.folder.join("state"))
            .env_remove("CURTSY_CONTACT")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn crawl(&self, more: &[&str]) -> Output {
        self.crawler(&[&["--from", "urls.txt"], more].concat()).output().unwrap()
    }

    pub(crate) fn db(&self) -> Connection {
        Connection::open(self.folder.join("zoo.db")).unwrap()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.zoo.take();
        if std::env::var_os("KEEP_ZOO").is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// What the rows say of a URL last.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) decision: String,
    pub(crate) error: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) gate: Option<String>,
    pub(crate) friction: Option<String>,
    pub(crate) wait_ms: Option<i64>,
}

/// The row of a URL.
pub(crate) fn row_of(db: &Connection, url: &str) -> Option<Said> {
    said(
        db,
        "SELECT decision, error, http_status, gate, friction, retry_after_ms FROM pages WHERE url = ?1",
        url,
    )
}

/// The last decision about a URL.
pub(crate) fn last_of(db: &Connection, url: &str) -> Option<Said> {
    let sql = "SELECT decision, error, http_status, gate, friction, retry_after_ms FROM decisions
        WHERE url = ?1 ORDER BY at DESC LIMIT 1";
    said(db, sql, url)
}

fn said(db: &Connection, sql: &str, url: &str) -> Option<Said> {
    db.query_row(sql, [url], |row| {
        Ok(Said {
            decision: row.get(0)?,
            error: row.get(1)?,
            status: row.get(2)?,
            gate: row.get(3)?,
            friction: row.get(4)?,
            wait_ms: row.get(5)?,
        })
    })
    .ok()
}

/// The last decision about a URL of a host that came to this status.
pub(crate) fn refused_by(db: &Connection, host: &Ipv4Addr, status: u16) -> Option<Said> {
    let sql = format!(
        "SELECT decision, error, http_status, gate, friction, retry_after_ms FROM decisions
        WHERE host = ?1 AND http_status = {status} ORDER BY at DESC LIMIT 1"
    );
    said(db, &sql, &host.to_string())
}

/// Whether the guard refused an address beside the zoo's.
pub(crate) fn is_guarded(db: &Connection) -> bool {
    let sql = "SELECT count(*) > 0 FROM decisions WHERE url LIKE 'http://127.99.0.1:8089/%' AND error = 'guard'";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}
