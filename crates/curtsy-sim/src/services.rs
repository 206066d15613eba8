//! Servers of a test's own: a free port, a folder of their own, killed when the test ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// A Redis on loopback, from the system's `redis-server`.
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
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let settings = settings.iter().map(|s| (*s).to_owned()).collect();
        let mut server = Redis { child: None, folder, port: free_port(), settings };
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
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; what counts is that it is gone.
            let _ = child.kill();
            child.wait().expect("a child of ours");
        }
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
        let end = Instant::now() + UP_WITHIN;
        while !self.answers() {
            assert!(Instant::now() < end, "Redis does not come up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Loses everything that the server had, and starts it again.
    pub fn wipe(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.folder).expect("the folder is ours");
        std::fs::create_dir_all(&self.folder).expect("the folder is ours");
        self.run();
    }

    fn answers(&self) -> bool {
        #[expect(clippy::disallowed_methods, reason = "a server of the test's own")]
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
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

/// A port that nobody has.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}
