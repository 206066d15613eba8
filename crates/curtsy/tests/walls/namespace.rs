//! A network namespace of a test's own, in which every address leads to loopback.
//!
//! The test runs itself once more under `unshare`, which needs root or a system that lets users have
//! namespaces. Elsewhere the test says that it could not run.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use curtsy_testkit::services::could_not_run;
use rusqlite::Connection;

use crate::resolver::{Answers, Resolver};
use crate::sites::{Answer, Request, Sites};
use crate::wire::Wire;

/// Set inside.
const INSIDE: &str = "CURTSY_WALLS_INSIDE";

/// Addresses that this machine has there; both are public by their range.
pub(crate) const OWN_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(5, 5, 5, 5), Ipv4Addr::new(5, 5, 5, 6)];
pub(crate) const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2a05, 0, 0, 0, 0, 0, 0, 5);
/// Who answers for names.
pub(crate) const RESOLVER: Ipv4Addr = Ipv4Addr::new(9, 9, 9, 9);
/// Where a proxy is, if there is one.
pub(crate) const PROXY: Ipv4Addr = Ipv4Addr::new(9, 9, 9, 10);

/// Public addresses on which sites are, and nothing else is: `20.0.0.0/8` and `2a02::/16`.
pub(crate) fn is_a_sites(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[0] == 20,
        IpAddr::V6(v6) => v6.segments()[0] == 0x2a02,
    }
}

/// Everything there is inside: the wire that is watched, names, sites, a folder.
pub(crate) struct World {
    pub(crate) wire: Wire,
    pub(crate) names: Resolver,
    pub(crate) sites: Sites,
    folder: PathBuf,
}

/// Runs a test inside. `name` is the test's own, as the harness calls it.
pub(crate) fn inside(
    name: &str,
    names: impl Answers + 'static,
    site: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    test: impl FnOnce(&World),
) {
    if std::env::var_os(INSIDE).is_some() {
        let world = World::new(name, names, site);
        test(&world);
        return;
    }
    let unshare = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--mount"]);
        if !is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        // Users other than root need not have `ip` on their path.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        unshare.arg("--").args(command).env(INSIDE, "1").env("PATH", path).stdin(Stdio::null());
        unshare.output()
    };
    if let Err(why) = told(unshare(&["ip", "link", "set", "lo", "up"])) {
        let needs = "a network namespace (root, `unshare`, `ip`)";
        return could_not_run(&format!("{name} needs {needs}: {why}"));
    }
    let own = std::env::current_exe().unwrap();
    let ran = unshare(&[own.to_str().unwrap(), "--exact", name, "--nocapture"]);
    let ran = ran.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "`{name}` is not what the test is called: {said}");
    // What it counted is worth a look: `--nocapture`, or nextest's `--no-capture`.
    eprint!("{}", String::from_utf8_lossy(&ran.stderr));
}

impl World {
    fn new(
        name: &str,
        names: impl Answers + 'static,
        site: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> World {
        let [own, other] = OWN_V4.map(|own| own.to_string());
        let own_v6 = OWN_V6.to_string();
        ip(&["link", "set", "lo", "up"]);
        ip(&["addr", "add", &format!("{own}/32"), "dev", "lo"]);
        ip(&["addr", "add", &format!("{other}/32"), "dev", "lo"]);
        ip(&["-6", "addr", "add", &format!("{own_v6}/128"), "dev", "lo", "nodad"]);
        // A source of its own: without, every address would be the machine's own to the system.
        ip(&["route", "add", "local", "0.0.0.0/0", "dev", "lo", "src", &own]);
        ip(&["-6", "route", "add", "local", "::/0", "dev", "lo", "src", &own_v6]);
        let folder = format!("curtsy-walls-{}-{}", name.replace("::", "-"), std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        mount(&folder, "resolv.conf", &format!("nameserver {RESOLVER}\noptions timeout:2\n"));
        mount(&folder, "hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
        mount(&folder, "nsswitch.conf", "hosts: files dns\n");
        let wire = Wire::watch();
        World { wire, names: Resolver::start(names), sites: Sites::start(site), folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The program, with a ledger of its own.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let program = std::env::var_os("CURTSY_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_curtsy").into());
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.folder).env("XDG_STATE_HOME", self.path("state"));
        command.env_remove("CURTSY_CONTACT").stdin(Stdio::null());
        Ran::of(&command.output().unwrap())
    }

    /// A crawl as anybody runs it: a contact, and no network allowed. Into `crawl.db` unless another file is named.
    pub(crate) fn crawl(&self, args: &[&str]) -> Ran {
        let into: &[&str] = if args.contains(&"--into") { &[] } else { &["--into", "crawl.db"] };
        self.run(&[&["crawl", "--contact", "walls@example.org", "--quiet"], args, into].concat())
    }

    pub(crate) fn db(&self, name: &str) -> Connection {
        Connection::open(self.path(name)).unwrap()
    }

    /// Fails if anything but sites and the resolver was dialled. Gives the number of dials.
    #[track_caller]
    pub(crate) fn assert_walls_held(&self) -> usize {
        let dialled = self.wire.dialled();
        let breaches: Vec<_> = dialled
            .iter()
            .filter(|to| !is_a_sites(to.ip()) && to.ip() != RESOLVER && to.ip() != PROXY)
            .collect();
        assert!(breaches.is_empty(), "{} dials inward: {breaches:?}", breaches.len());
        dialled.len()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// How the program ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

impl Ran {
    fn of(output: &Output) -> Ran {
        let said = [&output.stdout[..], &output.stderr].concat();
        Ran { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() }
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{}", self.said);
        self
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn told(ran: std::io::Result<Output>) -> Result<(), String> {
    let ran = ran.map_err(|error| format!("`unshare` can't be run: {error}"))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
    }
}

fn ip(args: &[&str]) {
    let ran = Command::new("ip").args(args).output();
    told(ran).unwrap_or_else(|why| panic!("ip {}: {why}", args.join(" ")));
}

/// Puts a file of our own in the place of the system's, for this namespace alone.
fn mount(folder: &Path, name: &str, text: &str) {
    let (own, theirs) = (folder.join(name), Path::new("/etc").join(name));
    std::fs::write(&own, text).unwrap();
    let ran = Command::new("mount").arg("--bind").args([&own, &theirs]).output();
    told(ran).unwrap_or_else(|why| panic!("mount over {}: {why}", theirs.display()));
}
