//! The queries of `docs/reference/sql.md` run as written, in stock DuckDB, and return what the
//! document says.

use std::path::{Path, PathBuf};
use std::process::Command;

use curtsy_lab::sites::{Scene, Sites, SitesSettings};

#[test]
fn the_queries_of_the_document_give_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = target();
    let python = target.parent().unwrap().join("venv/duckdb-2.0.0/bin/python");
    let extension = target.join("curtsy.duckdb_extension");
    for needed in [&python, &extension] {
        let shown = needed.display();
        assert!(needed.exists(), "`{shown}` is missing\nhint: ./test makes it, once");
    }
    let scene = std::fs::read_to_string(root.join("examples/sql.toml")).unwrap();
    let sites = Sites::start(Scene::read(&scene).unwrap(), SitesSettings::default()).unwrap();
    // The document keeps its ledger in the folder in which it is tested.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sql-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ran = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs/run.py"))
        .arg(root.join("docs/reference/sql.md"))
        .arg(extension)
        .arg(sites.port().to_string())
        .current_dir(&folder)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let (said, error) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}{error}");
}

/// The folder with the extension: this program is in its `deps`.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().and_then(Path::parent).unwrap().to_owned()
}
