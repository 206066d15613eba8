//! Files of lines as other programs read them.

mod sample;

use std::path::Path;
use std::process::Command;

use curtsy_core::host::{
    BudgetReason, DelayBy, Finding, Findings, Gate, PaceReason, Reason, Verdict,
};
use curtsy_engine::{Batch, Ending, Row, Sink};
use curtsy_sink::{COLUMNS, CsvSink, FileOptions, JsonlSink};
use curtsy_testkit::services::could_not_run;

use sample::{Folder, block, page_of, row};

fn options() -> FileOptions {
    FileOptions {
        job: "j1-".into(),
        run: "trace-1".into(),
        policy_hash: "00ff".into(),
        robots: None,
        unread: None,
        body_max: Some(10 << 20),
    }
}

fn rows() -> Vec<Row> {
    let mut findings = Findings::CLEAR;
    findings.set(
        Gate::Budget,
        Finding::new(Verdict::Never, Reason::Budget(BudgetReason::PageLimit { pages: 7 })),
    );
    let delay = Reason::Pace(PaceReason::Delay { micros: 3_000_000, by: DelayBy::Policy });
    findings.set(Gate::Pace, Finding::new(Verdict::Go, delay));
    let mut latin = row("http://a.test/2", 1, Some(page_of("caf\u{e9}")));
    if let Some(page) = &mut latin.page {
        // The same page in another encoding.
        let page = std::sync::Arc::make_mut(page);
        page.body = Some(b"<meta charset=latin1>caf\xe9".to_vec().into());
        let html = &mut page.document.html;
        let url = curtsy_core::url::CrawlUrl::parse("http://a.test/2").unwrap();
        let limits = curtsy_parse::html::PageLimits::default();
        *html = Some(curtsy_parse::html::HtmlPage::read(
            &url,
            Some("text/html"),
            b"<meta charset=latin1>caf\xe9",
            &limits,
        ));
    }
    vec![
        row("http://a.test/1", 0, Some(page_of("<title>\"A\", b</title>\r\n<a href=/2>x</a>\n"))),
        latin,
        Row { ending: Ending::Refused(Gate::Budget), findings, ..row("http://a.test/3", 2, None) },
    ]
}

fn keep(sink: &dyn Sink) {
    block(sink.write(&Batch::of_rows(rows()))).unwrap();
}

#[test]
fn a_json_line_has_the_columns_that_have_a_value() {
    let folder = Folder::new("jsonl");
    let path = folder.file("pages.jsonl");
    keep(&JsonlSink::open(&path, options()).unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["links"], serde_json::json!(["http://a.test/2"]));
    assert_eq!(lines[0]["headers"]["cache-control"], serde_json::json!(["max-age=60", "public"]));
    assert_eq!(lines[0]["title"], "\"A\", b");
    assert_eq!(lines[0]["run"], "trace-1");
    assert_eq!(
        lines[1]["body"], "<meta charset=latin1>caf\u{e9}",
        "text is UTF-8, whatever it was"
    );
    assert_eq!(lines[1]["charset"], "windows-1252");
    assert_eq!(lines[2]["findings"]["budget"], "page limit: 7 pages are charged already");
    assert_eq!(lines[2]["findings"]["pace"], "waits 3 s between two starts (policy)");
    assert_eq!(lines[2].get("body"), None);
    assert_eq!(lines[2]["policy_hash"], "00ff");
    assert_eq!(lines[2]["event_id"], format!("j1-{}", rows()[2].id));
    let names = |line: &serde_json::Value| line.as_object().unwrap().len();
    assert!(names(&lines[0]) > names(&lines[2]));
    for (name, _) in lines.iter().flat_map(|line| line.as_object().unwrap()) {
        let more = ["body_base64", "policy_hash", "event_id"];
        assert!(more.contains(&name.as_str()) || COLUMNS.iter().any(|c| c.name == name), "{name}");
    }
}

#[test]
fn other_programs_read_the_same() {
    let folder = Folder::new("python");
    keep(&JsonlSink::open(&folder.file("pages.jsonl"), options()).unwrap());
    keep(&CsvSink::open(&folder.file("pages.csv"), options()).unwrap());
    let script = "import csv, json, sys
lines = [json.loads(line) for line in open(sys.argv[1] + '/pages.jsonl', encoding='utf-8')]
records = list(csv.DictReader(open(sys.argv[1] + '/pages.csv', encoding='utf-8', newline='')))
assert len(lines) == len(records) == 3
for line, record in zip(lines, records):
    for name, text in record.items():
        value = line.get(name)
        if isinstance(value, (list, dict)): text = json.loads(text)
        elif isinstance(value, (int, float)): text = type(value)(text)
        assert text == ('' if value is None else value), (name, text, value)
print('same', len(records[0]))";
    match Command::new("python3").arg("-c").arg(script).arg(folder.path()).output() {
        Ok(ran) => assert_eq!(
            String::from_utf8_lossy(&ran.stdout).trim(),
            format!("same {}", COLUMNS.len() + 3),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        ),
        Err(error) => could_not_run(&format!("`python3`: {error}")),
    }
}

/// Wherever a kill truncates the file, the next start continues with complete rows, each once.
#[test]
fn torn_anywhere_it_goes_on_with_whole_rows() {
    let folder = Folder::new("torn");
    for name in ["pages.jsonl", "pages.csv"] {
        let path = folder.file(name);
        let open = |path: &Path| -> Box<dyn Sink> {
            match name {
                "pages.csv" => Box::new(CsvSink::open(path, options()).unwrap()),
                _ => Box::new(JsonlSink::open(path, options()).unwrap()),
            }
        };
        keep(&*open(&path));
        let whole = std::fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(13) {
            std::fs::write(&path, &whole[..length]).unwrap();
            keep(&*open(&path));
            assert!(std::fs::read(&path).unwrap() == whole, "{name} torn after {length} bytes");
        }
    }
}
