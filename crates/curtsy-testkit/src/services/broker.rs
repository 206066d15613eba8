//! A Kafka broker on loopback that keeps its data on a disk: tansu, from a binary that is given.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{await_up, dial, folder, free_port, kill};

/// A broker of a test's own.
pub struct Broker {
    child: Option<Child>,
    program: PathBuf,
    folder: PathBuf,
    /// Where it listens.
    pub port: u16,
    /// Where it tells its clients to find it, from its next start on: there, or at what stands
    /// before it.
    pub advertised: u16,
}

impl Broker {
    /// A broker with one topic.
    pub fn with_topic(program: &Path, topic: &str, partitions: u32) -> Broker {
        let (program, folder, port) = (program.to_owned(), folder("broker"), free_port());
        let mut broker = Broker { child: None, program, folder, port, advertised: port };
        broker.run();
        let made = Command::new(&broker.program)
            .args(["topic", "create", "--broker", &url(port)])
            .args(["--partitions", &partitions.to_string(), topic])
            .current_dir(&broker.folder)
            .stdout(Stdio::null())
            .status()
            .expect("the broker's own program");
        assert!(made.success(), "the topic `{topic}` is not made: {made}");
        broker
    }

    /// Its address for clients.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.advertised)
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        kill(&mut self.child);
    }

    /// Starts it again on the same data.
    pub fn run(&mut self) {
        let child = Command::new(&self.program)
            .args(["broker", "--silent", "--storage-engine", "sqlite://events.db"])
            .args(["--listener-url", &url(self.port)])
            .args(["--advertised-listener-url", &url(self.advertised)])
            .current_dir(&self.folder)
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a broker that can be started");
        self.child = Some(child);
        await_up("the broker", || dial(self.port).is_ok());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        // What can't be removed is not what is tested.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn url(port: u16) -> String {
    format!("tcp://127.0.0.1:{port}")
}
