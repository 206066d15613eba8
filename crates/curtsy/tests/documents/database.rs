//! The SQL and the Python of a document: one stock DuckDB in a process of its own, with the extension loaded.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::shell::Folder;

pub(crate) struct Database {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Database {
    pub(crate) fn open(folder: &Folder) -> Database {
        let target = target();
        let python = target.parent().unwrap().join("venv/duckdb-2.0.0/bin/python");
        let extension = target.join("curtsy.duckdb_extension");
        for needed in [&python, &extension] {
            assert!(needed.exists(), "`{}` is missing\nhint: ./test makes it", needed.display());
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents/database.py");
        let mut process = folder
            .command(python)
            .arg(script)
            .arg(&extension)
            // The Python package finds the program on the path.
            .env("PYTHONPATH", crate::root().join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("CURTSY_DUCKDB_EXTENSION", &extension)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut database = Database { process, orders, answers };
        if let Some(web) = &folder.web {
            let ca = folder.here().join("../ca.pem");
            let settings = [
                format!("SET http_proxy = '{}'", web.proxy.trim_start_matches("http://")),
                format!("SET curtsy_ca_file = '{}'", ca.display()),
            ];
            for setting in settings {
                database.ask(&json!({ "sql": setting }), "set-up");
            }
        }
        database
    }

    /// Runs statements; what the last one gives is compared with the table that the document shows.
    #[track_caller]
    pub(crate) fn run(
        &mut self,
        text: &str,
        table: Option<&[Vec<String>]>,
        folder: &Folder,
        at: &str,
    ) {
        let answer = self.ask(&json!({ "sql": folder.real(text) }), at);
        let Some(expected) = table else { return };
        let cells = |row: &Value| -> Vec<String> {
            let cells = row.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap());
            cells.map(|cell| folder.shown(cell)).collect()
        };
        let found: Vec<Vec<String>> =
            answer["table"].as_array().unwrap().iter().map(cells).collect();
        let plain = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
            let row = |row: &Vec<String>| row.iter().map(|cell| cell.replace('`', "")).collect();
            rows.iter().map(row).collect()
        };
        assert_eq!(plain(expected), plain(&found), "{at}:\n{text}");
    }

    /// Runs a program; gives what it printed.
    #[track_caller]
    pub(crate) fn python(&mut self, text: &str, folder: &Folder, at: &str) -> String {
        let answer = self.ask(&json!({ "python": folder.real(text) }), at);
        folder.shown(answer["printed"].as_str().unwrap())
    }

    #[track_caller]
    fn ask(&mut self, order: &Value, at: &str) -> Value {
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("{at}: {e}: {line}"));
        assert!(answer["error"].is_null(), "{at}:\n{order}\n{}", answer["error"].as_str().unwrap());
        answer
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder with the extension: this program lies in its `deps`.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().and_then(Path::parent).unwrap().to_owned()
}
