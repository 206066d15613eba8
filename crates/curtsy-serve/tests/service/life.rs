//! A service in a process of its own, which can be killed.
//!
//! The test's own program is started again with the one test that serves until it is killed.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use curtsy_serve::ServeSpec;
use curtsy_store::LedgerPlace;

use crate::place::{Folder, Service, WAIT_MAX, spec_with};

/// Tells the other process where its folder is.
const FOLDER: &str = "CURTSY_TEST_FOLDER";

/// A service in a process of its own. It is killed with the test.
pub(crate) struct Life {
    pub(crate) service: Service,
    child: Child,
    said: PathBuf,
}

/// Leases of a process that was killed end with the time that a request may take.
fn spec(store: LedgerPlace) -> ServeSpec {
    spec_with(
        store,
        &[
            ("pace.delay", "100ms"),
            ("timeout.first_byte", "5s"),
            ("timeout.whole", "5s"),
            ("patience", "5m"),
        ],
    )
}

impl Life {
    pub(crate) fn start(folder: &Folder) -> Life {
        let (address, said) = (folder.0.join("address"), folder.0.join("said"));
        // The one before may have left it.
        let _ = fs::remove_file(&address);
        let out = fs::File::options().create(true).append(true).open(&said).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "life::a_life", "--ignored", "--nocapture"])
            .env(FOLDER, &folder.0)
            .stdin(Stdio::null())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap();
        let until = Instant::now() + WAIT_MAX;
        let told = loop {
            match fs::read_to_string(&address) {
                Ok(told) => break told,
                Err(_) => assert!(
                    Instant::now() < until,
                    "it did not start: {:?}",
                    fs::read_to_string(&said)
                ),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (address, resumed) = told.split_once(' ').unwrap();
        let policy = spec(folder.store()).settled.policy;
        let service =
            Service::elsewhere(address.parse().unwrap(), resumed.parse().unwrap(), policy);
        Life { service, child, said }
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it has said so far on its outputs.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "is the other process of tests that kill one"]
fn a_life() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let service = Service::start(spec(LedgerPlace::File(folder.join("service.db"))));
    let told = format!("{} {}", service.address, service.resumed);
    // Nobody reads half of it.
    fs::write(folder.join("address.new"), told).unwrap();
    fs::rename(folder.join("address.new"), folder.join("address")).unwrap();
    loop {
        std::thread::park();
    }
}
