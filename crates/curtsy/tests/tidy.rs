//! House rules that can be checked: which crate uses which, names and lengths of files, lints, links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sentence of a crate's row in the code map that the tests below check.
const PURE: &str = "No async, clock, randomness, files or network.";

/// Crates that do I/O, tell the time, draw random numbers, or run futures.
const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "fastrand",
    "futures-core",
    "futures-util",
    "getrandom",
    "hyper",
    "instant",
    "jiff",
    "mio",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "ureq",
];

/// What the lints of a crate that has neither a clock nor input or output ban, among others.
const BANNED: &[&str] = &[
    "std::env::args",
    "std::env::var",
    "std::env::var_os",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::hash::RandomState",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::os::unix::net::UnixStream",
    "std::process::Command",
    "std::process::exit",
    "std::thread::Builder",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// A source file longer than this has a second question inside.
const LINES_MAX: usize = 800;

/// A function that is longer does not fit on two screens.
const FUNCTION_LINES_MAX: usize = 120;

/// An object with more fields has parts with a story of their own. A record may have as many fields
/// as the thing that it describes.
const FIELDS_MAX: usize = 15;

/// Structs with more fields. All but the objects are records: settings, rows, reports, counts,
/// heads and pages, with public fields and hardly a method.
const RECORDS: &str = "\
    Answer Counted CrawlReport DecisionRow DiscoverySpec Exchange FetchSettings FleetSpec Head Host \
    JudgeReport Manners PageRecord PageRow Policy ResultView Tamper";

/// Objects with more fields, which are not split yet.
const OBJECTS: &str = "Judge JudgedAuthority JudgedHost SimLine Stage";

/// A thing without a home is a sign that a concept has no name yet.
const NAMELESS: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];

/// A new edge is a design change: it gets its own commit and a change of the table.
#[test]
fn crates_use_only_what_the_code_map_says() {
    let (map, manifests) = (code_map(), manifests());
    let names: Vec<&String> = manifests.keys().collect();
    assert_eq!(map.keys().collect::<Vec<_>>(), names, "the code map has every crate");
    for (name, manifest) in &manifests {
        for used in ours(manifest) {
            assert!(map[name].may_use.contains(&used), "`{name}` may not use `{used}`");
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
fn pure_crates_depend_on_nothing_that_does_io_or_runs_futures() {
    for name in pure_crates() {
        let arguments = ["tree", "--offline", "--locked", "--edges", "normal"];
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let ran = Command::new(cargo)
            .args(arguments)
            .args(["--prefix", "none", "--package", &name])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let tree = String::from_utf8(ran.stdout).unwrap();
        let used: BTreeSet<&str> =
            tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(used.contains(name.as_str()), "{tree}");
        for impure in IMPURE {
            assert!(!used.contains(impure), "`{name}` depends on `{impure}`");
        }
    }
}

#[test]
fn lints_of_a_crate_keep_those_of_the_workspace_and_pure_crates_ban_io_time_and_threads() {
    let bans = |folder: &Path| -> BTreeSet<String> {
        let lints = read(&folder.join("clippy.toml")).parse::<toml::Table>().unwrap();
        let lists = ["disallowed-methods", "disallowed-types"].map(|list| lints.get(list).cloned());
        let entries = lists.into_iter().flatten().flat_map(|list| list.as_array().unwrap().clone());
        entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    };
    let all = bans(&root());
    assert!(all.len() > 10, "the workspace bans other ways out: {all:?}");
    for name in manifests().into_keys() {
        let folder = root().join("crates").join(&name);
        if folder.join("clippy.toml").exists() {
            let missing: Vec<String> = all.difference(&bans(&folder)).cloned().collect();
            assert!(missing.is_empty(), "`{name}/clippy.toml` does not ban {missing:?}");
        }
    }
    for name in pure_crates().into_iter().chain(["curtsy-engine".to_owned()]) {
        let folder = root().join("crates").join(&name);
        let banned = bans(&folder);
        for path in BANNED {
            // The engine draws a key for the hashes of URLs, so that no site can make them collide.
            let needed = name != "curtsy-engine" || *path != "std::hash::RandomState";
            assert!(!needed || banned.contains(*path), "`{name}/clippy.toml` bans `{path}`");
        }
        for path in sources().into_iter().filter(|path| path.starts_with(folder.join("src"))) {
            let exempt = read(&path).contains("clippy::disallowed");
            assert!(!exempt, "`{}` has an exemption from the lints", path.display());
        }
    }
    let engine = bans(&root().join("crates/curtsy-engine"));
    for path in ["tokio::spawn", "tokio::time::sleep"] {
        assert!(engine.contains(path), "`curtsy-engine/clippy.toml` bans `{path}`");
    }
}

/// A test that fails now and then is mended. Second chances are for the few that check a span of
/// real time, one by one.
#[test]
fn few_tests_have_a_second_chance_and_each_has_a_reason() {
    let text = read(&root().join(".config/nextest.toml"));
    let profile = &text.parse::<toml::Table>().unwrap()["profile"]["default"];
    assert!(profile.get("retries").is_none(), "tests have no second chance by default");
    let overrides = profile["overrides"].as_array().unwrap();
    assert!(overrides.len() <= 10, "{} tests have a second chance", overrides.len());
    for one in overrides {
        let filter = one["filter"].as_str().unwrap();
        let part = |name: &str| {
            let (_, rest) = filter.split_once(&format!("{name}(="))?;
            rest.split(')').next()
        };
        let [package, binary, test] = ["package", "binary", "test"].map(part);
        let (package, binary, test) = (package.unwrap(), binary.unwrap(), test.unwrap());
        let one_test = format!("package(={package}) & binary(={binary}) & test(={test})");
        assert_eq!(filter, one_test, "a second chance is for one test");
        let (before, _) = text.split_once(filter).unwrap();
        let reason = before.lines().rev().nth(2).unwrap_or_default();
        assert!(reason.starts_with("# "), "`{test}` has no reason");
        let name = format!("fn {}()", test.rsplit("::").next().unwrap());
        let folder = root().join("crates").join(package).join("tests");
        let mut sources = sources().into_iter().filter(|path| path.starts_with(&folder));
        assert!(sources.any(|path| read(&path).contains(&name)), "there is no test `{test}`");
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
fn functions_are_short_and_objects_have_few_fields() {
    let mut functions = 0;
    let mut large = BTreeSet::new();
    let in_source = |path: &&PathBuf| path.components().any(|part| part.as_os_str() == "src");
    for path in sources().iter().filter(in_source) {
        let shown = path.strip_prefix(root()).unwrap().display();
        for SourceItem { keyword, name, lines, fields } in items(&read(path)) {
            if keyword == "fn" {
                functions += 1;
                assert!(lines < FUNCTION_LINES_MAX, "`{name}` in `{shown}` has {lines} lines");
            } else if fields > FIELDS_MAX {
                large.insert(name);
            }
        }
    }
    assert!(functions > 5_000, "only {functions} functions are found");
    let known = [RECORDS, OBJECTS].into_iter().flat_map(str::split_whitespace);
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    assert_eq!(large, known, "structs with more than {FIELDS_MAX} fields, and those listed here");
}

#[test]
fn functions_and_fields_are_counted() {
    let text = "struct None;\npub struct Two<T> {\n    /// A: b\n    pub(crate) a: u8,\n    b: T,\n}\n\
        impl Two {\n    fn declared(\n        a: u8,\n    );\n    async fn four(\n    ) {\n        x();\n    }\n}\n";
    let items = items(text);
    let counted: Vec<_> = items.iter().map(|i| (&*i.name, i.lines, i.fields)).collect();
    assert_eq!(counted, [("Two", 5, 2), ("four", 4, 0)]);
}

/// A function or a struct with a body.
struct SourceItem {
    keyword: &'static str,
    name: String,
    lines: usize,
    fields: usize,
}

/// Returns the functions and structs of a file that rustfmt has formatted: each ends at the first
/// closing brace in its own column.
fn items(text: &str) -> Vec<SourceItem> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((keyword, name)) = begun(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        // A declaration without a body ends with a semicolon.
        let is_end = |line: &&str| {
            let rest = in_column(line, indent);
            rest.is_some_and(|rest| rest == "}" || rest.ends_with(';'))
        };
        let Some(end) = lines[at..].iter().position(is_end) else { continue };
        if lines[at + end].ends_with(';') {
            continue;
        }
        let inside = &lines[at + 1..at + end];
        let fields = inside.iter().filter(|line| is_field(line, indent)).count();
        let fields = if keyword == "struct" { fields } else { 0 };
        found.push(SourceItem { keyword, name: name.to_owned(), lines: end + 1, fields });
    }
    found
}

/// Returns the rest of a line that begins in the column after `indent`.
fn in_column<'l>(line: &'l str, indent: &str) -> Option<&'l str> {
    line.strip_prefix(indent).filter(|rest| !rest.starts_with(' '))
}

/// Whether a line inside a struct is a field: `name: Type`, perhaps with a visibility.
fn is_field(line: &str, indent: &str) -> bool {
    let field = in_column(line, &format!("{indent}    ")).unwrap_or_default();
    let name = field.split_once(": ").and_then(|(name, _)| name.split(' ').next_back());
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    name.is_some_and(is_name) && !field.starts_with(['/', '#'])
}

/// Returns the keyword and the name of the function or struct that begins in a line and goes on in
/// the next.
fn begun(line: &str) -> Option<(&'static str, &str)> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(word)
    });
    let keyword = match words.next()? {
        "fn" => "fn",
        "struct" => "struct",
        _ => return None,
    };
    let name = words.next()?.split(['(', '<', ';']).next()?;
    (!line.ends_with(['}', ';'])).then_some((keyword, name))
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
    let exempt = |path: &PathBuf| read(path).contains("clippy::disallowed");
    let in_source = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "src");
    let exempt: Vec<PathBuf> = sources().into_iter().filter(in_source).filter(exempt).collect();
    // The first dials sites. The others dial a worker's health page and a test's own servers, by
    // addresses that no site can name.
    let mut allowed = [
        "crates/curtsy-fetch/src/egress.rs",
        "crates/curtsy/src/fleet/listen.rs",
        "crates/curtsy-testkit/src/services/mod.rs",
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

/// A row of the code map.
struct CodeMapRow {
    is_pure: bool,
    may_use: BTreeSet<String>,
}

/// The table in ARCHITECTURE.md of what each crate does and may use.
fn code_map() -> BTreeMap<String, CodeMapRow> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let head = "| crate | what it does | may use |\n|---|---|---|\n";
    let (_, rows) = text.split_once(head).expect("the code map");
    let rows = rows.lines().take_while(|row| row.starts_with('|'));
    let read = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let ["", name, does, uses, ""] = cells[..] else { panic!("three cells: {row}") };
        let may_use = match uses {
            "–" | "none of ours" => BTreeSet::new(),
            uses => uses.split(", ").map(|used| format!("curtsy-{used}")).collect(),
        };
        (name.trim_matches('`').to_owned(), CodeMapRow { is_pure: does.contains(PURE), may_use })
    });
    read.collect()
}

/// The crates that compute from their arguments alone, by their rows in the code map.
fn pure_crates() -> Vec<String> {
    let pure = code_map().into_iter().filter(|(_, row)| row.is_pure);
    let pure: Vec<String> = pure.map(|(name, _)| name).collect();
    for name in ["core", "judge", "parse", "tiles"] {
        assert!(pure.contains(&format!("curtsy-{name}")), "`{name}`: the code map says \"{PURE}\"");
    }
    pure
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
