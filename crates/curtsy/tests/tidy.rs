//! House rules that can be checked: who may use whom, names and lengths of files, lints, links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may use. A new edge is a design change: it gets its own commit and a line in ARCHITECTURE.md.
const LAYERS: &[(&str, &[&str])] = &[
    ("curtsy-core", &[]),
    ("curtsy-parse", &["curtsy-core"]),
    ("curtsy-engine", &["curtsy-core", "curtsy-parse"]),
    ("curtsy-fetch", &["curtsy-core", "curtsy-engine"]),
    ("curtsy-file", &[]),
    ("curtsy-store", &["curtsy-core", "curtsy-engine", "curtsy-file", "curtsy-parse"]),
    ("curtsy-sink", &["curtsy-core", "curtsy-engine", "curtsy-file", "curtsy-parse"]),
    ("curtsy-judge", &["curtsy-core"]),
    ("curtsy-sim", &["curtsy-core", "curtsy-engine", "curtsy-judge"]),
    ("curtsy-lab", &["curtsy-core", "curtsy-judge", "curtsy-sim"]),
    ("curtsy-testkit", &["curtsy-core", "curtsy-engine", "curtsy-sim"]),
    (
        "curtsy-crawl",
        &["curtsy-core", "curtsy-engine", "curtsy-fetch", "curtsy-store", "curtsy-sink"],
    ),
    ("curtsy-tiles", &["curtsy-core", "curtsy-parse"]),
    ("curtsy-serve", ALL_BELOW_SERVE),
    (
        "curtsy",
        &[
            "curtsy-core",
            "curtsy-parse",
            "curtsy-engine",
            "curtsy-fetch",
            "curtsy-store",
            "curtsy-sink",
            "curtsy-crawl",
            "curtsy-judge",
            "curtsy-sim",
            "curtsy-lab",
            "curtsy-serve",
        ],
    ),
    (
        "curtsy-duckdb",
        &[
            "curtsy-core",
            "curtsy-engine",
            "curtsy-fetch",
            "curtsy-store",
            "curtsy-sink",
            "curtsy-crawl",
        ],
    ),
    ("xtask", &[]),
    // What tests and the fuzzer throw bytes at; nothing uses it.
    ("curtsy-fuzz", &["curtsy-core", "curtsy-parse", "curtsy-engine", "curtsy-fetch"]),
    // Benchmarks only; nothing uses it.
    (
        "curtsy-bench",
        &["curtsy-core", "curtsy-parse", "curtsy-engine", "curtsy-sim", "curtsy-judge"],
    ),
];

const ALL_BELOW_SERVE: &[&str] = &[
    "curtsy-core",
    "curtsy-parse",
    "curtsy-engine",
    "curtsy-fetch",
    "curtsy-file",
    "curtsy-store",
    "curtsy-sink",
    "curtsy-crawl",
    "curtsy-judge",
    "curtsy-lab",
    "curtsy-tiles",
];

/// A source file longer than this has a second question inside.
const LINES_MAX: usize = 800;

/// A thing without a home is a sign that a concept has no name yet.
const NAMELESS: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];

#[test]
fn crates_use_only_the_layers_below() {
    for (name, manifest) in manifests() {
        let allowed = LAYERS.iter().find(|(layer, _)| *layer == name);
        let (_, allowed) =
            allowed.unwrap_or_else(|| panic!("`{name}` is not in the table of layers"));
        for used in ours(&manifest) {
            assert!(allowed.contains(&used.as_str()), "`{name}` may not use `{used}`");
        }
    }
}

#[test]
fn each_crate_lives_under_its_own_name_with_the_lints_of_the_workspace() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = read(&folder.join("Cargo.toml")).parse::<toml::Table>().unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(name));
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        // DuckDB, SQLite and the system below SQLite are C: few modules call them.
        let own = ["curtsy-duckdb", "curtsy-file"].contains(&name);
        assert!(own || lints == Some(true), "`{name}` takes the lints of the workspace");
        let package = &manifest["package"];
        let license =
            package.get("license").and_then(|license| license.get("workspace")?.as_bool());
        assert_eq!(license, Some(true), "`{name}` takes the licence of the workspace");
    }
}

#[test]
fn dependencies_are_pinned_in_one_place() {
    let workspace = read(&root().join("Cargo.toml")).parse::<toml::Table>().unwrap();
    for (name, value) in workspace["workspace"]["dependencies"].as_table().unwrap() {
        let is_ours = value.get("path").is_some();
        assert!(is_ours || is_pinned(value), "`{name}` is pinned with `=`");
    }
    for (name, manifest) in manifests() {
        for (dependency, value) in dependencies(&manifest, &["dependencies", "build-dependencies"])
        {
            assert!(is_inherited(&value), "`{dependency}` of `{name}` comes from the workspace");
        }
        // What only one crate's tests or benchmarks need may be pinned there.
        for (dependency, value) in dependencies(&manifest, &["dev-dependencies"]) {
            assert!(
                is_inherited(&value) || is_pinned(&value),
                "`{dependency}` of `{name}` is pinned with `=` or comes from the workspace"
            );
        }
    }
}

#[test]
fn crates_that_decide_have_no_clock_and_the_engine_does_not_spawn() {
    for (name, banned) in [
        ("curtsy-core", &["Instant::now", "SystemTime::now", "thread::sleep"][..]),
        ("curtsy-parse", &["Instant::now", "SystemTime::now", "thread::sleep"]),
        ("curtsy-judge", &["Instant::now", "SystemTime::now", "thread::sleep"]),
        (
            "curtsy-engine",
            &["Instant::now", "SystemTime::now", "tokio::spawn", "tokio::time::sleep"],
        ),
    ] {
        let folder = root().join("crates").join(name);
        if folder.exists() {
            let lints = read(&folder.join("clippy.toml"));
            for method in banned {
                assert!(lints.contains(method), "`{name}/clippy.toml` bans `{method}`");
            }
        }
    }
}

#[test]
fn files_have_names_and_an_end() {
    for path in sources() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!NAMELESS.contains(&stem), "`{shown}` doesn't say what it is about");
        let nameless_folder = path
            .components()
            .any(|part| part.as_os_str().to_str().is_some_and(|part| NAMELESS.contains(&part)));
        assert!(!nameless_folder, "`{shown}` is in a folder that doesn't say what it is about");
        let lines = read(&path).lines().count();
        assert!(lines <= LINES_MAX, "`{shown}` has {lines} lines, expected at most {LINES_MAX}");
    }
}

#[test]
fn modules_open_with_their_story() {
    for path in sources() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let text = read(&path);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        assert!(first.starts_with("//!"), "`{shown}` doesn't say what it is for");
    }
}

/// One guarded way out: `clippy.toml` forbids every other, and this counts who may.
#[test]
fn one_function_may_connect() {
    let lints = read(&root().join("clippy.toml"));
    for method in ["std::net::TcpStream::connect", "tokio::net::TcpStream::connect", "UdpSocket"] {
        assert!(lints.contains(method), "`clippy.toml` bans `{method}`");
    }
    let exempt =
        |path: &PathBuf| read(path).contains(concat!("clippy::disallowed", "_methods, reason"));
    let in_source = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "src");
    let exempt: Vec<PathBuf> = sources().into_iter().filter(in_source).filter(exempt).collect();
    // One way out to sites. The others dial a worker's health page and a test's own Redis, by addresses that no site can name.
    let mut allowed = [
        "crates/curtsy-fetch/src/egress.rs",
        "crates/curtsy/src/fleet/listen.rs",
        "crates/curtsy-sim/src/services/mod.rs",
    ]
    .map(|path| root().join(path));
    let mut exempt = exempt;
    exempt.sort();
    allowed.sort();
    assert_eq!(exempt, allowed, "one way out");
}

/// The repository stands alone: only the script that our own machines run knows what lies beside it.
#[test]
fn nothing_looks_outside_the_repository() {
    let outside = ["..", "shared"].join("/");
    let mut looked_at = 0;
    for path in tracked() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        looked_at += 1;
        assert!(
            shown == ".ci/run" || !text.contains(&outside),
            "`{shown}` looks outside the repository"
        );
    }
    assert!(looked_at > 20, "the walk finds the repository");
}

/// The start page leads to every document that a user may look for, by way of the others.
#[test]
fn every_document_can_be_reached_from_the_start_page() {
    let start = root().join("docs/index.md");
    let (mut reached, mut next) = (BTreeSet::from([start.clone()]), vec![start]);
    while let Some(page) = next.pop() {
        for link in links(&read(&page)) {
            let target = page.parent().unwrap().join(link);
            if let Ok(target) = target.canonicalize()
                && target.extension().is_some_and(|end| end == "md")
                && reached.insert(target.clone())
            {
                next.push(target);
            }
        }
    }
    let documents = tracked().into_iter().filter(|path| path.starts_with(root().join("docs")));
    for path in documents.filter(|path| path.extension().is_some_and(|end| end == "md")) {
        assert!(reached.contains(&path), "no document leads to `{}`", path.display());
    }
}

#[test]
fn links_of_the_documents_lead_to_files() {
    let markdown =
        tracked().into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    for path in markdown {
        let text = read(&path);
        for link in links(&text) {
            let target = path.parent().unwrap().join(link);
            assert!(target.exists(), "`{}` links `{link}`, which isn't there", path.display());
        }
    }
}

/// The files that a document links to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    links.filter(|link| !(link.is_empty() || link.contains("://") || link.starts_with("mailto:")))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let manifests = folders.map(|entry| {
        let path = entry.unwrap().path().join("Cargo.toml");
        let manifest = read(&path).parse::<toml::Table>().unwrap();
        (manifest["package"]["name"].as_str().unwrap().to_owned(), manifest)
    });
    manifests.collect()
}

/// The crates of ours that a manifest names, dev-dependencies apart.
fn ours(manifest: &toml::Table) -> Vec<String> {
    let named = dependencies(manifest, &["dependencies", "build-dependencies"]);
    named.into_iter().map(|(name, _)| name).filter(|name| name.starts_with("curtsy")).collect()
}

fn dependencies(manifest: &toml::Table, kinds: &[&str]) -> Vec<(String, toml::Value)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flatten().filter_map(|(_, target)| target.as_table());
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(tables) {
        for kind in kinds {
            let named = table.get(*kind).and_then(toml::Value::as_table);
            found.extend(
                named.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
            );
        }
    }
    found
}

fn is_inherited(value: &toml::Value) -> bool {
    let workspace = value.get("workspace");
    workspace.and_then(toml::Value::as_bool) == Some(true)
}

fn is_pinned(value: &toml::Value) -> bool {
    let version = value.as_str().or_else(|| value.get("version")?.as_str());
    version.is_some_and(|version| version.starts_with('='))
}

fn sources() -> Vec<PathBuf> {
    tracked().into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// Every file of the repository that isn't built.
fn tracked() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            match path.is_dir() {
                true if name == ".git" || name == "target" => {}
                true => folders.push(path),
                // In a worktree `.git` is a file.
                false if name == ".git" => {}
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}
