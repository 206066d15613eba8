//! Servers of a test's own, and what goes wrong with them: a free port, a folder of their own,
//! killed when the test ends.

mod broker;
mod left_out;
mod postgres;
mod proxy;
mod redis;

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use broker::Broker;
pub use left_out::{could_not_run, left_out};
pub use postgres::Postgres;
pub use proxy::{Proxy, Trouble, Way};
pub use redis::Redis;

/// How long a server may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// A port that nobody has.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}

/// A connection to a server of the test's own.
fn dial(port: u16) -> std::io::Result<TcpStream> {
    #[expect(clippy::disallowed_methods, reason = "a server of the test's own")]
    TcpStream::connect(("127.0.0.1", port))
}

/// Makes a folder of a test's own below the system's temporary one.
pub fn folder(of: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("curtsy-{of}-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Waits until a server answers.
fn await_up(name: &str, answers: impl Fn() -> bool) {
    let end = Instant::now() + UP_WITHIN;
    while !answers() {
        assert!(Instant::now() < end, "{name} does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends a server as a crash does.
fn kill(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        // It may have ended by itself; what counts is that it is gone.
        let _ = child.kill();
        child.wait().expect("a child of ours");
    }
}
