//! Progress of a crawl: one live line on a terminal, plain lines otherwise, JSON lines if asked for.

use std::io::Write;
use std::time::Duration;

use serde_json::json;

use curtsy_crawl::{Progress, Watch};

/// The longest note, in characters.
pub(crate) const NOTE_MAX: usize = 2_000;

/// Shows progress on stderr.
pub(super) struct Progressing<'a> {
    out: &'a mut dyn Write,
    how: How,
    /// Lines of the live picture that stand on the terminal.
    drawn: usize,
    last: Option<(Duration, u64)>,
    rate: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Live,
    Lines,
    Json,
    Silent,
}

impl<'a> Progressing<'a> {
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
        Progressing { out, how, drawn: 0, last: None, rate: 0.0 }
    }

    /// Takes the live picture away.
    pub(super) fn end(&mut self) {
        self.wipe();
        let _ = self.out.flush();
    }

    fn wipe(&mut self) {
        for _ in 0..std::mem::take(&mut self.drawn) {
            // One line up, and clear it.
            let _ = write!(self.out, "\x1b[1A\x1b[2K");
        }
    }

    fn keep_rate(&mut self, progress: &Progress) {
        if let Some((took, rows)) = self.last {
            let span = (progress.took - took).as_secs_f64();
            if span > 0.0 {
                let now = (progress.rows - rows) as f64 / span;
                self.rate = if self.rate == 0.0 { now } else { self.rate * 0.8 + now * 0.2 };
            }
        }
        self.last = Some((progress.took, progress.rows));
    }

    fn line(&self, progress: &Progress) -> String {
        let Progress { rows, fetched, queued, hosts, took, .. } = progress;
        let eta = match self.rate > 0.0 {
            // Of what is known so far: what is found meanwhile comes on top.
            true => format!(
                ", at least {} left",
                span(Duration::from_secs_f64(*queued as f64 / self.rate))
            ),
            false => String::new(),
        };
        format!(
            "{} · {fetched} pages ({rows} rows) · {:.1}/s · {hosts} hosts · {queued} queued{} · {}",
            span(*took),
            self.rate,
            if *queued > 0 { eta } else { String::new() },
            size(progress.body_bytes),
        )
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
                    "waiting": waiting,
                });
                // As one write: nothing is between us and the terminal that would gather its parts.
                let _ = self.out.write_all(format!("{line}\n").as_bytes());
            }
            How::Lines if progress.took < Duration::from_secs(1) => {}
            How::Lines => {
                let line = self.line(progress);
                let _ = writeln!(self.out, "{line}");
                if progress.rows == 0 {
                    for w in &progress.waiting {
                        let _ = writeln!(
                            self.out,
                            "  {} waits {}: {}",
                            w.host.as_str(),
                            span(w.wait),
                            w.why
                        );
                    }
                }
            }
            How::Live => {
                let line = self.line(progress);
                self.wipe();
                let _ = writeln!(self.out, "{line}");
                self.drawn = 1;
                for w in &progress.waiting {
                    let _ = writeln!(
                        self.out,
                        "  {} waits {}: {}",
                        w.host.as_str(),
                        span(w.wait),
                        w.why
                    );
                    self.drawn += 1;
                }
            }
        }
        let _ = self.out.flush();
    }

    fn note(&mut self, text: &str) {
        self.wipe();
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

/// A span as people say it.
pub(super) fn span(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        0 => format!("{} ms", span.as_millis()),
        1..60 => format!("{:.1} s", span.as_secs_f64()),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        3600..86_400 => format!("{} h {} min", s / 3600, s % 3600 / 60),
        _ => format!("{} d {} h", s / 86_400, s % 86_400 / 3600),
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
