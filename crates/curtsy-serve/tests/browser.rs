//! The pages as a person meets them: Debian's Chromium, driven by Playwright, walks through a real
//! service.
//!
//! The service, its stores and the sites are made here; what a person does and sees is
//! `browser/walk.mjs`. Whatever must be seen while a run is at work is seen while a site holds its
//! answer back, or has told us to wait for long: the walk says when it has seen enough. Pictures of
//! every page are left in `screenshots` in the target directory. `./test` installs what is needed.

#[path = "service/client.rs"]
#[allow(dead_code, reason = "the tests of the API use all of it")]
mod client;
#[path = "browser/hostile.rs"]
mod hostile;
#[path = "service/place.rs"]
#[allow(dead_code, reason = "the tests of the API use all of it")]
mod place;
#[path = "browser/shapes.rs"]
mod shapes;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use curtsy_lab::sites::{Answer, Body, Host, Scene, Sites, SitesSettings};
use curtsy_serve::{Demo, ServeSpec};
use serde_json::json;

use hostile::Hostile;
use place::{Folder, Service, TOKEN, spec_with};

#[test]
fn a_person_walks_through_the_pages() {
    let parts = Parts::find().unwrap_or_else(|missing| {
        panic!("{missing} is missing, so nobody looked at the pages\nhint: run ./test, which installs it")
    });
    let screenshots = target().join("screenshots");
    // What an earlier walk saw says nothing about this one.
    let _ = fs::remove_dir_all(&screenshots);
    fs::create_dir_all(&screenshots).unwrap();

    let [folder, other_folder, patient_folder] = [(); 3].map(|()| Folder::new());
    let demo = Demo::start().unwrap();
    let Hostile { hosts, planted, paths } = hostile::site();
    let waits = [waiting("long.test"), waiting("long-too.test"), one_by_one(), shy()];
    let sites = serve([waits.to_vec(), hosts].concat());
    let at = |host: &str, path: &str| format!("http://{host}:{}{path}", sites.port());

    // A pace that an eye can follow.
    let calm = [("pace.delay", "250ms"), ("risk.delay", "250ms,250ms,250ms")];
    let service = Service::start(ServeSpec {
        example: Some(demo.example()),
        ..spec_with(folder.store(), &calm)
    });
    // An answer that is held back is waited for.
    let answered = [("timeout.first_byte", "10m"), ("timeout.whole", "10m")];
    let quick = [("pace.delay", "20ms"), ("risk.delay", "20ms,20ms,20ms")];
    let other = Service::start(spec_with(other_folder.store(), &[quick, answered].concat()));
    // So is a site that says when it wants to be asked again.
    let patient = [&calm[..], &answered, &[("patience", "1h"), ("budget.time", "1h")]].concat();
    let patient = Service::start(spec_with(patient_folder.store(), &patient));

    let walk = json!({
        "parts": parts.npm,
        "chromium": parts.chromium,
        "screenshots": screenshots,
        "token": TOKEN,
        "service": {"origin": format!("http://{}", service.address), "signIn": service.sign_in},
        "other": {"origin": format!("http://{}", other.address)},
        "patient": {"origin": format!("http://{}", patient.address)},
        "sites": {
            "lucia": demo.example(),
            "plumb": beside(&demo, "plumb.test"),
            "walled": beside(&demo, "walled.test"),
            "busy": beside(&demo, "busy.test"),
            "long": at("long.test", "/"),
            "longToo": at("long-too.test", "/"),
            "oneByOne": at("one-by-one.test", "/"),
            "shy": at("shy.test", "/"),
            "down": down(),
        },
        "hostile": {
            "site": at("hostile.test", "/"),
            "named": paths.iter().map(|path| at("hostile.test", path)).collect::<Vec<_>>(),
            "planted": planted,
        },
    });
    let told = folder.0.join("walk.json");
    fs::write(&told, walk.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/walk.mjs");
    // What is said can be read while the walk goes on, and afterwards beside the pictures.
    let said = screenshots.join("walk.txt");
    let file = File::create(&said).unwrap();
    let mut node = Command::new(parts.node);
    node.arg(script).arg(&told).stdout(Stdio::piped()).stderr(file.try_clone().unwrap());
    let mut node = node.spawn().expect("node runs");
    let lines = BufReader::new(node.stdout.take().expect("what it says")).lines();
    for line in lines.map_while(Result::ok) {
        match line.strip_prefix("open the gate: ") {
            Some(gate) => sites.open(gate),
            None => writeln!(&file, "{line}").unwrap(),
        }
    }
    let walked = node.wait().expect("node ends");
    let said = fs::read_to_string(said).unwrap();
    assert!(walked.success(), "the walk failed; pictures are in {}\n{said}", screenshots.display());
}

/// What the walk needs and this workspace does not hold.
struct Parts {
    node: PathBuf,
    chromium: PathBuf,
    npm: PathBuf,
}

impl Parts {
    /// Finds them, or says which is missing.
    fn find() -> Result<Parts, String> {
        let program = |name: &str| {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&folders)
                .map(|folder| folder.join(name))
                .find(|path| path.is_file());
            found.ok_or_else(|| format!("`{name}`"))
        };
        let npm = target().join("browser");
        let lock = include_str!("browser/package-lock.json");
        // npm writes this list when everything is there.
        let whole = npm.join("node_modules/.package-lock.json").is_file();
        let same = fs::read_to_string(npm.join("package-lock.json")).is_ok_and(|held| held == lock);
        if !whole || !same {
            return Err(format!("what `package-lock.json` names, in `{}`,", npm.display()));
        }
        Ok(Parts { node: program("node")?, chromium: program("chromium")?, npm })
    }
}

/// The target directory, wherever it is: cargo's folder for tests is in it.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a folder in the target directory")
        .to_owned()
}

fn serve(hosts: Vec<Host>) -> Sites {
    let hosts = hosts.into_iter().map(|host| host.at(Ipv4Addr::LOCALHOST)).collect();
    Sites::start(Scene { seed: 12, hosts, ..Scene::default() }, SitesSettings::default()).unwrap()
}

/// Pages of a site, in the order in which a run asks for them.
const PATHS: [&str; 10] = [
    "/about",
    "/services",
    "/contact",
    "/pricing",
    "/menu",
    "/shop",
    "/faq",
    "/news",
    "/team",
    "/jobs",
];

/// A site that asks for half an hour of patience in the middle of a run: there is time to look at
/// it, and to cancel it.
fn waiting(name: &str) -> Host {
    let host = Host::named(name).robots("User-agent: *\nAllow: /\n");
    let busy = Answer::to("/contact").status(429).retry_after_seconds(1_800);
    let host = host.says_unlinked(busy);
    PATHS.iter().fold(host, |host, path| host.says(Answer::page(path, &path[1..], "", &[])))
}

/// A site that holds each page back behind a gate of its own.
fn one_by_one() -> Host {
    let host = Host::named("one-by-one.test").robots("User-agent: *\nAllow: /\n");
    let page = |path: &str| Answer::page(path, &path[1..], "", &[]).behind(path);
    PATHS.iter().fold(host, |host, path| host.says(page(path)))
}

/// A site that shows a bot check to whom it meets for the first time.
fn shy() -> Host {
    let robots = Body::Text("User-agent: *\nAllow: /\n".to_owned());
    let home = "<!doctype html><title>Bakery Fern</title><h1>Bakery Fern</h1>\
        <p>Call us: <a href=\"tel:+442079460321\">020 7946 0321</a></p>";
    Host::named("shy.test")
        .says_unlinked(Answer::to("/robots.txt").body(robots))
        .says_unlinked(Answer::wall("/").first(1))
        .says_unlinked(Answer::to("/").body(Body::Html(home.to_owned())))
}

/// A site of the demonstration.
fn beside(demo: &Demo, host: &str) -> String {
    let sites = demo.urls();
    let found = sites.iter().find(|(url, _)| url.starts_with(&format!("http://{host}:")));
    found.expect("a site of the demonstration").0.clone()
}

/// A site that nobody serves: its port was just given back.
fn down() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://down.test:{port}/")
}
