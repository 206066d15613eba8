//! The report on a crawl for a person: why pages have no content, which budget is used up, which
//! hosts must wait and what can be done.

use std::fmt::Write;
use std::time::Duration;

use curtsy_core::host::Problem;
use curtsy_crawl::{Compared, CrawlReport, FileSpec, LeftPart, ReasonCount, RowsTarget, RunEnding};
use curtsy_sink::PRIVATE_ADDRESS;

use super::{printable, progress};

/// The report for a person.
pub(super) fn summary(report: &CrawlReport, into: &FileSpec) -> String {
    summary_of(report, into, RowsAre::Kept)
}

/// Whether the rows of a crawl outlive the command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsAre {
    Kept,
    Removed,
}

/// The report for a person; the place of the rows only if they are still there.
pub(super) fn summary_of(report: &CrawlReport, into: &FileSpec, rows: RowsAre) -> String {
    if let Some(since) = &report.complete_since {
        return complete_already(report, into, since);
    }
    let mut text = counts(report);
    text += &unreached(report, |host| names(report, host));
    for refused in report.not_dialled.iter().take(NOT_DIALLED_SHOWN) {
        let _ = writeln!(text, "  {}", printable(&refused.to_string()));
    }
    if report.not_dialled.len() > NOT_DIALLED_SHOWN {
        let more = report.not_dialled.len() - NOT_DIALLED_SHOWN;
        let _ = writeln!(text, "  and {more} more that were not dialled (`--json` has them)");
    }
    let file = into.file.display();
    let is_kept = rows == RowsAre::Kept && !into.targets.iter().any(RowsTarget::is_stdout);
    if report.rows > 0 && is_kept {
        match &into.targets[..] {
            [RowsTarget::JsonLines(path) | RowsTarget::Csv(path)] => {
                let _ =
                    writeln!(text, "  rows: {} (and, with the evidence, {file})", path.display());
            }
            _ => {
                let _ = writeln!(text, "  rows: {file} (tables pages, decisions, links, runs)");
            }
        }
        let _ = writeln!(text, "  why a URL was fetched or not: curtsy why URL --in {file}");
    }
    text.push_str(&budget(report, resumed(into)));
    text.push_str(&left(report, into));
    text
}

/// The report on a crawl that an earlier run completed.
fn complete_already(report: &CrawlReport, into: &FileSpec, since: &str) -> String {
    let mut text = String::new();
    let (file, pages) = (into.file.display(), report.pages_held.unwrap_or(0));
    let _ = writeln!(
        text,
        "complete since {since}; `--again` asks again\n  {} in {file}; nothing was sent",
        super::count(pages, "page")
    );
    text.push_str(&reasons(report));
    if !report.changed_flags.is_empty() {
        let flags: Vec<_> = report.changed_flags.iter().map(|f| format!("`{f}`")).collect();
        let _ = writeln!(
            text,
            "  {} changed since then, without an effect on a complete crawl\nhint: the same command with `--again` crawls with it",
            flags.join(" and "),
        );
    }
    text
}

/// How a crawl ended, and its rows in figures.
fn counts(report: &CrawlReport) -> String {
    let mut text = String::new();
    let ended = match report.how {
        RunEnding::Complete => "done",
        RunEnding::Stopped => "stopped",
        RunEnding::Waits(_) => "waiting",
        RunEnding::Spent(_) => "budget used up",
        RunEnding::Ours(_) => "ended by trouble on our own side",
    };
    let requests: u64 = report.requests.values().sum();
    let _ = writeln!(
        text,
        "{ended}: {} ({} fetched) on {} with {} in {}",
        super::count(report.rows, "row"),
        report.fetched,
        super::count(report.hosts as u64, "host"),
        super::count(requests, "request"),
        progress::span(report.took),
    );
    if let Some(Compared { changed, unchanged, gone, new, unlinked }) = report.compared {
        let unlinked = match unlinked {
            0 => String::new(),
            n => format!("; {n} no longer linked (not asked for)"),
        };
        let _ = writeln!(
            text,
            "  since the last time: {changed} changed, {unchanged} unchanged, {gone} gone, {new} new{unlinked}"
        );
    }
    if report.cached > 0 {
        let shared = match report.cached_shared {
            0 => String::new(),
            n => format!(", {n} of them in the page cache"),
        };
        let pages = super::count(report.cached, "page");
        let _ = writeln!(text, "  {pages} not asked for: held and fresh{shared}");
    }
    if report.missing_shared > 0 {
        let urls = super::count(report.missing_shared, "URL");
        let _ =
            writeln!(text, "  {urls} not asked for: a crawl found nothing there a short while ago");
    }
    text.push_str(&reasons(report));
    if report.retries > 0 {
        let _ = writeln!(text, "  {}", super::count(report.retries, "retry"));
    }
    if report.links_cut_pages > 0 {
        let _ = writeln!(
            text,
            "  {} had more links than are read of one page ({}): {} not read",
            super::count(report.links_cut_pages, "page"),
            super::links_max(),
            match report.links_cut {
                1 => "1 link was".to_owned(),
                n => format!("{n} links were"),
            },
        );
    }
    text
}

/// What is left for the next run.
fn left(report: &CrawlReport, into: &FileSpec) -> String {
    let mut text = String::new();
    match report.how {
        // A limit that is reached was named above.
        RunEnding::Complete | RunEnding::Spent(_) => {}
        RunEnding::Stopped => {
            text.push_str(&waits(report));
            let _ =
                writeln!(text, "  {} left; {}", super::count(report.queued, "URL"), resumed(into));
        }
        RunEnding::Ours(problem) => {
            let _ = writeln!(text, "  {}", our_side(problem));
        }
        RunEnding::Waits(_) => {
            text.push_str(&waits(report));
            let urls = super::count(report.queued, "URL");
            let _ = match &report.resume_after {
                Some(after) => {
                    let patience = report.patience_ms.map(|ms| {
                        let span = progress::span(Duration::from_millis(ms));
                        format!(" ({span} since its last progress)")
                    });
                    let patience = patience.unwrap_or_default();
                    writeln!(
                        text,
                        "  {urls} must wait longer than the patience of this crawl{patience}; resume after {after} with the same command"
                    )
                }
                None => writeln!(
                    text,
                    "  {urls} must wait until somebody lifts the block; then {}",
                    resumed(into)
                ),
            };
        }
    }
    text
}

/// The hosts that could not be reached and why, for a person; without hosts that were named before.
pub(super) fn unreached(report: &CrawlReport, told: impl Fn(&str) -> bool) -> String {
    let all = report.unreached.iter().filter(|(host, why)| **why != "guard" && !told(host));
    let shown = all.clone().take(NOT_DIALLED_SHOWN);
    let mut text: String = shown
        .map(|(host, why)| {
            format!("  {} could not be reached: {}\n", printable(host), failure(why))
        })
        .collect();
    let count = all.count();
    if count > NOT_DIALLED_SHOWN {
        text += &format!("  and {} more that could not be reached\n", count - NOT_DIALLED_SHOWN);
    }
    text
}

/// Hosts that were not dialled, as many as anybody wants to read.
const NOT_DIALLED_SHOWN: usize = 5;

/// Reasons that have a line of their own.
const LINES_MAX: usize = 11;

/// Why pages have no content: a line for each of the most frequent reasons, and one for all others.
pub(super) fn reasons(report: &CrawlReport) -> String {
    let mut text = String::new();
    // The budget has a line of its own.
    let budget = |reason: &ReasonCount| reason.reason.starts_with("over the ");
    let reasons: Vec<&ReasonCount> =
        report.reasons.iter().filter(|reason| report.budget.is_none() || !budget(reason)).collect();
    if reasons.is_empty() {
        return text;
    }
    let whole: u64 = reasons.iter().map(|reason| reason.urls).sum();
    let _ = writeln!(text, "  {} without a page:", super::count(whole, "URL"));
    let shown = match reasons.len() > LINES_MAX + 1 {
        true => LINES_MAX,
        false => reasons.len(),
    };
    for reason in &reasons[..shown] {
        // A host that was not dialled has a line of its own, with its address and what would allow
        // it.
        let hint = reason.reason != PRIVATE_ADDRESS || report.not_dialled.is_empty();
        let _ = writeln!(text, "    {}", line(reason, hint));
    }
    let rest = &reasons[shown..];
    if !rest.is_empty() {
        let urls: u64 = rest.iter().map(|reason| reason.urls).sum();
        let _ = writeln!(text, "    {urls} for {} other reasons", rest.len());
    }
    text + &left_parts(report)
}

/// The parts of sites in which links were left, and how to take them.
fn left_parts(report: &CrawlReport) -> String {
    let mut text = String::new();
    for LeftPart { host, part, why, links } in report.left.iter().take(LEFT_SHOWN) {
        let links = super::count(*links, "link");
        let _ =
            writeln!(text, "  {} left on {}: {}", links, printable(&format!("{host}{part}")), why);
    }
    if report.left.len() > LEFT_SHOWN {
        let rest = &report.left[LEFT_SHOWN..];
        let links: u64 = rest.iter().map(|left| left.links).sum();
        let _ = writeln!(text, "  {} left in other places", super::count(links, "link"));
    }
    if !report.left.is_empty() {
        text.push_str(
            "    `--no-traps` takes them; so does `traps = \"off\"` in a host's section\n",
        );
    }
    text
}

/// Parts of sites with a line of their own.
const LEFT_SHOWN: usize = 3;

/// Whether the reasons or the waits name a host, which may have a port.
pub(super) fn names(report: &CrawlReport, host: &str) -> bool {
    let same = |name: &String| {
        host.strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let waits = report.waits.iter().filter(|wait| wait.answer.is_some()).map(|wait| &wait.host);
    report.reasons.iter().flat_map(|reason| &reason.hosts).chain(waits).any(same)
}

/// One reason: `1 name not resolved (exmaple.org)`.
fn line(reason: &ReasonCount, hints: bool) -> String {
    let ReasonCount { reason, urls, hosts, hint } = reason;
    let hosts = match hosts.is_empty() {
        true => String::new(),
        false => format!(" ({})", hosts.join(", ")),
    };
    let hint = hint.as_ref().filter(|_| hints);
    let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
    printable(&format!("{urls} {reason}{hosts}{hint}"))
}

/// The budget that is used up, what is left, and how the crawl goes on.
pub(super) fn budget(report: &CrawlReport, resumed: &str) -> String {
    let Some(budget) = &report.budget else {
        return String::new();
    };
    let left = super::count(budget.left, "URL");
    let what = match budget.limit {
        "pages" => format!("page limit reached: {}", super::count(budget.max, "page")),
        _ => {
            let span = progress::span(Duration::from_millis(budget.max));
            format!("time limit reached: {span}")
        }
    };
    format!("  {what}; {left} left; {resumed}\n")
}

/// The hosts that have to wait, who caused it, and what can be done.
pub(super) fn waits(report: &CrawlReport) -> String {
    let mut text = String::new();
    for wait in &report.waits {
        let _ = writeln!(text, "  {}", printable(&wait.why));
        for hint in &wait.hints {
            let _ = writeln!(text, "    {}", printable(hint));
        }
    }
    text
}

/// How a crawl goes on that has URLs left.
pub(super) fn resumed(into: &FileSpec) -> &'static str {
    match into.targets.iter().any(RowsTarget::is_stdout) {
        true => "a crawl into standard output can't be resumed, one into a file can",
        false => "the same command goes on where this one ended",
    }
}

/// What the word for a failure means.
pub(super) fn failure(word: &str) -> String {
    match word {
        "dns" => "the name does not resolve",
        "connect" => "the connection was refused",
        "connect_timeout" => "no connection in time",
        "reset" => "the connection was reset",
        "tls" => "the TLS handshake failed: the server speaks neither TLS 1.2 nor 1.3, or only `http://`",
        "tls_expired" => "its certificate has expired or is not valid yet",
        "tls_name" => "its certificate is for another name",
        "tls_issuer" => "its certificate is from nobody whom we trust; `--ca-file FILE` trusts that certificate or its issuer",
        "port" => "something else than HTTP is spoken on that port",
        other => return other.replace('_', " "),
    }
    .to_owned()
}

/// What failed on our own side, and what mends it.
pub(super) fn our_side(problem: Problem) -> &'static str {
    match problem {
        Problem::ProxyLogin => {
            "the proxy (or the network) wants a user and a password, or refuses those that it was given: nothing was held against any site\n  \
             hint: --proxy http://USER:PASSWORD@HOST:PORT, or the variable http_proxy"
        }
        Problem::OwnLogin => {
            "the site refused the credentials that the policy has for it (robots.txt answered 401): nothing was held against it\n  \
             hint: check `basic_auth`, `header` or `cookie` in the host's section, and the variable or file that it names"
        }
        Problem::ProxyRefused => {
            "the proxy answered in the site's place: it can't reach the site, or refuses it; nothing was held against the site\n  \
             hint: check the host's name, then what the proxy allows (--proxy, or the variables http_proxy and https_proxy)"
        }
        _ => {
            "the proxy can't be reached: nothing was held against any site\n  \
             hint: check --proxy or the variables http_proxy and https_proxy"
        }
    }
}
