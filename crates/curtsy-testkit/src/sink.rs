//! The contract of every sink. What was kept is read back by the rig, without the sink's own help.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    AskKind, BudgetReason, Finding, Findings, Gate, Outcome, Problem, Reason, RequestKind, Verdict,
};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Document, Ending, Head, Page, Row, Sink, Step, Then};

use crate::{block_on, checks};

/// A sink under test. Each check has a rig of its own.
pub trait SinkRig {
    /// What the sink keeps.
    fn keeps(&self) -> SinkKind {
        SinkKind::Rows
    }
    /// Opens the sink, or opens it again: what was kept before stays.
    fn open(&self) -> Box<dyn Sink + '_>;
    /// Every row that is kept, in any order, as another program reads it.
    fn kept(&self) -> Vec<KeptRow>;
    /// Cuts off the end of what was written, as a kill in the middle of a write does, so that the
    /// last row is incomplete; false if that can't happen. The sink is closed.
    fn tear(&self) -> bool {
        false
    }
    /// Reads a page.
    fn document(&self, _url: &CrawlUrl, _head: &Head, _body: &[u8]) -> Document {
        Document::default()
    }
}

/// A row as another program reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptRow {
    /// `url`
    pub url: String,
    /// `http_status`
    pub http_status: Option<u16>,
    /// `body`, as it was sent.
    pub body: Option<Vec<u8>>,
    /// `title`
    pub title: Option<String>,
    /// `links`
    pub links: Vec<String>,
    /// `decision`
    pub decision: String,
    /// `gate`
    pub gate: Option<String>,
    /// `error`
    pub error: Option<String>,
    /// `decided_at`
    pub decided_at: String,
}

/// What a sink keeps of the rows that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// Every row with its content.
    Rows,
    /// Pages that were fetched. A page's body is its URL in these checks.
    Pages,
    /// Failures that last.
    Failures,
}

/// Runs the checks that concern the sink, each over a sink of its own, and panics with the names of
/// those that fail.
pub fn keep_the_contract<R: SinkRig>(make: impl Fn() -> R) {
    crate::keep(checks![make:
        every_row_of_its_kind_is_kept,
        an_empty_batch_and_steps_alone_are_accepted,
        a_row_that_is_written_twice_is_kept_once,
        a_row_that_is_written_again_after_a_restart_is_kept_once,
        what_was_accepted_outlives_a_kill,
        urls_of_every_script_are_kept,
        rows_of_every_ending_are_accepted,
    ]);
    if make().keeps() == SinkKind::Rows {
        crate::keep(checks![make:
            the_content_of_a_row_is_kept,
            a_torn_end_costs_the_last_row_and_no_other,
            every_ending_has_its_word,
            a_row_without_a_page_has_no_content,
            a_huge_body_is_kept,
            any_bytes_are_kept,
            text_with_every_special_character_is_kept,
            ten_thousand_links_are_kept,
            moments_are_text_that_sorts,
        ]);
    }
}

fn every_row_of_its_kind_is_kept<R: SinkRig>(rig: &R) {
    let sink = rig.open();
    let rows: Vec<Row> = (0..250).map(|n| sample(rig, bare(n))).collect();
    for part in rows.chunks(100) {
        write(&*sink, part);
    }
    drop(sink);
    assert_eq!(urls(rig), urls_of(&rows));
}

fn the_content_of_a_row_is_kept<R: SinkRig>(rig: &R) {
    write(&*rig.open(), &[fetched(rig, 0, b"<title>T</title><a href=/x>")]);
    let first = find(rig, "http://a.test/000");
    assert_eq!(first.http_status, Some(200));
    assert_eq!(first.body.as_deref(), Some(&b"<title>T</title><a href=/x>"[..]));
    assert_eq!(first.title.as_deref(), Some("T"));
    assert_eq!(first.links, ["http://a.test/x"]);
    assert_eq!(first.decision, "fetched");
}

fn an_empty_batch_and_steps_alone_are_accepted<R: SinkRig>(rig: &R) {
    let sink = rig.open();
    write(&*sink, &[]);
    let step = Step {
        id: url("http://a.test/000").key(),
        url: url("http://a.test/robots.txt"),
        kind: RequestKind::Robots,
        findings: Findings::CLEAR,
        crawl_delay: None,
        outcome: Outcome::Answered { status: 200, retry_after: None, friction: None },
        then: Then::Decide,
        at: START,
    };
    let batch = Batch { rows: Vec::new(), steps: vec![step.clone(), step] };
    block_on(sink.write(&batch)).expect("there is room");
    block_on(sink.write(&batch)).expect("there is room");
    drop(sink);
    assert_eq!(rig.kept(), []);
}

fn a_row_that_is_written_twice_is_kept_once<R: SinkRig>(rig: &R) {
    let sink = rig.open();
    let row = sample(rig, bare(1));
    write(&*sink, &[row.clone(), row.clone()]);
    write(&*sink, std::slice::from_ref(&row));
    drop(sink);
    assert_eq!(urls(rig), ["http://a.test/001"]);
}

fn a_row_that_is_written_again_after_a_restart_is_kept_once<R: SinkRig>(rig: &R) {
    let row = |n| match rig.keeps() {
        SinkKind::Rows => fetched(rig, n, b"page,\r\n\"with\" lines\n"),
        _ => sample(rig, bare(n)),
    };
    let rows: Vec<Row> = (0..120).map(row).collect();
    write(&*rig.open(), &rows[..100]);
    write(&*rig.open(), &rows[20..]);
    assert_eq!(urls(rig), urls_of(&rows));
}

fn what_was_accepted_outlives_a_kill<R: SinkRig>(rig: &R) {
    for n in [1, 3] {
        let sink = rig.open();
        write(&*sink, &[sample(rig, bare(n)), sample(rig, bare(n + 1))]);
        // Nothing is closed or flushed.
        std::mem::forget(sink);
        assert_eq!(urls(rig), (1..n + 2).map(|n| bare(n).url.to_string()).collect::<Vec<_>>());
    }
}

/// What is not of the sink's kind is accepted too, and may be kept or not.
fn rows_of_every_ending_are_accepted<R: SinkRig>(rig: &R) {
    let sink = rig.open();
    let others = endings().into_iter().enumerate();
    let others = others.map(|(n, (ending, ..))| Row { ending, ..bare(n) });
    write(&*sink, &others.collect::<Vec<_>>());
    let own = sample(rig, bare(500));
    write(&*sink, std::slice::from_ref(&own));
    drop(sink);
    assert!(urls(rig).contains(&own.url.to_string()));
}

fn a_torn_end_costs_the_last_row_and_no_other<R: SinkRig>(rig: &R) {
    let rows: Vec<Row> = (0..3).map(|n| fetched(rig, n, b"a \"page\"\r\nwith lines\n")).collect();
    write(&*rig.open(), &rows);
    if !rig.tear() {
        return;
    }
    let sink = rig.open();
    assert_eq!(urls(rig), ["http://a.test/000", "http://a.test/001"]);
    write(&*sink, &rows);
    drop(sink);
    assert_eq!(urls(rig), ["http://a.test/000", "http://a.test/001", "http://a.test/002"]);
    assert_eq!(
        find(rig, "http://a.test/002").body.as_deref(),
        Some(&b"a \"page\"\r\nwith lines\n"[..])
    );
}

fn every_ending_has_its_word<R: SinkRig>(rig: &R) {
    let endings = endings();
    let rows: Vec<Row> = endings
        .iter()
        .enumerate()
        .map(|(n, (ending, ..))| Row { ending: ending.clone(), ..bare(n) })
        .collect();
    write(&*rig.open(), &rows);
    for (row, (_, decision, gate, error)) in rows.iter().zip(&endings) {
        let kept = find(rig, row.url.as_str());
        assert_eq!(kept.decision, *decision);
        assert_eq!(kept.gate.as_deref(), *gate, "{decision}");
        assert_eq!(kept.error.as_deref(), *error, "{decision}");
    }
    assert_eq!(find(rig, rows[5].url.as_str()).http_status, Some(404));
    assert_eq!(find(rig, rows[6].url.as_str()).http_status, None, "no answer has no status");
}

fn a_row_without_a_page_has_no_content<R: SinkRig>(rig: &R) {
    let mut findings = Findings::CLEAR;
    findings.set(
        Gate::Budget,
        Finding::new(Verdict::Never, Reason::Budget(BudgetReason::PageLimit { pages: 7 })),
    );
    let row = Row { ending: Ending::Refused(Gate::Budget), findings, ..bare(1) };
    write(&*rig.open(), &[row]);
    let kept = find(rig, "http://a.test/001");
    assert_eq!((kept.http_status, kept.body, kept.title), (None, None, None));
    assert_eq!(kept.links, Vec::<String>::new());
}

fn a_huge_body_is_kept<R: SinkRig>(rig: &R) {
    let body: Vec<u8> = (0..9_500_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    let sink = rig.open();
    write(&*sink, &[fetched(rig, 1, &body), fetched(rig, 2, b"small")]);
    drop(sink);
    assert!(find(rig, "http://a.test/001").body.as_deref() == Some(&body), "it is the same");
    assert_eq!(find(rig, "http://a.test/002").body.as_deref(), Some(&b"small"[..]));
}

fn any_bytes_are_kept<R: SinkRig>(rig: &R) {
    let all: Vec<u8> = (0..=255).collect();
    let bodies: [&[u8]; 6] =
        [&all, b"a\0b", b"\xff\xfe\xfd", b"caf\xe9", b"", "\u{feff}mark".as_bytes()];
    let rows: Vec<Row> = bodies.iter().enumerate().map(|(n, body)| binary(n, body)).collect();
    write(&*rig.open(), &rows);
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(find(rig, bare(n).url.as_str()).body.as_deref(), Some(*body), "body {n}");
    }
}

fn text_with_every_special_character_is_kept<R: SinkRig>(rig: &R) {
    let text =
        "<title>a, \"b\"; 'c'\t\\ \u{7f} \u{1f980} é = @ + </title>\r\n\n\r,\"\",\u{2028} end ";
    let title = "a, \"b\"; 'c' \\ \u{7f} \u{1f980} é = @ +";
    write(&*rig.open(), &[fetched(rig, 1, text.as_bytes()), fetched(rig, 2, b" lead ")]);
    let kept = find(rig, "http://a.test/001");
    assert_eq!(kept.body.as_deref(), Some(text.as_bytes()));
    // A file that people look at may have a space for a control character.
    let shown = title.replace('\u{7f}', " ");
    assert!([Some(title), Some(&shown)].contains(&kept.title.as_deref()), "{:?}", kept.title);
    assert_eq!(find(rig, "http://a.test/002").body.as_deref(), Some(&b" lead "[..]));
}

fn ten_thousand_links_are_kept<R: SinkRig>(rig: &R) {
    let body: String = (0..10_000).map(|n| format!("<a href='/{n}?q=\"\\{n}'>{n}</a>")).collect();
    write(&*rig.open(), &[fetched(rig, 1, body.as_bytes())]);
    let kept = find(rig, "http://a.test/001");
    assert_eq!(kept.links.len(), 10_000);
    assert_eq!(kept.links[9_999], url("http://a.test/9999?q=\"\\9999").as_str());
}

fn urls_of_every_script_are_kept<R: SinkRig>(rig: &R) {
    let offered = [
        "http://müller.example/straße?größe=ü",
        "https://例え.テスト/ページ",
        "http://a.test/%F0%9F%A6%80/🦀?x='\"&y=\\",
        "http://[2001:db8::1]:8080/a,b;c",
    ];
    let rows: Vec<Row> = offered.iter().map(|text| sample(rig, at_url(url(text)))).collect();
    write(&*rig.open(), &rows);
    assert_eq!(urls(rig), urls_of(&rows));
}

fn moments_are_text_that_sorts<R: SinkRig>(rig: &R) {
    let row = |n: usize, micros| Row { at: START + Duration::from_micros(micros), ..bare(n) };
    write(&*rig.open(), &[row(1, 999_999), row(2, 1_000_000), row(3, 61_000_001)]);
    let moments: Vec<String> =
        (1..=3).map(|n| find(rig, bare(n).url.as_str()).decided_at).collect();
    assert_eq!(
        moments,
        [
            "2027-01-01T00:00:00.999999Z",
            "2027-01-01T00:00:01.000000Z",
            "2027-01-01T00:01:01.000001Z",
        ]
    );
}

/// How a row can end, with its `decision`, `gate` and `error`.
fn endings() -> [(Ending, &'static str, Option<&'static str>, Option<&'static str>); 10] {
    let answered = |status| Outcome::Answered { status, retry_after: None, friction: None };
    [
        (Ending::Fetched(answered(200)), "fetched", None, None),
        (Ending::Fetched(answered(304)), "confirmed", None, None),
        (Ending::Cached, "cached", None, None),
        (Ending::Refused(Gate::Robots), "refused", Some("robots"), None),
        (Ending::Refused(Gate::Budget), "refused", Some("budget"), None),
        (Ending::Dead(answered(404)), "dead", None, None),
        (Ending::Dead(Outcome::Failed(Problem::Dns)), "dead", None, Some("dns")),
        (Ending::Unheard, "unheard", None, Some("unheard")),
        (Ending::LostRedirect, "lost_redirect", None, Some("lost_redirect")),
        (Ending::LoginWall(answered(401)), "login_wall", None, Some("login_wall")),
    ]
}

/// The moment at which every check begins: the first of 2027.
const START: Time = Time::from_secs(1_798_761_600);

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("a URL of ours")
}

/// A row without a page.
fn bare(n: usize) -> Row {
    at_url(url(&format!("http://a.test/{n:03}")))
}

pub(crate) fn at_url(url: CrawlUrl) -> Row {
    Row {
        id: url.key(),
        final_url: url.clone(),
        url,
        wish: None,
        redirects: 0,
        depth: 0,
        kind: AskKind::Page,
        tries: 0,
        ending: Ending::Unheard,
        findings: Findings::CLEAR,
        crawl_delay: None,
        at: START,
        page: None,
    }
}

/// A row of the kind that the sink keeps.
fn sample<R: SinkRig>(rig: &R, row: Row) -> Row {
    if rig.keeps() == SinkKind::Failures {
        let outcome = Outcome::Answered { status: 404, retry_after: None, friction: None };
        return Row { ending: Ending::Dead(outcome), ..row };
    }
    let body = row.url.to_string();
    with_page(row, head("text/html"), Document::default(), body.as_bytes())
}

/// A page that was fetched and read.
fn fetched<R: SinkRig>(rig: &R, n: usize, body: &[u8]) -> Row {
    let row = bare(n);
    let head = head("text/html; charset=utf-8");
    let document = rig.document(&row.url, &head, body);
    with_page(row, head, document, body)
}

/// A page that nobody read.
fn binary(n: usize, body: &[u8]) -> Row {
    with_page(bare(n), head("application/octet-stream"), Document::default(), body)
}

fn head(content_type: &str) -> Head {
    Head { status: 200, content_type: Some(content_type.into()), ..Head::default() }
}

pub(crate) fn with_page(row: Row, head: Head, document: Document, body: &[u8]) -> Row {
    let page = Page {
        head: Arc::new(head),
        body: Some(body.to_vec().into()),
        document,
        kept: None,
        peer: None,
        latency: None,
        source: curtsy_engine::PageSource::Network,
    };
    let outcome = Outcome::Answered { status: 200, retry_after: None, friction: None };
    Row { ending: Ending::Fetched(outcome), page: Some(Arc::new(page)), ..row }
}

fn write(sink: &dyn Sink, rows: &[Row]) {
    let batch = Batch::of_rows(rows.to_vec());
    block_on(sink.write(&batch)).expect("there is room");
}

fn urls<R: SinkRig>(rig: &R) -> Vec<String> {
    let mut urls: Vec<String> = rig.kept().into_iter().map(|row| row.url).collect();
    urls.sort();
    urls
}

fn urls_of(rows: &[Row]) -> Vec<String> {
    let mut urls: Vec<String> = rows.iter().map(|row| row.url.to_string()).collect();
    urls.sort();
    urls
}

fn find<R: SinkRig>(rig: &R, url: &str) -> KeptRow {
    let found = rig.kept().into_iter().find(|row| row.url == url);
    found.unwrap_or_else(|| panic!("`{url}` has no row"))
}
