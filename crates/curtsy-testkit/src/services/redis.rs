//! A Redis on loopback, from the system's `redis-server`.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{await_up, dial, folder, free_port, kill};

/// A Redis of a test's own.
pub struct Redis {
    child: Option<Child>,
    folder: PathBuf,
    /// Where it listens.
    pub port: u16,
    settings: Vec<String>,
}

impl Redis {
    /// A server that writes each command to its disk before it answers.
    pub fn durable() -> Redis {
        Redis::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// A server that keeps nothing on a disk.
    pub fn forgetful() -> Redis {
        Redis::with(&["--appendonly", "no"])
    }

    /// A server with these settings.
    pub fn with(settings: &[&str]) -> Redis {
        let settings = settings.iter().map(|s| (*s).to_owned()).collect();
        let mut server =
            Redis { child: None, folder: folder("redis"), port: free_port(), settings };
        server.run();
        server
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// The number of its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends the server as a crash does.
    pub fn kill(&mut self) {
        kill(&mut self.child);
    }

    /// Starts it again on the same folder.
    pub fn run(&mut self) {
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
        await_up("Redis", || self.answers());
    }

    /// Loses everything that the server had, and starts it again.
    pub fn wipe(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.folder).expect("the folder is ours");
        std::fs::create_dir_all(&self.folder).expect("the folder is ours");
        self.run();
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = dial(self.port) else { return false };
        let mut answer = [0; 5];
        let asked = stream
            .set_read_timeout(Some(Duration::from_secs(1)))
            .and_then(|()| stream.write_all(b"PING\r\n"))
            .and_then(|()| stream.read_exact(&mut answer));
        asked.is_ok() && &answer == b"+PONG"
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
        // What can't be removed is not what is tested.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
