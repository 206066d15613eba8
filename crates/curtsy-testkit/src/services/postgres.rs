//! A Postgres on loopback, from the system's own: a cluster of its own in a folder of its own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use super::{await_up, dial, folder, free_port};

/// Where Debian keeps the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Whom the server runs as, if the test runs as root: it refuses to be root.
const USER: &str = "postgres";

/// A cluster of a test's own. Everybody may connect as `app`.
pub struct Postgres {
    child: Option<Child>,
    folder: PathBuf,
    /// Where it listens.
    pub port: u16,
    databases: AtomicU64,
}

impl Postgres {
    /// A new cluster, up and empty. It survives that its processes are killed, not a power cut.
    pub fn start() -> Postgres {
        let (folder, port) = (folder("postgres"), free_port());
        if let Some((user, group)) = unprivileged() {
            std::os::unix::fs::chown(&folder, Some(user), Some(group)).expect("we are root");
        }
        let made = program("initdb")
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-A", "trust", "-U", "app", "--no-sync", "-E", "UTF8", "--locale=C"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .expect("Postgres is installed (`./test` does that)");
        assert!(made.success(), "`initdb` fails: {made}");
        let mut server = Postgres { child: None, folder, port, databases: AtomicU64::new(0) };
        server.run();
        server
    }

    /// A database that nobody has, as an address.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run_sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        self.url(&name)
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://app@127.0.0.1:{}/{database}", self.port)
    }

    /// Ends the server at once, as a crash of its processes does. What was committed is there when
    /// it runs again.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child of ours");
        // `pg_ctl stop -m immediate` does the same. It may have ended by itself.
        let _ = kill_process(pid, Signal::QUIT);
        child.wait().expect("a child of ours");
    }

    /// Starts it again on the same folder.
    pub fn run(&mut self) {
        let child = program("postgres")
            .arg("-D")
            .arg(self.folder.join("data"))
            .args(["-p", &self.port.to_string(), "-k"])
            .arg(&self.folder)
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "shared_buffers=16MB", "-c", "log_min_messages=panic"])
            .args(["-c", "log_min_error_statement=panic"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Postgres is installed (`./test` does that)");
        self.child = Some(child);
        await_up("Postgres", || dial(self.port).is_ok() && self.answers());
    }

    /// Runs statements in a database, with the system's own client.
    pub fn run_sql(&self, database: &str, sql: &str) {
        let done = self.psql(database, sql).status().expect("`psql` comes with Postgres");
        assert!(done.success(), "`{sql}` fails: {done}");
    }

    fn answers(&self) -> bool {
        let asked = self.psql("postgres", "SELECT 1").stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = program("psql");
        command.args(["-X", "-q", "-h", "127.0.0.1", "-U", "app", "-v", "ON_ERROR_STOP=1"]);
        command.args(["-p", &self.port.to_string(), "-d", database, "-c", sql]);
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
        // What can't be removed is not what is tested.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program of Postgres: that of the newest version which Debian has installed, or the one on the
/// path. Never as root.
fn program(name: &str) -> Command {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|version| in_debian(*version, name).exists())
        .max();
    let program = newest.map_or(PathBuf::from(name), |version| in_debian(version, name));
    let mut command = Command::new(program);
    if let Some((user, group)) = unprivileged() {
        command.uid(user).gid(group);
    }
    command
}

fn in_debian(version: u32, name: &str) -> PathBuf {
    Path::new(DEBIAN).join(version.to_string()).join("bin").join(name)
}

/// User and group to run as, if we are root.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        (parts.next() == Some(USER)).then_some(())?;
        Some((parts.nth(1)?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    Some(found.unwrap_or_else(|| {
        panic!("the user `{USER}` is there with Postgres (`./test` installs it)")
    }))
}
