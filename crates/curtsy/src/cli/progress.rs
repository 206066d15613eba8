//! The progress of a crawl: a live picture on a terminal, plain lines otherwise, JSON lines with
//! `--json`.
//!
//! The live picture has one line for the crawl and one for each host that waits. Each line fits the
//! terminal's width in columns, so that it takes one row and can be erased by moving up.

use std::io::Write;
use std::time::Duration;

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use serde_json::json;
use unicode_width::UnicodeWidthChar;

use curtsy_crawl::{Progress, Waiting, Watch};

/// The longest note, in characters.
pub(crate) const NOTE_MAX: usize = 2_000;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;
/// Rows of a terminal that does not say how many it has.
const ROWS: usize = 24;

/// Shows progress on stderr.
pub(super) struct Progressing<'a> {
    out: &'a mut dyn Write,
    how: How,
    counts: ProgressUnit,
    /// The columns that each line of the live picture takes, as it stands on the terminal.
    drawn: Vec<usize>,
    last: Option<(Duration, u64)>,
    /// Rows when the last plain line was written.
    told: Option<u64>,
    rate: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Live,
    Lines,
    Json,
    Silent,
}

/// What the line for the crawl counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgressUnit {
    Pages,
    Requests,
}

impl<'a> Progressing<'a> {
    /// Progress of a job that requests only robots.txt and sitemaps: it counts requests, not pages.
    pub(super) fn of_requests(
        out: &'a mut dyn Write,
        json: bool,
        terminal: bool,
    ) -> Progressing<'a> {
        let counts = ProgressUnit::Requests;
        Progressing { counts, ..Progressing::new(out, json, false, terminal) }
    }

    pub(super) fn new(
        out: &'a mut dyn Write,
        json: bool,
        quiet: bool,
        terminal: bool,
    ) -> Progressing<'a> {
        let how = match (quiet, json, terminal) {
            (true, ..) => How::Silent,
            (_, true, _) => How::Json,
            (_, _, true) => How::Live,
            _ => How::Lines,
        };
        let (counts, drawn) = (ProgressUnit::Pages, Vec::new());
        Progressing { out, how, counts, drawn, last: None, told: None, rate: 0.0 }
    }

    /// Takes the live picture away.
    pub(super) fn end(&mut self) {
        let wipe = self.wipe(terminal().0);
        let _ = self.out.write_all(wipe.as_bytes());
        let _ = self.out.flush();
    }

    /// What takes the live picture away. Lines that a narrower window has broken take several rows.
    fn wipe(&mut self, columns: usize) -> String {
        let lines = std::mem::take(&mut self.drawn);
        let rows: usize = lines.iter().map(|line| line.div_ceil(columns.max(1)).max(1)).sum();
        match rows {
            0 => String::new(),
            // Up, to the line's beginning, and clear what is below.
            rows => format!("\x1b[{rows}A\r\x1b[J"),
        }
    }

    /// Draws the picture anew, in one write.
    fn draw(&mut self, progress: &Progress) {
        let (columns, rows) = terminal();
        let mut text = self.wipe(columns);
        let mut lines = vec![fitting(&self.parts(progress), columns)];
        let waiting = progress.waiting.iter().map(|w| cut(&waits(w), columns));
        lines.extend(waiting.take(rows.saturating_sub(2)));
        for line in lines {
            text.push_str(&line);
            text.push('\n');
            self.drawn.push(width(&line));
        }
        let _ = self.out.write_all(text.as_bytes());
    }

    fn keep_rate(&mut self, progress: &Progress) {
        if let Some((took, rows)) = self.last {
            let span = progress.took.saturating_sub(took).as_secs_f64();
            if span > 0.0 {
                let now = progress.rows.saturating_sub(rows) as f64 / span;
                self.rate = if self.rate == 0.0 { now } else { self.rate * 0.8 + now * 0.2 };
            }
        }
        self.last = Some((progress.took, progress.rows));
    }

    /// Estimates how long the queued URLs within the budget take; URLs found later come on top.
    /// Hosts have their pace; where the pace is no limit, the speed so far counts.
    fn left(&self, progress: &Progress) -> Option<Duration> {
        let by_pace = progress.left.filter(|left| *left >= Duration::from_secs(1));
        let by_rate = (self.rate > 0.05).then(|| progress.in_budget as f64 / self.rate);
        let left = by_pace.or(by_rate.and_then(|secs| Duration::try_from_secs_f64(secs).ok()));
        let left = left.filter(|_| progress.in_budget > 0)?;
        Some(progress.time_left.map_or(left, |time| left.min(time)))
    }

    /// The parts of the line for the crawl, with their weight: the lightest is left out first.
    fn parts(&self, progress: &Progress) -> Vec<(u8, String)> {
        let Progress { rows, fetched, queued, hosts, took, .. } = progress;
        if self.counts == ProgressUnit::Requests {
            let requests = counted(progress.requests, "request");
            let mut parts = vec![(6, whole(*took)), (9, requests), (8, format!("{queued} queued"))];
            let left = self.left(progress).map(|left| format!("at least {} left", whole(left)));
            parts.extend(left.map(|left| (7, left)));
            return parts;
        }
        let mut pages = counted(*fetched, "page");
        if rows != fetched {
            pages.push_str(&format!(" ({})", counted(*rows, "row")));
        }
        let mut parts = vec![
            (6, whole(*took)),
            (9, pages),
            (2, format!("{:.1}/s", self.rate)),
            (4, counted(*hosts as u64, "host")),
            (8, format!("{queued} queued")),
        ];
        if let Some(left) = self.left(progress) {
            parts.push((7, format!("at least {} left", whole(left))));
        }
        parts.push((1, size(progress.body_bytes)));
        parts
    }
}

impl Watch for Progressing<'_> {
    fn every(&self) -> Duration {
        match self.how {
            How::Live => Duration::from_millis(250),
            How::Lines => Duration::from_secs(5),
            How::Json => Duration::from_secs(1),
            How::Silent => Duration::from_secs(3600),
        }
    }

    fn see(&mut self, progress: &Progress) {
        self.keep_rate(progress);
        match self.how {
            How::Silent => {}
            How::Json => {
                let waiting: Vec<_> = progress
                    .waiting
                    .iter()
                    .map(|w| json!({"host": w.host.as_str(), "queued": w.queued, "wait_ms": w.wait.as_millis() as u64, "why": w.why}))
                    .collect();
                let line = json!({
                    "rows": progress.rows, "fetched": progress.fetched, "queued": progress.queued,
                    "hosts": progress.hosts, "requests": progress.requests,
                    "body_bytes": progress.body_bytes, "took_ms": progress.took.as_millis() as u64,
                    "left_ms": self.left(progress).map(|left| left.as_millis() as u64),
                    "waiting": waiting,
                });
                // As one write: nothing is between us and the terminal that would gather its parts.
                let _ = self.out.write_all(format!("{line}\n").as_bytes());
            }
            How::Lines if progress.took < Duration::from_secs(1) => {}
            How::Lines => {
                let line = fitting(&self.parts(progress), usize::MAX);
                let _ = writeln!(self.out, "{line}");
                // Where nothing came since the last line, somebody wants to know why.
                if self.told.replace(progress.rows).unwrap_or(0) == progress.rows {
                    for w in &progress.waiting {
                        let _ = writeln!(self.out, "{}", waits(w));
                    }
                }
            }
            How::Live => self.draw(progress),
        }
        let _ = self.out.flush();
    }

    fn note(&mut self, text: &str) {
        let wipe = self.wipe(terminal().0);
        let _ = self.out.write_all(wipe.as_bytes());
        // A hint has a line of its own for people; whatever else is in the text stays on its line.
        let text: String = text.chars().take(NOTE_MAX).collect();
        let lines: Vec<String> = text.lines().map(super::printable).collect();
        let _ = match self.how {
            How::Json => writeln!(self.out, "{}", json!({ "note": lines.join("\n") })),
            _ => writeln!(self.out, "note: {}", lines.join("\n")),
        };
        let _ = self.out.flush();
    }
}

/// The line of a host that waits.
fn waits(waiting: &Waiting) -> String {
    // How long is said already.
    let why = waiting.why.split("; until ").next().unwrap_or_default();
    let why = super::printable(why.strip_prefix("waits ").unwrap_or(why));
    format!("  {} waits {}: {why}", waiting.host.as_str(), whole(waiting.wait))
}

/// Columns and rows of the terminal that shows progress.
fn terminal() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((COLUMNS, ROWS), |(columns, rows)| {
        (usize::from(columns.0).max(1), usize::from(rows.0))
    })
}

/// The parts that fit into so many columns, the lightest left out first.
fn fitting(parts: &[(u8, String)], columns: usize) -> String {
    let mut least = 0;
    loop {
        let kept = parts.iter().filter(|(weight, _)| *weight >= least).map(|(_, part)| &**part);
        let kept: Vec<_> = kept.collect();
        let line = kept.join(" · ");
        if width(&line) <= columns || kept.len() <= 1 {
            return cut(&line, columns);
        }
        least += 1;
    }
}

/// A line cut to so many columns, with `…` where something is missing.
fn cut(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut cut = String::new();
    let mut taken = 0;
    for c in line.chars() {
        taken += c.width().unwrap_or(0);
        if taken + 1 > columns {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// The columns that a text takes.
fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// `1 page`, `2 pages`.
pub(super) fn counted(n: u64, what: &str) -> String {
    match (n, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{n} {stem}ies"),
        _ => format!("{n} {what}s"),
    }
}

/// A moment as people read it: to the second.
pub(super) fn moment(at: Time) -> String {
    let text = timestamp(at);
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{day} {} UTC", time.split('.').next().unwrap_or_default())
}

/// How long ago something was, as people say it.
pub(super) fn ago(micros: u64) -> String {
    match Duration::from_micros(micros) {
        short if short < Duration::from_secs(1) => "just now".to_owned(),
        span => format!("{} ago", whole(span)),
    }
}

/// A span in whole seconds, as people say it.
fn whole(took: Duration) -> String {
    match took.as_secs() {
        0 => "under 1 s".to_owned(),
        secs @ 1..60 => format!("{secs} s"),
        secs => span(Duration::from_secs(secs)),
    }
}

/// A span as people say it: two units at most, none that is zero.
pub(super) fn span(span: Duration) -> String {
    let two = |large: u64, unit: &str, small: u64, under: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {under}"),
    };
    let tenths = (span.as_millis() as u64 + 50) / 100;
    let s = span.as_secs();
    match tenths {
        _ if span < Duration::from_secs(1) => format!("{} ms", span.as_millis()),
        0..600 if tenths.is_multiple_of(10) => format!("{} s", tenths / 10),
        0..600 => format!("{}.{} s", tenths / 10, tenths % 10),
        600 if s < 60 => "1 min".to_owned(),
        _ if s < 3600 => two(s / 60, "min", s % 60, "s"),
        _ if s < 86_400 => two(s / 3600, "h", s % 3600 / 60, "min"),
        _ => two(s / 86_400, "d", s % 86_400 / 3600, "h"),
    }
}

/// Bytes as people say them.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::url::HostKey;

    fn progress(fetched: u64, queued: u64) -> Progress {
        let waiting = Waiting {
            host: HostKey::parse("a-rather-long-name.example.org").unwrap(),
            until: Time::START,
            wait: Duration::from_secs(120),
            queued,
            why: "asked to wait: Retry-After 2 min, 東京 (429)".to_owned(),
            gate: curtsy_core::host::Gate::Pace,
            reason: curtsy_core::host::Reason::Clear,
        };
        Progress {
            rows: fetched,
            fetched,
            body_bytes: 123_456,
            requests: fetched,
            queued,
            in_budget: queued,
            time_left: None,
            hosts: 1,
            took: Duration::from_millis(75_400),
            left: Some(Duration::from_secs(240)),
            waiting: vec![waiting],
        }
    }

    #[test]
    fn every_line_fits_the_width_and_the_light_parts_go_first() {
        let mut out = Vec::new();
        let watch = Progressing::new(&mut out, false, false, true);
        let parts = watch.parts(&progress(1, 39));
        for (columns, expected) in [
            (
                100,
                "1 min 15 s · 1 page · 0.0/s · 1 host · 39 queued · at least 4 min left · 120.6 KiB",
            ),
            (80, "1 min 15 s · 1 page · 0.0/s · 1 host · 39 queued · at least 4 min left"),
            (60, "1 min 15 s · 1 page · 39 queued · at least 4 min left"),
            (40, "1 page · 39 queued · at least 4 min left"),
            (20, "1 page · 39 queued"),
            (5, "1 pa…"),
        ] {
            let line = fitting(&parts, columns);
            assert_eq!(line, expected);
            assert!(width(&line) <= columns, "{line}");
        }
        let waits = waits(&progress(1, 39).waiting[0]);
        for columns in 1..120 {
            assert!(width(&cut(&waits, columns)) <= columns);
        }
        assert!(cut(&waits, 83).ends_with("東…"), "wide characters take two columns");
        assert!(!cut(&waits, 82).contains('東'), "and are not cut in two");
    }

    #[test]
    fn what_is_left_ends_with_the_budget() {
        let mut out = Vec::new();
        let mut watch = Progressing::new(&mut out, true, false, false);
        watch.rate = 2.0;
        let secs = Duration::from_secs;
        let left = |in_budget, time_left, pace| {
            let progress = Progress { in_budget, time_left, left: pace, ..progress(10, 1000) };
            watch.left(&progress)
        };
        assert_eq!(left(1000, None, Some(secs(240))), Some(secs(240)));
        assert_eq!(left(1000, None, None), Some(secs(500)), "by its rate");
        assert_eq!(left(6, None, Some(secs(0))), Some(secs(3)), "the pages of the budget");
        assert_eq!(left(1000, Some(secs(0)), Some(secs(0))), Some(secs(0)), "its time is over");
        assert_eq!(left(1000, Some(secs(7)), Some(secs(240))), Some(secs(7)));
        assert_eq!(left(0, None, Some(secs(240))), None, "nothing more is asked for");
    }

    #[test]
    fn a_picture_is_wiped_by_the_rows_that_it_takes_now() {
        let mut out = Vec::new();
        let mut watch = Progressing::new(&mut out, false, false, true);
        watch.drawn = vec![70, 80];
        assert_eq!(watch.wipe(80), "\x1b[2A\r\x1b[J");
        watch.drawn = vec![70, 80];
        assert_eq!(watch.wipe(40), "\x1b[4A\r\x1b[J", "a narrower window breaks the lines");
        assert_eq!(watch.wipe(40), "", "nothing is left to wipe");
    }

    #[test]
    fn people_count_and_tell_the_time_like_this() {
        assert_eq!(counted(1, "page"), "1 page");
        assert_eq!(counted(0, "page"), "0 pages");
        assert_eq!(counted(2, "retry"), "2 retries");
        assert_eq!(counted(2, "day"), "2 days");
        assert_eq!(span(Duration::from_secs(60)), "1 min");
        assert_eq!(span(Duration::from_secs(5400)), "1 h 30 min");
        assert_eq!(span(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(span(Duration::from_secs(3)), "3 s");
        assert_eq!(span(Duration::from_millis(59_999)), "1 min");
    }
}
