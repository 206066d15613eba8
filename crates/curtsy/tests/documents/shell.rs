//! A folder in which the blocks of one document run, with the servers that they reach.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use curtsy_lab::sites::{Scene, Sites, SitesSettings};
use curtsy_testkit::services::Redis;

use crate::web::Web;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Folder {
    path: PathBuf,
    /// What stands in documents, and what stands for it here.
    places: Vec<(String, String)>,
    pub(crate) web: Option<Web>,
    _sites: Option<Sites>,
    _redis: Option<Redis>,
}

impl Folder {
    pub(crate) fn new(setups: &[String]) -> Folder {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("document-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(path.join("bin")).unwrap();
        std::fs::create_dir_all(path.join("here")).unwrap();
        symlink(env!("CARGO_BIN_EXE_curtsy"), path.join("bin/curtsy")).unwrap();
        let mut folder = Folder { path, places: Vec::new(), web: None, _sites: None, _redis: None };
        for setup in setups {
            match setup.as_str() {
                "demo" => {
                    let sites = Sites::start(Scene::demo(), SitesSettings::default()).unwrap();
                    folder.stands_for(":8080", format!(":{}", sites.port()));
                    folder._sites = Some(sites);
                }
                "web" => {
                    let web = Web::start();
                    std::fs::write(folder.path.join("ca.pem"), &web.ca_pem).unwrap();
                    folder.web = Some(web);
                }
                "redis" => {
                    let redis = Redis::durable();
                    let port = redis.url().rsplit(':').next().unwrap().to_owned();
                    folder.stands_for(":6379", format!(":{}", port.trim_end_matches('/')));
                    folder._redis = Some(redis);
                }
                other => panic!("there is no set-up `{other}`"),
            }
        }
        folder
    }

    fn stands_for(&mut self, shown: &str, here: String) {
        self.places.push((shown.to_owned(), here));
    }

    /// The folder in which blocks run.
    pub(crate) fn here(&self) -> PathBuf {
        self.path.join("here")
    }

    /// A text of a document as it must be here.
    pub(crate) fn real(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (shown, here)| text.replace(shown, here))
    }

    /// What was printed here as a document shows it.
    pub(crate) fn shown(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (shown, here)| text.replace(here, shown))
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.here().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, self.real(text)).unwrap();
    }

    /// A program with the environment of the document.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        command
            .current_dir(self.here())
            .env("PATH", format!("{}:{path}", self.path.join("bin").display()))
            .env("HOME", self.path.join("home"))
            .env("XDG_STATE_HOME", self.path.join("state"))
            .env_remove("CURTSY_CONTACT")
            .env_remove("CURTSY_CONFORMANCE")
            .stdin(Stdio::null());
        if let Some((_, port)) = self.places.iter().find(|(shown, _)| shown == ":6379") {
            command.env("PAGE_FETCHER_REDIS_URL", format!("redis://127.0.0.1{port}"));
        }
        if let Some(web) = &self.web {
            command
                .env("http_proxy", &web.proxy)
                .env("https_proxy", &web.proxy)
                .env("CURTSY_CA_FILE", self.path.join("ca.pem"))
                .env("CURTSY_PACE_DELAY", "200ms");
        }
        command
    }

    /// Runs commands; gives what they printed.
    #[track_caller]
    pub(crate) fn run(&self, text: &str, exit: i32, at: &str) -> String {
        let script = format!("exec 2>&1\n{}", self.real(text));
        let ran = self.command("bash").args(["-eu", "-c", &script]).output();
        let ran = ran.unwrap();
        let printed = self.shown(&String::from_utf8_lossy(&ran.stdout));
        assert_eq!(ran.status.code(), Some(exit), "{at}:\n{text}\nprinted:\n{printed}");
        printed
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
