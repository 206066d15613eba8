//! A Redis of the test's own: a free port, a folder of its own, killed when the test ends.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A Redis server on loopback.
pub(crate) struct Server {
    child: Option<Child>,
    folder: PathBuf,
    pub(crate) port: u16,
    settings: Vec<String>,
}

impl Server {
    /// A server that writes each command to its disk before it answers.
    pub(crate) fn start() -> Server {
        Server::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// A server with these settings.
    pub(crate) fn with(settings: &[&str]) -> Server {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let port = free_port();
        let settings = settings.iter().map(|s| (*s).to_owned()).collect();
        let mut server = Server { child: None, folder, port, settings };
        server.run();
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Ends the server as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; what counts is that it is gone.
            let _ = child.kill();
            child.wait().expect("a child of ours");
        }
    }

    /// Starts it again on the same folder.
    pub(crate) fn run(&mut self) {
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--daemonize", "no"])
            .args(["--port", &self.port.to_string(), "--dir"])
            .arg(&self.folder)
            .args(&self.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("`redis-server` is installed (`./test` does that)");
        self.child = Some(child);
        let client = redis::Client::open(self.url()).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let pong = client.get_connection().and_then(|mut c| redis::cmd("PING").query(&mut c));
            match pong {
                Ok(()) => return,
                Err(e) if Instant::now() > end => panic!("Redis does not come up: {e}"),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Loses everything that the server had.
    pub(crate) fn wipe(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.folder).expect("the folder is ours");
        std::fs::create_dir_all(&self.folder).expect("the folder is ours");
        self.run();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // What can't be removed is not what is tested.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}
